import json
import os
import signal
import sys
import time

import grpc
from plumb.v1 import profiler_pb2 as pb, profiler_pb2_grpc as stubs

from _serve import Host, LONG_S, Server, channel, refused

Code = grpc.StatusCode


def listed(client, host):
    """The process in the list. On a busy machine it may not answer in time: then it is asked again."""
    end = time.monotonic() + LONG_S
    while True:
        (p,) = [p for p in client.ListProcesses(pb.ListProcessesRequest()).processes if p.pid == host.pid]
        if p.answers:
            return p
        assert time.monotonic() < end


def check_processes(client, host):
    p = listed(client, host)
    assert p.session_id == host.id and p.program == os.path.realpath("host"), p
    assert p.recording == pb.RECORDING_OFF and p.run_dir == "" and p.since_unix_ns == 0 and p.version
    assert p.command.encode() == b"./host" and p.memory_bytes > 0 and p.start_time > 0


def check_run(client, host):
    """Start, rows, Configure, Stop, and the run that is left."""
    refused(Code.INVALID_ARGUMENT, "nix", client.Start, pb.StartRequest(session_id=host.id, settings={"nix": "1"}))
    refused(Code.INVALID_ARGUMENT, "trace", client.Start, pb.StartRequest(session_id=host.id, settings={"trace": "x"}))
    for name in ("dir", "PLUMB_RUN_DIR", "timing_report", "activations_output", "record_log", "library"):
        refused(Code.INVALID_ARGUMENT, "", client.Start,
                pb.StartRequest(session_id=host.id, settings={name: "/tmp/evil"}))
    assert not os.path.exists("/tmp/evil")
    started = client.Start(pb.StartRequest(session_id=host.id, settings={"skip_first": "1", "PLUMB_MEDIAN": "p2"}))
    assert os.path.isdir(started.run_dir)
    refused(Code.FAILED_PRECONDITION, "", client.Start, pb.StartRequest(session_id=host.id))
    host.ask("samples 6 a inference")
    host.ask("samples 4 b train")
    rows = client.GetSummary(pb.GetSummaryRequest(session_id=host.id)).rows
    assert [(r.node, r.phase, r.count, r.skipped) for r in rows] == [("a", "inference", 5, 1), ("b", "train", 3, 1)]
    mine = [line.split(" ") for line in host.ask("rows *")]
    for row, own in zip(rows, mine):
        names = ("mean_ms", "median_ms", "std_ms", "min_ms", "max_ms", "total_ms", "last_ms")
        assert [getattr(row, n) for n in names] == [float.fromhex(x) for x in own[3:]]
    rows = client.GetSummary(pb.GetSummaryRequest(session_id=host.id, phase="train")).rows
    assert [(r.node, r.count) for r in rows] == [("b", 3)]
    client.Configure(pb.ConfigureRequest(session_id=host.id, pipeline=pb.PipelineConfig(enabled=False)))
    host.ask("samples 6 a inference")
    client.Configure(pb.ConfigureRequest(session_id=host.id, debug_spans=True, log_level=pb.LOG_LEVEL_WARN))
    rows = client.GetSummary(pb.GetSummaryRequest(session_id=host.id)).rows
    assert [r.count for r in rows] == [5, 3]  # neither switched on nor reset
    client.Configure(pb.ConfigureRequest(session_id=host.id, reset=True))
    assert all(r.count == 0 for r in client.GetSummary(pb.GetSummaryRequest(session_id=host.id)).rows)
    client.Configure(pb.ConfigureRequest(session_id=host.id, pipeline=pb.PipelineConfig(enabled=True)))
    host.ask("samples 6 a inference")
    refused(Code.INVALID_ARGUMENT, "-1", client.Configure,
            pb.ConfigureRequest(session_id=host.id, pipeline=pb.PipelineConfig(skip_first_n=-1)))
    refused(Code.INVALID_ARGUMENT, "", client.Configure, pb.ConfigureRequest(session_id=host.id, log_level=77))
    refused(Code.FAILED_PRECONDITION, "nix", client.Configure,
            pb.ConfigureRequest(session_id=host.id + "/nix", reset=True))
    stopped = client.Stop(pb.StopRequest(session_id=host.id))
    assert stopped.run_dir == started.run_dir and os.path.exists(started.run_dir + "/timing.json")
    assert client.Stop(pb.StopRequest(session_id=host.id)).run_dir == ""
    return started.run_dir


def check_watch(client, host):
    client.Start(pb.StartRequest(session_id=host.id))
    for ms in (1, 99, 3600001):
        refused(Code.INVALID_ARGUMENT, "interval_ms", client.WatchSummary,
                pb.WatchSummaryRequest(session_id=host.id, interval_ms=ms))
    refused(Code.NOT_FOUND, "nix", client.WatchSummary, pb.WatchSummaryRequest(session_id="nix"))
    streams = [client.WatchSummary(pb.WatchSummaryRequest(session_id=host.id, interval_ms=100), timeout=LONG_S)
               for _ in range(14)]  # more than workers
    for stream in streams:
        assert not next(stream).rows
    host.ask("samples 3 a inference")
    for stream in streams:
        while not (rows := next(stream).rows):
            pass
        assert rows[0].count == 3
    client.GetSummary(pb.GetSummaryRequest(session_id=host.id))  # a worker is free
    for stream in streams[1:]:
        stream.cancel()
    late = client.WatchSummary(pb.WatchSummaryRequest(session_id=host.id, interval_ms=100), timeout=1)
    refused(Code.DEADLINE_EXCEEDED, "", lambda timeout: list(late))
    client.Stop(pb.StopRequest(session_id=host.id))
    return streams[0]


def check_trace(client, host, server):
    refused(Code.FAILED_PRECONDITION, "", client.Trace, pb.TraceRequest(session_id=host.id, for_ms=100))
    refused(Code.INVALID_ARGUMENT, "for_ms", client.Trace, pb.TraceRequest(session_id=host.id, for_ms=600001))
    run_dir = client.Start(pb.StartRequest(session_id=host.id)).run_dir
    client.Configure(pb.ConfigureRequest(session_id=host.id, regions="", nodes=""))
    host.ask("busy 2")
    chunks = list(client.Trace(pb.TraceRequest(session_id=host.id, for_ms=300), timeout=LONG_S))
    data = b"".join(c.data for c in chunks)
    assert [c.last for c in chunks] == [False] * (len(chunks) - 1) + [True]
    at = 0
    for chunk in chunks:
        assert chunk.offset == at
        at += len(chunk.data)
    with open(chunks[0].path, "rb") as file:
        assert file.read() == data and len(data) > 1000
    with open("window.pftrace", "wb") as file:
        file.write(data)
    report = os.popen(f"'{os.environ['TEST_BIN']}' report trace window.pftrace 2>&1").read()
    assert "traced" in report, report
    # The client goes: the trace is switched off.
    stream = client.Trace(pb.TraceRequest(session_id=host.id, for_ms=600000), timeout=LONG_S)
    tracing(client, host, True)
    refused(Code.FAILED_PRECONDITION, "", client.Trace, pb.TraceRequest(session_id=host.id, for_ms=100))
    stream.cancel()
    tracing(client, host, False)
    # Its run ends, and another client traces the next one: that trace is not the first client's to end.
    stream = client.Trace(pb.TraceRequest(session_id=host.id, for_ms=600000), timeout=LONG_S)
    tracing(client, host, True)
    client.Stop(pb.StopRequest(session_id=host.id))
    client.Start(pb.StartRequest(session_id=host.id))
    other = client.Trace(pb.TraceRequest(session_id=host.id, for_ms=600000), timeout=LONG_S)
    tracing(client, host, True)
    stream.cancel()
    server.wait_log("cannot switch the trace of session .* off: the open run has no trace")
    assert listed(client, host).tracing
    other.cancel()
    tracing(client, host, False)
    host.ask("quiet")
    client.Stop(pb.StopRequest(session_id=host.id))


def tracing(client, host, wanted):
    end = time.monotonic() + LONG_S
    while listed(client, host).tracing != wanted:
        assert time.monotonic() < end
        time.sleep(0.05)


def check_runs(client, run_dir):
    runs = client.ListRuns(pb.ListRunsRequest()).runs
    (run,) = [r for r in runs if r.path == os.path.realpath(run_dir) or r.path.endswith(os.path.basename(run_dir))]
    assert run.state == pb.RUN_STATE_ENDED and run.bytes > 0 and run.name.endswith(os.path.basename(run_dir))
    got = client.GetRun(pb.GetRunRequest(name=run.name))
    assert got.run == run and json.loads(got.report)
    assert {f.name for f in got.files} == set(os.listdir(run_dir))
    assert "a" in client.GetRun(pb.GetRunRequest(name=run.name, format="text")).report
    client.GetRun(pb.GetRunRequest())  # the newest
    refused(Code.INVALID_ARGUMENT, "", client.GetRun, pb.GetRunRequest(name=run.name, format="nix"))
    outside = os.path.relpath("/etc", os.path.dirname(run_dir))
    for name in ("nix", "..", "/etc", outside, run.name + "/..", run.name + "/"):
        refused(Code.NOT_FOUND, "does not exist", client.GetRun, pb.GetRunRequest(name=name))
        refused(Code.NOT_FOUND, "does not exist", client.GetRunFile, pb.GetRunFileRequest(name=name, file="passwd"))
    os.symlink("/etc/passwd", run_dir + "/link")
    os.mkfifo(run_dir + "/pipe")
    for file in ("nix", "", ".", "..", "/etc/passwd", "../x", "link", "pipe"):
        refused(Code.NOT_FOUND, "no file", client.GetRunFile, pb.GetRunFileRequest(name=run.name, file=file))
    whole = b"".join(c.data for c in client.GetRunFile(pb.GetRunFileRequest(name=run.name, file="timing.json")))
    with open(run_dir + "/timing.json", "rb") as file:
        assert whole == file.read()
    for size in (256 << 10, (256 << 10) + 1, 0):  # chunk limits
        with open(run_dir + "/big", "wb") as file:
            file.write(b"x" * size)
        chunks = list(client.GetRunFile(pb.GetRunFileRequest(name=run.name, file="big")))
        assert sum(len(c.data) for c in chunks) == size and chunks[-1].last


def check_keep(client, host):
    client.Start(pb.StartRequest(session_id=host.id))
    refused(Code.FAILED_PRECONDITION, "", client.KeepRing, pb.KeepRingRequest(session_id=host.id))
    client.Stop(pb.StopRequest(session_id=host.id))
    client.Start(pb.StartRequest(session_id=host.id, settings={"trace": "1", "trace_mode": "ring"}))
    host.ask("samples 100 ring inference")
    path = client.KeepRing(pb.KeepRingRequest(session_id=host.id, why="test")).path
    assert os.path.getsize(path) > 0
    run = os.path.basename(os.path.dirname(path))
    got = b"".join(c.data for c in client.GetRunFile(
        pb.GetRunFileRequest(name=run, file=os.path.basename(path)), timeout=LONG_S))
    with open(path, "rb") as file:
        assert got == file.read()
    client.Stop(pb.StopRequest(session_id=host.id))


def check_all():
    odd = os.fsencode("./host") + b"\xff\xfe"
    os.link("host", odd)
    with Host() as host, Host(odd) as strange, Server() as server, channel(server) as ch:
        client = stubs.ProfilerStub(ch)
        check_processes(client, host)
        assert listed(client, strange).command == "./host??"  # not UTF-8, and readable all the same
        run_dir = check_run(client, host)
        stream = check_watch(client, host)
        check_keep(client, host)
        check_runs(client, run_dir)
        # The process ends while it is watched.
        host.process.kill()
        host.process.wait()
        refused(Code.NOT_FOUND, host.id, lambda timeout: list(stream))
        refused(Code.NOT_FOUND, host.id, client.Stop, pb.StopRequest(session_id=host.id))
        # The server is killed: the process goes on, and another server steers it.
        client.Start(pb.StartRequest(session_id=strange.id))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        strange.ask("samples 4 a inference")
        with Server() as second, channel(second) as ch2:
            client = stubs.ProfilerStub(ch2)
            assert client.GetSummary(pb.GetSummaryRequest(session_id=strange.id)).rows[0].count == 4
            client.Stop(pb.StopRequest(session_id=strange.id))


def check_traces():
    with Host() as host, Server() as server, channel(server) as ch:
        check_trace(stubs.ProfilerStub(ch), host, server)


if sys.argv[1] == "trace":
    check_traces()
else:
    check_all()

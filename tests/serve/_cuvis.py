"""Rows CV-18 to CV-22, with a stock client: stubs that protoc made from share/proto."""

import os
import signal
import sys
import time

import grpc
from cuvis_ai.v1 import cuvis_ai_pb2 as pb, cuvis_ai_pb2_grpc as stubs
from plumb.v1 import profiler_pb2, profiler_pb2_grpc

from _serve import Host, Server, channel, in_threads, pause, refused, wait_listening

Code = grpc.StatusCode
FIELDS = ("mean_ms", "median_ms", "std_ms", "min_ms", "max_ms", "total_ms", "last_ms")
STAGES = {"train": 1, "val": 2, "test": 3, "inference": 4}
SET = pb.SetProfilingRequest
GET = pb.GetProfilingSummaryRequest


def own_rows(host, phase="*"):
    """The rows as the process itself has them."""
    rows = []
    for line in host.ask(f"rows {phase}"):
        node, stage, count, *doubles = line.split(" ")
        rows.append((node, STAGES.get(stage, 0), int(count), *map(float.fromhex, doubles)))
    return rows


def rows_of(reply):
    return [(r.node_name, r.stage, r.count, *(getattr(r, f) for f in FIELDS)) for r in reply.node_stats]


def check_set(client, host):
    reply = client.SetProfiling(SET(session_id=host.id, enabled=True))
    assert reply.profiling_enabled and len(reply.SerializeToString()) == 2
    host.ask("samples 5 a inference")
    assert rows_of(client.GetProfilingSummary(GET(session_id=host.id)))[0][2] == 5
    reply = client.SetProfiling(SET(session_id=host.id, enabled=False))
    assert not reply.profiling_enabled and reply.SerializeToString() == b""
    host.ask("samples 5 a inference")
    assert rows_of(client.GetProfilingSummary(GET(session_id=host.id)))[0][2] == 5
    # Numbers of the fields, as bytes: 1 session, 2 enabled, 3 sync, 4 reset, 5 skip.
    session = b"\x0a" + bytes([len(host.id)]) + host.id.encode()
    request = SET(session_id=host.id, enabled=True, synchronize_cuda=True, reset=True, skip_first_n=3)
    assert request.SerializeToString() == session + b"\x10\x01\x18\x01\x20\x01\x28\x03"
    assert client.SetProfiling(request).profiling_enabled
    host.ask("samples 5 a inference")
    assert [r[:3] for r in rows_of(client.GetProfilingSummary(GET(session_id=host.id)))] == [("a", 4, 2)]
    # By name, and a pipeline by its name.
    assert client.SetProfiling(SET(session_id="host", enabled=True)).profiling_enabled
    host.ask("pipeline second")
    reply = client.GetProfilingSummary(GET(session_id=f"{host.id}/second"))
    assert [r[:3] for r in rows_of(reply)] == [("other", 4, 10)]
    assert [r[0] for r in rows_of(client.GetProfilingSummary(GET(session_id=host.id)))] == ["a"]
    assert client.SetProfiling(SET(session_id=f"{host.id}/second", enabled=True, reset=True)).profiling_enabled
    assert all(r[2] == 0 for r in rows_of(client.GetProfilingSummary(GET(session_id=f"{host.id}/second"))))
    assert [r[0] for r in rows_of(client.GetProfilingSummary(GET(session_id=host.id)))] == ["a"]
    # The device is synchronised before each of the two clock reads of a span, if the request says so.
    for wanted, fields in ((6, {"synchronize_cuda": True}), (0, {"synchronize_cuda": False}),
                           (6, {"synchronize_cuda": True}), (0, {})):
        client.SetProfiling(SET(session_id=host.id, enabled=True, **fields))
        assert host.ask("spans 3 b") == [str(wanted)], (wanted, fields)


def check_summary(client, host):
    assert not client.GetProfilingSummary(GET(session_id=host.id)).node_stats
    client.SetProfiling(SET(session_id=host.id, enabled=True))
    for i, phase in enumerate(("inference", "train", "always", "val", "test", "custom")):
        host.ask(f"samples {1 + 700 * i} z{i} {phase}")
        host.ask(f"samples {3 + i} a {phase}")
    mine = own_rows(host)
    theirs = rows_of(client.GetProfilingSummary(GET(session_id=host.id)))
    assert len(mine) == 12 and mine == theirs, (mine, theirs)  # every bit of every double
    assert [r[0] for r in theirs[:3]] == ["z0", "a", "z1"]
    assert {r[1] for r in theirs} == {0, 1, 2, 3, 4}
    assert len({r[3] for r in theirs}) == 12
    for phase, stage in STAGES.items():
        some = rows_of(client.GetProfilingSummary(GET(session_id=host.id, stage=stage)))
        assert some == own_rows(host, phase) == [r for r in mine if r[1] == stage] and len(some) == 2


def check_fields(client, host):
    client.SetProfiling(SET(session_id=host.id, enabled=True, skip_first_n=2))
    host.ask("samples 5 a inference")
    host.ask("samples 5 a train")

    def counts(**kw):
        reply = client.GetProfilingSummary(GET(session_id=host.id, **kw))
        return [(r.node_name, r.stage, r.count) for r in reply.node_stats]

    every = [("a", 4, 3), ("a", 1, 3)]
    assert counts() == every
    assert counts(stage=0) == every  # present and UNSPECIFIED
    assert counts(stage=99) == every and counts(stage=-1) == every and counts(stage=2**31 - 1) == every
    assert counts(stage=1) == [("a", 1, 3)] and counts(stage=2) == []
    # Absent: false, false and 0, not what they were. Rows stay, and new keys are not skipped.
    client.SetProfiling(SET(session_id=host.id, enabled=True))
    assert counts() == every
    host.ask("samples 5 b inference")
    assert ("b", 4, 5) in counts()
    # Present and false, present and 0: the same.
    client.SetProfiling(SET(session_id=host.id, enabled=True, reset=False, synchronize_cuda=False, skip_first_n=0))
    assert ("b", 4, 5) in counts()
    host.ask("samples 5 c inference")
    assert ("c", 4, 5) in counts()
    # Present and true.
    client.SetProfiling(SET(session_id=host.id, enabled=True, reset=True))
    assert all(n == 0 for _, _, n in counts())
    # Absent `enabled` is false.
    assert not client.SetProfiling(SET(session_id=host.id)).profiling_enabled
    host.ask("samples 5 d inference")
    assert not [n for node, _, n in counts() if node == "d" and n]


def check_errors(server, ch, client, host):
    gone = Host()
    gone.process.kill()
    gone.process.wait()
    for session in ("nix", "", "0", "-1", "999999999", "/", "nix/x", "/tmp/x", gone.id, f"{host.id}/", "x" * 5000, "a\nb"):
        for call, request in ((client.SetProfiling, SET(session_id=session, enabled=True, skip_first_n=-1)),
                              (client.GetProfilingSummary, GET(session_id=session))):
            text = refused(Code.NOT_FOUND, "", call, request)
            assert text == f"Session {session} not found"[:599] or len(session) > 500 or "\n" in session, text
    for session in (f"{host.id}/nix", f"{host.id}/x/y"):
        refused(Code.FAILED_PRECONDITION, session, client.SetProfiling, SET(session_id=session, enabled=True))
        refused(Code.FAILED_PRECONDITION, session, client.GetProfilingSummary, GET(session_id=session))
    for skip in (-1, -2**31):
        refused(Code.INVALID_ARGUMENT, "skip_first_n", client.SetProfiling,
                SET(session_id=host.id, enabled=True, skip_first_n=skip))
    raw = ch.unary_unary("/cuvis_ai.v1.CuvisAIService/SetProfiling")
    for bad in (b"\x0a\xff", b"\xff" * 9, b"\x0a\x05ab"):
        refused(Code.INVALID_ARGUMENT, "", raw, bad)
    # A process that is stopped answers nothing: anything else is INTERNAL, with the name of the call.
    client.SetProfiling(SET(session_id=host.id, enabled=True))
    pause(host.pid)
    stopped = [(client.SetProfiling, "SetProfiling", SET(session_id=host.id, enabled=True)),
               (client.GetProfilingSummary, "GetProfilingSummary", GET(session_id=host.id))]

    def internal(i):
        call, name, request = stopped[i]
        text = refused(Code.INTERNAL, "", call, request)
        assert text.startswith(f"{name} failed: "), text

    in_threads(2, internal)
    os.kill(host.pid, signal.SIGCONT)
    server.wait_log("refused /cuvis_ai.v1.CuvisAIService/SetProfiling of ipv4:.*: INTERNAL: SetProfiling failed")
    # A refusal is one line, whatever the client has written.
    refused(Code.NOT_FOUND, "", client.GetProfilingSummary, GET(session_id="a\n2026 plumb serve: forged"))
    server.wait_log(r"a\\x0a2026 plumb serve: forged not found")
    # It works again.
    assert client.SetProfiling(SET(session_id=host.id, enabled=True)).profiling_enabled
    # A process that ends between two calls.
    last = Host()
    client.GetProfilingSummary(GET(session_id=last.id))
    last.process.kill()
    last.process.wait()
    refused(Code.NOT_FOUND, f"Session {last.id} not found", client.GetProfilingSummary, GET(session_id=last.id))
    refused(Code.NOT_FOUND, f"Session {last.id} not found", client.SetProfiling, SET(session_id=last.id))


def hammer(server, session, calls, ask):
    """Ten clients; counts of each never go down, and the rows of one answer belong together."""
    def client(i):
        with channel(server) as ch:
            stub = stubs.CuvisAIServiceStub(ch)
            before = 0
            for k in range(calls):
                if i == 0 and k % 50 == 0:
                    assert stub.SetProfiling(SET(session_id=session, enabled=True)).profiling_enabled
                rows = rows_of(stub.GetProfilingSummary(GET(session_id=session)))
                busy = [r for r in rows if r[0] == "busy"]
                assert len(busy) <= 1
                if busy:
                    name, stage, count, mean, median, std, least, most, total, last = busy[0]
                    assert count >= before and 0.001 <= least <= mean <= most < 0.002
                    assert abs(total - mean * count) <= 1e-9 * total
                    before = count

    in_threads(10, client)


def check_clients(server, client, host):
    calls = 100 if os.environ["TEST_KIND"] == "asan" else 1000
    client.SetProfiling(SET(session_id=host.id, enabled=True))
    host.ask("busy 4")
    hammer(server, host.id, calls, host.ask)
    recorded = int(host.ask("quiet")[0])
    (row,) = [r for r in rows_of(client.GetProfilingSummary(GET(session_id=host.id))) if r[0] == "busy"]
    assert row[2] == recorded, (row, recorded)  # none lost, none counted twice
    assert [r for r in own_rows(host) if r[0] == "busy"] == [row]
    # The look-up of a session is noted.
    with channel(server) as ch:
        profiler = profiler_pb2_grpc.ProfilerStub(ch)

        def access():
            listed = profiler.ListProcesses(profiler_pb2.ListProcessesRequest()).processes
            return [p.last_access_unix_ns for p in listed if p.pid == host.pid][0]

        first = access()
        assert abs(first - time.time_ns()) < 600e9 and access() == first
        client.GetProfilingSummary(GET(session_id=host.id))
        assert access() > first
    if os.environ["TEST_KIND"] == "tsan":
        return  # ThreadSanitizer ends a child of a process with threads that makes threads
    # The work runs in a child process, which has a session of its own.
    child = host.ask("fork")[0]
    host.ask("samples 7 in_child inference")
    wait_listening(child)
    client.SetProfiling(SET(session_id=child, enabled=True))
    host.ask("samples 7 in_child inference")
    counts = {r[0]: r[2] for r in rows_of(client.GetProfilingSummary(GET(session_id=child)))}
    assert counts["in_child"] in (7, 14), counts
    mine = own_rows(host)
    assert mine == rows_of(client.GetProfilingSummary(GET(session_id=child)))
    assert "in_child" not in str(client.GetProfilingSummary(GET(session_id=host.id)))
    # The same where neither records when the child begins: a trace point that it passes is enough.
    with Host() as idle:
        child = idle.ask("fork")[0]
        idle.ask("busy 1")
        wait_listening(child)
        idle.ask("quiet")
        client.SetProfiling(SET(session_id=child, enabled=True))
        idle.ask("samples 7 in_child inference")
        counts = {r[0]: r[2] for r in rows_of(client.GetProfilingSummary(GET(session_id=child)))}
        assert counts == {"in_child": 7}, counts


def main():
    mode = sys.argv[1]
    limits = {"GRPC_MAX_WORKERS": "10", "GRPC_MAX_MSG_SIZE": str(300 << 20)}
    with Host() as host, Server(env=limits) as server, channel(server) as ch:
        client = stubs.CuvisAIServiceStub(ch)
        if mode == "set":
            check_set(client, host)
        elif mode == "summary":
            check_summary(client, host)
        elif mode == "fields":
            check_fields(client, host)
        elif mode == "errors":
            check_errors(server, ch, client, host)
        else:
            check_clients(server, client, host)


main()

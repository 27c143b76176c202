import os
import signal
import socket
import subprocess
import threading
import time

import grpc
from plumb.v1 import profiler_pb2 as pb, profiler_pb2_grpc as stubs

from _serve import Host, LONG_S, Server, channel, pause, refused

Code = grpc.StatusCode
TLS = ("--tls-cert=server.pem", "--tls-key=server.key")
TOKEN = "a-token-of-31-characters-abcdefg"


def data(path):
    with open(path, "rb") as file:
        return file.read()


def secure(server, name=None, index=0):
    files = [data(f"{name}.key"), data(f"{name}.pem")] if name else [None, None]
    credentials = grpc.ssl_channel_credentials(data("ca.pem"), *files)
    return grpc.secure_channel("localhost:" + server.ports[index].rsplit(":", 1)[1], credentials,
                               options=[("grpc.use_local_subchannel_pool", 1)])


def role(ch, host, token=None, scheme="Bearer "):
    """What the caller may: "control", "read", or the status that refuses it."""
    client = stubs.ProfilerStub(ch)
    metadata = [("authorization", scheme + token)] if token is not None else None
    try:
        client.ListProcesses(pb.ListProcessesRequest(), metadata=metadata, timeout=LONG_S)
    except grpc.RpcError as error:
        try:
            client.Stop(pb.StopRequest(session_id=host.id), metadata=metadata, timeout=LONG_S)
        except grpc.RpcError as same:
            assert same.code() == error.code()
        else:
            raise AssertionError("may stop, and not read")
        return error.code()
    try:
        client.Stop(pb.StopRequest(session_id=host.id), metadata=metadata, timeout=LONG_S)
    except grpc.RpcError as error:
        assert error.code() == Code.PERMISSION_DENIED and "control role" in error.details(), error
        return "read"
    return "control"


def check_unix(host):
    path = os.path.realpath("sock")
    with Server(listen=("unix:sock", "unix:" + path + "2")) as server:
        assert os.stat("sock").st_mode & 0o777 == 0o600
        with grpc.insecure_channel("unix:" + path) as ch:
            assert role(ch, host) == "control"
        # The socket of a running server is not taken from it; that of a killed one is.
        for option in ("--listen=unix:sock", "--http=unix:sock"):
            second = subprocess.run([os.environ["TEST_BIN"], "serve", option], text=True, capture_output=True,
                                    timeout=LONG_S)
            assert second.returncode == 2 and "another server does" in second.stderr, second
        with grpc.insecure_channel("unix:" + path) as ch:
            assert role(ch, host) == "control"
    assert not os.path.exists("sock") and not os.path.exists("sock2")
    with Server(listen=("unix:sock",)) as server:
        server.stop(signal.SIGKILL)
    assert os.path.exists("sock")
    with Server("--read-only", listen=("unix:sock",)), grpc.insecure_channel("unix:" + path) as ch:
        assert role(ch, host) == "read"


AS_OTHER = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
import grpc
call = grpc.insecure_channel(sys.argv[1]).unary_unary("/plumb.v1.Profiler/ListRuns")
try:
    call(b"", timeout=60)
    print("allowed")
except grpc.RpcError as error:
    print(error.code().name, error.details())
"""


def as_other(address):
    return subprocess.run(["/usr/bin/python3", "-c", AS_OTHER, address], text=True, capture_output=True,
                          env={"PATH": os.environ["PATH"]}, timeout=LONG_S).stdout


def call_from(port, address):
    """ListRuns from this port, which gRPC cannot be told; returns the connection."""
    connection = connect_from(port, address)

    def frame(kind, flags, stream, data):
        return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data

    def text(words):
        return bytes([len(words)]) + words

    head = (b"\x83\x86\x04" + text(b"/plumb.v1.Profiler/ListRuns") + b"\x01" + text(b"localhost") +
            b"\x0f\x10" + text(b"application/grpc") + b"\x00" + text(b"te") + text(b"trailers"))
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, head) +
                       frame(0, 1, 1, b"\0\0\0\0\0"))
    return connection


def connect_from(port, address):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    connection.bind(("127.0.0.1", port))
    host, own = address.rsplit(":", 1)
    connection.connect((host, int(own)))
    return connection


def check_two_users_of_a_port():
    """Connections of two users, from the same port to two addresses of the server."""
    with Server(listen=("127.0.0.1:0", "127.0.0.1:0")) as server, connect_from(0, server.ports[1]) as ours:
        port = ours.getsockname()[1]
        other = os.fork()
        if other == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            connection = call_from(port, server.ports[0])
            while connection.recv(1000):
                pass
            signal.pause()
        try:
            server.wait_log(f"refused /plumb.v1.Profiler/ListRuns of ipv4:127.0.0.1:{port}: PERMISSION_DENIED")
        finally:
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)


def check_loopback(host):
    if os.geteuid() == 0:
        check_two_users_of_a_port()
    with Server(listen=("127.0.0.1:0", "[::1]:0", "localhost:0")) as server:
        for i in range(3):
            address = server.ports[i].rsplit(":", 1)
            address = (f"[{address[0]}]" if ":" in address[0] else address[0]) + ":" + address[1]
            with grpc.insecure_channel(address) as ch:
                assert role(ch, host) == "control", address
            if os.geteuid() == 0:
                said = as_other(address)
                assert said.startswith("PERMISSION_DENIED") and "not a process of this user" in said, said
        if os.geteuid() == 0:
            server.wait_log("refused /plumb.v1.Profiler/ListRuns of ipv4:.*PERMISSION_DENIED")
    with Server("--any-user") as server:
        assert os.geteuid() != 0 or as_other(server.address) == "allowed\n"
    # The port of a running server is not shared.
    with Server() as server:
        second = subprocess.run([os.environ["TEST_BIN"], "serve", "--listen=" + server.address], text=True,
                                capture_output=True, timeout=LONG_S)
        assert second.returncode == 2 and "cannot listen on" in second.stderr, second
        assert "Address already in use" in second.stderr and "UNKNOWN" not in second.stderr, second.stderr


def check_network(host):
    with Server("--insecure", listen=("0.0.0.0:0",)) as server:
        with grpc.insecure_channel("127.0.0.1:" + server.address.rsplit(":", 1)[1]) as ch:
            assert role(ch, host) == "control"  # this user's, on this machine
        server.wait_log("anyone who reaches .* may steer processes")
        outside = own_address()
        if outside:
            with grpc.insecure_channel(f"{outside}:" + server.address.rsplit(":", 1)[1]) as ch:
                assert role(ch, host) == "control"
    if own_address():
        with Server(*TLS, listen=(f"{own_address()}:0",)) as server:
            server.wait_log("may read: there is neither")
            credentials = grpc.ssl_channel_credentials(data("ca.pem"))
            with grpc.secure_channel(server.address, credentials,
                                     options=[("grpc.ssl_target_name_override", "localhost")]) as ch:
                assert role(ch, host) == "read"


def own_address():
    """An address of this machine that is not loopback; None without one."""
    out = subprocess.run(["hostname", "-I"], text=True, capture_output=True).stdout.split()
    return next((a for a in out if "." in a and not a.startswith("127.")), None)


def check_tls(host):
    with Server(*TLS) as server:
        with secure(server) as ch:
            assert role(ch, host) == "control"
        with channel(server) as ch:
            refused(Code.UNAVAILABLE, "", stubs.ProfilerStub(ch).ListRuns, pb.ListRunsRequest())
    with Server(*TLS, "--client-ca=ca.pem", "--control-name=alice", "--control-name=x.example") as server:
        for name, expected in (("alice", "control"), ("bob", "read"), (None, Code.UNAVAILABLE), ("eve", Code.UNAVAILABLE)):
            with secure(server, name) as ch:
                assert role(ch, host) == expected, name
    with Server(*TLS, "--client-ca=ca.pem", "--control-name=bob.example") as server:  # the alternative name
        for name, expected in (("alice", "read"), ("bob", "control")):
            with secure(server, name) as ch:
                assert role(ch, host) == expected, name
    with Server(*TLS, "--client-ca=ca.pem") as server, secure(server, "bob") as ch:
        assert role(ch, host) == "control"


def check_tokens(host):
    with open("read", "w") as file:
        os.chmod("read", 0o600)
        file.write("  another-token-to-read-with \n")
    with Server("--token=token", "--read-token=read") as server, channel(server) as ch:
        assert role(ch, host, TOKEN) == "control" and role(ch, host, TOKEN, "bEARER ") == "control"
        assert role(ch, host, "another-token-to-read-with") == "read"
        for wrong in ("", TOKEN[:-1], TOKEN + "x", TOKEN + "\x00"[:0] + " ", TOKEN.upper(), "x" * 600, "x", "0" * 32,
                      "another-token-to-read-witH"):
            assert role(ch, host, wrong) == Code.UNAUTHENTICATED, wrong
        assert role(ch, host) == Code.UNAUTHENTICATED
        assert role(ch, host, TOKEN, "Basic ") == role(ch, host, TOKEN, "") == Code.UNAUTHENTICATED
        # Probes have no token.
        health = ch.unary_unary("/grpc.health.v1.Health/Check")
        assert health(b"", timeout=LONG_S) == b"\x08\x01"
        watch = ch.unary_stream("/grpc.health.v1.Health/Watch")
        refused(Code.UNAUTHENTICATED, "token", watch, b"")
        # A client that has no token cannot make the server read 300 MB.
        big = ch.unary_unary("/plumb.v1.Profiler/ListRuns")
        refused(Code.UNAUTHENTICATED, "token", big, b"\x0a\xff\xff\xff\x01" + b"x" * 1000000)
        server.wait_log("refused /plumb.v1.Profiler/Stop of ipv4:.*: UNAUTHENTICATED: the bearer token is wrong")
        assert TOKEN not in server.text() and "another-token" not in server.text()
    with Server("--read-token=read") as server, channel(server) as ch:
        assert role(ch, host, "another-token-to-read-with") == "read"
        assert role(ch, host, TOKEN) == role(ch, host) == Code.UNAUTHENTICATED
    with Server("--token=token", "--read-only") as server, channel(server) as ch:
        assert role(ch, host, TOKEN) == "read"


def check_limits(host):
    limits = {"GRPC_MAX_MSG_SIZE": "5000", "GRPC_MAX_WORKERS": "2"}
    with Server(env=limits) as server, channel(server) as ch:
        call = ch.unary_unary("/plumb.v1.Profiler/GetSummary")
        refused(Code.RESOURCE_EXHAUSTED, "5000", call, b"\x0a\xa0\x9c\x01" + b"x" * 20000)
        server.wait_log("refused /plumb.v1.Profiler/GetSummary of ipv4:.*: no request, or one above --max-message")
        assert len(os.listdir(f"/proc/{server.process.pid}/task")) > 2
        # Clients that begin calls and send no request: the workers do not wait for them for ever.
        end = threading.Event()
        health = ch.stream_unary("/grpc.health.v1.Health/Check")
        silent = [health.future((b"" for _ in iter(end.wait, True)), timeout=LONG_S) for _ in range(2)]
        for call in silent:
            error = call.exception(LONG_S)
            assert error.code() == Code.DEADLINE_EXCEEDED and "within 10 s" in error.details(), error
        end.set()
        ch.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=LONG_S)
    with Server() as server:  # 300 MB by default: a message of 10 MB is read, and judged
        with channel(server) as ch:
            call = ch.unary_unary("/plumb.v1.Profiler/GetSummary")
            refused(Code.NOT_FOUND, "", call, b"\x0a\x80\xad\xe2\x04" + b"x" * 10000000)
        # A stopped process: the deadline of the call holds, and the worker is free soon after.
        with channel(server) as ch:
            client = stubs.ProfilerStub(ch)
            pause(host.pid)
            request = pb.GetSummaryRequest(session_id=host.id)
            refused((Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE), "", client.GetSummary, request, timeout=0.5)
            os.kill(host.pid, signal.SIGCONT)
            client.GetSummary(request, timeout=LONG_S)


def check_drain(host):
    """SIGTERM: what runs may end, new calls and streams are refused."""
    with Server("--drain=60") as server, channel(server) as ch:
        client = stubs.ProfilerStub(ch)
        stream = client.WatchSummary(pb.WatchSummaryRequest(session_id=host.id, interval_ms=3600000), timeout=LONG_S)
        next(stream)
        pause(host.pid)
        running = client.GetSummary.future(pb.GetSummaryRequest(session_id=host.id), timeout=LONG_S)
        time.sleep(0.5)  # it is under way: were it not, it would be refused below
        server.process.send_signal(signal.SIGTERM)
        refused(Code.UNAVAILABLE, "shutting down", lambda timeout: list(stream))
        with channel(server) as late:
            refused(Code.UNAVAILABLE, "", stubs.ProfilerStub(late).ListRuns, pb.ListRunsRequest())
        os.kill(host.pid, signal.SIGCONT)
        running.result(LONG_S)
        assert server.process.wait(LONG_S) == 0
        assert "draining" in server.text() and server.text().endswith("plumb serve: ended\n")
    # A second signal does not wait, nor does --drain=0.
    for options, signals in ((("--drain=3600",), 2), (("--drain=0",), 1)):
        with Server(*options) as server, channel(server) as ch:
            pause(host.pid)
            client = stubs.ProfilerStub(ch)
            stuck = client.Stop.future(pb.StopRequest(session_id=host.id), timeout=LONG_S)
            time.sleep(0.3)
            for _ in range(signals):
                server.process.send_signal(signal.SIGINT)
                time.sleep(0.2)
            assert server.process.wait(LONG_S) == 0
            assert stuck.exception(LONG_S).code() in (Code.CANCELLED, Code.UNAVAILABLE)
            os.kill(host.pid, signal.SIGCONT)


with Host() as host:
    for check in (check_unix, check_loopback, check_network, check_tls, check_tokens, check_limits, check_drain):
        check(host)

"""What clients without a token may cost plumb serve: memory of requests that never end, and connections without calls."""
import select
import socket
import struct
import threading
import time

import grpc

from _serve import LONG_S, Server, channel

CALMED = 11
MESSAGE = 20_000_000


class Http2:
    """As much of HTTP/2 as it takes to begin a call of gRPC and to leave it there."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.input = b""
        self.window = {0: 65535, 1: 65535}  # of the connection, and of its one stream
        self.initial = 65535
        self.ended = None  # why: the code of GOAWAY, or "closed"

    def frame(self, kind, flags, stream, payload):
        try:
            self.socket.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)
        except OSError:
            self.ended = self.ended or "closed"

    def begin(self):
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.frame(4, 0, 0, b"")

    def call(self, path):
        fields = ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"), ("te", "trailers"),
                  ("content-type", "application/grpc"))
        self.frame(1, 4, 1, b"".join(b"\0" + bytes([len(n)]) + n.encode() + bytes([len(v)]) + v.encode() for n, v in fields))

    def take(self, kind, flags, stream, payload):
        if kind == 4 and not flags & 1:
            for name, value in struct.iter_unpack(">HI", payload):
                if name == 4:
                    self.window[1] += value - self.initial
                    self.initial = value
            self.frame(4, 1, 0, b"")
        elif kind == 6 and not flags & 1:
            self.frame(6, 1, 0, payload)
        elif kind == 7:
            self.ended = int.from_bytes(payload[4:8], "big")
        elif kind == 8 and stream in self.window:
            self.window[stream] += int.from_bytes(payload, "big")

    def read(self, seconds):
        """Takes what has come; waits for something at most so long."""
        while not self.ended and select.select([self.socket], [], [], seconds)[0]:
            seconds = 0
            try:
                got = self.socket.recv(65536)
            except OSError:
                got = b""
            if not got:
                self.ended = "closed"
            self.input += got
            while len(self.input) >= 9 + (n := int.from_bytes(self.input[:3], "big")):
                head, payload = self.input[:9], self.input[9:9 + n]
                self.input = self.input[9 + n:]
                self.take(head[3], head[4], int.from_bytes(head[5:9], "big"), payload)

    def send(self, data):
        """Sends data of the stream as fast as the server takes it; gives up where it takes no more."""
        data, end = memoryview(data), time.monotonic() + 2
        while data and not self.ended and time.monotonic() < end:
            n = min(len(data), 16384, *self.window.values())
            if n > 0:
                self.frame(0, 0, 1, data[:n])
                data = data[n:]
                self.window = {stream: left - n for stream, left in self.window.items()}
                end = time.monotonic() + 2
            self.read(0 if n > 0 else 0.1)


def check_memory():
    """Eight requests of 20 MB, each without its last byte: not all of them fit, and others are answered."""
    with Server(f"--max-message={MESSAGE}", "--workers=10", "--drain=0") as server:
        clients = []
        while len(clients) < 8 and not any(client.ended for client in clients):
            client = Http2(server.address)
            client.begin()
            client.read(1)
            client.call("/grpc.health.v1.Health/Check")
            client.send(b"\0" + struct.pack(">I", MESSAGE) + b"a" * (MESSAGE - 1))
            clients.append(client)
            for client in clients:
                client.read(0)
        # By GOAWAY with ENHANCE_YOUR_CALM, which a client that writes may not come to read. A call alone ends after 10 s.
        assert any(client.ended in (CALMED, "closed") for client in clients), [client.ended for client in clients]
        with channel(server) as ch:
            ch.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=LONG_S)


def check_idle():
    """A connection without calls ends, and so does one that never speaks. gRPC's own clients connect again."""
    with Server("--idle=1") as server:
        clients = [Http2(server.address) for _ in range(2)]
        clients[0].begin()
        for client in clients:
            end = time.monotonic() + LONG_S
            while not client.ended and time.monotonic() < end:
                client.read(1)
            assert client.ended is not None
        with channel(server) as ch:
            ready, lost = grpc.ChannelConnectivity.READY, threading.Event()
            states = []

            def note(state):
                states.append(state)
                if ready in states and state != ready:
                    lost.set()

            ch.subscribe(note)
            check = ch.unary_unary("/grpc.health.v1.Health/Check")
            check(b"", timeout=LONG_S)
            # A call in the instant of the end fails with UNAVAILABLE, as of any gRPC server: not before that.
            assert lost.wait(LONG_S), states
            check(b"", timeout=LONG_S)


check_memory()
check_idle()

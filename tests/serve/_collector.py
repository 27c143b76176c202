"""A collector of OpenTelemetry for tests: parses what it gets strictly (tests/cli/_otlp.py), and answers as it
is told.

  _collector.py DIR [CERT]   listens on a port of its own, which it writes to DIR/port. Each text that it
                             took is appended to DIR/spans (a span a line), its headers to DIR/headers.
                             DIR/answer, if it is there, is the status that it answers with, once a line;
                             DIR/pause the Retry-After of 429 and 503 (1). DIR/asked gets the status, the path
                             and the time of each text, in seconds of a clock that nobody sets.
                             Who follows a redirection is in DIR/elsewhere.
"""
import gzip
import json
import os
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import _otlp

where = sys.argv[1]


def path(name):
    return os.path.join(where, name)


def next_status():
    try:
        with open(path("answer"), encoding="utf-8") as f:
            lines = f.read().split()
    except FileNotFoundError:
        return 200
    if not lines:
        return 200
    if len(lines) > 1 or lines[0] != "for-ever-400":
        with open(path("answer.new"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines[1:]))
        os.replace(path("answer.new"), path("answer"))
    return 400 if lines[0] == "for-ever-400" else int(lines[0])


def pause():
    try:
        with open(path("pause"), encoding="utf-8") as f:
            return f.read().strip()
    except FileNotFoundError:
        return "1"


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        status = next_status()
        with open(path("asked"), "a", encoding="utf-8") as f:
            f.write(f"{status} {self.path} {time.monotonic():.3f}\n")
        if status == 200:
            try:
                _otlp.want(self.path == "/v1/traces", f"path {self.path}")
                _otlp.want(self.headers["Content-Type"] == "application/json", "the type")
                spans = _otlp.read(body.decode("utf-8"))
                with open(path("spans"), "a", encoding="utf-8") as f:
                    f.write("".join(json.dumps(s) + "\n" for s in spans))
                with open(path("headers"), "w", encoding="utf-8") as f:
                    json.dump({k.lower(): v for k, v in self.headers.items()}, f)
            except (_otlp.Wrong, ValueError) as e:
                status = 400
                with open(path("wrong"), "a", encoding="utf-8") as f:
                    f.write(f"{e}\n")
        answer = b"{}"
        self.send_response(status)
        if status in (429, 503):
            self.send_header("Retry-After", pause())
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        with open(path("elsewhere"), "a", encoding="utf-8") as f:
            f.write(f"{self.path}\n")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


server = HTTPServer(("127.0.0.1", int(os.environ.get("COLLECTOR_PORT", "0"))), Collector)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(path("port.new"), "w", encoding="utf-8") as f:
    f.write(str(server.server_address[1]))
os.replace(path("port.new"), path("port"))
server.serve_forever()

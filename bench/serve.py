#!/usr/bin/python3
"""How long a client waits for the rows of a process, from plumb serve and from a Python server of the same
service: bench/serve.py PLUMB HOST CLIENT --json OUT --tmp DIR [--quick]

The calls of both take turns, from one client in C on loopback.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

NODES, SAMPLES = 20, 1000
PROTO = pathlib.Path(__file__).resolve().parent.parent / "share/proto"


def server_port(log):
    for _ in range(600):
        found = re.search(r"gRPC on \S+:(\d+)", pathlib.Path(log).read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    raise SystemExit("serve.py: plumb serve did not start: " + pathlib.Path(log).read_text())


def measure(args, gen):
    env = {**os.environ, "PLUMB": "1", "PLUMB_CONTROL": "1", "PLUMB_QUIET": "1",
           "PLUMB_DIR": os.path.join(args.tmp, "grpc-runs")}
    log = os.path.join(args.tmp, "grpc.log")
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = []
    try:
        host = subprocess.Popen([args.host], env=env, **pipe)
        started.append(host)
        host.stdout.readline()
        with open(log, "w") as file:
            started.append(subprocess.Popen([args.plumb, "serve", "--listen=127.0.0.1:0"], stderr=file))
        reference = subprocess.Popen(["/usr/bin/python3", str(PROTO.parent.parent / "bench/serve_reference.py"),
                                      str(NODES), str(SAMPLES), gen], **pipe)
        started.append(reference)
        ports = [server_port(log), reference.stdout.readline().strip()]
        calls = "500" if args.quick else "5000"
        out = subprocess.run([args.client, calls, str(host.pid), *[f"127.0.0.1:{p}" for p in ports]], text=True,
                             stdout=subprocess.PIPE, check=True).stdout
        return [[float(x) for x in line.split()] for line in out.splitlines()]
    finally:
        for process in started:
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plumb")
    parser.add_argument("host")
    parser.add_argument("client")
    parser.add_argument("--json", required=True)
    parser.add_argument("--tmp", required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    plugin = shutil.which("grpc_python_plugin")
    results = {}
    if not plugin:
        why = "gRPC for Python (python3-grpcio, protobuf-compiler-grpc) is not installed"
        results = {k: v for key in ("grpc_summary_p50_us", "grpc_summary_x_python")
                   for k, v in ((key, None), (key + "_reason", why))}
        print("  " + why)
    else:
        gen = os.path.join(args.tmp, "grpc-gen")
        os.makedirs(gen, exist_ok=True)
        subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={gen}", f"--grpc_out={gen}",
                        f"--plugin=protoc-gen-grpc={plugin}", str(PROTO / "cuvis_ai/v1/cuvis_ai.proto")], check=True)
        (ours, low, high, size), (python, _, _, python_size) = measure(args, gen)
        results = {"grpc_summary_p50_us": ours, "grpc_summary_p50_us_q1": low, "grpc_summary_p50_us_q3": high,
                   "grpc_python_p50_us": python, "grpc_summary_x_python": ours / python}
        print(f"  {'plumb serve':24s} {ours:.0f} us ({low:.0f} to {high:.0f}), {size:.0f} bytes")
        print(f"  {'Python':24s} {python:.0f} us, {python_size:.0f} bytes")
    with open(args.json, "w", encoding="utf-8") as file:
        json.dump(results, file)


main()

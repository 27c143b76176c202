#!/usr/bin/python3
"""The server that plumb serve is measured against: cuvis_ai.v1.CuvisAIService as a Python program has it.

bench/serve_reference.py NODES SAMPLES GEN

A pool of ten threads and messages of 300 MB, as the original; statistics of NODES nodes behind one lock,
of which each call makes a snapshot. GEN holds what protoc made of share/proto. Prints its port.
"""

import concurrent.futures
import sys
import threading

import grpc

sys.path.insert(0, sys.argv[3])
from cuvis_ai.v1 import cuvis_ai_pb2 as pb, cuvis_ai_pb2_grpc as stubs  # noqa: E402


class Service(stubs.CuvisAIServiceServicer):
    def __init__(self, nodes, samples):
        self.lock = threading.Lock()
        self.rows = {}
        for i in range(nodes):
            times = [0.001 * (1 + k % 97) for k in range(samples)]
            mean = sum(times) / samples
            std = (sum((t - mean) ** 2 for t in times) / samples) ** 0.5
            self.rows["inference", f"node.{i}"] = (samples, mean, sorted(times)[samples // 2], std, min(times),
                                                   max(times), sum(times), times[-1])

    def GetProfilingSummary(self, request, context):
        with self.lock:
            rows = list(self.rows.items())
        stats = [pb.NodeProfilingStats(node_name=node, stage=4, count=r[0], mean_ms=r[1], median_ms=r[2],
                                       std_ms=r[3], min_ms=r[4], max_ms=r[5], total_ms=r[6], last_ms=r[7])
                 for (_, node), r in rows]
        return pb.GetProfilingSummaryResponse(node_stats=stats)


LIMIT = 300 << 20
server = grpc.server(concurrent.futures.ThreadPoolExecutor(10),
                     options=[("grpc.max_receive_message_length", LIMIT), ("grpc.max_send_message_length", LIMIT)])
stubs.add_CuvisAIServiceServicer_to_server(Service(int(sys.argv[1]), int(sys.argv[2])), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
sys.stdin.read()
server.stop(None)

#!/usr/bin/python3
"""_peaks.py FILE [NAME=ONE,ALL...]: writes peaks of this machine as plumb deep would keep them: memory
in GB/s, f64, f32, bf16, f16, int8 in GFLOP/s, on one core and on all; absent without."""

import json
import os
import sys


def cpu():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(("model name", "CPU part")):
                return line.split(":", 1)[1].strip(" \t\n")
    return ""


def pair(text):
    return [{"per_second": int(float(v) * 1e9), "spread": 0.01, "loop": "planted"}
            for v in text.split(",")]


def main():
    absent = {"per_second": None, "spread": 0, "loop": ""}
    given = dict(word.split("=") for word in sys.argv[2:])
    peaks = {name: pair(given[name]) if name in given else [absent, absent]
             for name in ("memory", "f64", "f32", "bf16", "f16", "int8")}
    os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"format": "plumb.peaks.1", "cpu": cpu(), "measured": "2026-01-02T03:04:05Z",
                   "cores": len(os.sched_getaffinity(0)), "repeats": 5, "run_ns": 20000000,
                   "array_bytes": 1 << 30, "cache_bytes": 1 << 25,
                   "bandwidth_bytes": peaks.pop("memory"), "operations": peaks}, out)


main()

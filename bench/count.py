#!/usr/bin/python3
"""What a tracer of library calls adds to a call: bench/count.py HOST --json OUT --tmp DIR [--quick]

Runs count_host alone, below ltrace and below uftrace, in turns, and writes the difference of the medians
in ns of wall time. Both tracers are told to look at the one function. The figure of plumb is that of
bench_count, in the same run.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess

CALLS, TRACED_CALLS, ROUNDS = 20_000_000, 20_000, 7


def time_of(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    lines = [line for line in run.stdout.split("\n") if line.replace(".", "").isdigit()]
    return float(lines[0]) if lines else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("--json", required=True)
    parser.add_argument("--tmp", required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    data = os.path.join(args.tmp, "count-uftrace")
    peers = {
        "ltrace": ["ltrace", "-c", "-e", "bench_counted", "-o", os.devnull],
        "uftrace": ["uftrace", "record", "--force", "-F", "bench_counted", "-d", data],
    }
    results, times = {}, {name: [] for name in peers}
    alone = []
    for _ in range(2 if args.quick else ROUNDS):
        alone.append(time_of([args.host, str(CALLS)]))
        for name, command in peers.items():
            if shutil.which(name):
                times[name].append(time_of(command + [args.host, str(TRACED_CALLS)]))
    for name in peers:
        key = name + "_ns_per_call"
        seen = [t for t in times[name] if t is not None]
        results[key] = statistics.median(seen) - statistics.median(alone) if seen else None
        if not seen:
            results[key + "_reason"] = name + (" did not run" if shutil.which(name) else " is not installed")
        print("  %-24s %s" % (name, "%.0f ns a call more" % results[key] if seen else results[key + "_reason"]))
    with open(args.json, "w", encoding="utf-8") as file:
        json.dump(results, file)


main()

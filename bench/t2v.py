#!/usr/bin/python3
"""t2v.py: what recording every node costs the text-to-video example, in wall time.

usage: bench/t2v.py PROGRAM --json FILE [--tmp DIR] [--pairs N] [--budget SECONDS] [--quick]

The program runs whole, from start to exit, with recording on (PLUMB=1, every node, debug nodes too) and
off (PLUMB=0), in pairs whose order alternates (on off, off on, ...), so that a slow drift of the machine
hits both alike. The figure is the ratio of the medians of wall time. Beside it stand the CPU time
(user + system), which other jobs disturb far less, and the half width of an interval for the median of
the pairs' ratios: an overhead smaller than that was not resolved, however exact it looks. The calculated
figure is spans times the cost of one, as the run itself reports it.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

# Long enough that starting the process does not dominate, short enough for many pairs.
WORK = ["--steps", "12", "--size", "128", "--frames", "16"]


def environment(tmp, on):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PLUMB")}
    # Spinning OpenMP workers on a shared machine cost more than they bring, in both halves.
    env["OMP_WAIT_POLICY"] = "passive"
    env["PLUMB"] = "1" if on else "0"
    if on:
        env.update(PLUMB_DIR=os.path.join(tmp, "runs"), PLUMB_QUIET="1", PLUMB_DEBUG="1")
    return env


def run(program, tmp, on):
    """Wall and CPU seconds of one run."""
    command = [program, *WORK, "--out", os.path.join(tmp, "bench.mp4")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, env=environment(tmp, on), stdout=subprocess.DEVNULL, check=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall, cpu


def overhead_told(tmp):
    """The newest run's own account: its spans, and what it thinks they cost in milliseconds. It also
    proves that the runs called `on` recorded."""
    found = []
    for folder, _, files in os.walk(os.path.join(tmp, "runs")):
        if "timing.json" in files:
            found.append(os.path.join(folder, "timing.json"))
    if not found:
        sys.exit("t2v.py: recording was on, and no run was left in " + tmp)
    with open(max(found, key=os.path.getmtime), encoding="utf-8") as file:
        told = json.load(file)["overhead"]
    return told["spans"], told["total_ms"]


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive")


def measure(program, tmp, pairs, budget):
    on, off = [], []
    run(program, tmp, True)
    run(program, tmp, False)
    start = time.monotonic()
    while len(on) < pairs:
        first = len(on) % 2 == 0
        results = {side: run(program, tmp, side) for side in (first, not first)}
        on.append(results[True])
        off.append(results[False])
        if len(on) >= 9 and time.monotonic() - start > budget:
            break
    return on, off


def overhead_pct(on, off):
    return 100 * (statistics.median(on) / statistics.median(off) - 1)


def figures(on, off, told):
    ratios = [100 * (a[0] / b[0] - 1) for a, b in zip(on, off)]
    q1, _, q3 = quartiles(ratios)
    wall_on, wall_off = [a[0] for a in on], [b[0] for b in off]
    return {
        "t2v_overhead_pct": overhead_pct(wall_on, wall_off),
        "t2v_overhead_pct_half_width": 1.57 * (q3 - q1) / len(ratios) ** 0.5,
        "t2v_cpu_overhead_pct": overhead_pct([a[1] for a in on], [b[1] for b in off]),
        "t2v_pairs": len(ratios),
        "t2v_off_wall_s": statistics.median(wall_off),
        "t2v_on_wall_s": statistics.median(wall_on),
        "t2v_spans": told[0],
        "t2v_calculated_pct": 100 * told[1] * 1e-3 / statistics.median(wall_on),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--json")
    parser.add_argument("--tmp", default=None)
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--budget", type=float, default=150, help="seconds after which 9 pairs do")
    parser.add_argument("--quick", action="store_true", help="9 pairs")
    args = parser.parse_args()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        pass
    print("t2v.py: %s %s, on and off" % (os.path.basename(args.program), " ".join(WORK)))
    with tempfile.TemporaryDirectory(prefix="plumb-bench-t2v-", dir=args.tmp) as tmp:
        on, off = measure(args.program, tmp, 9 if args.quick else max(9, args.pairs), args.budget)
        result = figures(on, off, overhead_told(tmp))
    for key, value in result.items():
        print("  %-34s %.4g" % (key, value))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({k: float("%.6g" % v) for k, v in result.items()}, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()

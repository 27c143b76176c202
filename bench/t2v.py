#!/usr/bin/python3
"""t2v.py: what recording costs the text-to-video example, in wall time.

usage: bench/t2v.py PROGRAM PLUMB --json FILE [--tmp DIR] [--rounds N] [--budget SECONDS] [--quick]

The program runs whole, from start to exit, in four ways: with nothing recorded (PLUMB=0), with every node
(PLUMB=1, debug nodes too), with inputs and outputs of all blocks (PLUMB_ACTIVATIONS=1, default statistics, the
blocks chosen by PLUMB_ACTIVATIONS_LAYERS), and with the outputs of every layer. A round has each once, in another
order each time, so that a slow drift of the machine hits all alike. A figure is the ratio of the medians of wall
time. Next to it are the CPU time (user + system), which other jobs disturb far less, and the half width of an
interval for the median of the rounds' ratios: an overhead smaller than that was not resolved, however exact it
looks. The calculated figure is the number of spans times the cost of one, as the run itself reports it.

The overhead of a whole run is seldom resolved on a machine with other work, so two figures are also measured
within a process. The overhead of spans is measured by examples/text_to_video/overhead.c. For blocks, every other
denoise step of one run is recorded (PLUMB_ACTIVATIONS_STEPS=1,3,...), and each of these steps is compared with the
mean of its two neighbours, as the run's trace has them: the median over all steps of some runs, and its quartiles.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Long enough that starting the process does not dominate, short enough for many pairs.
STEPS = 41  # of a run that records every other step
WORK = ["--steps", "12", "--size", "128", "--frames", "16"]


# The text encoder's, the transformer's and the decoder's.
BLOCKS = r"(^|\.)(text|block|vae)\.[0-9]+$"
SIDES = {
    "off": {"PLUMB": "0"},
    "spans": {"PLUMB": "1", "PLUMB_DEBUG": "1"},
    "blocks": {"PLUMB": "1", "PLUMB_ACTIVATIONS": "1", "PLUMB_ACTIVATIONS_LAYERS": BLOCKS},
    "layers": {"PLUMB": "1", "PLUMB_ACTIVATIONS": "1"},
}


def environment(tmp, side):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PLUMB")}
    # Spinning OpenMP workers on a shared machine cost more than they bring, on every side.
    env["OMP_WAIT_POLICY"] = "passive"
    env.update(SIDES[side])
    if side != "off":
        env.update(PLUMB_DIR=os.path.join(tmp, "runs-" + side), PLUMB_QUIET="1")
    return env


def run(program, tmp, side):
    """Wall and CPU seconds of one run."""
    command = [program, *WORK, "--out", os.path.join(tmp, "bench.mp4")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, env=environment(tmp, side), stdout=subprocess.DEVNULL, check=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall, cpu


def newest(tmp, side, name):
    """The file of the newest run. It also proves that the runs recorded."""
    found = []
    for folder, _, files in os.walk(os.path.join(tmp, "runs-" + side)):
        if name in files:
            found.append(os.path.join(folder, name))
    if not found:
        sys.exit("t2v.py: %s were to be recorded, and no run with %s was left in %s" % (side, name, tmp))
    return max(found, key=os.path.getmtime)


def records(tmp, side):
    with open(newest(tmp, side, "activations.jsonl"), "rb") as file:
        return sum(1 for _ in file)


def overhead_told(tmp):
    """The newest run's own account: its spans, and what it thinks they cost in milliseconds."""
    with open(newest(tmp, "spans", "timing.json"), encoding="utf-8") as file:
        told = json.load(file)["overhead"]
    return told["spans"], told["total_ms"]


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive")


def measure(program, tmp, rounds, budget):
    """Of each side its runs, in step with those of the others."""
    runs = {side: [] for side in SIDES}
    order = list(SIDES)
    for side in order:
        run(program, tmp, side)
    start = time.monotonic()
    while len(runs["off"]) < rounds:
        for side in order:
            runs[side].append(run(program, tmp, side))
        order = order[1:] + order[:1] if len(runs["off"]) % 2 else order[::-1]
        if len(runs["off"]) >= 9 and time.monotonic() - start > budget:
            break
    return runs


def step_ratios(program, plumb, tmp, side):
    """The extra time of every other denoise step over the steps next to it, in percent."""
    told = range(3, STEPS - 1, 2)  # the first two compile kernels
    folder = os.path.join(tmp, "steps")
    shutil.rmtree(folder, ignore_errors=True)
    env = environment(tmp, side)
    env.update(PLUMB_TRACE="1", PLUMB_RUN_DIR=folder, PLUMB_ACTIVATIONS_STEPS=",".join(map(str, told)))
    subprocess.run([program, *WORK, "--steps", str(STEPS), "--out", os.path.join(tmp, "bench.mp4")], env=env,
                   stdout=subprocess.DEVNULL, check=True)
    with open(os.path.join(folder, "activations.jsonl"), "rb") as file:
        steps = {json.loads(line)["step"] for line in file}
    if not steps >= set(told) or steps & set(range(2, STEPS, 2)):
        sys.exit("t2v.py: other steps were recorded than every other one: %s" % sorted(steps, key=str))
    shown = subprocess.run([plumb, "report", "steps", "--format", "json", folder], stdout=subprocess.PIPE,
                           check=True, env={**os.environ, "PLUMB": "0"})
    took = {row["step"]: row["total_ns"] for row in json.loads(shown.stdout)["steps"]
            if row["name"] == "denoise_step"}
    return [100 * (took[i] / ((took[i - 1] + took[i + 1]) / 2) - 1) for i in told]


def step_figures(program, plumb, tmp, runs):
    ratios = {side: [] for side in ("blocks", "layers")}
    for _ in range(runs):
        for side in ratios:
            ratios[side] += step_ratios(program, plumb, tmp, side)
    result = {}
    for side, key in (("blocks", "act_t2v"), ("layers", "act_t2v_layers")):
        q1, median, q3 = quartiles(ratios[side])
        result.update({key + "_overhead_pct": median, key + "_overhead_pct_q1": q1, key + "_overhead_pct_q3": q3,
                       key + "_overhead_pct_half_width": 1.57 * (q3 - q1) / len(ratios[side]) ** 0.5})
    result["act_t2v_steps"] = len(ratios["blocks"])
    return result


def overhead_pct(on, off):
    return 100 * (statistics.median(on) / statistics.median(off) - 1)


def overheads(runs, side, key):
    """The overhead of one side."""
    on, off = runs[side], runs["off"]
    ratios = [100 * (a[0] / b[0] - 1) for a, b in zip(on, off)]
    q1, _, q3 = quartiles(ratios)
    return {
        key + "_overhead_pct": overhead_pct([a[0] for a in on], [b[0] for b in off]),
        key + "_overhead_pct_half_width": 1.57 * (q3 - q1) / len(ratios) ** 0.5,
        key + "_cpu_overhead_pct": overhead_pct([a[1] for a in on], [b[1] for b in off]),
    }


def figures(runs, tmp):
    told = overhead_told(tmp)
    walls = {side: statistics.median(wall for wall, _ in runs[side]) for side in runs}
    return {
        **overheads(runs, "spans", "t2v_whole"),
        "t2v_whole_rounds": len(runs["off"]),
        "t2v_off_wall_s": walls["off"],
        "t2v_on_wall_s": walls["spans"],
        "t2v_spans": told[0],
        "t2v_calculated_pct": 100 * told[1] * 1e-3 / walls["spans"],
        **overheads(runs, "blocks", "act_t2v_whole"),
        "act_t2v_records": records(tmp, "blocks"),
        **overheads(runs, "layers", "act_t2v_layers_whole"),
        "act_t2v_layers_records": records(tmp, "layers"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("plumb", help="the command, for what a run's steps took")
    parser.add_argument("--json")
    parser.add_argument("--tmp", default=None)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--budget", type=float, default=120, help="seconds after which 9 rounds do")
    parser.add_argument("--quick", action="store_true", help="9 rounds")
    args = parser.parse_args()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        pass
    print("t2v.py: %s %s, recorded and not" % (os.path.basename(args.program), " ".join(WORK)))
    with tempfile.TemporaryDirectory(prefix="plumb-bench-t2v-", dir=args.tmp) as tmp:
        runs = measure(args.program, tmp, 9 if args.quick else max(9, args.rounds), args.budget)
        result = figures(runs, tmp)
        result.update(step_figures(args.program, args.plumb, tmp, 2 if args.quick else 6))
    for key, value in result.items():
        print("  %-34s %.4g" % (key, value))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({k: float("%.6g" % v) for k, v in result.items()}, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""compare.py: how often plumb compare finds a change where there is none, and where there is one.

usage: bench/compare.py PLUMB PROGRAM --json FILE [--tmp DIR] [--runs N] [--quick]

PROGRAM (compare_host.c) is recorded 30 times, nothing else changed. Five and five of the runs, drawn at
random, are two sides of identical code: compare_false_alarm_pct is how many of 2,000 such comparisons exit
with 1 (500 would leave the figure uncertain by 1 %, half its target).
Then ten and ten are drawn, and the median of one node is made 5 % longer in every run of B: a node whose own runs
spread by less than 3 % (interquartile range, scaled to a standard deviation, over the median). compare_found_pct is in how many of 500 that node is `worse`;
compare_unclear_pct, in how many it is beyond the threshold, but not distinguished from noise. All options are the defaults.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys

import figures

SIDE, LARGE_SIDE, CHANGE, QUIET = 5, 10, 1.05, 0.03


def record(o):
    """The reports of o.runs runs of the same program."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PLUMB")}
    reports = []
    for i in range(o.runs):
        folder = os.path.join(o.tmp, "compare-runs", str(i))
        command = [o.plumb, "record", "--run-dir", folder, "--quiet", "--", o.program]
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        with open(os.path.join(folder, "timing.json"), encoding="utf-8") as file:
            reports.append((os.path.join(folder, "timing.json"), json.load(file)))
    return reports


def compare(o, a, b):
    """Exit status and rows of a comparison."""
    done = subprocess.run([o.plumb, "compare", "--format", "json", "--a", *a, "--b", *b],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        sys.exit("compare.py: plumb compare failed with status %d" % done.returncode)
    return done.returncode, json.loads(done.stdout)


def false_alarms(o, reports, draw):
    alarms = unclear = 0
    for _ in range(o.relabellings):
        chosen = [path for path, _ in draw.sample(reports, 2 * SIDE)]
        status, result = compare(o, chosen[:SIDE], chosen[SIDE:])
        alarms += status
        unclear += result["lines"]["unclear"] > 0
    return 100 * alarms / o.relabellings, 100 * unclear / o.relabellings


def key_of(node):
    return node["pipeline"], node["phase"], node["name"]


def spread(values):
    """As a standard deviation over the mean, but without what a few disturbed runs add."""
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / 1.349 / middle


def quiet_nodes(reports):
    """Nodes of all runs whose medians spread little."""
    medians = {}
    for _, report in reports:
        for node in report["nodes"]:
            if node["count"] > 0:
                medians.setdefault(key_of(node), []).append(node["p50_ns"])
    return [key for key, ns in medians.items() if len(ns) == len(reports) and spread(ns) < QUIET]


def slower(o, report, key, i):
    """A copy of the report in which the median of a node is longer."""
    changed = json.loads(json.dumps(report))
    for node in changed["nodes"]:
        if key_of(node) == key:
            node["p50_ns"] *= CHANGE
    path = os.path.join(o.tmp, "compare-runs", "slower-%d.json" % i)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(changed, file)
    return path


def changes_found(o, reports, draw):
    quiet = quiet_nodes(reports)
    if not quiet:
        return None, None, 0
    found = unclear = 0
    for _ in range(o.rounds):
        chosen = draw.sample(reports, 2 * LARGE_SIDE)
        key = draw.choice(quiet)
        a = [path for path, _ in chosen[:LARGE_SIDE]]
        b = [slower(o, report, key, i) for i, (_, report) in enumerate(chosen[LARGE_SIDE:])]
        _, result = compare(o, a, b)
        marker = next(row["marker"] for row in result["rows"]
                      if (row["pipeline"], row["phase"], row["node"]) == key)
        found += marker == "worse"
        unclear += marker == "unclear"
    return 100 * found / o.rounds, 100 * unclear / o.rounds, len(quiet)


def main():
    o = figures.options(["plumb", "program"], runs=30, relabellings=2000, rounds=500)
    if o.quick:
        o.runs, o.relabellings, o.rounds = 20, 50, 50
    draw = random.Random(1)
    reports = record(o)
    alarms, unclear = false_alarms(o, reports, draw)
    found, missed, quiet = changes_found(o, reports, draw)
    result = {"compare_false_alarm_pct": alarms, "compare_false_unclear_pct": unclear,
              "compare_found_pct": found, "compare_unclear_pct": missed,
              "compare_rows": len(reports[0][1]["nodes"]), "compare_quiet_rows": quiet}
    if found is None:
        result["compare_found_pct_reason"] = result["compare_unclear_pct_reason"] = \
            "no node spreads by less than 3 % on this machine"
    print("  %d relabellings of the same runs: %.1f %% exit 1" % (o.relabellings, alarms))
    if found is not None:
        print("  one node of %d 5 %% slower: found %.1f %%, unclear %.1f %%" % (quiet, found, missed))
    shutil.rmtree(os.path.join(o.tmp, "compare-runs"))
    figures.save(o.json, result)


main()

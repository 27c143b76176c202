#!/usr/bin/python3
"""gate.py: how often a rule on times is right, on this machine and with what else it does.

usage: bench/gate.py PLUMB HOST --json FILE [--tmp DIR] [--pairs N] [--changed N] [--quick]

HOST times two variants of a loop in turn, 180 rounds. `pairs` times the variants are the same, `changed` times B does
5 % more. `plumb gate` judges each by "time <= old + 2.5 %". Figures: of the conclusive answers about unchanged code,
the share that is a regression; of those about changed code, the same; of all answers, the inconclusive ones.
"""
import json
import os
import subprocess
import sys

import figures

ROUNDS = 180
RULES = "[loop]\nmetric = time\nnode = loop\nlimit = <= old + 2.5 %\n"


def entry(side, index, ns):
    return {"name": side, "run_name": side, "run_type": "iteration", "repetition_index": index, "iterations": 1,
            "real_time": ns, "cpu_time": ns, "time_unit": "ns",
            "plumb": {"side": side, "metric": "time", "node": "loop"}}


def answer(o, percent):
    """The exit status of the gate about one measurement."""
    out = subprocess.run([o.host, str(ROUNDS), str(percent)], check=True, stdout=subprocess.PIPE, text=True).stdout
    rounds = [[float(ns) for ns in line.split()] for line in out.splitlines()]
    samples, rules = os.path.join(o.tmp, "gate.json"), os.path.join(o.tmp, "gate.rules")
    with open(samples, "w", encoding="utf-8") as file:
        json.dump({"context": {}, "plumb": {"ab": {"in_turn": True}},
                   "benchmarks": [entry("AB"[side], i, pair[side]) for i, pair in enumerate(rounds) for side in (0, 1)]},
                  file)
    with open(rules, "w", encoding="utf-8") as file:
        file.write(RULES)
    done = subprocess.run([o.plumb, "gate", rules, samples], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode == 2:
        sys.exit("gate.py: " + done.stderr)
    return done.returncode


def percent_of(part, whole):
    return 100 * part / whole if whole else None


def main():
    o = figures.options(["plumb", "host"], pairs=200, changed=100)
    pairs, changed = (20, 10) if o.quick else (o.pairs, o.changed)
    same = [answer(o, 0) for _ in range(pairs)]
    worse = [answer(o, 5) for _ in range(changed)]
    told = [status for status in same if status != 3], [status for status in worse if status != 3]
    found = {
        "gate_false_alarm_pct": percent_of(told[0].count(1), len(told[0])),
        "gate_found_pct": percent_of(told[1].count(1), len(told[1])),
        "gate_inconclusive_pct": percent_of((same + worse).count(3), pairs + changed),
    }
    figures.save(o.json, found)
    print("gate: %d of %d answers about unchanged code are alarms, %d of %d changes of 5 %% found, %d of %d inconclusive" %
          (told[0].count(1), len(told[0]), told[1].count(1), len(told[1]), (same + worse).count(3), pairs + changed))


if __name__ == "__main__":
    main()

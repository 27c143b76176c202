#!/usr/bin/python3
"""diverge.py: plumb diverge on two files of a million records, against Python.

usage: bench/diverge.py PLUMB --json FILE [--tmp DIR] [--records N] [--rounds N] [--quick]

Python reads both files line by line with its json module, keeps the records by (module, tensor, step,
call), and looks for the first whose shape or mean magnitude differs: what people write by hand, and less
than plumb does. Both run as processes that take turns; the figure is the median of the ratios of their
CPU times (user + system), which other jobs disturb least. Memory is the highest resident set of plumb,
over the records of both files.
"""
import os
import random
import statistics
import subprocess
import sys

import figures

BY_HAND = """
import json, sys
def load(path):
    with open(path, encoding="utf-8") as file:
        rows = (json.loads(line) for line in file)
        return {(r["module"], r["tensor"], r["step"], r["call"]): r for r in rows}
a, b = load(sys.argv[1]), load(sys.argv[2])
for key, x in a.items():
    y = b.get(key)
    if y and (x["shape"] != y["shape"] or abs(x["abs_mean"] - y["abs_mean"]) > 5e-3 * abs(x["abs_mean"])):
        print(*key)
        break
"""
PARTS = ["norm1", "attn.q", "attn.k", "attn.v", "attn.proj", "attn", "norm2", "mlp.fc1", "mlp.act",
         "mlp.fc2", "mlp"]
LINE = ('{"module": "transformer.blocks.%d.%s", "tensor": "out", "step": %d, "abs_mean": %r, "sum": %r, '
        '"call": 0, "rank": 0, "seq": %d, "phase": "inference", "io": "out", "dtype": "bfloat16", '
        '"shape": [1, 4096, 1536]}\n')


def write(path, records, fault):
    state = random.Random(5)
    layers = [(block, part) for block in range(30) for part in PARTS]
    with open(path, "w", encoding="utf-8") as file:
        for i in range(records):
            block, part = layers[i % len(layers)]
            scale = 1.02 if fault <= i < fault + 300 else 1
            mean, total = state.random() * 2 + 0.1, state.random() * 200 - 100
            file.write(LINE % (block, part, i // len(layers), mean * scale, total * scale, i))


def run(command):
    """CPU seconds and the highest resident set in bytes of a process, and its first line."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, line, process.returncode


def main():
    o = figures.options(["plumb"], records=1000000, rounds=3)
    if o.quick:
        o.records, o.rounds = o.records // 10, 1
    paths = [os.path.join(o.tmp, name) for name in ("diverge_a.jsonl", "diverge_b.jsonl")]
    fault = o.records * 7 // 10
    write(paths[0], o.records, o.records)
    write(paths[1], o.records, fault)
    ratios, memory, cpu = [], [], []
    for _ in range(o.rounds):
        ours, peak, line, status = run([o.plumb, "diverge", "--top", "1", *paths])
        theirs, _, key, _ = run([sys.executable, "-c", BY_HAND, *paths])
        name = key.split()[0] if key.split() else ""
        if status != 1 or not name or "first divergence: %s out step %s:" % (name, key.split()[2]) not in line:
            sys.exit("diverge.py: plumb says '%s', Python '%s'" % (line.strip(), key.strip()))
        ratios.append(theirs / ours)
        memory.append(peak / (2 * o.records))
        cpu.append(ours)
    for path in paths:
        os.remove(path)
    result = {"diverge_x_python": statistics.median(ratios),
              "diverge_bytes_per_record": statistics.median(memory),
              "diverge_cpu_s": statistics.median(cpu), "diverge_records": 2 * o.records}
    print("  %d records: %.2f s of CPU time, Python %.1f times that; %.0f bytes a record" % (
        2 * o.records, result["diverge_cpu_s"], result["diverge_x_python"],
        result["diverge_bytes_per_record"]))
    figures.save(o.json, result)


main()

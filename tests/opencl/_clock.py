"""Compares the times of kernels in a trace (CSV) with what the program printed: _clock.py CSV PRINTED.

Each mark gives the interval in which a span of the program began, on the device's clock. So the device's
time of every span's begin in the trace is known to some 100 ns, and what a kernel's begin, end and delays
must be. What is left over may not exceed the bound that the trace states."""

import csv
import json
import sys

rows = list(csv.DictReader(open(sys.argv[1])))
printed = [line.split() for line in open(sys.argv[2])]
marks = [[int(n) for n in p[1:]] for p in printed if p[0] == "mark"]
kernels = [[int(n) for n in p[1:]] for p in printed if p[0] == "kernel"]
spans = sorted(int(r["start_ns"]) for r in rows if r["kind"] == "span" and r["name"] == "mark")
seen = sorted(
    (int(r["start_ns"]), int(r["duration_ns"]), json.loads(r["args"]))
    for r in rows
    if r["kind"] == "span" and r["name"] == "twice"
)
assert len(spans) == len(marks) and len(seen) == len(kernels), (len(spans), len(seen), len(kernels))

worst = widest = 0
for span, (before, after), (start, duration, args), (queued, submit, begin, end) in zip(spans, marks, seen, kernels):
    bound = args["clock_bound_ns"]
    # The trace's time at the device's `before` is at most span, at `after` at least.
    low, high = span + (begin - after), span + (begin - before)
    error = max(low - start, start - high, 0)
    worst, widest = max(worst, error), max(widest, bound)
    assert error <= bound + 500, f"a kernel began {error} ns away from where it should, the bound is {bound}"
    assert abs(duration - (end - begin)) <= 50 + duration // 1000, (duration, end - begin)
    assert abs(args["queued_us"] * 1000 - (submit - queued)) < 2, args
    assert abs(args["submit_us"] * 1000 - (begin - submit)) < 2, args
    assert args["node"] == "launch", args
print(f"{len(seen)} kernels, at most {worst} ns off, bounds up to {widest} ns")

#!/usr/bin/python3
"""stage.py: a step that is run alone against the same step in its pipeline.

usage: bench/stage.py PROGRAM LIBRARY PLUMB --json FILE [--tmp DIR] [--rounds N] [--quick]

A round records text_to_video, with what step 7 of `denoise` was given, and runs that step alone with `plumb bench`.
The first figure is the median over the rounds by how many percent the medians differ, without its sign. The others
are sizes of exported traces with the primitives of oneDNN: of the whole pipeline, and of one step alone.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

import figures

WORK = ["--size", "128", "--frames", "16"]
STEP = "denoise:7"


def call(command, **env):
    done = subprocess.run(command, env={**os.environ, "OMP_WAIT_POLICY": "passive", **env}, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("stage.py: %s: status %d: %s" % (command[0], done.returncode, done.stderr[-300:]))


def one_round(o, folder, repeat):
    """Percent, bytes of the trace of the pipeline, bytes of the trace of one step."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run, out = os.path.join(folder, "run"), os.path.join(folder, "alone")
    full = os.path.join(folder, "full.json.gz")
    call([o.plumb, "record", "--collect", "onednn", "--run-dir", run, "--", o.program, *WORK,
          "--out", os.path.join(folder, "bench.mp4")], PLUMB_CAPTURE=STEP)
    call([o.plumb, "export", run, "-o", full])
    bench = [o.plumb, "bench", "--stage", "denoise", "--from", o.library, "--inputs", "captured", "--out", out, run]
    call(bench + ["--repeat", "1"])
    step = os.path.getsize(os.path.join(out, "denoise_trace.json.gz"))
    call(bench + ["--warmup", "3", "--repeat", str(repeat)])
    with open(os.path.join(out, "bench.json"), encoding="utf-8") as file:
        result = json.load(file)["plumb"]
    if result["outputs_equal"] is not True:
        sys.exit("stage.py: the step alone computes something else than in the pipeline")
    return abs(100 * (result["median_ms"] / result["pipeline"]["ms"] - 1)), os.path.getsize(full), step


def main():
    o = figures.options(["program", "library", "plumb"], rounds=9)
    rounds = 2 if o.quick else o.rounds
    found = [one_round(o, os.path.join(o.tmp, "stage"), 5 if o.quick else 20) for _ in range(rounds)]
    percent = sorted(f[0] for f in found)
    low, high = (statistics.quantiles(percent, n=4, method="inclusive")[0::2] if len(percent) > 1 else percent * 2)
    figures.save(o.json, {
        "bench_vs_insitu_pct": statistics.median(percent),
        "bench_vs_insitu_pct_q1": low,
        "bench_vs_insitu_pct_q3": high,
        "full_trace_bytes": statistics.median(f[1] for f in found),
        "step_trace_bytes": statistics.median(f[2] for f in found),
    })
    print("stage: alone against in the pipeline %.1f %% (%.1f to %.1f); trace of the pipeline %d bytes, of a step %d" %
          (statistics.median(percent), low, high, found[0][1], found[0][2]))


if __name__ == "__main__":
    main()

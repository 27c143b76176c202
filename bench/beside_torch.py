#!/usr/bin/python3
"""beside_torch.py: the statistics of an activation by plumb and by PyTorch's hooks, on the same memory.

usage: bench/beside_torch.py LIBRARY --json FILE [--tmp DIR] [--quick]

A tensor of N(0, 1), float32 or bfloat16, 256 MiB (beyond every cache) or 64 KiB (in L2), and its default
statistics, mean of magnitudes and sum. PyTorch, on one thread, as the hooks of
bindings/python/plumb_torch_activations.py and FastVideo's compute them: each of a float32 copy (of float32 that is
no copy), fetched with .item(). `direct`: without that copy; `spread`: mean of magnitudes, maximum and
deviation instead. plumb: the kernel that plumb_activation() runs, through LIBRARY. They take turns in one
process; CPU time of the thread; a figure is the median of the ratios of the rounds. run.sh starts nine such
processes and keeps the median of each key.
"""
import argparse
import ctypes
import json
import os
import statistics
import sys
import time

try:
    import torch
except ImportError:
    torch = None

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bindings", "python"))
SIZES = [("", 256 << 20), ("_64k", 64 << 10)]
TYPES = [("f32", 4), ("bf16", 2)]
NAMES = ["abs_mean", "sum", "max", "std"]  # as the kernel gives them


def kernel_of(path):
    kernel = ctypes.CDLL(path).plumb_bench_stats
    kernel.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.c_uint64,
                       ctypes.POINTER(ctypes.c_double)]
    kernel.restype = None
    return kernel


def seconds(function):
    begin = time.thread_time_ns()
    function()
    return (time.thread_time_ns() - begin) * 1e-9


def normal(count, dtype):
    """A million numbers, again and again."""
    some = torch.randn(min(count, 1 << 20)).to(dtype)
    return some.repeat(count // len(some))


def check(ours, theirs, count):
    """Fails unless both sides computed the same. torch adds in float32, so its sum loses what cancels."""
    for name, value in theirs.items():
        near = 1e-3 * (count if name == "sum" else 1)
        if abs(value - ours[NAMES.index(name)]) > near:
            sys.exit("beside_torch.py: %s of %d values is %.9g by plumb and %.9g by torch" % (
                name, count, ours[NAMES.index(name)], value))


def compare(ways, rounds, share):
    """Medians of the ratios of each other way to the first, which runs `share` times as often in a round,
    and of its own seconds."""
    for way in ways:
        way()
    taken = []
    for i in range(rounds):
        times = {way: seconds(way) for way in ways[i % len(ways):] + ways[:i % len(ways)]}
        own = times[ways[0]] / share
        taken.append([own] + [times[way] / own for way in ways[1:]])
    return [statistics.median(column) for column in zip(*taken)]


def figures_of(kernel, statistic, name, suffix, size, width, quick):
    bf16, large, out = name == "bf16", size > 1 << 20, (ctypes.c_double * 4)()
    x = normal(size // width, torch.bfloat16 if bf16 else torch.float32)
    share = 4 if large else 10

    def plumb(spread):
        return lambda: kernel(x.data_ptr(), x.numel(), bf16, spread, share, out)

    def hooks(names):
        return lambda: {name: statistic(name, x) for name in names}

    def direct():
        return x.abs().mean().item(), x.sum().item()

    plain, wide = ["abs_mean", "sum"], ["abs_mean", "max", "std"]
    plumb(1)()
    check(list(out), {**hooks(plain)(), **hooks(wide)()}, x.numel())
    rounds = (1 if quick else 3) if large else 100
    own, hooked, without = compare([plumb(0), hooks(plain), direct], rounds, share)
    own_wide, hooked_wide = compare([plumb(1), hooks(wide)], rounds, share)
    key = "act_%s%s" % (name, suffix)
    print("  %-4s %9d bytes: plumb %5.1f GB/s, hooks %.2f (%.1f x), without a copy %.2f (%.1f x); "
          "spread: %.1f, %.2f (%.1f x)" % (
              name, size, size / own * 1e-9, size / own / hooked * 1e-9, hooked, size / own / without * 1e-9,
              without, size / own_wide * 1e-9, size / own_wide / hooked_wide * 1e-9, hooked_wide))
    return {key + "_x_torch": hooked, key + "_x_torch_direct": without, key + "_spread_x_torch": hooked_wide,
            key + "_beside_torch_gb_s": size / own * 1e-9}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--json", required=True)
    parser.add_argument("--tmp")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    figures = {}
    if torch is None:
        for name, _ in TYPES:
            figures["act_%s_x_torch" % name] = None
            figures["act_%s_x_torch_reason" % name] = "python3-torch is not installed"
        print("beside_torch.py: python3-torch is not installed")
    else:
        import plumb_torch_activations
        torch.set_num_threads(1)
        figures["torch_version"] = torch.__version__
        for suffix, size in SIZES:
            for name, width in TYPES:
                figures.update(figures_of(kernel_of(args.library), plumb_torch_activations.statistic, name,
                                          suffix, size, width, args.quick))
    with open(args.json, "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=2)


main()

#!/usr/bin/python3
"""Writes the activations of a small model: _activations.py [OPTION=VALUE]... >FILE

A stand-in for a recorded run where only the comparison matters: values flow through `blocks` blocks of
attn and mlp over `steps` steps, in plain Python, so that a fault spreads as it does in a model.

    blocks=4 steps=2 seed=1      the same seed gives the same values
    fault=none|scale|nan|inf|missing|shape at=block.2.attn step=0 size=0.05
    format=plumb|fastvideo       the second with two statistics and bare NaN
    rename=1                     blocks are called layers.N, their parts self_attention and ffn
    noise=0                      relative noise of every operation
    inputs=1                     0: outputs alone
    dtype=float32
    dump=DIR                     also the values: DIR/<module>.out.npy, of step 0
"""

import json
import math
import os
import random
import struct
import sys

VALUES = 64


def read_options(words):
    options = {"blocks": "4", "steps": "2", "seed": "1", "fault": "none", "at": "", "step": "0",
               "size": "0.05", "format": "plumb", "rename": "0", "noise": "0", "inputs": "1",
               "dtype": "float32", "dump": ""}
    for word in words:
        key, value = word.split("=", 1)
        if key not in options:
            sys.exit("_activations.py: no option '%s'" % key)
        options[key] = value
    return options


def weights_of(name):
    state = random.Random(name)
    return state.uniform(0.6, 1.4), state.uniform(-0.2, 0.2), state.randrange(1, 40, 2)


class Model:
    def __init__(self, options):
        self.o = options
        self.noise = random.Random(options["seed"] + "noise")
        self.calls = {}
        self.seq = 0

    def name(self, module):
        if self.o["rename"] != "1":
            return module
        return (module.replace("block.", "layers.").replace(".attn", ".self_attention")
                .replace(".mlp", ".ffn").replace("embed", "token_embedding"))

    def record(self, module, tensor, step, values):
        finite = [v for v in values if math.isfinite(v)] or [0.0]
        fault = self.o["fault"] == "shape" and module == self.o["at"] and tensor == "out"
        n = len(finite)
        mean = sum(abs(v) for v in finite) / n
        if self.o["format"] == "fastvideo":
            bad = n < len(values)
            row = {"module": self.name(module), "tensor": tensor, "step": step,
                   "abs_mean": math.nan if bad else mean, "sum": math.nan if bad else sum(finite)}
            if tensor == "out":
                print(json.dumps(row))
            return
        key = (module, tensor, step)
        call = self.calls[key] = self.calls.get(key, -1) + 1
        row = {"module": self.name(module), "tensor": tensor, "step": step, "abs_mean": mean,
               "sum": sum(finite), "min": min(finite), "max": max(finite),
               "nan": sum(math.isnan(v) for v in values), "call": call, "seq": self.seq,
               "io": "in" if tensor.startswith("in") else "out", "dtype": self.o["dtype"],
               "shape": [2, len(values) // 4] if fault else [2, len(values) // 2]}
        self.seq += 1
        print(json.dumps(row))

    def dump(self, module, values, step):
        if not self.o["dump"] or step != 0:
            return
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, %d), }" % (len(values) // 2)
        head += " " * (63 - (len(head) + 10) % 64) + "\n"
        with open(os.path.join(self.o["dump"], self.name(module) + ".out.npy"), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode("ascii"))
            file.write(struct.pack("<%df" % len(values), *values))

    def broken(self, module, step, y):
        kind, size = self.o["fault"], float(self.o["size"])
        if module != self.o["at"] or step != int(self.o["step"]):
            return y
        if kind == "scale":
            return [v * (1 + size) for v in y]
        if kind == "missing":
            return [0.0 for _ in y]
        if kind in ("nan", "inf"):
            return y[:5] + [math.nan if kind == "nan" else math.inf] + y[6:]
        return y

    def run(self, module, x, step):
        gain, shift, stride = weights_of(module)
        off = float(self.o["noise"])
        y = []
        for i, v in enumerate(x):
            mixed = v + 0.3 * x[(i * stride + 7) % len(x)]
            out = 1.5 * math.tanh(gain * mixed + shift) if not math.isnan(mixed) else math.nan
            y.append(out * (1 + off * self.noise.uniform(-1, 1)))
        y = self.broken(module, step, y)
        if self.o["inputs"] == "1":
            self.record(module, "in[0]", step, x)
        self.record(module, "out", step, y)
        self.dump(module, y, step)
        return y

    def all(self):
        state = random.Random(self.o["seed"])
        x = [state.uniform(-2, 2) for _ in range(VALUES)]
        for step in range(int(self.o["steps"])):
            x = self.run("embed", x, step)
            for k in range(int(self.o["blocks"])):
                block = "block.%d" % k
                whole = x
                x = [a + 0.5 * b for a, b in zip(x, self.run(block + ".attn", x, step))]
                x = [0.6 * a + 0.5 * b for a, b in zip(x, self.run(block + ".mlp", x, step))]
                x = self.broken(block, step, x)
                if self.o["inputs"] == "1":
                    self.record(block, "in[0]", step, whole)
                self.record(block, "out", step, x)
                self.dump(block, x, step)


Model(read_options(sys.argv[1:])).all()

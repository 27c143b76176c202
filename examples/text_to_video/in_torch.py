#!/usr/bin/python3
"""in_torch.py: the models of text_to_video in PyTorch, with the weights that its --save-weights wrote.

usage: in_torch.py WEIGHTS.safetensors [--wrong MODULE]

Another engine, the same numbers: with PLUMB_ACTIVATIONS=1 both record what every block gave out, and
`plumb diverge` lays the records side by side. The formulas are those of README.md. Modules are called as
the nodes of the C program, so that the records have equal names; steps as its steps. --wrong makes a module
give out 2 % too much, to see that it is found; the C program has --fault for that.
"""
import argparse
import json
import math
import os
import re
import sys

import torch
from torch import nn
from torch.nn import functional as F

# Where the source tree has it; installed it is in PREFIX/share/plumb.
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bindings", "python"))
import plumb_torch_activations as activations  # noqa: E402

DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "U8": torch.uint8}
START, TEXT_HEADS = 256, 4


def read_safetensors(path):
    """Its tensors (floats in float32) and metadata. 8 bytes of the header's length, the header, the values."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        values = bytearray(file.read())
    facts = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        shape, dtype = entry["shape"], DTYPES[entry["dtype"]]
        flat = torch.frombuffer(values[begin:end], dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        tensors[name] = (flat.float() if flat.is_floating_point() else flat).reshape(shape)
    return tensors, facts


def sinusoid(position, n, longest):
    angle = position * longest ** (-torch.arange(n // 2) / (n // 2))
    return torch.cat([angle.sin(), angle.cos()], -1)


class Weights:
    """The tensors below a dotted name: w("mlp") is that of a part, w["weight"] one of them."""

    def __init__(self, tensors, prefix):
        self.tensors, self.prefix = tensors, prefix

    def __call__(self, part):
        return Weights(self.tensors, "%s.%s" % (self.prefix, part))

    def __getitem__(self, name):
        return self.tensors["%s.%s" % (self.prefix, name)]


# Hooks are not given keyword arguments. So what is recorded as the input of a module is what it has without
# a name: the residual stream, and the text in cross-attention, as in the C program.


class Norm(nn.Module):
    def forward(self, x, *, shift=0, scale=1):
        return F.layer_norm(x, x.shape[-1:], eps=1e-5) * scale + shift


class Linear(nn.Module):
    """Its output is that of `then` with the `residual` added: there is no record in between."""

    def __init__(self, w, then=None):
        super().__init__()
        self.w, self.then = w, then

    def forward(self, x, *, residual=0):
        y = x @ self.w["weight"] + self.w["bias"]
        return residual + (self.then(y) if self.then else y)


class Conv(Linear):
    def forward(self, x, *, residual=0):
        """x is [frames][rows][columns][channels], as in the C program."""
        y = F.conv3d(x.permute(3, 0, 1, 2)[None], self.w["weight"], self.w["bias"], padding=1)
        y = y[0].permute(1, 2, 3, 0)
        return residual + (self.then(y) if self.then else y)


class Heads(nn.Module):
    """Attention itself: softmax(q k' / sqrt(width)) v, the heads side by side."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, q, k, v):
        q, k, v = (x.reshape(x.shape[0], self.heads, -1).transpose(0, 1) for x in (q, k, v))
        scores = (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1)
        return (scores @ v).transpose(0, 1).reshape(q.shape[1], -1)


class SelfAttention(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.norm, self.qkv, self.heads = Norm(), Linear(w("qkv")), Heads(heads)
        self.last = (Linear(w("out")),)  # in a tuple: no module that could be recorded, and none in C

    def forward(self, x, *, gate=1, **modulation):
        mixed = self.heads(*self.qkv(self.norm(x, **modulation)).chunk(3, -1))
        return x + gate * self.last[0](mixed)


class CrossAttention(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.norm, self.q, self.kv, self.heads = Norm(), Linear(w("q")), Linear(w("kv")), Heads(heads)
        self.last = (Linear(w("out")),)

    def forward(self, x, context):
        return x + self.last[0](self.heads(self.q(self.norm(x)), *self.kv(context).chunk(2, -1)))


class Mlp(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.norm = Norm()
        self.up = Linear(w("up"), lambda x: F.gelu(x, approximate="tanh"))
        self.last = (Linear(w("down")),)

    def forward(self, x, *, gate=1, **modulation):
        return x + gate * self.last[0](self.up(self.norm(x, **modulation)))


class Embedding(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self, prompt):
        tokens = torch.cat([torch.tensor([START]), prompt.long()])
        x = self.w["embedding"][tokens]
        return x + sinusoid(torch.arange(len(tokens))[:, None], x.shape[1], 1e4)


class TextBlock(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.attention, self.mlp = SelfAttention(w("attention"), TEXT_HEADS), Mlp(w("mlp"))

    def forward(self, x):
        return self.mlp(self.attention(x))


class Block(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.modulation = Linear(w("modulation"))
        self.self_attention = SelfAttention(w("self"), heads)
        self.cross_attention = CrossAttention(w("cross"), heads)
        self.mlp = Mlp(w("mlp"))

    def forward(self, x, *, time, context):
        parts = self.modulation(time).chunk(6, -1)
        x = self.self_attention(x, shift=parts[0], scale=parts[1], gate=parts[2])
        x = self.cross_attention(x, context)
        return self.mlp(x, shift=parts[3], scale=parts[4], gate=parts[5])


class ProjectOut(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.modulation_out, self.norm = Linear(w("modulation_out")), Norm()
        self.patch_out = Linear(w("patch_out"))

    def forward(self, x, *, time):
        shift, scale = self.modulation_out(time).chunk(2, -1)
        return self.patch_out(self.norm(x, shift=shift, scale=scale))


class Euler(nn.Module):
    def forward(self, latents, *, clean, keep):
        return keep * latents + (1 - keep) * clean


class DenoiseStep(nn.Module):
    def __init__(self, w, heads, guidance):
        super().__init__()
        blocks = {name.split(".")[1] for name in w.tensors if re.match(r"dit\.\d", name)}
        self.positions, self.guidance = w["positions"], guidance
        self.time_in, self.time_hidden = Linear(w("time_in"), F.silu), Linear(w("time_hidden"), F.silu)
        self.text_in, self.patch_in = Linear(w("text_in")), Linear(w("patch_in"))
        self.block = nn.ModuleList(Block(w(i), heads) for i in range(len(blocks)))
        self.project_out, self.euler = ProjectOut(w), Euler()

    def predict(self, latents, t, text):
        time = self.time_hidden(self.time_in(sinusoid(torch.tensor([[1000 * t]]), 128, 1e4)))
        context = self.text_in(text)
        x = self.patch_in(latents, residual=self.positions)
        for block in self.block:
            x = block(x, time=time, context=context)
        return self.project_out(x, time=time)

    def run(self, latents, text, no_text, t, t_next):
        guided, unguided = (self.predict(latents, t, cond) for cond in (text, no_text))
        return self.euler(latents, clean=unguided + self.guidance * (guided - unguided), keep=t_next / t)


class VaeStage(nn.Module):
    def __init__(self, w, time_factor):
        super().__init__()
        self.residual, self.up = nn.ModuleList([Conv(w("residual.0")), Conv(w("residual.1"))]), Conv(w("up"))
        self.factors = (time_factor, 2, 2)

    def forward(self, x):
        y = self.residual[0](F.silu(Norm()(x)))
        x = self.residual[1](F.silu(Norm()(y)), residual=x)
        x = F.interpolate(x.permute(3, 0, 1, 2)[None], scale_factor=self.factors, mode="trilinear")
        return self.up(x[0].permute(1, 2, 3, 0))


class Outputs(nn.Module):
    """The outputs of a stage of the C program, under its name."""

    def forward(self, **values):
        return values


class TextToVideo(nn.Module):
    def __init__(self, tensors, facts):
        super().__init__()
        text, vae = Weights(tensors, "text"), Weights(tensors, "vae")
        self.embedding, self.text_norm = Embedding(text), Norm()
        self.text = nn.ModuleList(TextBlock(text(i)) for i in range(2))
        self.denoise_step = DenoiseStep(Weights(tensors, "dit"), int(facts["heads"]), float(facts["guidance"]))
        self.vae = nn.ModuleDict({str(i): VaeStage(vae(i), factor) for i, factor in enumerate((2, 2, 1))})
        self.vae.update({"in": Conv(vae("in")), "out": Conv(vae("out"), torch.tanh)})
        self.text_encode, self.denoise, self.vae_decode = Outputs(), Outputs(), Outputs()
        self.steps = int(facts["steps"])
        self.grid = [int(facts["latent_" + axis]) for axis in ("frames", "rows", "columns")]

    def encode(self, prompt):
        x = self.embedding(prompt)
        for block in self.text:
            x = block(x)
        return self.text_norm(x)

    def time_at(self, step):
        even = 1 - step / self.steps
        return 3 * even / (1 + 2 * even)

    def decode(self, latents):
        frames, rows, columns = self.grid
        volume = latents.reshape(frames, rows, columns, 2, 2, -1).transpose(2, 3)
        x = self.vae["in"](volume.reshape(frames, 2 * rows, 2 * columns, -1))
        for i in "012":
            x = self.vae[i](x)
        return self.vae["out"](F.silu(Norm()(x)))

    def forward(self, prompt, latents):
        text, no_text = self.encode(prompt), self.encode(prompt[:0])
        self.text_encode(prompt_emb=text)
        for i in range(self.steps):
            with activations.step(i):
                latents = self.denoise_step.run(latents, text, no_text, self.time_at(i), self.time_at(i + 1))
        self.denoise(latents=latents)
        return self.vae_decode(frames=self.decode(latents))["frames"]


def run(path, wrong=None):
    """One video, as far as its frames; `wrong` names the module with a fault."""
    tensors, facts = read_safetensors(path)
    model = TextToVideo(tensors, facts).eval()
    if wrong:
        dict(model.named_modules())[wrong].register_forward_hook(lambda module, given, out: 1.02 * out)
    hooks = activations.attach(model, inputs=r"(^text\.\d|^vae\.\d|block\.\d|attention|mlp|project_out)$")
    with torch.no_grad():
        frames = model(tensors["input.prompt"], tensors["input.latents"])
    for hook in hooks:
        hook.remove()
    return frames


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weights")
    parser.add_argument("--wrong", metavar="MODULE", default="", help="a module below denoise_step.block")
    args = parser.parse_args()
    if not re.fullmatch(r"(denoise_step\.block\.[0-5](\.(self_attention|cross_attention|mlp))?)?", args.wrong):
        parser.error("--wrong takes a module as denoise_step.block.3.mlp, not '%s'" % args.wrong)
    torch.set_num_threads(1)
    frames = run(args.weights, args.wrong)
    print("%d frames of %dx%d" % (frames.shape[0], frames.shape[2], frames.shape[1]))


if __name__ == "__main__":
    main()

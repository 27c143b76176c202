#!/usr/bin/python3
"""in_torch.py: the models of text_to_video in PyTorch, with the weights that its --save-weights wrote.

usage: in_torch.py WEIGHTS.safetensors [--wrong MODULE]

Another engine, the same numbers: with PLUMB_ACTIVATIONS=1 both record what every block gave out, and
`plumb diverge` lays the records side by side. The formulas are those of README.md. Modules are called as
the nodes of the C program, so that the records have equal names; steps as its steps. --wrong makes a module
give out 2 % too much, to see that it is found.
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
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import plumb_torch_activations as activations  # noqa: E402

DTYPES = {"F32": torch.float32, "U8": torch.uint8}
START, TEXT_HEADS = 256, 4


def read_safetensors(path):
    """Its tensors and its metadata. 8 bytes of the header's length, the header, the values."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        values = bytearray(file.read())
    facts = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        shape, dtype = entry["shape"], DTYPES[entry["dtype"]]
        flat = torch.frombuffer(values[begin:end], dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(shape)
    return tensors, facts


def sinusoid(position, n, longest):
    angle = position * longest ** (-torch.arange(n // 2) / (n // 2))
    return torch.cat([angle.sin(), angle.cos()], -1)


def norm(x):
    return F.layer_norm(x, x.shape[-1:], eps=1e-5)


class Weights:
    """The tensors below a dotted name: w("mlp") is that of a part, w["weight"] one of them."""

    def __init__(self, tensors, prefix):
        self.tensors, self.prefix = tensors, prefix

    def __call__(self, part):
        return Weights(self.tensors, "%s.%s" % (self.prefix, part))

    def __getitem__(self, name):
        return self.tensors["%s.%s" % (self.prefix, name)]

    def linear(self, x):
        return x @ self["weight"] + self["bias"]

    def conv(self, x):
        """x is [frames][rows][columns][channels], as in the C program."""
        y = F.conv3d(x.permute(3, 0, 1, 2)[None], self["weight"], self["bias"], padding=1)
        return y[0].permute(1, 2, 3, 0)


def attention(q, k, v, heads):
    q, k, v = (x.reshape(x.shape[0], heads, -1).transpose(0, 1) for x in (q, k, v))
    scores = (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1)
    return (scores @ v).transpose(0, 1).reshape(q.shape[1], -1)


def self_attention(w, x, heads):
    return w("out").linear(attention(*w("qkv").linear(x).chunk(3, -1), heads))


def mlp(w, x):
    return w("down").linear(F.gelu(w("up").linear(x), approximate="tanh"))


class TextEncode(nn.Module):
    def __init__(self, tensors):
        super().__init__()
        self.w = Weights(tensors, "text")

    def encode(self, prompt):
        tokens = torch.cat([torch.tensor([START]), prompt.long()])
        x = self.w["embedding"][tokens]
        x = x + sinusoid(torch.arange(len(tokens))[:, None], x.shape[1], 1e4)
        for i in range(2):
            w = self.w(i)
            x = x + self_attention(w("attention"), norm(x), TEXT_HEADS)
            x = x + mlp(w("mlp"), norm(x))
        return norm(x)

    def forward(self, prompt):
        return {"prompt_emb": self.encode(prompt)}


class SelfAttention(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.w, self.heads = w, heads

    def forward(self, x, shift, scale, gate):
        return x + gate * self_attention(self.w, norm(x) * scale + shift, self.heads)


class CrossAttention(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.w, self.heads = w, heads

    def forward(self, x, context):
        kv = self.w("kv").linear(context).chunk(2, -1)
        return x + self.w("out").linear(attention(self.w("q").linear(norm(x)), *kv, self.heads))


class Mlp(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self, x, shift, scale, gate):
        return x + gate * mlp(self.w, norm(x) * scale + shift)


class Block(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.w = w
        self.self_attention = SelfAttention(w("self"), heads)
        self.cross_attention = CrossAttention(w("cross"), heads)
        self.mlp = Mlp(w("mlp"))

    # Hooks are not given keyword arguments: what is recorded as "in" is x alone, as in the C program.
    def forward(self, x, *, time, context):
        parts = self.w("modulation").linear(time).chunk(6, -1)
        x = self.self_attention(x, *parts[:3])
        x = self.cross_attention(x, context)
        return self.mlp(x, *parts[3:])


class ProjectOut(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self, x, time):
        shift, scale = self.w("modulation_out").linear(time).chunk(2, -1)
        return self.w("patch_out").linear(norm(x) * scale + shift)


class Dit(nn.Module):
    def __init__(self, tensors, heads):
        super().__init__()
        self.w = w = Weights(tensors, "dit")
        blocks = {name.split(".")[1] for name in tensors if re.match(r"dit\.\d", name)}
        self.block = nn.ModuleList(Block(w(i), heads) for i in range(len(blocks)))
        self.project_out = ProjectOut(w)

    def forward(self, latents, t, text):
        w = self.w
        time = F.silu(w("time_in").linear(sinusoid(torch.tensor([[1000 * t]]), 128, 1e4)))
        time = F.silu(w("time_hidden").linear(time))
        context = w("text_in").linear(text)
        x = w["positions"] + w("patch_in").linear(latents)
        for block in self.block:
            x = block(x, time=time, context=context)
        return self.project_out(x, time)


class Denoise(nn.Module):
    def __init__(self, dit, steps, guidance):
        super().__init__()
        self.dit = (dit,)  # not a module of this one: the C program has it under a name of its own
        self.steps, self.guidance = steps, guidance

    def forward(self, latents, text, no_text):
        def time_at(step):
            even = 1 - step / self.steps
            return 3 * even / (1 + 2 * even)

        for i in range(self.steps):
            with activations.step(i):
                t, keep = time_at(i), time_at(i + 1) / time_at(i)
                guided, unguided = (self.dit[0](latents, t, cond) for cond in (text, no_text))
                clean = unguided + self.guidance * (guided - unguided)
                latents = keep * latents + (1 - keep) * clean
        return {"latents": latents}


class VaeDecode(nn.Module):
    def __init__(self, tensors):
        super().__init__()
        self.w = Weights(tensors, "vae")

    def forward(self, latents):
        x = self.w("in").conv(latents)
        for i, time_factor in enumerate((2, 2, 1)):
            w = self.w(i)
            y = w("residual.0").conv(F.silu(norm(x)))
            x = x + w("residual.1").conv(F.silu(norm(y)))
            x = F.interpolate(x.permute(3, 0, 1, 2)[None], scale_factor=(time_factor, 2, 2), mode="trilinear")
            x = w("up").conv(x[0].permute(1, 2, 3, 0))
        return {"frames": torch.tanh(self.w("out").conv(F.silu(norm(x))))}


class TextToVideo(nn.Module):
    def __init__(self, tensors, facts):
        super().__init__()
        self.text_encode = TextEncode(tensors)
        self.denoise_step = Dit(tensors, int(facts["heads"]))
        self.denoise = Denoise(self.denoise_step, int(facts["steps"]), float(facts["guidance"]))
        self.vae_decode = VaeDecode(tensors)
        self.grid = [int(facts["latent_" + axis]) for axis in ("frames", "rows", "columns")]

    def forward(self, prompt, noise):
        text = self.text_encode(prompt)["prompt_emb"]
        latents = self.denoise(noise, text, self.text_encode.encode(prompt[:0]))["latents"]
        frames, rows, columns = self.grid
        volume = latents.reshape(frames, rows, columns, 2, 2, -1).transpose(2, 3)
        return self.vae_decode(volume.reshape(frames, 2 * rows, 2 * columns, -1))["frames"]


def run(path, wrong=None):
    """One video, as far as its frames; `wrong` names the module with a fault."""
    tensors, facts = read_safetensors(path)
    model = TextToVideo(tensors, facts).eval()
    if wrong:
        dict(model.named_modules())[wrong].register_forward_hook(lambda module, given, out: 1.02 * out)
    hooks = activations.attach(model, inputs=r"block\.\d+$")
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

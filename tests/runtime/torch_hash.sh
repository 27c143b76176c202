#!/bin/sh
# labels: plain
# The hashes of the hooks for PyTorch are those of libplumb, for every type, length and layout; with them
# two runs of PyTorch compare to the bit, and heads that changed places are found, which no sum can do.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
if ! /usr/bin/python3 -c 'import importlib.util as u; exit(not u.find_spec("torch"))'; then
    echo 'torch_hash: no torch for /usr/bin/python3 (package python3-torch)' >&2
    exit 77
fi
lib_dir=$(dirname "$PLUMB_LIB")
cat >values.c <<'C'
#include <plumb/activation.h>
#include <plumb/plumb.h>

static const int64_t sizes[] = {1, 15, 16, 17, 255, 256, 257, 1000, 4096, 5000};
static float f[5000];
static double d[5000];
static uint8_t b[5000];

int main(void)
{
    if (plumb_start(NULL, NULL) < 0)
        return 1;
    plumb_node node = plumb_node_get("values");
    for (int i = 0; i < 5000; i++) {
        f[i] = (float)(i * 37 % 1001 - 500) / 8;
        d[i] = (i * 37 % 1001 - 500) / 8.0;
        b[i] = (uint8_t)(i * 31 % 251);
    }
    for (int i = 0; i < 10; i++) {
        plumb_activation_f32(node, "f32", f, &sizes[i], 1);
        plumb_activation_f64(node, "f64", d, &sizes[i], 1);
        plumb_activation_u8(node, "u8", b, &sizes[i], 1);
    }
    return 0;
}
C
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" values.c -o values \
    -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir" || exit 1
expect 'in C' 0 env PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STATS=hash,hash_any PLUMB_QUIET=1 PLUMB_RUN_DIR="$PWD/c" ./values
cat >hashes.py <<'PY'
import json, os, sys
import torch
import plumb_torch_activations as activations

torch.set_num_threads(1)
i = torch.arange(5000)
values = {"f32": (i * 37 % 1001 - 500).float() / 8, "f64": (i * 37 % 1001 - 500).double() / 8,
          "u8": (i * 31 % 251).to(torch.uint8)}
rows = [json.loads(line) for line in open("c/activations.jsonl")]
assert len(rows) == 30, len(rows)
for row in rows:
    t = values[row["tensor"]][:row["shape"][0]]
    assert activations.statistic("hash", t) == row["hash"], row
    assert activations.statistic("hash_any", t) == row["hash_any"], row
# Strides do not matter, the order does, but not to hash_any. No values, one value, half precision.
x = values["f32"][:4096].view(64, 64)
assert activations.values_hash(x.t()) == activations.values_hash(x.t().contiguous()) != activations.values_hash(x)
assert activations.any_order_hash(x.t()) == activations.any_order_hash(x)
for t in (x[:0], x[0, 0], x.half(), x.bfloat16(), x > 0):
    assert len(activations.values_hash(t)) == len(activations.any_order_hash(t)) == 16


class Heads(torch.nn.Module):
    def __init__(self, swapped):
        super().__init__()
        torch.manual_seed(1)
        self.qkv, self.out = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
        self.mix, self.swapped = torch.nn.Identity(), swapped

    def forward(self, x):
        q, k, v = (t.view(-1, 4, 8).transpose(0, 1) for t in self.qkv(x).chunk(3, -1))
        heads = (q @ k.transpose(1, 2)).softmax(-1) @ v
        if self.swapped:
            heads = heads[[1, 0, 2, 3]]
        return x + self.out(self.mix(heads.transpose(0, 1).reshape(-1, 32)))


for name in ("sound", "again", "swapped"):
    os.environ["PLUMB_ACTIVATIONS_OUTPUT"] = name + ".jsonl"
    model = torch.nn.Sequential(Heads(False), Heads(name == "swapped"), Heads(False))
    hooks = activations.attach(model)
    torch.manual_seed(2)
    model(torch.randn(6, 32))
    for hook in hooks:
        hook.remove()
PY
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PLUMB_SOURCE_DIR/bindings/python"
expect 'in Python' 0 env PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STATS=abs_mean,sum,hash,hash_any /usr/bin/python3 hashes.py
expect 'the same twice' 0 "$PLUMB_BIN" diverge sound.jsonl again.jsonl
has out.txt 'no divergence: 12 pairs of records are equal in every statistic'
expect 'heads that changed places' 1 "$PLUMB_BIN" diverge sound.jsonl swapped.jsonl
head -1 out.txt >first.txt
has first.txt '1.mix out' 'the same values in another order'
finish

#!/bin/sh
# labels: plain
# The hooks for PyTorch obey the variables of activations: switch, layers, statistics, steps, output. One
# process for all, because importing torch takes seconds; what it says on stderr is looked at case by case.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

if ! /usr/bin/python3 -c 'import importlib.util as u; exit(not u.find_spec("torch"))'; then
    echo 'torch_activations: no torch for /usr/bin/python3 (package python3-torch)' >&2
    exit 77
fi
cat >cases.py <<'PY'
import collections, copy, dataclasses, fcntl, io, json, math, os
import torch
from torch import nn
import plumb_torch_activations as activations

torch.set_num_threads(1)


class Pair(nn.Module):
    def forward(self, x):
        return (x, {"k": x + 1, "n": 3, "deep": [x.bool()]})


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Identity(), nn.Identity()])
        self.pair = Pair()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.pair(x)[0]


def case(name, steps=0, x=None, inputs=None, named="", **variables):
    """One model under these variables: what it gave, what was said, what was recorded."""
    for key in [key for key in os.environ if key.startswith("PLUMB") or key in ("RANK", "WORLD_SIZE")]:
        del os.environ[key]
    os.environ.update(PLUMB_ACTIVATIONS="1", PLUMB_ACTIVATIONS_OUTPUT=name + ".jsonl")
    os.environ.update(variables)
    said = io.StringIO()
    activations.say = lambda text: print("plumb:", text, file=said)
    model, x = Model(), torch.tensor([[1.0, -3.0]]) if x is None else x
    hooks = activations.attach(model, named, inputs)
    for i in range(steps):
        with activations.step(i):
            assert model(x) is x
    if not steps:
        assert model(x) is x
    assert model(copy.deepcopy(x)) is not None and copy.deepcopy(model) is not None
    for hook in hooks:
        hook.remove()
    path = os.environ["PLUMB_ACTIVATIONS_OUTPUT"]
    lines = open(path).read().splitlines() if os.path.isfile(path) else None
    model(x)
    assert lines is None or len(lines) == len(open(path).read().splitlines()), "recorded after the end"
    return said.getvalue(), lines if lines is None else [json.loads(line, parse_constant=refuse) for line in lines]


def refuse(constant):
    raise ValueError("no strict JSON: " + constant)


def modules(rows):
    return sorted({row["module"] for row in rows})


# The switch.
for off in ("0", "false", "no", "OFF", ""):
    assert case("off", PLUMB_ACTIVATIONS=off) == ("", None), off
for key in ("PLUMB_ACTIVATIONS", "PLUMB_ACTIVATIONS_OUTPUT"):
    os.environ.pop(key, None)
os.environ["PLUMB_ACTIVATIONS_LAYERS"] = "pair"
said = []
activations.say = said.append
assert activations.attach(Model()) == activations.attach(Model()) == []
assert said == ["PLUMB_ACTIVATIONS_LAYERS: nothing without activations: set PLUMB_ACTIVATIONS=1"], said
assert case("never", PLUMB="0") == ("", None)

# A file that is being written to is left alone.
with open("held.jsonl", "wb") as held:
    held.write(b'{"module": "other"}\n')
    held.flush()
    fcntl.flock(held, fcntl.LOCK_EX)
    said, rows = case("held")
    assert rows == [{"module": "other"}], rows
    assert "'%s' is being written to" % os.path.abspath("held.jsonl") in said, said
    assert len(open("held.%d.jsonl" % os.getpid()).readlines()) > 4

# Record shape, labels, default statistics; the root is not traced unless it is named.
said, rows = case("default")
assert list(rows[0]) == ["module", "tensor", "step", "abs_mean", "sum", "shape", "dtype"], rows[0]
assert rows[0] == {"module": "layers.0", "tensor": "out", "step": None, "abs_mean": 2, "sum": -2, "shape": [1, 2],
                   "dtype": "torch.float32"}, rows[0]
assert [row["tensor"] for row in rows[2:5]] == ["out[0]", "out[1].k", "out[1].deep[0]"], rows
assert "attached to 4 modules (pattern='', stats=[abs_mean, sum])" in said, said
assert modules(case("named", named="net")[1]) == ["net", "net.layers.0", "net.layers.1", "net.pair"]

# Layers: searched for; nothing matched; a bad expression.
assert modules(case("layers", PLUMB_ACTIVATIONS_LAYERS=r"^layers\.\d$")[1]) == ["layers.0", "layers.1"]
said, rows = case("nothing", PLUMB_ACTIVATIONS_LAYERS="nowhere")
assert "attached to 0 modules" in said and "nothing matched" in said and rows == [], said
said, rows = case("bad", PLUMB_ACTIVATIONS_LAYERS="block[")
assert "PLUMB_ACTIVATIONS_LAYERS: 'block[': " in said and "no activations are recorded" in said and rows is None, said

# Statistics: all of them against what they should be, in order; unknown ones; none left.
every = "shape,dtype,std,rms,l2,mean,min,max,nan,inf,neg_inf,zeros,abs_mean"
said, rows = case("stats", x=torch.tensor([3.0, -1.0, 0.0, 2.0]), PLUMB_ACTIVATIONS_STATS=every)
assert list(rows[0])[3:] == every.split(",")
assert rows[0]["shape"] == [4] and rows[0]["dtype"] == "torch.float32" and rows[0]["zeros"] == 1
for name, wanted in (("std", math.sqrt(10 / 3)), ("rms", math.sqrt(3.5)), ("l2", math.sqrt(14)), ("mean", 1),
                     ("min", -1), ("max", 3), ("nan", 0), ("inf", 0), ("neg_inf", 0), ("abs_mean", 1.5)):
    assert abs(rows[0][name] - wanted) < 1e-6, (name, rows[0][name])
said, rows = case("special", x=torch.tensor([math.nan, math.inf, -math.inf]).bfloat16(),
                  PLUMB_ACTIVATIONS_STATS="sum,max,nan,inf,neg_inf,dtype")
assert list(rows[0].values())[3:] == ["NaN", "NaN", 1, 1, 1, "torch.bfloat16", [3]], rows[0]
said, rows = case("empty", x=torch.zeros(0, 2), PLUMB_ACTIVATIONS_STATS="max,sum")
assert rows[0]["max"].startswith("<error: ") and rows[0]["sum"] == 0, rows[0]
said, rows = case("whole", x=torch.tensor([2**40 + 1, 1]), PLUMB_ACTIVATIONS_STATS="sum")
assert rows[0]["sum"] == 2**40 + 2, rows[0]
said, rows = case("unknown", PLUMB_ACTIVATIONS_STATS=" sum, median ,,max,sum")
assert list(rows[0])[3:] == ["sum", "max", "shape", "dtype"] and "no statistic 'median'; there are abs_mean, dtype, hash, hash_any, inf" in said, said
said, rows = case("none", PLUMB_ACTIVATIONS_STATS="median")
assert "no activations are recorded" in said and rows is None, said

assert case("quiet", PLUMB_QUIET="1")[0] == ""

# Steps: a list, ranges, none opened, no list.
assert [r["step"] for r in case("list", 4, PLUMB_ACTIVATIONS_STEPS="0,2", PLUMB_ACTIVATIONS_LAYERS="0")[1]] == [0, 2]
assert [r["step"] for r in case("ranges", 9, PLUMB_ACTIVATIONS_STEPS=" 1-2 , 7-99",
                                PLUMB_ACTIVATIONS_LAYERS="0")[1]] == [1, 2, 7, 8]
at_exit = []
activations.atexit.register = at_exit.append
activations.stepped.clear()
assert case("outside", PLUMB_ACTIVATIONS_STEPS="0")[1] == []
said = []
activations.say = said.append
at_exit[0]()
assert said == ["PLUMB_ACTIVATIONS_STEPS chose steps, and the program opened none"], said
case("opened", 1, PLUMB_ACTIVATIONS_STEPS="0")
at_exit[1]()
assert len(said) == 1, said
for bad in ("x", "1-", "3-1", "1,,2", "-1", "1;2"):
    said, rows = case("bad_steps", PLUMB_ACTIVATIONS_STEPS=bad)
    assert "'%s' is not a list of steps, as 0,5-9; no activations" % bad in said and rows is None, said
try:
    with activations.step(1):
        with activations.step(2):
            raise KeyError
except KeyError:
    assert activations.here.step is None

# Output: folders, process ID, ranks; models of one process share a file; a folder in its place.
case("path", PLUMB_ACTIVATIONS_OUTPUT="made/<pid>/x_%p.jsonl")
assert os.path.getsize("made/%d/x_%d.jsonl" % (os.getpid(), os.getpid()))
case("ranks", RANK="2", WORLD_SIZE="4")
assert os.path.exists("ranks.rank2.jsonl") and not os.path.exists("ranks.jsonl")
assert len(case("default")[1]) > len(case("layers")[1])
open("kept.jsonl", "w").write("{}\n")
assert case("kept", PLUMB_ACTIVATIONS_APPEND="1")[1][0] == {}
os.mkdir("folder.jsonl")
said, rows = case("folder")
assert "folder.jsonl" in said and "no activations are recorded" in said, said
said, rows = case("full", PLUMB_ACTIVATIONS_OUTPUT="/dev/full")
assert said.count("no more activations are recorded") == 1 and "No space left" in said, said

# Structures: dataclasses, nested ones too, and mappings of other kinds; what is neither is passed over.
@dataclasses.dataclass
class Inner:
    k: object
    n: int = 3


@dataclasses.dataclass
class Output:
    sample: object
    inner: Inner
    absent: object = dataclasses.field(init=False)


Point = collections.namedtuple("Point", "x y")
x = torch.ones(2)
shapes = lambda value: [label for label, _ in activations.labelled(value, "out")]
assert shapes(Output(x, Inner([x, x]))) == ["out.sample", "out.inner.k[0]", "out.inner.k[1]"]
assert shapes(collections.OrderedDict(a=x)) == shapes(collections.UserDict(a=x)) == ["out.a"]
assert shapes(Point(x, 1)) == ["out[0]"] and shapes(Output) == shapes(object()) == []
loop = []
loop.append(loop)
assert shapes(loop) == []


class Structured(nn.Module):
    def forward(self, x):
        return Output(x, Inner(x + 1))


def attached(model, again):
    os.environ["PLUMB_ACTIVATIONS_OUTPUT"] = "again%d.jsonl" % again
    said.clear()
    hooks = activations.attach(model, "net")
    model(x)
    return [json.loads(line) for line in open(os.environ["PLUMB_ACTIVATIONS_OUTPUT"])], hooks


# Attached twice: the earlier hooks are removed, with one line; also on a copy, which has their copies.
case("empty_for_structures")
said = []
activations.say = said.append
model = Structured()
rows, first = attached(model, 1)
assert [row["tensor"] for row in rows] == ["out.sample", "out.inner.k"], rows
assert len(said) == 1, said
rows, second = attached(model, 2)
assert len(rows) == 2 and len(open("again1.jsonl").readlines()) == 2, rows
assert said[0] == "activation trace: 1 modules were attached before; their earlier hooks are removed", said
rows, third = attached(copy.deepcopy(model), 3)
assert len(rows) == 2 and len(open("again2.jsonl").readlines()) == 2 and "attached before" in said[0], (rows, said)
for hook in first + second + third:
    hook.remove()
assert not model._forward_hooks
rows, fourth = attached(model, 4)
assert len(rows) == 2 and len(said) == 1, said

# Inputs where they are asked for, before what comes out.
rows = case("inputs", inputs=r"layers\.1")[1]
assert [(row["module"], row["tensor"]) for row in rows[:3]] == [
    ("layers.0", "out"), ("layers.1", "in"), ("layers.1", "out")], rows
PY
expect 'the cases' 0 env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PLUMB_SOURCE_DIR/bindings/python" /usr/bin/python3 cases.py
[ ! -s out.txt ] || fail "$name: stdout: $(cat out.txt)"
[ ! -s err.txt ] || fail "$name: stderr: $(cat err.txt)"

# plumb reads what they wrote: NaN of one side only is where it was born.
expect 'plumb reads it' 0 "$PLUMB_BIN" activations special.jsonl
expect 'the same twice' 0 "$PLUMB_BIN" diverge stats.jsonl stats.jsonl
finish

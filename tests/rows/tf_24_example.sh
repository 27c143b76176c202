#!/bin/sh
# labels: notsan
# TF-24: the inputs of a step of the example come back byte for byte, in any reader of safetensors: those
# of step 2 are what the noise became in steps 0 and 1.
set -eu

program=$PLUMB_BUILD_DIR/examples/text_to_video/text_to_video
[ -x "$program" ] || { echo "the example is not built"; exit 77; }
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "needs python3-numpy"; exit 77; }
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

fail()
{
    echo "$*" >&2
    exit 1
}

# record RUN STEPS CAPTURE
record()
{
    PLUMB_RUN_DIR=$PWD/$1 PLUMB_CAPTURE=$3 "$program" --quick --steps "$2" --out "$1.mp4" \
        >/dev/null 2>"$1.err" || fail "the program failed"
}

"$program" --quick --steps 3 --out plain.mp4 >/dev/null
record whole 3 denoise
record step 3 denoise:2
record none 3 denoise:3
# Another part of plumb keeps the same tensor of the same step, in its own way.
export PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_DUMP='^denoise$' PLUMB_ACTIVATIONS_STEPS=2
record both 3 denoise:2
unset PLUMB_ACTIVATIONS PLUMB_ACTIVATIONS_DUMP PLUMB_ACTIVATIONS_STEPS
record wrong 3 denoize
record decode 2 vae_decode
cmp -s plain.mp4 whole.mp4 && cmp -s plain.mp4 step.mp4 || fail "capturing changed the video"

grep -q 'captured inputs of denoise at step 2: denoise.inputs.safetensors, 3 tensors' step.err ||
    fail "the end block does not say it: $(cat step.err)"
grep -q "no call that was followed named an input in step 3, the last with inputs was 2" none.err ||
    fail "a step that never came: $(cat none.err)"
grep -q "no stage that ran is called 'denoize': did you mean 'denoise'?" wrong.err ||
    fail "a misspelt stage: $(cat wrong.err)"
[ ! -e none/denoise.inputs.safetensors ] || fail "a file for a step that never came"
"$PLUMB_BIN" activations whole/denoise.inputs.safetensors >read.txt || fail "plumb cannot read it"
PLUMB_RUN_DIR=$PWD/off "$program" --quick --steps 3 --out off.mp4 --save-weights weights.safetensors \
    >/dev/null 2>&1
[ ! -e off/denoise.inputs.safetensors ] || fail "captured without being asked"

/usr/bin/python3 - <<'PYTHON'
import json
import struct

import numpy


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    notes = header.pop("__metadata__", {})
    types = {"F32": "<f4", "U8": "u1", "I64": "<i8", "F64": "<f8"}
    values = data[8 + size:]
    arrays = {name: numpy.frombuffer(values[slice(*t["data_offsets"])], types[t["dtype"]])
              .reshape(t["shape"]) for name, t in header.items()}
    assert sorted(end for t in header.values() for end in t["data_offsets"][1:])[-1] == len(values)
    return notes, arrays


whole, at_start = read("whole/denoise.inputs.safetensors")
step, at_step = read("step/denoise.inputs.safetensors")
_, weights = read("weights.safetensors")
_, decoded = read("decode/vae_decode.inputs.safetensors")
assert "step" not in whole and step["step"] == "2" and whole["stage"] == "denoise"
# What the loop begins with is the noise, which the program can save by itself.
assert at_start["latents"].tobytes() == weights["input.latents"].tobytes()
assert at_start["latents"].shape == at_step["latents"].shape == (32, 32)
assert at_start["latents"].tobytes() != at_step["latents"].tobytes()
assert at_start["cond.text"].tobytes() == at_step["cond.text"].tobytes()
assert numpy.isfinite(at_step["latents"]).all()
_, dumped = read("both/activations/step_2/denoise.in.latents.safetensors")
_, again = read("both/denoise.inputs.safetensors")
assert dumped["denoise.in.latents"].tobytes() == again["latents"].tobytes()
assert again["latents"].tobytes() == at_step["latents"].tobytes()
# The values that the signature describes are those in the file.
inputs = {i["name"]: i for i in json.loads(step["inputs"])}
assert list(inputs) == ["latents", "cond.text", "cond.no_text", "cfg_scale"]
assert struct.unpack(">d", bytes.fromhex(inputs["cfg_scale"]["bits"]))[0] == 4.0
stage = json.load(open("step/timing_io_signature.json"))["stages"]["denoise"]
assert stage["captured"] == {"file": "denoise.inputs.safetensors", "step": 2, "missing": 0,
                             "bytes": sum(a.nbytes for a in at_step.values())}
for name, array in at_step.items():
    assert stage["input_signatures"][name]["shape"] == list(array.shape)
assert decoded["latents"].shape == (32, 32)
PYTHON

#!/bin/sh
# plumb activations: layers, steps and suspects of a recording, in every format; what is damaged is
# one line and exit status 2. NumPy wrote the arrays, where it is installed.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

/usr/bin/python3 - <<'END'
import json
lines = []
for step in range(3):
    for block in range(2):
        nan = step == 2 and block == 1
        lines.append({"module": "blocks.%d.attn" % block, "tensor": "out", "step": step,
                      "abs_mean": 0.5 + 0.1 * step, "min": -1.5, "max": 64000 if block else 2.0,
                      "nan": 12 if nan else 0, "call": 0, "rank": 0, "seq": len(lines),
                      "phase": "inference", "io": "out", "dtype": "float16", "shape": [4, 1024]})
    lines.append({"module": "norm", "tensor": "out[1]", "step": step, "abs_mean": 0, "min": 0, "max": 0,
                  "dtype": "float16", "shape": [8], "seq": len(lines)})
    lines.append({"module": "mask", "tensor": "out", "step": step, "abs_mean": 1, "min": 1, "max": 1,
                  "dtype": "bool", "shape": [8], "seq": len(lines)})
with open("a.jsonl", "w") as f:
    for line in lines:
        f.write(json.dumps(line) + "\n")
END

expect 'summary' 0 "$PLUMB_BIN" activations a.jsonl
empty err.txt
has out.txt 'a.jsonl: 12 records of 4 modules in 3 steps (plumb JSONL); 9 are suspect' \
    '12 of 4096 values' '97.7 % of the largest float16' 'all 1'
[ "$(awk '$1 == "blocks.1.attn" && $3 == "out" { print $5, $6, $11, $12, $13 }' out.txt)" = \
    '3 3 -1.5 64000 12' ] || fail "layer: $(cat out.txt)"
[ "$(sed -n '/^Suspects/,/^$/p' out.txt | awk 'NR > 3 && NF { print $1, $2 }' | tr '\n' ',')" = \
    'NaN blocks.1.attn,near maximum,all zero,constant mask,' ] ||
    fail "order of suspects: $(cat out.txt)"

expect 'steps' 0 "$PLUMB_BIN" activations --steps --module '^blocks\.1' a.jsonl
lacks out.txt blocks.0
[ "$(awk '$1 == "blocks.1.attn" { print $5, $7, $8 }' out.txt | tr '\n' ',')" = \
    '0 0.5 -1.5,1 0.6 20.0,2 0.7 16.7,' ] || fail "steps: $(cat out.txt)"

expect 'as in Python' 0 "$PLUMB_BIN" activations --module '^blocks\.\d\.(?:attn)$' a.jsonl
has out.txt blocks.0.attn blocks.1.attn
lacks out.txt norm

# Compressed files are unpacked while they are read; a file that is there in both forms is read once.
mkdir packed
gzip -c a.jsonl >packed/activations.jsonl.gz
cp a.jsonl packed
expect 'packed' 0 "$PLUMB_BIN" activations packed/activations.jsonl.gz
has out.txt '12 records of 4 modules in 3 steps (plumb JSONL); 9 are suspect'
mv packed/a.jsonl packed/activations.jsonl
expect 'beside its packed self' 0 "$PLUMB_BIN" activations packed
has out.txt 'packed: 12 records of 4 modules'
rm packed/activations.jsonl
expect 'packed in a folder' 0 "$PLUMB_BIN" diverge packed a.jsonl
has out.txt 'equal in every statistic'
head -c 200 packed/activations.jsonl.gz >packed/activations_cut.jsonl.gz
expect 'packed and cut off' 2 "$PLUMB_BIN" activations packed/activations_cut.jsonl.gz
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
has err.txt activations_cut.jsonl.gz

for format in text md csv json; do
    for view in '' --steps --suspects; do
        # shellcheck disable=SC2086
        expect "$format $view" 0 "$PLUMB_BIN" activations $view --format $format --explain a.jsonl
        empty err.txt
        [ -s out.txt ] || fail "$name: nothing printed"
    done
done
expect 'json' 0 "$PLUMB_BIN" activations --format json a.jsonl
/usr/bin/python3 - <<'END' || fail 'json: not what was recorded'
import json
d = json.load(open("out.txt"), parse_constant=lambda c: 1 / 0)
assert d["records"] == 12 and d["steps"] == 3 and d["suspect_records"] == 9
assert [s["suspect"] for s in d["suspects"]] == ["NaN", "near maximum", "all zero", "constant"]
assert d["suspects"][0]["step"] == 2 and d["suspects"][0]["worst"] == 12
layer = [l for l in d["layers"] if l["module"] == "blocks.0.attn"][0]
assert layer["shape"] == [4, 1024] and abs(layer["abs_mean"] - 0.6) < 1e-12, layer
END
expect 'csv' 0 "$PLUMB_BIN" activations --format csv --suspects a.jsonl
[ "$(sed -n 2p out.txt)" = 'NaN,blocks.1.attn,out,out,2,0,1,3,12 of 4096 values' ] ||
    fail "csv: $(cat out.txt)"
run=runs/prog/20260102-030405-box-7
mkdir -p "$run"
ln -s "${run##*/}" runs/prog/latest
cp "$data/golden.json" "$run/timing.json"
cp a.jsonl "$run/activations.jsonl"
expect 'a folder of runs' 0 "$PLUMB_BIN" activations runs
has out.txt "$run: "
expect 'folders of runs compared' 0 "$PLUMB_BIN" diverge runs runs
has out.txt 'no divergence'
expect 'the newest run compared' 0 "$PLUMB_BIN" diverge runs/prog/latest a.jsonl
has out.txt 'no divergence'
rm "$run/activations.jsonl"
expect 'a run without any' 2 "$PLUMB_BIN" activations runs
has err.txt "the folder '$run' holds no activations"
expect 'top' 0 "$PLUMB_BIN" activations --top 1 a.jsonl
has out.txt '(3 more)'
expect 'output' 0 "$PLUMB_BIN" activations --output layers.txt a.jsonl
[ -s layers.txt ] || fail 'output: no file'
expect 'a pipe' 0 sh -c 'cat a.jsonl | "$0" activations /dev/stdin' "$PLUMB_BIN"
has out.txt '12 records'

# A run directory.
mkdir run
cp a.jsonl run/activations.jsonl
expect 'run' 0 "$PLUMB_BIN" activations run
has out.txt 'run: 12 records'

# Trouble is one line.
trouble() {
    expect "$1" 2 "$PLUMB_BIN" activations $3
    empty out.txt
    has err.txt "$2"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$1: more than a line: $(cat err.txt)"
}
head -c 1000 a.jsonl >cut.jsonl
trouble 'cut line' "'cut.jsonl' is not valid JSON: line 6, column" cut.jsonl
printf '\0\0\0\0\0\0\0\020{}' >huge.safetensors
trouble 'header of 2^60 bytes' "'huge.safetensors' is damaged: its header is longer" huge.safetensors
awk 'BEGIN { printf "{\"data\": "; for (i = 0; i < 1000000; i++) printf "["; }' >deep.json
trouble 'a million levels' 'nested too deeply' deep.json
echo '{"module": "a", "module": "b", "tensor": "out"}' >twice.jsonl
trouble 'a field twice' "'twice.jsonl' line 1: 'module' comes twice" twice.jsonl
echo 'nothing' >nothing.txt
trouble 'no recording' "'nothing.txt' holds no activations" nothing.txt
: >empty.jsonl
trouble 'empty' "'empty.jsonl' holds no activation record" empty.jsonl
trouble 'missing' "cannot read './none': No such file" ./none
trouble 'no such module' "no module of 'a.jsonl' matches 'xyz'" '--module xyz a.jsonl'
trouble 'bad expression' "'(' is not a regular expression" '--module ( a.jsonl'
trouble 'two' 'one recording at a time' 'a.jsonl a.jsonl'
trouble 'format' '--format wants text, json, csv or md' '--format xml a.jsonl'

if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    /usr/bin/python3 - <<'END'
import json
import os
import struct
import numpy as np
rng = np.random.default_rng(1)
os.makedirs("np/step_0")
os.makedirs("np/step_10")
arrays = {}
for name, dtype in [("f64", "f8"), ("f32", "f4"), ("f16", "f2"), ("i8", "i1"), ("u32", "u4"), ("b", "?")]:
    a = (rng.normal(2, 3, (5, 7, 3)) * 10).astype(dtype)
    np.save("np/step_0/%s.out.npy" % name, a)
    np.save("np/step_10/%s.out.npy" % name, np.asfortranarray(a))
    arrays[name] = a
header, data = {}, b""
for name, a in arrays.items():
    kinds = {"f8": "F64", "f4": "F32", "f2": "F16", "i1": "I8", "u4": "U32", "b1": "BOOL"}
    header[name] = {"dtype": kinds[a.dtype.str[1:]], "shape": list(a.shape),
                    "data_offsets": [len(data), len(data) + a.nbytes]}
    data += a.tobytes()
text = json.dumps(header).encode()
open("np.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
stats = {n: [float(np.abs(a.astype("f8")).mean()), float(a.astype("f8").std(ddof=1)),
             float(a.min()), float(a.max())] for n, a in arrays.items()}
json.dump(stats, open("stats.json", "w"))
END
    for path in np np.safetensors; do
        expect "$path" 0 "$PLUMB_BIN" activations --format json $path
        /usr/bin/python3 - <<'END' || fail "$path: not NumPy's statistics"
import json
stats = json.load(open("stats.json"))
d = json.load(open("out.txt"))
assert len(d["layers"]) == len(stats)
for l in d["layers"]:
    for got, want in zip([l["abs_mean"], l["std"], l["min"], l["max"]], stats[l["module"]]):
        assert abs(got - want) <= 1e-6 * max(1, abs(want)), (l, want)
    assert l["shape"] == [5, 7, 3] and l["steps"] in (0, 2)
END
    done
fi
finish

#!/bin/sh
# labels: plain, traces
# A dump of msprobe (ResNet-50, two training steps): every tensor in it, its figures and its step,
# against Python's reading of the same files.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

for step in step0 step1; do
    mkdir -p "dump/$step"
    for file in dump construct stack; do
        gzip -dc "$PLUMB_TRACES/msprobe-gpu-dump/$step/$file.json.gz" >"dump/$step/$file.json"
    done
done

expect 'both steps' 0 "$PLUMB_BIN" activations --steps --format json dump
empty err.txt
/usr/bin/python3 - <<'END' || fail 'not what Python reads'
import json

def tensors(o, found):
    if isinstance(o, dict):
        if "dtype" in o and "shape" in o:
            found.append(o)
        else:
            for v in o.values():
                tensors(v, found)
    elif isinstance(o, list):
        for v in o:
            tensors(v, found)

got = json.load(open("out.txt"))
all_of, conv = [], {}
for step in (0, 1):
    data = json.load(open("dump/step%d/dump.json" % step))["data"]
    tensors(data, all_of)
    conv[step] = data["Module.layer1.0.conv1.Conv2d.forward.0"]["output"][0]
assert got["records"] == len(all_of) == 4142, got["records"]
assert got["kind"] == "msprobe dump" and got["steps"] == 2
lines = got["layers_over_steps"]
assert sum(l["records"] for l in lines) == len(all_of)
assert max(l["max"] for l in lines if l["max"] is not None) == max(t["Max"] for t in all_of)
assert min(l["min"] for l in lines if l["min"] is not None) == min(t["Min"] for t in all_of)
norms = sum(l["l2"] * l["records"] for l in lines if l["l2"] is not None)
assert abs(norms - sum(t["Norm"] for t in all_of)) < 1e-9 * norms
for step in (0, 1):
    line, = [l for l in lines if l["module"] == "layer1.0.conv1" and l["tensor"] == "out" and
             l["step"] == step]
    assert line["l2"] == conv[step]["Norm"] and line["max"] == conv[step]["Max"]
    assert line["phase"] == "forward" and line["io"] == "out"
END
expect 'one step' 0 "$PLUMB_BIN" activations --format json dump/step1/dump.json
/usr/bin/python3 -c '
import json
d = json.load(open("out.txt"))
assert d["records"] == 2071 and d["steps"] == 1, d' || fail 'one step'
expect 'packed as it came' 0 "$PLUMB_BIN" diverge dump "$PLUMB_TRACES/msprobe-gpu-dump"
has out.txt 'equal in every statistic' 'A has 4142 records, B 4142'
finish

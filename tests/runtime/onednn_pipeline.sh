#!/bin/sh
# labels: plain
# plumb record --collect onednn on the example: the products that it counts itself, stage by stage, are the
# FLOPs of the primitives that ran in these stages, and its frames are the same.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
program=$PLUMB_BUILD_DIR/examples/text_to_video/text_to_video
[ -x "$program" ] || {
    echo 'onednn_pipeline: the example is not built: install libdnnl-dev and the libraries of FFmpeg' >&2
    exit 77
}
expect 'alone' 0 "$program" --tiny --out alone.mp4
expect 'recorded' 0 "$PLUMB_BIN" record --collect onednn --quiet --run-dir run -- "$program" --tiny --out recorded.mp4
cmp alone.mp4 recorded.mp4 || fail 'another video'
awk '$1 == "text_encode" || $1 == "denoise" || $1 == "vae_decode" { print $1, $2 }' out.txt err.txt | sort >said.txt
[ "$(wc -l <said.txt)" = 3 ] || fail "the example counts: $(cat said.txt)"
"$PLUMB_BIN" export --format csv -o run.csv run >export.txt 2>&1 || fail "export: $(cat export.txt)"
cat >sum.py <<'PY'
import collections, csv, json
rows = [r for r in csv.DictReader(open("run.csv", newline="")) if r["kind"] == "span"]
begin = lambda r: int(r["start_ns"])
stages = [(begin(r), begin(r) + int(r["duration_ns"]), r["name"]) for r in rows
          if r["name"] in ("text_encode", "denoise", "vae_decode")]
sums = collections.Counter()
for r in rows:
    if r["lane"].startswith("oneDNN ") and r["name"].split()[0] in ("matmul", "convolution", "inner_product"):
        args = json.loads(r["args"])
        assert args["node"], r
        sums.update({name: args["flops"] for b, e, name in stages if b <= begin(r) < e})
for name in sorted(sums):
    print(name, sums[name])
PY
/usr/bin/python3 sum.py >summed.txt
diff said.txt summed.txt >difference.txt || fail "counted by the example, by plumb: $(cat difference.txt)"
finish

#!/bin/sh
# plumb deep --format svg: the golden roofline, labels that overlap nothing, names of every kind, kernels
# without a place, missing peaks, equal bytes, output that cannot be written.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
peaks() {
    "$PLUMB_SOURCE_DIR/tests/cli/_peaks.py" cache/plumb/peaks.json "$@" || exit 1
}
# counts WANTED FILE: the check of the picture passes and counts these
counts() {
    "$PLUMB_SOURCE_DIR/tests/cli/_check_roofline.py" "$2" >counts.txt 2>check.txt ||
        fail "$name: $(tail -n 1 check.txt)"
    [ "$(cat counts.txt)" = "$1" ] || fail "$name: $(cat counts.txt), not $1"
}
deep() {
    "$PLUMB_BIN" deep "$@"
}
peaks memory=50,100 f64=250,500 f32=500,1000 bf16=2000,4000

cat >planted.json <<'END_JSON'
{"traceEvents": [
 {"ph":"X","pid":1,"tid":1,"ts":0,"dur":4000,"cat":"user_annotation","name":"denoise"},
 {"ph":"X","pid":1,"tid":1,"ts":0,"dur":1000,"name":"matmul","args":{"flops":900000000,"bytes":1000000,
  "impl":"brg","shapes":"src:512x512 wei:512x512","dtypes":"src:f32 wei:f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":2000,"dur":1500,"name":"relu","args":{"flops":2000000,"bytes":120000000,"dtypes":"src:f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":5000,"dur":100,"name":"tiny","args":{"flops":10,"bytes":10,"dtypes":"src:f64"}},
 {"ph":"X","pid":1,"tid":1,"ts":6000,"dur":100,"name":"reorder","args":{"flops":0,"bytes":10,"dtypes":"src:f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":7000,"dur":100,"name":"attached","args":{"flops":900000}}
]}
END_JSON

# ---- The golden picture --------------------------------------------------------------------------
expect 'golden' 0 deep --format svg planted.json
empty err.txt
counts '4 points, 4 labels, 8 roofs, 6 rows' out.txt
sed 's|>[^<]*, peaks measured |>CPU, peaks measured |' out.txt >golden.svg
cmp -s golden.svg "$data/roofline.svg" || fail "the picture differs: $(diff golden.svg "$data/roofline.svg" | head -n 20)"
cp out.txt first.svg
expect 'again' 0 deep --format svg -o again.svg planted.json
empty out.txt
cmp -s first.svg again.svg || fail 'equal runs give different bytes'
has again.svg 'not shown: no FLOPs' 'not shown: bytes unknown' 'has no peak for f16, int8' 'f32, one core: 500 GFLOP/s' \
    'memory, all cores: 100 GB/s' 'intensity (FLOP/B)' 'achieved (GFLOP/s)' 'prefers-color-scheme:dark' \
    '>stage</text>' 'of the peaks of all cores'
expect 'of one core' 0 deep --format svg --cores one -o one.svg planted.json
has one.svg 'of the peaks of one core'
cmp -s one.svg again.svg && fail '--cores one changes nothing'
expect 'the peaks alone' 0 deep --peaks --format svg
counts '0 points, 0 labels, 8 roofs, 0 rows' out.txt
has out.txt 'Roofline of this machine'
lacks out.txt pale

# The check itself finds what is wrong.
expect 'for the check' 0 deep --format svg --kernel matmul -o good.svg planted.json
sed -E 's|(<text class="n" x=")[0-9.]+(" y=")[0-9.]+|\1500\2300|; s|(<text class="n h" x=")[0-9.]+(" y=")[0-9.]+|\1500\2300|' \
    good.svg >fault.svg
cmp -s good.svg fault.svg && fail 'nothing was moved'
"$PLUMB_SOURCE_DIR/tests/cli/_check_roofline.py" fault.svg >counts.txt 2>check.txt && fail 'the check misses labels that overlap'

# ---- Many, crowded, extreme, hostile ---------------------------------------------------------------
expect 'made by hand' 0 /usr/bin/python3 - <<'END_PY'
import json


def event(i, name, flops, nbytes, dur=1000, **args):
    args.update({"flops": flops} if flops is not None else {}, dtypes="src:f32")
    args.update({"bytes": nbytes} if nbytes is not None else {})
    return {"ph": "X", "pid": 1, "tid": 1, "ts": i * 10000, "dur": dur, "name": name, "args": args}


def write(path, events):
    json.dump({"traceEvents": events}, open(path, "w"))


write("fifty.json", [event(i, f"kernel_{i}", 10 ** (4 + i % 10 / 2), 10 ** (4 + i % 7 / 2), 100 + 97 * i)
                     for i in range(50)])
write("crowd.json", [event(i, f"same_{i}", 10**8 + i, 10**7, 9000 - i) for i in range(300)])
write("small.json", [event(0, "lookup", 1, 10**9, 9000), event(1, "beyond", 1e-300, 1000)])
write("none.json", [event(0, "copy", None, 1000), event(1, "reorder", 0, 1000),
                    event(2, "attached", 1000, None), event(3, "at_once", 10, 10, 0)])
names = ["</title><script>alert(1)</script>", "]]>&amp;\"'", "\x01\x1b[31m\n", "\U0001f600\u202e\u65e5" * 9,
         "n" * 5000, "", "--><!--", "\ufffe\uffff"]
write("hostile.json", [event(i, name, 10**6 * (i + 1), 10**5 * (9 - i), shapes=name)
                       for i, name in enumerate(names)])
END_PY
expect 'fifty kernels' 0 deep --format svg -o fifty.svg fifty.json
counts '50 points, 50 labels, 8 roofs, 50 rows' fifty.svg
expect 'too near each other' 0 deep --format svg -o crowd.svg crowd.json
counts '50 points, 23 labels, 8 roofs, 50 rows' crowd.svg
has crowd.svg '250 more kernels are not shown (--top)' '27 points have no label: others are too near'
expect 'more than there is room for' 0 deep --format svg --top 299 -o most.svg crowd.json
has most.svg '100 more kernels are not shown (--top)' 'points have no label: others are too near'
expect 'very small intensity' 0 deep --format svg -o small.svg small.json
counts '1 points, 1 labels, 8 roofs, 2 rows' small.svg
has small.svg '1e-9' 'not shown: off the axes'
expect 'nothing to show' 0 deep --format svg -o none.svg none.json
counts '0 points, 0 labels, 8 roofs, 4 rows' none.svg
has none.svg 'not shown: FLOPs unknown' 'not shown: no time'
expect 'hostile names' 0 deep --format svg -o hostile.svg hostile.json
counts '8 points, 8 labels, 8 roofs, 8 rows' hostile.svg
lacks hostile.svg '<script>alert'
has hostile.svg '&lt;/title&gt;&lt;script&gt;'
peaks f32=500,1000
expect 'no bandwidth' 0 deep --format svg -o bandwidth.svg fifty.json
counts '50 points, 50 labels, 2 roofs, 50 rows' bandwidth.svg
has bandwidth.svg 'absent: this machine has no peak for memory, f64, bf16, f16, int8'
peaks memory=50,100
expect 'no arithmetic' 0 deep --format svg -o arithmetic.svg fifty.json
counts '50 points, 50 labels, 2 roofs, 50 rows' arithmetic.svg
peaks
expect 'no peak at all' 0 deep --format svg -o nothing.svg fifty.json
counts '50 points, 50 labels, 0 roofs, 50 rows' nothing.svg

# ---- Bad input -----------------------------------------------------------------------------------
expect 'no such folder' 2 deep --format svg -o nowhere/a.svg planted.json
has err.txt "cannot write 'nowhere/a.svg': No such file or directory"
expect 'a report of ncu' 2 deep --format svg "$PLUMB_SOURCE_DIR/tests/fuzz/corpus/ncu/raw_wide.csv"
has err.txt "kernels of ncu have no format 'svg': text, json, csv or md"
expect 'over the recording' 2 deep --format svg -o planted.json planted.json
[ "$(head -c 2 planted.json)" = '{"' ] || fail 'the recording was overwritten'
expect 'no such kernel' 2 deep --format svg --kernel nothing planted.json
finish

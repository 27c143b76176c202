#!/bin/sh
# plumb deep: peaks that are kept, kernels of a planted trace against them, verdicts in every format.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
export XDG_CACHE_HOME="$PWD/cache"

cat >trace.json <<'END'
{"traceEvents": [
 {"ph":"X","pid":1,"tid":1,"ts":0,"dur":1000,"name":"matmul","args":{"flops":900000000,"bytes":1000000,
  "impl":"brg","shapes":"src:512x512","dtypes":"src:f32 wei:f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":2000,"dur":1000,"name":"relu","args":{"flops":2000000,"bytes":80000000,"dtypes":"src:f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":4000,"dur":1000,"name":"tiny","args":{"flops":10,"bytes":10,"dtypes":"src:f32"}},
 {"ph":"X","pid":1,"tid":1,"ts":6000,"dur":1000,"name":"attached","args":{"flops":900000000}},
 {"ph":"X","pid":1,"tid":1,"ts":8000,"dur":1000,"name":"other"}
]}
END
echo '{"traceEvents": [{"ph":"X","pid":1,"tid":1,"ts":0,"dur":5,"name":"other"}]}' >plain.json

# A file stands where the folder of the peaks would be.
: >cache
expect 'no place' 0 "$PLUMB_BIN" deep --peaks
has out.txt 'Peaks of this machine' GB/s f64 f32 bf16 f16 int8 'not kept'
has err.txt 'cannot make directory'
rm cache
mkdir -p cache/plumb
echo '{' >cache/plumb/peaks.json
expect 'damaged' 0 "$PLUMB_BIN" deep --peaks
has err.txt 'the kept ones could not be read'
has out.txt "kept in $XDG_CACHE_HOME/plumb/peaks.json"
cp cache/plumb/peaks.json first.json
expect 'kept' 0 "$PLUMB_BIN" deep --peaks --format csv
empty err.txt
cmp -s first.json cache/plumb/peaks.json || fail "the kept file has changed"

# 1000 GFLOP/s of f32, 100 GB/s: the ridge is at 10 operations a byte.
/usr/bin/python3 - <<'END'
import json
p = json.load(open("cache/plumb/peaks.json"))
for span in 0, 1:
    p["bandwidth_bytes"][span].update(per_second=100 * 10**9, spread=0.01)
    for t in p["operations"]:
        p["operations"][t][span].update(per_second=None, spread=0, loop="")
    p["operations"]["f32"][span].update(per_second=1000 * 10**9, spread=0.01, loop="planted")
json.dump(p, open("cache/plumb/peaks.json", "w"))
END
expect 'kernels' 0 "$PLUMB_BIN" deep trace.json
empty err.txt
[ "$(awk '$NF ~ /_bound$|^unknown$/ && NF > 5 { print $1, $NF }' out.txt | tr '\n' ',')" = \
    'matmul compute_bound,relu memory_bound,tiny latency_bound,attached unknown,' ] ||
    fail "verdicts: $(cat out.txt)"
has out.txt 'matmul src:512x512 is compute_bound: 90.0 % of f32 (1000 GFLOP/s), 1.0 % of memory bandwidth (100 GB/s); 900 FLOP/B is above the ridge at 10' \
    'relu is memory_bound: 0.2 % of f32 (1000 GFLOP/s), 80.0 % of memory bandwidth' \
    'neither peak explains a mean of 1000 us' 'attach an argument named dtype'
lacks out.txt other
expect 'one kernel as JSON' 0 "$PLUMB_BIN" deep --kernel '^mat' --format json --cores one trace.json
/usr/bin/python3 - <<'END' || fail "JSON: $(cat out.txt)"
import json
d = json.load(open("out.txt"))
k, = d["kernels"]
assert d["format"] == "plumb.deep.1" and d["roofs_of"] == "one_core"
assert k["kernel"] == "matmul" and k["impl"] == "brg" and k["verdict"] == "compute_bound"
assert abs(k["compute_share"] - 0.9) < 1e-9 and abs(k["flop_per_byte"] - 900) < 1e-9
assert d["peaks"]["operations_per_s"]["bf16"]["all_cores"] is None
END
expect 'CSV' 0 "$PLUMB_BIN" deep --format csv --top 1 trace.json
[ "$(wc -l <out.txt)" = 2 ] || fail "rows: $(cat out.txt)"
expect 'Markdown' 0 "$PLUMB_BIN" deep --format md --explain trace.json
has out.txt '| matmul |' '### Columns'

shapes=hidden_dim=1536,dit_seq_len=32760,context_len=512,ffn_dim=8960,num_layers=30
expect 'utilisation' 0 "$PLUMB_BIN" deep --mfu "$shapes,step_s=10,device=h100,world_size=8"
[ "$(head -1 out.txt)" = 'Per-Step MFU: 1.4306%' ] || fail "utilisation: $(cat out.txt)"
has out.txt '1131.92 TFLOP = 9.43267 TFLOP a layer x 30 layers x batch 1 x 4 x accumulation 1' \
    '989 TFLOP/s x 8 devices'
# 1131920055336960 operations in 1 ms, at 1000 GFLOP/s
expect 'of a run' 0 "$PLUMB_BIN" deep --mfu "$shapes,step=relu,dtype=f32" trace.json
[ "$(head -1 out.txt)" = 'Per-Step MFU: 113192005.5337%' ] || fail "of a run: $(cat out.txt)"
has out.txt '0.001 s, the median of 1 runs of relu'
expect 'utilisation as JSON' 0 "$PLUMB_BIN" deep --format json --mfu "$shapes,step_s=10,device=a100"
/usr/bin/python3 -c 'import json; assert round(json.load(open("out.txt"))["mfu_pct"], 4) == 36.2795' ||
    fail "utilisation: $(cat out.txt)"
expect 'no such type' 2 "$PLUMB_BIN" deep --mfu "$shapes,step_s=1,dtype=bf16"
has err.txt 'this machine has no measured peak for bf16'
expect 'no shape' 2 "$PLUMB_BIN" deep --mfu hidden_dim=1
has err.txt 'utilisation needs dit_seq_len='

expect 'no kernels' 2 "$PLUMB_BIN" deep plain.json
has err.txt "'plain.json' has no kernel with operations or bytes: record with"
expect 'no such kernel' 2 "$PLUMB_BIN" deep --kernel nothing trace.json
has err.txt "no kernel of 'trace.json' has a name like 'nothing'"
expect 'no such format' 2 "$PLUMB_BIN" deep --format xml trace.json
expect 'no such cores' 2 "$PLUMB_BIN" deep --cores two trace.json
expect 'no recording with --peaks' 2 "$PLUMB_BIN" deep --peaks trace.json
expect 'not a trace' 2 "$PLUMB_BIN" deep cache/plumb/peaks.json

finish

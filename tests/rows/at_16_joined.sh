#!/bin/sh
# AT-16 of engines that fuse: what one gives out whole (qkv, gate and up) and the other in parts is
# compared as one record, by what adds up over parts, and said so; a fault in it is named there.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >model.py <<'END'
"""model.py fused|split [FAULT_MODULE [STEP]]: four blocks of two steps, recorded as JSONL."""
import json, math, random, sys
fused = sys.argv[1] == "fused"
fault = sys.argv[2] if len(sys.argv) > 2 else ""
fault_step = int(sys.argv[3]) if len(sys.argv) > 3 else 0
T, H = 4, 6
seq = 0
def record(module, rows, step, shape=None, tensor="out"):
    global seq
    values = [v for row in rows for v in row]
    n = len(values)
    mean = sum(values) / n
    print(json.dumps({"module": module, "tensor": tensor, "step": step,
        "abs_mean": sum(map(abs, values)) / n, "sum": sum(values), "min": min(values), "max": max(values),
        "std": math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1)), "nan": 0,
        "hash_any": "%016x" % (sum(hash(v) * 2654435761 for v in values) % 2 ** 64),
        "call": 0, "rank": 0, "seq": seq, "io": "in" if tensor.startswith("in") else "out",
        "dtype": "float32", "shape": shape or [T, len(rows[0])]}))
    seq += 1
def linear(name, x, width, step):
    w = random.Random(name)
    gain = 1.05 if name == fault and step == fault_step else 1
    weights = [[w.uniform(-.7, .7) for _ in range(len(x[0]))] for _ in range(width)]
    return [[gain * math.tanh(sum(a * b for a, b in zip(row, ws))) for ws in weights] for row in x]
def concat(*parts):
    return [sum((p[i] for p in parts), []) for i in range(len(parts[0]))]
for step in range(2):
    r = random.Random(step)
    x = [[r.uniform(-1, 1) for _ in range(H)] for _ in range(T)]
    record("embed", x, step)
    for b in range(4):
        at = "blocks.%d." % b
        q, k, v = (linear(at + "attn." + n, x, H, step) for n in "qkv")
        if fused:
            record(at + "attn.qkv_proj", x, step, tensor="in[0]")
            record(at + "attn.qkv_proj", concat(q, k, v), step)
        else:
            for name, y in zip("qkv", (q, k, v)):
                record(at + "attn." + name, x, step, tensor="in[0]")
                record(at + "attn." + name, y, step)
        x = [[a * p + c for a, p, c in zip(*rows)] for rows in zip(q, k, v)]
        record(at + "attn", x, step)
        gate, up = linear(at + "mlp.gate", x, 2 * H, step), linear(at + "mlp.up", x, 2 * H, step)
        if fused:
            record(at + "mlp.gate_up", gate + up, step, [2, T, 2 * H])
        else:
            record(at + "mlp.gate", gate, step)
            record(at + "mlp.up", up, step)
        x = linear(at + "mlp.down", [[a * c for a, c in zip(*rows)] for rows in zip(gate, up)], H, step)
        record(at + "mlp.down", x, step)
END
model() {
    PYTHONHASHSEED=0 python3 model.py "$@"
}
model split >split.jsonl
model fused >fused.jsonl
expect 'the same' 0 "$PLUMB_BIN" diverge split.jsonl fused.jsonl
has out.txt 'no divergence' 'A has 82 records, B 42;' '16 as a whole and its parts' \
    "B's blocks.0.attn.qkv_proj out is A's blocks.0.attn.{q,k,v} out, joined in dimension 1 (counts, sums and shapes agree)" \
    "B's blocks.0.mlp.gate_up out is A's blocks.0.mlp.{gate,up} out, stacked in a new dimension 0" \
    'and 3 more wholes with their parts'
lacks out.txt 'attn.q out,'
expect 'the other way' 0 "$PLUMB_BIN" diverge --format json fused.jsonl split.jsonl
[ "$(jq -c '[.diverged, .a.records, .b.records, .matched_by.joined, (.joined | length)]' out.txt)" = \
    '[false,42,82,16,8]' ] || fail "JSON: $(cat out.txt)"
[ "$(jq -c '.joined | map(select(.whole.module == "blocks.2.attn.qkv_proj"))[0] |
    [.parts_in, [.parts[].module], .dimension, .stacked, .evidence]' out.txt)" = \
    '["b",["blocks.2.attn.q","blocks.2.attn.k","blocks.2.attn.v"],1,false,"statistics"]' ] ||
    fail "joined: $(jq .joined out.txt)"

# A fault in a fused one is its own, in whichever engine, with inputs that match.
model split blocks.2.attn.k 1 >bad_split.jsonl
model fused blocks.2.attn.k 1 >bad_fused.jsonl
expect 'fault in a part' 1 "$PLUMB_BIN" diverge fused.jsonl bad_split.jsonl
has out.txt 'first divergence: blocks.2.attn.qkv_proj out step 1 (in B: blocks.2.attn.{q,k,v})' \
    "PLUMB_ACTIVATIONS_LAYERS='^(blocks\\.2\\.attn\\.q|blocks\\.2\\.attn\\.k|blocks\\.2\\.attn\\.v)(\\.|\$)'"
expect 'fault in a whole' 1 "$PLUMB_BIN" diverge split.jsonl bad_fused.jsonl
has out.txt 'first divergence: blocks.2.attn.{q,k,v} out step 1 (in B: blocks.2.attn.qkv_proj)'
# In all steps its statistics prove nothing; its kind does.
sed 's/fault_step = .*/fault_step = 0/; s/range(2)/range(1)/' model.py >one.py
PYTHONHASHSEED=0 python3 one.py split >one_a.jsonl
PYTHONHASHSEED=0 python3 one.py fused blocks.1.attn.v >one_b.jsonl
expect 'by kind' 1 "$PLUMB_BIN" diverge one_a.jsonl one_b.jsonl
has out.txt 'first divergence: blocks.1.attn.{q,k,v} out step 0 (in B: blocks.1.attn.qkv_proj)' \
    '(as others of their kinds; their statistics are apart)'
finish

#!/bin/sh
# AT-16: plumb diverge matches records by key, with the call index, names the first in order of execution
# that is beyond tolerance, and says so by its exit status: 0 the same, 1 diverged, 2 bad input.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
make() {
    python3 "$PLUMB_SOURCE_DIR/tests/cli/_activations.py" "$@"
}
diverge() {
    "$PLUMB_BIN" diverge "$@"
}

make >a.jsonl
make fault=scale at=block.2.attn >b.jsonl
expect 'the same' 0 diverge a.jsonl a.jsonl
has out.txt 'no divergence: 52 pairs of records are equal in every statistic' 'matched 52 by name'
empty err.txt
expect 'diverged' 1 diverge a.jsonl b.jsonl
has out.txt 'first divergence: block.2.attn out step 0: abs_mean 1.44541 against 1.51768 (5.0 %), B is A times 1.05 throughout, inputs equal'
empty err.txt
[ "$(head -1 out.txt | cut -c1-16)" = 'first divergence' ] || fail 'the sentence is not first'

# The order of the file is that of `seq`, whatever the order of its lines.
sort b.jsonl >shuffled.jsonl
expect 'sorted lines' 1 diverge a.jsonl shuffled.jsonl
has out.txt 'first divergence: block.2.attn out step 0'

# Calls of one module are distinguished: the second is the wrong one.
call() {
    printf '{"module": "m", "tensor": "out", "step": 0, "abs_mean": %s, "sum": 1, "call": %s, "dtype": "float32", "shape": [4]}\n' "$2" "$1"
}
{ call 0 1.5 && call 1 2.5 && call 2 3.5; } >calls_a.jsonl
{ call 0 1.5 && call 1 2.6 && call 2 3.5; } >calls_b.jsonl
expect 'the second call' 1 diverge calls_a.jsonl calls_b.jsonl
has out.txt 'm out step 0 call 1: abs_mean 2.5 against 2.6 (4.0 %)'

# FastVideo's own files: two statistics, bare NaN, no call.
make format=fastvideo inputs=0 >fa.jsonl
make format=fastvideo inputs=0 fault=nan at=block.1.mlp step=1 >fb.jsonl
expect 'NaN of FastVideo' 1 diverge fa.jsonl fb.jsonl
has out.txt 'block.1.mlp out step 1: NaN is born here: none in A, some in B, inputs unknown'
make format=fastvideo inputs=0 noise=0.002 >fc.jsonl
expect 'types unknown' 0 diverge fa.jsonl fc.jsonl
has out.txt 'held to the tolerance of bfloat16, 0.5 %' 'without shapes a sum cannot be judged'
make fault=nan at=block.1.mlp step=1 >nan.jsonl
expect 'NaN counted' 1 diverge a.jsonl nan.jsonl
has out.txt 'NaN is born here: none in A, 1 in B of 64 values, inputs equal'

# Tolerances: by type, or the user's.
make noise=1e-7 >noisy.jsonl
expect 'rounding' 0 diverge a.jsonl noisy.jsonl
has out.txt 'within tolerance, the farthest off is'
expect 'no tolerance' 1 diverge --rtol 0 --atol 0 a.jsonl noisy.jsonl
expect 'a wide one' 0 diverge --rtol 0.2 a.jsonl b.jsonl
make noise=0.002 dtype=bfloat16 >bf16.jsonl
expect 'another type' 0 diverge a.jsonl bf16.jsonl
expect 'that one held to float32' 1 diverge --rtol 1e-4 a.jsonl bf16.jsonl

# Other names: by evidence, by expression, by file.
make rename=1 fault=scale at=block.2.attn >renamed.jsonl
expect 'other names' 1 diverge a.jsonl renamed.jsonl
has out.txt 'block.2.attn out step 0 (in B: layers.2.self_attention): abs_mean' 'by order and'
expect 'expressions' 1 diverge --map 's/^block\.(\d+)/layers.\1/' --map 's/attn$/self_attention/' \
    --map 's/mlp$/ffn/' --map 's/^embed$/token_embedding/' a.jsonl renamed.jsonl
has out.txt 'block.2.attn out step 0 (in B: layers.2.self_attention): abs_mean' 'matched 52 by the map'
printf '# names\nembed token_embedding\n\ns/^block/layers/\ns/[.]attn/.self_attention/\ns/[.]mlp/.ffn/\n' >map.txt
expect 'a file' 1 diverge --map map.txt a.jsonl renamed.jsonl
has out.txt 'matched 52 by the map'

# Labels have names as well: one engine's module of three outputs is three modules of the other.
labelled() {
    printf '{"module": "%s", "tensor": "%s", "step": 0, "abs_mean": %s, "sum": %s, "dtype": "float32", "shape": [4]}\n' "$@"
}
{ labelled 0.qkv out.q 1 2 && labelled 0.qkv out.k 3 4 && labelled 0.mlp out 5 6; } >labels_a.jsonl
{ labelled 0.wq out 1 2 && labelled 0.wk out 3.5 4 && labelled 0.mlp out 5.5 6; } >labels_b.jsonl
expect 'labels' 1 diverge --map 's/\.qkv out\.(.)$/.w\1 out/' labels_a.jsonl labels_b.jsonl
has out.txt 'first divergence: 0.qkv out.k step 0 (in B: 0.wk)' '1 by name, 2 by the map'
expect 'only what is mapped' 0 diverge --only mapped --map 's/\.qkv out\.q$/.wq out/' labels_a.jsonl labels_b.jsonl
has out.txt 'matched 1 by the map'
expect 'only what has names' 1 diverge --only named labels_a.jsonl labels_b.jsonl
has out.txt 'different from the first record on: 0.mlp out step 0' 'matched 1 by name'

# Records of one side alone are listed.
grep -v '"block.1.mlp"' a.jsonl >less.jsonl
expect 'records missing' 0 diverge a.jsonl less.jsonl
has out.txt 'only in A: 4 records: block.1.mlp in[0] (2), block.1.mlp out (2)'
first() {
    head -1 out.txt >line.txt
    has line.txt "$@"
}
first '; B lacks block.1.mlp'
expect 'records missing, every one asked for' 1 diverge --rtol 0 --atol 0 a.jsonl less.jsonl
first 'different records: only A has block.1.mlp in[0] step 0 and 3 more'
for format in json csv md svg; do
    expect "records missing, as $format" 1 diverge --rtol 0 --atol 0 --format $format a.jsonl less.jsonl
    expect "records missing, the other way, as $format" 1 diverge --rtol 0 --atol 0 --format $format less.jsonl a.jsonl
done
expect 'all records of A' 1 diverge --rtol 0 --atol 0 less.jsonl a.jsonl
first 'only B has block.1.mlp in[0] step 0 and 3 more'
expect 'no difference in what both have' 0 diverge --rtol 0 --atol 0 --only named a.jsonl less.jsonl
grep -v '"step": 1' a.jsonl >short.jsonl
cat short.jsonl short.jsonl | sed '1,26s/"step": 0/"step": 0/; 27,52s/"step": 0/"step": 1/; 27,52s/"seq": \([0-9]*\)/"seq": 1\1/' >long.jsonl
expect 'an early end' 0 diverge long.jsonl short.jsonl
first 'no divergence: ' '; B ends early: it lacks step 1'
head -20 short.jsonl >cut_off.jsonl
expect 'cut off' 0 diverge short.jsonl cut_off.jsonl
first 'no divergence: ' '; B lacks '

# Two runs of one engine are held to the bit once several records were equal; ways to say otherwise.
python3 - a.jsonl >late.jsonl <<'END'
import json, sys
for i, line in enumerate(open(sys.argv[1])):
    r = json.loads(line)
    if i >= 20:
        r["abs_mean"] *= 1 + 1e-9
    print(json.dumps(r))
END
expect 'one engine' 1 diverge a.jsonl late.jsonl
has out.txt 'tolerances)' 'equal to the last bit up to ' '(20 records)' 'add in varying order' 'next: compare these with --expect same'
expect 'may be close' 0 diverge --expect close a.jsonl late.jsonl
has out.txt 'no divergence: 52 pairs of records are within tolerance' '(20 records); first difference at ' ' tolerances'
expect 'a tolerance of its own' 0 diverge --rtol 1e-4 a.jsonl late.jsonl
expect 'must be the same' 1 diverge --expect same a.jsonl noisy.jsonl

# ---- Bad input: one line, status 2 ---------------------------------------------------------------
trouble() {
    name=$1
    shift
    expect "$name" 2 "$@"
    empty out.txt
    [ "$(wc -l <err.txt)" = 1 ] || fail "$name: stderr is not one line: $(cat err.txt)"
}
trouble 'one run' diverge a.jsonl
has err.txt 'wants two runs, the reference first, not 1'
trouble 'no such file' diverge a.jsonl nowhere.jsonl
has err.txt nowhere.jsonl
: >empty.jsonl
trouble 'empty' diverge a.jsonl empty.jsonl
has err.txt empty.jsonl
echo '{"module": 3' >cut.jsonl
trouble 'cut' diverge a.jsonl cut.jsonl
has err.txt cut.jsonl
echo '{"module": "z", "tensor": "out", "step": 0, "abs_mean": 1, "shape": [3]}' >other.jsonl
trouble 'nothing in common' diverge a.jsonl other.jsonl
has err.txt 'have no record in common' --map
trouble 'a bad expression' diverge --map 's/(/x/' a.jsonl b.jsonl
has err.txt "the map 's/(/x/' has a bad expression"
trouble 'no expression' diverge --map 's/a/b' a.jsonl b.jsonl
trouble 'a group too many' diverge --map 's/a/\2/' a.jsonl b.jsonl
has err.txt 'names group \2'
trouble 'no map' diverge --map nowhere.txt a.jsonl b.jsonl
echo 'three names here' >wrong.txt
trouble 'a bad map' diverge --map wrong.txt a.jsonl b.jsonl
has err.txt "line 1 of 'wrong.txt'"
trouble 'a format' diverge --format jsn a.jsonl b.jsonl
has err.txt "did you mean 'json'?"
for tolerance in x -1 nan inf 1e-4x ''; do
    trouble "tolerance '$tolerance'" diverge "--rtol=$tolerance" a.jsonl b.jsonl
    has err.txt '--rtol wants a number of 0 or more'
done
trouble 'output over input' diverge -o a.jsonl a.jsonl b.jsonl
has err.txt 'one of the runs compared'
finish

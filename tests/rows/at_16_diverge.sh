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

# Calls of one module are told apart: the second is the wrong one.
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

# What one side alone has is listed.
grep -v '"block.1.mlp"' a.jsonl >less.jsonl
expect 'records missing' 0 diverge a.jsonl less.jsonl
has out.txt 'only in A: 4 records: block.1.mlp in[0] (2), block.1.mlp out (2)'

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

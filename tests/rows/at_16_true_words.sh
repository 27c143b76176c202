#!/bin/sh
# AT-16: what is said of a pair is true of its figures: a factor only where every figure grew by it, "the
# same values" only with a hash of them, equality only without another order, type or hash; other steps
# and calls are said.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
diverge() {
    "$PLUMB_BIN" diverge "$@"
}
# figures MODULE ABS_MEAN SUM MIN MAX STD
figures() {
    printf '{"module":"%s","tensor":"out","step":0,"abs_mean":%s,"sum":%s,"min":%s,"max":%s,"std":%s,"dtype":"bfloat16","shape":[4]}\n' "$@"
}
{ figures a 1 0.1 -1 2 1 && figures b 1 0.1 -1 2 1; } >a.jsonl
{ figures a 1 0.1 -1 2 1 && figures b 1.019 0.1 -1 2 1; } >b.jsonl
expect 'one figure' 1 diverge a.jsonl b.jsonl
has out.txt 'first divergence: b out step 0: abs_mean 1 against 1.019 (1.9 %), inputs unknown'
lacks out.txt throughout
{ figures a 1 0.1 -1 2 1 && figures b 1.019 0.1019 -1.019 2.038 1; } >b.jsonl
expect 'all but one' 1 diverge a.jsonl b.jsonl
lacks out.txt throughout
{ figures a 1 0.1 -1 2 1 && figures b 1.02 0.1019 -1.019 2.041 1.02; } >b.jsonl
expect 'all, but for rounding' 1 diverge a.jsonl b.jsonl
has out.txt 'B is A times 1.02 throughout'

# hashed MODULE STEP CALL DTYPE SHAPE HASH HASH_ANY
hashed() {
    printf '{"module":"%s","tensor":"out","step":%s,"call":%s,"abs_mean":1,"sum":2,"dtype":"%s","shape":%s,"hash":"%016x","hash_any":"%016x"}\n' "$@"
}
pair() {
    { hashed a 0 0 float32 '[2,3]' 1 1 && hashed b "$@"; }
}
# both STATUS TEXT: exit 0 and TEXT in tolerance, exit 1 where equality is asked for
both() {
    expect "$1" 0 diverge a.jsonl b.jsonl
    has out.txt "$2"
    expect "$1, to the bit" 1 diverge --rtol 0 --atol 0 a.jsonl b.jsonl
    has out.txt "first divergence: b out step 0: $3"
}
pair 0 0 float32 '[2,3]' 2 2 >a.jsonl
pair 0 0 float32 '[2,3]' 3 2 >b.jsonl
both 'shuffled' '1 pair has the same values in another order, first b out step 0; --rtol 0 --atol 0 takes that' 'the hashes differ'
pair 0 0 float32 '[2,3]' 3 3 >b.jsonl
both 'other values' 'within tolerance' 'the hashes differ'
sed 's/,"hash_any":"[0-9a-f]*"//' a.jsonl >c.jsonl
mv a.jsonl kept.jsonl && mv c.jsonl a.jsonl
sed -i 's/,"hash_any":"[0-9a-f]*"//' b.jsonl
both 'other bytes' 'within tolerance' 'the hashes differ'
mv kept.jsonl a.jsonl
expect 'itself' 0 diverge --rtol 0 --atol 0 a.jsonl a.jsonl
pair 0 0 float32 '[3,2]' 3 3 >b.jsonl
both 'another shape, other values' 'within tolerance' 'the hashes differ'
lacks out.txt 'same values'
pair 0 0 float32 '[3,2]' 3 2 >b.jsonl
expect 'another layout' 0 diverge a.jsonl b.jsonl
has out.txt '1 tensor is in another layout with the same values'
sed 's/,"hash.*"}/}/' a.jsonl >bare_a.jsonl
sed 's/,"hash.*"}/}/' b.jsonl >bare_b.jsonl
expect 'another layout, no hash' 0 diverge bare_a.jsonl bare_b.jsonl
has out.txt '1 tensor has another shape and as many values; their statistics agree, and only hash_any can show'

# Another element type: in the first line, in a note with its tolerance, and in every row.
pair 0 0 bfloat16 '[2,3]' 2 2 >b.jsonl
both 'another type' '1 pair has two element types, first b out step 0: element type float32 against bfloat16, held to 2.0 %' \
    'element type float32 against bfloat16'
expect 'another type, the line' 0 diverge a.jsonl b.jsonl
[ "$(head -1 out.txt)" = 'no divergence: 2 pairs of records are equal in every statistic, in 1 of them the element types differ' ] ||
    fail "another type: $(head -1 out.txt)"
has out.txt 'A type   B type'
expect 'another type, CSV' 0 diverge --format csv a.jsonl b.jsonl
[ "$(cut -d, -f3,20,21 out.txt | tr '\n' ' ')" = 'module,dtype_a,dtype_b a,, b,float32,bfloat16 ' ] || fail "CSV: $(cat out.txt)"
expect 'another type, JSON' 0 diverge --format json a.jsonl b.jsonl
[ "$(jq -c '[.rows[] | [.dtype_a, .dtype_b]], (.notes | map(select(test("two element types"))) | length)' out.txt | tr -d '\n')" = \
    '[["float32","float32"],["float32","bfloat16"]]1' ] || fail "JSON: $(cat out.txt)"
expect 'another type, Markdown' 0 diverge --format md a.jsonl b.jsonl
has out.txt '| float32 | bfloat16 |' '2 pairs of records are equal' 'element type float32 against bfloat16'

# Steps and calls that only their order brought together.
hashed a 2 0 float32 '[2,3]' 1 1 >a.jsonl
hashed a 3 0 float32 '[2,3]' 1 1 >b.jsonl
expect 'other steps' 0 diverge a.jsonl b.jsonl
has out.txt 'the steps differ: step 2 of A is compared with step 3 of B'
hashed a 2 1 float32 '[2,3]' 1 1 >b.jsonl
expect 'other calls' 0 diverge a.jsonl b.jsonl
has out.txt '1 pair is of calls with different numbers, in their order'
expect 'the same step' 0 diverge a.jsonl a.jsonl
lacks out.txt 'differ'
lacks out.txt 'calls'
finish

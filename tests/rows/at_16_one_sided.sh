#!/bin/sh
# AT-16 of two engines that each record operations of their own: these are listed and never blamed, and a
# layer meets only its own number.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
# record MODULE ABS_MEAN
record() {
    printf '{"module": "%s", "tensor": "out", "step": 0, "abs_mean": %s, "sum": %s1, "rms": %s2, "dtype": "float32", "shape": [16]}\n' "$1" "$2" "$2" "$2"
}
{ record embed 1.1 && record layers.0.norm 1.2 && record layers.0.rope 1.3 && record layers.0.wo 1.4; } >a.jsonl
{ record emb 1.1 && record blk.0.attn_norm 1.2 && record blk.0.kqv 1.35 && record blk.0.out 1.4; } >b.jsonl
for sides in 'a b' 'b a'; do
    # shellcheck disable=SC2086 # two words
    set -- $sides
    expect "one-sided operations: $sides" 0 "$PLUMB_BIN" diverge "$1.jsonl" "$2.jsonl"
    has out.txt 'no divergence: 3 pairs of records' '1 records are only in A, 1 only in B' \
        '1 pair that order suggested agreed with nothing round them'
done
has out.txt 'only in A: 1 record: blk.0.kqv out' 'only in B: 1 record: layers.0.rope out'

# The fault lies between what both recorded, and what one side has between is named, not blamed.
sed 's/1\.4/1.44/g' b.jsonl >bad.jsonl
expect 'a fault behind them' 1 "$PLUMB_BIN" diverge --map 's/^layers\.(\d)\.wo$/blk.\1.out/' a.jsonl bad.jsonl
has out.txt 'first divergence: layers.0.wo out step 0 (in B: blk.0.out)' 'layers.0.norm out step 0 (in B: blk.0.attn_norm), is equal' \
    'only A has layers.0.rope out step 0 between them), and the records do not show which of them differs' \
    "^(layers\\.0\\.norm|layers\\.0\\.rope|layers\\.0\\.wo)"

# The last record in layer 1 of A and the first in layer 2 of B are not a pair, whatever order and shape say.
{ record embed 1.1 && record layers.1.a 2.1 && record layers.1.b 2.2 && record layers.1.rope 2.3 && record layers.2.a 3.1 && record layers.2.b 3.2; } >layers_a.jsonl
{ record emb 1.1 && record blk.1.p 2.1 && record blk.1.q 2.2 && record blk.2.kv 2.35 && record blk.2.p 3.1 && record blk.2.q 3.2; } >layers_b.jsonl
expect 'layers' 0 "$PLUMB_BIN" diverge layers_a.jsonl layers_b.jsonl
has out.txt 'no divergence: 5 pairs of records'
lacks out.txt 'that order suggested'
# Where one counts from 0 and the other from 1, each still meets its own.
sed 's/blk\.2/blk.3/; s/blk\.1/blk.2/' layers_b.jsonl >counted.jsonl
expect 'another count' 0 "$PLUMB_BIN" diverge layers_a.jsonl counted.jsonl
has out.txt 'no divergence: 5 pairs of records'
lacks out.txt 'that order suggested'

# At the first position the output of a rotation is its input. A record that agrees there alone is not a
# culprit where it differs later: the range begins at the last agreement before it and is open at its end.
# engine FILE PREFIX Q DIGIT: two positions of two layers; DIGIT is wrong in what the last gives out
engine() {
    for step in 0 1; do
        for layer in 0 1; do
            size=$((step * 3 + layer * 2 + 1))
            rotated=$([ "$step" = 1 ] && [ "$3" = rope ] && echo 77 || echo 15)
            wrong=$([ "$step" = 1 ] && echo "$4" || echo '')
            record "$2.$layer.norm" "$size.12"
            record "$2.$layer.$3" "$size.$rotated"
            record "$2.$layer.wo" "$size.4$wrong"
        done | sed "s/\"step\": 0/\"step\": $step/"
    done >"$1.jsonl"
}
engine rotation_a layers q ''
engine rotation_b blk rope ''
sed -i 's/\(abs_mean": [0-9.]*\)/\1000001/' rotation_b.jsonl # the second engine rounds otherwise
expect 'a rotation' 0 "$PLUMB_BIN" diverge rotation_a.jsonl rotation_b.jsonl
engine rotation_bad blk rope 9
sed -i 's/\(abs_mean": [0-9.]*\)/\1000001/' rotation_bad.jsonl
expect 'a fault behind it' 1 "$PLUMB_BIN" diverge rotation_a.jsonl rotation_bad.jsonl
head -n 1 out.txt >first.txt
has first.txt 'after layers.0.norm out step 1 (in B: blk.0.norm)' 'only a few figures pair what follows'

# A rank that did not leave its records is never silent, with an exit status of its own when all is asked for.
for rank in 0 1 2; do
    sed "s/}/, \"rank\": $rank}/" a.jsonl
done >ranks.jsonl
grep -v '"rank": 1}' ranks.jsonl >two_ranks.jsonl
expect 'B lacks a rank' 0 "$PLUMB_BIN" diverge ranks.jsonl two_ranks.jsonl
head -n 1 out.txt >first.txt
has first.txt 'no divergence: 8 pairs of records' 'B lacks rank 1'
expect 'A lacks it' 0 "$PLUMB_BIN" diverge two_ranks.jsonl ranks.jsonl
head -n 1 out.txt >first.txt
has first.txt 'A lacks rank 1'
expect 'as data' 0 "$PLUMB_BIN" diverge --format json ranks.jsonl two_ranks.jsonl
jq -e '.sentence | test("B lacks rank 1")' out.txt >/dev/null ||
    fail "$name: $(head -30 out.txt)"
expect 'equal in every record' 1 "$PLUMB_BIN" diverge --rtol 0 --atol 0 ranks.jsonl two_ranks.jsonl
finish

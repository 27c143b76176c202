#!/bin/sh
# labels: plain
# AT-16 by more than means: the sample and the histogram that plumb writes are read, shown, and
# compared: values in another order are a divergence, and a shift of magnitudes is stated.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"
stats=PLUMB_ACTIVATIONS_STATS=abs_mean,sum,sample,histogram
trace 'right' 0 right $stats ./layers twice
trace 'swapped' 0 swapped $stats ./layers swapped
expect 'shown' 0 "$PLUMB_BIN" activations right
has out.txt 'Sample' '1 -2 3 0 5 6' 'zero 17 %, 2^0 83 %'
expect 'as JSON' 0 "$PLUMB_BIN" activations --format json --module 'layers\.1$' right
[ "$(jq -c '.layers[0] | [.records, .sample, .histogram[0], .histogram[10]]' out.txt)" = \
    '[4,[1,-2,3,0,5,6],4,20]' ] || fail "JSON: $(cat out.txt)"
expect 'the same' 0 "$PLUMB_BIN" diverge right right
has out.txt 'equal in every statistic'
expect 'another order' 1 "$PLUMB_BIN" diverge right swapped
has out.txt 'first divergence: block.layers.1.mlp out step 1 call 1: the sampled values differ by 35.3 % of the mean magnitude' \
    '(1 -2 3 0 5 6 against -2 1 3 0 5 6), though their statistics agree'

# A tensor whose small values were lost: the mean shows the loss, the histogram shows where they went.
line() {
    printf '{"module": "m%s", "tensor": "out", "step": 0, "abs_mean": %s, "sum": 0, "dtype": "float16", "shape": [100], "histogram": [%s,0,0,0,0,0,0,0,%s,0,60,0,0,0,0,0,0,0,0,0]}\n' "$@"
}
{ line 0 2 0 40 && line 1 2 0 40 && line 2 3 0 40; } >a.jsonl
{ line 0 2 0 40 && line 1 1.9 30 10 && line 2 3 0 40; } >b.jsonl
expect 'a shift' 1 "$PLUMB_BIN" diverge a.jsonl b.jsonl
has out.txt 'first divergence: m1 out step 0' '30.0 % of its values changed their magnitude, most of them from 2^-8 to zero' 'Moved %'
expect 'a shift in JSON' 1 "$PLUMB_BIN" diverge --format json a.jsonl b.jsonl
[ "$(jq -c '[.rows[] | .moved * 1000 | round]' out.txt)" = '[0,300,0]' ] || fail "JSON: $(cat out.txt)"

many=$(seq -s, 65)
for list in "[$many]" '[[1]]' '["x"]' '{}' '3' '"all"'; do
    echo "{\"module\": \"a\", \"tensor\": \"out\", \"sample\": $list}" >bad.jsonl
    expect "sample $list" 2 "$PLUMB_BIN" activations bad.jsonl
    [ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
    has err.txt "'bad.jsonl' line 1: 'sample' is no"
done
echo '{"module": "a", "tensor": "out", "sample": ["NaN", "-Infinity", 1], "histogram": "<error: no data>"}' >odd.jsonl
expect 'words and errors' 0 "$PLUMB_BIN" activations odd.jsonl
has out.txt 'NaN -Infinity 1'
finish

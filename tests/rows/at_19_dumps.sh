#!/bin/sh
# labels: plain
# AT-19 of runs: the tensors that PLUMB_ACTIVATIONS_DUMP kept are found next to their records, by module,
# label, step and call, and compared value by value, also where every statistic is equal.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"
diverge() {
    "$PLUMB_BIN" diverge "$@"
}
kept='PLUMB_ACTIVATIONS_LAYERS=^block\.layers\.\d$ PLUMB_ACTIVATIONS_DUMP=^block\.layers\.1$'
# shellcheck disable=SC2086 # two words
{
    trace 'right' 0 right $kept ./layers twice
    trace 'again' 0 again $kept ./layers twice
    trace 'swapped' 0 swapped $kept ./layers swapped
}
[ "$(find right/activations -type f | wc -l)" = 4 ] || fail "kept: $(find right/activations)"
[ -f right/activations/step_1/block.layers.1.out.call1.safetensors ] || fail 'no call 1'

expect 'equal' 0 diverge right again
has out.txt '4 full tensors compared value by value; none differs' 'A has 6 records, B 6'
expect 'another order' 1 diverge right swapped
has out.txt 'first divergence: block.layers.1 out step 1 call 1: the values differ by' \
    '[0, 0]: 1 against -2, though their statistics agree' \
    '4 full tensors compared value by value; the first that differs is block.layers.1 out step 1 call 1'
expect 'in JSON' 1 diverge --format json right swapped
[ "$(jq -c '[.culprit.statistic, .culprit.a.call, (.tensors | length), .tensors[3].first_index]' out.txt)" = \
    '["values",1,4,[0,0]]' ] || fail "JSON: $(cat out.txt)"

# A tensor that only PLUMB_ACTIVATIONS_DUMP chose has values but no line: its statistics are computed.
trace 'values alone' 0 alone PLUMB_ACTIVATIONS_LAYERS='^block\.layers\.0$' \
    PLUMB_ACTIVATIONS_DUMP='^block\.layers\.1\.mlp$' ./layers twice
expect 'both' 0 "$PLUMB_BIN" activations --format json alone
[ "$(jq -c '[.kind, .records, [.layers[] | [.module, .records, .max]]]' out.txt)" = \
    '["plumb JSONL",6,[["block.layers.0",2,null],["block.layers.1.mlp",4,6]]]' ] ||
    fail "both: $(cat out.txt)"
rm alone/activations.jsonl
expect 'the lines are elsewhere' 0 "$PLUMB_BIN" activations --format json --steps alone
[ "$(jq -c '[.layers_over_steps[] | [.module, .step, .records]]' out.txt)" = \
    '[["block.layers.1.mlp",0,2],["block.layers.1.mlp",1,2]]' ] || fail "alone: $(cat out.txt)"

# A damaged file is reported; a missing one is fine.
truncate -s 90 swapped/activations/step_0/block.layers.1.out.safetensors
expect 'cut off' 2 diverge right swapped
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
rm -r swapped/activations/*
expect 'none left' 0 diverge right swapped
finish

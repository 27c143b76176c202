#!/bin/sh
# AT-17: after a divergence the next, narrower filter is proposed. If all rows differ, from the first on, the
# verdict is different inputs; an input that arrived wrong is reported as such.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
make() {
    python3 "$PLUMB_SOURCE_DIR/tests/cli/_activations.py" "$@"
}
diverge() {
    "$PLUMB_BIN" diverge "$@"
}

make >a.jsonl
make fault=missing at=block.3.mlp step=1 >b.jsonl
expect 'a layer' 1 diverge a.jsonl b.jsonl
has out.txt 'first divergence: block.3.mlp out step 1' \
    "next: record both sides with: PLUMB_ACTIVATIONS_LAYERS='^block\\.3\\.mlp(\\.|\$)' PLUMB_ACTIVATIONS_STEPS=1"
lacks out.txt PLUMB_ACTIVATIONS_DUMP
# The filter selects that layer and the modules in it alone.
filter=$(sed -n "s/.*LAYERS='\([^']*\)'.*/\1/p" out.txt)
printf 'block.3.mlp\nblock.3.mlp.fc1\nblock.3.mlpx\nblock.13.mlp\nxblock.3.mlp\nblock_3.mlp\n' >names.txt
[ "$(grep -cE "$filter" names.txt)" = 2 ] || fail "'$filter' selects $(grep -E "$filter" names.txt)"

# A block whose parts were right: only its values can show more.
make fault=scale at=block.1 size=0.02 >block.jsonl
expect 'a block' 1 diverge a.jsonl block.jsonl
has out.txt 'first divergence: block.1 out step 0' "PLUMB_ACTIVATIONS_DUMP='^block\\.1(\\.|\$)'"

make rename=1 fault=missing at=block.3.mlp step=1 >renamed.jsonl
expect 'other names' 1 diverge a.jsonl renamed.jsonl
has out.txt "record A with: PLUMB_ACTIVATIONS_LAYERS='^block\\.3\\.mlp(\\.|\$)'" \
    "record B with: PLUMB_ACTIVATIONS_LAYERS='^layers\\.3\\.ffn(\\.|\$)'"

make seed=2 >seed.jsonl
expect 'another seed' 1 diverge a.jsonl seed.jsonl
has out.txt 'different from the first record on: embed in[0] step 0' \
    'the inputs or the seeds of the runs differ' 'give both runs the same inputs, seed and weights'
lacks out.txt PLUMB_ACTIVATIONS_LAYERS
make inputs=0 >bare_a.jsonl
make inputs=0 seed=2 >bare_b.jsonl
expect 'another seed, outputs alone' 1 diverge bare_a.jsonl bare_b.jsonl
has out.txt 'different from the first record on: embed out step 0'

# A name from elsewhere is one word of a shell, and the filter still selects it.
odd="b'; touch pwned; echo '"
rec() {
    printf '{"module": "%s", "tensor": "out", "step": 0, "abs_mean": %s, "sum": 1, "dtype": "float32", "shape": [8]}\n' "$1" "$2"
}
{ rec a 1 && rec "$odd" 1; } >quoted_a.jsonl
{ rec a 1 && rec "$odd" 2; } >quoted_b.jsonl
expect 'a name with quotes' 1 diverge quoted_a.jsonl quoted_b.jsonl
command=$(sed -n 's/^next: record both sides with: //p' out.txt)
sh -c "env $command printenv PLUMB_ACTIVATIONS_LAYERS >filter.txt" || fail "not a command: $command"
[ ! -e pwned ] || fail "the proposal runs what is in a name: $command"
[ "$(printf 'a\n%s\nab\n' "$odd" | grep -cE "$(cat filter.txt)")" = 2 ] || fail "'$(cat filter.txt)' does not select $odd"
{ rec a 1 && rec 'b\u0009c' 1; } >tab_a.jsonl
{ rec a 1 && rec 'b\u0009c' 2; } >tab_b.jsonl
expect 'a name with a tab' 1 diverge tab_a.jsonl tab_b.jsonl
has out.txt "PLUMB_ACTIVATIONS_LAYERS='^(a|b.c)(\\.|\$)'"

# A layer that one side lacks stands in the first line.
{ rec layer.2 1 && rec layer.3 2 && rec layer.4 3; } >whole.jsonl
{ rec layer.2 1 && rec layer.4 4; } >lacking.jsonl
expect 'only in A' 1 diverge whole.jsonl lacking.jsonl
has out.txt 'first divergence: layer.4 out step 0' \
    '(the last record before it on both sides, layer.2 out step 0, is equal; only A has layer.3 out step 0 between them)'
expect 'only in B' 1 diverge lacking.jsonl whole.jsonl
has out.txt 'only B has layer.3 out step 0 between them'

# An input that no record gave out: the conditioning of one block.
line() {
    printf '{"module": "%s", "tensor": "%s", "step": 0, "abs_mean": %s, "sum": %s, "min": -1, "max": 9, "dtype": "float32", "shape": [8]}\n' "$@"
}
{ line embed 'in[0]' 1 2 && line embed out 1.25 3 && line block 'in[0]' 1.25 3 && line block 'in[1]' 4 5 && line block out 2 3; } >in_a.jsonl
{ line embed 'in[0]' 1 2 && line embed out 1.25 3 && line block 'in[0]' 1.25 3 && line block 'in[1]' 4.1 5 && line block out 2.5 3; } >in_b.jsonl
expect 'an outside input' 1 diverge in_a.jsonl in_b.jsonl
has out.txt 'different input: block in[1] step 0' 'no record gave it out: another input, seed or weight'
# One that was given out right and came in wrong.
{ line embed 'in[0]' 1 2 && line embed out 1.25 3 && line block 'in[0]' 1.35 3 && line block out 2.5 3; } >between.jsonl
expect 'between two layers' 1 diverge in_a.jsonl between.jsonl
has out.txt 'first divergence: block in[0] step 0: abs_mean 1.25 against 1.35 (8.0 %), given out by embed out step 0, where it was right'
finish

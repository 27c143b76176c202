#!/bin/sh
# plumb compare: units, folded layers, and the choice of nodes; what decides the exit status then.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
compare() {
    "$PLUMB_BIN" compare "$@"
}
# row TEXT: a row of the output, with single spaces
row() {
    tr -s ' ' <out.txt | sed 's/ inference//' | grep -qxF "$1" || fail "$name: no row '$1': $(cat out.txt)"
}
# layers FIRST LAST MS SLOW: nodes of so many layers; attn of layer 7 takes SLOW ms
layers() {
    for i in $(seq "$1" "$2"); do
        echo "layer.$i:10:$3 layer.$i.attn:10:$([ "$i" = 7 ] && echo "$4" || echo 0.0004)"
    done
}

# ---- Folding -------------------------------------------------------------------------------------
# shellcheck disable=SC2046 # a word each
make_run a.json 0 100 1000000 -- embed:1:20 $(layers 0 23 1 0.0004)
# shellcheck disable=SC2046
make_run b.json 1 100 1000000 -- embed:1:20 $(layers 0 23 1.01 0.0006)
expect 'a marked layer stays on its own' 1 compare a.json b.json
row 'layer.* 1.000 1.010 +0.010 +1.00'
row 'layer.*.attn 0.000400 0.000400 0.000000 0.00'
row 'layer.7.attn 0.000400 0.000600 +0.000200 +50.00 worse'
has out.txt '1 worse, 51 unmarked' 'Folded: layer.*.attn is 23 unmarked nodes, 0.0 % (' \
    'Folded: 47 unmarked nodes are shown as 2'
lacks out.txt 'layer.3 '
expect 'the same in Markdown' 1 compare --format md a.json b.json
has out.txt '| layer.7.attn | inference | 0.000400 | 0.000600 | +0.000200 | +50.00 | **worse** |' \
    '- Folded: layer.\*.attn is 23 unmarked nodes'
for all in --fold=off '--top 100' '--format csv' "--node ."; do
    # shellcheck disable=SC2086 # an option and its value
    expect "each node: $all" 1 compare $all a.json b.json
    has out.txt layer.3
    lacks out.txt 'layer.*'
done
expect 'compared as one' 0 compare --fold a.json b.json
has out.txt 'Note: nodes that differ in a number alone (layer.0, layer.1) are one row (layer.*)' '6 unmarked'
row 'layer.*.attn 0.000400 0.000400 0.000000 0.00'
lacks out.txt layer.7 Folded
expect 'compared as one, as data' 0 compare --fold --format json a.json b.json
jq -e '.fold and ([.rows[].node] == ["embed", "layer.*", "layer.*.attn"])' out.txt >/dev/null || fail "$name"
# One side alone would not fold these.
make_run one.json 2 100 1000000 -- embed:1:20 layer.0:10:1 layer.0.attn:10:0.0004
expect 'both sides fold alike' 1 compare --fold one.json a.json
lacks out.txt 'only in'
has out.txt 'layer.*.attn'
expect 'not a word that it knows' 2 compare --fold=some a.json b.json
has err.txt "--fold wants on or off, not 'some'"

# ---- Units ---------------------------------------------------------------------------------------
expect 'in microseconds' 1 compare --unit us --node 'layer.7' a.json b.json
row 'Node Stage A(us) B(us) Delta(us) % Marker'
row 'layer.7.attn 0.400 0.600 +0.200 +50.00 worse'
has out.txt 'Wall clock (us) ' 'Peak memory (MiB)'
expect 'small ones alone' 1 compare --node attn a.json b.json
row 'layer.7.attn 400.00 600.00 +200.00 +50.00 worse'
has out.txt 'A(ns)' 'Wall clock (ms)'
expect 'columns stay aligned' 1 compare --unit ns --wide --fold=off a.json b.json
at=$(sed -n 's/^\(Node.*A(ns)\).*/\1/p' out.txt | awk '{print length}')
[ "$(grep -c "^.\{$((at - 1))\}[0-9] " out.txt)" = 49 ] || fail "$name: $(cat out.txt)"
expect 'no unit' 2 compare --unit hours a.json b.json
has err.txt '--unit wants auto, ns, us, ms or s'

# ---- Which nodes ---------------------------------------------------------------------------------
expect 'what is not asked for decides nothing' 0 compare --node embed a.json b.json
has out.txt "Note: only nodes that match 'embed' are compared, and the whole run" '4 unmarked'
expect 'no such node' 2 compare --node sofa a.json b.json
[ "$(cat err.txt)" = "plumb compare: no node of the runs matches 'sofa'" ] || fail "$name: $(cat err.txt)"
empty out.txt
expect 'no such pattern' 2 compare --node '(' a.json b.json
# A tree: embed outermost; layer.0 in it, attn in that; and in B the layer is outermost too.
place() {
    echo "{node: $1, parent: $2, async: false, count: 1, total_ns: 1000, self_ns: 1000}"
}
tree=".tree = [$(place 0 null), $(place 1 0), $(place 2 1)]"
make_run deep.json 3 100 1000000 "$tree" -- embed:1:20 layer.0:10:1 layer.0.attn:10:0.4
make_run flat.json 4 100 1000000 ".tree = [$(place 0 null), $(place 1 null), $(place 2 1)]" -- \
    embed:1:20 layer.0:10:2 layer.0.attn:10:0.8
expect 'the outermost level' 0 compare --depth 1 flat.json deep.json
has out.txt 'first 1 level of the call tree' 'layer.0'
lacks out.txt attn 'only in'
expect 'two levels' 1 compare --depth 2 deep.json flat.json
has out.txt attn
# Two names with one hash, at two levels.
make_run alike.json 5 100 1000000 ".tree = [$(place 0 null), $(place 1 0)]" -- \
    dekpineefjnebbmk:1:20 bkjdaihjfmhmfbla:10:1
expect 'names that hash alike' 0 compare --depth 1 alike.json alike.json
has out.txt dekpineefjnebbmk
lacks out.txt bkjdaihjfmhmfbla
expect 'no level' 2 compare --depth 0 deep.json flat.json
finish

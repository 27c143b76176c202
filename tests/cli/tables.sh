#!/bin/sh
# Tables for kernels as well as stages: units, digits, --unit, --depth, --node, --fold in table, tree and
# flame graph, counts and rates, totals of nested phases, the FPS line, children of several threads.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/cli/_layers.c" layers
report() {
    "$PLUMB_BIN" report "$@"
}
# row TEXT: a line of out.txt is that, blanks squeezed
row() {
    tr -s ' ' <out.txt | sed 's/^ //; s/ $//' | grep -qxF -- "$1" || fail "$name: no row '$1': $(cat out.txt)"
}
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/run PLUMB_CLOCK=virtual PLUMB_COLLECT=fake \
    expect 'record' 0 ./layers

# ---- Units and digits ----------------------------------------------------------------------------
# 300 ns to 379 ns: 339.5 ns in the middle. One token is 80 layers of 10.3395 us in the mean.
expect 'units that fit' 0 report run
row 'Node Stage Count Mean(us) Std(us) Min(us) Max(us) Median(us) Total(ms)'
row 'layer.*.rope decode 320 0.340 0.0231 0.300 0.379 0.339 0.109'
row 'load inference 1 20000.00 0.00 20000.00 20000.00 20000.00 20.00'
row 'token decode 4 827.16 0.00 827.16 827.16 827.16 3.31'
for unit in ns us ms s; do
    expect "unit $unit" 0 report --unit $unit run
    has out.txt "Mean($unit)" "Total($unit)"
    expect "unit $unit of the wide table" 0 report --wide --unit $unit run
    has out.txt "P95($unit)" "Self($unit)"
    expect "unit $unit of the tree" 0 report tree --unit $unit run
    has out.txt "Total($unit)" "Self($unit)"
    # Nothing that was measured reads 0.00: only a deviation of equal runs may.
    expect "digits in $unit" 0 report --unit $unit --node rope --fold=on run
    awk '/^layer/ && ($4 + 0 == 0 || $9 + 0 == 0 || $4 ~ /^0\.0*[0-9]?[0-9]?$/) { exit 1 }' out.txt ||
        fail "$name: $(cat out.txt)"
done
expect 'no such unit' 2 report --unit m run
has err.txt "--unit wants auto, ns, us, ms or s, not 'm'"
expect 'data keep their unit' 0 report --format csv run
[ "$(grep -c , out.txt)" = 167 ] || fail "$name: CSV is folded: $(cat out.txt)"
has out.txt 'layers,layer.0.rope,decode,4,0.0003,'
expect 'nor do data have another' 0 report --format csv --unit ns run
has out.txt 'layers,layer.0.rope,decode,4,0.0003,'

# ---- Folding -------------------------------------------------------------------------------------
expect 'a large model fits a screen' 0 report run
[ "$(wc -l <out.txt)" -lt 20 ] || fail "$name: $(cat out.txt)"
has out.txt 'Folded: layer.* is 80 nodes, means 10.30 us (layer.0) to 10.38 us (layer.79)' \
    'Folded: layer.*.rope is 80 nodes, means 300.0 ns (layer.0.rope) to 379.0 ns (layer.79.rope)' \
    'Folded: 160 nodes are shown as 2; plumb report --fold=off shows each'
expect 'and its tree' 0 report tree run
[ "$(wc -l <out.txt)" -lt 20 ] || fail "$name: $(cat out.txt)"
row '320 3.31 0.00 14.2 layer.*'
row '320 0.109 0.109 0.5 layer.*.rope'
has out.txt 'Folded: 160 nodes are shown as 2'
expect 'unfolded' 0 report --fold=off run
[ "$(grep -c '^layer' out.txt)" = 160 ] || fail "$name: $(cat out.txt)"
lacks out.txt Folded
expect 'the largest alone' 0 report --top 3 run
lacks out.txt Folded
expect 'folded data' 0 report --fold --format csv run
has out.txt 'layers,layer.*.rope,decode,320,0.0003395,'
expect 'neither on nor off' 2 report --fold=yes run
has err.txt "--fold wants on or off, not 'yes'"
expect 'a flame graph of all' 0 report --format svg --min-width 0.001 run
has out.txt 'layer.79.rope'
expect 'a folded flame graph' 0 report --format svg --min-width 0.001 --fold run
has out.txt 'layer.*.rope' 'such groups'
lacks out.txt 'layer.79.rope'

# ---- Depth and nodes -----------------------------------------------------------------------------
expect 'depth of the tree' 0 report tree --depth 2 run
row '4 3.31 0.00 14.2 token [layers, decode]'
lacks out.txt layer.
has out.txt '(400 deeper places are not shown: --depth)'
expect 'depth of the table' 0 report --depth 1 run
[ "$(grep -cE '^(load|request|token|layer|attn)' out.txt)" = 2 ] || fail "$name: $(cat out.txt)"
expect 'depth of the flame graph' 0 report --format svg --min-width 0.001 --depth 2 run
has out.txt token 'deeper than --depth 2'
lacks out.txt layer.
expect 'no depth' 2 report --depth 0 run
expect 'nodes' 0 report --node 'rope$' --unit ns run
[ "$(grep -c '^layer' out.txt)" = 80 ] || fail "$name: $(cat out.txt)"
lacks out.txt 'token '
# 4 runs of each: sum of 300 .. 379, times 4, lie in no other run of the table.
has out.txt ' 108640.0'
expect 'nodes of the tree, with what is around and inside' 0 report tree --node '^layer\.7$' --fold=off run
row '4 41.23 0.00 1.2 layer.7'
row '4 1.23 1.23 0.0 layer.7.rope'
has out.txt token request
lacks out.txt layer.8
expect 'nodes of the flame graph' 0 report --format svg --min-width 0.001 --node '^layer\.7$' run
has out.txt 'layer.7.rope'
lacks out.txt 'layer.8'
expect 'no such node' 2 report --node lyaer run
has err.txt "no node of the run matches 'lyaer'"
expect 'no expression' 2 report --node '(' run

# ---- Counts, phases, averages --------------------------------------------------------------------
expect 'counts' 0 report run
has out.txt 'Counts: tokens 2,000 (85,80' 'Counts of token [decode]: tokens 2,000 (604,478/s of its time)'
jq -e '.node_counts == [{"pipeline": "layers", "phase": "decode", "node": "token", "name": "tokens",
                         "total": 2000, "events": 4}] and .counts[0].total == 2000 and (.counts | length) == 1' \
    run/timing.json >/dev/null || fail "$name: $(jq -c '.counts, .node_counts' run/timing.json)"
expect 'rows of counts' 0 report counts --format csv run
has out.txt 'pipeline,phase,node,step,kind,name,calls,value,runs' 'layers,decode,token,,user,tokens,4,2000,4'
[ "$(grep -c ,user, out.txt)" = 1 ] || fail "$name: $(cat out.txt)"
expect 'rows of counts as JSON' 0 report counts --format json --node token --phase decode run
jq -e '.format == "plumb-counts" and .counts[0] == {"pipeline": "layers", "phase": "decode", "node": "token",
        "step": null, "kind": "user", "name": "tokens", "calls": 4, "value": 2000, "runs": 4}' out.txt >/dev/null ||
    fail "$name: $(cat out.txt)"
expect 'counts by phase' 0 report counts --by phase run
row 'layers decode user tokens 4 2000'
expect 'no such sum of counts' 2 report counts --by shape run
has err.txt "--by wants node, step or phase, not 'shape'"
expect 'kernels are not summed by node' 2 report kernels --by node run
has err.txt "--by wants name, shape, stage or step, not 'node'"
expect 'no picture of counts' 2 report counts --format svg run
expect 'counts of a phase' 0 report --phase inference run
lacks out.txt 'Counts of'
# decode is a phase inside a span of inference: its total is not 0, and a token is its loop.
expect 'a phase inside another' 0 report --phase decode --unit ms run
row 'TOTAL 3.31'
has out.txt 'Average per-frame pipeline time: 0.827 ms (1209.0 FPS)'
expect 'all phases' 0 report run
has out.txt 'Average per-frame pipeline time [decode]: 0.827 ms (1209.0 FPS)'
lacks out.txt '[inference]: '
row 'TOTAL 23.31'
expect 'frames' 0 report --frames 2 --phase decode run
has out.txt 'Average per-frame pipeline time: 1.65 ms (604.5 FPS)'

# ---- More than what is around it -----------------------------------------------------------------
jq '.tree = [{"parent": null, "node": 1, "async": false, "count": 1, "total_ns": 2000000, "self_ns": 0},
             {"parent": 0, "node": 0, "async": false, "count": 4, "total_ns": 6400000, "self_ns": 6400000}]' \
    "$data/golden.json" >threads.json
expect 'children of several threads' 0 report tree threads.json
has out.txt 'node_a [children: 320 % of it, several threads]' 'node_b [320 % of what is around it]'
finish

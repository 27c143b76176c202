#!/bin/sh
# plumb report: every option, bad input, and what goes to which stream.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
report() {
    "$PLUMB_BIN" report "$@"
}

expect 'remarks go to stderr' 0 report "$data/rich.json"
has err.txt 'recovered: the process did not end the run itself' \
    '2 spans were open when the run ended: frame > decode' 'raise PLUMB_MAX_NODES' \
    'decode failed 2 times, last: bad "frame"\x0a'
lacks out.txt 'plumb report:'
has out.txt 'Pipeline prog' 'Pipeline audio' 'bad\xff\xfe name' 'bad\x5cxff\x5cxfe name'

expect 'tree' 0 report tree --pipeline prog "$data/rich.json"
[ "$(sed -n 3,4p out.txt)" = '        7       190.00      170.00  100.0  frame
        7        20.00       20.00   10.5    decode' ] || fail "the tree differs: $(cat out.txt)"
expect 'top' 0 report --top 1 --pipeline prog "$data/rich.json"
has out.txt '(6 more)' ' 0.230'
expect 'sort' 0 report --sort p95 --format csv "$data/golden.json"
[ "$(cut -d, -f2 out.txt | tr '\n' ' ')" = 'node node_a node_b ' ] || fail 'rows sorted wrongly'
expect 'wide' 0 report --wide "$data/rich.json"
has out.txt 'Self(s)' 'P95(ms)' 'Dev mean'
expect 'explain' 0 report --explain "$data/golden.json"
has out.txt 'Median(ms)' 'outermost'

expect 'json' 0 report --format json tree --explain --top 1 --frames 10 "$data/rich.json"
jq -e '.pipelines[0].rows[0].node == "frame" and .pipelines[0].rows_not_shown == 6 and
       .frames == 10 and .tree[1].depth == 1 and (.remarks | length) == 5 and
       (.pipelines[0].rows | length) == 1' out.txt >/dev/null || fail "json: $(cat out.txt)"
expect 'csv' 0 report --format csv "$data/rich.json"
[ "$(head -n 1 out.txt | cut -d, -f1-5)" = 'pipeline,node,phase,count,mean_ms' ] ||
    fail 'the header of CSV changed'
[ "$(wc -l <out.txt)" = 9 ] || fail 'CSV has not a line for each row'
expect 'csv tree' 0 report --format csv tree "$data/rich.json"
has out.txt '1,prog,inference,decode,0,7,20.000000,20.000000,10.5'
expect 'md' 0 report --format md "$data/golden.json"
has out.txt '| node\_a | inference | 100 | 10.00 |'

jq '.tree = [{"parent": null, "node": 1, "async": false, "count": 1, "total_ns": 9000000, "self_ns": 1000000},
             {"parent": null, "node": 0, "async": false, "count": 1, "total_ns": 5000000, "self_ns": 5000000}]' \
    "$data/golden.json" >tree.json
expect 'tree by own time' 0 report tree --sort self --format csv tree.json
[ "$(cut -d, -f4 out.txt | tr '\n' ' ')" = 'node node_b node_a ' ] ||
    fail "the tree is not sorted: $(cat out.txt)"
expect 'tree by total' 0 report tree --format csv tree.json
[ "$(cut -d, -f4 out.txt | tr '\n' ' ')" = 'node node_a node_b ' ] ||
    fail "the tree is not by total: $(cat out.txt)"

# Every view by its name, and by the option that chose it before, which no help shows.
cp "$data/served.json" named.json
for view in tree summary memory requests signatures; do
    expect "$view" 0 report "$view" named.json
    cp out.txt new.txt
    expect "--$view" 0 report "--$view" named.json
    cmp -s new.txt out.txt || fail "$view and --$view differ"
done
expect 'nodes' 0 report nodes named.json
cp out.txt new.txt
expect 'no view' 0 report named.json
cmp -s new.txt out.txt || fail 'nodes is not the view without a name'
expect 'the view after its options' 0 report --top 1 --format csv tree named.json
has out.txt 'depth,pipeline,phase,node'
printf '{"module": "m", "tensor": "out", "abs_mean": 1, "step": 0}\n' >some.jsonl
expect 'activations' 0 report activations some.jsonl --format csv
cp out.txt new.txt
expect 'plumb activations' 0 "$PLUMB_BIN" activations some.jsonl --format csv
cmp -s new.txt out.txt || fail 'activations is not what plumb activations prints'
expect 'activations by step' 0 report activations some.jsonl --format csv --by-step
cp out.txt new.txt
expect 'plumb activations by step' 0 "$PLUMB_BIN" activations some.jsonl --format csv --steps
cmp -s new.txt out.txt || fail 'activations --by-step is not what plumb activations --steps prints'
expect 'help' 0 report --help
for option in tree summary memory requests signatures trace gaps steps slowest; do
    lacks out.txt "--$option "
    grep -q "^  $option" out.txt || fail "the help has no view $option"
done

# A run that is named like a view: the view without a path.
mkdir -p plumb-out/prog
cp -r "$data/golden.json" plumb-out/prog/tree
mkdir named
(cd named && mkdir tree && cp "$data/golden.json" tree/timing.json)
expect 'a run named like a view' 0 sh -c "cd named && '$PLUMB_BIN' report ./tree"
has out.txt 'node_a'
expect 'a run named like a view, after dashes' 0 sh -c "cd named && '$PLUMB_BIN' report -- tree"
has out.txt 'node_a'
expect 'the view of a run named like it' 0 sh -c "cd named && '$PLUMB_BIN' report tree -- tree"
expect 'the view without a run' 2 sh -c "cd named && '$PLUMB_BIN' report tree"
has err.txt "no run in 'plumb-out'"
rm -r plumb-out

# An option that would change nothing is refused in one line, and so are two views at once.
while read -r options; do
    # shellcheck disable=SC2086
    expect "report $options" 2 report $options "$data/golden.json"
    empty out.txt
    [ "$(wc -l <err.txt)" = 1 ] || fail "not one line on $options: $(cat err.txt)"
done <<'END'
tree --wide
tree --frames 3
tree --sort p95
tree --memory
memory --sort self
memory --frames 3
summary --requests
summary --top 3
summary --phase inference
requests --phase inference
signatures --wide
activations --phase inference
nodes --module x
nodes --suspects
--request req_1
--min-width 5
--format svg --wide
--format svg --sort self
--format svg --frames 3
--format svg memory --top 3
--tree --wide
--memory --sort self
--summary --requests
--format svg --memory --top 3
--gaps --steps
gaps --tree
END
expect 'an option of other views' 2 report summary --phase x "$data/golden.json"
has err.txt "plumb report: --phase is an option of the views nodes, tree, memory, requests and counts, not of 'summary' (see"
expect 'an option of one other view' 2 report --memory --wide "$data/golden.json"
has err.txt "plumb report: --wide is an option of the view nodes, not of 'memory' (see"
expect 'nothing of a picture' 2 report memory --format svg --top 3 "$data/golden.json"
has err.txt "plumb report: --top changes nothing of the view 'memory' with --format svg (see"
expect 'a picture alone' 2 report --min-width 5 "$data/golden.json"
has err.txt "plumb report: --min-width changes nothing of the view 'nodes' without --format svg (see"
expect 'a request alone' 2 report requests --phase val "$data/golden.json"
has err.txt "plumb report: --phase changes nothing of the view 'requests' without --request (see"
expect 'two views' 2 report tree --memory "$data/golden.json"
has err.txt 'plumb report: tree and memory are two views: one at a time (see'
expect 'a request of the table' 2 report --request req_1 "$data/golden.json"
has err.txt "--request is an option of the views summary, memory, requests and signatures, not of 'nodes' (see"
expect 'a misspelt view' 2 report memroy
has err.txt "(did you mean the view 'memory'?)"
expect 'a misspelt view of a run' 2 report memroy "$data/golden.json"
has err.txt "plumb report: 'memroy' is not a view: did you mean 'memory'? (see"

expect 'phase not seen' 2 report --phase train "$data/golden.json"
empty out.txt
[ "$(cat err.txt)" = "plumb report: the run has no phase 'train': it has inference" ] ||
    fail "not one line on a phase that is not there: $(cat err.txt)"
expect 'misspelt phase' 2 report tree --format json --phase inferense "$data/rich.json"
has err.txt "no phase 'inferense': it has inference, val (did you mean 'inference'?)"
expect 'misspelt pipeline' 2 report --pipeline porg "$data/rich.json"
has err.txt "the run has no pipeline 'porg': it has prog, audio (did you mean 'prog'?)"
expect 'phase of another pipeline' 2 report --pipeline audio --phase val "$data/rich.json"
has err.txt "pipeline 'audio' has no phase 'val': it has inference"

expect 'unknown option' 2 report --bogus
has err.txt "unknown option '--bogus' (see 'plumb report --help')"
expect 'misspelt option' 2 report --farmat=json
has err.txt "unknown option '--farmat=json': did you mean '--format'?"
expect 'an old spelling, misspelt' 2 report --trcae
has err.txt "unknown option '--trcae': did you mean '--trace'?"
expect 'ambiguous option' 2 report --p x
has err.txt "option '--p' is ambiguous: --pipeline, --phase"
expect 'value where none goes' 2 report --tree=yes
has err.txt "option '--tree' takes no value"
expect 'unknown letter' 2 report -x
has err.txt "unknown option '-x' (see"
expect 'value missing' 2 report --frames
has err.txt "option '--frames' needs a value"
expect 'no number' 2 report --top -1 "$data/golden.json"
has err.txt "--top wants a whole number, not '-1'"
expect 'bad sort' 2 report --sort median
has err.txt 'total, self, mean or p95'
expect 'bad format' 2 report --format xml
has err.txt 'text, json, csv, md or svg'
expect 'two runs' 2 report a b
expect 'no run' 2 report
has err.txt "no run in 'plumb-out': record one with 'plumb record -- CMD'"
expect 'no such run' 2 report nowhere/at/all
has err.txt "no run at 'nowhere/at/all'"
expect 'dashes' 2 report -- --tree
has err.txt "no run '--tree'"
empty out.txt

head -c 3000 "$data/golden.json" >cut.json
expect 'truncated' 2 report cut.json
has err.txt "'cut.json' is not valid JSON: line "
[ "$(wc -l <err.txt)" = 1 ] || fail 'more than one line on a truncated file'
echo '{"stages": {}}' >foreign.json
expect 'foreign' 2 report foreign.json
has err.txt "'foreign.json' is not a timing report of plumb"
sed 's/"schema": 1/"schema": 99/' "$data/golden.json" >newer.json
expect 'newer' 2 report newer.json
has err.txt 'was written by a newer plumb'
mkdir -p plumb-out/p/20260101-000000-h-1
: >plumb-out/p/20260101-000000-h-1/timing.json
expect 'empty file' 2 report
has err.txt "timing.json' is empty"
cp "$data/golden.json" plumb-out/p/20260101-000000-h-1/timing.json
expect 'newest run' 0 report
expect 'run by its name' 0 report 20260101-000000-h-1
expect 'folder of runs' 0 report plumb-out/p
expect 'explicit folder' 0 env PLUMB_DIR=plumb-out "$PLUMB_BIN" report
expect 'folder from the environment' 2 env PLUMB_DIR=elsewhere "$PLUMB_BIN" report
has err.txt "'elsewhere'"

# A device that never ends is not read.
echo '{"module": "m", "tensor": "out", "abs_mean": 1}' >one.jsonl
for command in report 'report trace' recover export activations "diverge one.jsonl" "compare $data/golden.json"; do
    # shellcheck disable=SC2086 # words
    expect "$command of a device" 2 "$PLUMB_BIN" $command /dev/zero
    [ "$(cat err.txt)" = "plumb ${command%% *}: cannot read '/dev/zero': it is a device, not a file" ] ||
        fail "$command of a device: $(cat err.txt)"
done
if [ -w /dev/full ]; then
    name='full disk'
    "$PLUMB_BIN" report "$data/golden.json" >/dev/full 2>err.txt
    [ $? = 2 ] || fail 'a failed write of stdout is not noticed'
    has err.txt 'cannot write to standard output: No space left on device'
fi
finish

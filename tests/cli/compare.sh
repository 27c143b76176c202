#!/bin/sh
# plumb compare: its arguments, bad input, what is refused, and what goes to which stream.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
compare() {
    "$PLUMB_BIN" compare "$@"
}
# one_line TEXT: stderr is that one line
one_line() {
    [ "$(cat err.txt)" = "plumb compare: $1" ] || fail "$name: stderr is: $(cat err.txt)"
    empty out.txt
}

make_run a.json 0 100 1000000 -- x:4:10 y:1:20
make_run b.json 1 100 1000000 -- x:4:12 y:1:20
make_run faster.json 2 90 1000000 -- x:4:8 y:1:20

# ---- Arguments -----------------------------------------------------------------------------------
expect 'slower' 1 compare a.json b.json
has out.txt 'A: a.json' 'B: b.json' '+20.00  worse'
empty err.txt
expect 'faster alone is no regression' 0 compare a.json faster.json
has out.txt 'better'
expect 'the same file twice' 0 compare a.json a.json
has out.txt "the run 'a.json' stands on both sides" '5 unmarked'
lacks out.txt worse

for side in old new; do
    for i in 1 2 3 4; do
        mkdir -p $side/2026010$i-000000-h-$i
        ms=$([ $side = old ] && echo $((100 + i)) || echo $((120 + i)))
        make_run $side/2026010$i-000000-h-$i/timing.json "$ms" 500 1000000 -- x:1:$ms y:1:20
    done
done
expect 'folders of runs' 1 compare old new
has out.txt 'A: old (4 runs)' '0.0143' 'worse and better also need p table <= 0.015' \
    "Holm's step-down over all 5 rows" 'recorded one side after the other' 'took longer and longer'
mv out.txt folders.txt
expect 'sides by option' 1 compare --a old/* --b new/*
has out.txt 'and 3 more (4 runs)'
tail -n +4 out.txt >sides.txt
tail -n +4 folders.txt | cmp -s - sides.txt || fail 'a folder and its runs differ'
expect 'options repeat' 1 compare --b new/*1 --a old/*1 --b new/*2 --top 1 new/*3
has out.txt 'A: old/20260101-000000-h-1' '(3 runs)' '1 and 3 runs cannot tell' '(1 more)'
lacks out.txt 'B/A'
expect 'operands after dashes' 1 compare --top 1 -- old new
mkdir -p plumb-out
cp -r old/20260101-000000-h-1 plumb-out/
expect 'the name of a run' 1 compare 20260101-000000-h-1 new/20260101-000000-h-1
expect 'one operand' 2 compare a.json
has err.txt 'wants two runs, the baseline first, not 1'
expect 'no operand' 2 compare
expect 'three operands' 2 compare a.json b.json faster.json
expect 'on neither side' 2 compare a.json --b b.json
has err.txt "'a.json' is on neither side: put it after --a or --b"
expect 'no baseline' 2 compare --b b.json
has err.txt 'no run after --a'

expect 'threshold' 0 compare --threshold 20.5 a.json b.json
has out.txt 'marked beyond 20.5 %'
for by in p50 min mean self p95; do
    expect "by $by" 1 compare --by $by a.json b.json
done
expect 'any difference' 1 compare --threshold 0 --by total a.json b.json
has out.txt 'Comparison: total of all runs of a node, marked beyond 0 %'
expect 'least difference' 1 compare --min-delta 3 a.json b.json
has out.txt 'and from 3 ms on'
[ "$(grep -c worse out.txt)" = 2 ] || fail 'a small difference is marked'
expect 'alpha' 1 compare --alpha 0.01 old new
has out.txt 'cannot fall below 0.0143' \
    'up to 1 in 70 comparisons of unchanged code has a worse row; 5 runs a side can tell'
expect 'sort' 1 compare --sort b --format csv a.json b.json
[ "$(sed -n '5,$p' out.txt | cut -d, -f3 | tr '\n' ' ')" = 'y x ' ] || fail 'nodes sorted wrongly'
expect 'top' 1 compare --sort delta --top 1 --format json a.json b.json
jq -e '.rows == [.rows[0]] and .rows[0].node == "x" and .rows_not_shown == 1' out.txt >/dev/null ||
    fail 'top 1'
expect 'a regression that is not shown' 1 compare --sort a --top 1 a.json b.json
expect 'wide' 1 compare --wide a.json b.json
has out.txt 'Count A' 'P95 B(ms)'
expect 'csv has its notes beside it' 1 compare --format csv a.json b.json
has err.txt 'plumb compare: one run a side cannot tell a change from noise'
for bad in '--threshold nan' '--threshold -5' '--threshold 0x10' '--threshold 1e400' '--alpha 0' \
    '--alpha 1' '--top many' '--by median' '--sort size' '--format xml' '--min-delta .'; do
    # shellcheck disable=SC2086 # an option and its value
    expect "$bad" 2 compare $bad a.json b.json
    [ "$(wc -l <err.txt)" = 1 ] || fail "$bad: more than one line"
    empty out.txt
done
expect 'a misspelt value' 2 compare --sort dleta a.json b.json
has err.txt "--sort wants seen, delta, percent, a or b, not 'dleta': did you mean 'delta'?"

# ---- Output --------------------------------------------------------------------------------------
expect 'to a file' 1 compare --format md -o out.md a.json b.json
empty out.txt
compare --format md a.json b.json >on_stdout.md
cmp -s out.md on_stdout.md || fail 'the file and stdout differ'
expect 'long option' 1 compare --output=again.md --format md a.json b.json
cmp -s out.md again.md || fail '--output and -o differ'
cp b.json kept.json
expect 'not over a report' 2 compare a.json b.json -o b.json
one_line "'b.json' is one of the reports compared: give --output another name"
cmp -s b.json kept.json || fail 'a report was overwritten'
expect 'not over the report of a run' 2 compare old/*1 new/*1 --output old/20260101-000000-h-1/timing.json
expect 'no such folder' 2 compare -o no/such/out.md a.json b.json
one_line "cannot write 'no/such/out.md': No such file or directory"
if [ -w /dev/full ]; then
    expect 'full disk' 2 compare -o /dev/full a.json b.json
    one_line "cannot write '/dev/full': No space left on device"
    name='full stdout'
    compare a.json b.json >/dev/full 2>err.txt
    [ $? = 2 ] || fail 'a failed write of stdout is not noticed'
fi

# ---- Input ---------------------------------------------------------------------------------------
expect 'missing' 2 compare a.json missing.json
one_line "no run 'missing.json' in 'plumb-out', which has 1 run: see 'plumb runs'"
mkdir empty
expect 'an empty folder' 2 compare a.json empty
one_line "no run in 'empty': record one with 'plumb record --dir empty -- CMD'"
head -c 3000 a.json >cut.json
expect 'truncated' 2 compare cut.json b.json
has err.txt "'cut.json' is not valid JSON: line "
[ "$(wc -l <err.txt)" = 1 ] || fail 'truncated: more than one line'
echo '{"stages": {"x": {"duration_ms": 3}}}' >foreign.json
expect 'foreign' 2 compare a.json foreign.json
one_line "'foreign.json' is not a timing report of plumb (its \"format\" is not \"plumb-timing\")"
echo '{"traceEvents": [{"ph": "X", "name": "aten::mm", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}' >torch.json
expect 'a trace' 2 compare a.json torch.json
one_line "'torch.json' is a trace, one sample without repeats: compare takes runs of 'plumb record'; a trace is shown by 'plumb report trace', 'steps' and 'slowest', and 'plumb export --format folded' has its stacks for difffolded.pl"
jq '.schema = 99' b.json >newer.json
expect 'newer' 2 compare --force a.json newer.json
has err.txt "'newer.json' was written by a newer plumb (schema 99;"
sed 's/"p95_ns": [0-9]*/"p95_ns": NaN/' b.json >nan.json
expect 'NaN' 2 compare a.json nan.json
has err.txt "'nan.json' is not valid JSON"
jq '.nodes[0].p95_ns = 1e300' b.json >huge.json
expect 'huge' 2 compare a.json huge.json
one_line "'huge.json' is damaged: a percentile of node 'x' is not a duration"
sed 's/"p95_ns": [0-9]*/"p95_ns": 1e999/' b.json >overflow.json
expect 'beyond a double' 2 compare a.json overflow.json
jq '.nodes += [.nodes[0]]' b.json >twice.json
expect 'a node twice' 2 compare a.json twice.json
one_line "'twice.json' is damaged: node 'x' of phase 'inference' is there twice"
jq '.nodes = []' b.json >nothing.json
expect 'nothing in it' 2 compare a.json nothing.json
one_line "'nothing.json' has no samples: there is nothing to compare"
expect 'no device time' 2 compare --by device a.json b.json
one_line "'a.json' has no samples of device time: there is nothing to compare"
expect 'one run twice' 2 compare --a a.json a.json --b b.json
one_line "'a.json' and 'a.json' are the same run: a repeat is a run of its own"
make_run hostile.json 3 100 1000000 '.nodes[0].name = "a|b\u001b[31m\n" | .host = "box"' -- x:1:1 y:1:20
expect 'hostile names' 0 compare --format md a.json hostile.json
has out.txt '| a\|b\\x1b\[31m\\x0a | inference |'
expect 'hostile names as JSON' 0 compare --format json a.json hostile.json
jq -e '.rows[2].node == "a|b\u001b[31m\n"' out.txt >/dev/null || fail 'a hostile name changed'

# ---- What is not comparable ----------------------------------------------------------------------
# refused FILTER OPTION WHAT
refused() {
    make_run other.json 4 100 1000000 "$1" -- x:4:10 y:1:20
    expect "refused: $3" 2 compare a.json other.json
    one_line "not comparable: $3 ($2 to compare all the same)"
    expect "told: $2" 0 compare $2 a.json other.json
    has out.txt "Note: compared all the same: $3"
    expect "forced: $3" 0 compare --force --format json a.json other.json
    jq -e --arg what "$3" '.overridden == $what and any(.notes[]; . == "compared all the same: " + $what)' \
        out.txt >/dev/null || fail "forced: $3: $(cat out.txt)"
}
refused '.host = "lab7"' --any-machine "host 'box' and 'lab7'"
refused '.cpu = "B CPU"' --any-machine "processor 'A CPU' and 'B CPU'"
refused '.cpus = 4' --any-machine 'number of processors 2 and 4'
refused '.run.program = "/bin/prog2" | .run.pipeline = "video"' --any-program "pipeline 'prog' and 'video'"
refused '.run.pipeline = "video"' --any-program "pipeline 'prog' and 'video'"
refused '.skip_first_n = 3' --any-skip 'skip_first_n 0 and 3'
refused '.recovered = true' --any-end "end of the run 'ended' and 'recovered'"
expect 'remarks of a run' 0 compare --any-end a.json other.json
has err.txt 'plumb compare: B: recovered: the process did not end the run itself'
make_run moved.json 5 100 1000000 '.run.program = "/elsewhere/prog"' -- x:4:10 y:1:20
expect 'another build of the program' 0 compare a.json moved.json
lacks out.txt 'programs differ'
for n in 2 3; do
    make_run run_O$n.json 5$n 100 1000000 \
        ".run.program = \"/elsewhere/run_O$n\" | .run.pipeline = \"run_O$n\" | .nodes[].pipeline = \"run_O$n\"" \
        -- x:4:1$n y:1:20
done
expect 'two builds with names of their own' 1 compare run_O2.json run_O3.json
has out.txt "Note: programs differ: 'run_O2' and 'run_O3'" '+8.33  worse' '2 worse, 3 unmarked'
lacks out.txt Pipeline new gone
make_run stranger.json 70 100 1000000 '.run.program = "/bin/other"' -- u:4:10 v:1:20
expect 'nothing in common' 2 compare a.json stranger.json
one_line "not comparable: programs 'prog' and 'other' have no node in common (--any-program to compare all the same)"
expect 'nothing in common, insisting' 0 compare --any-program a.json stranger.json
# Columns: node, stage, A, B, Delta, %, Marker; what is new or gone has no percentage.
for row in 'u 0.000 10.000 +10.000 - new, only in B' 'x 10.000 0.000 -10.000 - gone, only in A'; do
    tr -s ' ' <out.txt | sed 's/ inference//' | grep -qxF "$row" || fail "$name: no row '$row': $(cat out.txt)"
done
make_run same.json 6 100 1000000 \
    '.run.command = "prog --slow" | .kernel = "Linux 6.2" | .environment.PLUMB_SYNC = "1"' -- x:5:10 y:1:20
expect 'what differs and is told' 1 compare a.json same.json
has out.txt "Note: command lines differ: 'prog --fast' and 'prog --slow'" \
    "Note: kernels differ: 'Linux 6.1' and 'Linux 6.2'" "Note: PLUMB_SYNC differs: not set and '1'" \
    'Note: nodes ran another number of times (A, B): x (4, 5)'
make_run first.json 7 100 1000000 '.environment.PLUMB_RECORD_PID = "41"' -- x:4:10 y:1:20
make_run second.json 8 100 1000000 '.environment.PLUMB_RECORD_PID = "42"' -- x:4:10 y:1:20
expect 'the process that plumb record started is in no note' 0 compare first.json second.json
lacks out.txt PLUMB_RECORD_PID
long=$(printf '%050d' 0)
make_run long_a.json 9 100 1000000 -- "$long:4:10" y:1:20
make_run long_b.json 10 100 1000000 -- "$long:4:12" y:1:20
expect 'a long name widens its column' 1 compare long_a.json long_b.json
awk '/^Node / { at = index($0, "Stage"); wide = length($0) }
    /^0|^y / { rows++; bad += index($0, "inference") != at }
    /^Whole run/ { whole = length($0) }
    END { exit !(rows == 2 && bad == 0 && at == 52 && wide == whole) }' out.txt || fail "$name: $(cat out.txt)"
finish

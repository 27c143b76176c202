#!/bin/sh
# labels: plain
# plumb recover: makes the report of a killed run, once; says what it cannot.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"

# killed DIR: leaves the run of a killed program there
killed() {
    PLUMB_RUN_DIR=$PWD/$1 PLUMB_QUIET=1 ./linked signal 9 2>/dev/null
    [ -f "$1/live.plumb" ] && [ ! -e "$1/timing.json" ] || fail "no killed run in $1"
}

name='setup'
killed a
expect 'recover' 0 "$PLUMB_BIN" recover a
[ "$(cat out.txt)" = a/timing.json ] || fail "it printed '$(cat out.txt)'"
has err.txt 'recovered 160 samples of 3 nodes (open spans: 1)'
jq -e '.recovered and (.open[0].node == "last") and
       ([.nodes[] | {(.name): .count}] | add == {"frame": 20, "work": 80, "step": 60})' \
    a/timing.json >/dev/null || fail "timing.json: $(jq -c '[.nodes[] | [.name, .count]]' a/timing.json)"
cp a/timing.json first.json
expect 'again' 0 "$PLUMB_BIN" recover a
has err.txt 'nothing to recover'
cmp -s a/timing.json first.json || fail 'the second recovery changed the report'

name='setup'
killed b
expect 'by the live file' 0 "$PLUMB_BIN" recover b/live.plumb
killed c
expect 'report recovers' 0 "$PLUMB_BIN" report c
has err.txt 'recovered: the process did not end the run itself' '1 span was open when the run ended: last'
[ -f c/timing.json ] || fail 'report did not save what it recovered'

# Several at once: one file, whole.
name='setup'
killed d
for i in 1 2 3 4; do
    "$PLUMB_BIN" report d >"report$i.txt" 2>/dev/null &
done
wait
name='at once'
for i in 2 3 4; do
    cmp -s report1.txt report$i.txt || fail 'reports of one run differ'
done
[ "$(LC_ALL=C ls d)" = 'live.plumb
summary_rank0.json
summary_rank0.nodes.txt
summary_rank0.txt
timing.json' ] || fail "left in the run: $(ls d)"

name='setup'
killed e
head -c 5000 e/live.plumb >cut
mv cut e/live.plumb
expect 'damaged' 2 "$PLUMB_BIN" recover e
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
[ ! -e e/timing.json ] || fail 'a damaged mapping became a report'
has err.txt "'e/live.plumb' is cut short"
truncate -s 100000 e/live.plumb
printf x | dd of=e/live.plumb bs=1 seek=8 conv=notrunc 2>/dev/null
expect 'of another version' 2 "$PLUMB_BIN" recover e
has err.txt "'e/live.plumb': not of this version of plumb, or cut short"
echo rubbish >e/live.plumb
expect 'foreign' 2 "$PLUMB_BIN" recover e
has err.txt "'e/live.plumb' is cut short"

# A report that was damaged later is not replaced, but there is a way back.
name='setup'
killed f
"$PLUMB_BIN" recover f >whole.txt 2>&1
cp f/timing.json whole.json
head -c 500 whole.json >f/timing.json
expect 'damaged report' 2 "$PLUMB_BIN" report f
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
has err.txt "'f/timing.json' is not valid JSON" 'remove it, and it is made again from live.plumb'
: >f/timing.json
expect 'empty report' 2 "$PLUMB_BIN" report f
has err.txt "'f/timing.json' is empty; remove it"
rm f/timing.json
expect 'made again' 0 "$PLUMB_BIN" recover f
cmp -s f/timing.json whole.json || fail 'it is another report'
rm f/live.plumb
: >f/timing.json
expect 'no way back' 2 "$PLUMB_BIN" report f
lacks err.txt 'remove it'
mkdir empty
expect 'no run' 2 "$PLUMB_BIN" recover empty
has err.txt "no run in 'empty'"

# While the process lives its run cannot be recovered, but looked at.
mkfifo gate said
PLUMB_RUN_DIR=$PWD/live PLUMB_QUIET=1 ./linked wait <gate >said &
exec 3>gate
read -r line <said
expect 'alive' 2 "$PLUMB_BIN" recover live
has err.txt "'live' still records (process $!)"
expect 'momentary view' 0 "$PLUMB_BIN" report live
has err.txt 'the run still records: this is a momentary view'
has out.txt 'frame'
[ ! -e live/timing.json ] || fail 'a living run was written to'
expect 'another into the same place' 0 env PLUMB=1 PLUMB_RUN_DIR="$PWD/live" ./linked print hello
has err.txt "/live' already holds a run; remove it" 'nothing is recorded'
[ -e live/live.plumb ] || fail 'it took the file of the run that still records'
[ ! -e live/timing.json ] || fail 'it wrote into the run that still records'
exec 3>&-
wait
expect 'ended' 0 "$PLUMB_BIN" report live
empty err.txt

if [ "$(id -u)" != 0 ]; then
    name='setup'
    killed g
    chmod a-w g
    expect 'read-only' 0 "$PLUMB_BIN" report g
    has err.txt 'the recovered report is not saved'
    chmod u+w g
fi
finish

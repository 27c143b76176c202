#!/bin/sh
# labels: plain
# plumb export: every format of a real run, names and places of files, and what it refuses.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"

plumb=$PLUMB_BIN
name='setup'
PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/run PLUMB_QUIET=1 ./linked || fail 'no run'
PLUMB_RUN_DIR=$PWD/bare_run PLUMB_QUIET=1 ./linked || fail 'no run'
[ -f run/trace.pftrace ] || fail 'the run has no trace'

expect 'no rank' 0 "$plumb" report trace --format json run
jq -e '.rank == null and (.facts | has("plumb.rank") | not)' out.txt >/dev/null || fail "a rank from nowhere: $(cat out.txt)"
RANK=0 WORLD_SIZE=2 PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/ranked PLUMB_QUIET=1 ./linked || fail 'no run'
expect 'a rank' 0 "$plumb" report trace --format json ranked
jq -e '.rank == 0 and .facts["plumb.rank"] == 0 and .world_size == 2' out.txt >/dev/null || fail "no rank: $(cat out.txt)"

# ---- Chrome ----
expect 'default' 0 "$plumb" export run
made=$(cat out.txt)
case $made in
"$(hostname)"_*_rank0.*.pt.trace.json.gz) ;;
*) fail "the file is called '$made'" ;;
esac
gzip -t "$made" || fail 'gzip does not accept it'
/usr/bin/python3 - "$made" <<'END' || fail 'the trace is not as it should be'
import collections, gzip, json, sys
with gzip.open(sys.argv[1], "rt", encoding="utf-8") as f:
    trace = json.load(f)
spans = collections.Counter(e["name"] for e in trace["traceEvents"] if e["ph"] == "X")
assert spans["frame"] == 20 and spans["work"] == 80 and spans["step"] == 60, spans
assert spans["ProfilerStep#0"] == spans["ProfilerStep#2"] == 20, spans
# Children lie inside the frames they run in, to the nanosecond.
def ns(x):
    return round(x * 1000)
frames = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in trace["traceEvents"]
          if e["ph"] == "X" and e["name"] == "frame"]
for e in trace["traceEvents"]:
    if e["ph"] == "X":
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int)
        assert any(a <= ns(e["ts"]) and ns(e["ts"]) + ns(e["dur"]) <= b for a, b in frames), e
END
expect 'to a file' 0 "$plumb" export run -o a.json
[ "$(cat out.txt)" = a.json ] || fail "it says '$(cat out.txt)'"
lacks err.txt 'replaced'
zcat "$made" | sed 's/"traceName":.*//' >from_gz
sed 's/"traceName":.*//' a.json | cmp -s - from_gz || fail 'compressed and plain differ'
expect 'again' 0 "$plumb" export run -o a.json
has err.txt "replaced 'a.json'"
expect 'to a stream' 0 "$plumb" export run -o -
empty_err=$(grep -v '^$' err.txt || true)
[ -z "$empty_err" ] || fail "it said: $empty_err"
jq -e '.traceEvents | length > 160' out.txt >/dev/null || fail 'the stream is no trace'
expect 'the file of the run' 0 "$plumb" export run/trace.pftrace -o b.json.gz
gzip -t b.json.gz || fail 'gzip does not accept b.json.gz'
expect 'a folder is made' 0 "$plumb" export run -o traces/
[ -f "traces/$made" ] || fail "no traces/$made"
expect 'the newest' 0 env PLUMB_DIR="$PWD" "$plumb" export bare_run/../run -o c.json

# ---- The others ----
expect 'perfetto' 0 "$plumb" export --format perfetto run -o d.pftrace
cmp -s run/trace.pftrace d.pftrace || fail 'the copy differs'
expect 'folded' 0 "$plumb" export --format folded run -o -
[ "$(wc -l <out.txt)" = 4 ] || fail "stacks: $(cat out.txt)"
grep -q ';frame;step;work [0-9]*$' out.txt || fail "stacks: $(cat out.txt)"
expect 'csv' 0 "$plumb" export --format csv run -o -
[ "$(grep -c '^span,' out.txt)" = 160 ] || fail "$(grep -c '^span,' out.txt) lines of spans"
expect 'speedscope' 0 "$plumb" export --format speedscope run -o -
jq -e '[.profiles[0].events[] | .type] | (map(select(. == "O")) | length) == 160 and
       length == 320' out.txt >/dev/null || fail 'speedscope: not 160 spans'

# A trace that was cut short is exported up to there.
for bytes in 3000 3001; do # one of them is no end of a packet, which depends on times
    head -c $bytes run/trace.pftrace >cut.pftrace
    expect 'cut' 0 "$plumb" export cut.pftrace -o cut.json
    cat err.txt
done >cuts.txt
has cuts.txt 'not whole'
jq -e . cut.json >/dev/null || fail 'cut.json is no JSON'

# A run that was killed with a span open is recovered on the way.
PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/killed PLUMB_QUIET=1 ./linked signal 9 2>/dev/null
[ ! -e killed/timing.json ] || fail 'the run ended by itself'
expect 'killed' 0 "$plumb" export killed -o killed.json.gz
has err.txt '1 span had not ended'
zcat killed.json.gz | jq -e '[.traceEvents[] | select(.ph == "X" and (.name | test("^(frame|step|work)$")))] |
    length == 160' >/dev/null || fail 'killed: not 160 whole spans'
zcat killed.json.gz | jq -e '[.traceEvents[] | select(.args.open) | .name] == ["last"]' >/dev/null ||
    fail 'killed: the open span is not told'

# Work of a device: rows of its own, flows from where it was launched.
cat >device.c <<'END'
#include <plumb/fake.h>
#include <plumb/plumb.h>
int main(void)
{
    PLUMB_SPAN("launching");
    plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000000));
    return 0;
}
END
build -DPLUMB_LINKED device.c -o device -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
PLUMB_COLLECT=fake PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/device_run PLUMB_QUIET=1 ./device || fail 'no run'
expect 'device' 0 "$plumb" export device_run -o device.json
/usr/bin/python3 - <<'END' || fail 'device.json is not as it should be'
import json
events = json.load(open("device.json"))["traceEvents"]
by = {(e["ph"], e["name"]): e for e in events}
kernel, launch = by["X", "kernel"], by["X", "launching"]
assert kernel["cat"] == "kernel" and kernel["pid"] != launch["pid"], kernel
assert kernel["args"]["correlation"] == launch["args"]["correlation"], launch
start, end = by["s", "ac2g"], by["f", "ac2g"]
assert start["id"] == end["id"] and end["pid"] == kernel["pid"] and end["tid"] == kernel["tid"]
assert start["pid"] == launch["pid"] and launch["ts"] <= start["ts"] <= launch["ts"] + launch["dur"]
assert abs(end["ts"] - kernel["ts"]) < 0.001 and abs(kernel["dur"] - 1000) < 1, kernel
END

# The exported file is a trace again, with the spans of the run and those around its steps.
expect 'a trace again' 0 "$plumb" export a.json --format csv -o -
[ "$(grep -c '^span,' out.txt)" = 220 ] || fail "$(grep -c '^span,' out.txt) lines of spans"
"$plumb" export --format csv run -o run.csv 2>err.txt >/dev/null
grep '^span,' out.txt | grep -v ProfilerStep | cut -d, -f2,3,6,8 | sort >again.txt
grep '^span,' run.csv | cut -d, -f2,3,6,8 | sort | cmp -s - again.txt || fail 'other spans came back'

# ---- What is refused ----
# refused NAME TEXT COMMAND...: status 2 and one line with TEXT
refused() {
    what=$1
    text=$2
    shift 2
    expect "$what" 2 "$@"
    has err.txt "$text"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$what: not one line: $(cat err.txt)"
}
refused 'no trace' 'PLUMB_TRACE=1' "$plumb" export bare_run
refused 'no run' 'nowhere' "$plumb" export nowhere
refused 'unknown format' "did you mean 'folded'" "$plumb" export --format foldde run
refused 'a copy of JSON' 'not in Perfetto' "$plumb" export a.json --format perfetto -o copy.pftrace
[ ! -e copy.pftrace ] || fail 'a copy of JSON was made'
refused 'two runs' 'one trace' "$plumb" export run run
refused 'no folder' 'no/such/x.json' "$plumb" export run -o no/such/x.json
refused 'the trace itself' 'the trace itself' "$plumb" export run/trace.pftrace -o run/trace.pftrace
echo '{"rubbish": 1}' >rubbish.pftrace
refused 'no trace file' 'rubbish.pftrace' "$plumb" export rubbish.pftrace
: >nothing.pftrace
refused 'an empty file' 'nothing.pftrace' "$plumb" export nothing.pftrace
ls | sort >before.txt
refused 'a full disk' 'No space left' "$plumb" export run -o /dev/full
expect 'a full stream' 2 sh -c '"$0" export run -o - >/dev/full' "$plumb"
[ "$(cat err.txt)" = 'plumb: cannot write to standard output: No space left on device' ] ||
    fail "a full stream: $(cat err.txt)"
mkdir sealed
echo old >sealed/x.json
chmod a-w sealed sealed/x.json
if [ "$(id -u)" != 0 ]; then
    refused 'a sealed file' 'sealed/x.json' "$plumb" export run -o sealed/x.json
fi
[ "$(cat sealed/x.json)" = old ] || fail 'a file was destroyed'
chmod u+w sealed # or only root can remove it
[ -z "$(find . -name '*.json.??????')" ] || fail 'a file was left beside its place'

# ---- OTF2 ----
if "$plumb" export --format otf2 run -o otf2.d 2>err.txt >out.txt; then
    if command -v otf2-print >/dev/null; then
        otf2-print otf2.d/traces.otf2 >print.txt 2>print_err.txt || fail 'otf2-print failed'
        [ ! -s print_err.txt ] || fail "otf2-print: $(head -3 print_err.txt)"
        [ "$(grep -c '^ENTER' print.txt)" = 160 ] || fail "$(grep -c '^ENTER' print.txt) ENTER"
        [ "$(grep -c '^LEAVE' print.txt)" = 160 ] || fail "$(grep -c '^LEAVE' print.txt) LEAVE"
        otf2-print -G otf2.d/traces.otf2 >definitions.txt 2>&1
        grep -m 1 '^LOCATION ' definitions.txt | grep -q 'CPU_THREAD' || fail "otf2: $(cat definitions.txt)"
        # Each Leave is that of the last Enter.
        awk '$1 == "ENTER" { stack[++n] = $5 }
             $1 == "LEAVE" { if (stack[n--] != $5) bad = 1 }
             END { exit bad || n }' print.txt || fail 'otf2: not nested'
    fi
    expect 'otf2, into the folder' 0 "$plumb" export --format otf2 run -o otf2.d
    refused 'otf2 again' 'is there already' "$plumb" export --format otf2 run -o otf2.d
    refused 'otf2, no room' 'too large' \
        sh -c 'trap "" XFSZ; ulimit -f 1; "$0" export --format otf2 run -o otf2.cut' "$plumb"
    [ ! -e otf2.cut ] || fail "half an archive was left: $(ls -R otf2.cut)"
    refused 'otf2, no room, with a slash' 'too large' \
        sh -c 'trap "" XFSZ; ulimit -f 1; "$0" export --format otf2 run -o otf2.cut//' "$plumb"
    [ ! -e otf2.cut ] || fail "half an archive was left: $(ls -R otf2.cut)"
    : >a_file
    mkdir kept
    refused 'otf2, no room in a folder that was there' 'too large' \
        sh -c 'trap "" XFSZ; ulimit -f 1; "$0" export --format otf2 run -o kept/' "$plumb"
    [ -d kept ] || fail 'the folder of the user is gone'
    [ -z "$(ls -A kept)" ] || fail "half an archive was left: $(ls -R kept)"
    refused 'otf2 below a file' 'a_file/x: This is not a directory' "$plumb" export --format otf2 run -o a_file/x
    refused 'otf2 to a stream' 'folder' "$plumb" export --format otf2 run -o -
    echo '{"traceEvents": []}' >empty.json
    refused 'no event, otf2' 'the trace has no event' "$plumb" export --format otf2 empty.json -o empty.otf2
    [ ! -e empty.otf2 ] || fail 'an archive without events was made'
else
    grep -q 'built without OTF2' err.txt || fail "otf2: $(cat err.txt)"
fi
finish

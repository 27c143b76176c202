#!/bin/sh
# labels: plain
# plumb record --collect onednn: every primitive of a program as it is, with what it computed; the program
# does what it does without.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
here=$PLUMB_SOURCE_DIR/tests/runtime
printf '#include <oneapi/dnnl/dnnl_version.h>\n#if DNNL_VERSION_MAJOR != 2\n#error\n#endif\n' |
    $CC -E -x c -o /dev/null - 2>/dev/null || {
    echo 'onednn: no header of oneDNN 2.x: install libdnnl-dev' >&2
    exit 77
}
cc() {
    # shellcheck disable=SC2086 # words
    $CC -std=gnu11 -O1 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" "$@" || exit 1
}
cc "$here/_onednn.c" -o prog -ldnnl -lpthread
cc -DMARKED "$here/_onednn.c" -o prog_marked -ldnnl -lpthread
cc -fPIC -shared "$here/_onednn_other.c" -o libother.so -ldl
cc -fPIC -shared -Dmain=run_it "$here/_onednn.c" -o plugin.so -ldnnl -lpthread
cc "$here/_onednn_host.c" -o host -ldl

record() {
    rm -rf run
    "$PLUMB_BIN" record --collect onednn --quiet --run-dir run "$@"
}
# events RUN: what it has
events() {
    "$PLUMB_BIN" export --format csv -o run.csv "$1" >/dev/null 2>&1
    /usr/bin/python3 "$here/_onednn.py" run.csv
}
# lanes RUN EXPRESSION: of the lanes of the collector
lanes() {
    jq -r ".collectors[] | select(.name == \"onednn\") | .lanes | $2" "$1/timing.json"
}
# followed NAME STATUS COMMAND...: prints and ends as without plumb; the events are in events.txt
followed() {
    what=$1
    wanted=$2
    shift 2
    expect "$what, alone" "$wanted" "$@"
    cp out.txt alone.txt
    cp err.txt alone_err.txt
    expect "$what" "$wanted" record -- "$@"
    cmp -s alone.txt out.txt || fail "$what: it prints other things: $(cat out.txt)"
    cmp -s alone_err.txt err.txt || fail "$what: it says other things: $(cat err.txt)"
    events run >events.txt
}
# same NAME: what the program says it did is what was recorded
same() {
    diff out.txt events.txt >difference.txt || fail "$1: said, recorded:
$(cat difference.txt)"
}

followed 'kinds' 7 ./prog kinds
same 'kinds'
has run.csv forward_inference convolution_direct '+sum+eltwise' eltwise_gelu_tanh pooling_max reduction_mean
[ "$(lanes run '[.[] | .events] | add')" = "$(wc -l <out.txt)" ] || fail "kinds: $(lanes run .)"
followed 'addresses used again' 0 ./prog reuse
same 'addresses used again'
followed 'failing calls' 0 ./prog fails
grep -q 'oneDNN' run.csv && fail "failing calls: $(cat run.csv)"

# A lane for each thread at a time, and no event without one.
followed 'threads' 7 ./prog threads
[ "$(wc -l <events.txt)" = 4000 ] || fail "threads: $(wc -l <events.txt) events"
[ "$(sort events.txt | uniq -c | awk '{ print $1, $2, $6 }' | tr '\n' ';')" = \
    '800 eltwise dst:10x7;800 eltwise dst:11x7;800 eltwise dst:12x7;800 eltwise dst:13x7;800 eltwise dst:14x7;' ] ||
    fail "threads: $(sort events.txt | uniq -c)"
lanes run 'length >= 5 and length <= 10 and ([.[] | .dropped] | add) == 0' | grep -q true ||
    fail "threads: $(lanes run .)"

rm -rf run
expect 'killed' 137 record -- ./prog killed
lacks err.txt 'nothing was recorded'
[ "$(events run | wc -l)" = 20 ] || fail "killed: $(events run)"

# Six threads more than there are lanes: their primitives are counted as missing. One thread each for oneDNN.
export OMP_NUM_THREADS=1
rm -rf run
expect 'crowd' 7 "$PLUMB_BIN" record --collect onednn --run-dir run -- ./prog crowd
has err.txt "collector 'onednn' did not stop well: 12 primitives are missing: more than 64 threads"
[ "$(lanes run '[.[] | .events] | add')" = 128 ] || fail "crowd: $(lanes run '[.[] | .events] | add') events"
unset OMP_NUM_THREADS

# One thread: libgomp's workers are not in a forked child, which would wait for them, with plumb or without.
export OMP_NUM_THREADS=1
followed 'fork' 4 ./prog forks
unset OMP_NUM_THREADS
[ "$(cut -d ' ' -f 4 events.txt | tr '\n' ' ')" = 'src:3x7 src:3x7 src:3x7 ' ] || fail "fork: $(cat events.txt)"
child=$(ls -d run.[0-9]*)
events "$child" >events.txt
[ "$(cut -d ' ' -f 4 events.txt | tr '\n' ' ')" = 'src:5x7 src:5x7 src:5x7 src:5x7 ' ] ||
    fail "fork: the child has $(cat events.txt)"
rm -rf "$child"

# The time is the host's: of stages and nodes, but of no device, and no arrow leads to it.
followed 'marks' 7 ./prog_marked stages
[ "$(wc -l <events.txt)" = 9 ] || fail "marks: $(cat events.txt)"
[ "$(grep -c '""node"":""decode""' run.csv)" = 6 ] || fail "marks: $(cat run.csv)"
[ "$(grep -c '""node"":""inner""' run.csv)" = 3 ] || fail "marks: $(cat run.csv)"
lanes run '.[0].unknown_ns == 0 and .[0].busy_ns > 0 and .[0].launches == 0' | grep -q true || fail "marks: $(lanes run .)"
expect 'report of marks' 0 "$PLUMB_BIN" report run
has out.txt decode
lacks out.txt 'Host and device'
jq -e '[.. | objects | .device_ms? // empty | numbers] | add // 0 == 0' run/timing.json >/dev/null ||
    fail "marks: device time: $(jq . run/timing.json)"

# oneDNN in a library that was loaded with RTLD_LOCAL, behind another interposer, and both.
followed 'RTLD_LOCAL' 7 ./host ./plugin.so kinds
same 'RTLD_LOCAL'
export LD_PRELOAD="$PWD/libother.so"
followed 'another interposer' 7 ./prog kinds
has err.txt 'other: 20 calls'
same 'another interposer'
followed 'another interposer and RTLD_LOCAL' 7 ./host ./plugin.so kinds
has err.txt 'other: 20 calls'
same 'another interposer and RTLD_LOCAL'
unset LD_PRELOAD

# Without libplumb in the list, that beside the interposer is loaded, with the first primitive and not before.
interposer=$(dirname "$PLUMB_LIB")/libplumb-onednn.so
rm -rf run
expect 'by hand' 7 env LD_PRELOAD="$interposer" PLUMB=1 PLUMB_TRACE=1 PLUMB_QUIET=1 PLUMB_RUN_DIR="$PWD/run" ./prog kinds
events run >events.txt
same 'by hand'
expect 'alone in a process' 0 env LD_PRELOAD="$interposer" PLUMB=1 sh -c 'grep -c libplumb.so /proc/self/maps; true'
[ "$(cat out.txt)" = 0 ] || fail "alone in a process: $(cat out.txt err.txt)"
# Where nothing records, all is passed on.
mkdir alone
cp "$interposer" alone
expect 'without libplumb' 7 env LD_PRELOAD="$PWD/alone/libplumb-onednn.so" ./prog kinds
cmp -s alone.txt out.txt || fail "without libplumb: $(cat out.txt)"
empty err.txt
expect 'switched off' 7 env PLUMB=0 "$PLUMB_BIN" record --collect onednn -- ./prog kinds
cmp -s alone.txt out.txt || fail "switched off: $(cat out.txt)"

# Asked for, and not seen.
rm -rf run
expect 'no primitive in a run' 7 "$PLUMB_BIN" record --collect onednn --run-dir run -- ./prog_marked nothing
has err.txt 'nothing was recorded: no trace point ran, and no call of dnnl_primitive_execute()'
build_linked "$here/_onednn_none.c" none
rm -rf run
expect 'marks and no primitive' 0 "$PLUMB_BIN" record --collect onednn --run-dir run -- ./none
has err.txt "collector 'onednn' saw nothing: no call of dnnl_primitive_execute() came by"
jq -e '.collectors[] | select(.name == "onednn") | .state == "absent"' run/timing.json >/dev/null ||
    fail "marks and no primitive: $(jq .collectors run/timing.json)"
rm -rf run
expect 'not preloaded' 0 env PLUMB=1 PLUMB_COLLECT=onednn PLUMB_RUN_DIR="$PWD/run" ./none
has err.txt "collector 'onednn' saw nothing: libplumb-onednn.so was not preloaded"
# No trace where it was refused; the counts are there all the same.
rm -rf run
expect 'no trace' 7 "$PLUMB_BIN" record --collect onednn --trace=0 --quiet --run-dir run -- ./prog kinds
[ ! -f run/trace.pftrace ] || fail 'no trace: there is one'
[ "$(lanes run '.[0].events')" = 20 ] || fail "no trace: $(lanes run .)"
# The interposer is not there.
mkdir elsewhere
cp "$PLUMB_LIB" elsewhere/libplumb.so.0
expect 'no interposer' 125 env PLUMB_LIBRARY="$PWD/elsewhere/libplumb.so.0" "$PLUMB_BIN" record --collect onednn -- ./prog kinds
has err.txt '--collect onednn needs ' elsewhere/libplumb-onednn.so 'which is not there'
finish

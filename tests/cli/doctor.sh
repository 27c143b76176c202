#!/bin/sh
# labels: plain
# plumb doctor: one line a check, the cure where something is in the way.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"
doctor() {
    "$PLUMB_BIN" doctor "$@"
}

"$PLUMB_BIN" doctor >out.txt 2>err.txt
name='machine'
grep -vE '^(seen|not seen|blocked) +[a-z]' out.txt && fail 'a line that is no check'
has out.txt clock proc limits 'output folder' 'disk space' membarrier "$lib_dir/libplumb.so.0"
grep -qE '^seen +preload' out.txt || fail 'preloading is not seen'
awk 'substr($0, 25, 2) !~ /^ [^ ]/ { bad = 1 } END { exit bad }' out.txt || fail "columns: $(cat out.txt)"
empty err.txt
if grep -q '^blocked' out.txt; then want=1; else want=0; fi

grep -qE '^not seen +collector +fake \(built in\): not asked for; PLUMB_COLLECT=fake starts it$' out.txt ||
    fail "the collector that is built in: $(cat out.txt)"
grep -qE '^not seen +trace +off; PLUMB_TRACE=1' out.txt || fail 'the trace is not told to be off'

# The settings in force, and each that makes no sense, by its name.
PLUMB_TRACE=1 PLUMB_TRACE_STEPS=10-12 PLUMB_TRACE_STACK=1 PLUMB_TRACE_MODE=ring PLUMB_KEEP_SIGNAL=USR2 PLUMB_COLLECT=fake \
    "$PLUMB_BIN" doctor >out.txt 2>err.txt
has out.txt 'on, the newest records (ring), at most 65536 KiB, 1024 KiB a thread, steps 10-12, call stacks of 8, kept by signal USR2' \
    'fake (built in): works'
grep -q ' setting ' out.txt && fail "a good setting is refused: $(cat out.txt)"
PLUMB_TRACE_STEPS=abc PLUMB_TRACE_MAX=12x PLUMB_KEEP_IF='x>5' PLUMB_KEEP_SIGNAL=KILL PLUMB_TRACE_MDOE=ring PLUMB_COLLECT=fake:nonsense=1,other \
    "$PLUMB_BIN" doctor >out.txt 2>err.txt
[ $? = 1 ] || fail 'bad settings do not show in the status'
has out.txt "PLUMB_TRACE_MAX: '12x' is not a number of bytes" 'PLUMB_TRACE_MDOE: did you mean PLUMB_TRACE_MODE?' \
    "PLUMB_TRACE_STEPS: 'abc' is not a list of steps, as 0,5-9: 'abc' is not a step" "PLUMB_KEEP_IF: 'x>5' is not a list of rules" 'PLUMB_KEEP_SIGNAL: no signal that can be taken' \
    'PLUMB_KEEP_IF: does nothing without a trace that is kept in a ring (cure: PLUMB_TRACE=1 PLUMB_TRACE_MODE=ring)' \
    'PLUMB_KEEP_SIGNAL: does nothing without a trace that is kept in a ring' \
    'PLUMB_TRACE_STEPS: does nothing without a trace (cure: PLUMB_TRACE=1)' \
    "PLUMB_COLLECT names 'other', which is not built in"
grep -qE '^blocked +collector +fake \(built in\): failed: ' out.txt || fail "a collector that fails: $(cat out.txt)"
PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_LAYERS='(' PLUMB_ACTIVATIONS_STEPS=abc PLUMB_ACTIVATIONS_DUMP='[' "$PLUMB_BIN" doctor >out.txt 2>err.txt
[ $? = 1 ] || fail 'bad settings of activations do not show in the status'
has out.txt "PLUMB_ACTIVATIONS_LAYERS: '(' is not a regular expression" "PLUMB_ACTIVATIONS_DUMP: '[' is not a regular expression" \
    "PLUMB_ACTIVATIONS_STEPS: 'abc' is not a list of steps, as 0,5-9: 'abc' is not a step"
lacks out.txt 'without activations'
PLUMB_ACTIVATIONS_LAYERS=attn "$PLUMB_BIN" doctor >out.txt 2>err.txt
has out.txt 'PLUMB_ACTIVATIONS_LAYERS: does nothing without activations (cure: PLUMB_ACTIVATIONS=1)'
PLUMB_ACTIVATIONS_STATS=min PLUMB_ACTIVATIONS_APPEND=1 PLUMB_TRACE=1 PLUMB_KEEP_IF='x>5ms' "$PLUMB_BIN" doctor >out.txt 2>err.txt
has out.txt 'PLUMB_ACTIVATIONS_STATS: does nothing without activations' 'PLUMB_ACTIVATIONS_APPEND: does nothing without' \
    'PLUMB_KEEP_IF: does nothing because the trace is not kept in a ring (cure: PLUMB_TRACE_MODE=ring)'
PLUMB_REGIONS=inferense,mine "$PLUMB_BIN" doctor >out.txt 2>err.txt
has out.txt "'inferense' is not a region that every program has" "'mine' is not a region that every program has"

# Plug-ins of a program are named with it.
cat >plug.c <<'END'
#include <plumb/collector.h>
#include <plumb/plumb.h>
static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    (void)self, (void)arg, (void)options;
    snprintf(err->message, sizeof err->message, "no card is plugged in");
    return PLUMB_ERR_ABSENT;
}
int main(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    ops.name = "card";
    ops.start = start;
    plumb_collector_register(&ops, NULL, NULL);
    PLUMB_SPAN("node");
    return 0;
}
END
build -DPLUMB_LINKED -include stdio.h plug.c -o plug -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
expect 'a plug-in' $want doctor -- ./plug
has out.txt 'card (plug-in): absent: no card is plugged in' 'fake (built in): not asked for'
expect 'a name that nobody has' 1 env PLUMB_COLLECT=auto,crad "$PLUMB_BIN" doctor -- ./plug
has out.txt "PLUMB_COLLECT names 'crad', which neither plumb nor the program has"

expect 'a marked program' $want doctor -- ./bare print hello
has out.txt 'no libplumb inside: it will be preloaded' 'the program has some' \
    '1 of 1 processes with libplumb recorded nodes (status 0)'
[ "$(cat err.txt)" = hello ] || fail "the program's output: $(cat err.txt)"
expect 'a linked program' $want doctor -- ./linked
has out.txt './linked links libplumb.so' '1 of 1 processes'
expect 'a holding program' $want doctor -- ./holding
has out.txt './holding holds libplumb itself' '1 of 1 processes'
expect 'without marks' $want doctor -- ./unmarked
has out.txt 'no trace point ran' 'PLUMB_SPAN'
expect 'static' 1 doctor -- ./static
has out.txt 'statically linked: nothing can be preloaded (cure: link it with libplumb.a)'
expect 'no program' 1 doctor -- ./nowhere
has out.txt './nowhere: No such file or directory'
[ ! -e plumb-out ] || fail 'doctor left a run'
[ "$(find "$TMPDIR" -name 'plumb-doctor-*')" = '' ] || fail 'doctor left a folder'
expect 'nowhere to try' 1 env TMPDIR=/no/folder "$PLUMB_BIN" doctor
grep -qE '^blocked +collectors +no temporary files: .*set TMPDIR to' out.txt || fail "not told: $(cat out.txt)"

expect 'no library' 1 env PLUMB_LIBRARY=/no/libplumb.so "$PLUMB_BIN" doctor
grep -qE '^blocked +libplumb .*set PLUMB_LIBRARY' out.txt || fail 'a missing library is not told'
mkdir readonly
expect 'no output folder' 1 env PLUMB_DIR=/proc/plumb "$PLUMB_BIN" doctor
grep -qE '^blocked +output folder .*PLUMB_DIR' out.txt || fail 'a folder that cannot be written'
# A limit in blocks of 512 bytes: 1 MiB of file size.
expect 'limits' 1 sh -c 'ulimit -f 2048; exec "$0" doctor' "$PLUMB_BIN"
grep -qE '^blocked +limits .*ulimit -f' out.txt || fail 'a file size limit is not told'

cp -r "$data" run && mv run/rich.json run/timing.json
expect 'a run' $want doctor run
has out.txt 'was killed, and is recovered' '8 rows, 18 samples' 'raise PLUMB_MAX_NODES'
expect 'no such run' 1 doctor elsewhere
expect 'two runs' 2 doctor a b
expect 'nothing after --' 2 doctor --
finish

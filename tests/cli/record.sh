#!/bin/sh
# labels: plain
# plumb record: exit statuses, preloading, settings, and what it says when nothing was recorded.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"
record() {
    "$PLUMB_BIN" record "$@"
}
# frames: samples of `frame` in the newest run
frames() {
    "$PLUMB_BIN" report --format json "$@" 2>/dev/null |
        jq '.pipelines[0].rows[] | select(.node == "frame") | .count'
}

for program in bare linked holding; do
    expect "$program" 0 record -- "./$program" print hello
    [ "$(cat out.txt)" = hello ] || fail "$program: stdout is '$(cat out.txt)'"
    lacks err.txt 'plumb record:'
    has err.txt "plumb-out/$program/"
    [ "$(frames plumb-out/$program)" = 20 ] || fail "$program: $(frames plumb-out/$program) frames"
done

expect 'status' 3 record -- ./bare status 3
expect 'terminated' 143 record -- ./bare signal 15
has err.txt 'was ended by signal 15'
expect 'no such program' 127 record -- ./nowhere
has err.txt "cannot run './nowhere': No such file or directory"
# Not that of whoever runs the tests: a folder of it that may not be looked into makes that the reason.
expect 'not in PATH' 127 env PATH=/usr/bin:/bin "$PLUMB_BIN" record -- no-such-program-at-all
expect 'a directory' 126 record -- /
expect 'not executable' 126 record -- "$data/golden.json"
has err.txt 'Permission denied'
expect 'no program' 125 record
has err.txt 'no program to run'
expect 'no program after --' 125 record --
expect 'bad setting' 125 record --skip-first few -- ./bare
has err.txt "--skip-first: 'few'"
expect 'bad choice' 125 record --median mode -- ./bare
expect 'unknown option' 125 record --frobnicate -- ./bare
expect 'options of the program' 0 record ./bare print --help
[ "$(cat out.txt)" = --help ] || fail 'an option of the program was taken'

expect 'skip' 0 record --skip-first 3 --pipeline pipe -- ./bare
[ "$(frames plumb-out/pipe)" = 17 ] || fail "skip: $(frames plumb-out/pipe) frames"
expect 'option wins over the variable' 0 env PLUMB_SKIP_FIRST=9 "$PLUMB_BIN" record \
    --skip-first=2 --dir other -- ./bare
[ "$(frames other)" = 18 ] || fail "precedence: $(frames other) frames"
expect 'quiet' 0 record --quiet -- ./bare
empty err.txt
expect 'quiet off' 0 env PLUMB_QUIET=1 "$PLUMB_BIN" record --quiet=off -- ./bare
has err.txt 'plumb report'
expect 'run directory' 0 record --run-dir here -- ./bare
[ -f here/timing.json ] || fail 'no timing.json in the run directory'
expect 'a run is there already' 0 record --run-dir here -- ./bare
has err.txt "/here' already holds a run; remove it" 'nothing is recorded'
lacks err.txt 'plumb record:' # the reason stands there
expect 'beyond the bounds' 125 record --trace-max 1 -- ./bare
has err.txt '--trace-max: 1 is not between 65536 and'
lacks err.txt 'using' # it is not

# Settings without effect are reported once, at the start.
expect 'kept, and no trace' 0 record --keep-if 'frame>1ms' --keep-signal USR2 --run-dir idle1 -- ./linked
has err.txt 'plumb: PLUMB_KEEP_IF, PLUMB_KEEP_SIGNAL do nothing without a trace that is kept in a ring: set PLUMB_TRACE=1 PLUMB_TRACE_MODE=ring'
[ "$(grep -c 'nothing' err.txt)" = 1 ] || fail "more than a line: $(cat err.txt)"
[ ! -e idle1/trace.pftrace ] || fail 'a trace that nobody asked for'
expect 'a trace, and no ring' 0 record --trace --keep-if 'frame>1ms' --run-dir idle2 -- ./linked
has err.txt 'plumb: PLUMB_KEEP_IF does nothing because the trace is not kept in a ring: set PLUMB_TRACE_MODE=ring'
[ "$(grep -c KEEP_IF err.txt)" = 1 ] || fail "more than a line: $(cat err.txt)"
expect 'no activations' 0 record --activations-stats min --activations-layers attn --run-dir idle3 -- ./bare
has err.txt 'plumb: PLUMB_ACTIVATIONS_LAYERS, PLUMB_ACTIVATIONS_STATS do nothing without activations: set PLUMB_ACTIVATIONS=1'
[ ! -e idle3/activations.jsonl ] || fail 'activations that nobody asked for'
expect 'not said of another rank' 0 env LOCAL_RANK=1 RANK=1 WORLD_SIZE=2 "$PLUMB_BIN" record --keep-if 'frame>1ms' --run-dir idle4 -- ./linked
lacks err.txt 'KEEP_IF'
expect 'all there' 0 record --trace --trace-mode ring --keep-if 'frame>1000s' --activations --activations-stats min -- ./linked
lacks err.txt 'do nothing'
lacks err.txt 'does nothing'

expect 'no path' 0 record --run-dir '%q{' -- ./bare
has err.txt "'%q{'" '; ignored'
expect 'LD_PRELOAD is kept' 0 env LD_PRELOAD=/no/such.so "$PLUMB_BIN" record -- \
    sh -c 'echo "$LD_PRELOAD"'
has out.txt "$lib_dir/libplumb.so.0:/no/such.so"
expect 'our variable is not passed on' 0 env PLUMB_LIBRARY="$PLUMB_LIB" "$PLUMB_BIN" record -- \
    sh -c 'echo "[$PLUMB_LIBRARY]"; ./bare'
[ "$(cat out.txt)" = '[]' ] || fail "PLUMB_LIBRARY reached the program"
expect 'script' 0 record -- sh -c './bare; ./linked'
lacks err.txt 'nothing was recorded'

# A program whose loader finds no libplumb: the cure is not that of a cleared environment.
mkdir moved
if $CC -shared -fPIC -Wl,-soname,libplumb.so.0 -o moved/libplumb.so.0 -x c /dev/null &&
    echo 'int main(void) { return 0; }' | $CC -o lost -x c - -x none -Wl,--no-as-needed moved/libplumb.so.0; then
    rm -r moved
    expect 'library not found by the loader' 127 record -- ./lost
    has err.txt "nothing was recorded: './lost' links libplumb.so" "LD_LIBRARY_PATH=$lib_dir"
    lacks err.txt 'LD_PRELOAD'
else
    fail 'no program was built that links a library called libplumb.so.0'
fi
expect 'no marks' 0 record -- ./unmarked
has err.txt 'nothing was recorded: libplumb was there, but no trace point ran' 'PLUMB_SPAN'
# The program finds a closed stream closed.
"$PLUMB_BIN" record -- sh -c '[ ! -e /proc/$$/fd/1 ]' >&- 2>closed.err || fail "closed: $(cat closed.err)"
# Metrics, streams, counts, requests and pools need no mark.
for call in 'plumb_metric_add(plumb_metric_counter("frames", NULL), 1)' 'plumb_stream_begin("video")' \
    'plumb_counter_add("tokens", 1)' 'plumb_dispatch("sos")' 'PLUMB_REQUEST(request, "1", NULL)'; do
    printf '#include <plumb/plumb.h>\nint main(void) { %s; return 0; }\n' "$call" >figures.c
    build_linked figures.c figures
    expect "no marks but $call" 0 record -- ./figures
    lacks err.txt 'nothing was recorded'
done
expect 'the same to the doctor' 0 "$PLUMB_BIN" doctor -- ./figures
has out.txt 'recorded figures without a node (status 0)'
expect 'forbidden' 0 env PLUMB=0 "$PLUMB_BIN" record -- ./bare
has err.txt 'nothing was recorded: PLUMB=0 forbids it; unset PLUMB'
expect 'forbidden in other words' 0 env PLUMB=Off "$PLUMB_BIN" record -- ./linked
has err.txt 'PLUMB=Off forbids it'
expect 'static' 0 record -- ./static print hello
has err.txt "'./static' is statically linked, so that nothing can be preloaded: link it with" \
    'running it anyway' 'nothing was recorded'
[ "$(cat out.txt)" = hello ] || fail 'the static program did not run'
# A program of another C library, such as musl's, would not start with ours preloaded.
cp "$(readelf -l bare | sed -n 's/.*interpreter: \(.*\)]/\1/p')" ld-other.so.1
printf 'int main(void) { return 7; }\n' >another.c
$CC -Wl,--dynamic-linker="$PWD/ld-other.so.1" another.c -o another || exit 1
expect 'another dynamic linker' 7 record -- ./another
has err.txt "'./another' has another dynamic linker than this libplumb" 'running it anyway' 'nothing was recorded'
expect "$name: --malloc" 7 record --malloc -- ./another
expect "$name: --count" 125 record --count 'f' -- ./another
has err.txt "--count: './another' has another dynamic linker than glibc's"
expect "$name: doctor" 1 "$PLUMB_BIN" doctor -- ./another
has out.txt 'libplumb cannot be preloaded (cure: use the plumb that was built for it)'
expect 'no library' 0 env PLUMB_LIBRARY=/no/libplumb.so "$PLUMB_BIN" record -- ./bare
has err.txt "libplumb is not at '/no/libplumb.so'" 'nothing was recorded'
expect 'clean environment' 0 record -- env -u LD_PRELOAD -u PLUMB ./bare
has err.txt 'nothing was recorded'
if [ "$(id -u)" = 0 ] && cp bare other_user && chown nobody other_user && chmod u+s other_user; then
    expect 'setuid' 0 record -- ./other_user
    has err.txt 'changes the user or gains capabilities' 'nothing was recorded'
fi

# Killed: recovered at once, by the stamp and the process number in the name, or by --run-dir.
expect 'killed' 137 record --pipeline killed -- ./bare signal 9
has err.txt 'was ended by signal 9' 'recovered 160 samples of 3 nodes (open spans: 1)'
[ "$(frames plumb-out/killed)" = 20 ] || fail 'the killed run has not all frames'
expect 'crashed' 139 record --run-dir crashed -- ./linked signal 11
[ -f crashed/timing.json ] || fail 'the crashed run was not recovered'

# Signals to plumb alone reach the program, and its end is reported. (The shell has background commands ignore SIGINT.)
mkfifo gate said
for signal in TERM:143 HUP:129 INT:130 QUIT:131; do
    expected=${signal#*:}
    signal=${signal%:*}
    name="signal $signal"
    env --default-signal=INT,QUIT "$PLUMB_BIN" record -- ./bare wait <gate >said 2>err.txt &
    pid=$!
    exec 3>gate
    read -r line <said
    [ "$line" = waiting ] || fail "$name: it said '$line'"
    kill -$signal $pid
    wait $pid
    status=$?
    exec 3>&-
    [ $status = "$expected" ] || fail "$name: status $status, not $expected"
done

# A program that handles SIGINT: its status. From a terminal the signal comes once; nohup's commands never get it.
cat >counts.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t count;

static void interrupted(int signal)
{
    (void)signal;
    count = count + 1;
    (void)!write(1, "got\n", 4);
}

static void end(int signal)
{
    (void)signal;
    _exit(10 + count);
}

int main(void)
{
    signal(SIGTERM, end);
    if (signal(SIGINT, interrupted) == SIG_IGN)
        signal(SIGINT, SIG_IGN);
    (void)!write(1, "waiting\n", 8);
    for (;;)
        pause();
}
C
$CC -std=gnu11 -Wall -Wextra counts.c -o counts || fail 'the program that counts is not built'
cat >terminal.py <<'END'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "record", "--", "./counts"])
def wait_for(word):
    text = b""
    while word not in text:
        text += os.read(terminal, 1000)
wait_for(b"waiting")
os.write(terminal, b"\x03")
wait_for(b"got")
os.kill(pid, 15)  # its handlers run in the order of their numbers: a second SIGINT would come first
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
[ "$(/usr/bin/python3 terminal.py "$PLUMB_BIN")" = 11 ] || fail 'a terminal does not interrupt the program once'
for kind in default:11 ignore:10; do
    expected=${kind#*:}
    env --${kind%:*}-signal=INT "$PLUMB_BIN" record -- ./counts >said 2>err.txt &
    pid=$!
    exec 3<said
    read -r line <&3
    kill -INT $pid
    [ "$expected" = 10 ] || read -r line <&3
    kill -TERM $pid
    wait $pid
    status=$?
    exec 3<&-
    [ $status = "$expected" ] || fail "$kind: status $status, not $expected"
done

left=$(find "$TMPDIR" -name 'plumb-record-*')
[ "$left" = '' ] || fail "temporary files are left: $left"
# ---- A script of thousands of processes ----------------------------------------------------------
# The log is read once, not again for each run, which took minutes.
cat >thousands.sh <<'END'
awk 'BEGIN {
    for (i = 1; i <= 20000; i++) printf "open %d 0 0 /nowhere/%d\n", i, i
    for (i = 1; i <= 20000; i++) if (i != 7) printf "run %d 1 1 /nowhere/%d\n", i, i
}' >>"$PLUMB_RECORD_LOG"
END
expect 'thousands of processes' 0 "$PLUMB_BIN" record -- sh thousands.sh
[ "$(grep -c '/nowhere/' err.txt)" = 1 ] || fail "$name: $(head -n 3 err.txt)"
has err.txt '/nowhere/7'
# A program that records activations alone: their file is named, and no other user may read it.
cat >activations.c <<'C'
#include <plumb/activation.h>
#include <plumb/plumb.h>

int main(void)
{
    float x[16] = {1};
    plumb_activation_f32(plumb_node_get("layer"), "out", x, (const int64_t[]){16}, 1);
    return 0;
}
C
$CC -std=c11 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" activations.c -o activations -L"$(dirname "$PLUMB_LIB")" \
    -lplumb -Wl,-rpath,"$(dirname "$PLUMB_LIB")" || exit 1
expect 'activations alone' 0 env PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_DUMP=layer "$PLUMB_BIN" record --run-dir told --quiet -- ./activations
grep -v '^plumb: activation' err.txt >said.txt
[ "$(cat said.txt)" = "plumb record: no spans, but activations: 'plumb activations $PWD/told/activations.jsonl' shows them" ] ||
    fail "$name: $(cat err.txt)"
[ -z "$(find told -type f -perm /077)" ] || fail "open to others: $(find told -type f -perm /077)"
umask 022
expect 'activations named' 0 env PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_OUTPUT=mine.jsonl "$PLUMB_BIN" record --run-dir named -- ./activations
[ "$(find mine.jsonl -perm 0644)" ] || fail "what the user names follows the umask: $(ls -l mine.jsonl)"
finish

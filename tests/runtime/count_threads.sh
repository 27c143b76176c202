#!/bin/sh
# labels: plain
# plumb record --count: exactly all calls of threads at a time and one after the other, of signal handlers, children,
# libraries that come and go, around exceptions; a killed process keeps its counts.
. "$PLUMB_SOURCE_DIR/tests/runtime/_count.sh"
compiled host.o -DPLUMB_LINKED
linked lazy host.o -Wl,-z,lazy

counted lazy threads
same "$what" 10000000 "$(total run plain)"
same "$what, in the node" 5000000 "$(calls run | awk '$1 == "worker" && $4 ~ /:plain$/ { n += $5 } END { print n }')"
counted lazy short_threads
same "$what" 3000 "$(total run plain)"
library libcounted_late.so
counted lazy unload libcounted_late.so:call_back
same "$what" 3000 "$(total run call_back)"

# Handlers call the function too: the program knows how often.
rm -rf run
expect 'signals' 7 "$PLUMB_BIN" record --quiet --run-dir run --count 'libcounted.so.1:plain' -- ./lazy signals
same 'signals' "$(cat out.txt)" "$(total run plain)"

# A child counts from zero, in a run of its own; its parent's counts are as without a child.
rm -rf runs
expect 'children' 7 "$PLUMB_BIN" record --quiet --dir runs --count 'libcounted.so:plain' -- ./lazy children
for run in runs/lazy/*; do
    [ -L "$run" ] || calls "$run"
done | sort >counts.txt
same 'children' '- inference -1 libcounted.so.1:plain 11
child inference -1 libcounted.so.1:plain 100
child inference -1 libcounted.so.1:plain 100
child inference -1 libcounted.so.1:plain 100' "$(cat counts.txt)"

# Exceptions unwind through the frames around counted calls.
$CXX -std=c++17 -O1 -Wall -Wextra -Werror -fPIC -shared "$here/_count_throw_lib.cc" -o libthrow.so || exit 1
$CXX -std=c++17 -O1 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" -DPLUMB_LINKED "$here/_count_throw.cc" \
    -o throws libthrow.so "$PLUMB_LIB" -Wl,-rpath,"$PWD:$lib_dir" || exit 1
rm -rf run
expect 'exceptions' 7 "$PLUMB_BIN" record --quiet --run-dir run --count 'libthrow.so:*,libstdc++.so.6:__cxa_throw' -- ./throws
[ "$(cat out.txt)" = '1000 1000' ] || fail "exceptions: $(cat out.txt)"
same 'exceptions' 'throws inference -1 libstdc++.so.6:__cxa_throw 1000
throws inference -1 libthrow.so:_Z7betweeni 500
throws inference -1 libthrow.so:_Z8throw_ifbPKc 1500' "$(calls run)"

# What was passed on is kept when the process is killed: all but its last moment. _exit() passes on the rest.
kept() { # RUN: calls of plain()
    "$PLUMB_BIN" report counts --format json "$1" 2>/dev/null |
        jq '[.counts[] | select(.name == "libcounted.so.1:plain" and .step == null) | .value] | add // 0'
}
for end in killed exits_at_once; do
    status=137 least=1000
    [ $end = killed ] || status=9 least=1007
    rm -rf run
    expect "$end" $status "$PLUMB_BIN" record --quiet --run-dir run --count 'libcounted.so:plain' -- ./lazy $end
    kept=$(kept run)
    [ "$kept" -ge $least ] && [ "$kept" -le 1007 ] || fail "$end: $kept calls are kept, not $least to 1007"
done

# Children, and a program without marks, that end without their exit handlers in each of the ways, the program also
# in a handler; a child in its parent's memory (vfork) is none of them.
cat >leaves.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int plain(int x);
static void (*volatile pointer)(int) = _Exit;
static void leave(int sig)
{
    plain(sig);
    _exit(7);
}
static void child(int way)
{
    for (int i = 0; i < 10 << way; i++)
        plain(i);
    if (way == 0)
        _exit(0);
    if (way == 1)
        pointer(0);
    quick_exit(0);
}
int main(int argc, char **argv)
{
    static int all; /* vfork() may lose a register */
    int status = 0;
    for (int way = 0; way < 3; way++) {
        pid_t pid = fork();
        if (pid == 0)
            child(way);
        if (waitpid(pid, &status, 0) != pid)
            return 1;
        all |= status;
    }
    if (vfork() == 0) {
        plain(1);
        _exit(3);
    }
    wait(&status);
    for (int i = 0; i < 4; i++)
        plain(i);
    if (all || WEXITSTATUS(status) != 3)
        _exit(1);
    if (strcmp(argv[argc - 1], "quick") == 0)
        quick_exit(7);
    if (strcmp(argv[argc - 1], "at_once") == 0)
        _exit(7);
    signal(SIGALRM, leave);
    ualarm(1000, 0);
    for (;;)
        free(malloc(100));
}
END
for flags in -Wl,-z,lazy '-fno-plt -Wl,-z,now'; do
    # shellcheck disable=SC2086 # words
    cc $flags leaves.c -o leaves libcounted.so.1 -Wl,-rpath,"$PWD"
    for way in at_once quick handler; do
        rm -rf runs
        expect "leaves $way, $flags" 7 "$PLUMB_BIN" record --quiet --dir runs --count 'libcounted.so:plain' -- ./leaves $way
        for run in runs/leaves/*; do
            [ -L "$run" ] || kept "$run"
        done | sort -n | tr '\n' ' ' >counts.txt
        own=5
        [ $way != handler ] || own=6
        same "leaves $way, $flags" "$own 10 20 40 " "$(cat counts.txt)"
    done
done

# Likewise of a program without marks, and of one that a signal ends.
printf 'int plain(int);\nint main(void) { for (int i = 0; i < 1000; i++) plain(i); for (;;) pause(); }\n' >waits.c
cc -include unistd.h -Wno-implicit-function-declaration waits.c -o waits libcounted.so.1 -Wl,-rpath,"$PWD"
for signal in KILL TERM; do
    rm -rf run
    PLUMB_QUIET=1 "$PLUMB_BIN" record --quiet --run-dir run --count 'libcounted.so:plain' -- ./waits 2>err.txt &
    recorder=$!
    kept=0 tries=0
    while [ "$kept" != 1000 ] && [ $tries -lt 600 ]; do
        sleep 0.1
        kept=$("$PLUMB_BIN" report counts --format json run 2>/dev/null | jq '[.counts[].value] | add // 0')
        tries=$((tries + 1))
    done
    [ "$kept" = 1000 ] || fail "without marks: $kept calls after $tries looks"
    kill -$signal "$(tr -d " " <"/proc/$recorder/task/$recorder/children")"
    wait $recorder
    kept=$("$PLUMB_BIN" report counts --format json run | jq '[.counts[].value] | add')
    [ "$kept" = 1000 ] || fail "ended by SIG$signal: $kept calls"
done

# Processes below the one that is started have runs of their own, however short they are.
printf 'int plain(int);\nint main(void) { return plain(6); }\n' >short.c
cc short.c -o short libcounted.so.1 -Wl,-rpath,"$PWD"
rm -rf runs
expect 'below a shell' 7 "$PLUMB_BIN" record --quiet --dir runs --count 'libcounted.so:plain' -- sh -c './short; ./short; exit $?'
for run in runs/short/*; do
    [ -L "$run" ] || calls "$run"
done >counts.txt
same 'below a shell' '- inference -1 libcounted.so.1:plain 1
- inference -1 libcounted.so.1:plain 1' "$(cat counts.txt)"

# Without a thread of plumb's own they are passed on at the end.
rm -rf run
expect 'no helper' 7 env PLUMB_HELPER=off "$PLUMB_BIN" record --quiet --run-dir run --count 'libcounted.so:plain' -- ./lazy nodes
[ "$(total run plain)" = 34 ] || fail "no helper: $(total run plain)"
exit $((failures > 0))

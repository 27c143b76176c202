#!/bin/sh
# plumb ps: lists what can be controlled, as a table and as JSON, and says why there is nothing.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

XDG_RUNTIME_DIR=$PWD/runtime
export XDG_RUNTIME_DIR
mkdir -m 700 runtime runtime/plumb

cat >host.c <<'END'
#include <plumb/plumb.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
    struct timespec t = {0, 1000000};
    while (fopen("end", "re") == NULL) {
        PLUMB_SPAN("work");
        nanosleep(&t, NULL);
    }
    return 0;
}
END
build_linked host.c host

# row PID: its line of plumb ps
row() {
    awk -v pid="$1" '$1 == pid' out.txt
}
# ours: a table with the lines of this test alone; other processes of this user may be in other folders
ours() {
    awk -v idle="$idle" -v busy="$busy" 'NR == 1 || $1 == idle || $1 == busy' out.txt
}
has_sockets() {
    [ "$(find runtime/plumb -name '[0-9]*' | wc -l)" = "$1" ]
}
records() {
    "$PLUMB_BIN" ps | awk -v pid="$1" '$1 == pid && $2 ~ /^yes/ { found = 1 } END { exit !found }'
}

PLUMB_CONTROL=1 ./host &
idle=$!
PLUMB_CONTROL=1 PLUMB=1 PLUMB_TRACE=1 PLUMB_QUIET=1 PLUMB_PIPELINE=render RANK=3 WORLD_SIZE=8 ./host &
busy=$!
wait_for has_sockets 2
wait_for records "$busy"
expect 'a table' 0 "$PLUMB_BIN" ps
[ "$(ours | wc -l)" = 3 ] || fail "not three lines: $(cat out.txt)"
empty err.txt
row "$idle" | grep -q " no  *-  *- .* MiB  *-  *host  *$PWD/host\$" || fail "idle: $(cat out.txt)"
row "$busy" | grep -q ' yes, trace  20..-..-.. ..:..:..  .* MiB  *3 of 8  *render  *.*/host$' ||
    fail "busy: $(cat out.txt)"
expect 'JSON' 0 "$PLUMB_BIN" ps --format json
jq -e --argjson idle "$idle" --argjson busy "$busy" '
    map(.pid) as $pids | [$idle, $busy] - $pids == [] and
    (.[] | select(.pid == $idle) | .run == "none" and .since == null and .spans_per_s == null and .rank == null) and
    (.[] | select(.pid == $busy) | .run == "open" and .tracing and .spans_per_s > 0 and .rank == 3 and .ranks == 8
        and (.run_dir | startswith("/")) and .memory_bytes > 100000 and .answers and (.command | endswith("./host")))
    ' out.txt >/dev/null || fail "JSON: $(cat out.txt)"

# A process that is stopped is listed all the same.
is_stopped() { # PID: each of its threads
    ! grep -qv ') T ' /proc/"$1"/task/*/stat
}
kill -STOP "$idle"
wait_for is_stopped "$idle"
expect 'a stopped process' 0 "$PLUMB_BIN" ps
row "$idle" | grep -q 'no answer' || fail "stopped: $(cat out.txt)"
row "$busy" | grep -q 'yes, trace' || fail "the other: $(cat out.txt)"
expect 'its JSON' 0 "$PLUMB_BIN" ps --format json
jq -e --argjson idle "$idle" '.[] | select(.pid == $idle) | .answers == false and has("spans") == false' out.txt >/dev/null ||
    fail "JSON of a stopped one: $(cat out.txt)"
kill -CONT "$idle"

# A process that cannot have plumb's thread says so, once. (A sanitizer needs more addresses.)
if [ "$PLUMB_BUILD_KIND" = plain ]; then
    (ulimit -v 500000 && PLUMB_CONTROL=1 exec ./host) 2>limited.err &
    limited=$!
    wait_for grep -q 'PLUMB_CONTROL does nothing.*ulimit -v' limited.err
fi
# So does one whose limit of descriptors is too low, wherever that strikes.
few=''
if [ "$PLUMB_BUILD_KIND" = plain ]; then
    for n in 4 5; do
        (
            exec 3<&- 4<&- 5<&-
            ulimit -n $n && PLUMB_CONTROL=1 exec ./host
        ) 2>few-$n.err &
        few="$few $!"
    done
    # Fewer than the connections that plumb would take are enough.
    (ulimit -n 12 && PLUMB_CONTROL=1 exec ./host) &
    twelve=$!
    few="$few $twelve"
    twelve_answers() {
        "$PLUMB_BIN" ps | awk -v pid="$twelve" '$1 == pid && !/no answer/ { found = 1 } END { exit !found }'
    }
    wait_for twelve_answers
fi

: >end
wait "$idle" "$busy"
if [ "$PLUMB_BUILD_KIND" = plain ]; then
    wait "$limited" || fail 'the status of the limited process'
    [ "$(wc -l <limited.err)" = 1 ] || fail "the limited process said: $(cat limited.err)"
fi
for pid in $few; do
    wait "$pid" || fail 'the status of a process with few descriptors'
done
for text in few-*.err; do
    [ -z "$few" ] || [ "$(grep -c 'ulimit -n.*cannot be controlled' "$text"),$(wc -l <"$text")" = 1,1 ] ||
        fail "$text: $(cat "$text")"
done
expect 'none' 0 "$PLUMB_BIN" ps
if [ -s out.txt ]; then
    [ "$(ours | wc -l)" = 1 ] || fail "ended: $(cat out.txt)"
    echo 'other processes can be controlled: what ps says of none is not tested'
else
    has err.txt 'PLUMB_CONTROL=1'
    expect 'no process as JSON' 0 "$PLUMB_BIN" ps --format json
    [ "$(jq length out.txt)" = 0 ] || fail "JSON of nothing: $(cat out.txt)"
fi

# A daemon that was started as root, and has another user from then on, obeys that one.
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups env -u XDG_RUNTIME_DIR "$@"
}
if [ "$(id -u)" = 0 ] && as_nobody test -x "$PLUMB_BIN"; then
    rm end
    cat >daemon.c <<'END'
#include <plumb/plumb.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static void work(void)
{
    struct timespec t = {0, 1000000};
    PLUMB_SPAN("work");
    nanosleep(&t, NULL);
}
int main(void)
{
    for (int i = 0; access("drop", F_OK) != 0; i++)
        work();
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    while (access("end", F_OK) != 0)
        work();
    return 7;
}
END
    build_linked daemon.c daemon
    chmod 755 . && chmod 711 runtime
    listed() {
        "$PLUMB_BIN" ps 2>/dev/null | grep -q "^ *$1 "
    }
    listed_to_nobody() {
        as_nobody "$PLUMB_BIN" ps 2>/dev/null | grep -q "^ *$1 .*daemon"
    }
    PLUMB_CONTROL=1 ./daemon &
    daemon=$!
    wait_for listed "$daemon"
    : >drop
    wait_for listed_to_nobody "$daemon"
    ! listed "$daemon" || fail 'the socket that it has left is still listed'
    : >end
    wait "$daemon"
    [ $? = 7 ] || fail 'the exit status of the daemon'
    # One that does so first of all, while plumb's thread begins to listen.
    rm end
    for _ in 1 2 3 4; do
        PLUMB_CONTROL=1 ./daemon &
        daemons="${daemons:-} $!"
    done
    for daemon in $daemons; do
        wait_for listed_to_nobody "$daemon"
    done
    : >end
    for daemon in $daemons; do
        wait "$daemon"
        [ $? = 7 ] || fail 'the exit status of the daemon'
    done
fi

chmod 755 runtime/plumb
expect 'a folder that others may read' 2 "$PLUMB_BIN" ps
has err.txt 'chmod' "$PWD/runtime/plumb"
expect 'an operand' 2 "$PLUMB_BIN" ps 12
expect 'a format' 2 "$PLUMB_BIN" ps --format csv
has err.txt "plumb ps: --format wants text or json, not 'csv'"
finish

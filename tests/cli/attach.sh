#!/bin/sh
# timeout: 900
# plumb attach: records a running process for a while and leaves it as it was: a process that records
# nothing, one that records, one that ends or is killed in the middle. TEST_ROUNDS is the number of
# rounds on one process instead of 12.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

XDG_RUNTIME_DIR=$PWD/runtime
export XDG_RUNTIME_DIR
mkdir -m 700 runtime
idle='' busy=''
# shellcheck disable=SC2086 # a process or none
trap 'touch end; kill -KILL $idle $busy 2>/dev/null' EXIT

cat >host.c <<'END'
/* Eight threads work until the file `end` is there; what is printed depends on the work alone. */
#include <plumb/plumb.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static const char *end;
static void *work(void *arg)
{
    const struct timespec t = {0, 1000000};
    uint64_t sum = (uintptr_t)arg;
    PLUMB_SPAN("thread");
    for (int i = 0; access(end, F_OK) != 0; i++) {
        PLUMB_STEP(i);
        PLUMB_SPAN("work");
        for (int k = 0; k < 20; k++) {
            PLUMB_SPAN("part");
            sum = sum * 6364136223846793005u + 1;
        }
        nanosleep(&t, NULL);
    }
    return (void *)(uintptr_t)(sum != 0);
}
int main(int argc, char **argv)
{
    pthread_t t[8];
    uintptr_t all = 0;
    void *one;
    end = argc > 1 ? argv[1] : "end";
    {
        PLUMB_SPAN("begin");
    }
    for (uintptr_t i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++) {
        pthread_join(t[i], &one);
        all += (uintptr_t)one;
    }
    printf("%d\n", (int)all);
    return 7;
}
END
build_linked host.c host

attach() {
    "$PLUMB_BIN" attach "$@"
}
records() {
    "$PLUMB_BIN" ps | awk -v pid="$1" -v how="$2" '$1 == pid && $2 ~ how { found = 1 } END { exit !found }'
}
traces() {
    "$PLUMB_BIN" ps --format json | jq -e --argjson pid "$1" '.[] | select(.pid == $pid) | .tracing'
}
listed() {
    "$PLUMB_BIN" ps | awk -v pid="$1" '$1 == pid { found = 1 } END { exit !found }'
}
count() {
    jq "[.nodes[] | select(.name == \"$2\") | .count] | add // 0" "$1/timing.json"
}

mkdir mine
expect 'no process' 2 attach 999999 -o mine --for 1ms
[ -d mine ] || fail 'a folder of the user was removed for nothing'
expect 'no process, no folder' 2 attach 999999 -o none --for 1ms
expect 'no folder' 2 attach 1
has err.txt '-o DIR'
expect 'an empty name' 2 attach 1 -o '' --for 1ms
has err.txt '-o DIR'
expect 'both limits' 2 attach 1 -o x --for 1s --steps 2
expect 'not a time' 2 attach 1 -o x --for soon
[ ! -e none ] && [ ! -e x ] || fail 'a folder was made for nothing'

PLUMB_CONTROL=1 ./host >host.out 2>host.err &
idle=$!
wait_for listed "$idle"
mkdir full && touch full/file
expect 'a folder with something in it' 2 attach "$idle" -o full --for 1ms
has err.txt "'full' is there already"

: >file
expect 'a folder that cannot be made' 2 attach "$idle" -o file/deeper --for 1ms
has err.txt 'cannot make' 'file/deeper'
[ "$(wc -l <err.txt)" = 1 ] || fail "more than a line: $(cat err.txt)"
records "$idle" no || fail 'it records where it has no folder'
expect 'a region that is not there' 2 attach "$idle" -o again --for 1ms --regions no_such
has err.txt 'no_such'
[ ! -e again ] || fail "left behind: $(ls again)"
records "$idle" no || fail 'it records after a mistake'

expect 'a process that records nothing' 0 attach "$idle" --for 300ms --trace -o first
has out.txt work part
has err.txt 'with trace.pftrace'
records "$idle" no || fail 'it still records'
[ -s first/trace.pftrace ] && [ ! -e first/live.plumb ] || fail "files: $(ls first)"
[ "$(count first part)" -gt 20 ] || fail 'nothing was recorded'
expect 'its trace' 0 "$PLUMB_BIN" report trace first
has out.txt work
expect 'a folder in folders that are not there' 0 attach "$idle" --for 50ms -o deep/of/idle
[ -s deep/of/idle/timing.json ] || fail "$name: no report"

expect 'steps' 0 attach host --steps 5 -o steps
[ "$(count steps work)" -ge 5 ] || fail "steps: $(count steps work)"
records "$idle" no || fail 'it still records'

# What is printed goes into no socket of the command.
"$PLUMB_BIN" attach "$idle" --for 20ms -o closed >&- 2>closed.err
[ $? = 2 ] || fail "a closed standard output: $(cat closed.err)"
has closed.err 'standard output: Bad file descriptor'

# A process that stops answering has not ended, and its folder is not whole.
"$PLUMB_BIN" attach "$idle" --for 100s -o stopped >stopped.out 2>stopped.err &
long=$!
wait_for records "$idle" yes
kill -STOP "$idle"
wait $long
[ $? = 2 ] || fail "a stopped process: status $?: $(cat stopped.err)"
kill -CONT "$idle"
has stopped.err 'has not answered' 'when it goes on'
lacks stopped.err 'ended after'
wait_for records "$idle" no
[ "$(count stopped part)" -gt 0 ] || fail 'the process did not end the recording itself'

# More steps than come: it says what it waits for.
"$PLUMB_BIN" attach "$idle" --steps 1000000000 -o endless >endless.out 2>endless.err &
endless=$!
wait_for grep -q 'waits for the end of 1000000000 steps' endless.err
kill -INT $endless
wait $endless || fail "endless: status $?: $(cat endless.err)"
[ "$(grep -c 'waits for' endless.err)" = 1 ] || fail "endless: $(cat endless.err)"
records "$idle" no || fail 'it still records'

"$PLUMB_BIN" attach "$idle" -o long >long.out 2>long.err &
long=$!
wait_for records "$idle" yes
expect 'a second attach' 2 attach "$idle" -o second --for 1ms
[ "$(wc -l <err.txt)" = 1 ] && has err.txt 'another'
kill -INT $long
wait $long
[ $? = 0 ] || fail "Ctrl-C: $(cat long.err)"
has long.out part
records "$idle" no || fail 'it still records after Ctrl-C'

descriptors=$(ls "/proc/$idle/fd" | wc -l)
round=0
while [ $round -lt "${TEST_ROUNDS:-12}" ]; do
    attach "$idle" --for 20ms --trace -o "round-$round" >round.out 2>round.err || fail "round: $(cat round.err)"
    [ -s "round-$round/trace.pftrace" ] || fail "round $round has no trace"
    rm -r "round-$round"
    [ $round != 1 ] || rss=$(awk '/VmRSS/ { print $2 }' "/proc/$idle/status")
    round=$((round + 1))
done
[ "$(ls "/proc/$idle/fd" | wc -l)" = "$descriptors" ] || fail 'descriptors are left'
more=$(($(awk '/VmRSS/ { print $2 }' "/proc/$idle/status") - rss))
[ $more -lt 4096 ] || [ "$PLUMB_BUILD_KIND" = tsan ] || [ "$PLUMB_BUILD_KIND" = asan ] || fail "$more KiB more"
touch end
wait "$idle"
[ $? = 7 ] || fail 'the exit status of the host'
[ "$(cat host.out)" = 8 ] || fail "the output of the host: $(cat host.out)"
empty host.err
rm end

PLUMB_CONTROL=1 PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=whole ./host >host.out &
busy=$!
wait_for records "$busy" yes
expect 'a process that records' 0 attach "$busy" --for 300ms --trace --nodes part -o part
has out.txt part
records "$busy" yes || fail 'its run was ended'
expect 'a folder in folders that are not there, of a process that records' 0 attach "$busy" --for 50ms -o new/of/busy
[ -s new/of/busy/timing.json ] || fail "$name: no report"
expect 'a folder in a file' 2 attach "$busy" --for 50ms -o host.c/of/busy
[ "$(wc -l <err.txt)" = 1 ] && has err.txt 'cannot make'
[ -s part/trace.pftrace ] || fail 'no trace'
[ "$(count part begin)" = 0 ] || fail 'the rows are not those of the time alone'
before=$(count part part)
sleep 0.2
touch end
wait "$busy"
[ "$(count whole begin)" = 1 ] || fail 'the run has lost a row'
[ "$before" -gt 20 ] && [ "$(count whole part)" -gt "$before" ] || fail "rows: $before of $(count whole part)"
[ "$(jq '.trace_windows | length' whole/timing.json)" = 1 ] || fail 'the window is not in the report of the run'
jq -e '.wall_clock_ns as $whole | .trace_windows[0] | .from_ns > 0 and .to_ns - .from_ns > 299e6 and .to_ns < $whole' \
    whole/timing.json >/dev/null || fail "the times of the window: $(jq -c '.trace_windows, .wall_clock_ns' whole/timing.json)"
rm end

PLUMB_CONTROL=1 PLUMB=1 PLUMB_TRACE=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=traced ./host >host.out &
busy=$!
wait_for records "$busy" yes
expect 'steps of a run that is traced as a whole' 0 timeout 60 "$PLUMB_BIN" attach "$busy" --steps 3 -o traced-steps
[ "$(count traced-steps work)" -ge 3 ] || fail "steps: $(count traced-steps work)"
touch end
wait "$busy"
rm end

PLUMB_CONTROL=1 ./host >host.out &
idle=$!
wait_for listed "$idle"
"$PLUMB_BIN" attach "$idle" --trace -o killed >killed.out 2>killed.err &
long=$!
wait_for records "$idle" yes
sleep 0.3
kill -KILL "$idle"
wait $long
[ $? = 0 ] || fail "a host that was killed: $(cat killed.err)"
has killed.err "process $idle" after
has killed.out part
expect 'the trace of a host that was killed' 0 "$PLUMB_BIN" report trace killed

PLUMB_CONTROL=1 PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=ended ./host >host.out &
busy=$!
wait_for records "$busy" yes
"$PLUMB_BIN" attach "$busy" --trace -o until_end >until.out 2>until.err &
long=$!
wait_for traces "$busy"
touch end
wait "$busy"
wait $long
[ $? = 0 ] || fail "a host that ended: $(cat until.err)"
has until.out part
rm end

# A plumb attach that is killed leaves nothing behind: the process notices that its connection is gone.
PLUMB_CONTROL=1 ./host >host.out &
idle=$!
wait_for listed "$idle"
"$PLUMB_BIN" attach "$idle" --trace -o orphan >orphan.out 2>orphan.err &
long=$!
wait_for records "$idle" yes
expect 'a second one' 2 attach "$idle" --for 50ms -o second
has err.txt "process $idle has another 'plumb attach' at work"
[ ! -e second ] || fail 'a second one has made its folder'
kill -KILL $long
wait $long
wait_for records "$idle" no
[ "$(count orphan part)" -gt 0 ] && [ ! -e orphan/live.plumb ] || fail "files: $(ls orphan)"
expect 'after one that was killed' 0 attach "$idle" --for 100ms --trace -o heir
[ "$(ls runtime/plumb | wc -l)" = 1 ] || fail "locks: $(ls runtime/plumb)"
# The lock of a process that is gone, and that of one that is there.
touch "runtime/plumb/999999.1.attach" "runtime/plumb/$(ls runtime/plumb).attach"
expect 'processes' 0 "$PLUMB_BIN" ps
[ "$(ls runtime/plumb | grep -c attach)" = 1 ] && [ ! -e runtime/plumb/999999.1.attach ] || fail "locks: $(ls runtime/plumb)"
touch end
wait "$idle"
rm end

# A program that closes its control ends a run that attach has opened; one that was open goes on.
cat >closes.c <<'END'
#include <plumb/plumb.h>
#include <time.h>
#include <unistd.h>
static void work_until(const char *file)
{
    const struct timespec t = {0, 1000000};
    while (access(file, F_OK) != 0) {
        PLUMB_SPAN("work");
        nanosleep(&t, NULL);
    }
}
int main(void)
{
    work_until("close");
    plumb_control_close();
    work_until("end");
    return 5;
}
END
build_linked closes.c closes
# closes DIR [SETTING...]: attaches to such a program, which has these settings, until it closes its control
closes() {
    dir=$1
    shift
    env PLUMB_CONTROL=1 "$@" ./closes &
    idle=$!
    wait_for listed "$idle"
    "$PLUMB_BIN" attach "$idle" --trace -o "$dir" >closed.out 2>closed.err &
    long=$!
    wait_for traces "$idle"
    touch close
    wait $long
    [ $? = 0 ] || fail "a program that closes its control, $dir: $(cat closed.err)"
    has closed.err "process $idle" after
    has closed.out work
    expect "the trace of $dir" 0 "$PLUMB_BIN" report trace "$dir"
    touch end
    wait "$idle"
    [ $? = 5 ] || fail "the status of a program that closes its control, $dir"
    rm close end
}
closes closed_run
[ ! -e closed_run/live.plumb ] || fail "files: $(ls closed_run)"
closes closed_rows PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=whole_rows
[ "$(count whole_rows work)" -gt "$(count closed_rows work)" ] || fail 'the run of the program was ended'

# A run that was asked for, in a program that has passed no trace point yet.
cat >late.c <<'END'
#include <plumb/plumb.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    const struct timespec t = {0, 1000000};
    while (access("end", F_OK) != 0)
        nanosleep(&t, NULL);
    PLUMB_SPAN("late");
    return 0;
}
END
build_linked late.c late
PLUMB_CONTROL=1 PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=late_run ./late &
idle=$!
wait_for records "$idle" next
expect 'a run that is not open yet' 2 attach "$idle" --for 1s -o early
[ "$(wc -l <err.txt)" = 1 ] && has err.txt 'has passed no trace point' 'plumb ps'
[ ! -e early ] || fail "left behind: $(ls early)"
touch end
wait "$idle" || fail 'the status of a program that passes its first trace point late'
[ "$(count late_run late)" = 1 ] || fail 'its run'
rm end

# A process with namespaces of its own has another pid there. Not every machine allows that.
if unshare -pfm true 2>unshare.err; then
    PLUMB_CONTROL=1 unshare -pfm ./late &
    idle=$!
    wait_for pgrep -P "$idle" -x late
    apart=$(pgrep -P "$idle" -x late)
    expect 'a process of a container' 2 attach "$apart" --for 1s -o apart
    [ "$(wc -l <err.txt)" = 1 ] && has err.txt 'is in a container' "nsenter -a -t $apart"
    touch end
    wait "$idle" || fail 'the status of a process of a container'
    rm end
else
    echo "not checked: a process of a container: $(cat unshare.err)" >&2
fi

# A process that has another root since it began: nothing is written there, nor here.
cat >jailed.c <<'END'
#include <plumb/plumb.h>
#include <poll.h>
#include <unistd.h>
int main(void)
{
    struct pollfd in = {0, POLLIN, 0};
    poll(&in, 1, -1);
    if (chroot("jail") < 0 || chdir("/") < 0)
        return 77;
    write(1, "ready\n", 6);
    for (int over = 0; !over; over = access("/end", F_OK) == 0) {
        PLUMB_SPAN("work");
        usleep(1000);
    }
    return 7;
}
END
build_linked jailed.c jailed
mkdir -p jail/tmp
mkfifo jail.in
# Its root has no /proc, which LeakSanitizer needs.
ASAN_OPTIONS=detect_leaks=0 PLUMB_CONTROL=1 ./jailed <jail.in >jail.out 2>jail.err &
idle=$!
exec 8>jail.in
wait_for listed "$idle"
echo >&8
for _ in $(seq 100); do
    [ ! -s jail.out ] && kill -0 "$idle" || break
    sleep 0.1
done
if [ -s jail.out ]; then
    expect 'a process with another root' 2 attach "$idle" --for 50ms -o jailed-run
    [ "$(wc -l <err.txt)" = 1 ] && has err.txt 'sees other folders'
    [ ! -e jailed-run ] && [ "$(find jail | wc -l)" = 2 ] || fail "left: $(find jail jailed-run)"
    touch jail/end
    wait "$idle"
    [ $? = 7 ] || fail "the status of a process with another root: $(cat jail.err)"
else
    echo 'not checked: a process with another root' >&2
fi
exec 8>&-

# A child that the process forks in the meantime takes part by itself, and records nothing.
cat >forks.c <<'END'
#include <plumb/plumb.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void work(void)
{
    const struct timespec t = {0, 1000000};
    PLUMB_SPAN("work");
    nanosleep(&t, NULL);
}
int main(void)
{
    pid_t child;
    while (access("fork", F_OK) != 0)
        work();
    child = fork();
    while (access("end", F_OK) != 0)
        work();
    return child > 0 && waitpid(child, NULL, 0) != child;
}
END
build_linked forks.c forks
PLUMB_CONTROL=1 ./forks &
idle=$!
wait_for listed "$idle"
"$PLUMB_BIN" attach "$idle" -o parent >parent.out 2>parent.err &
long=$!
wait_for records "$idle" yes
touch fork
two_listed() {
    [ "$("$PLUMB_BIN" ps | grep -c '/forks$')" = 2 ]
}
wait_for two_listed
kill -INT $long
wait $long
child=$("$PLUMB_BIN" ps | awk -v pid="$idle" '/forks$/ && $1 != pid { print $1 }')
records "$child" no || fail "the child records: $("$PLUMB_BIN" ps)"
expect 'the child' 0 attach "$child" --for 50ms -o child
[ "$(echo parent*)" = 'parent parent.err parent.out' ] || fail "left behind: $(echo parent*)"
touch end
wait "$idle" || fail 'the status of a process that forked'
rm end

traced() {
    "$PLUMB_BIN" ps | awk -v pid="$1" '$1 == pid && $2 == "yes," { found = 1 } END { exit !found }'
}
untraced() {
    records "$1" yes && ! traced "$1"
}
PLUMB_CONTROL=1 PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=owned ./host >host.out &
busy=$!
wait_for records "$busy" yes
"$PLUMB_BIN" attach "$busy" --trace -o orphan2 >orphan.out 2>orphan.err &
long=$!
wait_for traced "$busy"
kill -KILL $long
wait $long
wait_for untraced "$busy"
expect 'the trace of one that was killed' 0 "$PLUMB_BIN" report trace orphan2/trace.pftrace
expect 'a trace after it' 0 attach "$busy" --for 100ms --trace -o heir2
touch end
wait "$busy"
[ "$(jq '.trace_windows | length' owned/timing.json)" = 2 ] || fail 'windows are missing in the report of the run'

[ $failures = 0 ]

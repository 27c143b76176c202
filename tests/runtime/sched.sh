#!/bin/sh
# labels: plain
# The collector `sched`: time in which threads did not run belongs to the nodes that it was spent in, by
# name; where the kernel does not report them, one line says so and the run is as without it.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
lib_dir=$(dirname "$PLUMB_LIB")
cat >prog.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <plumb/plumb.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

static volatile unsigned long x;

static void nap(void)
{
    const struct timespec t = {0, 2000000};
    nanosleep(&t, NULL);
}

static void *other(void *unused)
{
    {
        PLUMB_SPAN("known"); /* the collector meets the thread */
        nap();
    }
    nap();
    for (int i = 0; i < 30; i++) {
        PLUMB_SPAN("other");
        nap();
    }
    return unused;
}

int main(int argc, char **argv)
{
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, f};
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "refused") == 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter)))
        return 77;
    if (plumb_start(NULL, NULL) < 0)
        return 1;
    pthread_create(&thread, NULL, other, NULL);
    {
        PLUMB_SPAN("known");
        nap();
    }
    nap();
    for (int i = 0; i < 30; i++) {
        PLUMB_SPAN("outer");
        {
            PLUMB_SPAN("sleep");
            nap();
        }
        for (int k = 0; k < 2000; k++) {
            PLUMB_SPAN("tiny");
            x++;
        }
    }
    pthread_join(thread, NULL);
    return 0;
}
C
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -O1 -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog \
    -L"$lib_dir" -lplumb -lpthread -Wl,-rpath,"$lib_dir" || exit 1

PLUMB_COLLECT=sched PLUMB_RUN_DIR=$PWD/refused ./prog refused >out.txt 2>err.txt
status=$?
[ $status = 77 ] || {
    [ $status = 0 ] || fail "refused: status $status"
    [ "$(grep -c "collector 'sched'" err.txt)" = 1 ] || fail "refused: not one line: $(cat err.txt)"
    grep -q "collector 'sched' did not start: perf_event_open() is refused" err.txt || fail "refused: $(cat err.txt)"
    jq -e '[.nodes[] | select(.sched)] | length == 0' refused/timing.json >/dev/null || fail "refused: figures"
}

expect "a run" 0 env PLUMB_COLLECT=sched PLUMB_TRACE=1 PLUMB_RUN_DIR="$PWD/run" ./prog
if grep -q "collector 'sched'" err.txt; then
    echo "no context switches here: $(grep "collector 'sched'" err.txt)"
    [ "$failures" = 0 ] && exit 77
    finish
fi
# Each nap blocks once at least, in its own node and in those around it, and in no other.
jq -e '[.nodes[] | {key: .name, value: .sched}] | from_entries |
    .sleep.blocks >= 30 and .other.blocks >= 30 and .outer.blocks >= .sleep.blocks and
    .sleep.blocked_ns >= 60000000 and .other.blocked_ns >= 60000000 and
    (.tiny == null or .tiny.blocks <= 5)' run/timing.json >/dev/null ||
    fail "figures: $(jq -c '[.nodes[] | [.name, .sched]]' run/timing.json)"
jq -e '[.nodes[] | select(.sched)] | all(.sched.on_cpu_ns + .sched.preempted_ns + .sched.blocked_ns
    <= .total_ms * 1e6 + 1000 or .sched.on_cpu_ns == 0)' run/timing.json >/dev/null || fail "more than the total"
expect "wide" 0 "$PLUMB_BIN" report --wide run
grep -q 'Preempted.*Blocked.*Switches.*Moved' out.txt || fail "wide: $(head -5 out.txt)"
expect "as CSV" 0 "$PLUMB_BIN" report --format csv run
head -1 out.txt | grep -q ',on_cpu_ms,preempted_ms,blocked_ms,switches,migrations$' || fail "CSV: $(head -1 out.txt)"
awk -F, 'NR == 1 { n = NF; next } NF != n { exit 1 } $2 == "sleep" && !($(n - 2) >= 60 && $(n - 1) >= 30) { exit 1 }' \
    out.txt || fail "CSV: $(cat out.txt)"
expect "as Markdown" 0 "$PLUMB_BIN" report --format md run
grep -q '| Blocked(.*) | Switches | Moved |$' out.txt || fail "Markdown: $(head -5 out.txt)"
expect "as JSON" 0 "$PLUMB_BIN" report --format json run
jq -e '[.. | objects | select(.node? == "sleep")][0].blocked_ms >= 60' out.txt >/dev/null || fail "JSON: $(head -40 out.txt)"
expect "trace" 0 "$PLUMB_BIN" report trace run
grep -q 'not running: thread' out.txt || fail "trace: no track"
# In a time namespace the records of the kernel have another clock than the process.
if unshare -T --monotonic 100000 true 2>/dev/null; then
    expect "another clock" 0 env PLUMB_COLLECT=sched PLUMB_RUN_DIR="$PWD/clock" unshare -T --monotonic 100000 ./prog
    jq -e '.nodes[] | select(.name == "sleep") | .sched.blocks >= 30' clock/timing.json >/dev/null ||
        fail "another clock: $(jq -c '[.nodes[] | [.name, .sched]]' clock/timing.json)"
fi
# Without it nothing of it is there.
expect "without" 0 env PLUMB_RUN_DIR="$PWD/without" ./prog
expect "wide without" 0 "$PLUMB_BIN" report --wide without
! grep -q 'Preempted' out.txt || fail "columns without figures"
expect "CSV without" 0 "$PLUMB_BIN" report --format csv without
! grep -q 'preempted' out.txt || fail "CSV columns without figures"
finish

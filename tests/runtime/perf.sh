#!/bin/sh
# labels: notsan
# The collector `perf`: what a stage did is counted for it, what plumb did around it is not; counters that are
# not there are absent, with the reason, and never 0. (ThreadSanitizer touches pages of its own.)
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >prog.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <plumb/plumb.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20, PAGES = 100 };

static void nap(void)
{
    const struct timespec t = {0, 1000000};
    nanosleep(&t, NULL);
}

static void touch(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)p, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        p[i * page] = 1;
    munmap((void *)p, PAGES * page);
}

static void inner(int n)
{
    PLUMB_STAGE(s, "again");
    if (n)
        inner(n - 1);
    else
        nap();
}

static void work(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        PLUMB_STAGE(outer, "outer");
        {
            PLUMB_STAGE(s, "sleep");
            nap();
        }
        {
            PLUMB_STAGE(s, "touch");
            touch();
        }
        inner(3);
        PLUMB_SPAN("plain");
    }
}

static void *thread(void *unused)
{
    {
        PLUMB_STAGE(s, "thread");
        work();
    }
    return unused;
}

static int forbid(void)
{
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, f};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t t[2];
    if (strcmp(what, "refused") == 0 && forbid())
        return 77;
    if (plumb_start(NULL, NULL) < 0)
        return 1;
    if (strcmp(what, "threads") == 0) {
        for (int i = 0; i < 2; i++)
            pthread_create(&t[i], NULL, thread, NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(t[i], NULL);
        return 0;
    }
    work();
    if (strcmp(what, "fork") == 0 && fork() == 0)
        work(); /* a run of its own */
    while (wait(NULL) > 0)
        ;
    if (strcmp(what, "killed") == 0)
        raise(SIGKILL);
    return 0;
}
C
build_linked prog.c prog

# check NAME FILE FILTER
check() {
    jq -e '(.perf.stages // [] | map({key: .name, value: .}) | from_entries) as $s |
           (.perf.counters // [] | map({key: .name, value: .}) | from_entries) as $c | '"$3" "$2" >/dev/null ||
        fail "$1: $(jq -c .perf "$2")"
}

# Both processor times are read one after the other, at each end of each of the runs.
software='($s.sleep.counters.voluntary_switches.total >= 20 and $s.sleep.runs == 20 and
    $s.touch.counters.minor_faults.total >= 2000 and $s.touch.counters.minor_faults.total < 2400 and
    $s.sleep.counters.minor_faults.total < 200 and
    $s.outer.counters.minor_faults.total >= $s.touch.counters.minor_faults.total and
    $s.outer.counters.task_clock_ns.total >= $s.touch.counters.task_clock_ns.total and
    $s.outer.counters.task_clock_ns.total <= $s.outer.counters.process_cpu_ns.total * 1.1 and
    ($s.plain | not))'

# 1. Software counters are there on every machine. The naps of a stage are its waits, and the waits of plumb
# around inner stages, to read exact peaks, are not the outer one's: 2 naps a round. A stage inside itself is counted once.
expect "software" 0 env PLUMB_MEMORY_PEAK=exact PLUMB_COLLECT=perf:software PLUMB_RUN_DIR="$PWD/soft" ./prog
check "software" soft/timing.json "$software"' and $s.again.runs == 20 and
    $s.outer.counters.voluntary_switches.total >= 40 and $s.outer.counters.voluntary_switches.total < 80 and
    ($c.instructions | not)'
! grep -q "collector 'perf'" err.txt || fail "software: $(cat err.txt)"

# 2. Simulated ones: exact where they always count, scaled and marked where they take turns, absent where they
# never do.
expect "simulated" 0 env PLUMB_COLLECT=perf:simulated PLUMB_RUN_DIR="$PWD/simulated" ./prog
check "simulated" simulated/timing.json "$software"' and ([$s[].counters |
    .instructions.total == 2 * .cycles.total and .instructions.runs == .cycles.runs and .cycles.scaled == 0 and
    .cache_misses.scaled == .cache_misses.runs and .cache_misses.runs > 0 and
    ((.cache_misses.total / .cache_references.total - 0.25) | fabs) < 0.02 and
    ((.cache_misses.running_ns / .cache_misses.enabled_ns - 0.5) | fabs) < 0.02 and
    (.branches | not) and (.branch_misses | not)] | all) and $c.instructions.state == "simulated"'

# 3. Where the kernel has no such call nothing of it is 0, the reason is said once, and the software counters stay.
PLUMB_COLLECT=perf PLUMB_RUN_DIR=$PWD/refused ./prog refused >out.txt 2>err.txt
status=$?
[ $status = 77 ] || {
    [ $status = 0 ] || fail "refused: status $status"
    [ "$(grep -c "collector 'perf'" err.txt)" = 1 ] || fail "refused: not one line: $(cat err.txt)"
    grep -q "no hardware counters: this kernel has no perf_event_open()" err.txt || fail "refused: $(cat err.txt)"
    check "refused" refused/timing.json "$software"' and $c.instructions.state == "absent" and
        ($c.instructions.why | test("no perf_event_open")) and ([$s[].counters | has("instructions")] | any | not)'
}

# 4. Whatever this machine has: each counter is there or has a reason, and one without it has no figure.
expect "the machine" 0 env PLUMB_COLLECT=perf PLUMB_RUN_DIR="$PWD/machine" ./prog threads
check "the machine" machine/timing.json '($c | length) == 13 and ([$c[] | .state == "there" or
    (.state == "absent" and (.why | length) > 0)] | all) and
    ([$s[].counters | keys[] | $c[.].state == "there"] | all) and $s.thread.runs == 2 and
    $s.touch.runs == 40 and $s.touch.counters.minor_faults.total >= 4000'
for counter in migrations instructions; do
    state=$(jq -r ".perf.counters[] | select(.name == \"$counter\").state" machine/timing.json)
    [ "$state" = absent ] && echo "no $counter here" && continue
    # A busy machine may keep plumb's thread from answering at once; then single runs lack the counter.
    check "$counter" machine/timing.json "\$s.touch.counters.$counter.runs >= 1"
done

# 5. A forked child counts for itself.
expect "fork" 0 env PLUMB_COLLECT=perf PLUMB_DIR="$PWD/forks" ./prog fork
[ "$(find forks -name timing.json | wc -l)" = 2 ] || fail "fork: $(find forks -name timing.json)"
for run in $(find forks -name timing.json); do
    check "fork" "$run" "$software"
done

# 6. A wrong name.
expect "a wrong name" 0 env PLUMB_COLLECT=perf:instructions+cycle PLUMB_RUN_DIR="$PWD/wrong" ./prog
grep -q "collector 'perf' did not start: there is no counter 'cycle'" err.txt || fail "a wrong name: $(cat err.txt)"
jq -e '.perf == null' wrong/timing.json >/dev/null || fail "a wrong name: figures"

# 7. Without it nothing of it is there.
expect "without" 0 env PLUMB_RUN_DIR="$PWD/without" ./prog
jq -e 'has("perf") | not' without/timing.json >/dev/null || fail "without: figures"

# 8. A killed run has its counts.
expect "killed" 137 env PLUMB_COLLECT=perf:software PLUMB_RUN_DIR="$PWD/killed" ./prog killed
expect "recovered" 0 "$PLUMB_BIN" recover killed
check "recovered" killed/timing.json "$software"
finish

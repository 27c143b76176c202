/* labels: plain
 * plumb's own thread: which processes have one, what it does while it waits, its descriptors, and
 * how long the program waits for it. */
#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "runtime/child.h"

#include "base/clock.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"

enum { STAGES = 2000, SLOW_STAGES = 200 };
#define LONG_NS UINT64_C(20000000000)
#define FRESH_NS UINT64_C(100000)      /* how long a reading of the resident set is used */
#define RSS_WAIT_NS UINT64_C(20000000) /* how long a thread waits for one */

static void span(void)
{
    PLUMB_SPAN("work");
}

/* The number of threads, and the id of another one than `but`; 0: there is none. */
static int threads(pid_t process, pid_t but, pid_t *other)
{
    char path[64];
    int n = 0;
    DIR *dir;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    dir = opendir(path);
    if (other)
        *other = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        pid_t id = (pid_t)atoi(e->d_name);
        n += id > 0;
        if (other && id > 0 && id != but)
            *other = id;
    }
    if (dir)
        closedir(dir);
    return n;
}

static int threads_here(void)
{
    return threads(getpid(), 0, NULL);
}

static bool helper_has_begun(void)
{
    return plumb_helper_do(PLUMB_JOB_RSS, LONG_NS);
}

/* ---- Who has one ----------------------------------------------------------------------------- */

static int role_alone(void)
{
    span();
    {
        PLUMB_STAGE(stage, "stage");
    }
    ROLE_NEEDS(threads_here() == 1);
    return plumb_stop(NULL) == PLUMB_OK ? 3 : 4;
}

static int role_with_one(void)
{
    span();
    ROLE_NEEDS(threads_here() == 2);
    return 3;
}

static int role_limited(void)
{
    const struct rlimit limit = {UINT64_C(1023) << 20, UINT64_C(1023) << 20};
    ROLE_NEEDS(setrlimit(RLIMIT_AS, &limit) == 0);
    child_exec("alone", NULL);
    return 4;
}

static void handler(int sig)
{
    (void)sig;
    span();
}

/* The child's first span is in a handler, its second is not. */
static int in_child(int flags)
{
    static char stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    ROLE_NEEDS(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    ROLE_NEEDS(threads_here() == 1);
    span();
    ROLE_NEEDS(threads_here() == 2);
    return 5;
}

static int role_forks(void)
{
    const int flags[] = {0, SA_ONSTACK | SA_NODEFER};
    span();
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        ROLE_NEEDS(pid >= 0);
        if (pid == 0)
            exit(in_child(flags[i]));
        child_needs_exit(pid, 5);
    }
    return 3;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static int role_opens(void)
{
    char path[64];
    pid_t helper;
    int fd;
    span();
    ROLE_NEEDS(helper_has_begun() && threads(getpid(), getpid(), &helper) == 2);
    ROLE_NEEDS((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && (fd = dup2(fd, 200)) == 200);
    snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", (int)getpid(), fd);
    ROLE_NEEDS(exists(path));
    snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", (int)helper, fd);
    ROLE_NEEDS(!exists(path));
    return 3;
}

/* ---- While it waits -------------------------------------------------------------------------- */

/* The end of the run needs the lock that this thread has. After the first answer it is waiting. */
static int role_holds_the_lock(void)
{
    span();
    plumb_life_lock();
    plumb_helper_ask(PLUMB_JOB_STOP);
    for (int i = 0; i < 3; i++)
        ROLE_NEEDS(plumb_helper_do(PLUMB_JOB_RSS, LONG_NS));
    plumb_life_unlock();
    return 3;
}

/* The signal comes while this thread has the lock; it ends the process when the lock is free. */
static int role_is_terminated(void)
{
    span();
    plumb_lock();
    raise(SIGTERM);
    child_ready();
    plumb_unlock();
    return 4;
}

/* ---- The resident set ------------------------------------------------------------------------ */

static uint64_t reads_so_far(void)
{
    unsigned long long n = 0;
    char line[256];
    FILE *f = fopen("/proc/self/io", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "syscr: %llu", &n) == 1)
            break;
    if (f)
        fclose(f);
    return n;
}

static int role_reads(void)
{
    uint64_t reads, begin, ns;
    span();
    reads = reads_so_far();
    if (reads == 0)
        return 77;
    begin = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < STAGES; i++) {
        PLUMB_STAGE(stage, "stage");
    }
    ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) - begin;
    reads = reads_so_far() - reads;
    if (reads < 2 || reads > ns / FRESH_NS + 10) {
        fprintf(stderr, "%" PRIu64 " reads in %" PRIu64 " ns\n", reads, ns);
        return 4;
    }
    return 3;
}

static void spin(uint64_t ns)
{
    uint64_t until = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + ns;
    while (plumb_clock_gettime_ns(CLOCK_MONOTONIC) < until)
        continue;
}

static uint64_t waits_so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nvcsw;
}

/* Each stage asks for a new reading, but no helper answers: the test has stopped it. */
static int role_is_not_answered(void)
{
    uint64_t waits, begin, ns;
    span();
    ROLE_NEEDS(helper_has_begun());
    child_ready();
    child_wait_go();
    waits = waits_so_far();
    begin = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < SLOW_STAGES; i++) {
        PLUMB_STAGE(stage, "stage");
        spin(2 * FRESH_NS);
    }
    ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) - begin;
    waits = waits_so_far() - waits;
    child_ready();
    child_wait_go();
    /* An eighth, one wait before it counts, one that goes beyond, and waits for other things. */
    if (waits < 1 || waits * RSS_WAIT_NS > ns / 8 + 10 * RSS_WAIT_NS) {
        fprintf(stderr, "%" PRIu64 " waits in %" PRIu64 " ns\n", waits, ns);
        return 4;
    }
    return 3;
}

static const struct role roles[] = {{"alone", role_alone},
                                    {"with_one", role_with_one},
                                    {"limited", role_limited},
                                    {"forks", role_forks},
                                    {"opens", role_opens},
                                    {"holds_the_lock", role_holds_the_lock},
                                    {"is_terminated", role_is_terminated},
                                    {"reads", role_reads},
                                    {"is_not_answered", role_is_not_answered},
                                    {NULL, NULL}};

/* ---- The tests ------------------------------------------------------------------------------- */

static const char *const off[] = {"PLUMB_HELPER=off", NULL};

/* Plays a role, which ends with 3, and loads its run. */
static void plays(const char *role, const char *const *settings, struct plumb_load *run)
{
    struct child c;
    int status = child_run(&c, role, role, settings);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: the kernel does not count the reads of a thread\n");
        skip();
    }
    assert_exited(&c, status, 3);
    load_run(run, role);
    assert_int_equal(run->state, PLUMB_LOAD_ENDED);
}

static void a_process_has_one(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("with_one", NULL, &run);
    plumb_timing_fini(&run.timing);
}

static void it_can_be_switched_off(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("alone", off, &run);
    assert_int_equal(count_of(&run.timing, "work"), 1);
    assert_int_equal(count_of(&run.timing, "stage"), 1);
    plumb_timing_fini(&run.timing);
}

static void there_is_none_below_a_gibibyte_of_addresses(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("limited", NULL, &run);
    assert_int_equal(count_of(&run.timing, "work"), 1);
    plumb_timing_fini(&run.timing);
}

static void a_child_gets_one_with_its_first_span_outside_of_a_handler(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("forks", NULL, &run);
    plumb_timing_fini(&run.timing);
}

static void it_does_not_have_the_descriptors_of_the_program(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("opens", NULL, &run);
    plumb_timing_fini(&run.timing);
}

static void it_does_what_is_urgent_while_it_waits_for_a_lock(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("holds_the_lock", NULL, &run);
    plumb_timing_fini(&run.timing);
}

static void a_signal_that_hits_the_holder_of_the_lock_ends_the_run_afterwards(void **state)
{
    struct child c = child_start("is_terminated", "is_terminated", NULL);
    struct plumb_load run;
    (void)state;
    child_await_ready(&c);
    assert_signaled(&c, child_end(&c), SIGTERM);
    load_run(&run, "is_terminated");
    assert_int_equal(run.state, PLUMB_LOAD_ENDED);
    assert_int_equal(count_of(&run.timing, "work"), 1);
    plumb_timing_fini(&run.timing);
}

static void a_reading_of_the_resident_set_serves_for_a_tenth_of_a_millisecond(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("reads", off, &run);
    plumb_timing_fini(&run.timing);
}

static void the_program_waits_for_readings_an_eighth_of_its_time(void **state)
{
    struct child c = child_start("is_not_answered", "is_not_answered", NULL);
    pid_t helper;
    (void)state;
    child_await_ready(&c);
    assert_int_equal(threads(c.pid, c.pid, &helper), 2);
    if (ptrace(PTRACE_SEIZE, helper, NULL, NULL) < 0) {
        child_go(&c);
        child_await_ready(&c);
        child_go(&c);
        child_end(&c);
        print_message("skipped: this machine lets no process be traced\n");
        skip();
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, helper, NULL, NULL), 0);
    assert_int_equal(waitpid(helper, NULL, __WALL), helper);
    child_go(&c);
    child_await_ready(&c);
    assert_int_equal(ptrace(PTRACE_DETACH, helper, NULL, NULL), 0);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_one),
        cmocka_unit_test(it_can_be_switched_off),
        cmocka_unit_test(there_is_none_below_a_gibibyte_of_addresses),
        cmocka_unit_test(a_child_gets_one_with_its_first_span_outside_of_a_handler),
        cmocka_unit_test(it_does_not_have_the_descriptors_of_the_program),
        cmocka_unit_test(it_does_what_is_urgent_while_it_waits_for_a_lock),
        cmocka_unit_test(a_signal_that_hits_the_holder_of_the_lock_ends_the_run_afterwards),
        cmocka_unit_test(a_reading_of_the_resident_set_serves_for_a_tenth_of_a_millisecond),
        cmocka_unit_test(the_program_waits_for_readings_an_eighth_of_its_time),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

/* labels: plain
 * Processes that may do less than others: with a filter of system calls that kills, without /proc
 * and /sys, and those that want a user namespace. docs/security.md says what holds in them.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "runtime/child.h"

enum { CANNOT = 77 };

static void spans(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("work");
    }
}

static void stages(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_STAGE(stage, "stage");
        void *volatile block = malloc(100000);
        free(block);
    }
}

/* ---- A filter that kills ----------------------------------------------------------------------
 */

/* The system calls that docs/security.md lists, and those of this program itself. */
static const int while_recording[] = {
    SYS_read,      SYS_pread64,       SYS_pwrite64,        SYS_write,
    SYS_openat,    SYS_close,         SYS_lseek,           SYS_newfstatat,
    SYS_fstat,     SYS_statx,         SYS_fallocate,       SYS_mmap,
    SYS_munmap,    SYS_mprotect,      SYS_madvise,         SYS_futex,
    SYS_nanosleep, SYS_clock_gettime, SYS_clock_nanosleep, SYS_membarrier,
    SYS_getpid,    SYS_gettid,        SYS_sched_yield,     SYS_rt_sigprocmask,
    SYS_brk,       SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_getrlimit,
    SYS_prlimit64, SYS_exit_group,    SYS_getrusage,       SYS_rt_sigreturn,
};
/* To end the run as well. */
static const int to_end[] = {
    SYS_unlink,
    SYS_unlinkat,
    SYS_sched_getaffinity,
    SYS_rename,
    SYS_renameat,
    SYS_fcntl,
    SYS_exit,
    SYS_fstatfs,
    SYS_access,
    SYS_faccessat,
    SYS_rt_sigaction,
    SYS_ioctl,
    SYS_getsid,
    SYS_getpeername,
    SYS_geteuid,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_getdents64,
    SYS_readlink,
};

static void allow(struct sock_filter *filter, unsigned *n, const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        filter[(*n)++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[(*n)++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
}

/* Of all threads, plumb's with them. */
static bool set(struct sock_filter *filter, unsigned n)
{
    struct sock_fprog program = {(unsigned short)n, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static bool filter_now(bool ending)
{
    struct sock_filter filter[200];
    unsigned n = 0;
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    allow(filter, &n, while_recording, sizeof while_recording / sizeof *while_recording);
    if (ending)
        allow(filter, &n, to_end, sizeof to_end / sizeof *to_end);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    return set(filter, n);
}

/* So long that plumb's thread has done all that it does in turns. */
static void a_while(void)
{
    const struct timespec rest = {1, 300000000};
    nanosleep(&rest, NULL);
}

static int role_filtered(void)
{
    spans(10);
    stages(10);
    if (!filter_now(false))
        return CANNOT;
    a_while();
    spans(1000);
    stages(10);
    _exit(3); /* the test recovers the run */
}

static int role_filtered_to_the_end(void)
{
    spans(10);
    stages(10);
    if (!filter_now(true))
        return CANNOT;
    spans(1000);
    stages(10);
    return plumb_stop(NULL) == PLUMB_OK ? 3 : 4;
}

/* ---- A filter that refuses --------------------------------------------------------------------
 */

/* One call after another, from before the run opens until after its end. */
static int role_refused(void)
{
    const int call = atoi(getenv("TEST_CALL"));
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (!set(filter, sizeof filter / sizeof *filter))
        return CANNOT;
    spans(1010);
    stages(20);
    plumb_stop(NULL);
    return 3;
}

/* ---- Without /proc and /sys -------------------------------------------------------------------
 */

static int role_bare(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/proc", "tmpfs", MS_RDONLY, NULL) < 0 ||
        mount("none", "/sys", "tmpfs", MS_RDONLY, NULL) < 0)
        return CANNOT;
    ROLE_NEEDS(access("/proc/self", F_OK) < 0 && access("/sys/devices", F_OK) < 0);
    ROLE_NEEDS(plumb_start(NULL, NULL) == PLUMB_OK);
    spans(1010);
    stages(20);
    return plumb_stop(NULL) == PLUMB_OK ? 3 : 4;
}

/* ---- A user namespace -------------------------------------------------------------------------
 */

/* The kernel gives one to processes of one thread alone. */
static int role_namespace(void)
{
    spans(10);
    if (getenv("PLUMB_RUN_DIR")) {
        ROLE_NEEDS(unshare(CLONE_NEWUSER) < 0 && errno == EINVAL);
        ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
    }
    return unshare(CLONE_NEWUSER) == 0 ? 3 : CANNOT;
}

static const struct role roles[] = {
    {"filtered", role_filtered},   {"filtered_to_the_end", role_filtered_to_the_end},
    {"refused", role_refused},     {"bare", role_bare},
    {"namespace", role_namespace}, {NULL, NULL}};

/* Plays a role and loads its run; skips where the machine does not let it. */
static void plays(const char *role, int state, struct plumb_load *run)
{
    static const char *const settings[] = {"PLUMB_QUIET=1", NULL};
    struct child c;
    int status = child_run(&c, role, role, settings);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        print_message("skipped: this machine lets no process be restricted so\n");
        skip();
    }
    assert_exited(&c, status, 3);
    load_run(run, in_place(role));
    assert_int_equal(run->state, state);
    assert_int_equal(count_of(&run->timing, "work"), 1010);
    assert_int_equal(count_of(&run->timing, "stage"), 20);
    plumb_timing_fini(&run->timing);
}

static void it_records_under_a_filter_that_kills(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("filtered", PLUMB_LOAD_RECOVERED, &run);
}

static void it_ends_a_run_under_a_filter_that_kills(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("filtered_to_the_end", PLUMB_LOAD_ENDED, &run);
}

static void a_call_that_is_refused_hurts_nobody(void **state)
{
    static const int calls[] = {
        SYS_openat,    SYS_mkdir,
        SYS_getrusage, SYS_membarrier,
        SYS_fallocate, SYS_statx,
        SYS_ftruncate, SYS_newfstatat,
        SYS_madvise,   SYS_clone3,
        SYS_clone,     SYS_rename,
        SYS_renameat,  SYS_unlink,
        SYS_prctl,     SYS_fcntl,
        SYS_write,     SYS_pread64,
        SYS_pwrite64,  SYS_readlink,
        SYS_uname,     SYS_sched_getaffinity,
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char number[32], dir[32];
        const char *const settings[] = {"PLUMB_TRACE=1", number, NULL};
        struct child c;
        int status;
        snprintf(number, sizeof number, "TEST_CALL=%d", calls[i]);
        snprintf(dir, sizeof dir, "refused-%d", calls[i]);
        status = child_run(&c, "refused", dir, settings);
        if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
            print_message("skipped: this machine lets no process be restricted so\n");
            skip();
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
            print_message("system call %d:\n", calls[i]);
        assert_exited(&c, status, 3);
    }
}

static void it_records_without_proc_and_sys(void **state)
{
    struct plumb_load run;
    (void)state;
    plays("bare", PLUMB_LOAD_ENDED, &run);
}

static void a_user_namespace_waits_for_the_end_of_the_run(void **state)
{
    struct child c;
    int status = child_run(&c, "namespace", NULL, NULL);
    (void)state;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        print_message("skipped: no user namespaces here\n");
        skip();
    }
    assert_exited(&c, status, 3);
    assert_exited(&c, child_run(&c, "namespace", "namespace", NULL), 3);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_records_under_a_filter_that_kills),
        cmocka_unit_test(it_ends_a_run_under_a_filter_that_kills),
        cmocka_unit_test(a_call_that_is_refused_hurts_nobody),
        cmocka_unit_test(it_records_without_proc_and_sys),
        cmocka_unit_test(a_user_namespace_waits_for_the_end_of_the_run),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

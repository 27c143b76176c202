/* TF-38: the time of an operation by a clock that the caller gives, and the peaks of its devices,
 * each device once; the work may be spread over threads. Also the environment of the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record_memory.h"

#define COMMIT_A "0123456789abcdef0123456789abcdef01234567"
#define COMMIT_B "89abcdef0123456789abcdef0123456789abcdef"

static double times[2];
static int reading;

static double next_time(void *arg)
{
    assert_ptr_equal(arg, times);
    return times[reading++];
}

static plumb_stopwatch_options options(void)
{
    plumb_stopwatch_options o = {.size = sizeof o};
    o.now_s = next_time;
    o.arg = times;
    reading = 0;
    times[0] = 10.0;
    times[1] = 12.5;
    return o;
}

static void an_injected_clock_gives_exact_seconds(void **state)
{
    plumb_stopwatch_options o = options();
    plumb_stopwatch_result result = {.size = sizeof result};
    plumb_stopwatch *run;
    (void)state;
    assert_int_equal(plumb_stopwatch_start(&run, &o, NULL), PLUMB_OK);
    assert_int_equal(plumb_stopwatch_stop(&result, run, NULL), PLUMB_OK);
    assert_true(result.seconds == 2.5);
    assert_int_equal(result.device_count, 0);
}

static void *allocate(void *arg)
{
    (void)arg;
    mem_alloc(2, 2000);
    mem_free(2);
    return NULL;
}

static void peaks_of_each_device_once(void **state)
{
    static const char *const devices[] = {"cuda:0", "cuda:1", "cuda:0", "xpu:0"};
    plumb_stopwatch_options o = options();
    plumb_stopwatch_result result = {.size = sizeof result};
    plumb_stopwatch *run;
    pthread_t thread;
    (void)state;
    mem_alloc(1, 5000);
    mem_free(1); /* before: not its peak */
    mem_alloc(1, 100);
    o.devices = devices;
    o.device_count = 4;
    o.capture_peak_memory = 1;
    assert_int_equal(plumb_stopwatch_start(&run, &o, NULL), PLUMB_OK);
    plumb_mem_reserve("cuda:0", "caching", NULL, 4096);
    assert_int_equal(pthread_create(&thread, NULL, allocate, NULL), 0);
    pthread_join(thread, NULL);
    plumb_memory_reset_peak(); /* belongs to another measurement */
    assert_int_equal(plumb_stopwatch_stop(&result, run, NULL), PLUMB_OK);
    assert_int_equal(result.device_count, 3);
    assert_string_equal(result.memory[0].device, "cuda:0");
    assert_int_equal(result.memory[0].peak_allocated_bytes, 2100);
    assert_int_equal(result.memory[0].peak_reserved_bytes, 4096);
    assert_string_equal(result.memory[1].device, "cuda:1");
    assert_int_equal(result.memory[1].peak_allocated_bytes, 0);
    assert_string_equal(result.memory[2].device, "xpu:0");
}

static void measures_without_a_recording(void **state)
{
    plumb_stopwatch_options o = options();
    plumb_stopwatch_result result = {.size = sizeof result};
    plumb_stopwatch *run;
    (void)state;
    o.capture_peak_memory = 1;
    assert_false(plumb_is_recording());
    assert_int_equal(plumb_stopwatch_start(&run, &o, NULL), PLUMB_OK);
    assert_int_equal(plumb_stopwatch_stop(&result, run, NULL), PLUMB_OK);
    assert_true(result.seconds == 2.5);
}

static void bad_arguments_are_refused_with_a_reason(void **state)
{
    const char *const unnamed[] = {NULL};
    plumb_stopwatch_options o = options();
    plumb_stopwatch *run;
    plumb_error err;
    (void)state;
    o.devices = unnamed;
    o.device_count = 1;
    assert_int_equal(plumb_stopwatch_start(&run, &o, &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, "device"));
    assert_null(run);
    o.devices = NULL;
    o.device_count = 2;
    assert_int_equal(plumb_stopwatch_start(&run, &o, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message,
                        "plumb_stopwatch_start: devices is NULL, but device_count is 2");
    assert_null(run);
    assert_true(plumb_stopwatch_stop(NULL, NULL, &err) < 0);
}

/* ---- The environment ------------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_folders(const char *const *paths)
{
    for (; *paths; paths++)
        assert_int_equal(mkdir(*paths, 0700), 0);
}

/* Returns the commit that the call reports with `folder` as working directory. */
static const char *commit_in(const char *folder)
{
    static plumb_environment e;
    char here[1024];
    plumb_error err = {0, ""};
    memset(&e, 0, sizeof e);
    e.size = sizeof e;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(plumb_environment_read(&e, NULL, NULL, &err), PLUMB_OK);
    assert_int_equal(chdir(here), 0);
    return e.git_commit;
}

static void the_commit_of_the_working_directory_is_read(void **state)
{
    static const char *const folders[] = {
        "git", "git/.git", "git/.git/refs", "git/.git/refs/heads", "git/src", "git/src/deep", NULL};
    (void)state;
    make_folders(folders);
    put("git/.git/HEAD", COMMIT_A "\n");
    assert_string_equal(commit_in("git/src/deep"), COMMIT_A);
    put("git/.git/HEAD", "ref: refs/heads/main\n");
    put("git/.git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" COMMIT_A
                                " refs/heads/mainly\n" COMMIT_B " refs/heads/main\n");
    assert_string_equal(commit_in("git"), COMMIT_B);
    put("git/.git/refs/heads/main", COMMIT_A "\n"); /* newer than the packed one */
    assert_string_equal(commit_in("git"), COMMIT_A);
}

static void a_worktree_has_a_commit_of_its_own(void **state)
{
    static const char *const folders[] = {"main",
                                          "main/.git",
                                          "main/.git/refs",
                                          "main/.git/refs/heads",
                                          "main/.git/worktrees",
                                          "main/.git/worktrees/tree",
                                          "tree",
                                          NULL};
    (void)state;
    make_folders(folders);
    put("main/.git/HEAD", COMMIT_A "\n");
    put("main/.git/refs/heads/topic", COMMIT_B "\n");
    put("main/.git/worktrees/tree/HEAD", "ref: refs/heads/topic\n");
    put("main/.git/worktrees/tree/commondir", "../..\n");
    put("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    assert_string_equal(commit_in("main"), COMMIT_A);
    assert_string_equal(commit_in("tree"), COMMIT_B);
}

/* Such a repository gives no commit; that of the program may stand in. */
static void a_broken_repository_gives_no_commit(void **state)
{
    static const char *const folders[] = {"odd", "odd/.git", NULL};
    (void)state;
    make_folders(folders);
    put("odd/secret", COMMIT_A "\n");
    put("odd/.git/HEAD", "ref: refs/../../secret\n");
    assert_string_not_equal(commit_in("odd"), COMMIT_A);
    put("odd/.git/HEAD", COMMIT_A "0\n");
    assert_int_not_equal(strlen(commit_in("odd")), 41);
    put("odd/.git/HEAD", "ref: refs/heads/main\n"); /* not born yet */
    put("odd/.git/packed-refs", "not a commit refs/heads/main\n");
    assert_null(strchr(commit_in("odd"), ' '));
    assert_int_equal(unlink("odd/.git/HEAD"), 0);
    assert_int_equal(mkfifo("odd/.git/HEAD", 0600), 0); /* it never has a writer */
    assert_string_not_equal(commit_in("odd"), COMMIT_A);
}

static void the_environment_is_known_without_a_recording(void **state)
{
    plumb_environment e = {.size = sizeof e};
    char expected[256];
    struct utsname u;
    (void)state;
    assert_false(plumb_is_recording());
    assert_int_equal(plumb_environment_read(&e, "pytorch", "2.4.0", NULL), PLUMB_OK);
    assert_int_equal(e.size, sizeof e);
    assert_int_equal(uname(&u), 0);
    snprintf(expected, sizeof expected, "%s %s %s", u.sysname, u.release, u.machine);
    assert_string_equal(e.platform, expected);
    assert_string_equal(e.plumb, PLUMB_VERSION);
    assert_non_null(strstr(e.compiler, __VERSION__));
    assert_string_equal(e.framework, "pytorch");
    assert_string_equal(e.framework_version, "2.4.0");
    assert_in_range(e.gpu_count, 0, PLUMB_ENVIRONMENT_GPUS);
    if (access("/proc/driver/nvidia/version", F_OK) < 0) {
        assert_string_equal(e.nvidia_driver, "");
        assert_int_equal(e.gpu_count, 0);
    }
}

static void an_older_struct_is_filled_as_far_as_it_goes(void **state)
{
    plumb_environment e;
    (void)state;
    memset(&e, 'x', sizeof e);
    e.size = offsetof(plumb_environment, libc);
    assert_int_equal(plumb_environment_read(&e, NULL, NULL, NULL), PLUMB_OK);
    assert_int_equal(strncmp(e.platform, "Linux ", 6), 0);
    assert_int_equal(e.libc[0], 'x');
}

static void a_report_has_the_environment(void **state)
{
    static const char *const folders[] = {"work", "work/.git", NULL};
    plumb_environment e = {.size = sizeof e};
    struct plumb_timing t;
    (void)state;
    make_folders(folders);
    put("work/.git/HEAD", COMMIT_B "\n");
    assert_int_equal(chdir("work"), 0);
    record_start();
    assert_int_equal(plumb_environment_read(&e, "onnxruntime", NULL, NULL), PLUMB_OK);
    record_finish(&t);
    assert_int_equal(chdir(".."), 0);
    assert_string_equal(t.kernel, e.platform);
    assert_string_equal(t.plumb_version, PLUMB_VERSION);
    assert_string_equal(t.runtime.compiler, e.compiler);
    assert_string_equal(t.runtime.git_commit, COMMIT_B);
    assert_string_equal(t.runtime.framework, "onnxruntime");
    assert_null(t.runtime.framework_version);
    if (e.libc[0])
        assert_string_equal(t.runtime.libc, e.libc);
    if (!e.nvidia_driver[0])
        assert_null(t.runtime.nvidia_driver);
    assert_int_equal(t.runtime.gpu_count, e.gpu_count);
    for (size_t i = 0; i < t.runtime.gpu_count; i++)
        assert_string_equal(t.runtime.gpus[i], e.gpus[i]);
    plumb_timing_fini(&t);
}

static void a_framework_that_does_not_fit_is_refused(void **state)
{
    plumb_environment e = {.size = sizeof e};
    char name[65];
    plumb_error err;
    (void)state;
    memset(name, 'n', sizeof name);
    name[64] = '\0';
    assert_int_equal(plumb_environment_read(&e, name, NULL, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "plumb_environment_read: framework is longer than 63 bytes");
    e.size = 0;
    assert_int_equal(plumb_environment_read(&e, NULL, NULL, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_environment_read(NULL, NULL, NULL, &err), PLUMB_ERR_ARG);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(an_injected_clock_gives_exact_seconds),
        IN_A_RUN(peaks_of_each_device_once),
        cmocka_unit_test(measures_without_a_recording),
        IN_A_RUN(bad_arguments_are_refused_with_a_reason),
        cmocka_unit_test(the_commit_of_the_working_directory_is_read),
        cmocka_unit_test(a_worktree_has_a_commit_of_its_own),
        cmocka_unit_test(a_broken_repository_gives_no_commit),
        cmocka_unit_test(the_environment_is_known_without_a_recording),
        cmocka_unit_test(an_older_struct_is_filled_as_far_as_it_goes),
        cmocka_unit_test(a_report_has_the_environment),
        cmocka_unit_test(a_framework_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

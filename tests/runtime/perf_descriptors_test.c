/* labels: notsan
 * The collector `perf` where no descriptor is left: for the program it opens none, and a thread
 * whose events its own thread cannot open is counted without them.
 *
 * (ThreadSanitizer takes equal numbers of two tables of descriptors for one.) */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <plumb/collector.h>

#include "base/process/perf.h"
#include "record.h"

enum { DESCRIPTORS = 64, THREADS = 3 };

static plumb_collector_status status(void)
{
    plumb_collector_status s;
    assert_int_equal(plumb_collector_status_get(&s, plumb_collector_find("perf")), PLUMB_OK);
    return s;
}

static void start(const char *collect)
{
    plumb_options o = plumb_options_default();
    o.collect = collect;
    record_start_with(o);
    assert_int_equal(status().state, PLUMB_COLLECTOR_RUNNING);
}

static void *work(void *arg)
{
    for (int i = 0; i < 10; i++) {
        PLUMB_STAGE(s, "stage");
    }
    return arg;
}

static void set_limit(rlim_t n)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void it_works_where_the_program_has_no_descriptor_left(void **state)
{
    int first = -1;
    int last = -1;
    (void)state;
    set_limit(DESCRIPTORS);
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0; last = fd)
        first = first < 0 ? fd : first;
    start("perf");
    work(NULL);
    assert_int_equal(open("/dev/null", O_RDONLY), -1);
    record_stop();
    for (int fd = first; fd <= last; fd++)
        close(fd);
    assert_null(strstr(status().why, "could not be opened"));
}

/* Threads live at the same time, so that each needs an event of its own. */
static void a_thread_without_events_is_counted_without_them(void **state)
{
    pthread_t thread[THREADS];
    struct plumb_perf_event event;
    int refused = plumb_perf_open(&event, PLUMB_PERF_MIGRATIONS, 0, NULL);
    (void)state;
    plumb_perf_close(&event);
    if (refused) {
        print_message("skipped: the kernel lets this process open no counters\n");
        skip();
    }
    start("perf:migrations+minor_faults");
    set_limit(4); /* the collector's thread has 0 to 2 */
    work(NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    set_limit(DESCRIPTORS);
    record_stop();
    if (!strstr(status().why, "could not be opened: no descriptor is left"))
        fail_msg("%s", status().why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(it_works_where_the_program_has_no_descriptor_left, record_close),
        cmocka_unit_test_teardown(a_thread_without_events_is_counted_without_them, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

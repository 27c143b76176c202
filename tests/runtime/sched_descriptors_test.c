/* labels: notsan
 * The collector `sched` opens nothing among the program's descriptors: it works where the program
 * has none left.
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

#include "record.h"

enum { DESCRIPTORS = 64 };

static plumb_collector_status state_of_a_run(void)
{
    plumb_options o = plumb_options_default();
    plumb_collector_status s;
    o.collect = "sched";
    record_start_with(o);
    assert_int_equal(plumb_collector_status_get(&s, plumb_collector_find("sched")), PLUMB_OK);
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("x");
        usleep(1000);
    }
    record_stop();
    return s;
}

static void it_works_where_the_program_has_no_descriptor_left(void **state)
{
    struct rlimit limit;
    int first = -1;
    int last = -1;
    (void)state;
    if (state_of_a_run().state != PLUMB_COLLECTOR_RUNNING) {
        print_message("skipped: the kernel does not record context switches for this process\n");
        skip();
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = DESCRIPTORS;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0; last = fd)
        first = first < 0 ? fd : first;
    plumb_collector_status s = state_of_a_run();
    for (int fd = first; fd <= last; fd++)
        close(fd);
    if (s.state != PLUMB_COLLECTOR_RUNNING)
        fail_msg("%s", s.why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_works_where_the_program_has_no_descriptor_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Collectors of the list, in the child of a fork: their threads are gone there.
 * labels: plain
 * (The allocator of a sanitizer does not survive a fork while other threads run.) */
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include <plumb/fake.h>

#include "collect/list.h"

static void start_with(const char *collect)
{
    plumb_options o = plumb_options_default();
    o.collect = collect;
    record_start_with(o);
}

static void each_starts_in_a_forked_child(void **state)
{
    (void)state;
    for (size_t i = 0; plumb_collector_list[i]; i++) {
        const char *name = plumb_collector_list[i]->name;
        int status = -1;
        pid_t pid;
        start_with(name);
        pid = fork();
        if (pid == 0) {
            plumb_collector_status s;
            plumb_error err;
            plumb_options o = plumb_options_default();
            o.collect = name;
            o.quiet = PLUMB_ON;
            plumb_stop(NULL);
            if (plumb_start(&o, &err) < 0)
                _exit(2);
            plumb_collector_status_get(&s, plumb_collector_find(name));
            if (s.state != PLUMB_COLLECTOR_RUNNING && s.state != PLUMB_COLLECTOR_ABSENT)
                _exit(3);
            if (plumb_stop(&err) < 0)
                _exit(4);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        record_stop();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_starts_in_a_forked_child)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The end block's lines about a trace, as a user sees them on stderr. */
#include "summary/end_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stderr.h"

static char said[8192];

/* Of a run whose trace has so many bytes. */
static const char *end_block(uint64_t trace_bytes)
{
    struct plumb_timing t;
    plumb_timing_init(&t);
    t.trace.end = "complete";
    t.trace.bytes = trace_bytes;
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    assert_non_null(file);
    dup2(fileno(file), STDERR_FILENO);
    plumb_stderr_remember();
    plumb_end_block(&t, "runs/1", false);
    dup2(before, STDERR_FILENO);
    plumb_stderr_remember();
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    plumb_timing_fini(&t);
    return said;
}

static void a_trace_is_told_with_what_opens_it(void **state)
{
    (void)state;
    const char *text = end_block(50 * 1000 * 1000);
    assert_non_null(strstr(text, "runs/1/trace.pftrace (50.0 MB"));
    assert_non_null(strstr(text, "https://ui.perfetto.dev\n"));
    assert_non_null(strstr(text, "plumb: for other viewers: plumb export runs/1\n"));
    assert_null(strstr(text, "slow in a viewer"));
}

static void a_cost_that_was_not_measured_is_not_said_to_be_zero(void **state)
{
    (void)state;
    const char *text = end_block(0);
    assert_null(strstr(text, "0.0 ns"));
    assert_non_null(
        strstr(text, "; what a span costs was not measured in so short a run; 0.000 ms of"));
}

static void a_large_one_with_how_to_shrink_it(void **state)
{
    (void)state;
    assert_non_null(strstr(end_block(50 * 1000 * 1000 + 1), "PLUMB_TRACE_STEPS=10-12"));
}

static void without_a_trace_nothing_is_said_of_it(void **state)
{
    (void)state;
    assert_null(strstr(end_block(0), "export"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_told_with_what_opens_it),
        cmocka_unit_test(a_cost_that_was_not_measured_is_not_said_to_be_zero),
        cmocka_unit_test(a_large_one_with_how_to_shrink_it),
        cmocka_unit_test(without_a_trace_nothing_is_said_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of text.c: the likely cause that a comparison names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bench/view.h"

static bool names(const plumb_bench_result *r, double pipeline_ms, const char *cause)
{
    plumb_bench_facts facts = plumb_bench_facts_default();
    const struct plumb_bench_view view = {.result = r, .facts = &facts};
    struct plumb_buf out = {0};
    bool found;
    facts.stage = "denoise";
    facts.library = "lib.so";
    facts.pipeline_ms = pipeline_ms;
    facts.pipeline_count = 30;
    plumb_bench_text(&out, &view, false);
    plumb_buf_char(&out, '\0');
    found = strstr(out.data, cause) != NULL;
    plumb_buf_fini(&out);
    return found;
}

static void a_machine_that_was_seen_to_be_busy_is_the_cause(void **state)
{
    plumb_bench_result r = {.size = sizeof r, .runs = 30, .median_ms = 10, .warmups = 1};
    (void)state;
    assert_false(names(&r, 7, "Likely cause: a busy machine"));
    assert_true(names(&r, 20, "Likely cause: caches are warm alone"));
    r.preemptions = 57;
    assert_true(names(&r, 7, "Likely cause: a busy machine"));
    assert_true(names(&r, 20, "Likely cause: a busy machine, which was busier"));
    assert_false(names(&r, 10.1, "Likely cause"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_was_seen_to_be_busy_is_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Counts of a report belong to their names, also where two names have one hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "record_timing.h"

/* Both have 4eac0c95540867e4 by FNV-1a. */
static const char *const ONE = "8yn0iYCKYHlIj4-BwPqk", *const OTHER = "GReLUrM4wMqfg9yzV3KQ";

static const struct plumb_timing_count *count_of(const struct plumb_timing *t, const char *pipeline,
                                                 const char *name)
{
    for (size_t i = 0; i < t->count_count; i++)
        if (strcmp(t->counts[i].name, name) == 0 && strcmp(t->counts[i].pipeline, pipeline) == 0)
            return &t->counts[i];
    fail_msg("no count '%s' of pipeline '%s'", name, pipeline);
    return NULL;
}

static void add(const char *name, int64_t n)
{
    plumb_counter_add(name, n);
    PLUMB_STEP(3);
    plumb_counter_add(name, 10 * n);
    PLUMB_SPAN("work");
    plumb_counter_add(name, 100 * n);
}

static void names_of_one_hash_have_sums_of_their_own(void **state)
{
    struct plumb_timing t;
    (void)state;
    assert_int_equal(plumb_hash_text(ONE), plumb_hash_text(OTHER));
    record_start();
    add(ONE, 1);
    add(OTHER, 1000);
    record_finish(&t);
    assert_int_equal(t.count_count, 2);
    assert_int_equal(count_of(&t, t.pipeline, ONE)->total, 111);
    assert_int_equal(count_of(&t, t.pipeline, ONE)->events, 3);
    assert_int_equal(count_of(&t, t.pipeline, OTHER)->total, 111000);
    assert_int_equal(count_of(&t, t.pipeline, OTHER)->events, 3);
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(names_of_one_hash_have_sums_of_their_own, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

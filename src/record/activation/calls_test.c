/* Tests of calls.c: no number is given to one triple twice, and steps that are new begin
 * with 0, however many triples there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "record/activation/calls.h"

static struct plumb_act_calls calls;

static void expect(uint64_t label, int64_t step, uint64_t want)
{
    uint64_t got = plumb_act_calls_next(&calls, label, step);
    if (got != want)
        fail_msg("label %llu, step %lld: %llu, not %llu", (unsigned long long)label,
                 (long long)step, (unsigned long long)got, (unsigned long long)want);
}

/* Three labels, so that the maps do not fill up between two steps. */
static void each_new_step_counts_from_0(void **state)
{
    (void)state;
    plumb_act_calls_clear(&calls);
    for (int64_t step = 0; step < 100000; step++)
        for (uint64_t call = 0; call < 2; call++)
            for (uint64_t label = 1; label <= 3; label++)
                expect(label, step, call);
    /* All steps have had two calls, so even those that were forgotten go on exactly. */
    expect(1, 99999, 2);
    expect(1, 0, 2);
    expect(1, 0, 3);
    expect(1, -1, 0);
    expect(1, -5, 1);
    plumb_act_calls_clear(&calls);
    expect(1, 0, 0);
}

/* Against an array of what was given last; steps come back and labels come in the middle of steps.
 */
static void nothing_is_given_twice(void **state)
{
    enum { LABELS = 700, STEPS = 500, ROUNDS = 1500000 };
    int64_t *last = malloc(sizeof *last * LABELS * STEPS);
    uint64_t random = 7;
    uint64_t jumps = 0;
    (void)state;
    assert_non_null(last);
    memset(last, 0xff, sizeof *last * LABELS * STEPS);
    plumb_act_calls_clear(&calls);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t label = random_next(&random) % LABELS;
        int64_t step = (int64_t)(random_next(&random) % STEPS) - 1;
        int64_t *before = &last[label * STEPS + (uint64_t)(step + 1)];
        int64_t n = (int64_t)plumb_act_calls_next(&calls, label + 1, step);
        if (n <= *before)
            fail_msg("label %llu, step %lld: %lld again", (unsigned long long)label,
                     (long long)step, (long long)n);
        jumps += n > *before + 1;
        *before = n;
    }
    assert_in_range(jumps, 1, ROUNDS); /* the test went beyond what is remembered */
    assert_in_range(calls.recent.counts.capacity + calls.before.counts.capacity, 1, 262144);
    free(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_new_step_counts_from_0),
        cmocka_unit_test(nothing_is_given_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

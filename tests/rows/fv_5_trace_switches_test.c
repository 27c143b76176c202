/* FV-5: shapes, memory, FLOPs and stacks of a trace are a switch each, off at first; each adds its
 * own data and nothing else, and `false`, `no` and nothing mean off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include <cmocka.h>

#include "record_timing.h"
#include "record_traced.h"

/* Whether a trace with one more switch on has something in it that it else has not. */
static bool told_with(plumb_options o, const char *what)
{
    struct trace_read t;
    bool says;
    record_start_with(o);
    {
        PLUMB_STAGE(stage, "encode");
        plumb_stage_input_value(stage, "n", plumb_value_i64(42));
        plumb_arg_i64(stage, "flops", 1000);
        plumb_mem_alloc("cuda:0", "torch", &t, 4096);
        plumb_mem_free("cuda:0", "torch", &t, 4096);
    }
    traced_finish(&t);
    says = trace_says(&t, what);
    trace_fini(&t);
    return says;
}

static void each_switch_adds_exactly_its_data(void **state)
{
    static const char *const marks[] = {"input.n=42", "name=memory cuda:0 torch allocated",
                                        "flops=1000", "stack[0]="};
    (void)state;
    for (size_t on = 0; on < 5; on++)
        for (size_t looked = 0; looked < 4; looked++) {
            plumb_options o = traced_options();
            o.trace_shapes = on == 0 ? PLUMB_ON : PLUMB_DEFAULT;
            o.trace_memory = on == 1 ? PLUMB_ON : PLUMB_DEFAULT;
            o.trace_flops = on == 2 ? PLUMB_ON : PLUMB_DEFAULT;
            o.trace_stack = on == 3 ? PLUMB_ON : PLUMB_DEFAULT;
            if (told_with(o, marks[looked]) != (on == looked))
                fail_msg("switch %zu, '%s'", on, marks[looked]);
        }
    plumb_options o = traced_options();
    o.trace_flops = PLUMB_ON;
    assert_true(told_with(o, "flop_per_s="));
}

static void words_that_mean_off_are_off(void **state)
{
    static const char *const off[] = {"0", "false", "no", "off", ""};
    (void)state;
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        setenv("PLUMB_TRACE_SHAPES", off[i], 1);
        assert_false(told_with(traced_options(), "input.n=42"));
    }
    setenv("PLUMB_TRACE_SHAPES", "yes", 1);
    assert_true(told_with(traced_options(), "input.n=42"));
    unsetenv("PLUMB_TRACE_SHAPES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_switch_adds_exactly_its_data),
                                       cmocka_unit_test(words_that_mean_off_are_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

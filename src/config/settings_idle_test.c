/* A setting without effect is reported together with what is missing; one with an effect is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/settings.h"

/* "VARIABLE why: cure" of each, in lines. */
static const char *idle_with(const char *const *environment)
{
    static char text[4096];
    struct plumb_settings s;
    struct plumb_idle idle;
    size_t n = 0;
    plumb_settings_default(&s);
    assert_int_equal(plumb_settings_from_env(&s, (char *const *)(uintptr_t)environment, NULL, NULL),
                     0);
    text[0] = '\0';
    for (size_t i = 0; plumb_settings_idle(&s, i, &idle); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s: %s\n", idle.variable, idle.why,
                              idle.cure);
    return text;
}

static void the_defaults_are_no_wishes(void **state)
{
    (void)state;
    assert_string_equal(idle_with((const char *[]){NULL}), "");
    assert_string_equal(
        idle_with((const char *[]){"PLUMB_ACTIVATIONS_STATS=abs_mean,sum", "PLUMB_KEEP_IF=", NULL}),
        "");
}

static void a_trace_that_is_missing_is_named(void **state)
{
    (void)state;
    assert_string_equal(
        idle_with((const char *[]){"PLUMB=1", "PLUMB_KEEP_IF=x>5ms", "PLUMB_TRACE_STEPS=1", NULL}),
        "PLUMB_KEEP_IF without a trace that is kept in a ring: PLUMB_TRACE=1 "
        "PLUMB_TRACE_MODE=ring\n"
        "PLUMB_TRACE_STEPS without a trace: PLUMB_TRACE=1\n");
    assert_string_equal(
        idle_with((const char *[]){"PLUMB_KEEP_SIGNAL=USR2", "PLUMB_TRACE=1", NULL}),
        "PLUMB_KEEP_SIGNAL because the trace is not kept in a ring: "
        "PLUMB_TRACE_MODE=ring\n");
    assert_string_equal(
        idle_with((const char *[]){"PLUMB_KEEP_SIGNAL=USR2", "PLUMB_TRACE_MODE=ring", NULL}),
        "PLUMB_KEEP_SIGNAL without a trace: PLUMB_TRACE=1\n"
        "PLUMB_TRACE_MODE without a trace: PLUMB_TRACE=1\n");
}

static void what_makes_a_trace_is_enough(void **state)
{
    static const char *const makers[] = {"PLUMB_TRACE=1", "PLUMB_REGIONS=*", "PLUMB_TRACE_NODES=x"};
    (void)state;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        assert_string_equal(
            idle_with((const char *[]){makers[i], "PLUMB_KEEP_IF=x>5ms", "PLUMB_TRACE_MODE=ring",
                                       "PLUMB_TRACE_SHAPES=1", "PLUMB_TRACE_STEPS=1", NULL}),
            "");
}

static void activations_that_are_missing_are_named(void **state)
{
    static const char *const settings[] = {
        "PLUMB_ACTIVATIONS_LAYERS=a", "PLUMB_ACTIVATIONS_STATS=min", "PLUMB_ACTIVATIONS_STEPS=1",
        "PLUMB_ACTIVATIONS_OUTPUT=x", "PLUMB_ACTIVATIONS_APPEND=1",  "PLUMB_ACTIVATIONS_QUEUE=drop",
        "PLUMB_ACTIVATIONS_DUMP=a"};
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char want[256];
        snprintf(want, sizeof want, "%.*s without activations: PLUMB_ACTIVATIONS=1\n",
                 (int)strcspn(settings[i], "="), settings[i]);
        assert_string_equal(idle_with((const char *[]){settings[i], NULL}), want);
        assert_string_equal(idle_with((const char *[]){settings[i], "PLUMB_ACTIVATIONS=1", NULL}),
                            "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_no_wishes),
        cmocka_unit_test(a_trace_that_is_missing_is_named),
        cmocka_unit_test(what_makes_a_trace_is_enough),
        cmocka_unit_test(activations_that_are_missing_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* step_list_test.c: lists of steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config/step_list.h"

static void steps_and_ranges_are_in_the_list(void **state)
{
    struct plumb_step_list l;
    (void)state;
    assert_int_equal(plumb_step_list_parse(&l, " 10 - 12 ,,40, 0", NULL), PLUMB_OK);
    assert_int_equal(l.count, 3);
    for (int64_t step = -5; step < 60; step++)
        assert_int_equal(plumb_step_list_has(&l, step),
                         step == 0 || (step >= 10 && step <= 12) || step == 40);
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const wrong[] = {"",      ",",   "x",    "1-",
                                        "-1",    "3-2", "1 2",  "1-x",
                                        "1-2-3", "1.5", "0x10", "9999999999999999999"};
    struct plumb_step_list l = {.count = 7};
    char many[1024] = "";
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        plumb_error err = {0, ""};
        assert_int_equal(plumb_step_list_parse(&l, wrong[i], &err), PLUMB_ERR_ARG);
        assert_string_not_equal(err.message, "");
        assert_int_equal(l.count, 7);
    }
    for (int i = 0; i < PLUMB_STEP_RANGES; i++)
        strcat(many, "1,");
    assert_int_equal(plumb_step_list_parse(&l, many, NULL), PLUMB_OK);
    strcat(many, "1");
    assert_int_equal(plumb_step_list_parse(&l, many, NULL), PLUMB_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_ranges_are_in_the_list),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

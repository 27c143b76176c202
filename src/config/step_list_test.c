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
    assert_int_equal(plumb_step_list_parse(&l, " 10 - 12 ,40\t, 0 , ", NULL), PLUMB_OK);
    assert_int_equal(l.count, 3);
    for (int64_t step = -5; step < 60; step++)
        assert_int_equal(plumb_step_list_has(&l, step),
                         step == 0 || (step >= 10 && step <= 12) || step == 40);
}

static void a_step_may_be_as_high_as_a_program_can_open(void **state)
{
    struct plumb_step_list l;
    (void)state;
    assert_int_equal(plumb_step_list_parse(&l, "7-9223372036854775807", NULL), PLUMB_OK);
    assert_true(plumb_step_list_has(&l, INT64_MAX));
    assert_true(plumb_step_list_has(&l, 7));
    assert_false(plumb_step_list_has(&l, 6));
}

static void a_blank_text_is_the_list_of_every_step(void **state)
{
    static const char *const blank[] = {"", " ", " \t "};
    (void)state;
    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++) {
        struct plumb_step_list l = {.count = 7};
        assert_int_equal(plumb_step_list_parse(&l, blank[i], NULL), PLUMB_OK);
        assert_int_equal(l.count, 0);
        assert_true(plumb_step_list_has(&l, -1));
        assert_true(plumb_step_list_has(&l, 40));
    }
}

static void other_texts_are_refused_with_the_bad_entry(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {",", "',' is not a list of steps, as 0,5-9: '' is not a step or a range of steps"},
        {",5", "'' is not a step"},
        {"0,,5", "'0,,5' is not a list of steps, as 0,5-9: '' is not a step or a range of steps"},
        {"1,,2", "'' is not a step"},
        {"1, ,2", "'' is not a step"},
        {"1,,", "'' is not a step"},
        {"1,x", "'x' is not a step"},
        {"1-", "'1-' is not a step"},
        {"-1", "'-1' is not a step"},
        {"1,3-2,7", "'3-2' goes backwards"},
        {"1 2", "'1 2' is not a step"},
        {"1-x", "'1-x' is not a step"},
        {"1-2-3", "'1-2-3' is not a step"},
        {"1.5", "'1.5' is not a step"},
        {"0x10", "'0x10' is not a step"},
        {"9223372036854775808", "'9223372036854775808' is not a step"},
        {"99999999999999999999", "'99999999999999999999' is not a step"},
    };
    struct plumb_step_list l = {.count = 7};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        plumb_error err = {0, ""};
        assert_int_equal(plumb_step_list_parse(&l, wrong[i].text, &err), PLUMB_ERR_ARG);
        if (!strstr(err.message, wrong[i].says))
            fail_msg("'%s': %s", wrong[i].text, err.message);
        assert_int_equal(l.count, 7);
    }
}

static void a_list_has_at_most_64_entries(void **state)
{
    struct plumb_step_list l;
    plumb_error err = {0, ""};
    char many[1024] = "";
    (void)state;
    for (int i = 0; i < PLUMB_STEP_RANGES; i++)
        strcat(many, "1,");
    assert_int_equal(plumb_step_list_parse(&l, many, NULL), PLUMB_OK);
    strcat(many, "2");
    assert_int_equal(plumb_step_list_parse(&l, many, &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, "'2' is one entry too many"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_ranges_are_in_the_list),
        cmocka_unit_test(a_blank_text_is_the_list_of_every_step),
        cmocka_unit_test(a_step_may_be_as_high_as_a_program_can_open),
        cmocka_unit_test(other_texts_are_refused_with_the_bad_entry),
        cmocka_unit_test(a_list_has_at_most_64_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of the check that a report has the phase and pipeline it was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "report/table/choice.h"
#include "timing_fixture.h"

static void what_a_row_has_is_there(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    assert_int_equal(plumb_choice_check(&t, NULL, NULL, NULL), PLUMB_OK);
    assert_int_equal(plumb_choice_check(&t, "audio", NULL, NULL), PLUMB_OK);
    assert_int_equal(plumb_choice_check(&t, NULL, "val", NULL), PLUMB_OK);
    assert_int_equal(plumb_choice_check(&t, "prog", "val", NULL), PLUMB_OK);
    plumb_timing_fini(&t);
}

static void a_report_without_rows_has_whatever_is_asked(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    assert_int_equal(plumb_choice_check(&t, "prog", "val", NULL), PLUMB_OK);
    plumb_timing_fini(&t);
}

static void what_is_not_there_is_told_with_what_is(void **state)
{
    struct plumb_timing t;
    plumb_error err = {0, ""};
    (void)state;
    fixture_rich(&t);
    assert_int_equal(plumb_choice_check(&t, NULL, "vall", &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "the run has no phase 'vall': it has inference, val "
                                     "(did you mean 'val'?)");
    assert_int_equal(plumb_choice_check(&t, "video", "val", &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "the run has no pipeline 'video': it has prog, audio");
    assert_int_equal(plumb_choice_check(&t, "audio", "val", &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "pipeline 'audio' has no phase 'val': it has inference");
    plumb_timing_fini(&t);
}

static void many_phases_do_not_make_a_long_line(void **state)
{
    enum { PHASES = 40 };
    static char names[PHASES][16];
    struct plumb_timing t;
    plumb_error err = {0, ""};
    (void)state;
    plumb_timing_init(&t);
    struct plumb_timing_node *nodes = fixture_nodes(&t, PHASES);
    for (int i = 0; i < PHASES; i++) {
        snprintf(names[i], sizeof names[i], "p%d", i);
        nodes[i].phase = names[i];
    }
    assert_int_equal(plumb_choice_check(&t, NULL, "evaluation", &err), PLUMB_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "p14, p15, ..."));
    assert_null(strstr(err.message, "p16"));
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_row_has_is_there),
        cmocka_unit_test(a_report_without_rows_has_whatever_is_asked),
        cmocka_unit_test(what_is_not_there_is_told_with_what_is),
        cmocka_unit_test(many_phases_do_not_make_a_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

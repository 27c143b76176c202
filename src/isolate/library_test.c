/* Tests of library.c: a table is refused before anything of it is called. That a library of another
 * version is refused when it is loaded is tests/cli/bench.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "isolate/library.h"

static int open_nothing(void **out, const char *config, plumb_error *err)
{
    (void)config;
    (void)err;
    *out = NULL;
    return 0;
}

static int run_nothing(void *instance, plumb_stage_call *call, plumb_error *err)
{
    (void)instance;
    (void)call;
    (void)err;
    return 0;
}

static const plumb_stage_ops good = {PLUMB_STAGE_OPS_BEGIN, "good", NULL, NULL, open_nothing,
                                     run_nothing,           NULL,   NULL, NULL};

static void assert_refused(const plumb_stage_ops *ops, const char *why)
{
    plumb_error err = {0, ""};
    assert_int_equal(plumb_stage_ops_check(ops, "lib.so", &err), PLUMB_ERR_FORMAT);
    assert_non_null(strstr(err.message, why));
    assert_non_null(strstr(err.message, "lib.so"));
}

static void a_stage_needs_a_size_a_name_open_and_run_or_step(void **state)
{
    plumb_stage_ops ops = good;
    plumb_error err;
    (void)state;
    assert_int_equal(plumb_stage_ops_check(&ops, "lib.so", &err), PLUMB_OK);
    ops.size = 16;
    assert_refused(&ops, "build it again");
    ops = good;
    ops.name = "";
    assert_refused(&ops, "has no name");
    ops = good;
    ops.open = NULL;
    assert_refused(&ops, "stage 'good' has no function 'open'");
    ops = good;
    ops.run = NULL;
    assert_refused(&ops, "stage 'good' has neither 'run' nor 'step'");
}

/* Later versions append: a table that is larger than ours is fine. */
static void a_larger_struct_of_the_same_version_is_accepted(void **state)
{
    plumb_stage_ops ops = good;
    const plumb_stage_ops *const stages[] = {&ops, NULL};
    struct plumb_stage_library library = {PLUMB_STAGE_LIBRARY_VERSION, sizeof library + 8, stages};
    plumb_error err;
    (void)state;
    ops.size += 8;
    assert_int_equal(plumb_stage_library_check(&library, "lib.so", &err), PLUMB_OK);
}

static void a_table_of_another_version_or_without_stages_is_refused(void **state)
{
    static const plumb_stage_ops *const none[] = {NULL};
    static const plumb_stage_ops *const stages[] = {&good, NULL};
    struct plumb_stage_library library = {PLUMB_STAGE_LIBRARY_VERSION + 1, sizeof library, stages};
    plumb_error err;
    (void)state;
    assert_int_equal(plumb_stage_library_check(&library, "lib.so", &err), PLUMB_ERR_FORMAT);
    assert_non_null(strstr(err.message, "version 2"));
    library.version = PLUMB_STAGE_LIBRARY_VERSION;
    library.size = 4;
    assert_int_equal(plumb_stage_library_check(&library, "lib.so", &err), PLUMB_ERR_FORMAT);
    library.size = sizeof library;
    library.stages = none;
    assert_int_equal(plumb_stage_library_check(&library, "lib.so", &err), PLUMB_ERR_FORMAT);
    assert_non_null(strstr(err.message, "without stages"));
    library.stages = NULL;
    assert_int_equal(plumb_stage_library_check(&library, "lib.so", &err), PLUMB_ERR_FORMAT);
}

/* A list that does not fit into a message is cut, whatever the names are. */
static void an_unknown_stage_is_answered_with_the_names(void **state)
{
    char long_name[400];
    plumb_stage_ops first = good, second = good;
    const plumb_stage_ops *const stages[] = {&good, &first, &second, NULL};
    const struct plumb_stage_library library = {PLUMB_STAGE_LIBRARY_VERSION, sizeof library,
                                                stages};
    const plumb_stage_ops *out = NULL;
    plumb_error err;
    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    first.name = long_name;
    second.name = "last";
    assert_int_equal(plumb_stage_library_find(&out, &library, "last", "lib.so", &err), PLUMB_OK);
    assert_ptr_equal(out, &second);
    assert_int_equal(plumb_stage_library_find(&out, &library, "lost", "lib.so", &err),
                     PLUMB_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "'lib.so' has no stage 'lost'; it has good, xxx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_needs_a_size_a_name_open_and_run_or_step),
        cmocka_unit_test(a_larger_struct_of_the_same_version_is_accepted),
        cmocka_unit_test(a_table_of_another_version_or_without_stages_is_refused),
        cmocka_unit_test(an_unknown_stage_is_answered_with_the_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* FV-4: regions are registered, resolved and listed in order; names are normalised; empty,
 * letterless and duplicate ones are refused, each with its own error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

enum { MOST = 256 };

static int refused(const char *name, char message[508])
{
    plumb_error err = {0, ""};
    int rc = plumb_region_register(name, NULL, &err);
    assert_int_equal(err.code, rc);
    strcpy(message, err.message);
    return rc;
}

static void every_documented_and_existing_name_is_there(void **state)
{
    static const char *const names[] = {
        "model_loading", "inference_denoising", "training_save_checkpoint", "training_validation",
        "training_train_one_step", "training_train", "distillation_teacher_forward",
        "distillation_student_forward", "distillation_loss", "distillation_update",
        /* documented, and not registered there */
        "inference_pre_denoising", "inference_post_denoising", "training_checkpoint_saving",
        "training_dit", "training_epoch", "training_step", "training_backward",
        "training_optimizer"};
    char name[128];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *resolved = plumb_region_resolve(names[i]);
        assert_non_null(resolved);
        snprintf(name, sizeof name, " Profiler_Region_%s\t", names[i]);
        assert_ptr_equal(plumb_region_resolve(name), resolved);
    }
    assert_null(plumb_region_resolve("training_stepp"));
    assert_null(plumb_region_resolve(""));
    assert_null(plumb_region_resolve(NULL));
}

static void twins_are_one_region(void **state)
{
    (void)state;
    assert_string_equal(plumb_region_resolve("training_step"),
                        "profiler_region_training_train_one_step");
    assert_string_equal(plumb_region_resolve("training_checkpoint_saving"),
                        "profiler_region_training_save_checkpoint");
}

static void a_program_registers_its_own(void **state)
{
    char message[508];
    (void)state;
    assert_int_equal(plumb_region_register("  My_Own\n", "mine", NULL), PLUMB_OK);
    assert_string_equal(plumb_region_resolve("my_own"), "profiler_region_my_own");
    assert_int_equal(refused("my_own", message), PLUMB_ERR_STATE);
    assert_non_null(strstr(message, "'my_own' is registered already"));
    assert_int_equal(refused("profiler_region_MY_OWN", message), PLUMB_ERR_STATE);
    /* The other spelling of a region is taken as well. */
    assert_int_equal(refused("training_step", message), PLUMB_ERR_STATE);
    assert_int_equal(refused(" ", message), PLUMB_ERR_ARG);
    assert_non_null(strstr(message, "is empty"));
    assert_int_equal(refused(NULL, message), PLUMB_ERR_ARG);
    assert_non_null(strstr(message, "is empty"));
    assert_int_equal(refused("_1_2_", message), PLUMB_ERR_ARG);
    assert_non_null(strstr(message, "no letter"));
}

static void the_list_is_sorted(void **state)
{
    plumb_region list[MOST], few[2];
    size_t n = plumb_region_list(list, MOST);
    bool mine = false;
    (void)state;
    assert_int_equal(n, 17);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(plumb_region_resolve(list[i].short_name), list[i].name);
        assert_non_null(list[i].description);
        assert_int_equal(list[i].selected, 0);
        if (i)
            assert_true(strcmp(list[i - 1].name, list[i].name) < 0);
        if (strcmp(list[i].short_name, "my_own") == 0) {
            mine = true;
            assert_string_equal(list[i].description, "mine");
        }
    }
    assert_true(mine);
    assert_int_equal(plumb_region_list(few, 2), n);
    assert_string_equal(few[1].name, list[1].name);
    assert_int_equal(plumb_region_list(NULL, 0), n);
}

static void there_is_a_bound(void **state)
{
    char name[32], message[508];
    int rc = PLUMB_OK;
    (void)state;
    for (int i = 0; i < 2 * MOST && rc == PLUMB_OK; i++) {
        snprintf(name, sizeof name, "many_%d", i);
        rc = refused(name, message);
    }
    assert_int_equal(rc, PLUMB_ERR_MEMORY);
    assert_int_equal(plumb_region_list(NULL, 0), MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_documented_and_existing_name_is_there),
        cmocka_unit_test(twins_are_one_region),
        cmocka_unit_test(a_program_registers_its_own),
        cmocka_unit_test(the_list_is_sorted),
        cmocka_unit_test(there_is_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

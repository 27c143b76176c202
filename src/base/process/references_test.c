/* Which symbols other objects refer to. */
#include "base/process/references.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char here;

static void what_another_object_needs_is_found(void **state)
{
    (void)state;
    assert_true(plumb_is_referred_to("malloc", &here)); /* by libcmocka */
    assert_false(plumb_is_referred_to("malloc_of_nobody", &here));
    assert_false(plumb_is_referred_to("", &here));
}

static void what_only_the_own_object_needs_is_not(void **state)
{
    (void)state;
    assert_true(plumb_is_referred_to("_cmocka_run_group_tests", NULL));
    assert_false(plumb_is_referred_to("_cmocka_run_group_tests", &here));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_object_needs_is_found),
        cmocka_unit_test(what_only_the_own_object_needs_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

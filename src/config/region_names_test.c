/* region_names_test.c: valid and invalid names of regions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config/region_names.h"

static void assert_means(const char *text, const char *expected)
{
    char out[PLUMB_REGION_SHORT_MAX + 1];
    plumb_error err = {0, ""};
    assert_int_equal(plumb_region_normalise(out, text, strlen(text), &err), PLUMB_OK);
    assert_string_equal(out, expected);
}

static void blanks_case_and_prefix_do_not_matter(void **state)
{
    (void)state;
    assert_means("model_loading", "model_loading");
    assert_means(" \t Model_Loading \n", "model_loading");
    assert_means("PROFILER_region_MODEL_LOADING", "model_loading");
    assert_means("  profiler_region_x", "x");
    /* A prefix is taken off once. */
    assert_means("profiler_region_profiler_region_x", "profiler_region_x");
    assert_means("it is\xc3\xa4", "it is\xc3\xa4");
}

static void assert_refused(const char *text, const char *why)
{
    char out[PLUMB_REGION_SHORT_MAX + 1] = "untouched";
    plumb_error err = {0, ""};
    assert_int_equal(plumb_region_normalise(out, text, strlen(text), &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, why));
    assert_string_equal(out, "untouched");
}

static void what_is_no_name_is_refused_each_with_its_own_error(void **state)
{
    char just[PLUMB_REGION_SHORT_MAX + 1], more[PLUMB_REGION_SHORT_MAX + 2];
    (void)state;
    assert_refused("", "is empty");
    assert_refused(" \t ", "is empty");
    assert_refused("profiler_region_", "is empty");
    assert_refused("123_*", "has no letter");
    assert_refused("\xc3\xa4", "has no letter");
    assert_refused("a,b", "has a comma");
    assert_refused("a\nb", "has a control character");
    memset(more, 'a', sizeof more - 1);
    more[sizeof more - 1] = '\0';
    assert_refused(more, "is longer than 120 bytes");
    memcpy(just, more + 1, sizeof just);
    assert_means(just, just);
}

static void a_list_is_read_without_its_blanks(void **state)
{
    static const char *const expected[] = {"Model_Loading", "inference denoising", "*"};
    const char *list = " Model_Loading , ,inference denoising,,*, ", *token;
    size_t len, n = 0;
    (void)state;
    while ((token = plumb_region_token(&list, &len)) != NULL) {
        assert_true(n < 3);
        assert_int_equal(len, strlen(expected[n]));
        assert_memory_equal(token, expected[n++], len);
    }
    assert_int_equal(n, 3);
    list = " , ";
    assert_null(plumb_region_token(&list, &len));
}

static void the_table_is_sorted_and_unambiguous(void **state)
{
    size_t n;
    const struct plumb_region_name *names = plumb_region_names(&n);
    (void)state;
    assert_int_equal(n, 16);
    for (size_t i = 0; i < n; i++) {
        assert_means(names[i].name, names[i].name);
        if (i)
            assert_true(strcmp(names[i - 1].name, names[i].name) < 0);
        for (size_t j = 0; names[i].twin && j < n; j++)
            assert_string_not_equal(names[i].twin, names[j].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_case_and_prefix_do_not_matter),
        cmocka_unit_test(what_is_no_name_is_refused_each_with_its_own_error),
        cmocka_unit_test(a_list_is_read_without_its_blanks),
        cmocka_unit_test(the_table_is_sorted_and_unambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

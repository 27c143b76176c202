/* Tests of the map of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diverge/rename.h"

static void renamed(const char *rule, const char *name, const char *expected)
{
    struct plumb_rename r;
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    plumb_rename_init(&r);
    if (plumb_rename_add(&r, rule, &err) < 0)
        fail_msg("%s: %s", rule, err.message);
    bool met = plumb_rename_apply(&r, &out, name);
    assert_string_equal(out.data, expected ? expected : name);
    assert_int_equal(met, expected != NULL);
    plumb_buf_fini(&out);
    plumb_rename_fini(&r);
}

static void expressions_rename_as_in_sed(void **state)
{
    (void)state;
    renamed("s/a/b/", "banana", "bbnana");
    renamed("s/a/b/g", "banana", "bbnbnb");
    renamed("s/^/model./", "x", "model.x");
    renamed("s/x*/-/g", "abc", "-a-b-c-");
    renamed("s|a/b|c|", "a/b", "c");
    renamed("s/a\\/b/c/", "a/b", "c");
    renamed("s/(\\d+)[.](\\w+)/\\2_\\1/", "layers.12.attn", "layers.attn_12");
    renamed("s/[\\d.]+/#/", "l10.5x", "l#x");
    renamed("s/b/[&]/", "abc", "a[b]c");
    renamed("s/b/\\&/", "abc", "a&c");
    renamed("s/z/y/", "abc", NULL);
    renamed("s/[]x]/y/", "a]b", "ayb");
}

static void bad_rules_are_refused_with_one_line(void **state)
{
    static const char *const rules[] = {"s/a/b", "s/(/b/",  "s/a/\\1/",
                                        "s//b/", "s/a/b/x", "s/[/b/"};
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct plumb_rename r;
        plumb_error err = {0, ""};
        plumb_rename_init(&r);
        assert_int_equal(plumb_rename_add(&r, rules[i], &err), PLUMB_ERR_ARG);
        assert_non_null(strstr(err.message, rules[i]));
        plumb_rename_fini(&r);
    }
}

static void a_file_has_pairs_and_expressions(void **state)
{
    struct plumb_rename r;
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    FILE *file = fopen("map.txt", "w");
    (void)state;
    fputs("# a comment\n\n  patch_embed.proj\tpatch_embed  \r\ns/^a\\./b./\n", file);
    fclose(file);
    plumb_rename_init(&r);
    assert_int_equal(plumb_rename_add(&r, "map.txt", &err), PLUMB_OK);
    assert_true(plumb_rename_apply(&r, &out, "patch_embed.proj"));
    assert_string_equal(out.data, "patch_embed");
    out.len = 0;
    assert_true(plumb_rename_apply(&r, &out, "a.x"));
    assert_string_equal(out.data, "b.x");
    plumb_buf_fini(&out);
    plumb_rename_fini(&r);
}

static void labelled(struct plumb_rename *r, const char *module, const char *label,
                     const char *expected)
{
    struct plumb_buf out = {0};
    char both[128];
    assert_true(plumb_rename_record(r, &out, module, label) == (expected != NULL));
    snprintf(both, sizeof both, "%s %s", out.data, out.data + strlen(out.data) + 1);
    if (expected)
        assert_string_equal(both, expected);
    plumb_buf_fini(&out);
}

static void labels_are_renamed_by_rules_with_a_space(void **state)
{
    struct plumb_rename r;
    plumb_error err = {0, ""};
    FILE *file = fopen("labels.txt", "w");
    (void)state;
    fputs("0.qkv out.q  0.wq out\ns/^(\\d+)\\.kv out\\.(.)$/\\1.w\\2 out/\n"
          "s/^(\\d+)\\.wo$/\\1.attention out.o/\ns/^a/b/\n",
          file);
    fclose(file);
    plumb_rename_init(&r);
    if (plumb_rename_add(&r, "labels.txt", &err) < 0)
        fail_msg("%s", err.message);
    labelled(&r, "0.qkv", "out.q", "0.wq out");
    labelled(&r, "0.qkv", "out.k", NULL);
    labelled(&r, "3.kv", "out.v", "3.wv out");
    labelled(&r, "3.wo", "out", "3.attention out.o");
    labelled(&r, "3.wo", "in", "3.attention in");
    labelled(&r, "a", "in[0]", "b in[0]");
    plumb_rename_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_rename_as_in_sed),
        cmocka_unit_test(bad_rules_are_refused_with_one_line),
        cmocka_unit_test(a_file_has_pairs_and_expressions),
        cmocka_unit_test(labels_are_renamed_by_rules_with_a_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

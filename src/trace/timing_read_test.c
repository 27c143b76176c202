/* Tests of timing_read.c: what was written comes back, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "timing_fixture.h"
#include "trace/timing_read.h"

static struct plumb_buf written(struct plumb_timing *t)
{
    struct plumb_buf out = {0};
    assert_int_equal(plumb_timing_write(t, &out, NULL), PLUMB_OK);
    return out;
}

static void assert_reads_back(struct plumb_timing *t)
{
    struct plumb_timing again;
    plumb_error err = {0, ""};
    struct plumb_buf first = written(t);
    if (plumb_timing_parse(&again, first.data, first.len, "x.json", &err) < 0)
        fail_msg("%s", err.message);
    struct plumb_buf second = written(&again);
    assert_string_equal(first.data, second.data);
    for (size_t i = 0; i < t->node_count; i++) {
        assert_string_equal(t->nodes[i].name, again.nodes[i].name);
        assert_memory_equal(&t->nodes[i].host.ns, &again.nodes[i].host.ns,
                            sizeof again.nodes[i].host.ns);
        assert_memory_equal(&t->nodes[i].host.median_ns, &again.nodes[i].host.median_ns,
                            sizeof(double));
    }
    plumb_timing_fini(&again);
    plumb_buf_fini(&first);
    plumb_buf_fini(&second);
}

static void what_was_written_reads_back_exactly(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    assert_reads_back(&t);
    plumb_timing_fini(&t);
    fixture_golden(&t);
    t.nodes[0].host.ns.sq_hi = UINT64_MAX;
    t.nodes[0].host.ns.total = UINT64_MAX;
    assert_reads_back(&t);
    plumb_timing_fini(&t);
    plumb_timing_init(&t);
    assert_reads_back(&t);
    plumb_timing_fini(&t);
}

/* Writes the golden report with `from` replaced by `to` and expects the error text `why`. */
static void assert_refused(const char *from, const char *to, const char *why)
{
    struct plumb_timing t;
    struct plumb_timing out;
    struct plumb_buf changed = {0};
    plumb_error err = {0, ""};
    fixture_rich(&t);
    struct plumb_buf text = written(&t);
    const char *at = strstr(text.data, from);
    assert_non_null(at);
    plumb_buf_append(&changed, text.data, (size_t)(at - text.data));
    plumb_buf_str(&changed, to);
    plumb_buf_str(&changed, at + strlen(from));
    assert_int_equal(plumb_timing_parse(&out, changed.data, changed.len, "x.json", &err),
                     PLUMB_ERR_FORMAT);
    assert_int_equal(err.code, PLUMB_ERR_FORMAT);
    assert_string_equal(err.message, why);
    plumb_buf_fini(&changed);
    plumb_buf_fini(&text);
    plumb_timing_fini(&t);
}

static void a_damaged_field_is_named_with_its_place(void **state)
{
    (void)state;
    assert_refused("\"nodes\": [", "\"knots\": [", "'x.json' is damaged: nodes is missing");
    assert_refused("\"name\": \"decode\",\n      \"stage\"", "\"name\": 7,\n      \"stage\"",
                   "'x.json' is damaged: nodes[1].name is not a string");
    assert_refused("\"total_ns\": 190000000", "\"total_ns\": -1",
                   "'x.json' is damaged: nodes[0].total_ns is not a whole number from 0 to 2^64-1");
    assert_refused("[[10000000, 1], [30000000, 6]]", "[[10000000, 1], [30000000, 5]]",
                   "'x.json' is damaged: nodes[0].sketch does not hold as many samples as 'count' "
                   "says");
    assert_refused("[[10000000, 1], [30000000, 6]]", "[[30000000, 6], [10000000, 1]]",
                   "'x.json' is damaged: nodes[0].sketch is not in ascending order");
    assert_refused("\"min_ns\": 10000000", "\"min_ns\": 30000001",
                   "'x.json' is damaged: nodes[0].min_ns is larger than max_ns");
    assert_refused("\"parent\": 0", "\"parent\": 1",
                   "'x.json' is damaged: tree[1].parent does not stand before its children");
    assert_refused("\"node\": 3", "\"node\": 8",
                   "'x.json' is damaged: tree[2].node is not in "
                   "'nodes'");
    assert_refused("\"p2\"", "\"p3\"",
                   "'x.json' is damaged: nodes[1].median_estimator is none that this plumb knows");
}

static void foreign_and_newer_files_are_told_apart(void **state)
{
    (void)state;
    assert_refused("\"plumb-timing\"", "\"plumb-trace\"",
                   "'x.json' is no timing report of plumb (its \"format\" is not "
                   "\"plumb-timing\")");
    assert_refused("\"schema\": 1", "\"schema\": 2",
                   "'x.json' was written by a newer plumb (schema 2; this one reads up to 1)");
}

static void unknown_fields_are_skipped(void **state)
{
    struct plumb_timing t;
    struct plumb_timing out;
    (void)state;
    fixture_golden(&t);
    struct plumb_buf text = written(&t);
    char *at = strstr(text.data, "\"request_id\"");
    memcpy(at, "\"request_iq\"", 12);
    assert_int_equal(plumb_timing_parse(&out, text.data, text.len, "x.json", NULL), PLUMB_OK);
    assert_null(out.request_id);
    plumb_timing_fini(&out);
    plumb_buf_fini(&text);
    plumb_timing_fini(&t);
}

static void every_truncation_is_refused_in_one_line(void **state)
{
    struct plumb_timing t;
    struct plumb_timing out;
    (void)state;
    fixture_golden(&t);
    struct plumb_buf text = written(&t);
    for (size_t n = 0; n + 2 < text.len; n += 1 + n % 7) {
        plumb_error err = {0, ""};
        char *cut = malloc(n ? n : 1);
        assert_non_null(cut);
        memcpy(cut, text.data, n);
        assert_int_equal(plumb_timing_parse(&out, cut, n, "x.json", &err), PLUMB_ERR_FORMAT);
        assert_non_null(strstr(err.message, "'x.json' is not valid JSON: line "));
        assert_null(strchr(err.message, '\n'));
        free(cut);
    }
    plumb_buf_fini(&text);
    plumb_timing_fini(&t);
}

static void changed_bytes_never_crash_the_reader(void **state)
{
    struct plumb_timing t;
    uint32_t random = 12345;
    (void)state;
    fixture_rich(&t);
    struct plumb_buf text = written(&t);
    for (int i = 0; i < 800; i++) {
        struct plumb_timing out;
        plumb_error err = {0, ""};
        random = random * 1103515245u + 12345u;
        size_t at = random % text.len;
        char before = text.data[at];
        text.data[at] = "0\"[]{},x"[random >> 29];
        int rc = plumb_timing_parse(&out, text.data, text.len, "x.json", &err);
        text.data[at] = before;
        if (rc == PLUMB_OK)
            plumb_timing_fini(&out);
        else
            assert_true(rc == PLUMB_ERR_FORMAT && err.message[0]);
    }
    plumb_buf_fini(&text);
    plumb_timing_fini(&t);
}

static void files_that_cannot_be_read_say_why(void **state)
{
    struct plumb_timing out;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_timing_read(&out, "no/such.json", &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "cannot read 'no/such.json': No such file or directory");
    assert_int_equal(plumb_timing_read(&out, "/", &err), PLUMB_ERR_IO);
    assert_string_equal(err.message, "cannot read '/': Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_reads_back_exactly),
        cmocka_unit_test(a_damaged_field_is_named_with_its_place),
        cmocka_unit_test(foreign_and_newer_files_are_told_apart),
        cmocka_unit_test(unknown_fields_are_skipped),
        cmocka_unit_test(every_truncation_is_refused_in_one_line),
        cmocka_unit_test(changed_bytes_never_crash_the_reader),
        cmocka_unit_test(files_that_cannot_be_read_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

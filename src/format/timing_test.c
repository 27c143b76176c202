/* Tests of timing.c: what stands in timing.json. That it reads back is tested with the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/timing.h"
#include "timing_fixture.h"

static char *written(struct plumb_timing *t)
{
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    assert_int_equal(plumb_timing_write(t, &out, &err), PLUMB_OK);
    assert_false(out.failed);
    return out.data;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void the_head_has_the_fields_that_compare_tools_know(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_golden(&t);
    char *text = written(&t);
    assert_has(text, "\n  \"request_id\": \"run_20260102-030405\",\n");
    assert_has(text, "\n  \"timestamp\": \"2026-01-02T03:04:06.123456+00:00\",\n");
    assert_has(text, "\n  \"wall_clock_ms\": 1123.456789,\n");
    assert_has(text, "\n  \"total_stages_ms\": 1500,\n");
    assert_has(text, "\n  \"num_stages\": 200,\n");
    assert_has(text, "\n    \"node_b\": {\n      \"duration_ms\": 500,\n"
                     "      \"percentage\": 33.3,\n      \"count\": 100,\n"
                     "      \"memory\": {},\n      \"parallel_info\": {}\n    },\n");
    assert_has(text, "\n    \"node_a\": {\n      \"duration_ms\": 1000,\n"
                     "      \"percentage\": 66.7,");
    free(text);
    plumb_timing_fini(&t);
}

static void nested_time_is_not_counted_twice(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    /* frame: 190 + 40 (val) + 5 (audio), decode 20 of the 190 */
    char *text = written(&t);
    assert_has(text, "\"total_stages_ms\": 235,");
    assert_has(text, "\"frame\": {\n      \"duration_ms\": 235,\n      \"percentage\": 91.5,");
    assert_has(text, "\"decode\": {\n      \"duration_ms\": 20,\n      \"percentage\": 8.5,");
    free(text);
    plumb_timing_fini(&t);
}

static void names_that_json_cannot_hold_stay_distinct(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    char *text = written(&t);
    assert_has(text, "\"name\": \"bad\\\\xff\\\\xfe name\",\n      \"name_hex\": "
                     "\"626164fffe206e616d65\"");
    assert_has(text, "\"name\": \"bad\\\\x5cxff\\\\x5cxfe name\",\n      \"stage\"");
    assert_has(text, "\"file\": \"../x\\u0001.c\"");
    free(text);
    plumb_timing_fini(&t);
}

static void an_empty_run_is_a_whole_report(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    char *text = written(&t);
    assert_has(text, "\"num_stages\": 0,\n  \"stages\": {},\n");
    assert_has(text, "\"nodes\": [],\n  \"tree\": [],\n  \"counts\": [],\n  \"open\": [],\n");
    assert_has(text, "\"rank\": null");
    free(text);
    plumb_timing_fini(&t);
}

static void numbers_beyond_63_bits_are_strings(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_golden(&t);
    t.nodes[0].host.ns.sq_hi = UINT64_MAX;
    t.nodes[0].host.ns.sq_lo = UINT64_MAX;
    t.nodes[0].skipped = UINT64_MAX;
    char *text = written(&t);
    assert_has(text, "\"sumsq_ns2\": \"340282366920938463463374607431768211455\"");
    assert_has(text, "\"skipped\": \"18446744073709551615\"");
    free(text);
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_has_the_fields_that_compare_tools_know),
        cmocka_unit_test(nested_time_is_not_counted_twice),
        cmocka_unit_test(names_that_json_cannot_hold_stay_distinct),
        cmocka_unit_test(an_empty_run_is_a_whole_report),
        cmocka_unit_test(numbers_beyond_63_bits_are_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of timing*.c: the contents of timing.json. The tests of the reader read it back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/timing_memory.h"
#include "model/timing_section.h"
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
    assert_has(text, "\"analysis\": {},\n    \"checkpoints\": [],\n    \"pools\": [],\n"
                     "    \"series\": []\n  },\n  \"requests\": [],\n  \"requests_lost\": 0,\n"
                     "  \"stage_runs\": [],\n  \"stage_runs_lost\": 0,\n");
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

/* ---- Sections -------------------------------------------------------------------------------- */

static void the_top_holds_the_request_that_began_last(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_served(&t);
    char *text = written(&t);
    /* It is open: its end is the run's. frame is 30 + 20 ms of its own, decode 10. */
    assert_has(text, "\n  \"request_id\": \"cat\",\n"
                     "  \"timestamp\": \"2026-01-02T03:04:06.123456+00:00\",\n"
                     "  \"wall_clock_ms\": 623.456789,\n  \"total_stages_ms\": 60,\n"
                     "  \"num_stages\": 4,\n  \"stages\": {\n    \"frame\": {\n"
                     "      \"duration_ms\": 60,\n      \"percentage\": 83.3,\n"
                     "      \"count\": 3,\n");
    assert_has(text, "\n    \"decode\": {\n      \"duration_ms\": 10,\n"
                     "      \"percentage\": 16.7,\n      \"count\": 1,\n"
                     "      \"memory\": {},\n      \"parallel_info\": {}\n    }\n  },\n");
    assert_has(text, "\"run\": {\n    \"request_id\": \"run_20260102-030405\",\n");
    free(text);
    t.requests[2].state = PLUMB_TIMING_REQUEST_ENDED;
    t.requests[2].wall_ns = 1500000;
    text = written(&t);
    assert_has(text, "\"timestamp\": \"2026-01-02T03:04:05.501500+00:00\",\n"
                     "  \"wall_clock_ms\": 1.5,\n");
    free(text);
    plumb_timing_fini(&t);
}

static void stages_stand_in_the_order_of_their_begins(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_section s;
    (void)state;
    fixture_served(&t);
    /* decode, which runs inside frame, ended first. */
    struct plumb_timing_request_stage frame = t.requests[2].stages[0];
    t.requests[2].stages[0] = t.requests[2].stages[1];
    t.requests[2].stages[1] = frame;
    assert_int_equal(plumb_timing_section_init(&s, &t, 2, NULL), PLUMB_OK);
    assert_int_equal(s.stage_count, 2);
    assert_string_equal(s.stages[0].name, "frame");
    assert_string_equal(s.stages[1].name, "decode");
    plumb_timing_section_fini(&s);
    plumb_timing_fini(&t);
}

static void a_key_of_the_request_takes_the_place_of_the_runs(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_served(&t);
    char *text = written(&t);
    assert_has(text, "\"metadata\": {\n    \"pipeline\": \"prog\",\n"
                     "    \"program\": \"/usr/bin/prog\",\n    \"command\": \"prog --fast\",\n"
                     "    \"prompt\": \"a \\\"cat\\\"\\u000a\",\n"
                     "    \"pid\": \"none of yours\",\n    \"seed\": \"2\"\n  },\n");
    free(text);
    plumb_timing_fini(&t);
}

static void stages_have_the_memory_of_all_their_rows_in_mib(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_served(&t);
    /* The end of the row seen last (80 of pool 0; 10 of pool 1 is from the other), the highest
     * peaks (310 and 20), and nothing of the heap, because the program has pools of its own. */
    char *text = written(&t);
    assert_has(text, "\"memory\": {\n        \"allocated_mb\": 90.00,\n"
                     "        \"reserved_mb\": 116.00,\n        \"peak_allocated_mb\": 330.00,\n"
                     "        \"peak_reserved_mb\": 432.00,\n        \"rss_mb\": 210.00,\n"
                     "        \"peak_rss_mb\": 300.00,\n        \"pools\": [\n");
    assert_has(text, "      \"parallel_info\": {},\n"
                     "      \"component_metric\": \"dit_time_s\"\n    },\n");
    free(text);
    plumb_timing_fini(&t);
}

static void without_requests_the_stages_are_the_whole_run(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_section s;
    (void)state;
    fixture_served(&t);
    assert_int_equal(plumb_timing_section_init(&s, &t, PLUMB_TIMING_NONE, NULL), PLUMB_OK);
    assert_string_equal(s.id, "run_20260102-030405");
    assert_int_equal(s.stage_count, 6);
    assert_string_equal(s.stages[0].name, "frame");
    assert_string_equal(s.stages[0].metric, "dit_time_s");
    assert_int_equal(s.stages[0].count, 7 + 2 + 2);
    assert_int_equal(s.stages[0].memory.samples, 6 + 1);
    assert_int_equal(s.stages[0].memory.growth, -2 * FIXTURE_MIB);
    assert_int_equal(s.stages[0].memory.use_count, 1);
    assert_int_equal(s.stages[0].memory.uses[0].peak_allocated, 310 * FIXTURE_MIB);
    assert_int_equal(s.stages[0].memory.uses[0].peak_reserved, 512 * FIXTURE_MIB);
    assert_false(s.stages[0].memory.peak_exact);
    plumb_timing_section_fini(&s);
    /* Too old to have kept its stages; its sums are there. */
    assert_int_equal(plumb_timing_section_init(&s, &t, 0, NULL), PLUMB_OK);
    assert_int_equal(s.stage_count, 0);
    assert_int_equal(s.stages_ns, 20 * FIXTURE_MS);
    plumb_timing_section_fini(&s);
    plumb_timing_fini(&t);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void checkpoints_are_analysed_as_reckoned_by_hand(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_analysis a;
    (void)state;
    fixture_served(&t);
    plumb_timing_analyse(&a, &t, 2);
    assert_string_equal(a.peak->name, "after_frame");
    assert_int_equal(a.at_peak.peak_reserved, (512 + 32) * FIXTURE_MIB);
    assert_int_equal(a.overhead, (384 + 16 - 150) * FIXTURE_MIB);
    assert_true(a.overhead_percent == 62.5);
    assert_int_equal(a.total, UINT64_C(8192) * FIXTURE_MIB); /* one device, two pools */
    assert_int_equal(a.remaining, (INT64_C(8192) - 544) * FIXTURE_MIB);
    assert_string_equal(a.baseline->name, "loaded");
    assert_int_equal(a.increase, (544 - 100) * FIXTURE_MIB);
    /* A baseline of the request itself comes first, wherever it stands. */
    t.memory.checkpoints[3].baseline = true;
    plumb_timing_analyse(&a, &t, 2);
    assert_string_equal(a.baseline->name, "after_decode");
    assert_int_equal(a.increase, (544 - 144) * FIXTURE_MIB);
    /* A request without checkpoints has no analysis. */
    plumb_timing_analyse(&a, &t, 0);
    assert_null(a.peak);
    plumb_timing_fini(&t);
}

static void without_pools_the_resident_set_is_analysed(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_analysis a;
    (void)state;
    fixture_served(&t);
    t.memory.pool_count = 0;
    plumb_timing_analyse(&a, &t, 2);
    assert_true(a.host);
    assert_int_equal(a.at_peak.allocated, 200 * FIXTURE_MIB);
    assert_int_equal(a.at_peak.reserved, 200 * FIXTURE_MIB);
    assert_int_equal(a.at_peak.peak_reserved, 300 * FIXTURE_MIB);
    assert_int_equal(a.overhead, 0);
    assert_int_equal(a.remaining, (INT64_C(16384) - 300) * FIXTURE_MIB);
    assert_int_equal(a.increase, (300 - 100) * FIXTURE_MIB);
    char *text = written(&t);
    assert_has(text, "\"analysis\": {\n      \"devices\": [\"host\"],\n");
    free(text);
    t.memory.total = 0;
    text = written(&t);
    assert_has(text, "\"total_device_memory_mb\": null,\n      \"total_device_memory_gb\": null,\n"
                     "      \"remaining_memory_mb\": null,\n");
    free(text);
    plumb_timing_fini(&t);
}

static void a_pool_that_reserves_nothing_holds_what_is_allocated(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_analysis a;
    (void)state;
    fixture_served(&t);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < t.memory.checkpoints[i].memory.use_count; k++)
            t.memory.checkpoints[i].memory.uses[k].reserved =
                t.memory.checkpoints[i].memory.uses[k].peak_reserved = 0;
    plumb_timing_analyse(&a, &t, 2);
    assert_string_equal(a.peak->name, "after_frame");
    assert_int_equal(a.overhead, 0);
    assert_true(a.overhead_percent == 0);
    assert_int_equal(a.remaining, (INT64_C(8192) - 320) * FIXTURE_MIB);
    assert_int_equal(a.increase, (320 - 60) * FIXTURE_MIB);
    plumb_timing_fini(&t);
}

static void the_heap_counts_where_it_is_the_only_pool(void **state)
{
    struct plumb_timing t;
    struct plumb_timing_memory *m;
    (void)state;
    fixture_served(&t);
    m = &t.memory.checkpoints[2].memory;
    assert_int_equal(plumb_timing_bytes_of(&t, m).allocated, 150 * FIXTURE_MIB);
    t.memory.pools[0] = t.memory.pools[2];
    t.memory.pool_count = 1;
    assert_int_equal(plumb_timing_bytes_of(&t, m).allocated, 150 * FIXTURE_MIB);
    assert_int_equal(plumb_timing_bytes_of(&t, m).reserved, 384 * FIXTURE_MIB);
    plumb_timing_fini(&t);
}

static void fragmentation_is_what_lies_outside_the_largest_hole(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_served(&t);
    assert_true(plumb_timing_fragmentation(&t.memory.pools[0]) == 0.25);
    char *text = written(&t);
    assert_has(text, "\"fragmentation\": 0.2500,");
    assert_has(text, "\"fragmentation\": null,");
    assert_has(text, "\"overhead_at_peak_percent\": 50.00,");
    free(text);
    plumb_timing_fini(&t);
}

static void what_is_listed_by_the_thousand_takes_a_line_each(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_served(&t);
    char *text = written(&t);
    assert_has(text, "\n    {\"node\": 0, \"tid\": 99, \"depth\": 0, \"begin_ns\": 1000000, "
                     "\"duration_ns\": 20000000, \"number\": 5},\n");
    assert_has(text, "\"points\": [[0, 0, 0], [5, 1048576, 2097152], [5, 0, 2097152]]\n");
    assert_has(text, "\"address\": \"18446744073709547520\"");
    free(text);
    plumb_timing_fini(&t);
}

static void signatures_lie_beside_their_report(void **state)
{
    char path[40];
    plumb_error err = {0, ""};
    (void)state;
    plumb_timing_signature_path(path, sizeof path, "a.json/timing.json", &err);
    assert_string_equal(path, "a.json/timing_io_signature.json");
    plumb_timing_signature_path(path, sizeof path, "report.txt", &err);
    assert_string_equal(path, "report.txt_io_signature.json");
    assert_int_equal(plumb_timing_signature_path(path, 24, "report.json", &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "the path is too long: 'report.json'");
    assert_int_equal(plumb_timing_signature_path(path, 25, "report.json", &err), PLUMB_OK);
}

/* The files that tests of the command line read are these fixtures; with UPDATE_GOLDEN set the test
 * makes them again. */
static void the_golden_files_are_what_the_fixtures_write(void **state)
{
    static const struct {
        const char *name;
        void (*fill)(struct plumb_timing *t);
    } files[] = {
        {"golden.json", fixture_golden},
        {"rich.json", fixture_rich},
        {"served.json", fixture_served},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct plumb_timing t;
        char path[1024];
        files[i].fill(&t);
        char *text = written(&t);
        size_t n = strlen(text);
        snprintf(path, sizeof path, "%s/tests/cli/data/%s", TEST_PLUMB_SOURCE_DIR, files[i].name);
        FILE *file = fopen(path, getenv("UPDATE_GOLDEN") ? "w+b" : "rb");
        assert_non_null(file);
        if (getenv("UPDATE_GOLDEN")) {
            assert_int_equal(fwrite(text, 1, n, file), n);
            rewind(file);
        }
        char *golden = calloc(1, n + 2);
        assert_non_null(golden);
        assert_int_equal(fread(golden, 1, n + 1, file), n);
        assert_string_equal(golden, text);
        fclose(file);
        free(golden);
        free(text);
        plumb_timing_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_has_the_fields_that_compare_tools_know),
        cmocka_unit_test(nested_time_is_not_counted_twice),
        cmocka_unit_test(names_that_json_cannot_hold_stay_distinct),
        cmocka_unit_test(an_empty_run_is_a_whole_report),
        cmocka_unit_test(numbers_beyond_63_bits_are_strings),
        cmocka_unit_test(the_top_holds_the_request_that_began_last),
        cmocka_unit_test(stages_stand_in_the_order_of_their_begins),
        cmocka_unit_test(a_key_of_the_request_takes_the_place_of_the_runs),
        cmocka_unit_test(stages_have_the_memory_of_all_their_rows_in_mib),
        cmocka_unit_test(without_requests_the_stages_are_the_whole_run),
        cmocka_unit_test(checkpoints_are_analysed_as_reckoned_by_hand),
        cmocka_unit_test(without_pools_the_resident_set_is_analysed),
        cmocka_unit_test(a_pool_that_reserves_nothing_holds_what_is_allocated),
        cmocka_unit_test(the_heap_counts_where_it_is_the_only_pool),
        cmocka_unit_test(fragmentation_is_what_lies_outside_the_largest_hole),
        cmocka_unit_test(what_is_listed_by_the_thousand_takes_a_line_each),
        cmocka_unit_test(signatures_lie_beside_their_report),
        cmocka_unit_test(the_golden_files_are_what_the_fixtures_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

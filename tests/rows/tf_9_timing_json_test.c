/* TF-9: the report's schema and rounding; (+) nested stages are not counted twice, and every repeat
 * is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>

#include "record_json.h"
#include "record_memory.h"

static void matches(const char *what, const char *pattern)
{
    regex_t r;
    assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&r, what, 0, NULL, 0) != 0)
        fail_msg("'%s' is not '%s'", what, pattern);
    regfree(&r);
}

static void one_video(void)
{
    PLUMB_STAGE(outer, "generate");
    record_work_ns(1000000);
    for (int i = 0; i < 3; i++) {
        PLUMB_STAGE(inner, "denoise");
        plumb_stage_metric(inner, "dit_time_s");
        record_work_ns(1000000);
    }
}

static void the_schema_of_a_section(void **state)
{
    static const char *const keys[] = {"request_id",      "timestamp",  "wall_clock_ms",
                                       "total_stages_ms", "num_stages", "stages",
                                       "metadata",        "memory"};
    const plumb_pair metadata[] = {{"prompt", "caf\xc3\xa9"}, {NULL, NULL}};
    json_t *root, *stages, *stage;
    const char *name, *text;
    double share = 0, own = 0;
    (void)state;
    {
        PLUMB_REQUEST(request, "first", NULL);
        one_video();
        one_video();
    }
    {
        PLUMB_REQUEST(request, "second", metadata);
        one_video();
    }
    text = record_finish_text();
    root = record_parse(text);
    assert_true(strncmp(text, "{\n  \"", 5) == 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(json_object_get(root, keys[i]));
    assert_string_equal(json_text_of(root, "request_id"), "second");
    matches(json_text_of(root, "timestamp"),
            "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}\\+00:00$");
    assert_string_equal(json_text_of(json_object_get(root, "metadata"), "prompt"), "caf\xc3\xa9");
    assert_non_null(strstr(text, "caf\xc3\xa9")); /* UTF-8 as it is */
    /* Four records: generate, and denoise three times; only generate is outermost. */
    assert_true(json_number_of(root, "num_stages") == 4);
    stages = json_object_get(root, "stages");
    assert_int_equal(json_object_size(stages), 2);
    assert_true(fabs(json_number_of(root, "total_stages_ms") -
                     json_number_of(json_object_get(stages, "generate"), "duration_ms")) < 1e-5);
    assert_true(json_number_of(root, "wall_clock_ms") >= json_number_of(root, "total_stages_ms"));
    assert_true(json_number_of(json_object_get(stages, "denoise"), "count") == 3);
    /* Two clocks agree within 1 %. */
    assert_true(json_number_of(json_object_get(stages, "denoise"), "duration_ms") >= 3 * 0.99);
    json_object_foreach(stages, name, stage)
    {
        double percentage = json_number_of(stage, "percentage");
        assert_true(json_is_object(json_object_get(stage, "memory")));
        assert_true(json_is_object(json_object_get(stage, "parallel_info")));
        assert_true(fabs(percentage * 10 - round(percentage * 10)) < 1e-9);
        assert_true(percentage < 100);
        share += percentage;
        own += strcmp(name, "denoise") == 0 ? json_number_of(stage, "duration_ms") : 0;
    }
    assert_true(fabs(share - 100) < 0.11);
    assert_true(fabs(json_number_of(json_object_get(stages, "denoise"), "percentage") -
                     100 * own / json_number_of(root, "total_stages_ms")) < 0.06);
    assert_string_equal(json_text_of(json_object_get(stages, "denoise"), "component_metric"),
                        "dit_time_s");
    json_decref(root);
}

static void without_requests_the_run_is_the_section(void **state)
{
    json_t *root, *stages;
    (void)state;
    one_video();
    {
        PLUMB_SPAN("plain");
    }
    root = record_parse(record_finish_text());
    stages = json_object_get(root, "stages");
    assert_int_equal(json_object_size(stages), 3);
    assert_true(json_number_of(json_object_get(stages, "denoise"), "count") == 3);
    assert_true(json_number_of(root, "num_stages") == 5);
    matches(json_text_of(root, "request_id"), "^req_");
    assert_int_equal(json_array_size(json_object_get(root, "requests")), 0);
    json_decref(root);
}

static void all_requests_are_in_the_index_and_all_runs_in_the_nodes(void **state)
{
    json_t *root, *nodes, *requests;
    (void)state;
    for (int i = 0; i < 5; i++) {
        PLUMB_REQUEST(request, NULL, NULL);
        one_video();
    }
    root = record_parse(record_finish_text());
    requests = json_object_get(root, "requests");
    assert_int_equal(json_array_size(requests), 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(json_number_of(json_array_get(requests, i), "num_stages") == 4);
    nodes = json_object_get(root, "nodes");
    assert_int_equal(json_array_size(nodes), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *node = json_array_get(nodes, i);
        bool inner = strcmp(json_text_of(node, "name"), "denoise") == 0;
        assert_true(json_number_of(node, "count") == (inner ? 15 : 5));
    }
    assert_int_equal(json_array_size(json_object_get(root, "stage_runs")), 20);
    json_decref(root);
}

/* Of every stage of the section that ran: its time is at most that of all, and shares add up. */
static double checked_total(const json_t *root)
{
    double total = json_number_of(root, "total_stages_ms"), share = 0;
    const char *name;
    json_t *stage;
    json_object_foreach(json_object_get(root, "stages"), name, stage)
    {
        assert_true(json_number_of(stage, "duration_ms") <= total);
        share += json_number_of(stage, "percentage");
    }
    assert_true(fabs(share - 100) <= 0.2);
    return total;
}

static void a_failed_stage_counts_its_time_so_that_the_whole_holds_its_parts(void **state)
{
    json_t *root, *stages;
    double outer, inner, ok;
    (void)state;
    {
        PLUMB_REQUEST(request, "fails", NULL);
        {
            PLUMB_STAGE(stage, "outer");
            {
                PLUMB_STAGE(nested, "inner");
                record_work_ns(2000000);
            }
            record_work_ns(1000000);
            plumb_span_fail(stage, "no memory");
        }
        {
            PLUMB_STAGE(stage, "ok");
            record_work_ns(1000000);
        }
    }
    root = record_parse(record_finish_text());
    stages = json_object_get(root, "stages");
    outer = json_number_of(json_object_get(stages, "outer"), "duration_ms");
    inner = json_number_of(json_object_get(stages, "inner"), "duration_ms");
    ok = json_number_of(json_object_get(stages, "ok"), "duration_ms");
    /* Two clocks agree within 1 %. */
    assert_true(inner >= 2 * 0.99 && ok >= 0.99 && outer >= inner + 0.99);
    assert_true(fabs(checked_total(root) - (outer + ok)) <= 0.000002);
    assert_true(json_number_of(root, "num_stages") == 3);
    assert_true(json_number_of(json_object_get(stages, "outer"), "count") == 0);
    assert_true(json_number_of(json_object_get(stages, "inner"), "count") == 1);
    json_decref(root);
}

static void allocating_stage(const char *phase, uint64_t address, uint64_t bytes)
{
    PLUMB_PHASE(phase);
    PLUMB_STAGE(stage, "X");
    mem_alloc(address, bytes);
    record_work_ns(1000);
}

/* A stage in two phases of a request: its memory is that of the run that ended last. */
static void the_last_run_of_a_stage_in_two_phases_of_a_request(void **state)
{
    json_t *root, *memory;
    (void)state;
    {
        PLUMB_REQUEST(request, "one", NULL);
        allocating_stage("train", 1, 1 * MIB);
        allocating_stage("val", 2, 2 * MIB);
        allocating_stage("train", 3, 4 * MIB);
    }
    root = record_parse(record_finish_text());
    memory = json_object_get(json_object_get(json_object_get(root, "stages"), "X"), "memory");
    assert_true(json_number_of(memory, "allocated_mb") == 7);
    assert_true(json_number_of(memory, "peak_allocated_mb") == 7);
    json_decref(root);
}

static void time_inside_a_stage_that_leaves_nothing_counts_all_the_same(void **state)
{
    json_t *root, *stages;
    (void)state;
    {
        PLUMB_REQUEST(request, "leaves nothing", NULL);
        PLUMB_STAGE(abandoned, "abandoned");
        {
            plumb_span closed = plumb_begin_with(plumb_node_get("closed"), PLUMB_POINT_STAGE);
            PLUMB_STAGE(inner, "inner");
            record_work_ns(1000000);
            plumb_end(inner);
            inner.id = 0;
            assert_true(closed.id != 0); /* ended by the one around it */
        }
        plumb_span_abandon(abandoned);
    }
    root = record_parse(record_finish_text());
    stages = json_object_get(root, "stages");
    assert_int_equal(json_object_size(stages), 1);
    assert_true(fabs(checked_total(root) -
                     json_number_of(json_object_get(stages, "inner"), "duration_ms")) <= 0.000001);
    json_decref(root);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup(f, record_setup)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(the_schema_of_a_section),
        IN_A_RUN(without_requests_the_run_is_the_section),
        IN_A_RUN(the_last_run_of_a_stage_in_two_phases_of_a_request),
        IN_A_RUN(all_requests_are_in_the_index_and_all_runs_in_the_nodes),
        IN_A_RUN(a_failed_stage_counts_its_time_so_that_the_whole_holds_its_parts),
        IN_A_RUN(time_inside_a_stage_that_leaves_nothing_counts_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

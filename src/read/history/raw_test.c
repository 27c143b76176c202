/* Tests of configurations of benchmarks and of the raw record of a run (FV-25 to FV-28). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/history/raw.h"

#if defined(PLUMB_HISTORY)

static void parse(struct plumb_json_tree *tree, const char *json)
{
    plumb_error err = {0, ""};
    if (plumb_json_tree_read(tree, json, strlen(json), 0, "test", &err) < 0)
        fail_msg("%s: %s", err.message, json);
}

static void loads(const char *json, int64_t warmup, int64_t runs, int64_t gpus)
{
    struct plumb_benchmark_config c;
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    parse(&tree, json);
    if (plumb_benchmark_config_read(&c, tree.root, "b.json", &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(c.warmup, warmup);
    assert_int_equal(c.runs, runs);
    assert_int_equal(c.gpus, gpus);
    plumb_json_tree_fini(&tree);
}

static void refused(const char *json, const char *words)
{
    struct plumb_benchmark_config c;
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    parse(&tree, json);
    assert_int_equal(plumb_benchmark_config_read(&c, tree.root, "b.json", &err), PLUMB_ERR_FORMAT);
    if (strncmp(err.message, "'b.json': ", 10) != 0 || !strstr(err.message, words))
        fail_msg("'%s' does not name '%s'", err.message, words);
    plumb_json_tree_fini(&tree);
}

#define V2                                                                                         \
    "\"benchmark_id\": \"b\", \"config_schema_version\": 2, \"workload_id\": \"w\","               \
    " \"variant_id\": \"v\", \"benchmark_version\": 0"

static void both_versions_of_a_configuration_load(void **state)
{
    (void)state;
    loads("{\"benchmark_id\": \"b\"}", 1, 3, 0);
    loads("{" V2 "}", 1, 3, 0);
    loads("{" V2 ", \"quality_metadata\": {}, \"regression_thresholds\": {}}", 1, 3, 0);
}

static void a_wrong_configuration_is_refused_with_file_and_field(void **state)
{
    (void)state;
    refused("[]", "the configuration must be a JSON object");
    refused("{}", "benchmark_id must be");
    refused("{\"benchmark_id\": \" \"}", "benchmark_id must be");
    refused("{\"benchmark_id\": 7}", "benchmark_id must be");
    refused("{\"benchmark_id\": \"b\", \"config_schema_version\": 2}", "workload_id must be");
    refused("{\"benchmark_id\": \"b\", \"workload_id\": \"w\"}",
            "workload_id needs config_schema_version 2");
    refused("{\"benchmark_id\": \"b\", \"benchmark_version\": 1}", "needs config_schema_version 2");
    refused("{\"benchmark_id\": \"b\", \"config_schema_version\": 3}", "config_schema_version");
    refused("{\"benchmark_id\": \"b\", \"config_schema_version\": true}", "config_schema_version");
    refused("{\"benchmark_id\": \"b\", \"config_schema_version\": 2, \"workload_id\": \"w\","
            " \"variant_id\": \"\", \"benchmark_version\": 1}",
            "variant_id must be");
    refused("{\"benchmark_id\": \"b\", \"config_schema_version\": 2, \"workload_id\": \"w\","
            " \"variant_id\": \"v\", \"benchmark_version\": true}",
            "benchmark_version must be a whole number");
    refused("{" V2 ", \"quality_metadata\": []}", "quality_metadata must be an object");
    refused("{" V2 ", \"regression_thresholds\": \"x\"}",
            "regression_thresholds must be an object");
}

static void counts_have_defaults_and_limits(void **state)
{
    (void)state;
    loads("{" V2 ", \"run_config\": {\"num_warmup_runs\": 0, \"num_measurement_runs\": 1}}", 0, 1,
          0);
    refused("{" V2 ", \"run_config\": {\"num_warmup_runs\": -1}}", "num_warmup_runs");
    refused("{" V2 ", \"run_config\": {\"num_warmup_runs\": true}}", "num_warmup_runs");
    refused("{" V2 ", \"run_config\": {\"num_warmup_runs\": 1.5}}", "num_warmup_runs");
    refused("{" V2 ", \"run_config\": {\"num_measurement_runs\": 0}}", "num_measurement_runs");
    refused("{" V2 ", \"run_config\": {\"num_measurement_runs\": false}}", "num_measurement_runs");
    loads("{" V2 ", \"run_config\": {\"required_gpus\": 2}}", 1, 3, 2);
    loads("{" V2 ", \"init_kwargs\": {\"num_gpus\": 4}}", 1, 3, 4);
    loads("{" V2 ", \"init_kwargs\": {\"tp_size\": 2, \"sp_size\": -1}}", 1, 3, 2);
    refused("{" V2 ", \"init_kwargs\": {\"num_gpus\": 1}, \"run_config\": {\"required_gpus\": 2}}",
            "they must be equal");
    refused("{" V2 ", \"init_kwargs\": {\"num_gpus\": 1, \"tp_size\": 2}}",
            "max(tp_size, sp_size)");
}

static void limits_are_chosen_by_the_device_then_by_default(void **state)
{
    struct plumb_benchmark_config c;
    struct plumb_json_tree tree;
    (void)state;
    parse(&tree, "{\"benchmark_id\": \"b\", \"thresholds\": {\"default\": {\"a\": 1},"
                 " \"L40\": {\"a\": 2}, \"L40S\": {\"a\": 3}}}");
    assert_int_equal(plumb_benchmark_config_read(&c, tree.root, "b", NULL), PLUMB_OK);
    assert_int_equal(
        plumb_json_whole(plumb_json_get(plumb_benchmark_limits(&c, "NVIDIA L40S"), "a")), 2);
    assert_int_equal(plumb_json_whole(plumb_json_get(plumb_benchmark_limits(&c, "H100"), "a")), 1);
    plumb_json_tree_fini(&tree);
}

static void a_tag_beats_the_class(void **state)
{
    (void)state;
    assert_int_equal(plumb_raw_component("dit_time_s", "DecodingStage"), 1);
    assert_int_equal(plumb_raw_component("transformer_time_s", "DecodingStage"), 2);
    assert_int_equal(plumb_raw_component(NULL, "TextEncodingStage"), 0);
    assert_int_equal(plumb_raw_component(NULL, "DmdDenoisingStage"), 1);
    assert_int_equal(plumb_raw_component(NULL, "Unknown"), -1);
}

/* ---- The record
 * ------------------------------------------------------------------------------- */

enum { STAGES = 4, REQUESTS = 4 };

struct run {
    struct plumb_timing t;
    struct plumb_timing_node nodes[STAGES];
    struct plumb_timing_request requests[REQUESTS];
    struct plumb_timing_request_stage stages[REQUESTS][STAGES];
    struct plumb_timing_use use[REQUESTS];
};

/* A warm-up of 99 s, and 30, 31 and 32 s, with a text encoder that is not there in the last. */
static void make_run(struct run *r)
{
    static const char *const names[STAGES] = {"TextEncodingStage", "denoise", "denoise_2", "other"};
    static const char *const tags[STAGES] = {NULL, "dit_time_s", "dit_time_s", NULL};
    static const double seconds[REQUESTS] = {99, 30, 31, 32};
    static const double encoder[REQUESTS] = {9, 1, 1.2, 0};
    memset(r, 0, sizeof *r);
    for (int i = 0; i < STAGES; i++) {
        r->nodes[i].name = names[i];
        r->nodes[i].metric = tags[i];
    }
    for (int i = 0; i < REQUESTS; i++) {
        struct plumb_timing_request *q = &r->requests[i];
        q->state = PLUMB_TIMING_REQUEST_ENDED;
        q->wall_ns = (uint64_t)(seconds[i] * 1e9);
        q->stages = r->stages[i];
        q->stage_count = STAGES;
        for (uint32_t k = 0; k < STAGES; k++)
            r->stages[i][k] = (struct plumb_timing_request_stage){
                .node = k,
                .count = 1,
                .total_ns = k == 0 ? (uint64_t)(encoder[i] * 1e9) : 4000000000u};
        r->stages[i][0].count = encoder[i] > 0;
        r->use[i].peak_allocated = (uint64_t)(10000 + i) << 20;
        q->memory.uses = &r->use[i];
        q->memory.use_count = 1;
    }
    r->t.nodes = r->nodes;
    r->t.node_count = STAGES;
    r->t.requests = r->requests;
    r->t.request_count = REQUESTS;
    r->t.cpu = "a processor";
    r->t.start_unix_ns = 1783209600000000000u;
}

static int record(struct plumb_json_tree *out, const struct run *r, const char *json,
                  struct plumb_buf *remarks, plumb_error *err)
{
    struct plumb_run_origin origin = {.source = "local", .commit = "abc", .branch = "main"};
    struct plumb_benchmark_config c;
    struct plumb_json_tree tree;
    struct plumb_buf text = {0};
    parse(&tree, json);
    assert_int_equal(plumb_benchmark_config_read(&c, tree.root, "b", NULL), PLUMB_OK);
    int rc = plumb_raw_record(&text, &r->t, &c, &origin, "{\"a\":1}", "{\"b\":2}", remarks, err);
    if (rc == PLUMB_OK)
        parse(out, text.data);
    plumb_buf_fini(&text);
    plumb_json_tree_fini(&tree);
    return rc;
}

static double number(const struct plumb_json_tree *t, const char *name)
{
    const struct plumb_json_value *v = plumb_json_get(t->root, name);
    return plumb_json_is_number(v) ? plumb_json_as_real(v) : NAN;
}

static void a_record_has_the_figures_of_the_original(void **state)
{
    static const char *const fields[] = {"benchmark_id",
                                         "result_schema_version",
                                         "model_short_name",
                                         "device",
                                         "num_gpus",
                                         "num_warmup_runs",
                                         "num_measurement_runs",
                                         "individual_times_s",
                                         "individual_peak_memories_mb",
                                         "thresholds",
                                         "commit",
                                         "run_source",
                                         "branch",
                                         "pr_number",
                                         "test_scope",
                                         "build_url",
                                         "build_id",
                                         "job_id",
                                         "timestamp",
                                         "quality_metadata",
                                         "workload_id",
                                         "recipe_fingerprint",
                                         "hardware_profile_id",
                                         "software_profile_id",
                                         "regression_thresholds"};
    struct run r;
    struct plumb_json_tree t;
    struct plumb_buf remarks = {0};
    plumb_error err = {0, ""};
    (void)state;
    make_run(&r);
    if (record(&t, &r,
               "{" V2 ", \"generation_kwargs\": {\"num_frames\": 45}, \"quality_metadata\": {},"
               " \"regression_thresholds\": {}, \"thresholds\": {\"default\": {\"x\": 1}}}",
               &remarks, &err) < 0)
        fail_msg("%s", err.message);
    assert_float_equal(number(&t, "avg_generation_time_s"), 31.0, 1e-9);
    assert_float_equal(number(&t, "throughput_fps"), 1.452, 1e-9);
    assert_float_equal(number(&t, "max_peak_memory_mb"), 10003.0, 1e-9);
    assert_float_equal(number(&t, "text_encoder_time_s"), 1.1, 1e-9); /* of those that have it */
    assert_float_equal(number(&t, "dit_time_s"), 8.0, 1e-9);          /* repeats add up */
    assert_true(plumb_json_is(plumb_json_get(t.root, "vae_decode_time_s"), PLUMB_JSON_IS_NULL));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!plumb_json_get(t.root, fields[i]))
            fail_msg("the record has no %s", fields[i]);
    assert_int_equal(remarks.len, 0);
    plumb_json_tree_fini(&t);
}

static void short_times_keep_three_digits(void **state)
{
    struct run r;
    struct plumb_json_tree t;
    struct plumb_buf remarks = {0};
    plumb_error err = {0, ""};
    (void)state;
    make_run(&r);
    for (int i = 0; i < REQUESTS; i++) {
        r.requests[i].wall_ns = 412345;
        r.stages[i][0].total_ns = 1234;
        r.use[i].peak_allocated = 4096;
    }
    assert_int_equal(record(&t, &r, "{\"benchmark_id\": \"b\"}", &remarks, &err), PLUMB_OK);
    assert_float_equal(number(&t, "avg_generation_time_s"), 0.000412, 1e-12);
    assert_float_equal(
        plumb_json_as_real(plumb_json_at(plumb_json_get(t.root, "individual_times_s"), 0)),
        0.000412, 1e-12);
    assert_float_equal(number(&t, "throughput_fps"), 2425.154, 1e-9);
    assert_float_equal(number(&t, "max_peak_memory_mb"), 0.00391, 1e-12);
    plumb_json_tree_fini(&t);
    plumb_buf_fini(&remarks);
}

static void a_record_without_frames_and_limits_has_the_defaults(void **state)
{
    struct run r;
    struct plumb_json_tree t;
    struct plumb_buf remarks = {0};
    plumb_error err = {0, ""};
    (void)state;
    make_run(&r);
    assert_int_equal(record(&t, &r, "{\"benchmark_id\": \"b\"}", &remarks, &err), PLUMB_OK);
    assert_float_equal(number(&t, "throughput_fps"), 0.032, 1e-9);
    assert_null(plumb_json_get(t.root, "result_schema_version"));
    const struct plumb_json_value *limits = plumb_json_get(t.root, "thresholds");
    assert_float_equal(plumb_json_as_real(plumb_json_get(limits, "max_generation_time_s")), 120, 0);
    assert_non_null(strstr(remarks.data, "120 s and 30000 MB"));
    plumb_json_tree_fini(&t);
    plumb_buf_fini(&remarks);
}

static void too_few_requests_are_named(void **state)
{
    struct run r;
    struct plumb_json_tree t;
    plumb_error err = {0, ""};
    (void)state;
    make_run(&r);
    r.requests[1].state = PLUMB_TIMING_REQUEST_FAILED;
    assert_int_equal(record(&t, &r, "{\"benchmark_id\": \"b\"}", NULL, &err), PLUMB_ERR_FORMAT);
    assert_non_null(strstr(err.message, "the run has 3 good requests"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_of_a_configuration_load),
        cmocka_unit_test(a_wrong_configuration_is_refused_with_file_and_field),
        cmocka_unit_test(counts_have_defaults_and_limits),
        cmocka_unit_test(limits_are_chosen_by_the_device_then_by_default),
        cmocka_unit_test(a_tag_beats_the_class),
        cmocka_unit_test(a_record_has_the_figures_of_the_original),
        cmocka_unit_test(short_times_keep_three_digits),
        cmocka_unit_test(a_record_without_frames_and_limits_has_the_defaults),
        cmocka_unit_test(too_few_requests_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* built without SQLite */
}

#endif

/* Tests of timing.c: what was written comes back, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "read/run/timing.h"
#include "timing_fixture.h"

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
    struct plumb_timing_counted rows[] = {
        {.node = 0,
         .runs = 3,
         .counter = {[PLUMB_PERF_MINOR_FAULTS] = {0, 3, 0, 0, 0},
                     [PLUMB_PERF_CYCLES] = {UINT64_MAX, 2, 1, 9, 7}}},
        {.node = 0,
         .kernel = "conv",
         .runs = 2,
         .counter = {[PLUMB_PERF_INSTRUCTIONS] = {12, 2, 0, 5, 5}}},
        {.node = PLUMB_TIMING_NONE, .kernel = "(other)", .runs = 1},
    };
    t.perf.on = true;
    t.perf.threads_refused = 4;
    t.perf.state[PLUMB_PERF_CYCLES] = PLUMB_COUNTER_THERE;
    t.perf.state[PLUMB_PERF_BRANCHES] = PLUMB_COUNTER_ABSENT;
    t.perf.why[PLUMB_PERF_BRANCHES] = "not here";
    t.perf.rows = rows;
    t.perf.row_count = 3;
    assert_reads_back(&t);
    plumb_timing_fini(&t);
    plumb_timing_init(&t);
    assert_reads_back(&t);
    plumb_timing_fini(&t);
}

static void assert_same_memory(const struct plumb_timing_memory *a,
                               const struct plumb_timing_memory *b)
{
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->rss, b->rss);
    assert_int_equal(a->peak_rss, b->peak_rss);
    assert_int_equal(a->growth, b->growth);
    assert_int_equal(a->peak_exact, b->peak_exact);
    assert_int_equal(a->reset_peak, b->reset_peak);
    assert_int_equal(a->use_count, b->use_count);
    for (size_t i = 0; i < a->use_count; i++) {
        assert_int_equal(a->uses[i].pool, b->uses[i].pool);
        assert_memory_equal(&a->uses[i].allocated, &b->uses[i].allocated,
                            4 * sizeof a->uses[i].allocated);
    }
}

/* Equal bytes could also be equally wrong: a part of the model, member by member. */
static void memory_and_requests_read_back_exactly(void **state)
{
    struct plumb_timing t, again;
    (void)state;
    fixture_served(&t);
    assert_reads_back(&t);
    struct plumb_buf text = written(&t);
    assert_int_equal(plumb_timing_parse(&again, text.data, text.len, "x.json", NULL), PLUMB_OK);
    assert_string_equal(again.request_id, "run_20260102-030405");
    assert_int_equal(again.pid, 4711);
    assert_string_equal(again.nodes[2].metric, "vae \"time\"");
    assert_null(again.nodes[1].metric);
    assert_int_equal(again.memory.peak_rss, t.memory.peak_rss);
    assert_int_equal(again.memory.total, t.memory.total);
    assert_int_equal(again.memory.pool_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(again.memory.pools[i].pool, t.memory.pools[i].pool);
        assert_memory_equal(&again.memory.pools[i].total, &t.memory.pools[i].total,
                            offsetof(struct plumb_timing_pool, by_size) -
                                offsetof(struct plumb_timing_pool, total));
        assert_int_equal(again.memory.pools[i].by_size, t.memory.pools[i].by_size);
    }
    assert_string_equal(again.memory.pools[0].owners[1].node, "bad\xff name");
    assert_int_equal(again.memory.pools[0].owners[1].at_peak, 100 * FIXTURE_MIB);
    assert_int_equal(again.memory.pools[0].leaks[0].address, UINT64_MAX - 4095);
    assert_string_equal(again.memory.checkpoints[1].name, "after_\xff");
    assert_int_equal(again.memory.checkpoints[0].request, PLUMB_TIMING_NONE);
    for (size_t i = 0; i < 4; i++)
        assert_same_memory(&again.memory.checkpoints[i].memory, &t.memory.checkpoints[i].memory);
    assert_same_memory(&again.nodes[2].memory, &t.nodes[2].memory);
    assert_same_memory(&again.requests[2].stages[2].memory, &t.requests[2].stages[2].memory);
    assert_memory_equal(again.memory.series[0].points, t.memory.series[0].points,
                        2 * sizeof(struct plumb_timing_point));
    assert_int_equal(again.requests[1].state, PLUMB_TIMING_REQUEST_FAILED);
    assert_string_equal(again.requests[1].id, "bad\xff id");
    assert_int_equal(again.requests[2].metadata_count, 3);
    assert_string_equal(again.requests[2].metadata[2].value, "2");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(again.stage_runs[i].request, t.stage_runs[i].request);
    assert_true(again.stage_runs[1].failed);
    assert_string_equal(again.stage_runs[1].why, "no \"luck\"");
    assert_int_equal(again.stage_runs[1].within, 0);
    assert_int_equal(again.stage_runs[2].within, PLUMB_TIMING_NONE);
    assert_int_equal(again.stage_runs[2].number, 7);
    assert_int_equal(again.requests[2].number, 12);
    assert_int_equal(again.requests_lost, 9);
    assert_int_equal(again.stage_runs_lost, 4);
    plumb_timing_fini(&again);
    plumb_buf_fini(&text);
    plumb_timing_fini(&t);
}

static void an_older_file_has_no_memory_and_no_requests(void **state)
{
    struct plumb_timing t;
    plumb_error err = {0, ""};
    (void)state;
    const char *path = TEST_PLUMB_SOURCE_DIR "/tests/fuzz/corpus/timing/older.json";
    if (plumb_timing_read(&t, path, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(t.request_id, "run_20260102-030405");
    assert_string_equal(t.pipeline, "prog");
    assert_int_equal(t.pid, 4711);
    assert_int_equal(t.memory.pool_count + t.memory.checkpoint_count + t.memory.series_count, 0);
    assert_int_equal(t.request_count + t.stage_run_count, 0);
    assert_int_equal(t.nodes[0].memory.samples, 0);
    assert_null(t.nodes[0].metric);
    plumb_timing_fini(&t);
}

/* Writes the report of `fill` with `from` replaced by `to` and expects the error text `why`. */
static void assert_refused_of(void (*fill)(struct plumb_timing *t), const char *from,
                              const char *to, const char *why)
{
    struct plumb_timing t;
    struct plumb_timing out;
    struct plumb_buf changed = {0};
    plumb_error err = {0, ""};
    fill(&t);
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

static void assert_refused(const char *from, const char *to, const char *why)
{
    assert_refused_of(fixture_rich, from, to, why);
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
    assert_refused("\"max_ns\": 30000000", "\"max_ns\": 190000001",
                   "'x.json' is damaged: nodes[0].max_ns is larger than total_ns");
    assert_refused("\"parent\": 0", "\"parent\": 1",
                   "'x.json' is damaged: tree[1].parent does not stand before its children");
    assert_refused("\"node\": 3", "\"node\": 8",
                   "'x.json' is damaged: tree[2].node is not in "
                   "'nodes'");
    assert_refused(
        "\"p2\"", "\"p3\"",
        "'x.json' is damaged: nodes[1].median_estimator is not one that this plumb knows");
}

static void damage_of_memory_and_requests_is_named_with_its_place(void **state)
{
    void (*fill)(struct plumb_timing *) = fixture_served;
    (void)state;
    assert_refused_of(fill, "\"peak_rss_bytes\": 314572800,\n        \"growth",
                      "\"peak_rss_bytes\": -1,\n        \"growth",
                      "'x.json' is damaged: nodes[0].memory.peak_rss_bytes is not a whole number "
                      "from 0 to 2^64-1");
    assert_refused_of(fill, "{\"index\": 0, \"device\": \"cuda:0\"",
                      "{\"index\": 3, \"device\": \"\"",
                      "'x.json' is damaged: nodes[0].memory.pools[0].index is not in "
                      "'memory.pools'");
    assert_refused_of(fill, "\"growth_bytes\": -5242880", "\"growth_bytes\": \"-5\"",
                      "'x.json' is damaged: nodes[0].memory.growth_bytes is not a whole number");
    assert_refused_of(fill, "\"total_bytes\": 17179869184", "\"total_bytes\": []",
                      "'x.json' is damaged: memory.total_bytes is not a whole number from 0 to "
                      "2^64-1");
    assert_refused_of(fill, "\"leaks\": [\n          {\"owner\": 0",
                      "\"leaks\": [\n          {\"owner\": 3",
                      "'x.json' is damaged: memory.pools[0].leaks[0].owner is not in 'owners'");
    assert_refused_of(fill, "\"at_ns\": 30,\n        \"request\": 2",
                      "\"at_ns\": 30,\n        \"request\": 3",
                      "'x.json' is damaged: memory.checkpoints[2].request is not in 'requests'");
    assert_refused_of(fill, "[[0, 0, 0], [5, 1", "[[0, 0, 0, 0], [5, 1",
                      "'x.json' is damaged: memory.series[1].points holds something that is not "
                      "three numbers");
    assert_refused_of(fill, "\"state\": \"open\"", "\"state\": \"ajar\"",
                      "'x.json' is damaged: requests[2].state is neither open, ended nor failed");
    assert_refused_of(fill, "\"prompt\": \"a \\\"cat\\\"\\u000a\",\n        \"pid\"",
                      "\"prompt\": 7,\n        \"pid\"",
                      "'x.json' is damaged: requests[2].metadata.prompt is not a string");
    assert_refused_of(fill, "\"node\": 2,\n          \"name\"", "\"node\": 8,\n          \"name\"",
                      "'x.json' is damaged: requests[2].stages[2].node is not in 'nodes'");
    assert_refused_of(fill, "\"stage_runs\": [\n    {\"node\": 0",
                      "\"stage_runs\": [\n    {\"node\": 8",
                      "'x.json' is damaged: stage_runs[0].node is not in 'nodes'");
    assert_refused_of(fill, "\"request\": 1, \"number\"", "\"request\": 7, \"number\"",
                      "'x.json' is damaged: stage_runs[1].request is not in 'requests'");
    assert_refused_of(fill, "\"requests_lost\": 9", "\"requests_lost\": true",
                      "'x.json' is damaged: requests_lost is not a whole number from 0 to 2^64-1");
    assert_refused_of(fill, "\"checkpoints\": [", "\"checkpoints\": [3, ",
                      "'x.json' is damaged: memory.checkpoints[0] is not an object");
}

static void foreign_and_newer_files_are_told_apart(void **state)
{
    (void)state;
    assert_refused("\"plumb-timing\"", "\"plumb-trace\"",
                   "'x.json' is not a timing report of plumb (its \"format\" is not "
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
    char *at = strstr(strstr(text.data, "\"run\": {"), "\"request_id\"");
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
        assert_non_null(
            strstr(err.message, n ? "'x.json' is not valid JSON: line " : "'x.json' is empty"));
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
    fixture_served(&t);
    struct plumb_buf text = written(&t);
    for (int i = 0; i < 1600; i++) {
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
        cmocka_unit_test(memory_and_requests_read_back_exactly),
        cmocka_unit_test(an_older_file_has_no_memory_and_no_requests),
        cmocka_unit_test(a_damaged_field_is_named_with_its_place),
        cmocka_unit_test(damage_of_memory_and_requests_is_named_with_its_place),
        cmocka_unit_test(foreign_and_newer_files_are_told_apart),
        cmocka_unit_test(unknown_fields_are_skipped),
        cmocka_unit_test(every_truncation_is_refused_in_one_line),
        cmocka_unit_test(changed_bytes_never_crash_the_reader),
        cmocka_unit_test(files_that_cannot_be_read_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

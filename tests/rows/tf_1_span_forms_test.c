/* TF-1: every form of a span leaves the same record: scope declaration, begin and end, lap, async,
 * function wrapper, names made at run time, samples measured elsewhere. A wrapper looks at the
 * configuration again at each call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"

enum { RUNS = 3, WORK_NS = 20000 };

static void by_scope(const char *unused)
{
    (void)unused;
    PLUMB_SPAN("scope");
    record_work_ns(WORK_NS);
}

static void by_begin_and_end(const char *unused)
{
    PLUMB_POINT(point, "pair");
    plumb_span span = plumb_begin(&point);
    (void)unused;
    record_work_ns(WORK_NS);
    plumb_end(span);
}

static void by_lap(const char *unused)
{
    PLUMB_LAPS(laps);
    (void)unused;
    PLUMB_LAP(laps, "lap");
    record_work_ns(WORK_NS);
}

static void by_node(const char *name)
{
    PLUMB_SPAN_NODE(plumb_node_get(name));
    record_work_ns(WORK_NS);
}

static void by_async(const char *name)
{
    plumb_async span = plumb_async_begin(plumb_node_get(name));
    record_work_ns(WORK_NS);
    plumb_async_end(span);
}

static int wrapped(int a, int b)
{
    record_work_ns(WORK_NS);
    return a - b;
}
PLUMB_WRAP(int, wrapped, (int a, int b), (a, b));

static void wrapped_void(int *out)
{
    record_work_ns(WORK_NS);
    *out = 7;
}
PLUMB_WRAP_VOID(wrapped_void, (int *out), (out));

static void by_wrapper(const char *unused)
{
    (void)unused;
    assert_int_equal(wrapped_plumb(9, 4), 5);
}

static void by_void_wrapper(const char *unused)
{
    int out = 0;
    (void)unused;
    wrapped_void_plumb(&out);
    assert_int_equal(out, 7);
}

static const struct form {
    const char *node;
    void (*run)(const char *name);
} forms[] = {
    {"scope", by_scope},
    {"pair", by_begin_and_end},
    {"lap", by_lap},
    {"block.3", by_node},
    {"async", by_async},
    {"wrapped", by_wrapper},
    {"wrapped_void", by_void_wrapper},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void run_all(int times)
{
    for (int k = 0; k < times; k++) {
        for (size_t i = 0; i < FORMS; i++)
            forms[i].run(forms[i].node);
    }
}

static void each_form_leaves_count_and_time(void **state)
{
    (void)state;
    run_all(RUNS);
    for (size_t i = 0; i < FORMS; i++) {
        plumb_row row = record_row(forms[i].node);
        assert_int_equal(row.count, RUNS);
        assert_int_equal(row.failures, 0);
        assert_int_equal(row.threads, 1);
        assert_true(row.min_ms >= WORK_NS * 0.99e-6);
        assert_true(row.total_ms >= RUNS * WORK_NS * 0.99e-6);
        record_check_row(&row);
    }
}

static void forms_stand_in_the_table_in_the_order_they_were_seen(void **state)
{
    plumb_rows *rows;
    (void)state;
    run_all(1);
    rows = record_rows(NULL, NULL);
    assert_int_equal(plumb_rows_count(rows), FORMS);
    for (size_t i = 0; i < FORMS; i++)
        assert_string_equal(plumb_rows_get(rows, i)->node, forms[i].node);
    plumb_rows_free(rows);
}

static void every_form_but_async_has_self_time_and_a_place_in_the_tree(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("outer");
        run_all(RUNS);
    }
    record_finish(&t);
    for (size_t i = 0; i < FORMS; i++) {
        const struct plumb_timing_node *n = timing_node(&t, "inference", forms[i].node);
        char path[64];
        if (strcmp(forms[i].node, "async") == 0)
            continue;
        assert_int_equal(n->self_ns, n->host.ns.total);
        snprintf(path, sizeof path, "outer/%s", forms[i].node);
        assert_int_equal(timing_place_count(&t, path), RUNS);
    }
    assert_int_equal(timing_node(&t, "inference", "async")->self_ns, 0);
    assert_int_equal(timing_place_count(&t, "async"), RUNS);
    assert_true(timing_place(&t, "async")->async);
    timing_check_tree(&t);
    plumb_timing_fini(&t);
    record_start();
}

static void a_wrapper_looks_at_the_configuration_at_each_call(void **state)
{
    plumb_config config = plumb_config_default();
    plumb_pipeline *other = plumb_pipeline_get("other");
    (void)state;
    run_all(1);
    assert_int_equal(plumb_configure(NULL, &config, NULL), PLUMB_OK);
    run_all(1);
    for (size_t i = 0; i < FORMS; i++)
        assert_int_equal(record_count(forms[i].node), 1);
    {
        PLUMB_PIPELINE(other);
        run_all(1);
    }
    config.enabled = 1;
    assert_int_equal(plumb_configure(NULL, &config, NULL), PLUMB_OK);
    run_all(1);
    for (size_t i = 0; i < FORMS; i++) {
        assert_int_equal(record_row_of(plumb_pipeline_get("other"), NULL, forms[i].node).count, 1);
        assert_int_equal(
            record_row_of(plumb_pipeline_get("tf_1_span_forms"), NULL, forms[i].node).count, 0);
    }
}

static void laps_share_their_clock_reads(void **state)
{
    uint64_t sum = 0;
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("around");
        PLUMB_LAPS(laps);
        for (int i = 0; i < 40; i++) {
            PLUMB_LAP(laps, "first");
            PLUMB_LAP(laps, "second");
            PLUMB_LAP(laps, "third");
        }
        plumb_end(laps);
        laps.id = 0;
    }
    record_finish(&t);
    for (size_t i = 0; i < t.node_count; i++) {
        if (strcmp(t.nodes[i].name, "around") != 0) {
            assert_int_equal(t.nodes[i].host.ns.count, 40);
            sum += t.nodes[i].host.ns.total;
        }
    }
    assert_true(sum <= timing_node(&t, NULL, "around")->host.ns.total);
    timing_check_tree(&t);
    plumb_timing_fini(&t);
    record_start();
}

static void names_made_at_run_time_are_interned_once(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) {
            char name[32];
            snprintf(name, sizeof name, "layer.%d", i);
            by_node(name);
            assert_int_equal(plumb_node_get(name), plumb_node_get(name));
        }
    }
    for (int i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d", i);
        assert_int_equal(record_count(name), 3);
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void stage_by_scope(const char *unused)
{
    (void)unused;
    PLUMB_STAGE(stage, "stage.scope");
    record_work_ns(WORK_NS);
}

static void stage_by_node(const char *name)
{
    plumb_span stage = plumb_begin_with(plumb_node_get(name), PLUMB_POINT_STAGE);
    record_work_ns(WORK_NS);
    plumb_end(stage);
}

static void stage_by_lap(const char *unused)
{
    PLUMB_LAPS(laps);
    (void)unused;
    PLUMB_STAGE_LAP(laps, "stage.lap");
    record_work_ns(WORK_NS);
    PLUMB_LAP(laps, "no stage");
}

static int stage_wrapped(int a, int b)
{
    record_work_ns(WORK_NS);
    return a - b;
}
PLUMB_WRAP_STAGE(int, stage_wrapped, (int a, int b), (a, b));

static void stage_wrapped_void(int *out)
{
    record_work_ns(WORK_NS);
    *out = 7;
}
PLUMB_WRAP_STAGE_VOID(stage_wrapped_void, (int *out), (out));

static void stage_by_wrapper(const char *unused)
{
    (void)unused;
    assert_int_equal(stage_wrapped_plumb(9, 4), 5);
}

static void stage_by_void_wrapper(const char *unused)
{
    int out = 0;
    (void)unused;
    stage_wrapped_void_plumb(&out);
    assert_int_equal(out, 7);
}

static void stage_by_async(const char *name)
{
    plumb_async stage = plumb_async_begin_with(plumb_node_get(name), PLUMB_POINT_STAGE);
    record_work_ns(WORK_NS);
    plumb_async_end(stage);
}

static void *end_elsewhere(void *stage)
{
    record_work_ns(WORK_NS);
    plumb_async_end(*(plumb_async *)stage);
    plumb_async_end(*(plumb_async *)stage); /* once is enough */
    return NULL;
}

static void stage_by_async_elsewhere(const char *name)
{
    pthread_t thread;
    plumb_async stage = plumb_async_begin_with(plumb_node_get(name), PLUMB_POINT_STAGE);
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &stage), 0);
    pthread_join(thread, NULL);
}

static const struct form stage_forms[] = {
    {"stage.scope", stage_by_scope},
    {"stage.node", stage_by_node},
    {"stage.lap", stage_by_lap},
    {"stage_wrapped", stage_by_wrapper},
    {"stage_wrapped_void", stage_by_void_wrapper},
    {"stage.async", stage_by_async},
    {"stage.async elsewhere", stage_by_async_elsewhere},
};
enum { STAGE_FORMS = sizeof stage_forms / sizeof stage_forms[0] };

static struct {
    int begun, completed, timed, other;
} said[STAGE_FORMS];

/* Checks that a line about a stage begins with its head. */
static void count_lines(int level, const char *text, void *arg)
{
    (void)level;
    (void)arg;
    for (size_t i = 0; i < STAGE_FORMS; i++) {
        char name[64], timing[64];
        snprintf(name, sizeof name, "[%s|", stage_forms[i].node);
        snprintf(timing, sizeof timing, "[Rank 0] [Timing] %s: ", stage_forms[i].node);
        if (strncmp(text, timing, strlen(timing)) == 0)
            said[i].timed++;
        else if (strncmp(text, name, strlen(name)) == 0 && strstr(text, "] Starting execution"))
            said[i].begun++;
        else if (strncmp(text, name, strlen(name)) == 0 && strstr(text, "] Execution completed in"))
            said[i].completed++;
        else if (strncmp(text, name, strlen(name)) == 0)
            said[i].other++;
    }
}

static void each_form_of_a_stage_leaves_the_same_record_in_its_request(void **state)
{
    struct plumb_timing t;
    (void)state;
    memset(said, 0, sizeof said);
    plumb_set_log(PLUMB_LOG_INFO, count_lines, NULL);
    {
        PLUMB_REQUEST(request, "forms", NULL);
        for (int k = 0; k < RUNS; k++) {
            for (size_t i = 0; i < STAGE_FORMS; i++)
                stage_forms[i].run(stage_forms[i].node);
        }
    }
    plumb_set_log(0, NULL, NULL);
    record_finish(&t);
    assert_int_equal(t.request_count, 1);
    assert_int_equal(t.requests[0].records, RUNS * STAGE_FORMS);
    assert_int_equal(t.requests[0].stage_count, STAGE_FORMS);
    for (size_t i = 0; i < STAGE_FORMS; i++) {
        const struct plumb_timing_node *node = timing_node(&t, NULL, stage_forms[i].node);
        const struct plumb_timing_request_stage *s = &t.requests[0].stages[i];
        size_t runs = 0;
        assert_ptr_equal(&t.nodes[s->node], node);
        assert_true(node->stage);
        assert_int_equal(node->host.ns.count, RUNS);
        assert_int_equal(s->count, RUNS);
        assert_int_equal(s->failures, 0);
        assert_int_equal(s->total_ns, node->host.ns.total);
        assert_int_equal(s->last_ns, node->host.ns.last);
        assert_true(s->total_ns >= RUNS * WORK_NS * 0.99);
        assert_int_equal(s->memory.samples, RUNS);
        assert_true(s->memory.rss > 0 && s->memory.peak_rss >= s->memory.rss);
        for (size_t k = 0; k < t.stage_run_count; k++)
            runs += t.stage_runs[k].node == s->node && t.stage_runs[k].request == 0;
        assert_int_equal(runs, RUNS);
        assert_int_equal(said[i].begun, RUNS);
        assert_int_equal(said[i].completed, RUNS);
        assert_int_equal(said[i].timed, RUNS);
        assert_int_equal(said[i].other, 0);
    }
    plumb_timing_fini(&t);
    record_start();
}

static void an_async_stage_may_fail_overlap_and_outlive_its_request(void **state)
{
    struct plumb_timing t;
    plumb_node node = plumb_node_get("overlapping");
    plumb_async a, b, dropped;
    plumb_request request;
    (void)state;
    request = plumb_request_begin("first", NULL);
    a = plumb_async_begin_with(node, PLUMB_POINT_STAGE);
    b = plumb_async_begin_with(node, PLUMB_POINT_STAGE);
    dropped = plumb_async_begin_with(node, PLUMB_POINT_STAGE);
    record_work_ns(WORK_NS);
    plumb_async_fail(a, "no frames");
    plumb_async_abandon(dropped);
    plumb_request_end(request);
    request = plumb_request_begin("second", NULL);
    plumb_async_end(b);
    plumb_request_end(request);
    record_finish(&t);
    assert_int_equal(t.requests[0].records, 2);
    assert_int_equal(t.requests[0].stages[0].count, 1);
    assert_int_equal(t.requests[0].stages[0].failures, 1);
    assert_int_equal(t.requests[1].records, 0);
    assert_int_equal(timing_node(&t, NULL, "overlapping")->host.ns.count, 1);
    assert_int_equal(timing_node(&t, NULL, "overlapping")->failures, 1);
    /* It held no thread. */
    assert_int_equal(t.requests[0].stages[0].exclusive_ns, 0);
    plumb_timing_fini(&t);
    record_start();
}

static void two_sites_with_one_name_are_one_node(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *n;
    (void)state;
    for (int i = 0; i < 2; i++) {
        PLUMB_SPAN("twice");
    }
    {
        PLUMB_SPAN("twice");
    }
    record_finish(&t);
    n = timing_node(&t, NULL, "twice");
    assert_int_equal(n->host.ns.count, 3);
    assert_int_equal(n->site_count, 2);
    assert_true(n->sites[0].line != n->sites[1].line);
    plumb_timing_fini(&t);
    record_start();
}

static void samples_measured_elsewhere_go_to_their_channel(void **state)
{
    plumb_node node = plumb_node_get("kernel");
    plumb_row row;
    (void)state;
    plumb_record_ns(node, 1000000);
    plumb_record_ns(node, 3000000);
    plumb_record_device_ns(node, 500000);
    row = record_row("kernel");
    assert_int_equal(row.count, 2);
    assert_true(row.mean_ms == 2.0 && row.min_ms == 1.0 && row.max_ms == 3.0 && row.last_ms == 3.0);
    assert_true(row.std_ms == 1.0);
    assert_int_equal(row.device_count, 1);
    assert_true(row.device_total_ms == 0.5 && row.device_mean_ms == 0.5);
    assert_true(row.device_min_ms == 0.5 && row.device_max_ms == 0.5 &&
                row.device_median_ms == 0.5);
}

static void spans_and_samples_of_one_node_are_one_row(void **state)
{
    plumb_row row;
    (void)state;
    by_node("mixed");
    plumb_record_ns(plumb_node_get("mixed"), UINT64_C(3600000000000));
    row = record_row("mixed");
    assert_int_equal(row.count, 2);
    assert_true(row.max_ms == 3600000.0);
    assert_true(row.min_ms >= WORK_NS * 0.99e-6 && row.min_ms < row.max_ms);
    assert_true(row.last_ms == 3600000.0);
    record_check_row(&row);
}

static void a_sample_measured_elsewhere_takes_nothing_from_the_span_around_it(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("outer");
        record_work_ns(WORK_NS);
        plumb_record_ns(plumb_node_get("kernel"), 1000000000);
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "outer")->self_ns,
                     timing_node(&t, NULL, "outer")->host.ns.total);
    assert_int_equal(timing_node(&t, NULL, "kernel")->host.ns.total, 1000000000);
    plumb_timing_fini(&t);
    record_start();
}

static void a_failed_span_is_counted_and_leaves_no_sample(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *n;
    (void)state;
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN_AS(span, "risky");
        if (i % 3 == 0)
            plumb_span_fail(span, i ? "out of memory" : NULL);
    }
    assert_int_equal(record_count("risky"), 6);
    assert_int_equal(record_row("risky").failures, 4);
    record_finish(&t);
    n = timing_node(&t, NULL, "risky");
    assert_int_equal(n->host.ns.count, 6);
    assert_int_equal(n->failures, 4);
    assert_non_null(n->last_failure);
    assert_string_equal(n->last_failure, "out of memory");
    assert_int_equal(timing_place_count(&t, "risky"), 6);
    plumb_timing_fini(&t);
    record_start();
}

static void an_abandoned_span_leaves_nothing(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("outer");
        for (int i = 0; i < 4; i++) {
            PLUMB_SPAN_AS(span, "speculative");
            {
                PLUMB_SPAN("inside");
                record_work_ns(WORK_NS);
            }
            if (i < 3)
                plumb_span_abandon(span);
        }
    }
    assert_int_equal(record_count("speculative"), 1);
    assert_int_equal(record_row("speculative").failures, 0);
    assert_int_equal(record_count("inside"), 4);
    record_finish(&t);
    /* The time inside was spent, and is not the outer span's own. */
    assert_true(timing_node(&t, NULL, "outer")->self_ns <=
                timing_node(&t, NULL, "outer")->host.ns.total -
                    timing_node(&t, NULL, "inside")->host.ns.total + 4);
    plumb_timing_fini(&t);
    record_start();
}

static void a_mark_reaches_an_outer_span_too(void **state)
{
    (void)state;
    {
        PLUMB_SPAN_AS(outer, "outer");
        {
            PLUMB_SPAN("inner");
            plumb_span_fail(outer, "found out inside");
        }
    }
    assert_int_equal(record_count("outer"), 0);
    assert_int_equal(record_row("outer").failures, 1);
    assert_int_equal(record_count("inner"), 1);
}

static void arguments_change_no_figure(void **state)
{
    char long_text[2000];
    (void)state;
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    for (int i = 0; i < 300; i++) {
        PLUMB_SPAN_AS(span, "with_args");
        plumb_arg_i64(span, "width", i);
        plumb_arg_f64(span, "scale", i * 0.5);
        plumb_arg_str(span, "name", "latents");
        plumb_arg_str(span, "long", long_text);
        plumb_arg_str(span, NULL, NULL);
    }
    assert_int_equal(record_count("with_args"), 300);
    assert_int_equal(plumb_rows_count(NULL), 0);
}

static void counts_add_up_by_name_and_pipeline(void **state)
{
    struct plumb_timing t;
    size_t seen = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        plumb_counter_add("tokens", 3);
        plumb_counter_add("retries", -1);
    }
    {
        PLUMB_PIPELINE(plumb_pipeline_get("other"));
        plumb_counter_add("tokens", 5);
    }
    record_finish(&t);
    for (size_t i = 0; i < t.count_count; i++) {
        const struct plumb_timing_count *c = &t.counts[i];
        bool other = strcmp(c->pipeline, "other") == 0;
        if (strcmp(c->name, "tokens") == 0) {
            assert_int_equal(c->total, other ? 5 : 3000);
            assert_int_equal(c->events, other ? 1 : 1000);
            seen++;
        } else if (strcmp(c->name, "retries") == 0) {
            assert_int_equal(c->total, -1000);
            seen++;
        }
    }
    assert_int_equal(seen, 3);
    plumb_timing_fini(&t);
    record_start();
}

/* ---- Async
 * ---------------------------------------------------------------------------------------- */

enum { OPEN = 1500 };

static void *end_all(void *arg)
{
    plumb_async *spans = arg;
    PLUMB_PHASE("val");
    for (int i = OPEN - 1; i >= 0; i--)
        plumb_async_end(spans[i]);
    return NULL;
}

static void async_spans_end_on_another_thread_and_count_where_they_began(void **state)
{
    static plumb_async spans[OPEN];
    plumb_node node = plumb_node_get("request");
    pthread_t thread;
    plumb_row row;
    (void)state;
    {
        PLUMB_PHASE("train");
        for (int i = 0; i < OPEN; i++) {
            spans[i] = plumb_async_begin(node);
            assert_true(spans[i].id != 0);
        }
    }
    assert_int_equal(pthread_create(&thread, NULL, end_all, spans), 0);
    pthread_join(thread, NULL);
    row = record_row_of(NULL, "train", "request");
    assert_int_equal(row.count, OPEN);
    assert_true(row.self_ms == 0);
    record_check_row(&row);
    assert_null(record_row_of(NULL, "val", "request").node);
    /* Each once: a second end finds nothing. */
    end_all(spans);
    assert_int_equal(record_row_of(NULL, "train", "request").count, OPEN);
}

static void a_second_end_of_an_async_span_does_not_end_its_successor(void **state)
{
    plumb_node node = plumb_node_get("request");
    plumb_async first, second;
    (void)state;
    first = plumb_async_begin(node);
    plumb_async_end(first);
    second = plumb_async_begin(node);
    plumb_async_end(first);
    plumb_async_fail(first, "late");
    plumb_async_abandon(first);
    assert_int_equal(record_count("request"), 1);
    plumb_async_end(second);
    assert_int_equal(record_count("request"), 2);
    assert_int_equal(record_row("request").failures, 0);
}

static void an_async_span_can_fail_or_be_abandoned(void **state)
{
    plumb_node node = plumb_node_get("request");
    struct plumb_timing t;
    (void)state;
    plumb_async_fail(plumb_async_begin(node), "timeout");
    plumb_async_abandon(plumb_async_begin(node));
    plumb_async_end(plumb_async_begin(node));
    assert_int_equal(record_count("request"), 1);
    assert_int_equal(record_row("request").failures, 1);
    record_finish(&t);
    assert_string_equal(timing_node(&t, NULL, "request")->last_failure, "timeout");
    plumb_timing_fini(&t);
    record_start();
}

static void beyond_the_bound_async_spans_are_dropped_and_counted(void **state)
{
    enum { MOST = 65536 };
    static plumb_async spans[MOST + 10];
    plumb_node node = plumb_node_get("flood");
    struct plumb_timing t;
    size_t none = 0;
    (void)state;
    for (size_t i = 0; i < MOST + 10; i++) {
        spans[i] = plumb_async_begin(node);
        none += spans[i].id == 0;
    }
    assert_true(none >= 10 && none <= 11);
    for (size_t i = 0; i < MOST + 10; i++)
        plumb_async_end(spans[i]);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "flood")->host.ns.count, MOST + 10 - none);
    assert_int_equal(t.drops.async, none);
    assert_int_equal(t.drops.stale, 0);
    plumb_timing_fini(&t);
    record_start();
}

static void spans_of_a_run_that_has_ended_end_nothing_in_the_next(void **state)
{
    PLUMB_POINT(point, "late");
    plumb_node node = plumb_node_get("late_async");
    plumb_span span = plumb_begin(&point);
    plumb_async async = plumb_async_begin(node);
    (void)state;
    record_stop();
    plumb_end(span);
    plumb_async_end(async);
    record_start();
    plumb_async_end(async);
    {
        PLUMB_SPAN("fresh");
    }
    plumb_async_end(plumb_async_begin(node));
    assert_int_equal(record_count("fresh"), 1);
    assert_int_equal(record_count("late_async"), 1);
    assert_null(record_row("late").node);
}

/* ---- Nothing to record into
 * ------------------------------------------------------------------------ */

static void handles_of_nothing_are_accepted_everywhere(void **state)
{
    plumb_span span = {0};
    plumb_async async = {0};
    plumb_scope scope = {0};
    (void)state;
    plumb_end(span);
    plumb_span_fail(span, "x");
    plumb_span_abandon(span);
    plumb_arg_i64(span, "x", 1);
    plumb_async_end(async);
    plumb_scope_end(scope);
    plumb_record_ns(0, 1);
    plumb_record_ns(123456, 1);
    plumb_record_device_ns(0, 1);
    plumb_end(plumb_begin_node(0));
    plumb_async_end(plumb_async_begin(0));
    plumb_counter_add(NULL, 1);
    plumb_rows_free(NULL);
    plumb_text_free(NULL);
    assert_int_equal(plumb_rows_count(NULL), 0);
    assert_null(plumb_rows_get(NULL, 0));
}

static void a_null_name_is_the_empty_name(void **state)
{
    (void)state;
    {
        PLUMB_SPAN_NODE(plumb_node_get(NULL));
    }
    {
        PLUMB_SPAN_NODE(plumb_node_get(""));
    }
    assert_int_equal(plumb_node_get(NULL), plumb_node_get(""));
    assert_int_equal(record_count(""), 2);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(each_form_leaves_count_and_time),
        IN_A_RUN(forms_stand_in_the_table_in_the_order_they_were_seen),
        IN_A_RUN(every_form_but_async_has_self_time_and_a_place_in_the_tree),
        IN_A_RUN(laps_share_their_clock_reads),
        IN_A_RUN(names_made_at_run_time_are_interned_once),
        IN_A_RUN(each_form_of_a_stage_leaves_the_same_record_in_its_request),
        IN_A_RUN(an_async_stage_may_fail_overlap_and_outlive_its_request),
        IN_A_RUN(two_sites_with_one_name_are_one_node),
        IN_A_RUN(samples_measured_elsewhere_go_to_their_channel),
        IN_A_RUN(spans_and_samples_of_one_node_are_one_row),
        IN_A_RUN(a_sample_measured_elsewhere_takes_nothing_from_the_span_around_it),
        IN_A_RUN(a_failed_span_is_counted_and_leaves_no_sample),
        IN_A_RUN(an_abandoned_span_leaves_nothing),
        IN_A_RUN(a_mark_reaches_an_outer_span_too),
        IN_A_RUN(arguments_change_no_figure),
        IN_A_RUN(counts_add_up_by_name_and_pipeline),
        IN_A_RUN(async_spans_end_on_another_thread_and_count_where_they_began),
        IN_A_RUN(a_second_end_of_an_async_span_does_not_end_its_successor),
        IN_A_RUN(an_async_span_can_fail_or_be_abandoned),
        IN_A_RUN(beyond_the_bound_async_spans_are_dropped_and_counted),
        IN_A_RUN(spans_of_a_run_that_has_ended_end_nothing_in_the_next),
        IN_A_RUN(handles_of_nothing_are_accepted_everywhere),
        IN_A_RUN(a_null_name_is_the_empty_name),
        IN_A_RUN(a_wrapper_looks_at_the_configuration_at_each_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* _errno.c: calls every function with which a program records, with errno set, and prints those
 * that change it. Each is called on the main thread, in an order in which the first calls find the
 * runtime and open the run, and as the first call of a thread. */
#include <errno.h>
#include <plumb/collector.h>
#include <plumb/plumb.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { KEPT = 4242, CALLS_MAX = 200 };

static int bad;
static const char *when = "first";
static plumb_node node;
static plumb_span span;
static plumb_async async_span;
static plumb_scope scope;
static plumb_request request;
static plumb_pipeline *pipeline;
static plumb_device *device;
static plumb_context context;
static plumb_collector *collector;
static plumb_stopwatch *stopwatch;
static plumb_rows *rows;
static char *text;
static plumb_metric_series *metric = NULL;
plumb_metric_value value = {.size = sizeof value};
plumb_queue queue;
plumb_queue_task task;
plumb_counted since;
static plumb_stream stream;
static plumb_stream_stage stage_of_stream;

static void check(const char *call)
{
    if (errno == KEPT)
        return;
    printf("%s: %s: errno is %d (%s)\n", when, call, errno, strerror(errno));
    bad++;
}
/* The call number `at`, if it is `which`; all, if `which` is -1. */
#define CALL(...)                                                                                  \
    do {                                                                                           \
        if (which < 0 || which == at) {                                                            \
            errno = KEPT;                                                                          \
            __VA_ARGS__;                                                                           \
            check(#__VA_ARGS__);                                                                   \
        }                                                                                          \
        at++;                                                                                      \
    } while (0)

/* Of functions that only plumb's own libraries call. */
static void look(void)
{
    const struct plumb_api *api = plumb_api_();
    struct plumb_open_place place = {.size = sizeof place};
    struct plumb_open_node open;
    if (!api || !PLUMB_KNOWS_(api, open_place))
        return;
    api->open_place(&place);
    place.glance(&open);
    place.look(&open);
}
static void leave(void)
{
    const struct plumb_api *api = plumb_api_();
    if (api && PLUMB_KNOWS_(api, leave))
        api->leave();
}

static void nothing(void *arg)
{
    (void)arg;
}
static void hooked(plumb_node n, void *arg)
{
    (void)n, (void)arg;
}
static int collector_start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    (void)self, (void)arg, (void)options, (void)err;
    return 0;
}
static int collector_stop(void *arg, plumb_error *err)
{
    (void)arg, (void)err;
    return 0;
}
static int stat_fn(double *out, const void *tensor, char *why, size_t size, void *arg)
{
    (void)tensor, (void)why, (void)size, (void)arg;
    *out = 1;
    return 0;
}

static void scopes(void)
{
    PLUMB_SPAN("scope");
    PLUMB_LAPS(lap);
    PLUMB_LAP(lap, "one");
    PLUMB_LAP(lap, "two");
    PLUMB_STAGE_LAP(lap, "three");
    PLUMB_PHASE("train");
    for (PLUMB_STEPS (step, 3)) {
        PLUMB_SPAN_DEBUG("step");
        PLUMB_SPAN_NODE(node);
    }
    PLUMB_PIPELINE(pipeline);
    PLUMB_ADOPT(&context);
    PLUMB_REGION("training_train_one_step");
    PLUMB_SPAN_MEMORY("with memory");
}

static void stage(void)
{
    const float data[4] = {1, 2, 3, 4};
    const int64_t shape[1] = {4};
    PLUMB_REQUEST(r, "id", NULL);
    PLUMB_STAGE(s, "a stage");
    plumb_stage_metric(s, "metric_s");
    plumb_stage_input_value(s, "n", plumb_value_i64(4));
    plumb_stage_metadata(s, "text", plumb_value_str("x"));
    plumb_activation_f32(node, "out", data, shape, 1);
    plumb_stage_verify(s, NULL);
}

static int spans(int which, int at)
{
    PLUMB_POINT(point, "point");
    CALL(span = plumb_begin(&point));
    CALL(plumb_arg_i64(span, "key", 1));
    CALL(plumb_arg_f64(span, "key", 1));
    CALL(plumb_arg_str(span, "key", "text"));
    CALL(plumb_span_fail(span, "why"));
    CALL(plumb_span_abandon(span));
    CALL(span = plumb_lap(span, &point));
    CALL(plumb_end(span));
    CALL(node = plumb_node_get("node"));
    CALL(span = plumb_begin_node(node));
    CALL(plumb_end(span));
    CALL(span = plumb_begin_with(node, PLUMB_POINT_STAGE));
    CALL(plumb_end(span));
    CALL(plumb_record_ns(node, 5));
    CALL(plumb_record_device_ns(node, 5));
    CALL(plumb_counter_add("counter", 1));
    CALL(async_span = plumb_async_begin(node));
    CALL(plumb_async_end(async_span));
    CALL(plumb_async_fail(plumb_async_begin(node), "why"));
    CALL(plumb_async_abandon(plumb_async_begin_with(node, PLUMB_POINT_STAGE)));
    CALL(scope = plumb_phase_begin("train"));
    CALL(plumb_scope_end(scope));
    CALL(scope = plumb_step_begin(3));
    CALL(plumb_scope_end(scope));
    CALL(pipeline = plumb_pipeline_get("pipeline"));
    CALL(scope = plumb_pipeline_begin(pipeline));
    CALL(plumb_scope_end(scope));
    CALL(plumb_context_capture(&context));
    CALL(scope = plumb_context_adopt(&context));
    CALL(plumb_scope_end(scope));
    CALL(scopes());
    CALL(stage());
    return at;
}

static int nouns(int which, int at)
{
    plumb_rule rule = plumb_rule_default();
    plumb_memory memory = {.size = sizeof memory};
    plumb_hook hook = plumb_hook_default();
    plumb_config config = plumb_config_default();
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_collector_status status = {.size = sizeof status};
    plumb_lane_options lane_options = plumb_lane_options_default();
    plumb_clock_options clock_options = plumb_clock_options_default();
    plumb_event event = plumb_event_default(PLUMB_EVENT_INSTANT);
    plumb_environment environment = {.size = sizeof environment};
    plumb_stopwatch_result result = {.size = sizeof result};
    plumb_measured measured;
    plumb_origin origin;
    plumb_region regions[2];
    plumb_lane lane = {0};
    plumb_clock clock = {0};
    plumb_timed timed;
    plumb_error err;
    char dir[4096];
    rule.finite = 1;
    hook.name = "hook";
    hook.before = hooked;
    config.enabled = 1;
    ops.name = "mine";
    ops.help = "mine";
    ops.start = collector_start;
    ops.stop = collector_stop;
    CALL(request = plumb_request_begin("request", NULL));
    CALL(plumb_request_fail(request, "why"));
    CALL(request = plumb_request_begin(NULL, NULL));
    CALL(plumb_request_end(request));
    CALL(plumb_stage_check("a stage", PLUMB_STAGE_INPUT, "n", &rule, &err));
    CALL(plumb_mem_reserve("cpu", "pool", &bad, 64));
    CALL(plumb_mem_total("cpu", "pool", 1 << 20));
    CALL(plumb_mem_alloc("cpu", "pool", &bad, 4));
    CALL(plumb_mem_free("cpu", "pool", &bad, 4));
    CALL(plumb_mem_release("cpu", "pool", &bad, 64));
    CALL(plumb_memory_now(&memory, NULL, NULL));
    CALL(plumb_memory_reset_peak());
    CALL(plumb_checkpoint("checkpoint"));
    CALL(plumb_memory_baseline());
    CALL(plumb_stopwatch_start(&stopwatch, NULL, &err));
    CALL(plumb_stopwatch_stop(&result, stopwatch, &err); stopwatch = NULL);
    CALL(look());
    CALL(plumb_environment_read(&environment, "framework", "1", &err));
    CALL(plumb_measure(&measured, nothing, NULL, NULL, &err));
    CALL(timed = plumb_timed_begin("timed"); plumb_timed_end(&timed));
    CALL(plumb_hook_add(node, &hook, &err));
    CALL(span = plumb_begin_node(node); plumb_end(span));
    CALL(plumb_hook_replace(node, &hook, &err));
    CALL(plumb_hook_get(&hook, node, "hook", &err));
    CALL(plumb_hook_remove(node, "hook", &err));
    CALL(plumb_activation_value(node, "out", plumb_value_null()));
    CALL(plumb_activation_stat("mine", stat_fn, NULL, &err));
    CALL(plumb_activation_sink(NULL, NULL, &err));
    CALL(plumb_activation_copy(2, NULL, NULL, &err));
    CALL(plumb_instant("instant"));
    CALL(plumb_gauge_set("gauge", 1));
    CALL(plumb_trace_keep("why", &err));
    CALL(plumb_region_register("mine", NULL, &err));
    CALL(plumb_region_resolve("mine"));
    CALL(plumb_region_list(regions, 2));
    CALL(plumb_region_end(plumb_region_begin("mine")));
    CALL(plumb_region_end(plumb_region_begin("unknown")));
    CALL(plumb_configure(pipeline, &config, &err));
    CALL(plumb_pipeline_enabled(pipeline));
    CALL(plumb_reset(pipeline, &err));
    CALL(plumb_pipeline_close(pipeline));
    CALL(device = plumb_device_register("device", nothing, NULL));
    CALL(plumb_pipeline_set_device(pipeline, device));
    CALL(plumb_node_set_device(node, device));
    CALL(plumb_dispatch("sos"));
    CALL(plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_DISPATCHES));
    CALL(plumb_count_get(plumb_count_of_span(), PLUMB_COUNT_DISPATCHES));
    CALL(since = plumb_counted_begin(PLUMB_COUNTED_PROCESS));
    CALL(plumb_counted_get(&since, PLUMB_COUNT_USER, "n"));
    CALL(metric = plumb_metric_counter("count", NULL));
    CALL(plumb_metric_add(metric, 1));
    CALL(plumb_metric_set(plumb_metric_gauge("gauge", NULL), 1));
    CALL(plumb_metric_observe(plumb_metric_summary("summary", NULL), 1));
    CALL(plumb_metric_observe(plumb_metric_histogram("histogram", NULL), 1));
    CALL(plumb_metric_read(&value, metric));
    CALL(queue = plumb_queue_get("queue"));
    CALL(task = plumb_queue_created(&queue));
    CALL(plumb_queue_started(&queue, &task));
    CALL(plumb_queue_completed(&queue, &task));
    CALL(plumb_request_cancel(plumb_request_begin("cancelled", NULL), NULL));
    CALL(stream = plumb_stream_begin("video"));
    CALL(stage_of_stream = plumb_stream_stage_of(stream, "filter"));
    CALL(plumb_stream_control(stream, 0));
    CALL(plumb_stream_input(stage_of_stream, 0, "frame"));
    CALL(plumb_stream_ready(stage_of_stream, 0));
    CALL(plumb_stream_admitted(stage_of_stream, 0, NULL));
    CALL(plumb_stream_completed(stage_of_stream, 0));
    CALL(plumb_stream_abandoned(stage_of_stream, 1));
    CALL(plumb_stream_output(stream, 0));
    CALL(plumb_stream_end(stream));
    CALL(plumb_device_unregister(device, &err));
    CALL(plumb_summary_rows(&rows, NULL, NULL, &err));
    CALL(plumb_rows_get(rows, plumb_rows_count(rows)));
    CALL(plumb_rows_free(rows); rows = NULL);
    CALL(plumb_summary_text(&text, NULL, NULL, 0, &err));
    CALL(plumb_text_free(text); text = NULL);
    CALL(plumb_is_recording());
    CALL(plumb_run_dir(dir, sizeof dir, &err));
    CALL(plumb_set_debug(1));
    CALL(plumb_set_log(PLUMB_LOG_ERROR, NULL, NULL));
    CALL(collector = plumb_collector_register(&ops, NULL, &err));
    CALL(plumb_collector_find("mine"));
    CALL(plumb_collector_offer(collector));
    CALL(plumb_collector_status_get(&status, collector));
    CALL(plumb_lane_open(&lane, collector, &lane_options, &err));
    CALL(plumb_clock_open(&clock, collector, &clock_options, &err));
    CALL(plumb_clock_anchor(clock));
    CALL(plumb_clock_anchor_between(clock, 1, 1, 2));
    CALL(plumb_host_ticks());
    CALL(plumb_name_get("name"));
    CALL(plumb_origin_capture(&origin, lane, 0));
    CALL(plumb_emit(lane, clock, &event));
    CALL(plumb_collector_unregister(collector, &err));
    return at;
}

static int calls(int which)
{
    return nouns(which, spans(which, 0));
}

static void *one(void *which)
{
    calls((int)(intptr_t)which);
    return NULL;
}

/* Many names and many records: tables that grow, folds, blocks of the trace. */
static void *many(void *arg)
{
    char name[32];
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        PLUMB_SPAN("many");
        int which = -1, at = 0;
        snprintf(name, sizeof name, "node %d", i % 500);
        CALL(plumb_end(plumb_begin_node(plumb_node_get(name))));
        (void)at;
    }
    return NULL;
}

static void threads(void *(*fn)(void *), int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, fn, (void *)(intptr_t)i) == 0)
            pthread_join(thread, NULL);
    }
}

/* Without arguments: all calls in their order, again, and each on a thread of its own. With a
 * number: that call, as the first of the process (status 2: there are fewer). With one more
 * argument: no file can be opened. */
int main(int argc, char **argv)
{
    const struct rlimit none = {0, 0};
    plumb_error err;
    int which = -1, at = 0, count;
    if (argc > 2)
        setrlimit(RLIMIT_NOFILE, &none);
    if (argc > 1) {
        when = "first of the process";
        count = calls(atoi(argv[1]));
        if (atoi(argv[1]) >= count)
            return 2;
        return bad != 0;
    }
    count = calls(-1);
    if (count > CALLS_MAX)
        return 3;
    when = "again";
    calls(-1);
    when = "on a thread";
    threads(one, count);
    when = "many";
    threads(many, 2);
    when = "the run";
    CALL(plumb_stop(&err));
    CALL(plumb_start(NULL, &err));
    CALL(plumb_end(plumb_begin_node(plumb_node_get("node"))));
    CALL(leave()); /* after it this thread records nothing */
    CALL(plumb_stop(&err));
    CALL(plumb_stop(&err));
    return bad != 0;
}

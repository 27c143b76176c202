/* Words that one thread stores while another one, which takes no lock, reads them: the name and the
 * state of a pipeline, a collector's lanes, peaks, a clock's anchors, reasons of failures, flags of
 * a node, hooks, regions, a function that copies tensors. In a plain build what is read must be
 * right; ThreadSanitizer sees the rest. Each test takes some tenths of a second. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlpack/dlpack.h>

#include <plumb/activation.h>
#include <plumb/collector.h>
#include <plumb/count.h>
#include <plumb/hook.h>
#include <plumb/memory.h>
#include <plumb/region.h>
#include <plumb/stage.h>

#include "record_timing.h"
#include "record_trace.h"
#include "runtime/child.h"

enum { RUNS = 12, TURNS = 3000 };

static uint32_t over;

static bool is_over(void)
{
    return __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

/* Runs `other` at the same time as `body`, until that returns. */
static void beside(void *(*other)(void *), void (*body)(void))
{
    pthread_t thread;
    __atomic_store_n(&over, 0, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&thread, NULL, other, NULL), 0);
    body();
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

static plumb_options quiet(void)
{
    plumb_options o = plumb_options_default();
    o.quiet = PLUMB_ON;
    return o;
}

/* ---- The default pipeline, while runs begin and end ------------------------------------------ */

static void *reads_pipeline(void *arg)
{
    while (!is_over()) {
        char *text = NULL;
        (void)plumb_pipeline_enabled(NULL);
        if (plumb_summary_text(&text, plumb_pipeline_get(NULL), NULL, 0, NULL) == PLUMB_OK)
            plumb_text_free(text);
        PLUMB_STAGE(stage, "stage");
        plumb_stage_metadata(stage, "i", plumb_value_i64(1));
    }
    return arg;
}

static void names_pipelines(void)
{
    for (int i = 0; i < RUNS; i++) {
        plumb_options o = quiet();
        o.pipeline = i & 1 ? "odd" : "even";
        record_start_with(o);
        record_stop();
    }
}

static void the_default_pipeline_changes_its_name(void **state)
{
    (void)state;
    beside(reads_pipeline, names_pipelines);
}

/* ---- A collector, whose lanes are opened ----------------------------------------------------- */

static plumb_collector *collector;
static plumb_lane lane;
static plumb_clock ticks;

static int read_ticks(uint64_t *out, void *arg)
{
    (void)arg;
    *out = plumb_host_ticks();
    return 0;
}

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = plumb_lane_options_default();
    plumb_clock_options c = plumb_clock_options_default();
    (void)arg;
    (void)options;
    o.name = "lane";
    for (int i = 0; i < 8; i++)
        if (plumb_lane_open(&lane, self, &o, err) < 0)
            return PLUMB_ERR_MEMORY;
    c.name = "ticks";
    c.hz = 1e9;
    c.now = read_ticks;
    return plumb_clock_open(&ticks, self, &c, err);
}

static void *reads_status(void *arg)
{
    while (!is_over()) {
        plumb_collector_status s;
        char name[32];
        snprintf(name, sizeof name, "name.%d", rand() % 200);
        (void)plumb_name_get(name);
        assert_int_equal(plumb_collector_status_get(&s, collector), PLUMB_OK);
        assert_true(s.lanes <= 8);
    }
    return arg;
}

static void opens_lanes(void)
{
    for (int i = 0; i < RUNS; i++) {
        record_start_with(quiet());
        for (int k = 0; k < 200; k++)
            (void)plumb_name_get("name");
        record_stop();
    }
}

static void lanes_are_opened_while_they_are_counted(void **state)
{
    (void)state;
    beside(reads_status, opens_lanes);
}

/* ---- A clock, whose anchors are overwritten -------------------------------------------------- */

static void *takes_anchors(void *arg)
{
    while (!is_over())
        plumb_clock_anchor(ticks);
    return arg;
}

static void emits(void)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    e.name = plumb_name_get("work");
    for (int i = 0; i < TURNS; i++) {
        e.begin = plumb_host_ticks();
        e.end = plumb_host_ticks();
        (void)plumb_emit(lane, ticks, &e);
    }
}

static void events_are_dated_while_anchors_are_taken(void **state)
{
    plumb_options o = quiet();
    (void)state;
    o.trace = PLUMB_ON;
    record_start_with(o);
    beside(takes_anchors, emits);
    record_stop();
}

/* ---- Peaks ----------------------------------------------------------------------------------- */

static void *raises_peaks(void *arg)
{
    int64_t bytes = 1;
    while (!is_over()) {
        PLUMB_STAGE(stage, "with memory");
        plumb_mem_alloc("cuda:0", "pool", &bytes, (uint64_t)++bytes);
        plumb_mem_free("cuda:0", "pool", &bytes, (uint64_t)bytes);
    }
    return arg;
}

static void reads_peaks(void)
{
    plumb_count_scope node = plumb_count_of_node(plumb_node_get("with memory"));
    int64_t before = 0;
    for (int i = 0; i < TURNS; i++) {
        int64_t now = plumb_count_get(node, PLUMB_COUNT_PEAK_BYTES);
        assert_true(now >= before || now == PLUMB_COUNT_UNKNOWN);
        before = now > before ? now : before;
        (void)plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_PEAK_BYTES);
    }
}

static void peaks_are_read_while_they_rise(void **state)
{
    plumb_options o = quiet();
    (void)state;
    o.memory = PLUMB_MEMORY_STAGES;
    record_start_with(o);
    beside(raises_peaks, reads_peaks);
    record_stop();
}

/* ---- Reasons of failures, which take each other's place -------------------------------------- */

static void fails(int from)
{
    for (int i = 0; i < TURNS; i++) {
        char why[48], digits[17];
        int n = from + i;
        PLUMB_SPAN_AS(span, "fails");
        memset(digits, 'a' + n % 26, 16);
        digits[16] = '\0';
        snprintf(why, sizeof why, "%s%d%s", digits, n, digits);
        plumb_span_fail(span, why);
    }
}

static void *fails_too(void *arg)
{
    while (!is_over())
        fails(1000000);
    return arg;
}

static void fails_here(void)
{
    fails(0);
}

/* Sixteen times the letter of the number, the number, and the same letters again. */
static bool is_whole(const char *why)
{
    char *rest;
    long n = strtol(why + 16, &rest, 10);
    for (int i = 0; i < 16; i++)
        if (why[i] != 'a' + n % 26 || rest[i] != 'a' + n % 26)
            return false;
    return true;
}

static void reasons_in_a_trace_are_whole(void **state)
{
    plumb_options o = quiet();
    struct trace_read t;
    const char *at;
    size_t whole = 0;
    (void)state;
    o.trace = PLUMB_ON;
    o.run_dir = "reasons";
    record_start_with(o);
    beside(fails_too, fails_here);
    record_stop();
    trace_read_run(&t, "reasons");
    for (at = t.text.data; (at = strstr(at, "failed=")); at++)
        if (strncmp(at + 7, "(other)", 7) != 0) {
            assert_true(is_whole(at + 7));
            whole++;
        }
    assert_true(whole > 0);
    trace_fini(&t);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* New trace points of the node that is traced. */
static void *adds_points(void *arg)
{
    enum { POINTS = 4096 };
    static struct plumb_point points[POINTS];
    for (int i = 0; !is_over(); i = (i + 1) % POINTS) {
        if (!points[i].name)
            points[i] = (struct plumb_point)PLUMB_POINT_INIT("of many points", 0);
        points[i].line = (uint32_t)i;
        points[i].flags = i & 1 ? PLUMB_POINT_STAGE : 0;
        plumb_end(plumb_begin(&points[i]));
        if (i % 64 == 0)
            sched_yield();
    }
    return arg;
}

static void works_in_regions(void)
{
    for (int i = 0; i < TURNS; i++) {
        PLUMB_REGION("selected");
        PLUMB_SPAN("of many points");
        PLUMB_SPAN("inner");
    }
}

static void a_traced_node_gets_points(void **state)
{
    plumb_options o = quiet();
    (void)state;
    assert_int_equal(plumb_region_register("selected", "a test's", NULL), PLUMB_OK);
    o.trace = PLUMB_ON;
    o.regions = "selected";
    record_start_with(o);
    beside(adds_points, works_in_regions);
    record_stop();
}

static void hooked(plumb_node node, void *arg)
{
    (void)node;
    __atomic_fetch_add((uint64_t *)arg, 1, __ATOMIC_RELAXED);
}

static void *begins_nodes(void *arg)
{
    plumb_node node = plumb_node_get("hooked");
    while (!is_over())
        plumb_end(plumb_begin_node(node));
    return arg;
}

static void adds_hooks(void)
{
    static uint64_t calls;
    plumb_hook h = plumb_hook_default();
    h.name = "counts";
    h.before = hooked;
    h.arg = &calls;
    for (int i = 0; i < TURNS / 10; i++) {
        assert_int_equal(plumb_hook_add(plumb_node_get("hooked"), &h, NULL), PLUMB_OK);
        assert_int_equal(plumb_hook_remove(plumb_node_get("hooked"), "counts", NULL), PLUMB_OK);
    }
}

static void a_node_gets_its_first_hook(void **state)
{
    (void)state;
    record_start_with(quiet());
    beside(begins_nodes, adds_hooks);
    record_stop();
}

/* Regions get their nodes when they are first entered: here by two threads at once, by one trace
 * point each. */
enum { REGIONS = 24 };

static struct plumb_point region_points[REGIONS];
static uint32_t at_region; /* atomic: which one both enter */

static void enter_region(int i)
{
    plumb_region_end(plumb_begin(&region_points[i]));
}

static void *enters_regions(void *arg)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        while (__atomic_load_n(&at_region, __ATOMIC_RELAXED) < i + 1)
            ;
        enter_region((int)i);
    }
    return arg;
}

static void enters_them_too(void)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        __atomic_store_n(&at_region, i + 1, __ATOMIC_RELAXED);
        enter_region((int)i);
        for (int k = 0; k < 100; k++)
            sched_yield();
    }
}

static unsigned strange_lines;

static void hears(int level, const char *line, void *arg)
{
    (void)level;
    (void)arg;
    strange_lines += strstr(line, "is not registered") != NULL;
}

static void a_region_is_entered_by_two_threads_at_first(void **state)
{
    static char names[REGIONS][16];
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    (void)state;
    for (int i = 0; i < REGIONS; i++) {
        snprintf(names[i], sizeof names[i], "first_%c", 'a' + i);
        assert_int_equal(plumb_region_register(names[i], "a test's", NULL), PLUMB_OK);
        region_points[i] = (struct plumb_point)PLUMB_POINT_INIT(names[i], PLUMB_POINT_REGION);
    }
    o.log = hears;
    o.log_level = PLUMB_LOG_WARN;
    assert_int_equal(plumb_start(&o, &err), PLUMB_OK);
    beside(enters_regions, enters_them_too);
    record_stop();
    assert_int_equal(strange_lines, 0);
}

/* ---- Activations ----------------------------------------------------------------------------- */

static uint64_t copied, mixed; /* atomic */

static int copy_with(const char *own, void *to, const void *from, size_t bytes, const void *arg)
{
    memcpy(to, from, bytes);
    __atomic_fetch_add(&copied, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&mixed, arg != own, __ATOMIC_RELAXED);
    return 0;
}

static const char one[] = "one", two[] = "two";

static int copy_one(void *to, const void *from, size_t bytes, int32_t index, void *arg)
{
    (void)index;
    return copy_with(one, to, from, bytes, arg);
}

static int copy_two(void *to, const void *from, size_t bytes, int32_t index, void *arg)
{
    (void)index;
    return copy_with(two, to, from, bytes, arg);
}

static void *replaces_copies(void *arg)
{
    for (int i = 0; !is_over(); i++) {
        (void)plumb_activation_copy(kDLCUDA, copy_one, (void *)(uintptr_t)one, NULL);
        (void)plumb_activation_copy(kDLCUDA, copy_two, (void *)(uintptr_t)two, NULL);
        if (i % 16 == 0)
            sched_yield();
    }
    return arg;
}

static void records_tensors(void)
{
    static float data[16];
    int64_t shape[] = {16};
    plumb_tensor tensor = {.data = data,
                           .device = {kDLCUDA, 0},
                           .ndim = 1,
                           .dtype = {kDLFloat, 32, 1},
                           .shape = shape};
    for (int i = 0; i < TURNS; i++) {
        PLUMB_SPAN("layer");
        plumb_activation(plumb_node_get("layer"), "out", &tensor);
    }
}

static void a_copy_gets_its_own_argument(void **state)
{
    plumb_options o = quiet();
    (void)state;
    o.activations = PLUMB_ON;
    record_start_with(o);
    beside(replaces_copies, records_tensors);
    record_stop();
    assert_true(__atomic_load_n(&copied, __ATOMIC_RELAXED) > 0);
    assert_int_equal(__atomic_load_n(&mixed, __ATOMIC_RELAXED), 0);
}

static int prepare(void **state)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    if (fresh_place(state) < 0)
        return -1;
    ops.name = "lanes";
    ops.start = start;
    collector = plumb_collector_register(&ops, NULL, NULL);
    return collector ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lanes_are_opened_while_they_are_counted, record_close),
        cmocka_unit_test_teardown(the_default_pipeline_changes_its_name, record_close),
        cmocka_unit_test_teardown(events_are_dated_while_anchors_are_taken, record_close),
        cmocka_unit_test_teardown(peaks_are_read_while_they_rise, record_close),
        cmocka_unit_test_teardown(reasons_in_a_trace_are_whole, record_close),
        cmocka_unit_test_teardown(a_traced_node_gets_points, record_close),
        cmocka_unit_test_teardown(a_node_gets_its_first_hook, record_close),
        cmocka_unit_test_teardown(a_region_is_entered_by_two_threads_at_first, record_close),
        cmocka_unit_test_teardown(a_copy_gets_its_own_argument, record_close),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}

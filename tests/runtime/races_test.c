/* Everything at once: threads that record, one that resets, one that takes summaries, one that
 * switches pipelines and debug points on and off, one that starts and stops runs. Every summary
 * holds together, and every run ends with a consistent report. ThreadSanitizer sees the rest. */
#include <pthread.h>

#include <dlpack/dlpack.h>

#include <plumb/activation.h>
#include <plumb/check.h>
#include <plumb/signature.h>
#include <plumb/stage.h>

#include "base/stats/sketch.h"
#include "base/stats/stats.h"
#include "runtime/child.h"

enum { RECORDERS = 2, CYCLES = 40 };

static uint32_t over;

static bool is_over(void)
{
    return __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

static void nested(plumb_pipeline *pipeline, int i)
{
    PLUMB_PIPELINE(pipeline);
    PLUMB_PHASE(i & 1 ? "train" : "inference");
    PLUMB_STEP(i);
    PLUMB_SPAN("outer");
    for (int k = 0; k < 3; k++) {
        PLUMB_SPAN("inner");
        PLUMB_SPAN_DEBUG("debug");
    }
    plumb_counter_add("things", 1);
    plumb_record_ns(plumb_node_get("elsewhere"), 100);
}

static void other_forms(int i)
{
    plumb_async request = plumb_async_begin(plumb_node_get("request"));
    char name[32];
    plumb_span s;
    PLUMB_LAPS(lap);
    PLUMB_LAP(lap, "lap.a");
    PLUMB_LAP(lap, "lap.b");
    snprintf(name, sizeof name, "block.%d", i % 50);
    s = plumb_begin_node(plumb_node_get(name));
    plumb_arg_i64(s, "i", i);
    if (i % 7 == 0)
        plumb_span_fail(s, "made to fail");
    plumb_end(s);
    plumb_async_end(request);
}

/* A stage with all it records. Starts and stops of runs come between any two of its lines. */
static void staged(int i)
{
    static float data[16];
    int64_t shape[] = {16};
    plumb_tensor tensor = {
        .data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape};
    PLUMB_REQUEST(request, "one", NULL);
    PLUMB_STAGE(stage, "stage");
    plumb_stage_input(stage, "x", &tensor);
    plumb_stage_metadata(stage, "i", plumb_value_i64(i));
    plumb_stage_verify(stage, NULL);
    plumb_activation(plumb_node_get("stage"), "out", &tensor);
}

static void *recorder(void *pipeline)
{
    for (int i = 0; !is_over(); i++) {
        nested(pipeline, i);
        other_forms(i);
        staged(i);
    }
    return NULL;
}

static void *short_body(void *arg)
{
    nested(NULL, 1);
    return arg;
}

static void *short_threads(void *arg)
{
    while (!is_over()) {
        pthread_t thread;
        ROLE_NEEDS(pthread_create(&thread, NULL, short_body, NULL) == 0);
        pthread_join(thread, NULL);
    }
    return arg;
}

static void *resetter(void *pipeline)
{
    while (!is_over()) {
        plumb_reset(NULL, NULL);
        plumb_reset(pipeline, NULL);
        sched_yield();
    }
    return NULL;
}

static void check(const plumb_row *r)
{
    /* Quantiles are rounded to whole ticks or buckets: a part in a million of slack. */
    double slack = 1e-6 + r->max_ms * 1e-6;
    if (r->count == 0)
        return;
    ROLE_NEEDS(r->min_ms <= r->p50_ms + slack && r->p50_ms <= r->p90_ms + slack);
    ROLE_NEEDS(r->p90_ms <= r->p95_ms + slack && r->p95_ms <= r->p99_ms + slack);
    ROLE_NEEDS(r->p99_ms <= r->max_ms + slack && r->max_ms <= r->total_ms + slack);
    ROLE_NEEDS(r->self_ms <= r->total_ms + slack);
}

static void *summariser(void *pipeline)
{
    while (!is_over()) {
        plumb_rows *rows = NULL;
        char *text = NULL;
        if (plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK) {
            for (size_t i = 0; i < plumb_rows_count(rows); i++)
                check(plumb_rows_get(rows, i));
            plumb_rows_free(rows);
        }
        if (plumb_summary_text(&text, pipeline, "train", 10, NULL) == PLUMB_OK)
            plumb_text_free(text);
    }
    return NULL;
}

static void *switcher(void *pipeline)
{
    for (int i = 0; !is_over(); i++) {
        plumb_config config = plumb_config_default();
        config.enabled = i & 1;
        config.skip_first_n = i % 5;
        plumb_configure(pipeline, &config, NULL);
        plumb_set_debug(i % 3 == 0);
        sched_yield();
    }
    return NULL;
}

/* Whole paths or none, also of the run that is ending. */
static void *asks_for_directory(void *arg)
{
    char dir[1024];
    while (!is_over()) {
        if (plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK)
            ROLE_NEEDS(dir[0] == '/' && strstr(dir, "/races/") != NULL);
    }
    return arg;
}

static int role_races(void)
{
    plumb_pipeline *pipeline = plumb_pipeline_get("second");
    struct {
        void *(*body)(void *);
        void *arg;
    } all[] = {{recorder, NULL},     {recorder, pipeline},      {short_threads, NULL},
               {resetter, pipeline}, {summariser, NULL},        {summariser, pipeline},
               {switcher, pipeline}, {asks_for_directory, NULL}};
    enum { ALL = sizeof all / sizeof *all };
    pthread_t threads[ALL];
    for (int i = 0; i < ALL; i++)
        ROLE_NEEDS(pthread_create(&threads[i], NULL, all[i].body, all[i].arg) == 0);
    for (int i = 0; i < CYCLES; i++) {
        ROLE_NEEDS(plumb_start(NULL, NULL) == PLUMB_OK);
        for (int k = 0; k < 50; k++)
            nested(NULL, k);
        ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < ALL; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void everything_at_once_leaves_consistent_reports(void **state)
{
    char dir[1100], dirs[CYCLES][1024];
    const char *const settings[] = {dir, "PLUMB_QUIET=1", NULL};
    struct child c;
    int status;
    (void)state;
    snprintf(dir, sizeof dir, "PLUMB_DIR=%s", in_place("races"));
    status = child_run(&c, "races", NULL, settings);
    assert_exited(&c, status, 0);
    assert_string_equal(child_errors(&c), "");
    assert_int_equal(runs_below(dirs, CYCLES, in_place("races")), CYCLES);
    for (int i = 0; i < CYCLES; i++) {
        struct plumb_load run;
        load_run(&run, dirs[i]);
        assert_int_equal(run.state, PLUMB_LOAD_ENDED);
        assert_consistent(&run.timing, false);
        plumb_timing_fini(&run.timing);
    }
}

/* ---- Exactness without a reset --------------------------------------------------------------- */

static uint64_t recorded;

static void *counted_recorder(void *arg)
{
    uint64_t n = 0;
    for (; n == 0 || !is_over(); n++) {
        PLUMB_SPAN("counted");
    }
    __atomic_fetch_add(&recorded, n, __ATOMIC_RELAXED);
    return arg;
}

static void *watcher(void *arg)
{
    uint64_t last = 0;
    while (!is_over()) {
        plumb_rows *rows = NULL;
        uint64_t now = 0;
        if (plumb_summary_rows(&rows, NULL, NULL, NULL) < 0)
            continue;
        for (size_t i = 0; i < plumb_rows_count(rows); i++)
            now += strcmp(plumb_rows_get(rows, i)->node, "counted") == 0
                       ? plumb_rows_get(rows, i)->count
                       : 0;
        plumb_rows_free(rows);
        ROLE_NEEDS(now >= last);
        last = now;
    }
    return arg;
}

static int role_counts(void)
{
    pthread_t recorders[RECORDERS], watchers[2];
    plumb_rows *rows = NULL;
    /* One span first: the recorders may come late, and a run opens with a span. */
    {
        PLUMB_SPAN("counted");
        recorded++;
    }
    for (int i = 0; i < RECORDERS; i++)
        ROLE_NEEDS(pthread_create(&recorders[i], NULL, counted_recorder, NULL) == 0);
    for (int i = 0; i < 2; i++)
        ROLE_NEEDS(pthread_create(&watchers[i], NULL, watcher, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        ROLE_NEEDS(plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK);
        plumb_rows_free(rows);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(recorders[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(watchers[i], NULL);
    ROLE_NEEDS(plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK);
    ROLE_NEEDS(plumb_rows_count(rows) == 1 && plumb_rows_get(rows, 0)->count == recorded);
    plumb_rows_free(rows);
    return 0;
}

static void summaries_of_hot_threads_only_grow_and_end_exact(void **state)
{
    struct child c;
    int status = child_run(&c, "counts", "counts", NULL);
    (void)state;
    assert_exited(&c, status, 0);
}

/* ---- Figures of one moment
 * ------------------------------------------------------------------------ */

/* Few enough samples that a handful more or less is another quantile. */
enum { RISERS = 8, RISE_NS = 37, RISES = 3000, ROUNDS = 60 };
static plumb_node riser[RISERS];

/* Sample number k of each node lasts k times as long as its first, so the count determines the
 * quantiles. */
static void *rising_recorder(void *arg)
{
    for (uint64_t k = 1; k <= RISES; k++) {
        for (int i = 0; i < RISERS; i++)
            plumb_record_ns(riser[i], k * RISE_NS);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    return arg;
}

static bool has_rank(double ms, uint64_t rank, uint64_t count)
{
    double ns = plumb_sketch_value(plumb_sketch_index(rank * RISE_NS));
    double most = (double)(count * RISE_NS);
    ns = ns < RISE_NS ? RISE_NS : ns > most ? most : ns;
    return ms > ns * 1e-6 * (1 - 1e-12) && ms < ns * 1e-6 * (1 + 1e-12);
}

static bool of_one_moment(const plumb_row *r)
{
    uint64_t n = r->count, sum = n * (n + 1) / 2 * RISE_NS;
    if (n <= PLUMB_EXACT)
        return true;
    return has_rank(r->p50_ms, (n * 50 + 99) / 100, n) &&
           has_rank(r->p90_ms, (n * 90 + 99) / 100, n) &&
           has_rank(r->p95_ms, (n * 95 + 99) / 100, n) &&
           has_rank(r->p99_ms, (n * 99 + 99) / 100, n) &&
           r->max_ms == (double)(n * RISE_NS) / 1e6 && r->last_ms == r->max_ms &&
           r->total_ms == (double)sum / 1e6;
}

static int check_while_rising(void)
{
    pthread_t recorder;
    __atomic_store_n(&over, 0, __ATOMIC_RELEASE);
    ROLE_NEEDS(plumb_reset(NULL, NULL) == PLUMB_OK);
    ROLE_NEEDS(pthread_create(&recorder, NULL, rising_recorder, NULL) == 0);
    while (!is_over()) {
        plumb_rows *rows = NULL;
        ROLE_NEEDS(plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK);
        for (size_t k = 0; k < plumb_rows_count(rows); k++)
            ROLE_NEEDS(of_one_moment(plumb_rows_get(rows, k)));
        plumb_rows_free(rows);
    }
    pthread_join(recorder, NULL);
    return 0;
}

static int role_rising(void)
{
    char name[32];
    for (int i = 0; i < RISERS; i++) {
        snprintf(name, sizeof name, "riser.%d", i);
        riser[i] = plumb_node_get(name);
    }
    ROLE_NEEDS(plumb_start(NULL, NULL) == PLUMB_OK);
    for (int i = 0; i < ROUNDS; i++)
        ROLE_NEEDS(check_while_rising() == 0);
    return 0;
}

static void the_figures_of_a_row_are_of_one_moment(void **state)
{
    struct child c;
    int status = child_run(&c, "rising", "rising", NULL);
    (void)state;
    assert_exited(&c, status, 0);
}

static const struct role roles[] = {
    {"races", role_races}, {"counts", role_counts}, {"rising", role_rising}, {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_at_once_leaves_consistent_reports),
        cmocka_unit_test(summaries_of_hot_threads_only_grow_and_end_exact),
        cmocka_unit_test(the_figures_of_a_row_are_of_one_moment),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

/* Statistics of random programs against plain lists of their samples: spans and samples of host and
 * device, on threads, in phases and pipelines, with warm-up skips, failures, resets, and durations
 * from zero to those that are refused.
 *
 * The clock is virtual, so that spans last exactly as long as the program says. Threads take turns,
 * and the model knows the order of all that happens; in every fourth seed they run at once, and
 * only what does not depend on the order is looked at. One run holds sixteen seeds, each begins
 * with a reset; its timing.json is read at the end. */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stats/p2.h"
#include "record_timing.h"
#include "seeds.h"
#include "summary/table.h"
#include "virtual_clock.h"

enum {
    NODES = 4,
    PHASES = 3,
    PIPELINES = 3,
    KEYS = NODES * PHASES * PIPELINES,
    THREADS = 3,
    DEPTH = 5,
    OPS = 1500,
    SEEDS_OF_A_RUN = 16
};
#define LONGEST_NS ((UINT64_C(1) << 58) - 1)
#define FAR_NS (UINT64_C(1) << 46)
__extension__ typedef unsigned __int128 wide;

static const char *const node_names[NODES] = {"a", "b", "c", "d"};
static const char *const phase_names[PHASES] = {"inference", "train", "val"};
static const char *const pipeline_names[PIPELINES] = {NULL, "left", "right"};

/* ---- The model ------------------------------------------------------------------------------- */

struct channel {
    uint64_t sample[OPS];
    size_t count, skipped;
    uint64_t self, last;
    bool settled;
    /* Which of the samples of several threads are skipped depends on when each is folded. */
    int thread;
    bool skipping, unordered;
};
struct key {
    struct channel host, device;
    uint64_t failures;
    struct plumb_p2 p2;
    int source;   /* thread and kind of the first sample, 0: none yet */
    uint32_t why; /* enum plumb_timing_median_why */
};
static struct key keys[KEYS];
static uint64_t skip_of[PIPELINES];
static uint64_t refused, outermost_ns;
static bool plain; /* no skip, reset or failure in this seed: outermost time is known */

static uint64_t saturated(wide sum)
{
    return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

static void forget_pipeline(int pipeline)
{
    for (int k = 0; k < KEYS; k++)
        if (k / NODES / PHASES == pipeline)
            memset(&keys[k], 0, sizeof keys[k]);
}

static bool takes(struct channel *c, int thread, uint64_t skip)
{
    c->skipping |= skip > 0;
    c->unordered |= c->thread && c->thread != thread;
    c->thread = thread;
    if (!c->settled && c->skipped < skip) {
        c->skipped++;
        return false;
    }
    c->settled = true;
    return true;
}

/* `kind`: 1 span, 2 measured elsewhere. */
static void model_host(int k, int thread, int kind, uint64_t ns, uint64_t self)
{
    struct key *key = &keys[k];
    int source = thread * 4 + kind;
    if (!takes(&key->host, thread, skip_of[k / NODES / PHASES]))
        return;
    key->host.sample[key->host.count++] = ns;
    key->host.last = ns;
    key->host.self = saturated((wide)key->host.self + self);
    if (ns >= FAR_NS)
        key->why = PLUMB_MEDIAN_WHY_RANGE;
    else if (key->source && key->source % 4 != kind && key->why < PLUMB_MEDIAN_WHY_SOURCES)
        key->why = PLUMB_MEDIAN_WHY_SOURCES;
    else if (key->source && key->source != source && !key->why)
        key->why = PLUMB_MEDIAN_WHY_THREADS;
    key->source = source;
    plumb_p2_add(&key->p2, (double)ns);
}

static void model_device(int k, int thread, uint64_t ns)
{
    struct channel *c = &keys[k].device;
    if (!takes(c, thread, skip_of[k / NODES / PHASES]))
        return;
    c->sample[c->count++] = ns;
    c->last = ns;
}

/* ---- Programs -------------------------------------------------------------------------------- */

enum kind { RECORD, RECORD_DEVICE, BEGIN, END, FAIL, SET_SKIP, RESET, LOOK };
struct op {
    enum kind kind;
    int thread, node, phase, pipeline;
    uint64_t ns; /* of a sample; until an end; a skip */
};
static struct op ops[OPS];
static int op_count;

struct frame {
    plumb_span span;
    int key;
    uint64_t begin, child_ns;
    bool dropped; /* begun before a reset */
};
struct worker {
    pthread_t thread;
    sem_t go;
    int number, from, to; /* ops of a turn */
    struct frame frame[DEPTH];
    int depth;
};
static struct worker workers[THREADS];
static sem_t done;
static bool at_once;

static uint64_t duration(uint64_t *r, int distribution)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     63,
                                     64,
                                     127,
                                     128,
                                     129,
                                     UINT32_MAX,
                                     FAR_NS - 1,
                                     FAR_NS,
                                     FAR_NS + 1,
                                     UINT64_C(1) << 53,
                                     LONGEST_NS,
                                     LONGEST_NS + 1,
                                     (uint64_t)-1,
                                     (uint64_t)-1000};
    uint64_t bits = random_next(r) << 31 | random_next(r);
    switch (distribution) {
    case 0:
        return 1000000;
    case 1:
        return random_next(r) % 2 ? 100 : 100000000;
    case 2:
        return bits % 1000000;
    case 3:
        return bits >> random_next(r) % 62;
    case 4:
        return edges[random_next(r) % (sizeof edges / sizeof *edges)];
    case 5: /* bucket bounds */
        return (UINT64_C(1) << random_next(r) % 58) + random_next(r) % 3 - 1;
    case 6: /* hours */
        return FAR_NS / 2 + bits % FAR_NS;
    default: /* totals that are full */
        return LONGEST_NS - random_next(r) % 2;
    }
}

static void write_program(uint64_t *r, uint64_t seed)
{
    int distribution = (int)(random_next(r) % 8), threads = 1 + (int)(random_next(r) % THREADS);
    bool few_keys = random_next(r) % 2;
    op_count = random_next(r) % 16 ? 20 + (int)(random_next(r) % 300) : OPS;
    plain = random_next(r) % 2;
    at_once = seed % 4 == 3;
    for (int i = 0; i < op_count; i++) {
        uint64_t dice = random_next(r) % 100;
        bool again = i > 0 && random_next(r) % 8;
        struct op *o = &ops[i];
        o->thread = again ? ops[i - 1].thread : (int)(random_next(r) % (uint64_t)threads);
        o->node = (int)(random_next(r) % (few_keys ? 1 : NODES));
        o->phase = again ? ops[i - 1].phase : (int)(random_next(r) % PHASES);
        o->pipeline = again ? ops[i - 1].pipeline : (int)(random_next(r) % PIPELINES);
        o->kind = dice < 35 ? RECORD : dice < 55 ? RECORD_DEVICE : dice < 75 ? BEGIN : END;
        o->ns = duration(r, random_next(r) % 16 ? distribution : 4);
        if (o->kind == END)
            o->ns = random_next(r) % 400 ? o->ns % 10000 : o->ns % (2 * FAR_NS);
        if (!plain && dice >= 95)
            o->kind = dice == 95 ? RESET : dice == 96 ? SET_SKIP : FAIL;
        if (dice == 99)
            o->kind = LOOK;
        if (o->kind == SET_SKIP)
            o->ns = random_next(r) % 12;
        if (at_once && o->kind > RECORD_DEVICE)
            o->kind = RECORD;
    }
}

/* ---- Running --------------------------------------------------------------------------------- */

static int key_of(const struct op *o)
{
    return (o->pipeline * PHASES + o->phase) * NODES + o->node;
}

static void set_skip(int pipeline, uint64_t skip)
{
    plumb_config c = plumb_config_default();
    c.enabled = 1;
    c.skip_first_n = (int64_t)skip;
    plumb_configure(plumb_pipeline_get(pipeline_names[pipeline]), &c, NULL);
    skip_of[pipeline] = skip;
}

static void reset(int pipeline)
{
    plumb_reset(plumb_pipeline_get(pipeline_names[pipeline]), NULL);
    forget_pipeline(pipeline);
    for (int t = 0; t < THREADS; t++)
        for (int d = 0; d < workers[t].depth; d++)
            workers[t].frame[d].dropped |= workers[t].frame[d].key / NODES / PHASES == pipeline;
}

static void begin(struct worker *w, const struct op *o)
{
    struct frame *f = &w->frame[w->depth];
    if (w->depth == DEPTH)
        return;
    f->key = key_of(o);
    f->child_ns = 0;
    f->dropped = false;
    f->begin = plumb_clock_virtual_ns;
    f->span = plumb_begin_node(plumb_node_get(node_names[o->node]));
    w->depth++;
}

static void end(struct worker *w, uint64_t ns, bool fails)
{
    struct frame *f;
    uint64_t lasted;
    if (w->depth == 0)
        return;
    f = &w->frame[--w->depth];
    clock_move(ns);
    if (fails)
        plumb_span_fail(f->span, "on purpose");
    plumb_end(f->span);
    lasted = plumb_clock_virtual_ns - f->begin;
    if (w->depth > 0)
        w->frame[w->depth - 1].child_ns += lasted;
    else
        outermost_ns = saturated((wide)outermost_ns + lasted);
    if (f->dropped)
        return;
    if (fails)
        keys[f->key].failures++;
    else
        model_host(f->key, w->number, 1, lasted, lasted - f->child_ns);
}

static void record(const struct worker *w, const struct op *o)
{
    plumb_node node = plumb_node_get(node_names[o->node]);
    if (o->kind == RECORD)
        plumb_record_ns(node, o->ns);
    else
        plumb_record_device_ns(node, o->ns);
    if (at_once)
        return;
    if (o->ns > LONGEST_NS) {
        refused++;
    } else if (o->kind == RECORD) {
        model_host(key_of(o), w->number, 2, o->ns, o->ns);
        if (w->depth == 0)
            outermost_ns = saturated((wide)outermost_ns + o->ns);
    } else {
        model_device(key_of(o), w->number, o->ns);
    }
}

static void step(struct worker *w, const struct op *o)
{
    plumb_scope pipeline = plumb_pipeline_begin(plumb_pipeline_get(pipeline_names[o->pipeline]));
    plumb_scope phase = plumb_phase_begin(phase_names[o->phase]);
    clock_move(1);
    switch (o->kind) {
    case RECORD:
    case RECORD_DEVICE:
        record(w, o);
        break;
    case BEGIN:
        begin(w, o);
        break;
    case END:
    case FAIL:
        end(w, o->ns, o->kind == FAIL);
        break;
    case SET_SKIP:
        set_skip(o->pipeline, o->ns);
        break;
    case RESET:
        reset(o->pipeline);
        break;
    default: /* the main thread looks */
        break;
    }
    clock_move(1);
    plumb_scope_end(phase);
    plumb_scope_end(pipeline);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (;;) {
        while (sem_wait(&w->go) != 0)
            continue;
        const bool last = w->to == op_count;
        for (int i = w->from; i < w->to; i++)
            if (ops[i].thread == w->number - 1)
                step(w, &ops[i]);
        while (last && w->depth)
            end(w, 10, false);
        sem_post(&done);
        if (last)
            return NULL;
    }
}

static void wait_for_turn(void)
{
    while (sem_wait(&done) != 0)
        continue;
}

static void turn(struct worker *w, int from, int to)
{
    w->from = from;
    w->to = to;
    sem_post(&w->go);
    if (!at_once)
        wait_for_turn();
}

static void look(bool ordered);

static void run_program(void)
{
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t + 1;
        workers[t].depth = 0;
        sem_init(&workers[t].go, 0, 0);
        assert_int_equal(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (int i = 0, from = 0; i < op_count && !at_once; i++) {
        bool looks = ops[i].kind == LOOK;
        if (i + 1 < op_count && ops[i + 1].thread == ops[i].thread && !looks)
            continue;
        if (i + 1 < op_count)
            turn(&workers[ops[i].thread], from, i + 1);
        else /* the last turn of each ends its spans */
            turn(&workers[ops[i].thread], from, op_count);
        from = i + 1;
        if (looks)
            look(true);
    }
    for (int t = 0; t < THREADS; t++)
        if (at_once || ops[op_count - 1].thread != t)
            turn(&workers[t], at_once ? 0 : op_count, op_count);
    for (int t = 0; t < THREADS && at_once; t++)
        wait_for_turn();
    for (int t = 0; t < THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        sem_destroy(&workers[t].go);
    }
    /* Nothing but samples, and no skip: each thread's in their order. */
    for (int t = 0; t < THREADS && at_once; t++) {
        for (int i = 0; i < op_count; i++) {
            if (ops[i].thread != t)
                continue;
            if (ops[i].ns > LONGEST_NS)
                refused++;
            else if (ops[i].kind == RECORD)
                model_host(key_of(&ops[i]), t + 1, 2, ops[i].ns, ops[i].ns);
            else
                model_device(key_of(&ops[i]), t + 1, ops[i].ns);
        }
    }
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool p2;

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void assert_near(const char *what, double got, double want, double most)
{
    if (!(fabs(got - want) <= most))
        fail_msg("%s is %.17g, not %.17g within %g", what, got, want, most);
}

/* The guarantee of the sketch: exact up to 5 samples, beyond them within 1/129. */
static void assert_quantile(const char *what, double got, double want, size_t count)
{
    assert_near(what, got, want, count <= PLUMB_EXACT ? want * 1e-15 : want * (1.0 / 129 + 1e-7));
}

struct figures {
    double count, total, mean, std, min, max, last, median, p50, p90, p95, p99; /* ns */
};

static bool known(const struct channel *c)
{
    return !c->skipping || !c->unordered;
}

static void compare(const struct channel *c, const struct figures *f, bool ordered, bool sketch)
{
    static uint64_t sorted[OPS];
    static const uint32_t percent[4] = {50, 90, 95, 99};
    const double got[4] = {f->p50, f->p90, f->p95, f->p99};
    const size_t n = c->count;
    wide sum = 0;
    long double squares = 0, mean;
    if (!known(c))
        return;
    assert_true(f->count == (double)n);
    if (n == 0) {
        assert_true(f->total == 0 && f->mean == 0 && f->std == 0 && f->min == 0 && f->max == 0);
        assert_true(f->median == 0 && f->p50 == 0 && f->p99 == 0 && f->last == 0);
        return;
    }
    memcpy(sorted, c->sample, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    mean = (long double)sum / n;
    for (size_t i = 0; i < n; i++)
        squares += ((long double)sorted[i] - mean) * ((long double)sorted[i] - mean);
    assert_near("total", f->total, (double)saturated(sum), (double)saturated(sum) * 1e-15);
    assert_near("min", f->min, (double)sorted[0], (double)sorted[0] * 1e-15);
    assert_near("max", f->max, (double)sorted[n - 1], (double)sorted[n - 1] * 1e-15);
    if (ordered)
        assert_near("last", f->last, (double)c->last, (double)c->last * 1e-15);
    if (sum < UINT64_MAX) {
        double std = (double)sqrtl(squares / n);
        assert_near("mean", f->mean, (double)mean, (double)mean * 1e-14);
        assert_near("std", f->std, std, std * 1e-9 + (double)sorted[n - 1] * 1e-14);
    }
    for (int i = 0; i < 4; i++)
        assert_quantile("a percentile", got[i], (double)sorted[(n * percent[i] + 99) / 100 - 1], n);
    if (sketch)
        assert_quantile("median", f->median,
                        ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2, n);
}

static void check_estimator(const struct key *k, uint32_t estimator, double median, double scale)
{
    uint32_t want = k->host.count <= PLUMB_EXACT
                        ? k->host.count ? PLUMB_MEDIAN_EXACT : PLUMB_MEDIAN_SKETCH
                    : p2 && !k->why ? PLUMB_MEDIAN_P2
                                    : PLUMB_MEDIAN_SKETCH;
    if (!known(&k->host))
        return;
    assert_int_equal(estimator, want);
    if (want == PLUMB_MEDIAN_P2) {
        double p = plumb_p2_median(&k->p2) / scale;
        assert_near("the P-square median", median, p, p * 1e-15);
    }
}

static bool listed(const struct key *k)
{
    return k->host.count || k->host.skipped || k->device.count || k->device.skipped || k->failures;
}

static int key_named(const char *pipeline, const char *phase, const char *node)
{
    int p = 0, h = 0, n = 0;
    for (int i = 1; i < PIPELINES; i++)
        p = strcmp(pipeline, pipeline_names[i]) == 0 ? i : p;
    while (strcmp(phase, phase_names[h]) != 0)
        assert_true(++h < PHASES);
    while (strcmp(node, node_names[n]) != 0)
        assert_true(++n < NODES);
    return (p * PHASES + h) * NODES + n;
}

static void check_row(const plumb_row *row, const struct key *k, bool ordered)
{
    const double ms = 1e6;
    const struct figures host = {(double)row->count, row->total_ms * ms,  row->mean_ms * ms,
                                 row->std_ms * ms,   row->min_ms * ms,    row->max_ms * ms,
                                 row->last_ms * ms,  row->median_ms * ms, row->p50_ms * ms,
                                 row->p90_ms * ms,   row->p95_ms * ms,    row->p99_ms * ms};
    compare(&k->host, &host, ordered, row->median_estimator != PLUMB_MEDIAN_P2);
    check_estimator(k, row->median_estimator, row->median_ms, ms);
    assert_int_equal(row->failures, k->failures);
    if (k->host.count || k->host.skipped)
        assert_int_equal(row->count + row->skipped, k->host.count + k->host.skipped);
    else
        assert_int_equal(row->device_count + row->skipped, k->device.count + k->device.skipped);
    if (known(&k->host))
        assert_near("self", row->self_ms * ms, (double)k->host.self, (double)k->host.self * 1e-15);
    if (known(&k->device))
        assert_int_equal(row->device_count, k->device.count);
}

static void look(bool ordered)
{
    plumb_rows *rows = record_rows(NULL, NULL);
    size_t want = 0;
    for (int k = 0; k < KEYS; k++)
        want += listed(&keys[k]);
    assert_int_equal(plumb_rows_count(rows), want);
    for (size_t i = 0; i < want; i++) {
        const plumb_row *row = plumb_rows_get(rows, i);
        check_row(row, &keys[key_named(row->pipeline, row->phase, row->node)], ordered);
    }
    plumb_rows_free(rows);
}

static void check_channel(const struct channel *want, const struct plumb_timing_channel *c,
                          bool ordered, bool sketch)
{
    const struct plumb_stats *s = &c->ns;
    const struct figures f = {(double)s->count,
                              (double)s->total,
                              plumb_stats_mean(s),
                              plumb_stats_std(s),
                              s->count ? (double)s->min : 0,
                              (double)s->max,
                              (double)s->last,
                              c->median_ns,
                              c->p50_ns,
                              c->p90_ns,
                              c->p95_ns,
                              c->p99_ns};
    compare(want, &f, ordered, sketch);
}

/* Steps over the number at *p; returns the size of a unit in its last place, 0: there is none. */
static double number_at(const char **p, double *value)
{
    char *end;
    const char *point;
    if (**p < '0' || **p > '9')
        return 0;
    *value = strtod(*p, &end);
    point = memchr(*p, '.', (size_t)(end - *p));
    double unit = 1;
    for (const char *d = point ? point + 1 : end; d < end; d++)
        unit /= 10;
    *p = end;
    return unit;
}

/* The same text; a number may differ by one in the last of its digits: the clock's rate is known
 * better when the run has ended, which tips one that lies between two. */
static void assert_same_lines(const char *a, const char *b)
{
    const char *line_a = a, *line_b = b;
    while (*a || *b) {
        double x, y;
        double unit = number_at(&a, &x);
        bool same = unit == number_at(&b, &y);
        if (unit > 0)
            same = same && fabs(x - y) < 1.5 * unit;
        else
            same = same && *a++ == *b++;
        if (!same)
            fail_msg("the program prints:\n%.130s\nthe report has:\n%.130s", line_a, line_b);
        if (unit == 0 && a[-1] == '\n') {
            line_a = a;
            line_b = b;
        }
    }
}

/* The report, and that its table is what the program could print of the open run. */
static void check_report(bool ordered)
{
    const struct plumb_summary_options o = {.frames = 0};
    struct plumb_buf table = {0};
    struct plumb_timing t;
    char *text;
    uint64_t outermost = 0;
    size_t rows = 0;
    assert_int_equal(plumb_summary_text(&text, NULL, NULL, 0, NULL), PLUMB_OK);
    record_finish(&t);
    assert_int_equal(plumb_summary_table(&table, &t, &o, NULL), PLUMB_OK);
    assert_same_lines(text, table.data);
    for (int k = 0; k < KEYS; k++)
        rows += listed(&keys[k]);
    assert_int_equal(t.node_count, rows);
    assert_int_equal(t.drops.range, refused);
    for (size_t i = 0; i < t.node_count; i++) {
        const struct plumb_timing_node *n = &t.nodes[i];
        const struct key *k = &keys[key_named(n->pipeline, n->phase, n->name)];
        check_channel(&k->host, &n->host, ordered, n->median_estimator != PLUMB_MEDIAN_P2);
        check_channel(&k->device, &n->device, ordered, true);
        check_estimator(k, n->median_estimator, n->host.median_ns, 1);
        if (known(&k->host))
            assert_int_equal(n->median_why, p2 && k->host.count > PLUMB_EXACT ? k->why : 0);
        assert_int_equal(n->device.ns.count + n->device_skipped,
                         k->device.count + k->device.skipped);
        outermost = saturated((wide)outermost + n->outermost_ns);
    }
    if (plain && !at_once)
        assert_int_equal(outermost, outermost_ns);
    plumb_buf_fini(&table);
    plumb_text_free(text);
    plumb_timing_fini(&t);
}

/* ---- Seeds ----------------------------------------------------------------------------------- */

static bool running;

static void begin_run(uint64_t seed)
{
    plumb_options o = plumb_options_default();
    if (running)
        record_stop();
    p2 = seed / SEEDS_OF_A_RUN % 2;
    o.median_p2 = p2 ? PLUMB_ON : PLUMB_OFF;
    record_start_with(o);
    running = true;
    refused = 0;
}

static void one(uint64_t seed)
{
    uint64_t r = seed * 2654435761u + 17;
    if (!running || seed % SEEDS_OF_A_RUN == 0)
        begin_run(seed);
    write_program(&r, seed);
    clock_move(1);
    for (int p = 0; p < PIPELINES; p++) {
        set_skip(p, plain || at_once ? 0 : random_next(&r) % 8);
        reset(p);
    }
    clock_move(1);
    outermost_ns = 0;
    run_program();
    look(!at_once);
    if (seed % SEEDS_OF_A_RUN == SEEDS_OF_A_RUN - 1 || seed % 5 == 0) {
        check_report(!at_once);
        running = false;
    }
}

static void figures_are_those_of_the_list_of_samples(void **state)
{
    (void)state;
    seeds_run(one);
    if (running)
        record_stop();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(figures_are_those_of_the_list_of_samples, seeds_teardown),
    };
    (void)argc;
    clock_make_virtual(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Spans against a model: random programs of three threads, which run in turns, on a clock that
 * stands still until the program moves it. Spans nest, lap, wrap, fail, are abandoned, closed from
 * outside and left by jumps; async spans end on any thread; phases and adopted contexts begin and
 * end in any order; threads end with spans open. Spans and scopes may run in a signal handler.
 *
 * The model keeps, for each row, its counts and times, and the same for each place of the call
 * tree. Summaries in between and what the run has left in its files are compared with that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"
#include "seeds.h"
#include "turns.h"
#include "virtual_clock.h"

#include <math.h>
#include <signal.h>

enum { THREADS = 3, EVENTS = 90, DEPTH = 6, SCOPES = 8, ASYNC = 4, CONTEXTS = 3, JUMPED = 3 };
enum { BURST = 150 }; /* spans, of which a block holds 31 */
enum { A, B, C, LAP, WRAPPED, LEFT, NAMES, BEGUN = LAP };
enum { PHASES = 2, KEYS = NAMES * PHASES, PATH = 27, PLACES = 2000, ROOT = 0, NONE = -1 };

static const char *const names[NAMES] = {"a", "b", "c", "lap", "wrapped", "left"};
static const char *const phase_names[PHASES] = {"inference", "val"};

/* ---- The model ------------------------------------------------------------------------------- */

struct m_figures {
    uint64_t count, total, self;
};
struct m_row {
    struct m_figures is;
    uint64_t failures, abandoned, unbalanced, min, max, last;
};
struct m_place {
    int parent, key;
    bool async;
    struct m_figures is;
};
enum m_mark { UNMARKED, FAILED, ABANDONED };
struct m_span {
    int key, place;
    enum m_mark mark;
    uint64_t begin, child;
    plumb_span span; /* none when a jump has left it */
};
struct m_scope { /* what was before */
    int phase, base, path[PATH], steps;
    plumb_scope scope;
};
struct m_thread {
    int phase, base, path[PATH], steps; /* names of the adopted path */
    int depth, scopes;
    struct m_span open[DEPTH];
    struct m_scope scope[SCOPES];
};
struct m_async {
    bool open;
    int key;
    uint64_t begin;
    plumb_async span;
};
struct m_context {
    bool captured;
    int phase, path[PATH], steps;
    plumb_context context;
};

static struct {
    struct m_row row[KEYS];
    struct m_place place[PLACES];
    int places;
    struct m_thread thread[THREADS];
    struct m_async async[ASYNC];
    struct m_context context[CONTEXTS];
    uint64_t stale;
} m;
static uint64_t random_state;
static plumb_node nodes[NAMES];

static int chance(int n)
{
    return (int)(random_next(&random_state) % (uint64_t)n);
}

/* At least 1 ns between events: of two threads, one was last. */
static void pass_time(void)
{
    int far = chance(400);
    clock_move(1 + (uint64_t)chance(1000));
    if (far < 2)
        clock_move(UINT64_C(1) << (far ? 47 : 42)); /* beyond a block's clock, beyond a sketch */
}

static int tree_node_of(int parent, int key, bool async)
{
    for (int i = 1; i < m.places; i++)
        if (m.place[i].parent == parent && m.place[i].key == key && m.place[i].async == async)
            return i;
    assert_true(m.places < PLACES);
    m.place[m.places] = (struct m_place){.parent = parent, .key = key, .async = async};
    return m.places++;
}

static void add(struct m_figures *f, uint64_t took, uint64_t self)
{
    f->count++;
    f->total += took;
    f->self += self;
}

static void add_run(int key, int place, uint64_t took, uint64_t self)
{
    struct m_row *r = &m.row[key];
    r->min = !r->is.count || took < r->min ? took : r->min;
    r->max = took > r->max ? took : r->max;
    r->last = took;
    add(&r->is, took, self);
    add(&m.place[place].is, took, self);
}

static int key_of(const struct m_thread *t, int name)
{
    return t->phase * NAMES + name;
}

static void push(struct m_thread *t, int name, plumb_span span)
{
    int parent = t->depth ? t->open[t->depth - 1].place : t->base, key = key_of(t, name);
    t->open[t->depth++] = (struct m_span){
        .key = key, .place = tree_node_of(parent, key, false), .begin = clock_now(), .span = span};
}

static void give_time(struct m_thread *t, uint64_t ns)
{
    if (t->depth)
        t->open[t->depth - 1].child += ns;
}

static void close_to(struct m_thread *t, int depth)
{
    while (t->depth > depth) {
        const struct m_span *s = &t->open[--t->depth];
        m.row[s->key].unbalanced++;
        give_time(t, s->child);
    }
}

static void pop(struct m_thread *t)
{
    const struct m_span *s = &t->open[--t->depth];
    uint64_t took = clock_now() - s->begin;
    if (s->mark == ABANDONED) {
        m.row[s->key].abandoned++;
        give_time(t, s->child);
        return;
    }
    give_time(t, took);
    if (s->mark == FAILED)
        m.row[s->key].failures++;
    else
        add_run(s->key, s->place, took, took - s->child);
}

static void push_scope(struct m_thread *t, plumb_scope scope)
{
    struct m_scope *s = &t->scope[t->scopes++];
    s->phase = t->phase;
    s->base = t->base;
    s->steps = t->steps;
    memcpy(s->path, t->path, sizeof s->path);
    s->scope = scope;
}

static void pop_scopes(struct m_thread *t, int down_to)
{
    const struct m_scope *s = &t->scope[down_to];
    t->scopes = down_to;
    t->phase = s->phase;
    t->base = s->base;
    t->steps = s->steps;
    memcpy(t->path, s->path, sizeof t->path);
}

static void model_adopt(struct m_thread *t, const struct m_context *c)
{
    t->phase = c->phase;
    t->base = ROOT;
    t->steps = c->steps;
    memcpy(t->path, c->path, sizeof t->path);
    for (int i = 0; i < t->steps; i++)
        t->base = tree_node_of(t->base, key_of(t, t->path[i]), false);
}

/* ---- What the threads do --------------------------------------------------------------------- */

static struct turn turns[THREADS];

static struct { /* what the event is about, and what it brings back */
    void (*event)(void);
    int name, n, mark, way;
    uint64_t lasts[BURST];
    plumb_span span;
    plumb_async async;
    plumb_scope scope;
    plumb_context context;
    plumb_rows *rows;
    plumb_error err;
    sigjmp_buf back;
} now;

static void handler(int signal)
{
    (void)signal;
    now.event();
}

static void by_raise(void)
{
    raise(SIGUSR1);
}

static void by_kill(void)
{
    pthread_kill(pthread_self(), SIGUSR1);
}

static void on(int i, void (*event)(void))
{
    int way = chance(6);
    now.event = event;
    turn_run(&turns[i], way == 0 ? by_raise : way == 1 ? by_kill : event);
}

static void do_begin(void)
{
    PLUMB_POINT(a, "a");
    PLUMB_POINT(b, "b");
    PLUMB_POINT(c, "c");
    struct plumb_point *const points[] = {&a, &b, &c};
    now.span = now.way ? plumb_begin(points[now.name]) : plumb_begin_node(nodes[now.name]);
}

static void do_lap(void)
{
    PLUMB_POINT(lap, "lap");
    now.span = plumb_lap(now.span, &lap);
}

static void wrapped(void)
{
    clock_move(now.lasts[0]);
}
PLUMB_WRAP_VOID(wrapped, (void), ());

static void do_wrapped(void)
{
    wrapped_plumb();
}

static void do_burst(void)
{
    for (int i = 0; i < now.n; i++) {
        plumb_span span = plumb_begin_node(nodes[now.name]);
        clock_move(now.lasts[i]);
        plumb_end(span);
    }
}

static void do_end(void)
{
    for (int i = 0; i < now.n; i++)
        plumb_end(now.span);
}

static void do_mark(void)
{
    if (now.mark == FAILED)
        plumb_span_fail(now.span, now.way ? "no memory" : NULL);
    else
        plumb_span_abandon(now.span);
}

static void leave_after(int n)
{
    PLUMB_PHASE("val");
    PLUMB_SPAN("left");
    PLUMB_ADOPT(&now.context);
    if (n > 1)
        leave_after(n - 1);
    siglongjmp(now.back, 1);
}

static void jump(void)
{
    leave_after(now.n);
}

static void do_jump(void)
{
    if (sigsetjmp(now.back, 1))
        return;
    now.event = jump;
    if (now.way)
        raise(SIGUSR1);
    jump();
}

static void do_async_begin(void)
{
    now.async = plumb_async_begin(nodes[now.name]);
}

static void do_async_end(void)
{
    if (now.mark == FAILED)
        plumb_async_fail(now.async, NULL);
    else if (now.mark == ABANDONED)
        plumb_async_abandon(now.async);
    else
        plumb_async_end(now.async);
}

static void do_phase(void)
{
    now.scope = plumb_phase_begin(phase_names[now.n]);
}

static void do_capture(void)
{
    plumb_context_capture(&now.context);
}

static void do_adopt(void)
{
    now.scope = plumb_context_adopt(&now.context);
}

static void do_scope_end(void)
{
    plumb_scope_end(now.scope);
}

static void do_summary(void)
{
    now.rows = NULL;
    plumb_summary_rows(&now.rows, NULL, NULL, &now.err);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void begin(int i)
{
    struct m_thread *t = &m.thread[i];
    if (t->depth == DEPTH)
        return;
    now.name = chance(BEGUN);
    now.way = chance(2);
    on(i, do_begin);
    push(t, now.name, now.span);
}

/* An open span of the thread that no jump has left; NONE: it has none. */
static int any_open(const struct m_thread *t)
{
    int at = t->depth - 1;
    if (t->depth && chance(6) == 0)
        at = chance(t->depth);
    while (at >= 0 && !t->open[at].span.id)
        at--;
    return at;
}

static void lap(int i)
{
    struct m_thread *t = &m.thread[i];
    int at = any_open(t);
    if (at == NONE && t->depth == DEPTH)
        return;
    now.span = at == NONE ? (plumb_span){0} : t->open[at].span;
    on(i, do_lap);
    if (at != NONE) {
        close_to(t, at + 1);
        pop(t);
    }
    push(t, LAP, now.span);
}

static void wrap(int i)
{
    struct m_thread *t = &m.thread[i];
    if (t->depth == DEPTH)
        return;
    now.lasts[0] = (uint64_t)chance(100);
    push(t, WRAPPED, (plumb_span){0});
    on(i, do_wrapped);
    pop(t);
}

static void burst(int i)
{
    struct m_thread *t = &m.thread[i];
    if (t->depth == DEPTH)
        return;
    now.name = chance(BEGUN);
    now.n = chance(BURST + 1);
    for (int k = 0; k < now.n; k++)
        now.lasts[k] = (uint64_t)chance(100);
    uint64_t took = 0;
    for (int k = 0; k < now.n; k++) {
        push(t, now.name, (plumb_span){0});
        struct m_span *s = &t->open[--t->depth];
        add_run(s->key, s->place, now.lasts[k], now.lasts[k]);
        took += now.lasts[k];
    }
    give_time(t, took);
    on(i, do_burst);
}

static void end(int i)
{
    struct m_thread *t = &m.thread[i];
    int at = any_open(t);
    if (at == NONE)
        return;
    now.span = t->open[at].span;
    now.n = 1 + (chance(12) == 0);
    m.stale += now.n > 1;
    on(i, do_end);
    close_to(t, at + 1);
    pop(t);
}

/* A span ends on its thread: elsewhere nothing happens. */
static void end_elsewhere(int i)
{
    const struct m_thread *other = &m.thread[(i + 1) % THREADS];
    int at = any_open(other);
    if (at == NONE)
        return;
    now.span = other->open[at].span;
    now.n = 1;
    on(i, do_end);
    m.stale++;
}

static void mark(int i)
{
    struct m_thread *t = &m.thread[i];
    int at = any_open(t);
    if (at == NONE)
        return;
    now.span = t->open[at].span;
    now.mark = 1 + chance(2);
    now.way = chance(2);
    on(i, do_mark);
    t->open[at].mark = (enum m_mark)now.mark;
}

static void leave(int i)
{
    struct m_thread *t = &m.thread[i];
    const struct m_context *c = &m.context[chance(CONTEXTS)];
    now.n = 1 + chance(JUMPED);
    now.way = chance(2);
    if (!c->captured || t->depth + now.n > DEPTH || t->scopes + 2 * now.n > SCOPES)
        return;
    now.context = c->context;
    turn_run(&turns[i], do_jump);
    for (int k = 0; k < now.n; k++) {
        push_scope(t, (plumb_scope){0});
        t->phase = 1;
        push(t, LEFT, (plumb_span){0});
        push_scope(t, (plumb_scope){0});
        model_adopt(t, c);
    }
}

static void async_begin(int i)
{
    struct m_async *a = &m.async[chance(ASYNC)];
    if (a->open)
        return;
    now.name = chance(BEGUN);
    on(i, do_async_begin);
    *a = (struct m_async){true, key_of(&m.thread[i], now.name), clock_now(), now.async};
}

static void async_end(int i)
{
    struct m_async *a = &m.async[chance(ASYNC)];
    uint64_t took = clock_now() - a->begin;
    if (!a->open)
        return;
    now.async = a->span;
    now.mark = chance(4) ? UNMARKED : 1 + chance(2);
    on(i, do_async_end);
    a->open = false;
    if (now.mark == FAILED)
        m.row[a->key].failures++;
    else if (now.mark == ABANDONED)
        m.row[a->key].abandoned++;
    else
        add_run(a->key, tree_node_of(ROOT, a->key, true), took, 0);
}

static void phase(int i)
{
    struct m_thread *t = &m.thread[i];
    if (t->scopes == SCOPES)
        return;
    now.n = chance(PHASES);
    on(i, do_phase);
    push_scope(t, now.scope);
    t->phase = now.n;
}

static void capture(int i)
{
    const struct m_thread *t = &m.thread[i];
    struct m_context *c = &m.context[chance(CONTEXTS)];
    on(i, do_capture);
    *c = (struct m_context){true, t->phase, {0}, t->steps, now.context};
    memcpy(c->path, t->path, sizeof c->path);
    for (int d = 0; d < t->depth && c->steps < PATH; d++)
        c->path[c->steps++] = t->open[d].key % NAMES;
}

static void adopt(int i)
{
    struct m_thread *t = &m.thread[i];
    const struct m_context *c = &m.context[chance(CONTEXTS)];
    if (t->scopes == SCOPES || !c->captured)
        return;
    now.context = c->context;
    on(i, do_adopt);
    push_scope(t, now.scope);
    model_adopt(t, c);
}

static void scope_end(int i)
{
    struct m_thread *t = &m.thread[i];
    int at = t->scopes - 1;
    if (t->scopes && chance(4) == 0)
        at = chance(t->scopes);
    while (at >= 0 && !t->scope[at].scope.id)
        at--;
    if (at < 0)
        return;
    now.scope = t->scope[at].scope;
    on(i, do_scope_end);
    pop_scopes(t, at);
}

static void thread_ends(int i)
{
    turn_close(&turns[i]);
    close_to(&m.thread[i], 0);
    memset(&m.thread[i], 0, sizeof m.thread[i]);
}

static void thread_again(int i)
{
    if (chance(4))
        return;
    thread_ends(i);
    turn_open(&turns[i]);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool is_listed(int key)
{
    const struct m_row *r = &m.row[key];
    return r->is.count || r->failures || r->abandoned || r->unbalanced;
}

static void assert_ms(double ms, uint64_t ns)
{
    assert_true(fabs(ms - (double)ns * 1e-6) <= (double)ns * 1e-15);
}

static void summary(int i)
{
    size_t listed = 0;
    turn_run(&turns[i], do_summary); /* it allocates, which no signal handler may */
    if (!now.rows)
        fail_msg("plumb_summary_rows: %s", now.err.message);
    for (int k = 0; k < KEYS; k++) {
        const struct m_row *want = &m.row[k];
        const plumb_row *row;
        if (!is_listed(k))
            continue;
        listed++;
        row = record_find(now.rows, phase_names[k / NAMES], names[k % NAMES]);
        assert_non_null(row);
        record_check_row(row);
        assert_int_equal(row->count, want->is.count);
        assert_int_equal(row->failures, want->failures);
        assert_ms(row->total_ms, want->is.total);
        assert_ms(row->self_ms, want->is.self);
        assert_ms(row->min_ms, want->min);
        assert_ms(row->max_ms, want->max);
        assert_ms(row->last_ms, want->last);
    }
    assert_int_equal(plumb_rows_count(now.rows), listed);
    plumb_rows_free(now.rows);
}

static int key_of_node(const struct plumb_timing_node *n)
{
    int key = strcmp(n->phase, phase_names[1]) == 0 ? NAMES : 0;
    for (int i = 0; i < NAMES; i++)
        if (strcmp(n->name, names[i]) == 0)
            return key + i;
    fail_msg("a row '%s'", n->name);
    return 0;
}

/* A run below one that has left nothing anywhere is shown without what is around it. */
static int parent_shown(int place)
{
    int parent = m.place[place].parent;
    return parent != ROOT && is_listed(m.place[parent].key) ? parent : ROOT;
}

static void compare_rows(const struct plumb_timing *t)
{
    struct m_figures outermost[KEYS] = {{0}};
    size_t listed = 0;
    for (int k = 0; k < KEYS; k++)
        listed += is_listed(k);
    assert_int_equal(t->node_count, listed);
    for (int p = 1; p < m.places; p++)
        if (!m.place[p].async && parent_shown(p) == ROOT) {
            outermost[m.place[p].key].count += m.place[p].is.count;
            outermost[m.place[p].key].total += m.place[p].is.total;
        }
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        int key = key_of_node(n);
        const struct m_row *want = &m.row[key];
        assert_int_equal(n->host.ns.count, want->is.count);
        assert_int_equal(n->host.ns.total, want->is.total);
        assert_int_equal(n->self_ns, want->is.self);
        assert_int_equal(n->failures, want->failures);
        assert_int_equal(n->abandoned, want->abandoned);
        assert_int_equal(n->unbalanced, want->unbalanced);
        if (want->is.count) {
            assert_int_equal(n->host.ns.min, want->min);
            assert_int_equal(n->host.ns.max, want->max);
            assert_int_equal(n->host.ns.last, want->last);
        }
        assert_int_equal(n->outermost_count, outermost[key].count);
        assert_int_equal(n->outermost_ns, outermost[key].total);
    }
}

/* Whether both are shown at the same path: below runs that are not shown. */
static bool same_path(int p, int q)
{
    while (p != ROOT && q != ROOT) {
        if (m.place[p].key != m.place[q].key || m.place[p].async != m.place[q].async)
            return false;
        p = parent_shown(p);
        q = parent_shown(q);
    }
    return p == q;
}

/* Which of the places that are shown at the same path stands for all. */
static int first_of(int p)
{
    int first = ROOT;
    while (!same_path(first, p))
        first++;
    return first;
}

/* The model's place of the `i`th of the report. */
static int place_shown(const struct plumb_timing *t, const int *place_at, size_t i)
{
    uint32_t parent = t->tree[i].parent;
    int around = parent == PLUMB_TIMING_NONE ? ROOT : place_at[parent];
    int key = key_of_node(&t->nodes[t->tree[i].node]);
    for (int p = 1; p < m.places; p++)
        if (m.place[p].key == key && m.place[p].async == t->tree[i].async &&
            first_of(parent_shown(p)) == around)
            return first_of(p);
    fail_msg("a place '%s' that no run was in", names[key % NAMES]);
    return NONE;
}

static void compare_tree(const struct plumb_timing *t)
{
    static struct m_figures got[PLACES], want[PLACES];
    static int place_at[PLACES];
    memset(got, 0, sizeof got);
    memset(want, 0, sizeof want);
    assert_true(t->tree_count < PLACES);
    for (size_t i = 0; i < t->tree_count; i++) {
        struct m_figures *at = &got[place_at[i] = place_shown(t, place_at, i)];
        at->count += t->tree[i].count;
        at->self += t->tree[i].self_ns;
    }
    for (int p = 1; p < m.places; p++) {
        struct m_figures *at = &want[first_of(p)];
        at->count += m.place[p].is.count;
        at->self += m.place[p].is.self;
    }
    for (int p = 1; p < m.places; p++) {
        assert_int_equal(got[p].count, want[p].count);
        assert_int_equal(got[p].self, want[p].self);
    }
}

static void compare_open(const struct plumb_timing *t)
{
    size_t open = 0, unbalanced = 0;
    for (int i = 0; i < THREADS; i++)
        open += (size_t)m.thread[i].depth;
    for (int a = 0; a < ASYNC; a++)
        open += m.async[a].open;
    for (int k = 0; k < KEYS; k++)
        unbalanced += m.row[k].unbalanced;
    assert_int_equal(t->open_count, open);
    assert_int_equal(t->drops.unbalanced, unbalanced);
    assert_int_equal(t->drops.stale, m.stale);
    assert_int_equal(t->drops.reentrant, 0);
}

static void an_event(void)
{
    static void (*const events[])(int) = {
        begin,     begin,     begin, begin,         end,         end,       end,     end,
        lap,       lap,       wrap,  burst,         mark,        leave,     capture, adopt,
        scope_end, scope_end, phase, end_elsewhere, async_begin, async_end, summary, thread_again};
    pass_time();
    events[chance((int)(sizeof events / sizeof *events))](chance(THREADS));
}

static void one(uint64_t seed)
{
    struct plumb_timing t;
    char dir[1024];
    memset(&m, 0, sizeof m);
    m.places = 1;
    random_state = seed;
    record_start();
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    for (int n = 0; n < NAMES; n++)
        nodes[n] = plumb_node_get(names[n]);
    for (int i = 0; i < THREADS; i++)
        turn_open(&turns[i]);
    for (int k = 0; k < EVENTS; k++)
        an_event();
    /* The others' spans are open when the run ends. */
    for (int i = chance(THREADS + 1); i < THREADS; i++) {
        thread_ends(i);
        turn_open(&turns[i]);
    }
    pass_time();
    record_finish(&t);
    compare_rows(&t);
    compare_tree(&t);
    compare_open(&t);
    plumb_timing_fini(&t);
    record_remove(dir);
    for (int i = 0; i < THREADS; i++)
        turn_close(&turns[i]);
}

static void each_span_is_counted_once_where_it_ran(void **state)
{
    (void)state;
    seeds_run(one);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_span_is_counted_once_where_it_ran, seeds_teardown),
    };
    const struct sigaction action = {.sa_handler = handler};
    (void)argc;
    clock_make_virtual(argv);
    sigaction(SIGUSR1, &action, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

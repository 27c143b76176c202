/* Requests against a model: random programs of three threads, which run in turns, on a clock that
 * stands still until the program moves it. Stages nest, fail, are abandoned or closed from outside.
 * They begin by node, by lap, in a wrapper and as async spans that any thread ends. Requests begin
 * and end at any time, also inside stages. Phases change, stages report values, checkpoints are
 * taken.
 *
 * The model keeps, for each request, the figures that each of its stages must have: runs, failures,
 * times, checkpoints, and the calls of each form with the last value. The files of the run are
 * compared with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_memory.h"
#include "record_signatures.h"
#include "seeds.h"
#include "turns.h"
#include "virtual_clock.h"

enum { THREADS = 3, EVENTS = 60, REQUESTS = EVENTS + 1, DEPTH = 5, ASYNC = 4 };
enum { NAMES = 5, PHASES = 2, KEYS = NAMES * PHASES, FORMS = 2, POINTS = 2, NONE = -1 };

static const char *const names[NAMES] = {"encode", "denoise", "decode", "lap", "wrapped"};
static const char *const phase_names[PHASES] = {"inference", "val"};
static const char *const points[POINTS] = {"first", "second"};

/* ---- The model ------------------------------------------------------------------------------- */

struct m_calls {
    uint64_t count;
    int64_t value; /* of the last */
};
struct m_stage {
    uint64_t count, failures, total, own, last;
};
struct m_request {
    bool open;
    uint64_t records, stages, begin, end;
    struct m_stage stage[KEYS];
    struct m_calls calls[NAMES][FORMS];
    uint64_t checkpoint[POINTS]; /* bytes + 1 that were held; 0: none */
};
struct m_run {
    int key, request;
    bool plain; /* a span that is not a stage */
    uint64_t begin, child, inside;
    int form; /* of the value that it reported, or NONE */
    int64_t value;
    plumb_span span;
};
struct m_thread {
    int request, depth, phase;
    plumb_scope in_phase;
    struct m_run open[DEPTH];
};
struct m_async {
    bool open;
    int key, request;
    uint64_t begin;
    plumb_async span;
};

static struct {
    struct m_request request[REQUESTS]; /* the last one: of none */
    plumb_request handle[REQUESTS];
    int requests;
    struct m_thread thread[THREADS];
    struct m_async async[ASYNC];
    uint64_t held, blocks;
} m;
static uint64_t random_state;

static int chance(int n)
{
    return (int)(random_next(&random_state) % (uint64_t)n);
}

static void pass_time(void)
{
    clock_move((uint64_t)chance(1000));
}

static struct m_run *around(struct m_thread *t, int request)
{
    for (int i = t->depth; request != NONE && i-- > 0;)
        if (!t->open[i].plain && t->open[i].request == request)
            return &t->open[i];
    return NULL;
}

static struct m_run *parent(struct m_thread *t)
{
    for (int i = t->depth; i-- > 0;)
        if (!t->open[i].plain)
            return &t->open[i];
    return NULL;
}

/* `r` is off the stack and leaves nothing. */
static void model_drop(struct m_thread *t, const struct m_run *r)
{
    struct m_run *outer = around(t, r->request), *next = parent(t);
    if (r->plain)
        return;
    if (next)
        next->child += r->child;
    if (outer)
        outer->inside += r->inside;
    else if (r->request != NONE)
        m.request[r->request].stages += r->inside;
}

static void add_run(int request, int key, uint64_t took, uint64_t own, bool failed)
{
    struct m_stage *s = &m.request[request].stage[key];
    m.request[request].records++;
    s->total += took;
    s->own += own;
    s->last = took;
    if (failed)
        s->failures++;
    else
        s->count++;
}

/* `mark`: 1 failed. */
static void model_end(struct m_thread *t, const struct m_run *r, int mark)
{
    uint64_t took = clock_now() - r->begin;
    struct m_run *outer = around(t, r->request), *next = parent(t);
    if (r->plain)
        return;
    if (next)
        next->child += took;
    if (r->request == NONE)
        return;
    if (outer)
        outer->inside += took;
    else
        m.request[r->request].stages += took;
    add_run(r->request, r->key, took, took - r->child, mark == 1);
    if (r->form != NONE && !mark) {
        struct m_calls *c = &m.request[r->request].calls[r->key % NAMES][r->form];
        c->count++;
        c->value = r->value;
    }
}

/* ---- Threads that run in turns --------------------------------------------------------------- */

static struct turn turns[THREADS];

static struct { /* what the event is about, and what it brings back */
    plumb_span span;
    plumb_async async;
    plumb_request request;
    plumb_scope scope;
    const char *name;
    int mark, form;
    int64_t value;
    uint64_t bytes, address;
} now;

static void on(int i, void (*event)(void))
{
    turn_run(&turns[i], event);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void do_begin(void)
{
    now.span = plumb_begin_with(plumb_node_get(now.name), PLUMB_POINT_STAGE);
}

static void do_begin_plain(void)
{
    now.span = plumb_begin_node(plumb_node_get("plain"));
}

static void do_lap(void)
{
    static struct plumb_point point = PLUMB_POINT_INIT("lap", PLUMB_POINT_STAGE);
    now.span = plumb_lap(now.span, &point);
}

static void wrapped(void)
{
    pass_time();
}
PLUMB_WRAP_STAGE_VOID(wrapped, (void), ());

static void do_wrapped(void)
{
    wrapped_plumb();
}

static void do_end(void)
{
    if (now.mark == 1)
        plumb_span_fail(now.span, "no memory");
    if (now.mark == 2)
        plumb_span_abandon(now.span);
    plumb_end(now.span);
}

static void do_tell(void)
{
    plumb_stage_input_value(now.span, now.form ? "other" : "value", plumb_value_i64(now.value));
}

static void do_async_begin(void)
{
    now.async = plumb_async_begin_with(plumb_node_get(now.name), PLUMB_POINT_STAGE);
}

static void do_async_end(void)
{
    if (now.mark == 1)
        plumb_async_fail(now.async, NULL);
    else if (now.mark == 2)
        plumb_async_abandon(now.async);
    else
        plumb_async_end(now.async);
}

static void do_request_begin(void)
{
    now.request = plumb_request_begin(now.name, NULL);
}

static void do_request_end(void)
{
    plumb_request_end(now.request);
}

static void do_phase(void)
{
    now.scope = plumb_phase_begin(now.name);
}

static void do_phase_end(void)
{
    plumb_scope_end(now.scope);
}

static void do_checkpoint(void)
{
    if (now.bytes)
        mem_alloc(now.address, now.bytes);
    plumb_checkpoint(now.name);
}

static int current(struct m_thread *t)
{
    if (t->request != NONE && !m.request[t->request].open)
        t->request = NONE;
    return t->request;
}

static struct m_run *push(struct m_thread *t, int name, bool plain)
{
    struct m_run *r = &t->open[t->depth++];
    *r = (struct m_run){.key = t->phase * NAMES + name,
                        .request = plain ? NONE : current(t),
                        .plain = plain,
                        .begin = clock_now(),
                        .form = NONE,
                        .span = now.span};
    return r;
}

static void begin(int i)
{
    struct m_thread *t = &m.thread[i];
    int name = chance(3);
    bool plain = chance(4) == 0;
    if (t->depth == DEPTH)
        return;
    now.name = names[name];
    on(i, plain ? do_begin_plain : do_begin);
    push(t, name, plain);
}

static void lap(int i)
{
    struct m_thread *t = &m.thread[i];
    if (!t->depth)
        return;
    now.span = t->open[t->depth - 1].span;
    on(i, do_lap);
    struct m_run before = t->open[--t->depth];
    model_end(t, &before, 0);
    push(t, 3, false);
}

static void wrap(int i)
{
    struct m_thread *t = &m.thread[i];
    struct m_run r;
    if (t->depth == DEPTH)
        return;
    push(t, 4, false);
    on(i, do_wrapped);
    r = t->open[--t->depth];
    model_end(t, &r, 0);
}

static void end(int i)
{
    struct m_thread *t = &m.thread[i];
    int at = t->depth - 1;
    if (!t->depth)
        return;
    if (chance(6) == 0)
        at = chance(t->depth);
    now.mark = chance(4) ? 0 : 1 + chance(2);
    now.span = t->open[at].span;
    on(i, do_end);
    while (t->depth > at + 1) {
        struct m_run closed = t->open[--t->depth];
        model_drop(t, &closed);
    }
    struct m_run r = t->open[--t->depth];
    if (now.mark == 2)
        model_drop(t, &r);
    else
        model_end(t, &r, now.mark);
}

/* Of one form a call: the same name again overwrites, another one would make a third form. */
static void tell(int i)
{
    struct m_thread *t = &m.thread[i];
    struct m_run *r = t->depth ? &t->open[t->depth - 1] : NULL;
    if (!r || r->plain)
        return;
    now.form = r->form == NONE ? chance(FORMS) : r->form;
    now.value = chance(100);
    now.span = r->span;
    on(i, do_tell);
    r->form = now.form;
    r->value = now.value;
}

static void async_begin(int i)
{
    struct m_thread *t = &m.thread[i];
    struct m_async *a = &m.async[chance(ASYNC)];
    int name = chance(3);
    if (a->open)
        return;
    now.name = names[name];
    on(i, do_async_begin);
    *a = (struct m_async){true, t->phase * NAMES + name, current(t), clock_now(), now.async};
}

static void async_end(int i)
{
    struct m_async *a = &m.async[chance(ASYNC)];
    uint64_t took = clock_now() - a->begin;
    if (!a->open)
        return;
    now.async = a->span;
    now.mark = chance(4) ? 0 : 1 + chance(2);
    on(i, do_async_end);
    a->open = false;
    if (now.mark == 2 || a->request == NONE)
        return;
    m.request[a->request].stages += took;
    add_run(a->request, a->key, took, took, now.mark == 1);
}

static void request_ends(int r)
{
    m.request[r].open = false;
    m.request[r].end = clock_now();
}

static void request_begin(int i)
{
    struct m_thread *t = &m.thread[i];
    static char id[16];
    int r = m.requests++;
    if (current(t) != NONE)
        request_ends(t->request);
    snprintf(id, sizeof id, "r%d", r);
    now.name = id;
    on(i, do_request_begin);
    m.handle[r] = now.request;
    m.request[r] = (struct m_request){.open = true, .begin = clock_now()};
    t->request = r;
}

/* Any thread may end any. */
static void request_end(int i)
{
    int r = m.requests ? chance(m.requests) : NONE;
    if (r == NONE)
        return;
    now.request = m.handle[r];
    on(i, do_request_end);
    if (m.request[r].open)
        request_ends(r);
}

static void phase(int i)
{
    struct m_thread *t = &m.thread[i];
    now.name = phase_names[1];
    now.scope = t->in_phase;
    on(i, t->phase ? do_phase_end : do_phase);
    t->phase = !t->phase;
    t->in_phase = now.scope;
}

static void checkpoint(int i)
{
    int p = chance(POINTS), r = current(&m.thread[i]);
    now.name = points[p];
    now.bytes = (uint64_t)chance(3);
    now.address = ++m.blocks << 20;
    m.held += now.bytes;
    on(i, do_checkpoint);
    m.request[r == NONE ? REQUESTS - 1 : r].checkpoint[p] = m.held + 1;
}

static void an_event(void)
{
    static void (*const events[])(int) = {
        begin, begin, begin,       end,       end,         end,   lap,           wrap,
        tell,  tell,  async_begin, async_end, request_end, phase, request_begin, checkpoint};
    pass_time();
    events[chance((int)(sizeof events / sizeof *events))](chance(THREADS));
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static int key_of(const struct plumb_timing_node *n)
{
    int key = strcmp(n->phase, phase_names[1]) == 0 ? NAMES : 0;
    for (int i = 0; i < NAMES; i++)
        if (strcmp(n->name, names[i]) == 0)
            return key + i;
    fail_msg("a stage '%s'", n->name);
    return 0;
}

static void compare_request(const struct plumb_timing *t, int i)
{
    const struct plumb_timing_request *r = &t->requests[i];
    const struct m_request *want = &m.request[i];
    size_t stages = 0;
    assert_int_equal(r->state, want->open ? PLUMB_TIMING_REQUEST_OPEN : PLUMB_TIMING_REQUEST_ENDED);
    assert_int_equal(r->wall_ns, (want->open ? clock_now() : want->end) - want->begin);
    assert_int_equal(r->records, want->records);
    assert_int_equal(r->stages_ns, want->stages);
    for (int k = 0; k < KEYS; k++)
        stages += want->stage[k].count + want->stage[k].failures > 0;
    assert_int_equal(r->stage_count, stages);
    for (size_t k = 0; k < r->stage_count; k++) {
        const struct plumb_timing_request_stage *s = &r->stages[k];
        const struct m_stage *w = &want->stage[key_of(&t->nodes[s->node])];
        assert_int_equal(s->count, w->count);
        assert_int_equal(s->failures, w->failures);
        assert_int_equal(s->total_ns, w->total);
        assert_int_equal(s->own_ns, w->own);
        assert_int_equal(s->last_ns, w->last);
    }
}

static void compare_checkpoints(const struct plumb_timing *t)
{
    uint64_t want = 0;
    for (int r = 0; r < REQUESTS; r++)
        for (int p = 0; p < POINTS; p++)
            want += m.request[r].checkpoint[p] > 0;
    assert_int_equal(t->memory.checkpoint_count, want);
    for (size_t i = 0; i < t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &t->memory.checkpoints[i];
        int p = strcmp(c->name, points[1]) == 0;
        int r = c->request == PLUMB_TIMING_NONE ? REQUESTS - 1 : (int)c->request;
        uint64_t held = c->memory.use_count ? c->memory.uses[0].allocated : 0;
        assert_string_equal(c->name, points[p]);
        assert_int_equal(held + 1, m.request[r].checkpoint[p]);
    }
}

static bool has_calls(int r)
{
    for (int n = 0; n < NAMES * FORMS; n++)
        if (m.request[r].calls[n / FORMS][n % FORMS].count)
            return true;
    return false;
}

static void compare_calls(const struct plumb_signature_stage *s, const struct m_calls *want)
{
    assert_int_equal(s->calls, want[0].count + want[1].count);
    for (size_t i = 0; i < s->distinct_count; i++) {
        const struct plumb_signature_item *item = &s->distinct[i].inputs.at[0];
        const struct m_calls *w = &want[strcmp(item->name, "other") == 0];
        assert_int_equal(s->distinct[i].inputs.count, 1);
        assert_int_equal(s->distinct[i].count, w->count);
        assert_int_equal(item->value.is.integer, w->value);
    }
}

static void compare_signatures(const char *dir)
{
    struct plumb_signature s;
    bool any = false;
    for (int r = 0; r < m.requests; r++)
        any = any || has_calls(r);
    if (!any)
        return;
    record_signatures(&s, dir);
    assert_int_equal(s.request_count, m.requests);
    for (int r = 0; r < m.requests; r++) {
        size_t stages = 0;
        for (int n = 0; n < NAMES; n++)
            stages += m.request[r].calls[n][0].count + m.request[r].calls[n][1].count > 0;
        assert_int_equal(s.requests[r].stage_count, stages);
        for (size_t i = 0; i < stages; i++)
            for (int n = 0; n < NAMES; n++)
                if (strcmp(s.requests[r].stages[i].name, names[n]) == 0)
                    compare_calls(&s.requests[r].stages[i], m.request[r].calls[n]);
    }
    plumb_signature_fini(&s);
}

static void one(uint64_t seed)
{
    struct plumb_timing t;
    char dir[1024];
    memset(&m, 0, sizeof m);
    random_state = seed;
    record_start();
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    for (int i = 0; i < THREADS; i++) {
        m.thread[i].request = NONE;
        turn_open(&turns[i]);
    }
    for (int k = 0; k < EVENTS; k++)
        an_event();
    for (int i = 0; i < THREADS; i++) {
        while (m.thread[i].depth) {
            struct m_run r = m.thread[i].open[--m.thread[i].depth];
            model_drop(&m.thread[i], &r);
        }
        turn_close(&turns[i]);
    }
    record_finish(&t);
    assert_int_equal(t.request_count, m.requests);
    for (int r = 0; r < m.requests; r++)
        compare_request(&t, r);
    compare_checkpoints(&t);
    plumb_timing_fini(&t);
    compare_signatures(dir);
    record_remove(dir);
}

static void each_request_has_what_was_done_for_it(void **state)
{
    (void)state;
    seeds_run(one);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_request_has_what_was_done_for_it, seeds_teardown),
    };
    (void)argc;
    clock_make_virtual(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Memory of stages and requests against a model: random programs of up to four threads, which run
 * in turns, so that the order of events is known. Stages nest, are closed from outside, and end
 * with their thread. Workers adopt contexts, also of stages that have ended. Any thread frees any
 * block.
 *
 * The model knows every block and every scope, and by name which blocks each open scope sees: those
 * that the scope around it saw when it was opened, and those allocated in it. After every event it
 * adds them up again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_memory.h"
#include "seeds.h"
#include "turns.h"

#include "record/runtime/carve.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"

enum {
    POOLS = 3, /* the last is malloc's, whose blocks are not followed */
    FOLLOWED = POOLS - 1,
    THREADS = 4,
    BLOCKS = 16,
    SCOPES = 200,
    DEPTH = 7, /* stages, contexts and requests that a thread has open at once */
    EVENTS = 90,
    CONTEXTS = 3,
    NONE = -1
};
#define UNIT (UINT64_C(1) << 20) /* of malloc: large enough to be passed on at once */

static const char *const device_of[POOLS] = {"cuda:0", "cpu", "cpu"};
static const char *const pool_of[POOLS] = {"caching", "frames", "malloc"};

struct figure {
    int64_t now, peak;
};

/* ---- The model ------------------------------------------------------------------------------- */

struct m_block {
    uint64_t bytes, address;
    int pool;
    bool alive;
};
struct m_scope {
    int parent; /* NONE: the root of a thread */
    bool open, running;
    bool sees[BLOCKS];
    struct figure allocated[POOLS]; /* of the blocks that it sees; of malloc, of the heap */
    struct figure reserved[POOLS];
};
enum m_kind { STAGE, ADOPTION, REQUEST };
struct m_open {
    enum m_kind kind;
    int scope;
    int before;         /* of an adoption: what the thread worked in */
    int request_before; /* and for */
    int name;
    plumb_span span;
    plumb_scope adopted;
};
struct m_thread {
    bool alive;
    int root, innermost; /* scopes */
    int request;         /* that it works for: a scope */
    int adopted;
    struct m_open open[DEPTH];
    int depth;
};
struct m_context {
    bool valid;
    int scope, request;
    plumb_context context;
};

static struct {
    struct m_block block[BLOCKS];
    struct m_scope scope[SCOPES];
    int scopes, names;
    struct m_thread thread[THREADS];
    struct m_context context[CONTEXTS];
    plumb_request request[SCOPES];                   /* by scope */
    struct figure allocated[POOLS], reserved[POOLS]; /* peaks since one was started again */
    uint64_t next_address;
} m;

static void raise_peak(struct figure *f, int64_t now)
{
    f->now = now;
    if (now > f->peak)
        f->peak = now;
}

static void start_again(struct figure *f)
{
    f->peak = f->now;
}

/* After every event: all is added up again. */
static void add_up(void)
{
    int64_t held[POOLS] = {0, 0, m.allocated[FOLLOWED].now};
    for (int b = 0; b < BLOCKS; b++) {
        if (m.block[b].alive)
            held[m.block[b].pool] += (int64_t)m.block[b].bytes;
    }
    for (int p = 0; p < POOLS; p++) {
        raise_peak(&m.allocated[p], held[p]);
        raise_peak(&m.reserved[p], m.reserved[p].now);
    }
    for (int s = 0; s < m.scopes; s++) {
        int64_t seen[POOLS] = {0, 0, m.allocated[FOLLOWED].now};
        struct m_scope *scope = &m.scope[s];
        if (!scope->open)
            continue;
        for (int b = 0; b < BLOCKS; b++) {
            if (m.block[b].alive && scope->sees[b])
                seen[m.block[b].pool] += (int64_t)m.block[b].bytes;
        }
        for (int p = 0; p < POOLS; p++) {
            raise_peak(&scope->allocated[p], seen[p]);
            raise_peak(&scope->reserved[p], m.reserved[p].now);
        }
    }
}

static int new_scope(int parent, bool running)
{
    int s = m.scopes++;
    struct m_scope *scope = &m.scope[s];
    assert_true(s < SCOPES);
    *scope = (struct m_scope){.parent = parent, .open = true, .running = running};
    if (parent != NONE)
        memcpy(scope->sees, m.scope[parent].sees, sizeof scope->sees);
    add_up();
    return s;
}

static int open_around(int scope)
{
    while (scope != NONE && !m.scope[scope].open)
        scope = m.scope[scope].parent;
    return scope;
}

/* Where an event of the thread counts. */
static int innermost(struct m_thread *t)
{
    int scope = open_around(t->innermost);
    if (scope == NONE) {
        if (t->root == NONE)
            t->root = new_scope(NONE, true);
        scope = t->root;
    }
    t->innermost = scope;
    return scope;
}

static void start_peaks(int scope)
{
    while (m.scope[scope].parent != NONE)
        scope = m.scope[scope].parent;
    for (int p = 0; p < POOLS; p++) {
        start_again(&m.scope[scope].allocated[p]);
        start_again(&m.allocated[p]);
        start_again(&m.reserved[p]);
    }
}

static int open_scope(struct m_thread *t, bool running)
{
    int s = new_scope(innermost(t), running);
    if (!running)
        start_peaks(s);
    t->innermost = s;
    return s;
}

static void close_scope(struct m_thread *t, int s)
{
    m.scope[s].open = false;
    if (t->innermost == s)
        t->innermost = m.scope[s].parent;
}

/* ---- Threads that run in turns --------------------------------------------------------------- */

static struct turn turns[THREADS];

/* The subject of the event, and its result. */
static struct {
    struct m_open *open;
    struct m_context *context;
    struct m_block *block;
    plumb_request request;
    uint64_t bytes;
    int pool;
    char name[16];
    bool stage_known;
    struct plumb_live_memory memory;
} now;

static void on(int thread, void (*event)(void))
{
    turn_run(&turns[thread], event);
}

static void thread_begin(int i)
{
    m.thread[i] =
        (struct m_thread){.alive = true, .root = NONE, .innermost = NONE, .request = NONE};
    turn_open(&turns[i]);
}

static void thread_end(int i)
{
    struct m_thread *t = &m.thread[i];
    turn_close(&turns[i]);
    while (t->depth) {
        struct m_open *o = &t->open[--t->depth];
        if (o->kind == STAGE)
            m.scope[o->scope].open = false;
    }
    if (t->root != NONE)
        m.scope[t->root].open = false;
    t->alive = false;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static void compare(int s, const struct plumb_live_memory *seen)
{
    const struct m_scope *scope = &m.scope[s];
    int root = s;
    while (m.scope[root].parent != NONE)
        root = m.scope[root].parent;
    for (int p = 0; p < POOLS; p++) {
        struct plumb_live_use use = {0};
        int64_t peak = scope->allocated[p].peak, peak_reserved = scope->reserved[p].peak;
        int64_t running = p == FOLLOWED        ? m.allocated[p].peak
                          : m.scope[root].open ? m.scope[root].allocated[p].peak
                                               : 0;
        if (scope->running && running > peak)
            peak = running;
        if (scope->running && m.reserved[p].peak > peak_reserved)
            peak_reserved = m.reserved[p].peak;
        for (uint32_t i = 0; i < seen->use_count; i++) {
            const struct plumb_live_pool *pool = plumb_pool_at(plumb_rt.run, seen->use[i].pool);
            const char *name =
                PLUMB_AT(plumb_rt.run, const char, pool->pool_off + sizeof(struct plumb_live_text));
            if (strcmp(name, pool_of[p]) == 0)
                use = seen->use[i];
        }
        assert_int_equal(use.allocated, scope->allocated[p].now);
        assert_int_equal(use.peak_allocated, peak);
        assert_int_equal(use.reserved, m.reserved[p].now);
        assert_int_equal(use.peak_reserved, peak_reserved);
    }
}

/* On the thread that ended the stage: what the book has of it. */
static void stage_result(const char *name)
{
    struct plumb_live_stage *stage =
        plumb_ledger_stage(plumb_rt.run, plumb_key(plumb_tls->group, plumb_node_get(name)));
    now.stage_known = stage && stage->memory.shown;
    if (now.stage_known)
        now.memory = stage->memory.copy[stage->memory.shown & 1];
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void do_stage_begin(void)
{
    uint32_t running = m.scope[now.open->scope].running ? PLUMB_POINT_RUNNING_PEAK : 0;
    now.open->span = plumb_begin_with(plumb_node_get(now.name), PLUMB_POINT_STAGE | running);
}

static void set_name(int name)
{
    snprintf(now.name, sizeof now.name, "stage%d", name);
}

static void stage_begin(int i, bool running)
{
    struct m_thread *t = &m.thread[i];
    struct m_open *o = &t->open[t->depth++];
    *o = (struct m_open){.kind = STAGE, .scope = open_scope(t, running), .name = m.names++};
    now.open = o;
    set_name(o->name);
    on(i, do_stage_begin);
}

static void do_stage_end(void)
{
    plumb_end(now.open->span);
    stage_result(now.name);
}

/* Ends the stage at `depth`; stages that are open inside it are closed by that. */
static void stage_end(int i, int depth)
{
    struct m_thread *t = &m.thread[i];
    struct m_open *o = &t->open[depth];
    set_name(o->name);
    now.open = o;
    while (t->depth > depth + 1)
        close_scope(t, t->open[--t->depth].scope);
    t->depth--;
    on(i, do_stage_end);
    assert_true(now.stage_known);
    compare(o->scope, &now.memory);
    close_scope(t, o->scope);
}

static void do_capture(void)
{
    plumb_context_capture(&now.context->context);
}

static void capture(int i, int c)
{
    struct m_thread *t = &m.thread[i];
    now.context = &m.context[c];
    m.context[c] = (struct m_context){.valid = true, .scope = innermost(t), .request = t->request};
    on(i, do_capture);
}

static void do_adopt(void)
{
    now.open->adopted = plumb_context_adopt(&now.context->context);
}

static void adopt(int i, int c)
{
    struct m_thread *t = &m.thread[i];
    struct m_open *o = &t->open[t->depth++];
    *o = (struct m_open){
        .kind = ADOPTION, .scope = NONE, .before = t->innermost, .request_before = t->request};
    now.open = o;
    now.context = &m.context[c];
    t->innermost = open_around(m.context[c].scope);
    t->request = m.context[c].request;
    t->adopted++;
    on(i, do_adopt);
}

static void do_return(void)
{
    plumb_scope_end(now.open->adopted);
}

static void adoption_end(int i)
{
    struct m_thread *t = &m.thread[i];
    now.open = &t->open[--t->depth];
    t->innermost = now.open->before;
    t->request = now.open->request_before;
    t->adopted--;
    on(i, do_return);
}

static void do_request_begin(void)
{
    now.request = plumb_request_begin("request", NULL);
}

static void do_request_end(void)
{
    plumb_request_end(now.request);
}

static void compare_request(int s)
{
    uint64_t serial = m.request[s].id & ((UINT64_C(1) << 40) - 1);
    uint32_t at = (uint32_t)((serial - 1) % PLUMB_LIVE_REQUESTS);
    const struct plumb_live_request *r =
        plumb_table_at(plumb_rt.run, &plumb_rt.run->h->requests, at);
    assert_int_equal(r->serial, serial);
    assert_true(r->end_ticks > 0);
    compare(s, &r->memory.copy[r->memory.shown & 1]);
}

/* One that is open already ends. */
static void request_begin(int i)
{
    struct m_thread *t = &m.thread[i];
    int before = t->request, s;
    bool ends = before != NONE && m.scope[before].open && !t->adopted;
    if (ends)
        close_scope(t, before);
    s = open_scope(t, false);
    t->request = s;
    on(i, do_request_begin);
    m.request[s] = now.request;
    if (ends)
        compare_request(before);
}

static void request_end(int i, int s)
{
    struct m_thread *t = &m.thread[i];
    now.request = m.request[s];
    on(i, do_request_end);
    compare_request(s);
    close_scope(t, s);
    if (t->request == s)
        t->request = NONE;
}

static void do_alloc(void)
{
    const struct m_block *b = now.block;
    plumb_mem_alloc(device_of[b->pool], pool_of[b->pool], block(b->address), b->bytes);
}

static void allocate(int i, int b, int pool, uint64_t bytes, bool given_out_again)
{
    int s = innermost(&m.thread[i]);
    now.block = &m.block[b];
    if (m.block[b].alive)
        assert_true(given_out_again); /* its release was not reported */
    m.block[b].alive = false;
    for (int k = 0; k < m.scopes; k++)
        m.scope[k].sees[b] = false;
    add_up();
    if (!given_out_again)
        m.block[b].address = ++m.next_address << 8;
    m.block[b].bytes = bytes;
    m.block[b].pool = pool;
    m.block[b].alive = true;
    for (; s != NONE; s = m.scope[s].parent)
        m.scope[s].sees[b] = true;
    on(i, do_alloc);
}

static void do_free(void)
{
    const struct m_block *b = now.block;
    plumb_mem_free(device_of[b->pool], pool_of[b->pool], block(b->address), 0);
}

static void release(int i, int b)
{
    now.block = &m.block[b];
    m.block[b].alive = false;
    on(i, do_free);
}

static void do_reserve(void)
{
    plumb_mem_reserve(device_of[now.pool], pool_of[now.pool], NULL, now.bytes);
}

static void do_release(void)
{
    plumb_mem_release(device_of[now.pool], pool_of[now.pool], NULL, now.bytes);
}

static void reserve(int i, int pool, uint64_t bytes, bool gives_back)
{
    now.pool = pool;
    now.bytes = bytes;
    m.reserved[pool].now += gives_back ? -(int64_t)bytes : (int64_t)bytes;
    on(i, gives_back ? do_release : do_reserve);
}

static void do_malloc(void)
{
    plumb_api_()->mem_sized(PLUMB_MEM_ALLOC, now.bytes);
}

static void do_malloc_free(void)
{
    plumb_api_()->mem_sized(PLUMB_MEM_FREE, now.bytes);
}

static void of_malloc(int i, uint64_t bytes, bool gives_back)
{
    now.bytes = bytes;
    m.allocated[FOLLOWED].now += gives_back ? -(int64_t)bytes : (int64_t)bytes;
    on(i, gives_back ? do_malloc_free : do_malloc);
}

static void reset_peak(int i)
{
    start_peaks(innermost(&m.thread[i]));
    on(i, plumb_memory_reset_peak);
}

/* Of the whole process, asked by any thread. */
static void ask(void)
{
    for (int p = 0; p < POOLS; p++) {
        plumb_memory seen = mem_now(device_of[p], pool_of[p]);
        assert_int_equal(seen.allocated, m.allocated[p].now);
        assert_int_equal(seen.peak_allocated, m.allocated[p].peak);
        assert_int_equal(seen.reserved, m.reserved[p].now);
        assert_int_equal(seen.peak_reserved, m.reserved[p].peak);
    }
}

/* ---- A program ------------------------------------------------------------------------------- */

static uint64_t random_state;

static int below(int n)
{
    return (int)(random_next(&random_state) % (uint64_t)n);
}

static int a_live_block(void)
{
    int first = below(BLOCKS);
    for (int i = 0; i < BLOCKS; i++) {
        if (m.block[(first + i) % BLOCKS].alive)
            return (first + i) % BLOCKS;
    }
    return NONE;
}

static void a_memory_event(int i)
{
    int what = below(12), b = below(BLOCKS), pool = below(FOLLOWED);
    uint64_t bytes = (uint64_t)below(1000);
    if (what < 5 && !m.block[b].alive) {
        allocate(i, b, pool, bytes, false);
    } else if (what < 9 && (b = a_live_block()) != NONE) {
        if (what == 5)
            allocate(i, b, m.block[b].pool, bytes, true);
        else
            release(i, b);
    } else if (what == 9) {
        uint64_t reserved = (uint64_t)m.reserved[pool].now;
        bool gives_back = below(2) && reserved > bytes;
        reserve(i, pool, bytes, gives_back);
    } else if (what == 10) {
        uint64_t units = (uint64_t)m.allocated[FOLLOWED].now / UNIT;
        bool gives_back = below(2) && units > 0;
        of_malloc(i, UNIT * (gives_back ? 1 + (uint64_t)below((int)units) : 1 + (uint64_t)below(9)),
                  gives_back);
    } else if (what == 11) {
        reset_peak(i);
    }
}

/* How far down the thread may end a stage without ending a context that it adopted inside. */
static int lowest_stage(const struct m_thread *t)
{
    int depth = t->depth;
    while (depth && t->open[depth - 1].kind == STAGE)
        depth--;
    return depth;
}

static void a_scope_event(int i)
{
    struct m_thread *t = &m.thread[i];
    int what = below(10), c = below(CONTEXTS), s;
    if (what < 3 && t->depth < DEPTH) {
        stage_begin(i, below(4) == 0);
    } else if (what < 6 && t->depth && t->open[t->depth - 1].kind == STAGE) {
        int lowest = lowest_stage(t);
        stage_end(i, below(4) ? t->depth - 1 : lowest + below(t->depth - lowest));
    } else if (what < 7 && t->depth && t->open[t->depth - 1].kind == ADOPTION) {
        adoption_end(i);
    } else if (what == 7) {
        capture(i, c);
    } else if (what == 8 && m.context[c].valid && t->depth < DEPTH) {
        adopt(i, c);
    } else if (what == 9) {
        s = below(m.scopes + 1);
        if (s < m.scopes && m.request[s].id && m.scope[s].open)
            request_end(i, s);
        else if (!t->adopted)
            request_begin(i);
    }
}

static void an_event(void)
{
    int i = below(THREADS);
    if (!m.thread[i].alive)
        thread_begin(i);
    else if (below(60) == 0)
        thread_end(i);
    else if (m.scopes > SCOPES - 10)
        a_memory_event(i);
    else if (below(2))
        a_scope_event(i);
    else
        a_memory_event(i);
    add_up();
    if (below(8) == 0)
        ask();
}

/* The run goes on: what the next program must not find. */
static void clear_up(void)
{
    for (int i = 0; i < THREADS; i++) {
        if (m.thread[i].alive)
            thread_end(i);
    }
    for (int s = 0; s < m.scopes; s++) {
        if (m.request[s].id && m.scope[s].open)
            plumb_request_end(m.request[s]);
    }
    for (int b = 0; b < BLOCKS; b++) {
        if (m.block[b].alive)
            plumb_mem_free(device_of[m.block[b].pool], pool_of[m.block[b].pool],
                           block(m.block[b].address), 0);
    }
    for (int p = 0; p < FOLLOWED; p++)
        plumb_mem_release(device_of[p], pool_of[p], NULL, (uint64_t)m.reserved[p].now);
    if (m.allocated[FOLLOWED].now)
        plumb_api_()->mem_sized(PLUMB_MEM_FREE, (uint64_t)m.allocated[FOLLOWED].now);
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    plumb_memory_reset_peak();
}

static void one(uint64_t seed)
{
    uint64_t next_address = m.next_address;
    memset(&m, 0, sizeof m);
    m.next_address = next_address;
    random_state = seed;
    for (int k = 0; k < EVENTS; k++)
        an_event();
    clear_up();
}

static void every_scope_shows_the_blocks_that_it_sees(void **state)
{
    (void)state;
    record_start();
    plumb_memory_reset_peak();
    seeds_run(one);
    record_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_scope_shows_the_blocks_that_it_sees, seeds_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* snapshot.c: a consistent summary of threads that continue to record.
 *
 * For each thread the summary has its statistics as of some fold, plus the records after that fold.
 * They are copied while the thread is kept from folding (thread_copy.c), and added up afterwards.
 * Each thread is copied at a moment of its own.
 *
 * The statistics of all threads come before the first record, because the number of samples that
 * skip_first_n has taken decides which ones it takes next.
 *
 * Locks: snapshot_lock: one summary at a time, and the run stays (its end takes the lock). Not the
 * runtime's lock: a fold that meets a node for the first time needs it. Thread records and tables
 * only grow, and are published with release stores. While a thread is held, signals are blocked and
 * cancellation is off: after either of them the holder might never release it. */
#include "record/span/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "live/merge.h"
#include "live/read.h"
#include "model/public_row.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/node.h"
#include "record/runtime/thread.h"
#include "record/span/ring.h"
#include "record/span/thread_copy.h"

/* Rows own their texts through the runtime's names, which live as long as the process. */
struct plumb_rows {
    struct plumb_arena arena;
    plumb_row *rows;
    size_t count;
};

/* Memory that summaries reuse. */
struct plumb_summary_memory {
    struct plumb_merge m;
    struct plumb_arena arena;
    struct plumb_copy_memory copy;
};

/* ---- Threads --------------------------------------------------------------------------------- */

/* The records of a thread since its last fold. */
struct tail {
    struct tail *next;
    uint32_t thread, generation; /* of the merge */
    struct plumb_merge_row **rows;
    size_t row_count;
    struct plumb_live_context context;
    struct plumb_live_frame *frames; /* [0 .. context.depth] */
    struct plumb_merge_ahead *ahead;
    size_t ahead_count;
    uint64_t *words; /* of `blocks` blocks */
    uint32_t blocks;
};

static void *keep(struct plumb_arena *a, const void *bytes, size_t n)
{
    void *kept = plumb_arena_alloc(a, n);
    if (kept && n)
        memcpy(kept, bytes, n);
    return kept;
}

/* Maps its tree nodes to those of `m`. */
static void map_tree(const struct plumb_thread_copy *c, struct plumb_merge *m, struct tail *t)
{
    uint32_t *map = plumb_arena_alloc(m->arena, (c->tree_nodes + 1) * sizeof *map);
    if (!map)
        return;
    for (uint32_t i = 1; i < c->tree_nodes; i++)
        plumb_merge_place(m, map, i, &c->place[i]);
    for (uint32_t d = 1; d <= t->context.depth; d++)
        t->frames[d].tree = t->frames[d].tree < c->tree_nodes ? map[t->frames[d].tree] : 0;
    t->context.base_tree = t->context.base_tree < c->tree_nodes ? map[t->context.base_tree] : 0;
}

/* NULL: out of memory. */
static struct tail *tail_of(const struct plumb_thread_copy *c, struct plumb_merge *m)
{
    struct tail *t = plumb_arena_alloc(m->arena, sizeof *t);
    if (!t)
        return NULL;
    t->context = *c->context;
    t->frames = keep(m->arena, c->frames, (c->context->depth + 1) * sizeof *t->frames);
    t->words = keep(m->arena, c->words, (size_t)c->blocks * PLUMB_BLOCK_WORDS * sizeof *t->words);
    t->blocks = t->words ? c->blocks : 0;
    t->ahead = keep(m->arena, c->ahead, c->ahead_count * sizeof *t->ahead);
    t->ahead_count = c->ahead_count;
    t->rows = plumb_arena_alloc(m->arena, (c->states + 1) * sizeof(struct plumb_merge_row *));
    return t->frames && t->rows ? t : NULL;
}

/* Adds a thread's statistics; its records are added later. */
static struct tail *add_states(const struct plumb_thread_copy *c, struct plumb_merge *m)
{
    struct tail *t = tail_of(c, m);
    if (!t)
        return NULL;
    plumb_merge_thread(m, c->generation);
    t->thread = m->thread;
    t->generation = c->generation;
    for (uint32_t i = 0; i < c->states; i++) {
        const struct plumb_state_copy *st = &c->state[i];
        struct plumb_merge_row *row = st->lines ? plumb_merge_state_copy(m, st->head, st->lines)
                                                : plumb_merge_state(m, st->head);
        plumb_merge_skipped(m, st->head);
        if (row)
            t->rows[t->row_count++] = row;
    }
    if (m->want_tree)
        map_tree(c, m, t);
    return t;
}

static void add_records(const struct tail *t, struct plumb_merge *m,
                        struct plumb_live_frame frames[PLUMB_DEPTH_MAX + 1])
{
    struct plumb_live_context context = t->context;
    if (!t->blocks)
        return;
    plumb_merge_resume(m, t->thread, t->generation, t->rows, t->row_count);
    m->ahead_count = t->ahead_count;
    memcpy(m->ahead, t->ahead, t->ahead_count * sizeof *t->ahead);
    memcpy(frames, t->frames, (context.depth + 1) * sizeof *frames);
    for (uint32_t i = 0; i < t->blocks; i++)
        plumb_merge_block(m, &context, frames, t->words + (size_t)i * PLUMB_BLOCK_WORDS);
}

static int add_threads(struct plumb_summary_memory *memory, struct plumb_run *run)
{
    struct plumb_merge *m = &memory->m;
    struct plumb_live_frame *frames =
        plumb_arena_alloc(m->arena, (PLUMB_DEPTH_MAX + 1) * sizeof *frames);
    struct tail *tails = NULL, *t;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        struct plumb_thread_copy copy;
        int rc = plumb_thread_copy(&copy, &memory->copy, (struct plumb_in){th, run}, m);
        if (rc < 0)
            return rc;
        if (rc > 0)
            continue;
        t = add_states(&copy, m);
        if (!t || !frames)
            return PLUMB_ERR_MEMORY;
        t->next = tails;
        tails = t;
    }
    for (t = tails; t; t = t->next)
        add_records(t, m, frames);
    return PLUMB_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Names are looked up by numbers from records. A name is stored before its number is counted, and
 * the number is counted before any thread records with it. */
static void see_names(void)
{
    plumb_order();
    (void)PLUMB_ACQUIRE(plumb_rt.node_count);
    (void)PLUMB_ACQUIRE(plumb_rt.phases.count);
    (void)PLUMB_ACQUIRE(plumb_rt.pipeline_count);
}

/* The result that a summary makes: rows of a pipeline and a phase, NULL: of all; or everything, as
 * in a report. */
struct wanted {
    plumb_rows *rows;
    plumb_pipeline *pipeline;
    const char *phase;
    struct plumb_timing *timing;
};

static int make_rows(const struct wanted *want, struct plumb_merge *m,
                     const struct plumb_anchor *end, double tick_ns)
{
    plumb_rows *rows = want->rows;
    plumb_merge_order(m);
    rows->rows = plumb_arena_alloc(&rows->arena, (m->row_count + 1) * sizeof *rows->rows);
    for (size_t i = 0; rows->rows && i < m->row_count; i++) {
        const struct plumb_merge_row *r = m->rows[i];
        plumb_row *out = &rows->rows[rows->count];
        struct plumb_timing_node n;
        if (!r->listed || (want->pipeline && r->group >> 8 != want->pipeline->index) ||
            (want->phase && strcmp(plumb_rt.phases.name[r->group & 0xff], want->phase) != 0))
            continue;
        plumb_live_row_figures(&n, m, r, tick_ns, end, false);
        plumb_public_row(out, &n, n.host.std_ns);
        out->node = plumb_node_at(r->node)->name;
        out->phase = plumb_rt.phases.name[r->group & 0xff];
        out->pipeline = plumb_rt.pipelines[r->group >> 8].name;
        rows->count++;
    }
    return rows->arena.failed ? PLUMB_ERR_MEMORY : PLUMB_OK;
}

/* The mapping and the arena of `m` may be freed before the report. */
static int make_timing(struct plumb_timing *t, struct plumb_merge *m,
                       const struct plumb_anchor *end, double tick_ns)
{
    uint32_t *node_of;
    m->live = true;
    int rc = plumb_live_rows(t, m, tick_ns, end, &node_of);
    for (size_t i = 0; rc == PLUMB_OK && i < t->node_count; i++) {
        struct plumb_timing_node *n = &t->nodes[i];
        n->name = plumb_arena_strdup(&t->arena, n->name);
        n->pipeline = plumb_arena_strdup(&t->arena, n->pipeline);
        n->phase = plumb_arena_strdup(&t->arena, n->phase);
        n->host.buckets = n->device.buckets = NULL;
        n->host.bucket_count = n->device.bucket_count = 0;
    }
    for (size_t i = 0; rc == PLUMB_OK && i < t->pipeline_count; i++)
        t->pipelines[i].name = plumb_arena_strdup(&t->arena, t->pipelines[i].name);
    return t->arena.failed ? PLUMB_ERR_MEMORY : rc;
}

static int make(const struct wanted *want, struct plumb_run *run, struct plumb_merge *m)
{
    struct plumb_anchor end;
    double ppm, tick_ns;
    plumb_anchor_take(&end, plumb_rt.clock);
    tick_ns = plumb_live_tick_ns(m->view.h, &end, &ppm);
    plumb_live_tick_keep(run->h, tick_ns, ppm);
    see_names();
    return want->rows ? make_rows(want, m, &end, tick_ns)
                      : make_timing(want->timing, m, &end, tick_ns);
}

/* ---- The whole of it ------------------------------------------------------------------------- */

/* Folds full blocks, so that later summaries need not replay them again. A thread that is held is
 * skipped: its holder folds, or copies for a summary. */
static void fold_waiting(struct plumb_run *run)
{
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        plumb_fold_waiting((struct plumb_in){th, run});
}

/* Under the lock: makes the result from the open run. */
static int summarise(const struct wanted *want)
{
    struct plumb_summary_memory *memory = plumb_rt.summary_memory;
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    struct plumb_live_view view;
    struct plumb_merge *m;
    int rc;
    if (!run)
        return PLUMB_OK;
    if (!memory)
        memory = plumb_rt.summary_memory = calloc(1, sizeof *memory); /* reachable for leak
                                                                       * checkers */
    if (!memory)
        return PLUMB_ERR_MEMORY;
    m = &memory->m;
    plumb_arena_reset(&memory->arena);
    view = plumb_live_view_of(run->base, run->mapped);
    fold_waiting(run);
    rc = plumb_merge_open(m, &memory->arena, &view, !want->rows);
    m->own = true;
    if (rc == PLUMB_OK)
        rc = add_threads(memory, run);
    if (rc == PLUMB_OK)
        rc = make(want, run, m);
    return rc == PLUMB_OK && memory->arena.failed ? PLUMB_ERR_MEMORY : rc;
}

static int summarise_locked(const struct wanted *want, plumb_error *err)
{
    sigset_t all, before;
    struct plumb_cancel cancel;
    int rc = plumb_may_lock_all("a summary", err);
    if (rc < 0)
        return rc;
    sigfillset(&all);
    cancel = plumb_cancel_off();
    pthread_sigmask(SIG_SETMASK, &all, &before);
    plumb_snapshot_lock();
    rc = summarise(want);
    plumb_snapshot_unlock();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    plumb_cancel_on(cancel);
    if (rc == PLUMB_OK)
        return rc;
    return plumb_fail(err, rc, "cannot take a summary: %s",
                      rc == PLUMB_ERR_MEMORY  ? "out of memory"
                      : rc == PLUMB_ERR_STATE ? "a thread's records changed too fast; try again"
                                              : "the state of the run is damaged");
}

int plumb_summary_rows_impl(plumb_rows **out, plumb_pipeline *pipeline, const char *phase,
                            plumb_error *err)
{
    struct wanted want = {.pipeline = pipeline, .phase = phase};
    int rc;
    if (!out)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_summary_rows: out is NULL");
    want.rows = calloc(1, sizeof *want.rows);
    if (!want.rows)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "cannot take a summary: out of memory");
    rc = summarise_locked(&want, err);
    if (rc == PLUMB_OK)
        *out = want.rows;
    else
        plumb_rows_free_impl(want.rows);
    return rc;
}

int plumb_summary_timing(struct plumb_timing *out, plumb_error *err)
{
    struct wanted want = {.timing = out};
    int rc = summarise_locked(&want, err);
    if (rc < 0)
        plumb_timing_fini(out);
    return rc;
}

size_t plumb_rows_count_impl(const plumb_rows *rows)
{
    return rows->count;
}

const plumb_row *plumb_rows_get_impl(const plumb_rows *rows, size_t i)
{
    return i < rows->count ? &rows->rows[i] : NULL;
}

void plumb_rows_free_impl(plumb_rows *rows)
{
    if (!rows)
        return;
    plumb_arena_fini(&rows->arena);
    free(rows);
}

/* snapshot.c: a consistent summary of threads that go on recording.
 *
 * For each thread the snapshot is its states as of some fold, plus the records of the block that
 * was open then. Protocol, per thread:
 *
 * 1. The reader stores th->ask, then loads th->live->folding; a fold stores `folding`, then loads
 *    th->ask. All four are sequentially consistent, so they have one order, in which either the
 *    reader's load comes behind the fold's store, or the fold's load behind the reader's store:
 *    the reader waits out every fold that began before and does not know, and every later one
 *    knows. What it waits for is one fold, which itself waits for nothing but a node's first
 *    meeting; its release of `folded` makes all that it has changed visible.
 * 2. A fold that knows first leaves a copy of stack, context and block (plumb_snapshot_answer), of
 *    each state's first fields before it changes them (plumb_snapshot_copy), of each line of
 *    buckets before it raises one (plumb_snapshot_line), and of each place of its call tree
 *    (plumb_snapshot_place), where that is asked for: a table needs to know what is outermost.
 * 3. The reader takes what has been copied by then, and reads the rest in place. After each read it
 *    looks whether a copy has been left meanwhile, and if so takes that. A copy is released before
 *    the change, so who has read anything of the change finds the copy.
 *
 * So each item is read at most twice, and no writer waits: time is bounded by the amount of data,
 * not by luck, however hot the writers. All copies go to memory that the reader set aside; should
 * that run out, the snapshot is taken again with room for everything. Lines are copied one by one:
 * what moves from one processor's cache to another's is what the time goes to, and a block changes
 * one or two of the tens of lines that a state has in use.
 *
 * Why not membarrier(2), with which a fold would need no locked instruction: it interrupts every
 * processor that runs a thread of the process, which in a virtual machine takes longer than the
 * rest; and the instruction, once for a block of records, does not show in the time of a span.
 *
 * There are two rooms, used in turns. A fold that saw one request may still be writing to its room
 * when that snapshot is over; the next one, which has the other room, waits such folds out anyway
 * (step 1: they do not know of its request), so that ending a snapshot waits for nobody.
 *
 * Locks: snapshot_lock: one snapshot at a time, and the run stays (its end takes the lock). Not the
 * runtime's lock: a fold that meets a node for the first time needs it, and is waited for here.
 * Thread records and tables only grow, and are published with release stores. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pages.h"
#include "core/snapshot.h"
#include "format/live_read.h"
#include "format/merge.h"

enum {
    FIRST_ROOM = 512 * 1024,
    LINE_BYTES = PLUMB_SKETCH_LINE * 4,
    FETCH_AHEAD = 8,
    PLACES_MET = 512, /* more than a block's runs and adopted paths can lead to */
    RUNNING_SPINS = 50000,
    SPINS = 100000
};

/* Rows own their texts through the runtime's names, which live as long as the process. */
struct plumb_rows {
    struct plumb_arena arena;
    plumb_row *rows;
    size_t count;
};

/* ---- The reader's side ----------------------------------------------------------------------- */

/* Copies words that may be changing: by cache lines, because of a whole head the compiler makes a
 * string instruction, which takes long to start. */
static PLUMB_RACY void copy_words(void *to, const void *from, size_t n)
{
    uint64_t *t = to;
    const uint64_t *f = from;
    size_t i = 0;
    plumb_order();
#if !defined(__SANITIZE_THREAD__)
    for (; i + 8 <= n; i += 8)
        memcpy(t + i, f + i, 64);
#endif
    for (; i < n; i++)
        t[i] = PLUMB_LOAD(f[i]);
    plumb_order();
}

/* Waits for a fold that began before the asking, unless it has seen the request `q` (NULL: none):
 * then it leaves copies, which takes it far longer, and those before it are over. A thread that was
 * cancelled in the middle of one, or that this very call interrupted, never ends it: give up. */
static bool fold_over(struct plumb_thread *th, const struct plumb_ask *q)
{
    const struct timespec pause = {0, 20000};
    uint64_t number = PLUMB_LOAD_ORDERED(th->live->folding);
    for (int i = 0; i < SPINS; i++) {
        if (PLUMB_ACQUIRE(th->live->folded) >= number || (q && PLUMB_ACQUIRE(q->answered)))
            return true;
        /* A fold takes a microsecond or two; longer means that it is not running. */
        if (i < RUNNING_SPINS)
            continue;
        if (th == plumb_tls)
            break;
        nanosleep(&pause, NULL);
    }
    return false;
}

static const struct plumb_live_state *state_at(struct plumb_in in, uint32_t i)
{
    return PLUMB_AT(in.run, const struct plumb_live_state, in.th->known.off[i]);
}

static bool known_grow(struct plumb_known *k, uint32_t n)
{
    uint32_t cap = k->cap > n / 2 ? 2 * k->cap : n;
    uint64_t *off = plumb_pages_map(cap * sizeof *off);
    if (!off)
        return false;
    if (k->count)
        memcpy(off, k->off, k->count * sizeof *off);
    plumb_pages_unmap(k->off, k->cap * sizeof *off);
    k->off = off;
    k->cap = cap;
    return true;
}

/* Walks the list of a thread's states up to its first `n`. False: no memory. */
static bool know_states(struct plumb_in in, uint32_t n)
{
    struct plumb_thread *th = in.th;
    struct plumb_known *k = &th->known;
    if (k->live != th->live || k->generation != in.run->generation) {
        k->live = th->live;
        k->generation = in.run->generation;
        k->count = 0;
    }
    if (k->cap < n && !known_grow(k, n))
        return false;
    for (; k->count < n; k->count++) {
        uint64_t off = PLUMB_ACQUIRE(th->live->state_off);
        if (k->count)
            off = PLUMB_ACQUIRE(state_at(in, k->count - 1)->next_off);
        if (!off)
            break;
        k->off[k->count] = off;
    }
    return true;
}

/* What is read of a state lies in the cache of the processor that its thread runs on, and takes a
 * tenth of a microsecond to come: many lines are asked for before the first is waited for. */
static void fetch_head(const struct plumb_live_state *st)
{
    for (size_t i = 0; i < offsetof(struct plumb_live_state, p2); i += LINE_BYTES)
        __builtin_prefetch((const unsigned char *)st + i);
}

static PLUMB_RACY size_t copied_bytes(const struct plumb_live_state *st)
{
    return plumb_copy_head_bytes(PLUMB_LOAD(st->flags), PLUMB_LOAD(st->count));
}

/* Adds the state at `st`, number `i` of its thread, as of the snapshot. `head` is room for its
 * first fields. */
static void add_state(struct plumb_merge *m, const struct plumb_ask *q, uint32_t i,
                      const struct plumb_live_state *st, struct plumb_live_state *head)
{
    const struct plumb_copy *copy = PLUMB_ACQUIRE(q->copy[i]);
    if (!copy) {
        copy_words(head, st, copied_bytes(st) / 8);
        if (PLUMB_ACQUIRE(st->epoch) == (uint32_t)q->s->number) {
            copy = PLUMB_ACQUIRE(q->copy[i]);
            if (!copy) /* there was no room: it will be taken again */
                return;
        }
    }
    plumb_merge_live_state(m, copy ? &copy->head : head, st->buckets, &q->copy[i]);
}

static void add_states(struct plumb_merge *m, struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    enum { HEAD_BYTES = (offsetof(struct plumb_live_state, buckets) + 63) / 64 * 64 };
    const struct plumb_ask *q = th->ask;
    uint32_t n = PLUMB_ACQUIRE(th->live->states);
    unsigned char *heads;
    n = n < q->states ? n : q->states;
    if (!know_states(in, n)) {
        m->arena->failed = true;
        return;
    }
    n = n < th->known.count ? n : th->known.count;
    heads = plumb_room_take(q->s, (size_t)n * HEAD_BYTES);
    for (uint32_t i = 0; i < n && i < FETCH_AHEAD; i++)
        fetch_head(state_at(in, i));
    for (uint32_t i = 0; heads && i < n; i++) {
        if (i + FETCH_AHEAD < n)
            fetch_head(state_at(in, i + FETCH_AHEAD));
        add_state(m, q, i, state_at(in, i),
                  (struct plumb_live_state *)(void *)(heads + i * (size_t)HEAD_BYTES));
    }
}

/* What skip_first_n has taken from the thread's states. */
static void add_skipped(struct plumb_merge *m, struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    const struct plumb_ask *q = th->ask;
    uint64_t off = PLUMB_ACQUIRE(th->live->state_off);
    for (uint32_t i = 0; off && i < q->states; i++) {
        struct plumb_live_state *st = PLUMB_AT(in.run, struct plumb_live_state, off), head;
        const struct plumb_copy *copy;
        copy_words(&head, st, offsetof(struct plumb_live_state, p2) / 8);
        plumb_order();
        copy =
            PLUMB_ACQUIRE(st->epoch) == (uint32_t)q->s->number ? PLUMB_ACQUIRE(q->copy[i]) : NULL;
        plumb_merge_skipped(m, copy ? &copy->head : &head);
        off = PLUMB_ACQUIRE(st->next_off);
    }
}

/* Place `i` as of the snapshot. */
static PLUMB_RACY void read_place(struct plumb_live_tree *to, const struct plumb_ask *q, uint32_t i,
                                  const struct plumb_live_tree *from)
{
    const struct plumb_place_copy *copy = &q->place[i];
    *to = (struct plumb_live_tree){from->parent,
                                   from->node,
                                   from->group,
                                   from->async,
                                   PLUMB_LOAD(from->count),
                                   PLUMB_LOAD(from->total),
                                   PLUMB_LOAD(from->self),
                                   0,
                                   PLUMB_LOAD(from->reset_generation),
                                   {0}};
    plumb_order();
    if (!PLUMB_ACQUIRE(copy->left))
        return;
    to->reset_generation = copy->reset_generation;
    to->count = copy->count;
    to->total = copy->total;
    to->self = copy->self;
}

/* Adds the thread's places; returns the merged place of each of the first `n`, 0: none. */
static uint32_t *add_places(struct plumb_merge *m, struct plumb_in in, uint32_t *n)
{
    struct plumb_thread *th = in.th;
    const struct plumb_ask *q = th->ask;
    uint32_t count = PLUMB_ACQUIRE(th->live->tree.count);
    uint32_t *map;
    *n = count < q->places ? count : q->places;
    map = plumb_arena_alloc(m->arena, (*n + 1) * sizeof *map);
    for (uint32_t i = 1; map && i < *n; i++) {
        struct plumb_live_tree t;
        read_place(&t, q, i, plumb_table_at(in.run, &th->live->tree, i));
        plumb_merge_place(m, map, i, &t);
    }
    *n = map ? *n : 0;
    return map;
}

static PLUMB_RACY void read_tail(struct plumb_tail *to, struct plumb_in in)
{
    const struct plumb_live_thread *live = in.th->live;
    const uint64_t *ring = PLUMB_AT(in.run, const uint64_t, live->ring_off), *block;
    uint64_t number = PLUMB_ACQUIRE(live->folded) + 1;
    copy_words(&to->context, &live->context, sizeof to->context / 8);
    if (to->context.depth > PLUMB_DEPTH_MAX)
        to->context.depth = 0;
    copy_words(to->frames, live->frames, (to->context.depth + 1) * sizeof to->frames[0] / 8);
    block = ring + number % live->blocks * PLUMB_BLOCK_WORDS;
    for (uint32_t i = 0; i < PLUMB_BLOCK_WORDS; i++)
        to->words[i] = PLUMB_LOAD(block[i]);
    if (to->words[1] != number)
        memset(to->words, 0, sizeof to->words);
}

/* Its places become those of `m`: map[n]. */
static void map_tail(struct plumb_tail *t, const uint32_t *map, uint32_t n)
{
    for (uint32_t d = 1; d <= t->context.depth; d++)
        t->frames[d].tree = t->frames[d].tree < n ? map[t->frames[d].tree] : 0;
    t->context.base_tree = t->context.base_tree < n ? map[t->context.base_tree] : 0;
}

static void add_tail(struct plumb_merge *m, struct plumb_in in, struct plumb_tail *t,
                     const uint32_t *map, uint32_t places)
{
    const struct plumb_ask *q = in.th->ask;
    if (!PLUMB_ACQUIRE(q->answered)) {
        read_tail(t, in);
        plumb_order();
    }
    /* Once more: a fold may have begun while it was read. */
    if (PLUMB_ACQUIRE(q->answered)) {
        const struct plumb_tail *left = PLUMB_LOAD(q->tail);
        if (!left)
            return;
        t->context = left->context;
        memcpy(t->frames, left->frames, (left->context.depth + 1) * sizeof t->frames[0]);
        memcpy(t->words, left->words, sizeof t->words);
    }
    if (m->want_tree)
        map_tail(t, map, places);
    plumb_merge_block(m, &t->context, t->frames, t->words);
}

static bool ask_places(struct plumb_ask *q, const struct plumb_thread *th)
{
    q->places = PLUMB_ACQUIRE(th->live->tree.count) + PLACES_MET;
    q->place = plumb_room_take(q->s, q->places * sizeof *q->place);
    if (q->place)
        memset(q->place, 0, q->places * sizeof *q->place);
    return q->place != NULL;
}

/* 1: the room was too small. */
static int ask(struct plumb_snapshot *s)
{
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        struct plumb_ask *q;
        uint32_t n;
        if (!plumb_belongs(th, plumb_rt.run))
            continue;
        /* A fold may meet more before it sees the request. */
        n = PLUMB_ACQUIRE(th->live->states) + PLUMB_UNDO_STATES;
        q = plumb_room_take(s, sizeof *q + n * sizeof q->copy[0]);
        if (!q)
            return 1;
        memset(q, 0, sizeof *q + n * sizeof q->copy[0]);
        q->s = s;
        q->states = n;
        if (s->want_tree && !ask_places(q, th))
            return 1;
        PLUMB_STORE_ORDERED(th->ask, q);
    }
    return PLUMB_OK;
}

/* Waits out the folds that had begun before and do not know of the request. */
static int folds_over(void)
{
    int rc = PLUMB_OK;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        if (plumb_belongs(th, plumb_rt.run) && !fold_over(th, th->ask))
            rc = PLUMB_ERR_STATE;
    }
    return rc;
}

/* `waited`: the folds that saw the request before this one are over, so that its room is free. */
static void stop_asking(bool waited)
{
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        PLUMB_STORE_ORDERED(th->ask, NULL);
    if (waited)
        return;
    /* A thread that is held up in a fold may still write to a room: leave both behind. */
    if (folds_over() < 0)
        plumb_rt.snapshots = NULL;
}

static size_t room_for_all(void)
{
    const size_t most_of_state = sizeof(struct plumb_copy) + 128 +
                                 PLUMB_SKETCH_LINES * (sizeof(struct plumb_copy_line) - LINE_BYTES);
    size_t bytes = FIRST_ROOM;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        if (plumb_belongs(th, plumb_rt.run))
            bytes += sizeof(struct plumb_tail) + PLUMB_OWN_BYTES + 128 +
                     PLUMB_ACQUIRE(th->live->states) * most_of_state +
                     (PLUMB_ACQUIRE(th->live->tree.count) + PLACES_MET) *
                         sizeof(struct plumb_place_copy);
    }
    return bytes * 2;
}

static bool room_make(struct plumb_snapshot *s, size_t bytes)
{
    if (s->room_bytes >= bytes)
        return true;
    plumb_pages_unmap(s->room, s->room_bytes);
    s->room = plumb_pages_map(bytes);
    s->room_bytes = s->room ? bytes : 0;
    /* Touched now: a writer must not take page faults on the reader's account. */
    for (size_t i = 0; i < s->room_bytes; i += 4096)
        ((volatile unsigned char *)s->room)[i] = 0;
    return s->room != NULL;
}

/* Memory that one summary leaves to the next. */
struct plumb_summary_room {
    struct plumb_merge m;
    struct plumb_arena arena;
};

/* ---- Rows ------------------------------------------------------------------------------------ */

static void row_times(plumb_row *out, const struct plumb_timing_node *n)
{
    const struct plumb_stats *h = &n->host.ns, *d = &n->device.ns;
    out->count = h->count;
    out->skipped = n->skipped;
    out->failures = n->failures;
    out->mean_ms = plumb_stats_mean(h) / 1e6;
    out->std_ms = n->host.std_ns / 1e6;
    out->min_ms = h->count ? (double)h->min / 1e6 : 0;
    out->max_ms = (double)h->max / 1e6;
    out->total_ms = (double)h->total / 1e6;
    out->self_ms = (double)n->self_ns / 1e6;
    out->last_ms = (double)h->last / 1e6;
    out->median_ms = n->host.median_ns / 1e6;
    out->p50_ms = n->host.p50_ns / 1e6;
    out->p90_ms = n->host.p90_ns / 1e6;
    out->p95_ms = n->host.p95_ns / 1e6;
    out->p99_ms = n->host.p99_ns / 1e6;
    out->device_count = d->count;
    out->device_total_ms = (double)d->total / 1e6;
    out->device_mean_ms = plumb_stats_mean(d) / 1e6;
    out->device_min_ms = d->count ? (double)d->min / 1e6 : 0;
    out->device_max_ms = (double)d->max / 1e6;
    out->device_median_ms = n->device.median_ns / 1e6;
    out->threads = n->threads;
    out->median_estimator = n->median_estimator;
}

/* Names are read by numbers that were found in records: a name stands before its number is counted,
 * and the number is counted before anybody records with it. */
static void see_names(void)
{
    plumb_order();
    (void)PLUMB_ACQUIRE(plumb_rt.node_count);
    (void)PLUMB_ACQUIRE(plumb_rt.phases.count);
    (void)PLUMB_ACQUIRE(plumb_rt.pipeline_count);
}

/* What a summary is made for: rows of a pipeline and a phase, NULL: of all; or everything, as a
 * report has it. */
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
        row_times(out, &n);
        out->node = plumb_rt.nodes[r->node].name;
        out->phase = plumb_rt.phases.name[r->group & 0xff];
        out->pipeline = plumb_rt.pipelines[r->group >> 8].name;
        rows->count++;
    }
    return rows->arena.failed ? PLUMB_ERR_MEMORY : PLUMB_OK;
}

/* The mapping and the arena of `m` may go before the report does. */
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

static int make(const struct wanted *want, struct plumb_merge *m)
{
    struct plumb_anchor end;
    double ppm, tick_ns;
    plumb_anchor_take(&end, plumb_rt.clock);
    tick_ns = plumb_live_tick_ns(m->h, &end, &ppm);
    see_names();
    return want->rows ? make_rows(want, m, &end, tick_ns)
                      : make_timing(want->timing, m, &end, tick_ns);
}

/* ---- The whole of it ------------------------------------------------------------------------- */

static void add_thread(struct plumb_merge *m, struct plumb_in in, struct plumb_tail *t)
{
    const uint32_t *map = NULL;
    uint32_t places = 0;
    plumb_merge_thread(m, PLUMB_LOAD(in.th->live->generation));
    add_states(m, in);
    if (m->want_tree)
        map = add_places(m, in, &places);
    add_tail(m, in, t, map, places);
}

/* One try. 1: the room was too small. */
static int collect(const struct wanted *want, struct plumb_merge *m, struct plumb_snapshot *s)
{
    struct plumb_run *run = plumb_rt.run;
    struct plumb_tail *t = plumb_arena_alloc(m->arena, sizeof *t);
    int rc = t ? ask(s) : PLUMB_ERR_MEMORY;
    bool waited;
    if (rc == PLUMB_OK)
        rc = folds_over();
    waited = rc == PLUMB_OK;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); waited && m->skips && th;
         th = th->next) {
        if (th->ask)
            add_skipped(m, (struct plumb_in){th, run});
    }
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); waited && th; th = th->next) {
        if (th->ask)
            add_thread(m, (struct plumb_in){th, run}, t);
    }
    /* Before the asking ends: buckets are still read in place. */
    if (waited)
        rc = make(want, m);
    stop_asking(waited);
    return rc == PLUMB_OK && PLUMB_LOAD(s->overflow) ? 1 : rc;
}

/* Of an earlier try. */
static void forget(const struct wanted *want)
{
    if (want->rows) {
        plumb_arena_reset(&want->rows->arena);
        want->rows->count = 0;
    } else {
        plumb_timing_fini(want->timing);
    }
}

/* Under the lock: makes what is wanted from the open run. */
static int summarise(const struct wanted *want)
{
    struct plumb_summary_room *room = plumb_rt.summary_room;
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    size_t bytes = FIRST_ROOM;
    int rc = 1;
    if (!run)
        return PLUMB_OK;
    if (!room)
        room = plumb_rt.summary_room = calloc(1, sizeof *room); /* where leak checkers look */
    if (!room)
        return PLUMB_ERR_MEMORY;
    for (int attempt = 0; attempt < 2 && rc > 0; attempt++) {
        struct plumb_snapshot *s;
        plumb_arena_reset(&room->arena);
        forget(want);
        if (!plumb_rt.snapshots)
            plumb_rt.snapshots = plumb_pages_map(2 * sizeof *s);
        if (!plumb_rt.snapshots)
            return PLUMB_ERR_MEMORY;
        s = &plumb_rt.snapshots[++plumb_rt.snapshot_number & 1];
        if (!room_make(s, bytes))
            return PLUMB_ERR_MEMORY;
        s->number = plumb_rt.snapshot_number;
        s->used = s->overflow = 0;
        s->want_tree = !want->rows;
        rc = plumb_merge_open(&room->m, &room->arena, run->base, run->mapped, s->want_tree);
        if (rc == PLUMB_OK)
            rc = collect(want, &room->m, s);
        bytes = room_for_all();
    }
    if (rc > 0)
        return PLUMB_ERR_STATE;
    return rc == PLUMB_OK && room->arena.failed ? PLUMB_ERR_MEMORY : rc;
}

static int summarise_locked(const struct wanted *want, plumb_error *err)
{
    int rc = plumb_may_lock_all("a summary", err);
    if (rc < 0)
        return rc;
    plumb_snapshot_lock();
    rc = summarise(want);
    plumb_snapshot_unlock();
    if (rc == PLUMB_OK)
        return rc;
    return plumb_fail(err, rc, "cannot take a summary: %s",
                      rc == PLUMB_ERR_MEMORY  ? "out of memory"
                      : rc == PLUMB_ERR_STATE ? "a thread was interrupted inside plumb; try again"
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

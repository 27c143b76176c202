/* snapshot.c: a consistent summary of threads that go on recording.
 *
 * For each thread the snapshot is its states as of some fold, plus the records of the block that
 * was open then. Protocol, per thread:
 *
 * 1. The reader sets th->snapshot, passes a barrier on all threads (membarrier), and waits out a
 * fold that had begun before and does not know: one fold, which itself waits for nothing but a
 * node's first meeting.
 * 2. A fold that begins from then on first leaves a copy of stack, context and block
 *    (plumb_snapshot_answer), and of each state before it changes it (plumb_snapshot_copy).
 * 3. The reader takes what has been copied by then, and copies the rest itself; of that, it drops
 * what has been copied meanwhile and takes that copy.
 *
 * So each item is read at most twice, and no writer waits: time is bounded by the amount of data,
 * not by luck, however hot the writers. All copies go to memory that the reader set aside; should
 * that run out, the snapshot is taken again with room for everything. A copy has the lines of the
 * histogram that are used, one after the other: what moves from one processor's cache to another's
 * is what the time goes to.
 *
 * There are two rooms, used in turns. A fold that saw one request may still be writing to its room
 * when that snapshot is over; the next one, which has the other room, waits such folds out anyway
 * (step 1), so that ending a snapshot costs no barrier.
 *
 * Locks: snapshot_lock: one snapshot at a time, and the run stays (its end takes the lock). Not the
 * runtime's lock: a fold that meets a node for the first time needs it, and is waited for here.
 * Thread records and tables only grow, and are published with release stores. */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "core/runtime.h"
#include "format/live_read.h"
#include "format/merge.h"

enum { FIRST_ROOM = 512 * 1024, RUNNING_SPINS = 50000, SPINS = 100000 };

/* Rows own their texts through the runtime's names, which live as long as the process. */
struct plumb_rows {
    struct plumb_arena arena;
    plumb_row *rows;
    size_t count;
};

struct plumb_snapshot { /* a room and who has it */
    uint64_t number;
    unsigned char *room;
    size_t room_bytes;
    size_t used; /* atomic: several threads copy at once */
    uint32_t overflow;
};

/* What a fold leaves of its thread. */
struct tail {
    struct plumb_live_context context;
    struct plumb_live_frame frames[PLUMB_DEPTH_MAX + 1];
    uint64_t words[PLUMB_BLOCK_WORDS];
};

/* What is asked of one thread. Lies in the room. */
struct plumb_ask {
    struct plumb_snapshot *s;
    struct tail *tail; /* what the fold that answered has left */
    uint32_t answered;
    uint32_t states;                 /* how many are looked for */
    struct plumb_live_state *copy[]; /* by ordinal; merge.h has the layout */
};

/* ---- The writers' side ----------------------------------------------------------------------- */

static void *take(struct plumb_snapshot *s, size_t bytes)
{
    size_t at = __atomic_fetch_add(&s->used, (bytes + 63) & ~(size_t)63, __ATOMIC_RELAXED);
    if (at + bytes > s->room_bytes) {
        PLUMB_STORE(s->overflow, 1);
        return NULL;
    }
    return s->room + at;
}

/* A copy of a state: its head, and the lines of buckets that it uses. NULL: no room. */
static struct plumb_live_state *copy_state(struct plumb_snapshot *s,
                                           const struct plumb_live_state *from)
{
    enum { LINE_BYTES = PLUMB_SKETCH_LINE * 4 };
    size_t head = (plumb_copy_head_bytes(from->flags, from->count) + 63) & ~(size_t)63, lines = 0;
    struct plumb_live_state *to;
    unsigned char *line;
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++)
        lines += (size_t)__builtin_popcountll(from->lines_used[w]);
    to = take(s, head + lines * LINE_BYTES);
    if (!to)
        return NULL;
    for (size_t i = 0; i < head; i += LINE_BYTES) /* buckets come next, on a line of their own */
        memcpy((unsigned char *)to + i, (const unsigned char *)from + i, LINE_BYTES);
    line = (unsigned char *)to + head;
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++) {
        for (uint64_t left = from->lines_used[w]; left; left &= left - 1, line += LINE_BYTES) {
            uint32_t l = 64 * w + (uint32_t)__builtin_ctzll(left);
            memcpy(line, &from->buckets[l * PLUMB_SKETCH_LINE], LINE_BYTES);
        }
    }
    return to;
}

void plumb_snapshot_answer(struct plumb_ask *q, const struct plumb_thread *th)
{
    struct tail *t;
    if (q->answered)
        return;
    t = take(q->s, sizeof *t);
    if (t) {
        t->context = th->live->context;
        memcpy(t->frames, th->live->frames, (t->context.depth + 1) * sizeof t->frames[0]);
        memcpy(t->words, th->block, sizeof t->words);
    }
    PLUMB_STORE(q->tail, t);
    PLUMB_RELEASE(q->answered, 1);
    plumb_order();
}

void plumb_snapshot_copy(struct plumb_ask *q, struct plumb_live_state *st)
{
    if (st->epoch == (uint32_t)q->s->number)
        return;
    /* States met during the snapshot are not looked for. */
    if (st->ordinal < q->states)
        PLUMB_RELEASE(q->copy[st->ordinal], copy_state(q->s, st));
    PLUMB_RELEASE(st->epoch, (uint32_t)q->s->number);
    plumb_order();
}

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

void plumb_barrier(void)
{
    if (plumb_rt.membarrier && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    /* Without it every store of another processor becomes visible within its store buffer's time; a
     * switch away and back is far longer than that. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    usleep(1000);
}

/* Waits for a fold that began before the barrier, unless it has seen the request `q` (NULL: none):
 * then it leaves copies, which takes it far longer, and those before it are over. A thread that was
 * cancelled in the middle of one, or that this very call interrupted, never ends it: give up. */
static bool fold_over(struct plumb_thread *th, const struct plumb_ask *q)
{
    const struct timespec pause = {0, 20000};
    uint64_t number = PLUMB_ACQUIRE(th->live->folding);
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

/* Adds the state at `st`, number `i` of its thread, as of the snapshot. `head` is room for its
 * first fields. Returns where the next one lies. */
static PLUMB_RACY uint64_t add_state(struct plumb_merge *m, const struct plumb_ask *q, uint32_t i,
                                     const struct plumb_live_state *st,
                                     struct plumb_live_state *head)
{
    const struct plumb_live_state *copy = PLUMB_ACQUIRE(q->copy[i]);
    if (!copy) {
        size_t bytes = plumb_copy_head_bytes(PLUMB_LOAD(st->flags), PLUMB_LOAD(st->count));
        copy_words(head, st, bytes / 8);
        plumb_order();
        if (PLUMB_ACQUIRE(st->epoch) != (uint32_t)q->s->number) {
            plumb_merge_live_state(m, head, st->buckets, &q->copy[i]);
            return head->next_off;
        }
        copy = PLUMB_ACQUIRE(q->copy[i]);
        if (!copy) /* there was no room: it will be taken again */
            return 0;
    }
    plumb_merge_live_state(m, copy, NULL, &q->copy[i]);
    return copy->next_off;
}

static void add_states(struct plumb_merge *m, const struct plumb_thread *th)
{
    enum { HEAD_BYTES = (offsetof(struct plumb_live_state, buckets) + 63) / 64 * 64 };
    const struct plumb_ask *q = th->ask;
    uint64_t off = PLUMB_ACQUIRE(th->live->state_off);
    uint32_t n = PLUMB_ACQUIRE(th->live->states);
    unsigned char *heads;
    n = n < q->states ? n : q->states;
    heads = take(q->s, (size_t)n * HEAD_BYTES);
    /* The list is in the order of the numbers. */
    for (uint32_t i = 0; heads && off && i < n; i++)
        off = add_state(m, q, i, PLUMB_AT(th->run, struct plumb_live_state, off),
                        (struct plumb_live_state *)(void *)(heads + i * (size_t)HEAD_BYTES));
}

/* What skip_first_n has taken from the thread's states. */
static void add_skipped(struct plumb_merge *m, const struct plumb_thread *th)
{
    const struct plumb_ask *q = th->ask;
    uint64_t off = PLUMB_ACQUIRE(th->live->state_off);
    for (uint32_t i = 0; off && i < q->states; i++) {
        struct plumb_live_state *st = PLUMB_AT(th->run, struct plumb_live_state, off), head;
        const struct plumb_live_state *copy;
        copy_words(&head, st, offsetof(struct plumb_live_state, p2) / 8);
        plumb_order();
        copy =
            PLUMB_ACQUIRE(st->epoch) == (uint32_t)q->s->number ? PLUMB_ACQUIRE(q->copy[i]) : &head;
        if (copy)
            plumb_merge_skipped(m, copy);
        off = PLUMB_ACQUIRE(st->next_off);
    }
}

static PLUMB_RACY void read_tail(struct tail *to, const struct plumb_thread *th)
{
    const struct plumb_live_thread *live = th->live;
    const uint64_t *ring = PLUMB_AT(th->run, const uint64_t, live->ring_off), *block;
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

static void add_tail(struct plumb_merge *m, const struct plumb_thread *th, struct tail *t)
{
    const struct plumb_ask *q = th->ask;
    if (!PLUMB_ACQUIRE(q->answered)) {
        read_tail(t, th);
        plumb_order();
    }
    /* Once more: a fold may have begun while it was read. */
    if (PLUMB_ACQUIRE(q->answered)) {
        const struct tail *left = PLUMB_LOAD(q->tail);
        if (!left)
            return;
        t->context = left->context;
        memcpy(t->frames, left->frames, (left->context.depth + 1) * sizeof t->frames[0]);
        memcpy(t->words, left->words, sizeof t->words);
    }
    plumb_merge_block(m, &t->context, t->frames, t->words);
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
        q = take(s, sizeof *q + n * sizeof q->copy[0]);
        if (!q)
            return 1;
        memset(q, 0, sizeof *q + n * sizeof q->copy[0]);
        q->s = s;
        q->states = n;
        PLUMB_RELEASE(th->ask, q);
    }
    plumb_barrier();
    return PLUMB_OK;
}

/* Waits out the folds that had begun when the barrier was passed and do not know of the request. */
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
        PLUMB_RELEASE(th->ask, NULL);
    if (waited)
        return;
    plumb_barrier();
    /* A thread that is held up in a fold may still write to a room: leave both behind. */
    if (folds_over() < 0)
        plumb_rt.snapshots = NULL;
}

static size_t room_for_all(void)
{
    size_t bytes = FIRST_ROOM;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        if (plumb_belongs(th, plumb_rt.run))
            bytes += sizeof(struct tail) + 128 +
                     PLUMB_ACQUIRE(th->live->states) * (sizeof(struct plumb_live_state) + 128);
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
    out->std_ms = plumb_stats_std(h) / 1e6;
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

static int make_rows(plumb_rows *rows, struct plumb_merge *m, plumb_pipeline *pipeline,
                     const char *phase)
{
    struct plumb_anchor end;
    double ppm, tick_ns;
    plumb_anchor_take(&end, plumb_rt.clock);
    tick_ns = plumb_live_tick_ns(m->h, &end, &ppm);
    plumb_merge_order(m);
    rows->rows = plumb_arena_alloc(&rows->arena, (m->row_count + 1) * sizeof *rows->rows);
    for (size_t i = 0; rows->rows && i < m->row_count; i++) {
        const struct plumb_merge_row *r = m->rows[i];
        plumb_row *out = &rows->rows[rows->count];
        struct plumb_timing_node n;
        if (!r->listed || (pipeline && r->group >> 8 != pipeline->index) ||
            (phase && strcmp(plumb_rt.phases.name[r->group & 0xff], phase) != 0))
            continue;
        plumb_live_row_figures(&n, m, r, tick_ns, &end);
        row_times(out, &n);
        out->node = plumb_rt.nodes[r->node].name;
        out->phase = plumb_rt.phases.name[r->group & 0xff];
        out->pipeline = plumb_rt.pipelines[r->group >> 8].name;
        rows->count++;
    }
    return rows->arena.failed ? PLUMB_ERR_MEMORY : PLUMB_OK;
}

/* ---- The whole of it ------------------------------------------------------------------------- */

/* One try. 1: the room was too small. */
static int collect(plumb_rows *rows, struct plumb_merge *m, struct plumb_snapshot *s,
                   plumb_pipeline *pipeline, const char *phase)
{
    struct tail *t = plumb_arena_alloc(m->arena, sizeof *t);
    int rc = t ? ask(s) : PLUMB_ERR_MEMORY;
    bool waited;
    if (rc == PLUMB_OK)
        rc = folds_over();
    waited = rc == PLUMB_OK;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); waited && m->skips && th;
         th = th->next) {
        if (th->ask)
            add_skipped(m, th);
    }
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); waited && th; th = th->next) {
        if (!th->ask)
            continue;
        plumb_merge_thread(m, PLUMB_LOAD(th->live->generation));
        add_states(m, th);
        add_tail(m, th, t);
    }
    /* Before the asking ends: buckets are still read in place. */
    if (waited)
        rc = make_rows(rows, m, pipeline, phase);
    stop_asking(waited);
    return rc == PLUMB_OK && PLUMB_LOAD(s->overflow) ? 1 : rc;
}

/* Under the lock: makes the rows from the open run. */
static int summarise(plumb_rows *rows, plumb_pipeline *pipeline, const char *phase)
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
        plumb_arena_reset(&rows->arena);
        rows->count = 0;
        if (!plumb_rt.snapshots)
            plumb_rt.snapshots = plumb_pages_map(2 * sizeof *s);
        if (!plumb_rt.snapshots)
            return PLUMB_ERR_MEMORY;
        s = &plumb_rt.snapshots[++plumb_rt.snapshot_number & 1];
        if (!room_make(s, bytes))
            return PLUMB_ERR_MEMORY;
        s->number = plumb_rt.snapshot_number;
        s->used = s->overflow = 0;
        rc = plumb_merge_open(&room->m, &room->arena, run->base, run->mapped, false);
        if (rc == PLUMB_OK)
            rc = collect(rows, &room->m, s, pipeline, phase);
        bytes = room_for_all();
    }
    if (rc > 0)
        return PLUMB_ERR_STATE;
    return rc == PLUMB_OK && room->arena.failed ? PLUMB_ERR_MEMORY : rc;
}

int plumb_summary_rows_impl(plumb_rows **out, plumb_pipeline *pipeline, const char *phase,
                            plumb_error *err)
{
    plumb_rows *rows;
    int rc = PLUMB_ERR_MEMORY;
    if (!out)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_summary_rows: out is NULL");
    rows = calloc(1, sizeof *rows);
    pthread_mutex_lock(&plumb_rt.snapshot_lock);
    if (rows)
        rc = summarise(rows, pipeline, phase);
    pthread_mutex_unlock(&plumb_rt.snapshot_lock);
    if (rc < 0) {
        plumb_rows_free_impl(rows);
        return plumb_fail(err, rc, "cannot take a summary: %s",
                          rc == PLUMB_ERR_MEMORY ? "out of memory"
                          : rc == PLUMB_ERR_STATE
                              ? "a thread was interrupted inside plumb; try again"
                              : "the state of the run is damaged");
    }
    *out = rows;
    return PLUMB_OK;
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

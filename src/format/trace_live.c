/* trace_live.c: see trace_live.h. The mapping may be a damaged file: what is read of it is checked
 * here and in trace_source.c. */
#include "format/trace_live.h"

#include <string.h>

#include "base/error.h"
#include "base/pages.h"

enum { FLUSH_AT = PLUMB_TRACE_BUFFER / 4 * 3 };

/* ---- Lanes ----------------------------------------------------------------------------------- */

static struct plumb_live_thread *thread_at(const struct plumb_trace_source *s, uint64_t off)
{
    return plumb_trace_at(s, off, sizeof(struct plumb_live_thread));
}

/* The state that belongs to the last commit; NULL: nothing was committed of this thread. */
static const struct plumb_trace_state *committed(const struct plumb_trace_source *s,
                                                 const struct plumb_live_queue *q, bool *which)
{
    uint64_t batch = PLUMB_ACQUIRE(s->h->trace.batch);
    const struct plumb_trace_state *best = NULL;
    for (int i = 0; i < 2; i++)
        if (q->state[i].batch && q->state[i].batch <= batch &&
            (!best || q->state[i].batch > best->batch)) {
            best = &q->state[i];
            *which = i;
        }
    return best;
}

static bool room_for_lane(struct plumb_trace_live *t)
{
    struct plumb_trace_lane **grown;
    uint32_t cap = t->lane_cap ? 2 * t->lane_cap : 64;
    if (t->lane_count < t->lane_cap)
        return true;
    grown = plumb_pages_map(cap * sizeof *grown);
    if (!grown)
        return false;
    if (t->lane_cap) {
        memcpy(grown, t->lanes, t->lane_count * sizeof *grown);
        plumb_pages_unmap(t->lanes, t->lane_cap * sizeof *grown);
    }
    t->lanes = grown;
    t->lane_cap = cap;
    return true;
}

/* A lane for a thread block, where the last commit left it. */
static struct plumb_trace_lane *make_lane(struct plumb_trace_live *t, uint64_t off,
                                          struct plumb_live_thread *live,
                                          struct plumb_live_queue *q)
{
    struct plumb_trace_lane *l = room_for_lane(t) ? plumb_pages_map(sizeof *l) : NULL;
    const struct plumb_trace_state *state;
    if (!l || plumb_map_put(&t->lane_of, off, t->lane_count + 1) < 0) {
        plumb_pages_unmap(l, sizeof *l);
        return NULL;
    }
    l->index = t->lane_count;
    t->lanes[t->lane_count++] = l;
    l->live = live;
    l->queue = q;
    l->live_off = off;
    state = committed(&t->file.source, q, &l->current);
    if (state)
        l->state = *state;
    plumb_trace_lane_open(l, &t->file, 0, false);
    return l;
}

static struct plumb_trace_lane *lane_of(struct plumb_trace_live *t, uint64_t off,
                                        struct plumb_live_thread *live)
{
    uint64_t known = plumb_map_get(&t->lane_of, off);
    struct plumb_live_queue *q;
    if (known)
        return t->lanes[known - 1];
    q = plumb_trace_queue(&t->file.source, live);
    return q ? make_lane(t, off, live, q) : NULL;
}

/* A lane gets its number when it has something to tell. */
static void start_lane(struct plumb_trace_live *t, struct plumb_trace_lane *l)
{
    struct plumb_live_trace *h = &t->file.source.h->trace;
    char name[PLUMB_TRACE_NAME + 1] = "";
    if (l->seq.id)
        return;
    if (!l->queue->sequence)
        l->queue->sequence = ++h->sequences + PLUMB_PF_HEAD_SEQUENCE;
    plumb_trace_lane_open(l, &t->file, l->queue->sequence, l->state.batch != 0);
    memcpy(name, l->queue->name, PLUMB_TRACE_NAME);
    /* Goes on in the middle: the track is told again. */
    if (l->state.tid || l->state.generation)
        plumb_trace_lane_again(l, name);
}

static void for_lanes(struct plumb_trace_live *t,
                      void (*each)(struct plumb_trace_live *, struct plumb_trace_lane *))
{
    const struct plumb_trace_source *s = &t->file.source;
    uint64_t off = PLUMB_ACQUIRE(s->h->thread_off);
    size_t most = s->bytes / sizeof(struct plumb_live_thread) + 1;
    while (off && most--) {
        struct plumb_live_thread *live = thread_at(s, off);
        struct plumb_trace_lane *l = live ? lane_of(t, off, live) : NULL;
        if (!live)
            return;
        if (l)
            each(t, l);
        off = live->next_off;
    }
}

int plumb_trace_live_open(struct plumb_trace_live *t, bool continues)
{
    const struct plumb_live_trace *h = &t->file.source.h->trace;
    int rc = plumb_trace_file_open(&t->file);
    if (rc < 0)
        return rc;
    t->file.continues = continues && h->batch;
    if (t->file.continues)
        t->file.clock = h->commit[h->batch & 1].clock;
    return PLUMB_OK;
}

void plumb_trace_live_fini(struct plumb_trace_live *t)
{
    for (uint32_t i = 0; i < t->lane_count; i++)
        plumb_pages_unmap(t->lanes[i], sizeof *t->lanes[i]);
    if (t->lane_cap)
        plumb_pages_unmap(t->lanes, t->lane_cap * sizeof *t->lanes);
    t->lanes = NULL;
    t->lane_count = t->lane_cap = 0;
    plumb_map_fini(&t->lane_of);
    plumb_lane_drain_fini(&t->drain);
    plumb_trace_file_fini(&t->file);
}

/* ---- Taking slots ---------------------------------------------------------------------------- */

/* Without the frames and words that say nothing. */
static void copy_state(struct plumb_trace_state *to, const struct plumb_trace_state *from)
{
    uint32_t frames = from->depth + 1;
    memcpy(to, from, offsetof(struct plumb_trace_state, frames));
    memcpy(to->frames, from->frames, frames * sizeof to->frames[0]);
    memcpy(to->pending, from->pending, from->pending_words * sizeof to->pending[0]);
}

/* What was taken is in the file: says so, and gives the slots back. */
static void commit(struct plumb_trace_live *t, uint64_t bytes)
{
    struct plumb_live_trace *h = &t->file.source.h->trace;
    uint64_t batch = h->batch + 1, spans = h->batch ? h->commit[h->batch & 1].spans : 0;
    for (uint32_t i = 0; i < t->lane_count; i++) {
        struct plumb_trace_lane *l = t->lanes[i];
        if (!l->touched)
            continue;
        spans += l->spans;
        l->spans = 0;
        l->state.batch = batch;
        copy_state(&l->queue->state[!l->current], &l->state);
    }
    plumb_lane_drain_commit(&t->drain, batch);
    h->commit[batch & 1].bytes = bytes;
    h->commit[batch & 1].spans = spans;
    h->commit[batch & 1].clock = t->file.clock;
    PLUMB_RELEASE(h->batch, batch);
    plumb_lane_drain_committed(&t->drain);
    for (uint32_t i = 0; i < t->lane_count; i++) {
        struct plumb_trace_lane *l = t->lanes[i];
        if (!l->touched)
            continue;
        l->touched = false;
        l->current = !l->current;
        PLUMB_RELEASE(l->queue->taken, l->state.taken);
    }
}

static void flush(struct plumb_trace_live *t)
{
    plumb_trace_file_flush(&t->file);
    if (t->commits && !t->file.failed)
        commit(t, t->file.bytes);
}

static void take_slot(struct plumb_trace_live *t, struct plumb_trace_lane *l,
                      const struct plumb_trace_slot *slot)
{
    plumb_trace_lane_slot(l, t->filter, slot);
    if (t->also)
        t->also(t->also_arg, l->index, slot);
}

static void take(struct plumb_trace_live *t, struct plumb_trace_lane *l)
{
    struct plumb_live_queue *q = l->queue;
    struct plumb_trace_slot *slots = plumb_trace_slots(&t->file.source, q);
    uint64_t put = PLUMB_ACQUIRE(q->put), from = l->state.taken;
    uint32_t part;
    if (!slots || put <= from || put - from > q->slots)
        return;
    part = (uint32_t)((put - from) * 256 / q->slots);
    t->fullest = part > t->fullest ? part : t->fullest;
    start_lane(t, l);
    while (l->state.taken < put && !t->file.failed) {
        take_slot(t, l, &slots[l->state.taken & (q->slots - 1)]);
        l->state.taken++;
        l->touched = true;
        if (t->file.out.used > FLUSH_AT)
            flush(t);
    }
}

uint32_t plumb_trace_live_pass(struct plumb_trace_live *t)
{
    uint32_t part;
    t->fullest = 0;
    for_lanes(t, take);
    part = plumb_lane_drain_take(&t->drain, &t->file, false);
    t->fullest = part > t->fullest ? part : t->fullest;
    if (t->file.out.used)
        flush(t);
    return t->fullest;
}

/* ---- The rest -------------------------------------------------------------------------------- */

/* The block that was not folded, as the slot that it never became. */
static bool unfolded(const struct plumb_trace_source *s, const struct plumb_live_thread *live,
                     const struct plumb_live_queue *q, struct plumb_trace_slot *out)
{
    uint64_t number = live->folded + 1;
    const uint64_t *words;
    uint32_t depth = live->context.depth;
    if (!live->blocks || depth > PLUMB_DEPTH_MAX)
        return false;
    words = plumb_trace_at(s, live->ring_off + number % live->blocks * PLUMB_BLOCK_WORDS * 8,
                           PLUMB_BLOCK_WORDS * 8);
    if (!words || PLUMB_ACQUIRE(words[1]) != number)
        return false;
    memset(out, 0, offsetof(struct plumb_trace_slot, data));
    out->kind = PLUMB_SLOT_BLOCK;
    out->block = number;
    out->tid = live->tid;
    out->generation = live->generation;
    out->group = live->context.group;
    out->depth = depth;
    out->step = live->context.step;
    memcpy(out->name, q->name, sizeof out->name);
    for (uint32_t d = 1; d <= depth && d <= PLUMB_TRACE_FRAMES; d++)
        out->frames[d - 1] =
            (struct plumb_trace_open){live->frames[d].begin_ticks, live->frames[d].key};
    for (uint32_t i = 0; i < PLUMB_BLOCK_WORDS; i++)
        out->data[i] = PLUMB_LOAD(words[i]);
    out->words = PLUMB_BLOCK_WORDS; /* decoding stops at the first that is empty */
    return out->data[PLUMB_BLOCK_HEAD] != 0;
}

static const struct plumb_trace_gap *open_gap(const struct plumb_live_thread *live,
                                              const struct plumb_live_queue *q)
{
    const struct plumb_trace_gap *best = NULL;
    for (int i = 0; i < 2 && q->dropping; i++) {
        const struct plumb_trace_gap *g = &q->gap[i];
        if (g->through_block && g->through_block <= live->folded &&
            (!best || g->through_block > best->through_block))
            best = g;
    }
    return best;
}

static void finish_lane(struct plumb_trace_live *t, struct plumb_trace_lane *l)
{
    const struct plumb_trace_gap *gap;
    struct plumb_trace_slot slot;
    take(t, l);
    gap = open_gap(l->live, l->queue);
    if (gap && gap->through_block > l->state.block) {
        start_lane(t, l);
        plumb_trace_lane_gap(l, gap);
        l->touched = true;
    }
    if (!unfolded(&t->file.source, l->live, l->queue, &slot) || slot.block <= l->state.block)
        return;
    start_lane(t, l);
    slot.flags = gap || l->queue->left_out ? PLUMB_SLOT_RESUMES : 0;
    take_slot(t, l, &slot);
    l->touched = true;
}

/* Async spans that nobody has ended; told by some lane, on tracks of their own. */
static void finish_async(struct plumb_trace_live *t)
{
    const struct plumb_trace_source *s = &t->file.source;
    for (uint32_t c = 0; c < PLUMB_ASYNC_CHUNKS && s->h->async_off[c]; c++) {
        const struct plumb_live_async *a =
            plumb_trace_at(s, s->h->async_off[c], PLUMB_ASYNC_CHUNK * sizeof *a);
        for (uint32_t i = 0; a && t->lane_count && i < PLUMB_ASYNC_CHUNK; i++) {
            struct plumb_trace_async open = {.begin_ticks = a[i].begin_ticks,
                                             .key = plumb_key(a[i].group & 0xffff, a[i].node)};
            struct plumb_trace_lane *l = t->lanes[0];
            if (!(a[i].state & PLUMB_ASYNC_OPEN))
                continue;
            start_lane(t, l);
            if (l->track && plumb_trace_wants(t->filter, &l->state, NULL))
                plumb_trace_lane_open_async(l, &open);
        }
    }
}

void plumb_trace_live_finish(struct plumb_trace_live *t)
{
    for_lanes(t, finish_lane);
    finish_async(t);
    plumb_lane_drain_take(&t->drain, &t->file, true);
    plumb_lane_drain_facts(&t->file);
    flush(t);
}

/* ---- Losses ---------------------------------------------------------------------------------- */

static void each_queue(const struct plumb_trace_source *s,
                       void (*each)(const struct plumb_trace_source *, struct plumb_live_thread *,
                                    struct plumb_live_queue *, void *),
                       void *arg)
{
    uint64_t off = s->h->thread_off;
    size_t most = s->bytes / sizeof(struct plumb_live_thread) + 1;
    while (off && most--) {
        struct plumb_live_thread *live = thread_at(s, off);
        struct plumb_live_queue *q = live ? plumb_trace_at(s, live->queue_off, sizeof *q) : NULL;
        if (!live)
            return;
        if (q)
            each(s, live, q, arg);
        off = live->next_off;
    }
}

/* A block's losses of which the process did not say any more that they are counted. */
static void settle_log(const struct plumb_trace_source *s, struct plumb_live_thread *live,
                       struct plumb_live_queue *q, void *arg)
{
    (void)arg;
    if (!q->log.block || q->log.block > live->folded || q->log.count > PLUMB_TRACE_LOG)
        return;
    for (uint64_t i = 0; i < q->log.count; i++) {
        struct plumb_live_state *st = plumb_trace_at(s, q->log.state[i].state_off, sizeof *st);
        if (st)
            st->untraced = q->log.state[i].untraced;
    }
    q->dropped_spans = q->log.dropped_spans;
    q->dropped_blocks = q->log.dropped_blocks;
    q->log.block = 0;
}

void plumb_trace_live_settle(const struct plumb_trace_source *s)
{
    each_queue(s, settle_log, NULL);
}

struct losses {
    uint64_t spans;
    uint32_t threads;
};

static void add_losses(const struct plumb_trace_source *s, struct plumb_live_thread *live,
                       struct plumb_live_queue *q, void *arg)
{
    struct losses *l = arg;
    (void)s;
    (void)live;
    l->spans += q->dropped_spans;
    l->threads += q->dropped_spans != 0;
}

uint64_t plumb_trace_live_dropped(const struct plumb_trace_source *s, uint32_t *threads)
{
    struct losses l = {0, 0};
    each_queue(s, add_losses, &l);
    *threads = l.threads;
    return l.spans;
}

const char *plumb_trace_live_end(const struct plumb_live_header *h)
{
    switch (h->trace.ended) {
    case PLUMB_TRACE_GOES_ON:
        return "complete";
    case PLUMB_TRACE_AT_BOUND:
        return "at its bound (PLUMB_TRACE_MAX)";
    default:
        return "could not be written";
    }
}

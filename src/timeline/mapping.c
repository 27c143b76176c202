/* mapping.c: see mapping.h. The mapping may be a damaged file: what is read of it is checked
 * here and in live/view.c. */
#include "timeline/mapping.h"

#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "live/trace_drops.h"

enum { FLUSH_AT = PLUMB_TRACE_BUFFER / 4 * 3 };

/* ---- Lanes ----------------------------------------------------------------------------------- */

static struct plumb_live_thread *thread_at(const struct plumb_live_view *s, uint64_t off)
{
    return plumb_live_at(s, off, sizeof(struct plumb_live_thread));
}

static bool room_for_track(struct plumb_trace_live *t)
{
    struct plumb_thread_track **grown, **before;
    uint32_t cap = t->track_cap ? 2 * t->track_cap : 64;
    if (t->track_count < t->track_cap)
        return true;
    grown = plumb_pages_map(cap * sizeof *grown);
    if (!grown)
        return false;
    before = t->tracks;
    if (before)
        memcpy(grown, before, t->track_count * sizeof *grown);
    /* In this order: a child that is forked between two of these stores frees what `t` names. */
    PLUMB_RELEASE(t->tracks, grown);
    PLUMB_RELEASE(t->track_cap, cap);
    if (before)
        plumb_pages_unmap(before, cap / 2 * sizeof *grown);
    return true;
}

/* The track of a thread block, where the last commit left it. */
static struct plumb_thread_track *make_track(struct plumb_trace_live *t, uint64_t off,
                                             struct plumb_live_thread *live,
                                             struct plumb_live_queue *q)
{
    struct plumb_thread_track *l = room_for_track(t) ? plumb_pages_map(sizeof *l) : NULL;
    const struct plumb_trace_state *state;
    if (!l || plumb_map_put(&t->track_of, off, t->track_count + 1) < 0) {
        plumb_pages_unmap(l, sizeof *l);
        return NULL;
    }
    l->index = t->track_count;
    t->tracks[t->track_count] = l;
    PLUMB_RELEASE(t->track_count, t->track_count + 1);
    l->live = live;
    l->queue = q;
    l->from_ticks = q->from_ticks;
    l->slots = plumb_live_slots_of(&t->file.source, q);
    l->mask = q->slots - 1;
    state = plumb_trace_committed(&t->file.source, q, &l->current);
    if (state)
        l->state = *state;
    plumb_thread_track_open(l, &t->file, 0, false);
    return l;
}

static struct plumb_thread_track *track_of(struct plumb_trace_live *t, uint64_t off,
                                           struct plumb_live_thread *live)
{
    uint64_t known = plumb_map_get(&t->track_of, off);
    struct plumb_live_queue *q;
    if (known)
        return t->tracks[known - 1];
    q = plumb_live_queue_of(&t->file.source, live);
    return q && plumb_trace_takes_part(&t->file.source, q) ? make_track(t, off, live, q) : NULL;
}

/* A track gets its number when it has its first packet. */
static void start_track(struct plumb_trace_live *t, struct plumb_thread_track *l)
{
    struct plumb_live_trace *h = &t->file.source.h->trace;
    char name[PLUMB_TRACE_NAME + 1] = "";
    if (l->seq.id)
        return;
    if (!l->queue->sequence)
        l->queue->sequence = ++h->sequences + PLUMB_PF_HEAD_SEQUENCE;
    plumb_thread_track_open(l, &t->file, l->queue->sequence, l->state.batch != 0);
    memcpy(name, l->queue->name, PLUMB_TRACE_NAME);
    /* The file continues in the middle, so the track is described again. */
    if (l->state.tid || l->state.generation)
        plumb_thread_track_again(l, name);
}

/* Makes tracks for the thread blocks that are new, and for those that had no queue before. */
static void add_threads(struct plumb_trace_live *t)
{
    const struct plumb_live_view *s = &t->file.source;
    uint64_t first = PLUMB_ACQUIRE(s->h->thread_off), off = first;
    size_t most = s->bytes / sizeof(struct plumb_live_thread) + 1;
    bool all = true;
    while (off && off != t->known_off && most--) {
        struct plumb_live_thread *live = thread_at(s, off);
        if (!live)
            return;
        all = track_of(t, off, live) && all;
        off = live->next_off;
    }
    if (all)
        t->known_off = first;
}

static void for_tracks(struct plumb_trace_live *t,
                       void (*each)(struct plumb_trace_live *, struct plumb_thread_track *))
{
    add_threads(t);
    for (uint32_t i = 0; i < t->track_count; i++)
        each(t, t->tracks[i]);
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
    for (uint32_t i = 0; i < t->track_count; i++)
        plumb_pages_unmap(t->tracks[i], sizeof *t->tracks[i]);
    if (t->track_cap)
        plumb_pages_unmap(t->tracks, t->track_cap * sizeof *t->tracks);
    t->tracks = NULL;
    t->track_count = t->track_cap = 0;
    plumb_map_fini(&t->track_of);
    plumb_lane_drain_fini(&t->drain);
    plumb_trace_file_fini(&t->file);
}

/* ---- Taking slots ---------------------------------------------------------------------------- */

/* Without the frames and words that are not in use. */
static void copy_state(struct plumb_trace_state *to, const struct plumb_trace_state *from)
{
    uint32_t frames = from->depth + 1;
    memcpy(to, from, offsetof(struct plumb_trace_state, frames));
    memcpy(to->frames, from->frames, frames * sizeof to->frames[0]);
    memcpy(to->pending, from->pending, from->pending_words * sizeof to->pending[0]);
}

/* The bytes of the taken slots are in the file: publishes the commit, and frees the slots. */
static void commit(struct plumb_trace_live *t, uint64_t bytes)
{
    struct plumb_live_trace *h = &t->file.source.h->trace;
    uint64_t batch = h->batch + 1, spans = h->batch ? h->commit[h->batch & 1].spans : 0;
    for (uint32_t i = t->touched_from; i < t->touched_to; i++) {
        struct plumb_thread_track *l = t->tracks[i];
        if (!l->touched)
            continue;
        spans += l->spans;
        l->spans = 0;
        l->state.batch = batch;
        l->state.last_ns = l->seq.last_ns;
        copy_state(&l->queue->state[!l->current], &l->state);
    }
    plumb_lane_drain_commit(&t->drain, batch);
    h->commit[batch & 1].bytes = bytes;
    h->commit[batch & 1].spans = spans;
    h->commit[batch & 1].clock = t->file.clock;
    PLUMB_RELEASE(h->batch, batch);
    plumb_lane_drain_committed(&t->drain);
    for (uint32_t i = t->touched_from; i < t->touched_to; i++) {
        struct plumb_thread_track *l = t->tracks[i];
        if (!l->touched)
            continue;
        l->touched = false;
        l->current = !l->current;
        PLUMB_RELEASE(l->queue->taken, l->state.taken);
    }
    t->touched_from = t->touched_to = 0;
}

/* Has taken something since the last commit. */
static void touch(struct plumb_trace_live *t, struct plumb_thread_track *l)
{
    if (l->touched)
        return;
    l->touched = true;
    if (t->touched_from == t->touched_to)
        t->touched_from = l->index;
    t->touched_from = l->index < t->touched_from ? l->index : t->touched_from;
    t->touched_to = l->index >= t->touched_to ? l->index + 1 : t->touched_to;
}

static void flush(struct plumb_trace_live *t)
{
    plumb_trace_file_flush(&t->file);
    if (t->commits && !t->file.failed)
        commit(t, t->file.bytes);
}

static void take_slot(struct plumb_trace_live *t, struct plumb_thread_track *l,
                      const struct plumb_trace_slot *slot)
{
    plumb_thread_track_slot(l, t->filter, slot);
    if (t->also)
        t->also(t->also_arg, l->index, slot);
}

/* `next`: the slot that is read after these; NULL: none. Each slot is still in its owner's cache,
 * so it is prefetched while the one before is being read. */
static void take(struct plumb_trace_live *t, struct plumb_thread_track *l,
                 const struct plumb_trace_slot *next)
{
    struct plumb_live_queue *q = l->queue;
    uint64_t put = PLUMB_ACQUIRE(q->put), from = l->state.taken;
    uint32_t part;
    if (!l->slots || put <= from || put - from > l->mask + 1)
        return;
    part = (uint32_t)((put - from) * 256 / (l->mask + 1));
    t->fullest = part > t->fullest ? part : t->fullest;
    start_track(t, l);
    while (l->state.taken < put && !t->file.failed) {
        const struct plumb_trace_slot *slot = &l->slots[l->state.taken & l->mask],
                                      *then = l->state.taken + 1 < put
                                                  ? &l->slots[(l->state.taken + 1) & l->mask]
                                                  : next;
        __builtin_prefetch(then);
        l->ahead = then ? (uintptr_t)then - (uintptr_t)slot : 0;
        take_slot(t, l, slot);
        l->state.taken++;
        touch(t, l);
        if (t->file.out.used > FLUSH_AT)
            flush(t);
    }
    l->ahead = 0;
}

static void fetch_track(const struct plumb_thread_track *l)
{
    for (size_t at = 0; at < offsetof(struct plumb_thread_track, bits) + 64; at += 64)
        __builtin_prefetch((const char *)l + at);
    for (size_t at = 0; at < offsetof(struct plumb_trace_state, frames[1]); at += 64)
        __builtin_prefetch((const char *)&l->state + at);
}

/* All that they hold now. */
static void take_all(struct plumb_trace_live *t)
{
    add_threads(t);
    for (uint32_t i = 0; i < t->track_count; i++) {
        const struct plumb_trace_slot *next = NULL;
        if (i + 2 < t->track_count)
            fetch_track(t->tracks[i + 2]);
        if (i + 1 < t->track_count) {
            const struct plumb_thread_track *l = t->tracks[i + 1];
            __builtin_prefetch(&l->queue->put);
            next = l->slots ? &l->slots[l->state.taken & l->mask] : NULL;
        }
        take(t, t->tracks[i], next);
    }
}

uint32_t plumb_trace_live_pass(struct plumb_trace_live *t)
{
    uint32_t part;
    t->fullest = 0;
    take_all(t);
    part = plumb_lane_drain_take(&t->drain, &t->file, false);
    t->fullest = part > t->fullest ? part : t->fullest;
    if (t->file.out.used)
        flush(t);
    return t->fullest;
}

/* ---- The rest -------------------------------------------------------------------------------- */

/* Takes the blocks that were not folded. After a gap the open spans are compared even if there is
 * none, and where the trace ends, all that is open is cut. */
static void finish_unfolded(struct plumb_trace_live *t, struct plumb_thread_track *l, bool gap)
{
    const struct plumb_live_queue *q = l->queue;
    bool resumes = gap || q->left_out, ends = t->file.source.h->trace.ended || !q->on, some = true;
    struct plumb_trace_slot slot;
    if (ends && !gap)
        return; /* in a window that was switched off, the thread goes on */
    for (uint64_t number = PLUMB_LOAD(l->live->folded) + 1; some; number++) {
        some = plumb_trace_unfolded(&t->file.source, l->live, q, number, &slot);
        some = some && !ends;
        if (!gap && (!some || number <= l->state.block))
            continue;
        if (ends)
            slot.depth = slot.words = 0;
        else if (number <= l->state.block)
            slot.words = 0; /* in the gap already */
        start_track(t, l);
        slot.flags |= resumes ? PLUMB_SLOT_RESUMES : 0;
        take_slot(t, l, &slot);
        touch(t, l);
        gap = resumes = false;
    }
}

static void finish_track(struct plumb_trace_live *t, struct plumb_thread_track *l)
{
    const struct plumb_trace_gap *gap;
    take(t, l, NULL);
    gap = plumb_trace_open_gap(l->live, l->queue);
    if (gap && gap->through_block > l->state.block) {
        l->state.tid = PLUMB_LOAD(l->live->tid);
        l->state.generation = PLUMB_LOAD(l->live->generation);
        start_track(t, l);
        plumb_thread_track_gap(l, gap);
        touch(t, l);
    }
    finish_unfolded(t, l, gap != NULL);
}

/* Copies a slot. Returns false if it has no open span, or is changing. */
static PLUMB_RACY bool open_async(struct plumb_trace_async *out, const struct plumb_live_async *a)
{
    uint32_t state = PLUMB_ACQUIRE(a->state);
    if (!(state & PLUMB_ASYNC_OPEN))
        return false;
    *out = (struct plumb_trace_async){
        .begin_ticks = PLUMB_LOAD(a->begin_ticks),
        .key = plumb_key(PLUMB_LOAD(a->group) & 0xffff, PLUMB_LOAD(a->node))};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return PLUMB_LOAD(a->state) == state;
}

/* Async spans that are still open. One of the tracks writes them, on tracks of their own. */
static void finish_async(struct plumb_trace_live *t)
{
    const struct plumb_live_view *s = &t->file.source;
    for (uint32_t c = 0; c < PLUMB_ASYNC_CHUNKS && PLUMB_ACQUIRE(s->h->async_off[c]); c++) {
        const struct plumb_live_async *a =
            plumb_live_at(s, s->h->async_off[c], PLUMB_ASYNC_CHUNK * sizeof *a);
        for (uint32_t i = 0; a && t->track_count && i < PLUMB_ASYNC_CHUNK; i++) {
            struct plumb_thread_track *l = t->tracks[0];
            struct plumb_trace_async open;
            if (!open_async(&open, &a[i]))
                continue;
            start_track(t, l);
            if (l->track && plumb_trace_wants(t->filter, &l->state, NULL))
                plumb_thread_track_open_async(l, &open);
        }
    }
}

void plumb_trace_live_finish(struct plumb_trace_live *t)
{
    for_tracks(t, finish_track);
    finish_async(t);
    plumb_lane_drain_take(&t->drain, &t->file, true);
    plumb_lane_drain_facts(&t->file);
    flush(t);
}

/* ---- Ring mode ------------------------------------------------------------------------------- */

PLUMB_RACY bool plumb_trace_copy_slot(const struct plumb_live_view *s,
                                      const struct plumb_live_queue *q, uint64_t number,
                                      struct plumb_trace_slot *out)
{
    const struct plumb_trace_slot *slots = plumb_live_slots_of(s, q), *slot;
    uint64_t *words = (uint64_t *)(void *)out;
    const uint64_t *from;
    if (!slots)
        return false;
    slot = &slots[(number - 1) & (q->slots - 1)];
    from = (const uint64_t *)(const void *)slot;
    if (PLUMB_ACQUIRE(slot->number) != number)
        return false;
    for (size_t i = 0; i < sizeof *out / sizeof *words; i++)
        words[i] = PLUMB_LOAD(from[i]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return PLUMB_LOAD(slot->number) == number;
}

static void collect_track(struct plumb_trace_live *t, struct plumb_thread_track *l)
{
    struct plumb_live_queue *q = l->queue;
    uint64_t put = PLUMB_ACQUIRE(q->put), at = put > q->slots ? put - q->slots : 0;
    struct plumb_trace_slot slot;
    bool missed = true; /* what was before */
    for (; at < put; at++) {
        if (!plumb_trace_copy_slot(&t->file.source, q, at + 1, &slot)) {
            missed = true;
            continue;
        }
        slot.flags |= missed ? PLUMB_SLOT_RESUMES : 0;
        missed = false;
        start_track(t, l);
        plumb_thread_track_slot(l, t->filter, &slot);
    }
}

static void collect_unfolded(struct plumb_trace_live *t, struct plumb_thread_track *l)
{
    struct plumb_trace_slot slot;
    uint64_t folded = PLUMB_ACQUIRE(l->live->folded);
    if (!plumb_trace_unfolded(&t->file.source, l->live, l->queue, folded + 1, &slot))
        return;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    /* A fold that began in the meantime changes which spans are open. */
    if (PLUMB_LOAD(l->live->folding) != folded || PLUMB_LOAD(l->live->folded) != folded ||
        slot.block <= l->state.block)
        return;
    slot.flags = PLUMB_SLOT_RESUMES;
    start_track(t, l);
    plumb_thread_track_slot(l, t->filter, &slot);
}

void plumb_trace_live_collect(struct plumb_trace_live *t)
{
    for_tracks(t, collect_track);
    for_tracks(t, collect_unfolded);
    plumb_lane_drain_collect(&t->drain, &t->file);
    plumb_trace_file_flush(&t->file);
}

uint64_t plumb_trace_live_spans(const struct plumb_trace_live *t)
{
    const struct plumb_live_trace *h = &t->file.source.h->trace;
    uint64_t spans = h->batch ? h->commit[h->batch & 1].spans : 0;
    for (uint32_t i = 0; i < t->track_count; i++)
        spans += t->tracks[i]->spans;
    return spans;
}

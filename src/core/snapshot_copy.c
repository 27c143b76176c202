/* snapshot_copy.c: the writers' side of a snapshot (snapshot.c): what a fold leaves before it
 * changes something. Each call is of the thread that owns what is copied, inside a fold that has
 * found a request; it takes no lock and waits for nothing. */
#include <string.h>

#include "core/snapshot.h"

enum { COPY_STEP = 16 }; /* divides what is copied of a state */

_Static_assert(sizeof(struct plumb_copy_line) <= PLUMB_OWN_BYTES &&
                   offsetof(struct plumb_copy, head.buckets) <= PLUMB_OWN_BYTES,
               "a fold finds room for each piece in what it takes at a time");
_Static_assert(offsetof(struct plumb_live_state, p2) % COPY_STEP == 0 &&
                   offsetof(struct plumb_live_state, buckets) % COPY_STEP == 0,
               "a state is copied in whole steps");

void *plumb_room_take(struct plumb_snapshot *s, size_t bytes)
{
    size_t at = __atomic_fetch_add(&s->used, (bytes + 63) & ~(size_t)63, __ATOMIC_RELAXED);
    if (at + bytes > s->room_bytes) {
        PLUMB_STORE(s->overflow, 1);
        return NULL;
    }
    return s->room + at;
}

/* The same for a fold, which takes many small pieces. */
static void *take_own(struct plumb_ask *q, size_t bytes)
{
    void *piece;
    if (q->own_bytes < bytes) {
        q->own = plumb_room_take(q->s, PLUMB_OWN_BYTES);
        q->own_bytes = q->own ? PLUMB_OWN_BYTES : 0;
        if (!q->own)
            return NULL;
    }
    piece = q->own;
    q->own += bytes;
    q->own_bytes -= bytes;
    return piece;
}

/* NULL: no room. */
static struct plumb_copy *copy_head(struct plumb_ask *q, const struct plumb_live_state *st)
{
    size_t bytes = plumb_copy_head_bytes(st->flags, st->count);
    struct plumb_copy *to = take_own(q, offsetof(struct plumb_copy, head) + bytes);
    if (!to)
        return NULL;
    to->lines = NULL;
    to->groups = 0;
    for (size_t i = 0; i < bytes; i += COPY_STEP)
        memcpy((unsigned char *)&to->head + i, (const unsigned char *)st + i, COPY_STEP);
    return to;
}

void plumb_snapshot_answer(struct plumb_ask *q, const struct plumb_thread *th)
{
    struct plumb_tail *t;
    if (q->answered)
        return;
    t = plumb_room_take(q->s, sizeof *t);
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
        PLUMB_RELEASE(q->copy[st->ordinal], copy_head(q, st));
    PLUMB_RELEASE(st->epoch, (uint32_t)q->s->number);
    plumb_order();
}

void plumb_snapshot_place(struct plumb_ask *q, uint32_t place, const struct plumb_live_tree *t)
{
    struct plumb_place_copy *to = place < q->places ? &q->place[place] : NULL;
    if (!to || to->left)
        return;
    to->reset_generation = t->reset_generation;
    to->count = t->count;
    to->total = t->total;
    to->self = t->self;
    PLUMB_RELEASE(to->left, 1);
    plumb_order();
}

void plumb_snapshot_line(struct plumb_ask *q, const struct plumb_live_state *st, uint32_t line)
{
    struct plumb_copy *copy = st->ordinal < q->states ? q->copy[st->ordinal] : NULL;
    uint64_t group = UINT64_C(1) << line / (64 / PLUMB_SKETCH_LINE);
    struct plumb_copy_line *known, *to;
    if (!copy)
        return;
    for (known = copy->groups & group ? copy->lines : NULL; known; known = known->next) {
        if (known->line == line)
            return;
    }
    to = take_own(q, sizeof *to);
    if (!to)
        return;
    to->next = copy->lines;
    to->line = line;
    memcpy(to->counts, &st->buckets[line * PLUMB_SKETCH_LINE], sizeof to->counts);
    PLUMB_RELEASE(copy->lines, to);
    PLUMB_RELEASE(copy->groups, copy->groups | group);
    plumb_order();
}

void plumb_snapshot_lines(struct plumb_ask *q, const struct plumb_live_state *st)
{
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++) {
        for (uint64_t left = st->lines_used[w]; left; left &= left - 1)
            plumb_snapshot_line(q, st, 64 * w + (uint32_t)__builtin_ctzll(left));
    }
}

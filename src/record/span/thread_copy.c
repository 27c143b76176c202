/* thread_copy.c: see thread_copy.h.
 *
 * There are two ways. The usual one holds the thread (thread_lock.h) and copies the first fields of
 * each state and the lines of buckets in use, packed. Most of the time goes into fetching them from
 * another processor's cache, so many lines are prefetched before the first is waited for.
 *
 * If the holder of the thread does not release it, everything is copied in place, states with all
 * buckets, and the undo log last. The log has everything that the fold has changed by then, because
 * data is logged before it is changed. So if that fold is not over when the log has been copied,
 * undoing it in the copy gives the state before the fold. If it is over, the thread continues, and
 * there is another try.
 *
 * There is no malloc while a thread is held; see thread_lock.h. */
#include "record/span/thread_copy.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/pages.h"
#include "live/undo.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/helper.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include "record/span/ring.h"
#include "record/span/thread_lock.h"

enum {
    FIRST_BYTES = 512 * 1024,
    LINE_BYTES = PLUMB_SKETCH_LINE * 4,
    FETCH_AHEAD = 8,
    FETCH_LINES = 3, /* states ahead whose buckets are prefetched */
    SPINS = 5000,    /* 50 us: a fold takes 5 to 20; longer means that it is not running */
    TRIES = 1000,
    PAUSE_NS = 100000
};

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Takes a piece aligned to cache lines. NULL: the memory is too small, and `used` says by how
 * much. */
static void *take(struct plumb_copy_memory *m, size_t bytes)
{
    size_t at = m->used;
    m->used += (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    return m->used <= m->bytes ? m->at + at : NULL;
}

static bool grow(struct plumb_copy_memory *m)
{
    size_t bytes = m->used > FIRST_BYTES / 2 ? 2 * m->used : FIRST_BYTES;
    plumb_pages_unmap(m->at, m->bytes);
    m->at = plumb_pages_map(bytes);
    m->bytes = m->at ? bytes : 0;
    return m->at != NULL;
}

void plumb_copy_fini(struct plumb_copy_memory *m)
{
    plumb_pages_unmap(m->at, m->bytes);
    *m = (struct plumb_copy_memory){0};
}

/* ---- A thread that is held ------------------------------------------------------------------- */

static void fetch(const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        __builtin_prefetch((const unsigned char *)from + i);
}

/* The state may be changing: a prefetch is only a hint. */
static PLUMB_RACY void fetch_buckets(const struct plumb_live_state *st)
{
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++)
        for (uint64_t left = PLUMB_LOAD(st->lines_used[w]); left; left &= left - 1)
            __builtin_prefetch(
                &st->buckets[(64 * w + (uint32_t)__builtin_ctzll(left)) * PLUMB_SKETCH_LINE]);
}

/* Copies whole lines: for a small size the compiler makes a loop, for a large one a string
 * instruction, which starts slowly. */
static PLUMB_ALWAYS_INLINE void copy_line(void *to, const void *from)
{
    memcpy(to, from, LINE_BYTES);
}

static bool copy_state(struct plumb_copy_memory *m, struct plumb_state_copy *to,
                       const struct plumb_live_state *st)
{
    size_t head = plumb_state_is_long(st->flags, st->count)
                      ? offsetof(struct plumb_live_state, buckets)
                      : offsetof(struct plumb_live_state, p2);
    size_t lines = 0;
    unsigned char *copy, *at;
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++)
        lines += (size_t)__builtin_popcountll(st->lines_used[w]);
    head = (head + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    copy = take(m, head + lines * LINE_BYTES);
    if (!copy)
        return false;
    for (size_t i = 0; i < head; i += LINE_BYTES)
        copy_line(copy + i, (const unsigned char *)st + i);
    at = copy + head;
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++)
        for (uint64_t left = st->lines_used[w]; left; left &= left - 1, at += LINE_BYTES)
            copy_line(at,
                      &st->buckets[(64 * w + (uint32_t)__builtin_ctzll(left)) * PLUMB_SKETCH_LINE]);
    *to = (struct plumb_state_copy){(const struct plumb_live_state *)(const void *)copy,
                                    (const uint32_t *)(const void *)(copy + head)};
    return true;
}

/* Lists the thread's states from the map of its folds, in no order. */
static uint32_t list_states(const struct plumb_live_state **list, struct plumb_in in)
{
    const struct plumb_map *map = &in.th->state_of;
    uint32_t n = 0;
    for (size_t i = 0; i < map->capacity && n < map->count; i++)
        if (map->slots[2 * i])
            list[n++] = PLUMB_AT(in.run, const struct plumb_live_state, map->slots[2 * i + 1]);
    return n;
}

static bool copy_states(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                        struct plumb_in in)
{
    const struct plumb_live_state **list = take(m, (in.th->state_of.count + 1) * sizeof *list);
    struct plumb_state_copy *to = take(m, (in.th->state_of.count + 1) * sizeof *to);
    uint32_t n = list && to ? list_states(list, in) : 0;
    bool fits = list && to;
    for (uint32_t i = 0; i < n && i < FETCH_AHEAD; i++)
        fetch(list[i], offsetof(struct plumb_live_state, p2));
    for (uint32_t i = 0; i < n; i++) {
        if (i + FETCH_AHEAD < n)
            fetch(list[i + FETCH_AHEAD], offsetof(struct plumb_live_state, p2));
        if (i + FETCH_LINES < n)
            fetch_buckets(list[i + FETCH_LINES]);
        fits &= copy_state(m, &to[i], list[i]);
    }
    out->state = to;
    out->states = n;
    return fits;
}

static bool copy_tree(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                      struct plumb_in in)
{
    const struct plumb_live_table *t = &in.th->live->tree;
    uint32_t n = PLUMB_ACQUIRE(t->count);
    struct plumb_live_tree *to = take(m, n * sizeof *to);
    for (uint32_t i = 0; to && i < n; i++)
        copy_line(&to[i], plumb_table_at(in.run, t, i));
    out->place = to;
    out->tree_nodes = n;
    return to != NULL;
}
_Static_assert(sizeof(struct plumb_live_tree) == LINE_BYTES, "a place is a line");

/* Copies the blocks after number `folded`. The last one is still being written, and if the thread
 * folds during the copy, so may be the others. */
static bool copy_blocks(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                        struct plumb_in in, uint64_t folded)
{
    uint64_t newest = PLUMB_ACQUIRE(in.th->number), n = newest > folded ? newest - folded : 0;
    uint64_t *to = take(m, n * PLUMB_BLOCK_WORDS * sizeof *to);
    if (!to)
        return false;
    out->words = to;
    out->blocks = 0;
    for (uint64_t i = 0; i < n; i++, to += PLUMB_BLOCK_WORDS) {
        const uint64_t *block = plumb_ring_block(in, folded + 1 + i);
        if (PLUMB_ACQUIRE(block[1]) != folded + 1 + i)
            break;
        for (uint32_t w = 0; w < PLUMB_BLOCK_WORDS; w++)
            to[w] = PLUMB_LOAD(block[w]);
        out->blocks++;
    }
    return true;
}

static bool copy_tail(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                      struct plumb_in in)
{
    const struct plumb_live_thread *live = in.th->live;
    uint32_t depth = live->context.depth;
    struct plumb_live_context *context = take(m, sizeof *context);
    struct plumb_live_frame *frames = take(m, (depth + 1) * sizeof *frames);
    if (!context || !frames)
        return false;
    *context = live->context;
    memcpy(frames, live->frames, (depth + 1) * sizeof *frames);
    out->context = context;
    out->frames = frames;
    return copy_blocks(out, m, in, live->folded);
}

static bool copy_held(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                      struct plumb_in in, bool want_tree)
{
    bool fits = true;
    out->generation = PLUMB_LOAD(in.th->live->generation);
    fits &= copy_states(out, m, in);
    fits &= !want_tree || copy_tree(out, m, in);
    fits &= copy_tail(out, m, in);
    return fits;
}

/* ---- A thread that does not come out of a fold ----------------------------------------------- */

/* Copies words that may be changing. */
static PLUMB_RACY void copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *t = to;
    const uint64_t *f = from;
    for (size_t i = 0; i < bytes / 8; i++)
        t[i] = PLUMB_LOAD(f[i]);
}

/* Copies a state that may be changing, with the lines of buckets that it marks as used. A line that
 * is only now being marked is left out with its first sample, which the replay then adds. */
static PLUMB_RACY void copy_changing(struct plumb_live_state *to,
                                     const struct plumb_live_state *from)
{
    copy_words(to, from, offsetof(struct plumb_live_state, buckets));
    memset(to->buckets, 0, sizeof to->buckets);
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++) {
        for (uint64_t left = to->lines_used[w]; left; left &= left - 1) {
            uint32_t line = 64 * w + (uint32_t)__builtin_ctzll(left);
            copy_words(&to->buckets[line * PLUMB_SKETCH_LINE],
                       &from->buckets[line * PLUMB_SKETCH_LINE], LINE_BYTES);
        }
    }
}

/* The copies of a thread's states and tree nodes, for undoing. */
struct stuck {
    const uint64_t *off; /* of state[i] */
    struct plumb_live_state *state;
    uint32_t states;
    struct plumb_live_tree *place;
    uint32_t tree_nodes;
};

static struct plumb_live_state *stuck_state(void *self, uint64_t off)
{
    const struct stuck *s = self;
    for (uint32_t i = 0; i < s->states; i++)
        if (s->off[i] == off)
            return &s->state[i];
    return NULL;
}

static struct plumb_live_tree *stuck_tree_node(void *self, uint32_t i)
{
    const struct stuck *s = self;
    return i < s->tree_nodes ? &s->place[i] : NULL;
}

static bool stuck_states(struct stuck *s, struct plumb_copy_memory *m, struct plumb_in in)
{
    uint32_t n = PLUMB_ACQUIRE(in.th->live->states), count = 0;
    uint64_t at = PLUMB_ACQUIRE(in.th->live->state_off), *off = take(m, (n + 1) * sizeof *off);
    const struct plumb_live_state **list = take(m, (n + 1) * sizeof *list);
    s->state = take(m, n * sizeof *s->state);
    if (!off || !list || !s->state)
        return false;
    for (; at && count < n; at = PLUMB_ACQUIRE(list[count++]->next_off)) {
        off[count] = at;
        list[count] = PLUMB_AT(in.run, const struct plumb_live_state, at);
        fetch(list[count], offsetof(struct plumb_live_state, p2));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i + FETCH_LINES < count)
            fetch_buckets(list[i + FETCH_LINES]);
        copy_changing(&s->state[i], list[i]);
    }
    s->off = off;
    s->states = count;
    return true;
}

static bool stuck_tree(struct stuck *s, struct plumb_copy_memory *m, struct plumb_in in)
{
    const struct plumb_live_table *t = &in.th->live->tree;
    s->tree_nodes = PLUMB_ACQUIRE(t->count);
    s->place = take(m, s->tree_nodes * sizeof *s->place);
    for (uint32_t i = 0; s->place && i < s->tree_nodes; i++)
        copy_words(&s->place[i], plumb_table_at(in.run, t, i), sizeof s->place[i]);
    return s->place != NULL;
}

static bool list_stuck(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                       const struct stuck *s)
{
    struct plumb_state_copy *to = take(m, (s->states + 1) * sizeof *to);
    if (!to)
        return false;
    for (uint32_t i = 0; i < s->states; i++)
        to[i] = (struct plumb_state_copy){&s->state[i], NULL};
    out->state = to;
    out->states = s->states;
    out->place = s->place;
    out->tree_nodes = s->tree_nodes;
    return true;
}

/* Returns false if the fold is over, or if the memory is too small. */
static bool copy_stuck(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                       struct plumb_in in, struct plumb_merge *merge)
{
    const struct plumb_live_thread *live = in.th->live;
    uint64_t folded = PLUMB_ACQUIRE(live->folded), folding = PLUMB_ACQUIRE(live->folding);
    struct stuck s = {0};
    struct plumb_undo_target target = {stuck_state, stuck_tree_node, &s};
    struct plumb_live_thread *copy;
    struct plumb_merge_ahead *ahead;
    bool fits = stuck_states(&s, m, in);
    fits &= stuck_tree(&s, m, in);
    fits &= copy_blocks(out, m, in, folded);
    copy = take(m, sizeof *copy);
    ahead = take(m, sizeof merge->ahead);
    if (!fits || !copy || !ahead || !list_stuck(out, m, &s))
        return false;
    copy_words(copy, live, sizeof *copy);
    plumb_order();
    if (PLUMB_ACQUIRE(live->folded) != folded || PLUMB_LOAD(live->folding) != folding ||
        !plumb_undo_resets_agree(&copy->undo, &target))
        return false;
    plumb_live_undo_in(merge, copy, &target);
    memcpy(ahead, merge->ahead, merge->ahead_count * sizeof *ahead);
    out->ahead = ahead;
    out->ahead_count = merge->ahead_count;
    out->generation = copy->generation;
    out->context = &copy->context;
    out->frames = copy->frames;
    return copy->context.depth <= PLUMB_DEPTH_MAX;
}

/* ---- The whole of it ------------------------------------------------------------------------- */

static bool hold_soon(struct plumb_thread *th)
{
    for (int i = 0; i < SPINS; i++) {
        if (!PLUMB_LOAD(th->held) && plumb_hold_try(th))
            return true;
        plumb_spin();
    }
    return false;
}

/* Makes one try. Returns 1 if the thread is not in this run, PLUMB_ERR_STATE if it failed now or
 * the memory is too small. */
static int copy_once(struct plumb_thread_copy *out, struct plumb_copy_memory *m, struct plumb_in in,
                     struct plumb_merge *merge)
{
    bool held = hold_soon(in.th), copied = false, belongs = plumb_belongs(in.th, in.run);
    *out = (struct plumb_thread_copy){0};
    m->used = 0;
    if (held && belongs)
        copied = copy_held(out, m, in, merge->want_tree);
    else if (belongs)
        copied = copy_stuck(out, m, in, merge) && plumb_belongs(in.th, in.run);
    if (held)
        plumb_hold_release(in.th);
    return !belongs ? 1 : copied ? PLUMB_OK : PLUMB_ERR_STATE;
}

int plumb_thread_copy(struct plumb_thread_copy *out, struct plumb_copy_memory *m,
                      struct plumb_in in, struct plumb_merge *merge)
{
    if (!plumb_belongs(in.th, in.run))
        return 1;
    for (int i = 0; i < TRIES; i++) {
        int rc = copy_once(out, m, in, merge);
        if (rc >= 0)
            return rc;
        if (m->used > m->bytes && !grow(m))
            return PLUMB_ERR_MEMORY;
        if (m->used <= m->bytes && i > 2)
            plumb_helper_pause(PAUSE_NS);
    }
    return PLUMB_ERR_STATE;
}

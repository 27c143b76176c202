/* ring.c: see ring.h. The hot part is plumb_block_next(), every 63 spans. */
#include "record/span/ring.h"

#include "record/runtime/enter.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/thread.h"
#include "record/span/fold.h"
#include "record/span/thread_lock.h"
#include "record/stage/stage.h"

enum { BATCH_MOST = 64 }; /* more gain nothing, and the span around a fold pays for all of them */

/* ---- Appending ------------------------------------------------------------------------------- */

/* Opens the block after the newest one. */
static void open_next(struct plumb_in in, uint64_t ticks)
{
    struct plumb_thread *th = in.th;
    uint64_t number = th->number + 1, *block = plumb_ring_block(in, number);
    uint32_t depth_left;
    PLUMB_STORE(block[1], 0);
    plumb_order();
    plumb_zero_words(block + PLUMB_BLOCK_HEAD, PLUMB_BLOCK_WORDS - PLUMB_BLOCK_HEAD);
    PLUMB_STORE(block[0], ticks);
    plumb_order();
    PLUMB_STORE(block[1], number);
    th->block = block;
    /* The blocks before it are complete. */
    PLUMB_RELEASE(th->number, number);
    th->base = ticks;
    th->head = block + PLUMB_BLOCK_HEAD;
    th->end = block + PLUMB_BLOCK_WORDS;
    /* A begin takes a word and a place on the stack: one check is enough for both. */
    depth_left = PLUMB_DEPTH_MAX - plumb_depth(th);
    th->limit = depth_left < PLUMB_BLOCK_WORDS ? th->head + depth_left : th->end;
    if (th->limit > th->end - 1)
        th->limit = th->end - 1;
}

void plumb_ring_batches(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    uint32_t blocks = th->live->blocks;
    bool one_by_one = th->queue || (in.run->active && th->active);
    /* Half of them are left for the time in which another thread holds this one. */
    uint32_t batch = blocks / 2 < BATCH_MOST ? blocks / 2 : BATCH_MOST;
    PLUMB_STORE(th->batch, one_by_one ? 1 : batch);
    PLUMB_STORE(th->most, one_by_one ? 1 : blocks);
}

void plumb_ring_attach(struct plumb_in in, uint64_t ticks)
{
    struct plumb_thread *th = in.th;
    plumb_ring_batches(in);
    th->sampled = 0;
    PLUMB_STORE(th->number, th->live->folded);
    open_next(in, ticks);
}

/* Returns the number of unfolded blocks, including the newest. */
static uint64_t unfolded(const struct plumb_thread *th)
{
    return th->number - PLUMB_ACQUIRE(th->live->folded);
}

static void fold_all(struct plumb_in in)
{
    plumb_fold_through(in, in.th->number);
    plumb_hold_release(in.th);
}

void plumb_block_next(struct plumb_in in, uint64_t ticks)
{
    uint64_t n = unfolded(in.th);
    if (n >= PLUMB_LOAD(in.th->batch)) {
        if (PLUMB_LIKELY(plumb_hold_try(in.th))) {
            fold_all(in);
        } else if (n >= PLUMB_LOAD(in.th->most)) {
            plumb_hold(in.th);
            fold_all(in);
        }
    }
    open_next(in, ticks);
}

void plumb_block_settle(struct plumb_in in, uint64_t ticks)
{
    plumb_hold(in.th);
    fold_all(in);
    open_next(in, ticks);
}

uint64_t *plumb_block_space(struct plumb_in in, uint32_t words, uint64_t ticks)
{
    struct plumb_thread *th = in.th;
    /* One word is always left, for an end that may come next without a check. */
    if ((size_t)(th->end - th->head) < words + 1 || (ticks - th->base) >> PLUMB_TICK_BITS)
        plumb_block_next(in, ticks);
    return th->head;
}

bool plumb_ring_holds_any(const struct plumb_thread *th)
{
    return unfolded(th) > 1 || th->head != th->block + PLUMB_BLOCK_HEAD;
}

bool plumb_fold_waiting(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    if (!plumb_hold_try(th))
        return false;
    if (plumb_belongs(th, in.run))
        plumb_fold_through(in, PLUMB_ACQUIRE(th->number) - 1);
    plumb_hold_release(th);
    return true;
}

/* ---- Reading --------------------------------------------------------------------------------- */

void plumb_unfolded_open(struct plumb_unfolded *u, struct plumb_thread *th)
{
    u->held = unfolded(th) > 1;
    if (u->held)
        plumb_hold(th);
    u->number = th->live->folded;
}

bool plumb_unfolded_next(struct plumb_unfolded *u, const struct plumb_thread *th)
{
    uint32_t blocks = th->live->blocks;
    const uint64_t *ring = th->block - th->number % blocks * PLUMB_BLOCK_WORDS;
    if (u->number == th->number)
        return false;
    u->number++;
    u->at = ring + u->number % blocks * PLUMB_BLOCK_WORDS;
    u->end = u->number == th->number ? th->head : u->at + PLUMB_BLOCK_WORDS;
    u->at += PLUMB_BLOCK_HEAD;
    return true;
}

void plumb_unfolded_close(const struct plumb_unfolded *u, struct plumb_thread *th)
{
    if (u->held)
        plumb_hold_release(th);
}

/* Returns whether the record is in an unfolded block. */
static bool is_unfolded(const struct plumb_thread *th, const uint64_t *record)
{
    uint64_t blocks = th->live->blocks, newest = th->number % blocks;
    const uint64_t *ring = th->block - newest * PLUMB_BLOCK_WORDS;
    uint64_t at = (uint64_t)(record - ring) / PLUMB_BLOCK_WORDS;
    return at == newest ? record < th->head
                        : (newest + blocks - at) % blocks < th->number - th->live->folded;
}

struct since { /* the fold */
    bool begun[PLUMB_DEPTH_MAX + 1];
    uint32_t depth;
};

static void follow(struct since *s, const uint64_t *w, const uint64_t *end)
{
    while (w < end) {
        uint64_t word = PLUMB_LOAD(*w);
        uint32_t kind = word & 3, wide = kind == PLUMB_REC_WIDE ? (uint32_t)(word >> 8) & 255 : 1;
        if (kind == PLUMB_REC_NONE)
            return;
        if (kind == PLUMB_REC_BEGIN && s->depth < PLUMB_DEPTH_MAX)
            s->begun[++s->depth] = true;
        else if (kind == PLUMB_REC_END && s->depth)
            s->begun[s->depth--] = false;
        else if (kind == PLUMB_REC_WIDE && ((word >> 2) & 63) == PLUMB_WIDE_CLOSE)
            while (s->depth && s->depth > PLUMB_LOAD(w[1]))
                s->begun[s->depth--] = false;
        w += wide;
    }
}

/* Returns whether the open span at this depth began since the last fold. The place of its begin
 * record is not enough: a span that has been open for long may have begun at the same place, in the
 * previous round of the ring. */
static bool begun_since_fold(struct plumb_unfolded u, const struct plumb_thread *th, uint32_t depth)
{
    struct since s = {.depth = th->live->context.depth};
    while (plumb_unfolded_next(&u, th))
        follow(&s, u.at, u.end);
    return s.begun[depth];
}

/* The same without holding the thread, decided by depth alone. However far another thread has
 * folded by now, a deeper span is later, and its record stays until this thread continues. */
static PLUMB_RACY bool is_deeper(const struct plumb_thread *th, uint32_t depth)
{
    return depth > PLUMB_LOAD(th->live->context.depth);
}

/* Returns whether the open span at this depth began at `record`, after the last fold. Between open
 * and close. */
static bool is_record_of(struct plumb_unfolded u, struct plumb_thread *th, uint32_t depth,
                         const uint64_t *record)
{
    if (depth > th->live->context.depth)
        return true;
    if (!is_unfolded(th, record))
        return false;
    if (u.held)
        PLUMB_STORE(th->batch, 1); /* next time there are fewer blocks to search */
    return begun_since_fold(u, th, depth);
}

uint64_t plumb_ring_innermost(struct plumb_thread *th)
{
    const uint64_t *record = (const uint64_t *)(uintptr_t)*th->top;
    uint64_t key = plumb_key(th->group, plumb_record_node(PLUMB_LOAD(*record)));
    struct plumb_unfolded u = {0};
    if (is_deeper(th, plumb_depth(th)))
        return key;
    plumb_unfolded_open(&u, th);
    if (!is_record_of(u, th, plumb_depth(th), record))
        key = th->live->frames[plumb_depth(th)].key;
    plumb_unfolded_close(&u, th);
    return key;
}

/* Returns the ticks of a record, whose block begins with what they count from. */
static uint64_t ticks_of(const struct plumb_thread *th, const uint64_t *record)
{
    const uint64_t *ring = th->block - th->number % th->live->blocks * PLUMB_BLOCK_WORDS;
    const uint64_t *block = record - (uint64_t)(record - ring) % PLUMB_BLOCK_WORDS;
    return PLUMB_LOAD(block[0]) + plumb_record_ticks(PLUMB_LOAD(*record));
}

uint64_t plumb_ring_began(struct plumb_thread *th, uint32_t depth)
{
    const uint64_t *record = (const uint64_t *)(uintptr_t)th->open[depth];
    struct plumb_unfolded u = {0};
    uint64_t ticks;
    if (is_deeper(th, depth))
        return ticks_of(th, record);
    plumb_unfolded_open(&u, th);
    ticks = is_record_of(u, th, depth, record) ? ticks_of(th, record)
                                               : th->live->frames[depth].begin_ticks;
    plumb_unfolded_close(&u, th);
    return ticks;
}

uint32_t plumb_innermost_node(struct plumb_thread *th)
{
    if (plumb_depth(th))
        return plumb_key_node(plumb_ring_innermost(th));
    return th->path_depth ? th->path[th->path_depth - 1] : 0;
}

uint32_t plumb_span_depth(const struct plumb_thread *th, plumb_span span)
{
    uint32_t d = plumb_depth(th);
    while (d && th->open[d] != (span.id & ~PLUMB_STAGE_BIT))
        d--;
    return d;
}

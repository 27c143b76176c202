/* amount.h: adds samples to a thread's statistics of a key and to a node of its call tree. On the
 * thread itself, in a fold that has saved both before (fold.c). Inlined: most of a fold's time is
 * spent here. */
#ifndef PLUMB_RECORD_SPAN_AMOUNT_H
#define PLUMB_RECORD_SPAN_AMOUNT_H

#include "base/atomic.h"
#include "base/stats/sketch.h"
#include "base/u128.h"
#include "live/layout.h"

static PLUMB_COLD void plumb_bucket_carry(struct plumb_live_state *st, uint32_t index)
{
    uint32_t best = 0, distance = UINT32_MAX;
    for (uint32_t i = 0; i < PLUMB_CARRY; i++) {
        uint32_t at = st->carry[i].index;
        uint32_t d = !st->carry[i].wraps ? 0 : at > index ? at - index : index - at;
        if (st->carry[i].wraps && at == index) {
            best = i;
            break;
        }
        /* A free entry serves as well as a match; without one, 2^32 samples move to a neighbour. */
        if (d < distance) {
            distance = d;
            best = i;
        }
    }
    if (!st->carry[best].wraps)
        st->carry[best].index = index;
    st->carry[best].wraps++;
}

/* The sums of `n` samples of one key, without their squares. */
struct plumb_amount {
    uint64_t n, total, self, min, max, last, last_at;
};

static PLUMB_ALWAYS_INLINE void plumb_add_squares(struct plumb_live_state *st, plumb_u128 squares)
{
    plumb_u128 sq = plumb_u128_sum(plumb_u128_make(st->sq_lo, st->sq_hi), squares);
    st->sq_lo = (uint64_t)sq;
    st->sq_hi = (uint64_t)(sq >> 64);
}

static PLUMB_ALWAYS_INLINE void plumb_add_square(struct plumb_live_state *st, uint64_t value)
{
    uint64_t square = value * value, sum = st->sq_lo + square;
    if (PLUMB_UNLIKELY(value >> 32 != 0 || sum < square))
        plumb_add_squares(st, (plumb_u128)value * value);
    else
        st->sq_lo = sum;
}

static PLUMB_ALWAYS_INLINE void plumb_add_amount(struct plumb_live_state *st,
                                                 struct plumb_live_tree *t,
                                                 const struct plumb_amount *a)
{
    st->count += a->n;
    st->total += a->total;
    if (PLUMB_UNLIKELY(a->min < st->min))
        st->min = a->min;
    if (PLUMB_UNLIKELY(a->max > st->max))
        st->max = a->max;
    st->last = a->last;
    st->last_at = a->last_at;
    st->self += a->self;
    t->count += a->n;
    t->total += a->total;
    t->self += a->self;
}

/* Called for a bucket that was 0: its line may be new, or the bucket has wrapped. The set of lines
 * is updated only here. If the process is killed before the set has the line, the buckets have a
 * sample more than the undone count, and the reader makes the set again. */
static PLUMB_COLD void plumb_bucket_met(struct plumb_live_state *st, uint32_t index)
{
    if (st->buckets[index] == 0)
        plumb_bucket_carry(st, index);
    plumb_sketch_use(st->lines_used, index);
}

static PLUMB_ALWAYS_INLINE void plumb_add_bucket(struct plumb_live_state *st, uint32_t index)
{
    if (PLUMB_UNLIKELY(++st->buckets[index] <= 1))
        plumb_bucket_met(st, index);
}

#endif

/* lane_ring.h: the queue of a collector's lane in ring mode: nothing takes events out, and the
 * newest overwrite the oldest.
 *
 * The emitting thread always takes the next positions, and then claims each slot by compare and
 * exchange: its `seq` is the position + 1 with PLUMB_LANE_RING_BUSY until it is written. A slot
 * cannot be claimed if another thread is still writing it, a whole round later, or if a later round
 * has it: the event is then dropped and counted. Slots of arguments have PLUMB_LANE_RING_ARGS in
 * their `seq`, and are published before the event's own. */
#ifndef PLUMB_TIMELINE_LANE_RING_H
#define PLUMB_TIMELINE_LANE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "live/lane.h"

#define PLUMB_LANE_RING_BUSY (UINT64_C(1) << 63)
#define PLUMB_LANE_RING_ARGS (UINT64_C(1) << 62)

/* Where `seq` of both kinds of slots lies. */
_Static_assert(offsetof(struct plumb_live_event, seq) == 0, "first");
_Static_assert(offsetof(struct plumb_live_event_args, seq) == 0, "first");

/* True: the slot is the caller's to write, until it stores `seq` with release. */
static inline bool plumb_lane_ring_claim(union plumb_live_slot *slot, uint64_t position)
{
    uint64_t mine = position + 1, before = PLUMB_ACQUIRE(slot->event.seq);
    if (before & PLUMB_LANE_RING_BUSY || (before & ~PLUMB_LANE_RING_ARGS) >= mine)
        return false;
    if (!__atomic_compare_exchange_n(&slot->event.seq, &before, mine | PLUMB_LANE_RING_BUSY, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return true;
}

/* Copies the queue from *first up to `tail` into `out` [slots]. A slot that is incomplete, or is
 * being overwritten, gets `seq` 0. Other threads go on emitting. */
void plumb_lane_ring_copy(union plumb_live_slot *out, const union plumb_live_slot *slots,
                          uint64_t count, uint64_t tail, uint64_t *first);

#endif

/* lane_ring.c: see lane_ring.h. */
#include "timeline/lane_ring.h"

#include <string.h>

PLUMB_RACY static void copy_slot(union plumb_live_slot *out, const union plumb_live_slot *slot,
                                 uint64_t position)
{
    const uint64_t *from = (const uint64_t *)(const void *)slot;
    uint64_t *to = (uint64_t *)(void *)out, seq = PLUMB_ACQUIRE(slot->event.seq);
    to[0] = 0;
    if ((seq & ~PLUMB_LANE_RING_ARGS) != position + 1)
        return;
    for (size_t i = 1; i < sizeof *out / sizeof *to; i++)
        to[i] = PLUMB_LOAD(from[i]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (PLUMB_LOAD(slot->event.seq) == seq)
        to[0] = seq;
}

/* Whether the event at `position` has all its arguments. */
static bool is_whole(const union plumb_live_slot *copy, uint64_t count, uint64_t position,
                     uint64_t tail)
{
    const struct plumb_live_event *e = &copy[position & (count - 1)].event;
    if (e->slots == 0 || e->slots > count || position + e->slots > tail)
        return false;
    for (uint64_t i = 1; i < e->slots; i++)
        if (copy[(position + i) & (count - 1)].args.seq !=
            ((position + i + 1) | PLUMB_LANE_RING_ARGS))
            return false;
    return true;
}

void plumb_lane_ring_copy(union plumb_live_slot *out, const union plumb_live_slot *slots,
                          uint64_t count, uint64_t tail, uint64_t *first)
{
    *first = tail > count ? tail - count : 0;
    for (uint64_t p = *first; p < tail; p++)
        copy_slot(&out[p & (count - 1)], &slots[p & (count - 1)], p);
    for (uint64_t p = *first; p < tail; p++) {
        union plumb_live_slot *slot = &out[p & (count - 1)];
        if (slot->event.seq == p + 1 && !is_whole(out, count, p, tail))
            slot->event.seq = 0;
    }
}

/* plain.h: records of plain spans become packets, many at once.
 *
 * Nearly all that a trace holds are spans without arguments: two records, two packets.
 * live/trace_blocks.h hands a row of records to this file first. It takes the ones that are left
 * over one by one, and hands over the rest again. Both ways write the same bytes.
 *
 * Left over are the records that need more checks: a wide record, a name that the sequence has not
 * interned, a time before the last one or more than 2 ms after it, the end of a span that is not
 * plain, and the buffer's last bytes. It may stop anywhere; the records that it took are always
 * written correctly.
 *
 * Threads: none of its own. */
#ifndef PLUMB_TIMELINE_PLAIN_H
#define PLUMB_TIMELINE_PLAIN_H

#include "codec/perfetto.h"
#include "live/layout.h"

struct plumb_trace_plain {
    struct plumb_pf_run *run;
    struct plumb_trace_state *state; /* depth and frames move on */
    const struct plumb_trace_clock *clock;
    uint64_t base; /* ticks of the block */
    uintptr_t
        ahead;    /* distance from these records to the data that is read next, which is prefetched
                   */
    uint32_t ids; /* nodes below are names of the same number */
    uint64_t spans; /* ended */
};

/* Encodes records from words[0] on, up to `n` of them; returns how many it took. A begin is that of
 * a plain span (live/trace_blocks.h's `begin`) when phase, pipeline and step are those of the span
 * around. The caller has checked the other conditions on the state. */
typedef uint32_t plumb_trace_plain_fn(struct plumb_trace_plain *t, const uint64_t *words,
                                      uint32_t n);
plumb_trace_plain_fn plumb_trace_plain;

/* The depth down to which spans are plain, and so are their ends and the spans that begin in them.
 * A row of records may close spans down to it. UINT32_MAX: not even the innermost is plain. */
static inline uint32_t plumb_trace_plain_floor(const struct plumb_trace_state *s)
{
    uint32_t depth = s->depth;
    const struct plumb_trace_frame *f = &s->frames[depth];
    if (f->step != s->step || f->key >> PLUMB_NODE_BITS != s->group)
        return UINT32_MAX;
    for (; depth > 0 && f->flags == PLUMB_TRACE_SHOWN; depth--, f--)
        if (f[-1].step != s->step || f[-1].key >> PLUMB_NODE_BITS != s->group)
            break;
    return depth;
}

#endif

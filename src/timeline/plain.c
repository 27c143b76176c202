/* plain.c: see plain.h. It is faster than the way of single records because it checks the spans
 * around once for all records of a row, and keeps its place in registers. */
#include "timeline/plain.h"

#include "base/u128.h"

uint32_t plumb_trace_plain(struct plumb_trace_plain *t, const uint64_t *words, uint32_t n)
{
    struct plumb_trace_state *s = t->state;
    const struct plumb_trace_clock *c = t->clock;
    uint32_t floor = plumb_trace_plain_floor(s), i = 0, ends = 0;
    if (floor == UINT32_MAX || t->base < c->ticks0)
        return 0;
    struct plumb_pf_run run = *t->run;
    struct plumb_trace_frame *f = &s->frames[s->depth];
    const struct plumb_trace_frame *lowest = s->frames + floor,
                                   *highest = s->frames + PLUMB_TRACE_DEPTH - 1;
    uint64_t group = (uint64_t)s->group << PLUMB_NODE_BITS;
    for (; i < n; i++) {
        uint64_t word = words[i], ticks = t->base + plumb_record_ticks(word);
        uint64_t ns = c->ns0 + (uint64_t)((plumb_u128)(ticks - c->ticks0) * c->ns_per_tick >> 32);
        uint32_t node = plumb_record_node(word);
        if (i % 8 == 0) /* words a cache line */
            __builtin_prefetch((const void *)((uintptr_t)(words + i) + t->ahead));
        if (!plumb_pf_run_quick(&run, ns - run.last_ns))
            break;
        if ((word & 3) == PLUMB_REC_END) {
            if (f == lowest)
                break;
            plumb_pf_run_end(&run, ns);
            f--;
            ends++;
        } else {
            if ((word & 3) != PLUMB_REC_BEGIN || f == highest || node >= t->ids ||
                !plumb_pf_is_told(&run.seq->told[PLUMB_PF_NAMES], node))
                break;
            plumb_pf_run_begin(&run, ns, node);
            f++;
            f->begin_ticks = ticks;
            f->key = group | node;
            f->step = s->step;
            f->flags = PLUMB_TRACE_SHOWN;
        }
    }
    s->depth = (uint32_t)(f - s->frames);
    t->spans += ends;
    *t->run = run;
    return i;
}

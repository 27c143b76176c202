/* plain.c: see plain.h. The scalar way differs from that of single records in what it
 * need not ask: how the spans around are, it knows for all of them, and where it stands is in
 * registers. */
#include "timeline/plain.h"

#include "base/u128.h"

void plumb_trace_nesting_make(struct plumb_trace_nesting *n)
{
    for (uint32_t begins = 0; begins < 256; begins++) {
        uint32_t opens = 0, closes = 0;
        for (uint32_t i = 0; i < 8; i++) {
            if (begins >> i & 1)
                opens |= 1u << i;
            else if (opens)
                opens &= ~(1u << (31 - (uint32_t)__builtin_clz(opens))); /* the innermost */
            else
                closes++;
        }
        n->opens[begins] = (unsigned char)opens;
        n->closes[begins] = (unsigned char)closes;
    }
}

uint32_t plumb_trace_plain_scalar(struct plumb_trace_plain *t, const uint64_t *words, uint32_t n)
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

plumb_trace_plain_fn *plumb_trace_plain_pick(void)
{
#if defined(__x86_64__)
    if (plumb_trace_plain_has_avx512vbmi2())
        return plumb_trace_plain_avx512vbmi2;
#endif
    return plumb_trace_plain_scalar;
}

#if defined(__x86_64__)
bool plumb_trace_plain_has_avx512vbmi2(void)
{
    __builtin_cpu_init(); /* the compiler's own constructor may be yet to run */
    return __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512ifma") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}
#endif

/* trace_blocks.h: the one decoder of trace queues: turns slots into events, for the writer of a
 * live run and for the recovery of a killed run's trace, so they cannot disagree.
 *
 * The only state between slots is one struct plumb_trace_state per thread and reader: plain data,
 * zero before the first slot. A second sink for the same slots needs states of its own. Decoding
 * allocates nothing and cannot fail.
 *
 * Events of a thread come in the order in which they happened. Times may jump back where the clock
 * did; a sink must not let a span end before it began.
 *
 * The input may be hostile (a file): depths and lengths are checked here, nodes, groups and texts
 * by the sink. */
#ifndef PLUMB_LIVE_TRACE_BLOCKS_H
#define PLUMB_LIVE_TRACE_BLOCKS_H

#include <stdbool.h>

#include "base/atomic.h"
#include "live/layout.h"

enum plumb_trace_end {
    PLUMB_TRACE_END_SAID = 0,       /* by the program */
    PLUMB_TRACE_END_UNBALANCED = 1, /* an outer span ended, or its thread did */
    PLUMB_TRACE_END_CUT = 2         /* its end was left out: it lasted at least until now */
};
enum plumb_trace_async_how {
    PLUMB_TRACE_ASYNC_DONE = 0,
    PLUMB_TRACE_ASYNC_FAILED = 1,
    PLUMB_TRACE_ASYNC_ABANDONED = 2
};
struct plumb_trace_async {
    uint64_t begin_ticks, end_ticks;
    uint64_t key;
    uint64_t why_off;
    enum plumb_trace_async_how how;
};

/* The functions that receive events. `s` is the state of the thread; `f` of a begin or an end is
 * s->frames[s->depth]. Functions that are NULL are not called. */
struct plumb_trace_sink {
    /* The thread of the events that follow; `name` may be "". */
    void (*thread)(void *self, const struct plumb_trace_state *s, const char *name);
    /* A span without attributes: phase `inference`, with the pipeline and step of the span around
     * it. Nearly all spans are of this kind. */
    void (*begin)(void *self, uint64_t ticks, uint32_t node);
    void (*end)(void *self, uint64_t ticks);
    /* Writes as many of the next `n` words as it can at once, all of plain spans. Returns how many
     * those were: 0 if it cannot handle the first. Updates s->depth and the frames. `base`: ticks
     * of the block. The remaining words are passed one by one. */
    uint32_t (*plain)(void *self, struct plumb_trace_state *s, uint64_t base, const uint64_t *words,
                      uint32_t n);
    /* Any other span: see plumb_trace_pending() for its arguments, f->flags, s->flow. */
    void (*begin_more)(void *self, const struct plumb_trace_state *s,
                       const struct plumb_trace_frame *f);
    void (*end_more)(void *self, const struct plumb_trace_state *s,
                     const struct plumb_trace_frame *f, uint64_t ticks, enum plumb_trace_end how);
    void (*async)(void *self, const struct plumb_trace_state *s, const struct plumb_trace_async *a);
    void (*instant)(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint64_t text);
    /* `kind`: enum plumb_counter */
    void (*counter)(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint32_t kind,
                    uint64_t text, uint64_t value);
    /* A context was captured here. Its adoption comes with the next begin: s->flow. */
    void (*flow)(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint64_t flow);
    /* Work on the host begins here, on this thread: the event with this flow, in a lane. */
    void (*within)(void *self, const struct plumb_trace_state *s, uint64_t flow);
    void (*gap)(void *self, const struct plumb_trace_state *s, const struct plumb_trace_gap *gap);
    void (*jumped)(void *self, const struct plumb_trace_state *s, uint64_t from, uint64_t to);
    /* A sample of `key` that the program measured: `kind` PLUMB_SAMPLE_HOST or _DEVICE. It has no
     * place in time. Those of collectors are events in lanes as well, and are not passed. */
    void (*measured)(void *self, const struct plumb_trace_state *s, uint64_t key, uint32_t kind,
                     uint64_t ns);
};

/* Selects the spans that are shown. `wants` is called at each begin, with the frame in place, and
 * with `f` NULL for events that are not spans. If there is a `next`, it must want the event too. */
struct plumb_trace_filter {
    bool (*wants)(const struct plumb_trace_filter *self, const struct plumb_trace_state *s,
                  const struct plumb_trace_frame *f);
    const void *arg;
    const struct plumb_trace_filter *next;
};

struct plumb_trace_decoder {
    const struct plumb_trace_sink *sink;
    void *self;
    const struct plumb_trace_filter *filter; /* NULL: everything */
    struct plumb_trace_state *s;
};

/* Decodes one slot: passes events to the sink and updates the state. The second decodes `words` of
 * a ring block that is not in a slot, as plumb_trace_slot() would. The third decodes the gap that
 * was open when the thread stopped. */
void plumb_trace_slot(const struct plumb_trace_decoder *d, const struct plumb_trace_slot *slot);
void plumb_trace_gap_slot(const struct plumb_trace_decoder *d, const struct plumb_trace_gap *gap);
/* Decodes a slot whose begin is not in the trace: what was before `from_ticks` is followed and not
 * passed on. Then the spans that are open there begin, at their own times. 3 KiB of stack. */
void plumb_trace_slot_from(const struct plumb_trace_decoder *d, const struct plumb_trace_slot *slot,
                           uint64_t from_ticks);

/* ---- Arguments of spans ---------------------------------------------------------------------- */

/* Returns the records that are written with the end of the span at `depth` (or, a stack, with its
 * begin), one a call: `at` is 0 for the first; NULL after the last. */
const uint64_t *plumb_trace_pending(const struct plumb_trace_state *s, uint32_t depth,
                                    uint32_t *at);

/* ---- For trace_blocks.c and the sinks: the inlined form -------------------------------------- */

bool plumb_trace_wants(const struct plumb_trace_filter *filter, const struct plumb_trace_state *s,
                       const struct plumb_trace_frame *f);
/* Decodes everything about a slot except its words. Returns false if it has no words to decode. */
bool plumb_trace_enter_slot(const struct plumb_trace_decoder *d,
                            const struct plumb_trace_slot *slot);
void plumb_trace_wide(const struct plumb_trace_decoder *d, const uint64_t *w, uint32_t n,
                      uint64_t ticks);
/* Ends a span with attributes, or one that is not shown. */
void plumb_trace_end_long(const struct plumb_trace_decoder *d, struct plumb_trace_frame *f,
                          uint64_t ticks);
void plumb_trace_begin_long(const struct plumb_trace_decoder *d, struct plumb_trace_frame *f);

/* After few words could be taken together, so many are taken singly before the next try. */
enum { PLUMB_TRACE_ONE_BY_ONE = 8 };

/* Returns whether begins need more than a check of the step. */
static PLUMB_ALWAYS_INLINE bool plumb_trace_is_special(const struct plumb_trace_decoder *d)
{
    return d->filter || d->s->group & 0xff || d->s->flow || d->s->pending_words;
}

/* Decodes the words of a block. `sink` is d->sink, passed as a constant, so the functions of a
 * constant sink are inlined here. */
static PLUMB_ALWAYS_INLINE void plumb_trace_words(const struct plumb_trace_decoder *d,
                                                  const struct plumb_trace_sink *sink,
                                                  const uint64_t *words, uint32_t n)
{
    struct plumb_trace_state *s = d->s;
    const uint64_t *w = words + PLUMB_BLOCK_HEAD, *end = words + n;
    uint64_t base = words[0], ticks = base, group = (uint64_t)s->group << PLUMB_NODE_BITS;
    struct plumb_trace_frame *f = s->frames + s->depth;
    const uint64_t *again = w;
    bool special = plumb_trace_is_special(d);
    while (w < end) {
        uint64_t word;
        if (sink->plain && w >= again && !special) {
            uint32_t taken;
            s->depth = (uint32_t)(f - s->frames);
            taken = sink->plain(d->self, s, base, w, (uint32_t)(end - w));
            f = s->frames + s->depth;
            w += taken;
            again = w + (taken < PLUMB_TRACE_ONE_BY_ONE ? PLUMB_TRACE_ONE_BY_ONE : 1);
            ticks = taken ? base + plumb_record_ticks(w[-1]) : ticks;
            if (w == end)
                break;
        }
        word = *w;
        uint32_t kind = word & 3;
        if (kind == PLUMB_REC_NONE)
            break;
        ticks = base + plumb_record_ticks(word);
        if (kind == PLUMB_REC_END) {
            w++;
            if (PLUMB_UNLIKELY(f == s->frames))
                continue;
            if (PLUMB_LIKELY(f->flags == PLUMB_TRACE_SHOWN)) {
                sink->end(d->self, ticks);
            } else {
                s->depth = (uint32_t)(f - s->frames);
                plumb_trace_end_long(d, f, ticks);
                special = plumb_trace_is_special(d);
            }
            f--;
        } else if (kind == PLUMB_REC_BEGIN) {
            w++;
            if (PLUMB_UNLIKELY(f == s->frames + PLUMB_TRACE_DEPTH - 1))
                continue;
            f++;
            f->begin_ticks = ticks;
            f->key = group | plumb_record_node(word);
            f->step = s->step;
            f->flags = PLUMB_TRACE_SHOWN;
            if (PLUMB_LIKELY(!special && f->step == f[-1].step &&
                             f->key >> PLUMB_NODE_BITS == f[-1].key >> PLUMB_NODE_BITS)) {
                sink->begin(d->self, ticks, plumb_record_node(word));
            } else {
                s->depth = (uint32_t)(f - s->frames);
                plumb_trace_begin_long(d, f);
                special = plumb_trace_is_special(d);
            }
        } else {
            uint32_t length = (uint32_t)(word >> 8) & 255;
            if (kind != PLUMB_REC_WIDE || length < 2 || length > end - w)
                break;
            s->depth = (uint32_t)(f - s->frames);
            plumb_trace_wide(d, w, length, ticks);
            f = s->frames + s->depth;
            group = (uint64_t)s->group << PLUMB_NODE_BITS;
            special = plumb_trace_is_special(d);
            w += length;
        }
    }
    s->depth = (uint32_t)(f - s->frames);
    s->last_ticks = ticks;
}

#endif

/* enter.h: entering the runtime, and spans in parts, for the code that builds on them. Defined in
 * record/span/span.c and close.c. */
#ifndef PLUMB_RECORD_RUNTIME_ENTER_H
#define PLUMB_RECORD_RUNTIME_ENTER_H

#include "base/clock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"

/* Returns whether the record's block lies in `run`, regardless of its present thread. */
static inline bool plumb_belongs(const struct plumb_thread *th, const struct plumb_run *run)
{
    return run && PLUMB_ACQUIRE(th->generation) == run->generation && th->live;
}

/* Returns the run of a thread that is inside: it stays open until the thread leaves. NULL: the
 * thread was held up so long that its run was ended without it. */
static inline struct plumb_run *plumb_run_inside(const struct plumb_thread *th)
{
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    return plumb_belongs(th, run) ? run : NULL;
}

/* Begins a span that is not a stage; `th` as from plumb_attached(). */
plumb_span plumb_begin_plain(struct plumb_thread *th, uint32_t node);
/* The same in parts: the first waits for the device, if the settings want that. The second begins
 * the span inside enter, at `*ticks` if that is not NULL. The third reports it to tools, outside
 * again. */
void plumb_begin_wait(struct plumb_thread *th, uint32_t node);
plumb_span plumb_begin_inside(struct plumb_in in, uint32_t node, uint64_t *ticks);
void plumb_begin_report(struct plumb_thread *th, uint32_t node);
/* Returns the calling thread's record, attached to the open run. NULL: no run, or this is a signal
 * handler that interrupted plumb. */
struct plumb_thread *plumb_attached(void);
void plumb_api_fill(struct plumb_api *api, enum plumb_clock_source clock);
/* Enters the runtime: until plumb_leave() the open run stays, and signal handlers on this thread
 * record nothing. Returns false if that is not possible now (busy, not recording). */
bool plumb_enter(struct plumb_in *in, bool even_if_off);
void plumb_leave(struct plumb_in in);
/* Appends a wide record: words 1 .. n-1 from `payload`. Inside enter/leave. */
void plumb_wide(struct plumb_in in, enum plumb_wide kind, uint32_t small, const uint64_t *payload,
                uint32_t n);
/* Returns ticks x 1000 of a round that calls `work` (NULL: nothing) in a span or, without `mark`,
 * alone. */
uint64_t plumb_calibrate_span(struct plumb_in in, int spans, void (*work)(void *arg), void *arg,
                              bool mark);

/* Closes the spans deeper than `depth` as unbalanced. Inside enter. */
void plumb_close_to(struct plumb_in in, uint32_t depth, enum plumb_close why);

/* Returns block `number` of the thread's ring. */
static inline uint64_t *plumb_ring_block(struct plumb_in in, uint64_t number)
{
    const struct plumb_live_thread *live = in.th->live;
    return PLUMB_AT(in.run, uint64_t, live->ring_off) + number % live->blocks * PLUMB_BLOCK_WORDS;
}

#endif

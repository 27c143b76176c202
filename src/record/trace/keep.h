/* keep.h: when the newest records are to be kept (ring mode): a signal, or a span that took
 * too long. Under life_lock, or by the writer alone. */
#ifndef PLUMB_RECORD_TRACE_KEEP_H
#define PLUMB_RECORD_TRACE_KEEP_H

#include "config/keep_rules.h"
#include "record/trace/trace.h"

/* Where a look at a thread's spans has come to. */
struct plumb_keep_watch {
    uint64_t slots, block;
    uint32_t word;
};
/* Looks at what has ended since the last look at this thread; true: one of them was too slow, and
 * `why` [PLUMB_KEEP_WHY] says which and how long. */
bool plumb_keep_look(struct plumb_keep_watch *w, const struct plumb_keep_rules *rules,
                     const struct plumb_trace_live *t, struct plumb_live_thread *live, char *why);

/* PLUMB_KEEP_SIGNAL: taken where the program leaves it alone, and given back. */
void plumb_keep_signal_take(const char *name);
void plumb_keep_signal_give_back(void);

#endif

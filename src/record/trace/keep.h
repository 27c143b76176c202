/* keep.h: the conditions under which the newest records are kept (ring mode): a signal, or a span
 * that took too long. Under life_lock, or by the writer alone. */
#ifndef PLUMB_RECORD_TRACE_KEEP_H
#define PLUMB_RECORD_TRACE_KEEP_H

#include "config/keep_rules.h"
#include "record/trace/trace.h"

/* The position of the looks at a thread's spans. */
struct plumb_keep_watch {
    uint64_t slots, block;
    uint32_t word;
};
/* Looks at the spans that have ended since the last look at this thread. Returns whether one was
 * too slow; then `why` [PLUMB_KEEP_WHY] has its name and duration. */
bool plumb_keep_look(struct plumb_keep_watch *w, const struct plumb_keep_rules *rules,
                     const struct plumb_trace_live *t, struct plumb_live_thread *live, char *why);

/* PLUMB_KEEP_SIGNAL: sets a handler if the program has none, and removes it again. */
void plumb_keep_signal_take(const char *name);
void plumb_keep_signal_give_back(void);

#endif

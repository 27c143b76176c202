/* count.h: counts of a kind, by node, phase, step and name (cell.c), and the sums of each thread,
 * which answer what was counted since a moment (tally.c). All of it is called inside enter. */
#ifndef PLUMB_RECORD_COUNT_COUNT_H
#define PLUMB_RECORD_COUNT_COUNT_H

#include "record/runtime/enter.h"
#include <plumb/count.h>

/* An event that is counted. Of copies and allocations `value` is bytes, and the kind is the one of
 * the number; the kind after it is counted as well. */
struct plumb_count_event {
    uint32_t kind; /* enum plumb_count_kind */
    uint32_t group, node;
    int64_t step;     /* < 0: outside steps */
    const char *name; /* copied */
    uint64_t calls;
    int64_t value;
};

/* Returns an event of the calling thread's innermost node, phase and step, that counts 1. */
struct plumb_count_event plumb_count_here(struct plumb_in in, uint32_t kind, const char *name);

/* ---- cell.c: the mapping --------------------------------------------------------------------- */

/* Adds the event to its cell, which the first one makes under the lock. Any thread; may be called
 * under the ledger's lock, and by plumb's own threads. 25 ns. */
void plumb_cell_add(struct plumb_run *run, const struct plumb_count_event *e);

/* ---- tally.c: the calling thread ------------------------------------------------------------- */

/* Adds the event to the sums of the calling thread. */
void plumb_tally_add(struct plumb_thread *th, const struct plumb_count_event *e);
/* Notes which spans are open now, so that sums that follow are theirs. For events that are summed
 * up elsewhere first: call it before the first of them. */
void plumb_tally_settle(struct plumb_thread *th);
/* Adds the allocations that th->sized.now has more than th->sized.tallied. */
void plumb_tally_pull(struct plumb_thread *th);

/* Both. */
static inline void plumb_count_raise(struct plumb_in in, const struct plumb_count_event *e)
{
    plumb_tally_add(in.th, e);
    plumb_cell_add(in.run, e);
}

/* ---- get.c, tally.c: the function table ------------------------------------------------------ */

void plumb_count_add_impl(uint32_t kind, const char *name, int64_t n);
int64_t plumb_count_get_impl(const plumb_count_scope *scope, uint32_t kind, const char *name);
void plumb_counted_begin_impl(plumb_counted *out);
int64_t plumb_counted_get_impl(const plumb_counted *since, uint32_t kind, const char *name);

#endif

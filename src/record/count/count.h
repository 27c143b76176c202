/* count.h: counts of a kind, by node, phase, step and name (cell.c), and the sums of each thread,
 * which answer what was counted since a moment (tally.c). All of it is called inside enter. */
#ifndef PLUMB_RECORD_COUNT_COUNT_H
#define PLUMB_RECORD_COUNT_COUNT_H

#include "record/runtime/enter.h"
#include "record/runtime/open_spans.h"
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

/* Sets an event of the calling thread's innermost node, phase and step, that counts `value`. Not
 * returned: a copy in wide words of what was written in narrow ones waits for the writes. */
static inline void plumb_count_here(struct plumb_count_event *out, struct plumb_thread *th,
                                    uint32_t kind, const char *name, int64_t value)
{
    out->kind = kind;
    out->group = th->group;
    out->node = plumb_innermost_node(th);
    out->step = th->step;
    out->name = name;
    out->calls = 1;
    out->value = value;
}

/* ---- cell.c: the mapping --------------------------------------------------------------------- */

/* Adds the event to its cell, which the first one makes under the lock. Any thread; may be called
 * under the ledger's lock, and by plumb's own threads. 20 ns. */
void plumb_cell_add(struct plumb_run *run, const struct plumb_count_event *e);

/* Adds a figure of a run of a stage (plumb_count_is_of_stage) to the cell of its step; of peaks the
 * highest stays. A reset of the statistics empties the cell. Under the ledger's lock. */
void plumb_cell_add_of_stage(struct plumb_run *run, const struct plumb_count_event *e);

/* Where a name was counted last by the calling thread. The pointers are of the run `generation`. */
struct plumb_count_recent {
    uint32_t sum; /* 1 + its place in the sums, which stands for kind and name; 0: none */
    uint32_t generation;
    struct plumb_live_count *count; /* NULL: none */
    struct plumb_live_cell *cell;   /* NULL: none */
};
/* Likewise; looks at `recent` first, and leaves the cell there. NULL: nothing. Returns false if the
 * event was dropped, as there is no place for a cell. 15 ns. */
bool plumb_cell_add_recent(struct plumb_run *run, const struct plumb_count_event *e,
                           struct plumb_count_recent *recent);

/* ---- tally.c: the calling thread ------------------------------------------------------------- */

/* Adds the event to the sums of the calling thread. Returns where its name was counted last; NULL:
 * it has no place in the sums. */
struct plumb_count_recent *plumb_tally_add(struct plumb_thread *th,
                                           const struct plumb_count_event *e);
/* Notes which spans are open now, so that sums that follow are theirs. For events that are summed
 * up elsewhere first: call it before the first of them. */
void plumb_tally_settle(struct plumb_thread *th);
/* Adds the allocations that th->sized.now has more than th->sized.tallied. */
void plumb_tally_pull(struct plumb_thread *th);

/* Both. */
static inline void plumb_count_raise(struct plumb_in in, const struct plumb_count_event *e)
{
    plumb_cell_add_recent(in.run, e, plumb_tally_add(in.th, e));
}

/* Returns the sum of a user count (NULL: of all) in a pipeline (UINT32_MAX: in all). */
int64_t plumb_count_user_sum(struct plumb_run *run, uint32_t pipeline, const char *name);

/* ---- get.c, tally.c: the function table ------------------------------------------------------ */

void plumb_count_add_impl(uint32_t kind, const char *name, int64_t n);
int64_t plumb_count_get_impl(const plumb_count_scope *scope, uint32_t kind, const char *name);
void plumb_counted_begin_impl(plumb_counted *out);
int64_t plumb_counted_get_impl(const plumb_counted *since, uint32_t kind, const char *name);

#endif

/* steps.h: steps in a trace, as profilers understand them: those of the thread that runs the loop.
 */
#ifndef PLUMB_REPORT_EXPORT_STEPS_H
#define PLUMB_REPORT_EXPORT_STEPS_H

#include "report/export/tracks.h"

struct plumb_export_step {
    bool known;
    uint32_t parent; /* slice; PLUMB_TABLE_NONE: none */
    int64_t step;
};

/* Returns the step of a slice; `key` is the number of the text "step". */
struct plumb_export_step plumb_export_step_of(const struct plumb_table *t, uint32_t slice,
                                              uint32_t key);
static inline bool plumb_export_same_step(struct plumb_export_step a, struct plumb_export_step b)
{
    return a.known && b.known && a.parent == b.parent && a.step == b.step;
}

/* Chooses one thread of each process, the one with the most different steps. Among equals the
 * steps of a thread that adopts contexts belong to the other, and the main thread comes first.
 * Returns a flag for each track, to be freed with free(); NULL: out of memory. */
uint8_t *plumb_export_steppers(const struct plumb_table *t, const struct plumb_export_track *tracks,
                               uint32_t key);

#endif

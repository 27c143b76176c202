/* count_kind.h: facts about the kinds of counts (enum plumb_count_kind). */
#ifndef PLUMB_MODEL_COUNT_KIND_H
#define PLUMB_MODEL_COUNT_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/count.h>

/* Returns whether a count is a figure of the runs of a stage, with the stages inside it: peaks,
 * page faults, instructions. Cells have those of steps; the stage has those of the whole run. */
static inline bool plumb_count_is_of_stage(uint32_t kind)
{
    return kind >= PLUMB_COUNT_PEAK_BYTES && kind <= PLUMB_COUNT_INSTRUCTIONS;
}

#endif

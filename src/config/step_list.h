/* step_list.h: "10-12,40": which steps of a loop. Blanks around numbers do not count. Plain data.
 */
#ifndef PLUMB_CONFIG_STEP_LIST_H
#define PLUMB_CONFIG_STEP_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/abi.h>

enum { PLUMB_STEP_RANGES = 64 };
struct plumb_step_list {
    uint32_t count;
    struct {
        uint64_t from, to; /* both in it */
    } range[PLUMB_STEP_RANGES];
};

/* PLUMB_ERR_ARG, with `out` as it was: an entry that is neither a number nor two with a minus
 * between, a range that goes backwards, more than 64 of them, or none at all. */
int plumb_step_list_parse(struct plumb_step_list *out, const char *text, plumb_error *err);
/* A step below zero is none. */
bool plumb_step_list_has(const struct plumb_step_list *l, int64_t step);

#endif

/* step_list.h: lists of steps, as "10-12,40": which steps of a loop are meant. Plain data, no
 * memory of its own, any thread.
 *
 *     text  = "" | entry *("," entry) [","]
 *     entry = step | step "-" step      both ends are in the range, the second is not the lower one
 *     step  = 1*DIGIT                   at most INT64_MAX, the highest step that a program can open
 *
 * Blanks and tabs may stand around each of these. Entries may overlap and come in any order. A
 * comma at the end is allowed, because scripts build lists as "$step,". An empty entry elsewhere is
 * refused: in "0,$x,5" with an empty x a step that the user wants is missing, and the list without
 * it would silently select less. An empty or blank text is the list that selects every step,
 * because it is the value of a setting that is not set. */
#ifndef PLUMB_CONFIG_STEP_LIST_H
#define PLUMB_CONFIG_STEP_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/error.h>

enum { PLUMB_STEP_RANGES = 64 };
struct plumb_step_list {
    uint32_t count; /* 0: every step */
    struct {
        int64_t from, to; /* both in it */
    } range[PLUMB_STEP_RANGES];
};

/* Reads the list `text`. PLUMB_ERR_ARG, with `out` as it was: the text is not a list, or one of
 * more than PLUMB_STEP_RANGES entries. */
int plumb_step_list_parse(struct plumb_step_list *out, const char *text, plumb_error *err);
/* Returns whether the list has `step`. A negative one stands for "no step", which only the list of
 * every step has. */
bool plumb_step_list_has(const struct plumb_step_list *l, int64_t step);

#endif

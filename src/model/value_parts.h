/* value_parts.h: the inputs and outputs of stages by the names that they are recorded under. */
#ifndef PLUMB_MODEL_VALUE_PARTS_H
#define PLUMB_MODEL_VALUE_PARTS_H

#include <plumb/value.h>

/* Takes one named value; `name` may be NULL, which stands for "". */
typedef void (*plumb_part_fn)(void *arg, const char *name, const plumb_value *value);

/* Calls `fn` for a value, or, for a mapping outside of lists, for each of its fields with its path:
 * "cond.text". An empty mapping counts as itself. Paths are cut at 511 bytes. */
void plumb_each_part(const char *name, const plumb_value *value, plumb_part_fn fn, void *arg);

#endif

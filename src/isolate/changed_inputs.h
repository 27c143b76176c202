/* changed_inputs.h: finds the inputs that a stage changed although it must not: each run but the
 * first had other values, and the runs are not alike. Reads all inputs once before and once after
 * the runs; any thread. */
#ifndef PLUMB_ISOLATE_CHANGED_INPUTS_H
#define PLUMB_ISOLATE_CHANGED_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include <plumb/value.h>

/* Returns a hash of each of the `count` inputs, to be freed; NULL: out of memory. */
uint64_t *plumb_inputs_hash(const plumb_field *inputs, size_t count);
/* Writes a line about the first input that has another hash than before. */
void plumb_inputs_remark_changed(struct plumb_buf *remarks, const uint64_t *before,
                                 const plumb_field *inputs, size_t count);

#endif

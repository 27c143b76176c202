/* public_row.h: the figures of a row as the public interface has them. */
#ifndef PLUMB_MODEL_PUBLIC_ROW_H
#define PLUMB_MODEL_PUBLIC_ROW_H

#include "model/timing.h"
#include <plumb/summary.h>

/* Fills everything but the names. `std_ns`: n->host.std_ns, as the mapping has it, or the deviation
 * of n->host.ns. */
void plumb_public_row(plumb_row *out, const struct plumb_timing_node *n, double std_ns);

#endif

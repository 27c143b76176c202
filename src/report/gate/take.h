/* take.h: results become values of a gate: reports of recordings, and JSON of benchmarks and
 * counts. One thread. */
#ifndef PLUMB_REPORT_GATE_TAKE_H
#define PLUMB_REPORT_GATE_TAKE_H

#include "analyze/gate/gate.h"
#include "model/timing.h"
#include "read/json/tree.h"

/* from_run.c: times, memory and counts of a recording. Texts are copied. PLUMB_ERR_MEMORY. */
int plumb_gate_take_run(struct plumb_gate_case *g, enum plumb_gate_side side,
                        const struct plumb_timing *t, const char *path, plumb_error *err);

/* from_json.c: a document of google/benchmark, of pytest-benchmark, of plumb bench and plumb ab, or
 * of plumb report counts. A file of plumb ab has both variants: the first becomes the old side, and
 * `side` is not looked at. Texts are copied. PLUMB_ERR_FORMAT: it is another document, or has no
 * values; PLUMB_ERR_MEMORY. */
int plumb_gate_take_json(struct plumb_gate_case *g, enum plumb_gate_side side,
                         const struct plumb_json_value *root, const char *path, plumb_error *err);

#endif

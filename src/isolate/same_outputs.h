/* same_outputs.h: whether a stage that ran alone with captured inputs gave out what the captured
 * call gave out in the pipeline. Any thread. */
#ifndef PLUMB_ISOLATE_SAME_OUTPUTS_H
#define PLUMB_ISOLATE_SAME_OUTPUTS_H

#include "base/buf.h"
#include "isolate/inputs.h"
#include <plumb/read/bench.h>

/* Fills outputs_equal and outputs_compared of `result`, whose shape, steps and outputs_vary are
 * there, and adds sentences to `remarks`, one line each. `run`: the outputs of its last run, by
 * name. */
void plumb_same_outputs(plumb_bench_result *result, struct plumb_buf *remarks,
                        const struct plumb_inputs *inputs, const struct plumb_value_hashes *run);

#endif

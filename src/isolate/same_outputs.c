#include "isolate/same_outputs.h"

#include <inttypes.h>

/* A run is what was captured. */
static bool is_captured_part(const plumb_bench_result *r, const struct plumb_inputs *inputs)
{
    bool by_step = r->shape == PLUMB_BENCH_STEP && inputs->call_step >= 0;
    int64_t step = by_step ? inputs->call_step : inputs->step;
    if (r->shape == PLUMB_BENCH_WHOLE)
        return step < 0;
    if (step >= 0)
        return r->first_step == step && r->steps == 1;
    return r->first_step == 0 && r->loop_steps > 0 && r->steps == r->loop_steps;
}

/* Returns why nothing can be compared, or NULL. */
static const char *obstacle(const plumb_bench_result *r, const struct plumb_inputs *inputs)
{
    if (!inputs->exact)
        return "an input could not be captured, and was made up";
    if (!inputs->outputs || inputs->outputs->count == 0)
        return inputs->step >= 0 ? "the captured step named none (plumb_stage_output() in the loop)"
                                 : "the captured call named none (plumb_stage_output())";
    if (!is_captured_part(r, inputs))
        return inputs->step >= 0 ? "a run is not the captured step alone"
                                 : "a run is not the whole captured call";
    return NULL;
}

static void say_differs(const plumb_bench_result *r, struct plumb_buf *remarks, const char *name)
{
    plumb_buf_printf(remarks,
                     "warning: output '%.200s' is not the one of the captured call: the isolated "
                     "run has another result; %s\n",
                     name,
                     r->outputs_vary
                         ? "likely cause: the stage does not compute the same twice"
                         : "likely causes: the library is built differently, another "
                           "configuration, or state that the stage kept from earlier steps");
}

void plumb_same_outputs(plumb_bench_result *r, struct plumb_buf *remarks,
                        const struct plumb_inputs *inputs, const struct plumb_value_hashes *run)
{
    const char *why = obstacle(r, inputs), *differs = NULL, *alone = NULL;
    r->outputs_equal = PLUMB_BENCH_NOT_COMPARED;
    r->outputs_compared = 0;
    for (uint32_t i = 0; !why && i < inputs->outputs->count; i++) {
        const struct plumb_named_hash *there = &inputs->outputs->at[i];
        const struct plumb_named_hash *here = plumb_value_hashes_find(run, there->name);
        if (!here || !here->known || !there->known) {
            alone = alone ? alone : there->name;
            continue;
        }
        r->outputs_compared++;
        if (here->hash != there->hash && !differs)
            differs = there->name;
    }
    if (r->outputs_compared > 0)
        r->outputs_equal = differs ? PLUMB_BENCH_DIFFER : PLUMB_BENCH_EQUAL;
    if (differs)
        say_differs(r, remarks, differs);
    if (why)
        plumb_buf_printf(remarks, "outputs are not compared with those of the pipeline: %s\n", why);
    else if (alone)
        plumb_buf_printf(remarks,
                         "output '%.200s' of the captured call is not compared: the run alone does "
                         "not give it (plumb_call_output()), or the host cannot read it\n",
                         alone);
}

/* settings_idle.c: settings without effect, because the feature that they configure is off. They
 * are reported; they never switch that feature on. */
#include <string.h>

#include "config/settings.h"

enum need { NEEDS_TRACE = 1, NEEDS_RING = 2, NEEDS_ACTIVATIONS = 4, NEEDS_CAPTURE = 8 };

static const struct {
    const char *why, *cure;
} of_need[] = {
    [NEEDS_TRACE] = {"without a trace", "PLUMB_TRACE=1"},
    [NEEDS_RING] = {"because the trace is not kept in a ring", "PLUMB_TRACE_MODE=ring"},
    [NEEDS_TRACE | NEEDS_RING] = {"without a trace that is kept in a ring",
                                  "PLUMB_TRACE=1 PLUMB_TRACE_MODE=ring"},
    [NEEDS_ACTIVATIONS] = {"without activations", "PLUMB_ACTIVATIONS=1"},
    [NEEDS_CAPTURE] = {"without a stage to capture", "PLUMB_CAPTURE=STAGE"},
};

bool plumb_settings_trace_is_on(const struct plumb_settings *s)
{
    return s->trace || s->regions[0] || s->trace_nodes[0];
}

static bool differs(const char *variable, const char *value)
{
    const struct plumb_setting *setting = plumb_setting_find(variable);
    return setting && strcmp(setting->default_text, value) != 0;
}

bool plumb_settings_idle(const struct plumb_settings *s, size_t i, struct plumb_idle *out)
{
    const struct {
        const char *variable;
        bool set;
        unsigned needs;
    } all[] = {
        {"PLUMB_KEEP_IF", s->keep_if[0], NEEDS_TRACE | NEEDS_RING},
        {"PLUMB_KEEP_SIGNAL", s->keep_signal[0], NEEDS_TRACE | NEEDS_RING},
        {"PLUMB_TRACE_MODE", s->trace_mode == PLUMB_TRACE_RING, NEEDS_TRACE},
        {"PLUMB_TRACE_STEPS", s->trace_steps[0], NEEDS_TRACE},
        {"PLUMB_TRACE_SHAPES", s->trace_shapes, NEEDS_TRACE},
        {"PLUMB_TRACE_MEMORY", s->trace_memory, NEEDS_TRACE},
        {"PLUMB_TRACE_FLOPS", s->trace_flops, NEEDS_TRACE},
        {"PLUMB_TRACE_STACK", s->trace_stack, NEEDS_TRACE},
        {"PLUMB_ACTIVATIONS_LAYERS", s->activations_layers[0], NEEDS_ACTIVATIONS},
        {"PLUMB_ACTIVATIONS_STATS", differs("PLUMB_ACTIVATIONS_STATS", s->activations_stats),
         NEEDS_ACTIVATIONS},
        {"PLUMB_ACTIVATIONS_STEPS", s->activations_steps[0], NEEDS_ACTIVATIONS},
        {"PLUMB_ACTIVATIONS_OUTPUT", s->activations_output[0], NEEDS_ACTIVATIONS},
        {"PLUMB_ACTIVATIONS_APPEND", s->activations_append, NEEDS_ACTIVATIONS},
        {"PLUMB_ACTIVATIONS_QUEUE", s->activations_queue == PLUMB_ACTIVATIONS_DROP,
         NEEDS_ACTIVATIONS},
        {"PLUMB_ACTIVATIONS_DUMP", s->activations_dump[0], NEEDS_ACTIVATIONS},
        {"PLUMB_CAPTURE_BYTES", s->capture_bytes != UINT64_C(1) << 30, NEEDS_CAPTURE},
    };
    unsigned missing = (plumb_settings_trace_is_on(s) ? 0 : NEEDS_TRACE) |
                       (s->trace_mode == PLUMB_TRACE_RING ? 0 : NEEDS_RING) |
                       (s->activations ? 0 : NEEDS_ACTIVATIONS) |
                       (s->capture[0] ? 0 : NEEDS_CAPTURE);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        unsigned lacks = all[k].needs & missing;
        if (!all[k].set || !lacks || i-- > 0)
            continue;
        *out = (struct plumb_idle){all[k].variable, of_need[lacks].why, of_need[lacks].cure};
        return true;
    }
    return false;
}

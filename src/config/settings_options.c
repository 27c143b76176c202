/* settings_options.c: the options a program passes to plumb_start(). No state.
 *
 * Unlike a variable, which the user of a program sets, a wrong field is the programmer's mistake:
 * it is refused, not clamped. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "config/settings.h"
#include <plumb/summary.h>

static int apply_switch(bool *to, uint32_t value, const char *field, plumb_error *err)
{
    if (value > PLUMB_OFF)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_options.%s is %" PRIu32 ", not a plumb_switch",
                          field, value);
    if (value != PLUMB_DEFAULT)
        *to = value == PLUMB_ON;
    return PLUMB_OK;
}

static int apply_string(char *to, size_t size, const char *value, const char *field,
                        plumb_error *err)
{
    size_t len = value ? strlen(value) : 0;
    if (len >= size)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_options.%s is longer than %zu bytes", field,
                          size - 1);
    if (len > 0)
        memcpy(to, value, len + 1);
    return PLUMB_OK;
}

static int apply_number(uint64_t *to, uint64_t value, const char *name, plumb_error *err)
{
    const struct plumb_setting *setting = plumb_setting_find(name);
    if (value != 0 && (value < setting->min || value > setting->max))
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "plumb_options: %" PRIu64 " for %s is not between %" PRIu64
                          " and %" PRIu64,
                          value, name, setting->min, setting->max);
    if (value != 0)
        *to = value;
    return PLUMB_OK;
}

/* The public enumerations have the order of the setting's choices; the first is the default. */
static int apply_choice(uint32_t *to, uint32_t value, const char *name, const char *field,
                        plumb_error *err)
{
    const char *choices = plumb_setting_find(name)->choices;
    uint32_t last = 0;
    for (const char *p = strchr(choices, '|'); p; p = strchr(p + 1, '|'))
        last++;
    if (value > last)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "plumb_options.%s is %" PRIu32 ", not 0 to %" PRIu32 " (%s)", field,
                          value, last, choices);
    if (value != 0)
        *to = value;
    return PLUMB_OK;
}

static int apply_strings(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    if (apply_string(s->dir, sizeof s->dir, o->dir, "dir", err) < 0 ||
        apply_string(s->run_dir, sizeof s->run_dir, o->run_dir, "run_dir", err) < 0 ||
        apply_string(s->pipeline, sizeof s->pipeline, o->pipeline, "pipeline", err) < 0 ||
        apply_string(s->collect, sizeof s->collect, o->collect, "collect", err) < 0)
        return PLUMB_ERR_ARG;
    return apply_string(s->timing_report, sizeof s->timing_report, o->timing_report,
                        "timing_report", err);
}

static int apply_trace_strings(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    if (apply_string(s->keep_signal, sizeof s->keep_signal, o->keep_signal, "keep_signal", err) <
            0 ||
        apply_string(s->keep_if, sizeof s->keep_if, o->keep_if, "keep_if", err) < 0 ||
        apply_string(s->trace_steps, sizeof s->trace_steps, o->trace_steps, "trace_steps", err) <
            0 ||
        apply_string(s->regions, sizeof s->regions, o->regions, "regions", err) < 0)
        return PLUMB_ERR_ARG;
    return apply_string(s->trace_nodes, sizeof s->trace_nodes, o->trace_nodes, "trace_nodes", err);
}

static int apply_nvtx(uint32_t *to, uint32_t value, plumb_error *err)
{
    if (value > PLUMB_NVTX_ALWAYS)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "plumb_options.nvtx is %" PRIu32 ", not a plumb_nvtx_choice", value);
    if (value != PLUMB_NVTX_DEFAULT)
        *to = value;
    return PLUMB_OK;
}

/* The fields of the trace. */
static int apply_trace(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    if (apply_trace_strings(s, o, err) < 0 || apply_switch(&s->trace, o->trace, "trace", err) < 0 ||
        apply_choice(&s->trace_mode, o->trace_mode, "PLUMB_TRACE_MODE", "trace_mode", err) < 0 ||
        apply_number(&s->trace_max_bytes, o->trace_max_bytes, "PLUMB_TRACE_MAX", err) < 0 ||
        apply_number(&s->trace_ring_bytes, o->trace_ring_bytes, "PLUMB_TRACE_RING", err) < 0 ||
        apply_switch(&s->trace_shapes, o->trace_shapes, "trace_shapes", err) < 0 ||
        apply_switch(&s->trace_memory, o->trace_memory, "trace_memory", err) < 0 ||
        apply_switch(&s->trace_flops, o->trace_flops, "trace_flops", err) < 0 ||
        apply_switch(&s->trace_stack, o->trace_stack, "trace_stack", err) < 0 ||
        apply_number(&s->trace_stack_depth, o->trace_stack_depth, "PLUMB_TRACE_STACK_DEPTH", err) <
            0 ||
        apply_choice(&s->region_scope, o->region_scope, "PLUMB_REGION_SCOPE", "region_scope", err) <
            0)
        return PLUMB_ERR_ARG;
    return apply_nvtx(&s->nvtx, o->nvtx, err);
}

static int apply_activations(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    if (apply_switch(&s->activations, o->activations, "activations", err) < 0 ||
        apply_switch(&s->activations_append, o->activations_append, "activations_append", err) <
            0 ||
        apply_choice(&s->activations_queue, o->activations_queue, "PLUMB_ACTIVATIONS_QUEUE",
                     "activations_queue", err) < 0 ||
        apply_number(&s->activations_dump_bytes, o->activations_dump_bytes,
                     "PLUMB_ACTIVATIONS_DUMP_BYTES", err) < 0)
        return PLUMB_ERR_ARG;
#define TEXT(field) apply_string(s->field, sizeof s->field, o->field, #field, err)
    if (TEXT(activations_layers) < 0 || TEXT(activations_stats) < 0 ||
        TEXT(activations_steps) < 0 || TEXT(activations_output) < 0)
        return PLUMB_ERR_ARG;
    return TEXT(activations_dump);
#undef TEXT
}

static int apply_numbers(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    int32_t interval = o->memory_interval_ms;
    if (apply_number(&s->max_nodes, o->max_nodes, "PLUMB_MAX_NODES", err) < 0 ||
        apply_number(&s->max_state_bytes, o->max_state_bytes, "PLUMB_MAX_STATE", err) < 0 ||
        apply_number(&s->ring_bytes, o->ring_bytes, "PLUMB_RING", err) < 0 ||
        apply_number(&s->skip_first_n, o->skip_first_n, "PLUMB_SKIP_FIRST", err) < 0)
        return PLUMB_ERR_ARG;
    if (interval < 0) {
        s->memory_interval_ms = 0; /* in the variable, 0 means "none" */
        return PLUMB_OK;
    }
    return apply_number(&s->memory_interval_ms, (uint64_t)interval, "PLUMB_MEMORY_INTERVAL", err);
}

static int apply_choices(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    if (apply_choice(&s->memory, o->memory, "PLUMB_MEMORY", "memory", err) < 0 ||
        apply_choice(&s->log_level, o->log_level, "PLUMB_LOG", "log_level", err) < 0 ||
        apply_choice(&s->signature, o->signature, "PLUMB_SIGNATURE", "signature", err) < 0 ||
        apply_choice(&s->verify, o->verify, "PLUMB_VERIFY", "verify", err) < 0 ||
        apply_choice(&s->fork, o->fork, "PLUMB_FORK", "fork", err) < 0)
        return PLUMB_ERR_ARG;
    return apply_choice(&s->memory_peak, o->memory_peak, "PLUMB_MEMORY_PEAK", "memory_peak", err);
}

static int apply_switches(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    bool p2 = s->median == PLUMB_MEDIAN_P2;
    if (apply_switch(&s->sync, o->sync, "sync", err) < 0 ||
        apply_switch(&p2, o->median_p2, "median_p2", err) < 0 ||
        apply_switch(&s->debug, o->debug, "debug", err) < 0 ||
        apply_switch(&s->signals, o->signals, "signals", err) < 0 ||
        apply_switch(&s->quiet, o->quiet, "quiet", err) < 0 ||
        apply_switch(&s->memory_checkpoints, o->memory_checkpoints, "memory_checkpoints", err) < 0)
        return PLUMB_ERR_ARG;
    s->median = p2 ? PLUMB_MEDIAN_P2 : PLUMB_MEDIAN_SKETCH;
    return PLUMB_OK;
}

/* All of them, or PLUMB_ERR_ARG. */
static int apply_all(struct plumb_settings *s, const plumb_options *o, plumb_error *err)
{
    if (apply_strings(s, o, err) < 0 || apply_numbers(s, o, err) < 0 ||
        apply_switches(s, o, err) < 0 || apply_choices(s, o, err) < 0 ||
        apply_trace(s, o, err) < 0 || apply_activations(s, o, err) < 0)
        return PLUMB_ERR_ARG;
    if (o->log) {
        s->log = o->log;
        s->log_arg = o->log_arg;
    }
    return PLUMB_OK;
}

int plumb_settings_apply(struct plumb_settings *s, const plumb_options *options, plumb_error *err)
{
    struct plumb_settings *result;
    plumb_options o = {0};
    int rc;
    if (!options)
        return PLUMB_OK;
    if (options->size < sizeof options->size)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "plumb_options.size is %zu; start from plumb_options_default()",
                          options->size);
    /* A caller built with an older header has fewer fields, one with a newer header more. */
    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    /* Too large for the stacks of some threads. */
    result = plumb_pages_map(sizeof *result);
    if (!result)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the settings");
    *result = *s;
    rc = apply_all(result, &o, err);
    if (rc == PLUMB_OK)
        *s = *result;
    plumb_pages_unmap(result, sizeof *result);
    return rc;
}

/* read_doctor_settings.c: the environment's settings of recording: those of the trace that are in
 * force, and all that make no sense. They are read again for each line: there are few. Any thread,
 * as long as the environment does not change during the call. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text/nearest.h"
#include "config/keep_rules.h"
#include "config/pattern.h"
#include "config/region_names.h"
#include "config/settings.h"
#include "config/step_list.h"
#include <plumb/read/doctor.h>

/* Counts lines and keeps the one that is wanted. */
struct lines {
    size_t wanted, count;
    plumb_check *out;
};

static void put(struct lines *l, const char *name, uint32_t state, const char *detail,
                const char *cure)
{
    if (l->count++ != l->wanted)
        return;
    memset(l->out, 0, sizeof *l->out);
    l->out->name = name;
    l->out->state = state;
    if (snprintf(l->out->detail, sizeof l->out->detail, "%s", detail) >= (int)sizeof l->out->detail)
        strcpy(l->out->detail + sizeof l->out->detail - sizeof "...", "...");
    snprintf(l->out->cure, sizeof l->out->cure, "%s", cure);
}

static void put_warning(const char *line, void *arg)
{
    put(arg, "setting", PLUMB_CHECK_BLOCKED, line, "see 'plumb help environment'");
}

/* ---- In force ------------------------------------------------------------------------------- */

static void add(struct plumb_buf *out, const char *what, const char *value)
{
    if (*value)
        plumb_buf_printf(out, ", %s %s", what, value);
}

static void add_knobs(struct plumb_buf *out, const struct plumb_settings *s)
{
    if (s->trace_shapes)
        plumb_buf_str(out, ", shapes");
    if (s->trace_memory)
        plumb_buf_str(out, ", memory");
    if (s->trace_flops)
        plumb_buf_str(out, ", FLOP/s");
    if (s->trace_stack)
        plumb_buf_printf(out, ", call stacks of %" PRIu64, s->trace_stack_depth);
    if (s->nvtx != PLUMB_NVTX_OFF)
        plumb_buf_str(out, ", NVTX ranges");
}

static void put_trace(struct lines *l, const struct plumb_settings *s)
{
    struct plumb_buf text = {0};
    bool ring = s->trace_mode == PLUMB_TRACE_RING;
    plumb_buf_printf(&text, "on, %s, at most %" PRIu64 " KiB, %" PRIu64 " KiB a thread",
                     ring ? "the newest records (ring)" : "until it is full (stop)",
                     s->trace_max_bytes >> 10, s->trace_ring_bytes >> 10);
    add(&text, "steps", s->trace_steps);
    add(&text, "regions", s->regions);
    if (s->regions[0])
        plumb_buf_str(&text, s->region_scope ? " of all threads" : " of their threads");
    add(&text, "files of nodes", s->trace_nodes);
    add_knobs(&text, s);
    if (ring) {
        add(&text, "kept by signal", s->keep_signal);
        add(&text, "kept if", s->keep_if);
    }
    if (s->recording == PLUMB_OFF)
        put(l, "trace", PLUMB_CHECK_BLOCKED, "off: PLUMB=0 turns all recording off", "unset PLUMB");
    else if (!plumb_settings_trace_is_on(s))
        put(l, "trace", PLUMB_CHECK_NOT_SEEN, "off; PLUMB_TRACE=1 records when each span ran", "");
    else
        put(l, "trace", PLUMB_CHECK_SEEN, text.failed ? "on" : text.data, "");
    plumb_buf_fini(&text);
}

/* ---- What makes no sense -------------------------------------------------------------------- */

static void put_bad(struct lines *l, const char *variable, const char *why, const char *cure)
{
    char line[sizeof((plumb_check *)0)->detail];
    snprintf(line, sizeof line, "%s: %s", variable, why);
    put(l, "setting", PLUMB_CHECK_BLOCKED, line, cure);
}

static void put_keep(struct lines *l, const struct plumb_settings *s)
{
    struct plumb_keep_rules rules;
    plumb_error err = {0, ""};
    if (s->keep_if[0] && plumb_keep_rules_parse(&rules, s->keep_if, &err) < 0)
        put_bad(l, "PLUMB_KEEP_IF", err.message, "PLUMB_KEEP_IF='denoise_step>50ms'");
    if (s->keep_signal[0] && !plumb_keep_signal_number(s->keep_signal))
        put_bad(l, "PLUMB_KEEP_SIGNAL", "no signal that can be taken", "PLUMB_KEEP_SIGNAL=USR2");
}

static void put_steps(struct lines *l, const struct plumb_settings *s)
{
    struct plumb_step_list steps;
    plumb_error err = {0, ""};
    if (plumb_step_list_parse(&steps, s->trace_steps, &err) < 0)
        put_bad(l, "PLUMB_TRACE_STEPS", err.message, "PLUMB_TRACE_STEPS=10-12,40");
}

static void put_pattern(struct lines *l, const char *variable, const char *text)
{
    struct plumb_pattern pattern;
    plumb_error err = {0, ""};
    if (!text[0])
        return;
    if (plumb_pattern_init(&pattern, text, &err) < 0)
        put_bad(l, variable, err.message, "a regular expression, as '^block\\.2\\.'");
    else
        plumb_pattern_fini(&pattern);
}

static void put_activations(struct lines *l, const struct plumb_settings *s)
{
    struct plumb_step_list steps;
    plumb_error err = {0, ""};
    put_pattern(l, "PLUMB_ACTIVATIONS_LAYERS", s->activations_layers);
    put_pattern(l, "PLUMB_ACTIVATIONS_DUMP", s->activations_dump);
    if (plumb_step_list_parse(&steps, s->activations_steps, &err) < 0)
        put_bad(l, "PLUMB_ACTIVATIONS_STEPS", err.message, "PLUMB_ACTIVATIONS_STEPS=0,5-9");
}

static bool is_region(const char *word, struct plumb_nearest *nearest)
{
    size_t n;
    const struct plumb_region_name *names = plumb_region_names(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i].name, word) == 0 || (names[i].twin && strcmp(names[i].twin, word) == 0))
            return true;
        plumb_nearest_offer(nearest, names[i].name);
        if (names[i].twin)
            plumb_nearest_offer(nearest, names[i].twin);
    }
    return false;
}

/* The program may have regions of its own, so none is wrong for sure. */
static void put_regions(struct lines *l, const struct plumb_settings *s)
{
    const char *at = s->regions, *token;
    size_t len;
    while ((token = plumb_region_token(&at, &len)) != NULL) {
        char word[PLUMB_REGION_SHORT_MAX + 1], line[256];
        plumb_error err = {0, ""};
        if (len == 1 && *token == '*')
            continue;
        if (plumb_region_normalise(word, token, len, &err) < 0) {
            put_bad(l, "PLUMB_REGIONS", err.message, "see 'plumb help regions'");
            continue;
        }
        struct plumb_nearest nearest = plumb_nearest_start(word);
        if (is_region(word, &nearest))
            continue;
        snprintf(line, sizeof line,
                 "PLUMB_REGIONS: '%.100s' is not a region that every program has%s%s%s", word,
                 nearest.best ? ": did you mean '" : "", nearest.best ? nearest.best : "",
                 nearest.best ? "'?" : "");
        put(l, "setting", PLUMB_CHECK_NOT_SEEN, line, "");
    }
}

static void put_idle(struct lines *l, const struct plumb_settings *s)
{
    struct plumb_idle idle;
    char why[128];
    for (size_t i = 0; plumb_settings_idle(s, i, &idle); i++) {
        snprintf(why, sizeof why, "does nothing %s", idle.why);
        put_bad(l, idle.variable, why, idle.cure);
    }
}

int plumb_doctor_setting(plumb_check *out, size_t i)
{
    struct lines l = {i, 0, out};
    struct plumb_settings *s = malloc(sizeof *s);
    if (!s) {
        put(&l, "setting", PLUMB_CHECK_BLOCKED, "out of memory", "");
        return i == 0;
    }
    plumb_settings_default(s);
    plumb_settings_from_env(s, environ, put_warning, &l);
    put_trace(&l, s);
    put_steps(&l, s);
    put_keep(&l, s);
    put_activations(&l, s);
    put_regions(&l, s);
    put_idle(&l, s);
    free(s);
    return l.count > i;
}

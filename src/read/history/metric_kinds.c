/* metric_kinds.c: see metric_kinds.h. A change of a time below its floor is smaller than what one
 * wake-up of a scheduler or one page fault does to a median; benchmarks that repeat their work
 * until the figure is stable have no absolute floor, because theirs may be a nanosecond. Counts
 * have none at all: they are exact. */
#include "read/history/metric_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct kind {
    const char *name;
    uint32_t higher;
    double relative, absolute;
    int decimals;
};

static const struct kind named[] = {
    {"latency", 0, 0.08, 0.5, 3},     {"throughput", 1, 0.08, 0.05, 3},
    {"memory", 0, 0.05, 256, 1},      {"text_encoder_time_s", 0, 0.05, 0.25, 3},
    {"dit_time_s", 0, 0.05, 0.25, 3}, {"vae_decode_time_s", 0, 0.05, 0.25, 3},
};
/* By unit, for every other name. */
static const struct kind units[] = {
    {"ns", 0, 0.08, 0, 3}, {"us", 0, 0.08, 0, 3},      {"ms", 0, 0.08, 0, 3},
    {"s", 0, 0.08, 0, 3},  {"seconds", 0, 0.08, 0, 3}, {"bytes", 0, 0.05, 1 << 20, 0},
    {"MB", 0, 0.05, 1, 1}, {"MiB", 0, 0.05, 1, 1},     {"1/s", 1, 0.08, 0, 3},
    {"count", 0, 0, 0, 0},
};
static const struct kind other = {"", 0, 0.08, 0, 3};

static const struct kind *find(const struct kind *kinds, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static const struct kind *kind_of(const char *name, const char *unit)
{
    const struct kind *kind = find(named, sizeof named / sizeof *named, name);
    if (!kind && unit)
        kind = find(units, sizeof units / sizeof *units, unit);
    return kind ? kind : &other;
}

void plumb_metric_default(plumb_metric *out)
{
    const struct kind *kind = kind_of(out->name, out->unit);
    out->higher_is_better = kind->higher;
    out->floor_relative = kind->relative;
    out->floor_absolute = kind->absolute;
    out->gated = 1;
}

/* A number, or a text that is one; true and false are not numbers here. */
static void take_number(double *out, const struct plumb_json_value *v)
{
    const char *text = plumb_json_text(v);
    char *end;
    if (plumb_json_is_number(v)) {
        *out = plumb_json_as_real(v);
    } else if (text && *text) {
        double value = strtod(text, &end);
        if (!*end && value == value)
            *out = value;
    }
}

static void take_flag(uint32_t *out, const struct plumb_json_value *v)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    const char *text = plumb_json_text(v);
    if (plumb_json_is(v, PLUMB_JSON_IS_TRUE) || plumb_json_is(v, PLUMB_JSON_IS_FALSE))
        *out = plumb_json_is(v, PLUMB_JSON_IS_TRUE);
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i], text) == 0)
            *out = i % 2;
}

void plumb_metric_override(plumb_metric *out, const struct plumb_json_value *thresholds)
{
    take_number(&out->floor_relative, plumb_json_get(thresholds, "threshold_percent"));
    take_number(&out->floor_absolute, plumb_json_get(thresholds, "threshold_absolute"));
    take_flag(&out->gated, plumb_json_get(thresholds, "gated"));
}

int plumb_metric_decimals(const char *name)
{
    const struct kind *kind = find(named, sizeof named / sizeof *named, name);
    return kind ? kind->decimals : other.decimals;
}

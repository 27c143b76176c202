/* trace_steps.c: see trace_steps.h. */
#include "format/trace_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool wants(const struct plumb_trace_filter *self, const struct plumb_trace_state *s,
                  const struct plumb_trace_frame *f)
{
    const struct plumb_trace_steps *steps = self->arg;
    int64_t step = f ? f->step : s->step;
    for (uint32_t i = 0; i < steps->count; i++)
        if (step >= steps->range[i].from && step <= steps->range[i].through)
            return true;
    return false;
}

static const char *number(const char *text, int64_t *out)
{
    uint64_t value = 0;
    while (*text == ' ')
        text++;
    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = 10 * value + (uint64_t)(*text - '0');
        if (value > INT64_MAX / 16)
            return NULL;
    }
    while (*text == ' ')
        text++;
    *out = (int64_t)value;
    return text;
}

int plumb_trace_steps_parse(struct plumb_trace_steps *out, const char *text, plumb_error *err)
{
    const char *p = text;
    memset(out, 0, sizeof *out);
    while (p) {
        int64_t from = 0, through = 0;
        p = number(p, &from);
        through = from;
        if (p && *p == '-')
            p = number(p + 1, &through);
        if (!p || (*p && *p != ',') || through < from || out->count == PLUMB_TRACE_RANGES)
            break;
        out->range[out->count].from = from;
        out->range[out->count++].through = through;
        if (!*p) {
            out->filter = (struct plumb_trace_filter){wants, out, NULL};
            return PLUMB_OK;
        }
        p++;
    }
    out->count = 0;
    return plumb_fail(err, PLUMB_ERR_ARG,
                      "'%.80s' is no list of up to %d steps and ranges, such as 10-12,40", text,
                      (int)PLUMB_TRACE_RANGES);
}

/* words.c: values and places of checks, as every format words them. Names are not escaped here:
 * each format has its own rules. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/gate/view.h"
#include "summary/cells.h"
#include "summary/unit.h"

/* Decimal units, as limits are mostly written, to the last byte: rounding hides differences. */
static void put_bytes(struct plumb_buf *out, int64_t value)
{
    const int64_t kb = 1000, mb = 1000000;
    int64_t rest = value % mb < 0 ? -(value % mb) : value % mb;
    if (value > -10 * mb && value < 10 * mb) {
        plumb_buf_printf(out, "%lld B", (long long)value);
        return;
    }
    plumb_buf_printf(out, "%lld", (long long)(value / mb));
    if (rest % kb != 0)
        plumb_buf_printf(out, ".%06lld", (long long)rest);
    else if (rest != 0)
        plumb_buf_printf(out, ".%03lld", (long long)(rest / kb));
    plumb_buf_str(out, " MB");
}

static void put_value(struct plumb_buf *out, const struct plumb_gate_metric *metric, double value,
                      int64_t whole)
{
    if (metric->quantity == PLUMB_GATE_TIME)
        plumb_unit_put_any(out, value);
    else if (metric->quantity == PLUMB_GATE_BYTES)
        put_bytes(out, whole);
    else if (plumb_gate_is_whole(metric))
        plumb_buf_printf(out, "%lld", (long long)whole);
    else if (value == floor(value) && fabs(value) < 9e15)
        plumb_buf_printf(out, "%lld", (long long)value);
    else
        plumb_put_figure(out, value);
}

void plumb_gate_put_old(struct plumb_buf *out, const struct plumb_gate_check *c)
{
    put_value(out, c->rule->metric, c->old_value, c->old_whole);
}

void plumb_gate_put_new(struct plumb_buf *out, const struct plumb_gate_check *c)
{
    put_value(out, c->rule->metric, c->new_value, c->new_whole);
}

void plumb_gate_put_change(struct plumb_buf *out, double change)
{
    if (isnan(change))
        return;
    plumb_buf_str(out, change < 0 ? "-" : "+");
    plumb_put_fixed(out, fabs(100 * change), fabs(change) < 10 ? 1 : 0, 0);
    plumb_buf_str(out, " %");
}

bool plumb_gate_put_interval(struct plumb_buf *out, const struct plumb_gate_check *c)
{
    if (!c->timed || !c->has_old || isnan(c->judged.low))
        return false;
    plumb_gate_put_change(out, c->judged.low - 1);
    plumb_buf_str(out, " to ");
    plumb_gate_put_change(out, c->judged.high - 1);
    return true;
}

static bool is_figure(const struct plumb_gate_check *c)
{
    return c->rule->metric->quantity == PLUMB_GATE_SIZE;
}

void plumb_gate_put_place(struct plumb_buf *out, const struct plumb_gate_check *c)
{
    if (c->rule->command)
        plumb_buf_printf(out, "(command)");
    else
        plumb_buf_str(out, c->node[0]                       ? c->node
                           : c->rule->node && !is_figure(c) ? "(no node)"
                                                            : "(run)");
    if (c->pipeline[0])
        plumb_buf_printf(out, ", pipeline %s", c->pipeline);
    if (c->phase[0] && strcmp(c->phase, "inference") != 0)
        plumb_buf_printf(out, ", phase %s", c->phase);
    if (c->step >= 0)
        plumb_buf_printf(out, ", step %lld", (long long)c->step);
    if (c->name[0])
        plumb_buf_printf(out, ", %s", c->name);
}

static void put_comparison(struct plumb_buf *out, const struct plumb_gate_check *c)
{
    if (c->has_old) {
        plumb_buf_str(out, ", was ");
        plumb_gate_put_old(out, c);
    }
    if (!isnan(c->change)) {
        plumb_buf_str(out, " (");
        plumb_gate_put_change(out, c->change);
        if (c->timed && !isnan(c->judged.low)) {
            plumb_buf_str(out, ", 98 % interval ");
            plumb_gate_put_interval(out, c);
            plumb_buf_str(out, ", noise ");
            plumb_put_fixed(out, 100 * c->judged.noise, 1, 0);
            plumb_buf_str(out, " %");
        }
        plumb_buf_char(out, ')');
    }
}

void plumb_gate_put_sentence(struct plumb_buf *out, const struct plumb_gate_check *c)
{
    plumb_gate_put_place(out, c);
    plumb_buf_printf(out, ": %s", c->rule->metric->name);
    if (c->has_new) {
        plumb_buf_str(out, " is ");
        plumb_gate_put_new(out, c);
    } else {
        plumb_buf_str(out, " is not known");
    }
    put_comparison(out, c);
    if (c->limit)
        plumb_buf_printf(out, ", limit %s", c->limit->text);
    if (c->detail)
        plumb_buf_printf(out, "; %s", c->detail);
}

void plumb_gate_put_total(struct plumb_buf *out, const struct plumb_gate_sheet *s)
{
    static const char *const words[][2] = {{"pass", "pass"},
                                           {"skipped", "skipped"},
                                           {"inconclusive", "inconclusive"},
                                           {"regression", "regressions"}};
    const struct plumb_gate_case *g = s->gate;
    plumb_buf_printf(out, "%zu %s by %zu %s:", g->count, g->count == 1 ? "check" : "checks",
                     g->rules->count, g->rules->count == 1 ? "rule" : "rules");
    const char *comma = " ";
    for (size_t i = 0; i <= PLUMB_GATE_REGRESSION; i++)
        if (g->verdicts[i] > 0) {
            plumb_buf_printf(out, "%s%zu %s", comma, g->verdicts[i], words[i][g->verdicts[i] > 1]);
            comma = ", ";
        }
}

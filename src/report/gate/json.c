/* json.c: the checks as one object; its fields are documented in docs/gates.md. */
#include <math.h>

#include "codec/json_fields.h"
#include "report/gate/view.h"

/* A number of the check, as a whole one where the metric has those. */
static void put_value(struct plumb_json *j, const char *key, const struct plumb_gate_check *c,
                      bool known, double value, int64_t whole)
{
    if (!known || isnan(value))
        plumb_put_null(j, key);
    else if (plumb_gate_is_whole(c->rule->metric))
        plumb_put_i64(j, key, whole);
    else if (c->rule->metric->quantity == PLUMB_GATE_TIME || fabs(value) >= 9e15 ||
             value != floor(value))
        plumb_put_f64(j, key, value);
    else
        plumb_put_i64(j, key, (int64_t)value);
}

static void put_judgement(struct plumb_json *j, const struct plumb_gate_judgement *judged)
{
    plumb_put_object(j, "statistics");
    plumb_put_u64(j, "old_samples", judged->old_count);
    plumb_put_u64(j, "new_samples", judged->new_count);
    plumb_put_bool(j, "in_turn", judged->in_turn);
    plumb_put_f64(j, "ratio", judged->ratio);
    plumb_put_f64(j, "low", judged->low);
    plumb_put_f64(j, "high", judged->high);
    plumb_put_f64(j, "noise", judged->noise);
    plumb_put_f64(j, "resolution", judged->resolution);
    plumb_put_f64(j, "p", judged->p);
    plumb_json_object_end(j);
}

static void put_check(struct plumb_json *j, const struct plumb_gate_check *c)
{
    static const char *const units[] = {"ns", "bytes", "", "", ""};
    plumb_json_object(j);
    plumb_put_text(j, "rule", c->rule->name);
    plumb_put_u64(j, "line", c->rule->line);
    plumb_put_text(j, "metric", c->rule->metric->name);
    plumb_put_text(j, "unit", units[c->rule->metric->quantity]);
    plumb_put_text(j, "pipeline", c->pipeline);
    plumb_put_text(j, "phase", c->phase);
    plumb_put_text(j, "node", c->node);
    if (c->step >= 0)
        plumb_put_i64(j, "step", c->step);
    else
        plumb_put_null(j, "step");
    plumb_put_text(j, "name", c->name);
    put_value(j, "old", c, c->has_old, c->old_value, c->old_whole);
    put_value(j, "new", c, c->has_new, c->new_value, c->new_whole);
    plumb_put_f64(j, "change", c->change);
    plumb_put_text(j, "limit", c->limit ? c->limit->text : NULL);
    plumb_put_text(j, "verdict", plumb_gate_verdict_name(c->verdict));
    plumb_put_text(j, "detail", c->detail);
    plumb_put_text(j, "result", c->source);
    plumb_put_text(j, "why", c->rule->why);
    if (c->rule->command)
        plumb_put_text(j, "command", c->rule->command);
    if (c->timed)
        put_judgement(j, &c->judged);
    plumb_json_object_end(j);
}

void plumb_gate_json(const struct plumb_gate_sheet *s, struct plumb_buf *out)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    plumb_put_text(&j, "format", "plumb-gate");
    plumb_put_u64(&j, "schema", 1);
    plumb_put_text(&j, "rules", s->gate->rules->path);
    plumb_put_text(&j, "host", s->host);
    plumb_put_time(&j, "time", s->unix_ns);
    plumb_put_text(&j, "verdict", plumb_gate_verdict_name(plumb_gate_verdict(s->gate)));
    for (size_t i = 0; i <= PLUMB_GATE_REGRESSION; i++)
        plumb_put_u64(&j, plumb_gate_verdict_name((enum plumb_gate_verdict)i),
                      s->gate->verdicts[i]);
    plumb_put_array(&j, "checks");
    for (size_t i = 0; i < s->gate->count; i++)
        put_check(&j, &s->gate->checks[i]);
    plumb_json_array_end(&j);
    plumb_put_object(&j, "facts");
    for (size_t i = 0; i < s->fact_count; i++)
        plumb_put_text(&j, s->facts[i].key, s->facts[i].value);
    plumb_json_object_end(&j);
    plumb_json_object_end(&j);
}

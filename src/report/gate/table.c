/* table.c: the checks as a table of text, Markdown or CSV, and below it a line for each check that
 * did not pass, with the reason of its rule. */
#include <math.h>

#include "codec/json_write.h"
#include "report/gate/view.h"
#include "report/table/escape.h"
#include "report/table/grid.h"
#include "summary/cells.h"

enum { COLUMNS = 10 };
static const struct plumb_grid_column columns[COLUMNS] = {
    {"rule", "Rule", PLUMB_GRID_TEXT, NULL},
    {"node", "Node", PLUMB_GRID_TEXT, NULL},
    {"metric", "Metric", PLUMB_GRID_TEXT, NULL},
    {"old", "Old", PLUMB_GRID_FIGURE, NULL},
    {"new", "New", PLUMB_GRID_FIGURE, NULL},
    {"change", "Change", PLUMB_GRID_FIGURE, NULL},
    {"interval", "98 % interval", PLUMB_GRID_FIGURE, NULL},
    {"noise", "Noise", PLUMB_GRID_FIGURE, NULL},
    {"limit", "Limit", PLUMB_GRID_TEXT, NULL},
    {"result", "Result", PLUMB_GRID_TEXT, NULL},
};

/* Hands the text over to the grid as the next cell; an empty one becomes `absent`. */
static void put_cell(struct plumb_grid *g, struct plumb_buf *text, const char *absent)
{
    g->failed |= text->failed;
    if (text->len > 0)
        plumb_grid_copy(g, text->data);
    else
        plumb_grid_text(g, absent);
    plumb_buf_fini(text);
    *text = (struct plumb_buf){.data = NULL};
}

static void put_row(struct plumb_grid *g, const struct plumb_gate_check *c, const char *absent)
{
    struct plumb_buf text = {0};
    plumb_grid_text(g, c->rule->name);
    plumb_gate_put_place(&text, c);
    put_cell(g, &text, NULL);
    plumb_grid_text(g, c->rule->metric->name);
    if (c->has_old)
        plumb_gate_put_old(&text, c);
    put_cell(g, &text, absent);
    if (c->has_new)
        plumb_gate_put_new(&text, c);
    put_cell(g, &text, absent);
    plumb_gate_put_change(&text, c->change);
    put_cell(g, &text, absent);
    plumb_gate_put_interval(&text, c);
    put_cell(g, &text, NULL);
    if (c->timed && c->judged.noise > 0) {
        plumb_put_fixed(&text, 100 * c->judged.noise, 1, 0);
        plumb_buf_str(&text, " %");
    }
    put_cell(g, &text, NULL);
    plumb_grid_text(g, c->limit ? c->limit->text : absent);
    plumb_grid_text(g, plumb_gate_verdict_name(c->verdict));
}

static void fill(struct plumb_grid *g, const struct plumb_gate_sheet *s, const char *absent)
{
    plumb_grid_init(g, columns, COLUMNS);
    for (size_t i = 0; i < s->gate->count; i++)
        put_row(g, &s->gate->checks[i], absent);
}

/* Appends a text that holds names, escaped for the format, and empties it. */
static void put_names(struct plumb_buf *out, struct plumb_buf *text, bool md)
{
    out->failed |= text->failed;
    if (md)
        plumb_put_md(out, text->data ? text->data : "");
    else
        plumb_put_left(out, text->data ? text->data : "", 0);
    plumb_buf_fini(text);
    *text = (struct plumb_buf){.data = NULL};
}

static void put_reason(struct plumb_buf *out, const struct plumb_gate_sheet *s,
                       const struct plumb_gate_check *c, bool md)
{
    struct plumb_buf text = {0};
    plumb_buf_str(out, md ? "\n- **" : "\n");
    plumb_buf_str(out, plumb_gate_verdict_name(c->verdict));
    plumb_buf_str(out, md ? "** " : ": ");
    plumb_buf_printf(&text, "%s (%s:%u): ", c->rule->name, s->gate->rules->path, c->rule->line);
    plumb_gate_put_sentence(&text, c);
    put_names(out, &text, md);
    if (c->rule->why) {
        plumb_buf_str(out, md ? "  \n  " : "\n    ");
        plumb_buf_printf(&text, "why: %s", c->rule->why);
        put_names(out, &text, md);
    }
}

static void put_facts(struct plumb_buf *out, const struct plumb_gate_sheet *s, bool md)
{
    struct plumb_buf text = {0};
    if (s->fact_count > 0)
        plumb_buf_char(out, '\n');
    for (size_t i = 0; i < s->fact_count; i++) {
        plumb_buf_str(out, md ? "\n- " : "\n");
        plumb_buf_printf(&text, "%s: %s", s->facts[i].key, s->facts[i].value);
        put_names(out, &text, md);
    }
}

static void put_page(const struct plumb_gate_sheet *s, struct plumb_buf *out, bool md)
{
    struct plumb_buf text = {0};
    struct plumb_grid g;
    bool first = true;
    plumb_buf_str(out, md ? "### Gate " : "Gate ");
    plumb_buf_str(&text, s->gate->rules->path);
    put_names(out, &text, md);
    plumb_buf_printf(out, ": %s\n\n", plumb_gate_verdict_name(plumb_gate_verdict(s->gate)));
    fill(&g, s, md ? "n/a" : "-");
    if (md)
        plumb_grid_md(&g, out);
    else
        plumb_grid_write(&g, out);
    plumb_grid_fini(&g);
    plumb_buf_str(out, "\n\n");
    plumb_gate_put_total(out, s);
    for (size_t i = 0; i < s->gate->count; i++) {
        const struct plumb_gate_check *c = &s->gate->checks[i];
        if (c->verdict < PLUMB_GATE_INCONCLUSIVE && !(c->detail && c->limit && !c->has_new))
            continue;
        if (first)
            plumb_buf_char(out, '\n');
        first = false;
        put_reason(out, s, c, md);
    }
    put_facts(out, s, md);
}

void plumb_gate_text(const struct plumb_gate_sheet *s, struct plumb_buf *out)
{
    put_page(s, out, false);
}

void plumb_gate_md(const struct plumb_gate_sheet *s, struct plumb_buf *out)
{
    put_page(s, out, true);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

enum { CSV_COLUMNS = 16 };
static const struct plumb_grid_column csv_columns[CSV_COLUMNS] = {
    {"rule", "", PLUMB_GRID_TEXT, NULL},    {"line", "", PLUMB_GRID_COUNT, NULL},
    {"metric", "", PLUMB_GRID_TEXT, NULL},  {"pipeline", "", PLUMB_GRID_TEXT, NULL},
    {"phase", "", PLUMB_GRID_TEXT, NULL},   {"node", "", PLUMB_GRID_TEXT, NULL},
    {"step", "", PLUMB_GRID_WHOLE, NULL},   {"name", "", PLUMB_GRID_TEXT, NULL},
    {"old", "", PLUMB_GRID_TEXT, NULL},     {"new", "", PLUMB_GRID_TEXT, NULL},
    {"change", "", PLUMB_GRID_TEXT, NULL},  {"low", "", PLUMB_GRID_TEXT, NULL},
    {"high", "", PLUMB_GRID_TEXT, NULL},    {"limit", "", PLUMB_GRID_TEXT, NULL},
    {"verdict", "", PLUMB_GRID_TEXT, NULL}, {"detail", "", PLUMB_GRID_TEXT, NULL},
};

/* Every digit of it, whatever the locale says; nothing for NaN. */
static void put_number(struct plumb_grid *g, double value)
{
    struct plumb_buf text = {0};
    struct plumb_json j;
    plumb_json_init(&j, &text, 0);
    if (!isnan(value))
        plumb_json_f64(&j, value);
    put_cell(g, &text, NULL);
}

static void put_measured(struct plumb_grid *g, const struct plumb_gate_check *c, bool known,
                         double value, int64_t whole)
{
    struct plumb_buf text = {0};
    if (known && plumb_gate_is_whole(c->rule->metric)) {
        plumb_buf_printf(&text, "%lld", (long long)whole);
        put_cell(g, &text, NULL);
    } else {
        put_number(g, known ? value : NAN);
    }
}

void plumb_gate_csv(const struct plumb_gate_sheet *s, struct plumb_buf *out)
{
    struct plumb_grid g;
    plumb_grid_init(&g, csv_columns, CSV_COLUMNS);
    for (size_t i = 0; i < s->gate->count; i++) {
        const struct plumb_gate_check *c = &s->gate->checks[i];
        bool interval = c->timed && c->has_old;
        plumb_grid_text(&g, c->rule->name);
        plumb_grid_whole(&g, c->rule->line);
        plumb_grid_text(&g, c->rule->metric->name);
        plumb_grid_text(&g, c->pipeline);
        plumb_grid_text(&g, c->phase);
        plumb_grid_text(&g, c->node);
        if (c->step >= 0)
            plumb_grid_signed(&g, c->step);
        else
            plumb_grid_none(&g);
        plumb_grid_text(&g, c->name);
        put_measured(&g, c, c->has_old, c->old_value, c->old_whole);
        put_measured(&g, c, c->has_new, c->new_value, c->new_whole);
        put_number(&g, c->change);
        put_number(&g, interval ? c->judged.low - 1 : NAN);
        put_number(&g, interval ? c->judged.high - 1 : NAN);
        plumb_grid_text(&g, c->limit ? c->limit->text : NULL);
        plumb_grid_text(&g, plumb_gate_verdict_name(c->verdict));
        plumb_grid_text(&g, c->detail);
    }
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

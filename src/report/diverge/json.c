/* json.c: the first divergence as one object; its fields are documented in docs/diverge.md.
 */
#include <math.h>
#include <string.h>

#include "codec/json_fields.h"
#include "report/diverge/words.h"

static void write_text(struct plumb_json *j, const char *key, struct plumb_buf *text)
{
    j->out->failed |= text->failed;
    plumb_put_text(j, key, text->data);
    plumb_buf_fini(text);
}

static void write_lines(struct plumb_json *j, const char *key, struct plumb_buf *lines)
{
    plumb_put_array(j, key);
    for (char *line = lines->data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        plumb_json_str(j, line);
    }
    plumb_json_array_end(j);
    j->out->failed |= lines->failed;
    plumb_buf_fini(lines);
}

static void write_side(struct plumb_json *j, const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    plumb_put_object(j, side == PLUMB_DIVERGE_A ? "a" : "b");
    plumb_put_text(j, "name", s->labels[side]);
    plumb_put_text(j, "format", plumb_activation_format_name(x->t->format));
    plumb_put_u64(j, "records", s->d->given[side]);
    plumb_put_u64(j, "unmatched", x->unmatched);
    plumb_json_object_end(j);
}

/* Which record it is; null for PLUMB_DIVERGE_NONE. */
static void write_record(struct plumb_json *j, const char *key, const struct plumb_activations *t,
                         uint32_t record)
{
    if (record == PLUMB_DIVERGE_NONE) {
        plumb_put_null(j, key);
        return;
    }
    plumb_json_key(j, key);
    plumb_json_object_inline(j);
    plumb_put_text(j, "module", plumb_activations_text(t, t->module[record]));
    plumb_put_text(j, "tensor", plumb_activations_text(t, t->tensor[record]));
    if (plumb_activations_has(t, record, PLUMB_ACT_STEP))
        plumb_put_i64(j, "step", t->step ? t->step[record] : 0);
    else
        plumb_put_null(j, "step");
    plumb_put_u64(j, "call", t->call ? t->call[record] : 0);
    if (plumb_activations_has(t, record, PLUMB_ACT_RANK))
        plumb_put_i64(j, "rank", t->rank ? t->rank[record] : 0);
    plumb_put_u64(j, "row", record);
    plumb_json_object_end(j);
}

static void write_filter(struct plumb_json *j, const char *key, const struct plumb_diverge_sheet *s,
                         int side, uint32_t record)
{
    struct plumb_buf filter = {0};
    if (record == PLUMB_DIVERGE_NONE) {
        plumb_put_null(j, key);
        return;
    }
    plumb_diverge_put_filter(&filter, s, side, record);
    write_text(j, key, &filter);
}

static void write_source(struct plumb_json *j, const struct plumb_activations *t, uint32_t record)
{
    struct plumb_buf source = {0};
    if (plumb_diverge_put_source(&source, t, record))
        write_text(j, "source", &source);
    else
        plumb_put_null(j, "source");
}

static void write_culprit(struct plumb_json *j, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    const struct plumb_activations *ta = s->d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = s->d->sides[PLUMB_DIVERGE_B].t;
    if (c->kind == PLUMB_DIVERGE_SAME || c->a == PLUMB_DIVERGE_NONE) {
        plumb_put_null(j, "culprit");
        return;
    }
    const struct plumb_diverge_cell *cell = &s->d->cells[c->a];
    plumb_put_object(j, "culprit");
    write_record(j, "a", ta, c->a);
    write_record(j, "b", tb, c->b);
    plumb_put_text(j, "verdict", plumb_diverge_verdict_name(cell->verdict));
    plumb_put_text(j, "matched_by", plumb_diverge_how_name(cell->how));
    plumb_put_text(j, "statistic",
                   cell->field == PLUMB_DIVERGE_BY_VALUES   ? "values"
                   : cell->field == PLUMB_DIVERGE_BY_SAMPLE ? "sample"
                   : cell->field == PLUMB_DIVERGE_BY_TYPE   ? "dtype"
                   : cell->field < PLUMB_ACT_REALS
                       ? plumb_activation_field_name((enum plumb_activation_field)cell->field)
                       : NULL);
    plumb_put_f64(j, "relative", (double)cell->drift);
    plumb_put_f64(j, "tolerances", (double)cell->excess);
    plumb_put_f64(j, "scale",
                  c->b == PLUMB_DIVERGE_NONE ? 0 : plumb_diverge_scale(s->d, c->a, c->b));
    plumb_put_text(j, "inputs", plumb_diverge_inputs_name(c->inputs));
    write_record(j, "input", ta, c->input);
    write_record(j, "first_beyond_tolerance", ta, c->beyond);
    plumb_put_u64(j, "further", c->roots);
    write_source(j, ta, c->a);
    write_filter(j, "filter_a", s, PLUMB_DIVERGE_A, c->a);
    write_filter(j, "filter_b", s, PLUMB_DIVERGE_B, c->b);
    plumb_json_object_end(j);
}

/* The ends of the frontier, and where equality ends. */
static void write_frontier(struct plumb_json *j, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    const struct plumb_diverge_culprit *c = &d->culprit;
    const struct plumb_activations *t = d->sides[PLUMB_DIVERGE_A].t;
    plumb_put_text(j, "held_to", d->held ? "bit" : "tolerance");
    plumb_put_u64(j, "equal_records", d->equal_count);
    write_record(j, "equal_up_to", t, d->equal_last);
    write_record(j, "first_unequal", t, d->first_unequal);
    plumb_put_object(j, "frontier");
    write_record(j, "agrees", t, c->input);
    write_record(j, "differs", t, c->a);
    plumb_put_text(
        j, "inside",
        c->within == PLUMB_DIVERGE_NONE ? NULL : plumb_activations_text(t, t->module[c->within]));
    write_record(j, "first_with_evidence", t, c->kind == PLUMB_DIVERGE_LOST ? c->sure : c->a);
    plumb_json_object_end(j);
}

static void write_counts(struct plumb_json *j, const struct plumb_diverge *d)
{
    plumb_put_object(j, "matched_by");
    for (uint8_t how = PLUMB_HOW_NAME; how < PLUMB_HOW_COUNT; how++)
        plumb_put_u64(j, plumb_diverge_how_name(how), d->by_how[how]);
    plumb_json_object_end(j);
    plumb_put_object(j, "verdicts");
    for (uint8_t verdict = 0; verdict < PLUMB_SAID_COUNT; verdict++)
        plumb_put_u64(j, plumb_diverge_verdict_name(verdict), d->by_verdict[verdict]);
    plumb_json_object_end(j);
}

static void write_list(struct plumb_json *j, const char *key, const struct plumb_activations *t,
                       const uint32_t *column, uint32_t record)
{
    size_t n;
    const double *numbers = plumb_activations_list(t, column, record, &n);
    if (n == 0)
        return;
    plumb_json_key(j, key);
    plumb_json_f64s(j, numbers, n);
}

static void write_stats(struct plumb_json *j, const char *key, const struct plumb_activations *t,
                        uint32_t record)
{
    plumb_json_key(j, key);
    plumb_json_object_inline(j);
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++)
        if (plumb_activations_has(t, record, f))
            plumb_put_f64(j, plumb_activation_field_name(f), plumb_activations_stat(t, record, f));
    for (enum plumb_activation_field f = PLUMB_ACT_NAN; f <= PLUMB_ACT_ZEROS; f++)
        if (plumb_activations_has(t, record, f))
            plumb_put_u64(j, plumb_activation_field_name(f), plumb_activations_whole(t, record, f));
    write_list(j, "sample", t, t->sample, record);
    write_list(j, "histogram", t, t->histogram, record);
    plumb_json_object_end(j);
}

/* null: not recorded. */
static void write_dtype(struct plumb_json *j, const char *key, const struct plumb_activations *t,
                        uint32_t record)
{
    uint32_t dtype = t->dtype && record != PLUMB_DIVERGE_NONE ? t->dtype[record] : 0;
    plumb_put_text(j, key, dtype ? plumb_activations_text(t, dtype) : NULL);
}

static void write_row(struct plumb_json *j, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_diverge_cell *cell = &s->d->cells[a];
    uint32_t b = s->d->sides[PLUMB_DIVERGE_A].partner[a];
    plumb_json_object(j);
    write_record(j, "a", s->d->sides[PLUMB_DIVERGE_A].t, a);
    write_record(j, "b", s->d->sides[PLUMB_DIVERGE_B].t, b);
    write_dtype(j, "dtype_a", s->d->sides[PLUMB_DIVERGE_A].t, a);
    write_dtype(j, "dtype_b", s->d->sides[PLUMB_DIVERGE_B].t, b);
    write_stats(j, "stats_a", s->d->sides[PLUMB_DIVERGE_A].t, a);
    write_stats(j, "stats_b", s->d->sides[PLUMB_DIVERGE_B].t, b);
    plumb_put_f64(j, "relative", plumb_diverge_relative(s, a));
    plumb_put_f64(j, "moved", plumb_diverge_moved(s->d, a, b, NULL, NULL));
    plumb_put_f64(j, "tolerances", (double)cell->excess);
    plumb_put_text(j, "verdict", plumb_diverge_verdict_name(cell->verdict));
    plumb_put_text(j, "matched_by", plumb_diverge_how_name(cell->how));
    plumb_put_bool(j, "flag", plumb_diverge_flag(s, a));
    plumb_json_object_end(j);
}

static void write_tensor(struct plumb_json *j, const struct plumb_diverge_sheet *s,
                         const struct plumb_diverge_tensor *t)
{
    plumb_json_object(j);
    write_record(j, "a", s->d->sides[PLUMB_DIVERGE_A].t, t->a);
    if (!t->compared)
        plumb_put_text(j, "error", t->why.message);
    else {
        plumb_put_u64(j, "values", t->diff.count);
        plumb_put_u64(j, "unequal", t->diff.unequal);
        plumb_put_u64(j, "beyond", t->diff.beyond);
        plumb_put_f64(j, "max", t->diff.max);
        plumb_put_f64(j, "mean", t->diff.mean);
        plumb_put_f64(j, "median", t->diff.median);
        plumb_put_bool(j, "median_sampled", t->diff.sampled);
        plumb_put_f64(j, "relative", t->diff.relative);
        plumb_put_f64(j, "cosine", t->diff.cosine);
        plumb_json_key(j, "first_index");
        plumb_json_i64s(j, t->diff.first, t->diff.unequal > 0 ? (size_t)t->diff.ndim : 0);
    }
    plumb_json_object_end(j);
}

static void write_site(struct plumb_json *j, const struct plumb_activations *t,
                       const struct plumb_diverge_site *site)
{
    plumb_json_object_inline(j);
    plumb_put_text(j, "module", plumb_activations_text(t, site->module));
    plumb_put_text(j, "tensor", plumb_activations_text(t, site->tensor));
    plumb_json_object_end(j);
}

static void write_join(struct plumb_json *j, const struct plumb_diverge_sheet *s,
                       const struct plumb_diverge_join *join)
{
    plumb_json_object(j);
    plumb_put_text(j, "parts_in", join->side == PLUMB_DIVERGE_A ? "a" : "b");
    plumb_json_key(j, "whole");
    write_site(j, s->d->sides[!join->side].t, &join->whole);
    plumb_put_array(j, "parts");
    for (uint32_t i = 0; i < join->count; i++)
        write_site(j, s->d->sides[join->side].t, &join->parts[i]);
    plumb_json_array_end(j);
    if (join->dimension < 0)
        plumb_put_null(j, "dimension");
    else
        plumb_put_u64(j, "dimension", (uint64_t)join->dimension);
    plumb_put_bool(j, "stacked", join->stacked);
    plumb_put_text(j, "evidence", join->by_kind ? "kind" : "statistics");
    plumb_json_object_end(j);
}

static void write_alone(struct plumb_json *j, const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    size_t shown = 0;
    plumb_put_array(j, side == PLUMB_DIVERGE_A ? "only_in_a" : "only_in_b");
    for (uint32_t i = 0; i < x->t->count; i++) {
        if (x->partner[i] != PLUMB_DIVERGE_NONE || x->sites[x->site_of[i]].is_part ||
            (!s->view->all && shown == 1000))
            continue;
        struct plumb_buf name = {0};
        plumb_diverge_put_record(&name, x->t, i);
        plumb_json_str(j, name.data);
        j->out->failed |= name.failed;
        plumb_buf_fini(&name);
        shown++;
    }
    plumb_json_array_end(j);
}

void plumb_diverge_json(const struct plumb_diverge_sheet *s, struct plumb_buf *out)
{
    struct plumb_json json;
    struct plumb_json *j = &json;
    struct plumb_buf sentence = {0};
    struct plumb_buf next = {0};
    struct plumb_buf notes = {0};
    plumb_json_init(j, out, 2);
    plumb_json_object(j);
    plumb_put_text(j, "format", "plumb-divergence");
    plumb_put_u64(j, "schema", 1);
    plumb_diverge_put_sentence(&sentence, s);
    write_text(j, "sentence", &sentence);
    plumb_put_bool(j, "diverged", s->d->culprit.kind != PLUMB_DIVERGE_SAME);
    plumb_put_text(j, "kind", plumb_diverge_kind_name(s->d->culprit.kind));
    write_side(j, s, PLUMB_DIVERGE_A);
    write_side(j, s, PLUMB_DIVERGE_B);
    write_counts(j, s->d);
    write_frontier(j, s);
    write_culprit(j, s);
    plumb_diverge_put_next(&next, s);
    write_lines(j, "next", &next);
    plumb_put_array(j, "rows");
    for (size_t i = 0; i < s->row_count; i++)
        write_row(j, s, s->rows[i]);
    plumb_json_array_end(j);
    plumb_put_u64(j, "rows_not_shown", s->rows_hidden);
    plumb_put_array(j, "tensors");
    for (size_t i = 0; i < s->d->tensor_count; i++)
        write_tensor(j, s, &s->d->tensors[i]);
    plumb_json_array_end(j);
    plumb_put_array(j, "joined");
    for (size_t i = 0; i < s->d->join_count; i++)
        write_join(j, s, &s->d->joins[i]);
    plumb_json_array_end(j);
    write_alone(j, s, PLUMB_DIVERGE_A);
    write_alone(j, s, PLUMB_DIVERGE_B);
    plumb_diverge_put_notes(&notes, s);
    write_lines(j, "notes", &notes);
    plumb_json_object_end(j);
}

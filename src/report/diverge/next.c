/* next.c: what to record next, so that the frontier narrows. First the modules that hold both of
 * its ends, with hashes, since sums do not depend on the order of values; then the values. Each
 * line is a command that can be used as it is. */
#include <inttypes.h>
#include <string.h>

#include "report/diverge/words.h"
#include "summary/cells.h"

enum { MOST_MODULES = PLUMB_DIVERGE_PARTS + 2 };

static const char *text_of(const struct plumb_activations *t, uint32_t id)
{
    return plumb_activations_text(t, id);
}

/* ---- Filters --------------------------------------------------------------------------------- */

static void put_escaped(struct plumb_buf *out, const char *module)
{
    for (const char *p = module; *p; p++) {
        if (strchr(".[]()*+?{}|^$\\", *p))
            plumb_buf_char(out, '\\');
        /* A filter has no notation for a control character; '.' matches any. */
        bool control = (unsigned char)*p < 0x20 || *p == 0x7f;
        plumb_buf_char(out, control ? '.' : *p);
    }
}

/* Modules of one side, as texts of its table, without doubles. */
struct modules {
    uint32_t at[MOST_MODULES];
    uint32_t count;
};

static void add_module(struct modules *m, uint32_t module)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (m->at[i] == module)
            return;
    if (m->count < MOST_MODULES)
        m->at[m->count++] = module;
}

/* The module of a record, or of the parts that it was joined of. */
static void add_record(struct modules *m, const struct plumb_diverge_sheet *s, int side,
                       uint32_t record)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    if (record == PLUMB_DIVERGE_NONE)
        return;
    const struct plumb_diverge_site *site = &x->sites[x->site_of[record]];
    if (site->join == 0 || site->is_part) {
        add_module(m, site->module);
        return;
    }
    const struct plumb_diverge_join *join = &s->d->joins[site->join - 1];
    for (uint32_t i = 0; i < join->count; i++)
        add_module(m, join->parts[i].module);
}

static void put_modules(struct plumb_buf *out, const struct plumb_activations *t,
                        const struct modules *m)
{
    plumb_buf_str(out, m->count > 1 ? "^(" : "^");
    for (uint32_t i = 0; i < m->count; i++) {
        plumb_buf_str(out, i ? "|" : "");
        put_escaped(out, text_of(t, m->at[i]));
    }
    plumb_buf_str(out, m->count > 1 ? ")(\\.|$)" : "(\\.|$)");
}

void plumb_diverge_put_filter(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side,
                              uint32_t record)
{
    struct modules m = {.count = 0};
    add_record(&m, s, side, record);
    put_modules(out, s->d->sides[side].t, &m);
}

/* Whether something below the module was recorded already. */
static bool has_inside(const struct plumb_diverge_side *side, const char *module)
{
    size_t n = strlen(module);
    for (uint32_t k = 0; k < side->site_count; k++) {
        const char *name = text_of(side->t, side->sites[k].module);
        if (strncmp(name, module, n) == 0 && name[n] == '.')
            return true;
    }
    return false;
}

/* As one word of a shell. */
static void put_quoted(struct plumb_buf *out, const char *text)
{
    plumb_buf_char(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            plumb_buf_str(out, "'\\''");
        else
            plumb_buf_char(out, *text);
    plumb_buf_char(out, '\'');
}

/* ---- What is still unknown ------------------------------------------------------------------- */

static bool inputs_are_known(const struct plumb_diverge_culprit *c)
{
    return c->inputs == PLUMB_INPUTS_RECORDED || c->inputs == PLUMB_INPUTS_BY_HASH;
}

/* Adds the modules that this side alone recorded between two records, up to the bound of
 * `modules`. */
static void add_alone(struct modules *m, const struct plumb_diverge_sheet *s, int side,
                      uint32_t from, uint32_t to)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    for (uint32_t i = from; i < to && m->count < MOST_MODULES - 1; i++)
        if (x->partner[i] == PLUMB_DIVERGE_NONE && !plumb_diverge_is_input(x->t, i))
            add_record(m, s, side, i);
}

/* Whether the module of `outer` holds those of both records, by their names. */
static bool holds_both(const struct plumb_diverge_sheet *s, int side, uint32_t outer, uint32_t x,
                       uint32_t y)
{
    const struct plumb_activations *t = s->d->sides[side].t;
    if (outer == PLUMB_DIVERGE_NONE || x == PLUMB_DIVERGE_NONE || y == PLUMB_DIVERGE_NONE)
        return false;
    const char *name = text_of(t, t->module[outer]);
    return plumb_diverge_holds(name, text_of(t, t->module[y])) &&
           (t->module[x] == t->module[outer] ||
            plumb_diverge_holds(name, text_of(t, t->module[x])));
}

/* The modules of one side to record next: one that holds both ends of the frontier; otherwise both
 * ends, and the records between them that only this side has. */
static struct modules modules_of(const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    const uint32_t *partner = s->d->sides[PLUMB_DIVERGE_A].partner;
    struct modules m = {.count = 0};
    uint32_t input = c->input;
    uint32_t end = c->a;
    uint32_t within = c->within;
    if (side == PLUMB_DIVERGE_B) {
        input = input == PLUMB_DIVERGE_NONE ? input : partner[input];
        within = within == PLUMB_DIVERGE_NONE ? within : partner[within];
        end = c->b;
    }
    if (holds_both(s, side, within, input, end)) {
        add_record(&m, s, side, within);
        return m;
    }
    if (!inputs_are_known(c) && c->kind != PLUMB_DIVERGE_DRIFT) {
        add_record(&m, s, side, input);
        add_alone(&m, s, side, input, end);
    }
    add_record(&m, s, side, end);
    return m;
}

/* Whether the records come from the hooks for PyTorch, or are FastVideo's own. Neither keeps
 * tensors, and both choose inputs in Python. */
static bool is_of_python(const struct plumb_diverge_sheet *s, int side)
{
    return s->d->sides[side].t->format == PLUMB_ACT_FORMAT_FASTVIDEO;
}

/* FastVideo's own recorder has no hashes; plumb's hooks have them, and always write element
 * types. */
static bool knows_hashes(const struct plumb_diverge_sheet *s, int side)
{
    return !is_of_python(s, side) || s->d->sides[side].t->dtype != NULL;
}

static bool has_hash(const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    uint32_t record = side == PLUMB_DIVERGE_A ? c->a : c->b;
    return record != PLUMB_DIVERGE_NONE &&
           plumb_activations_has(s->d->sides[side].t, record, PLUMB_ACT_HASH);
}

/* Whether a side holds only the modules that are proposed: recorded again, it would say the
 * same. */
static bool is_narrow(const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    struct modules m = modules_of(s, side);
    for (uint32_t i = 0; i < x->site_count; i++) {
        const char *name = text_of(x->t, x->sites[i].module);
        bool met = x->sites[i].join > 0 && !x->sites[i].is_part; /* made of what was recorded */
        for (uint32_t k = 0; k < m.count && !met; k++)
            met =
                m.at[k] == x->sites[i].module || plumb_diverge_holds(text_of(x->t, m.at[k]), name);
        if (!met)
            return false;
    }
    return (!is_of_python(s, side) || x->t->io != NULL) &&
           (!knows_hashes(s, side) || has_hash(s, side));
}

static bool is_all_recorded(const struct plumb_diverge_sheet *s)
{
    return is_narrow(s, PLUMB_DIVERGE_A) && is_narrow(s, PLUMB_DIVERGE_B);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* "abs_mean,sum,hash,hash_any": what was recorded, and hashes. */
static void put_statistics(struct plumb_buf *out, const struct plumb_activations *t)
{
    plumb_buf_str(out, " PLUMB_ACTIVATIONS_STATS=");
    for (int f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_HASH; f++)
        if (t->seen >> f & 1)
            plumb_buf_printf(out, "%s,",
                             plumb_activation_field_name((enum plumb_activation_field)f));
    plumb_buf_str(out, "hash,hash_any");
}

static void put_settings(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side,
                         const char *filter, bool both)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    const struct plumb_diverge_side *x = &s->d->sides[side];
    uint32_t record = side == PLUMB_DIVERGE_A ? c->a : c->b;
    const char *module = text_of(x->t, x->t->module[record]);
    plumb_buf_printf(out, "%s: PLUMB_ACTIVATIONS_LAYERS=",
                     both                      ? "record both sides with"
                     : side == PLUMB_DIVERGE_A ? "record A with"
                                               : "record B with");
    put_quoted(out, filter);
    if (plumb_activations_has(x->t, record, PLUMB_ACT_STEP))
        plumb_buf_printf(out, " PLUMB_ACTIVATIONS_STEPS=%" PRId64,
                         x->t->step ? x->t->step[record] : 0);
    bool hashes = has_hash(s, side);
    if (!hashes && knows_hashes(s, side))
        put_statistics(out, x->t);
    /* The modules inside it were recorded and agree: only its values can say more. */
    if ((has_inside(x, module) || is_all_recorded(s)) && !is_of_python(s, side)) {
        plumb_buf_str(out, " PLUMB_ACTIVATIONS_DUMP=");
        put_quoted(out, filter);
    }
    if (is_of_python(s, side) && !inputs_are_known(c) && !plumb_diverge_is_input(x->t, record))
        plumb_buf_printf(out, "\nin Python attach %s with: attach(model, inputs=\".\")",
                         both                      ? "both sides"
                         : side == PLUMB_DIVERGE_A ? "A"
                                                   : "B");
    plumb_buf_char(out, '\n');
}

/* Everything that can be recorded has been: the cause is in code that leaves no record. */
static bool put_end(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    bool python = is_of_python(s, PLUMB_DIVERGE_A) || is_of_python(s, PLUMB_DIVERGE_B);
    bool input = plumb_diverge_is_input(s->d->sides[PLUMB_DIVERGE_A].t, c->a);
    bool both = is_of_python(s, PLUMB_DIVERGE_A) && is_of_python(s, PLUMB_DIVERGE_B);
    bool all = plumb_diverge_tensor_of(s->d, c->a) != NULL ||
               (both && (inputs_are_known(c) || input)) || (python && is_all_recorded(s));
    if (!all || c->kind == PLUMB_DIVERGE_START || c->kind == PLUMB_DIVERGE_DRIFT)
        return false;
    plumb_buf_str(out, "look at the code ");
    if (c->input == PLUMB_DIVERGE_NONE) {
        plumb_buf_str(out, "up to ");
        plumb_diverge_put_record(out, s->d->sides[PLUMB_DIVERGE_A].t, c->a);
        plumb_buf_str(out, ": no record before it is known to agree");
    } else if (inputs_are_known(c) && c->inside == PLUMB_DIVERGE_NONE) {
        plumb_buf_str(out, "of ");
        plumb_diverge_put_name(out, text_of(s->d->sides[PLUMB_DIVERGE_A].t,
                                            s->d->sides[PLUMB_DIVERGE_A].t->module[c->a]));
        plumb_buf_str(out, ": what it takes is right, what it gives out is not");
    } else {
        plumb_buf_str(out, "between ");
        plumb_diverge_put_record(out, s->d->sides[PLUMB_DIVERGE_A].t,
                                 c->inside != PLUMB_DIVERGE_NONE ? c->inside : c->input);
        plumb_buf_str(out, " and ");
        plumb_diverge_put_record(out, s->d->sides[PLUMB_DIVERGE_A].t, c->a);
        plumb_buf_str(out, ": no module records what it does");
    }
    plumb_buf_char(out, '\n');
    return true;
}

static void put_sides(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    uint32_t b = s->d->culprit.b;
    struct plumb_buf filters[2] = {{0}};
    struct plumb_buf clean[2] = {{0}};
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        struct modules m = modules_of(s, side);
        put_modules(&filters[side], s->d->sides[side].t, &m);
        plumb_put_left(&clean[side], filters[side].data ? filters[side].data : "", 0);
    }
    const char *of_a = clean[PLUMB_DIVERGE_A].data ? clean[PLUMB_DIVERGE_A].data : "";
    const char *of_b = clean[PLUMB_DIVERGE_B].data ? clean[PLUMB_DIVERGE_B].data : "";
    bool both = b == PLUMB_DIVERGE_NONE ||
                (strcmp(of_a, of_b) == 0 &&
                 is_of_python(s, PLUMB_DIVERGE_A) == is_of_python(s, PLUMB_DIVERGE_B));
    put_settings(out, s, PLUMB_DIVERGE_A, of_a, both);
    if (!both)
        put_settings(out, s, PLUMB_DIVERGE_B, of_b, false);
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        out->failed |= filters[side].failed | clean[side].failed;
        plumb_buf_fini(&filters[side]);
        plumb_buf_fini(&clean[side]);
    }
}

/* Appends the text with the characters escaped that have a meaning in the new name of an
 * expression. */
static void put_literal(struct plumb_buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (strchr("/&\\", *p))
            plumb_buf_char(out, '\\');
        plumb_buf_char(out, *p);
    }
}

/* "--map 's/^blk\.3\.wo out$/layers.3.attention.wo out/'" of a pair that has two names. */
static void put_map(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_diverge_side *sides = s->d->sides;
    uint32_t b = a == PLUMB_DIVERGE_NONE ? a : sides[PLUMB_DIVERGE_A].partner[a];
    struct plumb_buf rule = {0};
    if (b == PLUMB_DIVERGE_NONE || plumb_diverge_same_module(s, a, b) ||
        s->d->cells[a].how == PLUMB_HOW_JOINED || s->d->cells[a].how == PLUMB_HOW_MAP)
        return;
    const struct plumb_activations *ta = sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = sides[PLUMB_DIVERGE_B].t;
    plumb_buf_str(&rule, "s/^");
    put_escaped(&rule, text_of(ta, ta->module[a]));
    plumb_buf_char(&rule, ' ');
    put_escaped(&rule, text_of(ta, ta->tensor[a]));
    plumb_buf_str(&rule, "$/");
    put_literal(&rule, text_of(tb, tb->module[b]));
    plumb_buf_char(&rule, ' ');
    put_literal(&rule, text_of(tb, tb->tensor[b]));
    plumb_buf_char(&rule, '/');
    plumb_buf_str(out, " --map ");
    put_quoted(out, rule.data ? rule.data : "");
    out->failed |= rule.failed;
    plumb_buf_fini(&rule);
}

/* The command that compares the new recordings, with the options of this comparison. */
static void put_comparison(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    struct plumb_buf options = {0};
    if (!plumb_diverge_is_wrong(s->d->cells[c->a].verdict))
        plumb_buf_str(&options, " --expect same");
    put_map(&options, s, c->input);
    put_map(&options, s, c->a);
    if (options.len > 0)
        plumb_buf_printf(out, "compare these with%s\n", options.data);
    out->failed |= options.failed;
    plumb_buf_fini(&options);
}

void plumb_diverge_put_next(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    switch (c->kind) {
    case PLUMB_DIVERGE_SAME:
        return;
    case PLUMB_DIVERGE_START:
        plumb_buf_str(out,
                      "give both runs the same inputs, seed and weights, then compare again\n");
        return;
    case PLUMB_DIVERGE_MISSING:
        plumb_buf_str(out, "record both sides whole, with the same variables\n");
        return;
    case PLUMB_DIVERGE_LOST:
        plumb_buf_str(out, "say with --map what A's layers");
        if (c->input != PLUMB_DIVERGE_NONE) {
            plumb_buf_str(out, " after ");
            plumb_diverge_put_record(out, s->d->sides[PLUMB_DIVERGE_A].t, c->input);
        }
        plumb_buf_printf(out, " are called in B: only %s for them\n",
                         s->d->cells[c->a].how == PLUMB_HOW_ORDER ? "their order speaks"
                                                                  : "a few figures speak");
        return;
    default:
        if (put_end(out, s))
            return;
        put_sides(out, s);
        put_comparison(out, s);
    }
}

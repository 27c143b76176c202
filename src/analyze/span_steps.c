/* span_steps.c: time of steps. */
#include <stdlib.h>

#include "analyze/spans.h"
#include "base/error.h"
#include "trace/ids.h"

struct stepping {
    struct plumb_step_row *rows;
    size_t count, cap, steps;
    struct plumb_ids step_of, row_of; /* step -> its number + 1; (name, that) -> row + 1 */
};

static struct plumb_step_row *add_row(struct stepping *s, uint32_t name, int64_t step)
{
    if (s->count == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct plumb_step_row *rows = realloc(s->rows, cap * sizeof *rows);
        if (!rows)
            return NULL;
        s->rows = rows;
        s->cap = cap;
    }
    s->rows[s->count] = (struct plumb_step_row){.name = name, .step = step};
    return &s->rows[s->count++];
}

static struct plumb_step_row *row_of(struct stepping *s, uint32_t name, int64_t step)
{
    uint32_t number = plumb_ids_get(&s->step_of, (uint64_t)step), place;
    struct plumb_step_row *row;
    if (!number) {
        number = (uint32_t)++s->steps;
        if (!plumb_ids_put(&s->step_of, (uint64_t)step, number))
            return NULL;
    }
    uint64_t key = (uint64_t)name << 32 | number;
    if ((place = plumb_ids_get(&s->row_of, key)))
        return &s->rows[place - 1];
    row = add_row(s, name, step);
    return row && plumb_ids_put(&s->row_of, key, (uint32_t)s->count) ? row : NULL;
}

bool plumb_slice_step(const struct plumb_table *t, uint32_t slice, uint32_t key, int64_t *out)
{
    uint32_t arg = plumb_table_arg(t, slice, key);
    if (arg == PLUMB_TABLE_NONE || t->slice_args.type[arg] > PLUMB_ARG_U64)
        return false;
    *out = t->slice_args.value[arg].i64;
    return true;
}

/* The steps of what a slice runs inside, by depth. */
struct around {
    int64_t *step;
    bool *has;
    size_t cap;
};

static bool make_room(struct around *a, uint32_t depth)
{
    if (depth < a->cap)
        return true;
    size_t cap = 2 * (size_t)depth + 64;
    int64_t *step = realloc(a->step, cap * sizeof *step);
    a->step = step ? step : a->step;
    bool *has = realloc(a->has, cap * sizeof *has);
    a->has = has ? has : a->has;
    a->cap = step && has ? cap : a->cap;
    return step && has;
}

/* The step that slice `i` ran in, into the place of its depth. False: out of memory. */
static bool find_step(struct around *a, const struct plumb_table *t, uint32_t i, uint32_t key)
{
    uint32_t depth = t->slices.depth[i];
    if (!make_room(a, depth))
        return false;
    a->has[depth] = plumb_slice_step(t, i, key, &a->step[depth]);
    if (!a->has[depth] && t->plumb && depth > 0 && a->has[depth - 1]) {
        a->step[depth] = a->step[depth - 1];
        a->has[depth] = true;
    }
    return true;
}

static bool collect_with(struct stepping *s, const struct plumb_table *t, struct around *a)
{
    const struct plumb_table_slices *slices = &t->slices;
    uint32_t key = plumb_strings_find(&t->strings, "step");
    for (uint32_t i = 0; key != UINT32_MAX && i < slices->count; i++) {
        if (!find_step(a, t, i, key))
            return false;
        if (!a->has[slices->depth[i]] || (slices->flags[i] & (PLUMB_SLICE_OPEN | PLUMB_SLICE_CUT)))
            continue;
        struct plumb_step_row *row = row_of(s, slices->name[i], a->step[slices->depth[i]]);
        if (!row)
            return false;
        row->count++;
        row->total_ns += slices->dur_ns[i];
        row->max_ns = slices->dur_ns[i] > row->max_ns ? slices->dur_ns[i] : row->max_ns;
    }
    return true;
}

static bool collect(struct stepping *s, const struct plumb_table *t)
{
    struct around a = {NULL, NULL, 0};
    bool done = collect_with(s, t, &a);
    free(a.step);
    free(a.has);
    return done;
}

static int by_node_and_step(const void *a, const void *b)
{
    const struct plumb_step_row *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static int by_total(const void *a, const void *b)
{
    const struct plumb_stepped_node *x = a, *y = b;
    if (x->of.total_ns != y->of.total_ns)
        return x->of.total_ns > y->of.total_ns ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* One node's rows, from `first` on. */
static struct plumb_stepped_node sum_up(const struct plumb_step_row *rows, size_t first, size_t end,
                                        uint64_t *ns)
{
    struct plumb_stepped_node node = {.name = rows[first].name, .slowest = rows[first].step};
    uint64_t most = 0;
    for (size_t i = first; i < end; i++) {
        ns[i - first] = rows[i].total_ns;
        if (rows[i].total_ns > most) {
            most = rows[i].total_ns;
            node.slowest = rows[i].step;
        }
    }
    node.of = plumb_durations_of(ns, end - first);
    node.rows = (struct plumb_table_range){(uint32_t)first, (uint32_t)(end - first)};
    return node;
}

int plumb_steps_init(struct plumb_steps *out, const struct plumb_table *t, plumb_error *err)
{
    struct stepping s = {.rows = NULL};
    struct plumb_steps steps = {.rows = NULL};
    uint64_t *ns = NULL;
    bool done = collect(&s, t);
    plumb_ids_fini(&s.step_of);
    plumb_ids_fini(&s.row_of);
    steps.rows = s.rows;
    steps.row_count = s.count;
    if (done && s.count > 0) {
        qsort(s.rows, s.count, sizeof *s.rows, by_node_and_step);
        ns = malloc(s.count * sizeof *ns);
        steps.nodes = malloc(s.count * sizeof *steps.nodes);
        done = ns && steps.nodes;
    }
    for (size_t first = 0, end; done && first < s.count; first = end) {
        for (end = first + 1; end < s.count && s.rows[end].name == s.rows[first].name; end++)
            ;
        steps.nodes[steps.node_count++] = sum_up(s.rows, first, end, ns);
    }
    free(ns);
    if (!done) {
        plumb_steps_fini(&steps);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the steps of a trace");
    }
    if (steps.node_count > 0)
        qsort(steps.nodes, steps.node_count, sizeof *steps.nodes, by_total);
    *out = steps;
    return PLUMB_OK;
}

void plumb_steps_fini(struct plumb_steps *s)
{
    free(s->rows);
    free(s->nodes);
    *s = (struct plumb_steps){.rows = NULL};
}

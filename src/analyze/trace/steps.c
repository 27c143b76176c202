/* steps.c: time of steps. */
#include <stdlib.h>

#include "analyze/trace/spans.h"
#include "base/error.h"
#include "read/trace/ids.h"

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

static bool collect(struct stepping *s, const struct plumb_step_marks *marks)
{
    const struct plumb_table *t = marks->t;
    uint32_t mark_name = 0;
    for (uint32_t i = 0; i < t->slices.count; i++) {
        uint32_t name = t->slices.name[i];
        int64_t step;
        if (plumb_step_is_mark(marks, name, &step)) {
            if (t->slices.category[i] == marks->copy)
                continue;
            mark_name = mark_name ? mark_name : name;
            name = mark_name;
        }
        if ((t->slices.flags[i] & (PLUMB_SLICE_OPEN | PLUMB_SLICE_CUT)) ||
            !plumb_step_of(marks, i, &step))
            continue;
        struct plumb_step_row *row = row_of(s, name, step);
        if (!row)
            return false;
        row->count++;
        row->total_ns += t->slices.dur_ns[i];
        row->max_ns = t->slices.dur_ns[i] > row->max_ns ? t->slices.dur_ns[i] : row->max_ns;
    }
    return true;
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

int plumb_steps_init(struct plumb_steps *out, const struct plumb_step_marks *marks,
                     plumb_error *err)
{
    struct stepping s = {.rows = NULL};
    struct plumb_steps steps = {.rows = NULL};
    uint64_t *ns = NULL;
    bool done = collect(&s, marks);
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

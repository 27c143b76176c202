/* read_figures.c: see read_figures.h. The values of a gate are the source, so that a rule can name
 * with `old = history` what it can name without. A rule without `name` means all rows of a node
 * together, and one without `node` the whole run. Those sums are figures of their own: otherwise a
 * row that is missing in another run would be missing in its sum. */
#include "api/read_figures.h"

#include <stdlib.h>
#include <string.h>

#include "report/gate/take.h"

static bool is(const struct plumb_gate_metric *metric, const char *name)
{
    return strcmp(metric->name, name) == 0;
}

void plumb_history_figure_name(struct plumb_buf *out, const struct plumb_gate_metric *metric,
                               const struct plumb_gate_key *key)
{
    bool median = is(metric, "time");
    if (key->of_run && is(metric, "peak_rss")) {
        plumb_buf_str(out, "peak_memory");
        return;
    }
    if (!median)
        plumb_buf_str(out, metric->name);
    if (key->name[0])
        plumb_buf_printf(out, " %s", key->name);
    if (key->of_run)
        return;
    plumb_buf_printf(out, "%s%s%s", median ? "" : " of ", key->pipeline,
                     key->pipeline[0] ? "/" : "");
    if (key->phase[0] && strcmp(key->phase, "inference") != 0)
        plumb_buf_printf(out, "%s: ", key->phase);
    plumb_buf_str(out, key->node);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

struct figure {
    char *name;
    const struct plumb_gate_metric *metric;
    double value;
};

struct figures {
    struct figure *at;
    size_t count, cap;
    bool failed;
};

static void add(struct figures *all, const struct plumb_gate_value *v,
                const struct plumb_gate_key *key)
{
    struct plumb_buf name = {0};
    plumb_history_figure_name(&name, v->metric, key);
    if (all->count == all->cap) {
        size_t cap = all->cap ? 2 * all->cap : 64;
        struct figure *grown = realloc(all->at, cap * sizeof *grown);
        all->failed |= !grown;
        all->at = grown ? grown : all->at;
        all->cap = grown ? cap : all->cap;
    }
    all->failed |= name.failed;
    if (all->failed || !name.data) {
        plumb_buf_fini(&name);
        return;
    }
    all->at[all->count++] = (struct figure){name.data, v->metric,
                                            v->count > 0 ? v->samples[0] / 1e6 : (double)v->exact};
}

/* The value under each key that a rule can have for it. */
static void add_all(struct figures *all, const struct plumb_gate_value *v)
{
    struct plumb_gate_key key = {v->pipeline,          v->phase, v->node, "",
                                 PLUMB_GATE_WHOLE_RUN, v->of_run};
    bool counted = v->metric->takes & PLUMB_GATE_PER;
    if (v->node[0] || v->of_run) {
        add(all, v, &key);
        if (v->name[0]) {
            key.name = v->name;
            add(all, v, &key);
        }
    }
    if (!counted || v->of_run)
        return;
    key.of_run = true;
    key.name = "";
    add(all, v, &key);
    if (v->name[0]) {
        key.name = v->name;
        add(all, v, &key);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct figure *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Figures that waver by themselves, so that a table is not full of them. */
static double floor_of(const struct plumb_gate_metric *m, double known)
{
    return is(m, "page_faults") || is(m, "instructions") || is(m, "allocations") ? 0.05 : known;
}

static void append(struct plumb_result_list *list, struct plumb_result_item *item,
                   const struct figure *f)
{
    static const char *const units[] = {"ms", "bytes", "count", "count", ""};
    plumb_metric *m =
        plumb_result_append(list, item, f->name, units[f->metric->quantity], f->value);
    if (!m)
        return;
    m->gated = 0;
    m->floor_relative = floor_of(f->metric, m->floor_relative);
}

static void append_all(struct plumb_result_list *list, struct plumb_result_item *item,
                       struct figures *all)
{
    qsort(all->at, all->count, sizeof *all->at, by_name);
    for (size_t i = 0, next; i < all->count; i = next) {
        struct figure *f = &all->at[i];
        for (next = i + 1; next < all->count && strcmp(all->at[next].name, f->name) == 0; next++) {
            double more = all->at[next].value;
            if (!plumb_gate_is_peak(f->metric))
                f->value += more;
            else if (more > f->value)
                f->value = more;
        }
        append(list, item, f);
    }
}

void plumb_figures_of_run(struct plumb_result_list *list, struct plumb_result_item *item,
                          const struct plumb_timing *timing)
{
    struct plumb_gate_case g;
    struct figures all = {NULL, 0, 0, false};
    plumb_gate_init(&g, NULL);
    if (plumb_gate_take_run(&g, PLUMB_GATE_SIDE_NEW, timing, "run", NULL) < 0)
        all.failed = true;
    const struct plumb_gate_source *s = all.failed ? NULL : g.side[PLUMB_GATE_SIDE_NEW].sources;
    for (size_t i = 0; s && i < s->count; i++) {
        const struct plumb_gate_value *v = &s->values[i];
        bool known = is(v->metric, "time") || (v->of_run && is(v->metric, "peak_rss"));
        if (!known && v->step == PLUMB_GATE_WHOLE_RUN && v->metric->kept)
            add_all(&all, v);
    }
    if (all.count > 0 && !all.failed)
        append_all(list, item, &all);
    list->arena.failed |= all.failed;
    for (size_t i = 0; i < all.count; i++)
        free(all.at[i].name);
    free(all.at);
    plumb_gate_fini(&g);
}

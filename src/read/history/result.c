/* result.c: see result.h. */
#include "read/history/result.h"

#include <stdlib.h>
#include <string.h>

#include "read/history/metric_kinds.h"

void plumb_result_list_init(struct plumb_result_list *l)
{
    memset(l, 0, sizeof *l);
    plumb_buf_str(&l->remarks, "");
}

void plumb_result_list_fini(struct plumb_result_list *l)
{
    plumb_buf_fini(&l->remarks);
    plumb_arena_fini(&l->arena);
}

struct plumb_result_item *plumb_result_add(struct plumb_result_list *l)
{
    struct plumb_result_item *items =
        plumb_arena_grow(&l->arena, l->items, &l->cap, l->count + 1, sizeof *items);
    if (!items)
        return NULL;
    l->items = items;
    struct plumb_result_item *item = &items[l->count++];
    memset(item, 0, sizeof *item);
    item->r.success = 1;
    item->r.run_source = "unknown";
    item->r.status = PLUMB_HISTORY_NOT_COMPARED;
    return item;
}

const plumb_metric *plumb_result_find(const plumb_result *r, const char *name)
{
    for (size_t i = 0; i < r->metric_count; i++)
        if (strcmp(r->metrics[i].name, name) == 0)
            return &r->metrics[i];
    return NULL;
}

const plumb_metric *plumb_result_find_near(const plumb_result *r, const char *name, size_t near)
{
    if (near < r->metric_count && strcmp(r->metrics[near].name, name) == 0)
        return &r->metrics[near];
    return plumb_result_find(r, name);
}

plumb_metric *plumb_result_append(struct plumb_result_list *l, struct plumb_result_item *item,
                                  const char *name, const char *unit, double value)
{
    plumb_metric *m = plumb_arena_grow(&l->arena, (plumb_metric *)item->r.metrics,
                                       &item->metric_cap, item->r.metric_count + 1, sizeof *m);
    if (!m)
        return NULL;
    item->r.metrics = m;
    m += item->r.metric_count;
    memset(m, 0, sizeof *m);
    m->name = plumb_arena_strdup(&l->arena, name);
    m->unit = plumb_arena_strdup(&l->arena, unit);
    if (!m->name || !m->unit)
        return NULL;
    plumb_metric_default(m);
    m->value = value;
    item->r.metric_count++;
    return m;
}

plumb_metric *plumb_result_metric(struct plumb_result_list *l, struct plumb_result_item *item,
                                  const char *name, const char *unit, double value)
{
    plumb_metric *known = (plumb_metric *)plumb_result_find(&item->r, name);
    if (!known)
        return plumb_result_append(l, item, name, unit, value);
    known->value = value;
    return known;
}

struct ordered {
    struct plumb_result_item item;
    size_t at;
};

static int by_time(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    if (x->item.r.time_ns != y->item.r.time_ns)
        return x->item.r.time_ns < y->item.r.time_ns ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

void plumb_result_sort(struct plumb_result_list *l)
{
    struct ordered *all = plumb_arena_alloc(&l->arena, (l->count + 1) * sizeof *all);
    for (size_t i = 0; all && i < l->count; i++)
        all[i] = (struct ordered){l->items[i], i};
    if (all)
        qsort(all, l->count, sizeof *all, by_time);
    for (size_t i = 0; all && i < l->count; i++)
        l->items[i] = all[i].item;
}

/* node_recover_work.c: see node_recover_work.h. */
#include "read/run/node_recover_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct plumb_recovered_launch {
    uint32_t span, work; /* slices */
};

/* The keys of args, as strings of the table; beyond all strings: it has none of them. */
struct keys {
    uint32_t tid, node, step, grid, shapes;
};

static struct keys keys_of(const struct plumb_table *t)
{
    return (struct keys){.tid = plumb_strings_find(&t->strings, "tid"),
                         .node = plumb_strings_find(&t->strings, "node"),
                         .step = plumb_strings_find(&t->strings, "step"),
                         .grid = plumb_strings_find(&t->strings, "grid"),
                         .shapes = plumb_strings_find(&t->strings, "shapes")};
}

/* The arg of a slice; NULL: it has none. */
static const union plumb_table_number *arg_of(const struct plumb_table *t, uint32_t slice,
                                              uint32_t key)
{
    uint32_t arg = key == UINT32_MAX ? PLUMB_TABLE_NONE : plumb_table_arg(t, slice, key);
    return arg == PLUMB_TABLE_NONE ? NULL : &t->slice_args.value[arg];
}

static bool is_of_thread(const struct plumb_table *t, uint32_t slice)
{
    return t->tracks[t->slices.track[slice]].kind == PLUMB_TRACK_THREAD;
}

static uint32_t slice_at(const struct plumb_table *t, const struct plumb_table_end *end)
{
    return end->instant ? t->instants.slice[end->row] : end->row;
}

/* The innermost slice of a thread's track that is around the work. */
static uint32_t span_around(const struct plumb_table *t, const struct plumb_table_track *track,
                            uint32_t work)
{
    uint64_t begin = t->slices.ts_ns[work], end = plumb_table_end_ns(t, work);
    uint32_t low = track->slices.first, high = low + track->slices.count, span;
    while (low < high) { /* to the first that begins after it */
        uint32_t middle = low + (high - low) / 2;
        if (t->slices.ts_ns[middle] <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == track->slices.first)
        return PLUMB_TABLE_NONE;
    for (span = low - 1; span != PLUMB_TABLE_NONE; span = t->slices.parent[span])
        if (plumb_table_end_ns(t, span) >= end)
            break;
    return span;
}

static uint32_t span_of_host_work(const struct plumb_table *t, uint32_t work, int64_t tid)
{
    const struct plumb_table_track *own = &t->tracks[t->slices.track[work]];
    for (uint32_t i = 0; i < t->track_count; i++) {
        const struct plumb_table_track *track = &t->tracks[i];
        uint32_t span = PLUMB_TABLE_NONE;
        if (track->kind == PLUMB_TRACK_THREAD && track->has_tid && track->tid == tid &&
            track->process == own->process)
            span = span_around(t, track, work);
        if (span != PLUMB_TABLE_NONE)
            return span;
    }
    return PLUMB_TABLE_NONE;
}

static void add(struct plumb_recovered_work *w, uint32_t span, uint32_t work)
{
    if (span != PLUMB_TABLE_NONE && work != PLUMB_TABLE_NONE && is_of_thread(w->t, span) &&
        !is_of_thread(w->t, work))
        w->launches[w->count++] = (struct plumb_recovered_launch){span, work};
}

static int by_span(const void *a, const void *b)
{
    const struct plumb_recovered_launch *x = a, *y = b;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return x->work < y->work ? -1 : x->work > y->work;
}

int plumb_recovered_work_open(struct plumb_recovered_work *out, const struct plumb_table *t,
                              plumb_error *err)
{
    struct plumb_recovered_work w = {.t = t};
    const struct keys keys = keys_of(t);
    w.launches = malloc(((size_t)t->flow_count + t->slices.count + 1) * sizeof *w.launches);
    if (!w.launches)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the kernels of a trace");
    for (uint32_t i = 0; i < t->flow_count; i++)
        add(&w, slice_at(t, &t->flows[i].from), slice_at(t, &t->flows[i].to));
    for (uint32_t i = 0; i < t->slices.count; i++) {
        const union plumb_table_number *tid = is_of_thread(t, i) ? NULL : arg_of(t, i, keys.tid);
        if (tid)
            add(&w, span_of_host_work(t, i, tid->i64), i);
    }
    qsort(w.launches, w.count, sizeof *w.launches, by_span);
    *out = w;
    return PLUMB_OK;
}

static const char *text_of(const struct plumb_table *t, uint32_t slice, uint32_t key)
{
    const union plumb_table_number *arg = arg_of(t, slice, key);
    return arg ? plumb_table_text(t, (uint32_t)arg->u64) : NULL;
}

static struct plumb_lane_work work_of(const struct plumb_recovered_work *w, uint32_t slice)
{
    const struct plumb_table *t = w->t;
    const struct keys keys = keys_of(t);
    uint32_t on = t->slices.track[slice], above = plumb_table_group(t, on);
    const union plumb_table_number *step = arg_of(t, slice, keys.step);
    const union plumb_table_number *node = arg_of(t, slice, keys.node);
    const union plumb_table_number *tid = arg_of(t, slice, keys.tid);
    struct plumb_lane_work work = {.begin_ns = t->slices.ts_ns[slice],
                                   .end_ns = plumb_table_end_ns(t, slice),
                                   .name = plumb_table_text(t, t->slices.name[slice]),
                                   .lane = plumb_table_text(t, t->tracks[on].name),
                                   .device = "",
                                   .grid = text_of(t, slice, keys.grid),
                                   .shape = text_of(t, slice, keys.shapes),
                                   .name_id = t->slices.name[slice],
                                   .node = node ? (uint32_t)node->u64 : 0,
                                   .lane_id = on,
                                   .step = step ? (int32_t)step->i64 : -1,
                                   .tid = tid ? (uint32_t)tid->u64 : 0,
                                   .host = tid != NULL};
    for (; !work.host && above != PLUMB_TABLE_NONE; above = plumb_table_group(t, above))
        work.device = plumb_table_text(t, t->tracks[above].name);
    return work;
}

void plumb_recovered_work_pass(struct plumb_recovered_work *w, struct plumb_node_track *track,
                               uint32_t slice)
{
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->launches[middle].span < slice)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < w->count && w->launches[low].span == slice; low++) {
        struct plumb_lane_work work = work_of(w, w->launches[low].work);
        work.flow = UINT64_C(1) << 63 | ++w->next;
        plumb_node_track_launch(track, work.flow);
        plumb_node_trace_work(track->set, &work);
    }
}

void plumb_recovered_work_close(struct plumb_recovered_work *w)
{
    free(w->launches);
    w->launches = NULL;
}

/* spans.c: time of nodes on threads. Slices are put into groups, and the durations of a group lie
 * side by side, so that they can be sorted in place. */
#include "analyze/trace/spans.h"

#include <stdlib.h>

#include "base/error.h"
#include "read/trace/ids.h"

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

struct plumb_durations plumb_durations_of(uint64_t *ns, size_t n)
{
    struct plumb_durations d = {.count = n};
    if (n == 0)
        return d;
    qsort(ns, n, sizeof *ns, by_size);
    for (size_t i = 0; i < n; i++)
        d.total_ns = d.total_ns + ns[i] < d.total_ns ? UINT64_MAX : d.total_ns + ns[i];
    d.min_ns = ns[0];
    d.max_ns = ns[n - 1];
    d.median_ns = n % 2 ? ns[n / 2] : ns[n / 2 - 1] + (ns[n / 2] - ns[n / 2 - 1]) / 2;
    d.p99_ns = ns[n - n / 100 - 1]; /* rank ceil(0.99 n) */
    return d;
}

/* ---- Groups --------------------------------------------------------------------------------- */

struct grouping {
    const struct plumb_table *t;
    struct plumb_ids pairs, groups; /* (name, category) -> pair + 1; (pair, track) -> group + 1 */
    struct plumb_span_row *rows;
    size_t count, cap, pair_count;
    uint32_t *group_of;   /* by slice */
    uint32_t *last_track; /* by group, for counting tracks */
    uint64_t *inside_ns;  /* by slice: of those directly inside */
};

static bool is_sample(const struct plumb_table *t, uint32_t i)
{
    return !(t->slices.flags[i] & PLUMB_SLICE_NO_SAMPLE);
}

static void count_flags(struct plumb_span_row *row, uint8_t flags)
{
    if (flags & PLUMB_SLICE_OPEN)
        row->open++;
    else if (flags & PLUMB_SLICE_CUT)
        row->cut++;
    else if (flags & PLUMB_SLICE_VOID)
        row->no_sample++;
    else if (flags & PLUMB_SLICE_FAILED)
        row->failed++;
    else
        row->of.count++;
}

static bool add_group(struct grouping *g, uint32_t slice, uint32_t track)
{
    if (g->count == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 64;
        struct plumb_span_row *rows = realloc(g->rows, cap * sizeof *rows);
        if (!rows)
            return false;
        g->rows = rows;
        g->cap = cap;
    }
    g->rows[g->count++] = (struct plumb_span_row){
        .name = g->t->slices.name[slice], .category = g->t->slices.category[slice], .track = track};
    return true;
}

/* The group of a slice, made when it is met first; -1: out of memory. */
static int64_t group_of(struct grouping *g, uint32_t slice, bool by_track)
{
    const struct plumb_table_slices *s = &g->t->slices;
    uint64_t key = (uint64_t)s->name[slice] << 32 | s->category[slice];
    uint32_t pair = plumb_ids_get(&g->pairs, key), group;
    if (!pair) {
        pair = (uint32_t)++g->pair_count;
        if (!plumb_ids_put(&g->pairs, key, pair))
            return -1;
    }
    key = (uint64_t)pair << 32 | (by_track ? s->track[slice] : PLUMB_TABLE_NONE);
    if ((group = plumb_ids_get(&g->groups, key)))
        return group - 1;
    if (!add_group(g, slice, by_track ? s->track[slice] : PLUMB_TABLE_NONE) ||
        !plumb_ids_put(&g->groups, key, (uint32_t)g->count))
        return -1;
    return (int64_t)g->count - 1;
}

/* Slices come track by track, so a track that a group has not seen last is a new one. */
static bool put_into_groups(struct grouping *g, bool by_track)
{
    const struct plumb_table_slices *s = &g->t->slices;
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t group = group_of(g, i, by_track);
        if (group < 0)
            return false;
        struct plumb_span_row *row = &g->rows[group];
        g->group_of[i] = (uint32_t)group;
        if (row->tracks == 0 || g->last_track[group] != s->track[i])
            row->tracks++;
        g->last_track[group] = s->track[i];
        count_flags(row, s->flags[i]);
        if (s->parent[i] != PLUMB_TABLE_NONE)
            g->inside_ns[s->parent[i]] += s->dur_ns[i];
    }
    return true;
}

static bool sum_up(struct grouping *g)
{
    const struct plumb_table_slices *s = &g->t->slices;
    uint64_t *ns = malloc((s->count + (size_t)1) * sizeof *ns);
    size_t *at = malloc((g->count + 1) * sizeof *at);
    bool done = ns && at;
    size_t sum = 0;
    for (size_t i = 0; done && i < g->count; i++) {
        at[i] = sum;
        sum += g->rows[i].of.count;
    }
    for (uint32_t i = 0; done && i < s->count; i++) {
        struct plumb_span_row *row = &g->rows[g->group_of[i]];
        if (!is_sample(g->t, i))
            continue;
        ns[at[g->group_of[i]]++] = s->dur_ns[i];
        row->self_ns += s->dur_ns[i] > g->inside_ns[i] ? s->dur_ns[i] - g->inside_ns[i] : 0;
    }
    for (size_t i = 0; done && i < g->count; i++) {
        size_t n = g->rows[i].of.count;
        g->rows[i].of = plumb_durations_of(ns + at[i] - n, n);
    }
    free(ns);
    free(at);
    return done;
}

static int by_total(const void *a, const void *b)
{
    const struct plumb_span_row *x = a, *y = b;
    if (x->of.total_ns != y->of.total_ns)
        return x->of.total_ns > y->of.total_ns ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    return x->track < y->track ? -1 : x->track > y->track;
}

int plumb_span_rows_init(struct plumb_span_rows *out, const struct plumb_table *t, bool by_track,
                         plumb_error *err)
{
    size_t n = t->slices.count + (size_t)1;
    struct grouping g = {.t = t};
    g.group_of = malloc(n * sizeof *g.group_of);
    g.last_track = malloc(n * sizeof *g.last_track);
    g.inside_ns = calloc(n, sizeof *g.inside_ns);
    bool done =
        g.group_of && g.last_track && g.inside_ns && put_into_groups(&g, by_track) && sum_up(&g);
    if (done && g.count > 0)
        qsort(g.rows, g.count, sizeof *g.rows, by_total);
    plumb_ids_fini(&g.pairs);
    plumb_ids_fini(&g.groups);
    free(g.group_of);
    free(g.last_track);
    free(g.inside_ns);
    if (!done) {
        free(g.rows);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the nodes of a trace");
    }
    *out = (struct plumb_span_rows){g.rows, g.count};
    return PLUMB_OK;
}

void plumb_span_rows_fini(struct plumb_span_rows *r)
{
    free(r->rows);
    *r = (struct plumb_span_rows){NULL, 0};
}

/* ---- The slowest ---------------------------------------------------------------------------- */

static int by_inside(const void *a, const void *b)
{
    const struct plumb_inside *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

size_t plumb_slice_inside(const struct plumb_table *t, uint32_t slice,
                          struct plumb_inside out[PLUMB_INSIDE_MAX], struct plumb_inside *rest,
                          uint64_t *self_ns)
{
    const struct plumb_table_slices *s = &t->slices;
    uint32_t after = plumb_table_after(t, slice);
    uint64_t inside = 0;
    size_t n = 0;
    *rest = (struct plumb_inside){0, 0, 0};
    for (uint32_t i = slice + 1; i < after; i++) {
        struct plumb_inside *at = rest;
        if (s->depth[i] != s->depth[slice] + 1)
            continue;
        for (size_t k = 0; k < n && at == rest; k++)
            if (out[k].name == s->name[i])
                at = &out[k];
        if (at == rest && n < PLUMB_INSIDE_MAX) {
            at = &out[n++];
            *at = (struct plumb_inside){s->name[i], 0, 0};
        }
        at->count++;
        at->total_ns += s->dur_ns[i];
        inside += s->dur_ns[i];
    }
    qsort(out, n, sizeof *out, by_inside);
    *self_ns = s->dur_ns[slice] > inside ? s->dur_ns[slice] - inside : 0;
    return n;
}

size_t plumb_slowest(const struct plumb_table *t, uint32_t name, uint32_t *out, size_t most,
                     uint64_t *total)
{
    const struct plumb_table_slices *s = &t->slices;
    size_t n = 0;
    *total = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        size_t at = n;
        if (s->name[i] != name || (s->flags[i] & (PLUMB_SLICE_OPEN | PLUMB_SLICE_CUT)))
            continue;
        ++*total;
        if (n == most && (n == 0 || s->dur_ns[out[n - 1]] >= s->dur_ns[i]))
            continue;
        at = n < most ? n++ : n - 1;
        for (; at > 0 && s->dur_ns[out[at - 1]] < s->dur_ns[i]; at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return n;
}

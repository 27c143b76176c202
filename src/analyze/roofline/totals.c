/* totals.c: see totals.h. The kernels that count are found from the inside out: the work inside
 * each slice is summed first, kernels on rows of their own going to the operator that launched
 * them. Then a kernel is dropped if one around it counts itself. */
#include "analyze/roofline/totals.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/kernel/kernels.h"
#include "base/error.h"
#include "read/trace/ids.h"

enum counts { COUNTS_NOT, COUNTS_ITSELF, COUNTS_INSIDE };

struct entry { /* of a slice with operations or bytes */
    uint32_t slice;
    double flops, bytes; /* its own; less than 0: unknown */
    double inside;       /* operations of what runs inside it */
    double inside_bytes; /* the same of bytes */
    uint8_t counts;      /* enum counts */
    enum plumb_peak_type type;
};

struct run { /* of a stage */
    uint32_t name;
    uint64_t begin, end;
};

struct search {
    const struct plumb_table *t;
    struct plumb_kernels kernels;
    struct plumb_step_marks marks;
    struct entry *entries;
    uint32_t *entry_of; /* by slice: its entry + 1; 0: none */
    size_t count;
    struct plumb_totals_of of;
    struct plumb_kernel_args args;
    uint8_t *is_stage;         /* by text */
    bool any_stage;            /* outermost slices are stages */
    struct plumb_ids stage_of; /* text -> its stage + 1 */
    struct plumb_work_totals *out;
    size_t cap;
};

/* ---- What counts ----------------------------------------------------------------------------- */

static uint32_t around(const struct search *s, uint32_t slice)
{
    uint32_t parent = s->t->slices.parent[slice];
    if (!plumb_kernels_is(&s->kernels, slice))
        return parent;
    return parent != PLUMB_TABLE_NONE && plumb_kernels_is(&s->kernels, parent)
               ? parent
               : s->kernels.launch[slice];
}

/* Damaged traces may have slices around each other in a circle. */
enum { DEPTH_MAX = 10000 };

static struct entry *entry_around(const struct search *s, uint32_t slice)
{
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        slice = around(s, slice);
        if (slice == PLUMB_TABLE_NONE)
            return NULL;
        if (s->entry_of[slice])
            return &s->entries[s->entry_of[slice] - 1];
    }
    return NULL;
}

static double larger(double own, double inside)
{
    return own > inside ? own : inside;
}

/* Adds what lies in the slices to what is around them: from the last one, so that what runs inside
 * comes first. Kernels on rows of their own come before operators. */
static void sum_up(struct search *s, bool kernels)
{
    for (size_t i = s->count; i-- > 0;) {
        struct entry *e = &s->entries[i];
        if (plumb_kernels_is(&s->kernels, e->slice) != kernels)
            continue;
        bool itself = e->flops > e->inside ||
                      (e->flops >= e->inside && e->bytes >= e->inside_bytes) ||
                      (e->inside == 0 && e->inside_bytes == 0);
        e->counts = itself ? COUNTS_ITSELF : COUNTS_INSIDE;
        struct entry *outer = entry_around(s, e->slice);
        if (!outer)
            continue;
        outer->inside += larger(e->flops, e->inside);
        outer->inside_bytes += itself ? larger(e->bytes, 0) : e->inside_bytes;
    }
}

static void drop_inner(struct search *s, bool kernels)
{
    for (size_t i = 0; i < s->count; i++) {
        struct entry *e = &s->entries[i];
        if (plumb_kernels_is(&s->kernels, e->slice) != kernels)
            continue;
        const struct entry *outer = entry_around(s, e->slice);
        if (outer && outer->counts != COUNTS_INSIDE)
            e->counts = COUNTS_NOT;
    }
}

static void find_entries(struct search *s)
{
    for (uint32_t i = 0; i < s->t->slices.count; i++) {
        struct entry e = {.slice = i};
        if (!plumb_kernel_figures(&e.flops, &e.bytes, s->t, &s->args, i))
            continue;
        if (s->t->slices.flags[i] & PLUMB_SLICE_NO_SAMPLE) {
            s->out->left_out++;
            continue;
        }
        e.type = plumb_first_type(plumb_table_text(s->t, plumb_kernel_types(s->t, &s->args, i)));
        s->entries[s->count++] = e;
        s->entry_of[i] = (uint32_t)s->count;
    }
    sum_up(s, true);
    sum_up(s, false);
    drop_inner(s, false);
    drop_inner(s, true);
}

static void add_work(struct plumb_work *w, const struct entry *e)
{
    w->kernels++;
    w->no_bytes += e->bytes < 0 && e->flops > 0;
    w->no_flops += e->flops < 0;
    w->flops += larger(e->flops, 0);
    w->bytes += larger(e->bytes, 0);
    w->by_type[e->type] += larger(e->flops, 0);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

/* The outermost slice that is a stage and around a kernel, or the kernel itself: a program may
 * attach operations to a stage. PLUMB_TABLE_NONE: none. */
static uint32_t stage_of(const struct search *s, const struct entry *e)
{
    uint32_t found = PLUMB_TABLE_NONE, slice = e->slice;
    if (s->any_stage) {
        uint32_t outer = around(s, slice);
        bool holds = e->inside > 0 || e->inside_bytes > 0;
        return outer != PLUMB_TABLE_NONE || holds
                   ? plumb_kernels_stage(&s->kernels, outer != PLUMB_TABLE_NONE ? outer : slice)
                   : PLUMB_TABLE_NONE;
    }
    for (int depth = 0; depth < DEPTH_MAX && slice != PLUMB_TABLE_NONE; depth++) {
        if (s->is_stage[s->t->slices.name[slice]])
            found = slice;
        slice = around(s, slice);
    }
    return found;
}

static struct plumb_stage_work *stage_for(struct search *s, uint32_t name)
{
    struct plumb_work_totals *out = s->out;
    uint32_t place = plumb_ids_get(&s->stage_of, name);
    if (place)
        return &out->stages[place - 1];
    if (out->stage_count == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        struct plumb_stage_work *stages = realloc(out->stages, cap * sizeof *stages);
        if (!stages)
            return NULL;
        out->stages = stages;
        s->cap = cap;
    }
    out->stages[out->stage_count] = (struct plumb_stage_work){.name = name};
    return plumb_ids_put(&s->stage_of, name, (uint32_t)++out->stage_count)
               ? &out->stages[out->stage_count - 1]
               : NULL;
}

static bool is_wanted(const struct search *s, uint32_t slice)
{
    const struct plumb_kernel_row *row = s->of.wanted;
    return row && s->t->slices.name[slice] == row->name &&
           plumb_kernel_shapes(s->t, &s->args, slice) == row->shapes;
}

static bool add_stages(struct search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entries[i];
        uint32_t stage = stage_of(s, e);
        if (e->counts == COUNTS_ITSELF)
            add_work(&s->out->work, e);
        if (stage == PLUMB_TABLE_NONE || s->t->slices.flags[stage] & PLUMB_SLICE_NO_SAMPLE)
            continue;
        struct plumb_stage_work *w = stage_for(s, s->t->slices.name[stage]);
        if (!w)
            return false;
        if (e->counts == COUNTS_ITSELF)
            add_work(&w->work, e);
        if (e->counts == COUNTS_INSIDE)
            continue;
        uint64_t ns = s->kernels.self_ns[e->slice];
        w->kernel_ns += ns;
        w->wanted_ns += is_wanted(s, e->slice) ? ns : 0;
        w->copy_ns += e->flops <= 0 || s->kernels.kind[e->slice] > PLUMB_KERNEL_WORK ? ns : 0;
    }
    return true;
}

static int by_name_and_time(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Whether the slice is a run of a stage that is not inside another run of it. */
static bool is_run(const struct search *s, uint32_t slice)
{
    uint32_t name = s->t->slices.name[slice];
    if (s->t->slices.flags[slice] & PLUMB_SLICE_NO_SAMPLE || !plumb_ids_get(&s->stage_of, name) ||
        s->kernels.kind[slice] != PLUMB_KERNEL_OP)
        return false;
    if (s->any_stage)
        return plumb_kernels_stage(&s->kernels, slice) == slice;
    for (uint32_t p = s->t->slices.parent[slice]; p != PLUMB_TABLE_NONE; p = s->t->slices.parent[p])
        if (s->t->slices.name[p] == name)
            return false;
    return true;
}

static bool add_times(struct search *s)
{
    struct run *runs = malloc((s->t->slices.count + (size_t)1) * sizeof *runs);
    size_t n = 0;
    uint64_t until = 0;
    if (!runs)
        return false;
    for (uint32_t i = 0; i < s->t->slices.count; i++)
        if (is_run(s, i))
            runs[n++] = (struct run){s->t->slices.name[i], s->t->slices.ts_ns[i],
                                     plumb_table_end_ns(s->t, i)};
    qsort(runs, n, sizeof *runs, by_name_and_time);
    for (size_t i = 0; i < n; i++) {
        struct plumb_stage_work *w = stage_for(s, runs[i].name);
        if (i == 0 || runs[i].name != runs[i - 1].name)
            until = 0;
        uint64_t from = runs[i].begin > until ? runs[i].begin : until;
        w->wall_ns += runs[i].end > from ? runs[i].end - from : 0;
        w->runs++;
        until = runs[i].end > until ? runs[i].end : until;
    }
    free(runs);
    return true;
}

static int by_wall(const void *a, const void *b)
{
    const struct plumb_stage_work *x = a, *y = b;
    if (x->wall_ns != y->wall_ns)
        return x->wall_ns > y->wall_ns ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static uint64_t wall_of(const struct plumb_table *t)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < t->slices.count; i++) {
        uint64_t end = plumb_table_end_ns(t, i);
        first = t->slices.ts_ns[i] < first ? t->slices.ts_ns[i] : first;
        last = end > last ? end : last;
    }
    return last > first ? last - first : 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int make(struct search *s, plumb_error *err)
{
    size_t n = s->t->slices.count + (size_t)1;
    int rc = plumb_step_marks_init(&s->marks, s->t, err);
    if (rc == PLUMB_OK)
        rc = plumb_kernels_init(&s->kernels, s->t, &s->marks, err);
    if (rc < 0)
        return rc;
    s->entries = malloc(n * sizeof *s->entries);
    s->entry_of = calloc(n, sizeof *s->entry_of);
    s->is_stage = calloc(s->t->strings.count + (size_t)1, 1);
    if (!s->entries || !s->entry_of || !s->is_stage)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the operations of a trace");
    for (size_t i = 0; i < s->of.stage_count; i++)
        if (s->of.stages[i] < s->t->strings.count)
            s->is_stage[s->of.stages[i]] = 1;
    s->any_stage = s->of.stage_count == 0;
    s->args = plumb_kernel_args_of(s->t);
    find_entries(s);
    if (!add_stages(s) || !add_times(s))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the operations of a trace");
    s->out->wall_ns = wall_of(s->t);
    if (s->out->stage_count)
        qsort(s->out->stages, s->out->stage_count, sizeof *s->out->stages, by_wall);
    return PLUMB_OK;
}

int plumb_work_totals_init(struct plumb_work_totals *out, const struct plumb_table *t,
                           const struct plumb_totals_of *of, plumb_error *err)
{
    struct plumb_work_totals totals = {.wall_ns = 0};
    struct search s = {.t = t, .out = &totals};
    if (of)
        s.of = *of;
    int rc = make(&s, err);
    plumb_ids_fini(&s.stage_of);
    plumb_kernels_fini(&s.kernels);
    plumb_step_marks_fini(&s.marks);
    free(s.entries);
    free(s.entry_of);
    free(s.is_stage);
    if (rc < 0)
        plumb_work_totals_fini(&totals);
    else
        *out = totals;
    return rc;
}

void plumb_work_totals_fini(struct plumb_work_totals *totals)
{
    free(totals->stages);
    *totals = (struct plumb_work_totals){.wall_ns = 0};
}

/* ---- Figures --------------------------------------------------------------------------------- */

struct plumb_roof_point plumb_work_point(const struct plumb_work *work, uint64_t runs, uint64_t ns)
{
    struct plumb_roof_point p = {.count = runs,
                                 .total_ns = ns,
                                 .flops = work->flops,
                                 .bytes = work->no_bytes ? -1 : work->bytes,
                                 .type = PLUMB_PEAK_TYPES};
    double most = 0;
    for (int i = 0; i < PLUMB_PEAK_TYPES; i++) {
        if (work->by_type[i] > most) {
            most = work->by_type[i];
            p.type = (enum plumb_peak_type)i;
        }
    }
    return p;
}

double plumb_work_ideal_s(const struct plumb_work *work, const struct plumb_peaks *peaks,
                          enum plumb_peak_span span, double *without)
{
    double seconds = 0;
    *without = work->by_type[PLUMB_PEAK_TYPES];
    for (int i = 0; i < PLUMB_PEAK_TYPES; i++) {
        double rate = peaks->compute[i][span].rate;
        if (rate > 0)
            seconds += work->by_type[i] / rate;
        else
            *without += work->by_type[i];
    }
    return seconds;
}

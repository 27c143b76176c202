/* top_table.c: the rows of plumb top, and the lines that show them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "top.h"

const char *const plumb_top_sort_names[PLUMB_TOP_SORTS] = {
    "share", "rate", "mean", "p95", "self", "device", "open", "memory", "count", "name"};

/* ---- Rows ------------------------------------------------------------------------------------ */

struct maker {
    const struct plumb_top_watch *w;
    const struct plumb_top_view *view;
    const plumb_reading *shown;
    double seconds;    /* that the shown figures cover */
    double all_ns;     /* own time of all rows */
    uint64_t *open_ns; /* of each row of the last reading: age of its oldest open span */
};

static bool is_same(const plumb_row *a, const plumb_row *b)
{
    return strcmp(a->node, b->node) == 0 && strcmp(a->phase, b->phase) == 0 &&
           strcmp(a->pipeline, b->pipeline) == 0;
}

/* Rows keep their order: the search begins after the row that was found last. */
static const plumb_reading_row *shown_row(const struct maker *m, const plumb_reading_row *row,
                                          size_t *at)
{
    size_t n = plumb_reading_rows(m->shown);
    for (size_t i = 0; i < n; i++) {
        const plumb_reading_row *r = plumb_reading_row_at(m->shown, (*at + i) % n);
        if (is_same(&r->row, &row->row)) {
            *at = (*at + i + 1) % n;
            return r;
        }
    }
    return NULL;
}

static void find_open(struct maker *m)
{
    size_t n = plumb_reading_rows(m->w->now), opens = plumb_reading_opens(m->w->now);
    for (size_t i = 0; i < n; i++) {
        const plumb_reading_row *r = plumb_reading_row_at(m->w->now, i);
        for (size_t k = 0; r->open && k < opens; k++) {
            const plumb_reading_open *o = plumb_reading_open_at(m->w->now, k);
            if (strcmp(o->node, r->row.node) == 0 && strcmp(o->phase, r->row.phase) == 0 &&
                o->age_ns > m->open_ns[i])
                m->open_ns[i] = o->age_ns;
        }
    }
}

/* A second, unless the figures are since the start. */
static double per_second(const struct maker *m, double ns)
{
    return m->view->total || !(m->seconds > 0) ? ns : ns / m->seconds;
}

static void fill(struct plumb_top_row *out, const struct maker *m, size_t i,
                 const plumb_reading_row *shown)
{
    const plumb_reading_row *now = plumb_reading_row_at(m->w->now, i);
    *out = (struct plumb_top_row){.pipeline = now->row.pipeline,
                                  .phase = now->row.phase,
                                  .node = now->row.node,
                                  .mean_ns = -1,
                                  .p50_ns = -1,
                                  .p95_ns = -1,
                                  .p99_ns = -1,
                                  .max_ns = -1,
                                  .count = now->row.count,
                                  .failures = now->row.failures,
                                  .open = now->open,
                                  .open_ns = m->open_ns[i]};
    out->memory_bytes = now->peak_allocated_bytes ? now->peak_allocated_bytes : now->rss_bytes;
    if (!shown)
        return;
    if (shown->row.count) {
        out->mean_ns = shown->row.mean_ms * 1e6;
        out->p50_ns = shown->row.p50_ms * 1e6;
        out->p95_ns = shown->row.p95_ms * 1e6;
        out->p99_ns = shown->row.p99_ms * 1e6;
        out->max_ns = shown->row.max_ms * 1e6;
    }
    out->rate = m->seconds > 0 ? (double)shown->row.count / m->seconds : 0;
    out->share = m->all_ns > 0 ? 100 * (double)shown->own_ns / m->all_ns : 0;
    out->self_ns = per_second(m, (double)shown->own_ns);
    out->device_ns = per_second(m, (double)(shown->device_total_ns + shown->launched_ns));
}

bool plumb_top_matches(const struct plumb_top_view *view, const char *node)
{
    return !view->filter[0] || strcasestr(node, view->filter);
}

static double sort_value(const struct plumb_top_row *r, uint32_t sort)
{
    switch (sort) {
    case PLUMB_TOP_RATE:
        return r->rate;
    case PLUMB_TOP_MEAN:
        return r->mean_ns;
    case PLUMB_TOP_P95:
        return r->p95_ns;
    case PLUMB_TOP_SELF:
        return r->self_ns;
    case PLUMB_TOP_DEVICE:
        return r->device_ns;
    case PLUMB_TOP_OPEN:
        return (double)r->open_ns;
    case PLUMB_TOP_MEMORY:
        return (double)r->memory_bytes;
    case PLUMB_TOP_COUNT:
        return (double)r->count;
    default:
        return r->share;
    }
}

/* Equal rows are in the order of their names, so that lines do not jump. */
static int by_view(const void *x, const void *y, void *arg)
{
    const struct plumb_top_view *view = arg;
    const struct plumb_top_row *a = x, *b = y;
    double va = sort_value(a, view->sort), vb = sort_value(b, view->sort);
    int order = va > vb ? -1 : va < vb ? 1 : 0;
    if (view->sort == PLUMB_TOP_NAME || order == 0) {
        int names = strcmp(a->node, b->node);
        names = names ? names : strcmp(a->phase, b->phase);
        names = names ? names : strcmp(a->pipeline, b->pipeline);
        order = view->sort == PLUMB_TOP_NAME && view->reverse ? -names : names;
        return order;
    }
    return view->reverse ? -order : order;
}

static bool has_row(const struct maker *m, const plumb_reading_open *open)
{
    for (size_t i = 0; i < plumb_reading_rows(m->w->now); i++) {
        const plumb_row *row = &plumb_reading_row_at(m->w->now, i)->row;
        if (strcmp(row->node, open->node) == 0 && strcmp(row->phase, open->phase) == 0)
            return true;
    }
    return false;
}

/* Nodes none of whose runs has ended yet: one that hangs is what the user looks for. */
static void add_open(struct plumb_top_table *out, const struct maker *m)
{
    size_t first = out->count;
    for (size_t k = 0; k < plumb_reading_opens(m->w->now); k++) {
        const plumb_reading_open *o = plumb_reading_open_at(m->w->now, k);
        struct plumb_top_row *r = out->rows + first, *end = out->rows + out->count;
        if (!plumb_top_matches(m->view, o->node) || has_row(m, o))
            continue;
        while (r < end && (strcmp(r->node, o->node) != 0 || strcmp(r->phase, o->phase) != 0))
            r++;
        if (r == end) {
            *r = (struct plumb_top_row){.pipeline = plumb_reading_facts_of(m->w->now)->pipeline,
                                        .phase = o->phase,
                                        .node = o->node,
                                        .mean_ns = -1,
                                        .p50_ns = -1,
                                        .p95_ns = -1,
                                        .p99_ns = -1,
                                        .max_ns = -1};
            out->count++;
        }
        r->open++;
        r->open_ns = o->age_ns > r->open_ns ? o->age_ns : r->open_ns;
    }
}

static void make_flat(struct plumb_top_table *out, const struct maker *m)
{
    size_t at = 0;
    for (size_t i = 0; i < plumb_reading_rows(m->w->now); i++) {
        const plumb_reading_row *now = plumb_reading_row_at(m->w->now, i);
        if (!plumb_top_matches(m->view, now->row.node)) {
            out->hidden++;
            continue;
        }
        fill(&out->rows[out->count++], m, i, shown_row(m, now, &at));
    }
    add_open(out, m);
    qsort_r(out->rows, out->count, sizeof *out->rows, by_view,
            (void *)(uintptr_t)(const void *)m->view);
}

/* ---- The tree -------------------------------------------------------------------------------- */

/* A place is known by the names on its path: its number may differ between two readings. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (hash ^ 0xff) * UINT64_C(1099511628211);
}

struct place {
    uint64_t path;
    uint32_t parent, depth, first_child, next; /* numbers + 1; 0: none */
    uint64_t count, total_ns, self_ns;
};

static struct place *places_of(const plumb_reading *r, size_t *n)
{
    struct place *p;
    *n = r ? plumb_reading_places(r) : 0;
    p = calloc(*n + 1, sizeof *p);
    for (size_t i = 0; p && i < *n; i++) {
        const plumb_reading_place *from = plumb_reading_place_at(r, i);
        const plumb_row *row = &plumb_reading_row_at(r, from->row)->row;
        bool outer = from->parent == UINT32_MAX;
        uint64_t path = outer ? UINT64_C(14695981039346656037) : p[from->parent].path;
        p[i] = (struct place){
            .path = hash_text(hash_text(hash_text(path, row->pipeline), row->phase), row->node),
            .parent = outer ? 0 : from->parent + 1,
            .depth = outer ? 0 : p[from->parent].depth + 1,
            .count = from->count,
            .total_ns = from->total_ns,
            .self_ns = from->self_ns};
    }
    return p;
}

static int by_path(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    return (a->path > b->path) - (a->path < b->path);
}

static void subtract(struct place *now, size_t n, struct place *before, size_t m)
{
    qsort(before, m, sizeof *before, by_path);
    for (size_t i = 0; i < n; i++) {
        const struct place *b = bsearch(&now[i], before, m, sizeof *before, by_path);
        if (!b || b->count > now[i].count)
            continue;
        now[i].count -= b->count;
        now[i].total_ns -= b->total_ns < now[i].total_ns ? b->total_ns : now[i].total_ns;
        now[i].self_ns -= b->self_ns < now[i].self_ns ? b->self_ns : now[i].self_ns;
    }
}

/* Links children in their order, which is that of their first runs. */
static void link_places(struct place *p, size_t n, uint32_t *first)
{
    *first = 0;
    for (size_t i = n; i-- > 0;) {
        uint32_t *head = p[i].parent ? &p[p[i].parent - 1].first_child : first;
        p[i].next = *head;
        *head = (uint32_t)i + 1;
    }
}

static void put_place(struct plumb_top_table *out, const struct maker *m, const struct place *p,
                      size_t i)
{
    uint32_t row = plumb_reading_place_at(m->w->now, i)->row;
    struct plumb_top_row *to = &out->rows[out->count++];
    fill(to, m, row, NULL);
    to->depth = p->depth;
    to->count = plumb_reading_place_at(m->w->now, i)->count;
    to->rate = m->seconds > 0 ? (double)p->count / m->seconds : 0;
    to->mean_ns = p->count ? (double)p->total_ns / (double)p->count : -1;
    to->self_ns = per_second(m, (double)p->self_ns);
    to->share = m->all_ns > 0 ? 100 * (double)p->self_ns / m->all_ns : 0;
}

/* With a filter: the places that match, and those around them. */
static bool shows(const struct maker *m, const struct place *p, size_t i)
{
    const plumb_reading_place *place = plumb_reading_place_at(m->w->now, i);
    if (plumb_top_matches(m->view, plumb_reading_row_at(m->w->now, place->row)->row.node))
        return true;
    for (uint32_t c = p[i].first_child; c; c = p[c - 1].next) {
        if (shows(m, p, c - 1))
            return true;
    }
    return false;
}

static void walk(struct plumb_top_table *out, const struct maker *m, const struct place *p,
                 uint32_t first)
{
    for (uint32_t i = first; i; i = p[i - 1].next) {
        if (!shows(m, p, i - 1)) {
            out->hidden++;
            continue;
        }
        put_place(out, m, &p[i - 1], i - 1);
        walk(out, m, p, p[i - 1].first_child);
    }
}

static bool make_tree(struct plumb_top_table *out, const struct maker *m)
{
    size_t n, before_n;
    uint32_t first;
    struct place *now = places_of(m->w->now, &n);
    struct place *before = places_of(m->shown == m->w->since ? m->w->before : NULL, &before_n);
    bool made = now && before;
    if (made) {
        subtract(now, n, before, before_n);
        link_places(now, n, &first);
        walk(out, m, now, first);
        add_open(out, m);
    }
    free(now);
    free(before);
    return made;
}

bool plumb_top_table_make(struct plumb_top_table *out, const struct plumb_top_watch *w,
                          const struct plumb_top_view *view)
{
    struct maker m = {.w = w, .view = view, .shown = plumb_top_shown(w, view)};
    size_t rows = plumb_reading_rows(w->now), places = plumb_reading_places(w->now);
    size_t most = (rows > places ? rows : places) + plumb_reading_opens(w->now);
    bool made;
    m.seconds = (double)plumb_reading_facts_of(m.shown)->elapsed_ns / 1e9;
    for (size_t i = 0; i < plumb_reading_rows(m.shown); i++)
        m.all_ns += (double)plumb_reading_row_at(m.shown, i)->own_ns;
    *out = (struct plumb_top_table){.rows = calloc(most + 1, sizeof *out->rows)};
    m.open_ns = calloc(rows + 1, sizeof *m.open_ns);
    made = out->rows && m.open_ns;
    if (made)
        find_open(&m);
    if (made && view->tree)
        made = make_tree(out, &m);
    else if (made)
        make_flat(out, &m);
    free(m.open_ns);
    return made;
}

void plumb_top_table_free(struct plumb_top_table *t)
{
    free(t->rows);
    *t = (struct plumb_top_table){NULL, 0, 0};
}

int plumb_top_render(char **out, const struct plumb_top_table *t, const struct plumb_top_watch *w,
                     const struct plumb_top_view *view, const char *format, plumb_error *err)
{
    plumb_reading_line *lines = calloc(t->count + 1, sizeof *lines);
    int rc;
    if (!lines) {
        snprintf(err->message, sizeof err->message, "out of memory for the table");
        return PLUMB_ERR_MEMORY;
    }
    for (size_t i = 0; i < t->count; i++) {
        const struct plumb_top_row *r = &t->rows[i];
        lines[i] = (plumb_reading_line){.pipeline = r->pipeline,
                                        .phase = r->phase,
                                        .node = r->node,
                                        .depth = r->depth,
                                        .open = r->open,
                                        .open_ns = r->open_ns,
                                        .count = r->count,
                                        .failures = r->failures,
                                        .memory_bytes = r->memory_bytes,
                                        .runs_per_s = r->rate,
                                        .mean_ns = r->mean_ns,
                                        .p50_ns = r->p50_ns,
                                        .p95_ns = r->p95_ns,
                                        .p99_ns = r->p99_ns,
                                        .max_ns = r->max_ns,
                                        .share_percent = r->share,
                                        .self_ns = r->self_ns,
                                        .device_ns = r->device_ns};
    }
    rc = plumb_reading_render(out, plumb_top_shown(w, view), lines, t->count, format, err);
    free(lines);
    return rc;
}

/* rank_summary.c: see rank_summary.h. No state. */
#include "summary/rank_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "codec/json_write.h"
#include "summary/table.h"
#include "summary/text_table.h"

struct row {
    struct plumb_rank_row r;
    size_t seen;      /* place in the order given */
    size_t part;      /* and within that place */
    uint64_t samples; /* of the device */
};

static int by_seen(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->seen != y->seen)
        return x->seen < y->seen ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int order = strcmp(x->r.name, y->r.name);
    if (!order)
        order = strcmp(x->r.shapes, y->r.shapes);
    return order ? order : by_seen(a, b);
}

static int by_cost(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->r.self_device_ns != y->r.self_device_ns)
        return x->r.self_device_ns < y->r.self_device_ns ? 1 : -1;
    if (x->r.host_ns != y->r.host_ns)
        return x->r.host_ns < y->r.host_ns ? 1 : -1;
    return by_seen(a, b);
}

static struct plumb_rank_row row_of_node(const struct plumb_timing_node *node)
{
    uint64_t device_ns = node->device.ns.total;
    return (struct plumb_rank_row){
        .name = node->name,
        .shapes = "",
        .count = node->host.ns.count ? node->host.ns.count : node->device.ns.count,
        .device_ns = plumb_total_add(device_ns, node->device_within_ns),
        .self_device_ns = device_ns,
        .host_ns = plumb_timing_own_ns(node),
    };
}

static struct plumb_rank_row row_of_active(const struct plumb_active_time *a)
{
    return (struct plumb_rank_row){.name = a->name,
                                   .shapes = "",
                                   .count = a->count,
                                   .device_ns = plumb_total_add(a->device_ns, a->device_within_ns),
                                   .self_device_ns = a->device_ns,
                                   .host_ns = a->self_ns};
}

/* Returns how many are left; they stand by name and shapes. */
static size_t join(struct row *rows, size_t n)
{
    size_t kept = 0;
    qsort(rows, n, sizeof *rows, by_key);
    for (size_t i = 0; i < n; i++) {
        struct plumb_rank_row *to = kept > 0 ? &rows[kept - 1].r : NULL;
        const struct plumb_rank_row *from = &rows[i].r;
        if (!to || strcmp(to->name, from->name) != 0 || strcmp(to->shapes, from->shapes) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        to->count += from->count;
        to->device_ns = plumb_total_add(to->device_ns, from->device_ns);
        to->self_device_ns = plumb_total_add(to->self_device_ns, from->self_device_ns);
        to->host_ns = plumb_total_add(to->host_ns, from->host_ns);
        rows[kept - 1].samples += rows[i].samples;
    }
    return kept;
}

/* ---- Rows of a run --------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Takes the device time of a row from that of all. */
static void take_device(struct plumb_rank_row *r, struct plumb_rank_row *all)
{
    uint64_t within = least(r->device_ns - r->self_device_ns, all->device_ns - all->self_device_ns);
    uint64_t own = least(r->self_device_ns, all->self_device_ns);
    r->self_device_ns = r->count ? own : 0;
    r->device_ns = r->count ? own + within : 0;
    all->self_device_ns -= r->self_device_ns;
    all->device_ns -= r->device_ns;
}

/* rows[0] is all of a node; the `n` rows after it are the parts with known shapes. Leaves the rest
 * in rows[0]. A damaged mapping may have more in the parts than in the whole. Returns whether
 * rows[0] still holds anything. */
static bool split(struct row *rows, size_t n)
{
    struct plumb_rank_row *all = &rows[0].r;
    bool none = n == 0 || all->count == 0;
    for (size_t i = 1; i <= n; i++) {
        struct plumb_rank_row *r = &rows[i].r;
        r->count = least(r->count, all->count);
        r->host_ns = r->count ? least(r->host_ns, all->host_ns) : 0;
        take_device(r, all);
        rows[0].samples -= least(r->count ? rows[i].samples : 0, rows[0].samples);
        all->count -= r->count;
        all->host_ns -= r->host_ns;
        rows[i].part = rows[i].seen;
        rows[i].seen = rows[0].seen;
    }
    rows[0].part = SIZE_MAX;
    if (none || all->count > 0)
        return true;
    if (n == 1) {
        rows[1].r.device_ns += all->device_ns;
        rows[1].r.self_device_ns += all->self_device_ns;
    }
    /* The part of the host time that rounding has left over is kept. */
    rows[1].r.host_ns += all->host_ns;
    all->host_ns = 0;
    /* Samples of no known call: they are what the row counts, as where there are no calls. */
    all->count = rows[0].samples;
    return n > 1 && all->self_device_ns > 0;
}

/* Rows by name; the one of a name without shapes, which is that of its nodes, stands first. Returns
 * how many are left; those of no node are not. */
static size_t split_all(struct row *rows, size_t n)
{
    size_t kept = 0, next;
    for (size_t i = 0; i < n; i = next) {
        for (next = i + 1; next < n && strcmp(rows[next].r.name, rows[i].r.name) == 0; next++) {
        }
        if (rows[i].r.shapes[0])
            continue;
        if (split(&rows[i], next - i - 1))
            rows[kept++] = rows[i];
        for (size_t k = i + 1; k < next; k++)
            if (rows[k].r.count > 0)
                rows[kept++] = rows[k];
    }
    return kept;
}

int plumb_rank_rows(const struct plumb_timing *t, const struct plumb_shape_times *shapes,
                    struct plumb_rank_row **out, size_t *count, plumb_error *err)
{
    bool active = shapes && shapes->steps;
    size_t nodes = active ? shapes->active_count : t->node_count;
    size_t groups = shapes ? shapes->count : 0, n = 0;
    struct row *rows = calloc(nodes + groups + 1, sizeof *rows);
    struct plumb_rank_row *made = calloc(nodes + groups + 1, sizeof *made);
    if (!rows || !made) {
        free(rows);
        free(made);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the summary of the rank");
    }
    for (size_t i = 0; i < nodes; i++, n++)
        rows[n] = (struct row){
            active ? row_of_active(&shapes->active[i]) : row_of_node(&t->nodes[i]), n, 0,
            active ? shapes->active[i].device_samples : t->nodes[i].device.ns.count};
    for (size_t i = 0; i < groups; i++) {
        const struct plumb_shape_time *g = &shapes->at[i];
        if (g->count == 0)
            continue;
        rows[n].r =
            (struct plumb_rank_row){.name = g->name,
                                    .shapes = g->shapes,
                                    .count = g->count,
                                    .device_ns = plumb_total_add(g->device_ns, g->device_within_ns),
                                    .self_device_ns = g->device_ns,
                                    .host_ns = g->self_ns};
        rows[n].seen = n;
        rows[n].samples = g->device_samples;
        n++;
    }
    n = split_all(rows, join(rows, n));
    qsort(rows, n, sizeof *rows, by_seen);
    for (size_t i = 0; i < n; i++)
        made[i] = rows[i].r;
    free(rows);
    *out = made;
    *count = n;
    return PLUMB_OK;
}

/* ---- The two files --------------------------------------------------------------------------- */

static void put_us(struct plumb_json *j, const char *key, uint64_t ns)
{
    plumb_json_key(j, key);
    plumb_json_f64(j, (double)ns / 1e3);
}

static void write_json(struct plumb_buf *out, const struct row *rows, size_t n)
{
    struct plumb_json json;
    struct plumb_json *j = &json;
    plumb_json_init(j, out, 0);
    plumb_json_array(j);
    for (size_t i = 0; i < n; i++) {
        plumb_json_object(j);
        plumb_json_key(j, "name");
        plumb_json_str(j, rows[i].r.name);
        plumb_json_key(j, "shapes");
        plumb_json_str(j, rows[i].r.shapes);
        put_us(j, "self_device_us", rows[i].r.self_device_ns);
        put_us(j, "device_us", rows[i].r.device_ns);
        plumb_json_key(j, "count");
        plumb_json_u64(j, rows[i].r.count);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_buf_char(out, '\n');
}

enum { NAME = 40, SHAPES = 24, SHAPES_MAX = 80, COUNT = 9, MS = 15 };

static void put_title(struct plumb_buf *out, int32_t rank, size_t shown, size_t n)
{
    plumb_buf_printf(out,
                     "Rank %" PRId32 ": %zu of %zu rows, by self device time, then self host time",
                     rank < 0 ? 0 : rank, shown, n);
    if (shown < n)
        plumb_buf_printf(out, "; %zu left out, summary_rank%" PRId32 ".json has all", n - shown,
                         rank < 0 ? 0 : rank);
    plumb_buf_char(out, '\n');
}

/* Long ones are cut; the JSON has them whole. */
static void add_shapes(struct plumb_text_table *t, const char *shapes)
{
    char cut[SHAPES_MAX + 1];
    if (strlen(shapes) > SHAPES_MAX) {
        snprintf(cut, sizeof cut, "%.*s...", SHAPES_MAX - 3, shapes);
        shapes = cut;
    }
    plumb_text_put(t, shapes);
}

static void add_ms(struct plumb_text_table *t, uint64_t ns)
{
    plumb_put_fixed(plumb_text_cell(t), (double)ns / 1e6, 3, 0);
    plumb_text_end_cell(t);
}

static void add_row(struct plumb_text_table *t, const struct plumb_rank_row *r)
{
    plumb_text_put(t, r->name);
    add_shapes(t, r->shapes);
    plumb_put_count(plumb_text_cell(t), r->count, 0);
    plumb_text_end_cell(t);
    add_ms(t, r->self_device_ns);
    add_ms(t, r->device_ns);
    add_ms(t, r->host_ns);
}

/* Only shapes widen the table. */
static void write_text(struct plumb_buf *out, int32_t rank, const struct row *rows, size_t n)
{
    static const char *const titles[] = {"Name",         "Shapes",     "Count",
                                         "Self dev(ms)", "Device(ms)", "Self host(ms)"};
    enum { COLUMNS = sizeof titles / sizeof *titles };
    struct plumb_text_column columns[COLUMNS] = {
        {.left = true, .width = NAME, .most = NAME},
        {.left = true, .gap = 1, .width = SHAPES, .most = SHAPES_MAX},
        {.width = COUNT, .most = COUNT},
        {.width = MS, .most = MS},
        {.width = MS, .most = MS},
        {.width = MS, .most = MS}};
    size_t shown = n < PLUMB_RANK_ROWS_SHOWN ? n : PLUMB_RANK_ROWS_SHOWN;
    struct plumb_text_table t;
    plumb_text_table_init(&t, columns, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++)
        plumb_text_put(&t, titles[i]);
    for (size_t i = 0; i < shown; i++)
        add_row(&t, &rows[i].r);
    put_title(out, rank, shown, n);
    plumb_text_line(&t, 0, out);
    plumb_text_rule(&t, out);
    for (size_t i = 0; i < shown; i++)
        plumb_text_line(&t, 0, out);
    plumb_text_table_fini(&t);
}

int plumb_rank_summary(struct plumb_buf *text, struct plumb_buf *json, const struct plumb_timing *t,
                       const struct plumb_rank_row *given, size_t n, plumb_error *err)
{
    struct row *rows = calloc(n + 1, sizeof *rows);
    if (!rows)
        goto no_memory;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct row){given[i], i, 0, 0};
    n = join(rows, n);
    qsort(rows, n, sizeof *rows, by_seen);
    write_json(json, rows, n);
    qsort(rows, n, sizeof *rows, by_cost);
    write_text(text, t->rank, rows, n);
    free(rows);
    if (!text->failed && !json->failed)
        return PLUMB_OK;
no_memory:
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the summary of the rank");
}

/* The table that `plumb report` prints, with a row for each node in each phase. */
static int write_nodes(const char *name, const struct plumb_timing *t, plumb_write_fn write,
                       void *arg, plumb_error *err)
{
    struct plumb_summary_options o = {0};
    struct plumb_buf text = {0};
    int rc = plumb_summary_table(&text, t, &o, err);
    plumb_buf_char(&text, '\n');
    if (rc == PLUMB_OK)
        rc = text.failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the table")
                         : write(arg, name, &text, err);
    plumb_buf_fini(&text);
    return rc;
}

static void write_series(struct plumb_json *j, const struct plumb_timing *t,
                         const struct plumb_timing_series *s)
{
    bool of_pool = s->pool < t->memory.pool_count;
    for (size_t i = 0; i < s->point_count; i++) {
        plumb_json_object_inline(j);
        plumb_put_u64(j, "at_ns", s->points[i].at_ns);
        if (of_pool) {
            plumb_put_text(j, "device", t->memory.pools[s->pool].device);
            plumb_put_text(j, "pool", t->memory.pools[s->pool].pool);
            plumb_put_u64(j, "allocated_bytes", s->points[i].a);
            plumb_put_u64(j, "reserved_bytes", s->points[i].b);
        } else {
            plumb_put_u64(j, "rss_bytes", s->points[i].a);
        }
        plumb_json_object_end(j);
    }
}

void plumb_memory_history(struct plumb_buf *out, const struct plumb_timing *t)
{
    struct plumb_json json;
    plumb_json_init(&json, out, 1);
    plumb_json_array(&json);
    for (size_t i = 0; i < t->memory.series_count; i++)
        write_series(&json, t, &t->memory.series[i]);
    plumb_json_array_end(&json);
    plumb_buf_char(out, '\n');
}

int plumb_rank_files(const struct plumb_timing *t, const struct plumb_shape_times *shapes,
                     plumb_write_fn write, void *arg, plumb_error *err)
{
    struct plumb_buf text = {0}, json = {0}, history = {0};
    struct plumb_rank_row *rows = NULL;
    size_t n = 0;
    char name[48];
    int rank = t->rank < 0 ? 0 : t->rank;
    int rc = plumb_rank_rows(t, shapes, &rows, &n, err);
    if (rc == PLUMB_OK && shapes && shapes->steps)
        plumb_buf_printf(&text, "What ran in steps %s (PLUMB_TRACE_STEPS)\n", shapes->steps);
    if (rc == PLUMB_OK)
        rc = plumb_rank_summary(&text, &json, t, rows, n, err);
    if (rc == PLUMB_OK) {
        snprintf(name, sizeof name, "summary_rank%d.txt", rank);
        rc = write(arg, name, &text, err);
        snprintf(name, sizeof name, "summary_rank%d.json", rank);
        int second = write(arg, name, &json, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : second;
        snprintf(name, sizeof name, "summary_rank%d.nodes.txt", rank);
        second = write_nodes(name, t, write, arg, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : second;
    }
    if (t->trace.end && t->memory.series_count) {
        plumb_memory_history(&history, t);
        snprintf(name, sizeof name, "memory_rank%d.json", rank);
        int last = history.failed ? plumb_fail(rc < 0 ? NULL : err, PLUMB_ERR_MEMORY,
                                               "out of memory for the memory history")
                                  : write(arg, name, &history, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : last;
    }
    free(rows);
    plumb_buf_fini(&text);
    plumb_buf_fini(&json);
    plumb_buf_fini(&history);
    return rc;
}

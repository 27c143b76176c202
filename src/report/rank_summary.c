/* rank_summary.c: see rank_summary.h. No state. */
#include "report/rank_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_write.h"
#include "report/summary_table.h"

struct row {
    struct plumb_rank_row r;
    size_t seen; /* place in the order given */
};

static int by_seen(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    return (x->seen > y->seen) - (x->seen < y->seen);
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
        .device_ns = device_ns,
        .self_device_ns = device_ns,
        .host_ns = plumb_timing_own_ns(node),
    };
}

/* Returns how many are left; they stand in the order in which they were first seen. */
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
        to->device_ns += from->device_ns;
        to->self_device_ns += from->self_device_ns;
        to->host_ns += from->host_ns;
    }
    qsort(rows, kept, sizeof *rows, by_seen);
    return kept;
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

enum { NAME = 40, SHAPES = 24, COUNT = 9, MS = 15 };

static void write_heading(struct plumb_buf *out, int32_t rank, size_t shown, size_t n)
{
    plumb_buf_printf(out,
                     "Rank %" PRId32 ": %zu of %zu rows, by self device time, then self host time",
                     rank < 0 ? 0 : rank, shown, n);
    if (shown < n)
        plumb_buf_printf(out, "; %zu left out, summary_rank%" PRId32 ".json has all", n - shown,
                         rank < 0 ? 0 : rank);
    plumb_buf_char(out, '\n');
    plumb_put_left(out, "Name", NAME);
    plumb_put_left(out, " Shapes", SHAPES + 1);
    plumb_put_right(out, "Count", COUNT);
    plumb_put_right(out, "Self dev(ms)", MS);
    plumb_put_right(out, "Device(ms)", MS);
    plumb_put_right(out, "Self host(ms)", MS);
    plumb_buf_char(out, '\n');
    for (int i = 0; i < NAME + 1 + SHAPES + COUNT + 3 * MS; i++)
        plumb_buf_char(out, '-');
    plumb_buf_char(out, '\n');
}

static void write_text(struct plumb_buf *out, int32_t rank, const struct row *rows, size_t n)
{
    size_t shown = n < PLUMB_RANK_ROWS_SHOWN ? n : PLUMB_RANK_ROWS_SHOWN;
    write_heading(out, rank, shown, n);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_rank_row *r = &rows[i].r;
        plumb_put_left(out, r->name, NAME);
        plumb_buf_char(out, ' ');
        plumb_put_left(out, r->shapes, SHAPES);
        plumb_put_count(out, r->count, COUNT);
        plumb_put_fixed(out, (double)r->self_device_ns / 1e6, 3, MS);
        plumb_put_fixed(out, (double)r->device_ns / 1e6, 3, MS);
        plumb_put_fixed(out, (double)r->host_ns / 1e6, 3, MS);
        plumb_buf_char(out, '\n');
    }
}

int plumb_rank_summary(struct plumb_buf *text, struct plumb_buf *json, const struct plumb_timing *t,
                       const struct plumb_rank_row *given, size_t n, plumb_error *err)
{
    if (!given)
        n = t->node_count;
    struct row *rows = calloc(n + 1, sizeof *rows);
    if (!rows)
        goto no_memory;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct row){given ? given[i] : row_of_node(&t->nodes[i]), i};
    n = join(rows, n);
    write_json(json, rows, n);
    qsort(rows, n, sizeof *rows, by_cost);
    write_text(text, t->rank, rows, n);
    free(rows);
    if (!text->failed && !json->failed)
        return PLUMB_OK;
no_memory:
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the summary of the rank");
}

int plumb_rank_files(const struct plumb_timing *t, plumb_write_fn write, void *arg,
                     plumb_error *err)
{
    struct plumb_buf text = {0}, json = {0};
    char name[48];
    int rank = t->rank < 0 ? 0 : t->rank;
    int rc = plumb_rank_summary(&text, &json, t, NULL, 0, err);
    if (rc == PLUMB_OK) {
        snprintf(name, sizeof name, "summary_rank%d.txt", rank);
        rc = write(arg, name, &text, err);
        snprintf(name, sizeof name, "summary_rank%d.json", rank);
        int second = write(arg, name, &json, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : second;
    }
    plumb_buf_fini(&text);
    plumb_buf_fini(&json);
    return rc;
}

/* breakdown.c: see breakdown.h. */
#include "model/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/pages.h"
#include "codec/json_write.h"

enum { SHORTEST_NS = 10000 }; /* of a row that is kept: 0.01 ms */

static struct plumb_breakdown_row *grow(struct plumb_breakdown *b)
{
    uint32_t cap = b->cap ? 2 * b->cap : 64;
    struct plumb_breakdown_row *rows = plumb_pages_map(cap * sizeof *rows), *before = b->rows;
    if (!rows)
        return NULL;
    if (before)
        memcpy(rows, before, b->count * sizeof *rows);
    PLUMB_RELEASE(b->rows, rows);
    PLUMB_RELEASE(b->cap, cap);
    plumb_pages_unmap(before, cap / 2 * sizeof *rows);
    return rows;
}

static struct plumb_breakdown_row *row_of(struct plumb_breakdown *b, uint32_t node)
{
    uint64_t known = plumb_map_get(&b->row_of, node);
    if (known)
        return &b->rows[known - 1];
    if ((b->count == b->cap && !grow(b)) || plumb_map_put(&b->row_of, node, b->count + 1) < 0) {
        b->lost++;
        return NULL;
    }
    b->rows[b->count] = (struct plumb_breakdown_row){.node = node};
    return &b->rows[b->count++];
}

void plumb_breakdown_host(struct plumb_breakdown *b, uint32_t node, uint64_t total_ns,
                          uint64_t self_ns)
{
    struct plumb_breakdown_row *r = row_of(b, node);
    if (!r)
        return;
    r->host_count++;
    r->host_total_ns += total_ns;
    r->host_self_ns += self_ns;
}

void plumb_breakdown_device(struct plumb_breakdown *b, uint32_t node, uint64_t ns)
{
    struct plumb_breakdown_row *r = row_of(b, node);
    if (!r)
        return;
    r->device_count++;
    r->device_ns += ns;
}

void plumb_breakdown_run(struct plumb_breakdown *b, uint64_t ns)
{
    b->runs++;
    b->run_ns += ns;
}

static int descending(uint64_t a, uint64_t b, uint32_t node_a, uint32_t node_b)
{
    if (a != b)
        return a < b ? 1 : -1;
    return node_a < node_b ? -1 : node_a > node_b; /* in the order of first sight */
}

static int by_host(const void *a, const void *b)
{
    const struct plumb_breakdown_row *x = a, *y = b;
    return descending(x->host_self_ns, y->host_self_ns, x->node, y->node);
}

static int by_device(const void *a, const void *b)
{
    const struct plumb_breakdown_row *x = a, *y = b;
    return descending(x->device_ns, y->device_ns, x->node, y->node);
}

static void put_ms(struct plumb_json *j, const char *key, uint64_t ns)
{
    plumb_json_key(j, key);
    plumb_json_fixed(j, (double)ns * 1e-6, 2);
}

static void put_u64(struct plumb_json *j, const char *key, uint64_t n)
{
    plumb_json_key(j, key);
    plumb_json_u64(j, n);
}

static void put_row(struct plumb_json *j, const struct plumb_breakdown_row *r, bool device,
                    const struct plumb_breakdown_head *head)
{
    plumb_json_object_inline(j);
    plumb_json_key(j, "name");
    plumb_json_str(j, head->name_of(head->arg, r->node));
    put_ms(j, "ms", device ? r->device_ns : r->host_self_ns);
    put_ms(j, "cuda_ms", r->device_ns);
    put_ms(j, "cpu_ms", r->host_self_ns);
    if (!device)
        put_ms(j, "cpu_total_ms", r->host_total_ns);
    put_u64(j, "count", device ? r->device_count : r->host_count);
    plumb_json_object_end(j);
}

/* One of the two lists, which `rows` are sorted for. */
static void put_list(struct plumb_json *j, const struct plumb_breakdown *b, bool device,
                     const struct plumb_breakdown_head *head)
{
    uint64_t total = 0;
    uint32_t kept = 0;
    for (; kept < b->count; kept++) {
        uint64_t ns = device ? b->rows[kept].device_ns : b->rows[kept].host_self_ns;
        if (ns < SHORTEST_NS)
            break;
        total += ns;
    }
    put_ms(j, device ? "total_kernel_time_ms" : "total_host_time_ms", total);
    put_u64(j, device ? "num_kernels" : "num_host_ops", kept);
    plumb_json_key(j, device ? "top_kernels" : "top_host_ops");
    plumb_json_array(j);
    for (uint32_t i = 0; i < kept && i < PLUMB_BREAKDOWN_TOP; i++)
        put_row(j, &b->rows[i], device, head);
    plumb_json_array_end(j);
}

void plumb_breakdown_write(struct plumb_breakdown *b, const struct plumb_breakdown_head *head,
                           struct plumb_buf *out)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    plumb_json_key(&j, "name");
    plumb_json_str(&j, head->name);
    plumb_json_key(&j, "rank");
    plumb_json_i64(&j, head->rank);
    if (b->count)
        qsort(b->rows, b->count, sizeof *b->rows, by_device);
    put_list(&j, b, true, head);
    if (b->count)
        qsort(b->rows, b->count, sizeof *b->rows, by_host);
    put_list(&j, b, false, head);
    plumb_map_clear(&b->row_of); /* of the order before */
    put_u64(&j, "runs", b->runs);
    put_ms(&j, "run_time_ms", b->run_ns);
    if (head->trace_left_out)
        put_u64(&j, "trace_left_out", head->trace_left_out);
    if (b->lost)
        put_u64(&j, "lost", b->lost);
    plumb_json_object_end(&j);
    plumb_buf_char(out, '\n');
}

void plumb_breakdown_fini(struct plumb_breakdown *b)
{
    plumb_map_fini(&b->row_of);
    if (b->rows)
        plumb_pages_unmap(b->rows, b->cap * sizeof *b->rows);
    memset(b, 0, sizeof *b);
}

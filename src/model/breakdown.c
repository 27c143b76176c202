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

static struct plumb_breakdown_row *row_of(struct plumb_breakdown *b, uint32_t id, const char *name)
{
    uint64_t known = plumb_map_get(&b->row_of, id);
    if (known)
        return &b->rows[known - 1];
    if ((b->count == b->cap && !grow(b)) || plumb_map_put(&b->row_of, id, b->count + 1) < 0) {
        b->lost++;
        return NULL;
    }
    b->rows[b->count] = (struct plumb_breakdown_row){.id = id, .name = name};
    return &b->rows[b->count++];
}

static const char *common(const char *a, const char *b)
{
    return a && b && (a == b || strcmp(a, b) == 0) ? a : NULL;
}

static void compare(struct plumb_breakdown_alike *all, const char *grid, const char *shape,
                    int64_t step)
{
    bool first = !all->begun;
    all->grid = first ? grid : common(all->grid, grid);
    all->shape = first ? shape : common(all->shape, shape);
    all->has_step = step >= 0 && (first || (all->has_step && all->step == step));
    all->step = step;
    all->begun = true;
}

void plumb_breakdown_op(struct plumb_breakdown *b, uint32_t node, uint64_t total_ns,
                        uint64_t self_ns, int64_t step)
{
    struct plumb_breakdown_row *r = row_of(b, node, NULL);
    if (!r)
        return;
    r->op_count++;
    r->op_total_ns += total_ns;
    r->op_self_ns += (int64_t)self_ns;
    compare(&r->op, NULL, NULL, step);
}

/* Adds the kernel to the operator that called it. */
static void add_to_caller(struct plumb_breakdown_row *r, const struct plumb_breakdown_kernel *k)
{
    if (k->where == PLUMB_BREAKDOWN_HOST)
        r->op_self_ns -= (int64_t)k->ns;
    else
        r->op_device_ns += k->ns;
    if (k->where == PLUMB_BREAKDOWN_CUDA)
        r->op_cuda_ns += k->ns;
}

void plumb_breakdown_kernel(struct plumb_breakdown *b, const struct plumb_breakdown_kernel *k)
{
    struct plumb_breakdown_row *r = k->caller ? row_of(b, k->caller, NULL) : NULL;
    if (r)
        add_to_caller(r, k);
    if (!(r = row_of(b, k->id, k->name)))
        return;
    r->count++;
    if (k->where == PLUMB_BREAKDOWN_HOST)
        r->host_ns += k->ns;
    else
        r->device_ns += k->ns;
    if (k->where == PLUMB_BREAKDOWN_CUDA)
        r->cuda_ns += k->ns;
    b->device |= k->where != PLUMB_BREAKDOWN_HOST;
    b->cuda |= k->where == PLUMB_BREAKDOWN_CUDA;
    compare(&r->kernel, k->grid, k->shape, k->step);
}

void plumb_breakdown_run(struct plumb_breakdown *b, uint64_t ns)
{
    b->runs++;
    b->run_ns += ns;
}

/* ---- The file -------------------------------------------------------------------------------- */

static uint64_t op_ns(const struct plumb_breakdown_row *r)
{
    return r->op_count && r->op_self_ns > 0 ? (uint64_t)r->op_self_ns : 0;
}

static uint64_t kernel_ns(const struct plumb_breakdown_row *r)
{
    return r->host_ns + r->device_ns;
}

static int descending(uint64_t a, uint64_t b, uint32_t id_a, uint32_t id_b)
{
    if (a != b)
        return a < b ? 1 : -1;
    return id_a < id_b ? -1 : id_a > id_b; /* in the order of first sight */
}

static int by_op(const void *a, const void *b)
{
    const struct plumb_breakdown_row *x = a, *y = b;
    return descending(op_ns(x), op_ns(y), x->id, y->id);
}

static int by_kernel(const void *a, const void *b)
{
    const struct plumb_breakdown_row *x = a, *y = b;
    return descending(kernel_ns(x), kernel_ns(y), x->id, y->id);
}

static void put_ms(struct plumb_json *j, const char *key, uint64_t ns)
{
    plumb_json_key(j, key);
    plumb_json_fixed(j, (double)ns * 1e-6, 2);
}

static void put_ms_if(struct plumb_json *j, const char *key, uint64_t ns, bool known)
{
    if (known) {
        put_ms(j, key, ns);
        return;
    }
    plumb_json_key(j, key);
    plumb_json_null(j);
}

static void put_u64(struct plumb_json *j, const char *key, uint64_t n)
{
    plumb_json_key(j, key);
    plumb_json_u64(j, n);
}

static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text); /* NULL: null */
}

static void put_row(struct plumb_json *j, const struct plumb_breakdown *b,
                    const struct plumb_breakdown_row *r, bool kernel,
                    const struct plumb_breakdown_head *head)
{
    const struct plumb_breakdown_alike *all = kernel ? &r->kernel : &r->op;
    uint64_t ns = kernel ? kernel_ns(r) : op_ns(r), count = kernel ? r->count : r->op_count;
    plumb_json_object_inline(j);
    put_text(j, "name", r->name ? r->name : head->name_of(head->arg, r->id));
    put_ms(j, "ms", ns);
    put_ms_if(j, "cuda_ms", kernel ? r->cuda_ns : r->op_cuda_ns, b->cuda);
    put_ms(j, "cpu_ms", kernel ? r->host_ns : ns);
    put_ms_if(j, "device_ms", kernel ? r->device_ns : r->op_device_ns, b->device);
    put_u64(j, "count", count);
    plumb_json_key(j, "mean_us");
    plumb_json_fixed(j, (double)ns * 1e-3 / (double)count, 3);
    put_text(j, "grid", all->grid);
    put_text(j, "shape", all->shape);
    put_text(j, "stage", head->name);
    plumb_json_key(j, "step");
    if (all->has_step)
        plumb_json_i64(j, all->step);
    else
        plumb_json_null(j);
    if (!kernel)
        put_ms(j, "cpu_total_ms", r->op_total_ns);
    plumb_json_object_end(j);
}

/* One of the two lists, which `rows` are sorted for. */
static void put_list(struct plumb_json *j, const struct plumb_breakdown *b, bool kernels,
                     const struct plumb_breakdown_head *head)
{
    uint64_t total = 0;
    uint32_t kept = 0;
    for (; kept < b->count; kept++) {
        uint64_t ns = kernels ? kernel_ns(&b->rows[kept]) : op_ns(&b->rows[kept]);
        if (ns < SHORTEST_NS)
            break;
        total += ns;
    }
    put_ms(j, kernels ? "total_kernel_time_ms" : "total_op_time_ms", total);
    put_u64(j, kernels ? "num_kernels" : "num_ops", kept);
    plumb_json_key(j, kernels ? "top_kernels" : "top_ops");
    plumb_json_array(j);
    for (uint32_t i = 0; i < kept && i < PLUMB_BREAKDOWN_TOP; i++)
        put_row(j, b, &b->rows[i], kernels, head);
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
        qsort(b->rows, b->count, sizeof *b->rows, by_kernel);
    put_list(&j, b, true, head);
    if (b->count)
        qsort(b->rows, b->count, sizeof *b->rows, by_op);
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

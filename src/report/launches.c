/* launches.c: see launches.h. A quotient is made here, at the end, from two whole numbers, both of
 * which are in `plumb report counts`. */
#include "report/launches.h"

#include <string.h>

#include "base/error.h"
#include "codec/json_write.h"

int plumb_launches_sum(plumb_launch_counts *out, const struct plumb_timing *t,
                       const struct plumb_count_rows *rows, plumb_error *err)
{
    plumb_launch_counts sum = {.size = sizeof sum};
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        if (strcmp(n->name, PLUMB_LAUNCHES_NODE) != 0 ||
            strcmp(n->phase, PLUMB_LAUNCHES_WARMUP) == 0)
            continue;
        sum.iterations += n->host.ns.count;
        sum.wall_ns += (uint64_t)n->host.ns.total;
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct plumb_count_row *r = &rows->rows[i];
        if (r->step != PLUMB_COUNT_WHOLE_RUN || strcmp(r->phase, PLUMB_LAUNCHES_WARMUP) == 0)
            continue;
        if (r->kind == PLUMB_COUNT_DISPATCHES || r->kind == PLUMB_COUNT_CALLS)
            sum.native += (uint64_t)r->value;
        else if (r->kind == PLUMB_COUNT_LAUNCHES)
            sum.launches += (uint64_t)r->value;
    }
    if (sum.iterations == 0)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "the run has no node '" PLUMB_LAUNCHES_NODE
                          "' outside the phase '" PLUMB_LAUNCHES_WARMUP
                          "': mark each iteration with PLUMB_SPAN(\"" PLUMB_LAUNCHES_NODE "\")");
    *out = sum;
    return PLUMB_OK;
}

/* A whole number where it is one. */
static void put_quotient(struct plumb_json *j, const char *key, uint64_t sum, uint64_t iterations)
{
    plumb_json_key(j, key);
    if (sum % iterations == 0)
        plumb_json_u64(j, sum / iterations);
    else
        plumb_json_f64(j, (double)sum / (double)iterations);
}

static void put_row(struct plumb_json *j, const plumb_launches_row *r)
{
    plumb_json_object(j);
    plumb_json_key(j, "depth");
    plumb_json_u64(j, r->depth);
    plumb_json_key(j, "fused");
    plumb_json_bool(j, r->fused != 0);
    plumb_json_key(j, "device");
    plumb_json_str(j, r->device ? r->device : "cpu");
    plumb_json_key(j, "duration_s");
    plumb_json_f64(j, r->duration_s);
    plumb_json_key(j, "channels");
    plumb_json_u64(j, r->channels);
    plumb_json_key(j, "fs");
    plumb_json_u64(j, r->fs);
    put_quotient(j, "native_calls", r->counted.native, r->counted.iterations);
    put_quotient(j, "cuda_launches", r->counted.launches, r->counted.iterations);
    plumb_json_key(j, "wall_us");
    plumb_json_f64(j, (double)r->counted.wall_ns / 1e3 / (double)r->counted.iterations);
    plumb_json_object_end(j);
}

int plumb_launches_json(struct plumb_buf *out, const plumb_launches_row *rows, size_t n,
                        plumb_error *err)
{
    struct plumb_json j;
    for (size_t i = 0; i < n; i++)
        if (rows[i].counted.iterations == 0)
            return plumb_fail(err, PLUMB_ERR_ARG, "row %zu has no iterations", i);
    plumb_json_init(&j, out, 2);
    plumb_json_array(&j);
    for (size_t i = 0; i < n; i++)
        put_row(&j, &rows[i]);
    plumb_json_array_end(&j);
    return out->failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for rows of launches")
                       : PLUMB_OK;
}

/* breakdown.h: where the time inside the runs of one node went, by name: operators, which are spans
 * on the host, by their own time, and kernels apart from them. Written as
 * <node>_rank<R>.breakdown.json, whose rows are those of the breakdown of `plumb bench`:
 *
 *   name, rank
 *   total_kernel_time_ms, num_kernels, top_kernels [row]
 *   total_op_time_ms, num_ops, top_ops [row, cpu_total_ms]
 *   runs, run_time_ms, and trace_left_out where the trace next to it lacks spans
 *
 * A row has name, ms, cuda_ms, cpu_ms, device_ms, count, mean_us, grid, shape, stage, step. `ms` is
 * its own time, which lists are sorted by: of a kernel the time that it ran, on a device or, for a
 * primitive of a library, on a thread; of an operator the time on the host without nested operators
 * and primitives. So the sum of a list counts nothing twice, and on one thread both lists together
 * take at most run_time_ms. `cuda_ms` and `device_ms` of an operator are those of the kernels that
 * it launched itself; `cuda_ms` is null if nothing ran on a CUDA device, `device_ms` if nothing ran
 * on any. `grid`, `shape` and `step` are null where the runs of a row differ. `stage` is the node.
 *
 * Rows below 0.01 ms are dropped; totals and numbers are of those kept, and the lists have at most
 * 50. The rank's fields, and `top_kernels` with its first three, are those of the profilers that
 * write such files. One thread; memory from the kernel. */
#ifndef PLUMB_MODEL_BREAKDOWN_H
#define PLUMB_MODEL_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

enum { PLUMB_BREAKDOWN_TOP = 50 };

/* The properties that all runs of a row share. */
struct plumb_breakdown_alike {
    const char *grid, *shape; /* NULL: none, or they differ; the caller's */
    int64_t step;
    bool begun, has_step;
};
struct plumb_breakdown_row {
    uint32_t id;      /* the node, or PLUMB_BREAKDOWN_NAMED and the number of a name */
    const char *name; /* NULL: the node's; the caller's */
    uint64_t op_count, op_total_ns;
    int64_t op_self_ns; /* below 0 while the operator runs, and a primitive inside it has ended */
    uint64_t op_cuda_ns, op_device_ns;           /* of kernels that it launched */
    uint64_t count, cuda_ns, device_ns, host_ns; /* of the kernel */
    struct plumb_breakdown_alike op, kernel;
};
enum { PLUMB_BREAKDOWN_NAMED = 1 << 30 };
struct plumb_breakdown {     /* zeroed: empty */
    struct plumb_map row_of; /* node -> index + 1 */
    struct plumb_breakdown_row *rows;
    uint32_t count, cap;
    uint64_t runs, run_ns;
    uint64_t lost;     /* runs that were not counted for lack of memory */
    bool cuda, device; /* something ran there */
};

/* The fields of the file other than its rows. */
struct plumb_breakdown_head {
    const char *name;
    int32_t rank;
    uint64_t trace_left_out;
    const char *(*name_of)(void *arg, uint32_t node);
    void *arg;
};

/* A run of the operator `node`, not 0, has ended inside: all of it, and that without what was
 * nested. `step`: -1: none. */
void plumb_breakdown_op(struct plumb_breakdown *b, uint32_t node, uint64_t total_ns,
                        uint64_t self_ns, int64_t step);

enum plumb_breakdown_where {
    PLUMB_BREAKDOWN_HOST = 0, /* on the thread that called it, inside `caller` */
    PLUMB_BREAKDOWN_DEVICE = 1,
    PLUMB_BREAKDOWN_CUDA = 2
};
/* A kernel has run. Its texts must stay until plumb_breakdown_write(). */
struct plumb_breakdown_kernel {
    uint32_t id;
    const char *name;         /* as in a row */
    uint32_t caller;          /* the node that launched it; 0: unknown */
    const char *grid, *shape; /* NULL: none */
    int64_t step;             /* -1: none */
    enum plumb_breakdown_where where;
    uint64_t ns;
};
void plumb_breakdown_kernel(struct plumb_breakdown *b, const struct plumb_breakdown_kernel *k);
/* A run of the node whose breakdown it is. */
void plumb_breakdown_run(struct plumb_breakdown *b, uint64_t ns);
/* JSON. Sorts the rows. */
void plumb_breakdown_write(struct plumb_breakdown *b, const struct plumb_breakdown_head *head,
                           struct plumb_buf *out);
void plumb_breakdown_fini(struct plumb_breakdown *b);

#endif

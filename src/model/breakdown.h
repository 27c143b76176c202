/* breakdown.h: where the time inside the runs of one node went, by name: host work by its own time,
 * kernels of devices apart from it. Written as <node>_rank<R>.breakdown.json:
 *
 *   name, rank
 *   total_kernel_time_ms, num_kernels, top_kernels [{name, ms, cuda_ms, cpu_ms, count}]
 *   total_host_time_ms, num_host_ops,
 *   top_host_ops [{name, ms, cuda_ms, cpu_ms, cpu_total_ms, count}]
 *   runs, run_time_ms, and trace_left_out where the trace next to it lacks spans
 *
 * Rows are sorted by `ms`: device time of a kernel, own time on the host of an operation (without
 * nested ones). So the sum of a list counts nothing twice and, on one thread, is at most
 * run_time_ms. Rows below 0.01 ms are dropped; totals and numbers are of those kept, and the lists
 * have at most 50. The rank's fields, and `top_kernels` with its first three, are those of the
 * profilers that write such files. One thread; memory from the kernel. */
#ifndef PLUMB_MODEL_BREAKDOWN_H
#define PLUMB_MODEL_BREAKDOWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

enum { PLUMB_BREAKDOWN_TOP = 50 };

struct plumb_breakdown_row {
    uint32_t node;
    uint32_t reserved;
    uint64_t host_count, host_self_ns, host_total_ns;
    uint64_t device_count, device_ns;
};
struct plumb_breakdown {     /* zeroed: empty */
    struct plumb_map row_of; /* node -> index + 1 */
    struct plumb_breakdown_row *rows;
    uint32_t count, cap;
    uint64_t runs, run_ns;
    uint64_t lost; /* runs that were not counted for lack of memory */
};

/* The fields of the file other than its rows. */
struct plumb_breakdown_head {
    const char *name;
    int32_t rank;
    uint64_t trace_left_out;
    const char *(*name_of)(void *arg, uint32_t node);
    void *arg;
};

/* A run of `node`, not 0, has ended inside: all of it, and that without what was nested. */
void plumb_breakdown_host(struct plumb_breakdown *b, uint32_t node, uint64_t total_ns,
                          uint64_t self_ns);
void plumb_breakdown_device(struct plumb_breakdown *b, uint32_t node, uint64_t ns);
/* A run of the node whose breakdown it is. */
void plumb_breakdown_run(struct plumb_breakdown *b, uint64_t ns);
/* JSON. Sorts the rows. */
void plumb_breakdown_write(struct plumb_breakdown *b, const struct plumb_breakdown_head *head,
                           struct plumb_buf *out);
void plumb_breakdown_fini(struct plumb_breakdown *b);

#endif

/* kernels.h: which slices of a trace are kernels, which are operators on the host, and how much
 * time each took itself. A kernel is
 *
 *   work on a queue of a device, as collectors record it;
 *   a primitive that a collector saw on a thread of the program: its arg "tid" says which;
 *   of other tools' traces a slice of one of their categories (kernel, gpu_memcpy, ...).
 *
 * An operator is a slice on a thread that is not a kernel. No time counts twice: the own time of a
 * slice excludes all that ran inside it on the same thread or queue. A primitive is inside the
 * operator that called it, so the sum over the kernels and operators of one thread is at most the
 * time from its first slice to its last, and likewise for the kernels of one queue.
 *
 * A kernel has the stage and the step of its launch: of the slice from which a flow leads to it (or
 * of the operator around that, if it is a call of a driver), or that was open around a primitive.
 * The stage is the outermost slice there, apart from regions and marks of steps; in other tools'
 * traces, the outermost annotation of the user.
 *
 * Any thread, one result at a time; the table and the marks must live as long. Memory: 14 bytes a
 * slice, and 64 while it is made. */
#ifndef PLUMB_ANALYZE_KERNEL_KERNELS_H
#define PLUMB_ANALYZE_KERNEL_KERNELS_H

#include "analyze/trace/step_marks.h"
#include "read/trace/table.h"
#include <plumb/error.h>

enum plumb_kernel_kind {
    PLUMB_KERNEL_NONE = 0, /* of no interest: annotations of queues, waits, asynchronous spans */
    PLUMB_KERNEL_OP = 1,   /* an operator on the host */
    PLUMB_KERNEL_WORK = 2, /* it computes; the rest are kernels too */
    PLUMB_KERNEL_COPY = 3,
    PLUMB_KERNEL_SET = 4,
};
enum plumb_kernel_where {
    PLUMB_KERNEL_HOST = 0,
    PLUMB_KERNEL_DEVICE = 1,
    PLUMB_KERNEL_CUDA = 2, /* a device that PyTorch calls CUDA: NVIDIA's, and AMD's in its traces */
};

struct plumb_kernels {
    const struct plumb_table *t;
    const struct plumb_step_marks *marks;
    uint8_t *kind, *where; /* by slice */
    uint64_t *self_ns;     /* by slice, of kernels and operators */
    uint32_t *launch;      /* by slice: of a kernel where it was launched, or PLUMB_TABLE_NONE */
    bool own;              /* plumb recorded the trace, and perhaps exported it */
    bool cuda;             /* there is work of such a device */
    bool host;             /* there are primitives */
    uint32_t stage; /* text: slices of this name are stages, wherever they are; UINT32_MAX: none */
    uint64_t first_ns, last_ns; /* of kernels and operators */
    uint64_t busy_ns;           /* while at least one kernel ran, anywhere */
    uint32_t threads, queues;   /* with operators, and with kernels of devices */
    uint64_t launches;          /* kernels */
    uint64_t unlinked;          /* of these, those whose launch is not in the trace */
};

/* PLUMB_ERR_MEMORY. Cost: O(n log n) in the slices. */
int plumb_kernels_init(struct plumb_kernels *out, const struct plumb_table *t,
                       const struct plumb_step_marks *marks, plumb_error *err);
void plumb_kernels_fini(struct plumb_kernels *k);

static inline bool plumb_kernels_is(const struct plumb_kernels *k, uint32_t slice)
{
    return k->kind[slice] >= PLUMB_KERNEL_WORK;
}
/* The stage of a kernel or an operator: a slice, or PLUMB_TABLE_NONE. Cost: that of its depth. */
uint32_t plumb_kernels_stage(const struct plumb_kernels *k, uint32_t slice);
bool plumb_kernels_step(const struct plumb_kernels *k, uint32_t slice, int64_t *out);

/* ---- Rows ----------------------------------------------------------------------------------- */

enum plumb_kernels_by {
    PLUMB_KERNELS_BY_NAME = 0,
    PLUMB_KERNELS_BY_SHAPE = 1, /* rows of a name and a shape; and so on */
    PLUMB_KERNELS_BY_STAGE = 2,
    PLUMB_KERNELS_BY_STEP = 3,
};

/* Numbers of texts are those of the rows' `texts`; 0: not known, or not the same for all. */
struct plumb_own_row {
    uint32_t name; /* of the table; of marks of steps that of one of them */
    uint8_t kind;
    bool mark; /* it marks steps */
    bool has_step;
    uint64_t count;
    uint64_t ns;        /* itself: on its device, or on the host */
    uint64_t total_ns;  /* with all that ran inside */
    uint64_t host_ns;   /* itself, on the host */
    uint64_t device_ns; /* on devices; of an operator, of the kernels that it launched itself */
    uint64_t cuda_ns;   /* of that, on CUDA's */
    uint64_t max_ns;    /* the longest, itself */
    uint32_t grid, shape, type, stage;
    int64_t step;
};
struct plumb_own_rows {
    const struct plumb_kernels *k;
    struct plumb_own_row *rows; /* most time itself first */
    size_t count;
    struct plumb_strings texts;
    uint64_t ns, calls; /* of all rows */
};

/* Rows of kernels, or of operators. Failed and incomplete slices are left out, as in all figures of
 * a trace. PLUMB_ERR_MEMORY. */
int plumb_own_rows_init(struct plumb_own_rows *out, const struct plumb_kernels *k,
                        enum plumb_kernels_by by, bool ops, plumb_error *err);
void plumb_own_rows_fini(struct plumb_own_rows *r);
/* NULL for number 0. */
const char *plumb_own_rows_text(const struct plumb_own_rows *r, uint32_t id);

#endif

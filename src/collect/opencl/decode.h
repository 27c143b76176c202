/* decode.h: from what OpenCL reports of a command to an event of plumb. Calls nothing and knows no
 * type of OpenCL, so that it is tested without a device. */
#ifndef PLUMB_COLLECT_OPENCL_DECODE_H
#define PLUMB_COLLECT_OPENCL_DECODE_H

#include <stdbool.h>

#include <plumb/collector.h>

enum plumb_ocl_op {
    PLUMB_OCL_KERNEL,
    PLUMB_OCL_NATIVE_KERNEL,
    PLUMB_OCL_READ_BUFFER,
    PLUMB_OCL_WRITE_BUFFER,
    PLUMB_OCL_COPY_BUFFER,
    PLUMB_OCL_FILL_BUFFER,
    PLUMB_OCL_MAP_BUFFER,
    PLUMB_OCL_READ_IMAGE,
    PLUMB_OCL_WRITE_IMAGE,
    PLUMB_OCL_COPY_IMAGE,
    PLUMB_OCL_FILL_IMAGE,
    PLUMB_OCL_IMAGE_TO_BUFFER,
    PLUMB_OCL_BUFFER_TO_IMAGE,
    PLUMB_OCL_MAP_IMAGE,
    PLUMB_OCL_UNMAP,
    PLUMB_OCL_MIGRATE,
    PLUMB_OCL_SVM_COPY,
    PLUMB_OCL_SVM_FILL,
    PLUMB_OCL_SVM_MAP,
    PLUMB_OCL_SVM_UNMAP,
    PLUMB_OCL_SVM_MIGRATE,
    PLUMB_OCL_SVM_FREE,
    PLUMB_OCL_MARKER,
    PLUMB_OCL_BARRIER,
    PLUMB_OCL_OPS
};

/* A command as the program enqueued it. */
struct plumb_ocl_command {
    enum plumb_ocl_op op;
    uint32_t dims;      /* of a kernel, 0 to 3 */
    bool has_local;     /* the program chose the size of work groups */
    bool has_bytes;     /* `bytes` is known */
    uint64_t global[3]; /* work items */
    uint64_t local[3];
    uint64_t bytes;  /* copied, filled, mapped */
    plumb_name name; /* of the kernel; 0: that of the operation */
};

/* When, in ns of the device's clock. */
struct plumb_ocl_times {
    uint64_t queued, submit, start, end;
};

/* Names that events need, interned once a run. */
struct plumb_ocl_names {
    plumb_name op[PLUMB_OCL_OPS];
    plumb_name grid, bytes, queued_us, submit_us; /* keys of arguments */
    plumb_name failed;
};

enum { PLUMB_OCL_GRID_TEXT = 128 };

/* Whether it is a point in the queue and no work. */
static inline bool plumb_ocl_is_mark(enum plumb_ocl_op op)
{
    return op == PLUMB_OCL_MARKER || op == PLUMB_OCL_BARRIER;
}
/* "read buffer" */
const char *plumb_ocl_op_name(enum plumb_ocl_op op);
/* "512x512x1/16x16x1", global and local size; without the second part where the program left the
 * size of work groups to the driver. False: not a kernel with a size. */
bool plumb_ocl_grid_text(char out[PLUMB_OCL_GRID_TEXT], const struct plumb_ocl_command *c);
/* Fills the event and at most PLUMB_EVENT_ARGS arguments, which it refers to; the caller adds the
 * origin. `grid`: the name of its text; 0: none. False: the times are not those of a command that
 * ran (a driver reported none, or an end before the start). */
bool plumb_ocl_decode(plumb_event *out, plumb_event_arg *args, const struct plumb_ocl_command *c,
                      const struct plumb_ocl_times *t, plumb_name grid,
                      const struct plumb_ocl_names *names);

#endif

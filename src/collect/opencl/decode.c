/* decode.c: see decode.h. */
#include "collect/opencl/decode.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const op_names[PLUMB_OCL_OPS] = {
    [PLUMB_OCL_KERNEL] = "kernel",
    [PLUMB_OCL_NATIVE_KERNEL] = "native kernel",
    [PLUMB_OCL_READ_BUFFER] = "read buffer",
    [PLUMB_OCL_WRITE_BUFFER] = "write buffer",
    [PLUMB_OCL_COPY_BUFFER] = "copy buffer",
    [PLUMB_OCL_FILL_BUFFER] = "fill buffer",
    [PLUMB_OCL_MAP_BUFFER] = "map buffer",
    [PLUMB_OCL_READ_IMAGE] = "read image",
    [PLUMB_OCL_WRITE_IMAGE] = "write image",
    [PLUMB_OCL_COPY_IMAGE] = "copy image",
    [PLUMB_OCL_FILL_IMAGE] = "fill image",
    [PLUMB_OCL_IMAGE_TO_BUFFER] = "copy image to buffer",
    [PLUMB_OCL_BUFFER_TO_IMAGE] = "copy buffer to image",
    [PLUMB_OCL_MAP_IMAGE] = "map image",
    [PLUMB_OCL_UNMAP] = "unmap",
    [PLUMB_OCL_MIGRATE] = "migrate",
    [PLUMB_OCL_SVM_COPY] = "SVM copy",
    [PLUMB_OCL_SVM_FILL] = "SVM fill",
    [PLUMB_OCL_SVM_MAP] = "SVM map",
    [PLUMB_OCL_SVM_UNMAP] = "SVM unmap",
    [PLUMB_OCL_SVM_MIGRATE] = "SVM migrate",
    [PLUMB_OCL_SVM_FREE] = "SVM free",
    [PLUMB_OCL_MARKER] = "marker",
    [PLUMB_OCL_BARRIER] = "barrier",
};

const char *plumb_ocl_op_name(enum plumb_ocl_op op)
{
    return op < PLUMB_OCL_OPS ? op_names[op] : "command";
}

bool plumb_ocl_grid_text(char out[PLUMB_OCL_GRID_TEXT], const struct plumb_ocl_command *c)
{
    uint64_t g[3] = {1, 1, 1}, l[3] = {1, 1, 1};
    if (c->op != PLUMB_OCL_KERNEL || c->dims == 0 || c->dims > 3)
        return false;
    for (uint32_t i = 0; i < c->dims; i++) {
        g[i] = c->global[i];
        l[i] = c->local[i];
    }
    int n =
        snprintf(out, PLUMB_OCL_GRID_TEXT, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, g[0], g[1], g[2]);
    if (c->has_local)
        snprintf(out + n, PLUMB_OCL_GRID_TEXT - (size_t)n, "/%" PRIu64 "x%" PRIu64 "x%" PRIu64,
                 l[0], l[1], l[2]);
    return true;
}

static void add_us(plumb_event_arg *arg, plumb_name key, uint64_t from, uint64_t to)
{
    arg->key = key;
    arg->type = 2;
    arg->value.f64 = (double)(to - from) / 1000;
}

bool plumb_ocl_decode(plumb_event *out, plumb_event_arg *args, const struct plumb_ocl_command *c,
                      const struct plumb_ocl_times *t, plumb_name grid,
                      const struct plumb_ocl_names *names)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    uint32_t n = 0;
    if (t->start == 0 || t->end < t->start)
        return false;
    e.name = c->name ? c->name : names->op[c->op < PLUMB_OCL_OPS ? c->op : PLUMB_OCL_KERNEL];
    e.begin = t->start;
    e.end = t->end;
    if (plumb_ocl_is_mark(c->op)) {
        /* If a driver gives a marker a duration, that is the work before it. */
        e.kind = PLUMB_EVENT_INSTANT;
        e.begin = t->end;
    }
    if (grid) {
        args[n].key = names->grid;
        args[n].type = 3;
        args[n++].value.i64 = (int64_t)grid;
    }
    if (c->has_bytes) {
        args[n].key = names->bytes;
        args[n].type = 1;
        args[n++].value.i64 = c->bytes < INT64_MAX ? (int64_t)c->bytes : INT64_MAX;
    }
    /* Some drivers report no submission, or one before the queueing. */
    if (t->queued && t->queued <= t->submit && t->submit <= t->start) {
        add_us(&args[n++], names->queued_us, t->queued, t->submit);
        add_us(&args[n++], names->submit_us, t->submit, t->start);
    }
    e.args = args;
    e.arg_count = n;
    *out = e;
    return true;
}

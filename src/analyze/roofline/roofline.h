/* roofline.h: how near the kernels of a trace come to the peaks of the machine.
 *
 * A kernel is a slice with the args "flops", "bytes" or both: oneDNN's primitives, and spans to
 * which a program attached its operations. Slices that agree in name, "impl", "shapes" and "dtypes"
 * form a row. Slices that failed, had not ended or are not samples are left out. Any thread, one
 * result at a time; texts are numbers of the table, which must live as long. */
#ifndef PLUMB_ANALYZE_ROOFLINE_ROOFLINE_H
#define PLUMB_ANALYZE_ROOFLINE_ROOFLINE_H

#include "analyze/roofline/peaks.h"
#include "read/trace/table.h"

enum plumb_roof_verdict {
    PLUMB_ROOF_UNKNOWN = 0,
    PLUMB_ROOF_MEMORY = 1,
    PLUMB_ROOF_COMPUTE = 2,
    PLUMB_ROOF_LATENCY = 3
};
/* Why a verdict is unknown; PLUMB_ROOF_NONE with the others. */
enum plumb_roof_why {
    PLUMB_ROOF_NONE,
    PLUMB_ROOF_NO_BYTES, /* the operations are known, and do not explain the time */
    PLUMB_ROOF_NO_FLOPS, /* likewise the bytes */
    PLUMB_ROOF_NO_TYPE,  /* no element type is recorded */
    PLUMB_ROOF_NO_PEAK,  /* the machine has no peak for the type */
    PLUMB_ROOF_CACHED, /* faster than memory: the bytes came from caches, which are not measured */
    PLUMB_ROOF_NO_TIME
};

/* A share of a peak, from which on that peak explains the time of a kernel. */
#define PLUMB_ROOF_SHARE 0.6
/* Data moved faster than this share of the memory bandwidth did not come from memory. */
#define PLUMB_ROOF_BEYOND 1.1

struct plumb_roof_point {
    uint64_t count, total_ns;  /* of the slices */
    double flops, bytes;       /* of all of them; less than 0: unknown */
    enum plumb_peak_type type; /* PLUMB_PEAK_TYPES: unknown */
};
struct plumb_roof {
    double flops_rate, bytes_rate;      /* achieved, a second; NaN: unknown */
    double intensity;                   /* operations a byte; NaN: unknown */
    double peak_flops, peak_bytes;      /* of the machine; NaN: absent */
    double ridge;                       /* intensity from which on the arithmetic limits */
    double compute_share, memory_share; /* of the peaks; NaN: unknown */
    double roof_flops;                  /* min(peak_flops, intensity * peak_bytes); NaN: unknown */
    enum plumb_roof_verdict verdict;
    enum plumb_roof_why why;
};
/* The verdict: the roof that is nearer limits (memory below the ridge, arithmetic above it). A
 * kernel that reaches PLUMB_ROOF_SHARE of it is memory_bound or compute_bound, one that does not is
 * latency_bound: neither peak explains its time. With operations or bytes alone, a kernel that
 * reaches the share of that peak is bound by it; otherwise the verdict is unknown. It is also
 * unknown for a kernel that moves its bytes faster than memory can, and does not reach the other
 * roof. */
struct plumb_roof plumb_roof_of(const struct plumb_roof_point *point,
                                const struct plumb_peaks *peaks, enum plumb_peak_span span);
/* Returns "memory_bound", "compute_bound", "latency_bound" or "unknown". */
const char *plumb_roof_verdict_name(enum plumb_roof_verdict verdict);

struct plumb_kernel_row {
    struct plumb_roof_point of;
    uint32_t name, impl, shapes, dtypes; /* 0: none */
    uint64_t min_ns, max_ns;
};
struct plumb_kernel_rows {
    struct plumb_kernel_row *rows; /* largest total first */
    size_t count;
    uint64_t left_out; /* slices with the args that failed or had not ended */
};
/* PLUMB_ERR_MEMORY. */
int plumb_kernel_rows_init(struct plumb_kernel_rows *out, const struct plumb_table *t,
                           plumb_error *err);
void plumb_kernel_rows_fini(struct plumb_kernel_rows *rows);

/* The texts that are keys of the args; UINT32_MAX: no slice has it. */
struct plumb_kernel_args {
    uint32_t flops, bytes, impl, shapes, dtypes, dtype;
};
struct plumb_kernel_args plumb_kernel_args_of(const struct plumb_table *t);
/* Sets both; less than 0: the slice does not have it. False: it has neither, so it is not a
 * kernel. */
bool plumb_kernel_figures(double *flops, double *bytes, const struct plumb_table *t,
                          const struct plumb_kernel_args *args, uint32_t slice);
/* The text of its element types; 0: none. */
uint32_t plumb_kernel_types(const struct plumb_table *t, const struct plumb_kernel_args *args,
                            uint32_t slice);
/* The text of its shapes; 0: none. */
uint32_t plumb_kernel_shapes(const struct plumb_table *t, const struct plumb_kernel_args *args,
                             uint32_t slice);
/* The type of the first tensor in a list of types ("f32,f32,f32", "src:bf16"). */
enum plumb_peak_type plumb_first_type(const char *dtypes);

#endif

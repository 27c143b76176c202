/* deep.h: why a kernel takes its time: the peaks of this machine, and the kernels of a recording
 * under them. Part of libplumb-read; plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_DEEP_H
#define PLUMB_READ_DEEP_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The peaks of this machine, and the trace of a recording. */
typedef struct plumb_deep plumb_deep;

typedef struct plumb_deep_options {
    size_t size;         /* sizeof(plumb_deep_options) */
    uint32_t peaks_only; /* 1: without a recording */
    uint32_t measure;    /* 1: measures the peaks again, and replaces the file that keeps them */
} plumb_deep_options;
/* Returns options with every field at its default. */
static inline plumb_deep_options plumb_deep_options_default(void)
{
    plumb_deep_options o = {sizeof(plumb_deep_options), 0, 0};
    return o;
}

/* Opens the trace that plumb_trace_open() finds for `what`, and the peaks of this machine. A run
 * without a trace has counters alone, if the collector perf ran. The peaks are read from
 * $XDG_CACHE_HOME/plumb/peaks.json (otherwise from ~/.cache). A file that is missing or damaged, or
 * was measured on another processor or number of cores, is replaced: they are measured, in about
 * 3 s on every core. A file that cannot be written is not an error: plumb_deep_get_remark() has the
 * reason. `options` NULL: the defaults. Errors: those of plumb_trace_open(); PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_deep_open(plumb_deep **out, const char *what, const plumb_deep_options *options,
                              plumb_error *err);
/* Frees it. */
PLUMB_API void plumb_deep_close(plumb_deep *deep);
/* Returns a line for the user: the peaks were measured now, or could not be kept; "": nothing. */
PLUMB_API const char *plumb_deep_get_remark(const plumb_deep *deep);

enum plumb_deep_cores { PLUMB_DEEP_ALL_CORES = 0, PLUMB_DEEP_ONE_CORE = 1 };
typedef struct plumb_deep_view {
    size_t size;        /* sizeof(plumb_deep_view) */
    const char *format; /* "text", "json", "csv", "md", "svg"; NULL: text */
    const char *kernel; /* extended regular expression, searched for in names; NULL: all kernels */
    uint64_t top;       /* kernels; 0: all */
    uint32_t cores;     /* enum plumb_deep_cores: whose peaks kernels are compared with */
    uint32_t explain;   /* 1: the meaning of the columns (text, md) */
    uint32_t report;    /* 1, with "md": the report on the kernel that takes the most time */
    const char *run; /* the run whose workload and stage times the report has; NULL: the trace's */
} plumb_deep_view;
/* Returns a view with every field at its default. */
static inline plumb_deep_view plumb_deep_view_default(void)
{
    plumb_deep_view v = {sizeof(plumb_deep_view), NULL, NULL, 0, PLUMB_DEEP_ALL_CORES, 0, 0, NULL};
    return v;
}
/* Renders the peaks and, with a recording, the kernels: achieved GFLOP/s and GB/s, their shares of
 * the peaks, and a verdict (memory_bound, compute_bound, latency_bound, unknown) with the figures
 * that it rests on; with the collector perf also the counters of stages and kernels. "svg" is a
 * picture of the kernels and of the stages. The report has workload, environment, stage times,
 * kernel, evidence, uncertainty, artifacts and the next experiment.
 * Without a newline at its end. Errors: PLUMB_ERR_ARG: no such format, or an invalid expression;
 * PLUMB_ERR_NOT_FOUND: no kernel matches, or no slice of the trace has an argument named flops or
 * bytes; those of plumb_report_open() for `run`. */
PLUMB_API int plumb_deep_render(char **out, const plumb_deep *deep, const plumb_deep_view *view,
                                plumb_error *err);

/* Renders the model FLOPs utilisation of a training step as text, "Per-Step MFU: 41.2345%" and the
 * figures that it rests on, or with `format` "json" as JSON. `model` has the shapes, the time of a
 * step and the peak of a device, as in
 *     "dit_seq_len=32760,context_len=512,hidden_dim=1536,num_layers=30,ffn_dim=8960,step_s=10,
 *      device=h100,world_size=8"
 * with batch= and grad_accum= (1). With step=NODE, the step is the median run of that node in the
 * trace that plumb_trace_open() finds for `run`; with dtype=bf16 the peak is the measured one of
 * this machine, of all its cores or with cores=one of one.
 * With "run" in place of shapes and step, renders "Run MFU: 12.3456%": the operations of the
 * kernels of the trace, over those that could be done from its first span to its last. Without a
 * peak, each type is compared with its measured one.
 * Errors: PLUMB_ERR_ARG: a figure is missing or wrong; PLUMB_ERR_NOT_FOUND: the node has no runs,
 * the trace has no operations, or this machine has no peak for the type; those of
 * plumb_trace_open(). */
PLUMB_API int plumb_mfu_render(char **out, const char *model, const char *run, const char *format,
                               plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif

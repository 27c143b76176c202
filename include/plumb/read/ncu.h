/* ncu.h: the kernels of a report of NVIDIA Nsight Compute, with a verdict on each. Part of
 * libplumb-read; plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_NCU_H
#define PLUMB_READ_NCU_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_ncu_report plumb_ncu_report;

/* Opens a CSV report: `ncu --csv` with --page raw or --page details, with --print-summary, or with
 * --metrics; lines of ncu and of the program around the table are skipped. The file may be packed
 * by gzip. Errors: PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_FORMAT: it has no table of kernels,
 * is cut, or is a binary .ncu-rep; PLUMB_ERR_STATE: ncu had no permission to read the counters, and
 * `err` has the cure; PLUMB_ERR_IO. */
PLUMB_API int plumb_ncu_report_open(plumb_ncu_report **out, const char *path, plumb_error *err);
/* Frees the report. */
PLUMB_API void plumb_ncu_report_close(plumb_ncu_report *kernels);
/* Returns the raw names of the metrics that a verdict needs, separated by commas, as the argument
 * of `ncu --metrics`. The text lives as long as the process. */
PLUMB_API const char *plumb_ncu_report_metrics(void);

typedef struct plumb_ncu_report_view {
    size_t size;         /* sizeof(plumb_ncu_report_view) */
    const char *format;  /* "text", "json", "csv" or "md"; NULL: text */
    uint32_t report;     /* 1, with "md": the report on the kernel, with the sections below */
    const char *run;     /* report: the run whose workload and stage times it has; NULL: none */
    const char *command; /* report: the command that made the CSV; NULL: unknown */
    uint64_t top;        /* kernels shown; 0: all */
} plumb_ncu_report_view;
/* Returns a view with every field at its default. */
static inline plumb_ncu_report_view plumb_ncu_report_view_default(void)
{
    plumb_ncu_report_view v = {sizeof(plumb_ncu_report_view), NULL, 0, NULL, NULL, 0};
    return v;
}
/* Renders a row for each launch, in the order of the report: duration, throughput of device memory
 * and of the multiprocessors in % of their peaks, occupancy, and the verdict: memory_bound (memory
 * above 80 %), otherwise compute_bound (multiprocessors above 60 %), otherwise latency_bound;
 * unknown where a metric that decides is missing. The report has workload, environment, stage
 * times, kernel, evidence, uncertainty, artifacts and the next experiment. Without a newline at its
 * end. Errors: PLUMB_ERR_ARG: no such format; those of plumb_report_open() for `run`. */
PLUMB_API int plumb_ncu_report_render(char **out, const plumb_ncu_report *kernels,
                                      const plumb_ncu_report_view *view, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif

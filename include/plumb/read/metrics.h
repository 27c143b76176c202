/* metrics.h: the metrics of running processes and of runs, in the text formats of Prometheus. Part
 * of libplumb-read; plumb/read.h has the rules of all its headers. docs/metrics.md lists the
 * metrics.
 *
 *     plumb_metrics *m;
 *     char *text = NULL;
 *     plumb_metrics_open(&m, NULL, &err);
 *     plumb_metrics_add(m, "plumb-out/server/20260102-030405", &err);
 *     plumb_metrics_render(&text, NULL, m, PLUMB_METRICS_PROMETHEUS, &err);
 *     ...
 *     plumb_read_free(text);
 *     plumb_metrics_close(m);
 */
#ifndef PLUMB_READ_METRICS_H
#define PLUMB_READ_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/metrics.h>
#include <plumb/read/text.h>
#include <plumb/stage.h>

#ifdef __cplusplus
extern "C" {
#endif

enum plumb_metrics_format {
    PLUMB_METRICS_PROMETHEUS = 0, /* text/plain; version=0.0.4 */
    PLUMB_METRICS_OPENMETRICS = 1 /* application/openmetrics-text; version=1.0.0; with exemplars */
};

typedef struct plumb_metrics_options {
    size_t size; /* sizeof(plumb_metrics_options) */
    /* Buckets of the histograms of stages, an octave of time: 1, 2, 4 ... 64, the same in all
     * processes. 0: a bucket for each of the sketch that is in use, whose counts are exact. */
    uint32_t buckets_per_octave;
    uint32_t
        only_recording; /* 1: a run that no process records now is refused, and not recovered */
} plumb_metrics_options;

/* Returns options with every field at its default: 2 buckets an octave. */
static inline plumb_metrics_options plumb_metrics_options_default(void)
{
    plumb_metrics_options o = {sizeof(plumb_metrics_options), 2, 0};
    return o;
}

/* Metrics of several processes, as of the moments when they were added. One thread at a time. */
typedef struct plumb_metrics plumb_metrics;

/* Makes an empty set. `options`: NULL: the defaults. Errors: PLUMB_ERR_ARG: not such a number of
 * buckets; PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_metrics_open(plumb_metrics **out, const plumb_metrics_options *options,
                                 plumb_error *err);
/* Frees the set. NULL is ignored. */
PLUMB_API void plumb_metrics_close(plumb_metrics *metrics);

/* Adds the metrics of a run, as of now; a process that records it is neither stopped nor asked.
 * Their labels are those of the program and its rank, and of the process id while it records.
 * `run` as for plumb_report_open(). Errors: those of plumb_report_open(); PLUMB_ERR_STATE: no
 * process records it, and only such were wanted. Cost: as a report. */
PLUMB_API int plumb_metrics_add(plumb_metrics *metrics, const char *run, plumb_error *err);
/* Adds a single value: `type` is that of a counter or a gauge (plumb/metrics.h), `labels` ends with
 * a pair whose key is NULL; NULL: none. Texts are copied. Errors: PLUMB_ERR_ARG,
 * PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_metrics_put(plumb_metrics *metrics, uint32_t type, const char *name,
                                const char *help, const struct plumb_pair *labels, double value,
                                plumb_error *err);

/* Returns all of it as text, `*bytes` long (NULL: not wanted); the caller frees it with
 * plumb_read_free(). `format`: enum plumb_metrics_format. */
PLUMB_API int plumb_metrics_render(char **out, size_t *bytes, plumb_metrics *metrics,
                                   uint32_t format, plumb_error *err);
/* Returns the summary of what was added, as JSON: {"processes": [{"pid", "program", "pipeline",
 * "recording", "rows": [...]}]}, times in ns. */
PLUMB_API int plumb_metrics_summary(char **out, size_t *bytes, plumb_metrics *metrics,
                                    plumb_error *err);

/* Writes the metrics of a run to a file for the textfile collector of Prometheus's node exporter,
 * which reads every FILE.prom of a folder: the file appears whole. `path` NULL: plumb.prom in the
 * working directory; a folder gets a file of that name. Its path is written to `out` [size], cut
 * if it does not fit. Errors: as above, PLUMB_ERR_IO. */
PLUMB_API int plumb_metrics_export(char *out, size_t size, const char *run, const char *path,
                                   const plumb_metrics_options *options, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif

/* summary.h: the figures of a run inside the program, as rows or as text. Part of plumb.h.
 *
 *     plumb_rows *rows;
 *     if (plumb_summary_rows(&rows, NULL, NULL, &err) == 0) {
 *         for (size_t i = 0; i < plumb_rows_count(rows); i++)
 *             print_row(plumb_rows_get(rows, i));
 *         plumb_rows_free(rows);
 *     }
 */
#ifndef PLUMB_SUMMARY_H
#define PLUMB_SUMMARY_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

enum plumb_median { PLUMB_MEDIAN_SKETCH = 0, PLUMB_MEDIAN_P2 = 1, PLUMB_MEDIAN_EXACT = 2 };

/* One row of a summary. Key: (pipeline, phase, node). Times in milliseconds; all zero when count is
 * 0. Quantiles are order statistics within 0.8 % (exact up to 5 samples). */
struct plumb_row {
    const char *pipeline;
    const char *phase;
    const char *node;
    uint64_t count;    /* samples, without skipped and failed ones */
    uint64_t skipped;  /* dropped by skip_first_n */
    uint64_t failures; /* runs that plumb_span_fail() marked */
    double mean_ms;
    double median_ms;
    double std_ms; /* population */
    double min_ms;
    double max_ms;
    double total_ms;
    double self_ms; /* total without the time of nested spans */
    double last_ms;
    double p50_ms; /* of the sketch, whatever median_ms is */
    double p90_ms;
    double p95_ms;
    double p99_ms;
    uint64_t device_count; /* the device channel: plumb_record_device_ns() and collectors */
    double device_total_ms;
    double device_mean_ms;
    double device_min_ms;
    double device_max_ms;
    double device_median_ms;
    uint32_t threads;          /* threads that ran the node */
    uint32_t median_estimator; /* enum plumb_median */
};

/* Copies the rows of a pipeline, in the order in which their nodes were first seen.
 *   out       free it with plumb_rows_free(); it never changes
 *   pipeline  NULL: the default pipeline, or every pipeline when there are several
 *   phase     a name; NULL: all phases
 *   threads   any; not a signal handler. Never waits for a recording thread longer than one fold of
 *             its records
 *   cost      a few tenths of a microsecond for each node and thread
 *   errors    PLUMB_ERR_STATE: a thread's records changed too fast; try again. PLUMB_ERR_ARG: `out`
 *             is NULL. PLUMB_ERR_FORMAT: the run's state is damaged. PLUMB_ERR_MEMORY. No run, or
 *             no such phase, is not an error: there are no rows */
static inline int plumb_summary_rows(plumb_rows **out, plumb_pipeline *pipeline, const char *phase,
                                     plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->summary_rows(out, pipeline, phase, err) : PLUMB_ERR_ABSENT;
}
/* Returns the number of rows; 0 for NULL. */
static inline size_t plumb_rows_count(const plumb_rows *rows)
{
    const struct plumb_api *api = plumb_api_for_(rows != NULL);
    return api ? api->rows_count(rows) : 0;
}
/* Returns row `i`, or NULL beyond the last or where `rows` is NULL; it lives as long as `rows`, as
 * do its texts. */
static inline const plumb_row *plumb_rows_get(const plumb_rows *rows, size_t i)
{
    const struct plumb_api *api = plumb_api_for_(rows != NULL);
    return api ? api->rows_get(rows, i) : NULL;
}
/* Frees the rows; those of plumb_rows_get() are invalid then. NULL is ignored. */
static inline void plumb_rows_free(plumb_rows *rows)
{
    const struct plumb_api *api = plumb_api_for_(rows != NULL);
    if (api)
        api->rows_free(rows);
}

/* Renders the table that `plumb report` prints. As plumb_summary_rows(), and:
 *   out     free it with plumb_text_free()
 *   frames  the number of frames, for a column of time per frame; 0: unknown. It belongs to one
 *           phase and is ignored in a table of several
 *   cost    that of plumb_summary_rows(), and a few microseconds a row. Without rows the text is
 *           "No profiling data collected." */
static inline int plumb_summary_text(char **out, plumb_pipeline *pipeline, const char *phase,
                                     uint64_t frames, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->summary_text(out, pipeline, phase, frames, err) : PLUMB_ERR_ABSENT;
}
/* Frees the text of plumb_summary_text(). NULL is ignored. */
static inline void plumb_text_free(char *text)
{
    const struct plumb_api *api = plumb_api_for_(text != NULL);
    if (api)
        api->free_text(text);
}

#ifdef __cplusplus
}
#endif
#endif

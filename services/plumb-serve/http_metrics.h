/* http_metrics.h: what the HTTP service answers: metrics and summaries of all recording
 * processes. */
#ifndef PLUMB_SERVE_HTTP_METRICS_H
#define PLUMB_SERVE_HTTP_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "http_device.h"
#include "serve.h"

struct serve_scraper;
/* Returns the maker of answers; NULL: out of memory. `runs`: NULL: plumb_runs_dir(). */
struct serve_scraper *serve_scraper_open(const char *runs, struct serve_devices *devices);
void serve_scraper_close(struct serve_scraper *scraper); /* NULL is fine */

enum serve_answer {
    SERVE_ANSWER_PROMETHEUS = 0,
    SERVE_ANSWER_OPENMETRICS = 1,
    SERVE_ANSWER_SUMMARY = 2 /* JSON */
};
/* Returns a text, which the caller frees with plumb_read_free(). Any thread; one answer is made at
 * a time. */
int serve_scraper_answer(char **out, size_t *bytes, struct serve_scraper *scraper,
                         enum serve_answer what, plumb_error *err);

/* Returns whether the client that sends `accept` (NULL: no such header) prefers OpenMetrics. */
bool serve_accepts_openmetrics(const char *accept);

#endif

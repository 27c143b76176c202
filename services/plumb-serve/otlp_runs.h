/* otlp_runs.h: runs whose requests are exported: those that processes of this user record now,
 * those below a folder that record, and those there that have ended since then. One thread. */
#ifndef PLUMB_SERVE_OTLP_RUNS_H
#define PLUMB_SERVE_OTLP_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <plumb/error.h>
#include <plumb/read/otlp.h>

enum { OTLP_RUNS_MAX = 256 };

struct otlp_run {
    char *path;
    plumb_otlp *reader;
    bool over;     /* it has ended, and everything of it was exported */
    bool listed;   /* the last look found it */
    bool fails;    /* it could not be read the last time */
    uint64_t lost; /* requests that the run dropped before they were exported */
};
struct otlp_runs {
    const char *folder; /* NULL: plumb_runs_dir() */
    plumb_otlp_options options;
    struct timespec since; /* the begin */
    struct otlp_run run[OTLP_RUNS_MAX];
    size_t count;
    bool full; /* more runs than that were found at once; said once */
};

void otlp_runs_init(struct otlp_runs *runs, const char *folder, const plumb_otlp_options *options);
void otlp_runs_fini(struct otlp_runs *runs);
/* Looks for new runs, and forgets those that are gone, and over or unreadable. */
void otlp_runs_look(struct otlp_runs *runs);

#endif

/* runs.h: finds run directories below `plumb-out` and the newest of them, and removes old ones.
 *
 * A run directory holds `timing.json` (it ended) or `live.plumb` (it runs, or was killed). Runs lie
 * up to two folders below the place that is searched; links are never followed. */
#ifndef PLUMB_READ_RUN_RUNS_H
#define PLUMB_READ_RUN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include <plumb/error.h>

#define PLUMB_TIMING_NAME "timing.json"
#define PLUMB_TRACE_FILE_NAME "trace.pftrace"
#define PLUMB_LATEST_NAME "latest"

struct plumb_found_run {
    const char *path;
    const char *name;     /* last part of the path */
    const char *pipeline; /* the folder it lies in; "" directly below the searched one */
    char stamp[16];       /* YYYYMMDD-HHMMSS: from the name, or the time of the last change */
    uint64_t changed_ns;  /* Unix time of the last change of its report or mapping */
    uint64_t bytes;       /* on disk */
    bool ended;           /* has timing.json */
    bool stamped;         /* its name is one that plumb gives */
};

struct plumb_found_runs {
    struct plumb_arena arena;
    struct plumb_found_run *runs; /* newest first */
    size_t count;
};

/* A missing `dir` holds no runs. Errors: PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
int plumb_runs_find(struct plumb_found_runs *out, const char *dir, plumb_error *err);
void plumb_runs_fini(struct plumb_found_runs *runs);

/* Whether `path` is a run directory itself. */
bool plumb_runs_is_run(const char *path);

/* Finds the run that a user means and writes its path. `dir` is searched. The user gives a run
 * directory, a folder with runs (the newest of them), the name of a run or of a pipeline below
 * `dir` (its newest run), or NULL or "latest" (the newest below `dir`). PLUMB_ERR_NOT_FOUND: none;
 * the text lists pipelines that are there. */
int plumb_runs_resolve(char *out, size_t size, const char *what, const char *dir, plumb_error *err);

/* Removes a folder and what is in it; links are removed, not followed. PLUMB_ERR_IO: what could not
 * be removed stays. */
int plumb_runs_remove_folder(const char *path, plumb_error *err);

/* The rules by which plumb_runs_prune() keeps runs. */
struct plumb_prune {
    uint64_t older_than_ns; /* runs that last changed before this Unix time go; 0: none by age */
    uint64_t max_bytes;     /* the newest runs that fit stay; UINT64_MAX: all */
    bool (*busy)(const char *path, void *arg); /* true: still recording, stays */
    void *arg;
};
struct plumb_pruned {
    size_t runs;
    uint64_t bytes;
};
/* Removes what the rules do not keep, and then empty pipeline folders; `latest` links are pointed
 * to the newest run that is left. Only directories that plumb named itself are ever removed. */
int plumb_runs_prune(struct plumb_pruned *out, const struct plumb_found_runs *runs,
                     const struct plumb_prune *rules, plumb_error *err);

#endif

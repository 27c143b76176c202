/* run.h: list, prune and recover run directories. Part of libplumb-read; plumb/read.h has the
 * rules of all its headers. */
#ifndef PLUMB_READ_RUN_H
#define PLUMB_READ_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

enum plumb_run_state {
    PLUMB_RUN_ENDED = 0,     /* has its timing.json */
    PLUMB_RUN_RECOVERED = 1, /* was killed; its timing.json was made from its live mapping */
    PLUMB_RUN_OPEN = 2       /* has a live mapping only: it records, or was killed */
};

typedef struct plumb_run_info {
    const char *path;
    const char *name;     /* last part of the path */
    const char *pipeline; /* the folder that contains it; "" for the searched folder itself */
    const char *started;  /* "2026-01-02 03:04:05", local time */
    uint64_t bytes;       /* on disk */
    uint32_t state;       /* PLUMB_RUN_ENDED or PLUMB_RUN_OPEN */
    uint32_t reserved;
} plumb_run_info;

/* Writes the path of the folder for runs to `out` [size], with a NUL: PLUMB_DIR with its patterns
 * expanded, or "plumb-out". Errors: PLUMB_ERR_ARG: PLUMB_DIR cannot be expanded, or does not
 * fit. */
PLUMB_API int plumb_runs_dir(char *out, size_t size, plumb_error *err);

typedef struct plumb_run_list plumb_run_list;
/* Lists the runs below `dir` (NULL: plumb_runs_dir()), newest first. A folder that does not exist
 * gives an empty list; runs that are removed later stay in it. Errors: PLUMB_ERR_IO: the folder
 * cannot be read. O(files of the runs): their sizes are added up. */
PLUMB_API int plumb_run_list_open(plumb_run_list **out, const char *dir, plumb_error *err);
/* Frees the list. */
PLUMB_API void plumb_run_list_close(plumb_run_list *list);
/* Returns the number of runs. */
PLUMB_API size_t plumb_run_list_count(const plumb_run_list *list);
/* Returns run `i`, or NULL beyond the last; it lives as long as the list. */
PLUMB_API const plumb_run_info *plumb_run_list_get(const plumb_run_list *list, size_t i);
/* Renders the list as a table with a line for each run, without a newline at its end; "" for an
 * empty list. */
PLUMB_API int plumb_run_list_render(char **out, const plumb_run_list *list, plumb_error *err);

typedef struct plumb_prune_options {
    size_t size;           /* sizeof(plumb_prune_options) */
    uint64_t older_than_s; /* removes runs last changed longer ago; 0: no limit */
    uint64_t max_bytes;    /* keeps the newest runs that fit into this; 0: no limit */
} plumb_prune_options;
typedef struct plumb_pruned_runs {
    uint64_t runs;  /* that were removed */
    uint64_t bytes; /* that they had on disk */
} plumb_pruned_runs;
/* Removes run directories: only those that plumb itself named, and none that is still recording.
 * The list does not change. `out`: what was removed, or NULL; `options`: not NULL. Errors:
 * PLUMB_ERR_IO: a run cannot be removed; those after it stay too. O(files that are removed). */
PLUMB_API int plumb_run_list_prune(plumb_pruned_runs *out, const plumb_run_list *list,
                                   const plumb_prune_options *options, plumb_error *err);

typedef struct plumb_recovered {
    uint64_t nodes;      /* (pipeline, phase, node) rows */
    uint64_t samples;    /* of all of them */
    uint64_t open_spans; /* that had not ended */
    char path[512];      /* of the timing.json */
} plumb_recovered;
/* Writes the timing.json of a run that was killed, from its live mapping, which is kept, and the
 * summary of its rank. Returns 1 if it was written now (`err` says if the summary could not be
 * saved), 0 if it existed already. `out` may be NULL. `run` as for plumb_report_open(), or the
 * mapping itself. Errors: PLUMB_ERR_STATE: the process is still recording; PLUMB_ERR_NOT_FOUND: no
 * such run; PLUMB_ERR_FORMAT: the mapping is damaged; PLUMB_ERR_IO: it cannot be read, or the
 * report cannot be written. */
PLUMB_API int plumb_recover(plumb_recovered *out, const char *run, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif

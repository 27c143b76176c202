/* take.h: reads results from files: recognises the kind of a file, lets a reader of that kind add
 * its results, and gives each what all have: its identity, its origin, its digest. One thread. */
#ifndef PLUMB_READ_HISTORY_TAKE_H
#define PLUMB_READ_HISTORY_TAKE_H

#include "model/timing.h"
#include "read/history/result.h"
#include "read/history/run_source.h"
#include "read/json/tree.h"

/* Adds further metrics of a run to its result. */
typedef void (*plumb_take_more)(struct plumb_result_list *list, struct plumb_result_item *item,
                                const struct plumb_timing *timing);

/* The state that a reader works with. */
struct plumb_taking {
    struct plumb_result_list *list;
    const plumb_results_options *options;
    struct plumb_run_origin origin;
    const char *path;                      /* what the user named */
    const struct plumb_json_value *config; /* of the benchmark; NULL: none */
    plumb_take_more more;                  /* for runs; NULL: none */
    size_t first;                          /* of its results in `list` */
    uint64_t file_ns;                      /* when the file was last changed, Unix time */
};

/* Appends the results at `path` to `out`, which the caller has made and ends, and orders all by
 * time. `more` (NULL: none) is called for each run. The errors of plumb_results_open(). */
int plumb_results_take(struct plumb_result_list *out, const char *path,
                       const plumb_results_options *options, plumb_take_more more,
                       plumb_error *err);

/* ---- Readers: each adds results, or fails
 * ----------------------------------------------------- */

int plumb_take_google(struct plumb_taking *t, const struct plumb_json_value *root,
                      plumb_error *err);
int plumb_take_perf(struct plumb_taking *t, const struct plumb_json_value *root, plumb_error *err);
/* `path`: a run directory or a timing.json. */
int plumb_take_run(struct plumb_taking *t, const char *path, plumb_error *err);
/* `path`: a folder with benchmarks.json and a folder for each machine. */
int plumb_take_asv(struct plumb_taking *t, const char *path, plumb_error *err);
bool plumb_take_is_asv(const char *path);
/* One file of it. `root`: of the file, which messages call `path`; `benchmarks`: of
 * benchmarks.json. */
void plumb_take_asv_file(struct plumb_taking *t, const struct plumb_json_value *benchmarks,
                         const struct plumb_json_value *root, const char *path);

/* ---- For readers
 * ------------------------------------------------------------------------------ */

/* Sets the keys that are still NULL: the profiles of the facts (JSON texts of objects; NULL: none),
 * and the recipe `recipe`, JSON, without what is for audit alone. They are kept in `extra`, with
 * the members of `audit` (JSON text of an object; NULL: none). */
void plumb_take_identity(struct plumb_taking *t, struct plumb_result_item *item,
                         const char *hardware_facts, const char *software_facts, const char *recipe,
                         const char *audit);
/* A copy of a text of the tree in the arena of the results; NULL: not a text, or empty. */
const char *plumb_take_text(struct plumb_taking *t, const struct plumb_json_value *v);
/* A number or a text as a text: versions may be either. */
const char *plumb_take_key(struct plumb_taking *t, const struct plumb_json_value *v);
/* "2026-01-02T03:04:05.678+01:00", "2026-01-02 03:04:05", "20260102T030405Z": Unix ns, UTC without
 * an offset. False: not a time. */
bool plumb_take_time(const char *text, uint64_t *out);
/* The last part of a path. */
const char *plumb_take_base(const char *path);
/* Facts of this machine as JSON text, for results that do not have them: {"cpu": ..., "cpus": ...}.
 * `host`: where they were measured; another host than this one is named in place of its
 * processor. */
void plumb_take_machine(struct plumb_buf *out, const char *host, int64_t cpus);

#endif

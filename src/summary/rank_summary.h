/* rank_summary.h: the cost of the operators of one rank, for files next to timing.json:
 * summary_rank<R>.txt for people and summary_rank<R>.json for scripts, and the table of its nodes
 * in each phase, summary_rank<R>.nodes.txt. Used by libplumb and by libplumb-read. Any thread. */
#ifndef PLUMB_SUMMARY_RANK_SUMMARY_H
#define PLUMB_SUMMARY_RANK_SUMMARY_H

#include "base/buf.h"
#include "live/shape_times.h"
#include "model/timing.h"

enum { PLUMB_RANK_ROWS_SHOWN = 60 };

struct plumb_rank_row {
    const char *name;
    const char *shapes;      /* of its inputs, as text; "": not known */
    uint64_t count;          /* runs */
    uint64_t device_ns;      /* on the device, with what is nested in it */
    uint64_t self_device_ns; /* without */
    uint64_t host_ns;        /* on the host, without */
};

/* Appends both files. `rows` [n] with one name and shapes become one; of `t` the rank is looked at
 * alone. The text has the PLUMB_RANK_ROWS_SHOWN rows with the most
 * device time of their own, then host time of their own; the JSON has all, in the order given.
 * Errors: PLUMB_ERR_MEMORY. */
int plumb_rank_summary(struct plumb_buf *text, struct plumb_buf *json, const struct plumb_timing *t,
                       const struct plumb_rank_row *rows, size_t n, plumb_error *err);
/* The rows of a run, or of its active steps where `shapes` has them, in first-seen order. A name of
 * a node has one row for each known set of input shapes, and one without shapes for the rest.
 * Counts and host times of a name add up to those of its nodes. Device time belongs to the shapes
 * of the call that it was recorded in, on its thread. Other device time belongs to the row without
 * shapes, or to the only shapes that there were; a row that exists for such samples alone counts
 * these. `shapes` NULL: none are known. `rows` is the caller's, to free(); its texts are those of
 * `t` and `shapes`. PLUMB_ERR_MEMORY. */
int plumb_rank_rows(const struct plumb_timing *t, const struct plumb_shape_times *shapes,
                    struct plumb_rank_row **rows, size_t *n, plumb_error *err);
/* Appends memory over time as JSON: an object for each point of a series, either the resident set
 * or what a pool held. */
void plumb_memory_history(struct plumb_buf *out, const struct plumb_timing *t);
/* Passes the files of `t` to `write`: summary_rank<R>.txt and summary_rank<R>.json, with the rows
 * of plumb_rank_rows(), summary_rank<R>.nodes.txt, the table of plumb_summary_table(), and, of a
 * run with a trace, memory_rank<R>.json, its memory history. A rank that is not known is 0. One
 * that cannot be written does not keep the others from being written; the first error is
 * returned. */
int plumb_rank_files(const struct plumb_timing *t, const struct plumb_shape_times *shapes,
                     plumb_write_fn write, void *arg, plumb_error *err);

#endif

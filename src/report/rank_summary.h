/* rank_summary.h: what the operators of one rank cost, for two files beside timing.json:
 * summary_rank<R>.txt for people and summary_rank<R>.json for scripts. Used by libplumb and by
 * libplumb-trace. Any thread. */
#ifndef PLUMB_REPORT_RANK_SUMMARY_H
#define PLUMB_REPORT_RANK_SUMMARY_H

#include "base/buf.h"
#include "format/timing.h"

enum { PLUMB_RANK_ROWS_SHOWN = 60 };

struct plumb_rank_row {
    const char *name;
    const char *shapes;      /* of its inputs, as text; "": not known */
    uint64_t count;          /* runs */
    uint64_t device_ns;      /* on the device, with what is nested in it */
    uint64_t self_device_ns; /* without */
    uint64_t host_ns;        /* on the host, without */
};

/* Appends both files. `rows` [n] with one name and shapes become one; NULL: a row for each node of
 * `t`, without shapes, whose device time of its own is all its device time (samples of a device do
 * not tell what they are nested in). The text has the PLUMB_RANK_ROWS_SHOWN rows with the most
 * device time of their own, then host time of their own; the JSON has all, in the order given.
 * Errors: PLUMB_ERR_MEMORY. */
int plumb_rank_summary(struct plumb_buf *text, struct plumb_buf *json, const struct plumb_timing *t,
                       const struct plumb_rank_row *rows, size_t n, plumb_error *err);
/* Passes both files of `t` to `write`, summary_rank<R>.txt and summary_rank<R>.json; a rank that is
 * not known is 0. One that cannot be written does not keep the other from being written; its error
 * is returned. */
int plumb_rank_files(const struct plumb_timing *t, plumb_write_fn write, void *arg,
                     plumb_error *err);

#endif

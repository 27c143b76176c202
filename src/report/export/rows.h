/* rows.h: the order in which a format lists its rows, and their names. The first row is the one
 * that a user looks for, and no two look alike. */
#ifndef PLUMB_REPORT_EXPORT_ROWS_H
#define PLUMB_REPORT_EXPORT_ROWS_H

#include "read/trace/table.h"

struct plumb_export_rows {
    const struct plumb_table *t;
    uint32_t count;
    uint32_t
        *tracks;     /* those with events: main threads first, the rest in the order of the table */
    uint8_t *shared; /* of each track of the table: another row has its name */
};

/* 0 or PLUMB_ERR_MEMORY. `only_slices`: tracks with instants or counters alone are left out. To be
 * ended with plumb_export_rows_fini() in any case. */
int plumb_export_rows_init(struct plumb_export_rows *out, const struct plumb_table *t,
                           bool only_slices, plumb_error *err);
void plumb_export_rows_fini(struct plumb_export_rows *rows);
/* Appends the track's name; where rows share it, also the TID of a thread or the device of a queue:
 * "worker (4712)". */
void plumb_export_row_name(struct plumb_buf *out, const struct plumb_export_rows *rows,
                           uint32_t track);

#endif

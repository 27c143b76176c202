/* record.h: the record of one tensor that a layer gave out: as a struct, as packed bytes, and as a
 * line of JSON. The recording thread packs it. The line is made by the process itself, or by a
 * reader after the process was killed (pending.h). Any thread, no allocation but the buffer's. */
#ifndef PLUMB_TENSOR_RECORD_H
#define PLUMB_TENSOR_RECORD_H

#include "base/buf.h"
#include "tensor/value_stats.h"

enum {
    PLUMB_RECORD_LABEL = 128,
    PLUMB_RECORD_WHY = 160,
    PLUMB_RECORD_COLUMNS = 48,
    PLUMB_RECORD_OWN = 32, /* statistics of the program's */
    PLUMB_RECORD_NAME = 64 /* of a statistic */
};

enum plumb_record_io { PLUMB_RECORD_OUT = 0, PLUMB_RECORD_IN = 1, PLUMB_RECORD_GRAD = 2 };

/* Set at every record. */
struct plumb_record_head {
    int64_t step; /* negative: unknown */
    uint64_t call, seq;
    uint64_t time_ns;         /* since 1970 */
    struct plumb_dtype dtype; /* meaningful where ndim is not negative */
    int32_t ndim;             /* negative: unknown */
    uint32_t own_bad;         /* bit by bit, those of own[] that failed */
    uint32_t io;              /* enum plumb_record_io */
};

/* Large, and mostly not set. */
struct plumb_act_record {
    struct plumb_record_head head;
    const char *module, *phase; /* borrowed */
    char label[PLUMB_RECORD_LABEL];
    int64_t shape[PLUMB_VIEW_MAX_DIMS]; /* [head.ndim] */
    char why[PLUMB_RECORD_WHY];         /* there are no statistics */
    struct plumb_value_stats stats;
    double own[PLUMB_RECORD_OWN];
    char own_why[PLUMB_RECORD_OWN][PLUMB_RECORD_WHY]; /* of those in head.own_bad */
};

/* The statistics of a line, in order. */
struct plumb_record_columns {
    uint32_t count;
    uint32_t want;     /* enum plumb_value_want */
    uint32_t own_used; /* of own[] */
    struct {
        char name[PLUMB_RECORD_NAME];
        int32_t index; /* of the statistics that plumb knows; negative: own, as -1 - index */
    } column[PLUMB_RECORD_COLUMNS];
};

/* ---- Statistics by name ---- */

/* The index of a statistic that plumb knows; negative: none of that name. */
int plumb_record_stat(const char *name);
/* The name of one; NULL: there are no more. */
const char *plumb_record_stat_name(int index);
/* Adds the statistic, unless it is already there or the list is full. */
void plumb_record_add_column(struct plumb_record_columns *c, const char *name, int index);

/* ---- Bytes ---- */

/* The most that a record takes, with names of 4 KB. */
enum { PLUMB_RECORD_BYTES = sizeof(struct plumb_act_record) + 8192 };

/* Returns how many bytes were written to `out` [PLUMB_RECORD_BYTES], a multiple of 8. Names are cut
 * at 4095 bytes. */
size_t plumb_record_pack(unsigned char *out, const struct plumb_act_record *r,
                         const struct plumb_record_columns *c);
/* Reads one record back from the `room` bytes at `in`, which may hold anything. Returns its size in
 * bytes; 0: these are not a packed record. `module` and `phase` point into `in`. Members that the
 * record does not set stay as they were. */
size_t plumb_record_unpack(struct plumb_act_record *r, const unsigned char *in, size_t room);

/* ---- Lines ---- */

const char *plumb_record_io_name(uint32_t io); /* "out", "in", "grad" */
/* Appends the line, with its end. */
void plumb_record_line(struct plumb_buf *out, const struct plumb_act_record *r,
                       const struct plumb_record_columns *c, int64_t rank);

#endif

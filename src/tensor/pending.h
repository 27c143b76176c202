/* pending.h: records on their way to a file of lines, in memory that outlives the process:
 * "<file>.<pid>.pending" next to the file. The process makes lines of them periodically; if it is
 * killed before that, the reader of the file makes the rest.
 *
 * Both map the file as it is. Positions count bytes without end. A record lies in one piece at its
 * position modulo PLUMB_PENDING_RING, so the ring is followed by space for one record. */
#ifndef PLUMB_TENSOR_PENDING_H
#define PLUMB_TENSOR_PENDING_H

#include "tensor/record.h"

enum {
    PLUMB_PENDING_VERSION = 1,
    PLUMB_PENDING_RING = 1 << 20,
    PLUMB_PENDING_HEAD = 8192,
    PLUMB_PENDING_BYTES = PLUMB_PENDING_HEAD + PLUMB_PENDING_RING + PLUMB_RECORD_BYTES + 4096 -
                          (PLUMB_RECORD_BYTES % 4096)
};
#define PLUMB_PENDING_MAGIC "plumbact"

struct plumb_pending {
    char magic[8]; /* set last */
    uint32_t version, pid;
    uint64_t process_start; /* base/process/process.h */
    int64_t rank;
    uint32_t appends;      /* others may write to the file as well */
    uint32_t record_bytes; /* sizeof(struct plumb_act_record): of one build */
    uint64_t put, taken;   /* positions; atomic */
    struct plumb_record_columns columns;
};
_Static_assert(sizeof(struct plumb_pending) <= PLUMB_PENDING_HEAD,
               "the head is large enough for it");

/* The lines of records whose `seq` is above `after`, from the bytes of such a file, which may be
 * anything. Returns how many; PLUMB_ERR_FORMAT: they are not of this build, or damaged, and `out`
 * has what comes before the damage. */
int64_t plumb_pending_lines(struct plumb_buf *out, const void *bytes, size_t size, int64_t after,
                            plumb_error *err);

#endif

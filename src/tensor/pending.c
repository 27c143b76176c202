/* pending.c: see pending.h. */
#include "tensor/pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int check(const struct plumb_pending *p, size_t size, plumb_error *err)
{
    if (size != PLUMB_PENDING_BYTES || memcmp(p->magic, PLUMB_PENDING_MAGIC, sizeof p->magic) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "they are not records");
    if (p->version != PLUMB_PENDING_VERSION || p->record_bytes != sizeof(struct plumb_act_record))
        return plumb_fail(err, PLUMB_ERR_FORMAT, "they are of another version of plumb");
    if (p->columns.count > PLUMB_RECORD_COLUMNS || p->put - p->taken > PLUMB_PENDING_RING)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "they are damaged");
    for (uint32_t i = 0; i < p->columns.count; i++) {
        int32_t index = p->columns.column[i].index;
        if (index < -PLUMB_RECORD_OWN || (index >= 0 && !plumb_record_stat_name(index)) ||
            !memchr(p->columns.column[i].name, '\0', PLUMB_RECORD_NAME))
            return plumb_fail(err, PLUMB_ERR_FORMAT, "they are damaged");
    }
    return PLUMB_OK;
}

int64_t plumb_pending_lines(struct plumb_buf *out, const void *bytes, size_t size, int64_t after,
                            plumb_error *err)
{
    const struct plumb_pending *p = bytes;
    const unsigned char *ring = (const unsigned char *)bytes + PLUMB_PENDING_HEAD;
    struct plumb_act_record *r = NULL;
    int64_t lines = 0;
    int rc = size < sizeof *p ? plumb_fail(err, PLUMB_ERR_FORMAT, "they are not records")
                              : check(p, size, err);
    if (rc == PLUMB_OK && !(r = calloc(1, sizeof *r)))
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    for (uint64_t at = rc < 0 ? 0 : p->taken, end = rc < 0 ? 0 : p->put;
         at < end && rc == PLUMB_OK;) {
        uint64_t left = end - at;
        size_t n = plumb_record_unpack(r, ring + at % PLUMB_PENDING_RING,
                                       left < PLUMB_RECORD_BYTES ? left : PLUMB_RECORD_BYTES);
        if (n == 0)
            rc = plumb_fail(err, PLUMB_ERR_FORMAT, "they are damaged");
        else if ((int64_t)r->head.seq > after) {
            plumb_record_line(out, r, &p->columns, p->rank);
            lines++;
        }
        at += n;
    }
    free(r);
    if (rc == PLUMB_OK && out->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    return rc < 0 ? rc : lines;
}

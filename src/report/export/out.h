/* out.h: the output of an export: a buffer that is handed on when it is full, compressed on the way
 * if the caller wants that. After a failed write the rest is dropped, and `failed` is set. */
#ifndef PLUMB_REPORT_EXPORT_OUT_H
#define PLUMB_REPORT_EXPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "codec/gz/gz.h"
#include "codec/out.h"

/* Progress callback, called periodically with (done, all), in units of the exporter's. */
struct plumb_export_progress {
    void (*tell)(void *arg, uint64_t done, uint64_t all); /* NULL: no callback */
    void *arg;
};

struct plumb_export_out {
    struct plumb_out *room; /* append here; when it is full, plumb_export_flush() */
    struct plumb_export_progress progress;
    bool failed;    /* write() could not */
    uint64_t bytes; /* handed on */
    /* ---- Its own ---- */
    int (*write)(void *arg, const void *bytes, size_t n); /* less than 0: it cannot */
    void *arg;
    struct plumb_gz *gz; /* NULL: plain */
    struct plumb_out plain, packed;
};

/* 0 or PLUMB_ERR_MEMORY. */
int plumb_export_open(struct plumb_export_out *x, bool gzip,
                      int (*write)(void *arg, const void *bytes, size_t n), void *arg,
                      plumb_error *err);
/* Empties the buffer far enough for any single write of chrome.h. */
void plumb_export_flush(struct plumb_export_out *x);
/* Any bytes, of any number. */
void plumb_export_put(struct plumb_export_out *x, const void *bytes, size_t n);
void plumb_export_text(struct plumb_export_out *x, const char *text);
/* Writes the contents of `b` and empties it. */
void plumb_export_take(struct plumb_export_out *x, struct plumb_buf *b);
/* Writes the bytes that are left. The caller closes `x` in any case; false: a write failed. */
bool plumb_export_finish(struct plumb_export_out *x);
void plumb_export_close(struct plumb_export_out *x);

static inline void plumb_export_tell(const struct plumb_export_progress *p, uint64_t done,
                                     uint64_t all)
{
    if (p->tell && (done & 0xffff) == 0)
        p->tell(p->arg, done, all);
}

#endif

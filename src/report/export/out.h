/* out.h: where an export goes: a buffer that is handed on when it is full, compressed on the
 * way when asked. What cannot be handed on is remembered, and everything after it is dropped. */
#ifndef PLUMB_REPORT_EXPORT_OUT_H
#define PLUMB_REPORT_EXPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "codec/gz/gz.h"
#include "codec/out.h"

/* Called now and then with how much of how much is done, in units of the exporter's. */
struct plumb_export_progress {
    void (*tell)(void *arg, uint64_t done, uint64_t all); /* NULL: nobody asks */
    void *arg;
};

struct plumb_export_out {
    struct plumb_out *room; /* append here; plumb_export_flush() when there is no room */
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
/* Makes room for anything that chrome.h writes. */
void plumb_export_flush(struct plumb_export_out *x);
/* Any bytes, of any number. */
void plumb_export_put(struct plumb_export_out *x, const void *bytes, size_t n);
void plumb_export_text(struct plumb_export_out *x, const char *text);
/* What is in `b`, which is empty then. */
void plumb_export_take(struct plumb_export_out *x, struct plumb_buf *b);
/* The rest. `x` must be closed in any case; false: something could not be written. */
bool plumb_export_finish(struct plumb_export_out *x);
void plumb_export_close(struct plumb_export_out *x);

static inline void plumb_export_tell(const struct plumb_export_progress *p, uint64_t done,
                                     uint64_t all)
{
    if (p->tell && (done & 0xffff) == 0)
        p->tell(p->arg, done, all);
}

#endif

/* trace_recover.c: see trace_recover.h. Any thread, and several processes at once: each makes the
 * same file under a name of its own, and the last to be renamed stays. */
#include "read/run/trace_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pages.h"
#include "base/whole_file.h"
#include "live/read.h"
#include "live/trace_drops.h"
#include "live/undo.h"
#include "read/run/node_recover.h"
#include "timeline/mapping.h"
#include "timeline/selection.h"

enum {
    PATH_BYTES = 4096,
    AGAIN = 1 /* the rest does not fit: only the number of lost spans is
                                     * written */
};

struct recovery {
    const char *dir;
    struct plumb_live_view source;
    struct plumb_trace_live live;
    struct plumb_trace_parts parts;
    char path[PATH_BYTES];
    struct plumb_whole_file file;
    int code;             /* errno of the first write that failed */
    bool bounded, beyond; /* the rest must stay within the bound; it does not */
};

static bool write_bytes(void *arg, const unsigned char *bytes, size_t n)
{
    struct recovery *r = arg;
    if (r->bounded && r->live.file.bytes + n > r->source.h->trace.max_bytes) {
        r->beyond = true;
        return false;
    }
    r->code = plumb_whole_file_put(&r->file, bytes, n);
    return r->code == 0;
}

/* The part of the file that the last commit knows of. False: it is shorter, so it is another. */
static bool copy_good(struct recovery *r, uint64_t bytes)
{
    static const size_t step = 1 << 16;
    unsigned char *buffer = malloc(step);
    int from = open(r->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool good = buffer && from >= 0;
    while (good && bytes) {
        ssize_t n = read(from, buffer, bytes < step ? (size_t)bytes : step);
        good = n > 0 && write_bytes(r, buffer, (size_t)n);
        bytes -= n > 0 ? (uint64_t)n : 0;
    }
    if (from >= 0)
        close(from);
    free(buffer);
    return good;
}

/* Undoes folds that were interrupted, so that their blocks are found in the ring. */
static void undo_folds(struct recovery *r)
{
    struct plumb_merge m = {.view = r->source};
    uint64_t off = r->source.h->thread_off;
    size_t most = r->source.bytes / sizeof(struct plumb_live_thread) + 1;
    while (off && most--) {
        struct plumb_live_thread *live = plumb_live_at(&r->source, off, sizeof *live);
        if (!live)
            return;
        plumb_live_undo(&m, live);
        off = live->next_off;
    }
}

/* For a process that was killed before its writer read the clock. */
static void set_clock(struct recovery *r)
{
    const struct plumb_live_header *h = r->source.h;
    double ppm, tick_ns = plumb_live_tick_ns(h, NULL, &ppm);
    if (r->live.file.clock.ns_per_tick || !(tick_ns > 1e-3 && tick_ns < 1e3))
        return;
    r->live.file.clock = (struct plumb_trace_clock){
        .ticks0 = h->start.ticks, .ns_per_tick = (uint64_t)(tick_ns * 4294967296.0 + 0.5)};
}

static int cannot_write(const struct recovery *r, int code, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", r->path, strerror(code));
}

static int write_rest(struct recovery *r, plumb_error *err)
{
    struct plumb_trace_live *t = &r->live;
    struct plumb_live_trace *h = &r->source.h->trace;
    uint64_t good = h->batch ? h->commit[h->batch & 1].bytes : 0;
    if (good && !copy_good(r, good)) {
        if (r->code)
            return cannot_write(r, r->code, err);
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not the trace of its run any more",
                          r->path);
    }
    t->file.source = r->source;
    t->file.write = write_bytes;
    t->file.arg = r;
    t->file.bytes = good;
    if (plumb_trace_live_open(t, true) < 0)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory recovering a trace");
    /* The process, too, ignored a list of steps that is not valid. */
    if (plumb_trace_parts_open(&r->parts, t, NULL, false, err) == PLUMB_ERR_MEMORY)
        return PLUMB_ERR_MEMORY;
    set_clock(r);
    if (!good)
        plumb_trace_file_head(&t->file);
    plumb_trace_settle(&r->source);
    r->bounded = !h->ended;
    if (h->mode == PLUMB_LIVE_TRACE_RING)
        plumb_trace_live_collect(t);
    else
        plumb_trace_live_finish(t);
    plumb_trace_file_fact(&t->file, "plumb.trace_end",
                          h->ended ? plumb_trace_end_text(r->source.h) : "with its process");
    plumb_trace_file_fact_u64(&t->file, "plumb.dropped", plumb_trace_lost_here(&r->source));
    plumb_trace_file_losses(&t->file);
    plumb_trace_file_flush(&t->file);
    if (t->file.failed && r->beyond)
        return AGAIN;
    if (t->file.failed)
        return cannot_write(r, r->code, err);
    return PLUMB_OK;
}

static int make_file(struct recovery *r, plumb_error *err)
{
    const char *name = r->source.h->trace.window
                           ? plumb_live_text(&r->source, r->source.h->trace.path_off)
                           : PLUMB_TRACE_FILE;
    int rc, code;
    if (snprintf(r->path, sizeof r->path, "%s%s%s", *name == '/' ? "" : r->dir,
                 *name == '/' ? "" : "/", name) >= (int)sizeof r->path)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", r->dir);
    /* The run may be another user's, and we root. */
    code = plumb_whole_file_begin(&r->file, r->path, PLUMB_WHOLE_ANY_OWNER, 0600);
    if (code)
        return cannot_write(r, code, err);
    rc = write_rest(r, err);
    code = plumb_whole_file_end(&r->file, rc == PLUMB_OK);
    return rc == PLUMB_OK && code ? cannot_write(r, code, err) : rc;
}

/* Whether there is a trace to finish. Called after the figures have been read: their reader has
 * refused any file that is not a mapping of ours, with the reason. */
static bool is_traced(const struct plumb_live_header *h)
{
    return h->magic == PLUMB_LIVE_MAGIC && h->version == PLUMB_LIVE_VERSION &&
           h->header_bytes == sizeof *h &&
           (h->trace.mode == PLUMB_LIVE_TRACE_STOP || h->trace.mode == PLUMB_LIVE_TRACE_RING);
}

/* The window that was open is the last in the list, unless the list was full before. */
static void end_window(struct plumb_timing *timing, const struct recovery *r)
{
    const struct plumb_live_header *h = r->source.h;
    struct plumb_timing_window *w;
    if (!timing->window_count || timing->windows_all != timing->window_count)
        return;
    w = &timing->windows[timing->window_count - 1];
    w->bytes = r->live.file.bytes;
    w->spans = plumb_trace_live_spans(&r->live);
    w->dropped = plumb_trace_lost_here(&r->source);
    w->end = h->trace.ended ? plumb_trace_end_text(h) : "with its process";
}

/* One try, on a copy of the mapping of its own. AGAIN: the rest is too much for the bound. */
static int recover(struct plumb_timing *timing, const char *dir, bool ended, plumb_error *err)
{
    struct recovery *r = calloc(1, sizeof *r);
    int rc = PLUMB_OK;
    if (!r || !(r->live.file.out.base = malloc(PLUMB_TRACE_BUFFER))) {
        free(r);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory recovering a trace");
    }
    r->dir = dir;
    r->live.file.out.size = PLUMB_TRACE_BUFFER;
    rc = plumb_live_copy(&r->source.base, &r->source.bytes, dir, err);
    if (rc < 0)
        goto out;
    r->source.h = (struct plumb_live_header *)(void *)r->source.base;
    if (!is_traced(r->source.h))
        goto out;
    if (ended)
        r->source.h->trace.ended = PLUMB_TRACE_AT_BOUND;
    undo_folds(r);
    rc = make_file(r, err);
    if (rc == PLUMB_OK && r->source.h->trace.window) {
        end_window(timing, r);
        goto out;
    }
    if (rc == PLUMB_OK)
        rc = plumb_node_recover(&r->source, dir, err);
    if (rc == PLUMB_OK && timing->trace.end) {
        timing->trace.bytes = r->live.file.bytes;
        timing->trace.spans = plumb_trace_live_spans(&r->live);
        timing->trace.end =
            r->source.h->trace.ended ? plumb_trace_end_text(r->source.h) : "with its process";
    }
out:
    plumb_trace_parts_close(&r->parts, false, NULL, NULL);
    plumb_trace_live_fini(&r->live);
    if (r->source.base)
        plumb_pages_unmap(r->source.base, r->source.bytes);
    free(r->live.file.out.base);
    free(r);
    return rc;
}

int plumb_trace_recover(struct plumb_timing *timing, const char *dir, plumb_error *err)
{
    int rc = recover(timing, dir, false, err);
    if (rc != AGAIN)
        return rc;
    /* The report then counts the spans that the bounded reading leaves out. */
    plumb_timing_fini(timing);
    plumb_timing_init(timing);
    rc = plumb_live_read_bounded(timing, dir, err);
    timing->recovered = true;
    return rc == PLUMB_OK ? recover(timing, dir, true, err) : rc;
}

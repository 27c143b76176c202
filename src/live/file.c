/* file.c: reads the live mapping of another process, which is a file, and checks that it is ours.
 * It is copied and not mapped: whoever owns the file may cut it short at any time, and a disk may
 * fail, which would end this process with SIGBUS. An undo changes the copy alone. Also finds out
 * whether its process still records. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pages.h"
#include "base/process/process.h"
#include "live/read.h"
#include "live/shape_times.h"
#include "live/signature_live.h"

/* Returns false if the mapping will not change any more. */
static bool is_recording(const struct plumb_live_header *h)
{
    return PLUMB_ACQUIRE(h->status) == PLUMB_LIVE_RECORDING && h->process_start &&
           !plumb_process_is_over(h->pid, h->process_start);
}

static int open_file(int *fd, size_t *bytes, const char *run_dir, plumb_error *err)
{
    char path[1200];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", run_dir, PLUMB_LIVE_NAME);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot open '%s': %s", path, strerror(errno));
    if (fstat(*fd, &st) < 0 || st.st_size < (off_t)sizeof(struct plumb_live_header)) {
        close(*fd);
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is cut short: nothing is in it", path);
    }
    *bytes = (size_t)st.st_size;
    return PLUMB_OK;
}

/* Reads all of it, or returns false with errno 0 where the file is shorter. */
static bool read_range(unsigned char *to, int fd, off_t from, off_t end)
{
    while (from < end) {
        ssize_t n = pread(fd, to + from, (size_t)(end - from), from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : 0;
            return false;
        }
        from += n;
    }
    return true;
}

/* Much of the file are holes, which the copy has too. */
static bool read_data(unsigned char *to, int fd, off_t bytes)
{
    off_t data = 0, hole;
    while (data < bytes) {
        off_t next = lseek(fd, data, SEEK_DATA);
        if (next < 0 && errno == ENXIO)
            return true;
        data = next < 0 ? data : next; /* a file system that knows no holes */
        hole = next < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        hole = hole < 0 || hole > bytes ? bytes : hole;
        if (!read_range(to, fd, data, hole))
            return false;
        data = hole;
    }
    return true;
}

int plumb_live_copy(unsigned char **out, size_t *bytes, const char *run_dir, plumb_error *err)
{
    size_t size;
    void *base;
    int fd, rc = open_file(&fd, &size, run_dir, err);
    if (rc < 0)
        return rc;
    base = plumb_pages_map(size);
    if (!base) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for a copy of the %zu bytes of '%s/%s'",
                        size, run_dir, PLUMB_LIVE_NAME);
    } else if (!read_data(base, fd, (off_t)size)) {
        rc = errno ? plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s/%s': %s", run_dir,
                                PLUMB_LIVE_NAME, strerror(errno))
                   : plumb_fail(err, PLUMB_ERR_FORMAT, "'%s/%s' was cut short while it was read",
                                run_dir, PLUMB_LIVE_NAME);
        plumb_pages_unmap(base, size);
    } else {
        *out = base;
        *bytes = size;
    }
    close(fd);
    return rc;
}

/* Copies the file; `*recording`: it may still change. That is looked up first: a process that ends
 * while its mapping is copied has changed it since, and may have made it longer. */
static int copy_settled(unsigned char **out, size_t *bytes, bool *recording, const char *run_dir,
                        plumb_error *err)
{
    struct plumb_live_header *h = plumb_pages_map(sizeof *h);
    int fd, rc = open_file(&fd, bytes, run_dir, err);
    if (rc == PLUMB_OK) {
        *recording = h && read_range((unsigned char *)h, fd, 0, sizeof *h) && is_recording(h);
        close(fd);
        rc = plumb_live_copy(out, bytes, run_dir, err);
    }
    plumb_pages_unmap(h, sizeof *h);
    return rc;
}

static int read_live(struct plumb_timing *out, const char *run_dir, bool trace_ended,
                     plumb_error *err)
{
    unsigned char *base = NULL;
    size_t bytes = 0;
    bool recording = false;
    plumb_error why = {0, ""};
    int rc = copy_settled(&base, &bytes, &recording, run_dir, err);
    struct plumb_live_header *h = (struct plumb_live_header *)(void *)base;
    if (rc < 0)
        return rc;
    if (trace_ended && !h->trace.ended)
        h->trace.ended = PLUMB_TRACE_AT_BOUND;
    rc = plumb_live_to_timing(out, base, bytes, NULL, &why);
    if (rc < 0)
        plumb_fail(err, rc, "'%s/%s': %s", run_dir, PLUMB_LIVE_NAME, why.message);
    if (rc == PLUMB_OK) {
        out->recovered = true;
        out->unsaved = PLUMB_ACQUIRE(h->status) == PLUMB_LIVE_ENDED;
        if (recording)
            rc = plumb_fail(err, PLUMB_ERR_STATE, "'%s' is being recorded by process %u", run_dir,
                            out->pid);
    }
    plumb_pages_unmap(base, bytes);
    return rc;
}

int plumb_live_read(struct plumb_timing *out, const char *run_dir, plumb_error *err)
{
    return read_live(out, run_dir, false, err);
}

int plumb_live_read_bounded(struct plumb_timing *out, const char *run_dir, plumb_error *err)
{
    return read_live(out, run_dir, true, err);
}

int plumb_live_read_signature(struct plumb_signature *out, const char *run_dir, plumb_error *err)
{
    unsigned char *base = NULL;
    size_t bytes = 0;
    int rc = plumb_live_copy(&base, &bytes, run_dir, err);
    if (rc < 0)
        return rc;
    rc = plumb_live_to_signature(out, base, bytes, err);
    plumb_pages_unmap(base, bytes);
    return rc;
}

int plumb_live_read_shape_times(struct plumb_shape_times *out, const char *run_dir, double tick_ns,
                                plumb_error *err)
{
    unsigned char *base = NULL;
    size_t bytes = 0;
    int rc = plumb_live_copy(&base, &bytes, run_dir, err);
    if (rc < 0)
        return rc;
    rc = plumb_live_to_shape_times(out, base, bytes, tick_ns, err);
    plumb_pages_unmap(base, bytes);
    return rc;
}

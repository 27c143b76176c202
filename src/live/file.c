/* file.c: opens the live mapping of another process, which is a file, and checks that it is ours.
 * It is mapped privately, so an undo never reaches the file. Also finds out whether its process
 * still records. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
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

int plumb_live_map(unsigned char **out, size_t *bytes, const char *run_dir, plumb_error *err)
{
    char path[1200];
    struct stat st;
    void *base;
    int fd, rc = PLUMB_OK;
    snprintf(path, sizeof path, "%s/%s", run_dir, PLUMB_LIVE_NAME);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct plumb_live_header)) {
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is cut short: nothing is in it", path);
        goto out;
    }
    base =
        mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "cannot map '%s': %s", path, strerror(errno));
        goto out;
    }
    *out = base;
    *bytes = (size_t)st.st_size;
out:
    close(fd);
    return rc;
}

/* Maps the file; `*recording`: it may still change. That is looked up first: a process that ends
 * while its mapping is read has changed it since, and may have made it longer. */
static int map_settled(unsigned char **out, size_t *bytes, bool *recording, const char *run_dir,
                       plumb_error *err)
{
    int rc = plumb_live_map(out, bytes, run_dir, err);
    if (rc < 0)
        return rc;
    *recording = is_recording((const struct plumb_live_header *)(const void *)*out);
    if (*recording)
        return PLUMB_OK;
    munmap(*out, *bytes);
    return plumb_live_map(out, bytes, run_dir, err);
}

static int read_live(struct plumb_timing *out, const char *run_dir, bool trace_ended,
                     plumb_error *err)
{
    unsigned char *base = NULL;
    size_t bytes = 0;
    bool recording = false;
    plumb_error why = {0, ""};
    int rc = map_settled(&base, &bytes, &recording, run_dir, err);
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
    munmap(base, bytes);
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
    int rc = plumb_live_map(&base, &bytes, run_dir, err);
    if (rc < 0)
        return rc;
    rc = plumb_live_to_signature(out, base, bytes, err);
    munmap(base, bytes);
    return rc;
}

int plumb_live_read_shape_times(struct plumb_shape_times *out, const char *run_dir, double tick_ns,
                                plumb_error *err)
{
    unsigned char *base = NULL;
    size_t bytes = 0;
    int rc = plumb_live_map(&base, &bytes, run_dir, err);
    if (rc < 0)
        return rc;
    rc = plumb_live_to_shape_times(out, base, bytes, tick_ns, err);
    munmap(base, bytes);
    return rc;
}

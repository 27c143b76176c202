/* live_file.c: the live mapping of another process, as a file: opened, checked for being ours,
 * mapped privately (what is undone in it never reaches the file), and whether its process still
 * records. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "format/live_read.h"
#include "format/shape_times.h"
#include "format/signature_live.h"

/* Field `number`, from 3 on, of the text of /proc/<pid>/stat; "" where it is cut short. The name in
 * parentheses may hold anything: fields count from behind it. */
static const char *stat_field(const char *text, int number)
{
    const char *p = strrchr(text, ')');
    for (int field = 2; p && field < number; field++)
        p = strchr(p + 1, ' ');
    return p ? p + 1 : "";
}

uint64_t plumb_process_start(uint32_t pid)
{
    char path[64], text[1024];
    size_t n;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return 0;
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    /* A first thread that ended before the others looks like a process that nobody waited for. */
    if (*stat_field(text, 3) == 'Z' && strtoull(stat_field(text, 20), NULL, 10) <= 1)
        return 0;
    return strtoull(stat_field(text, 22), NULL, 10);
}

static bool is_recording(const struct plumb_live_header *h)
{
    return h->status == PLUMB_LIVE_RECORDING && h->process_start &&
           plumb_process_start(h->pid) == h->process_start;
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

static int read_live(struct plumb_timing *out, const char *run_dir, bool trace_ended,
                     plumb_error *err)
{
    unsigned char *base = NULL;
    size_t bytes = 0;
    plumb_error why = {0, ""};
    int rc = plumb_live_map(&base, &bytes, run_dir, err);
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
        if (is_recording((const struct plumb_live_header *)(const void *)base))
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

/* node_trace_file.c: see node_trace_parts.h. Files are written under another name and then renamed,
 * so that a file with its final name is complete. */
#include "timeline/node_trace_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/new_file.h"
#include "base/pages.h"
#include "base/whole_file.h"
#include "codec/gz/gz.h"

enum { PATH_BYTES = 1400 };
#define PART "trace.json.part" /* the text */

static void path_of(char path[PATH_BYTES], const struct plumb_node_trace_options *o,
                    const struct plumb_node_file *f, const char *ending)
{
    snprintf(path, PATH_BYTES, "%s/%s.%s", o->dir, f->stem, ending);
}

static int32_t rank_of(const struct plumb_node_trace_options *o)
{
    return o->rank < 0 ? 0 : o->rank;
}

/* ---- The text -------------------------------------------------------------------------------- */

/* Opens the file again for each piece: between two pieces it takes no descriptor of the host's, no
 * descriptor can become another file's, and a forked child has none. Returns an errno. */
static int append(const struct plumb_node_file *f, const struct plumb_node_trace_options *o,
                  const unsigned char *bytes, size_t n)
{
    char path[PATH_BYTES];
    struct rlimit limit;
    int fd, error;
    /* Trying would be SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < f->text_bytes + n)
        return EFBIG;
    path_of(path, o, f, PART);
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno;
    error = plumb_write_all(fd, bytes, n);
    return close(fd) < 0 && !error ? errno : error;
}

static void flush(struct plumb_node_file *f, const struct plumb_node_trace_options *o)
{
    if (f->used && !f->error)
        f->error = append(f, o, f->buffer, f->used);
    f->used = 0;
}

void plumb_node_file_put(struct plumb_node_file *f, const struct plumb_node_trace_options *o,
                         const unsigned char *text, size_t n)
{
    if (n > sizeof f->buffer - f->used)
        flush(f, o);
    if (n <= sizeof f->buffer) {
        memcpy(f->buffer + f->used, text, n);
        f->used += n;
    } else if (!f->error) {
        f->error = append(f, o, text, n);
    }
    f->text_bytes += n;
}

/* By the last part of the program's path, as in exports. */
static void put_process(struct plumb_out *out, const struct plumb_node_trace_options *o)
{
    const char *path = o->trace_name ? o->trace_name : "", *slash = strrchr(path, '/');
    plumb_chrome_meta(out, PLUMB_CHROME_PROCESS_NAME, o->pid, 0,
                      slash && slash[1] ? slash + 1 : path, 0);
    plumb_chrome_meta(out, PLUMB_CHROME_PROCESS_LABELS, o->pid, 0, "CPU", 0);
}

void plumb_node_file_open(struct plumb_node_file *f, const struct plumb_node_trace_options *o,
                          uint32_t node, struct plumb_out *scratch)
{
    const char *name = o->name_of(o->arg, node);
    struct plumb_chrome_head head = {.base_unix_ns = o->base_unix_ns,
                                     .trace_name = o->trace_name,
                                     .rank = o->rank,
                                     .world_size = o->world_size > 0 ? o->world_size : -1};
    char safe[PLUMB_SAFE_NAME_MAX + 1], path[PATH_BYTES];
    int fd;
    memset(f, 0, sizeof *f);
    f->node = node;
    plumb_sanitize(safe, name);
    snprintf(f->stem, sizeof f->stem, "%s_rank%d", safe, (int)rank_of(o));
    path_of(path, o, f, PART);
    fd = plumb_new_file_again(path, O_WRONLY, 0600); /* a killed run has left one */
    if (fd < 0 || close(fd) < 0)
        f->error = errno;
    scratch->used = 0;
    plumb_chrome_head(scratch, &head);
    plumb_chrome_fact(scratch, "plumb.node", name);
    plumb_chrome_events(scratch);
    put_process(scratch, o);
    plumb_node_file_put(f, o, scratch->base, scratch->used);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Moves what has been compressed to the file. */
static int drain(struct plumb_whole_file *to, struct plumb_out *out)
{
    int error = plumb_whole_file_put(to, out->base, out->used);
    out->used = 0;
    return error;
}

/* From the text to `to`; an errno. */
static int compress(struct plumb_gz *z, struct plumb_out *out, int from,
                    struct plumb_whole_file *to)
{
    ssize_t n = 1;
    int error = 0;
    plumb_gz_open(z);
    while (n > 0 && !error) {
        n = read(from, z->in.base, z->in.size);
        if (n < 0)
            error = errno;
        if (n <= 0)
            break;
        z->in.used = (size_t)n;
        if (!plumb_gz_flush(z, out))
            return ENOBUFS;
        error = drain(to, out);
    }
    if (!error && !plumb_gz_close(z, out))
        return ENOBUFS;
    return error ? error : drain(to, out);
}

static int write_trace(struct plumb_node_file *f, const struct plumb_node_trace_options *o)
{
    struct plumb_gz *z = plumb_pages_map(sizeof *z);
    struct plumb_out out = {plumb_pages_map(PLUMB_GZ_OUT), PLUMB_GZ_OUT, 0};
    struct plumb_whole_file to;
    char path[PATH_BYTES];
    int from = -1, error = f->error, ended;
    path_of(path, o, f, PART);
    if (!error && (!z || !out.base))
        error = ENOMEM;
    if (!error && (from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) < 0)
        error = errno;
    path_of(path, o, f, "trace.json.gz");
    if (!error && !(error = plumb_whole_file_begin(&to, path, 0, 0600))) {
        error = compress(z, &out, from, &to);
        ended = plumb_whole_file_end(&to, !error);
        error = error ? error : ended;
    }
    if (from >= 0)
        close(from);
    if (z)
        plumb_pages_unmap(z, sizeof *z);
    if (out.base)
        plumb_pages_unmap(out.base, PLUMB_GZ_OUT);
    return error;
}

static int write_breakdown(struct plumb_node_file *f, const struct plumb_node_trace_options *o)
{
    struct plumb_breakdown_head head = {o->name_of(o->arg, f->node), rank_of(o), f->left_out,
                                        o->name_of, o->arg};
    struct plumb_buf b = {0};
    char path[PATH_BYTES];
    int error;
    path_of(path, o, f, "breakdown.json");
    plumb_breakdown_write(&f->breakdown, &head, &b);
    error = b.failed ? ENOMEM : plumb_whole_file_write(path, 0, 0600, b.data, b.len);
    plumb_buf_fini(&b);
    return error;
}

int plumb_node_file_close(struct plumb_node_file *f, const struct plumb_node_trace_options *o,
                          uint64_t last_ns, struct plumb_out *scratch, plumb_error *err)
{
    int error, told;
    scratch->used = 0;
    plumb_chrome_end(scratch, o->pid, last_ns);
    plumb_node_file_put(f, o, scratch->base, scratch->used);
    flush(f, o);
    error = write_trace(f, o);
    if (error)
        plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s/%s.trace.json.gz': %s", o->dir, f->stem,
                   strerror(error));
    told = error;
    error = write_breakdown(f, o);
    if (error && !told)
        plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s/%s.breakdown.json': %s", o->dir, f->stem,
                   strerror(error));
    return told || error ? PLUMB_ERR_IO : PLUMB_OK;
}

void plumb_node_file_fini(struct plumb_node_file *f, const struct plumb_node_trace_options *o)
{
    char path[PATH_BYTES];
    path_of(path, o, f, PART);
    unlink(path);
    plumb_node_file_forget(f);
}

void plumb_node_file_forget(struct plumb_node_file *f)
{
    plumb_map_fini(&f->threads);
    plumb_breakdown_fini(&f->breakdown);
}

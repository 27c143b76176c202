/* read_export.c: exports of the public interface: finds the trace, makes the file (which is whole
 * or is not there: base/whole_file.h). Any thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/read_tables.h"
#include "api/take.h"
#include "base/error.h"
#include "base/whole_file.h"
#include "read/file/unpack.h"
#include "read/run/runs.h"
#include "report/export/export.h"
#include <plumb/read/export.h>

enum { PATH_BYTES = 4096 };

struct target {
    char path[PATH_BYTES];
    struct plumb_whole_file file;
    int why;          /* errno of the first failure */
    bool made_folder; /* the one that the output was to go into */
};

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A run that was killed is recovered first, which makes its trace whole. The reader of the trace
 * reports whether there is one, and what is wrong with it. */
static int open_trace(plumb_trace **out, const char *run, plumb_error *err)
{
    plumb_report *report = NULL;
    plumb_error ignored;
    if (!run || is_folder(run) || !plumb_trace_looks(run)) {
        if (plumb_report_open(&report, run, &ignored) == PLUMB_OK)
            plumb_report_close(report);
    }
    return plumb_trace_open(out, run, err);
}

/* ---- Output --------------------------------------------------------------------------------- */

static int write_bytes(void *arg, const void *bytes, size_t n)
{
    struct target *to = arg;
    to->why = plumb_whole_file_put(&to->file, bytes, n);
    return to->why ? -1 : 0;
}

static int cannot_write(const char *path, int why, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", path, strerror(why));
}

/* Where it goes: `output`, or a file of the default name in a folder, which is made. */
static int choose_path(struct target *to, const char *output, const char *name, plumb_error *err)
{
    size_t n = output ? strlen(output) : 0;
    bool folder = !output || is_folder(output) || (n > 0 && output[n - 1] == '/');
    if (n == 0 && output)
        return plumb_fail(err, PLUMB_ERR_ARG, "the name of the output is empty");
    if (n + strlen(name) + 2 > sizeof to->path)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", output);
    if (folder && output) {
        to->made_folder = mkdir(output, 0777) == 0;
        if (!to->made_folder && errno != EEXIST)
            return cannot_write(output, errno, err);
    }
    snprintf(to->path, sizeof to->path, "%s%s%s", output ? output : "",
             !output || !folder || output[n - 1] == '/' ? "" : "/", folder ? name : "");
    return PLUMB_OK;
}

static bool same_file(const char *a, const char *b)
{
    struct stat s, t;
    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* The trace's own packets, but for a last one that is not whole. */
static int copy(struct plumb_export_out *x, const char *trace, uint64_t bytes, plumb_error *err)
{
    char piece[65536];
    struct plumb_unpack_sum sum = {0, 0};
    struct plumb_unpack *u = NULL;
    size_t n = 0;
    if (bytes == 0)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "'%s' is not in Perfetto's format, which only plumb's own traces are "
                          "exported in",
                          trace);
    int rc = plumb_unpack_open(&u, trace, &sum, err);
    for (uint64_t left = bytes; rc == PLUMB_OK && left > 0 && !x->failed; left -= n) {
        rc =
            plumb_unpack_read(u, piece, left < sizeof piece ? (size_t)left : sizeof piece, &n, err);
        if (rc == PLUMB_OK && n == 0)
            rc = plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': it became shorter", trace);
        plumb_export_put(x, piece, n);
        if (x->progress.tell)
            x->progress.tell(x->progress.arg, bytes - left, bytes);
    }
    plumb_unpack_close(u);
    return rc;
}

struct request {
    const struct plumb_export_format *format;
    const plumb_export_options *options;
    const struct plumb_table *t;
    const char *trace; /* path */
    const char *name;  /* that the trace gives itself */
};

static int put(const struct request *r, bool gzip,
               int (*write)(void *arg, const void *bytes, size_t n), void *arg, uint64_t *bytes,
               plumb_error *err)
{
    struct plumb_export_out x;
    int rc = plumb_export_open(&x, gzip, write, arg, err);
    if (rc < 0)
        return rc;
    x.progress = (struct plumb_export_progress){r->options->progress, r->options->arg};
    rc = r->format->write ? r->format->write(&x, r->t, r->name, err)
                          : copy(&x, r->trace, r->t->packet_bytes, err);
    if (!plumb_export_finish(&x) && rc == PLUMB_OK)
        rc = PLUMB_ERR_IO;
    *bytes = x.bytes;
    plumb_export_close(&x);
    return rc;
}

static int put_folder(const struct request *r, const struct target *to, plumb_error *err)
{
    struct plumb_export_progress progress = {r->options->progress, r->options->arg};
    struct stat st;
    if (lstat(to->path, &st) == 0)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "'%s' is there already: remove it, or give the output another name",
                          to->path);
    int rc = r->format->write_folder(to->path, r->t, &progress, err);
    /* A part of an archive is useless, and would prevent the next try. */
    if (rc < 0 && lstat(to->path, &st) == 0 && S_ISDIR(st.st_mode))
        plumb_runs_remove_folder(to->path, NULL);
    return rc;
}

static int put_file(const struct request *r, struct target *to, plumb_exported *out,
                    plumb_error *err)
{
    size_t n = strlen(to->path);
    bool gzip = n > 3 && strcmp(to->path + n - 3, ".gz") == 0, replaced;
    struct stat st;
    int rc, code;
    if (same_file(to->path, r->trace))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "'%s' is the trace itself: give the output another name", to->path);
    replaced = lstat(to->path, &st) == 0 && S_ISREG(st.st_mode);
    code = plumb_whole_file_begin(&to->file, to->path, PLUMB_WHOLE_AS_TYPED, 0666);
    if (code)
        return cannot_write(to->path, code, err);
    rc = put(r, gzip, write_bytes, to, &out->bytes, err);
    if (to->why)
        rc = cannot_write(to->path, to->why, err);
    code = plumb_whole_file_end(&to->file, rc == PLUMB_OK);
    if (code && rc == PLUMB_OK)
        rc = cannot_write(to->path, code, err);
    out->replaced = rc == PLUMB_OK && replaced;
    return rc;
}

static int put_output(struct request *r, plumb_exported *out, plumb_error *err)
{
    const plumb_export_options *o = r->options;
    struct target to = {.why = 0};
    char name[PLUMB_EXPORT_NAME_MAX];
    bool folder = r->format->write_folder != NULL;
    plumb_export_name(name, r->t, r->format);
    r->name = o->output ? o->output : name;
    if (o->write && folder)
        return plumb_fail(err, PLUMB_ERR_ARG, "%s is a folder: it cannot go to a stream",
                          r->format->name);
    if (o->write) {
        int rc = put(r, false, o->write, o->arg, &out->bytes, err);
        return rc == PLUMB_ERR_IO && !err->code
                   ? plumb_fail(err, rc, "the output could not be written")
                   : rc;
    }
    int rc = choose_path(&to, o->output, name, err);
    if (rc < 0)
        return rc;
    r->name = strrchr(to.path, '/') ? strrchr(to.path, '/') + 1 : to.path;
    rc = folder ? put_folder(r, &to, err) : put_file(r, &to, out, err);
    if (rc == PLUMB_OK)
        strcpy(out->path, to.path);
    else if (to.made_folder)
        rmdir(o->output); /* unless something is in it by now */
    out->folder = folder;
    return rc;
}

/* ---- Call ----------------------------------------------------------------------------------- */

int plumb_export(plumb_exported *out, const char *run, const plumb_export_options *options,
                 plumb_error *err)
{
    plumb_export_options o = plumb_export_options_default();
    plumb_trace *trace = NULL;
    plumb_exported made;
    plumb_error own = {0, ""};
    err = err ? err : &own;
    memset(&made, 0, sizeof made);
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0)
        return rc;
    struct request r = {.options = &o, .format = plumb_export_find(o.format ? o.format : "chrome")};
    if (!r.format)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown format '%s'", o.format);
    if ((rc = open_trace(&trace, run, err)) < 0)
        return rc;
    r.t = plumb_trace_table(trace);
    r.trace = plumb_trace_path(trace);
    if ((rc = plumb_trace_remarks(&made.remarks, trace, err)) == PLUMB_OK) {
        err->code = 0;
        rc = put_output(&r, &made, err);
    }
    made.spans = r.t->slices.count;
    plumb_trace_close(trace);
    if (rc == PLUMB_OK)
        *out = made;
    else
        plumb_read_free(made.remarks);
    return rc;
}

const char *plumb_export_format_name(size_t i)
{
    const struct plumb_export_format *f = plumb_export_format_at(i);
    return f ? f->name : NULL;
}

const char *plumb_export_format_help(size_t i)
{
    const struct plumb_export_format *f = plumb_export_format_at(i);
    return f ? f->what : NULL;
}

/* finish.c: the results of a run: its figures as timing.json, the signatures of its stages next to
 * it, copies if the settings name paths, the summary of its rank, and the end block. Recording has
 * ended; under life_lock.
 *
 * Signatures and then timing.json decide whether the run is saved: a run that has its timing.json
 * is not recovered from the mapping. Any other file that cannot be written is reported in one line;
 * its figures follow from timing.json. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quiet_write.h"
#include "live/read.h"
#include "live/shape_times.h"
#include "live/signature_live.h"
#include "model/timing.h"
#include "record/run/run.h"
#include "record/runtime/carve.h"
#include "record/runtime/mapping.h"
#include "record/runtime/own_cpu.h"
#include "record/runtime/paths.h"
#include "record/runtime/record_log.h"
#include "record/trace/active_steps.h"

/* ---- Telling `plumb record` ------------------------------------------------------------------ */

static uint64_t sample_count(const struct plumb_timing *t)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->node_count; i++)
        n += t->nodes[i].host.ns.count + t->nodes[i].device.ns.count;
    return n;
}

/* Reports the malloc figures, if there was an interposer. */
static void report_malloc(const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &t->memory.pools[i];
        if (p->by_size && p->allocs)
            plumb_run_report_line("malloc", "-", p->allocs, p->alloc_bytes);
    }
}

/* Reports how much there is that needs no node; nothing if there is none of it. */
static void report_figures(const struct plumb_timing *t)
{
    uint64_t n = t->count_count + t->cell_count + t->metric_count + t->request_count +
                 t->memory.pool_count + t->streams.stream_count;
    if (n)
        plumb_run_report_line("figures", "-", n, 0);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int write_beside(void *arg, const char *name, const struct plumb_buf *b, plumb_error *err)
{
    const struct plumb_run *run = arg;
    return plumb_run_write(run->dir, name, b, err);
}

/* Renders the inputs and outputs of stages; nothing if none were reported. */
static int render_signatures(struct plumb_buf *out, const struct plumb_run *run, plumb_error *err)
{
    struct plumb_signature s;
    int rc = PLUMB_OK;
    plumb_signature_init(&s);
    if (run->h->signatures.count)
        rc = plumb_live_to_signature(&s, run->base, run->mapped, err);
    if (rc == PLUMB_OK && s.stage_count)
        rc = plumb_signature_write(&s, out, err);
    plumb_signature_fini(&s);
    return rc;
}

/* In this order: a run that has its timing.json is not recovered. */
static int write_files(const struct plumb_run *run, const struct plumb_buf *report,
                       const struct plumb_buf *signatures, plumb_error *err)
{
    int rc = PLUMB_OK;
    if (signatures->len)
        rc = plumb_run_write(run->dir, PLUMB_SIGNATURE_FILE, signatures, err);
    return rc == PLUMB_OK ? plumb_run_write(run->dir, "timing.json", report, err) : rc;
}

static bool write_summary(struct plumb_run *run, const struct plumb_timing *t)
{
    struct plumb_shape_times shapes = {.count = 0};
    plumb_error err = {0, ""};
    int rc = PLUMB_ERR_STATE;
    if (plumb_rt.rank_files) {
        rc = plumb_live_to_shape_times(&shapes, run->base, run->mapped, t->clock.tick_ns, &err);
        if (rc == PLUMB_OK)
            plumb_active_report(run, &shapes, t->clock.tick_ns);
        if (rc == PLUMB_OK)
            rc = plumb_rt.rank_files(t, &shapes, write_beside, run, &err);
    }
    plumb_shape_times_fini(&shapes);
    if (err.code)
        plumb_say("plumb: %s; timing.json has the same figures", err.message);
    return rc == PLUMB_OK;
}

/* Never replaces anything other than a regular file: the folder of /dev/stdout may be writable. */
static int write_copy(const char *path, const struct plumb_buf *report, plumb_error *err)
{
    struct stat st;
    int rc = plumb_run_make_parents(path, err);
    if (rc < 0)
        return rc;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': not a regular file", path);
    /* Other processes may write to the same path: the last file stays, whole. */
    return plumb_run_replace(path, report, err);
}

/* Returns whether a file begins like plumb's own file of that name: libplumb does not read JSON. */
static bool is_signature_file(const char *path)
{
    static const char head[] = "{\n  \"format\": \"" PLUMB_SIGNATURE_FORMAT "\",\n";
    char begin[sizeof head];
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
              read(fd, begin, sizeof head - 1) == (ssize_t)sizeof head - 1 &&
              memcmp(begin, head, sizeof head - 1) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

/* A run without signatures removes those of the run whose report it has just replaced; a file that
 * is not plumb's stays. */
static int write_signatures_copy(const char *report, const struct plumb_buf *signatures,
                                 plumb_error *err)
{
    char path[PLUMB_SETTINGS_PATH + 32];
    int rc = plumb_timing_signature_path(path, sizeof path, report, err);
    if (rc == PLUMB_OK && signatures->len)
        return write_copy(path, signatures, err);
    if (rc == PLUMB_OK && is_signature_file(path) && unlink(path) < 0 && errno != ENOENT)
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot remove '%s', which is of an earlier run: %s",
                        path, strerror(errno));
    return rc;
}

/* PLUMB_TIMING_REPORT. Where the run has no directory these are the only files it leaves. */
static void save_copies(const struct plumb_timing *t, struct plumb_buf *report,
                        const struct plumb_buf *signatures, const char *dir)
{
    const char *path = plumb_rt.settings.timing_report;
    plumb_error err = {0, ""};
    if (!path[0])
        return;
    if ((report->len == 0 && plumb_timing_write(t, report, &err) < 0) ||
        write_copy(path, report, &err) < 0 || write_signatures_copy(path, signatures, &err) < 0)
        plumb_say("plumb: %s%s%s%s", err.message, dir ? "; the report is in '" : "", dir ? dir : "",
                  dir ? "'" : "");
}

/* The frame holds a whole report: 3 KiB. It is needed once, when a run ends. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
int plumb_run_finish(struct plumb_run *run, const struct plumb_anchor *end, bool *kept,
                     plumb_error *err)
{
    struct plumb_timing t;
    struct plumb_buf report = {0}, signatures = {0};
    bool read, saved = false, told, summary;
    int rc;
    plumb_timing_init(&t);
    plumb_own_cpu_store(run);
    rc = plumb_live_to_timing(&t, run->base, run->mapped, end, err);
    read = rc == PLUMB_OK;
    if (rc == PLUMB_OK)
        rc = render_signatures(&signatures, run, err);
    if (rc == PLUMB_OK && run->in_file) {
        rc = plumb_timing_write(&t, &report, err);
        if (rc == PLUMB_OK)
            rc = write_files(run, &report, &signatures, err);
        saved = rc == PLUMB_OK;
    }
    *kept = !saved;
    if (read)
        save_copies(&t, &report, &signatures, saved ? run->dir : NULL);
    summary = saved && write_summary(run, &t);
    if (rc == PLUMB_OK || !run->in_file) {
        report_malloc(&t);
        report_figures(&t);
    }
    /* Without a complete file, the end block has the table. */
    told = rc == PLUMB_OK || (read && (run->partly || !plumb_file_in_place(run)));
    if (told || !run->in_file)
        plumb_run_report_line("run", run->dir[0] ? run->dir : "-",
                              t.node_count ? t.node_count : t.open_count, sample_count(&t));
    if (told && !plumb_rt.settings.quiet && plumb_rt.end_block)
        plumb_rt.end_block(&t, saved ? run->dir : NULL, summary);
    plumb_buf_fini(&report);
    plumb_buf_fini(&signatures);
    plumb_timing_fini(&t);
    return rc;
}
#pragma GCC diagnostic pop

/* read_metrics.c: metrics of the public interface: loads runs, gives them their labels, and writes
 * the texts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/read_report.h"
#include "api/take.h"
#include "base/error.h"
#include "read/run/live_watch.h"
#include "report/metrics/collection.h"
#include "report/metrics/summary.h"
#include <plumb/read/metrics.h>

enum { PATH_BYTES = 4096, TRIES = 5 };

struct run {
    plumb_report *report;     /* NULL: `live` */
    struct plumb_timing live; /* of a process that records */
    struct run *next;
};
struct plumb_metrics {
    struct plumb_collection all;
    bool only_recording;
    struct run *first, **end; /* the collection refers to their reports */
};

static const struct plumb_timing *timing_of(const struct run *r)
{
    return r->report ? &plumb_report_loaded(r->report)->timing : &r->live;
}

static bool is_recording(const struct run *r)
{
    return !r->report || plumb_report_loaded(r->report)->state == PLUMB_LOAD_LIVE;
}

static void free_run(struct run *r)
{
    plumb_report_close(r->report);
    plumb_timing_fini(&r->live);
    free(r);
}

int plumb_metrics_open(plumb_metrics **out, const plumb_metrics_options *options, plumb_error *err)
{
    plumb_metrics_options o = plumb_metrics_options_default();
    plumb_metrics *m;
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0)
        return rc;
    if (o.buckets_per_octave > 64 || (o.buckets_per_octave & (o.buckets_per_octave - 1)))
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "buckets an octave are 1, 2, 4, 8, 16, 32, 64, or 0 for all in use");
    if (!(m = calloc(1, sizeof *m)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for metrics");
    plumb_collection_init(&m->all, o.buckets_per_octave);
    m->only_recording = o.only_recording != 0;
    m->end = &m->first;
    *out = m;
    return PLUMB_OK;
}

void plumb_metrics_close(plumb_metrics *m)
{
    if (!m)
        return;
    for (struct run *r = m->first, *next; r; r = next) {
        next = r->next;
        free_run(r);
    }
    plumb_collection_fini(&m->all);
    free(m);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

/* Of a run that has ended without the process id: a batch job's series are the same each time. */
static void labels_of(char out[PLUMB_PROM_LABELS], const struct run *r)
{
    const struct plumb_timing *t = timing_of(r);
    char program[PLUMB_PROM_VALUE];
    int n;
    plumb_prom_value(program, last_part(t->program));
    n = snprintf(out, PLUMB_PROM_LABELS, "program=\"%s\"", program);
    if (is_recording(r))
        n += snprintf(out + n, PLUMB_PROM_LABELS - (size_t)n, ",pid=\"%" PRIu32 "\"", t->pid);
    if (t->rank >= 0)
        snprintf(out + n, PLUMB_PROM_LABELS - (size_t)n, ",rank=\"%" PRId32 "\"", t->rank);
}

static int out_of_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for metrics");
}

/* The reading may have to be made again, if its records changed too fast. */
static int read_watch(struct run *r, struct plumb_live_watch *watch, bool *records,
                      plumb_error *err)
{
    struct plumb_live_moment moment = {0};
    int rc = PLUMB_ERR_STATE;
    for (int i = 0; i < TRIES && rc == PLUMB_ERR_STATE; i++) {
        plumb_timing_fini(&r->live);
        plumb_timing_init(&r->live);
        rc = plumb_live_watch_read(watch, &r->live, &moment, err);
    }
    *records = moment.state == PLUMB_LIVE_WATCH_RECORDS;
    return rc;
}

/* A copy of a run that is being recorded names the same process, whose series must not come twice:
 * the run of the process is the one that it has mapped. Files are told apart by their number alone,
 * as a device may have another one below the root directory of the process. */
static bool is_copy(const struct plumb_live_watch *watch)
{
    struct plumb_live_watch mapped;
    struct stat here, there;
    bool other;
    if (!watch->pid || plumb_live_watch_open_pid(&mapped, watch->pid, NULL) < 0)
        return false;
    other = fstat(watch->image.fd, &here) == 0 && fstat(mapped.image.fd, &there) == 0 &&
            here.st_ino != there.st_ino;
    plumb_live_watch_close(&mapped);
    return other;
}

static int read_live(struct run *r, const char *run, plumb_error *err)
{
    struct plumb_live_watch watch;
    bool records;
    int rc = plumb_live_watch_open(&watch, run, err);
    if (rc < 0)
        return rc;
    if (is_copy(&watch)) {
        plumb_live_watch_close(&watch);
        return plumb_fail(err, PLUMB_ERR_STATE, "'%s' is a copy of a run", run);
    }
    rc = read_watch(r, &watch, &records, err);
    plumb_live_watch_close(&watch);
    if (rc == PLUMB_OK && !records)
        rc = plumb_fail(err, PLUMB_ERR_STATE, "no process records '%s' now", run);
    return rc;
}

/* A run that a process records is read as `plumb top` reads it: its report would read records while
 * they change. */
static int read_any(struct run *r, const char *run, plumb_error *err)
{
    char path[PLUMB_REPORT_PATH];
    struct plumb_live_watch watch;
    bool records = false;
    int rc = PLUMB_OK;
    if (plumb_report_find(path, run, NULL) == PLUMB_OK &&
        plumb_live_watch_open(&watch, path, NULL) == PLUMB_OK) {
        if (plumb_live_watch_records(&watch))
            rc = read_watch(r, &watch, &records, err);
        plumb_live_watch_close(&watch);
    }
    return rc < 0 || records ? rc : plumb_report_open(&r->report, run, err);
}

int plumb_metrics_add(plumb_metrics *m, const char *run, plumb_error *err)
{
    char labels[PLUMB_PROM_LABELS];
    struct run *r = calloc(1, sizeof *r);
    int rc;
    if (!r)
        return out_of_memory(err);
    plumb_timing_init(&r->live);
    rc = m->only_recording ? read_live(r, run, err) : read_any(r, run, err);
    if (rc < 0) {
        free_run(r);
        return rc;
    }
    *m->end = r;
    m->end = &r->next;
    labels_of(labels, r);
    plumb_collection_add_run(&m->all, timing_of(r), labels, is_recording(r));
    return m->all.arena.failed ? out_of_memory(err) : PLUMB_OK;
}

int plumb_metrics_put(plumb_metrics *m, uint32_t type, const char *name, const char *help,
                      const struct plumb_pair *labels, double value, plumb_error *err)
{
    char text[PLUMB_PROM_LABELS];
    struct plumb_timing_metric *series;
    if (!name || (type != PLUMB_METRIC_COUNTER && type != PLUMB_METRIC_GAUGE))
        return plumb_fail(err, PLUMB_ERR_ARG, "a single value is that of a counter or a gauge");
    plumb_prom_labels(text, labels, PLUMB_METRIC_LABELS_MAX);
    series = plumb_collection_add(&m->all, type, name, help, text, true);
    if (!series)
        return out_of_memory(err);
    series->value = value;
    return PLUMB_OK;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static int give(char **out, size_t *bytes, struct plumb_buf *text, plumb_error *err)
{
    plumb_buf_str(text, "");
    if (text->failed) {
        plumb_buf_fini(text);
        return out_of_memory(err);
    }
    *out = text->data;
    if (bytes)
        *bytes = text->len;
    return PLUMB_OK;
}

int plumb_metrics_render(char **out, size_t *bytes, plumb_metrics *m, uint32_t format,
                         plumb_error *err)
{
    struct plumb_buf text = {0};
    if (format > PLUMB_METRICS_OPENMETRICS)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown format of metrics");
    plumb_collection_write(&text, &m->all, format);
    return give(out, bytes, &text, err);
}

int plumb_metrics_summary(char **out, size_t *bytes, plumb_metrics *m, plumb_error *err)
{
    struct plumb_buf text = {0};
    struct plumb_json j;
    plumb_json_init(&j, &text, 2);
    plumb_json_object(&j);
    plumb_json_key(&j, "processes");
    plumb_json_array(&j);
    for (struct run *r = m->first; r; r = r->next)
        plumb_metrics_write_summary(&j, timing_of(r), is_recording(r));
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
    plumb_buf_char(&text, '\n');
    return give(out, bytes, &text, err);
}

/* ---- Export ---------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int plumb_metrics_export(char *out, size_t size, const char *run, const char *path,
                         const plumb_metrics_options *options, plumb_error *err)
{
    char in_folder[PATH_BYTES];
    plumb_metrics *m = NULL;
    char *text = NULL;
    size_t bytes = 0;
    int rc;
    if (!path || is_folder(path)) {
        if (path && strlen(path) + sizeof "/plumb.prom" > sizeof in_folder)
            return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", path);
        snprintf(in_folder, sizeof in_folder, "%s%splumb.prom", path ? path : "", path ? "/" : "");
        path = in_folder;
    }
    if ((rc = plumb_metrics_open(&m, options, err)) == PLUMB_OK &&
        (rc = plumb_metrics_add(m, run, err)) == PLUMB_OK &&
        (rc = plumb_metrics_render(&text, &bytes, m, PLUMB_METRICS_PROMETHEUS, err)) == PLUMB_OK)
        rc = plumb_read_save(path, text, bytes, err);
    if (rc == PLUMB_OK && size)
        snprintf(out, size, "%s", path);
    plumb_read_free(text);
    plumb_metrics_close(m);
    return rc;
}

/* read_tables.c: traces of the public interface: finds the file, reads it, hands out its
 * columns. The structs of columns are the table's own under other names; assertions check that
 * both agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/read_report.h"
#include "api/read_tables.h"
#include "api/take.h"
#include "base/error.h"
#include "read/file/unpack.h"
#include "read/run/runs.h"
#include "read/trace/chrome.h"
#include "read/trace/perfetto.h"
#include "report/trace/view.h"
#include <plumb/read.h>

enum { PATH_BYTES = 4096 };

struct plumb_trace {
    struct plumb_table table;
    char path[PATH_BYTES];
};

#define SAME(public, own)                                                                          \
    _Static_assert((int)(public) == (int)(own), "the interface has the table's")
SAME(PLUMB_TRACE_NONE, PLUMB_TABLE_NONE);
SAME(PLUMB_TRACE_TRACK_PROCESS, PLUMB_TRACK_PROCESS);
SAME(PLUMB_TRACE_TRACK_THREAD, PLUMB_TRACK_THREAD);
SAME(PLUMB_TRACE_TRACK_COUNTER, PLUMB_TRACK_COUNTER);
SAME(PLUMB_TRACE_TRACK_DEVICE, PLUMB_TRACK_DEVICE);
SAME(PLUMB_TRACE_SLICE_OPEN, PLUMB_SLICE_OPEN);
SAME(PLUMB_TRACE_SLICE_CUT, PLUMB_SLICE_CUT);
SAME(PLUMB_TRACE_SLICE_FAILED, PLUMB_SLICE_FAILED);
SAME(PLUMB_TRACE_SLICE_VOID, PLUMB_SLICE_VOID);
SAME(PLUMB_TRACE_ARG_F64, PLUMB_ARG_F64);
SAME(PLUMB_TRACE_ARG_POINTER, PLUMB_ARG_POINTER);
SAME(PLUMB_TRACE_ARG_JSON, PLUMB_ARG_JSON);
SAME(sizeof(plumb_trace_number), sizeof(union plumb_table_number));

/* ---- Opening --------------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* The trace of a run that was killed is finished with its report. An error is left to the report:
 * the trace can be read in any case. */
static void recover(const char *run)
{
    char report[PATH_BYTES + sizeof PLUMB_TIMING_NAME];
    plumb_report *made;
    snprintf(report, sizeof report, "%s/" PLUMB_TIMING_NAME, run);
    if (!is_there(report) && plumb_report_open(&made, run, NULL) == PLUMB_OK)
        plumb_report_close(made);
}

/* Whether the folder holds a trace, even without other files of the run: a disk was full, or only
 * the trace was copied. */
static bool lies_in(char *out, const char *folder)
{
    return folder && snprintf(out, PATH_BYTES, "%s/" PLUMB_TRACE_FILE_NAME, folder) < PATH_BYTES &&
           is_there(out);
}

/* The trace of a run. */
static int find_in_run(char *out, const char *run, plumb_error *err)
{
    char dir[PATH_BYTES], found[PATH_BYTES];
    plumb_error why = {0, ""};
    int rc = plumb_runs_dir(dir, sizeof dir, err);
    if (rc < 0)
        return rc;
    rc = plumb_runs_resolve(found, sizeof found, run, dir, &why);
    if (rc == PLUMB_ERR_NOT_FOUND && lies_in(out, run))
        return PLUMB_OK;
    if (rc < 0)
        return plumb_fail(err, rc, "%s", why.message);
    if (snprintf(out, PATH_BYTES, "%s/" PLUMB_TRACE_FILE_NAME, found) >= PATH_BYTES)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", found);
    recover(found);
    if (!is_there(out))
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "'%s' has no trace: record with PLUMB_TRACE=1 to have one", found);
    return PLUMB_OK;
}

static int find(char *out, const char *what, plumb_error *err)
{
    if (what && strlen(what) >= PATH_BYTES)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", what);
    if (!what || is_directory(what) || !is_there(what))
        return find_in_run(out, what, err);
    if (plumb_report_is_program(what)) { /* its pipeline has the program's name */
        const char *slash = strrchr(what, '/');
        return find_in_run(out, slash ? slash + 1 : what, err);
    }
    strcpy(out, what);
    return PLUMB_OK;
}

/* Kinds of files, as they begin. */
enum kind { OTHER = 0, PERFETTO, CHROME, PACKED };

/* Reads as many bytes as the file has, up to `room`; less than 0: they cannot be read. */
static long read_begin(struct plumb_unpack *u, unsigned char *bytes, size_t room)
{
    size_t n = 0, got = 1;
    while (n < room && got > 0) {
        if (plumb_unpack_read(u, bytes + n, room - n, &got, NULL) < 0)
            return -1;
        n += got;
    }
    return (long)n;
}

static bool is_json(const unsigned char *bytes, long n)
{
    long i = 0;
    while (i < n && bytes[i] && strchr(" \t\r\n", bytes[i]))
        i++;
    return i < n && (bytes[i] == '{' || bytes[i] == '[');
}

/* *json: it is some JSON at least. */
static enum kind kind_of(const char *path, bool *json)
{
    enum { BEGIN_BYTES = 64 * 1024 };
    struct plumb_unpack_sum sum = {0, 0};
    struct plumb_unpack *u = NULL;
    struct stat st;
    unsigned char *bytes = NULL;
    enum kind kind = OTHER;
    *json = false;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        plumb_unpack_open(&u, path, &sum, NULL) == PLUMB_OK && (bytes = malloc(BEGIN_BYTES))) {
        long n = read_begin(u, bytes, BEGIN_BYTES);
        *json = is_json(bytes, n);
        kind = n > 0 && plumb_chrome_looks((const char *)bytes, (size_t)n) ? CHROME
               : n > 0 && plumb_perfetto_looks(bytes, (size_t)n)           ? PERFETTO
               : plumb_unpack_is_packed(u)                                 ? PACKED
                                                                           : OTHER;
    }
    free(bytes);
    plumb_unpack_close(u);
    return kind;
}

int plumb_trace_looks(const char *path)
{
    bool json;
    return kind_of(path, &json) != OTHER;
}

static int read_trace(struct plumb_table *out, const char *path, plumb_error *err)
{
    bool json;
    enum kind kind = kind_of(path, &json);
    /* For a file of no known format, the error of Perfetto's reader fits best. */
    return kind == CHROME || json ? plumb_chrome_read(out, path, err)
                                  : plumb_perfetto_read(out, path, err);
}

int plumb_trace_open(plumb_trace **out, const char *what, plumb_error *err)
{
    plumb_trace *trace = calloc(1, sizeof *trace);
    int rc;
    if (!trace)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a trace");
    if ((rc = find(trace->path, what, err)) == PLUMB_OK &&
        (rc = read_trace(&trace->table, trace->path, err)) == PLUMB_OK) {
        *out = trace;
        trace = NULL;
    }
    free(trace);
    return rc;
}

void plumb_trace_close(plumb_trace *trace)
{
    if (!trace)
        return;
    plumb_table_fini(&trace->table);
    free(trace);
}

const char *plumb_trace_path(const plumb_trace *trace)
{
    return trace->path;
}

const struct plumb_table *plumb_trace_table(const plumb_trace *trace)
{
    return &trace->table;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Copies as much of `from` as the caller's struct holds; its size stays. */
static void hand_out(void *out, const void *from, size_t size)
{
    size_t known;
    memcpy(&known, out, sizeof known);
    known = known < size ? known : size;
    if (known > sizeof known)
        memcpy((char *)out + sizeof known, (const char *)from + sizeof known, known - sizeof known);
}

void plumb_trace_get_info(plumb_trace_info *out, const plumb_trace *trace)
{
    const struct plumb_table *t = &trace->table;
    plumb_trace_info info = {
        .end_ns = t->end_ns,
        .unix_ns = t->unix_ns,
        .open = t->open,
        .cut = t->cut,
        .failed = t->failed,
        .dropped = plumb_trace_dropped(t),
        .cut_bytes = t->faults.cut_bytes,
        .texts = t->strings.count,
        .tracks = t->track_count,
        .facts = t->fact_count,
        .flows = t->flow_count,
        .plumb = t->plumb,
    };
    hand_out(out, &info, sizeof info);
}

const char *plumb_trace_get_text(const plumb_trace *trace, uint32_t id)
{
    return plumb_table_text(&trace->table, id);
}

static const char *unit_of(const struct plumb_table *t, const struct plumb_table_track *l)
{
    static const char *const units[] = {"", "ns", "count", "bytes"};
    return l->unit_name ? plumb_table_text(t, l->unit_name) : units[l->unit];
}

int plumb_trace_get_track(plumb_trace_track *out, const plumb_trace *trace, uint32_t i)
{
    const struct plumb_table *t = &trace->table;
    if (i >= t->track_count)
        return 0;
    const struct plumb_table_track *l = &t->tracks[i];
    plumb_trace_track track = {
        .uuid = l->uuid,
        .pid = l->has_pid ? l->pid : -1,
        .tid = l->has_tid ? l->tid : -1,
        .name = plumb_table_text(t, l->name),
        .unit = unit_of(t, l),
        .kind = l->kind,
        .parent = l->parent,
        .process = l->process,
        .first_slice = l->slices.first,
        .slices = l->slices.count,
        .first_instant = l->instants.first,
        .instants = l->instants.count,
        .first_counter = l->counters.first,
        .counters = l->counters.count,
        .whole = l->kind == PLUMB_TRACK_COUNTER && l->whole,
    };
    hand_out(out, &track, sizeof track);
    return 1;
}

void plumb_trace_get_slices(plumb_trace_slices *out, const plumb_trace *trace)
{
    const struct plumb_table_slices *s = &trace->table.slices;
    plumb_trace_slices slices = {
        .count = s->count,
        .ts_ns = s->ts_ns,
        .dur_ns = s->dur_ns,
        .track = s->track,
        .name = s->name,
        .category = s->category,
        .parent = s->parent,
        .depth = s->depth,
        .args = s->args,
        .flags = s->flags,
    };
    hand_out(out, &slices, sizeof slices);
}

void plumb_trace_get_instants(plumb_trace_instants *out, const plumb_trace *trace)
{
    const struct plumb_table_instants *m = &trace->table.instants;
    plumb_trace_instants instants = {
        .count = m->count,
        .ts_ns = m->ts_ns,
        .track = m->track,
        .name = m->name,
        .category = m->category,
        .slice = m->slice,
        .args = m->args,
    };
    hand_out(out, &instants, sizeof instants);
}

void plumb_trace_get_counters(plumb_trace_counters *out, const plumb_trace *trace)
{
    const struct plumb_table_counters *c = &trace->table.counters;
    plumb_trace_counters counters = {
        .count = c->count,
        .ts_ns = c->ts_ns,
        .track = c->track,
        .value = (const plumb_trace_number *)(const void *)c->value,
    };
    hand_out(out, &counters, sizeof counters);
}

static void get_args(const struct plumb_table_args *a, plumb_trace_args *out)
{
    plumb_trace_args args = {
        .count = a->count,
        .key = a->key,
        .type = a->type,
        .value = (const plumb_trace_number *)(const void *)a->value,
    };
    hand_out(out, &args, sizeof args);
}

void plumb_trace_get_args(plumb_trace_args *out, const plumb_trace *trace)
{
    get_args(&trace->table.slice_args, out);
}

void plumb_trace_get_instant_args(plumb_trace_args *out, const plumb_trace *trace)
{
    get_args(&trace->table.instant_args, out);
}

int plumb_trace_get_flow(plumb_trace_flow *out, const plumb_trace *trace, uint32_t i)
{
    if (i >= trace->table.flow_count)
        return 0;
    const struct plumb_table_flow *f = &trace->table.flows[i];
    plumb_trace_flow flow = {
        .id = f->id,
        .from_ns = f->from_ns,
        .to_ns = f->to_ns,
        .from = f->from.row,
        .to = f->to.row,
        .from_instant = f->from.instant,
        .to_instant = f->to.instant,
    };
    hand_out(out, &flow, sizeof flow);
    return 1;
}

int plumb_trace_get_metadata(plumb_trace_metadata *out, const plumb_trace *trace, uint32_t i)
{
    if (i >= trace->table.fact_count)
        return 0;
    const struct plumb_table_fact *f = &trace->table.facts[i];
    plumb_trace_metadata fact = {.key = plumb_table_text(&trace->table, f->key),
                                 .value = {.u64 = f->value.u64},
                                 .type = f->type};
    hand_out(out, &fact, sizeof fact);
    return 1;
}

/* ---- Text ------------------------------------------------------------------------------------ */

int plumb_trace_render(char **out, const plumb_trace *trace, const plumb_trace_view *view,
                       plumb_error *err)
{
    plumb_trace_view v = plumb_trace_view_default();
    struct plumb_buf text = {0};
    int rc = plumb_take(&v, sizeof v, view, err);
    if (rc < 0)
        return rc;
    rc = plumb_trace_view_render(&text, &trace->table, trace->path, &v, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}

int plumb_trace_breakdown(char **out, const plumb_trace *trace, const char *name, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_trace_breakdown_write(&text, &trace->table, name, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}

int plumb_trace_remarks(char **out, const plumb_trace *trace, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, "");
    plumb_trace_remarks_write(&trace->table, &text);
    if (text.failed) {
        plumb_buf_fini(&text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the remarks of a trace");
    }
    *out = text.data;
    return PLUMB_OK;
}

/* read_live.c: running processes in the public interface. One watch belongs to one thread at a
 * time; a reading never changes. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/whole_file.h"
#include "model/public_row.h"
#include "read/run/live_watch.h"
#include "read/run/runs.h"
#include "read/run/timing_since.h"
#include "report/run/live_lines.h"
#include <plumb/read/live.h>
#include <plumb/read/run.h>

struct plumb_watch {
    struct plumb_live_watch live;
};

struct plumb_reading {
    struct plumb_timing timing;
    plumb_reading_facts facts;
    plumb_reading_row *rows;
    plumb_reading_bucket **buckets; /* of each row */
    plumb_reading_open *opens;
    plumb_reading_place *places;
    plumb_reading_request *requests;
    plumb_reading_pool *pools;
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* Returns the process that a text names, 0: none. */
static uint32_t pid_of(const char *what)
{
    char *end;
    unsigned long pid = what && *what >= '1' && *what <= '9' ? strtoul(what, &end, 10) : 0;
    return pid && pid <= INT32_MAX && *end == '\0' ? (uint32_t)pid : 0;
}

/* Opens the newest run whose process records it. */
static int open_newest(struct plumb_live_watch *out, const char *dir, plumb_error *err)
{
    struct plumb_found_runs found;
    bool opened = false;
    int rc = plumb_runs_find(&found, dir, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < found.count && !opened; i++) {
        if (found.runs[i].ended || plumb_live_watch_open(out, found.runs[i].path, NULL) < 0)
            continue;
        opened = plumb_live_watch_records(out);
        if (!opened)
            plumb_live_watch_close(out);
    }
    plumb_runs_fini(&found);
    return opened ? PLUMB_OK
                  : plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                               "no run in '%s' is being recorded: name a process or a run "
                               "directory",
                               dir);
}

static int open_run(struct plumb_live_watch *out, const char *what, plumb_error *err)
{
    char dir[PATH_MAX], run[PATH_MAX], report[PATH_MAX + 16];
    struct stat st;
    plumb_error why = {0, ""};
    int rc = plumb_runs_dir(dir, sizeof dir, err);
    if (rc < 0)
        return rc;
    if (!what)
        return open_newest(out, dir, err);
    if ((rc = plumb_runs_resolve(run, sizeof run, what, dir, err)) < 0)
        return rc;
    rc = plumb_live_watch_open(out, run, &why);
    if (rc == PLUMB_OK)
        return rc;
    snprintf(report, sizeof report, "%s/" PLUMB_TIMING_NAME, run);
    if (rc == PLUMB_ERR_NOT_FOUND && stat(report, &st) == 0)
        return plumb_fail(err, PLUMB_ERR_STATE, "the run in '%s' has ended: see plumb report", run);
    return plumb_fail(err, rc, "%s", why.message);
}

int plumb_watch_open(plumb_watch **out, const char *what, plumb_error *err)
{
    plumb_watch *watch = calloc(1, sizeof *watch);
    uint32_t pid = pid_of(what);
    struct stat st;
    int rc;
    if (!watch)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory to watch a run");
    if (pid && stat(what, &st) < 0)
        rc = plumb_live_watch_open_pid(&watch->live, pid, err);
    else
        rc = open_run(&watch->live, what, err);
    if (rc < 0) {
        free(watch);
        return rc;
    }
    *out = watch;
    return PLUMB_OK;
}

void plumb_watch_close(plumb_watch *watch)
{
    if (watch)
        plumb_live_watch_close(&watch->live);
    free(watch);
}

/* ---- From a report to the public structs ----------------------------------------------------- */

static uint64_t peak_of(const struct plumb_timing_memory *m)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->use_count; i++)
        sum += m->uses[i].peak_allocated;
    return sum;
}

static void fill_row(plumb_reading_row *out, const struct plumb_timing_node *n)
{
    plumb_public_row(&out->row, n, plumb_stats_std(&n->host.ns));
    out->row.pipeline = n->pipeline;
    out->row.phase = n->phase;
    out->row.node = n->name;
    out->total_ns = n->host.ns.total;
    out->self_ns = n->self_ns;
    out->own_ns = plumb_timing_own_ns(n);
    out->abandoned = n->abandoned;
    out->unbalanced = n->unbalanced;
    out->device_total_ns = n->device.ns.total;
    out->launches = n->use.launches;
    out->launched_ns = n->use.device_ns;
    out->waits = n->use.wait_count;
    out->waited_ns = n->use.wait_ns;
    out->rss_bytes = n->memory.samples ? n->memory.rss : 0;
    out->peak_allocated_bytes = peak_of(&n->memory);
    out->last_at_ns = n->host.ns.count ? n->host.ns.last_at : 0;
    out->last_failure = n->last_failure;
    out->stage = n->stage;
}

static void count_open(plumb_reading *r, const struct plumb_timing_open *open)
{
    for (size_t i = 0; i < r->timing.node_count; i++)
        r->rows[i].open += plumb_timing_is_open(open, &r->timing.nodes[i]);
}

static void fill_rows(plumb_reading *r)
{
    struct plumb_timing *t = &r->timing;
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_channel *c = &t->nodes[i].host;
        plumb_reading_bucket *to = plumb_arena_alloc(&t->arena, (c->bucket_count + 1) * sizeof *to);
        fill_row(&r->rows[i], &t->nodes[i]);
        for (size_t b = 0; to && b < c->bucket_count; b++)
            to[b] = (plumb_reading_bucket){c->buckets[b].value, c->buckets[b].count};
        r->buckets[i] = to;
    }
    for (size_t i = 0; i < t->open_count; i++) {
        const struct plumb_timing_open *o = &t->open[i];
        r->opens[i] = (plumb_reading_open){o->node, o->phase, o->tid, o->depth, o->age_ns};
        count_open(r, o);
    }
}

static void fill_others(plumb_reading *r)
{
    const struct plumb_timing *t = &r->timing;
    for (size_t i = 0; i < t->tree_count; i++) {
        const struct plumb_timing_tree *p = &t->tree[i];
        r->places[i] = (plumb_reading_place){p->parent,  p->node,  p->count, p->total_ns,
                                             p->self_ns, p->async, 0};
    }
    for (size_t i = 0; i < t->request_count; i++) {
        const struct plumb_timing_request *q = &t->requests[i];
        r->requests[i] =
            (plumb_reading_request){q->id,      q->why,       q->state,  q->tid, q->begin_unix_ns,
                                    q->wall_ns, q->stages_ns, q->records};
    }
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &t->memory.pools[i];
        r->pools[i] = (plumb_reading_pool){p->device,        p->pool,     p->total,
                                           p->allocated,     p->reserved, p->peak_allocated,
                                           p->peak_reserved, p->allocs,   p->frees};
    }
}

static void fill_facts(plumb_reading *r)
{
    const struct plumb_timing *t = &r->timing;
    plumb_reading_facts *f = &r->facts;
    f->pid = t->pid;
    f->program = t->program;
    f->command = t->command;
    f->pipeline = t->pipeline;
    f->version = t->plumb_version;
    f->host = t->host;
    f->rank = t->rank;
    f->ranks = t->world_size;
    f->since_ns = t->start_unix_ns;
    f->at_ns = t->end_unix_ns;
    f->elapsed_ns = t->wall_clock_ns;
    f->spans = t->overhead.spans;
    f->lost = t->drops.lost_state;
    f->rss_bytes = t->memory.rss;
    f->peak_rss_bytes = t->memory.peak_rss;
    f->machine_bytes = t->memory.total;
    f->clock_ppm = t->clock.drift_ppm;
    f->requests = t->request_count + t->requests_lost;
}

static int fill(plumb_reading *r, plumb_error *err)
{
    struct plumb_timing *t = &r->timing;
    struct plumb_arena *a = &t->arena;
    r->rows = plumb_arena_alloc(a, (t->node_count + 1) * sizeof *r->rows);
    r->buckets = plumb_arena_alloc(a, (t->node_count + 1) * sizeof(plumb_reading_bucket *));
    r->opens = plumb_arena_alloc(a, (t->open_count + 1) * sizeof *r->opens);
    r->places = plumb_arena_alloc(a, (t->tree_count + 1) * sizeof *r->places);
    r->requests = plumb_arena_alloc(a, (t->request_count + 1) * sizeof *r->requests);
    r->pools = plumb_arena_alloc(a, (t->memory.pool_count + 1) * sizeof *r->pools);
    if (!a->failed) {
        fill_rows(r);
        fill_others(r);
        fill_facts(r);
    }
    return a->failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a reading") : PLUMB_OK;
}

/* ---- Readings -------------------------------------------------------------------------------- */

static plumb_reading *reading_new(plumb_error *err)
{
    plumb_reading *r = calloc(1, sizeof *r);
    if (r)
        plumb_timing_init(&r->timing);
    else
        plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a reading");
    return r;
}

void plumb_reading_free(plumb_reading *reading)
{
    if (reading)
        plumb_timing_fini(&reading->timing);
    free(reading);
}

int plumb_watch_read(plumb_reading **out, plumb_watch *watch, plumb_error *err)
{
    struct plumb_live_moment m;
    plumb_reading *r = reading_new(err);
    int rc;
    if (!r)
        return PLUMB_ERR_MEMORY;
    rc = plumb_live_watch_read(&watch->live, &r->timing, &m, err);
    if (rc == PLUMB_OK)
        rc = fill(r, err);
    if (rc < 0) {
        plumb_reading_free(r);
        return rc;
    }
    r->facts.state = m.state;
    r->facts.threads = m.threads_used;
    r->facts.threads_apart = m.threads_apart;
    r->facts.memory_bytes = m.mapped_bytes;
    r->facts.run_dir = plumb_arena_strdup(&r->timing.arena, watch->live.run_dir);
    r->facts.path = plumb_arena_strdup(&r->timing.arena, watch->live.path);
    *out = r;
    return PLUMB_OK;
}

int plumb_reading_since(plumb_reading **out, const plumb_reading *newer, const plumb_reading *older,
                        plumb_error *err)
{
    plumb_reading *r = reading_new(err);
    int rc;
    if (!r)
        return PLUMB_ERR_MEMORY;
    rc = plumb_timing_since(&r->timing, &newer->timing, &older->timing, err);
    if (rc == PLUMB_OK)
        rc = fill(r, err);
    if (rc < 0) {
        plumb_reading_free(r);
        return rc;
    }
    r->facts.state = newer->facts.state;
    r->facts.threads = newer->facts.threads;
    r->facts.threads_apart = newer->facts.threads_apart;
    r->facts.memory_bytes = newer->facts.memory_bytes;
    r->facts.run_dir = plumb_arena_strdup(&r->timing.arena, newer->facts.run_dir);
    r->facts.path = plumb_arena_strdup(&r->timing.arena, newer->facts.path);
    r->facts.lost =
        newer->facts.lost > older->facts.lost ? newer->facts.lost - older->facts.lost : 0;
    r->facts.requests = newer->facts.requests > older->facts.requests
                            ? newer->facts.requests - older->facts.requests
                            : 0;
    *out = r;
    return PLUMB_OK;
}

int plumb_reading_write(const plumb_reading *reading, const char *dir, plumb_error *err)
{
    struct plumb_timing t = reading->timing;
    struct plumb_buf text = {0};
    char path[PATH_MAX];
    int rc, code;
    t.start_unix_ns = t.end_unix_ns - t.wall_clock_ns;
    if (snprintf(path, sizeof path, "%s/timing.json", dir) >= (int)sizeof path)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", dir);
    rc = plumb_timing_write(&t, &text, err);
    code = rc < 0 ? 0 : plumb_whole_file_write(path, PLUMB_WHOLE_FIRST, 0600, text.data, text.len);
    plumb_buf_fini(&text);
    return code ? plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", path, strerror(code)) : rc;
}

int plumb_reading_render(char **out, const plumb_reading *reading, const plumb_reading_line *lines,
                         size_t n, const char *format, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_live_lines(&text, &reading->facts, lines, n, format, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}

const plumb_reading_facts *plumb_reading_facts_of(const plumb_reading *reading)
{
    return &reading->facts;
}

size_t plumb_reading_rows(const plumb_reading *reading)
{
    return reading->timing.node_count;
}

const plumb_reading_row *plumb_reading_row_at(const plumb_reading *reading, size_t i)
{
    return i < plumb_reading_rows(reading) ? &reading->rows[i] : NULL;
}

const plumb_reading_bucket *plumb_reading_buckets(size_t *n, const plumb_reading *reading, size_t i)
{
    *n = i < plumb_reading_rows(reading) ? reading->timing.nodes[i].host.bucket_count : 0;
    return *n ? reading->buckets[i] : NULL;
}

size_t plumb_reading_opens(const plumb_reading *reading)
{
    return reading->timing.open_count;
}

const plumb_reading_open *plumb_reading_open_at(const plumb_reading *reading, size_t i)
{
    return i < plumb_reading_opens(reading) ? &reading->opens[i] : NULL;
}

size_t plumb_reading_places(const plumb_reading *reading)
{
    return reading->timing.tree_count;
}

const plumb_reading_place *plumb_reading_place_at(const plumb_reading *reading, size_t i)
{
    return i < plumb_reading_places(reading) ? &reading->places[i] : NULL;
}

size_t plumb_reading_requests(const plumb_reading *reading)
{
    return reading->timing.request_count;
}

const plumb_reading_request *plumb_reading_request_at(const plumb_reading *reading, size_t i)
{
    return i < plumb_reading_requests(reading) ? &reading->requests[i] : NULL;
}

size_t plumb_reading_pools(const plumb_reading *reading)
{
    return reading->timing.memory.pool_count;
}

const plumb_reading_pool *plumb_reading_pool_at(const plumb_reading *reading, size_t i)
{
    return i < plumb_reading_pools(reading) ? &reading->pools[i] : NULL;
}

const char *plumb_reading_note(const plumb_reading *reading, size_t i)
{
    return i < reading->timing.note_count ? reading->timing.notes[i] : NULL;
}

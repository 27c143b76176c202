/* node_recover.c: see node_recover.h. */
#include "read/run/node_recover.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "read/run/node_recover_work.h"
#include "read/trace/perfetto.h"
#include "timeline/node_trace.h"

struct replay {
    const struct plumb_table *t;
    struct plumb_node_track track;
    uint32_t open[PLUMB_NODE_DEPTH]; /* slices */
    struct plumb_recovered_work work;
};

static const char *name_of(void *arg, uint32_t node)
{
    return plumb_table_text(arg, node);
}

/* One arg of a slice, as far as Chrome's form has one for it. */
static bool take_arg(struct plumb_chrome_arg *out, const struct plumb_table *t, uint32_t i)
{
    static const enum plumb_chrome_value kinds[] = {
        [PLUMB_ARG_I64] = PLUMB_CHROME_I64,   [PLUMB_ARG_U64] = PLUMB_CHROME_U64,
        [PLUMB_ARG_F64] = PLUMB_CHROME_F64,   [PLUMB_ARG_BOOL] = PLUMB_CHROME_BOOL,
        [PLUMB_ARG_TEXT] = PLUMB_CHROME_TEXT,
    };
    uint8_t type = t->slice_args.type[i];
    union plumb_table_number v = t->slice_args.value[i];
    if (type == PLUMB_ARG_POINTER || type == PLUMB_ARG_JSON)
        return false;
    out->key = plumb_table_text(t, t->slice_args.key[i]);
    out->type = kinds[type];
    if (type == PLUMB_ARG_TEXT)
        out->v.text = plumb_table_text(t, (uint32_t)v.u64);
    else if (type == PLUMB_ARG_BOOL)
        out->v.boolean = v.u64 != 0;
    else if (type == PLUMB_ARG_F64)
        out->v.f64 = v.f64;
    else
        out->v.u64 = v.u64;
    return true;
}

static void end_one(struct replay *r)
{
    const struct plumb_table *t = r->t;
    uint32_t slice = r->open[r->track.depth - 1];
    struct plumb_chrome_arg args[PLUMB_NODE_ARGS];
    size_t n = 0;
    for (uint32_t i = t->slices.args[slice]; i < t->slices.args[slice + 1]; i++)
        if (n < PLUMB_NODE_ARGS - 1 && take_arg(&args[n], t, i))
            n++;
    if (t->slices.flags[slice] & PLUMB_SLICE_OPEN)
        args[n++] = (struct plumb_chrome_arg){"open", PLUMB_CHROME_BOOL, {.boolean = true}};
    plumb_node_track_end(&r->track, plumb_table_end_ns(t, slice),
                         plumb_table_text(t, t->slices.category[slice]), args, n);
}

/* The slices of a thread, which lie before those that run inside them. */
static void replay_track(struct replay *r, struct plumb_node_trace *set,
                         const struct plumb_table_track *track)
{
    const struct plumb_table *t = r->t;
    plumb_node_track_open(&r->track, set, track->has_tid ? track->tid : 0,
                          plumb_table_text(t, track->name));
    for (uint32_t i = 0; i < track->slices.count; i++) {
        uint32_t slice = track->slices.first + i;
        while (r->track.depth > t->slices.depth[slice])
            end_one(r);
        if (r->track.depth == PLUMB_NODE_DEPTH)
            continue;
        r->open[r->track.depth] = slice;
        plumb_node_track_begin(&r->track, t->slices.name[slice], t->slices.ts_ns[slice]);
        plumb_recovered_work_pass(&r->work, &r->track, slice);
    }
    while (r->track.depth)
        end_one(r);
}

static void remove_texts(const char *dir)
{
    static const char ending[] = ".trace.json.part";
    DIR *d = opendir(dir);
    const struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        size_t n = strlen(e->d_name);
        if (n >= sizeof ending && strcmp(e->d_name + n - (sizeof ending - 1), ending) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

static int replay(const struct plumb_table *t, const struct plumb_live_view *s, const char *dir,
                  plumb_error *err)
{
    struct plumb_node_trace_options o = {.dir = dir,
                                         .patterns = plumb_live_text(s, s->h->trace.nodes_off),
                                         .trace_name = plumb_live_fact_text(s, PLUMB_FACT_PROGRAM),
                                         .rank = s->h->rank,
                                         .pid = s->h->pid,
                                         .base_unix_ns = t->unix_ns,
                                         .max_text_bytes = 4 * s->h->trace.max_bytes,
                                         .nodes_max = t->strings.count,
                                         .name_of = name_of,
                                         .arg = (void *)(uintptr_t)t};
    struct plumb_node_trace *set = NULL;
    struct plumb_buf told = {0};
    struct replay r = {.t = t};
    int rc = plumb_recovered_work_open(&r.work, t, err);
    if (rc < 0 || (rc = plumb_node_trace_open(&set, &o, err)) < 0) {
        plumb_recovered_work_close(&r.work);
        return rc;
    }
    for (uint32_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].kind == PLUMB_TRACK_THREAD)
            replay_track(&r, set, &t->tracks[i]);
    rc = plumb_node_trace_close(set, &told, err);
    plumb_recovered_work_close(&r.work);
    plumb_buf_fini(&told);
    return rc < 0 ? rc : PLUMB_OK;
}

int plumb_node_recover(const struct plumb_live_view *source, const char *dir, plumb_error *err)
{
    struct plumb_table table;
    char path[4096];
    int rc;
    if (!source->h->trace.nodes_off || source->h->trace.window ||
        source->h->trace.mode != PLUMB_LIVE_TRACE_STOP)
        return PLUMB_OK;
    remove_texts(dir);
    snprintf(path, sizeof path, "%s/%s", dir, PLUMB_TRACE_FILE);
    rc = plumb_perfetto_read(&table, path, err);
    if (rc < 0)
        return rc;
    rc = replay(&table, source, dir, err);
    plumb_table_fini(&table);
    return rc;
}

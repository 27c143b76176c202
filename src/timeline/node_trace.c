/* node_trace.c: see node_trace.h. A span is written once as text and then copied to each file that
 * must have it: the files of the frames around it, which are linked (`up`), and of its thread's
 * path. */
#include "timeline/node_trace.h"

#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/pages.h"
#include "base/process/device_platform.h"
#include "timeline/node_launch.h"
#include "timeline/node_match.h"
#include "timeline/node_trace_parts.h"

enum {
    UNKNOWN = 0,
    PLAIN = 1,
    FILES = 2,         /* what number f + FILES says: file f */
    LANE_TID = 1 << 24 /* of the first lane, and of a device as a process: beyond all threads */
};

struct plumb_node_trace {
    struct plumb_node_trace_options o;
    uint16_t *file_of; /* [o.nodes_max]: UNKNOWN, PLAIN or FILES and above */
    struct plumb_node_file *files[PLUMB_NODE_FILES];
    uint32_t count;
    uint32_t without; /* nodes that came too late for a file */
    uint64_t text_bytes, event, last_ns;
    struct plumb_out line;
    struct plumb_node_match match;
    struct plumb_launches launches;
};

/* ---- Files of nodes -------------------------------------------------------------------------- */

static uint16_t look_up(struct plumb_node_trace *s, uint32_t node)
{
    struct plumb_node_file *f;
    if (!plumb_node_matches(&s->match, node))
        return PLAIN;
    f = s->count < PLUMB_NODE_FILES ? plumb_pages_map(sizeof *f) : NULL;
    if (!f) {
        s->without++;
        return PLAIN;
    }
    plumb_node_file_open(f, &s->o, node, &s->line);
    s->text_bytes += f->text_bytes;
    f->index = s->count;
    s->files[s->count] = f;
    PLUMB_RELEASE(s->count, s->count + 1);
    return (uint16_t)(s->count - 1 + FILES);
}

/* NULL: it has none. */
static struct plumb_node_file *file_of(struct plumb_node_trace *s, uint32_t node)
{
    if (node >= s->o.nodes_max)
        return NULL;
    if (s->file_of[node] == UNKNOWN)
        s->file_of[node] = look_up(s, node);
    return s->file_of[node] >= FILES ? s->files[s->file_of[node] - FILES] : NULL;
}

/* ---- Files that a span goes to --------------------------------------------------------------- */

struct walk {
    struct plumb_node_track *track;
    uint32_t up, path; /* the next frame; then entries of the path that are left */
};

/* Each once, although a node may be around itself: `s->event` is the span's number. */
static struct plumb_node_file *next_file(struct walk *w)
{
    struct plumb_node_trace *s = w->track->set;
    while (w->up || w->path) {
        struct plumb_node_file *f;
        if (w->up) {
            f = file_of(s, w->track->frames[w->up].node);
            w->up = w->track->frames[w->up - 1].up;
        } else {
            f = file_of(s, w->track->path[--w->path]);
        }
        if (f && f->event != s->event) {
            f->event = s->event;
            return f;
        }
    }
    return NULL;
}

static struct walk walk_of(struct plumb_node_track *track)
{
    track->set->event++;
    return (struct walk){track, track->frames[track->depth].up, track->path_depth};
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

void plumb_node_track_open(struct plumb_node_track *track, struct plumb_node_trace *set,
                           int64_t tid, const char *name)
{
    memset(track, 0, sizeof *track);
    track->set = set;
    track->frames[0].step = -1;
    track->tid = tid;
    snprintf(track->name, sizeof track->name, "%s", name ? name : "");
}

void plumb_node_track_path(struct plumb_node_track *track, const uint32_t *path, uint32_t depth)
{
    track->path_depth = depth < PLUMB_NODE_PATH ? depth : PLUMB_NODE_PATH;
    for (uint32_t i = 0; i < track->path_depth; i++) {
        track->path[i] = path[i];
        file_of(track->set, path[i]); /* made now: an end has a line in the scratch buffer */
    }
}

void plumb_node_track_begin(struct plumb_node_track *track, uint32_t node, uint64_t ns)
{
    struct plumb_node_frame *f;
    if (track->depth == PLUMB_NODE_DEPTH)
        return;
    f = &track->frames[++track->depth];
    *f = (struct plumb_node_frame){.begin_ns = ns, .node = node, .step = f[-1].step};
    f->up = file_of(track->set, node) ? track->depth : f[-1].up;
}

void plumb_node_track_step(struct plumb_node_track *track, int64_t step)
{
    track->frames[track->depth].has_step = track->depth > 0;
    track->frames[track->depth].step = step;
}

static void put_line(struct plumb_node_trace *s, struct plumb_node_file *f,
                     const struct plumb_out *line)
{
    if (s->text_bytes + line->used > s->o.max_text_bytes) {
        f->left_out++;
        return;
    }
    plumb_node_file_put(f, &s->o, line->base, line->used);
    s->text_bytes += line->used;
}

static void put_meta(struct plumb_node_trace *s, struct plumb_node_file *f,
                     enum plumb_chrome_meta what, int64_t pid, int64_t tid, const char *name)
{
    unsigned char text[1024];
    struct plumb_out out = {text, sizeof text, 0};
    if (plumb_chrome_meta(&out, what, pid, tid, name, 0))
        put_line(s, f, &out);
}

/* Once in a file. */
static void name_row(struct plumb_node_trace *s, struct plumb_node_file *f, int64_t pid,
                     int64_t tid, const char *name)
{
    plumb_map_put(&f->threads, (uint64_t)tid + 1, 1);
    put_meta(s, f, PLUMB_CHROME_THREAD_NAME, pid, tid, name);
}

static void name_thread(struct plumb_node_track *track, struct plumb_node_file *f)
{
    char name[96];
    if (plumb_map_get(&f->threads, (uint64_t)track->tid + 1))
        return;
    snprintf(name, sizeof name, "thread %lld%s%s%s", (long long)track->tid,
             track->name[0] ? " (" : "", track->name, track->name[0] ? ")" : "");
    name_row(track->set, f, track->set->o.pid, track->tid, name);
}

/* Whether the innermost span's node is around itself: then the run is part of that one. */
static bool is_outermost(const struct plumb_node_track *track)
{
    uint32_t node = track->frames[track->depth].node;
    for (uint32_t up = track->frames[track->depth - 1].up; up; up = track->frames[up - 1].up)
        if (track->frames[up].node == node)
            return false;
    for (uint32_t i = 0; i < track->path_depth; i++)
        if (track->path[i] == node)
            return false;
    return true;
}

/* The innermost span as a line, in Kineto's spelling. */
static void write_line(struct plumb_node_track *track, uint64_t took, const char *phase,
                       const struct plumb_chrome_arg *args, size_t arg_count)
{
    struct plumb_node_trace *s = track->set;
    const struct plumb_node_frame *f = &track->frames[track->depth];
    const char *name = s->o.name_of(s->o.arg, f->node);
    bool contains = f->has_child || strncmp(name, "plumb.region::", 14) == 0;
    struct plumb_chrome_arg all[PLUMB_NODE_ARGS + 2];
    struct plumb_chrome_event e = {.phase = PLUMB_CHROME_SPAN,
                                   .category = contains ? "user_annotation" : "cpu_op",
                                   .name = name,
                                   .pid = s->o.pid,
                                   .tid = track->tid,
                                   .ns = f->begin_ns,
                                   .dur_ns = took,
                                   .args = all};
    if (f->has_step)
        all[e.arg_count++] = (struct plumb_chrome_arg){"step", PLUMB_CHROME_I64, {.i64 = f->step}};
    for (size_t i = 0; i < arg_count && i < PLUMB_NODE_ARGS; i++)
        all[e.arg_count++] = args[i];
    if (phase[0] && strcmp(phase, "inference") != 0)
        all[e.arg_count++] = (struct plumb_chrome_arg){"phase", PLUMB_CHROME_TEXT, {.text = phase}};
    s->line.used = 0;
    plumb_chrome_event(&s->line, &e);
}

void plumb_node_track_end(struct plumb_node_track *track, uint64_t ns, const char *phase,
                          const struct plumb_chrome_arg *args, size_t arg_count)
{
    struct plumb_node_trace *s = track->set;
    struct plumb_node_frame *f = &track->frames[track->depth];
    struct plumb_node_file *file;
    bool written = false;
    struct walk w;
    uint64_t took;
    if (!track->depth)
        return;
    took = ns > f->begin_ns ? ns - f->begin_ns : 0;
    w = walk_of(track);
    while ((file = next_file(&w)) != NULL) {
        if (!written)
            write_line(track, took, phase, args, arg_count);
        written = true;
        name_thread(track, file);
        put_line(s, file, &s->line);
        plumb_breakdown_op(&file->breakdown, f->node, took,
                           took > f->child_ns ? took - f->child_ns : 0, f->step);
        if (file->node == f->node && is_outermost(track))
            plumb_breakdown_run(&file->breakdown, took);
    }
    if (ns > s->last_ns)
        s->last_ns = ns;
    track->depth--;
    f[-1].child_ns += took;
    f[-1].has_child = true;
}

void plumb_node_track_device(struct plumb_node_track *track, uint32_t node, uint64_t ns)
{
    const struct plumb_node_frame *f = &track->frames[track->depth];
    struct plumb_breakdown_kernel k = {.id = node,
                                       .caller = track->depth ? f->node : 0,
                                       .step = f->step,
                                       .where = PLUMB_BREAKDOWN_DEVICE,
                                       .ns = ns};
    struct walk w = walk_of(track);
    struct plumb_node_file *file;
    while ((file = next_file(&w)) != NULL)
        plumb_breakdown_kernel(&file->breakdown, &k);
}

/* ---- Work of lanes --------------------------------------------------------------------------- */

/* A device is a process of its own, as in exports. */
static int64_t pid_of(const struct plumb_node_trace *s, const struct plumb_lane_work *work)
{
    bool device = !work->host && work->device[0];
    return device ? LANE_TID + (int64_t)(plumb_hash_text(work->device) % LANE_TID) : s->o.pid;
}

static void write_work(struct plumb_node_trace *s, const struct plumb_lane_work *work)
{
    struct plumb_chrome_arg args[5];
    struct plumb_chrome_event e = {.phase = PLUMB_CHROME_SPAN,
                                   .category = work->host ? "cpu_op" : "kernel",
                                   .name = work->name,
                                   .pid = pid_of(s, work),
                                   .tid = LANE_TID + (int64_t)work->lane_id,
                                   .ns = work->begin_ns,
                                   .dur_ns = work->end_ns - work->begin_ns,
                                   .args = args};
    const char *const keys[] = {"grid", "shapes", "node"};
    const char *const texts[] = {work->grid, work->shape,
                                 work->node ? s->o.name_of(s->o.arg, work->node) : NULL};
    for (size_t i = 0; i < 3; i++)
        if (texts[i])
            args[e.arg_count++] =
                (struct plumb_chrome_arg){keys[i], PLUMB_CHROME_TEXT, {.text = texts[i]}};
    if (work->step >= 0)
        args[e.arg_count++] =
            (struct plumb_chrome_arg){"step", PLUMB_CHROME_I64, {.i64 = work->step}};
    if (work->host) /* it took time of the thread whose spans are around it */
        args[e.arg_count++] =
            (struct plumb_chrome_arg){"tid", PLUMB_CHROME_I64, {.i64 = work->tid}};
    s->line.used = 0;
    plumb_chrome_event(&s->line, &e);
}

static void name_lane(struct plumb_node_trace *s, struct plumb_node_file *f,
                      const struct plumb_lane_work *work)
{
    int64_t pid = pid_of(s, work);
    if (plumb_map_get(&f->threads, LANE_TID + (uint64_t)work->lane_id + 1))
        return;
    if (pid != s->o.pid)
        put_meta(s, f, PLUMB_CHROME_PROCESS_NAME, pid, 0, work->device);
    name_row(s, f, pid, LANE_TID + (int64_t)work->lane_id, work->lane);
}

static struct plumb_breakdown_kernel kernel_of(const struct plumb_lane_work *work)
{
    bool cuda = plumb_device_is_cuda(work->device);
    return (struct plumb_breakdown_kernel){
        .id = work->name_id ? PLUMB_BREAKDOWN_NAMED | work->name_id : work->node,
        .name = work->name_id ? work->name : NULL,
        .caller = work->node,
        .grid = work->grid,
        .shape = work->shape,
        .step = work->step,
        .where = work->host ? PLUMB_BREAKDOWN_HOST
                 : cuda     ? PLUMB_BREAKDOWN_CUDA
                            : PLUMB_BREAKDOWN_DEVICE,
        .ns = work->end_ns - work->begin_ns};
}

/* plumb_launch_fn */
static void take_work(void *arg, const struct plumb_lane_work *work, uint32_t set)
{
    struct plumb_node_trace *s = arg;
    const struct plumb_breakdown_kernel k = kernel_of(work);
    if (set && work->end_ns > s->last_ns)
        s->last_ns = work->end_ns;
    if (set)
        write_work(s, work);
    for (; set; set = s->launches.sets[set].rest) {
        struct plumb_node_file *f = s->files[s->launches.sets[set].file];
        name_lane(s, f, work);
        put_line(s, f, &s->line);
        plumb_breakdown_kernel(&f->breakdown, &k);
    }
}

void plumb_node_track_launch(struct plumb_node_track *track, uint64_t flow)
{
    struct plumb_node_trace *s = track->set;
    struct walk w = walk_of(track);
    struct plumb_node_file *file;
    uint32_t set = 0;
    if (!(flow >> 63)) /* of a context, which no work has */
        return;
    while ((file = next_file(&w)) != NULL)
        set = plumb_launch_set(&s->launches, file->index, set);
    plumb_launch_known(&s->launches, flow, set, take_work, s);
}

void plumb_node_trace_work(struct plumb_node_trace *set, const struct plumb_lane_work *work)
{
    if (work->name_id || work->node)
        plumb_launch_work(&set->launches, work, take_work, set);
}

/* ---- The set --------------------------------------------------------------------------------- */

/* Unmaps it; the files stay as they are. */
static void forget(struct plumb_node_trace *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        plumb_node_file_forget(s->files[i]);
        plumb_pages_unmap(s->files[i], sizeof *s->files[i]);
    }
    if (s->file_of)
        plumb_pages_unmap(s->file_of, s->o.nodes_max * sizeof *s->file_of);
    if (s->line.base)
        plumb_pages_unmap(s->line.base, s->line.size);
    plumb_node_match_fini(&s->match);
    plumb_launches_fini(&s->launches);
    plumb_pages_unmap(s, sizeof *s);
}

static void fini(struct plumb_node_trace *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        plumb_node_file_fini(s->files[i], &s->o);
    forget(s);
}

int plumb_node_trace_open(struct plumb_node_trace **out, const struct plumb_node_trace_options *o,
                          plumb_error *err)
{
    struct plumb_node_trace *s = plumb_pages_map(sizeof *s);
    if (s) {
        s->o = *o;
        s->line.size = PLUMB_CHROME_EVENT_MAX;
        s->line.base = plumb_pages_map(s->line.size);
        s->file_of = plumb_pages_map(o->nodes_max * sizeof *s->file_of);
    }
    if (!s || !s->line.base || !s->file_of ||
        plumb_node_match_open(&s->match, o->patterns, o->nodes_max, o->name_of, o->arg) < 0) {
        if (s)
            fini(s);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for PLUMB_TRACE_NODES");
    }
    *out = s;
    return PLUMB_OK;
}

static void tell(const struct plumb_node_trace *s, struct plumb_buf *told)
{
    const struct plumb_node_match *m = &s->match;
    uint64_t left_out = 0, lost = s->o.filtered ? 0 : plumb_launches_lost(&s->launches);
    for (uint32_t i = 0; i < m->patterns; i++)
        if (!m->matched[i])
            plumb_buf_printf(told, "PLUMB_TRACE_NODES: no node that ran matches '%s'\n",
                             m->pattern[i]);
    if (m->refused)
        plumb_buf_printf(told, "PLUMB_TRACE_NODES: %u patterns are too many or too long\n",
                         m->refused);
    if (s->without)
        plumb_buf_printf(told, "PLUMB_TRACE_NODES: %u nodes have no trace of their own; %d have\n",
                         s->without, (int)PLUMB_NODE_FILES);
    for (uint32_t i = 0; i < s->count; i++)
        left_out += s->files[i]->left_out;
    if (left_out)
        plumb_buf_printf(told,
                         "PLUMB_TRACE_NODES: the traces of single nodes lack %llu spans, beyond "
                         "their bound (PLUMB_TRACE_MAX); the breakdowns have them\n",
                         (unsigned long long)left_out);
    if (lost)
        plumb_buf_printf(told,
                         "PLUMB_TRACE_NODES: %llu kernels are in no file of a node: their launches "
                         "are not in the trace\n",
                         (unsigned long long)lost);
}

int plumb_node_trace_close(struct plumb_node_trace *set, struct plumb_buf *told, plumb_error *err)
{
    int rc = PLUMB_OK;
    if (!set)
        return 0;
    for (uint32_t i = 0; i < set->count; i++) {
        int one = plumb_node_file_close(set->files[i], &set->o, set->last_ns, &set->line,
                                        rc == PLUMB_OK ? err : NULL);
        if (rc == PLUMB_OK)
            rc = one;
    }
    tell(set, told);
    if (rc == PLUMB_OK)
        rc = (int)set->count;
    fini(set);
    return rc;
}

void plumb_node_trace_drop(struct plumb_node_trace *set)
{
    if (set)
        fini(set);
}

void plumb_node_trace_forget(struct plumb_node_trace *set)
{
    if (set)
        forget(set);
}

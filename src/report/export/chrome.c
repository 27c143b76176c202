/* chrome.c: the trace as Chrome trace events, in the spelling of Kineto. docs/export.md describes
 * the mapping.
 *
 * Events are written track by track: the table has that order, and consecutive lines then resemble
 * each other most, which compresses well. Spans without arguments of their own, nearly all, are
 * written many at a time from pieces that are made once for a name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "codec/chrome.h"
#include "report/export/chrome_args.h"
#include "report/export/export.h"
#include "report/export/head.h"
#include "report/export/pool.h"
#include "report/export/shapes.h"
#include "report/export/steps.h"
#include "report/export/tracks.h"

enum { BATCH = 512, DEVICE_SORT = 5000000 };

/* The kinds of spans that readers of Kineto's traces know. */
enum kind { OP = 0, ANNOTATION, KERNEL, DEVICE_ANNOTATION, OWN, KINDS };
static const char *const kind_names[KINDS] = {"cpu_op", "user_annotation", "kernel",
                                              "gpu_user_annotation", NULL};

/* The categories of Kineto: a span whose category is one of these keeps it. */
static const char *const kineto[] = {
    "cpu_op",
    "user_annotation",
    "gpu_user_annotation",
    "cuda_runtime",
    "cuda_driver",
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "cuda_sync",
    "cuda_event",
    "overhead",
    "python_function",
    "collective_comm",
    "privateuse1_runtime",
    "privateuse1_driver",
    "xpu_runtime",
    "xpu_driver",
    "mtia_runtime",
    "mtia_ccp_events",
    "hpu_op",
    "glow_runtime",
};

enum { STEP_DEPTH = 256 }; /* deeper spans do not inherit a step */

struct chrome {
    struct plumb_export_out *x;
    const struct plumb_table *t;
    struct plumb_export_track *tracks;
    uint8_t *contains;         /* of each text, as a name: others run inside it */
    uint8_t *is_kineto;        /* of each text, as a category */
    struct plumb_map links;    /* slice + 1 -> number of the flow that it belongs to */
    struct plumb_map counters; /* name and process -> tracks so far */
    uint32_t step_key;
    uint8_t *has_steps; /* of each track: its steps become spans */
    struct plumb_arena arena;
    struct plumb_map piece_of;
    struct plumb_chrome_piece *names, track;
    size_t name_count, name_cap;
    struct plumb_chrome_span batch[BATCH];
    size_t batched;
    struct plumb_export_step steps[STEP_DEPTH]; /* of the last span of a depth */
    struct plumb_export_shapes shapes;
    uint64_t done, all;
};

/* Repeats a call that fails while the buffer is full; the flush between two tries empties it. */
#define WRITE(c, call)                                                                             \
    while (!(call))                                                                                \
    plumb_export_flush((c)->x)

/* ---- Before the events ---------------------------------------------------------------------- */

static bool is_device(const struct chrome *c, const struct plumb_table_end *end)
{
    const struct plumb_table *t = c->t;
    uint32_t track = end->instant ? t->instants.track[end->row] : t->slices.track[end->row];
    return c->tracks[track].device;
}

/* A slice belongs to the first flow that goes to a device from it, or comes to it there. Plumb's
 * own flows begin at an instant inside the slice. */
static void link_slice(struct chrome *c, const struct plumb_table_end *end, uint32_t flow)
{
    uint32_t slice = end->instant ? c->t->instants.slice[end->row] : end->row;
    if (slice != PLUMB_TABLE_NONE && !plumb_map_get(&c->links, (uint64_t)slice + 1))
        plumb_map_put(&c->links, (uint64_t)slice + 1, flow + 1);
}

static void look_at_flows(struct chrome *c)
{
    for (uint32_t i = 0; i < c->t->flow_count; i++) {
        const struct plumb_table_flow *f = &c->t->flows[i];
        if (!is_device(c, &f->to) || is_device(c, &f->from))
            continue;
        link_slice(c, &f->from, i);
        link_slice(c, &f->to, i);
    }
}

static bool look(struct chrome *c)
{
    const struct plumb_table *t = c->t;
    c->tracks = plumb_export_tracks(t);
    c->contains = calloc(t->strings.count + 1, 1);
    c->is_kineto = calloc(t->strings.count + 1, 1);
    if (!c->tracks || !c->contains || !c->is_kineto)
        return false;
    /* Steps that another export made are there already. */
    c->step_key = t->plumb ? plumb_strings_find(&t->strings, "step") : UINT32_MAX;
    if (!(c->has_steps = plumb_export_steppers(t, c->tracks, c->step_key)))
        return false;
    for (size_t i = 0; i < sizeof kineto / sizeof *kineto; i++) {
        uint32_t id = plumb_strings_find(&t->strings, kineto[i]);
        if (id != UINT32_MAX)
            c->is_kineto[id] = 1;
    }
    for (uint32_t i = 0; i < t->slices.count; i++)
        if (t->slices.parent[i] != PLUMB_TABLE_NONE)
            c->contains[t->slices.name[t->slices.parent[i]]] = 1;
    look_at_flows(c);
    c->all = (uint64_t)t->slices.count + t->instants.count + t->counters.count + t->flow_count;
    return true;
}

static void put_head(struct chrome *c, const char *name)
{
    struct plumb_export_head head;
    const char *key, *text;
    plumb_export_head_fill(&head, c->t, c->tracks, name);
    WRITE(c, plumb_chrome_head(c->x->room, &head.chrome));
    for (size_t i = 0; (key = plumb_export_head_fact(c->t, i, &text)) != NULL; i++)
        if (*text)
            WRITE(c, plumb_chrome_fact(c->x->room, key, text));
    WRITE(c, plumb_chrome_events(c->x->room));
}

static void put_meta(struct chrome *c, enum plumb_chrome_meta what, int64_t pid, int64_t tid,
                     const char *text, int64_t sort)
{
    WRITE(c, plumb_chrome_meta(c->x->room, what, pid, tid, text, sort));
}

static void put_process(struct chrome *c, int64_t pid, const char *name, const char *label,
                        int64_t sort)
{
    put_meta(c, PLUMB_CHROME_PROCESS_NAME, pid, 0, name, 0);
    put_meta(c, PLUMB_CHROME_PROCESS_LABELS, pid, 0, label, 0);
    put_meta(c, PLUMB_CHROME_PROCESS_SORT_INDEX, pid, 0, NULL, sort);
}

/* A program is known by the last part of its path. */
static const char *program_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The main thread, which has the number of its process, is shown first. */
static int64_t sort_index(const struct chrome *c, uint32_t track)
{
    const struct plumb_table_track *l = &c->t->tracks[track];
    if (l->rank)
        return l->rank;
    return l->kind == PLUMB_TRACK_THREAD && l->has_pid && l->pid == l->tid ? 0
                                                                           : c->tracks[track].tid;
}

static void put_track_names(struct chrome *c)
{
    const struct plumb_table *t = c->t;
    struct plumb_buf name = {0};
    int64_t devices = -1; /* the last that has its name: they are numbered as they come */
    for (uint32_t i = 0; i < t->track_count; i++) {
        const struct plumb_table_track *l = &t->tracks[i];
        int64_t pid = c->tracks[i].pid, tid = c->tracks[i].tid;
        name.len = 0;
        if (c->tracks[i].device && pid > devices) {
            const char *device = plumb_table_text(t, t->tracks[plumb_export_device(t, i)].name);
            put_process(c, pid, device, device, DEVICE_SORT + pid);
            devices = pid;
        } else if (l->kind == PLUMB_TRACK_PROCESS) {
            plumb_table_put_track(&name, t, i);
            put_process(c, pid, program_of(name.data ? name.data : ""), "CPU", pid);
        }
        if (l->kind == PLUMB_TRACK_COUNTER || (l->slices.count == 0 && l->instants.count == 0))
            continue;
        name.len = 0;
        if (t->plumb && l->kind == PLUMB_TRACK_THREAD && l->name && l->has_tid)
            plumb_buf_printf(&name, "thread %" PRId64 " (%s)", l->tid,
                             plumb_table_text(t, l->name));
        else if (c->tracks[i].device && l->name)
            plumb_buf_str(&name, plumb_table_text(t, l->name));
        else
            plumb_table_put_track(&name, t, i);
        put_meta(c, PLUMB_CHROME_THREAD_NAME, pid, tid, name.data, 0);
        put_meta(c, PLUMB_CHROME_THREAD_SORT_INDEX, pid, tid, NULL, sort_index(c, i));
    }
    plumb_buf_fini(&name);
}

/* ---- Spans ---------------------------------------------------------------------------------- */

static enum kind kind_of(const struct chrome *c, uint32_t slice)
{
    const struct plumb_table_slices *s = &c->t->slices;
    uint32_t name = s->name[slice], category = s->category[slice];
    bool device = c->tracks[s->track[slice]].device;
    if (category && (c->is_kineto[category] || !c->t->plumb))
        return OWN;
    if (device)
        return c->contains[name] ? DEVICE_ANNOTATION : KERNEL;
    return c->contains[name] || strncmp(plumb_table_text(c->t, name), "plumb.region::", 14) == 0
               ? ANNOTATION
               : OP;
}

static const char *category_of(const struct chrome *c, uint32_t slice, enum kind kind)
{
    return kind == OWN ? plumb_table_text(c->t, c->t->slices.category[slice]) : kind_names[kind];
}

/* A category of plumb's own is a phase. */
static size_t phase_arg(const struct chrome *c, uint32_t slice, enum kind kind,
                        struct plumb_chrome_arg *out)
{
    uint32_t category = c->t->slices.category[slice];
    if (kind == OWN || !category)
        return 0;
    *out = (struct plumb_chrome_arg){
        "phase", PLUMB_CHROME_TEXT, {.text = plumb_table_text(c->t, category)}};
    return 1;
}

/* The number of the piece; UINT32_MAX when there is no memory for it, or it is too long. */
static uint32_t name_piece(struct chrome *c, uint32_t slice, enum kind kind)
{
    enum { SIZE = 2 * PLUMB_CHROME_PIECE_MAX };
    const struct plumb_table_slices *s = &c->t->slices;
    uint64_t key = (uint64_t)s->name[slice] << 32 | (uint64_t)s->category[slice] << 3 | kind;
    uint64_t known = plumb_map_get(&c->piece_of, key + 1);
    unsigned char text[SIZE], *copy;
    struct plumb_out out = {text, sizeof text, 0};
    struct plumb_chrome_arg arg;
    if (known)
        return (uint32_t)known - 1;
    size_t args = phase_arg(c, slice, kind, &arg);
    c->names =
        plumb_arena_grow(&c->arena, c->names, &c->name_cap, c->name_count + 1, sizeof *c->names);
    if (!c->names ||
        !plumb_chrome_name_piece(&out, category_of(c, slice, kind),
                                 plumb_table_text(c->t, s->name[slice]), &arg, args) ||
        !(copy = plumb_arena_alloc(&c->arena, out.used + PLUMB_CHROME_PAD)) ||
        plumb_map_put(&c->piece_of, key + 1, c->name_count + 1) < 0)
        return UINT32_MAX;
    memcpy(copy, text, out.used);
    c->names[c->name_count] = (struct plumb_chrome_piece){copy, out.used};
    return (uint32_t)c->name_count++;
}

static void put_batch(struct chrome *c)
{
    for (size_t i = 0; i < c->batched;) {
        size_t n =
            plumb_chrome_spans(c->x->room, c->names, &c->track, c->batch + i, c->batched - i);
        i += n;
        if (i < c->batched)
            plumb_export_flush(c->x);
    }
    c->batched = 0;
}

static void put_event(struct chrome *c, const struct plumb_chrome_event *e)
{
    WRITE(c, plumb_chrome_event(c->x->room, e));
}

static void put_slice_with_args(struct chrome *c, uint32_t slice, enum kind kind, uint64_t link)
{
    const struct plumb_table_slices *s = &c->t->slices;
    const struct plumb_export_track *track = &c->tracks[s->track[slice]];
    struct plumb_chrome_arg args[PLUMB_CHROME_ARGS_MAX];
    size_t n = phase_arg(c, slice, kind, args);
    struct plumb_chrome_event e = {.phase = PLUMB_CHROME_SPAN,
                                   .category = category_of(c, slice, kind),
                                   .name = plumb_table_text(c->t, s->name[slice]),
                                   .pid = track->pid,
                                   .tid = track->tid,
                                   .ns = s->ts_ns[slice],
                                   .dur_ns = s->dur_ns[slice],
                                   .args = args};
    if (link) {
        args[n++] = (struct plumb_chrome_arg){"External id", PLUMB_CHROME_U64, {.u64 = link}};
        args[n++] = (struct plumb_chrome_arg){"correlation", PLUMB_CHROME_U64, {.u64 = link}};
    }
    if (link && track->device) {
        args[n++] = (struct plumb_chrome_arg){"device", PLUMB_CHROME_I64, {.i64 = track->pid}};
        args[n++] = (struct plumb_chrome_arg){"stream", PLUMB_CHROME_I64, {.i64 = track->tid}};
    }
    if (c->t->plumb && plumb_export_shapes(c->t, s->args[slice], s->args[slice + 1], &c->shapes)) {
        args[n++] =
            (struct plumb_chrome_arg){"Input Dims", PLUMB_CHROME_JSON, {.text = c->shapes.dims}};
        args[n++] =
            (struct plumb_chrome_arg){"Input type", PLUMB_CHROME_JSON, {.text = c->shapes.types}};
    }
    if (s->flags[slice] & PLUMB_SLICE_OPEN)
        args[n++] = (struct plumb_chrome_arg){"open", PLUMB_CHROME_BOOL, {.boolean = true}};
    e.arg_count = plumb_export_chrome_args(c->t, &c->t->slice_args, s->args[slice],
                                           s->args[slice + 1], args, n);
    put_event(c, &e);
}

static void put_slice(struct chrome *c, uint32_t slice)
{
    const struct plumb_table_slices *s = &c->t->slices;
    enum kind kind = kind_of(c, slice);
    uint64_t link = c->links.count ? plumb_map_get(&c->links, (uint64_t)slice + 1) : 0;
    bool plain = s->args[slice] == s->args[slice + 1] && !s->flags[slice] && !link;
    uint32_t piece = plain ? name_piece(c, slice, kind) : UINT32_MAX;
    if (piece == UINT32_MAX) {
        put_batch(c);
        put_slice_with_args(c, slice, kind, link);
        return;
    }
    c->batch[c->batched++] =
        (struct plumb_chrome_span){s->ts_ns[slice], s->dur_ns[slice], piece, 0};
    if (c->batched == BATCH)
        put_batch(c);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Readers add `ts` and `dur` as doubles of microseconds. Rounding then puts the end of a span after
 * the end of another that ends at the same time as often as before it. One nanosecond is more than
 * any such error, so a span that is one longer contains the other. Two are needed, or it would
 * reach into the span that follows it. */
static bool has_room(const struct chrome *c, uint32_t slice, uint32_t next, uint64_t end_ns)
{
    const struct plumb_table_slices *s = &c->t->slices;
    uint32_t parent = s->parent[slice];
    return (next == PLUMB_TABLE_NONE || s->ts_ns[next] >= end_ns + 2) &&
           (parent == PLUMB_TABLE_NONE || plumb_table_end_ns(c->t, parent) >= end_ns + 2);
}

/* Spans of one step in a row become one span around them, as profilers write that step in a loop.
 * It is written before them: of two spans of equal length, viewers draw the later one below the
 * earlier. */
static void put_step(struct chrome *c, uint32_t slice, uint32_t track_end)
{
    const struct plumb_table_slices *s = &c->t->slices;
    const struct plumb_export_track *track = &c->tracks[s->track[slice]];
    struct plumb_export_step step = plumb_export_step_of(c->t, slice, c->step_key);
    uint64_t end_ns = 0;
    uint32_t next = slice;
    char name[48];
    if (s->depth[slice] >= STEP_DEPTH)
        return;
    struct plumb_export_step *last = &c->steps[s->depth[slice]];
    bool begins = step.known && !plumb_export_same_step(*last, step);
    *last = step;
    if (!begins)
        return;
    for (; next < track_end &&
           plumb_export_same_step(plumb_export_step_of(c->t, next, c->step_key), step);
         next = plumb_table_after(c->t, next))
        end_ns = plumb_table_end_ns(c->t, next);
    if (has_room(c, slice, next < track_end ? next : PLUMB_TABLE_NONE, end_ns))
        end_ns++;
    snprintf(name, sizeof name, "ProfilerStep#%" PRId64, step.step);
    struct plumb_chrome_event e = {.phase = PLUMB_CHROME_SPAN,
                                   .category = kind_names[ANNOTATION],
                                   .name = name,
                                   .pid = track->pid,
                                   .tid = track->tid,
                                   .ns = s->ts_ns[slice],
                                   .dur_ns = end_ns - s->ts_ns[slice]};
    put_batch(c);
    put_event(c, &e);
}

/* ---- The rest ------------------------------------------------------------------------------- */

static void put_instants(struct chrome *c, uint32_t track)
{
    const struct plumb_table_instants *in = &c->t->instants;
    struct plumb_table_range range = c->t->tracks[track].instants;
    for (uint32_t i = range.first; i < range.first + range.count; i++) {
        struct plumb_chrome_arg args[PLUMB_CHROME_ARGS_MAX];
        struct plumb_chrome_event e = {
            .phase = PLUMB_CHROME_INSTANT,
            .category = in->category[i] ? plumb_table_text(c->t, in->category[i]) : NULL,
            .name = plumb_table_text(c->t, in->name[i]),
            .pid = c->tracks[track].pid,
            .tid = c->tracks[track].tid,
            .ns = in->ts_ns[i],
            .args = args,
        };
        e.arg_count = plumb_export_chrome_args(c->t, &c->t->instant_args, in->args[i],
                                               in->args[i + 1], args, 0);
        put_event(c, &e);
        plumb_export_tell(&c->x->progress, ++c->done, c->all);
    }
}

/* Viewers know a counter by its process and name. A later one of the same name says what it is:
 * plumb_counter_add() and plumb_gauge_set() may share one. */
static const char *counter_name(struct chrome *c, uint32_t track, struct plumb_buf *out)
{
    const struct plumb_table_track *l = &c->t->tracks[track];
    const char *name = plumb_table_text(c->t, l->name);
    uint64_t key = ((uint64_t)l->name << 32 | (uint32_t)c->tracks[track].pid) + 1;
    uint64_t same = plumb_map_get(&c->counters, key);
    plumb_map_put(&c->counters, key, same + 1);
    name = *name ? name : "value";
    if (same == 0)
        return name;
    plumb_buf_str(out, name);
    if (same == 1 && c->t->plumb)
        plumb_buf_str(out, l->whole ? " (total)" : " (value)");
    else
        plumb_buf_printf(out, " (%" PRIu64 ")", same + 1);
    return out->data ? out->data : name;
}

static void put_counters(struct chrome *c, uint32_t track)
{
    const struct plumb_table_track *l = &c->t->tracks[track];
    const struct plumb_table_counters *values = &c->t->counters;
    struct plumb_buf own = {0};
    const char *name = l->counters.count ? counter_name(c, track, &own) : "";
    for (uint32_t i = l->counters.first; i < l->counters.first + l->counters.count; i++) {
        struct plumb_chrome_arg value = {name, PLUMB_CHROME_F64, {.f64 = values->value[i].f64}};
        struct plumb_chrome_event e = {.phase = PLUMB_CHROME_COUNTER,
                                       .name = name,
                                       .pid = c->tracks[track].pid,
                                       .ns = values->ts_ns[i],
                                       .args = &value,
                                       .arg_count = 1};
        if (l->whole) {
            value.type = PLUMB_CHROME_I64;
            value.v.i64 = values->value[i].i64;
        }
        put_event(c, &e);
        plumb_export_tell(&c->x->progress, ++c->done, c->all);
    }
    plumb_buf_fini(&own);
}

/* Changes of a pool, in PyTorch's form for allocations: tools draw their picture of memory from
 * these. The addresses are not known and therefore left out. */
static void put_memory(struct chrome *c, uint32_t track)
{
    const struct plumb_table *t = c->t;
    struct plumb_export_pool pool;
    int64_t held = 0, reserved = 0;
    if (!plumb_export_pool(t, track, &pool))
        return;
    struct plumb_table_range own = t->tracks[track].counters, other = {0, 0};
    if (pool.reserved != PLUMB_TABLE_NONE)
        other = t->tracks[pool.reserved].counters;
    for (uint32_t i = own.first, k = other.first; i < own.first + own.count; i++) {
        uint64_t ns = t->counters.ts_ns[i];
        int64_t value = t->counters.value[i].i64, bytes = value - held;
        for (; k < other.first + other.count && t->counters.ts_ns[k] <= ns; k++)
            reserved = t->counters.value[k].i64;
        held = value;
        if (bytes == 0)
            continue;
        const struct plumb_chrome_arg args[] = {
            {"Bytes", PLUMB_CHROME_I64, {.i64 = bytes}},
            {"Device Id", PLUMB_CHROME_I64, {.i64 = pool.device}},
            {"Total Allocated", PLUMB_CHROME_I64, {.i64 = value}},
            {"Total Reserved", PLUMB_CHROME_I64, {.i64 = reserved}},
            {"Device Type", PLUMB_CHROME_I64, {.i64 = pool.type}},
        };
        struct plumb_chrome_event e = {.phase = PLUMB_CHROME_INSTANT,
                                       .category = "cpu_instant_event",
                                       .name = "[memory]",
                                       .pid = c->tracks[track].pid,
                                       .ns = ns,
                                       .args = args,
                                       .arg_count = pool.type < 0 ? 4 : 5};
        put_event(c, &e);
    }
}

static void put_track(struct chrome *c, uint32_t track)
{
    struct plumb_table_range range = c->t->tracks[track].slices;
    unsigned char text[PLUMB_CHROME_PIECE_MAX + PLUMB_CHROME_PAD] = {0};
    struct plumb_out out = {text, PLUMB_CHROME_PIECE_MAX, 0};
    plumb_chrome_track_piece(&out, c->tracks[track].pid, c->tracks[track].tid);
    c->track = (struct plumb_chrome_piece){text, out.used};
    for (uint32_t i = range.first; i < range.first + range.count; i++) {
        if (c->has_steps[track])
            put_step(c, i, range.first + range.count);
        put_slice(c, i);
        plumb_export_tell(&c->x->progress, ++c->done, c->all);
    }
    memset(c->steps, 0, sizeof c->steps);
    put_batch(c);
    put_instants(c, track);
    put_counters(c, track);
    put_memory(c, track);
}

static void put_flow_end(struct chrome *c, const struct plumb_table_end *end, uint64_t ns,
                         enum plumb_chrome_phase phase, const char *what, uint64_t id)
{
    const struct plumb_table *t = c->t;
    uint32_t track = end->instant ? t->instants.track[end->row] : t->slices.track[end->row];
    struct plumb_chrome_event e = {.phase = phase,
                                   .category = what,
                                   .name = what,
                                   .pid = c->tracks[track].pid,
                                   .tid = c->tracks[track].tid,
                                   .ns = ns,
                                   .id = id};
    put_event(c, &e);
}

static void put_flows(struct chrome *c)
{
    for (uint32_t i = 0; i < c->t->flow_count; i++) {
        const struct plumb_table_flow *f = &c->t->flows[i];
        const char *what = is_device(c, &f->to) ? "ac2g" : "flow";
        put_flow_end(c, &f->from, f->from_ns, PLUMB_CHROME_FLOW_START, what, i + 1);
        put_flow_end(c, &f->to, f->to_ns, PLUMB_CHROME_FLOW_END, what, i + 1);
        plumb_export_tell(&c->x->progress, ++c->done, c->all);
    }
}

static int64_t first_pid(const struct chrome *c)
{
    for (uint32_t i = 0; i < c->t->track_count; i++)
        if (!c->tracks[i].device)
            return c->tracks[i].pid;
    return 0;
}

int plumb_export_chrome(struct plumb_export_out *out, const struct plumb_table *t, const char *name,
                        plumb_error *err)
{
    int rc = PLUMB_OK;
    struct chrome *c = calloc(1, sizeof *c);
    if (!c)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export");
    c->x = out;
    c->t = t;
    if (!look(c)) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export");
        goto out;
    }
    put_head(c, name);
    put_track_names(c);
    for (uint32_t i = 0; i < t->track_count && !out->failed; i++)
        put_track(c, i);
    if (!out->failed)
        put_flows(c);
    WRITE(c, plumb_chrome_end(out->room, first_pid(c), t->end_ns));
out:
    plumb_arena_fini(&c->arena);
    plumb_map_fini(&c->piece_of);
    plumb_map_fini(&c->links);
    plumb_map_fini(&c->counters);
    free(c->tracks);
    free(c->contains);
    free(c->is_kineto);
    free(c->has_steps);
    free(c);
    return rc;
}

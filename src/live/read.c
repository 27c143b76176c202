/* read.c: reads a whole mapping: undoes interrupted folds, adds up threads, replays the blocks that
 * were not folded, converts to nanoseconds. The mapping may be a damaged file: every offset goes
 * through plumb_live_at(), and the length of every list is bounded by the size of the file. */
#include "live/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "live/clock.h"
#include "live/ledger_read.h"
#include "live/metric_read.h"
#include "live/trace_drops.h"
#include "live/undo.h"

struct reader {
    struct plumb_merge m;
    struct plumb_timing *t;
    double tick_ns;
    struct plumb_anchor end;
    size_t open_cap;
    uint32_t *node_of; /* of each row: its index among the report's nodes */
};

/* ---- Threads --------------------------------------------------------------------------------- */

/* Calls `each` for every thread block. */
static void for_threads(struct reader *r, void (*each)(struct reader *, struct plumb_live_thread *))
{
    uint64_t off = r->m.view.h->thread_off;
    size_t most = r->m.view.bytes / sizeof(struct plumb_live_thread) + 1;
    for (; off && most; most--) {
        struct plumb_live_thread *th = plumb_live_at(&r->m.view, off, sizeof *th);
        if (!th)
            return;
        each(r, th);
        off = th->next_off;
    }
}

static void each_state(struct reader *r, const struct plumb_live_thread *th,
                       void (*each)(struct plumb_merge *, const struct plumb_live_state *))
{
    uint64_t off = th->state_off;
    for (uint32_t left = th->states; off && left; left--) {
        struct plumb_live_state *st = plumb_live_at(&r->m.view, off, sizeof *st);
        if (!st)
            return;
        each(&r->m, st);
        off = st->next_off;
    }
}

static void add_state(struct plumb_merge *m, const struct plumb_live_state *st)
{
    plumb_merge_state(m, st);
}

/* Adds the samples that skip_first_n has taken on all threads, before any block is replayed. */
static void add_skipped(struct reader *r, struct plumb_live_thread *th)
{
    plumb_live_undo(&r->m, th);
    each_state(r, th, plumb_merge_skipped);
}

/* Adds the thread's places. Returns the merged place of each, or NULL if there is none. */
static uint32_t *add_places(struct reader *r, struct plumb_live_thread *th)
{
    uint32_t n = th->tree.count;
    uint32_t *map;
    if (n == 0 || n > r->m.view.bytes / sizeof(struct plumb_live_tree))
        return NULL;
    map = calloc(n, sizeof *map);
    for (uint32_t i = 1; map && i < n; i++) {
        const struct plumb_live_tree *t =
            plumb_live_element(&r->m.view, &th->tree, i, sizeof(struct plumb_live_tree));
        if (t)
            plumb_merge_place(&r->m, map, i, t);
    }
    return map;
}

static void add_open_frame(struct reader *r, const struct plumb_live_frame *f, uint32_t tid,
                           uint32_t depth)
{
    struct plumb_timing *t = r->t;
    struct plumb_timing_open *open =
        plumb_arena_grow(&t->arena, t->open, &r->open_cap, t->open_count + 1, sizeof *open);
    if (!open)
        return;
    t->open = open;
    t->open[t->open_count++] = (struct plumb_timing_open){
        plumb_live_node_name(&r->m.view, plumb_key_node(f->key)),
        plumb_live_phase_name(&r->m.view, plumb_key_group(f->key) & 0xff),
        tid,
        depth,
        r->end.ticks > f->begin_ticks ? plumb_ticks_to_ns(r->end.ticks - f->begin_ticks, r->tick_ns)
                                      : 0,
        plumb_live_pipeline_name(&r->m.view, plumb_key_group(f->key) >> 8 & 0xff)};
}

static void add_open(struct reader *r, const struct plumb_live_thread *th)
{
    for (uint32_t d = 1; d <= th->context.depth; d++)
        add_open_frame(r, &th->frames[d], th->tid, d);
}

/* Adds the spans of the block just replayed that the trace lacks. */
static void add_unmet(struct reader *r, const struct plumb_live_thread *th)
{
    const struct plumb_live_queue *q = plumb_live_at(&r->m.view, th->queue_off, sizeof *q);
    for (uint64_t i = 0; q && i < q->unmet.count && i < PLUMB_TRACE_WORDS; i++)
        plumb_merge_untraced(&r->m, q->unmet.of[i].key, q->unmet.of[i].spans);
}

/* The blocks that were not folded. */
static void add_blocks(struct reader *r, struct plumb_live_thread *th)
{
    for (uint32_t i = 1; i <= th->blocks; i++) {
        uint64_t number = th->folded + i;
        const uint64_t *words =
            plumb_live_at(&r->m.view, th->ring_off + number % th->blocks * PLUMB_BLOCK_WORDS * 8,
                          PLUMB_BLOCK_WORDS * 8);
        if (!words || words[1] != number)
            return;
        plumb_merge_block(&r->m, &th->context, th->frames, words);
    }
}

static void add_thread(struct reader *r, struct plumb_live_thread *th)
{
    uint32_t *map, n = th->tree.count;
    plumb_live_undo(&r->m, th);
    if (th->context.depth > PLUMB_DEPTH_MAX)
        return;
    plumb_merge_thread(&r->m, th->generation);
    each_state(r, th, add_state);
    map = add_places(r, th);
    for (uint32_t d = 1; d <= th->context.depth; d++)
        th->frames[d].tree = map && th->frames[d].tree < n ? map[th->frames[d].tree] : 0;
    th->context.base_tree = map && th->context.base_tree < n ? map[th->context.base_tree] : 0;
    add_blocks(r, th);
    add_unmet(r, th);
    free(map);
    r->t->overhead.spans += th->context.spans;
    add_open(r, th);
}

static void add_open_async(struct reader *r)
{
    for (uint32_t c = 0; c < PLUMB_ASYNC_CHUNKS && r->m.view.h->async_off[c]; c++) {
        const struct plumb_live_async *a =
            plumb_live_at(&r->m.view, r->m.view.h->async_off[c], PLUMB_ASYNC_CHUNK * sizeof *a);
        for (uint32_t i = 0; a && i < PLUMB_ASYNC_CHUNK; i++) {
            struct plumb_live_frame one = {.key = plumb_key(a[i].group, a[i].node),
                                           .begin_ticks = a[i].begin_ticks};
            if (a[i].state & PLUMB_ASYNC_OPEN)
                add_open_frame(r, &one, a[i].tid, 1);
        }
    }
}

/* Moves the end to the newest reading of the counter: the process lived at least that long. */
static void extend_end(struct reader *r)
{
    uint64_t ticks = plumb_live_newest_ticks(&r->m, &r->end);
    uint64_t more_ns = plumb_ticks_to_ns(ticks - r->end.ticks, r->tick_ns);
    r->end.ticks = ticks;
    r->end.raw_ns += more_ns;
    r->end.unix_ns += more_ns;
}

/* ---- The report ------------------------------------------------------------------------------ */

static void fill_lists(struct reader *r)
{
    struct plumb_timing *t = r->t;
    size_t cap = 0, env_cap = 0;
    uint64_t off = r->m.view.h->note_off;
    for (int most = 1000; off && most; most--) {
        const struct plumb_live_note *n = plumb_live_at(&r->m.view, off, sizeof *n);
        const char **notes;
        if (!n || !(notes = plumb_arena_grow(&t->arena, t->notes, &cap, t->note_count + 1,
                                             sizeof *notes)))
            break;
        t->notes = notes;
        t->notes[t->note_count++] = plumb_live_text(&r->m.view, n->text_off);
        off = n->next_off;
    }
    off = r->m.view.h->environment_off;
    for (int most = 1000; off && most; most--) {
        const struct plumb_live_note *n = plumb_live_at(&r->m.view, off, sizeof *n);
        struct plumb_timing_pair *env;
        const char *text = n ? plumb_live_text(&r->m.view, n->text_off) : "";
        const char *eq = strchr(text, '=');
        if (!n || !eq ||
            !(env = plumb_arena_grow(&t->arena, t->env, &env_cap, t->env_count + 1, sizeof *env)))
            break;
        t->env = env;
        t->env[t->env_count++] = (struct plumb_timing_pair){
            plumb_arena_strndup(&t->arena, text, (size_t)(eq - text)), eq + 1};
        off = n->next_off;
    }
}

static void note_count(struct reader *r, const char *what, uint64_t n)
{
    if (n)
        plumb_timing_note(r->t, plumb_arena_printf(&r->t->arena, "%" PRIu64 " %s", n, what));
}

/* Notes that the file stopped growing, and lacks what its process recorded in private memory
 * later. */
static void note_frozen(struct reader *r)
{
    const struct plumb_live_header *h = r->m.view.h;
    uint64_t ns = plumb_live_at_ns(h, &r->end, r->tick_ns, h->frozen_ticks);
    if (!h->frozen_ticks)
        return;
    plumb_timing_note(
        r->t, plumb_arena_printf(&r->t->arena,
                                 "incomplete: live.plumb could not grow any more %.3f s after "
                                 "the start (%s); what was recorded later is not here",
                                 (double)ns * 1e-9, strerror((int)h->frozen_errno)));
}

/* Adds notes for losses that have no field in the report. */
static void note_losses(struct reader *r)
{
    note_count(r, "rows are lost: live.plumb could not grow to hold them, or was cut short",
               r->m.missing);
    note_count(r, "scopes were not applied: a thread had 64 nested already",
               PLUMB_LOAD(r->m.view.h->drops[PLUMB_DROP_SCOPE]));
    note_count(r,
               "uses of names of instants, counters, arguments, checkpoints or metrics were "
               "recorded as (other): their names take more than a sixteenth of PLUMB_MAX_STATE",
               PLUMB_LOAD(r->m.view.h->drops[PLUMB_DROP_NAMES]));
    note_count(
        r,
        "memory checkpoints were not kept: a request keeps 64, a run without one PLUMB_MAX_NODES",
        PLUMB_LOAD(r->m.view.h->drops[PLUMB_DROP_CHECKPOINT]));
}

static void fill_drops(struct reader *r)
{
    const uint64_t *d = r->m.view.h->drops;
    struct plumb_timing *t = r->t;
    t->drops.other_nodes = d[PLUMB_DROP_NODES];
    t->drops.other_state = d[PLUMB_DROP_STATE] + r->m.other;
    t->drops.lost_state = d[PLUMB_DROP_LOST];
    t->drops.too_deep = d[PLUMB_DROP_DEPTH];
    t->drops.async = d[PLUMB_DROP_ASYNC];
    t->drops.reentrant = d[PLUMB_DROP_REENTRANT];
    t->drops.stale = d[PLUMB_DROP_STALE];
    t->drops.range = d[PLUMB_DROP_RANGE];
    t->drops.other_phases = d[PLUMB_DROP_PHASES];
    t->drops.other_pipelines = d[PLUMB_DROP_PIPELINES];
    t->drops.tree = d[PLUMB_DROP_TREE];
    for (size_t i = 0; i < t->node_count; i++)
        t->drops.unbalanced += t->nodes[i].unbalanced;
}

/* Returns NULL if the run does not have the fact. */
static const char *known_fact(struct reader *r, enum plumb_live_fact which)
{
    return r->m.view.h->fact_off[which] ? plumb_live_fact_text(&r->m.view, which) : NULL;
}

static void fill_runtime(struct reader *r)
{
    struct plumb_timing *t = r->t;
    const char *names = known_fact(r, PLUMB_FACT_GPUS);
    size_t cap = 0;
    t->runtime.libc = known_fact(r, PLUMB_FACT_LIBC);
    t->runtime.compiler = known_fact(r, PLUMB_FACT_COMPILER);
    t->runtime.nvidia_driver = known_fact(r, PLUMB_FACT_NVIDIA_DRIVER);
    t->runtime.git_commit = known_fact(r, PLUMB_FACT_GIT_COMMIT);
    t->runtime.framework = known_fact(r, PLUMB_FACT_FRAMEWORK);
    t->runtime.framework_version = known_fact(r, PLUMB_FACT_FRAMEWORK_VERSION);
    while (names && *names) {
        size_t n = strcspn(names, "\n");
        const char **gpus = plumb_arena_grow(&t->arena, t->runtime.gpus, &cap,
                                             t->runtime.gpu_count + 1, sizeof *gpus);
        if (!gpus)
            break;
        t->runtime.gpus = gpus;
        gpus[t->runtime.gpu_count++] = plumb_arena_strndup(&t->arena, names, n);
        names += n + (names[n] == '\n');
    }
}

static void fill_head(struct reader *r)
{
    const struct plumb_live_header *h = r->m.view.h;
    struct plumb_timing *t = r->t;
    t->plumb_version = plumb_live_fact_text(&r->m.view, PLUMB_FACT_VERSION);
    t->request_id = plumb_live_fact_text(&r->m.view, PLUMB_FACT_REQUEST);
    t->program = plumb_live_fact_text(&r->m.view, PLUMB_FACT_PROGRAM);
    t->command = plumb_live_fact_text(&r->m.view, PLUMB_FACT_COMMAND);
    t->pipeline = plumb_live_fact_text(&r->m.view, PLUMB_FACT_PIPELINE);
    t->host = plumb_live_fact_text(&r->m.view, PLUMB_FACT_HOST);
    t->cpu = plumb_live_fact_text(&r->m.view, PLUMB_FACT_CPU);
    t->kernel = plumb_live_fact_text(&r->m.view, PLUMB_FACT_KERNEL);
    t->rank_source = known_fact(r, PLUMB_FACT_RANK_SOURCE);
    fill_runtime(r);
    t->pid = h->pid;
    t->cpus = h->cpus;
    t->rank = h->rank;
    t->world_size = h->world_size;
    t->local_rank = h->local_rank;
    t->skip_first_n = t->pipeline_count ? t->pipelines[0].skip_first_n : h->skip_first_n;
    t->start_unix_ns = h->start.unix_ns;
    t->end_unix_ns = r->end.unix_ns;
    t->wall_clock_ns = r->end.raw_ns > h->start.raw_ns ? r->end.raw_ns - h->start.raw_ns : 0;
    t->clock.source = h->clock_source == PLUMB_CLOCK_TSC       ? "tsc"
                      : h->clock_source == PLUMB_CLOCK_VIRTUAL ? "virtual"
                                                               : "clock_gettime";
    t->clock.tick_ns = r->tick_ns;
    t->clock.resolution_ns = (double)h->step_ticks * r->tick_ns;
    t->overhead.span_ns = (double)h->overhead_ticks_x1000 * 1e-3 * r->tick_ns;
    t->overhead.work_span_ns = (double)h->overhead_work_ticks_x1000 * 1e-3 * r->tick_ns;
    t->overhead.total_ns = t->overhead.work_span_ns * (double)t->overhead.spans;
    t->overhead.threads_ns = h->own_cpu_ns;
}

/* A window that is open has what there is until now; the recovery of its file knows more. */
static void fill_windows(struct reader *r)
{
    const struct plumb_live_view *s = &r->m.view;
    uint32_t n = PLUMB_ACQUIRE(s->h->windows.count);
    struct plumb_timing *t = r->t;
    t->windows_all = s->h->windows_all;
    if (n > PLUMB_TRACE_WINDOWS || !n)
        return;
    t->windows = plumb_arena_alloc(&t->arena, n * sizeof *t->windows);
    for (uint32_t i = 0; t->windows && i < n; i++) {
        const struct plumb_live_window *w = plumb_live_element(s, &s->h->windows, i, sizeof *w);
        uint64_t off = w ? PLUMB_ACQUIRE(w->off_ticks) : 0;
        if (!w)
            return;
        t->windows[t->window_count++] = (struct plumb_timing_window){
            .file = plumb_arena_strdup(&t->arena, plumb_live_text(s, w->path_off)),
            .end = off ? plumb_trace_end_name(w->end) : "open",
            .from_ns = plumb_live_at_ns(s->h, &r->end, r->tick_ns, w->on_ticks),
            .to_ns = off ? plumb_live_at_ns(s->h, &r->end, r->tick_ns, off)
                         : r->end.raw_ns - s->h->start.raw_ns,
            .bytes = w->bytes,
            .spans = w->spans,
            .dropped = off ? w->dropped : plumb_trace_lost_here(s),
            .threads_left_out = w->apart,
        };
    }
}

static void fill_trace(struct reader *r)
{
    const struct plumb_live_trace *h = &r->m.view.h->trace;
    const struct plumb_live_view *s = &r->m.view;
    struct plumb_timing *t = r->t;
    fill_windows(r);
    if (h->mode == PLUMB_LIVE_TRACE_NONE || h->window)
        return;
    t->trace.mode = h->mode == PLUMB_LIVE_TRACE_RING ? "ring" : "stop";
    t->trace.end = plumb_trace_end_text(r->m.view.h);
    t->trace.bytes = h->file_bytes;
    t->trace.spans = h->file_spans;
    t->trace.dropped = plumb_trace_lost(s, &t->trace.dropped_threads);
    t->trace.kept = h->kept;
    t->trace.kept_refused = h->kept_refused;
}

static void fill_ledger(struct reader *r)
{
    struct plumb_ledger_reader l = {r->t, &r->m, r->node_of, r->end, r->tick_ns, NULL};
    plumb_ledger_read(&l);
}

/* Strings still point into the mapping, which may go away. */
static void own(struct plumb_arena *a, const char **text)
{
    *text = plumb_arena_strdup(a, *text);
}

static void own_strings(struct plumb_timing *t)
{
    const char **head[] = {&t->plumb_version,
                           &t->request_id,
                           &t->program,
                           &t->command,
                           &t->pipeline,
                           &t->host,
                           &t->cpu,
                           &t->kernel,
                           &t->rank_source,
                           &t->runtime.libc,
                           &t->runtime.compiler,
                           &t->runtime.nvidia_driver,
                           &t->runtime.git_commit,
                           &t->runtime.framework,
                           &t->runtime.framework_version};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        own(&t->arena, head[i]);
    for (size_t i = 0; i < t->node_count; i++) {
        struct plumb_timing_node *n = &t->nodes[i];
        own(&t->arena, &n->name);
        own(&t->arena, &n->pipeline);
        own(&t->arena, &n->phase);
        own(&t->arena, &n->last_failure);
        for (size_t s = 0; s < n->site_count; s++)
            own(&t->arena, &n->sites[s].file);
    }
    for (size_t i = 0; i < t->pipeline_count; i++)
        own(&t->arena, &t->pipelines[i].name);
    for (size_t i = 0; i < t->open_count; i++) {
        own(&t->arena, &t->open[i].node);
        own(&t->arena, &t->open[i].phase);
        own(&t->arena, &t->open[i].pipeline);
    }
    for (size_t i = 0; i < t->env_count; i++)
        own(&t->arena, &t->env[i].value);
    for (size_t i = 0; i < t->note_count; i++)
        own(&t->arena, &t->notes[i]);
    plumb_ledger_own(t);
}

/* The frame holds a struct plumb_merge: 8 KiB. A mapping is read when a run ends, or by a
 * command. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
int plumb_live_view_to_timing(struct plumb_timing *out, const struct plumb_live_view *view,
                              const struct plumb_anchor *end, plumb_error *err)
{
    struct reader r = {.t = out};
    const struct plumb_live_header *h = view->h;
    bool recording = view->loader && end;
    double ppm;
    int rc;
    if (view->bytes < sizeof *h || h->magic != PLUMB_LIVE_MAGIC ||
        h->version != PLUMB_LIVE_VERSION || h->header_bytes != sizeof *h)
        return plumb_fail(
            err, PLUMB_ERR_FORMAT,
            "not of this version of plumb, or cut short: read it with the plumb that recorded it");
    r.end = end ? *end : plumb_live_clock_newest(h);
    r.tick_ns = plumb_live_tick_ns(h, end, &ppm);
    if (!(r.tick_ns > 1e-3 && r.tick_ns < 1e3))
        return plumb_fail(err, PLUMB_ERR_FORMAT, "damaged: its clock makes no sense");
    r.m.view = *view;
    rc = plumb_merge_open(&r.m, &out->arena, view, true);
    if (rc == PLUMB_OK && r.m.missing && r.m.row_count == 0)
        rc = PLUMB_ERR_FORMAT;
    if (rc == PLUMB_OK) {
        for_threads(&r, add_skipped);
        if (!recording)
            plumb_trace_settle(&r.m.view);
        if (!end)
            extend_end(&r);
        for_threads(&r, add_thread);
        add_open_async(&r);
        rc = plumb_live_rows(out, &r.m, r.tick_ns, &r.end, &r.node_of);
    }
    if (rc == PLUMB_OK) {
        plumb_live_fill_metrics(out, &r.m.view, &r.end, r.tick_ns);
        fill_lists(&r);
        note_losses(&r);
        if (!end || recording)
            note_frozen(&r);
        plumb_live_clock_note(out, h, r.tick_ns);
        plumb_live_regions_note(out, &r.m);
        fill_drops(&r);
        fill_head(&r);
        fill_trace(&r);
        fill_ledger(&r);
        out->clock.drift_ppm = ppm;
        own_strings(out);
    }
    plumb_merge_close(&r.m);
    if (rc == PLUMB_OK && out->arena.failed)
        rc = PLUMB_ERR_MEMORY;
    if (rc < 0)
        return plumb_fail(err, rc, "%s",
                          rc == PLUMB_ERR_MEMORY ? "out of memory while reading it"
                                                 : "damaged: no node in it can be read");
    return PLUMB_OK;
}
#pragma GCC diagnostic pop

int plumb_live_to_timing(struct plumb_timing *out, unsigned char *base, size_t bytes,
                         const struct plumb_anchor *end, plumb_error *err)
{
    struct plumb_live_view view = plumb_live_view_of(base, bytes);
    return plumb_live_view_to_timing(out, &view, end, err);
}

/* stage.c: begin and end of stages: memory before and after, the request's records, log lines. */
#include "record/stage/stage.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/node.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/capture.h"
#include "record/stage/hook.h"
#include "record/stage/ledger.h"
#include "record/stage/memory_pool.h"
#include "record/stage/perf.h"
#include "record/trace/active_steps.h"

enum { MEASURED = PLUMB_POINT_STAGE | PLUMB_POINT_MEMORY };

static const char *name_of(uint32_t node)
{
    return plumb_node_at(node)->name;
}

static const char *pipeline_of(uint32_t group)
{
    return PLUMB_ACQUIRE(plumb_rt.pipelines[group >> 8 & 0xff].name);
}

static bool reads_memory(uint32_t flags)
{
    return PLUMB_LOAD(plumb_rt.settings.memory) != PLUMB_MEMORY_OFF &&
           (flags & (PLUMB_POINT_STAGE | PLUMB_POINT_MEMORY)) != 0;
}

void plumb_stage_checkpoint(const char *when, uint32_t node)
{
    char name[600];
    if (!PLUMB_LOAD(plumb_rt.settings.memory_checkpoints))
        return;
    snprintf(name, sizeof name, "%s_%s", when, name_of(node));
    plumb_checkpoint_impl(name, 0);
}

/* ---- Begin ----------------------------------------------------------------------------------- */

void plumb_stage_log_begin(uint32_t node, uint32_t group)
{
    plumb_log(PLUMB_LOG_INFO, "[%s|%s] Starting execution", name_of(node), pipeline_of(group));
}

static struct plumb_stage_run *room(struct plumb_thread *th)
{
    if (!th->stage)
        th->stage = plumb_pages_map(PLUMB_STAGES_MAX * sizeof *th->stage);
    return th->stage && th->stages < PLUMB_STAGES_MAX ? &th->stage[th->stages] : NULL;
}

/* Inside enter, under the ledger's lock. */
static uint32_t open_scope(struct plumb_in in, uint32_t flags, const struct plumb_rss *rss)
{
    uint32_t scope_flags = flags & PLUMB_POINT_RUNNING_PEAK ? PLUMB_SCOPE_RUNNING_PEAK : 0, scope;
    if (reads_memory(flags))
        scope_flags |= PLUMB_SCOPE_RSS;
    plumb_sized_flush(in);
    scope = plumb_scope_open(in, scope_flags, rss);
    if (rss->now)
        plumb_series_point(in.run, plumb_ticks_from(in.th->clock), rss->now);
    return scope;
}

/* Inside enter: begins the span and stores the data for its end. no_span: none was begun. */
static plumb_span begin_inside(struct plumb_in in, uint32_t node, uint32_t flags,
                               const struct plumb_rss *rss, const struct plumb_hooks *hooks)
{
    bool measured = (flags & MEASURED) != 0;
    struct plumb_stage_run *s = room(in.th); /* a hook may have begun stages */
    struct plumb_live_memory unused;
    struct plumb_stage_run begun = {
        .node = node, .flags = flags, .step = in.th->step, .hooks = hooks};
    plumb_span span;
    if (measured) {
        plumb_ledger_lock();
        begun.request = plumb_request_current(in);
        begun.scope = s ? open_scope(in, flags, rss) : 0;
        plumb_ledger_unlock();
    }
    if (in.th->perf && measured && s)
        plumb_perf_begin(in, in.th->stages);
    span = plumb_begin_inside(in, node, &begun.begin_ticks);
    if (span.id && s) {
        begun.span = span.id;
        begun.key = plumb_key(in.th->group, node);
        begun.begin_ns = flags & PLUMB_POINT_STAGE ? plumb_clock_gettime_ns(CLOCK_MONOTONIC) : 0;
        begun.depth = plumb_depth(in.th);
        *s = begun;
        in.th->stages++;
        span.id |= PLUMB_STAGE_BIT;
    } else if (begun.scope) {
        plumb_ledger_lock();
        plumb_scope_close(in, begun.scope, NULL, &unused);
        plumb_ledger_unlock();
    }
    return span;
}

plumb_span plumb_stage_begin(struct plumb_thread *th, uint32_t node, uint32_t flags)
{
    const struct plumb_hooks *hooks =
        PLUMB_LOAD(plumb_rt.hooked) ? PLUMB_ACQUIRE(plumb_node_at(node)->hooks) : NULL;
    struct plumb_rss rss = {0, 0};
    plumb_span span = {0};
    struct plumb_in in;
    if (!room(th))
        return plumb_begin_plain(th, node);
    if (hooks)
        plumb_hooks_before(hooks, node);
    if (plumb_perf_is_on() && flags & MEASURED)
        plumb_perf_before(th);
    if (flags & PLUMB_POINT_STAGE) {
        /* Before the span: the time of the log line is not the stage's. */
        plumb_stage_log_begin(node, th->group);
    }
    /* Before memory is read: work that was launched earlier may still change it. */
    plumb_begin_wait(th, node);
    if (flags & PLUMB_POINT_STAGE)
        plumb_stage_checkpoint("before", node);
    if (reads_memory(flags))
        rss = plumb_rss_read();
    if (plumb_enter(&in, false)) {
        span = begin_inside(in, node, flags, &rss, hooks);
        plumb_leave(in);
    }
    if (span.id)
        plumb_begin_report(th, node);
    if (hooks && !(span.id & PLUMB_STAGE_BIT))
        plumb_hooks_after(hooks, node);
    return span;
}

struct plumb_stage_run *plumb_stage_of(struct plumb_thread *th, plumb_span span)
{
    for (uint32_t i = th->stages; span.id & PLUMB_STAGE_BIT && i-- > 0;) {
        if ((th->stage[i].span | PLUMB_STAGE_BIT) == span.id)
            return &th->stage[i];
    }
    return NULL;
}

/* ---- End ------------------------------------------------------------------------------------- */

/* Removes the innermost stage; its hooks are called when the thread is outside the runtime. */
static const struct plumb_stage_run *forget_innermost(struct plumb_thread *th)
{
    const struct plumb_stage_run *s = &th->stage[--th->stages];
    if (s->captured)
        plumb_capture_left(s->span);
    if (s->hooks && th->unhooked < PLUMB_STAGES_MAX)
        th->unhook[th->unhooked++] = (struct plumb_unhook){s->hooks, s->node};
    return s;
}

uint64_t plumb_stage_within(const struct plumb_thread *th)
{
    for (uint32_t i = th->stages; i-- > 0;) {
        if (th->stage[i].flags & PLUMB_POINT_STAGE)
            return th->stage[i].key + 1;
    }
    for (uint32_t i = th->path_depth; i-- > 0;) {
        if (PLUMB_LOAD(plumb_node_at(th->path[i])->flags) & PLUMB_POINT_STAGE)
            return plumb_key(th->group, th->path[i]) + 1;
    }
    return 0;
}

/* Returns whether the thread works below a stage of another thread. */
bool plumb_stage_below_another(const struct plumb_thread *th)
{
    for (uint32_t i = 0; i < th->path_depth; i++) {
        if (PLUMB_LOAD(plumb_node_at(th->path[i])->flags) & PLUMB_POINT_STAGE)
            return true;
    }
    return false;
}

/* Returns the innermost open stage of a request, or NULL. */
static struct plumb_stage_run *around(struct plumb_thread *th, uint64_t request)
{
    for (uint32_t i = th->stages; request && i-- > 0;) {
        if (th->stage[i].request == request)
            return &th->stage[i];
    }
    return NULL;
}

bool plumb_stage_is_outermost(struct plumb_thread *th, uint64_t request)
{
    return !around(th, request) && (th->stages > 0 || !plumb_stage_below_another(th));
}

/* `s`, which is no longer open, is dropped except for the time of the stages that ended inside it.
 * That time goes to the stage around it, or to the request itself. Under the ledger's lock. */
static void pass_on(struct plumb_in in, const struct plumb_stage_run *s)
{
    struct plumb_thread *th = in.th;
    struct plumb_stage_run *outer = around(th, s->request);
    if (th->stages)
        th->stage[th->stages - 1].child_ticks += s->child_ticks;
    if (outer)
        outer->inside_ticks += s->inside_ticks;
    else if (s->inside_ticks && plumb_stage_is_outermost(th, s->request))
        plumb_request_took(in.run, s->request, s->inside_ticks);
}

void plumb_stages_closed(struct plumb_in in, uint32_t depth)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_memory unused;
    while (th->stages && th->stage[th->stages - 1].depth > depth) {
        const struct plumb_stage_run *s = forget_innermost(th);
        plumb_ledger_lock();
        pass_on(in, s);
        if (s->scope)
            plumb_scope_close(in, s->scope, NULL, &unused);
        plumb_ledger_unlock();
    }
}

void plumb_stages_unhook(struct plumb_thread *th)
{
    struct plumb_unhook left[PLUMB_STAGES_MAX]; /* a hook may close stages as well */
    uint32_t n = th->unhooked;
    if (n)
        memcpy(left, th->unhook, n * sizeof left[0]);
    th->unhooked = 0;
    for (uint32_t i = 0; i < n; i++)
        plumb_hooks_after(left[i].hooks, left[i].node);
}

void plumb_stages_late(struct plumb_thread *th, uint32_t depth)
{
    while (th->stages && th->stage[th->stages - 1].depth > depth)
        forget_innermost(th);
    plumb_stages_unhook(th);
}

/* Returns the time of a stage that has just ended, without all spans inside, from the frames of a
 * fold made for that. A leaf span is folded without a frame. */
static uint64_t self_ticks(struct plumb_in in, const struct plumb_stage_run *s, uint64_t took)
{
    const struct plumb_live_frame *f = &in.th->live->frames[s->depth];
    uint64_t child = 0;
    plumb_block_settle(in, plumb_ticks_from(in.th->clock));
    if (f->begin_ticks == s->begin_ticks && f->key == s->key)
        child = f->child_ticks;
    return took > child ? took - child : 0;
}

static void enter_run(struct plumb_in in, const struct plumb_stage_run *s,
                      struct plumb_stage_entry *e)
{
    bool signature = s->told && !s->mark;
    struct plumb_rss rss = {0, 0};
    if (signature)
        e->self_ticks = self_ticks(in, s, plumb_stage_took(e));
    if (reads_memory(s->flags))
        rss = plumb_rss_read();
    plumb_ledger_lock();
    plumb_sized_flush(in);
    plumb_scope_close(in, s->scope, &rss, &e->memory);
    e->tid = in.th->tid;
    plumb_ledger_stage_run(in.run, e);
    if (in.run->active)
        e->counts = plumb_active_has(in.run, in.th->step);
    if (e->perf && e->counts) {
        plumb_perf_enter(in.run, e->key, e->perf);
        plumb_step_counters(in.run, e);
    }
    if (signature)
        plumb_signature_enter(in.run, e, in.th->pack[in.th->stages]);
    plumb_ledger_unlock();
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* Reports the memory of all pools; without pools, the resident set; without that, zeros. */
static void log_memory(const char *name, double ms, const struct plumb_live_memory *m)
{
    uint64_t a = 0, r = 0, peak_a = 0, peak_r = 0;
    for (uint32_t i = 0; i < m->use_count; i++) {
        /* Other pools often take their memory from malloc. */
        if (m->use_count > 1 && plumb_pool_is_malloc(m->use[i].pool))
            continue;
        a += m->use[i].allocated;
        r += m->use[i].reserved;
        peak_a += m->use[i].peak_allocated;
        peak_r += m->use[i].peak_reserved;
    }
    if (!m->use_count) {
        a = r = m->rss;
        peak_a = peak_r = m->peak_rss;
    }
    plumb_log(PLUMB_LOG_INFO,
              "[Rank %d] [Timing] %s: %.2f ms, memory: %.2f/%.2f MB (peak: %.2f/%.2f MB)",
              plumb_rank_or_0(), name, ms, mib(a), mib(r), mib(peak_a), mib(peak_r));
}

void plumb_stage_log_end(const struct plumb_stage_line *line, const struct plumb_live_memory *m)
{
    double ms = (double)(line->end_ns - line->begin_ns) * 1e-6;
    const char *name = name_of(line->node), *pipeline = pipeline_of(line->group);
    if (line->mark == 1)
        plumb_log(PLUMB_LOG_ERROR, "[%s|%s] Execution failed after %.3f ms: %s", name, pipeline, ms,
                  line->why);
    else
        plumb_log(PLUMB_LOG_INFO, "[%s|%s] Execution %s %.3f ms", name, pipeline,
                  line->mark ? "abandoned after" : "completed in", ms);
    if (line->mark != 2)
        log_memory(name, ms, m);
}

/* Returns whether another run of the key is open on the thread. */
static bool is_around(const struct plumb_thread *th, uint64_t key)
{
    for (uint32_t i = 0; i < th->stages; i++)
        if (th->stage[i].key == key)
            return true;
    return false;
}

/* Ends a run that is not recorded. */
static void drop(struct plumb_in in, const struct plumb_stage_run *s, struct plumb_live_memory *out)
{
    memset(out, 0, sizeof *out);
    plumb_ledger_lock();
    pass_on(in, s);
    if (s->scope)
        plumb_scope_close(in, s->scope, NULL, out);
    plumb_ledger_unlock();
}

/* Spans that are stages only for their hooks are dropped, except for the time of the stages
 * inside. */
void plumb_stage_end_inside(struct plumb_in in, uint64_t ticks, struct plumb_stage_ended *out)
{
    struct plumb_thread *th = in.th;
    const struct plumb_stage_run *s = &out->run;
    struct plumb_perf_counts counted;
    out->run = th->stage[--th->stages];
    bool perf = th->perf && s->flags & MEASURED && plumb_perf_end(in, th->stages, &counted);
    out->end_ns = s->begin_ns ? plumb_clock_gettime_ns(CLOCK_MONOTONIC) : 0;
    uint64_t took = ticks > s->begin_ticks ? ticks - s->begin_ticks : 0;
    struct plumb_stage_run *outer = around(th, s->request);
    struct plumb_stage_entry e = {.key = s->key,
                                  .begin_ticks = s->begin_ticks,
                                  .end_ticks = ticks,
                                  .own_ticks = took > s->child_ticks ? took - s->child_ticks : 0,
                                  .request = s->request,
                                  .device_ns = s->device_ns,
                                  .device_samples = s->device_samples,
                                  .device_within_ns = s->device_within_ns,
                                  .step = th->step,
                                  .depth = th->stages,
                                  .within = plumb_stage_within(th),
                                  .why = s->why[0] ? s->why : NULL,
                                  .failed = s->mark == 1,
                                  .stage = (s->flags & PLUMB_POINT_STAGE) != 0,
                                  .outermost = plumb_stage_is_outermost(th, s->request),
                                  .tops = !outer,
                                  .perf = perf && !is_around(th, s->key) ? &counted : NULL};
    if (s->mark == 2 || !(s->flags & MEASURED)) {
        drop(in, s, &e.memory);
    } else {
        if (th->stages)
            th->stage[th->stages - 1].child_ticks += took;
        if (outer)
            outer->inside_ticks += took;
        enter_run(in, s, &e);
    }
    out->memory = e.memory;
}

void plumb_stage_end_report(const struct plumb_stage_ended *ended)
{
    const struct plumb_stage_run *s = &ended->run;
    struct plumb_thread *th = plumb_tls;
    if (s->captured)
        plumb_capture_end(s->span, s->mark == 2);
    if (s->flags & PLUMB_POINT_STAGE) {
        if (s->mark != 2)
            plumb_stage_checkpoint("after", s->node);
        /* After the end, so that the device has been waited for. */
        plumb_stage_log_end(&(struct plumb_stage_line){s->node, plumb_key_group(s->key), s->mark,
                                                       s->begin_ns, ended->end_ns, s->why},
                            &ended->memory);
    }
    /* In the child of a handler that forked since the stage began, the thread has no record. */
    if (th && th->perf && s->flags & MEASURED)
        plumb_perf_after(th);
    if (s->hooks)
        plumb_hooks_after(s->hooks, s->node);
}

/* Returns whether a run of the node is open on the thread deeper than its run `i`. */
static bool is_inside(const struct plumb_thread *th, uint32_t i, uint32_t node)
{
    while (++i < th->stages)
        if (th->stage[i].node == node)
            return true;
    return false;
}

void plumb_stage_device(struct plumb_thread *th, uint32_t node, uint64_t ns)
{
    for (uint32_t i = th->stages; i-- > 0;) {
        struct plumb_stage_run *s = &th->stage[i];
        if (is_inside(th, i, s->node))
            continue;
        if (s->node == node) {
            s->device_ns = plumb_total_add(s->device_ns, ns);
            s->device_samples++;
        } else {
            s->device_within_ns = plumb_total_add(s->device_within_ns, ns);
        }
    }
}

void plumb_stage_metric_impl(plumb_span span, const char *name)
{
    struct plumb_stage_run *s;
    struct plumb_live_stage *entry;
    struct plumb_in in;
    uint64_t off;
    if (!name || !plumb_ledger_enter(&in, true))
        return;
    s = plumb_stage_of(in.th, span);
    entry = s ? plumb_ledger_stage(in.run, s->key) : NULL;
    if (entry) {
        plumb_lock();
        off = plumb_text_name(in.run, name);
        plumb_unlock();
        PLUMB_RELEASE(entry->metric_off, off);
    }
    plumb_ledger_leave(in);
}

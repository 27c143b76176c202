/* stage.c: begin and end of stages: memory before and after, the request's records, log lines. */
#include "core/stage.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "core/active.h"
#include "core/hook.h"
#include "core/ledger.h"
#include "core/pool.h"

enum { MEASURED = PLUMB_POINT_STAGE | PLUMB_POINT_MEMORY };

static const char *name_of(uint32_t node)
{
    return plumb_rt.nodes[node].name;
}

static const char *pipeline_of(uint32_t group)
{
    return plumb_rt.pipelines[group >> 8 & 0xff].name;
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

void plumb_stage_tell_begin(uint32_t node, uint32_t group)
{
    plumb_log(PLUMB_LOG_INFO, "[%s|%s] Starting execution", name_of(node), pipeline_of(group));
}

static struct plumb_stage_run *room(struct plumb_thread *th)
{
    if (!th->stage)
        th->stage = plumb_pages_map(PLUMB_STAGES_MAX * sizeof *th->stage);
    return th->stage && th->stages < PLUMB_STAGES_MAX ? &th->stage[th->stages] : NULL;
}

static uint32_t open_scope(uint32_t flags, uint64_t *request)
{
    uint32_t scope_flags = flags & PLUMB_POINT_RUNNING_PEAK ? PLUMB_SCOPE_RUNNING_PEAK : 0, scope;
    struct plumb_rss rss = {0, 0};
    struct plumb_thread *th;
    if (reads_memory(flags)) {
        scope_flags |= PLUMB_SCOPE_RSS;
        rss = plumb_rss_read();
    }
    if (!plumb_ledger_enter(&th, false))
        return 0;
    plumb_sized_flush(th);
    *request = plumb_request_current(th);
    scope = plumb_scope_open(th, scope_flags, &rss);
    if (rss.now)
        plumb_series_point(th->run, plumb_ticks_from(th->clock), rss.now);
    plumb_ledger_leave(th);
    return scope;
}

static void close_scope(uint32_t scope, struct plumb_live_memory *out)
{
    struct plumb_thread *th;
    memset(out, 0, sizeof *out);
    if (!scope || !plumb_ledger_enter(&th, true))
        return;
    plumb_scope_close(th, scope, NULL, out);
    plumb_ledger_leave(th);
}

/* The clock reading in a begin record that was written just now. */
static uint64_t ticks_of(const struct plumb_thread *th, uint64_t span)
{
    return th->base + plumb_record_ticks(PLUMB_LOAD(*(const uint64_t *)(uintptr_t)span));
}

plumb_span plumb_stage_begin(struct plumb_thread *th, uint32_t node, uint32_t flags)
{
    struct plumb_stage_run *s = room(th);
    struct plumb_live_memory unused;
    plumb_span span;
    uint64_t request = 0;
    uint32_t scope = 0;
    const struct plumb_hooks *hooks =
        plumb_rt.hooked ? PLUMB_ACQUIRE(plumb_rt.nodes[node].hooks) : NULL;
    if (!s)
        return plumb_begin_plain(th, node);
    if (hooks)
        plumb_hooks_before(hooks, node);
    if (flags & PLUMB_POINT_STAGE) {
        /* Before the span: what the log costs is not the stage's. */
        plumb_stage_tell_begin(node, th->group);
    }
    /* Before memory is looked at: work that was launched earlier may still change it. */
    if (PLUMB_LOAD(th->gate) & PLUMB_GATE_SYNC)
        plumb_synchronise(th, node);
    if (flags & PLUMB_POINT_STAGE)
        plumb_stage_checkpoint("before", node);
    if (flags & MEASURED)
        scope = open_scope(flags, &request);
    span = plumb_begin_synchronised(th, node);
    if (!span.id) {
        close_scope(scope, &unused);
        if (hooks)
            plumb_hooks_after(hooks, node);
        return span;
    }
    s = room(th); /* a hook may have begun stages */
    if (!s) {
        close_scope(scope, &unused);
        if (hooks)
            plumb_hooks_after(hooks, node);
        return span;
    }
    *s = (struct plumb_stage_run){
        .span = span.id,
        .key = plumb_key(th->group, node),
        .begin_ticks = ticks_of(th, span.id),
        .begin_ns = flags & PLUMB_POINT_STAGE ? plumb_clock_gettime_ns(CLOCK_MONOTONIC) : 0,
        .request = request,
        .node = node,
        .depth = plumb_depth(th),
        .flags = flags,
        .scope = scope,
        .hooks = hooks};
    th->stages++;
    span.id |= PLUMB_STAGE_BIT;
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

/* Takes the innermost stage off; its hooks wait until the thread is outside of the runtime. */
static const struct plumb_stage_run *forget_innermost(struct plumb_thread *th)
{
    const struct plumb_stage_run *s = &th->stage[--th->stages];
    if (s->hooks && th->unhooked < PLUMB_STAGES_MAX)
        th->unhook[th->unhooked++] = (struct plumb_unhook){s->hooks, s->node};
    return s;
}

/* Whether the thread works below a stage of another thread. */
bool plumb_stage_below_another(const struct plumb_thread *th)
{
    for (uint32_t i = 0; i < th->path_depth; i++) {
        if (plumb_rt.nodes[th->path[i]].flags & PLUMB_POINT_STAGE)
            return true;
    }
    return false;
}

/* The innermost open stage of a request; NULL: none. */
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

/* `s`, which is no longer open, leaves nothing but the time of the stages that ended inside it: the
 * stage around it has that time then, or the request itself. Under the ledger's lock. */
static void pass_on(struct plumb_thread *th, const struct plumb_stage_run *s)
{
    struct plumb_stage_run *outer = around(th, s->request);
    if (th->stages)
        th->stage[th->stages - 1].child_ticks += s->child_ticks;
    if (outer)
        outer->inside_ticks += s->inside_ticks;
    else if (s->inside_ticks && plumb_stage_is_outermost(th, s->request))
        plumb_request_took(th->run, s->request, s->inside_ticks);
}

void plumb_stages_closed(struct plumb_thread *th, uint32_t depth)
{
    struct plumb_live_memory unused;
    while (th->stages && th->stage[th->stages - 1].depth > depth) {
        const struct plumb_stage_run *s = forget_innermost(th);
        pthread_mutex_lock(&plumb_rt.ledger_lock);
        pass_on(th, s);
        if (s->scope)
            plumb_scope_close(th, s->scope, NULL, &unused);
        pthread_mutex_unlock(&plumb_rt.ledger_lock);
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

/* Of a stage that has just ended: its time without all spans inside, from the frames of a fold made
 * for it. A span without anything inside is folded without a frame. */
static uint64_t self_ticks(const struct plumb_stage_run *s, uint64_t took)
{
    const struct plumb_live_frame *f;
    struct plumb_thread *th;
    uint64_t child = 0;
    if (!plumb_enter(&th, true))
        return took;
    plumb_block_next(th, plumb_ticks_from(th->clock));
    f = &th->live->frames[s->depth];
    if (f->begin_ticks == s->begin_ticks && f->key == s->key)
        child = f->child_ticks;
    plumb_leave(th);
    return took > child ? took - child : 0;
}

static void enter_run(const struct plumb_stage_run *s, struct plumb_stage_entry *e)
{
    bool signature = s->told && !s->mark;
    struct plumb_rss rss = {0, 0};
    struct plumb_thread *th;
    if (signature)
        e->self_ticks = self_ticks(s, plumb_stage_took(e));
    if (reads_memory(s->flags))
        rss = plumb_rss_read();
    if (!plumb_ledger_enter(&th, true))
        return;
    plumb_sized_flush(th);
    plumb_scope_close(th, s->scope, &rss, &e->memory);
    e->tid = th->tid;
    plumb_ledger_stage_run(th->run, e);
    if (th->run->active)
        e->counts = plumb_active_has(th->run, th->step);
    if (signature)
        plumb_signature_enter(th->run, e, th->pack[th->stages]);
    plumb_ledger_leave(th);
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* Memory of all pools; without any, the resident set; without that too, zeros. */
static void tell_memory(const char *name, double ms, const struct plumb_live_memory *m)
{
    uint64_t a = 0, r = 0, peak_a = 0, peak_r = 0;
    for (uint32_t i = 0; i < m->use_count; i++) {
        /* What other pools hold was often taken from there. */
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
              plumb_rank_told(), name, ms, mib(a), mib(r), mib(peak_a), mib(peak_r));
}

void plumb_stage_tell_end(const struct plumb_stage_line *line, const struct plumb_live_memory *m)
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
        tell_memory(name, ms, m);
}

/* Of a run that leaves nothing. */
static void drop(const struct plumb_stage_run *s, struct plumb_live_memory *out)
{
    struct plumb_thread *th;
    memset(out, 0, sizeof *out);
    if (!plumb_ledger_enter(&th, true))
        return;
    pass_on(th, s);
    if (s->scope)
        plumb_scope_close(th, s->scope, NULL, out);
    plumb_ledger_leave(th);
}

/* Spans that are only here for their hooks leave nothing but the time of the stages inside. */
static void ended(struct plumb_thread *th, const struct plumb_stage_run *run, uint64_t ticks)
{
    struct plumb_stage_run s = *run;
    uint64_t end_ns = s.begin_ns ? plumb_clock_gettime_ns(CLOCK_MONOTONIC) : 0;
    uint64_t took = ticks > s.begin_ticks ? ticks - s.begin_ticks : 0;
    struct plumb_stage_entry e = {.key = s.key,
                                  .begin_ticks = s.begin_ticks,
                                  .end_ticks = ticks,
                                  .own_ticks = took > s.child_ticks ? took - s.child_ticks : 0,
                                  .request = s.request,
                                  .device_ns = s.device_ns,
                                  .device_samples = s.device_samples,
                                  .device_within_ns = s.device_within_ns,
                                  .depth = th->stages,
                                  .failed = s.mark == 1,
                                  .stage = (s.flags & PLUMB_POINT_STAGE) != 0,
                                  .outermost = plumb_stage_is_outermost(th, s.request),
                                  .tops = !around(th, s.request)};
    if (s.mark == 2 || !(s.flags & MEASURED)) {
        drop(&s, &e.memory);
    } else {
        struct plumb_stage_run *outer = around(th, s.request);
        if (th->stages)
            th->stage[th->stages - 1].child_ticks += took;
        if (outer)
            outer->inside_ticks += took;
        enter_run(&s, &e);
    }
    if (!(s.flags & PLUMB_POINT_STAGE))
        return;
    if (s.mark != 2)
        plumb_stage_checkpoint("after", s.node);
    /* After the end, so that the device has been waited for. */
    plumb_stage_tell_end(&(struct plumb_stage_line){s.node, plumb_key_group(s.key), s.mark,
                                                    s.begin_ns, end_ns, s.why},
                         &e.memory);
}

void plumb_stage_ended(struct plumb_thread *th, uint64_t ticks)
{
    struct plumb_stage_run s = th->stage[--th->stages];
    ended(th, &s, ticks);
    if (s.hooks)
        plumb_hooks_after(s.hooks, s.node);
}

/* Whether a run of the node is open on the thread deeper than its run `i`. */
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
    struct plumb_thread *th;
    uint64_t off;
    if (!name || !plumb_ledger_enter(&th, true))
        return;
    s = plumb_stage_of(th, span);
    entry = s ? plumb_ledger_stage(th->run, s->key) : NULL;
    if (entry) {
        plumb_lock();
        off = plumb_carve_text(th->run, name);
        plumb_unlock();
        PLUMB_RELEASE(entry->metric_off, off);
    }
    plumb_ledger_leave(th);
}

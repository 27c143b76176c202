/* scope.c: the context of a thread: pipeline, phase, step, and the context that it has adopted.
 *
 * Kept in the thread record, whether or not a run is open, so recording that is switched on in the
 * middle of an epoch counts to the right phase. Wide records report it to a run. A scope's number
 * includes its place on the thread's stack, and is never reused. Ending an outer scope ends the
 * inner ones, as a longjmp past them needs; a stale or invalid number ends nothing. */
#include "record/span/scope.h"

#include <string.h>

#include "record/activation/activation.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/node.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/thread.h"
#include "record/span/region.h"
#include "record/stage/ledger.h"
#include "record/trace/switch.h"
#include "record/trace/trace.h"

/* Numbers fit into an int: PLUMB_STEPS stores them in one. */
enum { SERIALS = (1 << 25) - 1 };

static void save(const struct plumb_thread *th, struct plumb_scope_entry *e)
{
    e->group = th->group;
    e->step = th->step;
    e->path_depth = th->path_depth;
    e->path_group = th->path_group;
    e->adopted_run = 0;
    memcpy(e->path, th->path, th->path_depth * sizeof e->path[0]);
}

static void record_group(struct plumb_in in, uint64_t group)
{
    plumb_wide(in, PLUMB_WIDE_GROUP, 0, &group, 2);
}

static void record_step(struct plumb_in in)
{
    uint64_t step = (uint64_t)in.th->step;
    plumb_wide(in, PLUMB_WIDE_STEP, 0, &step, 2);
}

/* Records the flow that connects a capture and its adoptions in a trace. */
static void record_flow(struct plumb_in in, uint32_t adopted, uint64_t flow)
{
    if (plumb_traced(in.th) && flow)
        plumb_wide(in, PLUMB_WIDE_FLOW, adopted, &flow, 2);
}

/* The path's nodes belong to the group that it was adopted with, even if a phase or a pipeline has
 * begun since. */
static void record_path(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    uint64_t payload[1 + (PLUMB_PATH_MAX + 1) / 2] = {th->path_depth};
    for (uint32_t i = 0; i < th->path_depth; i++)
        payload[1 + i / 2] |= (uint64_t)th->path[i] << (i & 1 ? 32 : 0);
    if (th->path_depth && th->path_group != th->group)
        record_group(in, th->path_group);
    plumb_wide(in, PLUMB_WIDE_ADOPT, 0, payload, 2 + (th->path_depth + 1) / 2);
    if (th->path_depth && th->path_group != th->group)
        record_group(in, th->group);
    plumb_regions_adopted(th);
}

void plumb_scopes_announce(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_context *c = &th->live->context;
    if (c->group != th->group)
        record_group(in, th->group);
    if (c->step != th->step)
        record_step(in);
    if (th->path_depth || c->base_tree)
        record_path(in);
}

/* Scopes are kept outside runs as well: then `run` is NULL, and the thread is not inside. */
static bool arrive(struct plumb_in *in)
{
    if (plumb_enter(in, true))
        return true;
    if (plumb_tls && PLUMB_LOAD(plumb_tls->busy))
        return false; /* this is a signal handler that interrupted plumb */
    in->th = plumb_thread_self();
    in->run = NULL;
    return in->th != NULL;
}

static void depart(struct plumb_in in)
{
    if (in.run)
        plumb_leave(in);
}

/* Returns the open scope `scope`. NULL: it has ended, or never existed (a handle that a jump past
 * its declaration left uninitialised). */
static struct plumb_scope_entry *entry_of(struct plumb_thread *th, plumb_scope scope)
{
    uint64_t i = scope.id % PLUMB_SCOPES_MAX;
    return i < th->scopes && th->scope[i].id == scope.id ? &th->scope[i] : NULL;
}

static plumb_scope push(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    plumb_scope scope = {0};
    if (th->scopes == PLUMB_SCOPES_MAX) {
        if (in.run)
            plumb_drop(in.run, PLUMB_DROP_SCOPE);
        return scope;
    }
    /* Starts at a number that is unlikely in uninitialised memory. */
    if (!th->scope_serial)
        th->scope_serial = (uint32_t)(plumb_ticks_from(th->clock) >> 4);
    th->scope_serial = th->scope_serial % SERIALS + 1;
    scope.id = (uint64_t)th->scope_serial * PLUMB_SCOPES_MAX | th->scopes;
    th->scope[th->scopes].id = (uint32_t)scope.id;
    save(th, &th->scope[th->scopes++]);
    return scope;
}

/* Adopts the request and the memory scope that a context was captured in. */
static void adopt_ledger(struct plumb_in in, struct plumb_scope_entry *e,
                         const plumb_context *context)
{
    struct plumb_thread *th = in.th;
    pthread_mutex_lock(&plumb_rt.ledger_lock);
    plumb_sized_flush(in);
    e->adopted_run = context->run;
    e->request = th->request;
    e->memory = plumb_scope_adopt(th, context->memory);
    th->request = context->request;
    th->memory_adopted++;
    pthread_mutex_unlock(&plumb_rt.ledger_lock);
}

static void return_ledger(struct plumb_in in, struct plumb_scope_entry *e)
{
    struct plumb_thread *th = in.th;
    uint32_t run = e->adopted_run;
    e->adopted_run = 0;
    /* Numbers of another run are not valid; attaching has cleared the thread's. */
    if (!run || run != PLUMB_LOAD(th->generation) ||
        !plumb_belongs(th, PLUMB_ACQUIRE(plumb_rt.run)))
        return;
    pthread_mutex_lock(&plumb_rt.ledger_lock);
    plumb_sized_flush(in);
    plumb_scope_return(th, e->memory);
    th->request = e->request;
    th->memory_adopted--;
    pthread_mutex_unlock(&plumb_rt.ledger_lock);
}

void plumb_scopes_return(struct plumb_in in, uint32_t down_to)
{
    struct plumb_thread *th = in.th;
    for (uint32_t i = th->scopes; i-- > down_to;)
        return_ledger(in, &th->scope[i]);
}

plumb_scope plumb_phase_begin_impl(const char *name)
{
    uint32_t phase = plumb_phase_intern(name);
    struct plumb_in in;
    plumb_scope scope = {0};
    if (!arrive(&in))
        return scope;
    scope = push(in);
    if (scope.id) {
        PLUMB_STORE(in.th->group, (in.th->group & 0xff00u) | phase);
        if (in.run)
            record_group(in, in.th->group);
    }
    depart(in);
    return scope;
}

/* `depth`: of the scope, from 1 on. `loop`: the scope goes from step to step. */
static void set_step(struct plumb_in in, int64_t step, uint32_t depth, bool loop)
{
    if (in.run)
        plumb_trace_step(in.th, step, depth, loop);
    in.th->step = step;
    plumb_activations_step(step);
    if (in.run)
        record_step(in);
}

plumb_scope plumb_step_begin_impl(int64_t step)
{
    struct plumb_in in;
    plumb_scope scope = {0};
    if (!arrive(&in))
        return scope;
    scope = push(in);
    if (scope.id && step >= 0)
        set_step(in, step, in.th->scopes, false);
    depart(in);
    return scope;
}

void plumb_step_set_impl(plumb_scope scope, int64_t step)
{
    struct plumb_in in;
    struct plumb_scope_entry *e;
    if (!arrive(&in))
        return;
    /* A scope that an outer exit has already ended restores nothing. */
    if ((e = entry_of(in.th, scope)))
        set_step(in, step, (uint32_t)(e - in.th->scope) + 1, true);
    depart(in);
}

/* The gate is that of the pipeline. A thread that stays in it takes no lock, which a phase or a
 * worker's task would feel: it is two system calls. */
static void regate(struct plumb_thread *th, uint32_t group_before)
{
    if (group_before >> 8 == PLUMB_LOAD(th->group) >> 8)
        return;
    plumb_lock();
    plumb_thread_gate(th);
    plumb_unlock();
}

plumb_scope plumb_pipeline_begin_impl(plumb_pipeline *pipeline)
{
    uint32_t index = pipeline ? pipeline->index : 0;
    struct plumb_in in;
    plumb_scope scope = {0};
    uint32_t before;
    if (!arrive(&in))
        return scope;
    before = in.th->group;
    scope = push(in);
    if (scope.id) {
        PLUMB_STORE(in.th->group, (in.th->group & 0xffu) | index << 8);
        if (in.run)
            record_group(in, in.th->group);
        regate(in.th, before);
    }
    depart(in);
    return scope;
}

void plumb_scope_end_impl(plumb_scope scope)
{
    struct plumb_in in;
    struct plumb_thread *th;
    struct plumb_scope_entry *e;
    bool group, step, path;
    uint32_t before;
    if (!scope.id || !arrive(&in))
        return;
    th = in.th;
    e = entry_of(th, scope);
    if (e) {
        before = th->group;
        group = e->group != before;
        step = e->step != th->step;
        path = e->path_depth != th->path_depth || e->path_group != th->path_group ||
               memcmp(e->path, th->path, e->path_depth * sizeof e->path[0]) != 0;
        if (in.run) {
            plumb_regions_scopes_ended(in, (uint32_t)(e - th->scope));
            plumb_scopes_return(in, (uint32_t)(e - th->scope));
        }
        th->scopes = (uint32_t)(e - th->scope);
        PLUMB_STORE(th->group, e->group);
        th->step = e->step;
        th->path_depth = e->path_depth;
        th->path_group = e->path_group;
        memcpy(th->path, e->path, e->path_depth * sizeof e->path[0]);
        if (group && in.run)
            record_group(in, th->group);
        if (step && in.run)
            record_step(in);
        if (in.run)
            plumb_trace_scope_ended(th);
        if (path && in.run)
            record_path(in);
        regate(th, before);
    }
    depart(in);
    if (th->regions.closing)
        plumb_regions_closed(th);
}

void plumb_context_capture_impl(plumb_context *out)
{
    struct plumb_in in;
    struct plumb_thread *th;
    if (!arrive(&in))
        return;
    th = in.th;
    out->step = th->step;
    out->group = th->group;
    out->run = PLUMB_LOAD(plumb_rt.generation);
    out->flow = plumb_ticks_from(th->clock) << 16 | (th->tid & 0xffffu);
    out->depth = th->path_depth;
    memcpy(out->path, th->path, th->path_depth * sizeof out->path[0]);
    if (in.run) {
        pthread_mutex_lock(&plumb_rt.ledger_lock);
        out->request = (uint32_t)th->request;
        out->memory = plumb_scope_capture(plumb_scope_of(in));
        pthread_mutex_unlock(&plumb_rt.ledger_lock);
        record_flow(in, 0, out->flow);
        /* Fold now: then the open spans are in the frames. */
        plumb_block_settle(in, plumb_ticks_from(th->clock));
        for (uint32_t d = 1; d <= th->live->context.depth && out->depth < PLUMB_PATH_MAX; d++)
            out->path[out->depth++] = plumb_key_node(th->live->frames[d].key);
    }
    depart(in);
}

plumb_scope plumb_context_adopt_impl(const plumb_context *context)
{
    struct plumb_in in;
    plumb_scope scope = {0};
    uint32_t depth, before;
    if (!context || !arrive(&in))
        return scope;
    before = in.th->group;
    scope = push(in);
    if (scope.id) {
        depth = context->run == PLUMB_LOAD(plumb_rt.generation) && context->depth <= PLUMB_PATH_MAX
                    ? context->depth
                    : 0;
        PLUMB_STORE(in.th->group, context->group & 0xffffu);
        in.th->step = context->step;
        in.th->path_depth = depth;
        in.th->path_group = context->group & 0xffffu;
        memcpy(in.th->path, context->path, depth * sizeof context->path[0]);
        if (in.run && context->run == PLUMB_LOAD(in.th->generation))
            adopt_ledger(in, &in.th->scope[in.th->scopes - 1], context);
        if (in.run) {
            record_group(in, in.th->group);
            record_step(in);
            record_path(in);
            if (context->run == PLUMB_LOAD(in.th->generation))
                record_flow(in, 1, context->flow);
        }
        regate(in.th, before);
    }
    depart(in);
    return scope;
}

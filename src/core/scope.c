/* scope.c: where a thread is: pipeline, phase, step, and the context it has adopted.
 *
 * Kept in the thread record, whether or not a run is open, so that recording switched on in the
 * middle of an epoch counts to the right phase; a run is told by wide records. A scope's number
 * tells its place on the thread's stack, and is never that of an earlier one: ending an outer scope
 * ends the inner ones, which is what a longjmp past them needs; a stale or made-up number ends
 * nothing. */
#include <string.h>

#include "core/activation.h"
#include "core/ledger.h"
#include "core/trace.h"

/* Numbers fit an int: PLUMB_STEPS keeps them in one. */
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

static void tell_group(struct plumb_thread *th, uint64_t group)
{
    plumb_wide(th, PLUMB_WIDE_GROUP, 0, &group, 2);
}

static void tell_step(struct plumb_thread *th)
{
    uint64_t step = (uint64_t)th->step;
    plumb_wide(th, PLUMB_WIDE_STEP, 0, &step, 2);
}

/* What connects a capture and its adoptions in a trace. */
static void tell_flow(struct plumb_thread *th, uint32_t adopted, uint64_t flow)
{
    if (plumb_traced(th) && flow)
        plumb_wide(th, PLUMB_WIDE_FLOW, adopted, &flow, 2);
}

/* The path's nodes are of the group that it was adopted with, also where a phase or a pipeline has
 * begun since. */
static void tell_path(struct plumb_thread *th)
{
    uint64_t payload[1 + (PLUMB_PATH_MAX + 1) / 2] = {th->path_depth};
    for (uint32_t i = 0; i < th->path_depth; i++)
        payload[1 + i / 2] |= (uint64_t)th->path[i] << (i & 1 ? 32 : 0);
    if (th->path_depth && th->path_group != th->group)
        tell_group(th, th->path_group);
    plumb_wide(th, PLUMB_WIDE_ADOPT, 0, payload, 2 + (th->path_depth + 1) / 2);
    if (th->path_depth && th->path_group != th->group)
        tell_group(th, th->group);
    plumb_regions_adopted(th);
}

void plumb_scopes_announce(struct plumb_thread *th)
{
    struct plumb_live_context *c = &th->live->context;
    if (c->group != th->group)
        tell_group(th, th->group);
    if (c->step != th->step)
        tell_step(th);
    if (th->path_depth || c->base_tree)
        tell_path(th);
}

/* A thread record, and the run when one is open to it. */
struct here {
    struct plumb_thread *th;
    bool recording; /* inside enter/leave */
};

static bool arrive(struct here *h)
{
    h->recording = plumb_enter(&h->th, true);
    if (!h->recording) {
        if (plumb_tls && PLUMB_LOAD(plumb_tls->busy))
            return false; /* a signal handler that interrupted us */
        h->th = plumb_thread_self();
    }
    return h->th != NULL;
}

static void depart(struct here *h)
{
    if (h->recording)
        plumb_leave(h->th);
}

/* The open scope `scope`; NULL: it has ended, or never was (an uninitialised handle that a jump
 * past its declaration left behind). */
static struct plumb_scope_entry *entry_of(struct plumb_thread *th, plumb_scope scope)
{
    uint64_t i = scope.id % PLUMB_SCOPES_MAX;
    return i < th->scopes && th->scope[i].id == scope.id ? &th->scope[i] : NULL;
}

static plumb_scope push(const struct here *h)
{
    struct plumb_thread *th = h->th;
    plumb_scope scope = {0};
    if (th->scopes == PLUMB_SCOPES_MAX) {
        if (h->recording)
            plumb_drop(th->run, PLUMB_DROP_SCOPE);
        return scope;
    }
    /* From a number that no stack garbage is likely to hold. */
    if (!th->scope_serial)
        th->scope_serial = (uint32_t)(plumb_ticks_from(th->clock) >> 4);
    th->scope_serial = th->scope_serial % SERIALS + 1;
    scope.id = (uint64_t)th->scope_serial * PLUMB_SCOPES_MAX | th->scopes;
    th->scope[th->scopes].id = (uint32_t)scope.id;
    save(th, &th->scope[th->scopes++]);
    return scope;
}

/* The request and the memory scope that a context was captured in. */
static void adopt_ledger(struct plumb_thread *th, struct plumb_scope_entry *e,
                         const plumb_context *context)
{
    pthread_mutex_lock(&plumb_rt.ledger_lock);
    plumb_sized_flush(th);
    e->adopted_run = context->run;
    e->request = th->request;
    e->memory = plumb_scope_adopt(th, context->memory);
    th->request = context->request;
    th->memory_adopted++;
    pthread_mutex_unlock(&plumb_rt.ledger_lock);
}

static void return_ledger(struct plumb_thread *th, struct plumb_scope_entry *e)
{
    uint32_t run = e->adopted_run;
    e->adopted_run = 0;
    /* Another run's numbers mean nothing; attaching has cleared the thread's. */
    if (!run || run != PLUMB_LOAD(th->generation) ||
        !plumb_belongs(th, PLUMB_ACQUIRE(plumb_rt.run)))
        return;
    pthread_mutex_lock(&plumb_rt.ledger_lock);
    plumb_sized_flush(th);
    plumb_scope_return(th, e->memory);
    th->request = e->request;
    th->memory_adopted--;
    pthread_mutex_unlock(&plumb_rt.ledger_lock);
}

void plumb_scopes_return(struct plumb_thread *th, uint32_t down_to)
{
    for (uint32_t i = th->scopes; i-- > down_to;)
        return_ledger(th, &th->scope[i]);
}

plumb_scope plumb_phase_begin_impl(const char *name)
{
    uint32_t phase = plumb_phase_intern(name);
    struct here h;
    plumb_scope scope = {0};
    if (!arrive(&h))
        return scope;
    scope = push(&h);
    if (scope.id) {
        PLUMB_STORE(h.th->group, (h.th->group & 0xff00u) | phase);
        if (h.recording)
            tell_group(h.th, h.th->group);
    }
    depart(&h);
    return scope;
}

static void set_step(struct here *h, int64_t step)
{
    h->th->step = step;
    plumb_activations_step(step);
    if (h->recording)
        tell_step(h->th);
}

plumb_scope plumb_step_begin_impl(int64_t step)
{
    struct here h;
    plumb_scope scope = {0};
    if (!arrive(&h))
        return scope;
    scope = push(&h);
    if (scope.id && step >= 0) {
        set_step(&h, step);
    }
    depart(&h);
    return scope;
}

void plumb_step_set_impl(plumb_scope scope, int64_t step)
{
    struct here h;
    if (!arrive(&h))
        return;
    /* A scope that an outer exit has already ended sets nothing. */
    if (entry_of(h.th, scope)) {
        set_step(&h, step);
    }
    depart(&h);
}

static void regate(struct plumb_thread *th)
{
    plumb_lock();
    plumb_thread_gate(th);
    plumb_unlock();
}

plumb_scope plumb_pipeline_begin_impl(plumb_pipeline *pipeline)
{
    uint32_t index = pipeline ? pipeline->index : 0;
    struct here h;
    plumb_scope scope = {0};
    if (!arrive(&h))
        return scope;
    scope = push(&h);
    if (scope.id) {
        PLUMB_STORE(h.th->group, (h.th->group & 0xffu) | index << 8);
        if (h.recording)
            tell_group(h.th, h.th->group);
        regate(h.th);
    }
    depart(&h);
    return scope;
}

void plumb_scope_end_impl(plumb_scope scope)
{
    struct here h;
    struct plumb_thread *th;
    struct plumb_scope_entry *e;
    bool group, step, path;
    if (!scope.id || !arrive(&h))
        return;
    th = h.th;
    e = entry_of(th, scope);
    if (e) {
        group = e->group != th->group;
        step = e->step != th->step;
        path = e->path_depth != th->path_depth || e->path_group != th->path_group ||
               memcmp(e->path, th->path, e->path_depth * sizeof e->path[0]) != 0;
        if (h.recording) {
            plumb_regions_scopes_ended(th, (uint32_t)(e - th->scope));
            plumb_scopes_return(th, (uint32_t)(e - th->scope));
        }
        th->scopes = (uint32_t)(e - th->scope);
        PLUMB_STORE(th->group, e->group);
        th->step = e->step;
        th->path_depth = e->path_depth;
        th->path_group = e->path_group;
        memcpy(th->path, e->path, e->path_depth * sizeof e->path[0]);
        if (group && h.recording)
            tell_group(th, th->group);
        if (step && h.recording)
            tell_step(th);
        if (path && h.recording)
            tell_path(th);
        if (group)
            regate(th);
    }
    depart(&h);
    if (th->regions.closing)
        plumb_regions_closed(th);
}

void plumb_context_capture_impl(plumb_context *out)
{
    struct here h;
    struct plumb_thread *th;
    if (!arrive(&h))
        return;
    th = h.th;
    out->step = th->step;
    out->group = th->group;
    out->run = PLUMB_LOAD(plumb_rt.generation);
    out->flow = plumb_ticks_from(th->clock) << 16 | (th->tid & 0xffffu);
    out->depth = th->path_depth;
    memcpy(out->path, th->path, th->path_depth * sizeof out->path[0]);
    if (h.recording) {
        pthread_mutex_lock(&plumb_rt.ledger_lock);
        out->request = (uint32_t)th->request;
        out->memory = plumb_scope_capture(plumb_scope_of(th));
        pthread_mutex_unlock(&plumb_rt.ledger_lock);
        tell_flow(th, 0, out->flow);
        /* What is open stands in the frames of the last fold: make that now. */
        plumb_block_next(th, plumb_ticks_from(th->clock));
        for (uint32_t d = 1; d <= th->live->context.depth && out->depth < PLUMB_PATH_MAX; d++)
            out->path[out->depth++] = plumb_key_node(th->live->frames[d].key);
    }
    depart(&h);
}

plumb_scope plumb_context_adopt_impl(const plumb_context *context)
{
    struct here h;
    plumb_scope scope = {0};
    uint32_t depth;
    if (!context || !arrive(&h))
        return scope;
    scope = push(&h);
    if (scope.id) {
        depth = context->run == PLUMB_LOAD(plumb_rt.generation) && context->depth <= PLUMB_PATH_MAX
                    ? context->depth
                    : 0;
        PLUMB_STORE(h.th->group, context->group & 0xffffu);
        h.th->step = context->step;
        h.th->path_depth = depth;
        h.th->path_group = context->group & 0xffffu;
        memcpy(h.th->path, context->path, depth * sizeof context->path[0]);
        if (h.recording && context->run == PLUMB_LOAD(h.th->generation))
            adopt_ledger(h.th, &h.th->scope[h.th->scopes - 1], context);
        if (h.recording) {
            tell_group(h.th, h.th->group);
            tell_step(h.th);
            tell_path(h.th);
            if (context->run == PLUMB_LOAD(h.th->generation))
                tell_flow(h.th, 1, context->flow);
        }
        regate(h.th);
    }
    depart(&h);
    return scope;
}

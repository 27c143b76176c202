/* context.h: carry a thread's place in the call tree to a worker thread. Part of plumb.h.
 *
 *     plumb_context_capture(&task->context);               (where the task is queued)
 *     ...
 *     PLUMB_ADOPT(&task->context);                         (where a worker runs it)
 *
 * The worker's spans are then children of the node that queued the task, with its phase, step,
 * pipeline, request and memory. Their time is not subtracted from the parent's self time. Any
 * thread may call. */
#ifndef PLUMB_CONTEXT_H
#define PLUMB_CONTEXT_H

#include <plumb/detail/client.h>
#include <plumb/detail/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a context was captured: open nodes, phase, step and pipeline. Plain data, to be kept by
 * value while a task waits in a queue; the fields belong to plumb. */
struct plumb_context {
    uint64_t flow;     /* links the capture to its adoption in a trace */
    int64_t step;      /* -1: none */
    uint32_t group;    /* (pipeline, phase) of the run */
    uint32_t depth;    /* number of valid entries of `path`, outermost first */
    uint32_t run;      /* generation of the run */
    uint32_t request;  /* that the work is for; 0: none */
    uint32_t memory;   /* scope of memory, of the thread of control; 0: none */
    uint32_t path[27]; /* [depth] nodes; deeper ones are left out */
};

/* Captures the calling thread's open nodes, phase, step and pipeline to `out`, which needs no end.
 * It may be adopted any number of times, by any thread, in the same run; in a later one its phase,
 * step and pipeline alone have an effect. About 0.1 us: a lock that only events of memory and
 * stages share. */
static inline void plumb_context_capture(plumb_context *out)
{
    const struct plumb_api *api = plumb_api_();
    size_t i;
    for (i = 0; i < sizeof *out; i++)
        ((unsigned char *)out)[i] = 0;
    out->step = -1;
    if (api)
        api->context_capture(out);
}
/* Continues a captured context on the calling thread. Returns the scope, which plumb_scope_end()
 * ends on the same thread. `context` is read during the call only; NULL does nothing. About 0.2 us
 * with the end; 1 us where the pipeline is another than the thread's. */
static inline plumb_scope plumb_context_adopt(const plumb_context *context)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->context_adopt(context) : none;
}

/* Continues `context` to the end of the block. */
#define PLUMB_ADOPT(context) PLUMB_RESTORED_SCOPE_(plumb_context_adopt(context))

#ifdef __cplusplus
}
#endif
#endif

/* stage.h: stages beyond the macro PLUMB_STAGE, and requests. Part of plumb.h.
 *
 *     PLUMB_REQUEST(request, "req-17", NULL);         (the unit of work that this block does)
 *     PLUMB_STAGE(stage, "denoise");                  (a stage of the pipeline)
 *     plumb_stage_metric(stage, "dit_time_s");
 *
 * A stage is a top-level span: plumb records its memory (memory.h) and its inputs and outputs
 * (signature.h), logs its start and end at level info, and adds it to the request. It costs some
 * microseconds. Any thread may call what is here; a signal handler may not. */
#ifndef PLUMB_STAGE_H
#define PLUMB_STAGE_H

#include <plumb/detail/client.h>
#include <plumb/detail/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

enum plumb_stage_part { PLUMB_STAGE_INPUT = 0, PLUMB_STAGE_OUTPUT = 1, PLUMB_STAGE_METADATA = 2 };

/* A name and its value, both text. Arrays of them end with a NULL key. */
struct plumb_pair {
    const char *key, *value;
};

/* Begins a span with `flags` (enum plumb_point_flags), such as a stage, of a node whose name is
 * made at run time. Returns its handle, for plumb_end() on the same thread. At most 32 stages nest
 * on a thread; deeper ones are plain spans. */
static inline plumb_span plumb_begin_with(plumb_node node, uint32_t flags)
{
    const struct plumb_api *api = plumb_client_api_();
    plumb_span none = {0};
    return node && PLUMB_KNOWS_(api, span_begin_with) ? api->span_begin_with(node, flags) : none;
}

/* Begins an async span with flags. With PLUMB_POINT_STAGE it is a stage that begins on this thread
 * and ends on any thread, by plumb_async_end(), _fail() or _abandon(); many may be open at once. It
 * counts for the current request of the calling thread. Its memory is that of the whole process at
 * its end. Bounds: as of plumb_async_begin(). */
static inline plumb_async plumb_async_begin_with(plumb_node node, uint32_t flags)
{
    const struct plumb_api *api = plumb_client_api_();
    plumb_async none = {0};
    return node && PLUMB_KNOWS_(api, async_begin_with) ? api->async_begin_with(node, flags) : none;
}

/* Sets the component metric that an open stage of the calling thread counts for ("dit_time_s"); it
 * is kept with the node, and the last one counts. About 0.7 us: two locks. */
static inline void plumb_stage_metric(plumb_span stage, const char *name)
{
    const struct plumb_api *api = plumb_api_for_(stage.id);
    if (PLUMB_KNOWS_(api, stage_metric))
        api->stage_metric(stage, name);
}

/* ---- Requests ---------------------------------------------------------------------------------
 * A request groups the records of one unit of work that the program was asked to do: the runs of
 * its stages, its memory, its checkpoints and signatures. Cumulative statistics are not
 * affected. */

/* Begins a request. The calling thread works for one request at a time: this ends its previous one.
 * Workers that adopt a context captured in the request work for it too. Returns its handle, for
 * plumb_request_end() or _fail().
 *   id        cut at 103 bytes; NULL or "": "req_" followed by the time
 *   metadata  pairs that end with a NULL key, or NULL; 2 KiB are kept
 *   cost      some microseconds. The newest 4096 requests are kept, 64 of them with their stages */
static inline plumb_request plumb_request_begin(const char *id, const plumb_pair *metadata)
{
    const struct plumb_api *api = plumb_api_();
    plumb_request none = {0};
    return PLUMB_KNOWS_(api, request_begin) ? api->request_begin(id, metadata) : none;
}
/* Ends the request; any thread may call it. A handle that has ended, or is of an earlier run, ends
 * nothing. Some microseconds. */
static inline void plumb_request_end(plumb_request request)
{
    const struct plumb_api *api = plumb_api_for_(request.id);
    if (api)
        api->request_end(request, 0, NULL);
}
/* Ends the request as failed. `why`: NULL, or the reason, cut at 119 bytes. */
static inline void plumb_request_fail(plumb_request request, const char *why)
{
    const struct plumb_api *api = plumb_api_for_(request.id);
    if (api)
        api->request_end(request, 1, why);
}
/* Ends the request as cancelled: it counts as failed, and as cancelled in the metrics (metrics.h).
 */
static inline void plumb_request_cancel(plumb_request request, const char *why)
{
    const struct plumb_api *api = plumb_api_for_(request.id);
    if (PLUMB_KNOWS_(api, request_end))
        api->request_end(request, 2, why ? why : "cancelled");
}
static inline void plumb_request_cleanup_(plumb_request *request)
{
    PLUMB_JUMPED_PAST_(*request);
    plumb_request_end(*request);
}

/* As PLUMB_STAGE, but its begin does not reset memory peaks: it sees the peak since the last stage
 * that reset them. */
#define PLUMB_STAGE_RUNNING_PEAK(var, name)                                                        \
    PLUMB_SCOPE_(var, name, PLUMB_POINT_STAGE | PLUMB_POINT_RUNNING_PEAK)
/* As PLUMB_SPAN; memory is measured as for a stage. */
#define PLUMB_SPAN_MEMORY(name) PLUMB_SCOPE_UNNAMED_(name, PLUMB_POINT_MEMORY)
/* A request that ends with the block. */
#define PLUMB_REQUEST(var, id, metadata)                                                           \
    plumb_request var PLUMB_CLEANUP_(plumb_request_cleanup_) = plumb_request_begin(id, metadata)

#ifdef __cplusplus
}
#endif
#endif

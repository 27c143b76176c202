/* stage.h: what a stage has beyond a span, and requests. Part of plumb.h. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_STAGE_H
#define PLUMB_STAGE_H

#if !defined(PLUMB_DISABLE)
#ifdef __cplusplus
extern "C" {
#endif

/* A span of a node whose name is made at run time, with flags (enum plumb_point_flags): a stage, or
 * a node whose memory is measured. */
static inline plumb_span plumb_begin_with(plumb_node node, uint32_t flags)
{
    const struct plumb_api *api = plumb_client_api_();
    plumb_span none = {0};
    return node && PLUMB_KNOWS_(api, span_begin_with) ? api->span_begin_with(node, flags) : none;
}

/* An async span with flags: with PLUMB_POINT_STAGE a stage that begins here and ends on any thread,
 * by plumb_async_end(), _fail() or _abandon(); many may be open at once. It counts for the request
 * that this thread works for. Its memory is what the process holds at its end. */
static inline plumb_async plumb_async_begin_with(plumb_node node, uint32_t flags)
{
    const struct plumb_api *api = plumb_client_api_();
    plumb_async none = {0};
    return node && PLUMB_KNOWS_(api, async_begin_with) ? api->async_begin_with(node, flags) : none;
}

/* The component metric that an open stage counts for ("dit_time_s"); kept with its node. */
static inline void plumb_stage_metric(plumb_span stage, const char *name)
{
    const struct plumb_api *api = plumb_client_api_();
    if (stage.id && PLUMB_KNOWS_(api, stage_metric))
        api->stage_metric(stage, name);
}

/* ---- Requests ---------------------------------------------------------------------------------
 * A section of the records for one piece of work that the program was asked for: the runs of its
 * stages, its memory, its checkpoints and signatures. Cumulative statistics go on unchanged.
 *
 * A thread works for one request at a time: beginning the next ends the one before. Workers that
 * adopt a context captured inside work for it too. `id` NULL or "": "req_" and the time; it is cut
 * at 103 bytes. `metadata`: pairs that end with a NULL key, or NULL; 2 KiB are kept. */
static inline plumb_request plumb_request_begin(const char *id, const plumb_pair *metadata)
{
    const struct plumb_api *api = plumb_api_();
    plumb_request none = {0};
    return PLUMB_KNOWS_(api, request_begin) ? api->request_begin(id, metadata) : none;
}
/* On any thread. */
static inline void plumb_request_end(plumb_request request)
{
    if (request.id)
        plumb_client_api_()->request_end(request, 0, NULL);
}
static inline void plumb_request_fail(plumb_request request, const char *why)
{
    if (request.id)
        plumb_client_api_()->request_end(request, 1, why);
}
static inline void plumb_request_cleanup_(plumb_request *request)
{
    PLUMB_JUMPED_PAST_(*request);
    if (plumb_client_api_())
        plumb_request_end(*request);
}

#ifdef __cplusplus
}
#endif

/* As PLUMB_STAGE; memory peaks are not started anew at its begin: it sees the highest since the
 * last stage that did. */
#define PLUMB_STAGE_RUNNING_PEAK(var, name)                                                        \
    PLUMB_SCOPE_(var, name, PLUMB_POINT_STAGE | PLUMB_POINT_RUNNING_PEAK)
/* As PLUMB_SPAN; memory is measured as for a stage. */
#define PLUMB_SPAN_MEMORY(name) PLUMB_SCOPE_(PLUMB_ID_(plumb_span_), name, PLUMB_POINT_MEMORY)
/* A request that ends with the block. */
#define PLUMB_REQUEST(var, id, metadata)                                                           \
    plumb_request var __attribute__((cleanup(plumb_request_cleanup_), unused)) =                   \
        plumb_request_begin(id, metadata)

#endif
#endif

/* async_stage.c: stages that are async spans: begun here, ended on any thread, several at once.
 *
 * They belong to no thread, so allocator events are never attributed to them. Their memory is that
 * of the process at the end, with the peak since a stage of a thread last reset it. The span's slot
 * keeps the request of the begin; only the end that wins reads it. */
#include "record/runtime/async.h"
#include "record/runtime/enter.h"
#include "record/runtime/node.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"
#include "record/stage/stage.h"

static bool reads_memory(void)
{
    return PLUMB_LOAD(plumb_rt.settings.memory) != PLUMB_MEMORY_OFF;
}

static void look_around(struct plumb_live_async *out)
{
    struct plumb_in in;
    if (!plumb_ledger_enter(&in, false))
        return;
    out->request = plumb_request_current(in);
    out->within = plumb_stage_within(in.th);
    if (out->rss)
        plumb_series_point(in.run, plumb_ticks_from(in.th->clock), out->rss);
    plumb_ledger_leave(in);
}

plumb_async plumb_async_begin_with_impl(plumb_node node, uint32_t flags)
{
    struct plumb_live_async stage = {.flags = flags};
    plumb_async none = {0};
    struct plumb_in in;
    if (node == 0 || node >= PLUMB_ACQUIRE(plumb_rt.node_count) || !plumb_wanted() ||
        (flags & PLUMB_POINT_DEBUG && !PLUMB_LOAD(plumb_rt.debug)))
        return none;
    plumb_node_flagged(node, flags);
    if (!(flags & PLUMB_POINT_STAGE))
        return plumb_async_begin_impl(node);
    if (!plumb_enter(&in, false))
        return none;
    plumb_leave(in);
    /* Before the span: the time of the log line is not the stage's. */
    plumb_stage_log_begin(node, in.th->group);
    if (PLUMB_LOAD(in.th->gate) & PLUMB_GATE_SYNC)
        plumb_synchronise(in.th, node);
    plumb_stage_checkpoint("before", node);
    stage.rss = reads_memory() ? plumb_rss_read().now : 0;
    look_around(&stage);
    stage.begin_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    return plumb_async_begin_stage(node, &stage);
}

static void enter_run(const struct plumb_live_async *was, struct plumb_stage_entry *e)
{
    struct plumb_rss rss = {0, 0};
    struct plumb_in in;
    if (reads_memory())
        rss = plumb_rss_read();
    if (!plumb_ledger_enter(&in, true))
        return;
    plumb_sized_flush(in);
    plumb_memory_held(in.run, &rss, &e->memory);
    if (was->rss && rss.now)
        e->memory.growth = (int64_t)(rss.now - was->rss);
    plumb_ledger_stage_run(in.run, e);
    plumb_ledger_leave(in);
}

void plumb_async_stage_ended(const struct plumb_live_async *was, uint64_t ticks, uint32_t mark,
                             const char *why)
{
    uint64_t end_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    struct plumb_stage_entry e = {.key = plumb_key(was->group, was->node),
                                  .begin_ticks = was->begin_ticks,
                                  .end_ticks = ticks,
                                  .request = was->request,
                                  .step = -1,
                                  .tid = was->tid,
                                  .failed = mark == 1,
                                  .within = was->within,
                                  .why = why,
                                  .stage = true,
                                  .outermost = true, /* it may outlast the spans around it */
                                  .async = true};
    e.own_ticks = plumb_stage_took(&e);
    if (mark != 2) {
        enter_run(was, &e);
        plumb_stage_checkpoint("after", was->node);
    }
    plumb_stage_log_end(&(struct plumb_stage_line){was->node, was->group, mark, was->begin_ns,
                                                   end_ns, why ? why : "no reason given"},
                        &e.memory);
}

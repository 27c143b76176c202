/* log.c: the log lines of a traced run, at level info, on local rank 0: its begin with its
 * settings, and the places of its results. Switching of collection is logged in
 * record/span/region_span.c. */
#include <string.h>

#include "base/log.h"
#include "record/runtime/mapping.h"
#include "record/trace/trace.h"

static bool is_told(const struct plumb_run *run)
{
    return run->h->trace.mode != PLUMB_LIVE_TRACE_NONE && run->h->local_rank <= 0 &&
           plumb_log_level() >= PLUMB_LOG_INFO;
}

static const char *on_off(bool on)
{
    return on ? "on" : "off";
}

void plumb_trace_log_start(const struct plumb_run *run)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    bool chosen = run->h->regions.selection == PLUMB_SELECT_REGIONS;
    if (!is_told(run))
        return;
    plumb_log(PLUMB_LOG_INFO, "PROFILER: start: directory %s", run->dir);
    plumb_log(PLUMB_LOG_INFO,
              "PROFILER: config: regions %.300s%s, scope %s, nodes %.300s%s; shapes %s, memory %s, "
              "stacks %s, flops %s",
              chosen ? s->regions : "(the whole run)",
              chosen && strlen(s->regions) > 300 ? "..." : "",
              s->region_scope == PLUMB_REGION_PROCESS ? "process" : "thread",
              s->trace_nodes[0] ? s->trace_nodes : "-", strlen(s->trace_nodes) > 300 ? "..." : "",
              on_off(s->trace_shapes), on_off(s->trace_memory), on_off(s->trace_stack),
              on_off(s->trace_flops));
}

void plumb_trace_log_stop(const struct plumb_run *run)
{
    if (is_told(run))
        plumb_log(PLUMB_LOG_INFO, "PROFILER: stop: %s", run->dir);
}

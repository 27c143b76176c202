/* collector_state.c: the state of a run's collectors: in the mapping, in notes, and for programs
 * that ask. */
#include <stdio.h>
#include <string.h>

#include "record/collect/collector.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/record_log.h"
#include "record/runtime/thread.h"

struct plumb_live_collector *plumb_collector_entry(struct plumb_collector *c, struct plumb_run *run)
{
    struct plumb_live_table *t = &run->h->collectors;
    struct plumb_live_collector *live;
    for (uint32_t i = 0; i < t->count; i++) {
        live = plumb_table_at(run, t, i);
        if (live->index == c->index)
            return live;
    }
    live = plumb_table_add(run, t);
    if (live) {
        memset(live, 0, sizeof *live);
        live->index = c->index;
        live->name_off = plumb_carve_text(run, c->ops.name);
        live->state = PLUMB_COLLECTOR_RUNNING;
        plumb_table_commit(t);
    }
    return live;
}

static void keep_figures(struct plumb_collector *c, struct plumb_run *run)
{
    plumb_lanes_sum(run, c, &c->last);
    c->last.lanes = PLUMB_LOAD(c->lanes);
    c->last.clocks = c->clocks;
}

static void enter(struct plumb_collector *c, struct plumb_run *run)
{
    struct plumb_live_collector *live = plumb_collector_entry(c, run);
    if (!live)
        return;
    live->why_off = c->why[0] ? plumb_carve_text(run, c->why) : 0;
    live->state = c->state;
    live->refused_late = PLUMB_LOAD(c->late);
}

static void note_counts(const struct plumb_collector *c, struct plumb_run *run)
{
    unsigned long long late = PLUMB_LOAD(c->late), times = c->last.refused_times;
    if (late)
        plumb_run_note(run, "collector '%s': %llu events after its stop were refused", c->ops.name,
                       late);
    if (times)
        plumb_run_note(run, "collector '%s': %llu events were refused, whose times cannot be",
                       c->ops.name, times);
    if (c->last.dropped)
        plumb_run_note(run,
                       "collector '%s': %llu of %llu events are not in the trace, whose lanes were "
                       "full; statistics have them",
                       c->ops.name, (unsigned long long)c->last.dropped,
                       (unsigned long long)c->last.emitted);
}

void plumb_collectors_report(struct plumb_run *run)
{
    struct plumb_collector *c;
    for (uint32_t i = 0; (c = plumb_collector_at(i)) != NULL; i++) {
        if (PLUMB_LOAD(c->generation) != run->generation)
            continue;
        pthread_mutex_lock(&c->lock);
        keep_figures(c, run);
        plumb_lock();
        enter(c, run);
        note_counts(c, run);
        plumb_unlock();
        pthread_mutex_unlock(&c->lock);
    }
}

void plumb_collectors_list(void)
{
    struct plumb_collector *c;
    char line[PLUMB_COLLECTOR_WHY + 80];
    for (uint32_t i = 0; (c = plumb_collector_at(i)) != NULL; i++) {
        pthread_mutex_lock(&c->lock);
        bool there = PLUMB_LOAD(c->registered);
        uint32_t state = c->state;
        snprintf(line, sizeof line, "%s %s", there ? c->ops.name : "", c->why);
        pthread_mutex_unlock(&c->lock);
        line[strcspn(line, "\n")] = '\0';
        if (there)
            plumb_run_report_line("collect", line, state, c->built_in);
    }
}

int plumb_collector_status_impl(plumb_collector_status *out, plumb_collector *c)
{
    plumb_collector_status s = {0};
    struct plumb_in in;
    size_t size = out ? out->size : 0;
    if (!c || size < sizeof out->size)
        return PLUMB_ERR_ARG;
    pthread_mutex_lock(&c->lock);
    s = c->last;
    s.state = c->state;
    s.lanes = PLUMB_LOAD(c->lanes);
    s.clocks = c->clocks;
    memcpy(s.why, c->why, sizeof s.why);
    pthread_mutex_unlock(&c->lock);
    s.refused_late = PLUMB_LOAD(c->late);
    if (PLUMB_LOAD(plumb_rt.recording) && plumb_enter(&in, true)) {
        if (in.run->generation == PLUMB_LOAD(c->generation))
            plumb_lanes_sum(in.run, c, &s);
        plumb_leave(in);
    }
    s.size = size;
    memcpy(out, &s, size < sizeof s ? size : sizeof s);
    return PLUMB_OK;
}

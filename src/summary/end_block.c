/* end_block.c: see end_block.h. On a healthy run it has a few lines at most: only a fact that needs
 * attention gets a line. */
#include "summary/end_block.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/print.h"
#include "summary/table.h"

enum { PREEMPTED_PART = 20, PREEMPTED_SHOWN = 3, OPEN_SHOWN = 5, LARGE_TRACE = 50 * 1000 * 1000 };

static void tell_open(const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->open_count && i < OPEN_SHOWN; i++)
        plumb_say("plumb: still open at the end: '%.200s' (thread %u, %.3f s)", t->open[i].node,
                  t->open[i].tid, (double)t->open[i].age_ns * 1e-9);
    if (t->open_count > OPEN_SHOWN)
        plumb_say("plumb: ... and %zu more open spans", t->open_count - OPEN_SHOWN);
}

static void tell_unbalanced(const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->node_count; i++) {
        if (t->nodes[i].unbalanced)
            plumb_say("plumb: '%.200s': %" PRIu64 " span%s never ended by %s (closed by an outer "
                      "end or a thread's exit; not counted)",
                      t->nodes[i].name, t->nodes[i].unbalanced,
                      t->nodes[i].unbalanced == 1 ? "" : "s",
                      t->nodes[i].unbalanced == 1 ? "itself" : "themselves");
        if (t->nodes[i].failures)
            plumb_say("plumb: '%.200s': %" PRIu64 " failed%s%.200s", t->nodes[i].name,
                      t->nodes[i].failures, t->nodes[i].last_failure ? ", last: " : "",
                      t->nodes[i].last_failure ? t->nodes[i].last_failure : "");
    }
}

static void tell_drops(const struct plumb_timing *t)
{
    const struct {
        uint64_t n;
        const char *what;
    } drops[] = {
        {t->drops.other_nodes, "uses of names beyond PLUMB_MAX_NODES, counted under '(other)'"},
        {t->drops.other_state, "samples beyond PLUMB_MAX_STATE, counted under '(other)'"},
        {t->drops.lost_state, "samples not counted at all: PLUMB_MAX_STATE is used up"},
        {t->drops.too_deep, "spans nested deeper than 255, not recorded"},
        {t->drops.async, "async spans beyond 65536 open at once, not recorded"},
        {t->drops.reentrant, "spans in signal handlers that interrupted plumb, not recorded"},
        {t->drops.stale, "ends that belong to no open span of their thread, ignored"},
        {t->drops.tree, "call-tree places beyond the bound, counted at the root"},
        {t->drops.range, "samples refused: negative, or longer than 9 years"},
        {t->drops.other_phases, "uses of phases beyond 255, counted under '(other)'"},
        {t->drops.other_pipelines, "uses of pipelines beyond 255, counted under '(other)'"},
    };
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        if (drops[i].n)
            plumb_say("plumb: %" PRIu64 " %s", drops[i].n, drops[i].what);
    }
}

/* Every row: no file has them, and no command can show them again. */
static void tell_table(const struct plumb_timing *t)
{
    struct plumb_summary_options o = {0};
    struct plumb_buf b = {0};
    char *line, *rest;
    if (plumb_summary_table(&b, t, &o, NULL) == PLUMB_OK && b.data) {
        for (line = b.data; line; line = rest) {
            rest = strchr(line, '\n');
            if (rest)
                *rest++ = '\0';
            plumb_say("%s", line);
        }
    }
    plumb_buf_fini(&b);
}

static void report_malloc(const struct plumb_timing *t)
{
    const double mib = 1 << 20;
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &t->memory.pools[i];
        if (p->by_size)
            plumb_say("plumb: malloc: %" PRIu64 " allocations of %.1f MiB in all; at most %.1f MiB "
                      "at once",
                      p->allocs, (double)p->alloc_bytes / mib, (double)p->peak_allocated / mib);
    }
}

static void tell_unaccounted(const struct plumb_timing *t)
{
    struct plumb_buf line = {0};
    if (plumb_timing_unaccounted_line(&line, t) && line.data)
        plumb_say("plumb: %s", line.data);
    plumb_buf_fini(&line);
}

/* Nodes that lost more than a twentieth of their time to other threads. */
static void tell_preempted(const struct plumb_timing *t)
{
    size_t told = 0;
    for (size_t i = 0; i < t->node_count && told < PREEMPTED_SHOWN; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        double total = (double)n->host.ns.total;
        if (!(total > 0) || (double)n->sched.preempted_ns <= total / PREEMPTED_PART)
            continue;
        told++;
        plumb_say("plumb: '%.200s': %.1f %% of its time was preemption: %" PRIu64
                  " times, %.3f ms at the most (its p99 is %.3f ms)",
                  n->name, (double)n->sched.preempted_ns / total * 100, n->sched.preemptions,
                  (double)n->sched.longest_ns * 1e-6, n->host.p99_ns * 1e-6);
    }
}

/* The lines about the trace: what is missing from it, and why. */
static void tell_trace(const struct plumb_timing *t, const char *dir)
{
    if (!t->trace.end)
        return;
    if (t->trace.dropped)
        plumb_say("plumb: %" PRIu64 " spans of %u thread%s are not in the trace, their statistics "
                  "are complete: PLUMB_TRACE_RING was full, or the trace ended",
                  t->trace.dropped, t->trace.dropped_threads,
                  t->trace.dropped_threads == 1 ? "" : "s");
    if (strcmp(t->trace.end, "complete") != 0)
        plumb_say("plumb: the trace ends %s", t->trace.end);
    if (t->trace.kept_refused)
        plumb_say("plumb: %u piece%s of the trace kept, %" PRIu64
                  " more refused at PLUMB_TRACE_MAX",
                  t->trace.kept, t->trace.kept == 1 ? "" : "s", t->trace.kept_refused);
    else if (t->trace.kept)
        plumb_say("plumb: %u piece%s of the trace kept", t->trace.kept,
                  t->trace.kept == 1 ? "" : "s");
    if (dir && t->trace.bytes)
        plumb_say("plumb: trace: %s/trace.pftrace (%.1f MB, %" PRIu64
                  " spans); open it at https://ui.perfetto.dev",
                  dir, (double)t->trace.bytes * 1e-6, t->trace.spans);
    if (dir && t->trace.bytes > LARGE_TRACE)
        plumb_say("plumb: so large a trace is slow in a viewer: record some steps "
                  "(PLUMB_TRACE_STEPS=10-12), some regions (PLUMB_REGIONS) or less of it "
                  "(PLUMB_TRACE_MAX=16M)");
    if (dir && t->trace.bytes)
        plumb_say("plumb: for other viewers: plumb export %s", dir);
}

/* The newest trace that was switched on during the run, and how many there were. */
static void tell_windows(const struct plumb_timing *t, const char *dir)
{
    const struct plumb_timing_window *last;
    uint64_t dropped = 0;
    if (!t->window_count)
        return;
    last = &t->windows[t->window_count - 1];
    for (size_t i = 0; i < t->window_count; i++)
        dropped += t->windows[i].dropped;
    plumb_say("plumb: %" PRIu64
              " trace%s of a part of the run, the last is %s%s%s (%.1f MB, %" PRIu64 " spans)",
              t->windows_all, t->windows_all == 1 ? "" : "s",
              last->file[0] == '/' || !dir ? "" : dir, last->file[0] == '/' || !dir ? "" : "/",
              last->file, (double)last->bytes * 1e-6, last->spans);
    if (dropped)
        plumb_say("plumb: %" PRIu64 " spans are not in them, their statistics are complete: "
                  "PLUMB_TRACE_RING was full, or a trace ended early",
                  dropped);
}

/* Spans are counted and calibrated, threads are measured. */
static void tell_cost(const struct plumb_timing *t)
{
    char cost[128] = "what a span costs was not measured in so short a run;";
    if (t->overhead.work_span_ns > 0)
        plumb_print(cost, sizeof cost,
                    "cost about %.3f ms (%.1f ns a span around work, %.1f in a loop) and",
                    t->overhead.total_ns * 1e-6, t->overhead.work_span_ns, t->overhead.span_ns);
    plumb_say("plumb: %zu node%s, %" PRIu64
              " span%s in %.3f s; %s %.3f ms of processor time in plumb's own threads",
              t->node_count, t->node_count == 1 ? "" : "s", t->overhead.spans,
              t->overhead.spans == 1 ? "" : "s", (double)t->wall_clock_ns * 1e-9, cost,
              (double)t->overhead.threads_ns * 1e-6);
}

void plumb_end_block(const struct plumb_timing *t, const char *dir, bool summary)
{
    if (!dir)
        tell_table(t);
    for (size_t i = t->note_count; i-- > 0;)
        plumb_say("plumb: %s", t->notes[i]);
    tell_open(t);
    tell_unbalanced(t);
    tell_drops(t);
    report_malloc(t);
    tell_unaccounted(t);
    tell_preempted(t);
    tell_trace(t, dir);
    tell_windows(t, dir);
    tell_cost(t);
    if (dir && summary && t->rank <= 0)
        plumb_say("plumb: summary: %s/summary_rank0.txt", dir);
    if (dir)
        plumb_say("plumb: plumb report%s %s",
                  t->node_count == 0 && t->memory.pool_count > 0 ? " memory" : "", dir);
}

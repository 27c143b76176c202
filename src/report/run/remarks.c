/* remarks.c: the lines that accompany every report, because a figure without them misleads: the run
 * was cut short, something was dropped or failed, or another view has the recorded data. */
#include <inttypes.h>

#include "report/picture/chart.h"
#include "report/run/render.h"

struct drop {
    size_t offset;
    const char *what, *cure;
};

#define DROP(member) offsetof(struct plumb_timing, drops.member)

static const struct drop drops[] = {
    {DROP(other_nodes), "runs of nodes beyond PLUMB_MAX_NODES are counted under (other)",
     "raise PLUMB_MAX_NODES"},
    {DROP(other_state), "samples are counted under (other) for lack of memory",
     "raise PLUMB_MAX_STATE"},
    {DROP(lost_state), "samples were lost for lack of memory", "raise PLUMB_MAX_STATE"},
    {DROP(too_deep), "spans were nested too deep and not recorded", NULL},
    {DROP(async), "async spans were dropped: too many open at once", NULL},
    {DROP(reentrant), "spans begun in a signal handler that interrupted plumb were dropped", NULL},
    {DROP(unbalanced), "spans were closed by an outer one, the end of their thread or of the run",
     NULL},
    {DROP(stale), "ends belonged to no open span", NULL},
    {DROP(tree), "runs did not fit into the call tree; the table has them",
     "raise PLUMB_MAX_STATE"},
    {DROP(range), "samples were refused: negative, or longer than 9 years",
     "look at how their durations are computed"},
    {DROP(other_phases), "uses of phases beyond 255 are counted under (other)",
     "give runs fewer phases"},
    {DROP(other_pipelines), "uses of pipelines beyond 255 are counted under (other)",
     "give runs fewer pipelines"},
};

static void put_open(const struct plumb_timing *t, bool live, struct plumb_buf *out)
{
    bool one = t->open_count == 1;
    if (t->open_count == 0)
        return;
    if (live)
        plumb_buf_printf(out, "%zu %s open:", t->open_count, one ? "span is" : "spans are");
    else
        plumb_buf_printf(out, "%zu %s open when the run ended:", t->open_count,
                         one ? "span was" : "spans were");
    for (size_t i = 0; i < t->open_count; i++) {
        bool nested = i > 0 && t->open[i].tid == t->open[i - 1].tid;
        plumb_buf_str(out, i == 0 ? " " : nested ? " > " : ", ");
        plumb_put_left(out, t->open[i].node, 0);
        if (i + 1 == t->open_count || t->open[i + 1].tid != t->open[i].tid) {
            plumb_buf_str(out, " (for ");
            plumb_put_fixed(out, (double)t->open[i].age_ns / 1e9, 3, 0);
            plumb_buf_printf(out, " s, thread %" PRIu32 ")", t->open[i].tid);
        }
    }
    plumb_buf_char(out, '\n');
}

static void put_drops(const struct plumb_timing *t, struct plumb_buf *out)
{
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        const uint64_t *count = (const uint64_t *)(const void *)((const char *)t + drops[i].offset);
        if (*count == 0)
            continue;
        plumb_buf_printf(out, "%" PRIu64 " %s", *count, drops[i].what);
        plumb_buf_printf(out, "%s%s\n", drops[i].cure ? ": " : "",
                         drops[i].cure ? drops[i].cure : "");
    }
}

static void put_clamped(const struct plumb_timing *t, struct plumb_buf *out)
{
    size_t n = plumb_timing_clamped(t);
    if (n)
        plumb_buf_printf(out,
                         "%zu row%s a total of more than 584 years, shown as that; mean and "
                         "deviation do not hold\n",
                         n, n == 1 ? " has" : "s have");
}

static void put_failures(const struct plumb_timing *t, struct plumb_buf *out)
{
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *node = &t->nodes[i];
        if (node->failures == 0)
            continue;
        plumb_put_left(out, node->name, 0);
        plumb_buf_printf(out, " failed %" PRIu64 " time%s", node->failures,
                         node->failures == 1 ? "" : "s");
        if (node->last_failure && node->last_failure[0]) {
            plumb_buf_str(out, ", last: ");
            plumb_put_left(out, node->last_failure, 0);
        }
        plumb_buf_char(out, '\n');
    }
}

static void put_unaccounted(const struct plumb_timing *t, struct plumb_buf *out)
{
    struct plumb_buf line = {0};
    if (plumb_timing_unaccounted_line(&line, t) && line.data) {
        plumb_put_left(out, line.data, 0);
        plumb_buf_char(out, '\n');
    }
    plumb_buf_fini(&line);
}

static uint64_t events_of(const struct plumb_timing_collector *c)
{
    uint64_t events = 0;
    for (size_t i = 0; i < c->lane_count; i++)
        events += c->lanes[i].events;
    return events;
}

/* Without a span every table of nodes is empty, whatever the collectors recorded. */
static void put_collectors(const struct plumb_timing *t, struct plumb_buf *out)
{
    bool first = true;
    if (t->node_count > 0)
        return;
    for (size_t i = 0; i < t->collector_count; i++) {
        uint64_t events = events_of(&t->collectors[i]);
        if (events == 0)
            continue;
        plumb_buf_str(out, first ? "no span was recorded, but events of collectors: " : ", ");
        first = false;
        plumb_put_left(out, t->collectors[i].name, 0);
        plumb_buf_printf(out, " %" PRIu64, events);
    }
    if (!first)
        plumb_buf_str(out, t->trace.end
                               ? "; 'plumb report kernels' and 'plumb report trace' show them\n"
                               : "; with PLUMB_TRACE=1 'plumb report kernels' and 'plumb report "
                                 "trace' show them\n");
}

static const char *why_recovered(const struct plumb_timing *t)
{
    return t->unsaved ? "the process could not save its report"
                      : "the process did not end the run itself";
}

void plumb_remarks_write(const struct plumb_timing *t, bool live, struct plumb_buf *out)
{
    if (live)
        plumb_buf_str(out, "the run still records: this is a momentary view\n");
    else if (t->recovered)
        plumb_buf_printf(out, "recovered: %s\n", why_recovered(t));
    put_collectors(t, out);
    put_open(t, live, out);
    put_drops(t, out);
    put_clamped(t, out);
    put_failures(t, out);
    put_unaccounted(t, out);
    for (size_t i = 0; i < t->note_count; i++) {
        plumb_put_left(out, t->notes[i], 0);
        plumb_buf_char(out, '\n');
    }
}

void plumb_put_run(struct plumb_buf *out, const struct plumb_timing *t,
                   const struct plumb_render_options *o)
{
    plumb_buf_str(out, "Wall clock ");
    plumb_put_duration(out, (double)t->wall_clock_ns);
    if (o->live)
        plumb_buf_str(out, " (the run still records)");
    else if (t->recovered)
        plumb_buf_printf(out, " (recovered: %s)", why_recovered(t));
    plumb_buf_printf(out, ", %zu nodes, program ", t->node_count);
    plumb_buf_str(out, t->program ? t->program : "(unknown)");
    if (o->run) {
        plumb_buf_str(out, ", run ");
        plumb_buf_str(out, o->run);
    }
}

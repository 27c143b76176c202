/* sections.c: the tables of the trace view. Any thread; no state. */
#include <string.h>

#include "report/trace/parts.h"

#define BIT(kind) (1u << (kind))

/* ---- Words ---------------------------------------------------------------------------------- */

size_t plumb_trace_shown(const struct plumb_trace_sight *s, size_t n)
{
    return s->view->top > 0 && s->view->top < n ? (size_t)s->view->top : n;
}

static const char *keep(const struct plumb_trace_sight *s, struct plumb_buf *b)
{
    struct plumb_arena *arena = (struct plumb_arena *)&s->arena; /* a cache of texts */
    const char *text = b->failed ? NULL : plumb_arena_strdup(arena, b->data ? b->data : "");
    plumb_buf_fini(b);
    return text ? text : "";
}

const char *plumb_trace_track_name(const struct plumb_trace_sight *s, uint32_t track)
{
    struct plumb_buf b = {0};
    plumb_table_put_track(&b, s->t, track);
    return keep(s, &b);
}

const char *plumb_trace_args_text(const struct plumb_trace_sight *s, uint32_t slice)
{
    struct plumb_buf b = {0};
    const struct plumb_table_args *args = &s->t->slice_args;
    for (uint32_t i = s->t->slices.args[slice]; i < s->t->slices.args[slice + 1]; i++) {
        plumb_buf_str(&b, b.len ? " " : "");
        plumb_buf_str(&b, plumb_table_text(s->t, args->key[i]));
        plumb_buf_char(&b, '=');
        if (args->type[i] == PLUMB_ARG_POINTER &&
            strncmp(plumb_table_text(s->t, args->key[i]), "stack.", 6) == 0)
            plumb_symbols_put(&b, s->symbols, args->value[i].u64);
        else
            plumb_table_put_value(&b, s->t, args->type[i], args->value[i]);
    }
    return b.len || b.failed ? keep(s, &b) : NULL;
}

/* The name of a node in steps' rows, without the number of a mark, which has a column of its
 * own. */
static const char *stepped_name(const struct plumb_trace_sight *s, uint32_t name)
{
    int64_t step;
    return plumb_step_is_mark(&s->marks, name, &step) ? PLUMB_STEP_MARK_NAME
                                                      : plumb_table_text(s->t, name);
}

static const char *text_of(const struct plumb_trace_sight *s, uint32_t id)
{
    return id ? plumb_table_text(s->t, id) : NULL;
}

static const char *phase_of(const struct plumb_trace_sight *s, uint32_t category)
{
    const char *phase = plumb_table_phase(s->t, category);
    return *phase ? phase : NULL;
}

/* The three cells that say where: thread, its number, and the process where there are several. */
static void add_track(struct plumb_grid *g, const struct plumb_trace_sight *s, uint32_t track)
{
    const struct plumb_table_track *l = &s->t->tracks[track];
    plumb_grid_text(g, plumb_trace_track_name(s, track));
    if (l->has_tid && l->kind == PLUMB_TRACK_THREAD)
        plumb_grid_signed(g, l->tid);
    else
        plumb_grid_none(g);
    if (l->has_pid && s->processes)
        plumb_grid_signed(g, l->pid);
    else
        plumb_grid_none(g);
}

static void add_unless_0(struct plumb_grid *g, uint64_t value)
{
    if (value > 0)
        plumb_grid_whole(g, value);
    else
        plumb_grid_none(g);
}

static void add_durations(struct plumb_grid *g, const struct plumb_durations *d)
{
    if (d->count == 0) {
        plumb_grid_nones(g, 4);
        return;
    }
    plumb_grid_whole(g, d->min_ns);
    plumb_grid_whole(g, d->median_ns);
    plumb_grid_whole(g, d->p99_ns);
    plumb_grid_whole(g, d->max_ns);
}

#define NAME                                                                                       \
    {                                                                                              \
        "name", "Node", PLUMB_GRID_TEXT, NULL                                                      \
    }
#define PHASE                                                                                      \
    {                                                                                              \
        "category", "Phase", PLUMB_GRID_TEXT,                                                      \
            "what the runs were for; of other tools: their category"                               \
    }
#define TRACK                                                                                      \
    {"thread", "Thread", PLUMB_GRID_TEXT, "or the queue, or whatever else has a row of its own"},  \
        {"tid", "TID", PLUMB_GRID_WHOLE, NULL},                                                    \
    {                                                                                              \
        "pid", "PID", PLUMB_GRID_WHOLE, NULL                                                       \
    }
#define TIMES                                                                                      \
    {"count", "Count", PLUMB_GRID_COUNT,                                                           \
     "runs that ended well and are whole in the trace; the figures are theirs"},                   \
        {"total_ns", "Total(ms)", PLUMB_GRID_NS, "sum of them"},                                   \
        {"self_ns", "Self(ms)", PLUMB_GRID_NS, "the same without what ran directly inside"},       \
        {"min_ns", "Min(us)", PLUMB_GRID_US, "shortest run"},                                      \
        {"median_ns", "Median(us)", PLUMB_GRID_US, "half of the runs were shorter; exact"},        \
        {"p99_ns", "p99(us)", PLUMB_GRID_US, "99 of 100 runs were not longer; exact"},             \
        {"max_ns", "Max(us)", PLUMB_GRID_US, "longest run"},                                       \
        {"failed", "Failed", PLUMB_GRID_COUNT, "runs marked as failed"},                           \
        {"no_sample", "Void", PLUMB_GRID_COUNT, "runs abandoned, or ended by an outer one"},       \
        {"cut", "Cut", PLUMB_GRID_COUNT, "runs whose end was lost; not in the figures"},           \
    {                                                                                              \
        "open", "Open", PLUMB_GRID_COUNT, "runs that had not ended; not in the figures"            \
    }

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void add_times(struct plumb_grid *g, const struct plumb_span_row *row)
{
    plumb_grid_whole(g, row->of.count);
    plumb_grid_whole(g, row->of.total_ns);
    plumb_grid_whole(g, row->self_ns);
    add_durations(g, &row->of);
    add_unless_0(g, row->failed);
    add_unless_0(g, row->no_sample);
    add_unless_0(g, row->cut);
    add_unless_0(g, row->open);
}

static void fill_nodes(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        NAME, PHASE, {"threads", "Threads", PLUMB_GRID_COUNT, "threads that it ran on"}, TIMES};
    size_t shown = plumb_trace_shown(s, s->nodes.count);
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_span_row *row = &s->nodes.rows[i];
        plumb_grid_text(g, plumb_table_text(s->t, row->name));
        plumb_grid_text(g, phase_of(s, row->category));
        plumb_grid_whole(g, row->tracks);
        add_times(g, row);
    }
    *more = s->nodes.count - shown;
}

static void fill_threads(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {NAME, PHASE, TRACK, TIMES};
    size_t shown = plumb_trace_shown(s, s->threads.count);
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_span_row *row = &s->threads.rows[i];
        plumb_grid_text(g, plumb_table_text(s->t, row->name));
        plumb_grid_text(g, phase_of(s, row->category));
        add_track(g, s, row->track);
        add_times(g, row);
    }
    *more = s->threads.count - shown;
}

/* ---- Threads and gaps ----------------------------------------------------------------------- */

static void fill_tracks(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        TRACK,
        {"slices", "Spans", PLUMB_GRID_COUNT, "nested ones too"},
        {"first_ns", "First(ms)", PLUMB_GRID_NS, "when its first span begins"},
        {"last_ns", "Last(ms)", PLUMB_GRID_NS, "when its last one ends"},
        {"busy_ns", "Busy(ms)", PLUMB_GRID_NS, "time with a span, between the two"},
        {"idle_ns", "Idle(ms)", PLUMB_GRID_NS, "time without"},
        {"idle_percent", "Idle%", PLUMB_GRID_PERCENT, NULL},
        {"gaps", "Gaps", PLUMB_GRID_COUNT, "pieces that the idle time is in"}};
    size_t shown = plumb_trace_shown(s, s->gaps.track_count);
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_track_row *row = &s->gaps.tracks[i];
        double all_ns = (double)(row->busy_ns + row->idle_ns);
        add_track(g, s, row->track);
        plumb_grid_whole(g, row->slices);
        plumb_grid_whole(g, row->first_ns);
        plumb_grid_whole(g, row->last_ns);
        plumb_grid_whole(g, row->busy_ns);
        plumb_grid_whole(g, row->idle_ns);
        plumb_grid_real(g, all_ns > 0 ? 100 * (double)row->idle_ns / all_ns : 0);
        plumb_grid_whole(g, row->gaps);
    }
    *more = s->gaps.track_count - shown;
}

static void fill_gaps(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        TRACK,
        {"start_ns", "At(ms)", PLUMB_GRID_NS, "when it begins"},
        {"dur_ns", "Idle(us)", PLUMB_GRID_US, "how long nothing runs"},
        {"after", "After", PLUMB_GRID_TEXT, "the span that ends before it"},
        {"before", "Before", PLUMB_GRID_TEXT, "the span that begins after it"}};
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->gaps.gap_count; i++) {
        const struct plumb_gap *gap = &s->gaps.gaps[i];
        add_track(g, s, gap->track);
        plumb_grid_whole(g, gap->ts_ns);
        plumb_grid_whole(g, gap->dur_ns);
        plumb_grid_text(g, plumb_table_text(s->t, s->t->slices.name[gap->after]));
        plumb_grid_text(g, plumb_table_text(s->t, s->t->slices.name[gap->before]));
    }
    *more = (size_t)s->gaps.total - s->gaps.gap_count;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static void fill_stepped(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        NAME,
        {"steps", "Steps", PLUMB_GRID_COUNT, "steps that it ran in"},
        {"total_ns", "Total(ms)", PLUMB_GRID_NS, "over all of them"},
        {"min_ns", "Min(us)", PLUMB_GRID_US, "shortest step"},
        {"median_ns", "Median(us)", PLUMB_GRID_US, "half of the steps were shorter; exact"},
        {"p99_ns", "p99(us)", PLUMB_GRID_US, "99 of 100 steps were not longer; exact"},
        {"max_ns", "Max(us)", PLUMB_GRID_US, "longest step"},
        {"slowest", "Slowest", PLUMB_GRID_WHOLE, "which step that was"}};
    size_t shown = plumb_trace_shown(s, s->steps.node_count);
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_stepped_node *node = &s->steps.nodes[i];
        plumb_grid_text(g, stepped_name(s, node->name));
        plumb_grid_whole(g, node->of.count);
        plumb_grid_whole(g, node->of.total_ns);
        add_durations(g, &node->of);
        plumb_grid_signed(g, node->slowest);
    }
    *more = s->steps.node_count - shown;
}

static void fill_steps(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        NAME,
        {"step", "Step", PLUMB_GRID_WHOLE, NULL},
        {"count", "Count", PLUMB_GRID_COUNT, "runs in this step"},
        {"total_ns", "Total(us)", PLUMB_GRID_US, "sum of them"},
        {"max_ns", "Max(us)", PLUMB_GRID_US, "the longest of them"}};
    size_t shown = plumb_trace_shown(s, s->steps.row_count), left = shown;
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->steps.node_count; i++) {
        struct plumb_table_range rows = s->steps.nodes[i].rows;
        for (uint32_t k = rows.first; k < rows.first + rows.count && left > 0; k++, left--) {
            const struct plumb_step_row *row = &s->steps.rows[k];
            plumb_grid_text(g, stepped_name(s, row->name));
            plumb_grid_signed(g, row->step);
            plumb_grid_whole(g, row->count);
            plumb_grid_whole(g, row->total_ns);
            plumb_grid_whole(g, row->max_ns);
        }
    }
    *more = s->steps.row_count - shown;
}

/* ---- The slowest, and what was lost --------------------------------------------------------- */

static void fill_slowest(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        NAME,
        TRACK,
        {"start_ns", "At(ms)", PLUMB_GRID_NS, "when it begins"},
        {"dur_ns", "Took(us)", PLUMB_GRID_US, NULL},
        {"self_ns", "Self(us)", PLUMB_GRID_US, "without what ran inside"},
        {"step", "Step", PLUMB_GRID_WHOLE, NULL},
        {"args", "Args", PLUMB_GRID_TEXT, NULL}};
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->slowest_count; i++) {
        struct plumb_inside inside[PLUMB_INSIDE_MAX], rest;
        uint32_t slice = s->slowest[i];
        uint64_t self_ns;
        int64_t step;
        plumb_slice_inside(s->t, slice, inside, &rest, &self_ns);
        plumb_grid_text(g, plumb_table_text(s->t, s->t->slices.name[slice]));
        add_track(g, s, s->t->slices.track[slice]);
        plumb_grid_whole(g, s->t->slices.ts_ns[slice]);
        plumb_grid_whole(g, s->t->slices.dur_ns[slice]);
        plumb_grid_whole(g, self_ns);
        if (plumb_step_of(&s->marks, slice, &step))
            plumb_grid_signed(g, step);
        else
            plumb_grid_none(g);
        plumb_grid_text(g, plumb_trace_args_text(s, slice));
    }
    *more = (size_t)s->slowest_of - s->slowest_count;
}

static void fill_drops(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        TRACK,
        {"at_ns", "At(ms)", PLUMB_GRID_NS, "where they are missing"},
        {"name", "Node", PLUMB_GRID_TEXT, NULL},
        {"dropped", "Dropped", PLUMB_GRID_COUNT,
         "spans that were dropped because a buffer was full"}};
    size_t shown = plumb_trace_shown(s, s->t->drop_count);
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_table_drop *drop = &s->t->drops[i];
        add_track(g, s, drop->track);
        plumb_grid_whole(g, drop->ts_ns);
        plumb_grid_text(g, text_of(s, drop->name));
        add_unless_0(g, drop->count);
    }
    *more = s->t->drop_count - shown;
}

const struct plumb_trace_section *plumb_trace_sections(size_t *n)
{
    enum {
        ALL = BIT(PLUMB_TRACE_VIEW_OVERVIEW),
        NODES = BIT(PLUMB_TRACE_VIEW_NODES),
        GAPS = BIT(PLUMB_TRACE_VIEW_GAPS),
        STEPS = BIT(PLUMB_TRACE_VIEW_STEPS),
        SLOWEST = BIT(PLUMB_TRACE_VIEW_SLOWEST),
        KERNELS = BIT(PLUMB_TRACE_VIEW_KERNELS)
    };
    static const struct plumb_trace_section sections[] = {
        {"nodes", "Nodes", ALL | NODES, fill_nodes},
        {"nodes_by_thread", "Nodes by thread", ALL | NODES, fill_threads},
        {"threads", "Threads", ALL | GAPS, fill_tracks},
        {"gaps", "Largest gaps", ALL | GAPS, fill_gaps},
        {"stepped_nodes", "Steps", ALL | STEPS, fill_stepped},
        {"steps", "Each step", STEPS, fill_steps},
        {"slowest", "Slowest", SLOWEST, fill_slowest},
        {"top_kernels", "Kernels", KERNELS, plumb_trace_fill_kernels},
        {"top_ops", "Operators on the host", KERNELS, plumb_trace_fill_ops},
        {"dropped", "Dropped", ALL, fill_drops},
    };
    *n = sizeof sections / sizeof *sections;
    return sections;
}

/* top_lines.c: the columns of plumb top, and the lines around its table. */
#include <inttypes.h>
#include <string.h>

#include "top.h"

enum column {
    NODE,
    RATE,
    MEAN,
    P95,
    SHARE,
    SELF,
    DEVICE,
    OPEN,
    PHASE,
    MEMORY,
    PIPELINE,
    COUNT,
    P50,
    P99,
    MAX,
    FAILURES
};
enum { NODE_MOST = 48 };
_Static_assert(FAILURES + 1 == PLUMB_TOP_COLUMNS, "a column each");

/* In the order in which they get a place. */
static const struct {
    const char *title, *total; /* total: of figures since the start; NULL: the same */
    int width;
} columns[PLUMB_TOP_COLUMNS] = {
    [NODE] = {"Node", NULL, 16},
    [RATE] = {"Rate/s", NULL, 7},
    [MEAN] = {"Mean", NULL, 8},
    [P95] = {"p95", NULL, 8},
    [SHARE] = {"Share", NULL, 6},
    [SELF] = {"Self/s", "Self", 8},
    [DEVICE] = {"Device/s", "Device", 8},
    [OPEN] = {"Open", NULL, 12},
    [MEMORY] = {"Memory", NULL, 9},
    [COUNT] = {"Count", NULL, 11},
    [P50] = {"Median", NULL, 8},
    [P99] = {"p99", NULL, 8},
    [MAX] = {"Max", NULL, 8},
    [FAILURES] = {"Failed", NULL, 7},
    [PHASE] = {"Phase", NULL, 12},
    [PIPELINE] = {"Pipeline", NULL, 16},
};

/* Returns whether some row has a figure there. */
static bool says_something(const struct plumb_top_table *t, enum column c)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct plumb_top_row *r = &t->rows[i];
        if ((c == DEVICE && r->device_ns > 0) || (c == MEMORY && r->memory_bytes) ||
            (c == FAILURES && r->failures) ||
            (c == PHASE && strcmp(r->phase, t->rows[0].phase) != 0) ||
            (c == PIPELINE && strcmp(r->pipeline, t->rows[0].pipeline) != 0))
            return true;
    }
    return c != DEVICE && c != MEMORY && c != FAILURES && c != PHASE && c != PIPELINE;
}

/* Of places of the tree, the histogram is not known. */
static bool is_known(const struct plumb_top_view *view, enum column c)
{
    return !view->tree || (c != P95 && c != P50 && c != P99 && c != MAX && c != FAILURES);
}

static int widest_node(const struct plumb_top_table *t)
{
    char cell[PLUMB_TOP_CELL];
    int widest = columns[NODE].width;
    for (size_t i = 0; i < t->count; i++) {
        int cells =
            plumb_top_fit(cell, sizeof cell, t->rows[i].node, 0, 0) + 2 * (int)t->rows[i].depth;
        widest = cells > widest ? cells : widest;
    }
    return widest;
}

/* Returns the cells that the phases take, if there are several: rows of one name differ by them
 * alone, so this column has its place before others are chosen. */
static int widest_phase(const struct plumb_top_table *t)
{
    char cell[PLUMB_TOP_CELL];
    int widest = (int)strlen(columns[PHASE].title);
    if (!says_something(t, PHASE))
        return 0;
    for (size_t i = 0; i < t->count; i++) {
        int cells = plumb_top_fit(cell, sizeof cell, t->rows[i].phase, 0, 0);
        widest = cells > widest ? cells : widest;
    }
    return widest < columns[PHASE].width ? widest : columns[PHASE].width;
}

void plumb_top_columns_choose(struct plumb_top_columns *out, const struct plumb_top_table *t,
                              const struct plumb_top_view *view, int width)
{
    int widest = widest_node(t), node = width && width < 60 ? 12 : columns[NODE].width;
    int phase = widest_phase(t), used = node + (phase ? phase + 1 : 0);
    *out = (struct plumb_top_columns){.of = {NODE}, .width = {node}, .count = 1};
    for (enum column c = RATE; c <= FAILURES; c++) {
        int cells = c == PHASE ? phase : columns[c].width, more = c == PHASE ? 0 : cells + 1;
        /* The further columns get what long names leave. */
        if (c == COUNT && width)
            used += (widest < NODE_MOST ? widest : NODE_MOST) - node;
        if (!says_something(t, c) || !is_known(view, c) || (width && used + more > width))
            continue;
        out->of[out->count] = c;
        out->width[out->count++] = cells;
        used += more;
    }
    used = 0;
    for (size_t i = 1; i < out->count; i++)
        used += out->width[i] + 1;
    out->width[0] = !width || width - used > widest ? widest : width - used;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void open_cell(char out[32], const struct plumb_top_row *r)
{
    char age[16];
    plumb_top_time(age, (double)r->open_ns);
    if (r->open > 1)
        snprintf(out, 32, "%" PRIu32 ": %s", r->open, age);
    else
        snprintf(out, 32, "%s", r->open ? age : "");
}

static void cell_of(char *out, size_t room, const struct plumb_top_row *r, enum column c)
{
    char figure[32] = "";
    switch (c) {
    case RATE:
        plumb_top_rate(figure, r->rate);
        break;
    case MEAN:
        plumb_top_time(figure, r->mean_ns);
        break;
    case P95:
        plumb_top_time(figure, r->p95_ns);
        break;
    case P50:
        plumb_top_time(figure, r->p50_ns);
        break;
    case P99:
        plumb_top_time(figure, r->p99_ns);
        break;
    case MAX:
        plumb_top_time(figure, r->max_ns);
        break;
    case SHARE:
        snprintf(figure, sizeof figure, "%.1f%%", r->share);
        break;
    case SELF:
        plumb_top_time(figure, r->self_ns);
        break;
    case DEVICE:
        plumb_top_time(figure, r->device_ns > 0 ? r->device_ns : -1);
        break;
    case OPEN:
        open_cell(figure, r);
        break;
    case MEMORY:
        if (r->memory_bytes)
            plumb_top_bytes(figure, r->memory_bytes);
        break;
    case COUNT:
        snprintf(figure, sizeof figure, "%" PRIu64, r->count);
        break;
    case FAILURES:
        snprintf(figure, sizeof figure, "%" PRIu64, r->failures);
        break;
    default:
        break;
    }
    snprintf(out, room, "%s", figure);
}

static bool is_text(enum column c)
{
    return c == NODE || c == PHASE || c == PIPELINE;
}

static void node_cell(char *out, size_t room, const struct plumb_top_row *r, int width)
{
    int indent = (int)r->depth * 2 < width / 2 ? (int)r->depth * 2 : width / 2;
    snprintf(out, room, "%*s", indent, "");
    plumb_top_fit(out + indent, room - (size_t)indent, r->node, width - indent, PLUMB_TOP_PAD);
}

void plumb_top_line(char *out, size_t room, const struct plumb_top_columns *c,
                    const struct plumb_top_view *view, const struct plumb_top_row *row)
{
    size_t at = 0;
    for (size_t i = 0; i < c->count; i++) {
        enum column column = c->of[i];
        const char *title =
            view->total && columns[column].total ? columns[column].total : columns[column].title;
        char cell[PLUMB_TOP_CELL], figure[32];
        if (row && column == NODE)
            node_cell(cell, sizeof cell, row, c->width[i]);
        else if (is_text(column))
            plumb_top_fit(cell, sizeof cell,
                          !row              ? title
                          : column == PHASE ? row->phase
                                            : row->pipeline,
                          c->width[i], PLUMB_TOP_PAD);
        else {
            if (row)
                cell_of(figure, sizeof figure, row, column);
            snprintf(cell, sizeof cell, "%*s", c->width[i], row ? figure : title);
        }
        at += (size_t)snprintf(out + at, room - at, "%s%s", i ? " " : "", cell);
        if (at >= room)
            return;
    }
    while (at && out[at - 1] == ' ')
        out[--at] = '\0';
}

/* ---- The lines around the table -------------------------------------------------------------- */

static void program_line(char *out, size_t room, const struct plumb_top_watch *w)
{
    const plumb_reading_facts *f = plumb_reading_facts_of(w->now);
    static const char *const states[] = {"recording", "ended", "killed"};
    const char *slash = strrchr(f->program, '/');
    char program[128], pipeline[64], rank[32] = "", lasted[16];
    plumb_top_fit(program, sizeof program, slash ? slash + 1 : f->program, 40, 0);
    plumb_top_fit(pipeline, sizeof pipeline, f->pipeline, 24, 0);
    plumb_top_time(lasted, (double)f->elapsed_ns);
    if (f->rank >= 0)
        snprintf(rank, sizeof rank, f->ranks > 0 ? ", rank %d/%d" : ", rank %d", f->rank, f->ranks);
    snprintf(out, room, "%s  pid %" PRIu32 "%s  %s  %s %s", program, f->pid, rank, pipeline,
             states[f->state <= PLUMB_WATCH_KILLED ? f->state : 0], lasted);
}

static void load_line(char *out, size_t room, const struct plumb_top_watch *w,
                      const struct plumb_top_view *view)
{
    const plumb_reading_facts *f = plumb_reading_facts_of(w->now),
                              *s = plumb_reading_facts_of(plumb_top_shown(w, view));
    uint64_t open = 0, failed = 0;
    char rate[16], rss[16], requests[96] = "";
    for (size_t i = 0; i < plumb_reading_requests(w->now); i++) {
        uint32_t state = plumb_reading_request_at(w->now, i)->state;
        open += state == PLUMB_READING_REQUEST_OPEN;
        failed += state == PLUMB_READING_REQUEST_FAILED;
    }
    plumb_top_rate(rate, s->elapsed_ns ? (double)s->spans * 1e9 / (double)s->elapsed_ns : 0);
    plumb_top_bytes(rss, f->rss_bytes);
    if (f->requests)
        snprintf(requests, sizeof requests,
                 "  requests %" PRIu64 " (%" PRIu64 " open, %" PRIu64 " failed)", f->requests, open,
                 failed);
    snprintf(out, room, "%s spans/s  %" PRIu32 " thread%s  %zu open span%s%s%s%s", rate, f->threads,
             f->threads == 1 ? "" : "s", plumb_reading_opens(w->now),
             plumb_reading_opens(w->now) == 1 ? "" : "s", f->rss_bytes ? "  memory " : "",
             f->rss_bytes ? rss : "", requests);
}

static bool pool_line(char *out, size_t room, const struct plumb_top_watch *w, size_t i)
{
    const plumb_reading_pool *p = plumb_reading_pool_at(w->now, i);
    char device[48], pool[48], allocated[16], reserved[16], peak[16];
    if (!p)
        return false;
    plumb_top_fit(device, sizeof device, p->device, 16, 0);
    plumb_top_fit(pool, sizeof pool, p->pool, 16, 0);
    plumb_top_bytes(allocated, p->allocated_bytes);
    plumb_top_bytes(reserved, p->reserved_bytes);
    plumb_top_bytes(peak, p->peak_allocated_bytes);
    snprintf(out, room, "%s %s: %s allocated (peak %s), %s reserved", device, pool, allocated, peak,
             reserved);
    return true;
}

bool plumb_top_head(char *out, size_t room, const struct plumb_top_watch *w,
                    const struct plumb_top_view *view, size_t i)
{
    if (i == 0)
        program_line(out, room, w);
    else if (i == 1)
        load_line(out, room, w, view);
    else
        return pool_line(out, room, w, i - 2);
    return true;
}

bool plumb_top_open_line(char *out, size_t room, const struct plumb_top_watch *w,
                         const struct plumb_top_view *view, size_t i)
{
    const plumb_reading_open *o;
    char age[16], node[PLUMB_TOP_CELL], phase[64];
    size_t at = 0;
    while ((o = plumb_reading_open_at(w->now, at++)) &&
           (!plumb_top_matches(view, o->node) || i-- > 0))
        continue;
    if (!o)
        return false;
    plumb_top_time(age, (double)o->age_ns);
    plumb_top_fit(node, sizeof node, o->node, 0, 0);
    plumb_top_fit(phase, sizeof phase, o->phase, 24, 0);
    snprintf(out, room, "%8s  thread %-8" PRIu32 " %*s%s (%s)", age, o->thread,
             (int)(o->depth < 20 ? 2 * (o->depth - 1) : 40), "", node, phase);
    return true;
}

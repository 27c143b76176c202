/* kernels.c: the view of kernels and operators, and the same as the file of a breakdown. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "codec/json_write.h"
#include "report/trace/parts.h"

enum { NAME_MAX_SHOWN = 60, TEXT_MAX_SHOWN = 40 }; /* bytes, in tables */
enum { FILE_ROWS = 50, SHORTEST_NS = 10000 /* 0.01 ms: of a row that a breakdown keeps */ };

int plumb_trace_look_at_kernels(struct plumb_trace_sight *s, plumb_error *err)
{
    enum plumb_kernels_by by = (enum plumb_kernels_by)s->view->by;
    int rc = plumb_kernels_init(&s->kernels, s->t, &s->marks, err);
    if (rc == PLUMB_OK && s->view->node) /* of a breakdown: a stage that was run alone */
        s->kernels.stage = plumb_strings_find(&s->t->strings, s->view->node);
    if (rc == PLUMB_OK)
        rc = plumb_own_rows_init(&s->kernel_rows, &s->kernels, by, false, err);
    if (rc == PLUMB_OK)
        rc = plumb_own_rows_init(&s->op_rows, &s->kernels, by, true, err);
    if (rc == PLUMB_OK)
        rc = plumb_advices_init(&s->advices, &s->kernels, err);
    return rc;
}

void plumb_trace_look_away_from_kernels(struct plumb_trace_sight *s)
{
    plumb_advices_fini(&s->advices);
    plumb_own_rows_fini(&s->op_rows);
    plumb_own_rows_fini(&s->kernel_rows);
    plumb_kernels_fini(&s->kernels);
}

/* ---- Cells ---------------------------------------------------------------------------------- */

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double cuda_ms(const struct plumb_kernels *k, const struct plumb_own_row *row)
{
    return k->cuda ? ms(row->cuda_ns) : NAN;
}

static double device_ms(const struct plumb_kernels *k, const struct plumb_own_row *row)
{
    return k->queues > 0 ? ms(row->device_ns) : NAN;
}

static double mean_us(const struct plumb_own_row *row)
{
    return row->count ? (double)row->ns / 1e3 / (double)row->count : NAN;
}

static const char *name_of(const struct plumb_own_rows *r, const struct plumb_own_row *row)
{
    return row->mark ? PLUMB_STEP_MARK_NAME : plumb_table_text(r->k->t, row->name);
}

static const char *kind_of(const struct plumb_own_row *row)
{
    static const char *const names[] = {[PLUMB_KERNEL_NONE] = "",
                                        [PLUMB_KERNEL_OP] = "op",
                                        [PLUMB_KERNEL_WORK] = "kernel",
                                        [PLUMB_KERNEL_COPY] = "copy",
                                        [PLUMB_KERNEL_SET] = "set"};
    return names[row->kind];
}

/* ---- Tables --------------------------------------------------------------------------------- */

#define TIME                                                                                       \
    {"ms", "Self(ms)", PLUMB_GRID_MILLI, "its own time: without what ran inside"},                 \
        {"cuda_ms", "CUDA(ms)", PLUMB_GRID_MILLI,                                                  \
         "of that on CUDA devices; of an operator, of the kernels that it launched itself"},       \
        {"cpu_ms", "CPU(ms)", PLUMB_GRID_MILLI, "of that on threads of the program"},              \
        {"device_ms", "Device(ms)", PLUMB_GRID_MILLI, "on devices of any kind"},                   \
        {"count", "Count", PLUMB_GRID_COUNT, "launches, or runs"},                                 \
    {                                                                                              \
        "mean_us", "Mean(us)", PLUMB_GRID_MILLI, "its own time, for each of them"                  \
    }
#define WHERE                                                                                      \
    {"stage", "Stage", PLUMB_GRID_TEXT, "that launched it, where it is one"},                      \
    {                                                                                              \
        "step", "Step", PLUMB_GRID_WHOLE, "that launched it, where it is one"                      \
    }

/* A table for people, which leaves out what another column says, and the end of long names. */
static bool is_table(const struct plumb_trace_sight *s)
{
    const char *format = s->view->format ? s->view->format : "text";
    return strcmp(format, "text") == 0 || strcmp(format, "md") == 0;
}

static void add_text(struct plumb_grid *g, const struct plumb_trace_sight *s, const char *text,
                     size_t most)
{
    char part[NAME_MAX_SHOWN + 4];
    size_t n = text ? strlen(text) : 0;
    if (!is_table(s) || n <= most) {
        plumb_grid_text(g, text);
        return;
    }
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
        n--; /* not within a character */
    memcpy(part, text, n);
    memcpy(part + n, "...", 4);
    plumb_grid_copy(g, part);
}

static void add_time(struct plumb_grid *g, const struct plumb_trace_sight *s,
                     const struct plumb_own_row *row)
{
    const struct plumb_kernels *k = &s->kernels;
    bool all = !is_table(s);
    plumb_grid_real(g, ms(row->ns));
    plumb_grid_real(g, cuda_ms(k, row));
    plumb_grid_real(g, all || (row->kind != PLUMB_KERNEL_OP && k->host && k->queues > 0)
                           ? ms(row->host_ns)
                           : NAN);
    plumb_grid_real(g, all || !k->cuda ? device_ms(k, row) : NAN);
    plumb_grid_whole(g, row->count);
    plumb_grid_real(g, mean_us(row));
}

static void add_where(struct plumb_grid *g, const struct plumb_own_rows *r,
                      const struct plumb_own_row *row)
{
    plumb_grid_text(g, plumb_own_rows_text(r, row->stage));
    if (row->has_step)
        plumb_grid_signed(g, row->step);
    else
        plumb_grid_none(g);
}

void plumb_trace_fill_kernels(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        {"name", "Kernel", PLUMB_GRID_TEXT, NULL},
        {"kind", "Kind", PLUMB_GRID_TEXT, "copy, set: of memory"},
        TIME,
        {"grid", "Grid", PLUMB_GRID_TEXT,
         "work items, and those of one group, where all are alike"},
        {"shape", "Shape", PLUMB_GRID_TEXT, "of its inputs, or of the operator that launched it"},
        {"dtype", "Types", PLUMB_GRID_TEXT, "of the same"},
        WHERE};
    const struct plumb_own_rows *r = &s->kernel_rows;
    size_t shown = plumb_trace_shown(s, r->count);
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_own_row *row = &r->rows[i];
        add_text(g, s, name_of(r, row), NAME_MAX_SHOWN);
        plumb_grid_text(g, kind_of(row));
        add_time(g, s, row);
        plumb_grid_text(g, plumb_own_rows_text(r, row->grid));
        add_text(g, s, plumb_own_rows_text(r, row->shape), TEXT_MAX_SHOWN);
        add_text(g, s, s->kernels.host || !is_table(s) ? plumb_own_rows_text(r, row->type) : NULL,
                 TEXT_MAX_SHOWN);
        add_where(g, r, row);
    }
    *more = r->count - shown;
}

void plumb_trace_fill_ops(struct plumb_grid *g, const struct plumb_trace_sight *s, size_t *more)
{
    static const struct plumb_grid_column columns[] = {
        {"name", "Operator", PLUMB_GRID_TEXT, NULL},
        TIME,
        {"total_ms", "Total(ms)", PLUMB_GRID_MILLI, "with all that ran inside"},
        {"shape", "Shape", PLUMB_GRID_TEXT, "of its inputs, or of the operator that launched it"},
        WHERE};
    const struct plumb_own_rows *r = &s->op_rows;
    size_t shown = plumb_trace_shown(s, r->count);
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_own_row *row = &r->rows[i];
        add_text(g, s, name_of(r, row), NAME_MAX_SHOWN);
        add_time(g, s, row);
        plumb_grid_real(g, ms(row->total_ns));
        add_text(g, s, plumb_own_rows_text(r, row->shape), TEXT_MAX_SHOWN);
        add_where(g, r, row);
    }
    *more = r->count - shown;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static void put_fixed(struct plumb_json *j, const char *key, double value, int decimals)
{
    plumb_json_key(j, key);
    if (isnan(value))
        plumb_json_null(j);
    else
        plumb_json_fixed(j, value, decimals);
}

static void put_u64(struct plumb_json *j, const char *key, uint64_t value)
{
    plumb_json_key(j, key);
    plumb_json_u64(j, value);
}

static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text); /* NULL: null */
}

static void put_sums(struct plumb_json *j, const struct plumb_kernels *k)
{
    put_fixed(j, "wall_ms", ms(k->last_ns - k->first_ns), 6);
    put_fixed(j, "kernel_busy_ms", ms(k->busy_ns), 6);
    put_u64(j, "threads", k->threads);
    put_u64(j, "queues", k->queues);
    put_u64(j, "launches", k->launches);
    put_u64(j, "unlinked", k->unlinked);
}

void plumb_trace_put_kernel_sums(struct plumb_json *j, const struct plumb_trace_sight *s)
{
    static const char *const by[] = {"name", "shape", "stage", "step"};
    plumb_json_key(j, "by");
    plumb_json_str(j, by[s->view->by]);
    put_fixed(j, "total_kernel_time_ms", ms(s->kernel_rows.ns), 6);
    put_u64(j, "num_kernels", s->kernel_rows.count);
    put_fixed(j, "total_op_time_ms", ms(s->op_rows.ns), 6);
    put_u64(j, "num_ops", s->op_rows.count);
    put_sums(j, &s->kernels);
}

static void put_many(struct plumb_buf *out, uint64_t n, const char *one, const char *many)
{
    plumb_put_count(out, n, 0);
    plumb_buf_str(out, n == 1 ? one : many);
}

void plumb_trace_put_kernel_line(struct plumb_page *p, const struct plumb_trace_sight *s)
{
    const struct plumb_kernels *k = &s->kernels;
    uint64_t wall = k->last_ns - k->first_ns;
    plumb_page_paragraph(p);
    if (k->launches == 0) {
        plumb_buf_str(p->out, "No kernels: the trace has neither work of a device nor primitives");
        return;
    }
    put_many(p->out, s->kernel_rows.calls, " run of ", " runs of ");
    put_many(p->out, s->kernel_rows.count, " kernel: ", " kernels: ");
    plumb_put_fixed(p->out, ms(s->kernel_rows.ns), 3, 0);
    plumb_buf_str(p->out, " ms");
    if (k->queues > 1) {
        plumb_buf_str(p->out, " on ");
        put_many(p->out, k->queues, " queue", " queues");
    }
    if (wall > 0) {
        plumb_buf_str(p->out, "; one ran in ");
        plumb_put_fixed(p->out, 100 * (double)k->busy_ns / (double)wall, 1, 0);
        plumb_buf_str(p->out, " % of ");
        plumb_put_fixed(p->out, ms(wall), 3, 0);
        plumb_buf_str(p->out, " ms");
    }
    if (k->unlinked > 0) {
        plumb_buf_str(p->out, "; of ");
        put_many(p->out, k->unlinked, " the launch is not in the trace",
                 " the launches are not in the trace");
    }
}

/* ---- Advice --------------------------------------------------------------------------------- */

struct line {
    const char *key, *text;
};
enum { LINES = 4 };

/* The lines of an advice; false: its rule does not hold. */
static bool lines_of(struct line out[LINES], const struct plumb_trace_sight *s,
                     enum plumb_advice_id id)
{
    const struct plumb_advice_text *text = plumb_advice_text(id);
    const char *evidence = plumb_advices_evidence(&s->advices, id);
    out[0] = (struct line){"found", evidence};
    out[1] = (struct line){"rule", text->rule};
    out[2] = (struct line){"cause", text->cause};
    out[3] = (struct line){"cure", text->cure};
    return evidence != NULL;
}

void plumb_trace_put_advice(struct plumb_page *p, const struct plumb_trace_sight *s)
{
    bool titled = false;
    for (int id = 0; id < PLUMB_ADVICES; id++) {
        const struct plumb_advice_text *text = plumb_advice_text((enum plumb_advice_id)id);
        struct line lines[LINES];
        if (!lines_of(lines, s, (enum plumb_advice_id)id))
            continue;
        if (!titled)
            plumb_page_title(p, "Advice");
        titled = true;
        plumb_buf_char(p->out, '\n');
        plumb_buf_printf(p->out, p->md ? "**%s**: %s\n" : "%s: %s", text->id, text->symptom);
        for (size_t i = 0; i < LINES; i++) {
            plumb_page_item(p, lines[i].key);
            plumb_buf_str(p->out, ": ");
            plumb_page_name(p, lines[i].text);
        }
    }
}

void plumb_trace_put_advice_json(struct plumb_json *j, const struct plumb_trace_sight *s)
{
    plumb_json_key(j, "advice");
    plumb_json_array(j);
    for (int id = 0; id < PLUMB_ADVICES; id++) {
        const struct plumb_advice_text *text = plumb_advice_text((enum plumb_advice_id)id);
        const char *evidence = plumb_advices_evidence(&s->advices, (enum plumb_advice_id)id);
        if (!evidence)
            continue;
        plumb_json_object(j);
        put_text(j, "id", text->id);
        put_text(j, "symptom", text->symptom);
        put_text(j, "evidence", evidence);
        put_text(j, "rule", text->rule);
        put_text(j, "cause", text->cause);
        put_text(j, "cure", text->cure);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

/* ---- The file of a breakdown ---------------------------------------------------------------- */

static void put_row(struct plumb_json *j, const struct plumb_own_rows *r,
                    const struct plumb_own_row *row)
{
    plumb_json_object_inline(j);
    put_text(j, "name", name_of(r, row));
    put_fixed(j, "ms", ms(row->ns), 2);
    put_fixed(j, "cuda_ms", cuda_ms(r->k, row), 2);
    put_fixed(j, "cpu_ms", ms(row->host_ns), 2);
    put_fixed(j, "device_ms", device_ms(r->k, row), 2);
    put_u64(j, "count", row->count);
    put_fixed(j, "mean_us", mean_us(row), 3);
    put_text(j, "grid", plumb_own_rows_text(r, row->grid));
    put_text(j, "shape", plumb_own_rows_text(r, row->shape));
    put_text(j, "stage", plumb_own_rows_text(r, row->stage));
    plumb_json_key(j, "step");
    if (row->has_step)
        plumb_json_i64(j, row->step);
    else
        plumb_json_null(j);
    plumb_json_object_end(j);
}

static void put_rows(struct plumb_json *j, const struct plumb_own_rows *r, const char *total,
                     const char *number, const char *list)
{
    uint64_t ns = 0;
    size_t kept = 0;
    for (; kept < r->count && r->rows[kept].ns >= SHORTEST_NS; kept++)
        ns += r->rows[kept].ns;
    put_fixed(j, total, ms(ns), 2);
    put_u64(j, number, kept);
    plumb_json_key(j, list);
    plumb_json_array(j);
    for (size_t i = 0; i < kept && i < FILE_ROWS; i++)
        put_row(j, r, &r->rows[i]);
    plumb_json_array_end(j);
}

void plumb_trace_put_breakdown(struct plumb_buf *out, const struct plumb_trace_sight *s)
{
    struct plumb_json json, *j = &json;
    plumb_json_init(j, out, 2);
    plumb_json_object(j);
    put_text(j, "name", s->view->node);
    put_rows(j, &s->kernel_rows, "total_kernel_time_ms", "num_kernels", "top_kernels");
    put_rows(j, &s->op_rows, "total_op_time_ms", "num_ops", "top_ops");
    put_sums(j, &s->kernels);
    plumb_trace_put_advice_json(j, s);
    plumb_json_object_end(j);
}

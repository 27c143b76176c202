/* process_list.c: see process_list.h. The program comes last: its name is never cut. */
#include "report/run/process_list.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "codec/json_fields.h"
#include "report/picture/chart.h"
#include "summary/text_table.h"

enum { COLUMNS = 8 };

static const char *recording(const plumb_process *p)
{
    if (!p->answers)
        return "no answer";
    if (p->tracing)
        return "yes, trace";
    return p->recording == 1 ? "yes" : p->recording ? "next span" : "no";
}

static void put_since(struct plumb_buf *out, uint64_t since_ns)
{
    time_t s = (time_t)(since_ns / 1000000000);
    char text[32];
    struct tm tm;
    if (!since_ns || !localtime_r(&s, &tm) ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        plumb_buf_str(out, "-");
    else
        plumb_buf_str(out, text);
}

static void put_rate(struct plumb_buf *out, double spans_per_s)
{
    if (spans_per_s < 0)
        plumb_buf_str(out, "-");
    else
        plumb_buf_printf(out, "%.0f", spans_per_s);
}

static void put_rank(struct plumb_buf *out, const plumb_process *p)
{
    if (p->rank < 0)
        plumb_buf_str(out, "-");
    else if (p->ranks > 0)
        plumb_buf_printf(out, "%" PRId32 " of %" PRId32, p->rank, p->ranks);
    else
        plumb_buf_printf(out, "%" PRId32, p->rank);
}

static void put_row(struct plumb_text_table *t, const struct plumb_process_row *row)
{
    const plumb_process *p = row->process;
    plumb_buf_printf(plumb_text_cell(t), "%" PRIu32, p->pid);
    plumb_text_end_cell(t);
    plumb_text_put(t, recording(p));
    put_since(plumb_text_cell(t), p->since_ns);
    plumb_text_end_cell(t);
    put_rate(plumb_text_cell(t), row->spans_per_s);
    plumb_text_end_cell(t);
    if (p->memory_bytes)
        plumb_put_bytes(plumb_text_cell(t), (double)p->memory_bytes);
    else
        plumb_buf_str(plumb_text_cell(t), "-");
    plumb_text_end_cell(t);
    put_rank(plumb_text_cell(t), p);
    plumb_text_end_cell(t);
    plumb_text_put(t, p->pipeline[0] ? p->pipeline : "-");
    plumb_text_put(t, p->program[0] ? p->program : "-");
}

void plumb_process_list_text(struct plumb_buf *out, const struct plumb_process_row *rows, size_t n)
{
    static const char *const titles[COLUMNS] = {"PID",    "Recording", "Since",    "Spans/s",
                                                "Memory", "Rank",      "Pipeline", "Program"};
    struct plumb_text_column columns[COLUMNS] = {{.width = 7},
                                                 {.left = true, .gap = 2, .width = 9},
                                                 {.left = true, .gap = 2, .width = 5},
                                                 {.gap = 2, .width = 7},
                                                 {.gap = 2, .width = 8},
                                                 {.gap = 2, .width = 4},
                                                 {.left = true, .gap = 2, .width = 8},
                                                 {.left = true, .gap = 2}};
    struct plumb_text_table t;
    plumb_buf_str(out, "");
    if (n == 0)
        return;
    plumb_text_table_init(&t, columns, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++)
        plumb_text_put(&t, titles[i]);
    for (size_t i = 0; i < n; i++)
        put_row(&t, &rows[i]);
    for (size_t i = 0; i <= n; i++)
        plumb_text_line(&t, 0, out);
    if (!out->failed)
        out->data[--out->len] = '\0';
    plumb_text_table_fini(&t);
}

static const char *state(const plumb_process *p)
{
    return p->recording == 1 ? "open" : p->recording ? "waiting" : "none";
}

static void put_object(struct plumb_json *j, const struct plumb_process_row *row)
{
    const plumb_process *p = row->process;
    plumb_json_object(j);
    plumb_put_u64(j, "pid", p->pid);
    plumb_put_u64(j, "start_time", p->start_time);
    plumb_put_text(j, "program", p->program);
    plumb_put_text(j, "socket", p->socket);
    plumb_put_bool(j, "answers", p->answers);
    if (p->answers) {
        plumb_put_text(j, "command", p->command);
        plumb_put_text(j, "version", p->version);
        plumb_put_text(j, "pipeline", p->pipeline);
        plumb_put_text(j, "run", state(p));
        plumb_put_bool(j, "tracing", p->tracing);
        plumb_put_text(j, "run_dir", p->run_dir[0] ? p->run_dir : NULL);
        if (p->since_ns)
            plumb_put_time(j, "since", p->since_ns);
        else
            plumb_put_null(j, "since");
        plumb_put_u64(j, "spans", p->spans);
        if (row->spans_per_s >= 0)
            plumb_put_f64(j, "spans_per_s", row->spans_per_s);
        else
            plumb_put_null(j, "spans_per_s");
        plumb_put_u64(j, "memory_bytes", p->memory_bytes);
        plumb_put_known(j, "rank", p->rank);
        plumb_put_known(j, "ranks", p->ranks > 0 ? p->ranks : -1);
    }
    plumb_json_object_end(j);
}

void plumb_process_list_json(struct plumb_buf *out, const struct plumb_process_row *rows, size_t n)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_array(&j);
    for (size_t i = 0; i < n; i++)
        put_object(&j, &rows[i]);
    plumb_json_array_end(&j);
}

/* response.c: responses as bytes and back. Structs are written from tables of their members, so
 * that the writer and the reader of a message cannot differ. */
#include <string.h>

#include "codec/protobuf.h"
#include "codec/wire.h"
#include "control/fields.h"
#include "control/message.h"

enum kind { TEXT, U32, I32, U64, I64, F64 };
/* A member of a struct; its number is its place in the table, from 1. */
struct member {
    enum kind kind;
    size_t offset;
};
#define MEMBER(kind, type, name)                                                                   \
    {                                                                                              \
        kind, offsetof(type, name)                                                                 \
    }
#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Only appended to, as every table here: the place is the number in share/control.proto. */
static const struct member process_members[] = {
    MEMBER(U32, plumb_process, pid),       MEMBER(U64, plumb_process, start_time),
    MEMBER(TEXT, plumb_process, program),  MEMBER(TEXT, plumb_process, command),
    MEMBER(TEXT, plumb_process, pipeline), MEMBER(TEXT, plumb_process, run_dir),
    MEMBER(TEXT, plumb_process, version),  MEMBER(U64, plumb_process, since_ns),
    MEMBER(U64, plumb_process, spans),     MEMBER(U64, plumb_process, memory_bytes),
    MEMBER(I32, plumb_process, rank),      MEMBER(I32, plumb_process, ranks),
    MEMBER(U32, plumb_process, recording), MEMBER(U32, plumb_process, tracing),
};
static const struct member pipeline_members[] = {
    MEMBER(TEXT, plumb_control_pipeline, name),
    MEMBER(U32, plumb_control_pipeline, enabled),
    MEMBER(U32, plumb_control_pipeline, sync),
    MEMBER(I64, plumb_control_pipeline, skip_first_n),
};
static const struct member row_members[] = {
    MEMBER(TEXT, plumb_row, pipeline),      MEMBER(TEXT, plumb_row, phase),
    MEMBER(TEXT, plumb_row, node),          MEMBER(U64, plumb_row, count),
    MEMBER(U64, plumb_row, skipped),        MEMBER(U64, plumb_row, failures),
    MEMBER(F64, plumb_row, mean_ms),        MEMBER(F64, plumb_row, median_ms),
    MEMBER(F64, plumb_row, std_ms),         MEMBER(F64, plumb_row, min_ms),
    MEMBER(F64, plumb_row, max_ms),         MEMBER(F64, plumb_row, total_ms),
    MEMBER(F64, plumb_row, self_ms),        MEMBER(F64, plumb_row, last_ms),
    MEMBER(F64, plumb_row, p50_ms),         MEMBER(F64, plumb_row, p90_ms),
    MEMBER(F64, plumb_row, p95_ms),         MEMBER(F64, plumb_row, p99_ms),
    MEMBER(U64, plumb_row, device_count),   MEMBER(F64, plumb_row, device_total_ms),
    MEMBER(F64, plumb_row, device_mean_ms), MEMBER(F64, plumb_row, device_min_ms),
    MEMBER(F64, plumb_row, device_max_ms),  MEMBER(F64, plumb_row, device_median_ms),
    MEMBER(U32, plumb_row, threads),        MEMBER(U32, plumb_row, median_estimator),
};

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_member(struct plumb_pb *w, uint32_t field, enum kind kind, const void *member)
{
    switch (kind) {
    case TEXT:
        plumb_control_put_text(w, field, *(const char *const *)member);
        break;
    case U32:
        plumb_pb_u64(w, field, *(const uint32_t *)member);
        break;
    case I32:
        plumb_pb_i64(w, field, *(const int32_t *)member);
        break;
    case U64:
        plumb_pb_u64(w, field, *(const uint64_t *)member);
        break;
    case I64:
        plumb_pb_i64(w, field, *(const int64_t *)member);
        break;
    case F64:
        plumb_pb_f64(w, field, *(const double *)member);
        break;
    }
}

static void put_struct(struct plumb_pb *w, uint32_t field, const struct member *table, size_t n,
                       const void *from)
{
    unsigned char *start = plumb_pb_open(w, field);
    for (size_t i = 0; i < n; i++)
        put_member(w, (uint32_t)i + 1, table[i].kind, (const char *)from + table[i].offset);
    plumb_pb_close(w, start);
}

void plumb_control_put_response(struct plumb_pb *w, const struct plumb_control_response *r)
{
    plumb_pb_i64(w, PLUMB_RESPONSE_STATUS, r->status);
    plumb_control_put_text(w, PLUMB_RESPONSE_MESSAGE, r->message);
    plumb_control_put_text(w, PLUMB_RESPONSE_PATH, r->path);
    plumb_control_put_text(w, PLUMB_RESPONSE_NOTES, r->notes);
    if (r->process)
        put_struct(w, PLUMB_RESPONSE_PROCESS, process_members, COUNT(process_members), r->process);
    for (size_t i = 0; i < r->pipeline_count; i++)
        put_struct(w, PLUMB_RESPONSE_PIPELINE, pipeline_members, COUNT(pipeline_members),
                   &r->pipelines[i]);
    for (size_t i = 0; i < r->row_count; i++)
        put_struct(w, PLUMB_RESPONSE_ROW, row_members, COUNT(row_members), &r->rows[i]);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void get_member(void *member, enum kind kind, const struct plumb_wire *w,
                       struct plumb_arena *a)
{
    const char *text;
    switch (kind) {
    case TEXT:
        if ((text = plumb_control_get_text(w, a)))
            *(const char **)member = text;
        break;
    case U32:
        *(uint32_t *)member = (uint32_t)w->v;
        break;
    case I32:
        *(int32_t *)member = (int32_t)(int64_t)w->v;
        break;
    case U64:
        *(uint64_t *)member = w->v;
        break;
    case I64:
        *(int64_t *)member = (int64_t)w->v;
        break;
    case F64:
        memcpy(member, &w->v, sizeof(double));
        break;
    }
}

static void get_struct(void *out, struct plumb_wire *w, const struct member *table, size_t n,
                       struct plumb_arena *a)
{
    struct plumb_wire in = plumb_wire_inner(w);
    for (size_t i = 0; i < n; i++)
        if (table[i].kind == TEXT)
            *(const char **)(void *)((char *)out + table[i].offset) = "";
    while (plumb_wire_next(&in))
        if (in.field <= n)
            get_member((char *)out + table[in.field - 1].offset, table[in.field - 1].kind, &in, a);
    w->bad |= in.bad;
}

/* No row is shorter, and no process has more pipelines: a hostile message must not make large
 * structs of a few bytes each. */
enum { ROW_BYTES_LEAST = 64, PIPELINES_MOST = 1024 };

/* An array that grows with the message. */
struct list {
    void *items;
    size_t count, cap;
};

static void *add(struct list *l, size_t size, struct plumb_arena *a)
{
    void *grown = plumb_arena_grow(a, l->items, &l->cap, l->count + 1, size);
    if (!grown)
        return NULL;
    l->items = grown;
    return memset((char *)grown + l->count++ * size, 0, size);
}

static void get_field(struct plumb_control_response *out, struct list *pipelines, struct list *rows,
                      struct plumb_wire *w, struct plumb_arena *a)
{
    plumb_process *process;
    void *item;
    switch (w->field) {
    case PLUMB_RESPONSE_STATUS:
        out->status = (int32_t)(int64_t)w->v;
        break;
    case PLUMB_RESPONSE_MESSAGE:
        out->message = plumb_control_get_text(w, a);
        break;
    case PLUMB_RESPONSE_PATH:
        out->path = plumb_control_get_text(w, a);
        break;
    case PLUMB_RESPONSE_NOTES:
        out->notes = plumb_control_get_text(w, a);
        break;
    case PLUMB_RESPONSE_PROCESS:
        if ((process = plumb_arena_alloc(a, sizeof *process))) {
            get_struct(process, w, process_members, COUNT(process_members), a);
            process->size = sizeof *process;
            out->process = process;
        }
        break;
    case PLUMB_RESPONSE_PIPELINE:
        w->bad |= pipelines->count >= PIPELINES_MOST;
        if (!w->bad && (item = add(pipelines, sizeof(plumb_control_pipeline), a)))
            get_struct(item, w, pipeline_members, COUNT(pipeline_members), a);
        break;
    case PLUMB_RESPONSE_ROW:
        w->bad |= w->n < ROW_BYTES_LEAST;
        if (!w->bad && (item = add(rows, sizeof(plumb_row), a)))
            get_struct(item, w, row_members, COUNT(row_members), a);
        break;
    default:
        break;
    }
}

int plumb_control_get_response(struct plumb_control_response *out, struct plumb_arena *a,
                               const unsigned char *bytes, size_t n, plumb_error *err)
{
    struct plumb_wire w = plumb_wire_of(bytes, n);
    struct list pipelines = {NULL, 0, 0}, rows = {NULL, 0, 0};
    *out = (struct plumb_control_response){.status = PLUMB_OK};
    while (plumb_wire_next(&w) && !w.bad)
        get_field(out, &pipelines, &rows, &w, a);
    out->pipelines = pipelines.items;
    out->pipeline_count = pipelines.count;
    out->rows = rows.items;
    out->row_count = rows.count;
    return plumb_control_end(&w, a, "response", err);
}

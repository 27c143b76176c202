/* signature.c: writes the file of I/O signatures. Owns the spelling of every field of
 * timing_io_signature.json; docs/signature-json.md says what they mean, and
 * src/read/run/signature.c is the other half.
 *
 * Files of this name existed before plumb: `stages` and the fields of an entry that its tools read
 * (`input_signatures`, `output_signature`, `metadata`) keep their form; other fields are additions.
 * Any thread, one file at a time. */
#include "model/signature.h"

#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"

void plumb_signature_init(struct plumb_signature *s)
{
    memset(s, 0, sizeof *s);
    s->schema = PLUMB_SIGNATURE_SCHEMA;
    s->rank = -1;
}

void plumb_signature_fini(struct plumb_signature *s)
{
    plumb_arena_fini(&s->arena);
    plumb_signature_init(s);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void write_numbers(struct plumb_json *j, const char *key, const int64_t *numbers, size_t n)
{
    plumb_json_key(j, key);
    plumb_json_i64s(j, numbers, n);
}

static void write_stats(struct plumb_json *j, const struct plumb_signature_stats *stats)
{
    plumb_put_object(j, "values");
    plumb_put_real(j, "min", stats->min);
    plumb_put_real(j, "max", stats->max);
    plumb_put_real(j, "mean", stats->mean);
    plumb_put_real(j, "std", stats->std);
    plumb_put_u64(j, "n", stats->n);
    plumb_put_u64(j, "nan", stats->nan);
    plumb_put_u64(j, "inf", stats->inf);
    plumb_put_u64(j, "neg_inf", stats->neg_inf);
    plumb_json_object_end(j);
}

static void write_tensor(struct plumb_json *j, const struct plumb_signature_tensor *t)
{
    plumb_json_object(j);
    write_numbers(j, "shape", t->shape, t->ndim);
    plumb_put_text(j, "dtype", t->dtype);
    plumb_put_text(j, "device", t->device);
    if (t->requires_grad < 0)
        plumb_put_null(j, "requires_grad");
    else
        plumb_put_bool(j, "requires_grad", t->requires_grad > 0);
    if (t->strides)
        write_numbers(j, "strides", t->strides, t->ndim);
    else
        plumb_put_null(j, "strides");
    if (t->bytes < 0)
        plumb_put_null(j, "bytes");
    else
        plumb_put_i64(j, "bytes", t->bytes);
    if (t->stats)
        write_stats(j, t->stats);
    if (t->stats_error)
        plumb_put_text(j, "values_error", t->stats_error);
    plumb_json_object_end(j);
}

/* A number that JSON lacks is a text, as Python and JavaScript spell it. */
static void write_real(struct plumb_json *j, double value)
{
    if (value - value == 0)
        plumb_put_fraction(j, value);
    else
        plumb_json_str(j, plumb_json_special(value));
}

static void write_value(struct plumb_json *j, const struct plumb_signature_value *v);

static void write_items(struct plumb_json *j, const char *key,
                        const struct plumb_signature_items *items)
{
    plumb_put_object(j, key);
    for (size_t i = 0; i < items->count; i++) {
        plumb_json_key(j, items->at[i].name);
        write_value(j, &items->at[i].value);
    }
    plumb_json_object_end(j);
}

static void write_value(struct plumb_json *j, const struct plumb_signature_value *v)
{
    switch (v->kind) {
    case PLUMB_SIGNATURE_NULL:
        plumb_json_null(j);
        break;
    case PLUMB_SIGNATURE_BOOL:
        plumb_json_bool(j, v->is.boolean);
        break;
    case PLUMB_SIGNATURE_INT:
        plumb_json_i64(j, v->is.integer);
        break;
    case PLUMB_SIGNATURE_REAL:
        write_real(j, v->is.real);
        break;
    case PLUMB_SIGNATURE_TEXT:
        plumb_json_str(j, v->is.text);
        break;
    case PLUMB_SIGNATURE_TENSOR:
        write_tensor(j, v->is.tensor);
        break;
    case PLUMB_SIGNATURE_LIST:
        plumb_json_array(j);
        for (size_t i = 0; i < v->is.list.count; i++)
            write_value(j, &v->is.list.at[i]);
        plumb_json_array_end(j);
        break;
    case PLUMB_SIGNATURE_FIELDS:
        /* In an object of its own: a field may be called "shape", by which readers recognise
         * tensors. */
        plumb_json_object(j);
        write_items(j, "fields", &v->is.fields);
        plumb_json_object_end(j);
        break;
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void write_call(struct plumb_json *j, const struct plumb_signature_call *call)
{
    bool one = call->outputs.count == 1 && call->outputs.at[0].value.kind == PLUMB_SIGNATURE_TENSOR;
    write_items(j, "input_signatures", &call->inputs);
    plumb_json_key(j, "output_signature");
    if (one)
        write_tensor(j, call->outputs.at[0].value.is.tensor);
    else
        plumb_json_null(j);
    write_items(j, "output_signatures", &call->outputs);
    write_items(j, "metadata", &call->metadata);
    plumb_put_text(j, "request_id", call->request_id);
    plumb_put_u64(j, "dropped", call->dropped);
}

static void write_capture(struct plumb_json *j, const struct plumb_signature_capture *capture)
{
    if (!capture)
        return;
    plumb_put_object(j, "captured");
    plumb_put_text(j, "file", capture->file);
    if (capture->step < 0)
        plumb_put_null(j, "step");
    else
        plumb_put_i64(j, "step", capture->step);
    plumb_put_u64(j, "bytes", capture->bytes);
    plumb_put_u64(j, "missing", capture->missing);
    plumb_json_object_end(j);
}

static void write_stage(struct plumb_json *j, const struct plumb_signature_stage *stage)
{
    plumb_put_object(j, stage->name);
    plumb_put_text(j, "stage_name", stage->name);
    plumb_put_hex_if_needed(j, "stage_name_hex", stage->name);
    write_call(j, &stage->last);
    plumb_put_u64(j, "calls", stage->calls);
    plumb_put_u64(j, "other_calls", stage->other_calls);
    write_capture(j, stage->capture);
    plumb_put_array(j, "signatures");
    for (size_t i = 0; i < stage->distinct_count; i++) {
        plumb_json_object(j);
        plumb_put_u64(j, "count", stage->distinct[i].count);
        write_call(j, &stage->distinct[i]);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

static void write_stages(struct plumb_json *j, const char *key,
                         const struct plumb_signature_stage *stages, size_t n)
{
    plumb_put_object(j, key);
    for (size_t i = 0; i < n; i++)
        write_stage(j, &stages[i]);
    plumb_json_object_end(j);
}

/* `stages` is of the request that began last, as in timing.json; the signatures of all calls
 * follow. */
static void write_requests(const struct plumb_signature *s, struct plumb_json *j)
{
    const struct plumb_signature_request *last = &s->requests[s->request_count - 1];
    bool kept = s->request_id && strcmp(last->id, s->request_id) == 0;
    write_stages(j, "stages", last->stages, kept ? last->stage_count : 0);
    plumb_put_array(j, "requests");
    for (size_t i = 0; i < s->request_count; i++) {
        plumb_json_object(j);
        plumb_put_text(j, "request_id", s->requests[i].id);
        plumb_put_u64(j, "other_calls", s->requests[i].other_calls);
        write_stages(j, "stages", s->requests[i].stages, s->requests[i].stage_count);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    write_stages(j, "all_stages", s->stages, s->stage_count);
}

int plumb_signature_write(const struct plumb_signature *s, struct plumb_buf *out, plumb_error *err)
{
    struct plumb_json json;
    struct plumb_json *j = &json;
    plumb_json_init(j, out, 2);
    plumb_json_object(j);
    plumb_put_text(j, "format", PLUMB_SIGNATURE_FORMAT);
    plumb_put_u64(j, "schema", s->schema);
    plumb_put_text(j, "request_id", s->request_id);
    plumb_put_text(j, "timestamp", s->timestamp);
    plumb_put_known(j, "rank", s->rank);
    plumb_put_u64(j, "pid", s->pid);
    plumb_put_u64(j, "lost_calls", s->lost_calls);
    plumb_put_object(j, "versions");
    plumb_put_text(j, "plumb", s->plumb_version);
    plumb_json_object_end(j);
    if (s->request_count > 0)
        write_requests(s, j);
    else
        write_stages(j, "stages", s->stages, s->stage_count);
    plumb_json_object_end(j);
    plumb_buf_char(out, '\n');
    if (out->failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while writing the I/O signatures");
    return PLUMB_OK;
}

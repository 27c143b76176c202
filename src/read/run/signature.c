/* signature.c: timing_io_signature.json becomes the model again. Owns what counts as a sound
 * one. Fields that the predecessor did not write may be missing where plumb's own `format` is;
 * everything that is there must be of its type, because a stage will be called with it.
 *
 * Unknown fields are skipped: an older plumb reads what a newer one appended. */
#include "read/run/signature.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "read/json/fields.h"
#include "read/json/python.h"

struct cursor {
    struct plumb_signature *s;
    struct plumb_fields f;
};

/* ---- Places and names ------------------------------------------------------------------------ */

/* Goes a step down in the file, to ".name" or "[index]"; the result takes it back. */
static size_t enter(struct cursor *c, const char *name)
{
    size_t before = strlen(c->f.place);
    snprintf(c->f.place + before, sizeof c->f.place - before, "%s%s", before ? "." : "", name);
    return before;
}

static size_t enter_index(struct cursor *c, size_t index)
{
    size_t before = strlen(c->f.place);
    snprintf(c->f.place + before, sizeof c->f.place - before, "[%zu]", index);
    return before;
}

static void leave(struct cursor *c, size_t before)
{
    c->f.place[before] = '\0';
}

/* Only plumb writes \xHH for bytes; elsewhere it is text. */
static const char *own(struct cursor *c, const char *text)
{
    return c->s->foreign ? plumb_arena_strdup(c->f.arena, text) : plumb_field_own(&c->f, text);
}

/* A key of an object as a name. Two keys could stand for the same bytes, if one of them is not
 * spelled as the writer spells it. */
static const char *own_key(struct cursor *c, const char *key)
{
    const char *name = own(c, key);
    struct plumb_buf spelled = {0};
    struct plumb_json j;
    if (!name || strcmp(name, key) == 0)
        return name ? name : "";
    plumb_json_init(&j, &spelled, 0);
    plumb_json_str(&j, name);
    json_t *again =
        spelled.failed ? NULL : json_loadb(spelled.data, spelled.len, JSON_DECODE_ANY, NULL);
    if (!json_is_string(again) || strcmp(json_string_value(again), key) != 0)
        plumb_field_fault(&c->f, key, "is no name that plumb would write");
    json_decref(again);
    plumb_buf_fini(&spelled);
    return name;
}

static const char *text_at(struct cursor *c, const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (json_is_string(v))
        return own(c, json_string_value(v));
    if (v && !json_is_null(v))
        plumb_field_fault(&c->f, key, "is not a string");
    return NULL;
}

static void *memory(struct cursor *c, size_t count, size_t size)
{
    return plumb_arena_alloc(c->f.arena, count * size);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static int64_t *read_numbers(struct cursor *c, const json_t *object, const char *key, size_t *count)
{
    const json_t *list = json_object_get(object, key);
    size_t n = json_array_size(list);
    int64_t *numbers = memory(c, n, sizeof *numbers);
    if (!json_is_array(list))
        plumb_field_fault(&c->f, key, list ? "is not a list" : "is missing");
    for (size_t i = 0; numbers && i < n; i++) {
        const json_t *v = json_array_get(list, i);
        numbers[i] = json_integer_value(v);
        if (!json_is_integer(v))
            plumb_field_fault(&c->f, key, "holds something that is not a whole number");
    }
    *count = n;
    return numbers;
}

static void read_shape(struct cursor *c, const json_t *object, struct plumb_signature_tensor *t)
{
    size_t strides;
    t->shape = read_numbers(c, object, "shape", &t->ndim);
    for (size_t i = 0; t->shape && i < t->ndim; i++)
        if (t->shape[i] < 0)
            plumb_field_fault(&c->f, "shape", "holds a negative size");
    if (json_is_null(json_object_get(object, "strides")) || !json_object_get(object, "strides"))
        return;
    t->strides = read_numbers(c, object, "strides", &strides);
    if (strides != t->ndim)
        plumb_field_fault(&c->f, "strides", "does not hold as many numbers as 'shape'");
}

static double real_or_nan(struct cursor *c, const json_t *object, const char *key)
{
    double value = plumb_field_f64(&c->f, object, key);
    return json_is_null(json_object_get(object, key)) ? (double)NAN : value;
}

static void read_stats(struct cursor *c, const json_t *tensor, struct plumb_signature_tensor *t)
{
    const json_t *object = json_object_get(tensor, "values");
    t->stats_error = text_at(c, tensor, "values_error");
    if (!object || json_is_null(object))
        return;
    if (!json_is_object(object)) {
        plumb_field_fault(&c->f, "values", "is not an object");
        return;
    }
    size_t before = enter(c, "values");
    if ((t->stats = memory(c, 1, sizeof *t->stats))) {
        t->stats->min = real_or_nan(c, object, "min");
        t->stats->max = real_or_nan(c, object, "max");
        t->stats->mean = real_or_nan(c, object, "mean");
        t->stats->std = real_or_nan(c, object, "std");
        t->stats->n = plumb_field_u64(&c->f, object, "n");
        t->stats->nan = plumb_field_u64(&c->f, object, "nan");
        t->stats->inf = plumb_field_u64(&c->f, object, "inf");
        t->stats->neg_inf = plumb_field_u64(&c->f, object, "neg_inf");
    }
    leave(c, before);
}

static struct plumb_signature_tensor *read_tensor(struct cursor *c, const json_t *object)
{
    struct plumb_signature_tensor *t = memory(c, 1, sizeof *t);
    const json_t *grad = json_object_get(object, "requires_grad");
    const json_t *bytes = json_object_get(object, "bytes");
    if (!t)
        return NULL;
    read_shape(c, object, t);
    t->dtype = text_at(c, object, "dtype");
    t->device = text_at(c, object, "device");
    if ((!t->dtype || !t->device) && !c->f.arena->failed)
        plumb_field_fault(&c->f, t->dtype ? "device" : "dtype", "is missing");
    t->requires_grad = json_is_null(grad) ? -1 : plumb_field_bool(&c->f, object, "requires_grad");
    t->bytes = json_is_integer(bytes) ? json_integer_value(bytes) : -1;
    if (bytes && !json_is_null(bytes) && t->bytes < 0)
        plumb_field_fault(&c->f, "bytes", "is not a whole number from 0 to 2^63-1");
    read_stats(c, object, t);
    return t;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void read_text(struct cursor *c, const char *text, struct plumb_signature_value *out)
{
    out->kind = PLUMB_SIGNATURE_REAL;
    if (strcmp(text, "NaN") == 0) {
        out->is.real = NAN;
    } else if (strcmp(text, "Infinity") == 0) {
        out->is.real = INFINITY;
    } else if (strcmp(text, "-Infinity") == 0) {
        out->is.real = -INFINITY;
    } else {
        out->kind = PLUMB_SIGNATURE_TEXT;
        out->is.text = own(c, text);
    }
}

static void read_value(struct cursor *c, const json_t *v, int depth,
                       struct plumb_signature_value *out);

static void read_list(struct cursor *c, const json_t *v, int depth,
                      struct plumb_signature_value *out)
{
    size_t n = json_array_size(v);
    out->kind = PLUMB_SIGNATURE_LIST;
    if (depth >= PLUMB_SIGNATURE_DEPTH) {
        plumb_field_fault(&c->f, "", "holds lists that are nested too deeply");
        return;
    }
    if (!(out->is.list.at = memory(c, n, sizeof *out->is.list.at)))
        return;
    out->is.list.count = n;
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        size_t before = enter_index(c, i);
        read_value(c, json_array_get(v, i), depth + 1, &out->is.list.at[i]);
        leave(c, before);
    }
}

/* The names and values of the object `key`. */
static void read_named(struct cursor *c, const json_t *parent, const char *key, int depth,
                       struct plumb_signature_items *out)
{
    const json_t *object = plumb_field_object(&c->f, parent, key);
    const char *name;
    json_t *value;
    if (c->f.failed || !(out->at = memory(c, json_object_size(object), sizeof *out->at)))
        return;
    size_t before = enter(c, key);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        struct plumb_signature_item *item = &out->at[out->count++];
        item->name = own_key(c, name);
        size_t outside = enter(c, name);
        if (!c->f.failed)
            read_value(c, value, depth, &item->value);
        leave(c, outside);
    }
    leave(c, before);
}

/* {"fields": {...}}; a tensor has a "shape". */
static void read_fields(struct cursor *c, const json_t *v, int depth,
                        struct plumb_signature_value *out)
{
    out->kind = PLUMB_SIGNATURE_FIELDS;
    if (depth >= PLUMB_SIGNATURE_DEPTH)
        plumb_field_fault(&c->f, "", "holds mappings that are nested too deeply");
    else
        read_named(c, v, "fields", depth + 1, &out->is.fields);
}

static void read_value(struct cursor *c, const json_t *v, int depth,
                       struct plumb_signature_value *out)
{
    switch (json_typeof(v)) {
    case JSON_NULL:
        out->kind = PLUMB_SIGNATURE_NULL;
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        out->kind = PLUMB_SIGNATURE_BOOL;
        out->is.boolean = json_is_true(v);
        break;
    case JSON_INTEGER:
        out->kind = PLUMB_SIGNATURE_INT;
        out->is.integer = json_integer_value(v);
        break;
    case JSON_REAL:
        out->kind = PLUMB_SIGNATURE_REAL;
        out->is.real = json_real_value(v);
        break;
    case JSON_STRING:
        read_text(c, json_string_value(v), out);
        break;
    case JSON_OBJECT:
        if (json_object_get(v, "fields") && !json_object_get(v, "shape")) {
            read_fields(c, v, depth, out);
            break;
        }
        out->kind = PLUMB_SIGNATURE_TENSOR;
        out->is.tensor = read_tensor(c, v);
        break;
    case JSON_ARRAY:
        read_list(c, v, depth, out);
        break;
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void read_items(struct cursor *c, const json_t *parent, const char *key, bool needed,
                       struct plumb_signature_items *out)
{
    if (needed || json_object_get(parent, key))
        read_named(c, parent, key, 0, out);
}

/* The predecessor's one output has no name. */
static void read_output(struct cursor *c, const json_t *object, struct plumb_signature_call *out)
{
    const json_t *v = json_object_get(object, "output_signature");
    if (!v || json_is_null(v) || !(out->outputs.at = memory(c, 1, sizeof *out->outputs.at)))
        return;
    out->outputs.count = 1;
    out->outputs.at[0].name = "output";
    size_t before = enter(c, "output_signature");
    read_value(c, v, 0, &out->outputs.at[0].value);
    leave(c, before);
}

static void read_call(struct cursor *c, const json_t *object, struct plumb_signature_call *out)
{
    read_items(c, object, "input_signatures", true, &out->inputs);
    read_items(c, object, "metadata", !c->s->foreign, &out->metadata);
    if (c->s->foreign) {
        read_output(c, object, out);
        return;
    }
    read_items(c, object, "output_signatures", true, &out->outputs);
    out->request_id = text_at(c, object, "request_id");
    out->dropped = plumb_field_u64(&c->f, object, "dropped");
}

static void read_distinct(struct cursor *c, const json_t *object,
                          struct plumb_signature_stage *stage)
{
    const json_t *list = plumb_field_array(&c->f, object, "signatures", sizeof *stage->distinct,
                                           &stage->distinct, &stage->distinct_count);
    for (size_t i = 0; i < stage->distinct_count && !c->f.failed; i++) {
        const json_t *call = json_array_get(list, i);
        size_t outside = enter(c, "signatures");
        enter_index(c, i);
        if (!json_is_object(call))
            plumb_field_fault(&c->f, "", "is not an object");
        stage->distinct[i].count = plumb_field_u64(&c->f, call, "count");
        read_call(c, call, &stage->distinct[i]);
        leave(c, outside);
    }
}

static void read_stage(struct cursor *c, const json_t *object, struct plumb_signature_stage *stage)
{
    if (!json_is_object(object)) {
        plumb_field_fault(&c->f, "", "is not an object");
        return;
    }
    read_call(c, object, &stage->last);
    if (c->s->foreign) {
        if ((stage->distinct = memory(c, 1, sizeof *stage->distinct))) {
            *stage->distinct = stage->last;
            stage->distinct_count = 1;
        }
        return;
    }
    stage->calls = plumb_field_u64(&c->f, object, "calls");
    stage->other_calls = plumb_field_u64(&c->f, object, "other_calls");
    read_distinct(c, object, stage);
}

static void read_stages(struct cursor *c, const json_t *parent, const char *key,
                        struct plumb_signature_stage **out, size_t *count)
{
    const json_t *object = plumb_field_object(&c->f, parent, key);
    struct plumb_signature_stage *stages;
    const char *name;
    json_t *value;
    if (c->f.failed || !(stages = memory(c, json_object_size(object), sizeof *stages)))
        return;
    *out = stages;
    size_t before = enter(c, key);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        struct plumb_signature_stage *stage = &stages[(*count)++];
        stage->name = own_key(c, name);
        size_t outside = enter(c, name);
        if (!c->f.failed)
            read_stage(c, value, stage);
        leave(c, outside);
    }
    leave(c, before);
}

/* Where there are any, `stages` is of the last of them, and what all calls brought stands apart. */
static void read_requests(struct cursor *c, const json_t *root)
{
    struct plumb_signature *s = c->s;
    const json_t *list = plumb_field_array(&c->f, root, "requests", sizeof *s->requests,
                                           &s->requests, &s->request_count);
    for (size_t i = 0; i < s->request_count && !c->f.failed; i++) {
        struct plumb_signature_request *request = &s->requests[i];
        const json_t *v = json_array_get(list, i);
        size_t outside = enter(c, "requests");
        enter_index(c, i);
        if (!json_is_object(v))
            plumb_field_fault(&c->f, "", "is not an object");
        request->id = text_at(c, v, "request_id");
        if (!request->id && !c->f.arena->failed)
            plumb_field_fault(&c->f, "request_id", "is missing");
        request->other_calls = plumb_field_u64(&c->f, v, "other_calls");
        read_stages(c, v, "stages", &request->stages, &request->stage_count);
        leave(c, outside);
    }
}

/* ---- The file -------------------------------------------------------------------------------- */

static bool all_have_inputs(const json_t *stages)
{
    const char *name;
    json_t *stage;
    json_object_foreach((json_t *)(uintptr_t)stages, name,
                        stage) if (!json_object_get(stage, "input_signatures")) return false;
    return json_is_object(stages);
}

static int check_kind(const json_t *root, const char *name, bool *foreign, plumb_error *err)
{
    const json_t *format = json_object_get(root, "format");
    const json_t *schema = json_object_get(root, "schema");
    *foreign = !format;
    if (!format) {
        if (all_have_inputs(json_object_get(root, "stages")))
            return PLUMB_OK;
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is no file of I/O signatures (no \"stages\" with their "
                          "\"input_signatures\")",
                          name);
    }
    if (!json_is_string(format) || strcmp(json_string_value(format), PLUMB_SIGNATURE_FORMAT) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is no file of I/O signatures (its \"format\" is not \"%s\")", name,
                          PLUMB_SIGNATURE_FORMAT);
    if (!json_is_integer(schema) || json_integer_value(schema) < 1)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: schema is missing", name);
    if (json_integer_value(schema) > PLUMB_SIGNATURE_SCHEMA)
        return plumb_fail(
            err, PLUMB_ERR_FORMAT,
            "'%s' was written by a newer plumb (schema %lld; this one reads up to %d)", name,
            (long long)json_integer_value(schema), PLUMB_SIGNATURE_SCHEMA);
    return PLUMB_OK;
}

static int read_root(struct plumb_signature *s, const json_t *root, const char *name,
                     plumb_error *err)
{
    struct cursor c = {s, {.arena = &s->arena, .name = name, .err = err}};
    s->request_id = text_at(&c, root, "request_id");
    s->timestamp = text_at(&c, root, "timestamp");
    s->rank = plumb_field_known(&c.f, root, "rank");
    if (!s->foreign) {
        s->pid = plumb_field_u32(&c.f, root, "pid");
        s->lost_calls = plumb_field_u64(&c.f, root, "lost_calls");
        s->plumb_version = text_at(&c, plumb_field_object(&c.f, root, "versions"), "plumb");
    }
    if (!s->foreign && json_object_get(root, "requests")) {
        read_requests(&c, root);
        read_stages(&c, root, "all_stages", &s->stages, &s->stage_count);
    } else {
        read_stages(&c, root, "stages", &s->stages, &s->stage_count);
    }
    if (s->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    return c.f.failed ? PLUMB_ERR_FORMAT : PLUMB_OK;
}

int plumb_signature_parse(struct plumb_signature *out, const char *text, size_t size,
                          const char *name, plumb_error *err)
{
    struct plumb_signature s;
    struct plumb_buf strict = {0};
    json_error_t why;
    json_t *root = NULL;
    int rc = PLUMB_OK;
    plumb_signature_init(&s);
    plumb_python_json(&strict, text, size);
    if (strict.failed) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
        goto out;
    }
    if (!(root = json_loadb(strict.data, strict.len, JSON_REJECT_DUPLICATES, &why))) {
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not valid JSON: line %d: %s", name,
                        why.line, why.text);
        goto out;
    }
    if ((rc = check_kind(root, name, &s.foreign, err)) < 0 ||
        (rc = read_root(&s, root, name, err)) < 0)
        goto out;
    *out = s;
    plumb_signature_init(&s);
out:
    json_decref(root);
    plumb_buf_fini(&strict);
    plumb_signature_fini(&s);
    return rc;
}

int plumb_signature_read(struct plumb_signature *out, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_read_file(&text, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_signature_parse(out, text.data ? text.data : "", text.len, path, err);
    plumb_buf_fini(&text);
    return rc;
}

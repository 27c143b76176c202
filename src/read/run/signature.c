/* signature.c: timing_io_signature.json becomes the model again. Owns what counts as a sound
 * one. Fields that the predecessor did not write may be missing where plumb's own `format` is;
 * everything that is there must be of its type, because a stage will be called with it.
 *
 * Unknown fields are skipped: an older plumb reads what a newer one appended. */
#include "read/run/signature.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "read/json/fields.h"
#include "read/json/scan.h"

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
    struct plumb_json_tree again = {.root = NULL};
    struct plumb_json j;
    if (!name || strcmp(name, key) == 0)
        return name ? name : "";
    plumb_json_init(&j, &spelled, 0);
    plumb_json_str(&j, name);
    if (spelled.failed ||
        plumb_json_tree_read(&again, spelled.data, spelled.len, 0, "", NULL) < 0 ||
        !plumb_json_text(again.root) || strcmp(plumb_json_text(again.root), key) != 0)
        plumb_field_fault(&c->f, key, "is not a name that plumb would write");
    plumb_json_tree_fini(&again);
    plumb_buf_fini(&spelled);
    return name;
}

static const char *text_at(struct cursor *c, const struct plumb_json_value *object, const char *key)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    if (plumb_json_is(v, PLUMB_JSON_IS_TEXT))
        return own(c, plumb_json_text(v));
    if (v && !plumb_json_is(v, PLUMB_JSON_IS_NULL))
        plumb_field_fault(&c->f, key, "is not a string");
    return NULL;
}

static void *memory(struct cursor *c, size_t count, size_t size)
{
    return plumb_arena_alloc(c->f.arena, count * size);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static int64_t *read_numbers(struct cursor *c, const struct plumb_json_value *object,
                             const char *key, size_t *count)
{
    const struct plumb_json_value *list = plumb_json_get(object, key);
    size_t n = plumb_json_count(list);
    int64_t *numbers = memory(c, n, sizeof *numbers);
    if (!plumb_json_is(list, PLUMB_JSON_IS_ARRAY))
        plumb_field_fault(&c->f, key, list ? "is not a list" : "is missing");
    for (size_t i = 0; numbers && i < n; i++) {
        const struct plumb_json_value *v = plumb_json_at(list, i);
        numbers[i] = plumb_json_whole(v);
        if (!plumb_json_is(v, PLUMB_JSON_IS_INT))
            plumb_field_fault(&c->f, key, "holds something that is not a whole number");
    }
    *count = n;
    return numbers;
}

static void read_shape(struct cursor *c, const struct plumb_json_value *object,
                       struct plumb_signature_tensor *t)
{
    size_t strides;
    t->shape = read_numbers(c, object, "shape", &t->ndim);
    for (size_t i = 0; t->shape && i < t->ndim; i++)
        if (t->shape[i] < 0)
            plumb_field_fault(&c->f, "shape", "holds a negative size");
    if (plumb_json_is(plumb_json_get(object, "strides"), PLUMB_JSON_IS_NULL) ||
        !plumb_json_get(object, "strides"))
        return;
    t->strides = read_numbers(c, object, "strides", &strides);
    if (strides != t->ndim)
        plumb_field_fault(&c->f, "strides", "does not hold as many numbers as 'shape'");
}

static double real_or_nan(struct cursor *c, const struct plumb_json_value *object, const char *key)
{
    double value = plumb_field_f64(&c->f, object, key);
    return plumb_json_is(plumb_json_get(object, key), PLUMB_JSON_IS_NULL) ? (double)NAN : value;
}

static void read_stats(struct cursor *c, const struct plumb_json_value *tensor,
                       struct plumb_signature_tensor *t)
{
    const struct plumb_json_value *object = plumb_json_get(tensor, "values");
    t->stats_error = text_at(c, tensor, "values_error");
    if (!object || plumb_json_is(object, PLUMB_JSON_IS_NULL))
        return;
    if (!plumb_json_is(object, PLUMB_JSON_IS_OBJECT)) {
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

static struct plumb_signature_tensor *read_tensor(struct cursor *c,
                                                  const struct plumb_json_value *object)
{
    struct plumb_signature_tensor *t = memory(c, 1, sizeof *t);
    const struct plumb_json_value *grad = plumb_json_get(object, "requires_grad");
    const struct plumb_json_value *bytes = plumb_json_get(object, "bytes");
    if (!t)
        return NULL;
    read_shape(c, object, t);
    t->dtype = text_at(c, object, "dtype");
    t->device = text_at(c, object, "device");
    if ((!t->dtype || !t->device) && !c->f.arena->failed)
        plumb_field_fault(&c->f, t->dtype ? "device" : "dtype", "is missing");
    t->requires_grad = plumb_json_is(grad, PLUMB_JSON_IS_NULL)
                           ? -1
                           : plumb_field_bool(&c->f, object, "requires_grad");
    t->bytes = plumb_json_is(bytes, PLUMB_JSON_IS_INT) ? plumb_json_whole(bytes) : -1;
    if (bytes && !plumb_json_is(bytes, PLUMB_JSON_IS_NULL) && t->bytes < 0)
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

static void read_value(struct cursor *c, const struct plumb_json_value *v, int depth,
                       struct plumb_signature_value *out);

static void read_list(struct cursor *c, const struct plumb_json_value *v, int depth,
                      struct plumb_signature_value *out)
{
    size_t n = plumb_json_count(v);
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
        read_value(c, plumb_json_at(v, i), depth + 1, &out->is.list.at[i]);
        leave(c, before);
    }
}

/* The names and values of the object `key`. */
static void read_named(struct cursor *c, const struct plumb_json_value *parent, const char *key,
                       int depth, struct plumb_signature_items *out)
{
    const struct plumb_json_value *object = plumb_field_object(&c->f, parent, key);
    if (c->f.failed || !(out->at = memory(c, plumb_json_count(object), sizeof *out->at)))
        return;
    size_t before = enter(c, key);
    for (size_t i = 0; i < plumb_json_count(object); i++) {
        const struct plumb_json_value *value = plumb_json_at(object, i);
        struct plumb_signature_item *item = &out->at[out->count++];
        item->name = own_key(c, value->name);
        size_t outside = enter(c, value->name);
        if (!c->f.failed)
            read_value(c, value, depth, &item->value);
        leave(c, outside);
    }
    leave(c, before);
}

/* {"fields": {...}}; a tensor has a "shape". */
static void read_fields(struct cursor *c, const struct plumb_json_value *v, int depth,
                        struct plumb_signature_value *out)
{
    out->kind = PLUMB_SIGNATURE_FIELDS;
    if (depth >= PLUMB_SIGNATURE_DEPTH)
        plumb_field_fault(&c->f, "", "holds mappings that are nested too deeply");
    else
        read_named(c, v, "fields", depth + 1, &out->is.fields);
}

static void read_value(struct cursor *c, const struct plumb_json_value *v, int depth,
                       struct plumb_signature_value *out)
{
    switch ((enum plumb_json_kind)v->kind) {
    case PLUMB_JSON_IS_NULL:
        out->kind = PLUMB_SIGNATURE_NULL;
        break;
    case PLUMB_JSON_IS_TRUE:
    case PLUMB_JSON_IS_FALSE:
        out->kind = PLUMB_SIGNATURE_BOOL;
        out->is.boolean = plumb_json_is(v, PLUMB_JSON_IS_TRUE);
        break;
    case PLUMB_JSON_IS_INT:
        out->kind = PLUMB_SIGNATURE_INT;
        out->is.integer = plumb_json_whole(v);
        break;
    case PLUMB_JSON_IS_BIG: /* exact as its digits */
        out->kind = PLUMB_SIGNATURE_TEXT;
        out->is.text = own(c, v->text);
        break;
    case PLUMB_JSON_IS_REAL:
        out->kind = PLUMB_SIGNATURE_REAL;
        out->is.real = v->real;
        break;
    case PLUMB_JSON_IS_TEXT:
        read_text(c, plumb_json_text(v), out);
        break;
    case PLUMB_JSON_IS_OBJECT:
        if (plumb_json_get(v, "fields") && !plumb_json_get(v, "shape")) {
            read_fields(c, v, depth, out);
            break;
        }
        out->kind = PLUMB_SIGNATURE_TENSOR;
        out->is.tensor = read_tensor(c, v);
        break;
    case PLUMB_JSON_IS_ARRAY:
        read_list(c, v, depth, out);
        break;
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void read_items(struct cursor *c, const struct plumb_json_value *parent, const char *key,
                       bool needed, struct plumb_signature_items *out)
{
    if (needed || plumb_json_get(parent, key))
        read_named(c, parent, key, 0, out);
}

/* The predecessor's one output has no name. */
static void read_output(struct cursor *c, const struct plumb_json_value *object,
                        struct plumb_signature_call *out)
{
    const struct plumb_json_value *v = plumb_json_get(object, "output_signature");
    if (!v || plumb_json_is(v, PLUMB_JSON_IS_NULL) ||
        !(out->outputs.at = memory(c, 1, sizeof *out->outputs.at)))
        return;
    out->outputs.count = 1;
    out->outputs.at[0].name = "output";
    size_t before = enter(c, "output_signature");
    read_value(c, v, 0, &out->outputs.at[0].value);
    leave(c, before);
}

static void read_call(struct cursor *c, const struct plumb_json_value *object,
                      struct plumb_signature_call *out)
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

static void read_distinct(struct cursor *c, const struct plumb_json_value *object,
                          struct plumb_signature_stage *stage)
{
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "signatures", sizeof *stage->distinct, &stage->distinct,
                          &stage->distinct_count);
    for (size_t i = 0; i < stage->distinct_count && !c->f.failed; i++) {
        const struct plumb_json_value *call = plumb_json_at(list, i);
        size_t outside = enter(c, "signatures");
        enter_index(c, i);
        if (!plumb_json_is(call, PLUMB_JSON_IS_OBJECT))
            plumb_field_fault(&c->f, "", "is not an object");
        stage->distinct[i].count = plumb_field_u64(&c->f, call, "count");
        read_call(c, call, &stage->distinct[i]);
        leave(c, outside);
    }
}

/* Older files have none. The name is that of a file next to them. */
static void read_capture(struct cursor *c, const struct plumb_json_value *parent,
                         struct plumb_signature_stage *stage)
{
    const struct plumb_json_value *object = plumb_json_get(parent, "captured");
    struct plumb_signature_capture *capture;
    if (!object || plumb_json_is(object, PLUMB_JSON_IS_NULL))
        return;
    if (!plumb_json_is(object, PLUMB_JSON_IS_OBJECT)) {
        plumb_field_fault(&c->f, "captured", "is not an object");
        return;
    }
    size_t before = enter(c, "captured");
    const struct plumb_json_value *step = plumb_json_get(object, "step");
    if ((capture = memory(c, 1, sizeof *capture))) {
        capture->file = text_at(c, object, "file");
        if (!capture->file || !*capture->file || strchr(capture->file, '/'))
            plumb_field_fault(&c->f, "file", "is not the name of a file in this folder");
        capture->step = plumb_json_is(step, PLUMB_JSON_IS_INT) ? plumb_json_whole(step) : -1;
        capture->bytes = plumb_field_u64(&c->f, object, "bytes");
        capture->missing = plumb_field_u64(&c->f, object, "missing");
        stage->capture = capture;
    }
    leave(c, before);
}

static void read_stage(struct cursor *c, const struct plumb_json_value *object,
                       struct plumb_signature_stage *stage)
{
    if (!plumb_json_is(object, PLUMB_JSON_IS_OBJECT)) {
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
    read_capture(c, object, stage);
    read_distinct(c, object, stage);
}

static void read_stages(struct cursor *c, const struct plumb_json_value *parent, const char *key,
                        struct plumb_signature_stage **out, size_t *count)
{
    const struct plumb_json_value *object = plumb_field_object(&c->f, parent, key);
    struct plumb_signature_stage *stages;
    if (c->f.failed || !(stages = memory(c, plumb_json_count(object), sizeof *stages)))
        return;
    *out = stages;
    size_t before = enter(c, key);
    for (size_t i = 0; i < plumb_json_count(object); i++) {
        const struct plumb_json_value *value = plumb_json_at(object, i);
        struct plumb_signature_stage *stage = &stages[(*count)++];
        stage->name = own_key(c, value->name);
        size_t outside = enter(c, value->name);
        if (!c->f.failed)
            read_stage(c, value, stage);
        leave(c, outside);
    }
    leave(c, before);
}

/* If there are requests, `stages` is of the last of them, and the signatures of all calls are in a
 * section of their own. */
static void read_requests(struct cursor *c, const struct plumb_json_value *root)
{
    struct plumb_signature *s = c->s;
    const struct plumb_json_value *list = plumb_field_array(
        &c->f, root, "requests", sizeof *s->requests, &s->requests, &s->request_count);
    for (size_t i = 0; i < s->request_count && !c->f.failed; i++) {
        struct plumb_signature_request *request = &s->requests[i];
        const struct plumb_json_value *v = plumb_json_at(list, i);
        size_t outside = enter(c, "requests");
        enter_index(c, i);
        if (!plumb_json_is(v, PLUMB_JSON_IS_OBJECT))
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

static bool all_have_inputs(const struct plumb_json_value *stages)
{
    for (size_t i = 0; i < plumb_json_count(stages); i++)
        if (!plumb_json_get(plumb_json_at(stages, i), "input_signatures"))
            return false;
    return plumb_json_is(stages, PLUMB_JSON_IS_OBJECT);
}

static int check_kind(const struct plumb_json_value *root, const char *name, bool *foreign,
                      plumb_error *err)
{
    const struct plumb_json_value *format = plumb_json_get(root, "format");
    const struct plumb_json_value *schema = plumb_json_get(root, "schema");
    *foreign = !format;
    if (!format) {
        if (all_have_inputs(plumb_json_get(root, "stages")))
            return PLUMB_OK;
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a file of I/O signatures (no \"stages\" with their "
                          "\"input_signatures\")",
                          name);
    }
    if (!plumb_json_is(format, PLUMB_JSON_IS_TEXT) ||
        strcmp(plumb_json_text(format), PLUMB_SIGNATURE_FORMAT) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a file of I/O signatures (its \"format\" is not \"%s\")",
                          name, PLUMB_SIGNATURE_FORMAT);
    if (!plumb_json_is(schema, PLUMB_JSON_IS_INT) || plumb_json_whole(schema) < 1)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: schema is missing", name);
    if (plumb_json_whole(schema) > PLUMB_SIGNATURE_SCHEMA)
        return plumb_fail(
            err, PLUMB_ERR_FORMAT,
            "'%s' was written by a newer plumb (schema %lld; this one reads up to %d)", name,
            (long long)plumb_json_whole(schema), PLUMB_SIGNATURE_SCHEMA);
    return PLUMB_OK;
}

static int read_root(struct plumb_signature *s, const struct plumb_json_value *root,
                     const char *name, plumb_error *err)
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
    if (!s->foreign && plumb_json_get(root, "requests")) {
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
    struct plumb_json_tree tree;
    int rc;
    plumb_signature_init(&s);
    /* As Python writes it: NaN, Infinity and -Infinity are numbers. */
    rc = plumb_json_tree_read(&tree, text, size, PLUMB_JSON_NAN, name, err);
    if (rc < 0 || (rc = check_kind(tree.root, name, &s.foreign, err)) < 0 ||
        (rc = read_root(&s, tree.root, name, err)) < 0)
        goto out;
    *out = s;
    plumb_signature_init(&s);
out:
    plumb_json_tree_fini(&tree);
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

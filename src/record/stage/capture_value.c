/* capture_value.c: an input as an object of JSON, which docs/recording.md describes, and copies of
 * its tensors. src/isolate/captured.c reads it.
 *
 * A part that cannot be kept leaves an object that says why, and the rest is kept all the same. A
 * string that is not UTF-8, or has a backslash, is written as the digits of its bytes: the object
 * becomes a string itself, and JSON's escapes are the only ones in it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/pages.h"
#include "base/text/utf8.h"
#include "codec/json_fields.h"
#include "model/signature.h"
#include "record/activation/activation.h"
#include "record/runtime/runtime.h"
#include "record/stage/capture_parts.h"
#include "tensor/row_major.h"
#include "tensor/safetensors.h"

/* ---- Items ----------------------------------------------------------------------------------- */

static void free_blobs(struct plumb_capture_item *item)
{
    for (struct plumb_capture_blob *b = item->blobs, *next; b; b = next) {
        next = b->next;
        plumb_capture.bytes -= b->bytes;
        plumb_capture.blobs--;
        plumb_pages_unmap(b->data, b->bytes ? b->bytes : 1);
        plumb_pages_unmap(b, sizeof *b);
    }
    item->blobs = NULL;
    plumb_capture.missing -= item->missing;
    item->missing = 0;
}

void plumb_capture_item_free(struct plumb_capture_item *item)
{
    free_blobs(item);
    if (item->text)
        plumb_pages_unmap(item->text, item->text_len);
    plumb_pages_unmap(item, sizeof *item);
}

void plumb_capture_items_free(void)
{
    for (struct plumb_capture_item *i = plumb_capture.items, *next; i; i = next) {
        next = i->next;
        plumb_capture_item_free(i);
    }
    if (plumb_capture.making.data)
        plumb_pages_unmap(plumb_capture.making.data, PLUMB_CAPTURE_MAKING);
    if (plumb_capture.outputs)
        plumb_pages_unmap(plumb_capture.outputs, sizeof *plumb_capture.outputs);
    plumb_capture.outputs = NULL;
    plumb_capture.making = (struct plumb_buf){NULL, 0, 0, false};
    plumb_capture.items = NULL;
    plumb_capture.keys = plumb_capture.missing = 0;
}

/* ---- What cannot be kept --------------------------------------------------------------------- */

static void missing(const char *why)
{
    struct plumb_capture *c = &plumb_capture;
    plumb_put_text(&c->json, "kind", "missing");
    plumb_put_text(&c->json, "why", why);
    if (c->item->missing++ == 0)
        snprintf(c->item->why, sizeof c->item->why, "input '%.100s': %.170s", c->part, why);
    c->missing++;
}

/* ---- Strings --------------------------------------------------------------------------------- */

static bool is_plain(const char *text)
{
    return plumb_utf8_valid(text) && !strchr(text, '\\');
}

/* `key`, or `key`_hex. */
static void put_string(const char *key, const char *text)
{
    struct plumb_json *j = &plumb_capture.json;
    static const char digits[] = "0123456789abcdef";
    char hex_key[24];
    if (is_plain(text)) {
        plumb_put_text(j, key, text);
        return;
    }
    snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    plumb_put_text(j, hex_key, "");
    j->out->len--; /* the closing quote */
    for (const char *p = text; *p; p++) {
        plumb_buf_char(j->out, digits[(unsigned char)*p >> 4]);
        plumb_buf_char(j->out, digits[*p & 15]);
    }
    plumb_buf_char(j->out, '"');
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static bool is_taken(const char *key)
{
    if (strcmp(key, "__metadata__") == 0)
        return true;
    for (const struct plumb_capture_item *i = plumb_capture.items; i; i = i->next)
        for (const struct plumb_capture_blob *b = i->blobs; b; b = b->next)
            if (strcmp(b->key, key) == 0)
                return true;
    for (const struct plumb_capture_blob *b = plumb_capture.item->blobs; b; b = b->next)
        if (strcmp(b->key, key) == 0)
            return true;
    return false;
}

/* The path of the tensor, or another name where that is not one of its own. */
static void name_blob(struct plumb_capture_blob *b)
{
    struct plumb_capture *c = &plumb_capture;
    memcpy(b->key, c->part, sizeof b->key);
    if (!is_plain(b->key))
        b->key[0] = '\0';
    while (!b->key[0] || is_taken(b->key))
        snprintf(b->key, sizeof b->key, "input.%" PRIu64, c->keys++);
}

/* As the file has it: halves of complex numbers are a dimension of their own. */
static bool describe(struct plumb_capture_blob *b, const struct plumb_view *view)
{
    struct plumb_dtype type = view->dtype;
    b->ndim = view->ndim;
    if (view->ndim > 0)
        memcpy(b->shape, view->shape, (size_t)view->ndim * sizeof *b->shape);
    if (type.code == PLUMB_DTYPE_COMPLEX && type.lanes == 1 &&
        (type.bits == 64 || type.bits == 128) && b->ndim < PLUMB_VIEW_MAX_DIMS) {
        type = (struct plumb_dtype){PLUMB_DTYPE_FLOAT, (uint8_t)(type.bits / 2), 1};
        b->shape[b->ndim++] = 2;
    }
    b->type = plumb_safetensors_name(type);
    return b->type != NULL;
}

/* A copy of the values; NULL and `why`: they cannot be kept. */
static struct plumb_capture_blob *copy_values(const struct plumb_view *view, char *why, size_t size)
{
    struct plumb_capture *c = &plumb_capture;
    char type[PLUMB_DTYPE_NAME_MAX];
    struct plumb_row_major rows;
    struct plumb_capture_blob *b;
    if (view->bytes > plumb_rt.settings.capture_bytes - c->bytes) {
        snprintf(why, size, "its %" PRIu64 " bytes are more than is left of PLUMB_CAPTURE_BYTES",
                 view->bytes);
        return NULL;
    }
    b = plumb_pages_map(sizeof *b);
    if (b && !describe(b, view)) {
        snprintf(why, size, "a .safetensors file has no elements of %s",
                 plumb_dtype_name(type, view->dtype));
        plumb_pages_unmap(b, sizeof *b);
        return NULL;
    }
    if (b && !(b->data = plumb_pages_map(view->bytes ? view->bytes : 1))) {
        plumb_pages_unmap(b, sizeof *b);
        b = NULL;
    }
    if (!b) {
        snprintf(why, size, "no memory for its %" PRIu64 " bytes", view->bytes);
        return NULL;
    }
    b->bytes = view->bytes;
    plumb_row_major_init(&rows, view);
    if (view->bytes > 0)
        plumb_row_major_read(&rows, b->data, b->bytes);
    c->bytes += b->bytes;
    c->blobs++;
    return b;
}

static void put_form(const struct plumb_capture_blob *b, const struct plumb_view *view,
                     struct plumb_dl_device device)
{
    struct plumb_json *j = &plumb_capture.json;
    char name[PLUMB_DL_DEVICE_NAME_MAX];
    plumb_put_text(j, "kind", "tensor");
    plumb_put_text(j, "tensor", b->key);
    plumb_put_text(j, "dtype", plumb_dtype_name(name, view->dtype));
    plumb_put_text(j, "device", plumb_dl_device_name(name, device));
    plumb_json_key(j, "shape");
    plumb_json_i64s(j, view->shape, (size_t)view->ndim);
    if (plumb_view_is_compact(view))
        return;
    plumb_json_key(j, "strides");
    plumb_json_i64s(j, view->strides, (size_t)view->ndim);
}

static void put_tensor(const void *tensor)
{
    struct plumb_capture *c = &plumb_capture;
    struct plumb_view view;
    struct plumb_dl_device device;
    plumb_error why = {0, ""};
    uint64_t bytes = 0;
    void *fetched = NULL;
    struct plumb_capture_blob *b, **end = &c->item->blobs;
    if (plumb_view_init(&view, tensor, &why) < 0) {
        missing(why.message);
        return;
    }
    device = view.device;
    if (!plumb_dl_device_is_host(device))
        fetched = plumb_act_fetch(&view, &bytes, &why);
    if (why.code || plumb_view_readable(&view, &why) < 0 ||
        !(b = copy_values(&view, why.message, sizeof why.message))) {
        missing(why.message);
    } else {
        name_blob(b);
        while (*end)
            end = &(*end)->next;
        *end = b;
        put_form(b, &view, device);
    }
    if (fetched)
        plumb_pages_unmap(fetched, bytes);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool is_too_long(void)
{
    return plumb_capture.making.len > PLUMB_CAPTURE_TEXT || plumb_capture.making.failed;
}

static void put_value(const char *name, const plumb_value *value, int depth);

/* The part `i` of a list, or the field; the path is that of the part in the meantime. */
static void put_part(const plumb_value *value, uint32_t i, int depth)
{
    struct plumb_capture *c = &plumb_capture;
    size_t before = c->part_len, room = sizeof c->part - before;
    const plumb_field *f = value->kind == PLUMB_VALUE_FIELDS ? &value->as.fields[i] : NULL;
    const char *name = f && f->name ? f->name : "";
    int n = f ? snprintf(c->part + before, room, ".%s", name)
              : snprintf(c->part + before, room, "[%" PRIu32 "]", i);
    c->part_len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    put_value(f ? name : NULL, f ? &f->value : &value->as.list[i], depth);
    c->part_len = before;
    c->part[before] = '\0';
}

static void put_parts(const plumb_value *value, int depth)
{
    struct plumb_json *j = &plumb_capture.json;
    if (depth >= PLUMB_SIGNATURE_DEPTH) {
        missing("it is nested too deeply");
        return;
    }
    plumb_put_text(j, "kind", value->kind == PLUMB_VALUE_LIST ? "list" : "fields");
    plumb_put_array(j, "items");
    for (uint32_t i = 0; i < value->count && !is_too_long(); i++)
        put_part(value, i, depth + 1);
    plumb_json_array_end(j);
}

static void put_text(const char *text)
{
    if (!text) {
        plumb_put_text(&plumb_capture.json, "kind", "null");
    } else if (strnlen(text, PLUMB_CAPTURE_STRING) == PLUMB_CAPTURE_STRING) {
        missing("it is longer than 2 MiB");
    } else {
        plumb_put_text(&plumb_capture.json, "kind", "text");
        put_string("value", text);
    }
}

/* The number to be read, and its bits, which are the value: a NaN has some too. */
static void put_real(double value)
{
    struct plumb_json *j = &plumb_capture.json;
    char digits[20];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    snprintf(digits, sizeof digits, "%016" PRIx64, bits);
    plumb_put_text(j, "kind", "real");
    plumb_json_key(j, "value");
    plumb_json_real(j, value);
    plumb_put_text(j, "bits", digits);
}

static void put_value(const char *name, const plumb_value *value, int depth)
{
    struct plumb_json *j = &plumb_capture.json;
    plumb_json_object(j);
    if (name)
        put_string("name", name);
    switch (value->kind) {
    case PLUMB_VALUE_NULL:
        plumb_put_text(j, "kind", "null");
        break;
    case PLUMB_VALUE_BOOL:
        plumb_put_text(j, "kind", "bool");
        plumb_put_bool(j, "value", value->as.i64 != 0);
        break;
    case PLUMB_VALUE_I64:
        plumb_put_text(j, "kind", "int");
        plumb_put_i64(j, "value", value->as.i64);
        break;
    case PLUMB_VALUE_F64:
        put_real(value->as.f64);
        break;
    case PLUMB_VALUE_STR:
        put_text(value->as.str);
        break;
    case PLUMB_VALUE_TENSOR:
        put_tensor(value->as.tensor);
        break;
    case PLUMB_VALUE_LIST:
    case PLUMB_VALUE_FIELDS:
        put_parts(value, depth);
        break;
    default:
        missing("a kind of value that this plumb does not know");
    }
    plumb_json_object_end(j);
}

/* False: no memory. */
static bool begin_text(void)
{
    struct plumb_capture *c = &plumb_capture;
    if (!c->making.data && !(c->making.data = plumb_pages_map(PLUMB_CAPTURE_MAKING)))
        return false;
    c->making.cap = PLUMB_CAPTURE_MAKING;
    c->making.len = 0;
    c->making.failed = false;
    plumb_json_init(&c->json, &c->making, 0);
    return true;
}

static bool begin(struct plumb_capture_item *item)
{
    struct plumb_capture *c = &plumb_capture;
    if (!begin_text())
        return false;
    c->item = item;
    memcpy(c->part, item->name, sizeof c->part);
    c->part_len = strlen(c->part);
    return true;
}

static void put_too_long(struct plumb_capture_item *item)
{
    free_blobs(item);
    begin(item);
    plumb_json_object(&plumb_capture.json);
    put_string("name", item->name);
    missing("its description is longer than 16 MiB");
    plumb_json_object_end(&plumb_capture.json);
}

struct plumb_capture_item *plumb_capture_item_make(const char *name, const plumb_value *value)
{
    struct plumb_capture_item *item = plumb_pages_map(sizeof *item);
    const struct plumb_buf *made = &plumb_capture.making;
    if (!item)
        return NULL;
    snprintf(item->name, sizeof item->name, "%s", name);
    if (begin(item)) {
        put_value(item->name, value, 0);
        if (is_too_long())
            put_too_long(item);
        item->text = plumb_pages_map(made->len);
    }
    plumb_capture.item = NULL;
    if (!item->text) {
        plumb_capture_item_free(item);
        return NULL;
    }
    memcpy(item->text, made->data, made->len);
    item->text_len = made->len;
    return item;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

const struct plumb_buf *plumb_capture_outputs_make(void)
{
    const struct plumb_value_hashes *outputs = plumb_capture.outputs;
    struct plumb_json *j = &plumb_capture.json;
    char digits[20];
    if (!outputs || !begin_text())
        return NULL;
    plumb_json_array(j);
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct plumb_named_hash *o = &outputs->at[i];
        plumb_json_object(j);
        put_string("name", o->name);
        snprintf(digits, sizeof digits, "%016" PRIx64, o->hash);
        plumb_put_text(j, "hash", o->known ? digits : NULL);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    return &plumb_capture.making;
}

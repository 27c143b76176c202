/* signature_pack.c: packing and unpacking signatures. Owns the layout of the bytes:
 *
 *   item    u32 bytes with this, u8 part, u8 bytes of the name, name, value
 *   value   u8 kind, then by kind: bool u8; int i64; real f64; text u16 bytes, text;
 *           list u32 count, values; mapping u32 count, each u8 bytes of the name, name, value;
 *           tensor: as below
 *   tensor  u8 dimensions, u8 flags (enum), i32 requires_grad, i64 bytes, u8 and dtype, u8 and
 *           device, shape; then what the flags name: strides, statistics, u16 and text of their
 *           error */
#include "model/signature_pack.h"

#include <string.h>

enum { HAS_STRIDES = 1, HAS_STATS = 2, HAS_ERROR = 4, ITEM_HEAD = 6 };

/* ---- Packing --------------------------------------------------------------------------------- */

void plumb_pack_reset(struct plumb_pack *p)
{
    p->used = p->end = p->dropped = p->busy = p->part = 0;
    p->full = false;
}

static void put(struct plumb_pack *p, const void *bytes, size_t n)
{
    if (p->full || n > PLUMB_PACK_BYTES - p->end) {
        p->full = true;
        return;
    }
    if (n > 0)
        memcpy(p->bytes + p->end, bytes, n);
    p->end += (uint32_t)n;
}

static void put_u8(struct plumb_pack *p, uint8_t v)
{
    put(p, &v, sizeof v);
}

static void put_u32(struct plumb_pack *p, uint32_t v)
{
    put(p, &v, sizeof v);
}

static void put_short(struct plumb_pack *p, const char *text)
{
    size_t n = text ? strnlen(text, PLUMB_PACK_NAME) : 0;
    put_u8(p, (uint8_t)n);
    put(p, text, n);
}

static void put_text(struct plumb_pack *p, const char *text)
{
    uint16_t n = text ? (uint16_t)strnlen(text, PLUMB_PACK_TEXT) : 0;
    put(p, &n, sizeof n);
    put(p, text, n);
}

static void put_tensor(struct plumb_pack *p, const struct plumb_signature_tensor *t)
{
    if (t->ndim > PLUMB_PACK_DIMS) {
        p->full = true;
        return;
    }
    put_u8(p, (uint8_t)t->ndim);
    put_u8(p, (uint8_t)((t->strides ? HAS_STRIDES : 0) | (t->stats ? HAS_STATS : 0) |
                        (t->stats_error ? HAS_ERROR : 0)));
    put(p, &t->requires_grad, sizeof t->requires_grad);
    put(p, &t->bytes, sizeof t->bytes);
    put_short(p, t->dtype);
    put_short(p, t->device);
    put(p, t->shape, t->ndim * sizeof *t->shape);
    if (t->strides)
        put(p, t->strides, t->ndim * sizeof *t->strides);
    if (t->stats)
        put(p, t->stats, sizeof *t->stats);
    if (t->stats_error)
        put_text(p, t->stats_error);
}

void plumb_pack_begin(struct plumb_pack *p, enum plumb_pack_part part, const char *name)
{
    p->end = p->used;
    p->full = false;
    p->part = part;
    put_u32(p, 0); /* the bytes, when they are known */
    put_u8(p, (uint8_t)part);
    put_short(p, name);
}

void plumb_pack_value(struct plumb_pack *p, const struct plumb_signature_value *v)
{
    put_u8(p, (uint8_t)v->kind);
    switch (v->kind) {
    case PLUMB_SIGNATURE_BOOL:
        put_u8(p, v->is.boolean);
        break;
    case PLUMB_SIGNATURE_INT:
        put(p, &v->is.integer, sizeof v->is.integer);
        break;
    case PLUMB_SIGNATURE_REAL:
        put(p, &v->is.real, sizeof v->is.real);
        break;
    case PLUMB_SIGNATURE_TEXT:
        put_text(p, v->is.text);
        break;
    case PLUMB_SIGNATURE_TENSOR:
        put_tensor(p, v->is.tensor);
        break;
    case PLUMB_SIGNATURE_NULL:
    case PLUMB_SIGNATURE_LIST:
    case PLUMB_SIGNATURE_FIELDS:
        break;
    }
}

void plumb_pack_list(struct plumb_pack *p, uint32_t count)
{
    put_u8(p, PLUMB_SIGNATURE_LIST);
    put_u32(p, count);
}

void plumb_pack_fields(struct plumb_pack *p, uint32_t count)
{
    put_u8(p, PLUMB_SIGNATURE_FIELDS);
    put_u32(p, count);
}

void plumb_pack_field(struct plumb_pack *p, const char *name)
{
    put_short(p, name);
}

static uint32_t item_bytes(const struct plumb_pack *p, uint32_t at)
{
    uint32_t bytes;
    memcpy(&bytes, p->bytes + at, sizeof bytes);
    return bytes;
}

/* Takes out the item whose part and name are those of the item at `p->used`. */
static void take_out_same(struct plumb_pack *p)
{
    const unsigned char *item = p->bytes + p->used;
    size_t head = (size_t)ITEM_HEAD + item[ITEM_HEAD - 1];
    for (uint32_t at = 0; at < p->used; at += item_bytes(p, at)) {
        uint32_t n = item_bytes(p, at);
        if (n < head || memcmp(p->bytes + at + 4, item + 4, head - 4) != 0)
            continue;
        memmove(p->bytes + at, p->bytes + at + n, p->end - at - n);
        p->used -= n;
        p->end -= n;
        return;
    }
}

void plumb_pack_end(struct plumb_pack *p)
{
    uint32_t bytes = p->end - p->used;
    if (p->full) {
        p->dropped++;
        return;
    }
    memcpy(p->bytes + p->used, &bytes, sizeof bytes);
    take_out_same(p);
    p->used = p->end;
}

/* ---- Unpacking ------------------------------------------------------------------------------- */

/* Reads bytes that may be anything. With an arena it makes values; without one it only looks, and
 * adds what belongs to the form to `form`. */
struct unpack {
    const unsigned char *at, *end;
    bool failed;
    struct plumb_arena *arena;
    uint64_t form;
};

static void take(struct unpack *u, void *out, size_t n)
{
    if (u->failed || n > (size_t)(u->end - u->at)) {
        u->failed = true;
        memset(out, 0, n);
        return;
    }
    memcpy(out, u->at, n);
    u->at += n;
}

static void add_form(struct unpack *u, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        u->form = (u->form ^ p[i]) * UINT64_C(0x100000001b3);
}

/* Something that belongs to the form. */
static void take_form(struct unpack *u, void *out, size_t n)
{
    take(u, out, n);
    add_form(u, out, n);
}

static uint8_t take_u8(struct unpack *u)
{
    uint8_t v;
    take_form(u, &v, sizeof v);
    return v;
}

static bool has(struct unpack *u, size_t n)
{
    if (n > (size_t)(u->end - u->at))
        u->failed = true;
    return !u->failed;
}

/* The next `n` bytes as a text. A NUL in it ends it. */
static const char *take_chars(struct unpack *u, size_t n, bool form)
{
    const char *text = "";
    if (!has(u, n))
        return text;
    if (form)
        add_form(u, u->at, n);
    if (u->arena && !(text = plumb_arena_strndup(u->arena, (const char *)u->at, n)))
        u->failed = true;
    u->at += n;
    return text;
}

static const char *take_short(struct unpack *u)
{
    uint8_t n = take_u8(u);
    return take_chars(u, n, true);
}

static const char *take_text(struct unpack *u)
{
    uint16_t n;
    take(u, &n, sizeof n);
    return take_chars(u, n, false);
}

static void *make(struct unpack *u, size_t bytes)
{
    void *made = u->arena ? plumb_arena_alloc(u->arena, bytes) : NULL;
    if (u->arena && !made)
        u->failed = true;
    return made;
}

static int64_t *take_numbers(struct unpack *u, size_t n)
{
    int64_t *numbers;
    if (!has(u, n * sizeof *numbers))
        return NULL;
    numbers = make(u, n * sizeof *numbers);
    if (numbers && n > 0)
        memcpy(numbers, u->at, n * sizeof *numbers);
    add_form(u, u->at, n * sizeof *numbers);
    u->at += n * sizeof *numbers;
    return numbers;
}

static void check_shape(struct unpack *u, const struct plumb_signature_tensor *t)
{
    for (size_t i = 0; t->shape && i < t->ndim; i++)
        if (t->shape[i] < 0)
            u->failed = true;
}

static void take_tensor(struct unpack *u, struct plumb_signature_tensor *out)
{
    struct plumb_signature_stats stats;
    struct plumb_signature_tensor t = {.ndim = take_u8(u)};
    uint8_t flags;
    take(u, &flags, sizeof flags);
    take_form(u, &t.requires_grad, sizeof t.requires_grad);
    take_form(u, &t.bytes, sizeof t.bytes);
    t.dtype = take_short(u);
    t.device = take_short(u);
    t.shape = take_numbers(u, t.ndim);
    check_shape(u, &t);
    if (flags & HAS_STRIDES)
        t.strides = take_numbers(u, t.ndim);
    if (flags & HAS_STATS) {
        take(u, &stats, sizeof stats);
        if ((t.stats = make(u, sizeof stats)))
            *t.stats = stats;
    }
    if (flags & HAS_ERROR)
        t.stats_error = take_text(u);
    if (t.requires_grad < -1 || t.requires_grad > 1 || t.bytes < -1)
        u->failed = true;
    if (out)
        *out = t;
}

static void take_value(struct unpack *u, struct plumb_signature_value *out, int depth);

static void take_list(struct unpack *u, struct plumb_signature_value *out, int depth)
{
    uint32_t count;
    take_form(u, &count, sizeof count);
    /* A value takes a byte at least. */
    if (depth >= PLUMB_SIGNATURE_DEPTH || !has(u, count))
        u->failed = true;
    if (u->failed)
        return;
    out->is.list.at = make(u, count * sizeof *out->is.list.at);
    out->is.list.count = count;
    for (uint32_t i = 0; i < count && !u->failed; i++) {
        struct plumb_signature_value unused;
        take_value(u, u->arena ? &out->is.list.at[i] : &unused, depth + 1);
    }
}

static bool is_known(const struct plumb_signature_items *items, const char *name)
{
    for (size_t i = 0; i < items->count; i++)
        if (strcmp(items->at[i].name, name) == 0)
            return true;
    return false;
}

static void take_fields(struct unpack *u, struct plumb_signature_value *out, int depth)
{
    struct plumb_signature_items *fields = &out->is.fields;
    uint32_t count;
    take_form(u, &count, sizeof count);
    /* A field takes two bytes at least. */
    if (depth >= PLUMB_SIGNATURE_DEPTH || !has(u, 2 * (size_t)count))
        u->failed = true;
    if (u->failed)
        return;
    fields->at = make(u, count * sizeof *fields->at);
    for (uint32_t i = 0; i < count && !u->failed; i++) {
        struct plumb_signature_item unused;
        struct plumb_signature_item *item = u->arena ? &fields->at[i] : &unused;
        item->name = take_short(u);
        take_value(u, &item->value, depth + 1);
        if (u->arena && !u->failed && is_known(fields, item->name))
            u->failed = true;
        fields->count += u->arena != NULL;
    }
}

static void take_value(struct unpack *u, struct plumb_signature_value *out, int depth)
{
    uint8_t boolean = 0;
    uint8_t kind = take_u8(u);
    memset(out, 0, sizeof *out);
    out->kind = (enum plumb_signature_kind)kind;
    switch (kind) {
    case PLUMB_SIGNATURE_NULL:
        break;
    case PLUMB_SIGNATURE_BOOL:
        take(u, &boolean, sizeof boolean);
        out->is.boolean = boolean != 0;
        break;
    case PLUMB_SIGNATURE_INT:
        take(u, &out->is.integer, sizeof out->is.integer);
        break;
    case PLUMB_SIGNATURE_REAL:
        take(u, &out->is.real, sizeof out->is.real);
        break;
    case PLUMB_SIGNATURE_TEXT:
        out->is.text = take_text(u);
        break;
    case PLUMB_SIGNATURE_TENSOR:
        out->is.tensor = make(u, sizeof *out->is.tensor);
        take_tensor(u, out->is.tensor);
        break;
    case PLUMB_SIGNATURE_LIST:
        take_list(u, out, depth);
        break;
    case PLUMB_SIGNATURE_FIELDS:
        take_fields(u, out, depth);
        break;
    default:
        u->failed = true;
    }
}

static void take_item(struct unpack *u, uint8_t *part, struct plumb_signature_item *out)
{
    const unsigned char *begin = u->at;
    const unsigned char *end = u->end;
    uint32_t bytes;
    take(u, &bytes, sizeof bytes);
    if (u->failed || bytes > (size_t)(end - begin)) {
        u->failed = true;
        return;
    }
    u->end = begin + bytes;
    *part = take_u8(u);
    out->name = take_short(u);
    take_value(u, &out->value, 0);
    if (u->at != u->end || *part > PLUMB_PACK_METADATA)
        u->failed = true;
    u->end = end;
}

uint64_t plumb_pack_form(const unsigned char *bytes, size_t size)
{
    struct unpack u = {.at = bytes, .end = bytes + size, .form = UINT64_C(0xcbf29ce484222325)};
    while (u.at < u.end && !u.failed) {
        struct plumb_signature_item unused;
        uint8_t part = 0;
        uint64_t before = u.form;
        take_item(&u, &part, &unused);
        if (part == PLUMB_PACK_METADATA)
            u.form = before;
    }
    return u.form ? u.form : 1;
}

bool plumb_pack_read(struct plumb_signature_call *out, struct plumb_arena *arena,
                     const unsigned char *bytes, size_t size)
{
    struct unpack u = {.at = bytes, .end = bytes + size, .arena = arena};
    struct plumb_signature_items *parts[] = {&out->inputs, &out->outputs, &out->metadata};
    size_t room[3] = {0, 0, 0};
    while (u.at < u.end && !u.failed) {
        struct plumb_signature_item item;
        uint8_t part = 0;
        take_item(&u, &part, &item);
        if (u.failed || is_known(parts[part], item.name)) {
            u.failed = true;
            break;
        }
        struct plumb_signature_items *items = parts[part];
        struct plumb_signature_item *at =
            plumb_arena_grow(arena, items->at, &room[part], items->count + 1, sizeof *at);
        if (!at) {
            u.failed = true;
            break;
        }
        items->at = at;
        items->at[items->count++] = item;
    }
    for (int i = 0; u.failed && i < 3; i++)
        *parts[i] = (struct plumb_signature_items){NULL, 0};
    return !u.failed;
}

/* perfetto_args.c: debug annotations, which may hold dictionaries and arrays, become flat args with
 * keys as in "device.queues[2]". Two spellings of nesting are in use, an older and a newer one.
 *
 * Plumb's writer makes dictionaries of keys with dots, and the array of the addresses of a stack:
 * joined by dots, both are what they were called. */
#include <inttypes.h>

#include "codec/perfetto.h"

#include "read/trace/perfetto_parts.h"

enum { DEPTH_MAX = 32, KEY_MAX = PLUMB_PF_KEY_NESTED_MAX };

struct nest {
    struct plumb_pfr *r;
    const struct plumb_pfr_sequence *s;
    uint32_t event;
    int depth;
};

/* ---- Keys ----------------------------------------------------------------------------------- */

/* The key so far lies in r->text. Keys stop growing somewhere, or a small file could have many long
 * ones. */
static void extend_key(struct plumb_pfr *r, const char *between, const void *text, size_t n)
{
    size_t room = r->text.len < KEY_MAX ? KEY_MAX - r->text.len : 0;
    if (r->text.len > 0)
        plumb_buf_str(&r->text, between);
    plumb_buf_append(&r->text, text, n < room ? n : room);
}

static void extend_key_by_place(struct plumb_pfr *r, uint32_t place)
{
    if (r->text.len < KEY_MAX)
        plumb_buf_printf(&r->text, r->t->plumb ? ".%" PRIu32 : "[%" PRIu32 "]", place);
}

static void cut_key(struct plumb_pfr *r, size_t length)
{
    r->text.len = length;
}

static void put(const struct nest *n, enum plumb_table_type type, union plumb_table_number value)
{
    uint32_t key =
        n->r->text.len ? plumb_table_string(n->r->t, n->r->text.data, n->r->text.len) : 0;
    plumb_table_add_arg(n->r->t, n->event, key, type, value);
}

static union plumb_table_number text_value(struct plumb_pfr *r, const struct plumb_wire *w)
{
    return (union plumb_table_number){.u64 = plumb_pfr_text(r, w->bytes, w->n)};
}

/* ---- Values --------------------------------------------------------------------------------- */

/* Reads a value that is not nested. False: the field is not a value. */
static bool plain_value(struct plumb_pfr *r, const struct plumb_pfr_sequence *s,
                        const struct plumb_wire *w, enum plumb_table_type *type,
                        union plumb_table_number *value)
{
    uint32_t told;
    value->u64 = w->v;
    switch (w->field) {
    case PF_ANNOTATION_BOOL_VALUE:
        *type = PLUMB_ARG_BOOL;
        value->u64 = w->v != 0;
        return true;
    case PF_ANNOTATION_UINT_VALUE:
        *type = PLUMB_ARG_U64;
        return true;
    case PF_ANNOTATION_INT_VALUE:
        *type = PLUMB_ARG_I64;
        return true;
    case PF_ANNOTATION_DOUBLE_VALUE:
        *type = PLUMB_ARG_F64;
        return true;
    case PF_ANNOTATION_POINTER_VALUE:
        *type = PLUMB_ARG_POINTER;
        return true;
    case PF_ANNOTATION_STRING_VALUE:
    case PF_ANNOTATION_LEGACY_JSON_VALUE:
        *type = w->field == PF_ANNOTATION_STRING_VALUE ? PLUMB_ARG_TEXT : PLUMB_ARG_JSON;
        *value = text_value(r, w);
        return true;
    case PF_ANNOTATION_STRING_VALUE_IID:
        *type = PLUMB_ARG_TEXT;
        told = plumb_ids_get(&s->told[PLUMB_PFR_VALUES], w->v);
        value->u64 = told ? told - 1 : 0;
        return true;
    default:
        return false;
    }
}

/* ---- Nested, the older spelling ------------------------------------------------------------- */

static bool old_nested(struct nest *n, struct plumb_wire w);

static bool old_inner(struct nest *n, const struct plumb_wire *w, size_t length)
{
    n->depth++;
    bool sound = n->depth > DEPTH_MAX || old_nested(n, plumb_wire_inner(w));
    n->depth--;
    cut_key(n->r, length);
    return sound;
}

/* Returns the next key; the message has the keys and the values as two lists. Keys are asked for in
 * order, so the place of the last one is kept. */
static void next_key(struct plumb_wire *keys, const unsigned char **text, size_t *n)
{
    *text = keys->end;
    *n = 0;
    while (plumb_wire_next(keys))
        if (keys->field == PF_NESTED_DICT_KEYS) {
            *text = keys->bytes;
            *n = keys->n;
            return;
        }
}

static bool old_nested(struct nest *n, struct plumb_wire w)
{
    struct plumb_wire keys = w;
    const unsigned char *key;
    size_t length = n->r->text.len, key_length;
    uint32_t place = 0;
    while (plumb_wire_next(&w)) {
        switch (w.field) {
        case PF_NESTED_DICT_VALUES:
            next_key(&keys, &key, &key_length);
            extend_key(n->r, ".", key, key_length);
            if (!old_inner(n, &w, length))
                return false;
            break;
        case PF_NESTED_ARRAY_VALUES:
            extend_key_by_place(n->r, place++);
            if (!old_inner(n, &w, length))
                return false;
            break;
        case PF_NESTED_INT_VALUE:
            put(n, PLUMB_ARG_I64, (union plumb_table_number){.u64 = w.v});
            break;
        case PF_NESTED_DOUBLE_VALUE:
            put(n, PLUMB_ARG_F64, (union plumb_table_number){.u64 = w.v});
            break;
        case PF_NESTED_BOOL_VALUE:
            put(n, PLUMB_ARG_BOOL, (union plumb_table_number){.u64 = w.v != 0});
            break;
        case PF_NESTED_STRING_VALUE:
            put(n, PLUMB_ARG_TEXT, text_value(n->r, &w));
            break;
        default:
            break;
        }
    }
    return !w.bad;
}

/* ---- Nested, the newer spelling ------------------------------------------------------------- */

static bool nested(struct nest *n, struct plumb_wire w, bool is_element);

static bool inner(struct nest *n, const struct plumb_wire *w, size_t length, bool is_element)
{
    n->depth++;
    bool sound = n->depth > DEPTH_MAX || nested(n, plumb_wire_inner(w), is_element);
    n->depth--;
    cut_key(n->r, length);
    return sound;
}

static void extend_key_by_name(struct nest *n, struct plumb_wire w)
{
    while (plumb_wire_next(&w)) {
        if (w.field == PF_ANNOTATION_NAME && n->r->t->plumb && memchr(w.bytes, '\\', w.n)) {
            const char *name = plumb_table_text(n->r->t, plumb_pfr_text(n->r, w.bytes, w.n));
            extend_key(n->r, ".", name, strlen(name));
        } else if (w.field == PF_ANNOTATION_NAME) {
            extend_key(n->r, ".", w.bytes, w.n);
        }
        if (w.field == PF_ANNOTATION_NAME_IID) {
            uint32_t told = plumb_ids_get(&n->s->told[PLUMB_PFR_KEYS], w.v);
            const char *name = told ? plumb_table_text(n->r->t, told - 1) : "?";
            extend_key(n->r, ".", name, strlen(name));
        }
    }
}

static bool nested(struct nest *n, struct plumb_wire w, bool is_element)
{
    enum plumb_table_type type;
    union plumb_table_number value;
    if (!is_element) /* elements of an array have a place instead of a name */
        extend_key_by_name(n, w);
    size_t length = n->r->text.len;
    uint32_t place = 0;
    while (plumb_wire_next(&w)) {
        if (w.field == PF_ANNOTATION_DICT_ENTRIES) {
            if (!inner(n, &w, length, false))
                return false;
        } else if (w.field == PF_ANNOTATION_ARRAY_VALUES) {
            extend_key_by_place(n->r, place++);
            if (!inner(n, &w, length, true))
                return false;
        } else if (w.field == PF_ANNOTATION_NESTED_VALUE) {
            if (!old_inner(n, &w, length))
                return false;
        } else if (plain_value(n->r, n->s, &w, &type, &value)) {
            put(n, type, value);
        }
    }
    return !w.bad;
}

/* ---- An annotation -------------------------------------------------------------------------- */

static bool is_nested(uint32_t field)
{
    return field == PF_ANNOTATION_DICT_ENTRIES || field == PF_ANNOTATION_ARRAY_VALUES ||
           field == PF_ANNOTATION_NESTED_VALUE;
}

bool plumb_pfr_annotation(struct plumb_pfr *r, const struct plumb_pfr_sequence *s, uint32_t event,
                          struct plumb_wire w)
{
    struct nest n = {r, s, event, 0};
    struct plumb_wire again = w;
    enum plumb_table_type type = PLUMB_ARG_TEXT;
    union plumb_table_number value = {.u64 = 0};
    bool valued = false;
    uint32_t key = 0, told;
    while (plumb_wire_next(&w)) {
        if (w.field == PF_ANNOTATION_NAME) {
            key = plumb_pfr_text(r, w.bytes, w.n);
        } else if (w.field == PF_ANNOTATION_NAME_IID) {
            told = plumb_ids_get(&s->told[PLUMB_PFR_KEYS], w.v);
            key = told ? told - 1 : plumb_table_string(r->t, "?", 1);
        } else if (is_nested(w.field)) {
            r->text.len = 0;
            return nested(&n, again, false);
        } else {
            valued |= plain_value(r, s, &w, &type, &value);
        }
    }
    if (valued)
        plumb_table_add_arg(r->t, event, key, type, value);
    return !w.bad;
}

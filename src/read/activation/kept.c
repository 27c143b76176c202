/* kept.c: texts, shapes, places of values and lists of activation records. Each is stored once,
 * however many records name it by number, and lives as long as the table. */
#include <stdlib.h>
#include <string.h>

#include "read/activation/table.h"

enum { FIRST_ROOM = 64, FIRST_SLOTS = 64 };

/* Returns the place of one more element of `size` bytes in an array of *cap elements. NULL: out of
 * memory, now or earlier; the table has failed. */
static void *room(struct plumb_activations *t, void *array, uint32_t *cap, uint64_t want,
                  size_t size)
{
    uint64_t next = *cap ? *cap : FIRST_ROOM;
    if (t->failed)
        return NULL;
    if (want <= *cap)
        return array;
    while (next < want)
        next *= 2;
    void *moved = next > UINT32_MAX ? NULL : realloc(array, next * size);
    if (!moved)
        t->failed = true;
    else
        *cap = (uint32_t)next;
    return moved;
}

static uint32_t hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ size;
    uint64_t word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)p[i] << (8 * i);
    h = (h ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (uint32_t)(h ^ h >> 32);
}

/* Doubles an index of open addressing when it is half full. `hash_of` gives that of entry `i`. */
static bool index_grow(struct plumb_activations *t, uint32_t **index, uint32_t *slots,
                       uint32_t count,
                       uint32_t (*hash_of)(const struct plumb_activations *, uint32_t))
{
    if (t->failed || (count < *slots / 2 && *slots))
        return !t->failed;
    uint32_t next = *slots ? *slots * 2 : FIRST_SLOTS;
    uint32_t *moved = next ? calloc(next, sizeof *moved) : NULL;
    if (!moved) {
        t->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = hash_of(t, i) & (next - 1);
        while (moved[at])
            at = (at + 1) & (next - 1);
        moved[at] = i + 1;
    }
    free(*index);
    *index = moved;
    *slots = next;
    return true;
}

static uint32_t text_hash(const struct plumb_activations *t, uint32_t i)
{
    return t->texts[i].hash;
}

static uint32_t text_add(struct plumb_activations *t, const char *text, size_t size, uint32_t hash)
{
    struct plumb_activation_text *texts =
        room(t, t->texts, &t->text_cap, (uint64_t)t->text_count + 1, sizeof *texts);
    char *copy = texts ? plumb_arena_strndup(&t->arena, text, size) : NULL;
    if (texts)
        t->texts = texts;
    if (!copy) {
        t->failed = true;
        return 0;
    }
    texts[t->text_count] = (struct plumb_activation_text){copy, (uint32_t)size, hash};
    return t->text_count++;
}

static bool same_bytes(const char *a, const char *b, size_t n)
{
    /* Names are short: a call would take longer than the comparison. */
    uint64_t x, y;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            return false;
    }
    for (; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

uint32_t plumb_activations_text_id(struct plumb_activations *t, const char *text, size_t size)
{
    if (size > UINT32_MAX)
        t->failed = true;
    if (!index_grow(t, &t->text_index, &t->text_slots, t->text_count, text_hash))
        return 0;
    if (t->text_count == 0) {
        uint32_t hash = hash_bytes("", 0);
        text_add(t, "", 0, hash);
        if (t->failed)
            return 0;
        t->text_index[hash & (t->text_slots - 1)] = 1;
    }
    if (size == 0)
        return 0;
    uint32_t hash = hash_bytes(text, size);
    uint32_t at = hash & (t->text_slots - 1);
    for (; t->text_index[at]; at = (at + 1) & (t->text_slots - 1)) {
        const struct plumb_activation_text *known = &t->texts[t->text_index[at] - 1];
        if (known->hash == hash && known->size == size && same_bytes(known->text, text, size))
            return t->text_index[at] - 1;
    }
    /* No text that is known has a NUL, so that only new ones need to be looked through. */
    const char *end = memchr(text, '\0', size);
    if (end)
        return plumb_activations_text_id(t, text, (size_t)(end - text));
    uint32_t id = text_add(t, text, size, hash);
    if (id)
        t->text_index[at] = id + 1;
    return id;
}

uint32_t plumb_activations_str_id(struct plumb_activations *t, const char *text)
{
    return text ? plumb_activations_text_id(t, text, strlen(text)) : 0;
}

static uint32_t shape_hash(const struct plumb_activations *t, uint32_t i)
{
    const struct plumb_activation_shape *s = &t->shapes[i];
    return hash_bytes(t->sizes + s->at, s->ndim * sizeof *t->sizes);
}

static uint32_t shape_add(struct plumb_activations *t, const int64_t *sizes, size_t ndim)
{
    struct plumb_activation_shape *shapes =
        room(t, t->shapes, &t->shape_cap, (uint64_t)t->shape_count + 1, sizeof *shapes);
    if (shapes)
        t->shapes = shapes;
    int64_t *all = room(t, t->sizes, &t->size_cap, t->size_count + (uint64_t)ndim + 1, sizeof *all);
    if (all)
        t->sizes = all;
    if (t->failed)
        return 0;
    if (ndim)
        memcpy(all + t->size_count, sizes, ndim * sizeof *all);
    shapes[t->shape_count] = (struct plumb_activation_shape){t->size_count, (uint32_t)ndim};
    t->size_count += (uint32_t)ndim;
    return t->shape_count++;
}

uint32_t plumb_activations_shape_id(struct plumb_activations *t, const int64_t *sizes, size_t ndim)
{
    if (!index_grow(t, &t->shape_index, &t->shape_slots, t->shape_count, shape_hash))
        return 0;
    if (t->shape_count == 0) {
        shape_add(t, NULL, 0);
        if (t->failed)
            return 0;
        t->shape_index[shape_hash(t, 0) & (t->shape_slots - 1)] = 1;
    }
    if (ndim == 0)
        return 0;
    uint32_t at = hash_bytes(sizes, ndim * sizeof *sizes) & (t->shape_slots - 1);
    for (; t->shape_index[at]; at = (at + 1) & (t->shape_slots - 1)) {
        const struct plumb_activation_shape *known = &t->shapes[t->shape_index[at] - 1];
        if (known->ndim == ndim && memcmp(t->sizes + known->at, sizes, ndim * sizeof *sizes) == 0)
            return t->shape_index[at] - 1;
    }
    uint32_t id = shape_add(t, sizes, ndim);
    if (id)
        t->shape_index[at] = id + 1;
    return id;
}

uint64_t plumb_activations_elements(const struct plumb_activations *t, uint32_t shape)
{
    size_t ndim;
    const int64_t *sizes = plumb_activations_shape(t, shape, &ndim);
    uint64_t n = 1;
    for (size_t i = 0; i < ndim; i++)
        if (sizes[i] <= 0)
            return 0;
    for (size_t i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(n, (uint64_t)sizes[i], &n))
            return UINT64_MAX;
    return n;
}

uint32_t plumb_activations_ref_add(struct plumb_activations *t,
                                   const struct plumb_activation_ref *ref)
{
    uint32_t first = t->ref_count ? 0 : 1;
    struct plumb_activation_ref *refs =
        room(t, t->refs, &t->ref_cap, (uint64_t)t->ref_count + 1 + first, sizeof *refs);
    if (!refs)
        return 0;
    t->refs = refs;
    if (first)
        memset(&refs[t->ref_count++], 0, sizeof *refs);
    refs[t->ref_count] = *ref;
    return t->ref_count++;
}

uint32_t plumb_activations_list_add(struct plumb_activations *t, const double *numbers, size_t n)
{
    if (n == 0)
        return 0;
    double *items = room(t, t->items, &t->item_cap, t->item_count + (uint64_t)n + 1, sizeof *items);
    if (!items)
        return 0;
    t->items = items;
    items[t->item_count] = (double)n;
    memcpy(items + t->item_count + 1, numbers, n * sizeof *numbers);
    uint32_t list = t->item_count + 1;
    t->item_count += (uint32_t)n + 1;
    return list;
}

void plumb_activations_like(struct plumb_activations *out, const struct plumb_activations *t)
{
    for (uint32_t i = 0; i < t->text_count; i++)
        plumb_activations_text_id(out, t->texts[i].text, t->texts[i].size);
    for (uint32_t i = 0; i < t->shape_count; i++)
        plumb_activations_shape_id(out, t->sizes + t->shapes[i].at, t->shapes[i].ndim);
    for (uint32_t i = 1; i < t->ref_count; i++)
        plumb_activations_ref_add(out, &t->refs[i]);
    if (t->item_count)
        out->items = room(out, out->items, &out->item_cap, t->item_count, sizeof *out->items);
    if (t->item_count && out->items) {
        memcpy(out->items, t->items, t->item_count * sizeof *t->items);
        out->item_count = t->item_count;
    }
    const char *path = plumb_arena_strdup(&out->arena, t->path);
    out->failed |= !path || out->arena.failed;
    out->path = path ? path : "";
    out->format = t->format;
}

/* map.c: open addressing with linear probing at a load of at most one half. */
#include "base/map.h"

#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "base/pages.h"
#include <plumb/error.h>

static uint32_t slot_of(const struct plumb_map *m, uint64_t key)
{
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->capacity - 1);
    while (m->slots[2 * (size_t)i] != 0 && m->slots[2 * (size_t)i] != key)
        i = (i + 1) & (m->capacity - 1);
    return i;
}

uint64_t plumb_map_get(const struct plumb_map *m, uint64_t key)
{
    return m->capacity ? m->slots[2 * (size_t)slot_of(m, key) + 1] : 0;
}

static int grow(struct plumb_map *m)
{
    struct plumb_map next = {NULL, m->capacity ? m->capacity * 2 : 128, m->count};
    uint64_t *before;
    next.slots = plumb_pages_map(next.capacity * (size_t)16);
    if (!next.slots)
        return PLUMB_ERR_MEMORY;
    for (size_t i = 0; i < m->capacity; i++) {
        if (m->slots[2 * i]) {
            size_t to = slot_of(&next, m->slots[2 * i]);
            next.slots[2 * to] = m->slots[2 * i];
            next.slots[2 * to + 1] = m->slots[2 * i + 1];
        }
    }
    before = m->slots;
    PLUMB_RELEASE(m->slots, next.slots);
    PLUMB_RELEASE(m->capacity, next.capacity);
    plumb_pages_unmap(before, next.capacity / 2 * (size_t)16);
    return PLUMB_OK;
}

int plumb_map_put(struct plumb_map *m, uint64_t key, uint64_t value)
{
    size_t i;
    if (m->count >= m->capacity / 2 && grow(m) < 0)
        return PLUMB_ERR_MEMORY;
    i = slot_of(m, key);
    m->count += m->slots[2 * i] == 0;
    m->slots[2 * i] = key;
    m->slots[2 * i + 1] = value;
    return PLUMB_OK;
}

void plumb_map_clear(struct plumb_map *m)
{
    if (m->count)
        memset(m->slots, 0, m->capacity * (size_t)16);
    m->count = 0;
}

void plumb_map_fini(struct plumb_map *m)
{
    uint64_t *slots = m->slots;
    PLUMB_RELEASE(m->slots, NULL);
    plumb_pages_unmap(slots, m->capacity * (size_t)16);
    m->capacity = m->count = 0;
}

uint64_t plumb_hash_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h ? h : 1;
}

/* ids.c: see ids.h. The array is at most eight times as long as it has entries, so that a file
 * cannot make it large with one number. */
#include "read/trace/ids.h"

#include <stdlib.h>
#include <string.h>

enum { DENSE_LEAST = 64, DENSE_MOST = 1 << 24, SPREAD = 8 };

static uint32_t slot_of(const struct plumb_ids *m, uint64_t id)
{
    uint64_t h = id * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = (uint32_t)(h >> 32) & (m->capacity - 1);
    while (m->slots[i].value && m->slots[i].id != id)
        i = (i + 1) & (m->capacity - 1);
    return i;
}

uint32_t plumb_ids_get_slow(const struct plumb_ids *m, uint64_t id)
{
    return m->count ? m->slots[slot_of(m, id)].value : 0;
}

static bool grow_slots(struct plumb_ids *m)
{
    struct plumb_ids next = {.capacity = m->capacity ? 2 * m->capacity : 8};
    if (next.capacity == 0 || !(next.slots = calloc(next.capacity, sizeof *next.slots)))
        return false;
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->slots[i].value)
            next.slots[slot_of(&next, m->slots[i].id)] = m->slots[i];
    free(m->slots);
    m->slots = next.slots;
    m->capacity = next.capacity;
    return true;
}

static bool grow_dense(struct plumb_ids *m, uint64_t id)
{
    uint32_t size = m->dense_size ? m->dense_size : DENSE_LEAST;
    while (size <= id)
        size *= 2;
    uint32_t *dense = realloc(m->dense, size * sizeof *dense);
    if (!dense)
        return false;
    memset(dense + m->dense_size, 0, (size - m->dense_size) * sizeof *dense);
    m->dense = dense;
    m->dense_size = size;
    return true;
}

bool plumb_ids_put(struct plumb_ids *m, uint64_t id, uint32_t value)
{
    bool listed = m->count && m->slots[slot_of(m, id)].value;
    bool near = id < DENSE_MOST && id < SPREAD * ((uint64_t)m->put + SPREAD);
    if (!listed && (near || id < m->dense_size)) {
        if (id >= m->dense_size && !grow_dense(m, id))
            return false;
        m->put += m->dense[id] == 0;
        m->dense[id] = value;
        return true;
    }
    if (m->count >= m->capacity / 2 && !grow_slots(m))
        return false;
    uint32_t slot = slot_of(m, id);
    m->count += m->slots[slot].value == 0;
    m->slots[slot] = (struct plumb_id_slot){id, value};
    return true;
}

/* Frees memory that is much larger than its contents were. Otherwise a file that clears after each
 * of many small entries would have us clear a large array each time. */
void plumb_ids_clear(struct plumb_ids *m)
{
    if (m->dense_size > 64 * (uint64_t)m->put || m->capacity > 64 * (uint64_t)m->count) {
        plumb_ids_fini(m);
        return;
    }
    if (m->put)
        memset(m->dense, 0, m->dense_size * sizeof *m->dense);
    if (m->count)
        memset(m->slots, 0, m->capacity * sizeof *m->slots);
    m->put = m->count = 0;
}

void plumb_ids_fini(struct plumb_ids *m)
{
    free(m->dense);
    free(m->slots);
    *m = (struct plumb_ids){.dense = NULL};
}

/* Owns the segments and the references to their slots.
 *
 * A slot is found by walking through the segments: a pipeline holds a handful of frames of three
 * sizes, and a walk over three segments is cheaper than any index of them. */
#include "frame_pool.h"

#include <plumb/plumb.h>

#include <stdlib.h>

static const char device[] = "cpu", pool_name[] = "frames";

struct segment {
    struct segment *next;
    uint8_t *data;
    size_t slot_bytes;
    struct frame frames[FRAME_POOL_SLOTS]; /* free: refs 0 */
};

struct frame_pool {
    struct segment *segments;
    size_t most_bytes;
    struct frame_pool_usage usage;
};

struct frame_pool *frame_pool_open(size_t most_bytes)
{
    struct frame_pool *pool = calloc(1, sizeof(*pool));

    if (pool)
        pool->most_bytes = most_bytes;
    return pool;
}

int frame_pool_close(struct frame_pool *pool)
{
    int held = pool ? pool->usage.held : 0;

    while (pool && pool->segments) {
        struct segment *s = pool->segments;
        pool->segments = s->next;
        plumb_mem_release(device, pool_name, s->data, s->slot_bytes * FRAME_POOL_SLOTS);
        free(s->data);
        free(s);
    }
    free(pool);
    return held;
}

struct frame_pool_usage frame_pool_usage(const struct frame_pool *pool)
{
    return pool->usage;
}

static struct segment *add_segment(struct frame_pool *pool, size_t slot_bytes)
{
    size_t bytes = slot_bytes * FRAME_POOL_SLOTS;
    struct segment *s = NULL;

    if (bytes > pool->most_bytes - pool->usage.reserved_bytes)
        return NULL;
    s = calloc(1, sizeof(*s));
    if (!s || !(s->data = aligned_alloc(FRAME_POOL_ALIGNMENT, bytes))) {
        free(s);
        return NULL;
    }
    plumb_mem_reserve(device, pool_name, s->data, bytes);
    s->slot_bytes = slot_bytes;
    for (int i = 0; i < FRAME_POOL_SLOTS; i++)
        s->frames[i] = (struct frame){.data = s->data + (size_t)i * slot_bytes, .pool = pool};
    s->next = pool->segments;
    pool->segments = s;
    pool->usage.segments++;
    pool->usage.reserved_bytes += bytes;
    return s;
}

static struct frame *find_free(struct frame_pool *pool, size_t slot_bytes)
{
    for (struct segment *s = pool->segments; s; s = s->next)
        for (int i = 0; i < FRAME_POOL_SLOTS && s->slot_bytes == slot_bytes; i++)
            if (s->frames[i].refs == 0)
                return &s->frames[i];
    return NULL;
}

struct frame *frame_pool_take(struct frame_pool *pool, size_t bytes)
{
    size_t slot_bytes;
    struct frame *frame;

    if (bytes == 0 || bytes > pool->most_bytes)
        return NULL;
    slot_bytes = (bytes + FRAME_POOL_ALIGNMENT - 1) / FRAME_POOL_ALIGNMENT * FRAME_POOL_ALIGNMENT;
    if (!(frame = find_free(pool, slot_bytes))) {
        struct segment *s =
            slot_bytes <= SIZE_MAX / FRAME_POOL_SLOTS ? add_segment(pool, slot_bytes) : NULL;
        if (!s)
            return NULL;
        frame = &s->frames[0];
    }
    frame->refs = 1;
    frame->bytes = bytes;
    pool->usage.taken++;
    if (++pool->usage.held > pool->usage.most_held)
        pool->usage.most_held = pool->usage.held;
    plumb_mem_alloc(device, pool_name, frame->data, bytes);
    return frame;
}

struct frame *frame_ref(struct frame *frame)
{
    frame->refs++;
    return frame;
}

void frame_unref(struct frame *frame)
{
    if (!frame || --frame->refs > 0)
        return;
    frame->pool->usage.held--;
    plumb_mem_free(device, pool_name, frame->data, 0);
}

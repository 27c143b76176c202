/* arena.c: memory that is freed as a whole. One thread at a time.
 *
 * A list of blocks; the first one is being filled. A request that does not fit into it gets a block
 * of its own, second in the list, so the rest of the first is not lost. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 4096, LARGEST_BLOCK_BYTES = 1 << 20, ALIGNMENT = 16 };

struct plumb_arena_block {
    _Alignas(ALIGNMENT) struct plumb_arena_block *next;
    size_t used_bytes;
    size_t size_bytes;
    _Alignas(ALIGNMENT) char data[];
};

static struct plumb_arena_block *new_block(struct plumb_arena *a, size_t size)
{
    struct plumb_arena_block *block = NULL;
    if (size <= SIZE_MAX / 2)
        block = calloc(1, sizeof *block + size);
    if (!block)
        a->failed = true;
    else
        block->size_bytes = size;
    return block;
}

void *plumb_arena_alloc(struct plumb_arena *a, size_t size)
{
    struct plumb_arena_block *block = a->blocks;
    if (size > SIZE_MAX / 4) {
        a->failed = true;
        return NULL;
    }
    size = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    if (!block || block->size_bytes - block->used_bytes < size) {
        size_t next = block ? 2 * block->size_bytes : FIRST_BLOCK_BYTES;
        if (next > LARGEST_BLOCK_BYTES)
            next = LARGEST_BLOCK_BYTES;
        bool own = block && size > next / 4;
        block = new_block(a, own || size > next ? size : next);
        if (!block)
            return NULL;
        struct plumb_arena_block **at = own ? &a->blocks->next : &a->blocks;
        block->next = *at;
        *at = block;
    }
    void *result = block->data + block->used_bytes;
    block->used_bytes += size;
    return result;
}

char *plumb_arena_strndup(struct plumb_arena *a, const char *text, size_t n)
{
    size_t len = strnlen(text, n);
    char *copy = plumb_arena_alloc(a, len + 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

char *plumb_arena_strdup(struct plumb_arena *a, const char *text)
{
    return text ? plumb_arena_strndup(a, text, strlen(text)) : NULL;
}

char *plumb_arena_printf(struct plumb_arena *a, const char *format, ...)
{
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = n < 0 ? NULL : plumb_arena_alloc(a, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, again);
    else
        a->failed = true;
    va_end(again);
    va_end(args);
    return text;
}

void *plumb_arena_grow(struct plumb_arena *a, void *array, size_t *cap, size_t want, size_t size)
{
    if (array && want <= *cap)
        return array;
    size_t more = *cap < SIZE_MAX / 2 ? 2 * *cap : want;
    if (more < want)
        more = want;
    if (more < 8)
        more = 8;
    if (size && more > SIZE_MAX / size) {
        a->failed = true;
        return NULL;
    }
    void *moved = plumb_arena_alloc(a, more * size);
    if (!moved)
        return NULL;
    if (array && *cap > 0)
        memcpy(moved, array, *cap * size);
    *cap = more;
    return moved;
}

void plumb_arena_reset(struct plumb_arena *a)
{
    struct plumb_arena_block *kept = a->blocks, *old = kept ? kept->next : NULL;
    while (old) {
        struct plumb_arena_block *next = old->next;
        free(old);
        old = next;
    }
    if (kept) {
        memset(kept->data, 0, kept->used_bytes);
        kept->used_bytes = 0;
        kept->next = NULL;
    }
    a->failed = false;
}

void plumb_arena_fini(struct plumb_arena *a)
{
    struct plumb_arena_block *block = a->blocks;
    while (block) {
        struct plumb_arena_block *next = block->next;
        free(block);
        block = next;
    }
    *a = (struct plumb_arena){0};
}

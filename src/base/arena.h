/* arena.h: memory that is freed as a whole. Allocations are zeroed, aligned to 16 bytes; NULL when
 * out of memory, which is remembered in `failed`. One thread at a time. */
#ifndef PLUMB_BASE_ARENA_H
#define PLUMB_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct plumb_arena {
    struct plumb_arena_block *blocks;
    bool failed;
};

void *plumb_arena_alloc(struct plumb_arena *a, size_t size);
char *plumb_arena_strdup(struct plumb_arena *a, const char *text); /* NULL gives NULL */
char *plumb_arena_strndup(struct plumb_arena *a, const char *text, size_t n);
char *plumb_arena_printf(struct plumb_arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Grows an array of `*cap` elements of `size` bytes to hold at least `want`. Returns the array,
 * which may have moved, or NULL when out of memory. The old copy stays until the arena is freed. */
void *plumb_arena_grow(struct plumb_arena *a, void *array, size_t *cap, size_t want, size_t size);
/* Frees everything that was allocated, but keeps the newest block for later allocations. */
void plumb_arena_reset(struct plumb_arena *a);
void plumb_arena_fini(struct plumb_arena *a);

#endif

/* map.h: a hash map from non-zero 64-bit keys to non-zero 64-bit values, for one thread's lookups
 * (places, states) and for the runtime's interning under its lock. Memory comes from the kernel,
 * not from malloc, because the map may grow inside another library's allocator. Never shrinks; no
 * deletion. A child that is forked between any two stores of its owner finds `slots` mapped, with
 * `capacity` entries or more, or NULL. */
#ifndef PLUMB_BASE_MAP_H
#define PLUMB_BASE_MAP_H

#include <stdint.h>

struct plumb_map {
    uint64_t *slots; /* key, value, key, value, ... */
    uint32_t capacity;
    uint32_t count;
};

/* Returns the value of `key`, 0 if it is absent. */
uint64_t plumb_map_get(const struct plumb_map *m, uint64_t key);
/* Sets the value of `key`. Returns 0 or PLUMB_ERR_MEMORY. */
int plumb_map_put(struct plumb_map *m, uint64_t key, uint64_t value);
void plumb_map_clear(struct plumb_map *m); /* empty, with its memory */
void plumb_map_fini(struct plumb_map *m);

/* Returns the FNV-1a hash of the text; never 0. */
uint64_t plumb_hash_text(const char *text);

#endif

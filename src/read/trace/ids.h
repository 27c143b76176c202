/* ids.h: a map from any 64-bit numbers to 32-bit ones, small when it is empty. A trace has some for
 * each of its sequences, and a hostile one has as many sequences as it likes. Numbers that lie
 * close together, as those of names do, are an array. One thread at a time. */
#ifndef PLUMB_READ_TRACE_IDS_H
#define PLUMB_READ_TRACE_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_id_slot {
    uint64_t id;
    uint32_t value; /* 0: free */
};
struct plumb_ids {
    uint32_t *dense; /* by id; 0: none */
    struct plumb_id_slot *slots;
    uint32_t dense_size; /* power of two, or 0 */
    uint32_t capacity;   /* power of two, or 0 */
    uint32_t count;      /* in `slots` */
    uint32_t put;        /* distinct ones in `dense` */
};

uint32_t plumb_ids_get_slow(const struct plumb_ids *m, uint64_t id);
/* 0: none. */
static inline uint32_t plumb_ids_get(const struct plumb_ids *m, uint64_t id)
{
    if (id < m->dense_size && m->dense[id])
        return m->dense[id];
    return plumb_ids_get_slow(m, id);
}
/* `value` is not 0. False: out of memory. Replaces. */
bool plumb_ids_put(struct plumb_ids *m, uint64_t id, uint32_t value);
void plumb_ids_clear(struct plumb_ids *m);
void plumb_ids_fini(struct plumb_ids *m);

#endif

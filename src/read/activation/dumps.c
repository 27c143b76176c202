/* dumps.c: joins the whole tensors that a run saved next to its lines to the records that they
 * belong to. There are few such tensors, so the lookup table holds the tensors, and one pass over
 * the records looks each record up in it. */
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "read/activation/parts.h"

/* The fields that identify a record within its folder. `module` and `tensor` are texts of one
 * table. */
struct key {
    uint32_t module, tensor, call;
    int32_t rank;
    int64_t step; /* below 0: none */
};

static struct key key_of(const struct plumb_activations *t, size_t i)
{
    bool has_step = plumb_activations_has(t, i, PLUMB_ACT_STEP);
    return (struct key){.module = t->module[i],
                        .tensor = t->tensor[i],
                        .call = t->call ? t->call[i] : 0,
                        .rank = t->rank ? t->rank[i] : 0,
                        .step = !has_step ? -1
                                : t->step ? t->step[i]
                                          : 0};
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->module == b->module && a->tensor == b->tensor && a->call == b->call &&
           a->rank == b->rank && a->step == b->step;
}

static uint64_t hash_of(const struct key *k)
{
    uint64_t h = ((uint64_t)k->module << 32 | k->tensor) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 32 ^ ((uint64_t)k->call << 32 | (uint32_t)k->rank)) *
        UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 32 ^ (uint64_t)k->step) * UINT64_C(0xc4ceb9fe1a85ec53);
    h ^= h >> 32;
    return h ? h : 1;
}

/* The same place in files, with the numbers of `t`. */
static uint32_t take_ref(struct plumb_activations *t, const struct plumb_activations *dumps,
                         uint32_t dump)
{
    struct plumb_activation_ref ref = dumps->refs[dumps->ref[dump]];
    size_t ndim;
    const int64_t *sizes = plumb_activations_shape(dumps, ref.shape, &ndim);
    ref.file = plumb_activations_str_id(t, plumb_activations_text(dumps, ref.file));
    ref.dtype = plumb_activations_str_id(t, plumb_activations_text(dumps, ref.dtype));
    ref.shape = plumb_activations_shape_id(t, sizes, ndim);
    return plumb_activations_ref_add(t, &ref);
}

int64_t plumb_activations_attach(struct plumb_activations *t, size_t first,
                                 const struct plumb_activations *dumps, uint32_t *left,
                                 plumb_error *err)
{
    struct plumb_map by_key = {0};
    struct key *keys = malloc((dumps->count + 1) * sizeof *keys);
    bool *taken = calloc(dumps->count + 1, sizeof *taken);
    int64_t count = 0;
    int rc = keys && taken ? PLUMB_OK : PLUMB_ERR_MEMORY;
    for (uint32_t i = 0; i < dumps->count && rc == PLUMB_OK; i++) {
        keys[i] = key_of(dumps, i);
        keys[i].module = plumb_activations_str_id(t, plumb_activations_text(dumps, keys[i].module));
        keys[i].tensor = plumb_activations_str_id(t, plumb_activations_text(dumps, keys[i].tensor));
        rc = plumb_map_put(&by_key, hash_of(&keys[i]), i + 1);
    }
    for (size_t i = first; i < t->count && rc == PLUMB_OK; i++) {
        struct key key = key_of(t, i);
        uint64_t place = plumb_map_get(&by_key, hash_of(&key));
        if (place == 0 || taken[place - 1] || !same_key(&keys[place - 1], &key))
            continue;
        taken[place - 1] = true;
        plumb_activations_ref_set(t, i, take_ref(t, dumps, (uint32_t)place - 1));
    }
    for (uint32_t i = 0; i < dumps->count && rc == PLUMB_OK; i++)
        if (!taken[i])
            left[count++] = i;
    if (t->failed)
        rc = PLUMB_ERR_MEMORY;
    plumb_map_fini(&by_key);
    free(keys);
    free(taken);
    return rc < 0 ? plumb_fail(err, rc, "out of memory for the tensors that a run kept") : count;
}

/* table.c: see table.h. A primitive and the number of its facts share one word, so that no reader
 * sees half of an entry: an address of 56 bits, of which 4 are 0, and 12 bits. One that has more,
 * as tagged pointers have, is asked about each time. */
#include "collect/onednn/table.h"

#include <string.h>

#include "base/atomic.h"
#include "collect/onednn/ask.h"
#include "collect/onednn/work.h"

enum { FACTS = 4096, FACT_PROBES = 64, SETS = 1024, WAYS = 4, FACT_BITS = 12, ALIGN_BITS = 4 };

struct fact {
    uint64_t hash; /* atomic; 0: free; published last */
    uint32_t taken;
    struct plumb_onednn_facts facts;
};
static struct {
    struct fact fact[FACTS]; /* number 0 stays free: it stands for none */
    uint64_t word[SETS][WAYS];
} table;

/* ---- Primitives ------------------------------------------------------------------------------ */

/* 0: it cannot be kept. */
static uint64_t key_of(const void *primitive)
{
    uint64_t at = (uint64_t)(uintptr_t)primitive;
    bool fits = (at & ((1u << ALIGN_BITS) - 1)) == 0 && at >> (64 - FACT_BITS + ALIGN_BITS) == 0;
    return fits ? at >> ALIGN_BITS << FACT_BITS : 0;
}

static uint64_t *set_of(uint64_t key)
{
    return table.word[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

static uint32_t find_primitive(uint64_t key)
{
    const uint64_t *set = set_of(key);
    for (int i = 0; key && i < WAYS; i++) {
        uint64_t word = PLUMB_ACQUIRE(set[i]);
        if ((word & ~(uint64_t)(FACTS - 1)) == key)
            return (uint32_t)(word & (FACTS - 1));
    }
    return 0;
}

/* In a free place, otherwise in one that the key chooses. */
static void keep_primitive(uint64_t key, uint32_t number)
{
    uint64_t *set = set_of(key);
    for (int i = 0; key && number && i < WAYS; i++) {
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&set[i], &none, key | number, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
    if (key && number)
        PLUMB_RELEASE(set[(key >> FACT_BITS) % WAYS], key | number);
}

void plumb_onednn_forget(const void *primitive)
{
    uint64_t key = key_of(primitive);
    uint64_t *set = set_of(key);
    for (int i = 0; key && i < WAYS; i++) {
        uint64_t word = PLUMB_LOAD(set[i]);
        if ((word & ~(uint64_t)(FACTS - 1)) == key)
            __atomic_compare_exchange_n(&set[i], &word, 0, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
    }
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Of the bytes that are in use; never 0. */
static uint64_t hash_of(const struct plumb_onednn_op *op)
{
    size_t bytes = offsetof(struct plumb_onednn_op, tensor) + op->tensors * sizeof *op->tensor;
    const unsigned char *at = (const unsigned char *)op;
    uint64_t h = UINT64_C(0x2545f4914f6cdd1d), word;
    _Static_assert(sizeof(struct plumb_onednn_op) % 8 == 0, "hashed by words");
    _Static_assert(sizeof(struct plumb_onednn_tensor) % 8 == 0, "hashed by words");
    _Static_assert(offsetof(struct plumb_onednn_op, tensor) % 8 == 0, "hashed by words");
    for (size_t i = 0; i < bytes; i += sizeof word) {
        memcpy(&word, at + i, sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h ? h : 1;
}

static plumb_name name_of(const char *text, plumb_name (*name_get)(const char *text))
{
    return text[0] ? name_get(text) : 0;
}

/* `whole`: with the texts of which there are as many as there are operations. */
static PLUMB_COLD void derive(struct plumb_onednn_facts *out, const struct plumb_onednn_op *op,
                              bool whole, plumb_name (*name_get)(const char *text))
{
    char text[PLUMB_ONEDNN_SHAPES];
    memset(out, 0, sizeof *out);
    plumb_onednn_name(text, sizeof text, op);
    out->name = name_of(text, name_get);
    out->impl = name_of(op->impl, name_get);
    if (plumb_onednn_flops(&out->flops, op))
        out->known |= PLUMB_ONEDNN_FLOPS;
    if (plumb_onednn_bytes(&out->bytes, op))
        out->known |= PLUMB_ONEDNN_BYTES;
    if (!whole)
        return;
    plumb_onednn_shapes(text, sizeof text, op);
    out->shapes = name_of(text, name_get);
    plumb_onednn_types(text, sizeof text, op);
    out->types = name_of(text, name_get);
    plumb_onednn_details(text, sizeof text, op);
    out->details = name_of(text, name_get);
}

/* The number of the facts of `hash`; if there are none, that of a free place, which is then the
 * caller's to fill. 0: all places are taken, or just being filled. */
static uint32_t place_of(uint64_t hash, bool *found)
{
    *found = false;
    for (uint32_t i = 0; i < FACT_PROBES; i++) {
        uint32_t at = (uint32_t)(hash + i) % FACTS, free_place = 0;
        struct fact *f = &table.fact[at];
        if (at == 0)
            continue;
        if (PLUMB_ACQUIRE(f->hash) == hash) {
            *found = true;
            return at;
        }
        if (!PLUMB_LOAD(f->taken) &&
            __atomic_compare_exchange_n(&f->taken, &free_place, 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return at;
    }
    return 0;
}

static PLUMB_COLD void ask_for(struct plumb_onednn_facts *out, const struct plumb_dnnl *d,
                               const struct plumb_dnnl_call *call, uint64_t key,
                               plumb_name (*name_get)(const char *text))
{
    struct plumb_onednn_op op;
    uint64_t hash;
    uint32_t number;
    bool found;
    plumb_onednn_ask(&op, d, call);
    hash = hash_of(&op);
    number = place_of(hash, &found);
    if (found) {
        *out = table.fact[number].facts;
    } else {
        derive(out, &op, number != 0, name_get);
        if (number) {
            table.fact[number].facts = *out;
            PLUMB_RELEASE(table.fact[number].hash, hash);
        }
    }
    if (!(op.flags & PLUMB_ONEDNN_RUNTIME_DIMS))
        keep_primitive(key, number);
}

void plumb_onednn_facts_of(struct plumb_onednn_facts *out, const struct plumb_dnnl *d,
                           const struct plumb_dnnl_call *call,
                           plumb_name (*name_get)(const char *text))
{
    uint64_t key = key_of(call->primitive);
    uint32_t number = find_primitive(key);
    if (PLUMB_LIKELY(number))
        *out = table.fact[number].facts;
    else
        ask_for(out, d, call, key, name_get);
}

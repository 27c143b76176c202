/* layers.c: which layers of two engines belong together, so that layer 3 is never paired with layer
 * 5. See struct plumb_order_layers. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/order.h"
#include "base/error.h"

static uint64_t pair_key(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b << 31 | b >> 33)) * UINT64_C(0x9e3779b97f4a7c15);
    return (h ^ h >> 32) | 1;
}

/* Returns a hash of the text before the number of the layer, and sets *number; 0: there is no
 * number. */
static uint64_t prefix_of(const char *name, uint32_t *number)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t begin;
    size_t end;
    if (!plumb_order_number(name, &begin, &end))
        return 0;
    for (size_t i = 0; i < begin; i++)
        h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    *number = 0;
    for (size_t i = begin; i < end; i++)
        *number = *number * 10 + (uint32_t)(name[i] - '0');
    return h | 1;
}

static const char *module_of(const struct plumb_order *o, int side, uint32_t s)
{
    const struct plumb_diverge_side *x = &o->d->sides[side];
    return plumb_activations_text(x->t, x->sites[s].module);
}

/* The role of a module: its name with '#' for each number. */
static uint64_t role_of(const char *name)
{
    struct plumb_order_name described;
    plumb_order_describe(&described, name, "");
    return described.role;
}

/* Keys of sites whose number is that of a layer. `kinds`: of a key the role that bears it plus 1;
 * UINT64_MAX: several do. */
static int find_keys(struct plumb_order *o, int side, plumb_error *err)
{
    struct plumb_order_layers *l = &o->layers;
    struct plumb_map kinds = {0};
    uint32_t n = o->d->sides[side].site_count;
    int rc = PLUMB_OK;
    l->key[side] = calloc((size_t)n + 1, sizeof *l->key[side]);
    l->number[side] = calloc((size_t)n + 1, sizeof *l->number[side]);
    if (!l->key[side] || !l->number[side])
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites", n);
    for (uint32_t i = 0; i < n && rc == PLUMB_OK; i++) {
        const char *name = module_of(o, side, i);
        uint64_t prefix = prefix_of(name, &l->number[side][i]);
        if (prefix == 0)
            continue;
        l->key[side][i] = pair_key(prefix, l->number[side][i]);
        uint64_t role = role_of(name) + 1;
        uint64_t seen = plumb_map_get(&kinds, l->key[side][i]);
        if (seen != role && seen != UINT64_MAX)
            rc = plumb_map_put(&kinds, l->key[side][i], seen == 0 ? role : UINT64_MAX);
        rc |= plumb_map_put(&l->prefix[side], l->key[side][i], prefix);
    }
    for (uint32_t i = 0; i < n; i++)
        if (l->key[side][i] && plumb_map_get(&kinds, l->key[side][i]) != UINT64_MAX)
            l->key[side][i] = 0;
    plumb_map_fini(&kinds);
    return rc == PLUMB_OK ? rc : plumb_fail(err, rc, "out of memory for the layers of a run");
}

void plumb_order_layers_fini(struct plumb_order *o)
{
    struct plumb_order_layers *l = &o->layers;
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++) {
        free(l->key[i]);
        free(l->number[i]);
        plumb_map_fini(&l->best[i]);
        plumb_map_fini(&l->prefix[i]);
    }
    plumb_map_fini(&l->votes);
    plumb_map_fini(&l->offsets);
}

static uint64_t prefixes_of(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    uint32_t number;
    return pair_key(prefix_of(module_of(o, PLUMB_DIVERGE_A, a), &number),
                    prefix_of(module_of(o, PLUMB_DIVERGE_B, b), &number));
}

static uint64_t offset_of(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    return (UINT64_C(1) << 32) + o->layers.number[PLUMB_DIVERGE_B][b] -
           o->layers.number[PLUMB_DIVERGE_A][a];
}

static int elect(struct plumb_order_layers *l, int side, uint64_t own, uint64_t other,
                 uint64_t votes)
{
    uint64_t now = plumb_map_get(&l->best[side], own);
    uint64_t against = 0;
    if (now)
        against = plumb_map_get(&l->votes,
                                side == PLUMB_DIVERGE_A ? pair_key(own, now) : pair_key(now, own));
    return now == 0 || votes > against ? plumb_map_put(&l->best[side], own, other) : PLUMB_OK;
}

int plumb_order_vote(struct plumb_order *o, uint32_t a, uint32_t b)
{
    struct plumb_order_layers *l = &o->layers;
    uint64_t ka = l->key[PLUMB_DIVERGE_A][a];
    uint64_t kb = l->key[PLUMB_DIVERGE_B][b];
    if (!ka || !kb)
        return PLUMB_OK;
    uint64_t both = pair_key(ka, kb);
    uint64_t votes = plumb_map_get(&l->votes, both) + 1;
    uint64_t prefixes = prefixes_of(o, a, b);
    uint64_t offset = plumb_map_get(&l->offsets, prefixes);
    int rc = plumb_map_put(&l->votes, both, votes);
    rc |= elect(l, PLUMB_DIVERGE_A, ka, kb, votes);
    rc |= elect(l, PLUMB_DIVERGE_B, kb, ka, votes);
    /* The most votes say how numbers are shifted. */
    uint64_t shift = pair_key(prefixes, offset_of(o, a, b));
    uint64_t shifted = plumb_map_get(&l->votes, shift) + 1;
    rc |= plumb_map_put(&l->votes, shift, shifted);
    if (offset == 0 || shifted > plumb_map_get(&l->votes, pair_key(prefixes, offset)))
        rc |= plumb_map_put(&l->offsets, prefixes, offset_of(o, a, b));
    return rc == PLUMB_OK ? rc : PLUMB_ERR_MEMORY;
}

/* Whether two layers of a side are numbered by one count: a layer of B that is paired with one of
 * them cannot be paired with the other. One engine may have several counts, "layers.3" and "blk.3"
 * of the same layer. */
static bool is_rival(const struct plumb_order_layers *l, int side, uint64_t x, uint64_t y)
{
    return x && x != y && plumb_map_get(&l->prefix[side], x) == plumb_map_get(&l->prefix[side], y);
}

/* The partner of a layer by more than one vote, which may be chance; 0: there is none. */
static uint64_t elected(const struct plumb_order_layers *l, int side, uint64_t own)
{
    uint64_t other = plumb_map_get(&l->best[side], own);
    uint64_t both = side == PLUMB_DIVERGE_A ? pair_key(own, other) : pair_key(other, own);
    return other && plumb_map_get(&l->votes, both) > 1 ? other : 0;
}

bool plumb_order_layers_fit(const struct plumb_order *o, uint32_t a, uint32_t b, bool strict)
{
    const struct plumb_order_layers *l = &o->layers;
    uint64_t ka = l->key[PLUMB_DIVERGE_A][a];
    uint64_t kb = l->key[PLUMB_DIVERGE_B][b];
    if (!ka || !kb)
        return true;
    uint64_t of_a = elected(l, PLUMB_DIVERGE_A, ka);
    uint64_t of_b = elected(l, PLUMB_DIVERGE_B, kb);
    if (of_a == kb || of_b == ka)
        return true;
    if (is_rival(l, PLUMB_DIVERGE_B, of_a, kb) || is_rival(l, PLUMB_DIVERGE_A, of_b, ka))
        return false;
    if (!strict)
        return true;
    uint64_t prefixes = prefixes_of(o, a, b);
    uint64_t offset = plumb_map_get(&l->offsets, prefixes);
    if (plumb_map_get(&l->votes, pair_key(prefixes, offset)) < 2) /* one may be chance */
        offset = 0;
    return offset_of(o, a, b) == (offset ? offset : UINT64_C(1) << 32);
}

int plumb_order_layers_init(struct plumb_order *o, plumb_error *err)
{
    const struct plumb_diverge_side *a = &o->d->sides[PLUMB_DIVERGE_A];
    int rc;
    if ((rc = find_keys(o, PLUMB_DIVERGE_A, err)) < 0 ||
        (rc = find_keys(o, PLUMB_DIVERGE_B, err)) < 0)
        return rc;
    for (uint32_t i = 0; i < a->site_count && rc == PLUMB_OK; i++)
        if (a->sites[i].partner != PLUMB_DIVERGE_NONE)
            rc = plumb_order_vote(o, i, a->sites[i].partner);
    return rc == PLUMB_OK ? rc : plumb_fail(err, rc, "out of memory for the layers of a run");
}

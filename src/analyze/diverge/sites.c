/* sites.c: groups the records of a run into sites.
 *
 * Runs repeat: the site that followed another one will mostly follow it again. So each site
 * remembers its follower, and the hash table is searched only where that guess fails. */
#include <limits.h>
#include <stdlib.h>

#include "analyze/diverge/diverge.h"
#include "base/error.h"

struct finder {
    struct plumb_diverge *d;
    struct plumb_diverge_side *side;
    struct plumb_map names;    /* module, tensor: a number */
    struct plumb_map contexts; /* phase, io, rank: a number */
    struct plumb_map sites;    /* those two numbers: place plus 1 */
    uint32_t *next;            /* [site_cap] */
};

/* ---- What tells sites apart ------------------------------------------------------------------ */

static bool one_rank(const struct plumb_activations *t)
{
    for (size_t i = 1; t->rank && i < t->count; i++)
        if (t->rank[i] != t->rank[0])
            return false;
    return true;
}

static bool has_step(const struct plumb_activations *t, size_t i)
{
    return plumb_activations_has(t, i, PLUMB_ACT_STEP);
}

static bool one_step(const struct plumb_activations *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (has_step(t, i) != has_step(t, 0) || (t->step && t->step[i] != t->step[0]))
            return false;
    return true;
}

static bool has_phases(const struct plumb_activations *t)
{
    for (size_t i = 0; t->phase && i < t->count; i++)
        if (t->phase[i])
            return true;
    return false;
}

static void choose(struct plumb_diverge *d)
{
    const struct plumb_activations *a = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *b = d->sides[PLUMB_DIVERGE_B].t;
    d->any_rank = one_rank(a) && one_rank(b);
    d->any_step = one_step(a) && one_step(b);
    d->any_phase = !has_phases(a) || !has_phases(b);
}

/* ---- Sites ----------------------------------------------------------------------------------- */

static struct plumb_diverge_site site_at(const struct finder *f, size_t i)
{
    const struct plumb_activations *t = f->side->t;
    return (struct plumb_diverge_site){
        .module = t->module[i],
        .tensor = t->tensor[i],
        .phase = f->d->any_phase || !t->phase ? 0 : t->phase[i],
        .rank = f->d->any_rank || !t->rank ? 0 : t->rank[i],
        .io = t->io ? t->io[i] : PLUMB_ACT_OUT,
        .partner = PLUMB_DIVERGE_NONE,
    };
}

static bool same_site(const struct plumb_diverge_site *a, const struct plumb_diverge_site *b)
{
    return a->module == b->module && a->tensor == b->tensor && a->phase == b->phase &&
           a->rank == b->rank && a->io == b->io;
}

/* The number of a key, from 1; 0: out of memory. */
static uint32_t number_of(struct plumb_map *map, uint64_t key)
{
    uint64_t number = plumb_map_get(map, key);
    if (number == 0 && plumb_map_put(map, key, number = (uint64_t)map->count + 1) < 0)
        return 0;
    return (uint32_t)number;
}

static int add_site(struct finder *f, const struct plumb_diverge_site *site, plumb_error *err)
{
    struct plumb_diverge_side *side = f->side;
    if (side->site_count == side->site_cap) {
        uint32_t cap = side->site_cap ? side->site_cap * 2 : 256;
        void *sites = realloc(side->sites, cap * sizeof *side->sites);
        if (sites)
            side->sites = sites;
        void *next = sites ? realloc(f->next, cap * sizeof *f->next) : NULL;
        if (!next)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites", cap);
        f->next = next;
        side->site_cap = cap;
    }
    f->next[side->site_count] = 0;
    side->sites[side->site_count++] = *site;
    return PLUMB_OK;
}

/* The number of a site that was not its predecessor's follower; negative: an error. */
static int64_t look_up(struct finder *f, const struct plumb_diverge_site *site, plumb_error *err)
{
    uint64_t rank = (uint32_t)site->rank;
    uint64_t name = number_of(&f->names, ((uint64_t)site->module << 32 | site->tensor) + 1);
    /* Phases are few: 30 bits of them are all there can be in memory. */
    uint64_t context = number_of(
        &f->contexts, ((uint64_t)site->phase << 34 | (uint64_t)site->io << 32 | rank) + 1);
    uint64_t key = name << 32 | context;
    uint64_t place = plumb_map_get(&f->sites, key);
    if (place > 0)
        return (int64_t)place - 1;
    int rc = add_site(f, site, err);
    if (rc < 0)
        return rc;
    if (name == 0 || context == 0 || plumb_map_put(&f->sites, key, f->side->site_count) < 0)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the sites of a run");
    return f->side->site_count - 1;
}

static int number_records(struct finder *f, plumb_error *err)
{
    struct plumb_diverge_side *side = f->side;
    uint32_t last = 0;
    for (size_t i = 0; i < side->t->count; i++) {
        struct plumb_diverge_site site = site_at(f, i);
        uint32_t guess = side->site_count > 0 ? f->next[last] : 0;
        if (side->site_count == 0 || !same_site(&side->sites[guess], &site)) {
            int64_t place = look_up(f, &site, err);
            if (place < 0)
                return (int)place;
            guess = (uint32_t)place;
            f->next[last] = guess;
        }
        side->sites[guess].count++;
        side->site_of[i] = guess;
        last = guess;
    }
    return PLUMB_OK;
}

static void sort_records(struct plumb_diverge_side *side)
{
    uint32_t begin = 0;
    for (uint32_t s = 0; s < side->site_count; s++) {
        side->sites[s].begin = begin;
        begin += side->sites[s].count;
        side->sites[s].count = 0;
    }
    for (size_t i = 0; i < side->t->count; i++) {
        struct plumb_diverge_site *site = &side->sites[side->site_of[i]];
        side->records[site->begin + site->count++] = (uint32_t)i;
    }
}

static int find_side(struct plumb_diverge *d, struct plumb_diverge_side *side, plumb_error *err)
{
    struct finder f = {.d = d, .side = side};
    size_t n = side->t->count;
    int rc;
    side->site_of = malloc(n * sizeof *side->site_of);
    side->records = malloc(n * sizeof *side->records);
    side->partner = malloc(n * sizeof *side->partner);
    if (!side->site_of || !side->records || !side->partner) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %zu records", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        side->partner[i] = PLUMB_DIVERGE_NONE;
    if ((rc = number_records(&f, err)) < 0)
        goto out;
    sort_records(side);
out:
    plumb_map_fini(&f.names);
    plumb_map_fini(&f.contexts);
    plumb_map_fini(&f.sites);
    free(f.next);
    return rc;
}

int plumb_diverge_find_sites(struct plumb_diverge *d, plumb_error *err)
{
    int rc = PLUMB_OK;
    choose(d);
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B && rc == PLUMB_OK; i++) {
        struct plumb_diverge_side *side = &d->sides[i];
        if (side->t->count == 0)
            return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' has no records", side->t->path);
        if (side->t->count >= PLUMB_DIVERGE_NONE)
            return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' has more than 2^32 records",
                              side->t->path);
        rc = find_side(d, side, err);
    }
    return rc;
}

/* names.c: pairs sites that have the same name on both sides, as it is or through the user's map.
 *
 * A module with a single output is `out` to one recorder and `out[0]` to another; both are
 * tried. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"
#include "base/error.h"

struct name {
    const char *module, *tensor, *phase;
    int32_t rank;
    uint8_t io;
};

struct names {
    struct plumb_diverge *d;
    struct plumb_map by_name; /* of B's sites: place plus 1 */
    struct plumb_buf mapped, other;
};

static uint64_t hash_of(const struct name *name)
{
    uint64_t h = plumb_hash_text(name->module);
    h = h * UINT64_C(0x9e3779b97f4a7c15) ^ plumb_hash_text(name->tensor);
    h = h * UINT64_C(0x9e3779b97f4a7c15) ^ plumb_hash_text(name->phase);
    h = h * UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)(uint32_t)name->rank << 8 | name->io);
    return h ? h : 1;
}

static struct name name_of(const struct plumb_diverge_side *side, uint32_t s)
{
    const struct plumb_diverge_site *site = &side->sites[s];
    return (struct name){plumb_activations_text(side->t, site->module),
                         plumb_activations_text(side->t, site->tensor),
                         plumb_activations_text(side->t, site->phase), site->rank, site->io};
}

static bool same_name(const struct name *a, const struct name *b)
{
    return strcmp(a->module, b->module) == 0 && strcmp(a->tensor, b->tensor) == 0 &&
           strcmp(a->phase, b->phase) == 0 && a->rank == b->rank && a->io == b->io;
}

static uint32_t find(const struct names *n, const struct name *name)
{
    uint64_t place = plumb_map_get(&n->by_name, hash_of(name));
    if (place == 0)
        return PLUMB_DIVERGE_NONE;
    struct name found = name_of(&n->d->sides[PLUMB_DIVERGE_B], (uint32_t)place - 1);
    return same_name(&found, name) ? (uint32_t)place - 1 : PLUMB_DIVERGE_NONE;
}

/* The other spelling of a single output: "out[0]" of "out". */
static const char *other_tensor(struct names *n, const char *tensor)
{
    size_t length = strlen(tensor);
    n->other.len = 0;
    if (length > 3 && strcmp(tensor + length - 3, "[0]") == 0)
        plumb_buf_append(&n->other, tensor, length - 3);
    else
        plumb_buf_printf(&n->other, "%s[0]", tensor);
    return n->other.failed ? tensor : n->other.data;
}

static void match(struct names *n, uint32_t a)
{
    struct plumb_diverge_side *sides = n->d->sides;
    struct name name = name_of(&sides[PLUMB_DIVERGE_A], a);
    const struct plumb_rename *rename = n->d->options.rename;
    bool mapped = false;
    if (rename) {
        n->mapped.len = 0;
        mapped = plumb_rename_record(rename, &n->mapped, name.module, name.tensor);
        if (mapped && !n->mapped.failed) {
            name.module = n->mapped.data;
            name.tensor = n->mapped.data + strlen(n->mapped.data) + 1;
        }
    }
    uint32_t b = find(n, &name);
    if (b == PLUMB_DIVERGE_NONE) {
        name.tensor = other_tensor(n, name.tensor);
        b = find(n, &name);
    }
    /* The map may give two of A's names the same name in B: the first one gets the partner. */
    if (b == PLUMB_DIVERGE_NONE || sides[PLUMB_DIVERGE_B].sites[b].partner != PLUMB_DIVERGE_NONE ||
        (n->d->options.only == PLUMB_ONLY_MAPPED && !mapped))
        return;
    uint8_t how = mapped ? PLUMB_HOW_MAP : PLUMB_HOW_NAME;
    sides[PLUMB_DIVERGE_A].sites[a].partner = b;
    sides[PLUMB_DIVERGE_A].sites[a].how = how;
    sides[PLUMB_DIVERGE_B].sites[b].partner = a;
    sides[PLUMB_DIVERGE_B].sites[b].how = how;
}

int plumb_diverge_match_names(struct plumb_diverge *d, plumb_error *err)
{
    struct names n = {.d = d};
    struct plumb_diverge_side *b = &d->sides[PLUMB_DIVERGE_B];
    int rc = PLUMB_OK;
    for (uint32_t s = 0; s < b->site_count && rc == PLUMB_OK; s++) {
        struct name name = name_of(b, s);
        rc = plumb_map_put(&n.by_name, hash_of(&name), s + 1);
    }
    for (uint32_t s = 0; s < d->sides[PLUMB_DIVERGE_A].site_count && rc == PLUMB_OK; s++)
        if (d->sides[PLUMB_DIVERGE_A].sites[s].partner == PLUMB_DIVERGE_NONE)
            match(&n, s);
    if (n.mapped.failed || n.other.failed)
        rc = PLUMB_ERR_MEMORY;
    plumb_map_fini(&n.by_name);
    plumb_buf_fini(&n.mapped);
    plumb_buf_fini(&n.other);
    return rc < 0 ? plumb_fail(err, rc, "out of memory for the names of a run") : PLUMB_OK;
}

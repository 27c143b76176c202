/* diverge.c: runs the steps of a comparison in their order. */
#include "analyze/diverge/diverge.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void plumb_diverge_init(struct plumb_diverge *d, const struct plumb_activations *a,
                        const struct plumb_activations *b,
                        const struct plumb_diverge_options *options)
{
    memset(d, 0, sizeof *d);
    d->options = *options;
    d->sides[PLUMB_DIVERGE_A].t = a;
    d->sides[PLUMB_DIVERGE_B].t = b;
}

static void forget_sites(struct plumb_diverge_side *side)
{
    free(side->sites);
    free(side->site_of);
    free(side->records);
    free(side->partner);
    *side = (struct plumb_diverge_side){.t = side->t};
}

void plumb_diverge_fini(struct plumb_diverge *d)
{
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++) {
        forget_sites(&d->sides[i]);
        plumb_activations_fini(&d->made[i]);
    }
    free(d->cells);
    free(d->tensors);
    free(d->joins);
    plumb_map_fini(&d->shapes);
    memset(d, 0, sizeof *d);
}

/* Counts the records without a partner. Parts of a joined record are not among them: the joined
 * record stands for them. */
static void count_unmatched(struct plumb_diverge *d)
{
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++) {
        struct plumb_diverge_side *side = &d->sides[i];
        side->unmatched = d->pairs = 0;
        for (size_t k = 0; k < side->t->count; k++) {
            bool alone = side->partner[k] == PLUMB_DIVERGE_NONE;
            side->unmatched += alone && !side->sites[side->site_of[k]].is_part;
            d->pairs += !alone;
        }
    }
}

static int check(const struct plumb_diverge *d, plumb_error *err)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    if (d->pairs == 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' and '%s' have no record in common: say with --map what the layers "
                          "of A are called in B",
                          a->t->path, d->sides[PLUMB_DIVERGE_B].t->path);
    if (d->by_verdict[PLUMB_SAID_NOTHING] == d->pairs)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' and '%s' have no statistic in common: record both with the same "
                          "ones",
                          a->t->path, d->sides[PLUMB_DIVERGE_B].t->path);
    return PLUMB_OK;
}

static int align(struct plumb_diverge *d, plumb_error *err)
{
    int rc = plumb_diverge_find_sites(d, err);
    if (rc < 0)
        return rc;
    plumb_diverge_apply_joins(d);
    rc = plumb_diverge_match_names(d, err);
    return rc < 0 || d->options.only != PLUMB_ONLY_ALL ? rc : plumb_diverge_match_order(d, err);
}

/* A joined record is a record like others, so sites are matched again with it. */
static int align_joined(struct plumb_diverge *d, plumb_error *err)
{
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++) {
        if (d->made[i].count > 0)
            d->sides[i].t = &d->made[i];
        forget_sites(&d->sides[i]);
    }
    plumb_map_fini(&d->shapes);
    d->last_shapes = 0;
    d->type_count = d->last_type = 0;
    d->approximate = false;
    return align(d, err);
}

int plumb_diverge_run(struct plumb_diverge *d, plumb_error *err)
{
    int rc;
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++)
        d->given[i] = d->sides[i].t->count;
    if ((rc = align(d, err)) < 0 ||
        (rc = d->options.only == PLUMB_ONLY_ALL ? plumb_diverge_find_joins(d, err) : 0) < 0 ||
        (rc > 0 && (rc = align_joined(d, err)) < 0) ||
        (rc = plumb_diverge_pair_records(d, err)) < 0 ||
        (rc = plumb_diverge_read_values(d, err)) < 0)
        return rc;
    plumb_diverge_judge(d);
    count_unmatched(d);
    if ((rc = check(d, err)) < 0 || (rc = plumb_diverge_find_frontier(d, err)) < 0)
        return rc;
    count_unmatched(d); /* guesses may have been refuted */
    if ((rc = check(d, err)) < 0)
        return rc;
    return plumb_diverge_find_missing(d, err);
}

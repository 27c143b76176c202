/* diverge.c: the steps in their order. */
#include "analyze/diverge.h"

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

void plumb_diverge_fini(struct plumb_diverge *d)
{
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++) {
        free(d->sides[i].sites);
        free(d->sides[i].site_of);
        free(d->sides[i].records);
        free(d->sides[i].partner);
    }
    free(d->cells);
    free(d->tensors);
    plumb_map_fini(&d->shapes);
    memset(d, 0, sizeof *d);
}

static void count_unmatched(struct plumb_diverge_side *side)
{
    side->unmatched = 0;
    for (size_t i = 0; i < side->t->count; i++)
        side->unmatched += side->partner[i] == PLUMB_DIVERGE_NONE;
}

static int check(const struct plumb_diverge *d, plumb_error *err)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    if (a->unmatched == a->t->count)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' and '%s' have no record in common: say with --map what the layers "
                          "of A are called in B",
                          a->t->path, d->sides[PLUMB_DIVERGE_B].t->path);
    if (d->by_verdict[PLUMB_SAID_NOTHING] == a->t->count - a->unmatched)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' and '%s' have no statistic in common: record both with the same "
                          "ones",
                          a->t->path, d->sides[PLUMB_DIVERGE_B].t->path);
    return PLUMB_OK;
}

int plumb_diverge_run(struct plumb_diverge *d, plumb_error *err)
{
    int rc;
    if ((rc = plumb_diverge_find_sites(d, err)) < 0 ||
        (rc = plumb_diverge_match_names(d, err)) < 0 ||
        (rc = plumb_diverge_match_order(d, err)) < 0 ||
        (rc = plumb_diverge_pair_records(d, err)) < 0 ||
        (rc = plumb_diverge_read_values(d, err)) < 0)
        return rc;
    plumb_diverge_judge(d);
    count_unmatched(&d->sides[PLUMB_DIVERGE_A]);
    if ((rc = check(d, err)) < 0 || (rc = plumb_diverge_find_culprit(d, err)) < 0)
        return rc;
    count_unmatched(&d->sides[PLUMB_DIVERGE_A]); /* guesses may have been refuted */
    count_unmatched(&d->sides[PLUMB_DIVERGE_B]);
    return PLUMB_OK;
}

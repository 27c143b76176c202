/* missing.c: the steps, ranks and modules that a side lacks, and the end of a run. A reader must
 * not overlook these. Operations that only one engine records are not among them: these have other
 * names, and are listed elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"
#include "base/error.h"

static int64_t step_of(const struct plumb_activations *t, uint32_t i)
{
    return t->step ? t->step[i] : 0;
}

static int by_number(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x;
    int64_t b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* The sorted numbers of steps, or of ranks; *n of them. NULL: out of memory. */
static int64_t *numbers_of(const struct plumb_activations *t, bool ranks, size_t *n)
{
    int64_t *all = malloc((t->count + 1) * sizeof *all);
    size_t kept = 0;
    *n = 0;
    if (!all)
        return NULL;
    for (uint32_t i = 0; i < t->count; i++) {
        int64_t number = ranks ? (t->rank ? t->rank[i] : 0) : step_of(t, i);
        bool has = plumb_activations_has(t, i, ranks ? PLUMB_ACT_RANK : PLUMB_ACT_STEP);
        if (has && (kept == 0 || all[kept - 1] != number))
            all[kept++] = number;
    }
    qsort(all, kept, sizeof *all, by_number);
    for (size_t i = 0; i < kept; i++)
        if (*n == 0 || all[*n - 1] != all[i])
            all[(*n)++] = all[i];
    return all;
}

/* The numbers of `has` [n] that are not in `lacks` [m]: how many, the first, the last, and whether
 * they come after all numbers that both have. */
static size_t missing_of(const int64_t *has, size_t n, const int64_t *lacks, size_t m,
                         int64_t *first, int64_t *last, bool *ends)
{
    size_t count = 0;
    *ends = false;
    for (size_t i = 0; i < n; i++) {
        bool there = m > 0 && bsearch(&has[i], lacks, m, sizeof *lacks, by_number);
        if (there) {
            *ends = false;
            continue;
        }
        *first = count == 0 ? has[i] : *first;
        *last = has[i];
        *ends = m > 0 && has[i] > lacks[m - 1];
        count++;
    }
    return count;
}

static int find_numbers(struct plumb_diverge *d, int side, bool ranks, plumb_error *err)
{
    struct plumb_diverge_missing *out = &d->missing[side];
    size_t n;
    size_t m;
    int64_t *has = numbers_of(d->sides[!side].t, ranks, &n);
    int64_t *lacks = numbers_of(d->sides[side].t, ranks, &m);
    int64_t first = 0;
    int64_t last = 0;
    bool ends = false;
    if (has && lacks && n > 0 && m > 0) {
        size_t count = missing_of(has, n, lacks, m, &first, &last, &ends);
        if (ranks) {
            out->ranks = d->any_rank ? 0 : count;
            out->rank = (int32_t)first;
        } else if (!d->any_step) {
            out->steps = count;
            out->first_step = first;
            out->last_step = last;
            out->ends = ends;
        }
    }
    bool failed = !has || !lacks;
    free(has);
    free(lacks);
    return failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the steps of a run")
                  : PLUMB_OK;
}

/* Modules of the other side none of whose records has a partner, where names mean the same. */
static int find_modules(struct plumb_diverge *d, int side, plumb_error *err)
{
    const struct plumb_diverge_side *other = &d->sides[!side];
    struct plumb_diverge_missing *out = &d->missing[side];
    bool *met = calloc(other->t->text_count, sizeof *met);
    if (!met)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the modules of a run");
    for (uint32_t i = 0; i < other->t->count; i++)
        met[other->t->module[i]] |=
            other->partner[i] != PLUMB_DIVERGE_NONE || other->sites[other->site_of[i]].is_part;
    for (uint32_t i = 0; i < other->t->count; i++) {
        if (met[other->t->module[i]])
            continue;
        met[other->t->module[i]] = true;
        if (out->modules++ == 0)
            out->module = i;
    }
    free(met);
    return PLUMB_OK;
}

/* Records at the end of the other side without partners, of sites that have them. */
static void find_end(struct plumb_diverge *d, int side)
{
    const struct plumb_diverge_side *other = &d->sides[!side];
    struct plumb_diverge_missing *out = &d->missing[side];
    for (uint32_t i = (uint32_t)other->t->count; i-- > 0;) {
        if (other->partner[i] != PLUMB_DIVERGE_NONE) {
            out->after = out->following > 0 ? i : PLUMB_DIVERGE_NONE;
            return;
        }
        out->following += other->sites[other->site_of[i]].partner != PLUMB_DIVERGE_NONE;
    }
}

int plumb_diverge_find_missing(struct plumb_diverge *d, plumb_error *err)
{
    int rc = PLUMB_OK;
    bool named = d->by_how[PLUMB_HOW_NAME] * 10 >= d->pairs * 9;
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B && rc == PLUMB_OK; side++) {
        d->missing[side] = (struct plumb_diverge_missing){.after = PLUMB_DIVERGE_NONE};
        if ((rc = find_numbers(d, side, false, err)) == PLUMB_OK &&
            (rc = find_numbers(d, side, true, err)) == PLUMB_OK && named)
            rc = find_modules(d, side, err);
        find_end(d, side);
    }
    return rc;
}

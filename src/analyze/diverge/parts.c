/* parts.c: see parts.h. The figures that add up over parts: numbers of values, sums, squares,
 * bounds, and the hash that does not depend on the order. */
#include "analyze/diverge/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

static const uint32_t *records_of(const struct plumb_diverge *d, int side, uint32_t site)
{
    return d->sides[side].records + d->sides[side].sites[site].begin;
}

static uint32_t shape_of(const struct plumb_activations *t, uint32_t record)
{
    return t->shape ? t->shape[record] : 0;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static bool same_place(const struct plumb_activations *t, uint32_t x, uint32_t y)
{
    return plumb_activations_has(t, x, PLUMB_ACT_STEP) ==
               plumb_activations_has(t, y, PLUMB_ACT_STEP) &&
           (!t->step || t->step[x] == t->step[y]) && (!t->call || t->call[x] == t->call[y]);
}

bool plumb_parts_in_step(const struct plumb_diverge *d, int side, const struct plumb_parts *p)
{
    const uint32_t *first = records_of(d, side, p->parts[0]);
    for (uint32_t i = 1; i < p->count; i++)
        for (uint32_t k = 0; k < d->sides[side].sites[p->parts[i]].count; k++)
            if (!same_place(d->sides[side].t, first[k], records_of(d, side, p->parts[i])[k]))
                return false;
    return true;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* The one dimension in which [n] `whole` is not as `part`; -1: none, or several. */
static int odd_dimension(const int64_t *whole, const int64_t *part, size_t n)
{
    int odd = -1;
    for (size_t i = 0; i < n; i++) {
        if (whole[i] == part[i])
            continue;
        if (odd >= 0)
            return -1;
        odd = (int)i;
    }
    return odd;
}

/* The place where `whole` [n + 1] has one more dimension than `part`, of size `count`; -1: the
 * shapes differ in another way. */
static int new_dimension(const int64_t *whole, const int64_t *part, size_t n, uint32_t count)
{
    for (size_t at = 0; at <= n; at++)
        if (whole[at] == (int64_t)count && memcmp(whole, part, at * sizeof *part) == 0 &&
            memcmp(whole + at + 1, part + at, (n - at) * sizeof *part) == 0)
            return (int)at;
    return -1;
}

/* The sizes of the first record of a site. */
static const int64_t *sizes_of(const struct plumb_diverge *d, int side, uint32_t site, size_t *n)
{
    const struct plumb_activations *t = d->sides[side].t;
    return plumb_activations_shape(t, shape_of(t, records_of(d, side, site)[0]), n);
}

enum { MOST_DIMENSIONS = 16 };

/* Without dimensions of size 1: [1, 24] is [24]. Returns how many are left, which `out` has; 0:
 * none, or too many. */
static size_t squeeze(int64_t *out, const int64_t *sizes, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] == 1)
            continue;
        if (left == MOST_DIMENSIONS)
            return 0;
        out[left++] = sizes[i];
    }
    return left;
}

/* The dimension of the whole that its squeezed one `odd` is. */
static int unsqueezed(const int64_t *whole, size_t n, int odd)
{
    for (size_t i = 0; i < n; i++)
        if (whole[i] != 1 && odd-- == 0)
            return (int)i;
    return -1;
}

/* Where one engine writes sizes of 1 and the other does not. */
static int squeezed_dimension(const struct plumb_diverge *d, int side, const struct plumb_parts *p)
{
    int64_t whole[MOST_DIMENSIONS];
    int64_t part[MOST_DIMENSIONS];
    size_t nw;
    const int64_t *all = sizes_of(d, !side, p->whole, &nw);
    size_t left = squeeze(whole, all, nw);
    int found = -1;
    for (uint32_t i = 0; i < p->count; i++) {
        size_t n;
        const int64_t *sizes = sizes_of(d, side, p->parts[i], &n);
        if (left == 0 || squeeze(part, sizes, n) != left)
            return -1;
        int odd = odd_dimension(whole, part, left);
        if (odd < 0 || (i > 0 && odd != found))
            return -1;
        found = odd;
    }
    return unsqueezed(all, nw, found);
}

void plumb_parts_shape(const struct plumb_diverge *d, int side, struct plumb_parts *p)
{
    size_t n;
    size_t nw;
    const int64_t *whole = sizes_of(d, !side, p->whole, &nw);
    const int64_t *first = sizes_of(d, side, p->parts[0], &n);
    bool alike = true;
    p->dimension = -1;
    p->stacked = false;
    for (uint32_t i = 1; i < p->count; i++) {
        size_t ni;
        const int64_t *sizes = sizes_of(d, side, p->parts[i], &ni);
        alike = alike && ni == n && (n == 0 || memcmp(sizes, first, n * sizeof *sizes) == 0);
        if (ni != n) {
            p->dimension = squeezed_dimension(d, side, p);
            return;
        }
    }
    if (nw == n + 1 && alike) {
        p->dimension = new_dimension(whole, first, n, p->count);
        p->stacked = p->dimension >= 0;
    }
    if (nw != n) {
        if (!p->stacked)
            p->dimension = squeezed_dimension(d, side, p);
        return;
    }
    p->dimension = odd_dimension(whole, first, n);
    for (uint32_t i = 1; i < p->count && p->dimension >= 0; i++) {
        size_t ni;
        if (odd_dimension(whole, sizes_of(d, side, p->parts[i], &ni), n) != p->dimension)
            p->dimension = -1;
    }
}

/* ---- Adding up ------------------------------------------------------------------------------- */

struct total {
    double n, sum, magnitudes, squares, spread, min, max;
    uint32_t has; /* what all parts have */
    bool one_type;
};

static double stat(const struct plumb_activation *r, enum plumb_activation_field f)
{
    return r->has >> f & 1 ? r->stat[f] : 0;
}

static double sum_of(const struct plumb_activation *r, double n)
{
    return r->has >> PLUMB_ACT_SUM & 1 ? stat(r, PLUMB_ACT_SUM) : stat(r, PLUMB_ACT_MEAN) * n;
}

static double squares_of(const struct plumb_activation *r, double n)
{
    double l2 = stat(r, PLUMB_ACT_L2);
    double rms = stat(r, PLUMB_ACT_RMS);
    return r->has >> PLUMB_ACT_L2 & 1 ? l2 * l2 : rms * rms * n;
}

static void add_part(struct total *total, struct plumb_activation *out,
                     const struct plumb_activation *r, double n)
{
    double sum = sum_of(r, n);
    total->n += n;
    total->sum += sum;
    total->magnitudes += stat(r, PLUMB_ACT_ABS_MEAN) * n;
    total->squares += squares_of(r, n);
    total->spread += stat(r, PLUMB_ACT_STD) * stat(r, PLUMB_ACT_STD) * (n - 1) + sum * sum / n;
    total->min = fmin(total->min, stat(r, PLUMB_ACT_MIN));
    total->max = fmax(total->max, stat(r, PLUMB_ACT_MAX));
    total->has &= r->has;
    total->one_type = total->one_type && r->dtype == out->dtype;
    for (int f = 0; f < PLUMB_ACT_WHOLES; f++)
        if (f != PLUMB_ACT_HASH - PLUMB_ACT_REALS)
            out->number[f] += r->number[f];
}

static void finish(const struct total *total, struct plumb_activation *out)
{
    const uint32_t mean = 1u << PLUMB_ACT_SUM | 1u << PLUMB_ACT_MEAN;
    double variance = (total->spread - total->sum * total->sum / total->n) / (total->n - 1);
    const struct {
        enum plumb_activation_field field;
        double value;
    } reals[] = {
        {PLUMB_ACT_ABS_MEAN, total->magnitudes / total->n},
        {PLUMB_ACT_SUM, total->sum},
        {PLUMB_ACT_MIN, total->min},
        {PLUMB_ACT_MAX, total->max},
        {PLUMB_ACT_MEAN, total->sum / total->n},
        {PLUMB_ACT_STD, variance > 0 ? sqrt(variance) : 0},
        {PLUMB_ACT_RMS, sqrt(total->squares / total->n)},
        {PLUMB_ACT_L2, sqrt(total->squares)},
    };
    uint32_t has = total->has & ~(1u << PLUMB_ACT_HASH);
    if (!total->one_type)
        has &= ~(1u << PLUMB_ACT_HASH_ANY);
    if (!(has & mean))
        has &= ~(1u << PLUMB_ACT_STD);
    out->has = has;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        out->stat[reals[i].field] = has >> reals[i].field & 1 ? reals[i].value : 0;
    for (int f = 0; f < PLUMB_ACT_WHOLES; f++)
        if (!(has >> (PLUMB_ACT_REALS + f) & 1))
            out->number[f] = 0;
}

/* Records `parts` [count] of `t` as one. It has the place of the last of them, no names, and the
 * type of the first. */
static struct plumb_activation add_up(const struct plumb_activations *t, const uint32_t *parts,
                                      uint32_t count)
{
    struct plumb_activation out = {0};
    struct plumb_activation r;
    struct total total = {.min = INFINITY, .max = -INFINITY, .has = UINT32_MAX, .one_type = true};
    uint32_t last = parts[0];
    for (uint32_t i = 0; i < count; i++)
        last = parts[i] > last ? parts[i] : last;
    plumb_activations_get(t, last, &out);
    memset(out.stat, 0, sizeof out.stat);
    memset(out.number, 0, sizeof out.number);
    plumb_activations_get(t, parts[0], &r);
    out.dtype = r.dtype;
    out.ref = out.sample = out.histogram = 0;
    for (uint32_t i = 0; i < count; i++) {
        plumb_activations_get(t, parts[i], &r);
        add_part(&total, &out, &r, (double)plumb_activations_elements(t, r.shape));
    }
    finish(&total, &out);
    return out;
}

static void gather(const struct plumb_diverge *d, int side, const uint32_t *sites, uint32_t count,
                   uint32_t k, uint32_t *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = records_of(d, side, sites[i])[k];
}

/* ---- Evidence -------------------------------------------------------------------------------- */

/* How many figures of a record say something, that the other has as well. */
static int figures_of(const struct plumb_activations *t, uint32_t record, uint32_t has)
{
    int n = 0;
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++) {
        double value = plumb_activations_stat(t, record, f);
        n += (has >> f & 1) && isfinite(value) && value != 0;
    }
    return n;
}

static bool agrees(const struct plumb_diverge *d, int side, const struct plumb_parts *p, uint32_t k)
{
    const struct plumb_activations *t = d->sides[side].t;
    const struct plumb_activations *tw = d->sides[!side].t;
    uint32_t whole = records_of(d, !side, p->whole)[k];
    uint32_t parts[PLUMB_DIVERGE_PARTS];
    size_t n;
    const int64_t *sizes = plumb_activations_shape(tw, shape_of(tw, whole), &n);
    struct plumb_activations scratch;
    struct plumb_diverge probe = {.options = d->options};
    gather(d, side, p->parts, p->count, k, parts);
    struct plumb_activation r = add_up(t, parts, p->count);
    plumb_activations_init(&scratch);
    r.module = r.tensor = r.parent = r.phase = r.file = r.error = 0;
    r.dtype = plumb_activations_str_id(&scratch, plumb_activations_text(t, r.dtype));
    r.shape = plumb_activations_shape_id(&scratch, sizes, n);
    plumb_activations_add(&scratch, &r);
    bool same_hash = r.has & tw->has[whole] & 1u << PLUMB_ACT_HASH_ANY &&
                     r.number[PLUMB_ACT_HASH_ANY - PLUMB_ACT_REALS] ==
                         plumb_activations_whole(tw, whole, PLUMB_ACT_HASH_ANY);
    int figures = figures_of(tw, whole, r.has);
    bool good =
        !scratch.failed && (figures >= 4 || (figures >= 2 && (p->dimension >= 0 || same_hash)));
    if (good) {
        bool in_a = side == PLUMB_DIVERGE_A;
        probe.sides[side].t = &scratch;
        probe.sides[!side].t = tw;
        uint8_t verdict = plumb_diverge_compare(&probe, in_a ? 0 : whole, in_a ? whole : 0).verdict;
        good = verdict == PLUMB_SAID_EQUAL || verdict == PLUMB_SAID_CLOSE;
    }
    plumb_map_fini(&probe.shapes);
    plumb_activations_fini(&scratch);
    return good;
}

bool plumb_parts_agree(const struct plumb_diverge *d, int side, const struct plumb_parts *p)
{
    uint32_t last = d->sides[!side].sites[p->whole].count - 1;
    return agrees(d, side, p, 0) && (last == 0 || agrees(d, side, p, last)) &&
           (last < 2 || agrees(d, side, p, last / 2));
}

/* ---- The table ------------------------------------------------------------------------------- */

/* "blocks.0.{q,k,v}" of names that begin alike up to a dot. One that all have is it. */
static uint32_t join_names(struct plumb_activations *t, const uint32_t *names, uint32_t count)
{
    struct plumb_buf text = {0};
    const char *first = plumb_activations_text(t, names[0]);
    size_t common = strlen(first);
    bool same = true;
    for (uint32_t i = 1; i < count; i++) {
        const char *name = plumb_activations_text(t, names[i]);
        size_t n = 0;
        while (n < common && name[n] == first[n])
            n++;
        common = n;
        same = same && names[i] == names[0];
    }
    if (same)
        return names[0];
    while (common > 0 && first[common - 1] != '.')
        common--;
    plumb_buf_append(&text, first, common);
    for (uint32_t i = 0; i < count; i++)
        plumb_buf_printf(&text, "%s%s", i ? "," : "{",
                         plumb_activations_text(t, names[i]) + common);
    plumb_buf_char(&text, '}');
    uint32_t id = text.failed ? 0 : plumb_activations_text_id(t, text.data, text.len);
    t->failed |= text.failed;
    plumb_buf_fini(&text);
    return id;
}

static void name(struct plumb_activations *t, struct plumb_diverge_join *join)
{
    uint32_t modules[PLUMB_DIVERGE_PARTS];
    uint32_t tensors[PLUMB_DIVERGE_PARTS];
    for (uint32_t i = 0; i < join->count; i++) {
        modules[i] = join->parts[i].module;
        tensors[i] = join->parts[i].tensor;
    }
    join->module = join_names(t, modules, join->count);
    join->tensor = join_names(t, tensors, join->count);
}

/* Finds which records are the last part in each call of a join: join_of[record] is the join, from
 * 1, and ordinal[record] the number of calls before it. */
static void find_last(const struct plumb_diverge *d, uint32_t join, uint32_t *join_of,
                      uint32_t *ordinal)
{
    const struct plumb_diverge_join *j = &d->joins[join];
    for (uint32_t k = 0; k < j->parts[0].count; k++) {
        uint32_t last = 0;
        for (uint32_t i = 0; i < j->count; i++) {
            uint32_t record = d->sides[j->side].records[j->parts[i].begin + k];
            last = record > last ? record : last;
        }
        join_of[last] = join + 1;
        ordinal[last] = k;
    }
}

static void add_joined(struct plumb_diverge *d, const struct plumb_diverge_join *j, uint32_t k)
{
    struct plumb_activations *made = &d->made[j->side];
    const struct plumb_diverge_side *other = &d->sides[!j->side];
    uint32_t whole = other->records[j->whole.begin + k];
    uint32_t parts[PLUMB_DIVERGE_PARTS];
    size_t n;
    const int64_t *sizes = plumb_activations_shape(other->t, shape_of(other->t, whole), &n);
    for (uint32_t i = 0; i < j->count; i++)
        parts[i] = d->sides[j->side].records[j->parts[i].begin + k];
    struct plumb_activation r = add_up(d->sides[j->side].t, parts, j->count);
    r.module = j->module;
    r.tensor = j->tensor;
    r.shape = plumb_activations_shape_id(made, sizes, n);
    plumb_activations_add(made, &r);
}

int plumb_parts_make(struct plumb_diverge *d, int side, plumb_error *err)
{
    const struct plumb_activations *t = d->sides[side].t;
    struct plumb_activations *made = &d->made[side];
    uint32_t *join_of = calloc(t->count, sizeof *join_of);
    uint32_t *ordinal = calloc(t->count, sizeof *ordinal);
    plumb_activations_init(made);
    made->failed = !join_of || !ordinal;
    if (!made->failed)
        plumb_activations_like(made, t);
    for (uint32_t j = 0; j < d->join_count && !made->failed; j++) {
        if (d->joins[j].side != side)
            continue;
        name(made, &d->joins[j]);
        find_last(d, j, join_of, ordinal);
    }
    for (uint32_t i = 0; i < t->count && !made->failed; i++) {
        struct plumb_activation r;
        plumb_activations_get(t, i, &r);
        plumb_activations_add(made, &r);
        if (join_of[i])
            add_joined(d, &d->joins[join_of[i] - 1], ordinal[i]);
    }
    free(join_of);
    free(ordinal);
    return made->failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for what was joined")
                        : PLUMB_OK;
}

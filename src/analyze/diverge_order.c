/* diverge_order.c: sites without a name in common, by order and evidence.
 *
 * A module's sites go together: one of them, its first output where it has one, stands for all, and
 * the others follow it by their labels. What is matched by name holds the two orders together:
 * between two such anchors only what lies between them on the other side can be a partner. There
 * the sites are laid side by side so that the most speaks for the pairs: shape, statistics, parts
 * of the names. Models repeat their layers, so this is done twice: the pairs whose statistics agree
 * teach which kind of site goes with which
 * ("layers.#.relu" with "blk.#.act"), and that decides where a fault has made the statistics
 * useless.
 *
 * What is left after that was moved, if it has statistics that only one site of the other side has,
 * is the next without a partner of its kind, or is nearest to one that is left as well. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge.h"
#include "analyze/diverge_evidence.h"
#include "analyze/sequence.h"
#include "base/error.h"

enum { TOKENS = 12 };
/* Cells for all segments together: about a second. */
enum { BUDGET = 1 << 25 };

/* What the weights of the evidence are; the shape gives up to 1. Closeness counts by its square:
 * one good pair is worth more than several poor ones. */
static const float WEIGH_STATISTICS = 6, WEIGH_NAME = 1.5F, WEIGH_TENSOR = 0.3F, WEIGH_ROLE = 2,
                   WEIGH_INPUTS = 2;
enum { MOST_INPUTS = 4 }; /* of a module */

/* At most 250 tolerances apart; and how many pairs are looked at, about half a second. */
static const float NEAR = 0.4F;
enum { MOST_NEAREST = 1 << 20 };

struct described {
    uint32_t role;           /* hash of the name without its numbers */
    uint16_t tokens[TOKENS]; /* hashes of its parts; 0: none */
};

struct order {
    struct plumb_diverge *d;
    struct described *described[2]; /* [site_count] */
    struct plumb_map roles;         /* a pair of roles: seen together */
    struct plumb_map taught[2];     /* roles that have been seen with any */
    bool learned;
    uint32_t *lists[2]; /* sites without a partner that stand for their modules, in order */
    uint32_t counts[2];
    uint32_t *next[2]; /* [site_count]: the next site of the same module, or NONE */
    uint32_t *partner; /* of the places of lists[A] */
    uint64_t cells;    /* of all segments */
};

static struct plumb_diverge_site *site_of(const struct order *o, int side, uint32_t s)
{
    return &o->d->sides[side].sites[s];
}

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static uint32_t mix(uint32_t h, char c)
{
    return (h ^ (unsigned char)c) * 16777619u;
}

/* "layers.3.attn_q": the parts "layers", "3", "attn", "q"; the role "layers.#.attn_q". */
static void describe(struct described *out, const char *name, const char *tensor)
{
    uint32_t role = 2166136261u;
    int n = 0;
    memset(out, 0, sizeof *out);
    for (const char *p = name; *p;) {
        uint32_t token = 2166136261u;
        const char *begin = p;
        bool digits = is_digit(*p);
        while (digits ? is_digit(*p) : is_letter(*p)) {
            token = mix(token, *p | 0x20);
            role = digits ? role : mix(role, *p);
            p++;
        }
        if (p == begin)
            role = mix(role, *p++);
        else if (n < TOKENS)
            out->tokens[n++] = (uint16_t)((token ^ token >> 16) | 1);
        if (digits)
            role = mix(role, '#');
    }
    for (const char *p = tensor; *p; p++)
        role = mix(role, *p);
    out->role = role;
}

/* 1: the parts of the shorter name are all in the other; 0: none in common. Of a fused group any
 * name is as like as the other, and the last of them is it: a longer one must not lose by that. */
static float likeness(const struct described *a, const struct described *b)
{
    int na = 0;
    int nb = 0;
    int same = 0;
    uint32_t used = 0;
    while (nb < TOKENS && b->tokens[nb])
        nb++;
    for (; na < TOKENS && a->tokens[na]; na++)
        for (int j = 0; j < nb; j++)
            if (a->tokens[na] == b->tokens[j] && !(used >> j & 1)) {
                used |= 1u << j;
                same++;
                break;
            }
    return same > 0 ? (float)same / (float)(na < nb ? na : nb) : 0;
}

static bool stands_before(const struct plumb_diverge_site *a, const struct plumb_diverge_site *b)
{
    return a->io == PLUMB_ACT_OUT && b->io != PLUMB_ACT_OUT;
}

/* Puts site `i` to those of its module; `heads` has the place in the list, plus 1, of each module.
 */
static int add_to_module(struct order *o, int side, struct plumb_map *heads, uint32_t i)
{
    const struct plumb_diverge_site *sites = o->d->sides[side].sites;
    uint64_t key = ((uint64_t)sites[i].module << 32 | (uint32_t)sites[i].rank) + 1;
    uint64_t place = plumb_map_get(heads, key);
    if (place == 0) {
        o->lists[side][o->counts[side]++] = i;
        return plumb_map_put(heads, key, o->counts[side]);
    }
    uint32_t *head = &o->lists[side][place - 1];
    if (stands_before(&sites[i], &sites[*head])) {
        o->next[side][i] = *head;
        *head = i;
    } else {
        o->next[side][i] = o->next[side][*head];
        o->next[side][*head] = i;
    }
    return PLUMB_OK;
}

static int by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x;
    uint32_t b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static int describe_all(struct order *o, int side, plumb_error *err)
{
    const struct plumb_diverge_side *s = &o->d->sides[side];
    struct plumb_map heads = {0};
    int rc = PLUMB_OK;
    o->described[side] = calloc(s->site_count, sizeof *o->described[side]);
    o->lists[side] = malloc(s->site_count * sizeof *o->lists[side]);
    o->next[side] = malloc(s->site_count * sizeof *o->next[side]);
    if (!o->described[side] || !o->lists[side] || !o->next[side])
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites", s->site_count);
    for (uint32_t i = 0; i < s->site_count && rc == PLUMB_OK; i++) {
        o->next[side][i] = PLUMB_DIVERGE_NONE;
        if (s->sites[i].partner != PLUMB_DIVERGE_NONE)
            continue;
        describe(&o->described[side][i], plumb_activations_text(s->t, s->sites[i].module),
                 plumb_activations_text(s->t, s->sites[i].tensor));
        rc = add_to_module(o, side, &heads, i);
    }
    plumb_map_fini(&heads);
    qsort(o->lists[side], o->counts[side], sizeof *o->lists[side], by_number);
    return rc == PLUMB_OK ? rc : plumb_fail(err, rc, "out of memory for the modules of a run");
}

/* ---- Evidence -------------------------------------------------------------------------------- */

static uint64_t role_of(const struct order *o, int side, uint32_t s)
{
    return (uint64_t)o->described[side][s].role + 1;
}

static uint64_t pair_of_roles(const struct order *o, uint32_t a, uint32_t b)
{
    return ((uint64_t)o->described[PLUMB_DIVERGE_A][a].role << 32 |
            o->described[PLUMB_DIVERGE_B][b].role) |
           1;
}

static float weight_of_roles(const struct order *o, uint32_t a, uint32_t b)
{
    if (!o->learned)
        return 0;
    if (plumb_map_get(&o->roles, pair_of_roles(o, a, b)))
        return WEIGH_ROLE;
    /* Both are known to go with others. */
    return plumb_map_get(&o->taught[PLUMB_DIVERGE_A], role_of(o, PLUMB_DIVERGE_A, a)) &&
                   plumb_map_get(&o->taught[PLUMB_DIVERGE_B], role_of(o, PLUMB_DIVERGE_B, b))
               ? -WEIGH_ROLE
               : 0;
}

/* The site of B's module `head` with the label of A's site `a`. */
static uint32_t sibling_of(const struct order *o, uint32_t a, uint32_t head)
{
    const struct plumb_diverge_site *site = site_of(o, PLUMB_DIVERGE_A, a);
    const char *label = plumb_activations_text(o->d->sides[PLUMB_DIVERGE_A].t, site->tensor);
    for (uint32_t b = head; b != PLUMB_DIVERGE_NONE; b = o->next[PLUMB_DIVERGE_B][b]) {
        const struct plumb_diverge_site *other = site_of(o, PLUMB_DIVERGE_B, b);
        if (other->partner == PLUMB_DIVERGE_NONE && other->io == site->io &&
            strcmp(label, plumb_activations_text(o->d->sides[PLUMB_DIVERGE_B].t, other->tensor)) ==
                0)
            return b;
    }
    return PLUMB_DIVERGE_NONE;
}

/* What the inputs of both modules say, by their labels: 1 where all agree, 0 without any. */
static float closeness_of_inputs(const struct order *o, uint32_t a, uint32_t b)
{
    float sum = 0;
    int n = 0;
    for (uint32_t i = o->next[PLUMB_DIVERGE_A][a]; i != PLUMB_DIVERGE_NONE && n < MOST_INPUTS;
         i = o->next[PLUMB_DIVERGE_A][i]) {
        const struct plumb_diverge_site *site = site_of(o, PLUMB_DIVERGE_A, i);
        uint32_t to = site->io == PLUMB_ACT_IN ? sibling_of(o, i, b) : PLUMB_DIVERGE_NONE;
        float shapes;
        if (to == PLUMB_DIVERGE_NONE)
            continue;
        float now = plumb_evidence_of_sites(o->d, site, site_of(o, PLUMB_DIVERGE_B, to), &shapes);
        sum += now > 0 ? now * now : 0;
        n++;
    }
    return n > 0 ? sum / (float)n : 0;
}

static float score(void *arg, uint32_t a, uint32_t b)
{
    struct order *o = arg;
    const struct plumb_diverge_site *sa = site_of(o, PLUMB_DIVERGE_A, a);
    const struct plumb_diverge_site *sb = site_of(o, PLUMB_DIVERGE_B, b);
    float shapes;
    float closeness = plumb_evidence_of_sites(o->d, sa, sb, &shapes);
    if (closeness < 0)
        return 0;
    bool tensor = strcmp(plumb_activations_text(o->d->sides[PLUMB_DIVERGE_A].t, sa->tensor),
                         plumb_activations_text(o->d->sides[PLUMB_DIVERGE_B].t, sb->tensor)) == 0;
    return shapes + WEIGH_STATISTICS * closeness * closeness +
           WEIGH_NAME *
               likeness(&o->described[PLUMB_DIVERGE_A][a], &o->described[PLUMB_DIVERGE_B][b]) +
           (tensor ? WEIGH_TENSOR : 0) + weight_of_roles(o, a, b) +
           WEIGH_INPUTS * closeness_of_inputs(o, a, b);
}

static bool agrees(struct order *o, uint32_t a, uint32_t b)
{
    float shapes;
    return plumb_evidence_of_sites(o->d, site_of(o, PLUMB_DIVERGE_A, a),
                                   site_of(o, PLUMB_DIVERGE_B, b), &shapes) >= 1;
}

/* ---- Segments -------------------------------------------------------------------------------- */

/* A part of both lists between two anchors. */
struct segment {
    uint32_t a, a_end, b, b_end;
};

typedef int (*segment_fn)(struct order *o, const struct segment *s, plumb_error *err);

/* Calls `fn` for what lies between the anchors that keep A's and B's order. */
static int for_each_segment(struct order *o, segment_fn fn, plumb_error *err)
{
    const struct plumb_diverge_side *a = &o->d->sides[PLUMB_DIVERGE_A];
    uint32_t *partners = malloc(a->site_count * sizeof *partners);
    uint8_t *keep = malloc(a->site_count);
    struct segment s = {0, 0, 0, 0};
    int rc = PLUMB_OK;
    if (!partners || !keep) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites", a->site_count);
        goto out;
    }
    for (uint32_t i = 0; i < a->site_count; i++)
        partners[i] = a->sites[i].partner;
    if ((rc = plumb_sequence_rising(keep, partners, a->site_count, err)) < 0)
        goto out;
    for (uint32_t i = 0; i <= a->site_count && rc == PLUMB_OK; i++) {
        bool end = i == a->site_count;
        if (!end && !keep[i])
            continue;
        while (s.a_end < o->counts[PLUMB_DIVERGE_A] &&
               (end || o->lists[PLUMB_DIVERGE_A][s.a_end] < i))
            s.a_end++;
        while (s.b_end < o->counts[PLUMB_DIVERGE_B] &&
               (end || o->lists[PLUMB_DIVERGE_B][s.b_end] < partners[i]))
            s.b_end++;
        if (s.a_end > s.a && s.b_end > s.b)
            rc = fn(o, &s, err);
        s.a = s.a_end;
        s.b = s.b_end;
    }
out:
    free(partners);
    free(keep);
    return rc;
}

static int count_cells(struct order *o, const struct segment *s, plumb_error *err)
{
    (void)err;
    o->cells += (uint64_t)(s->a_end - s->a) * (s->b_end - s->b);
    return PLUMB_OK;
}

static int align_segment(struct order *o, const struct segment *s, plumb_error *err)
{
    struct plumb_sequence q = {.a = o->lists[PLUMB_DIVERGE_A] + s->a,
                               .b = o->lists[PLUMB_DIVERGE_B] + s->b,
                               .a_count = s->a_end - s->a,
                               .b_count = s->b_end - s->b,
                               .score = score,
                               .arg = o,
                               .budget = BUDGET};
    uint64_t cells = (uint64_t)q.a_count * q.b_count;
    if (o->cells > BUDGET) /* each has its share */
        q.budget = 1 + (uint64_t)((double)BUDGET * (double)cells / (double)o->cells);
    int rc = plumb_sequence_align(o->partner + s->a, &q, err);
    if (rc < 0)
        return rc;
    o->d->approximate |= rc == 0;
    for (uint32_t i = s->a; i < s->a_end; i++)
        if (o->partner[i] != PLUMB_SEQUENCE_NONE)
            o->partner[i] += s->b;
    return PLUMB_OK;
}

static int align(struct order *o, plumb_error *err)
{
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++)
        o->partner[i] = PLUMB_SEQUENCE_NONE;
    return for_each_segment(o, align_segment, err);
}

static int teach(struct order *o, uint32_t a, uint32_t b)
{
    int rc = plumb_map_put(&o->roles, pair_of_roles(o, a, b), 1);
    rc |= plumb_map_put(&o->taught[PLUMB_DIVERGE_A], role_of(o, PLUMB_DIVERGE_A, a), 1);
    rc |= plumb_map_put(&o->taught[PLUMB_DIVERGE_B], role_of(o, PLUMB_DIVERGE_B, b), 1);
    o->learned = true;
    return rc;
}

static int learn(struct order *o, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++) {
        if (o->partner[i] == PLUMB_SEQUENCE_NONE)
            continue;
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        uint32_t b = o->lists[PLUMB_DIVERGE_B][o->partner[i]];
        if (agrees(o, a, b))
            rc |= teach(o, a, b);
    }
    return rc == PLUMB_OK ? rc
                          : plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for roles of sites");
}

static void join_sites(struct order *o, uint32_t a, uint32_t b, uint8_t how)
{
    struct plumb_diverge_site *sa = site_of(o, PLUMB_DIVERGE_A, a);
    struct plumb_diverge_site *sb = site_of(o, PLUMB_DIVERGE_B, b);
    sa->partner = b;
    sb->partner = a;
    sa->how = sb->how = how;
}

/* The modules that `a` and `b` stand for. */
static void join(struct order *o, uint32_t a, uint32_t b, uint8_t how)
{
    join_sites(o, a, b, how);
    for (uint32_t i = o->next[PLUMB_DIVERGE_A][a]; i != PLUMB_DIVERGE_NONE;
         i = o->next[PLUMB_DIVERGE_A][i]) {
        uint32_t to = sibling_of(o, i, b);
        if (to != PLUMB_DIVERGE_NONE)
            join_sites(o, i, to, how);
    }
}

static void keep_pairs(struct order *o)
{
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++) {
        if (o->partner[i] == PLUMB_SEQUENCE_NONE)
            continue;
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        uint32_t b = o->lists[PLUMB_DIVERGE_B][o->partner[i]];
        bool known = plumb_map_get(&o->roles, pair_of_roles(o, a, b)) != 0;
        join(o, a, b,
             agrees(o, a, b) ? PLUMB_HOW_EVIDENCE
             : known         ? PLUMB_HOW_KIND
                             : PLUMB_HOW_ORDER);
    }
}

/* ---- Moved ----------------------------------------------------------------------------------- */

struct figure {
    double value;
    uint32_t site;
};

struct figures {
    struct figure *at;
    uint32_t count;
};

static int by_value(const void *x, const void *y)
{
    const struct figure *a = x;
    const struct figure *b = y;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

/* The figure that sites are looked up by; NaN: none that tells anything. */
static double figure_of(const struct order *o, int side, uint32_t s)
{
    static const enum plumb_activation_field fields[] = {
        PLUMB_ACT_ABS_MEAN, PLUMB_ACT_L2, PLUMB_ACT_RMS, PLUMB_ACT_STD, PLUMB_ACT_MAX};
    const struct plumb_activations *t = o->d->sides[side].t;
    uint32_t record = o->d->sides[side].records[site_of(o, side, s)->begin];
    uint32_t common = o->d->sides[PLUMB_DIVERGE_A].t->seen & o->d->sides[PLUMB_DIVERGE_B].t->seen;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (common >> fields[i] & 1) {
            double value = plumb_activations_stat(t, record, fields[i]);
            return isfinite(value) && value != 0 ? value : (double)NAN;
        }
    return (double)NAN;
}

static int sort_figures(struct figures *out, const struct order *o, int side, plumb_error *err)
{
    const struct plumb_diverge_side *s = &o->d->sides[side];
    out->count = 0;
    if (!(out->at = malloc((size_t)s->site_count * sizeof *out->at)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites", s->site_count);
    for (uint32_t i = 0; i < o->counts[side]; i++) {
        uint32_t site = o->lists[side][i];
        double value = figure_of(o, side, site);
        if (s->sites[site].partner == PLUMB_DIVERGE_NONE && !isnan(value))
            out->at[out->count++] = (struct figure){value, site};
    }
    qsort(out->at, out->count, sizeof *out->at, by_value);
    return PLUMB_OK;
}

/* Of the types met so far. */
static double widest_tolerance(const struct plumb_diverge *d)
{
    double widest = 0;
    for (uint32_t i = 0; i < d->type_count; i++)
        if (d->types[i].tolerance.relative > widest)
            widest = d->types[i].tolerance.relative;
    return widest;
}

/* The only site of `in` whose statistics agree with those of `figure`; NONE: none, or several. */
static uint32_t only_one(struct order *o, const struct figure *figure, int side,
                         const struct figures *in)
{
    enum { MOST = 64 }; /* more that look alike are not told apart */
    double slack = fabs(figure->value) * 2 * PLUMB_TOLERANCE_EXTREME * widest_tolerance(o->d);
    uint32_t low = 0;
    uint32_t high = in->count;
    uint32_t found = PLUMB_DIVERGE_NONE;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (in->at[middle].value < figure->value - slack)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t n = 0; low < in->count && in->at[low].value <= figure->value + slack; low++) {
        uint32_t a = side == PLUMB_DIVERGE_A ? figure->site : in->at[low].site;
        uint32_t b = side == PLUMB_DIVERGE_A ? in->at[low].site : figure->site;
        if (++n > MOST)
            return PLUMB_DIVERGE_NONE;
        if (!agrees(o, a, b))
            continue;
        if (found != PLUMB_DIVERGE_NONE)
            return PLUMB_DIVERGE_NONE;
        found = in->at[low].site;
    }
    return found;
}

static int match_moved(struct order *o, plumb_error *err)
{
    struct figures figures[2] = {{0}};
    int rc;
    if ((rc = sort_figures(&figures[PLUMB_DIVERGE_A], o, PLUMB_DIVERGE_A, err)) < 0 ||
        (rc = sort_figures(&figures[PLUMB_DIVERGE_B], o, PLUMB_DIVERGE_B, err)) < 0)
        goto out;
    for (uint32_t i = 0; i < figures[PLUMB_DIVERGE_A].count; i++) {
        struct figure a = figures[PLUMB_DIVERGE_A].at[i];
        uint32_t b = only_one(o, &a, PLUMB_DIVERGE_A, &figures[PLUMB_DIVERGE_B]);
        if (b == PLUMB_DIVERGE_NONE)
            continue;
        struct figure back = {figure_of(o, PLUMB_DIVERGE_B, b), b};
        if (only_one(o, &back, PLUMB_DIVERGE_B, &figures[PLUMB_DIVERGE_A]) == a.site &&
            site_of(o, PLUMB_DIVERGE_B, b)->partner == PLUMB_DIVERGE_NONE)
            join(o, a.site, b, PLUMB_HOW_MOVED);
        if (site_of(o, PLUMB_DIVERGE_A, a.site)->partner == b && (rc = teach(o, a.site, b)) < 0) {
            plumb_fail(err, rc, "out of memory for roles of sites");
            goto out;
        }
    }
out:
    free(figures[PLUMB_DIVERGE_A].at);
    free(figures[PLUMB_DIVERGE_B].at);
    return rc;
}

/* ---- The nearest ----------------------------------------------------------------------------- */

struct nearest {
    uint32_t place;
    float score;
};

/* The place in the other list of the most alike of what is left there. */
static struct nearest nearest_of(struct order *o, int side, uint32_t i)
{
    int other = !side;
    struct nearest best = {PLUMB_DIVERGE_NONE, 0};
    uint32_t s = o->lists[side][i];
    for (uint32_t j = 0; j < o->counts[other]; j++) {
        uint32_t t = o->lists[other][j];
        float shapes;
        if (site_of(o, other, t)->partner != PLUMB_DIVERGE_NONE)
            continue;
        uint32_t a = side == PLUMB_DIVERGE_A ? s : t;
        uint32_t b = side == PLUMB_DIVERGE_A ? t : s;
        if (plumb_evidence_of_sites(o->d, site_of(o, PLUMB_DIVERGE_A, a),
                                    site_of(o, PLUMB_DIVERGE_B, b), &shapes) < NEAR)
            continue;
        float now = score(o, a, b);
        if (now > best.score)
            best = (struct nearest){j, now};
    }
    return best;
}

/* What moved and went wrong besides is not equal to anything, but may be nearest to one another. */
static void match_nearest(struct order *o)
{
    uint64_t left[2] = {0, 0};
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++)
        for (uint32_t i = 0; i < o->counts[side]; i++)
            left[side] += site_of(o, side, o->lists[side][i])->partner == PLUMB_DIVERGE_NONE;
    if (left[PLUMB_DIVERGE_A] * left[PLUMB_DIVERGE_B] > MOST_NEAREST)
        return;
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++) {
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        if (site_of(o, PLUMB_DIVERGE_A, a)->partner != PLUMB_DIVERGE_NONE)
            continue;
        struct nearest to = nearest_of(o, PLUMB_DIVERGE_A, i);
        if (to.place != PLUMB_DIVERGE_NONE && nearest_of(o, PLUMB_DIVERGE_B, to.place).place == i)
            join(o, a, o->lists[PLUMB_DIVERGE_B][to.place], PLUMB_HOW_ORDER);
    }
}

/* ---- By kind --------------------------------------------------------------------------------- */

/* Numbers the modules of each role: ordinal[place in the list], from 1. */
static int count_roles(const struct order *o, int side, struct plumb_map *counts, uint32_t *ordinal)
{
    int rc = PLUMB_OK;
    for (uint32_t i = 0; i < o->counts[side]; i++) {
        uint64_t role = role_of(o, side, o->lists[side][i]);
        ordinal[i] = (uint32_t)plumb_map_get(counts, role) + 1;
        rc |= plumb_map_put(counts, role, ordinal[i]);
    }
    return rc;
}

/* The n-th "layers.#.v" without a partner is the n-th "blk.#.wv", if such go together elsewhere and
 * both sides have as many. */
static int match_kinds(struct order *o, plumb_error *err)
{
    const uint32_t *counts = o->counts;
    struct plumb_map of_a = {0};
    struct plumb_map of_b = {0};
    uint32_t *ordinal = malloc(((size_t)counts[0] + counts[1]) * sizeof *ordinal);
    uint32_t *ordinal_b = ordinal ? ordinal + counts[PLUMB_DIVERGE_A] : NULL;
    int rc = PLUMB_ERR_MEMORY;
    if (!ordinal || count_roles(o, PLUMB_DIVERGE_A, &of_a, ordinal) < 0 ||
        count_roles(o, PLUMB_DIVERGE_B, &of_b, ordinal_b) < 0)
        goto out;
    rc = PLUMB_OK;
    for (uint32_t i = 0, left = 1 << 24; i < counts[PLUMB_DIVERGE_A]; i++) {
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        uint64_t role = role_of(o, PLUMB_DIVERGE_A, a);
        if (site_of(o, PLUMB_DIVERGE_A, a)->partner != PLUMB_DIVERGE_NONE ||
            !plumb_map_get(&o->taught[PLUMB_DIVERGE_A], role))
            continue;
        for (uint32_t j = 0; j < counts[PLUMB_DIVERGE_B] && left > 0; j++, left--) {
            uint32_t b = o->lists[PLUMB_DIVERGE_B][j];
            if (ordinal[i] != ordinal_b[j] ||
                site_of(o, PLUMB_DIVERGE_B, b)->partner != PLUMB_DIVERGE_NONE ||
                !plumb_map_get(&o->roles, pair_of_roles(o, a, b)) ||
                plumb_map_get(&of_a, role) != plumb_map_get(&of_b, role_of(o, PLUMB_DIVERGE_B, b)))
                continue;
            join(o, a, b, PLUMB_HOW_KIND);
            break;
        }
    }
out:
    plumb_map_fini(&of_a);
    plumb_map_fini(&of_b);
    free(ordinal);
    return rc == PLUMB_OK ? rc : plumb_fail(err, rc, "out of memory for roles of sites");
}

int plumb_diverge_match_order(struct plumb_diverge *d, plumb_error *err)
{
    struct order o = {.d = d};
    int rc;
    if ((rc = describe_all(&o, PLUMB_DIVERGE_A, err)) < 0 ||
        (rc = describe_all(&o, PLUMB_DIVERGE_B, err)) < 0)
        goto out;
    if (o.counts[PLUMB_DIVERGE_A] == 0 || o.counts[PLUMB_DIVERGE_B] == 0)
        goto out;
    o.partner = malloc(o.counts[PLUMB_DIVERGE_A] * sizeof *o.partner);
    if (!o.partner) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the order of sites");
        goto out;
    }
    if ((rc = for_each_segment(&o, count_cells, err)) < 0 || (rc = align(&o, err)) < 0 ||
        (rc = learn(&o, err)) < 0 || (rc = align(&o, err)) < 0)
        goto out;
    keep_pairs(&o);
    if ((rc = match_moved(&o, err)) == PLUMB_OK)
        rc = match_kinds(&o, err);
    if (rc == PLUMB_OK)
        match_nearest(&o);
out:
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++) {
        free(o.described[i]);
        free(o.lists[i]);
        free(o.next[i]);
        plumb_map_fini(&o.taught[i]);
    }
    plumb_map_fini(&o.roles);
    free(o.partner);
    return rc;
}

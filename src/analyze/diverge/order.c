/* order.c: sites without a name in common, by order and evidence.
 *
 * A module's sites go together: one of them, its first output where it has one, stands for all, and
 * the others follow it by their labels. Sites matched by name are anchors of the two orders: a site
 * between two anchors can only be paired with one between the same anchors on the other side. There
 * the sites are aligned so that the pairs have the most evidence: shape, statistics, parts of the
 * names. Models repeat their layers, so this is done twice. The pairs whose statistics agree show
 * which kind of site goes with which ("layers.#.relu" with "blk.#.act"). In the second round that
 * decides where a fault has made the statistics useless.
 *
 * left.c handles the sites that are left after that. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"
#include "analyze/diverge/evidence.h"
#include "analyze/diverge/order.h"
#include "analyze/diverge/sequence.h"
#include "base/error.h"

/* Cells for all segments together: about a second. */
enum { BUDGET = 1 << 25 };

/* The weights of the kinds of evidence; the shape gives up to 1. Closeness counts by its square:
 * one good pair is worth more than several poor ones. */
static const float WEIGH_STATISTICS = 6, WEIGH_NAME = 1.5F, WEIGH_TENSOR = 0.3F, WEIGH_ROLE = 2,
                   WEIGH_INPUTS = 2, WEIGH_SHARE = 1.5F;
enum {
    MOST_INPUTS = 4,
    /* of a module */ KNOWN = 2 /* times that two kinds were seen together */,
    OUTVOTED = 4 /* times as often as with another kind: that one is chance */
};
static const float AGREE = 1;

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

bool plumb_order_number(const char *name, size_t *begin, size_t *end)
{
    bool found = false;
    for (size_t i = 0; name[i];) {
        size_t n = 0;
        while (is_digit(name[i + n]))
            n++;
        bool alone = n > 0 && (i == 0 || !is_letter(name[i - 1])) && !is_letter(name[i + n]);
        if (n > 0 && (alone || !found)) {
            *begin = i;
            *end = i + n;
            found = true;
        }
        if (alone)
            break;
        i += n > 0 ? n : 1;
    }
    return found;
}

void plumb_order_describe(struct plumb_order_name *out, const char *name, const char *tensor)
{
    uint32_t role = 2166136261u;
    size_t begin = SIZE_MAX;
    size_t end = SIZE_MAX;
    int n = 0;
    memset(out, 0, sizeof *out);
    (void)plumb_order_number(name, &begin, &end);
    for (size_t i = 0; name[i]; i++)
        if (i == begin)
            role = mix(role, '#');
        else if (i < begin || i >= end)
            role = mix(role, name[i]);
    for (const char *p = name; *p && n < PLUMB_ORDER_TOKENS;) {
        uint32_t token = 2166136261u;
        const char *from = p;
        bool digits = is_digit(*p);
        while (digits ? is_digit(*p) : is_letter(*p))
            token = mix(token, *p++ | 0x20);
        if (p == from)
            p++;
        else
            out->tokens[n++] = (uint16_t)((token ^ token >> 16) | 1);
    }
    for (const char *p = tensor; *p; p++)
        role = mix(role, *p);
    out->role = role;
}

/* 1: the parts of the shorter name are all in the other; 0: none in common. The name of a fused
 * group is as like to any of its members as to the others, and its last member counts: a longer
 * name must not lose by that. */
static float likeness(const struct plumb_order_name *a, const struct plumb_order_name *b)
{
    int na = 0;
    int nb = 0;
    int same = 0;
    uint32_t used = 0;
    while (nb < PLUMB_ORDER_TOKENS && b->tokens[nb])
        nb++;
    for (; na < PLUMB_ORDER_TOKENS && a->tokens[na]; na++)
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

/* Puts site `i` to those of its module; `heads` has the place in the list, plus 1, of each
 * module. */
static int add_to_module(struct plumb_order *o, int side, struct plumb_map *heads, uint32_t i)
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

static int describe_all(struct plumb_order *o, int side, plumb_error *err)
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
        if (s->sites[i].partner != PLUMB_DIVERGE_NONE || s->sites[i].is_part)
            continue;
        plumb_order_describe(&o->described[side][i],
                             plumb_activations_text(s->t, s->sites[i].module),
                             plumb_activations_text(s->t, s->sites[i].tensor));
        rc = add_to_module(o, side, &heads, i);
    }
    plumb_map_fini(&heads);
    qsort(o->lists[side], o->counts[side], sizeof *o->lists[side], by_number);
    return rc == PLUMB_OK ? rc : plumb_fail(err, rc, "out of memory for the modules of a run");
}

/* ---- Evidence -------------------------------------------------------------------------------- */

uint64_t plumb_order_role(const struct plumb_order *o, int side, uint32_t s)
{
    return (uint64_t)o->described[side][s].role + 1;
}

uint64_t plumb_order_roles(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    return ((uint64_t)o->described[PLUMB_DIVERGE_A][a].role << 32 |
            o->described[PLUMB_DIVERGE_B][b].role) |
           1;
}

bool plumb_order_siblings(const char *x, const char *y)
{
    const char *end_x = strrchr(x, '.');
    const char *end_y = strrchr(y, '.');
    size_t nx = end_x ? (size_t)(end_x - x) : 0;
    size_t ny = end_y ? (size_t)(end_y - y) : 0;
    return nx == ny && strncmp(x, y, nx) == 0;
}

static void describe_pair(const struct plumb_diverge *d, uint32_t a, struct plumb_order_name *of_a,
                          struct plumb_order_name *of_b)
{
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[a];
    plumb_order_describe(of_a, plumb_activations_text(ta, ta->module[a]),
                         plumb_activations_text(ta, ta->tensor[a]));
    plumb_order_describe(of_b, plumb_activations_text(tb, tb->module[b]),
                         plumb_activations_text(tb, tb->tensor[b]));
}

bool plumb_order_alike(const struct plumb_diverge *d, uint32_t a)
{
    struct plumb_order_name of_a;
    struct plumb_order_name of_b;
    describe_pair(d, a, &of_a, &of_b);
    return likeness(&of_a, &of_b) > 0;
}

uint64_t plumb_order_kind_of(const struct plumb_diverge *d, uint32_t a)
{
    struct plumb_order_name of_a;
    struct plumb_order_name of_b;
    describe_pair(d, a, &of_a, &of_b);
    return ((uint64_t)of_a.role << 32 | of_b.role) | 1;
}

static float weight_of_roles(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    if (!o->learned)
        return 0;
    if (plumb_order_known(o, a, b))
        return WEIGH_ROLE;
    /* One is known to go with others. */
    return plumb_map_get(&o->taught[PLUMB_DIVERGE_A], plumb_order_role(o, PLUMB_DIVERGE_A, a)) ||
                   plumb_map_get(&o->taught[PLUMB_DIVERGE_B],
                                 plumb_order_role(o, PLUMB_DIVERGE_B, b))
               ? -WEIGH_ROLE
               : 0;
}

/* The site of B's module `head` with the label of A's site `a`, if possible of the same phase. */
static uint32_t sibling_of(const struct plumb_order *o, uint32_t a, uint32_t head)
{
    const struct plumb_diverge_side *sides = o->d->sides;
    const struct plumb_activations *ta = sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = sides[PLUMB_DIVERGE_B].t;
    const struct plumb_diverge_site *site = plumb_order_site(o, PLUMB_DIVERGE_A, a);
    const char *label = plumb_activations_text(ta, site->tensor);
    const char *phase = plumb_activations_text(ta, site->phase);
    uint32_t found = PLUMB_DIVERGE_NONE;
    for (uint32_t b = head; b != PLUMB_DIVERGE_NONE; b = o->next[PLUMB_DIVERGE_B][b]) {
        const struct plumb_diverge_site *other = plumb_order_site(o, PLUMB_DIVERGE_B, b);
        if (other->partner != PLUMB_DIVERGE_NONE || other->io != site->io ||
            strcmp(label, plumb_activations_text(tb, other->tensor)) != 0)
            continue;
        if (strcmp(phase, plumb_activations_text(tb, other->phase)) == 0)
            return b;
        found = found == PLUMB_DIVERGE_NONE ? b : found;
    }
    return found;
}

float plumb_order_inputs(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    float sum = 0;
    int n = 0;
    for (uint32_t i = o->next[PLUMB_DIVERGE_A][a]; i != PLUMB_DIVERGE_NONE && n < MOST_INPUTS;
         i = o->next[PLUMB_DIVERGE_A][i]) {
        const struct plumb_diverge_site *site = plumb_order_site(o, PLUMB_DIVERGE_A, i);
        uint32_t to = site->io == PLUMB_ACT_IN ? sibling_of(o, i, b) : PLUMB_DIVERGE_NONE;
        float shapes;
        if (to == PLUMB_DIVERGE_NONE)
            continue;
        float now =
            plumb_evidence_of_sites(o->d, site, plumb_order_site(o, PLUMB_DIVERGE_B, to), &shapes);
        sum += now > 0 ? now * now : 0;
        n++;
    }
    return n > 0 ? sum / (float)n : 0;
}

float plumb_order_score(void *arg, uint32_t a, uint32_t b)
{
    struct plumb_order *o = arg;
    const struct plumb_diverge_site *sa = plumb_order_site(o, PLUMB_DIVERGE_A, a);
    const struct plumb_diverge_site *sb = plumb_order_site(o, PLUMB_DIVERGE_B, b);
    float shapes;
    if (!plumb_order_layers_fit(o, a, b, !o->only_evidence))
        return 0;
    float closeness = plumb_evidence_of_sites(o->d, sa, sb, &shapes);
    if (closeness < 0 || (o->only_evidence && closeness < 1))
        return 0;
    float share = closeness < 1 ? 0 : plumb_evidence_share(o->d, sa, sb);
    bool tensor = strcmp(plumb_activations_text(o->d->sides[PLUMB_DIVERGE_A].t, sa->tensor),
                         plumb_activations_text(o->d->sides[PLUMB_DIVERGE_B].t, sb->tensor)) == 0;
    return shapes + WEIGH_STATISTICS * closeness * closeness + WEIGH_SHARE * share +
           WEIGH_NAME *
               likeness(&o->described[PLUMB_DIVERGE_A][a], &o->described[PLUMB_DIVERGE_B][b]) +
           (tensor ? WEIGH_TENSOR : 0) + weight_of_roles(o, a, b) +
           WEIGH_INPUTS * plumb_order_inputs(o, a, b);
}

bool plumb_order_agrees(struct plumb_order *o, uint32_t a, uint32_t b)
{
    float shapes;
    return plumb_evidence_of_sites(o->d, plumb_order_site(o, PLUMB_DIVERGE_A, a),
                                   plumb_order_site(o, PLUMB_DIVERGE_B, b), &shapes) >= 1;
}

/* ---- Segments -------------------------------------------------------------------------------- */

/* A part of both lists between two anchors. */
struct segment {
    uint32_t a, a_end, b, b_end;
};

typedef int (*segment_fn)(struct plumb_order *o, const struct segment *s, plumb_error *err);

/* Calls `fn` for each segment between two anchors that are in A's and B's order. */
static int for_each_segment(struct plumb_order *o, segment_fn fn, plumb_error *err)
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
        partners[i] = a->sites[i].how == PLUMB_HOW_MOVED ? PLUMB_DIVERGE_NONE : a->sites[i].partner;
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

static int count_cells(struct plumb_order *o, const struct segment *s, plumb_error *err)
{
    (void)err;
    o->cells += (uint64_t)(s->a_end - s->a) * (s->b_end - s->b);
    return PLUMB_OK;
}

static int align_segment(struct plumb_order *o, const struct segment *s, plumb_error *err)
{
    struct plumb_sequence q = {.a = o->lists[PLUMB_DIVERGE_A] + s->a,
                               .b = o->lists[PLUMB_DIVERGE_B] + s->b,
                               .a_count = s->a_end - s->a,
                               .b_count = s->b_end - s->b,
                               .score = plumb_order_score,
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

static int align(struct plumb_order *o, plumb_error *err)
{
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++)
        o->partner[i] = PLUMB_SEQUENCE_NONE;
    return for_each_segment(o, align_segment, err);
}

bool plumb_order_known(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    uint64_t seen = plumb_map_get(&o->roles, plumb_order_roles(o, a, b));
    uint64_t of_a =
        plumb_map_get(&o->taught[PLUMB_DIVERGE_A], plumb_order_role(o, PLUMB_DIVERGE_A, a));
    uint64_t of_b =
        plumb_map_get(&o->taught[PLUMB_DIVERGE_B], plumb_order_role(o, PLUMB_DIVERGE_B, b));
    return seen >= KNOWN && seen * OUTVOTED > of_a && seen * OUTVOTED > of_b;
}

static int remember(struct plumb_map *most, uint64_t role, uint64_t seen)
{
    return seen > plumb_map_get(most, role) ? plumb_map_put(most, role, seen) : PLUMB_OK;
}

/* Two tensors may agree by chance in one place: in two statistics, and in one of many records. */
int plumb_order_teach(struct plumb_order *o, uint32_t a, uint32_t b)
{
    float share = plumb_evidence_share(o->d, plumb_order_site(o, PLUMB_DIVERGE_A, a),
                                       plumb_order_site(o, PLUMB_DIVERGE_B, b));
    bool several = plumb_order_site(o, PLUMB_DIVERGE_A, a)->count > 1 &&
                   plumb_order_site(o, PLUMB_DIVERGE_B, b)->count > 1;
    uint64_t roles = plumb_order_roles(o, a, b);
    bool sure = share * 2 >= 1 && (several || plumb_order_layers_fit(o, a, b, true));
    uint64_t seen = plumb_map_get(&o->roles, roles) + (sure ? KNOWN : 1);
    int rc = plumb_map_put(&o->roles, roles, seen);
    if (seen < KNOWN)
        return rc;
    rc |= remember(&o->taught[PLUMB_DIVERGE_A], plumb_order_role(o, PLUMB_DIVERGE_A, a), seen);
    rc |= remember(&o->taught[PLUMB_DIVERGE_B], plumb_order_role(o, PLUMB_DIVERGE_B, b), seen);
    o->learned = true;
    return rc;
}

/* Learns from the pairs of this alignment that agree: which kinds and which layers go together. */
static int learn(struct plumb_order *o, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++) {
        if (o->partner[i] == PLUMB_SEQUENCE_NONE)
            continue;
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        uint32_t b = o->lists[PLUMB_DIVERGE_B][o->partner[i]];
        if (plumb_order_agrees(o, a, b))
            rc |= plumb_order_teach(o, a, b) | plumb_order_vote(o, a, b);
    }
    return rc == PLUMB_OK ? rc
                          : plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for roles of sites");
}

static void join_sites(struct plumb_order *o, uint32_t a, uint32_t b, uint8_t how)
{
    struct plumb_diverge_site *sa = plumb_order_site(o, PLUMB_DIVERGE_A, a);
    struct plumb_diverge_site *sb = plumb_order_site(o, PLUMB_DIVERGE_B, b);
    sa->partner = b;
    sb->partner = a;
    sa->how = sb->how = how;
}

/* Pairs the modules that `a` and `b` stand for. Their other sites are paired only if these agree or
 * follow from the same kind of match. Two modules with the same output may have different inputs: a
 * projection, and the rotation after it at the first position. */
void plumb_order_join(struct plumb_order *o, uint32_t a, uint32_t b, uint8_t how)
{
    join_sites(o, a, b, how);
    for (uint32_t i = o->next[PLUMB_DIVERGE_A][a]; i != PLUMB_DIVERGE_NONE;
         i = o->next[PLUMB_DIVERGE_A][i]) {
        uint32_t to = sibling_of(o, i, b);
        if (to == PLUMB_DIVERGE_NONE)
            continue;
        bool agrees = plumb_order_agrees(o, i, to);
        if (agrees && how == PLUMB_HOW_EVIDENCE)
            (void)plumb_order_teach(o, i, to); /* without memory: not learned */
        bool same = plumb_order_site(o, PLUMB_DIVERGE_A, i)->tensor ==
                    plumb_order_site(o, PLUMB_DIVERGE_A, a)->tensor; /* in another phase */
        if (agrees || same || how == PLUMB_HOW_ORDER || how == PLUMB_HOW_INPUTS ||
            (how == PLUMB_HOW_KIND && plumb_order_known(o, i, to)))
            join_sites(o, i, to, how);
    }
}

static void keep_pairs(struct plumb_order *o)
{
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++) {
        if (o->partner[i] == PLUMB_SEQUENCE_NONE)
            continue;
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        uint32_t b = o->lists[PLUMB_DIVERGE_B][o->partner[i]];
        bool known = plumb_order_known(o, a, b);
        plumb_order_join(o, a, b,
                         plumb_order_agrees(o, a, b)            ? PLUMB_HOW_EVIDENCE
                         : known                                ? PLUMB_HOW_KIND
                         : plumb_order_inputs(o, a, b) >= AGREE ? PLUMB_HOW_INPUTS
                                                                : PLUMB_HOW_ORDER);
    }
}

/* Removes the sites that have a partner by now from the lists. */
static void shorten(struct plumb_order *o)
{
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < o->counts[side]; i++)
            if (plumb_order_site(o, side, o->lists[side][i])->partner == PLUMB_DIVERGE_NONE)
                o->lists[side][n++] = o->lists[side][i];
        o->counts[side] = n;
    }
}

/* First only pairs whose statistics agree are made; they become anchors. Then the sites between
 * them are paired by kind and order. In one pass, two poor pairs would weigh more than a good
 * one. */
static int match_in_turn(struct plumb_order *o, plumb_error *err)
{
    int rc;
    o->only_evidence = true;
    if ((rc = for_each_segment(o, count_cells, err)) < 0 || (rc = align(o, err)) < 0 ||
        (rc = learn(o, err)) < 0 || (rc = align(o, err)) < 0)
        return rc;
    keep_pairs(o);
    shorten(o);
    if ((rc = plumb_order_match_moved(o, err)) < 0 || (rc = plumb_order_match_kinds(o, err)) < 0)
        return rc;
    plumb_order_match_inputs(o);
    shorten(o);
    o->only_evidence = false;
    if (o->counts[PLUMB_DIVERGE_A] == 0 || o->counts[PLUMB_DIVERGE_B] == 0)
        return PLUMB_OK;
    o->cells = 0;
    if ((rc = for_each_segment(o, count_cells, err)) < 0 || (rc = align(o, err)) < 0)
        return rc;
    keep_pairs(o);
    plumb_order_match_nearest(o);
    return PLUMB_OK;
}

int plumb_diverge_match_order(struct plumb_diverge *d, plumb_error *err)
{
    struct plumb_order o = {.d = d};
    int rc;
    if ((rc = describe_all(&o, PLUMB_DIVERGE_A, err)) < 0 ||
        (rc = describe_all(&o, PLUMB_DIVERGE_B, err)) < 0 ||
        (rc = plumb_order_layers_init(&o, err)) < 0)
        goto out;
    if (o.counts[PLUMB_DIVERGE_A] == 0 || o.counts[PLUMB_DIVERGE_B] == 0)
        goto out;
    o.partner = malloc(o.counts[PLUMB_DIVERGE_A] * sizeof *o.partner);
    if (!o.partner) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the order of sites");
        goto out;
    }
    rc = match_in_turn(&o, err);
out:
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++) {
        free(o.described[i]);
        free(o.lists[i]);
        free(o.next[i]);
        plumb_map_fini(&o.taught[i]);
    }
    plumb_map_fini(&o.roles);
    plumb_order_layers_fini(&o);
    free(o.partner);
    return rc;
}

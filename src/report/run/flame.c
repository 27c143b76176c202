/* flame.c: the layout of the flame graph. Any thread; no state.
 *
 * Everything goes over the tree by index, where parents stand before their children, so nothing
 * recurses: a chain of a million places must not end in a stack overflow. Sums are doubles: a
 * hostile file's totals may exceed 64 bits together. */
#include "report/run/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "report/run/tree.h"

#define NONE UINT32_MAX

enum { KINDS = 3 };

/* A place during the layout. */
struct spot {
    uint32_t above;   /* the place it is drawn below; NONE: outermost */
    uint32_t below;   /* where an outermost place that ran apart hangs in the tree, or NONE */
    uint32_t root;    /* outermost place around it */
    uint32_t section; /* its group times KINDS plus its kind */
    uint32_t level;
    bool drawn;      /* chosen, and has time */
    bool shown;      /* has a box of its own */
    double scale;    /* drawn nanoseconds for each of its children's */
    double width_ns; /* as drawn */
    double begin_ns; /* as drawn */
    double next_ns;  /* where its next child begins */
    size_t hidden;   /* places below it without boxes */
    double hidden_ns;
    double hidden_width_ns;
};

struct side { /* a section during the layout */
    double width_ns, next_ns, hidden_ns, hidden_width_ns;
    size_t hidden, boxes, next_box;
    uint32_t levels;
    bool drawn;
    const struct plumb_timing_node *node; /* the first of its group */
};

struct ranked {
    uint32_t group; /* siblings have the same */
    uint32_t index;
    double share;
};

struct layout {
    const struct plumb_timing *t;
    const struct plumb_flame_options *o;
    size_t n;
    bool *kept;
    struct spot *spots;
    size_t *first; /* by place: where its children begin in `children` */
    uint32_t *children;
    uint32_t *group_of; /* by node */
    struct side *sides;
    size_t side_count;
    struct ranked *ranked;
};

static const struct plumb_timing_tree *place_of(const struct layout *l, size_t i)
{
    return &l->t->tree[i];
}

static const struct plumb_timing_node *node_of(const struct layout *l, size_t i)
{
    return &l->t->nodes[l->t->tree[i].node];
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static uint64_t group_key(const struct plumb_timing_node *node)
{
    return plumb_hash_text(node->pipeline) * 31 + plumb_hash_text(node->phase);
}

static bool same_group(const struct plumb_timing_node *a, const struct plumb_timing_node *b)
{
    return strcmp(a->pipeline, b->pipeline) == 0 && strcmp(a->phase, b->phase) == 0;
}

/* Numbers the pairs of pipeline and phase. Names that hash alike take the next free key. */
static int find_groups(struct layout *l)
{
    struct plumb_map groups = {0};
    int rc = PLUMB_OK;
    for (size_t i = 0; i < l->t->node_count && rc == PLUMB_OK; i++) {
        const struct plumb_timing_node *node = &l->t->nodes[i];
        uint64_t key = group_key(node);
        uint64_t known;
        for (;; key++) {
            key += key == 0;
            known = plumb_map_get(&groups, key);
            if (!known || same_group(l->sides[(known - 1) * KINDS].node, node))
                break;
        }
        if (!known) {
            known = l->side_count / KINDS + 1;
            for (int kind = 0; kind < KINDS; kind++)
                l->sides[l->side_count++].node = node;
            rc = plumb_map_put(&groups, key, known);
        }
        l->group_of[i] = (uint32_t)known - 1;
    }
    plumb_map_fini(&groups);
    return rc;
}

static uint32_t section_of(const struct layout *l, size_t i, enum plumb_flame_kind kind)
{
    return l->group_of[place_of(l, i)->node] * KINDS + (uint32_t)kind;
}

/* ---- Parents and children -------------------------------------------------------------------- */

/* Places without time are skipped: their children move up to the nearest place that is drawn. */
static void find_parents(struct layout *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct plumb_timing_tree *place = place_of(l, i);
        struct spot *s = &l->spots[i];
        uint32_t up = place->parent;
        s->drawn = l->kept[i] && place->total_ns > 0;
        s->below = NONE;
        s->above = up == NONE || l->spots[up].drawn ? up : l->spots[up].above;
        if (place->async)
            s->above = NONE;
    }
}

static void list_children(struct layout *l)
{
    size_t sum = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->spots[i].drawn && l->spots[i].above != NONE)
            l->first[l->spots[i].above + 1]++;
    for (size_t i = 0; i <= l->n; i++)
        l->first[i] = sum += l->first[i];
    size_t *next = malloc((l->n + 1) * sizeof *next);
    if (!next) {
        free(l->children);
        l->children = NULL;
        return;
    }
    memcpy(next, l->first, (l->n + 1) * sizeof *next);
    for (size_t i = 0; i < l->n; i++)
        if (l->spots[i].drawn && l->spots[i].above != NONE)
            l->children[next[l->spots[i].above]++] = (uint32_t)i;
    free(next);
}

static void set_apart(struct layout *l, uint32_t child)
{
    struct spot *s = &l->spots[child];
    s->below = s->above;
    s->above = NONE;
}

/* Whether it may lack samples that its children have. */
static bool lost_samples(const struct layout *l, size_t i)
{
    const struct plumb_timing_node *node = node_of(l, i);
    return l->t->open_count > 0 || node->skipped || node->failures || node->abandoned ||
           node->unbalanced;
}

/* The children of `i` take `sum`, but only `room` is available: those that do not fit ran
 * elsewhere. If one alone explains the difference, it is that one. */
static void part(struct layout *l, size_t i, double sum, double room, double tolerance)
{
    const uint32_t *begin = l->children + l->first[i];
    const uint32_t *end = l->children + l->first[i + 1];
    for (const uint32_t *c = begin; c < end; c++) {
        double rest = sum - (double)place_of(l, *c)->total_ns;
        if (rest <= room && rest >= room - 2 * tolerance) {
            set_apart(l, *c);
            return;
        }
    }
    for (const uint32_t *c = begin; c < end; c++) {
        double total = (double)place_of(l, *c)->total_ns;
        if (total > room)
            set_apart(l, *c);
        else
            room -= total;
    }
}

/* Makes the children of `i` fit into it. */
static void fit_children(struct layout *l, size_t i)
{
    const struct plumb_timing_tree *place = place_of(l, i);
    double total = (double)place->total_ns;
    double self = place->self_ns < place->total_ns ? (double)place->self_ns : total;
    double tolerance = 4.0 + (double)(l->first[i + 1] - l->first[i]) + total * 1e-12;
    double sum = 0;
    bool lost = lost_samples(l, i);
    double room = lost ? total : total - self + tolerance;
    l->spots[i].scale = 1;
    for (size_t c = l->first[i]; c < l->first[i + 1]; c++)
        sum += (double)place_of(l, l->children[c])->total_ns;
    if (sum <= room)
        return;
    if (lost && sum <= 1.25 * total) {
        l->spots[i].scale = total / sum;
        return;
    }
    part(l, i, sum, room, tolerance);
}

/* Roots, levels, widths. */
static void measure(struct layout *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct spot *s = &l->spots[i];
        if (!s->drawn)
            continue;
        s->width_ns = (double)place_of(l, i)->total_ns;
        if (s->above != NONE) {
            const struct spot *above = &l->spots[s->above];
            s->root = above->root;
            s->section = above->section;
            s->level = above->level + 1;
            s->width_ns *= above->scale;
            s->scale *= above->scale;
            continue;
        }
        s->root = (uint32_t)i;
        s->section = section_of(l, i,
                                place_of(l, i)->async ? PLUMB_FLAME_ASYNC
                                : s->below != NONE    ? PLUMB_FLAME_APART
                                                      : PLUMB_FLAME_NESTED);
        l->sides[s->section].width_ns += s->width_ns;
    }
    for (size_t i = 0, n = 0; i < l->side_count; i++)
        l->sides[i].drawn = l->sides[i].width_ns > 0 && n++ < PLUMB_FLAME_SECTIONS;
}

/* ---- Which have boxes ------------------------------------------------------------------------ */

static int by_share(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static double share_of(const struct layout *l, size_t i)
{
    return l->spots[i].width_ns / l->sides[l->spots[i].section].width_ns;
}

/* Hides all but the `most` largest; of the same parent, or of all. */
static void hide_beyond(struct layout *l, size_t most, bool of_siblings)
{
    size_t n = 0;
    size_t rank = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct spot *s = &l->spots[i];
        uint32_t group = s->above != NONE ? s->above : (uint32_t)l->n + s->section;
        if (s->shown)
            l->ranked[n++] = (struct ranked){of_siblings ? group : 0, (uint32_t)i, share_of(l, i)};
    }
    qsort(l->ranked, n, sizeof *l->ranked, by_share);
    for (size_t k = 0; k < n; k++) {
        rank = k > 0 && l->ranked[k].group == l->ranked[k - 1].group ? rank + 1 : 0;
        if (rank >= most)
            l->spots[l->ranked[k].index].shown = false;
    }
}

/* Hides all places below a hidden one. Returns the number of boxes that
 * this makes. */
static size_t settle(struct layout *l)
{
    size_t boxes = 0;
    for (size_t i = 0; i < l->side_count; i++)
        l->sides[i].hidden = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct spot *s = &l->spots[i];
        s->hidden = 0;
        s->shown = s->shown && (s->above == NONE || l->spots[s->above].shown);
        boxes += s->shown;
    }
    for (size_t i = l->n; i-- > 0;) {
        struct spot *s = &l->spots[i];
        size_t *up = s->above != NONE ? &l->spots[s->above].hidden : &l->sides[s->section].hidden;
        if (s->drawn && !s->shown) {
            boxes += *up == 0 && (s->above == NONE || l->spots[s->above].shown);
            *up += 1 + s->hidden;
        }
    }
    return boxes;
}

static void choose(struct layout *l, struct plumb_flame *out)
{
    for (size_t i = 0; i < l->n; i++)
        out->too_deep |= l->spots[i].drawn && l->spots[i].level >= PLUMB_FLAME_LEVELS;
    for (size_t i = 0; i < l->n; i++)
        l->spots[i].shown = l->spots[i].drawn && l->sides[l->spots[i].section].drawn &&
                            l->spots[i].level < PLUMB_FLAME_LEVELS &&
                            share_of(l, i) >= l->o->min_share;
    if (l->o->summary.top > 0)
        hide_beyond(l, l->o->summary.top, true);
    if (settle(l) <= l->o->limit)
        return;
    /* Each place that stays may need one box for the merged places below it, and one for those next
     * to it. */
    out->over_limit = true;
    hide_beyond(l, l->o->limit / 3, false);
    settle(l);
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Places all boxes: each place pushes its younger siblings to the right. Hidden places come
 * last. */
static void place_boxes(struct layout *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct spot *s = &l->spots[i];
        struct side *side = &l->sides[s->section];
        struct spot *above = s->above != NONE ? &l->spots[s->above] : NULL;
        double *next_ns = above ? &above->next_ns : &side->next_ns;
        if (!s->drawn || (above && !above->shown))
            continue;
        if (!s->shown) {
            *(above ? &above->hidden_ns : &side->hidden_ns) += (double)place_of(l, i)->total_ns;
            *(above ? &above->hidden_width_ns : &side->hidden_width_ns) += s->width_ns;
            continue;
        }
        /* Rounding must not push a child out of its parent. */
        double end_ns = above ? above->begin_ns + above->width_ns : side->width_ns;
        s->begin_ns = s->next_ns = least(*next_ns, end_ns);
        s->width_ns = least(s->width_ns, end_ns - s->begin_ns);
        *next_ns = s->begin_ns + s->width_ns;
        side->boxes++;
    }
}

static void deepen(struct side *side, uint32_t levels)
{
    if (side->levels < levels)
        side->levels = levels;
}

/* Adds the boxes of what is merged to those that are there. */
static void count_merged(struct layout *l, struct plumb_flame *out)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct spot *s = &l->spots[i];
        out->empty += l->kept[i] && !s->drawn;
        if (!s->shown)
            continue;
        out->merged += s->hidden;
        out->squeezed += s->above != NONE && l->spots[s->above].scale < 1;
        l->sides[s->section].boxes += s->hidden > 0;
        deepen(&l->sides[s->section], s->level + (s->hidden > 0 ? 2 : 1));
    }
    for (size_t i = 0; i < l->side_count; i++) {
        struct side *side = &l->sides[i];
        if (side->drawn && side->hidden > 0) {
            out->merged += side->hidden;
            side->boxes++;
            deepen(side, 1);
        } else {
            out->left_out += side->hidden;
        }
    }
}

static size_t make_sections(struct layout *l, struct plumb_flame *out)
{
    size_t boxes = 0;
    for (size_t i = 0; i < l->side_count; i++) {
        struct side *side = &l->sides[i];
        if (!side->drawn)
            continue;
        out->sections[out->section_count++] = (struct plumb_flame_section){
            .pipeline = side->node->pipeline,
            .phase = side->node->phase,
            .kind = (enum plumb_flame_kind)(i % KINDS),
            .width_ns = side->width_ns,
            .levels = side->levels,
            .first = boxes,
            .count = side->boxes,
        };
        side->next_box = boxes;
        boxes += side->boxes;
    }
    return boxes;
}

static struct plumb_flame_box box_of(const struct layout *l, size_t i)
{
    const struct spot *s = &l->spots[i];
    return (struct plumb_flame_box){
        .place = place_of(l, i),
        .node = node_of(l, i),
        .begin_ns = s->begin_ns,
        .width_ns = s->width_ns,
        .total_ns = (double)place_of(l, i)->total_ns,
        .level = s->level,
        .root = node_of(l, s->root),
        .root_ns = (double)place_of(l, s->root)->total_ns,
        .below = s->below != NONE ? node_of(l, s->below) : NULL,
        .squeezed = s->above != NONE && l->spots[s->above].scale < 1,
    };
}

/* The box of the places merged below `i`; it lies to the right of the children that have boxes. */
static struct plumb_flame_box rest_of(const struct layout *l, size_t i)
{
    const struct spot *s = &l->spots[i];
    double end_ns = s->begin_ns + s->width_ns;
    struct plumb_flame_box box = box_of(l, i);
    box.place = NULL;
    box.node = NULL;
    box.below = NULL;
    box.begin_ns = least(s->next_ns, end_ns);
    box.width_ns = least(s->hidden_width_ns, end_ns - box.begin_ns);
    box.total_ns = s->hidden_ns;
    box.level = s->level + 1;
    box.merged = s->hidden;
    return box;
}

/* The same for outermost places. */
static struct plumb_flame_box rest_of_side(const struct side *side)
{
    double begin_ns = least(side->next_ns, side->width_ns);
    return (struct plumb_flame_box){
        .begin_ns = begin_ns,
        .width_ns = least(side->hidden_width_ns, side->width_ns - begin_ns),
        .total_ns = side->hidden_ns,
        .merged = side->hidden,
    };
}

static void make_boxes(struct layout *l, struct plumb_flame *out)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->spots[i].shown)
            out->boxes[l->sides[l->spots[i].section].next_box++] = box_of(l, i);
    for (size_t i = 0; i < l->n; i++)
        if (l->spots[i].shown && l->spots[i].hidden > 0)
            out->boxes[l->sides[l->spots[i].section].next_box++] = rest_of(l, i);
    for (size_t i = 0; i < l->side_count; i++)
        if (l->sides[i].drawn && l->sides[i].hidden > 0)
            out->boxes[l->sides[i].next_box++] = rest_of_side(&l->sides[i]);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void drop(struct layout *l)
{
    free(l->kept);
    free(l->spots);
    free(l->first);
    free(l->children);
    free(l->group_of);
    free(l->sides);
    free(l->ranked);
}

static bool reserve(struct layout *l)
{
    l->kept = calloc(l->n + 1, sizeof *l->kept);
    l->spots = calloc(l->n + 1, sizeof *l->spots);
    l->first = calloc(l->n + 2, sizeof *l->first);
    l->children = calloc(l->n + 1, sizeof *l->children);
    l->group_of = calloc(l->t->node_count + 1, sizeof *l->group_of);
    l->sides = calloc(KINDS * (l->t->node_count + 1), sizeof *l->sides);
    l->ranked = calloc(l->n + 1, sizeof *l->ranked);
    return l->kept && l->spots && l->first && l->children && l->group_of && l->sides && l->ranked &&
           find_groups(l) == PLUMB_OK;
}

int plumb_flame_init(struct plumb_flame *out, const struct plumb_timing *t,
                     const struct plumb_flame_options *o, plumb_error *err)
{
    struct layout l = {.t = t, .o = o, .n = t->tree_count};
    struct plumb_flame flame = {.sections = NULL};
    int rc = PLUMB_ERR_MEMORY;
    if (!reserve(&l))
        goto out;
    flame.whole_ns = plumb_tree_keep(l.kept, t, &o->summary, &flame.deeper);
    find_parents(&l);
    list_children(&l);
    if (!l.children)
        goto out;
    for (size_t i = 0; i < l.n; i++)
        if (l.spots[i].drawn)
            fit_children(&l, i);
    measure(&l);
    choose(&l, &flame);
    place_boxes(&l);
    count_merged(&l, &flame);
    flame.sections = calloc(l.side_count + 1, sizeof *flame.sections);
    if (!flame.sections)
        goto out;
    flame.box_count = make_sections(&l, &flame);
    flame.boxes = calloc(flame.box_count + 1, sizeof *flame.boxes);
    if (!flame.boxes)
        goto out;
    make_boxes(&l, &flame);
    *out = flame;
    flame = (struct plumb_flame){.sections = NULL};
    rc = PLUMB_OK;
out:
    plumb_flame_fini(&flame);
    drop(&l);
    return rc == PLUMB_OK ? rc : plumb_fail(err, rc, "out of memory for the flame graph");
}

void plumb_flame_fini(struct plumb_flame *f)
{
    free(f->sections);
    free(f->boxes);
    *f = (struct plumb_flame){.sections = NULL};
}

/* tree.c: the call tree, ordered and as text. Any thread; no state.
 *
 * The walk keeps its own stack: a report may come from anywhere, and a chain of a million places
 * must not end in a stack overflow. */
#include "report/run/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct place {
    uint32_t parent; /* + 1; 0: outermost */
    uint32_t index;
    double key;
};

struct walk {
    const struct plumb_timing *t;
    const struct plumb_summary_options *o;
    struct place *order; /* siblings together, largest first */
    size_t *first;       /* by parent + 1: where its children begin in `order` */
    size_t *stack;       /* by depth: the next child to visit */
    bool *kept;          /* by index */
    double *children_ns; /* by index: time of the places below it, without async spans */
    double whole_ns;
};

static int by_parent(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static const struct plumb_timing_node *node_of(const struct walk *w, uint32_t index)
{
    return &w->t->nodes[w->t->tree[index].node];
}

static bool is_chosen(const struct plumb_timing_node *node, const struct plumb_summary_options *o)
{
    return (!o->pipeline || strcmp(o->pipeline, node->pipeline) == 0) &&
           (!o->phase || strcmp(o->phase, node->phase) == 0);
}

/* Whether the place lies on level `depth` or deeper, counted from 0. */
static bool is_deeper(const struct plumb_timing *t, size_t i, uint32_t depth)
{
    uint32_t up = t->tree[i].parent;
    for (uint32_t level = 1; up != PLUMB_TIMING_NONE; level++) {
        if (level >= depth)
            return true;
        up = t->tree[up].parent;
    }
    return false;
}

/* Nodes that run inside a chosen node are kept too. */
static void choose(bool *kept, const struct plumb_timing *t, const struct plumb_summary_options *o)
{
    for (size_t i = 0; i < t->tree_count; i++) {
        const struct plumb_timing_tree *place = &t->tree[i];
        const struct plumb_timing_node *node = &t->nodes[place->node];
        bool inside = place->parent != PLUMB_TIMING_NONE && kept[place->parent];
        bool named = !o->node || inside || plumb_pattern_matches(o->node, node->name);
        kept[i] = named && is_chosen(node, o);
    }
}

/* Children come after their parents, so one pass from the end reaches every ancestor. */
double plumb_tree_keep(bool *kept, const struct plumb_timing *t,
                       const struct plumb_summary_options *o, size_t *deeper)
{
    double whole_ns = 0;
    choose(kept, t, o);
    *deeper = 0;
    for (size_t i = t->tree_count; i-- > 0;) {
        const struct plumb_timing_tree *place = &t->tree[i];
        if (kept[i] && place->parent != PLUMB_TIMING_NONE)
            kept[place->parent] = true;
        if (kept[i] && place->parent == PLUMB_TIMING_NONE && !place->async)
            whole_ns += (double)place->total_ns;
        if (kept[i] && o->depth > 0 && is_deeper(t, i, o->depth)) {
            kept[i] = false;
            ++*deeper;
        }
    }
    return whole_ns;
}

/* Percentiles are of a node, not of a place: by P95 is by total. */
static double sort_key(const struct plumb_timing_tree *place, enum plumb_summary_sort sort)
{
    double total = (double)place->total_ns;
    switch (sort) {
    case PLUMB_SUMMARY_SELF:
        return (double)place->self_ns;
    case PLUMB_SUMMARY_MEAN:
        return place->count ? total / (double)place->count : 0;
    default:
        return total;
    }
}

static void order_places(struct walk *w)
{
    size_t n = w->t->tree_count;
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = w->t->tree[i].parent;
        w->order[i] = (struct place){parent == PLUMB_TIMING_NONE ? 0 : parent + 1, (uint32_t)i,
                                     sort_key(&w->t->tree[i], w->o->sort)};
    }
    qsort(w->order, n, sizeof *w->order, by_parent);
    size_t at = 0;
    for (size_t parent = 0; parent <= n; parent++) {
        w->first[parent] = at;
        while (at < n && w->order[at].parent == parent)
            at++;
    }
    w->first[n + 1] = n;
}

static void add_children(struct walk *w)
{
    for (size_t i = 0; i < w->t->tree_count; i++) {
        const struct plumb_timing_tree *place = &w->t->tree[i];
        if (place->parent != PLUMB_TIMING_NONE && !place->async)
            w->children_ns[place->parent] += (double)place->total_ns;
    }
}

static bool is_switched(const struct walk *w, uint32_t index)
{
    uint32_t parent = w->t->tree[index].parent;
    if (parent == PLUMB_TIMING_NONE)
        return false;
    const struct plumb_timing_node *a = node_of(w, index);
    const struct plumb_timing_node *b = node_of(w, parent);
    return strcmp(a->phase, b->phase) != 0 || strcmp(a->pipeline, b->pipeline) != 0;
}

static double share_of_parent(const struct walk *w, const struct plumb_timing_tree *place)
{
    if (place->parent == PLUMB_TIMING_NONE || place->async)
        return 0;
    double around = (double)w->t->tree[place->parent].total_ns;
    return around > 0 ? 100.0 * (double)place->total_ns / around : 0;
}

static void emit(struct plumb_tree_view *view, const struct walk *w, uint32_t index, uint32_t depth)
{
    const struct plumb_timing_tree *place = &w->t->tree[index];
    view->lines[view->count++] = (struct plumb_tree_line){
        .place = place,
        .node = node_of(w, index),
        .depth = depth,
        .percent = w->whole_ns > 0 ? 100.0 * (double)place->total_ns / w->whole_ns : 0,
        .switched = is_switched(w, index),
        .of_parent = share_of_parent(w, place),
        .children =
            place->total_ns > 0 ? 100.0 * w->children_ns[index] / (double)place->total_ns : 0,
    };
}

/* Visits the `top` largest of the siblings at stack[depth]; returns how many are left out when the
 * limit is reached. */
static size_t left_out(const struct walk *w, size_t at, size_t end, size_t visited)
{
    size_t hidden = 0;
    if (w->o->top == 0 || visited < w->o->top)
        return 0;
    for (; at < end; at++)
        hidden += w->kept[w->order[at].index];
    return hidden;
}

static void walk_tree(struct plumb_tree_view *view, struct walk *w, size_t *visited)
{
    uint32_t depth = 0;
    size_t *parent_of = w->stack + w->t->tree_count + 1; /* by depth: parent + 1 */
    w->stack[0] = w->first[0];
    visited[0] = 0;
    parent_of[0] = 0;
    for (;;) {
        size_t end = w->first[parent_of[depth] + 1];
        size_t at = w->stack[depth];
        size_t hidden = left_out(w, at, end, visited[depth]);
        if (hidden > 0)
            view->lines[view->count++] = (struct plumb_tree_line){.depth = depth, .hidden = hidden};
        if (at == end || hidden > 0) {
            if (depth == 0)
                return;
            depth--;
            continue;
        }
        w->stack[depth]++;
        uint32_t index = w->order[at].index;
        if (!w->kept[index])
            continue;
        emit(view, w, index, depth);
        visited[depth]++;
        depth++;
        parent_of[depth] = (size_t)index + 1;
        w->stack[depth] = w->first[parent_of[depth]];
        visited[depth] = 0;
    }
}

static bool several_contexts(const struct plumb_tree_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct plumb_timing_node *node = view->lines[i].node;
        if (node && (strcmp(node->phase, view->lines[0].node->phase) != 0 ||
                     strcmp(node->pipeline, view->lines[0].node->pipeline) != 0))
            return true;
    }
    return false;
}

/* A line of the outermost level: with several contexts each must say which is its own. */
static void mark_roots(struct plumb_tree_view *view)
{
    bool several = several_contexts(view);
    for (size_t i = 0; i < view->count; i++)
        if (view->lines[i].depth == 0 && view->lines[i].node)
            view->lines[i].switched = several;
}

int plumb_tree_init(struct plumb_tree_view *out, const struct plumb_timing *t,
                    const struct plumb_summary_options *o, plumb_error *err)
{
    size_t n = t->tree_count;
    struct walk w = {.t = t, .o = o};
    struct plumb_tree_view view = {.unit = o->unit};
    size_t *visited = calloc(n + 1, sizeof *visited);
    int rc = PLUMB_OK;
    w.order = calloc(n + 1, sizeof *w.order);
    w.first = calloc(n + 2, sizeof *w.first);
    w.stack = calloc(2 * (n + 1), sizeof *w.stack);
    w.kept = calloc(n + 1, sizeof *w.kept);
    w.children_ns = calloc(n + 1, sizeof *w.children_ns);
    view.lines = calloc(2 * n + 1, sizeof *view.lines); /* a "more" line per place at most */
    if (!visited || !w.order || !w.first || !w.stack || !w.kept || !w.children_ns || !view.lines) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the call tree");
        goto out;
    }
    w.whole_ns = plumb_tree_keep(w.kept, t, o, &view.deeper);
    order_places(&w);
    add_children(&w);
    walk_tree(&view, &w, visited);
    mark_roots(&view);
    *out = view;
    view.lines = NULL;
out:
    free(visited);
    free(w.order);
    free(w.first);
    free(w.stack);
    free(w.kept);
    free(w.children_ns);
    free(view.lines);
    return rc;
}

void plumb_tree_fini(struct plumb_tree_view *view)
{
    free(view->lines);
    *view = (struct plumb_tree_view){.lines = NULL};
}

static void put_context(struct plumb_buf *out, const struct plumb_timing_node *node)
{
    plumb_buf_str(out, " [");
    plumb_put_left(out, node->pipeline, 0);
    plumb_buf_str(out, ", ");
    plumb_put_left(out, node->phase, 0);
    plumb_buf_char(out, ']');
}

/* The depth beyond which indentation stays the same. It is more than any real stack of spans has;
 * otherwise a chain from a hostile file would print the square of its length. */
static uint32_t indentation(uint32_t depth)
{
    return 2 * (depth < 256 ? depth : 256);
}

/* Rounding and clocks make a percent or so. A node that lost runs (skipped, failed) has less time
 * than the nodes inside it, which does not mean that there are several threads. */
static const double OVER_PERCENT = 101;

static const char *why_over(const struct plumb_timing_node *node)
{
    return node->skipped || node->failures ? "runs are missing" : "several threads";
}

void plumb_tree_put_over(struct plumb_buf *out, const struct plumb_tree_line *line)
{
    if (line->of_parent > OVER_PERCENT) {
        plumb_buf_str(out, " [");
        plumb_put_fixed(out, line->of_parent, 0, 0);
        plumb_buf_str(out, " % of what is around it]");
    }
    if (line->children > OVER_PERCENT) {
        plumb_buf_str(out, " [children: ");
        plumb_put_fixed(out, line->children, 0, 0);
        plumb_buf_printf(out, " %% of it, %s]", why_over(line->node));
    }
}

struct tree_units {
    const struct plumb_unit *total, *self;
};

static const struct plumb_unit *unit_of(const struct plumb_tree_view *view, bool self)
{
    size_t n = 0;
    const struct plumb_unit *unit;
    double *ns = calloc(view->count + 1, sizeof *ns);
    if (!ns)
        return plumb_unit(PLUMB_TIME_IN_MS);
    for (size_t i = 0; i < view->count; i++)
        if (view->lines[i].place)
            ns[n++] =
                (double)(self ? view->lines[i].place->self_ns : view->lines[i].place->total_ns);
    unit = plumb_unit_for(view->unit, PLUMB_TIME_IN_MS, ns, n);
    free(ns);
    return unit;
}

static void put_line(struct plumb_buf *out, const struct plumb_tree_line *line,
                     const struct tree_units *u)
{
    if (line->hidden > 0) {
        plumb_buf_printf(out, "\n%*s(%zu more)", 43 + (int)indentation(line->depth), "",
                         line->hidden);
        return;
    }
    plumb_buf_char(out, '\n');
    plumb_put_count(out, line->place->count, 9);
    plumb_unit_put(out, u->total, (double)line->place->total_ns, 13);
    plumb_unit_put(out, u->self, (double)line->place->self_ns, 12);
    plumb_put_fixed(out, line->percent, 1, 7);
    plumb_buf_printf(out, "%*s", 2 + (int)indentation(line->depth), "");
    plumb_put_left(out, line->node->name, 0);
    if (line->place->async)
        plumb_buf_str(out, " (async)");
    if (line->switched)
        put_context(out, line->node);
    plumb_tree_put_over(out, line);
}

static void put_heading(struct plumb_buf *out, const char *what, const struct plumb_unit *unit,
                        size_t width)
{
    char title[24];
    snprintf(title, sizeof title, "%s(%s)", what, unit->name);
    plumb_put_right(out, title, width);
}

void plumb_tree_write(const struct plumb_tree_view *view, struct plumb_buf *out)
{
    if (view->count == 0) {
        plumb_buf_str(out, PLUMB_SUMMARY_EMPTY);
        return;
    }
    struct tree_units u = {unit_of(view, false), unit_of(view, true)};
    plumb_buf_str(out, "    Count");
    put_heading(out, "Total", u.total, 13);
    put_heading(out, "Self", u.self, 12);
    plumb_buf_str(out, "      %  Node\n"
                       "-----------------------------------------------------------------------");
    for (size_t i = 0; i < view->count; i++)
        put_line(out, &view->lines[i], &u);
    if (view->deeper > 0)
        plumb_buf_printf(out, "\n(%zu deeper places are not shown: --depth)", view->deeper);
}

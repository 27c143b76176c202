/* Tests of flame.c: where each box lies, which places share one, and which may not lie side by
 * side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "report/run/flame.h"
#include "timing_fixture.h"

#define ROOT PLUMB_TIMING_NONE

/* A report with nodes n0, n1, ... and the places given, whose times are in ms. */
static void tree(struct plumb_timing *t, const struct plumb_timing_tree *places, size_t n)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
    plumb_timing_init(t);
    fixture_text(t);
    fixture_nodes(t, 8);
    for (size_t i = 0; i < 8; i++)
        t->nodes[i].name = names[i];
    t->tree = plumb_arena_alloc(&t->arena, (n + 1) * sizeof *t->tree);
    t->tree_count = n;
    for (size_t i = 0; i < n; i++) {
        t->tree[i] = places[i];
        t->tree[i].total_ns *= FIXTURE_MS;
        t->tree[i].self_ns *= FIXTURE_MS;
    }
}

/* Invariants of every tree: boxes lie inside their section and inside a box one level up, and do
 * not cover each other; the counts agree. */
static void check(const struct plumb_flame *f, const struct plumb_timing *t)
{
    size_t merged = 0;
    size_t shown = 0;
    size_t next = 0;
    for (size_t i = 0; i < f->section_count; i++) {
        const struct plumb_flame_section *s = &f->sections[i];
        assert_int_equal(s->first, next);
        assert_true(s->width_ns > 0 && s->levels > 0);
        next += s->count;
        for (size_t k = s->first; k < next; k++) {
            const struct plumb_flame_box *b = &f->boxes[k];
            double end_ns = b->begin_ns + b->width_ns;
            bool inside = b->level == 0;
            assert_true(b->begin_ns >= 0 && b->width_ns >= 0);
            assert_true(end_ns <= s->width_ns * (1 + 1e-12));
            assert_true(b->level < s->levels);
            assert_int_equal(b->place == NULL, b->merged > 0);
            merged += b->merged;
            shown += b->place != NULL;
            for (size_t j = s->first; j < next; j++) {
                const struct plumb_flame_box *o = &f->boxes[j];
                double other_ns = o->begin_ns + o->width_ns;
                inside |= o->level + 1 == b->level && o->begin_ns <= b->begin_ns + 1e-3 &&
                          other_ns >= end_ns - 1e-3;
                if (j != k && o->level == b->level)
                    assert_true(other_ns <= b->begin_ns + 1e-3 || o->begin_ns >= end_ns - 1e-3);
            }
            assert_true(inside);
        }
    }
    assert_int_equal(next, f->box_count);
    assert_int_equal(merged, f->merged);
    assert_true(shown + merged + f->empty + f->left_out <= t->tree_count);
}

static struct plumb_flame laid_out(const struct plumb_timing *t, struct plumb_flame_options o)
{
    struct plumb_flame f;
    if (o.limit == 0)
        o.limit = PLUMB_FLAME_LIMIT;
    assert_int_equal(plumb_flame_init(&f, t, &o, NULL), PLUMB_OK);
    check(&f, t);
    return f;
}

static const struct plumb_flame_box *box_of(const struct plumb_flame *f, const char *name)
{
    for (size_t i = 0; i < f->box_count; i++)
        if (f->boxes[i].node && strcmp(f->boxes[i].node->name, name) == 0)
            return &f->boxes[i];
    fail_msg("no box of %s", name);
    return NULL;
}

static enum plumb_flame_kind lane_of(const struct plumb_flame *f, const struct plumb_flame_box *b)
{
    for (size_t i = 0; i < f->section_count; i++)
        if (b >= f->boxes + f->sections[i].first &&
            b < f->boxes + f->sections[i].first + f->sections[i].count)
            return f->sections[i].kind;
    return PLUMB_FLAME_NESTED;
}

static void children_lie_in_order_from_the_left(void **state)
{
    static const struct plumb_timing_tree places[] = {
        {ROOT, 0, 1, 100, 30, false}, {0, 1, 5, 20, 20, false}, {ROOT, 2, 1, 50, 50, false},
        {0, 3, 1, 50, 10, false},     {3, 4, 1, 40, 40, false},
    };
    struct plumb_timing t;
    (void)state;
    tree(&t, places, 5);
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
    assert_int_equal(f.section_count, 1);
    assert_int_equal(f.sections[0].levels, 3);
    assert_float_equal(f.sections[0].width_ns, 150e6, 1e-3);
    assert_float_equal(f.whole_ns, 150e6, 1e-3);
    assert_float_equal(box_of(&f, "n1")->begin_ns, 0, 1e-3);
    assert_float_equal(box_of(&f, "n3")->begin_ns, 20e6, 1e-3);
    assert_float_equal(box_of(&f, "n2")->begin_ns, 100e6, 1e-3);
    assert_float_equal(box_of(&f, "n4")->begin_ns, 20e6, 1e-3);
    assert_float_equal(box_of(&f, "n4")->width_ns, 40e6, 1e-3);
    assert_float_equal(box_of(&f, "n4")->root_ns, 100e6, 1e-3);
    assert_int_equal(f.merged + f.squeezed + f.empty, 0);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void what_ran_on_other_threads_lies_apart(void **state)
{
    /* n0 covers 10 of its 100: n1 runs in these. n2 ran on four workers at the same time, n4 is
     * async. */
    static const struct plumb_timing_tree places[] = {
        {ROOT, 0, 1, 100, 90, false}, {0, 2, 8, 8, 2, false},     {0, 1, 1, 10, 10, false},
        {1, 3, 8, 6, 6, false},       {ROOT, 4, 3, 500, 0, true},
    };
    struct plumb_timing t;
    (void)state;
    tree(&t, places, 5);
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
    assert_int_equal(f.section_count, 3);
    assert_int_equal(lane_of(&f, box_of(&f, "n0")), PLUMB_FLAME_NESTED);
    assert_int_equal(lane_of(&f, box_of(&f, "n1")), PLUMB_FLAME_NESTED);
    assert_int_equal(lane_of(&f, box_of(&f, "n2")), PLUMB_FLAME_APART);
    assert_int_equal(lane_of(&f, box_of(&f, "n3")), PLUMB_FLAME_APART);
    assert_int_equal(lane_of(&f, box_of(&f, "n4")), PLUMB_FLAME_ASYNC);
    assert_string_equal(box_of(&f, "n2")->below->name, "n0");
    assert_int_equal(box_of(&f, "n3")->level, 1);
    assert_float_equal(f.whole_ns, 100e6, 1e-3);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void several_that_do_not_fit_lie_apart(void **state)
{
    static const struct plumb_timing_tree places[] = {
        {ROOT, 0, 1, 100, 60, false},
        {0, 1, 1, 40, 40, false},
        {0, 2, 1, 300, 300, false},
        {0, 3, 1, 200, 200, false},
    };
    struct plumb_timing t;
    (void)state;
    tree(&t, places, 4);
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
    assert_int_equal(lane_of(&f, box_of(&f, "n1")), PLUMB_FLAME_NESTED);
    assert_int_equal(lane_of(&f, box_of(&f, "n2")), PLUMB_FLAME_APART);
    assert_int_equal(lane_of(&f, box_of(&f, "n3")), PLUMB_FLAME_APART);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void a_parent_that_lost_samples_keeps_its_children(void **state)
{
    static const struct plumb_timing_tree places[] = {
        {ROOT, 0, 97, 97, 1, false}, {0, 1, 100, 100, 50, false}, {1, 2, 100, 50, 50, false},
        {ROOT, 3, 0, 0, 0, false},   {3, 4, 5, 20, 20, false},
    };
    struct plumb_timing t;
    (void)state;
    tree(&t, places, 5);
    t.nodes[0].skipped = 3;
    t.nodes[3].skipped = 3;
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
    assert_int_equal(f.section_count, 1);
    assert_true(box_of(&f, "n1")->squeezed);
    assert_float_equal(box_of(&f, "n1")->width_ns, 97e6, 1e-3);
    assert_float_equal(box_of(&f, "n2")->width_ns, 48.5e6, 1e-3);
    assert_float_equal(box_of(&f, "n2")->total_ns, 50e6, 1e-3);
    assert_int_equal(f.squeezed, 2);
    assert_int_equal(f.empty, 1);
    assert_int_equal(box_of(&f, "n4")->level, 0);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void phases_and_pipelines_have_rows_of_their_own(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
    assert_int_equal(f.section_count, 2);
    assert_string_equal(f.sections[0].pipeline, "prog");
    assert_string_equal(f.sections[1].pipeline, "audio");
    assert_int_equal(f.sections[1].kind, PLUMB_FLAME_ASYNC);
    plumb_flame_fini(&f);
    f = laid_out(&t, (struct plumb_flame_options){.summary.pipeline = "audio"});
    assert_int_equal(f.section_count, 1);
    assert_int_equal(f.box_count, 1);
    plumb_flame_fini(&f);
    f = laid_out(&t, (struct plumb_flame_options){.summary.phase = "val"});
    assert_int_equal(f.section_count, 0);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void top_merges_the_smaller_siblings(void **state)
{
    static const struct plumb_timing_tree places[] = {
        {ROOT, 0, 1, 100, 0, false}, {0, 1, 1, 10, 10, false}, {0, 2, 1, 60, 60, false},
        {0, 3, 1, 30, 0, false},     {3, 4, 1, 30, 30, false}, {ROOT, 5, 1, 5, 5, false},
    };
    struct plumb_timing t;
    (void)state;
    tree(&t, places, 6);
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.summary.top = 1});
    assert_int_equal(f.box_count, 4);
    assert_int_equal(f.merged, 4);
    const struct plumb_flame_box *rest = &f.boxes[2];
    assert_null(rest->place);
    assert_int_equal(rest->merged, 3);
    assert_float_equal(rest->begin_ns, 60e6, 1e-3);
    assert_float_equal(rest->total_ns, 40e6, 1e-3);
    assert_int_equal(f.boxes[3].level, 0);
    assert_float_equal(f.boxes[3].begin_ns, 100e6, 1e-3);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void narrow_places_share_a_box(void **state)
{
    static const struct plumb_timing_tree places[] = {
        {ROOT, 0, 1, 1000, 990, false},
        {0, 1, 1, 4, 4, false},
        {0, 2, 1, 6, 6, false},
    };
    struct plumb_timing t;
    (void)state;
    tree(&t, places, 3);
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0.005});
    assert_int_equal(f.box_count, 3);
    assert_int_equal(f.boxes[2].merged, 1);
    assert_float_equal(f.boxes[2].begin_ns, 6e6, 1e-3);
    plumb_flame_fini(&f);
    f = laid_out(&t, (struct plumb_flame_options){.min_share = 0.5});
    assert_int_equal(f.box_count, 2);
    assert_float_equal(f.boxes[1].width_ns, 10e6, 1e-3);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

/* Any shape, made by a generator of its own, so that it is the same everywhere. */
static void random_tree(struct plumb_timing *t, size_t n, uint64_t seed)
{
    tree(t, NULL, 0);
    t->tree = plumb_arena_alloc(&t->arena, n * sizeof *t->tree);
    t->tree_count = n;
    for (size_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t r = seed >> 20;
        uint32_t parent = i < 3 || r % 50 == 0 ? ROOT : (uint32_t)(r / 50 % i);
        uint64_t total = r % 7 == 0 ? 0 : r % 1000003;
        t->tree[i] =
            (struct plumb_timing_tree){parent, (uint32_t)(r % 8), 1, total, total / 3, r % 31 == 0};
    }
    t->nodes[1].phase = "val";
    t->nodes[2].skipped = 3;
}

static void any_tree_keeps_its_children_inside_their_parents(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct plumb_timing t;
        random_tree(&t, 300, seed);
        struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
        assert_int_equal(f.merged, 0);
        plumb_flame_fini(&f);
        f = laid_out(&t, (struct plumb_flame_options){.min_share = 0.01, .summary.top = 3});
        plumb_flame_fini(&f);
        f = laid_out(&t, (struct plumb_flame_options){.limit = 60});
        assert_true(f.over_limit);
        assert_true(f.box_count <= 60);
        plumb_flame_fini(&f);
        plumb_timing_fini(&t);
    }
}

static void a_deep_tree_takes_no_stack_and_a_wide_one_stays_below_the_limit(void **state)
{
    enum { MANY = 100000 };
    struct plumb_timing t;
    struct plumb_flame f;
    struct plumb_flame_options o = {.limit = PLUMB_FLAME_LIMIT};
    (void)state;
    tree(&t, NULL, 0);
    t.tree = plumb_arena_alloc(&t.arena, MANY * sizeof *t.tree);
    t.tree_count = MANY;
    for (uint32_t i = 0; i < MANY; i++)
        t.tree[i] = (struct plumb_timing_tree){i ? i - 1 : ROOT, 0, 1, 9, 0, false};
    assert_int_equal(plumb_flame_init(&f, &t, &o, NULL), PLUMB_OK);
    assert_int_equal(f.box_count, PLUMB_FLAME_LEVELS + 1);
    assert_int_equal(f.merged, MANY - PLUMB_FLAME_LEVELS);
    plumb_flame_fini(&f);
    for (uint32_t i = 0; i < MANY; i++)
        t.tree[i] = (struct plumb_timing_tree){ROOT, 0, 1, UINT64_MAX - i % 2, 0, false};
    assert_int_equal(plumb_flame_init(&f, &t, &o, NULL), PLUMB_OK);
    assert_true(f.over_limit);
    assert_in_range(f.box_count, 1000, PLUMB_FLAME_LIMIT);
    assert_int_equal(f.merged + f.box_count - 1, MANY);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void many_phases_are_counted_and_not_drawn(void **state)
{
    enum { PHASES = 1000 };
    static char names[PHASES][8];
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    fixture_text(&t);
    fixture_nodes(&t, PHASES);
    t.tree = plumb_arena_alloc(&t.arena, PHASES * sizeof *t.tree);
    t.tree_count = PHASES;
    for (uint32_t i = 0; i < PHASES; i++) {
        snprintf(names[i], sizeof names[i], "%u", (unsigned)i);
        t.nodes[i].phase = names[i];
        t.nodes[i].name = "node";
        t.tree[i] = (struct plumb_timing_tree){ROOT, i, 1, 5, 5, false};
    }
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
    assert_int_equal(f.section_count, PLUMB_FLAME_SECTIONS);
    assert_int_equal(f.left_out, PHASES - PLUMB_FLAME_SECTIONS);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

static void an_empty_tree_is_an_empty_layout(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    struct plumb_flame f = laid_out(&t, (struct plumb_flame_options){.min_share = 0});
    assert_int_equal(f.section_count, 0);
    assert_int_equal(f.box_count, 0);
    plumb_flame_fini(&f);
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_lie_in_order_from_the_left),
        cmocka_unit_test(what_ran_on_other_threads_lies_apart),
        cmocka_unit_test(several_that_do_not_fit_lie_apart),
        cmocka_unit_test(a_parent_that_lost_samples_keeps_its_children),
        cmocka_unit_test(phases_and_pipelines_have_rows_of_their_own),
        cmocka_unit_test(top_merges_the_smaller_siblings),
        cmocka_unit_test(narrow_places_share_a_box),
        cmocka_unit_test(any_tree_keeps_its_children_inside_their_parents),
        cmocka_unit_test(a_deep_tree_takes_no_stack_and_a_wide_one_stays_below_the_limit),
        cmocka_unit_test(many_phases_are_counted_and_not_drawn),
        cmocka_unit_test(an_empty_tree_is_an_empty_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

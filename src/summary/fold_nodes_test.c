/* Tests of folding: which names fold, that figures add up, and that the tree follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "hash_alike.h"
#include "summary/fold_nodes.h"
#include "timing_fixture.h"

/* Nodes with one run each, of 1 ms, 2 ms, ... */
static void make(struct plumb_timing *t, const char *const *names, size_t n)
{
    static const uint64_t once[] = {1};
    plumb_timing_init(t);
    fixture_text(t);
    struct plumb_timing_node *nodes = fixture_nodes(t, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t ns = (i + 1) * FIXTURE_MS;
        nodes[i].name = names[i];
        fixture_samples(t, &nodes[i].host, &ns, once, 1);
        fixture_outermost(&nodes[i]);
    }
}

static void fold(struct plumb_fold *f, const struct plumb_timing *t)
{
    plumb_error err = {0, ""};
    if (plumb_fold_init(f, t, &err) < 0)
        fail_msg("%s", err.message);
}

/* The names of the folded rows, each with a blank after it. */
static void folds_to(const char *const *names, size_t n, const char *want)
{
    struct plumb_timing t;
    struct plumb_fold f;
    char got[512] = "";
    size_t used = 0;
    make(&t, names, n);
    fold(&f, &t);
    for (size_t i = 0; i < f.timing.node_count; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s ", f.timing.nodes[i].name);
    assert_string_equal(got, want);
    plumb_fold_fini(&f);
    plumb_timing_fini(&t);
}

static void numbers_of_layers_fold_and_those_of_operations_do_not(void **state)
{
    static const char *const layers[] = {"layer.0", "layer.1", "layer.0.attn", "layer.1.attn",
                                         "embed"};
    static const char *const glued[] = {"block0.fc1", "block0.fc2", "block1.fc1", "block1.fc2",
                                        "block2.fc1", "block2.fc2", "block3.fc1", "block3.fc2"};
    static const char *const heads[] = {"l.0.h.0", "l.0.h.1", "l.1.h.0", "l.1.h.1", "x[0]", "x[1]"};
    static const char *const others[] = {"conv1d", "conv2d", "conv3d", "conv4d", "fp16",
                                         "fp32",   "fc1",    "fc2",    "norm.1"};
    (void)state;
    folds_to(layers, 5, "layer.* layer.*.attn embed ");
    folds_to(glued, 8, "block*.fc1 block*.fc2 ");
    folds_to(heads, 6, "l.*.h.* x[*] ");
    folds_to(others, 9, "conv1d conv2d conv3d conv4d fp16 fp32 fc1 fc2 norm.1 ");
}

static void names_that_hash_alike_do_not_fold_together(void **state)
{
    static const char *const two[] = {ALIKE_A ".0", ALIKE_B ".1"};
    static const char *const three[] = {ALIKE_A ".0", ALIKE_B ".0", ALIKE_B ".1"};
    (void)state;
    folds_to(two, 2, ALIKE_A ".0 " ALIKE_B ".1 ");
    folds_to(three, 3, ALIKE_A ".0 " ALIKE_B ".* ");
}

static void figures_add_up_within_a_pipeline_and_phase(void **state)
{
    static const char *const names[] = {"l.0", "l.1", "l.2", "l.3"};
    struct plumb_timing t;
    struct plumb_fold f;
    (void)state;
    make(&t, names, 4);
    t.nodes[3].phase = "val";
    fold(&f, &t);
    assert_int_equal(f.timing.node_count, 2);
    const struct plumb_timing_node *l = &f.timing.nodes[0];
    assert_int_equal(l->host.ns.count, 3);
    assert_int_equal(l->host.ns.total, 6 * FIXTURE_MS);
    assert_int_equal(l->host.ns.min, FIXTURE_MS);
    assert_int_equal(l->host.ns.max, 3 * FIXTURE_MS);
    assert_int_equal(l->self_ns, 6 * FIXTURE_MS);
    assert_int_equal(l->outermost_count, 3);
    assert_float_equal(l->host.median_ns, 2 * FIXTURE_MS, 0);
    assert_string_equal(f.timing.nodes[1].phase, "val");
    assert_string_equal(t.nodes[0].name, "l.0"); /* the run stays as it was */
    assert_int_equal(t.nodes[0].host.ns.count, 1);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.groups[0].members, 3);
    assert_string_equal(f.groups[0].least->name, "l.0");
    assert_string_equal(f.groups[0].most->name, "l.2");
    plumb_fold_fini(&f);
    plumb_timing_fini(&t);
}

static void places_fold_below_the_same_parents_only(void **state)
{
    static const char *const names[] = {"top", "l.0", "l.1", "op"};
    struct plumb_timing t;
    struct plumb_fold f;
    (void)state;
    make(&t, names, 4);
    struct plumb_timing_tree tree[] = {
        {PLUMB_TIMING_NONE, 0, 1, 100, 10, false}, /* top */
        {0, 1, 1, 40, 30, false},                  /* top > l.0 */
        {0, 2, 1, 50, 30, false},                  /* top > l.1 */
        {1, 3, 2, 10, 10, false},                  /* top > l.0 > op */
        {2, 3, 3, 20, 20, false},                  /* top > l.1 > op */
        {0, 3, 1, 1, 1, false},                    /* top > op */
        {0, 1, 1, 7, 0, true},                     /* top > l.0, async */
    };
    t.tree = tree;
    t.tree_count = sizeof tree / sizeof *tree;
    fold(&f, &t);
    assert_int_equal(f.timing.tree_count, 5);
    const struct plumb_timing_tree *layers = &f.timing.tree[1];
    const struct plumb_timing_tree *op = &f.timing.tree[2];
    assert_int_equal(layers->total_ns, 90);
    assert_int_equal(layers->self_ns, 60);
    assert_int_equal(op->parent, 1);
    assert_int_equal(op->count, 5);
    assert_int_equal(op->total_ns, 30);
    assert_int_equal(f.timing.tree[3].total_ns, 1);
    assert_true(f.timing.tree[4].async);
    plumb_fold_fini(&f);
    plumb_timing_fini(&t);
}

static void what_was_folded_is_said_the_largest_first_to_go(void **state)
{
    static const char *const names[] = {"a.0", "a.1", "b.0", "b.1"};
    struct plumb_timing t;
    struct plumb_fold f;
    struct plumb_buf out = {0};
    (void)state;
    make(&t, names, 4);
    fold(&f, &t);
    plumb_fold_put(&out, &f, NULL, NULL, 1);
    assert_string_equal(out.data, "\nFolded: b.* is 2 nodes, means 3.00 ms (b.0) to 4.00 ms (b.1)"
                                  "\nFolded: 4 nodes are shown as 2 (1 not listed); plumb report "
                                  "--fold=off shows each");
    plumb_buf_fini(&out);
    plumb_buf_str(&out, "");
    plumb_fold_put(&out, &f, NULL, "train", 9);
    assert_string_equal(out.data, "");
    plumb_buf_fini(&out);
    plumb_fold_fini(&f);
    plumb_timing_fini(&t);
}

static void a_report_without_anything_folds(void **state)
{
    struct plumb_timing t;
    struct plumb_fold f;
    (void)state;
    make(&t, NULL, 0);
    fold(&f, &t);
    assert_int_equal(f.timing.node_count, 0);
    plumb_fold_fini(&f);
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_layers_fold_and_those_of_operations_do_not),
        cmocka_unit_test(names_that_hash_alike_do_not_fold_together),
        cmocka_unit_test(figures_add_up_within_a_pipeline_and_phase),
        cmocka_unit_test(places_fold_below_the_same_parents_only),
        cmocka_unit_test(what_was_folded_is_said_the_largest_first_to_go),
        cmocka_unit_test(a_report_without_anything_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

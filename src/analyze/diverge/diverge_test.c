/* labels: notsan
 * timeout: 240
 * Tests of the first divergence: runs of a small model that two engines record, with faults planted
 * at known places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/diverge/diverge.h"
#include "diverge_fixture.h"

struct pair {
    struct fixture_run a, b;
    struct plumb_diverge d;
};

static void compare_with(struct pair *p, const struct fixture *a, const struct fixture *b,
                         const struct plumb_rename *rename)
{
    plumb_error err = {0, ""};
    struct plumb_diverge_options options = {.relative = -1, .absolute = -1, .rename = rename};
    fixture_run(&p->a, a);
    fixture_run(&p->b, b);
    plumb_diverge_init(&p->d, &p->a.table, &p->b.table, &options);
    if (plumb_diverge_run(&p->d, &err) < 0)
        fail_msg("%s", err.message);
}

static void compare(struct pair *p, const struct fixture *a, const struct fixture *b)
{
    compare_with(p, a, b, NULL);
}

static void end(struct pair *p)
{
    plumb_diverge_fini(&p->d);
    fixture_end(&p->a);
    fixture_end(&p->b);
}

/* Pairs whose records are not the same operation. */
static size_t wrong_pairs(const struct pair *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->a.table.count; i++) {
        uint32_t b = p->d.sides[PLUMB_DIVERGE_A].partner[i];
        n += b != PLUMB_DIVERGE_NONE && p->a.truth[i] != p->b.truth[b];
    }
    return n;
}

static int culprit_of(const struct pair *p)
{
    return p->d.culprit.a == PLUMB_DIVERGE_NONE ? -2 : p->a.truth[p->d.culprit.a];
}

static int64_t step_of(const struct fixture_run *run, uint32_t record)
{
    return run->table.step ? run->table.step[record] : 0;
}

/* Whether the operation is what the frontier leaves: after what agrees, up to what does not. */
static bool frontier_has(const struct pair *p, int truth, int step)
{
    const struct plumb_diverge_culprit *c = &p->d.culprit;
    uint32_t end = c->kind == PLUMB_DIVERGE_LOST && c->sure != PLUMB_DIVERGE_NONE ? c->sure : c->a;
    if (c->a == PLUMB_DIVERGE_NONE)
        return false;
    for (uint32_t i = c->input == PLUMB_DIVERGE_NONE ? 0 : c->input + 1; i <= end; i++)
        if (p->a.truth[i] % 100000 == truth && step_of(&p->a, i) == step)
            return true;
    return false;
}

static int place(int block, enum fixture_op op)
{
    return block * OP_COUNT + (int)op;
}

static void two_equal_runs_are_the_same(void **state)
{
    struct pair p;
    struct fixture f = fixture_default();
    (void)state;
    compare(&p, &f, &f);
    assert_int_equal(p.d.culprit.kind, PLUMB_DIVERGE_SAME);
    assert_int_equal(p.d.by_how[PLUMB_HOW_NAME], 313);
    assert_int_equal(p.d.by_verdict[PLUMB_SAID_EQUAL], 313);
    end(&p);
}

static void renamed_fused_and_reordered_runs_are_aligned_without_a_guess(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b = fixture_engine_b(a);
    (void)state;
    compare(&p, &a, &b);
    assert_int_equal(p.a.table.count, 313);
    assert_int_equal(p.b.table.count, 247);
    assert_int_equal(p.d.culprit.kind, PLUMB_DIVERGE_SAME);
    assert_int_equal(wrong_pairs(&p), 0);
    assert_int_equal(p.d.sides[PLUMB_DIVERGE_B].unmatched, 0);
    assert_int_equal(p.d.sides[PLUMB_DIVERGE_A].unmatched, 313 - 247);
    end(&p);
}

static void a_perturbed_operation_is_named_across_engines(void **state)
{
    struct fixture a = fixture_default();
    int exact = 0;
    int cases = 0;
    (void)state;
    for (int i = 0; i < FIXTURE_BLOCKS * OP_COUNT; i += 7) {
        struct pair p;
        struct fixture b = fixture_engine_b(a);
        b.fault = FAULT_SCALE;
        b.fault_size = 1e-3;
        b.fault_block = i / OP_COUNT;
        b.fault_op = (enum fixture_op)(i % OP_COUNT);
        if (!fixture_records(&b, b.fault_block, b.fault_op))
            continue;
        compare(&p, &a, &b);
        if (!frontier_has(&p, i, 0))
            fail_msg("%d named %d, kind %d, after %d", i, culprit_of(&p), p.d.culprit.kind,
                     p.d.culprit.input == UINT32_MAX ? -9 : p.a.truth[p.d.culprit.input]);
        exact += culprit_of(&p) == i;
        cases++;
        end(&p);
    }
    assert_true(exact >= cases - 1); /* nothing in the first block teaches its kinds */
}

static void nan_is_blamed_where_it_was_born(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b;
    (void)state;
    a.blocks = 6;
    a.steps = 10;
    b = a;
    b.fault = FAULT_NAN;
    b.fault_block = 2;
    b.fault_op = OP_ATTN;
    b.fault_step = 7;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.kind, PLUMB_DIVERGE_JUMP);
    assert_int_equal(culprit_of(&p), place(2, OP_ATTN));
    assert_int_equal(step_of(&p.a, p.d.culprit.a), 7);
    assert_int_equal(p.d.cells[p.d.culprit.a].verdict, PLUMB_SAID_NAN);
    end(&p);
}

static void another_type_passes_and_a_fault_in_it_does_not(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b;
    (void)state;
    a.blocks = 6;
    a.steps = 2;
    b = a;
    b.bf16 = true;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.kind, PLUMB_DIVERGE_SAME);
    end(&p);
    b.fault = FAULT_SCALE;
    b.fault_size = 0.05;
    b.fault_block = 3;
    b.fault_op = OP_FC2;
    b.fault_step = 1;
    compare(&p, &a, &b);
    assert_int_equal(culprit_of(&p), place(3, OP_FC2));
    end(&p);
}

static void a_transposed_layout_is_no_difference(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b;
    (void)state;
    a.hashes = true;
    b = fixture_engine_b(a);
    b.transposed = true;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.kind, PLUMB_DIVERGE_SAME);
    assert_int_equal(p.d.by_verdict[PLUMB_SAID_LAYOUT], 247);
    end(&p);
}

static void swapped_heads_are_blamed_and_not_what_consumed_them(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b;
    (void)state;
    a.hashes = true;
    b = a;
    b.fault = FAULT_SHUFFLE;
    b.fault_block = 4;
    b.fault_op = OP_ATTN;
    compare(&p, &a, &b);
    assert_int_equal(culprit_of(&p), place(4, OP_ATTN));
    assert_int_equal(p.d.cells[p.d.culprit.a].verdict, PLUMB_SAID_SHUFFLED);
    end(&p);
    a.inputs = b.inputs = true;
    compare(&p, &a, &b);
    assert_int_equal(culprit_of(&p), place(4, OP_ATTN));
    end(&p);
}

static void other_inputs_are_told_from_a_fault(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b = a;
    (void)state;
    b.input_seed = 99;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.kind, PLUMB_DIVERGE_START);
    end(&p);
}

static void other_weights_are_no_slow_drift(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b = a;
    (void)state;
    b.weights_seed = 8;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.kind, PLUMB_DIVERGE_JUMP);
    assert_int_equal(culprit_of(&p), place(0, OP_NORM1));
    end(&p);
}

static void what_was_consumed_is_told_from_what_is_unknown(void **state)
{
    struct pair p;
    struct fixture a = fixture_default();
    struct fixture b;
    (void)state;
    a.blocks = 4;
    b = a;
    b.fault = FAULT_OFFSET;
    b.fault_size = 0.01;
    b.fault_block = 1;
    b.fault_op = OP_ADD1;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.inputs, PLUMB_INPUTS_UNKNOWN);
    assert_int_equal(p.a.truth[p.d.culprit.input], place(1, OP_PROJ));
    end(&p);
    a.inputs = b.inputs = true;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.inputs, PLUMB_INPUTS_RECORDED);
    assert_int_equal(culprit_of(&p), place(1, OP_ADD1));
    end(&p);
    a.hashes = b.hashes = true;
    b.inputs = false;
    compare(&p, &a, &b);
    assert_int_equal(p.d.culprit.inputs, PLUMB_INPUTS_BY_HASH);
    assert_int_equal(culprit_of(&p), place(1, OP_ADD1));
    end(&p);
}

static void a_thousand_permutations_give_no_false_culprit(void **state)
{
    uint64_t seed = 20260101;
    size_t wrong = 0;
    size_t alarms = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct pair p;
        struct fixture a;
        struct fixture b;
        fixture_random(&seed, &a, &b);
        compare(&p, &a, &b);
        wrong += wrong_pairs(&p);
        alarms += p.d.culprit.kind != PLUMB_DIVERGE_SAME;
        if (p.d.culprit.kind != PLUMB_DIVERGE_SAME)
            print_message("case %d: kind %d at %d\n", i, p.d.culprit.kind, culprit_of(&p));
        end(&p);
    }
    assert_int_equal(alarms, 0);
    assert_int_equal(wrong, 0);
}

static void a_random_fault_is_named_in_every_case(void **state)
{
    uint64_t seed = 4711;
    size_t right = 0;
    size_t exact = 0;
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct pair p;
        struct fixture a;
        struct fixture b;
        fixture_random(&seed, &a, &b);
        fixture_random_fault(&seed, &b);
        compare(&p, &a, &b);
        int said = culprit_of(&p) % 100000;
        bool step =
            p.d.culprit.a != PLUMB_DIVERGE_NONE && step_of(&p.a, p.d.culprit.a) == b.fault_step;
        exact += said == fixture_expected(&b) && step;
        if (frontier_has(&p, fixture_expected(&b), b.fault_step))
            right++;
        else
            print_message("case %d: fault %d in %d step %d, named %d, kind %d (renamed %d fused %d "
                          "reordered %d inputs %d hashes %d)\n",
                          i, b.fault, fixture_expected(&b), b.fault_step, said, p.d.culprit.kind,
                          b.renamed, b.fused, b.reordered, b.inputs, b.hashes);
        end(&p);
    }
    assert_int_equal(right, 400);
    assert_true(exact >= 390);
}

static void a_pair_of_two_types_may_differ_by_four_times_what_the_coarser_one_may(void **state)
{
    (void)state;
    double f32 = plumb_rounding_of("float32");
    double bf16 = plumb_rounding_of("torch.bfloat16");
    assert_true(plumb_tolerance_of(f32, f32, -1, -1).relative == 1e-4);
    assert_true(plumb_tolerance_of(bf16, bf16, -1, -1).relative == 5e-3);
    assert_true(plumb_tolerance_of(f32, bf16, -1, -1).relative == 2e-2);
    assert_true(plumb_tolerance_of(bf16, f32, -1, -1).relative == 2e-2);
    assert_true(plumb_tolerance_of(f32, bf16, 3e-3, -1).relative == 3e-3);
    assert_true(plumb_tolerance_of(bf16, plumb_rounding_of(""), -1, -1).relative == 5e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_equal_runs_are_the_same),
        cmocka_unit_test(renamed_fused_and_reordered_runs_are_aligned_without_a_guess),
        cmocka_unit_test(a_perturbed_operation_is_named_across_engines),
        cmocka_unit_test(nan_is_blamed_where_it_was_born),
        cmocka_unit_test(another_type_passes_and_a_fault_in_it_does_not),
        cmocka_unit_test(a_transposed_layout_is_no_difference),
        cmocka_unit_test(swapped_heads_are_blamed_and_not_what_consumed_them),
        cmocka_unit_test(other_inputs_are_told_from_a_fault),
        cmocka_unit_test(other_weights_are_no_slow_drift),
        cmocka_unit_test(what_was_consumed_is_told_from_what_is_unknown),
        cmocka_unit_test(a_thousand_permutations_give_no_false_culprit),
        cmocka_unit_test(a_random_fault_is_named_in_every_case),
        cmocka_unit_test(a_pair_of_two_types_may_differ_by_four_times_what_the_coarser_one_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

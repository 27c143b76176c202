/* Tests of rules applied to values: what is selected, what is exact, and that nothing passes that
 * cannot be known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/gate/gate.h"

struct fixture {
    struct plumb_gate_rules rules;
    struct plumb_gate_case gate;
};

static void start(struct fixture *f, const char *rules)
{
    plumb_error err = {0, ""};
    if (plumb_gate_rules_parse(&f->rules, rules, strlen(rules), "g", &err) < 0)
        fail_msg("%s", err.message);
    plumb_gate_init(&f->gate, &f->rules);
}

static struct plumb_gate_source *result(struct fixture *f, enum plumb_gate_side side)
{
    struct plumb_gate_source *s = plumb_gate_add(&f->gate, side, side ? "new" : "old");
    assert_non_null(s);
    return s;
}

static struct plumb_gate_value *put(struct fixture *f, struct plumb_gate_source *s,
                                    const char *metric, const char *node, int64_t exact)
{
    struct plumb_gate_value *v = plumb_gate_put(&f->gate, s, metric);
    assert_non_null(v);
    v->node = node;
    v->of_run = !node[0];
    v->exact = exact;
    return v;
}

static const struct plumb_gate_check *evaluate(struct fixture *f, size_t checks)
{
    plumb_error err = {0, ""};
    assert_int_equal(plumb_gate_evaluate(&f->gate, &err), PLUMB_OK);
    assert_int_equal(f->gate.count, checks);
    return f->gate.checks;
}

static void end(struct fixture *f)
{
    plumb_gate_fini(&f->gate);
    plumb_gate_rules_fini(&f->rules);
}

static void one_extra_dispatch_is_a_regression_that_names_its_node(void **state)
{
    struct fixture f;
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        start(&f, "[fused]\nmetric = dispatches\nnode = chain\nper = call\nlimit = == 1\n");
        struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_NEW);
        put(&f, s, "runs", "chain", 1000000);
        put(&f, s, "dispatches", "chain", 999999)->name = "sos_forward";
        put(&f, s, "dispatches", "chain", 1 + extra)->name = "delay_forward";
        put(&f, s, "dispatches", "other", 77);
        const struct plumb_gate_check *c = evaluate(&f, 1);
        assert_int_equal(c->verdict, extra ? PLUMB_GATE_REGRESSION : PLUMB_GATE_PASS);
        assert_string_equal(c->node, "chain");
        assert_float_equal(c->new_value, 1000000 + extra, 0);
        assert_int_equal(plumb_gate_verdict(&f.gate),
                         extra ? PLUMB_GATE_REGRESSION : PLUMB_GATE_PASS);
        end(&f);
    }
}

static void large_counts_are_compared_to_the_last_unit(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[a]\nmetric=instructions\nnode=x\nlimit=<= old\n"
              "[b]\nmetric=instructions\nnode=x\nlimit=<= 9007199254740992\n");
    put(&f, result(&f, PLUMB_GATE_SIDE_OLD), "instructions", "x", INT64_C(9007199254740992));
    put(&f, result(&f, PLUMB_GATE_SIDE_NEW), "instructions", "x", INT64_C(9007199254740993));
    const struct plumb_gate_check *c = evaluate(&f, 2);
    assert_int_equal(c[0].verdict, PLUMB_GATE_REGRESSION);
    assert_int_equal(c[1].verdict, PLUMB_GATE_REGRESSION);
    end(&f);
}

static enum plumb_gate_verdict verdict_of(const char *metric, const char *limit, int64_t old,
                                          int64_t fresh)
{
    char rules[200];
    struct fixture f;
    enum plumb_gate_verdict verdict;
    snprintf(rules, sizeof rules, "[a]\nmetric=%s\nnode=x\nlimit=%s\n", metric, limit);
    start(&f, rules);
    put(&f, result(&f, PLUMB_GATE_SIDE_OLD), metric, "x", old);
    put(&f, result(&f, PLUMB_GATE_SIDE_NEW), metric, "x", fresh);
    verdict = evaluate(&f, 1)->verdict;
    assert_int_equal(f.gate.checks[0].new_whole, fresh);
    end(&f);
    return verdict;
}

/* In floating point 1.15 * 100 is less than 115, and 2.3 * 1000 is not 2300 everywhere. */
static void a_share_of_a_count_is_not_rounded(void **state)
{
    (void)state;
    for (int64_t percent = 1; percent < 100; percent++)
        for (int64_t old = 100; old <= 3000; old += 100) {
            char limit[60];
            int64_t most = old + old / 100 * percent;
            snprintf(limit, sizeof limit, "<= old + %d %%", (int)percent);
            assert_int_equal(verdict_of("copies", limit, old, most), PLUMB_GATE_PASS);
            assert_int_equal(verdict_of("copies", limit, old, most + 1), PLUMB_GATE_REGRESSION);
            snprintf(limit, sizeof limit, "< old * 1.%02d", (int)percent);
            assert_int_equal(verdict_of("copies", limit, old, most), PLUMB_GATE_REGRESSION);
            assert_int_equal(verdict_of("copies", limit, old, most - 1), PLUMB_GATE_PASS);
        }
    for (int tenths = 1; tenths < 100; tenths++) {
        char limit[60];
        snprintf(limit, sizeof limit, "== %d.%d kB", tenths / 10, tenths % 10);
        assert_int_equal(verdict_of("copy_bytes", limit, 0, INT64_C(100) * tenths),
                         PLUMB_GATE_PASS);
    }
    assert_int_equal(verdict_of("copies", "<= old + 0.0000000001 %", INT64_MAX - 9, INT64_MAX),
                     PLUMB_GATE_PASS);
}

/* A counter of the program may be below 0: a limit names such a number, and a percentage is one of
 * the size of the old value. */
static void a_count_below_0_has_limits_too(void **state)
{
    (void)state;
    assert_int_equal(verdict_of("user", ">= -3, < 0", 0, -3), PLUMB_GATE_PASS);
    assert_int_equal(verdict_of("user", ">= -3", 0, -4), PLUMB_GATE_REGRESSION);
    assert_int_equal(verdict_of("user", "== -9223372036854775807", 0, -INT64_MAX), PLUMB_GATE_PASS);
    assert_int_equal(verdict_of("user", "<= old + 5 %", -100, -100), PLUMB_GATE_PASS);
    assert_int_equal(verdict_of("user", "<= old + 5 %", -100, -95), PLUMB_GATE_PASS);
    assert_int_equal(verdict_of("user", "<= old + 5 %", -100, -94), PLUMB_GATE_REGRESSION);
    assert_int_equal(verdict_of("user", ">= old - 5 %", -100, -105), PLUMB_GATE_PASS);
    assert_int_equal(verdict_of("user", ">= old - 5 %", -100, -106), PLUMB_GATE_REGRESSION);
}

static void a_growing_buffer_fails_with_the_name_of_its_stage(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[memory]\nmetric = peak_allocated\nnode = *\nlimit = <= old + 5 %\n"
              "floor = 256 MB\n");
    struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_OLD);
    put(&f, s, "peak_allocated", "encode", 1000000000);
    put(&f, s, "peak_allocated", "decode", 2955000000);
    s = result(&f, PLUMB_GATE_SIDE_NEW);
    put(&f, s, "peak_allocated", "encode", 1200000000); /* beyond 5 %, within the floor */
    put(&f, s, "peak_allocated", "decode", 7823000000);
    const struct plumb_gate_check *c = evaluate(&f, 2);
    assert_int_equal(c[0].verdict, PLUMB_GATE_PASS);
    assert_int_equal(c[1].verdict, PLUMB_GATE_REGRESSION);
    assert_string_equal(c[1].node, "decode");
    assert_float_equal(c[1].change, 7823.0 / 2955 - 1, 1e-9);
    end(&f);
}

static void a_node_without_a_row_has_0_where_its_kind_was_counted(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[none]\nmetric = allocations\nnode = loop\nlimit = == 0\n"
              "[unknown]\nmetric = synchronisations\nnode = loop\nlimit = == 0\n");
    struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_NEW);
    put(&f, s, "runs", "loop", 5);
    put(&f, s, "allocations", "setup", 3);
    const struct plumb_gate_check *c = evaluate(&f, 2);
    assert_int_equal(c[0].verdict, PLUMB_GATE_PASS);
    assert_float_equal(c[0].new_value, 0, 0);
    assert_int_equal(c[1].verdict, PLUMB_GATE_INCONCLUSIVE);
    assert_string_equal(c[1].detail, "the results have no 'synchronisations'");
    end(&f);
}

static void a_function_whose_calls_were_not_counted_is_not_0(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[never called]\nmetric = calls\nname = libiir.so.0:slow_forward\n"
              "node = loop\nlimit = == 0\n"
              "[misspelt]\nmetric = calls\nname = libiir.so.0:slow_foward\n"
              "node = loop\nlimit = == 0\n"
              "[another]\nmetric = calls\nname = copy\nnode = loop\nlimit = == 0\n"
              "[any]\nmetric = calls\nnode = loop\nlimit = == 3\n");
    struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_NEW);
    s->calls = "libdnnl.so.2:dnnl_*,libiir.so:*_forward,copy";
    put(&f, s, "runs", "loop", 5);
    put(&f, s, "calls", "loop", 3)->name = "libiir.so.0:sos_forward";
    const struct plumb_gate_check *c = evaluate(&f, 4);
    assert_int_equal(c[0].verdict, PLUMB_GATE_PASS);
    assert_int_equal(c[1].verdict, PLUMB_GATE_INCONCLUSIVE);
    assert_string_equal(c[1].detail, "'plumb record --count' was not asked to count "
                                     "'libiir.so.0:slow_foward'");
    assert_int_equal(c[2].verdict, PLUMB_GATE_PASS);
    assert_int_equal(c[3].verdict, PLUMB_GATE_PASS);
    end(&f);
}

static void a_count_of_the_run_is_that_of_all_nodes(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[run]\nmetric = copies\nlimit = == 5\n"
              "[step]\nmetric = copies\nnode = a\nstep = 1-2\nlimit = <= 1\n");
    struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_NEW);
    put(&f, s, "copies", "a", 3);
    put(&f, s, "copies", "b", 2);
    put(&f, s, "copies", "a", 1)->step = 1;
    put(&f, s, "copies", "a", 2)->step = 2;
    put(&f, s, "copies", "a", 9)->step = 3;
    const struct plumb_gate_check *c = evaluate(&f, 3);
    assert_int_equal(c[0].verdict, PLUMB_GATE_PASS);
    assert_float_equal(c[0].new_value, 5, 0);
    assert_int_equal(c[1].verdict, PLUMB_GATE_PASS);
    assert_int_equal(c[2].verdict, PLUMB_GATE_REGRESSION);
    assert_int_equal(c[2].step, 2);
    end(&f);
}

static void every_result_counts_by_itself(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[a]\nmetric = copies\nnode = a\nlimit = <= 2\n");
    put(&f, result(&f, PLUMB_GATE_SIDE_NEW), "copies", "a", 2);
    put(&f, result(&f, PLUMB_GATE_SIDE_NEW), "copies", "a", 3);
    put(&f, result(&f, PLUMB_GATE_SIDE_NEW), "copies", "a", 1);
    const struct plumb_gate_check *c = evaluate(&f, 1);
    assert_int_equal(c->verdict, PLUMB_GATE_REGRESSION);
    assert_float_equal(c->new_value, 3, 0);
    end(&f);
}

/* Counts that waver, as page faults: what the old runs reached is allowed. */
static void the_old_results_span_a_range(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[most]\nmetric = page_faults\nlimit = <= old\n"
              "[least]\nmetric = page_faults\nlimit = >= old\n"
              "[equal]\nmetric = page_faults\nlimit = == old\n");
    put(&f, result(&f, PLUMB_GATE_SIDE_OLD), "page_faults", "", 10);
    put(&f, result(&f, PLUMB_GATE_SIDE_OLD), "page_faults", "", 14);
    put(&f, result(&f, PLUMB_GATE_SIDE_NEW), "page_faults", "", 12);
    const struct plumb_gate_check *c = evaluate(&f, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c[i].verdict, PLUMB_GATE_PASS);
    end(&f);
}

static void what_cannot_be_known_is_never_a_pass(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[misspelt]\nmetric = runs\nnode = chian\nlimit = == 1\n"
              "[no old]\nmetric = runs\nnode = chain\nlimit = == old\n"
              "[nan]\nmetric = time\nnode = bench\nlimit = <= 1 s\n"
              "[failed]\nmetric = time\nnode = broken\nlimit = <= 1 s\n"
              "[machine]\nmetric = runs\nnode = chain\nlimit on H100 = == 1\n");
    struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_NEW);
    put(&f, s, "runs", "chain", 1);
    plumb_gate_sample(&f.gate, put(&f, s, "time", "bench", 0), NAN);
    put(&f, s, "time", "broken", 0)->wrong = "the benchmark failed: no memory";
    const struct plumb_gate_check *c = evaluate(&f, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(c[i].verdict, PLUMB_GATE_INCONCLUSIVE);
        assert_non_null(c[i].detail);
    }
    assert_string_equal(c[0].detail, "nothing in the results matches; there is 'chain'");
    assert_string_equal(c[3].detail, "the benchmark failed: no memory");
    assert_int_equal(plumb_gate_verdict(&f.gate), PLUMB_GATE_INCONCLUSIVE);
    end(&f);
    start(&f, "[a]\nmetric = runs\nnode = x\nlimit = == 1\nmissing = skip\n");
    assert_int_equal(evaluate(&f, 1)->verdict, PLUMB_GATE_SKIPPED);
    assert_int_equal(plumb_gate_verdict(&f.gate), PLUMB_GATE_INCONCLUSIVE);
    end(&f);
}

static void a_node_that_only_the_old_results_have_is_not_passed_over(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[a]\nmetric = runs\nnode = *\nlimit = == old\n");
    struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_OLD);
    put(&f, s, "runs", "x", 1);
    put(&f, s, "runs", "gone", 1);
    put(&f, result(&f, PLUMB_GATE_SIDE_NEW), "runs", "x", 1);
    const struct plumb_gate_check *c = evaluate(&f, 2);
    assert_int_equal(c[0].verdict, PLUMB_GATE_PASS);
    assert_int_equal(c[1].verdict, PLUMB_GATE_INCONCLUSIVE);
    assert_string_equal(c[1].node, "gone");
    end(&f);
}

static void two_nodes_of_one_result_are_compared(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "[fused]\nmetric = time\nnode = fused\nold = node unfused\nlimit = < old * 1.1\n");
    struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_NEW);
    struct plumb_gate_value *v = put(&f, s, "time", "fused", 0);
    for (int i = 0; i < 15; i++)
        plumb_gate_sample(&f.gate, v, 700 + i % 3);
    v = put(&f, s, "time", "unfused", 0);
    for (int i = 0; i < 15; i++)
        plumb_gate_sample(&f.gate, v, 1000 + i % 4);
    const struct plumb_gate_check *c = evaluate(&f, 1);
    assert_int_equal(c->verdict, PLUMB_GATE_PASS);
    assert_float_equal(c->old_value, 1001, 0);
    assert_float_equal(c->new_value, 701, 0);
    end(&f);
}

static void the_limit_follows_the_machine(void **state)
{
    static const struct {
        const char *machine;
        enum plumb_gate_verdict verdict;
    } expected[] = {{"NVIDIA H100", PLUMB_GATE_REGRESSION},
                    {"NVIDIA L4", PLUMB_GATE_SKIPPED},
                    {"NVIDIA T4", PLUMB_GATE_PASS}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        start(&f, "[total]\nmetric = wall_clock\nlimit on H100 = <= 50 s\nlimit on L4 = none\n");
        struct plumb_gate_source *s = result(&f, PLUMB_GATE_SIDE_NEW);
        s->machine = expected[i].machine;
        plumb_gate_sample(&f.gate, put(&f, s, "wall_clock", "", 0), 60e9);
        const struct plumb_gate_check *c = evaluate(&f, 1);
        assert_int_equal(c->verdict, expected[i].verdict);
        if (i == 2)
            assert_string_equal(c->limit->text, "<= 120 s (built in)");
        end(&f);
    }
}

/* Two hundred times the same rules over equal counts. */
static void equal_counts_never_fail(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct fixture f;
        start(&f, "[a]\nmetric = dispatches\nnode = *\nlimit = == old\n"
                  "[b]\nmetric = allocated_bytes\nlimit = <= old\n");
        for (int side = 0; side < 2; side++) {
            struct plumb_gate_source *s = result(&f, (enum plumb_gate_side)side);
            put(&f, s, "dispatches", "x", i * 7 + 1);
            put(&f, s, "allocated_bytes", "x", i * 4096);
        }
        evaluate(&f, 2);
        assert_int_equal(plumb_gate_verdict(&f.gate), PLUMB_GATE_PASS);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_extra_dispatch_is_a_regression_that_names_its_node),
        cmocka_unit_test(large_counts_are_compared_to_the_last_unit),
        cmocka_unit_test(a_share_of_a_count_is_not_rounded),
        cmocka_unit_test(a_count_below_0_has_limits_too),
        cmocka_unit_test(a_growing_buffer_fails_with_the_name_of_its_stage),
        cmocka_unit_test(a_node_without_a_row_has_0_where_its_kind_was_counted),
        cmocka_unit_test(a_function_whose_calls_were_not_counted_is_not_0),
        cmocka_unit_test(a_count_of_the_run_is_that_of_all_nodes),
        cmocka_unit_test(every_result_counts_by_itself),
        cmocka_unit_test(the_old_results_span_a_range),
        cmocka_unit_test(what_cannot_be_known_is_never_a_pass),
        cmocka_unit_test(a_node_that_only_the_old_results_have_is_not_passed_over),
        cmocka_unit_test(two_nodes_of_one_result_are_compared),
        cmocka_unit_test(the_limit_follows_the_machine),
        cmocka_unit_test(equal_counts_never_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

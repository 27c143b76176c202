/* bench_diverge.c: how often the first divergence is told wrong: a thousand pairs of runs with a
 * fault of 1e-3 and more, a thousand without, of two engines that call, fuse, order and lay out
 * their layers otherwise. --quick takes a hundred of each. */
#include "harness.h"

#include "analyze/diverge.h"
#include "diverge_fixture.h"

/* 1: not what it should have said. */
static int judge(const struct fixture *a, const struct fixture *b)
{
    struct fixture_run run_a;
    struct fixture_run run_b;
    struct plumb_diverge d;
    plumb_error err = {0, ""};
    struct plumb_diverge_options options = {.relative = -1, .absolute = -1};
    fixture_run(&run_a, a);
    fixture_run(&run_b, b);
    plumb_diverge_init(&d, &run_a.table, &run_b.table, &options);
    bool wrong = plumb_diverge_run(&d, &err) < 0;
    bool named = d.culprit.kind != PLUMB_DIVERGE_SAME;
    if (!wrong && b->fault == FAULT_NONE)
        wrong = named;
    else if (!wrong)
        wrong = !named || run_a.truth[d.culprit.a] % 100000 != fixture_expected(b);
    plumb_diverge_fini(&d);
    fixture_end(&run_a);
    fixture_end(&run_b);
    return wrong;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    uint64_t seed = 81;
    int wrong = 0;
    bench_open(&bench, "diverge", argc, argv);
    int cases = bench.quick ? 100 : 1000;
    for (int i = 0; i < cases; i++) {
        struct fixture a;
        struct fixture b;
        fixture_random(&seed, &a, &b);
        wrong += judge(&a, &b);
        fixture_random_fault(&seed, &b);
        wrong += judge(&a, &b);
    }
    printf("  %d pairs with a fault, %d without: %d told wrong\n", cases, cases, wrong);
    bench_put(&bench, "diverge_engines_cases", 2.0 * cases);
    bench_put(&bench, "diverge_engines_wrong_culprits", wrong);
    return bench_close(&bench);
}

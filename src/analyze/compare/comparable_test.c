/* Tests of what a comparison refuses: runs that differ in more than the code, reports that make no
 * sense, options out of range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "compare_fixture.h"

static void one_run_cannot_be_two_repeats(void **state)
{
    static const struct compare_node nodes[] = {{"x", 100, 1}};
    struct plumb_compare c;
    plumb_error err = {0, ""};
    struct plumb_timing t;
    (void)state;
    start(&c, plumb_compare_options_default(), 1, 2);
    for (uint64_t i = 0; i < 3; i++) {
        make_run(&t, 1, nodes, 1);
        add_sound(&c, &t);
    }
    assert_int_equal(plumb_compare_finish(&c, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message,
                        "'run 1' and 'run 2' are the same run: a repeat is a run of its own");
    plumb_compare_fini(&c);
}

/* ---- What is refused ------------------------------------------------------------------------- */

static void change(struct plumb_timing *t, int fact)
{
    switch (fact) {
    case 0:
        t->host = "other";
        break;
    case 1:
        t->cpu = NULL;
        break;
    case 2:
        t->cpus = 64;
        break;
    case 3: /* a different program is accepted, unless the two have no node in common */
        t->program = "/opt/bin/prog2";
        t->nodes[0].name = "y";
        break;
    case 4:
        t->pipeline = "video";
        break;
    case 5:
        t->skip_first_n = 3;
        break;
    case 6:
        t->recovered = true;
        break;
    default:
        t->schema = 2;
        break;
    }
}

static void what_is_not_comparable_is_refused_unless_told(void **state)
{
    static const struct compare_node nodes[] = {{"x", 100, 1}};
    static const struct {
        uint32_t allow;
        const char *why;
    } facts[] = {
        {PLUMB_ALLOW_MACHINE, "host 'box' and 'other' (--any-machine to compare"},
        {PLUMB_ALLOW_MACHINE, "processor 'A CPU' and 'unknown' (--any-machine"},
        {PLUMB_ALLOW_MACHINE, "number of processors 2 and 64 (--any-machine"},
        {PLUMB_ALLOW_PROGRAM, "programs 'prog' and 'prog2' have no node in common (--any-program"},
        {PLUMB_ALLOW_PROGRAM, "pipeline 'prog' and 'video' (--any-program"},
        {PLUMB_ALLOW_SKIP, "skip_first_n 0 and 3 (--any-skip"},
        {PLUMB_ALLOW_STATE, "end of the run 'ended' and 'recovered' (--any-end"},
        {PLUMB_ALLOW_SCHEMA, "schema of the report 1 and 2 (--force"},
    };
    (void)state;
    for (int fact = 0; fact < 8; fact++)
        for (int told = 0; told < 2; told++) {
            plumb_compare_options o = plumb_compare_options_default();
            struct plumb_compare c;
            struct plumb_timing t;
            plumb_error err = {0, ""};
            o.allow = told ? facts[fact].allow : PLUMB_ALLOW_ALL & ~facts[fact].allow;
            start(&c, o, 1, 1);
            make_run(&t, 1, nodes, 1);
            add_sound(&c, &t);
            make_run(&t, 2, nodes, 1);
            change(&t, fact);
            add_sound(&c, &t);
            assert_int_equal(plumb_compare_finish(&c, &err), told ? PLUMB_OK : PLUMB_ERR_STATE);
            if (!told && !strstr(err.message, facts[fact].why))
                fail_msg("'%s' is not in '%s'", facts[fact].why, err.message);
            assert_int_equal(c.overridden, told && fact != 3 ? facts[fact].allow : 0);
            plumb_compare_fini(&c);
        }
}

static void all_that_differs_is_told_in_one_line(void **state)
{
    static const struct compare_node nodes[] = {{"x", 100, 1}};
    struct plumb_compare c;
    struct plumb_timing t;
    plumb_error err = {0, ""};
    (void)state;
    start(&c, plumb_compare_options_default(), 1, 1);
    make_run(&t, 1, nodes, 1);
    add_sound(&c, &t);
    make_run(&t, 2, nodes, 1);
    t.host = "evil\nhost";
    t.skip_first_n = 3;
    add_sound(&c, &t);
    assert_int_equal(plumb_compare_finish(&c, &err), PLUMB_ERR_STATE);
    assert_string_equal(err.message,
                        "not comparable: host 'box' and 'evil?host', skip_first_n 0 and 3 "
                        "(--any-machine --any-skip to compare all the same)");
    plumb_compare_fini(&c);
}

static void a_report_that_makes_no_sense_is_refused(void **state)
{
    static const struct compare_node twice[] = {{"x", 100, 1}, {"x", 100, 1}},
                                     empty[] = {{"x", 0, 0}};
    static const double absurd[] = {-1, 1e30, INFINITY, NAN};
    struct plumb_compare c;
    struct plumb_timing t;
    plumb_error err = {0, ""};
    (void)state;
    start(&c, plumb_compare_options_default(), 1, 1);
    make_run(&t, 1, twice, 2);
    assert_int_equal(add(&c, &t, &err), PLUMB_ERR_FORMAT);
    assert_string_equal(err.message,
                        "'run 0' is damaged: node 'x' of phase 'inference' is there twice");
    plumb_compare_fini(&c);
    start(&c, plumb_compare_options_default(), 1, 1);
    make_run(&t, 1, empty, 1);
    assert_int_equal(add(&c, &t, &err), PLUMB_ERR_FORMAT);
    assert_string_equal(err.message, "'run 0' has no samples: there is nothing to compare");
    plumb_compare_fini(&c);
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        start(&c, plumb_compare_options_default(), 1, 1);
        make_run(&t, 1, twice, 1);
        t.nodes[0].host.p95_ns = absurd[i];
        assert_int_equal(add(&c, &t, &err), PLUMB_ERR_FORMAT);
        plumb_compare_fini(&c);
    }
}

static void options_out_of_range_are_refused(void **state)
{
    static const plumb_compare_options bad[] = {
        {.alpha = 1},         {.alpha = -0.5},       {.alpha = NAN}, {.figure = 7},
        {.min_delta_ms = -1}, {.min_delta_ms = NAN}, {.fold = 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct plumb_compare c;
        assert_int_equal(plumb_compare_init(&c, &bad[i], 1, 1, NULL), PLUMB_ERR_ARG);
        plumb_compare_fini(&c);
    }
    struct plumb_compare c;
    plumb_compare_options o = plumb_compare_options_default();
    assert_int_equal(plumb_compare_init(&c, &o, 0, 1, NULL), PLUMB_ERR_ARG);
    plumb_compare_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_cannot_be_two_repeats),
        cmocka_unit_test(what_is_not_comparable_is_refused_unless_told),
        cmocka_unit_test(all_that_differs_is_told_in_one_line),
        cmocka_unit_test(a_report_that_makes_no_sense_is_refused),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of ncu.c, metrics.c and csv.c: each form of a report becomes the same table of kernels, and
 * nothing is guessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/file/csv.h"
#include "read/ncu/ncu.h"

#define CORPUS TEST_PLUMB_SOURCE_DIR "/tests/fuzz/corpus/ncu/"

static struct plumb_ncu read_report(const char *name)
{
    char path[4096];
    struct plumb_ncu r;
    plumb_error err = {0, ""};
    snprintf(path, sizeof path, CORPUS "%s", name);
    if (plumb_ncu_read(&r, path, &err) < 0)
        fail_msg("%s", err.message);
    return r;
}

static void expect(const struct plumb_ncu_kernel *k, const char *name, double ns, double dram,
                   double sm, double occupancy)
{
    const double want[PLUMB_NCU_METRICS] = {
        [PLUMB_NCU_DURATION] = ns,
        [PLUMB_NCU_DRAM] = dram,
        [PLUMB_NCU_SM] = sm,
        [PLUMB_NCU_OCCUPANCY] = occupancy,
    };
    assert_string_equal(k->name, name);
    for (unsigned m = 0; m < PLUMB_NCU_METRICS; m++)
        if (isnan(want[m]) != isnan(k->metric[m]) ||
            (!isnan(want[m]) && fabs(want[m] - k->metric[m]) > 1e-9 * want[m]))
            fail_msg("%s of %s is %.17g, not %.17g", plumb_ncu_metric_name(m), name, k->metric[m],
                     want[m]);
}

static void labels_of_the_details_page_make_a_row_for_each_kernel(void **state)
{
    struct plumb_ncu r = read_report("details_labels.csv");
    (void)state;
    assert_int_equal(r.count, 2);
    expect(&r.kernels[0], "void rms_norm<float, 4>(const float *, float *)", 1205500, 81, 10,
           92.31);
    assert_string_equal(r.kernels[0].id, "0");
    assert_string_equal(r.kernels[0].process, "text_to_video");
    assert_string_equal(r.kernels[0].grid, "(4096, 1, 1)");
    assert_string_equal(r.kernels[0].block, "(256, 1, 1)");
    assert_string_equal(r.kernels[0].capability, "9.0");
    expect(&r.kernels[1], "gemm_bf16(int, int)", 2.5e6, 10, 61, NAN);
    assert_int_equal(r.skipped, 1); /* the warning in the table */
    plumb_ncu_fini(&r);
}

static void the_raw_page_has_units_in_its_first_row_and_a_kernel_in_each_other(void **state)
{
    struct plumb_ncu r = read_report("raw_wide.csv");
    (void)state;
    assert_int_equal(r.count, 5);
    expect(&r.kernels[0], "memory(float *)", 1234567, 81, 10, 88.5);
    expect(&r.kernels[1], "compute(float *)", 2000, 10, 61, 50);
    expect(&r.kernels[2], "latency(float *)", 3000, 10, 10, 3.1);
    expect(&r.kernels[3], "no_counters(float *)", 4000, NAN, NAN, NAN);
    expect(&r.kernels[4], "memory(float *)", 1000, 80, 60, 88.5);
    assert_string_equal(r.kernels[4].id, "4");
    plumb_ncu_fini(&r);
}

static void raw_names_are_read_alone_and_after_their_label(void **state)
{
    struct plumb_ncu r = read_report("metrics_names.csv");
    (void)state;
    assert_int_equal(r.count, 2);
    expect(&r.kernels[0], "saxpy", 211940, NAN, 75, NAN);
    expect(&r.kernels[1], "saxpy", 203020, 33.25, 20.75, NAN);
    plumb_ncu_fini(&r);
}

static void a_summary_counts_its_launches_and_gives_their_average(void **state)
{
    struct plumb_ncu r = read_report("summary.csv");
    (void)state;
    assert_int_equal(r.count, 2); /* one name, two shapes */
    expect(&r.kernels[0], "saxpy(float, const float *)", 10000, 84.92, NAN, NAN);
    assert_int_equal(r.kernels[0].launches, 1400);
    expect(&r.kernels[1], "saxpy(float, const float *)", NAN, 4.92, NAN, NAN);
    assert_int_equal(r.kernels[1].launches, 14);
    plumb_ncu_fini(&r);
}

static void a_table_without_quotes_is_read_as_spreadsheets_write_it(void **state)
{
    struct plumb_ncu r = read_report("plain.csv");
    (void)state;
    assert_int_equal(r.count, 1);
    expect(&r.kernels[0], "k", 1000, NAN, NAN, NAN);
    plumb_ncu_fini(&r);
}

static void what_is_no_report_is_explained_in_one_line(void **state)
{
    static const struct {
        const char *file;
        int code;
        const char *says;
    } cases[] = {
        {"no_permission.txt", PLUMB_ERR_STATE, "NVreg_RestrictProfilingToAdminUsers=0"},
        {"no_kernel.txt", PLUMB_ERR_FORMAT, "ncu profiled no kernel"},
        {"cut.csv", PLUMB_ERR_FORMAT, "a quote of line 2 has no end"},
        {"binary.ncu-rep", PLUMB_ERR_FORMAT, "--csv --page raw"},
        {"absent.csv", PLUMB_ERR_NOT_FOUND, "absent.csv"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[4096];
        struct plumb_ncu r;
        plumb_error err = {0, ""};
        snprintf(path, sizeof path, CORPUS "%s", cases[i].file);
        assert_int_equal(plumb_ncu_read(&r, path, &err), cases[i].code);
        if (!strstr(err.message, cases[i].says) || strchr(err.message, '\n'))
            fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
    }
}

static void a_value_is_read_only_where_it_is_certain(void **state)
{
    static const struct {
        const char *text, *unit;
        double ns; /* NaN: missing */
    } cases[] = {
        {"1,205.50", "us", 1205500},
        {"12,345,678", "ns", 12345678},
        {"1.5", "ms", 1.5e6},
        {"2", "second", 2e9},
        {"0", "ns", 0},
        {"1e3", "ns", 1000},
        {"45,7", "us", NAN},
        {"1.205,00", "us", NAN},
        {"1,2345", "us", NAN},
        {"1234,567", "us", NAN},
        {",123", "us", NAN},
        {"1,,234", "us", NAN},
        {"n/a", "us", NAN},
        {"", "us", NAN},
        {"5 (1; 9)", "us", NAN},
        {"-3", "us", NAN},
        {"nan", "us", NAN},
        {"12", "", NAN},
        {"12", "cycle", NAN},
        {"12", "%", NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ns = plumb_ncu_value(PLUMB_NCU_DURATION, true, cases[i].text, cases[i].unit);
        if (isnan(ns) != isnan(cases[i].ns) || (!isnan(ns) && fabs(ns - cases[i].ns) > 1e-6))
            fail_msg("'%s' %s is %g, not %g", cases[i].text, cases[i].unit, ns, cases[i].ns);
    }
    assert_true(isnan(plumb_ncu_value(PLUMB_NCU_DRAM, false, "2.71", "Tbyte/s")));
    assert_true(isnan(plumb_ncu_value(PLUMB_NCU_DRAM, false, "50", "")));
    assert_true(plumb_ncu_value(PLUMB_NCU_DRAM, true, "50", "") == 50);
    assert_true(isnan(plumb_ncu_value(PLUMB_NCU_SM, true, "82,123", "%"))); /* a decimal comma */
}

static void a_name_that_contains_a_name_is_another_metric(void **state)
{
    static const char *const others[] = {
        "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed.max",
        "gpc__gpu__time_duration.sum",
        "Duration of something",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(plumb_ncu_metric_find(others[i]).metric, PLUMB_NCU_METRICS);
}

static void a_field_may_hold_quotes_commas_and_line_ends(void **state)
{
    static const char text[] = "a,\"b,\"\"c\"\"\nd\",\r\n\n\"e\"f,g";
    struct plumb_csv c = {.at = text, .end = text + sizeof text - 1};
    (void)state;
    assert_int_equal(plumb_csv_row(&c, false), 1);
    assert_int_equal(c.count, 3);
    assert_string_equal(plumb_csv_field(&c, 0), "a");
    assert_string_equal(plumb_csv_field(&c, 1), "b,\"c\"\nd");
    assert_string_equal(plumb_csv_field(&c, 2), "");
    assert_string_equal(plumb_csv_field(&c, 3), "");
    assert_int_equal(plumb_csv_row(&c, false), 1);
    assert_int_equal(c.line, 3);
    assert_int_equal(c.count, 1);
    assert_int_equal(plumb_csv_row(&c, false), 1);
    assert_string_equal(plumb_csv_field(&c, 0), "ef");
    assert_string_equal(plumb_csv_field(&c, 1), "g");
    assert_int_equal(plumb_csv_row(&c, false), 0);
    plumb_csv_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_of_the_details_page_make_a_row_for_each_kernel),
        cmocka_unit_test(the_raw_page_has_units_in_its_first_row_and_a_kernel_in_each_other),
        cmocka_unit_test(raw_names_are_read_alone_and_after_their_label),
        cmocka_unit_test(a_summary_counts_its_launches_and_gives_their_average),
        cmocka_unit_test(a_table_without_quotes_is_read_as_spreadsheets_write_it),
        cmocka_unit_test(what_is_no_report_is_explained_in_one_line),
        cmocka_unit_test(a_value_is_read_only_where_it_is_certain),
        cmocka_unit_test(a_name_that_contains_a_name_is_another_metric),
        cmocka_unit_test(a_field_may_hold_quotes_commas_and_line_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

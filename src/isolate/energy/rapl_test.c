/* Tests of rapl.c: exact joules from a folder of made-up counters, and what is said where there
 * are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/energy/rapl.h"

static void write_file(const char *folder, const char *domain, const char *name, const char *text)
{
    char path[200];
    FILE *file;
    assert_true(mkdir(folder, 0777) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/%s", folder, domain);
    assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/%s/%s", folder, domain, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%s\n", text) > 0);
    assert_int_equal(fclose(file), 0);
}

static void add_domain(const char *folder, const char *domain, const char *name, const char *uj)
{
    write_file(folder, domain, "name", name);
    write_file(folder, domain, "max_energy_range_uj", "262143328850");
    write_file(folder, domain, "energy_uj", uj);
}

static void joules_are_those_of_packages_and_their_memory(void **state)
{
    static const char *const apart[][2] = {{"intel-rapl:0:0", "core"},
                                           {"intel-rapl:0:1", "uncore"},
                                           {"intel-rapl:2", "psys"},
                                           {"intel-rapl-mmio:0", "package-0"}};
    struct plumb_rapl energy;
    double joules, watts;
    (void)state;
    add_domain("rapl", "intel-rapl:0", "package-0", "1000000");
    add_domain("rapl", "intel-rapl:0:2", "dram", "500000");
    add_domain("rapl", "intel-rapl:1", "package-1", "7");
    for (size_t i = 0; i < 4; i++)
        add_domain("rapl", apart[i][0], apart[i][1], "0");
    plumb_rapl_begin(&energy, "rapl");
    assert_int_equal(energy.count, 3);
    write_file("rapl", "intel-rapl:0", "energy_uj", "3500000");
    write_file("rapl", "intel-rapl:0:2", "energy_uj", "750000");
    write_file("rapl", "intel-rapl:1", "energy_uj", "1000007");
    for (size_t i = 0; i < 4; i++)
        write_file("rapl", apart[i][0], "energy_uj", "99000000");
    energy.begin_ns -= 1000000000; /* a second at least */
    plumb_rapl_end(&joules, &watts, &energy);
    assert_true(joules == 3.75);
    assert_true(watts > 0 && watts <= 3.75);
    assert_string_equal(energy.why, "");
}

static void a_counter_that_wrapped_counts_to_its_range(void **state)
{
    struct plumb_rapl energy;
    double joules, watts;
    (void)state;
    add_domain("wrap", "intel-rapl:0", "package-0", "262143000000");
    plumb_rapl_begin(&energy, "wrap");
    write_file("wrap", "intel-rapl:0", "energy_uj", "671150");
    plumb_rapl_end(&joules, &watts, &energy);
    assert_true(joules == 1.0);
}

static void a_machine_without_counters_is_said_to_have_none(void **state)
{
    struct plumb_rapl energy;
    double joules = 1, watts = 1;
    (void)state;
    plumb_rapl_begin(&energy, "nowhere");
    assert_int_equal(energy.count, 0);
    assert_non_null(strstr(energy.why, "no RAPL counters in nowhere"));
    plumb_rapl_end(&joules, &watts, &energy);
    assert_true(isnan(joules) && isnan(watts));
}

/* Root reads any file: a folder takes the place of a file without read permission. */
static void a_counter_that_cannot_be_read_is_named(void **state)
{
    struct plumb_rapl energy;
    double joules, watts;
    (void)state;
    write_file("closed", "intel-rapl:0", "name", "package-0");
    assert_int_equal(mkdir("closed/intel-rapl:0/energy_uj", 0777), 0);
    plumb_rapl_begin(&energy, "closed");
    assert_int_equal(energy.count, 0);
    assert_non_null(strstr(energy.why, "closed/intel-rapl:0/energy_uj cannot be read"));
    plumb_rapl_end(&joules, &watts, &energy);
    assert_true(isnan(joules) && isnan(watts));

    add_domain("odd", "intel-rapl:0", "package-0", "many");
    plumb_rapl_begin(&energy, "odd");
    assert_int_equal(energy.count, 0);
    assert_non_null(strstr(energy.why, "Invalid argument"));
}

static void a_counter_that_goes_away_leaves_no_joules(void **state)
{
    struct plumb_rapl energy;
    double joules, watts;
    (void)state;
    add_domain("gone", "intel-rapl:0", "package-0", "5");
    plumb_rapl_begin(&energy, "gone");
    assert_int_equal(remove("gone/intel-rapl:0/energy_uj"), 0);
    plumb_rapl_end(&joules, &watts, &energy);
    assert_true(isnan(joules) && isnan(watts));
    assert_non_null(strstr(energy.why, "cannot be read any more"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joules_are_those_of_packages_and_their_memory),
        cmocka_unit_test(a_counter_that_wrapped_counts_to_its_range),
        cmocka_unit_test(a_machine_without_counters_is_said_to_have_none),
        cmocka_unit_test(a_counter_that_cannot_be_read_is_named),
        cmocka_unit_test(a_counter_that_goes_away_leaves_no_joules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

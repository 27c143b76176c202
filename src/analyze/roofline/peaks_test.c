/* Measured peaks: every loop that this processor can run runs, and the file says the same again. No
 * figure is compared with another: machines are busy. */
#include "analyze/roofline/peaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/roofline/peak_loops.h"

static plumb_error err;

static void measured_peaks_are_positive_and_named(void **state)
{
    struct plumb_peaks_options o = {.run_ns = 100000, .repeats = 3, .largest_bytes = 4 << 20};
    struct plumb_peaks p;
    (void)state;
    assert_int_equal(plumb_peaks_measure(&p, &o, &err), 0);
    assert_true(p.cpu[0] && p.date[0] && p.cores > 0);
    assert_int_equal(p.repeats, 3);
    assert_true(p.array_bytes <= 4 << 20);
    for (int span = 0; span < PLUMB_PEAK_SPANS; span++) {
        assert_true(p.bandwidth[span].rate > 0 && p.bandwidth[span].how[0]);
        assert_true(p.bandwidth[span].spread >= 0);
        for (int type = 0; type < PLUMB_PEAK_TYPES; type++)
            assert_int_equal(p.compute[type][span].rate > 0, p.compute[type][span].how[0] != 0);
        assert_true(p.compute[PLUMB_PEAK_F64][span].rate > 0);
        assert_true(p.compute[PLUMB_PEAK_F32][span].rate > 0);
    }
}

static void loops_over_arrays_compute_what_they_say(void **state)
{
    const struct plumb_peak_table *table;
    _Alignas(64) static double a[256], b[256], c[256];
    _Alignas(64) unsigned char sink[PLUMB_PEAK_SINK];
    (void)state;
    for (int i = 0; i < 256; i++)
        b[i] = i, c[i] = 2 * i;
    for (unsigned i = 0; (table = plumb_peak_table(i)); i++) {
        double sums[8] = {0}, sum = 0;
        if (!table->sum)
            continue;
        memset(sink, 0, sizeof sink);
        table->sum(b, 256, sink);
        memcpy(sums, sink, sizeof sums);
        for (int k = 0; k < 8; k++)
            sum += sums[k];
        assert_true(sum == 256 * 255 / 2);
        memset(a, 0, sizeof a);
        table->triad(a, b, c, 256);
        for (int k = 0; k < 256; k++)
            assert_true(a[k] == 2 * k);
    }
}

static struct plumb_peaks planted(void)
{
    struct plumb_peaks p = {.cpu = "a \"CPU\"\\", .date = "2026-01-02T03:04:05Z", .cores = 8};
    p.repeats = 5;
    p.run_ns = 20000000;
    p.array_bytes = 1 << 30;
    p.cache_bytes = 1 << 25;
    p.bandwidth[0] = (struct plumb_peak){12345678901.0, 0.0123, "triad"};
    p.bandwidth[1] = (struct plumb_peak){98765432109.0, 0.5, "sum"};
    p.compute[PLUMB_PEAK_F32][1] = (struct plumb_peak){1.5e12, 0.25, "avx512 fma"};
    return p;
}

static void a_file_gives_back_what_was_saved(void **state)
{
    struct plumb_peaks p = planted(), q;
    struct stat st;
    (void)state;
    assert_int_equal(plumb_peaks_load(&q, "deep/er/peaks.json", &err), PLUMB_ERR_NOT_FOUND);
    assert_int_equal(plumb_peaks_save(&p, "deep/er/peaks.json", &err), 0);
    assert_int_equal(plumb_peaks_load(&q, "deep/er/peaks.json", &err), 0);
    assert_string_equal(q.cpu, p.cpu);
    assert_string_equal(q.date, p.date);
    assert_int_equal(q.cores, 8);
    assert_int_equal(q.array_bytes, 1 << 30);
    assert_true(q.bandwidth[0].rate == p.bandwidth[0].rate);
    assert_true(q.bandwidth[1].spread == 0.5);
    assert_true(q.compute[PLUMB_PEAK_F32][1].rate == 1.5e12);
    assert_string_equal(q.compute[PLUMB_PEAK_F32][1].how, "avx512 fma");
    assert_true(q.compute[PLUMB_PEAK_BF16][1].rate == 0); /* absent stays absent */
    assert_int_equal(stat("deep/er", &st), 0);
    assert_int_equal(st.st_mode & 0777 & ~0700, 0);
}

static void a_damaged_file_is_refused(void **state)
{
    static const char *const texts[] = {"", "{}", "[1]",
                                        "{\"format\": \"plumb.peaks.1\", \"cpu\": \"x\"}",
                                        "{\"format\": \"plumb.peaks.2\"}"};
    struct plumb_buf text = {0};
    struct plumb_peaks p = planted(), q;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(plumb_peaks_parse(&q, texts[i], strlen(texts[i]), "x", &err),
                         PLUMB_ERR_FORMAT);
    plumb_peaks_json(&text, &p);
    assert_int_equal(plumb_peaks_parse(&q, text.data, text.len, "x", &err), 0);
    assert_int_equal(plumb_peaks_parse(&q, text.data, text.len / 2, "x", &err), PLUMB_ERR_FORMAT);
    *strstr(text.data, "1234567") = '-';
    assert_int_equal(plumb_peaks_parse(&q, text.data, text.len, "x", &err), PLUMB_ERR_FORMAT);
    plumb_buf_fini(&text);
}

static void the_place_is_the_cache_folder(void **state)
{
    char path[64];
    (void)state;
    setenv("XDG_CACHE_HOME", "/c", 1);
    setenv("HOME", "/h", 1);
    assert_true(plumb_peaks_path(path, sizeof path));
    assert_string_equal(path, "/c/plumb/peaks.json");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_true(plumb_peaks_path(path, sizeof path));
    assert_string_equal(path, "/h/.cache/plumb/peaks.json");
    unsetenv("HOME");
    assert_false(plumb_peaks_path(path, sizeof path));
    setenv("HOME", "/h", 1);
    assert_false(plumb_peaks_path(path, 8));
}

static void names_of_types_are_those_of_several_tools(void **state)
{
    (void)state;
    assert_int_equal(plumb_peak_type_of("f32", 3), PLUMB_PEAK_F32);
    assert_int_equal(plumb_peak_type_of("BF16", 4), PLUMB_PEAK_BF16);
    assert_int_equal(plumb_peak_type_of("float16", 7), PLUMB_PEAK_F16);
    assert_int_equal(plumb_peak_type_of("s8", 2), PLUMB_PEAK_INT8);
    assert_int_equal(plumb_peak_type_of("f32x", 4), PLUMB_PEAK_TYPES);
    assert_int_equal(plumb_peak_type_of("s32", 3), PLUMB_PEAK_TYPES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_peaks_are_positive_and_named),
        cmocka_unit_test(loops_over_arrays_compute_what_they_say),
        cmocka_unit_test(a_file_gives_back_what_was_saved),
        cmocka_unit_test(a_damaged_file_is_refused),
        cmocka_unit_test(the_place_is_the_cache_folder),
        cmocka_unit_test(names_of_types_are_those_of_several_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

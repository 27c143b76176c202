/* Times of a Chrome trace: decimal microseconds of any length are nanoseconds to the last digit, or
 * are refused. */
#include "read/trace/chrome_parts.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "read/trace/chrome.h"

struct time {
    const char *text;
    int64_t ns;
};

static void check(const struct time *times, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t ns = 0;
        if (!plumb_chrome_ns(times[i].text, strlen(times[i].text), &ns))
            fail_msg("'%s' is refused", times[i].text);
        if (ns != times[i].ns)
            fail_msg("'%s' is %lld ns, not %lld", times[i].text, (long long)ns,
                     (long long)times[i].ns);
    }
}

#define CHECK(times) check(times, sizeof times / sizeof *times)

static void times_since_1970_keep_their_nanoseconds(void **state)
{
    static const struct time times[] = {
        {"1712195495519689.000", 1712195495519689000},
        {"1712195495519689.100", 1712195495519689100},
        {"1712195495519689.047", 1712195495519689047},
        {"1712195495519689.5", 1712195495519689500},
        {"1712195495519689", 1712195495519689000},
        {"9223372036854775.807", INT64_MAX},
        {"-9223372036854775.807", -INT64_MAX},
        {"-9223372036854775.808", INT64_MIN},
        {"-1712195495519689.047", -1712195495519689047},
    };
    (void)state;
    CHECK(times);
}

static void any_number_of_digits_is_read_and_the_last_rounded(void **state)
{
    static const struct time times[] = {
        {"0", 0},
        {"-0.0", 0},
        {"7", 7000},
        {"0.001", 1},
        {".5", 500},
        {"5.", 5000},
        {"0.0004", 0},
        {"0.0005", 1},
        {"-0.0005", -1},
        {"0.00049999999999999999999999999", 0},
        {"1.9999", 2000},
        {"1712195495519689.0474999999999", 1712195495519689047},
        {"1712195495519689.0475", 1712195495519689048},
        {"9223372036854775.8074999", INT64_MAX},
        {"00000000000000000000000000012.125", 12125},
        {"0.000000000000000000000000000000125", 0},
    };
    (void)state;
    CHECK(times);
}

static void exponents_move_the_point(void **state)
{
    static const struct time times[] = {
        {"1e3", 1000000},
        {"1.712195495519689047e15", 1712195495519689047},
        {"1.712195495519689047E+15", 1712195495519689047},
        {"1712195495519689047e-3", 1712195495519689047},
        {"1712195495519689047000000e-9", 1712195495519689047},
        {"-2.5e-1", -250},
        {"4e-4", 0},
        {"5e-4", 1},
        {"9e-5", 0},
        {"0e999999999999999999999999", 0},
        {"1e-999999999999999999999999", 0},
        {"0.0000000000000000000000017e24", 1700},
    };
    (void)state;
    CHECK(times);
}

static void what_is_not_a_time_or_too_far_off_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "-",
        ".",
        "-.",
        "+1",
        "1.2.3",
        "1e",
        "1e+",
        "1e1.5",
        "12a",
        " 1",
        "1 ",
        "0x10",
        "nan",
        "Infinity",
        "1e16",
        "-1e16",
        "1e99999999",
        "e5",
        ".e5",
        "--1",
        "1,5",
        "9223372036854775.808",
        "-9223372036854775.809",
        "9223372036854775.8075",
        "18446744073709551.616",
        "99999999999999999999999.0",
        "1e999999999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t ns;
        if (plumb_chrome_ns(texts[i], strlen(texts[i]), &ns))
            fail_msg("'%s' is taken for %lld ns", texts[i], (long long)ns);
    }
}

static void read_trace(struct plumb_table *t, const char *text)
{
    char padded[4096] = {0};
    plumb_error err;
    assert_true(strlen(text) + PLUMB_JSON_PADDING < sizeof padded);
    memcpy(padded, text, strlen(text));
    if (plumb_chrome_parse(t, padded, strlen(text), "test.json", &err) < 0)
        fail_msg("%s", err.message);
}

/* With times that a double holds, "b" would begin inside of "a". */
static void spans_of_a_hundred_nanoseconds_stay_apart(void **state)
{
    static const char text[] =
        "{\"traceEvents\":["
        "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1712195495519689.000,\"dur\":0.1},"
        "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1712195495519689.100,\"dur\":5e-2}"
        ","
        "{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":\"1712195495519689.300\","
        "\"dur\":\"0.05\"}]}";
    static const uint64_t starts[] = {0, 100, 300}, durations[] = {100, 50, 50};
    struct plumb_table t;
    (void)state;
    read_trace(&t, text);
    assert_int_equal(t.slices.count, 3);
    assert_int_equal(t.zero_ns, UINT64_C(1712195495519689000));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(t.slices.ts_ns[i], starts[i]);
        assert_int_equal(t.slices.dur_ns[i], durations[i]);
        assert_int_equal(t.slices.depth[i], 0);
    }
    plumb_table_fini(&t);
}

static void an_event_whose_time_is_out_of_range_is_left_out_and_counted(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1e16,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":6,\"dur\":9223372036854775.808},"
        "{\"ph\":\"X\",\"name\":\"d\",\"pid\":1,\"tid\":1,\"ts\":NaN,\"dur\":1}]";
    struct plumb_table t;
    (void)state;
    read_trace(&t, text);
    assert_int_equal(t.slices.count, 1);
    assert_int_equal(t.faults.damaged, 3);
    plumb_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_since_1970_keep_their_nanoseconds),
        cmocka_unit_test(any_number_of_digits_is_read_and_the_last_rounded),
        cmocka_unit_test(exponents_move_the_point),
        cmocka_unit_test(what_is_not_a_time_or_too_far_off_is_refused),
        cmocka_unit_test(spans_of_a_hundred_nanoseconds_stay_apart),
        cmocka_unit_test(an_event_whose_time_is_out_of_range_is_left_out_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

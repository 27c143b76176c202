/* labels: notsan
 * The scan of JSON: against jansson on texts made at random, against strtod() bit by bit, both
 * instruction sets against each other, and hostile texts by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_compare.h"
#include "random.h"

enum { ROUNDS = 6000, BYTES = 4096 };

/* ---- Texts at random ------------------------------------------------------------------------- */

struct maker {
    char text[BYTES + 512];
    size_t size;
    uint64_t random;
};

static unsigned pick(struct maker *m, unsigned n)
{
    return (unsigned)(random_next(&m->random) % n);
}

static void put(struct maker *m, const char *text)
{
    size_t n = strlen(text);
    if (m->size + n < sizeof m->text) {
        memcpy(m->text + m->size, text, n);
        m->size += n;
    }
}

static void put_blanks(struct maker *m)
{
    static const char *const blanks[] = {
        " ", "\t", "\n", "\r\n", "          ", "                                        "};
    while (pick(m, 4) == 0)
        put(m, blanks[pick(m, 6)]);
}

static void put_string(struct maker *m)
{
    static const char *const parts[] = {
        "abs_mean",
        "block.3.attn",
        "x",
        "\\n",
        "\\\"",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\xc3\xa9",
        "\xe2\x82\xac",
        "\\u0000",
        "\xf0\x9f\x98\x80",
        "\\\\",
        "/",
        "\x7f",
        "a string that is longer than one vector of the scan, with an end",
    };
    put(m, "\"");
    for (unsigned i = pick(m, 5); i > 0; i--)
        put(m, parts[pick(m, 15)]);
    put(m, "\"");
}

static void put_digits(struct maker *m, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        put(m, (char[]){(char)('0' + pick(m, 10)), 0});
}

static void put_number(struct maker *m)
{
    if (pick(m, 3) == 0)
        put(m, "-");
    if (pick(m, 4) == 0) {
        put(m, "0");
    } else {
        put(m, (char[]){(char)('1' + pick(m, 9)), 0});
        put_digits(m, pick(m, 21));
    }
    if (pick(m, 2)) {
        put(m, ".");
        put_digits(m, 1 + pick(m, pick(m, 2) ? 3 : 24));
    }
    if (pick(m, 3) == 0) {
        put(m, pick(m, 2) ? "e" : "E");
        put(m, pick(m, 3) == 0 ? "+" : pick(m, 2) ? "-" : "");
        put_digits(m, 1 + pick(m, 3));
    }
}

static void put_value(struct maker *m, unsigned depth)
{
    static const char *const words[] = {"true", "false", "null"};
    bool object = pick(m, 2);
    if (depth == 0 || pick(m, 3) == 0 || m->size > BYTES / 2) {
        unsigned kind = pick(m, 4);
        if (kind == 0)
            put(m, words[pick(m, 3)]);
        else if (kind == 1)
            put_string(m);
        else
            put_number(m);
        return;
    }
    put(m, object ? "{" : "[");
    put_blanks(m);
    for (unsigned i = 0, n = pick(m, 5); i < n; i++) {
        if (i) {
            put(m, ",");
            put_blanks(m);
        }
        if (object) {
            put_string(m);
            put_blanks(m);
            put(m, ":");
            put_blanks(m);
        }
        put_value(m, depth - 1);
        put_blanks(m);
    }
    put(m, object ? "}" : "]");
}

/* Bytes that mean something to a reader of JSON. */
static void damage(struct maker *m)
{
    static const char odd[] = "{}[]\",:\\u0019eE+-.tfnNI \n\t\x01\x1f\x80\xc3\xed\xa0\xf5";
    for (unsigned i = 1 + pick(m, 3); i > 0 && m->size > 0; i--) {
        size_t at = pick(m, (unsigned)m->size);
        switch (pick(m, 4)) {
        case 0:
            m->size = at;
            break;
        case 1:
            memmove(m->text + at, m->text + at + 1, m->size - at - 1);
            m->size--;
            break;
        default:
            m->text[at] = odd[pick(m, sizeof odd)];
        }
    }
}

static void check(const struct maker *m)
{
    const char *wrong = json_compare(m->text, m->size, 0);
    if (wrong)
        fail_msg("%s: %.*s", wrong, (int)m->size, m->text);
}

static void texts_at_random_read_as_jansson_reads_them(void **state)
{
    static struct maker m = {.random = 20261121};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        m.size = 0;
        put_blanks(&m);
        put_value(&m, 5);
        put_blanks(&m);
        check(&m);
        damage(&m);
        check(&m);
    }
}

/* ---- One text -------------------------------------------------------------------------------- */

static struct plumb_json_scan scan;
static char room[1 << 16];

static void begin(const char *text, size_t size, unsigned flags)
{
    assert_true(size + PLUMB_JSON_PADDING <= sizeof room);
    memset(room, 0, sizeof room);
    memcpy(room, text, size);
    plumb_json_scan_init(&scan, flags);
    plumb_json_scan_text(&scan, room, size);
}

static void refuses(const char *text, unsigned flags, const char *why)
{
    plumb_error err = {0, ""};
    begin(text, strlen(text), flags);
    while (plumb_json_next(&scan) > PLUMB_JSON_END)
        continue;
    assert_int_equal(scan.token, PLUMB_JSON_ERROR);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_ERROR);
    assert_int_equal(plumb_json_scan_fail(&scan, "f.json", &err), PLUMB_ERR_FORMAT);
    assert_string_equal(err.message, why);
    plumb_json_scan_fini(&scan);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    refuses("{\"a\": 1,\n \"b\": }", 0,
            "'f.json' is not valid JSON: line 2, column 7: a value is missing");
    refuses("[1, 2", 0,
            "'f.json' is not valid JSON: line 1, column 6: it ends in the middle of a value");
    refuses("{\"a\": 1}\n{\"a\": \n{\"a\": 3}\n", PLUMB_JSON_LINES,
            "'f.json' is not valid JSON: line 2, column 7: the line ends in the middle of a value");
    refuses("{\"a\": \"x\ny\"}\n", PLUMB_JSON_LINES,
            "'f.json' is not valid JSON: line 1, column 9: the line ends in the middle of a value");
    refuses("1 2", 0, "'f.json' is not valid JSON: line 1, column 3: something follows the value");
    refuses("{} {}\n", PLUMB_JSON_LINES,
            "'f.json' is not valid JSON: line 1, column 4: something follows the value");
    refuses("[\"\\ud800\"]", 0,
            "'f.json' is not valid JSON: line 1, column 3: the first half of a surrogate pair "
            "without the second");
    refuses("[\"\\udc00\"]", 0,
            "'f.json' is not valid JSON: line 1, column 3: the second half of a surrogate pair "
            "without the first");
    refuses("[NaN]", 0,
            "'f.json' is not valid JSON: line 1, column 2: NaN and Infinity are not JSON");
    refuses("[1e999]", 0,
            "'f.json' is not valid JSON: line 1, column 2: the number is too large for any double");
    refuses("[-]", 0, "'f.json' is not valid JSON: line 1, column 3: a number is not complete");
    refuses("[\"\x80\"]", 0,
            "'f.json' is not valid JSON: line 1, column 3: bytes that are not UTF-8");
    refuses("{1: 2}", 0,
            "'f.json' is not valid JSON: line 1, column 2: a name in double quotes is missing");
    refuses("", 0,
            "'f.json' is not valid JSON: line 1, column 1: it ends in the middle of a value");
}

static void nesting_has_an_end(void **state)
{
    enum { DEEP = 1000000 };
    char *text = malloc(DEEP + PLUMB_JSON_PADDING);
    (void)state;
    assert_non_null(text);
    for (int i = 0; i < DEEP; i++)
        text[i] = '[';
    memset(text + DEEP, 0, PLUMB_JSON_PADDING);
    plumb_json_scan_init(&scan, 0);
    plumb_json_scan_text(&scan, text, DEEP);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_ARRAY);
    assert_int_equal(plumb_json_skip(&scan), PLUMB_JSON_ERROR);
    assert_string_equal(scan.fault, "nested too deeply");
    plumb_json_scan_fini(&scan);
    free(text);
}

static void python_words_are_read_where_they_are_asked_for(void **state)
{
    (void)state;
    begin("[NaN, -Infinity, Infinity]", 26, PLUMB_JSON_NAN);
    plumb_json_next(&scan);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_NUMBER);
    assert_true(scan.number.real != scan.number.real);
    plumb_json_next(&scan);
    assert_true(scan.number.real < -1e308);
    plumb_json_next(&scan);
    assert_true(scan.number.real > 1e308);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_ARRAY_END);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_END);
    plumb_json_scan_fini(&scan);
}

static void what_is_nearly_json_is_read_where_it_is_asked_for(void **state)
{
    static const char text[] =
        "{\"a\": [1, 2,],\n \"b\nc\": \"x\\n\ty\001\", \"d\": {\"e\": 3, } ,}";
    uint64_t line, column;
    (void)state;
    begin(text, sizeof text - 1, PLUMB_JSON_LENIENT);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_OBJECT);
    assert_null(plumb_json_scan_odd(&scan, &line, &column));
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_ARRAY);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_NUMBER);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_NUMBER);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_ARRAY_END);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_STRING);
    assert_true(plumb_json_key_is(&scan, "b\nc"));
    assert_true(plumb_json_text_is(&scan, "x\n\ty\001"));
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_OBJECT);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_NUMBER);
    assert_true(plumb_json_key_is(&scan, "e"));
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_OBJECT_END);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_OBJECT_END);
    assert_int_equal(plumb_json_next(&scan), PLUMB_JSON_END);
    assert_int_equal(scan.odds, 6);
    assert_string_equal(plumb_json_scan_odd(&scan, &line, &column), "nothing follows a comma");
    assert_int_equal(line, 1);
    assert_int_equal(column, 13);
    plumb_json_scan_fini(&scan);
    refuses("[1,]", 0, "'f.json' is not valid JSON: line 1, column 4: a value is missing");
    refuses("{\"a\": 1,}", 0,
            "'f.json' is not valid JSON: line 1, column 9: a name in double quotes is missing");
    refuses("[\"\t\"]", 0,
            "'f.json' is not valid JSON: line 1, column 3: a control character in a string");
    refuses("[,]", PLUMB_JSON_LENIENT,
            "'f.json' is not valid JSON: line 1, column 2: a value is missing");
    refuses("[1,,2]", PLUMB_JSON_LENIENT,
            "'f.json' is not valid JSON: line 1, column 4: a value is missing");
    refuses("{,}", PLUMB_JSON_LENIENT,
            "'f.json' is not valid JSON: line 1, column 2: a name in double quotes is missing");
    refuses("{\"a\":]", PLUMB_JSON_LENIENT,
            "'f.json' is not valid JSON: line 1, column 6: a value is missing");
    refuses("[1,}", PLUMB_JSON_LENIENT,
            "'f.json' is not valid JSON: line 1, column 4: a value is missing");
    refuses("{\"a\": 1,]", PLUMB_JSON_LENIENT,
            "'f.json' is not valid JSON: line 1, column 9: a name in double quotes is missing");
    refuses("[\"\n", PLUMB_JSON_LENIENT,
            "'f.json' is not valid JSON: line 2, column 1: it ends in the middle of a value");
}

static void lines_are_documents_and_keep_their_slots(void **state)
{
    static const char text[] =
        "{\"a\": 1, \"b\": 2}\n\n{\"b\":3,\"a\" : 4}\r\n{\"b\": 5, \"c\": 6}";
    static const struct {
        const char *name;
        uint32_t slot;
        double value;
    } expected[] = {{"a", 0, 1}, {"b", 1, 2}, {"b", 1, 3}, {"a", 0, 4}, {"b", 1, 5}, {"c", 2, 6}};
    (void)state;
    size_t seen = 0;
    begin(text, sizeof text - 1, PLUMB_JSON_LINES);
    while (plumb_json_next(&scan) > PLUMB_JSON_END) {
        if (scan.token != PLUMB_JSON_NUMBER)
            continue;
        assert_true(plumb_json_key_is(&scan, expected[seen].name));
        assert_int_equal(scan.slot, expected[seen].slot);
        assert_true(scan.number.real == expected[seen].value);
        seen++;
    }
    assert_int_equal(scan.token, PLUMB_JSON_END);
    assert_int_equal(seen, 6);
    assert_int_equal(scan.line, 3);
    plumb_json_scan_fini(&scan);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static void check_number(const char *text)
{
    char padded[512] = {0};
    struct plumb_json_number n = {PLUMB_JSON_NUMBER_NONE, 0, 0};
    double expected = strtod(text, NULL);
    snprintf(padded, sizeof padded - 64, "%s", text);
    const char *end = plumb_json_take_number(padded, &n);
    assert_ptr_equal(end, padded + strlen(text));
    if (n.kind == PLUMB_JSON_NUMBER_RANGE)
        assert_true(expected > 1e308 || expected < -1e308);
    else if (memcmp(&n.real, &expected, sizeof expected) != 0)
        fail_msg("%s is %.17g, not %.17g", text, expected, n.real);
}

static void numbers_are_those_of_strtod(void **state)
{
    static const char *const hard[] = {
        "0",
        "-0",
        "-0.0",
        "0e5",
        "0.000",
        "1",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.0",
        "2.2250738585072011e-308",
        "4.9e-324",
        "2.4e-324",
        "1e-400",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "1e22",
        "1e23",
        "8.5e22",
        "123456789012345678901234567890",
        "0.1",
        "0.30000000000000004",
        "1e-64",
        "1e64",
        "9999999999999999999e64",
        "9999999999999999999e-64",
        "1e65",
        "1e-65",
        "5e-1",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "0.00000000000000000000000000000000000000000000000000001",
        "4503599627370496.5",
        "4503599627370497.5",
        "3e-00000000000000000000001",
        "1e00000000000000000000000002",
    };
    uint64_t random = 7;
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        check_number(hard[i]);
    for (int i = 0; i < 300000; i++) {
        uint64_t bits =
            random_next(&random) << 33 ^ random_next(&random) << 10 ^ random_next(&random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (value - value != 0)
            continue;
        /* Half of them near 1, where statistics are; the rest anywhere. */
        if (i % 2)
            value = (double)(int64_t)bits / 9.3e18 * (double)(1 << (i % 13));
        snprintf(text, sizeof text, "%.*g", 15 + i % 4, value);
        check_number(text);
        snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)(bits >> (i % 60)),
                 (unsigned long long)random_next(&random));
        check_number(text);
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)bits, (int)(i % 131) - 65);
        check_number(text);
    }
}

/* Halfway between two doubles, exactly, and one digit to either side. */
static void ties_go_to_the_even_double(void **state)
{
    uint64_t random = 99;
    char text[64];
    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t odd =
            (UINT64_C(1) << 53 | (random_next(&random) << 22 ^ random_next(&random))) * 2 + 1;
        for (int away = -1; away <= 1; away++) {
            snprintf(text, sizeof text, "%llu", (unsigned long long)(odd + (uint64_t)away));
            check_number(text);
            snprintf(text, sizeof text, "%llu.0", (unsigned long long)(odd + (uint64_t)away));
            check_number(text);
        }
    }
}

static void whole_numbers_keep_their_64_bits(void **state)
{
    static const struct {
        const char *text;
        enum plumb_json_number_kind kind;
        uint64_t whole;
    } cases[] = {
        {"9223372036854775807", PLUMB_JSON_NUMBER_INT, INT64_MAX},
        {"9223372036854775808", PLUMB_JSON_NUMBER_UINT, UINT64_C(1) << 63},
        {"18446744073709551615", PLUMB_JSON_NUMBER_UINT, UINT64_MAX},
        {"18446744073709551616", PLUMB_JSON_NUMBER_REAL, 0},
        {"-9223372036854775808", PLUMB_JSON_NUMBER_INT, UINT64_C(1) << 63},
        {"-9223372036854775809", PLUMB_JSON_NUMBER_REAL, 0},
        {"-1", PLUMB_JSON_NUMBER_INT, UINT64_MAX},
        {"1.0", PLUMB_JSON_NUMBER_REAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char padded[64] = {0};
        struct plumb_json_number n = {PLUMB_JSON_NUMBER_NONE, 0, 0};
        snprintf(padded, sizeof padded, "%s", cases[i].text);
        assert_non_null(plumb_json_take_number(padded, &n));
        assert_int_equal(n.kind, cases[i].kind);
        if (n.kind != PLUMB_JSON_NUMBER_REAL)
            assert_true(n.whole == cases[i].whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_at_random_read_as_jansson_reads_them),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(python_words_are_read_where_they_are_asked_for),
        cmocka_unit_test(what_is_nearly_json_is_read_where_it_is_asked_for),
        cmocka_unit_test(lines_are_documents_and_keep_their_slots),
        cmocka_unit_test(numbers_are_those_of_strtod),
        cmocka_unit_test(ties_go_to_the_even_double),
        cmocka_unit_test(whole_numbers_keep_their_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

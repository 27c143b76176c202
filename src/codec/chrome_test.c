/* labels: notsan
 * Chrome trace events: spelling, numbers against printf, odd texts, full buffers. */
#include "codec/chrome.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"

enum { LARGE = 1 << 20 };

static unsigned char memory[LARGE];
static struct plumb_out out;

static int setup(void **state)
{
    (void)state;
    memset(memory, 'Z', sizeof memory);
    out = (struct plumb_out){memory, sizeof memory, 0};
    return 0;
}

static const char *written(void)
{
    memory[out.used] = '\0';
    return (const char *)memory;
}

static const struct plumb_chrome_event span = {
    .phase = PLUMB_CHROME_SPAN,
    .category = "user_annotation",
    .name = "denoise",
    .pid = 12,
    .tid = 13,
    .ns = 1234567,
    .dur_ns = 89,
};

static void a_file_is_spelled_as_kineto_spells_it(void **state)
{
    const struct plumb_chrome_device devices[] = {{0, "Fake \"0\"", 8u << 20}, {1, NULL, 0}};
    const struct plumb_chrome_head head = {
        .base_unix_ns = UINT64_C(1700000000123456789),
        .trace_name = "t.json",
        .trace_id = "abc",
        .devices = devices,
        .device_count = 2,
        .rank = 3,
        .world_size = 8,
        .backend = "mpi",
        .record_shapes = true,
        .with_stack = true,
        .profile_memory = true,
        .with_flops = true,
    };
    const struct plumb_chrome_arg args[] = {
        {"External id", PLUMB_CHROME_I64, {.i64 = -5}},
        {"u", PLUMB_CHROME_U64, {.u64 = UINT64_MAX}},
        {"f", PLUMB_CHROME_F64, {.f64 = 0.1}},
        {"whole", PLUMB_CHROME_F64, {.f64 = -3}},
        {"nan", PLUMB_CHROME_F64, {.f64 = (double)NAN}},
        {"inf", PLUMB_CHROME_F64, {.f64 = (double)INFINITY}},
        {"-inf", PLUMB_CHROME_F64, {.f64 = -(double)INFINITY}},
        {"b", PLUMB_CHROME_BOOL, {.boolean = true}},
        {"p", PLUMB_CHROME_POINTER, {.u64 = 0xff}},
        {"t", PLUMB_CHROME_TEXT, {.text = "x"}},
        {"Input Dims", PLUMB_CHROME_JSON, {.text = "[[1,2]]"}},
    };
    struct plumb_chrome_event e = span;
    (void)state;
    assert_true(plumb_chrome_head(&out, &head));
    assert_true(plumb_chrome_fact(&out, "plumb_version", "1"));
    assert_true(plumb_chrome_fact_i64(&out, "spans", -1));
    assert_true(plumb_chrome_events(&out));
    assert_true(plumb_chrome_meta(&out, PLUMB_CHROME_PROCESS_NAME, 12, 0, "prog", 0));
    assert_true(plumb_chrome_meta(&out, PLUMB_CHROME_THREAD_SORT_INDEX, 12, 13, NULL, 7));
    e.args = args;
    e.arg_count = 11;
    assert_true(plumb_chrome_event(&out, &e));
    e = span;
    e.id = 9;
    e.phase = PLUMB_CHROME_FLOW_END;
    assert_true(plumb_chrome_event(&out, &e));
    e.phase = PLUMB_CHROME_INSTANT;
    e.category = NULL;
    assert_true(plumb_chrome_event(&out, &e));
    e.phase = PLUMB_CHROME_COUNTER;
    e.args = &args[4];
    e.arg_count = 1;
    assert_true(plumb_chrome_event(&out, &e));
    assert_true(plumb_chrome_end(&out, 12, 2000000));
    assert_string_equal(
        written(),
        "{\n\"schemaVersion\":1,\n\"plumb.escaped\":1,\n"
        "\"deviceProperties\":[{\"id\":0,\"name\":\"Fake \\\"0\\\"\",\"totalGlobalMem\":8388608},"
        "{\"id\":1,\"name\":\"\"}],\n"
        "\"record_shapes\":1,\n\"with_stack\":1,\n\"profile_memory\":1,\n\"with_flops\":1,\n"
        "\"trace_id\":\"abc\",\n"
        "\"distributedInfo\":{\"backend\":\"mpi\",\"rank\":3,\"world_size\":8},\n"
        "\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":1700000000123456789,\n"
        "\"traceName\":\"t.json\",\n\"plumb_version\":\"1\",\n\"spans\":-1,\n\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"ts\":0.000,\"pid\":12,\"tid\":0,"
        "\"args\":{\"name\":\"prog\"}},\n"
        "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"ts\":0.000,\"pid\":12,\"tid\":13,"
        "\"args\":{\"sort_index\":7}},\n"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"denoise\",\"pid\":12,\"tid\":13,"
        "\"ts\":1234.567,\"dur\":0.089,\"args\":{\"External id\":-5,\"u\":\"18446744073709551615\","
        "\"f\":0.1,\"whole\":-3.0,\"nan\":\"NaN\",\"inf\":\"Infinity\",\"-inf\":\"-Infinity\","
        "\"b\":true,\"p\":\"0xff\",\"t\":\"x\","
        "\"Input Dims\":[[1,2]]}},\n"
        "{\"ph\":\"f\",\"cat\":\"user_annotation\",\"name\":\"denoise\",\"pid\":12,\"tid\":13,"
        "\"ts\":1234.567,\"id\":9,\"bp\":\"e\"},\n"
        "{\"ph\":\"i\",\"name\":\"denoise\",\"pid\":12,\"tid\":13,\"ts\":1234.567,\"s\":\"t\"},\n"
        "{\"ph\":\"C\",\"name\":\"denoise\",\"pid\":12,\"tid\":13,\"ts\":1234.567,"
        "\"args\":{\"nan\":null}},\n"
        "{\"ph\":\"i\",\"name\":\"Record Window End\",\"pid\":12,\"tid\":0,\"ts\":2000.000,"
        "\"s\":\"g\"}\n]}\n");
}

/* ---- Plain spans ---------------------------------------------------------------------------- */

enum { SPANS = 20000, TRACKS = 3, NAMES = 3 };

static unsigned char piece_memory[4 * PLUMB_CHROME_PIECE_MAX + PLUMB_CHROME_PAD];
static struct plumb_chrome_piece names[NAMES], tracks[TRACKS];
static struct plumb_chrome_span spans[SPANS];
static const char *const name_texts[NAMES] = {
    "x", "node.07",
    "a name that is longer than the widest register that any of the writers has, by far"};
static const int64_t track_ids[TRACKS][2] = {{1, 1}, {4711, 4712}, {-1, INT64_MIN}};

static void make_pieces(void)
{
    struct plumb_out pieces = {piece_memory, sizeof piece_memory, 0};
    for (int i = 0; i < NAMES; i++) {
        size_t before = pieces.used;
        assert_true(plumb_chrome_name_piece(&pieces, "cpu_op", name_texts[i], NULL, 0));
        names[i] = (struct plumb_chrome_piece){piece_memory + before, pieces.used - before};
    }
    for (int i = 0; i < TRACKS; i++) {
        size_t before = pieces.used;
        assert_true(plumb_chrome_track_piece(&pieces, track_ids[i][0], track_ids[i][1]));
        tracks[i] = (struct plumb_chrome_piece){piece_memory + before, pieces.used - before};
    }
}

/* All magnitudes alike, the borders of each, and what is too large. */
static void make_spans(uint64_t seed)
{
    for (size_t i = 0; i < SPANS; i++) {
        uint64_t bits = random_next(&seed) % 64 + 1, power = 1;
        uint64_t any = random_next(&seed) << 33 ^ random_next(&seed) << 11 ^ random_next(&seed);
        for (uint64_t n = random_next(&seed) % 19; n > 0; n--)
            power *= 10;
        spans[i].ns = any >> (64 - bits);
        spans[i].dur_ns = power - 1 + random_next(&seed) % 3;
        spans[i].name = (uint32_t)(random_next(&seed) % NAMES);
        spans[i].track = (uint32_t)(random_next(&seed) % TRACKS);
    }
}

static int by_printf(char *line, const struct plumb_chrome_span *s)
{
    uint64_t ns = s->ns < PLUMB_CHROME_NS_MAX ? s->ns : PLUMB_CHROME_NS_MAX;
    uint64_t dur = s->dur_ns < PLUMB_CHROME_NS_MAX ? s->dur_ns : PLUMB_CHROME_NS_MAX;
    return sprintf(line,
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":%" PRId64
                   ",\"tid\":%" PRId64 ",\"ts\":%" PRIu64 ".%03" PRIu64 ",\"dur\":%" PRIu64
                   ".%03" PRIu64 "},\n",
                   name_texts[s->name], track_ids[s->track][0], track_ids[s->track][1], ns / 1000,
                   ns % 1000, dur / 1000, dur % 1000);
}

static void check_against_printf(void)
{
    static char line[1024];
    size_t done = 0;
    make_pieces();
    make_spans(7);
    while (done < SPANS) {
        const unsigned char *p = memory;
        out.used = 0;
        size_t n = plumb_chrome_spans(&out, names, tracks, spans + done, SPANS - done);
        assert_true(n > 0);
        for (size_t i = done; i < done + n; i++) {
            int length = by_printf(line, &spans[i]);
            assert_memory_equal(p, line, (size_t)length);
            p += length;
        }
        assert_ptr_equal(p, memory + out.used);
        done += n;
    }
}

static void spans_are_what_printf_writes(void **state)
{
    (void)state;
    check_against_printf();
}

static void a_span_and_an_event_are_the_same_line(void **state)
{
    struct plumb_chrome_event e = {.phase = PLUMB_CHROME_SPAN,
                                   .category = "cpu_op",
                                   .name = name_texts[1],
                                   .pid = 4711,
                                   .tid = 4712,
                                   .ns = 5,
                                   .dur_ns = 1};
    const struct plumb_chrome_span s = {5, 1, 1, 1};
    char line[256];
    (void)state;
    make_pieces();
    assert_true(plumb_chrome_event(&out, &e));
    strcpy(line, written());
    out.used = 0;
    assert_int_equal(plumb_chrome_spans(&out, names, tracks, &s, 1), 1);
    assert_string_equal(written(), line);
}

static void a_name_may_bring_arguments(void **state)
{
    const struct plumb_chrome_arg arg = {"phase", PLUMB_CHROME_TEXT, {.text = "train"}};
    (void)state;
    assert_true(plumb_chrome_name_piece(&out, "cpu_op", "n", &arg, 1));
    assert_string_equal(written(), "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\","
                                   "\"args\":{\"phase\":\"train\"},");
}

/* ---- Texts ---------------------------------------------------------------------------------- */

static const char *name_of(const char *name)
{
    static char text[2 * PLUMB_CHROME_TEXT_MAX];
    struct plumb_chrome_event e = span;
    e.name = name;
    out.used = 0;
    assert_true(plumb_chrome_event(&out, &e));
    char *begin = strstr((char *)memory, "\"name\":") + 7;
    *strstr((char *)memory, ",\"pid\"") = '\0';
    strcpy(text, begin);
    return text;
}

static void odd_texts_are_escaped(void **state)
{
    (void)state;
    assert_string_equal(name_of("say \"hi\"\n\t\\"), "\"say \\\"hi\\\"\\u000a\\u0009\\\\\"");
    assert_string_equal(name_of("\xf0\x9f\x98\x80 \xc3\xa4"), "\"\xf0\x9f\x98\x80 \xc3\xa4\"");
    assert_string_equal(name_of("a\xff\xed\xa0\x80z"), "\"a\\\\xff\\\\xed\\\\xa0\\\\x80z\"");
    assert_string_equal(name_of("\\xff"), "\"\\\\x5cxff\"");
    assert_string_equal(name_of("cut\xf0\x9f"), "\"cut\\\\xf0\\\\x9f\"");
    assert_string_equal(name_of("\x7f\x01"), "\"\x7f\\u0001\"");
    assert_string_equal(name_of(""), "\"\"");
    assert_string_equal(name_of(NULL), "\"\"");
}

/* Each odd byte at each place among eight plain ones. */
static void an_odd_byte_is_found_wherever_it_stands(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
        for (int at = 0; at < 19; at++) {
            char name[] = "0123456789abcdefghi";
            name[at] = (char)byte;
            const char *text = name_of(name);
            assert_int_equal(strlen(text) == strlen(name) + 2, plain);
        }
    }
}

static void long_texts_are_cut(void **state)
{
    static char name[3 * PLUMB_CHROME_TEXT_MAX];
    (void)state;
    memset(name, 'a', PLUMB_CHROME_TEXT_MAX);
    assert_int_equal(strlen(name_of(name)), PLUMB_CHROME_TEXT_MAX + 2);
    assert_null(strstr(name_of(name), "..."));
    memset(name, 'a', PLUMB_CHROME_TEXT_MAX + 1);
    assert_int_equal(strlen(name_of(name)), PLUMB_CHROME_TEXT_MAX + 2);
    assert_non_null(strstr(name_of(name), "aaa...\""));
    memset(name, '"', sizeof name - 1);
    assert_true(strlen(name_of(name)) <= PLUMB_CHROME_TEXT_MAX + 2);
    assert_non_null(strstr(name_of(name), "\\\"...\""));
}

/* ---- Full buffers --------------------------------------------------------------------------- */

static void what_has_no_room_leaves_nothing(void **state)
{
    const struct plumb_chrome_head head = {.rank = -1, .world_size = -1};
    const struct plumb_chrome_span s = {5, 1, 1, 1};
    (void)state;
    make_pieces();
    for (size_t size = 0; size < 60; size++) {
        out = (struct plumb_out){memory, size, 0};
        assert_false(plumb_chrome_event(&out, &span));
        assert_false(plumb_chrome_head(&out, &head));
        assert_false(plumb_chrome_end(&out, 1, 1));
        assert_int_equal(plumb_chrome_spans(&out, names, tracks, &s, 1), 0);
        assert_int_equal(out.used, 0);
        assert_int_equal(memory[size], 'Z');
    }
}

static void the_largest_event_has_room(void **state)
{
    static char text[2 * PLUMB_CHROME_TEXT_MAX];
    struct plumb_chrome_arg args[PLUMB_CHROME_ARGS_MAX + 1];
    struct plumb_chrome_event e = span;
    (void)state;
    memset(text, '"', sizeof text - 1);
    for (int i = 0; i < PLUMB_CHROME_ARGS_MAX + 1; i++)
        args[i] = (struct plumb_chrome_arg){text, PLUMB_CHROME_TEXT, {.text = text}};
    e.name = e.category = text;
    e.args = args;
    e.arg_count = PLUMB_CHROME_ARGS_MAX + 1;
    out.size = PLUMB_CHROME_EVENT_MAX;
    assert_true(plumb_chrome_event(&out, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_file_is_spelled_as_kineto_spells_it, setup),
        cmocka_unit_test_setup(spans_are_what_printf_writes, setup),
        cmocka_unit_test_setup(a_span_and_an_event_are_the_same_line, setup),
        cmocka_unit_test_setup(a_name_may_bring_arguments, setup),
        cmocka_unit_test_setup(odd_texts_are_escaped, setup),
        cmocka_unit_test_setup(an_odd_byte_is_found_wherever_it_stands, setup),
        cmocka_unit_test_setup(long_texts_are_cut, setup),
        cmocka_unit_test_setup(what_has_no_room_leaves_nothing, setup),
        cmocka_unit_test_setup(the_largest_event_has_room, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

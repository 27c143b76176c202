/* Exports of a table that has everything in it, read back by a stock parser: hostile texts, zero
 * durations, open spans, devices, flows, counters, steps. */
#include "report/export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <zlib.h>

#include "hash_alike.h"
#include "read/json/scan.h"
#include "read/trace/chrome.h"
#include "report/export/rows.h"
#include "report/export/tracks.h"

static struct plumb_table t;
static struct plumb_buf got;
static int budget; /* bytes that write() takes; -1: any */
static const char *const odd_names[] = {"say \"hi\"",
                                        "two\nlines",
                                        "smile \xf0\x9f\x98\x80",
                                        "bad \xff\xc0 bytes",
                                        "semi;colon, comma",
                                        "\\xff",
                                        "tab\t\x01",
                                        ""};
enum { ODD = sizeof odd_names / sizeof *odd_names };

static uint32_t text(const char *s)
{
    return plumb_table_string(&t, s, strlen(s));
}

static uint32_t add_track(uint64_t uuid, enum plumb_track_kind kind, const char *name,
                          uint32_t parent, int64_t pid, int64_t tid)
{
    uint32_t id = plumb_table_track(&t, uuid), name_id = text(name);
    struct plumb_table_track *l = &t.tracks[id];
    l->kind = kind;
    l->name = name_id;
    l->parent = parent;
    l->pid = pid;
    l->tid = tid;
    l->has_pid = kind == PLUMB_TRACK_PROCESS;
    l->has_tid = kind == PLUMB_TRACK_THREAD;
    l->known = true;
    return id;
}

static union plumb_table_number i64(int64_t v)
{
    return (union plumb_table_number){.i64 = v};
}

/* Texts that take escaping, in JSON or in CSV. */
static const char *const odd_texts[][2] = {
    {"del", "\x7f"},          {"byte", "\xff"},        {"looks escaped", "\\xff"},
    {"line", "two\nlines"},   {"quote", "a \"b\", c"}, {"back\\slash", "\\ \\n"},
    {"control\x01", "\x1b["}, {"latin", "\xc2\x85"},
};
static const char *const odd_texts_spelled[][2] = {
    {"del", "\x7f"},          {"byte", "\\xff"},       {"looks escaped", "\\x5cxff"},
    {"line", "two\nlines"},   {"quote", "a \"b\", c"}, {"back\\slash", "\\ \\n"},
    {"control\x01", "\x1b["}, {"latin", "\xc2\x85"},
};
enum { ODD_TEXTS = sizeof odd_texts / sizeof *odd_texts };

static void add_args(uint32_t event)
{
    for (size_t i = 0; i < ODD_TEXTS; i++)
        plumb_table_add_arg(&t, event, text(odd_texts[i][0]), PLUMB_ARG_TEXT,
                            i64(text(odd_texts[i][1])));
    plumb_table_add_arg(&t, event, text("nan"), PLUMB_ARG_F64,
                        (union plumb_table_number){.f64 = 0.0 / 0.0});
    plumb_table_add_arg(&t, event, text("-inf"), PLUMB_ARG_F64,
                        (union plumb_table_number){.f64 = -1.0 / 0.0});
    plumb_table_add_arg(&t, event, text("step \"q\""), PLUMB_ARG_I64, i64(INT64_MIN));
    plumb_table_add_arg(&t, event, text("u"), PLUMB_ARG_U64, i64(-1));
    plumb_table_add_arg(&t, event, text("f"), PLUMB_ARG_F64,
                        (union plumb_table_number){.f64 = 1.0 / 0.0});
    plumb_table_add_arg(&t, event, text("b"), PLUMB_ARG_BOOL, i64(1));
    plumb_table_add_arg(&t, event, text("p"), PLUMB_ARG_POINTER, i64(0x1f));
    plumb_table_add_arg(&t, event, text("t"), PLUMB_ARG_TEXT, i64(text("x\n\xff")));
    plumb_table_add_arg(&t, event, text("j"), PLUMB_ARG_JSON, i64(text("{\"broken\": ")));
}

static uint32_t span(uint32_t track, int64_t ns, uint64_t dur, const char *name)
{
    return plumb_table_complete(&t, track, ns, dur, text(name), 0);
}

static int write_got(void *arg, const void *bytes, size_t n)
{
    (void)arg;
    if (budget >= 0 && got.len + n > (size_t)budget)
        return -1;
    plumb_buf_append(&got, bytes, n);
    return 0;
}

static void build(void)
{
    plumb_error err;
    assert_int_equal(plumb_table_init(&t, &err), 0);
    plumb_table_set_zero(&t, 0, UINT64_C(1700000000000000000));
    t.plumb = true;
    plumb_table_add_fact(&t, text("plumb.host"), PLUMB_ARG_TEXT, i64(text("ho/st")));
    plumb_table_add_fact(&t, text("plumb.rank"), PLUMB_ARG_I64, i64(3));
    uint32_t process = add_track(1, PLUMB_TRACK_PROCESS, "pro\"gram", PLUMB_TABLE_NONE, 4711, 0);
    uint32_t thread = add_track(2, PLUMB_TRACK_THREAD, "worker", process, 4711, 4712);
    uint32_t again = add_track(3, PLUMB_TRACK_THREAD, "worker", process, 4711, 4712);
    uint32_t async = add_track(4, PLUMB_TRACK_OTHER, "async 1", process, 0, 0);
    uint32_t gpu = add_track(5, PLUMB_TRACK_OTHER, "GPU 0", process, 0, 0);
    uint32_t stream = add_track(6, PLUMB_TRACK_DEVICE, "stream 7", gpu, 0, 0);
    uint32_t counter = add_track(7, PLUMB_TRACK_COUNTER, "bytes;\"held\"", process, 0, 0);
    uint32_t level = add_track(8, PLUMB_TRACK_COUNTER, "level", process, 0, 0);
    uint32_t pool =
        add_track(9, PLUMB_TRACK_COUNTER, "memory cuda:1 tensors allocated", process, 0, 0);
    uint32_t reserved =
        add_track(10, PLUMB_TRACK_COUNTER, "memory cuda:1 tensors reserved", process, 0, 0);
    uint32_t shares = add_track(11, PLUMB_TRACK_COUNTER, "level", process, 0, 0);
    t.tracks[shares].whole = true;
    plumb_table_counter_i64(&t, shares, 650, 7);
    t.tracks[counter].whole = t.tracks[pool].whole = t.tracks[reserved].whole = true;
    for (int i = 0; i < 3; i++) {
        plumb_table_counter_i64(&t, reserved, 700 + 10 * i, 4096 * (i + 1));
        plumb_table_counter_i64(&t, pool, 700 + 10 * i, i == 2 ? 1000 : 1024 * (i + 1));
    }

    for (int i = 0; i < ODD; i++)
        span(thread, 1000 * i, i == 0 ? 0 : 900, odd_names[i]);
    uint32_t outer = span(thread, 10000, 5000, "outer");
    for (int i = 0; i < 4; i++) {
        uint32_t inner = span(thread, 10100 + 1000 * i, 800, "inner");
        plumb_table_add_arg(&t, inner, text("step"), PLUMB_ARG_I64, i64(i / 2));
    }
    add_args(outer);
    plumb_table_complete(&t, thread, 16000, 10, text("trained"), text("train"));
    uint32_t shaped = span(thread, 16100, 10, "shaped");
    static const char *const inputs[][2] = {{"input.a", "float32[2,3]"}, {"input.b", "7"},
                                            {"input.c", "int8[]"},       {"input.d", "x[1,]"},
                                            {"input.e", "x[01]"},        {"input.f", "f[1]\","}};
    for (int i = 0; i < 6; i++)
        plumb_table_add_arg(&t, shaped, text(inputs[i][0]), PLUMB_ARG_TEXT,
                            i64(text(inputs[i][1])));
    span(again, 20000, 10, "later");
    span(async, 100, 30000, "async work");
    uint32_t launch = span(thread, 17000, 100, "launch"),
             kernel = span(stream, 17500, 1000, "gemm");
    plumb_table_add_flow(&t, launch, 77, false);
    plumb_table_add_flow(&t, kernel, 77, true);
    add_args(plumb_table_instant(&t, thread, 18000, text("mark\n"), 0));
    plumb_table_counter_i64(&t, counter, 500, INT64_MAX);
    plumb_table_counter_f64(&t, level, 600, 0.25);
    span(thread, 29000, 1500, "ends before what is in it");
    plumb_table_begin(&t, thread, 30000, text("still open"), 0);
    assert_int_equal(plumb_table_finish(&t, &err), 0);
}

static int setup(void **state)
{
    (void)state;
    budget = -1;
    build();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plumb_table_fini(&t);
    plumb_buf_fini(&got);
    got = (struct plumb_buf){0};
    return 0;
}

static int export(const char *format, bool gzip)
{
    struct plumb_export_out x;
    plumb_error err;
    assert_int_equal(plumb_export_open(&x, gzip, write_got, NULL, &err), 0);
    assert_int_equal(plumb_export_find(format)->write(&x, &t, "na\"me", &err), 0);
    int rc = plumb_export_finish(&x) ? 0 : -1;
    assert_int_equal(x.bytes, got.len);
    plumb_export_close(&x);
    return rc;
}

static json_t *exported(const char *format)
{
    json_error_t why;
    assert_int_equal(export(format, false), 0);
    json_t *j = json_loadb(got.data, got.len, JSON_REJECT_DUPLICATES, &why);
    if (!j)
        fail_msg("line %d: %s", why.line, why.text);
    return j;
}

/* ---- Chrome --------------------------------------------------------------------------------- */

static json_t *find(const json_t *events, const char *phase, const char *name)
{
    size_t i;
    json_t *e;
    json_array_foreach(events, i,
                       e) if (strcmp(json_string_value(json_object_get(e, "ph")), phase) == 0 &&
                              strcmp(json_string_value(json_object_get(e, "name")), name) ==
                                  0) return e;
    return NULL;
}

static const char *string(const json_t *e, const char *key)
{
    const char *s = json_string_value(json_object_get(e, key));
    return s ? s : "(none)";
}

static int64_t number(const json_t *e, const char *key)
{
    return json_integer_value(json_object_get(e, key));
}

static void chrome_has_every_event_with_its_place(void **state)
{
    (void)state;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents"), *e;
    assert_int_equal(number(all, "schemaVersion"), 1);
    assert_int_equal(number(all, "baseTimeNanoseconds"), 1700000000000000000);
    assert_int_equal(number(json_object_get(all, "distributedInfo"), "rank"), 3);
    assert_string_equal(string(json_array_get(json_object_get(all, "deviceProperties"), 0), "name"),
                        "GPU 0");
    assert_int_equal(number(all, "record_shapes"), 1);
    assert_int_equal(number(all, "profile_memory"), 1);
    assert_null(json_object_get(all, "with_stack"));
    e = find(events, "X", "outer");
    assert_int_equal(number(e, "pid"), 4711);
    assert_int_equal(number(e, "tid"), 4712);
    assert_true(json_real_value(json_object_get(e, "ts")) == 10.0);
    assert_true(json_real_value(json_object_get(e, "dur")) == 5.0);
    assert_string_equal(string(e, "cat"), "user_annotation");
    assert_string_equal(string(find(events, "X", "inner"), "cat"), "cpu_op");
    e = json_object_get(e, "args");
    assert_int_equal(number(e, "step \"q\""), INT64_MIN);
    assert_string_equal(string(e, "f"), "Infinity");
    assert_true(json_is_true(json_object_get(e, "b")));
    assert_string_equal(string(e, "p"), "0x1f");
    assert_string_equal(string(e, "t"), "x\n\\xff");
    assert_string_equal(string(e, "j"), "{\"broken\": ");
    assert_true(json_is_true(
        json_object_get(json_object_get(find(events, "X", "still open"), "args"), "open")));
    assert_string_equal(string(json_object_get(find(events, "X", "trained"), "args"), "phase"),
                        "train");
    assert_string_equal(string(json_array_get(events, json_array_size(events) - 1), "name"),
                        "Record Window End");
    json_decref(all);
}

static void chrome_keeps_odd_names_apart(void **state)
{
    static const char *const spelled[ODD] = {"say \"hi\"",
                                             "two\nlines",
                                             "smile \xf0\x9f\x98\x80",
                                             "bad \\xff\\xc0 bytes",
                                             "semi;colon, comma",
                                             "\\x5cxff",
                                             "tab\t\x01",
                                             ""};
    (void)state;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents");
    for (int i = 0; i < ODD; i++)
        assert_non_null(find(events, "X", spelled[i]));
    assert_true(json_real_value(json_object_get(find(events, "X", spelled[0]), "dur")) == 0.0);
    json_decref(all);
}

static void chrome_gives_each_track_a_row_of_its_own(void **state)
{
    (void)state;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents");
    assert_true(number(find(events, "X", "later"), "tid") >= PLUMB_EXPORT_OWN_TID);
    assert_true(number(find(events, "X", "async work"), "tid") >= PLUMB_EXPORT_OWN_TID);
    assert_int_equal(number(find(events, "X", "gemm"), "pid"), 0);
    assert_int_equal(number(find(events, "X", "gemm"), "tid"), 7);
    assert_string_equal(string(find(events, "X", "gemm"), "cat"), "kernel");
    json_decref(all);
}

static void chrome_tells_steps_flows_and_counters(void **state)
{
    (void)state;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents"), *e;
    e = find(events, "X", "ProfilerStep#0");
    assert_string_equal(string(e, "cat"), "user_annotation");
    assert_true(json_real_value(json_object_get(e, "ts")) == 10.1);
    assert_true(json_real_value(json_object_get(e, "dur")) == 1.801);
    assert_non_null(find(events, "X", "ProfilerStep#1"));
    e = find(events, "s", "ac2g");
    assert_int_equal(number(e, "tid"), 4712);
    assert_int_equal(number(e, "id"), number(find(events, "f", "ac2g"), "id"));
    assert_int_equal(number(find(events, "f", "ac2g"), "tid"), 7);
    assert_int_equal(number(json_object_get(find(events, "X", "gemm"), "args"), "correlation"),
                     number(json_object_get(find(events, "X", "launch"), "args"), "correlation"));
    e = json_object_get(find(events, "C", "bytes;\"held\""), "args");
    assert_int_equal(number(e, "bytes;\"held\""), INT64_MAX);
    assert_non_null(find(events, "i", "mark\n"));
    assert_true(json_real_value(json_object_get(json_object_get(find(events, "C", "level"), "args"),
                                                "level")) == 0.25);
    assert_int_equal(
        number(json_object_get(find(events, "C", "level (total)"), "args"), "level (total)"), 7);
    json_decref(all);
}

/* A program as it steps. A worker, which is met first, adopts the context of each step; a device
 * and a wait have the step of the launched work. */
enum { STEPS = 300 };

static int build_steps(void **state)
{
    plumb_error err;
    uint64_t ns = 1;
    (void)state;
    budget = -1;
    assert_int_equal(plumb_table_init(&t, &err), 0);
    uint32_t process = add_track(1, PLUMB_TRACK_PROCESS, "program", PLUMB_TABLE_NONE, 4711, 0);
    uint32_t worker = add_track(2, PLUMB_TRACK_THREAD, "worker", process, 4711, 4700);
    uint32_t thread = add_track(3, PLUMB_TRACK_THREAD, "program", process, 4711, 4711);
    uint32_t gpu = add_track(4, PLUMB_TRACK_OTHER, "gpu:0", process, 0, 0);
    uint32_t stream = add_track(5, PLUMB_TRACK_DEVICE, "stream 7", gpu, 0, 0);
    uint32_t waits = add_track(6, PLUMB_TRACK_OTHER, "stream 7: thread 4711 waits", stream, 0, 0);
    t.plumb = true;
    for (int i = 0; i < STEPS; i++) {
        uint64_t dur = 300000 + (ns * UINT64_C(2654435761)) % 9000017;
        const uint32_t tracks[] = {thread, worker, stream, waits};
        for (size_t k = 0; k < 4; k++) {
            int64_t from = (int64_t)ns + (k ? 7 : 0);
            uint32_t slice = span(tracks[k], from, dur - (k ? 14 : 0), k ? "work" : "step");
            plumb_table_add_arg(&t, slice, text("step"), PLUMB_ARG_I64, i64(i));
            if (k == 1) {
                uint32_t capture =
                    plumb_table_instant(&t, thread, from - 3, text("plumb.capture"), 0);
                plumb_table_add_flow(&t, capture, (uint64_t)i + 1, PLUMB_FLOW_ON);
                plumb_table_add_flow(&t, slice, (uint64_t)i + 1, PLUMB_FLOW_ON);
            }
        }
        /* Ends with the step, as the last function of one does. */
        span(thread, (int64_t)(ns + dur / 3), dur - dur / 3, "inner");
        ns += dur + 20 + (uint64_t)i % 5;
    }
    assert_int_equal(plumb_table_finish(&t, &err), 0);
    return 0;
}

static double us(const json_t *e, const char *key)
{
    return json_real_value(json_object_get(e, key));
}

static void chrome_has_each_step_once_around_all_of_it(void **state)
{
    size_t i;
    int steps = 0, inside = 0;
    double begin = 0, end = 0;
    (void)state;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents"), *e;
    json_array_foreach(events, i, e)
    {
        if (strcmp(string(e, "ph"), "X") != 0 || number(e, "tid") != 4711) {
            assert_true(strncmp(string(e, "name"), "ProfilerStep#", 13) != 0);
            continue;
        }
        double ts = us(e, "ts"), dur = us(e, "dur");
        if (strncmp(string(e, "name"), "ProfilerStep#", 13) == 0) {
            assert_true(ts >= end);
            begin = ts;
            end = ts + dur;
            steps++;
        } else {
            assert_true(ts >= begin && ts + dur <= end);
            inside++;
        }
    }
    assert_int_equal(steps, STEPS);
    assert_int_equal(inside, 2 * STEPS);
    json_decref(all);
}

static void chrome_shows_the_main_thread_first(void **state)
{
    size_t i;
    int64_t main_thread = -1, worker = -1;
    (void)state;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents"), *e;
    json_array_foreach(events, i, e)
    {
        if (strcmp(string(e, "name"), "thread_sort_index") != 0)
            continue;
        int64_t sort = number(json_object_get(e, "args"), "sort_index");
        main_thread = number(e, "tid") == 4711 ? sort : main_thread;
        worker = number(e, "tid") == 4700 ? sort : worker;
    }
    assert_in_range(main_thread, 0, worker - 1);
    json_decref(all);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every text that a viewer shows of the events: phase, category, name, args; sorted. */
static void put_names(struct plumb_buf *out, const json_t *all)
{
    size_t i, count = json_array_size(json_object_get(all, "traceEvents"));
    char **lines = calloc(count, sizeof *lines);
    json_t *e;
    assert_non_null(lines);
    json_array_foreach(json_object_get(all, "traceEvents"), i, e)
    {
        json_t *args = json_object_get(e, "args");
        char *text = args ? json_dumps(args, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
        struct plumb_buf line = {0};
        plumb_buf_printf(&line, "%s %s %s %s\n", string(e, "ph"), string(e, "cat"),
                         string(e, "name"), text ? text : "");
        free(text);
        lines[i] = line.data;
    }
    qsort(lines, count, sizeof *lines, by_text);
    for (i = 0; i < count; i++) {
        plumb_buf_str(out, lines[i]);
        free(lines[i]);
    }
    free(lines);
}

static void read_back(void)
{
    plumb_error err;
    static const char padding[PLUMB_JSON_PADDING];
    size_t size = got.len;
    plumb_table_fini(&t);
    plumb_buf_append(&got, padding, sizeof padding);
    if (plumb_chrome_parse(&t, got.data, size, "export.json", &err) < 0)
        fail_msg("%s", err.message);
    got.len = 0;
}

/* Bad bytes, line breaks, backslashes and control characters in names of any kind. */
static void names_survive_being_exported_and_read_again(void **state)
{
    struct plumb_buf names[3] = {{0}};
    (void)state;
    for (int round = 0; round < 3; round++) {
        json_t *all = exported("chrome");
        put_names(&names[round], all);
        json_decref(all);
        read_back();
        for (int i = 0; i < ODD; i++)
            assert_int_not_equal(plumb_strings_find(&t.strings, odd_names[i]), UINT32_MAX);
        for (size_t i = 0; i < ODD_TEXTS; i++)
            for (int k = 0; k < 2; k++)
                assert_int_not_equal(plumb_strings_find(&t.strings, odd_texts[i][k]), UINT32_MAX);
    }
    size_t same = 0;
    while (names[1].data[same] && names[1].data[same] == names[2].data[same])
        same++;
    if (names[1].data[same] || names[2].data[same])
        fail_msg("'%.80s' became '%.80s'", names[1].data + same, names[2].data + same);
    for (int round = 0; round < 3; round++)
        plumb_buf_fini(&names[round]);
}

static void chrome_tells_inputs_as_pytorch_does(void **state)
{
    (void)state;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents");
    json_t *args = json_object_get(find(events, "X", "shaped"), "args");
    char *dims = json_dumps(json_object_get(args, "Input Dims"), JSON_COMPACT);
    char *types = json_dumps(json_object_get(args, "Input type"), JSON_COMPACT);
    assert_string_equal(dims, "[[2,3],[],[],[],[],[]]");
    assert_string_equal(types, "[\"float32\",\"\",\"int8\",\"\",\"\",\"\"]");
    assert_string_equal(string(args, "input.b"), "7");
    assert_null(json_object_get(json_object_get(find(events, "X", "outer"), "args"), "Input Dims"));
    free(dims);
    free(types);
    json_decref(all);
}

static void chrome_tells_memory_as_pytorch_does(void **state)
{
    static const int64_t bytes[] = {1024, 1024, -1048};
    size_t i, found = 0;
    json_t *e;
    (void)state;
    json_t *all = exported("chrome");
    json_array_foreach(json_object_get(all, "traceEvents"), i, e)
    {
        json_t *args = json_object_get(e, "args");
        if (strcmp(string(e, "name"), "[memory]") != 0)
            continue;
        assert_string_equal(string(e, "cat"), "cpu_instant_event");
        assert_int_equal(number(args, "Bytes"), bytes[found++]);
        assert_int_equal(number(args, "Total Reserved"), 4096 * found);
        assert_int_equal(number(args, "Device Type"), 1);
        assert_int_equal(number(args, "Device Id"), 1);
    }
    assert_int_equal(found, 3);
    json_decref(all);
}

static void a_compressed_export_is_the_same(void **state)
{
    static unsigned char plain[1 << 20];
    (void)state;
    assert_int_equal(export("chrome", true), 0);
    z_stream s = {.next_in = (unsigned char *)got.data,
                  .avail_in = (uInt)got.len,
                  .next_out = plain,
                  .avail_out = sizeof plain};
    assert_int_equal(inflateInit2(&s, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&s, Z_FINISH), Z_STREAM_END);
    inflateEnd(&s);
    got.len = 0;
    assert_int_equal(export("chrome", false), 0);
    assert_int_equal(s.total_out, got.len);
    assert_memory_equal(plain, got.data, got.len);
}

/* ---- The others -----------------------------------------------------------------------------
 */

static void stacks_add_up_by_their_own_time(void **state)
{
    (void)state;
    assert_int_equal(export("folded", false), 0);
    assert_non_null(strstr(got.data, "worker;outer 1800\n"));
    assert_non_null(strstr(got.data, "worker;outer;inner 3200\n"));
    assert_non_null(strstr(got.data, "worker;semi,colon, comma 900\n"));
    assert_non_null(strstr(got.data, "worker;two\\x0alines 900\n"));
    assert_non_null(strstr(got.data, "stream 7;gemm 1000\n"));
    assert_null(strstr(got.data, "say")); /* it took no time */
    /* Each line ends in a space and a number. */
    for (char *line = strtok(got.data, "\n"); line; line = strtok(NULL, "\n"))
        assert_int_equal(strspn(strrchr(line, ' ') + 1, "0123456789"),
                         strlen(strrchr(line, ' ') + 1));
}

/* Two threads of one name and one without, all met before the main thread; two queues of one name;
 * two threads whose names hash alike. */
static int build_rows(void **state)
{
    plumb_error err;
    (void)state;
    budget = -1;
    assert_int_equal(plumb_table_init(&t, &err), 0);
    uint32_t process = add_track(1, PLUMB_TRACK_PROCESS, "program", PLUMB_TABLE_NONE, 50, 0);
    uint32_t tracks[] = {
        add_track(2, PLUMB_TRACK_THREAD, "pool", process, 50, 51),
        add_track(3, PLUMB_TRACK_THREAD, "pool", process, 50, 52),
        add_track(4, PLUMB_TRACK_THREAD, "", process, 50, 53),
        add_track(5, PLUMB_TRACK_THREAD, "", process, 50, 54),
        add_track(6, PLUMB_TRACK_THREAD, "program", process, 50, 50),
        add_track(8, PLUMB_TRACK_DEVICE, "q",
                  add_track(7, PLUMB_TRACK_OTHER, "gpu:0", process, 0, 0), 0, 0),
        add_track(10, PLUMB_TRACK_DEVICE, "q",
                  add_track(9, PLUMB_TRACK_OTHER, "gpu:1", process, 0, 0), 0, 0),
        add_track(11, PLUMB_TRACK_THREAD, ALIKE_A, process, 50, 55),
        add_track(12, PLUMB_TRACK_THREAD, ALIKE_B, process, 50, 56),
    };
    for (size_t i = 0; i < sizeof tracks / sizeof *tracks; i++)
        span(tracks[i], (int64_t)i, 10 + i, "work");
    assert_int_equal(plumb_table_finish(&t, &err), 0);
    return 0;
}

static void the_main_thread_comes_first_and_equal_names_are_told_apart(void **state)
{
    static const char *const names[] = {"program",   "pool (51)", "pool (52)",
                                        "thread 53", "thread 54", "q (gpu:0)",
                                        "q (gpu:1)", ALIKE_A,     ALIKE_B};
    struct plumb_export_rows rows;
    plumb_error err;
    (void)state;
    json_t *all = exported("speedscope"), *profiles = json_object_get(all, "profiles");
    assert_int_equal(number(all, "activeProfileIndex"), 0);
    assert_int_equal(json_array_size(profiles), 9);
    assert_int_equal(plumb_export_rows_init(&rows, &t, false, &err), PLUMB_OK); /* as OTF2 does */
    assert_int_equal(rows.count, 9);
    for (uint32_t i = 0; i < 9; i++) {
        struct plumb_buf name = {0};
        assert_string_equal(string(json_array_get(profiles, i), "name"), names[i]);
        plumb_export_row_name(&name, &rows, rows.tracks[i]);
        assert_string_equal(name.data, names[i]);
        plumb_buf_fini(&name);
    }
    plumb_export_rows_fini(&rows);
    json_decref(all);
}

static void stacks_of_threads_without_a_name_begin_with_their_number(void **state)
{
    (void)state;
    assert_int_equal(export("folded", false), 0);
    assert_non_null(strstr(got.data, "thread 53;work 12\n"));
    assert_non_null(strstr(got.data, "thread 54;work 13\n"));
    assert_non_null(strstr(got.data, "pool;work 21\n"));
    assert_null(strstr(got.data, "no name"));
}

static void stacks_of_queues_of_one_name_stay_apart(void **state)
{
    (void)state;
    assert_int_equal(export("folded", false), 0);
    assert_non_null(strstr(got.data, "q (gpu:0);work 15\n"));
    assert_non_null(strstr(got.data, "q (gpu:1);work 16\n"));
}

/* Field by field what https://www.speedscope.app/file-format-schema.json demands. */
static void speedscope_follows_its_schema(void **state)
{
    size_t i, k;
    json_t *profile, *event;
    (void)state;
    json_t *all = exported("speedscope");
    json_t *frames = json_object_get(json_object_get(all, "shared"), "frames");
    json_t *profiles = json_object_get(all, "profiles");
    assert_string_equal(string(all, "$schema"),
                        "https://www.speedscope.app/file-format-schema.json");
    assert_string_equal(string(all, "name"), "na\"me");
    assert_true(json_is_array(frames) && json_is_array(profiles));
    json_array_foreach(frames, i, event)
        assert_true(json_is_string(json_object_get(event, "name")));
    assert_int_equal(json_array_size(profiles), 4);
    json_array_foreach(profiles, i, profile)
    {
        int64_t stack[64];
        size_t depth = 0;
        double last = json_number_value(json_object_get(profile, "startValue"));
        assert_string_equal(string(profile, "type"), "evented");
        assert_string_equal(string(profile, "unit"), "microseconds");
        assert_true(json_is_string(json_object_get(profile, "name")));
        json_array_foreach(json_object_get(profile, "events"), k, event)
        {
            double at = json_number_value(json_object_get(event, "at"));
            assert_true(at >= last);
            assert_in_range(number(event, "frame"), 0, json_array_size(frames) - 1);
            last = at;
            if (strcmp(string(event, "type"), "O") == 0) {
                stack[depth++] = number(event, "frame");
            } else {
                assert_string_equal(string(event, "type"), "C");
                assert_int_equal(stack[--depth], number(event, "frame"));
            }
        }
        assert_int_equal(depth, 0);
        assert_true(last <= json_number_value(json_object_get(profile, "endValue")));
    }
    json_decref(all);
}

static void csv_has_a_line_for_each_event(void **state)
{
    size_t lines = 0;
    (void)state;
    assert_int_equal(export("csv", false), 0);
    for (const char *p = got.data; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, 1 + t.slices.count + t.instants.count + t.counters.count);
    assert_non_null(strstr(got.data, "span,4711,4712,worker,0,0,0,\"say \"\"hi\"\"\",,,,\n"));
    assert_non_null(strstr(got.data, "span,4711,4712,worker,30000,500,1,still open,,,open,\n"));
    assert_non_null(strstr(got.data, ",16000,10,0,trained,train,,,\n"));
    assert_non_null(strstr(got.data, ",500,,,\"bytes;\"\"held\"\"\",,9223372036854775807,,\n"));
    assert_non_null(strstr(got.data, ",600,,,level,,0.25,,\n"));
}

/* Appends the field, unquoted as in RFC 4180. Returns what follows it. */
static const char *csv_field(const char *p, struct plumb_buf *out)
{
    bool quoted = *p == '"';
    out->len = 0;
    for (p += quoted; *p; p++) {
        if (quoted && p[0] == '"' && p[1] != '"')
            break;
        if (!quoted && (*p == ',' || *p == '\n'))
            break;
        p += quoted && *p == '"';
        plumb_buf_char(out, *p);
    }
    return p + quoted + 1;
}

static void arguments_are_escaped_once(const json_t *args)
{
    for (size_t i = 0; i < ODD_TEXTS; i++)
        assert_string_equal(string(args, odd_texts_spelled[i][0]), odd_texts_spelled[i][1]);
    assert_string_equal(string(args, "u"), "18446744073709551615");
    assert_string_equal(string(args, "p"), "0x1f");
    assert_string_equal(string(args, "f"), "Infinity");
    assert_string_equal(string(args, "-inf"), "-Infinity");
    assert_string_equal(string(args, "nan"), "NaN");
}

static void arguments_of_csv_are_the_json_of_chrome(void **state)
{
    struct plumb_buf field = {0};
    json_error_t why;
    (void)state;
    assert_int_equal(export("csv", false), 0);
    const char *p = strstr(got.data, ",10000,5000,0,outer,");
    assert_non_null(p);
    for (int i = 0; i < 8; i++)
        p = csv_field(p, &field);
    csv_field(p, &field);
    json_t *args = json_loads(field.data, JSON_REJECT_DUPLICATES, &why);
    if (!args)
        fail_msg("%s: %s", why.text, field.data);
    arguments_are_escaped_once(args);
    got.len = 0;
    json_t *all = exported("chrome"), *events = json_object_get(all, "traceEvents");
    arguments_are_escaped_once(json_object_get(find(events, "X", "outer"), "args"));
    json_decref(all);
    json_decref(args);
    plumb_buf_fini(&field);
}

static void what_cannot_be_written_is_told(void **state)
{
    static const char *const names[] = {"chrome", "folded", "speedscope", "csv"};
    (void)state;
    budget = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(export(names[i], false), -1);
        assert_int_equal(export(names[i], true), -1);
    }
    assert_int_equal(got.len, 0);
}

static void a_name_says_host_process_rank_and_time(void **state)
{
    char name[PLUMB_EXPORT_NAME_MAX];
    (void)state;
    plumb_export_name(name, &t, plumb_export_find("chrome"));
    assert_memory_equal(name, "ho_st-", 6);
    assert_non_null(strstr(name, "_4711_rank3.1700000000000000000.pt.trace.json.gz"));
    assert_null(strchr(name, '/'));
}

static void an_empty_trace_is_a_file_too(void **state)
{
    static const char *const names[] = {"chrome", "folded", "speedscope", "csv"};
    plumb_error err;
    (void)state;
    plumb_table_fini(&t);
    assert_int_equal(plumb_table_init(&t, &err), 0);
    assert_int_equal(plumb_table_finish(&t, &err), 0);
    for (int i = 0; i < 4; i++) {
        got.len = 0;
        assert_int_equal(export(names[i], false), 0);
        if (i % 2 == 0)
            json_decref(json_loadb(got.data, got.len, 0, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chrome_has_every_event_with_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(chrome_keeps_odd_names_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(chrome_gives_each_track_a_row_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(chrome_tells_steps_flows_and_counters, setup, teardown),
        cmocka_unit_test_setup_teardown(chrome_has_each_step_once_around_all_of_it, build_steps,
                                        teardown),
        cmocka_unit_test_setup_teardown(chrome_shows_the_main_thread_first, build_steps, teardown),

        cmocka_unit_test_setup_teardown(names_survive_being_exported_and_read_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(chrome_tells_inputs_as_pytorch_does, setup, teardown),
        cmocka_unit_test_setup_teardown(chrome_tells_memory_as_pytorch_does, setup, teardown),
        cmocka_unit_test_setup_teardown(a_compressed_export_is_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(stacks_add_up_by_their_own_time, setup, teardown),
        cmocka_unit_test_setup_teardown(the_main_thread_comes_first_and_equal_names_are_told_apart,
                                        build_rows, teardown),
        cmocka_unit_test_setup_teardown(stacks_of_threads_without_a_name_begin_with_their_number,
                                        build_rows, teardown),
        cmocka_unit_test_setup_teardown(stacks_of_queues_of_one_name_stay_apart, build_rows,
                                        teardown),
        cmocka_unit_test_setup_teardown(speedscope_follows_its_schema, setup, teardown),
        cmocka_unit_test_setup_teardown(csv_has_a_line_for_each_event, setup, teardown),
        cmocka_unit_test_setup_teardown(arguments_of_csv_are_the_json_of_chrome, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_says_host_process_rank_and_time, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_trace_is_a_file_too, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of rank_summary.c: grouping, order, bounds and spelling of the two files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"
#include "summary/rank_summary.h"
#include "timing_fixture.h"

enum { US = 1000 };

static struct plumb_buf text, json;

static int empty(void **state)
{
    (void)state;
    plumb_buf_fini(&text);
    plumb_buf_fini(&json);
    return 0;
}

static void make(const struct plumb_timing *t, const struct plumb_rank_row *rows, size_t n)
{
    plumb_error err = {0, ""};
    if (plumb_rank_summary(&text, &json, t, rows, n, &err) < 0)
        fail_msg("%s", err.message);
}

/* The files of a run. */
static void make_of(const struct plumb_timing *t, const struct plumb_shape_times *shapes)
{
    struct plumb_rank_row *rows = NULL;
    plumb_error err = {0, ""};
    size_t n = 0;
    if (plumb_rank_rows(t, shapes, &rows, &n, &err) < 0)
        fail_msg("%s", err.message);
    make(t, rows, n);
    free(rows);
}

static size_t lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static void rows_of_one_name_and_shapes_are_one(void **state)
{
    static const struct plumb_rank_row rows[] = {
        {"matmul", "[[2, 3], [3, 4]]", 1, 10 * US, 8 * US, 5 * US},
        {"copy", "", 2, 0, 0, 1 * US},
        {"matmul", "[[2, 3], [3, 5]]", 1, 20 * US, 20 * US, 1},
        {"matmul", "[[2, 3], [3, 4]]", 3, 2200, 1, 1 * US},
    };
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    make(&t, rows, 4);
    /* First-seen order, all rows, one line, five fields. */
    assert_string_equal(
        json.data,
        "[{\"name\":\"matmul\",\"shapes\":\"[[2, 3], [3, 4]]\",\"self_device_us\":8.001,"
        "\"device_us\":12.2,\"count\":4},"
        "{\"name\":\"copy\",\"shapes\":\"\",\"self_device_us\":0,\"device_us\":0,\"count\":2},"
        "{\"name\":\"matmul\",\"shapes\":\"[[2, 3], [3, 5]]\",\"self_device_us\":20,"
        "\"device_us\":20,\"count\":1}]\n");
    /* By self device time, then host time. */
    assert_string_equal(
        text.data, "Rank 0: 3 of 3 rows, by self device time, then self host time\n"
                   "Name                                     Shapes                      Count   "
                   "Self dev(ms)     Device(ms)  Self host(ms)\n"
                   "-----------------------------------------------------------------------------"
                   "------------------------------------------\n"
                   "matmul                                   [[2, 3], [3, 5]]                1   "
                   "       0.020          0.020          0.000\n"
                   "matmul                                   [[2, 3], [3, 4]]                4   "
                   "       0.008          0.012          0.006\n"
                   "copy                                                                     2   "
                   "       0.000          0.000          0.001\n");
}

static void the_text_has_sixty_rows_and_says_what_it_left_out(void **state)
{
    struct plumb_rank_row rows[75];
    char names[75][16];
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    t.rank = 7;
    for (size_t i = 0; i < 75; i++) {
        snprintf(names[i], sizeof names[i], "op.%zu", i);
        rows[i] = (struct plumb_rank_row){names[i], "", 1, i * US, i * US, 0};
    }
    make(&t, rows, 75);
    assert_non_null(strstr(text.data, "Rank 7: 60 of 75 rows, by self device time, then self host "
                                      "time; 15 left out, summary_rank7.json has all\n"));
    assert_int_equal(lines(text.data), 3 + 60);
    assert_non_null(strstr(text.data, "\nop.74 "));
    assert_non_null(strstr(text.data, "\nop.15 "));
    assert_null(strstr(text.data, "\nop.14 "));
    assert_int_equal(lines(json.data), 1);
    assert_true(strncmp(json.data, "[{\"name\":\"op.0\",", 16) == 0);
    assert_non_null(strstr(json.data, "\"op.74\""));
    empty(NULL);
    make(&t, rows, 60);
    assert_non_null(strstr(text.data, "Rank 7: 60 of 60 rows, by self device time, then self host "
                                      "time\n"));
}

static void without_shapes_the_nodes_are_the_rows(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    make_of(&t, NULL);
    /* frame of three rows is one; decode has 5 ms of device time; rank 3. */
    assert_non_null(strstr(json.data, "[{\"name\":\"frame\",\"shapes\":\"\",\"self_device_us\":0,"
                                      "\"device_us\":0,\"count\":11},"
                                      "{\"name\":\"decode\",\"shapes\":\"\","
                                      "\"self_device_us\":5000,\"device_us\":5000,\"count\":7},"));
    /* Names that JSON or a terminal cannot hold stay apart and harm neither. */
    assert_non_null(strstr(json.data, "\"bad\\\\xff\\\\xfe name\""));
    assert_non_null(strstr(json.data, "\"bad\\\\x5cxff\\\\x5cxfe name\""));
    assert_non_null(strstr(text.data, "\nbad\\xff\\xfe name "));
    assert_non_null(strstr(text.data, "\nbad\\x5cxff\\x5cxfe name "));
    assert_non_null(strstr(text.data, "Rank 3: 6 of 6 rows"));
    /* decode leads: it alone has device time. */
    assert_non_null(strstr(text.data, "-\ndecode "));
    plumb_timing_fini(&t);
}

static struct plumb_timing_node node_of(const char *name, uint64_t runs, uint64_t self_ns)
{
    struct plumb_timing_node node = {.pipeline = "p", .phase = "inference", .name = name};
    node.host.ns.count = runs;
    node.self_ns = self_ns;
    return node;
}

static void shapes_are_rows_and_add_up_to_their_node(void **state)
{
    /* denoise in two phases: 10 runs, 100 us; by shapes 4 + 2 and 3 of them, one of neither. */
    struct plumb_timing_node nodes[] = {node_of("denoise", 7, 60 * US),
                                        node_of("decode", 2, 5 * US),
                                        node_of("denoise", 3, 40 * US)};
    struct plumb_shape_time shapes[] = {{"denoise", "[[9, 8]]", 4, 0, 30 * US, 0, 0, 0},
                                        {"denoise", "[[21, 8], []]", 3, 0, 45 * US, 0, 0, 0},
                                        {"denoise", "[[9, 8]]", 2, 0, 5 * US, 0, 0, 0},
                                        {"decode", "[]", 0, 0, 0, 0, 0, 0}, /* of before a reset */
                                        {"nobody", "[[1]]", 1, 0, 1 * US, 0, 0, 0}};
    struct plumb_shape_times all = {.at = shapes, .count = 5};
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    nodes[0].device.ns.total = 12 * US;
    t.nodes = nodes;
    t.node_count = 3;
    make_of(&t, &all);
    assert_string_equal(
        json.data,
        "[{\"name\":\"denoise\",\"shapes\":\"[[9, 8]]\",\"self_device_us\":0,\"device_us\":0,"
        "\"count\":6},"
        "{\"name\":\"denoise\",\"shapes\":\"[[21, 8], []]\",\"self_device_us\":0,\"device_us\":0,"
        "\"count\":3},"
        "{\"name\":\"denoise\",\"shapes\":\"\",\"self_device_us\":12,\"device_us\":12,\"count\":1},"
        "{\"name\":\"decode\",\"shapes\":\"\",\"self_device_us\":0,\"device_us\":0,\"count\":2}]"
        "\n");
    /* Host time: 35 us and 45 us by shapes, 20 us left of 100. */
    assert_non_null(strstr(text.data, "[[9, 8]]                        6          0.000"
                                      "          0.000          0.035\n"));
    assert_non_null(strstr(text.data, "[[21, 8], []]                   3          0.000"
                                      "          0.000          0.045\n"));
    assert_non_null(strstr(text.data, "                                 1          0.012"
                                      "          0.012          0.020\n"));
}

static void device_time_goes_with_the_shapes_when_all_runs_had_the_same(void **state)
{
    struct plumb_timing_node node = node_of("denoise", 5, 50 * US);
    struct plumb_shape_time shapes[] = {{"denoise", "[[4]]", 5, 0, 49999, 0, 0, 0},
                                        {"denoise", "[[5]]", 1, 0, 9 * US, 0, 0, 0}};
    struct plumb_shape_times same = {.at = shapes, .count = 1}, both = {.at = shapes, .count = 2};
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    node.device.ns.total = 7 * US;
    t.nodes = &node;
    t.node_count = 1;
    make_of(&t, &same);
    assert_string_equal(json.data,
                        "[{\"name\":\"denoise\",\"shapes\":\"[[4]]\",\"self_device_us\":7,"
                        "\"device_us\":7,\"count\":5}]\n");
    assert_non_null(strstr(text.data, "0.050\n"));
    empty(NULL);
    /* Two shapes and no run left: what the device took is still there, by the number of samples. */
    node.host.ns.count = 6;
    node.device.ns.count = 4;
    make_of(&t, &both);
    assert_non_null(strstr(json.data, "{\"name\":\"denoise\",\"shapes\":\"\",\"self_device_us\":7,"
                                      "\"device_us\":7,\"count\":4}]\n"));
    empty(NULL);
    /* Of these 7 us, 2 and 4 were recorded inside of calls. */
    shapes[0].device_ns = 2 * US;
    shapes[0].device_samples = 1;
    shapes[1].device_ns = 4 * US;
    shapes[1].device_samples = 2;
    make_of(&t, &both);
    assert_string_equal(
        json.data,
        "[{\"name\":\"denoise\",\"shapes\":\"[[4]]\",\"self_device_us\":2,\"device_us\":2,"
        "\"count\":5},{\"name\":\"denoise\",\"shapes\":\"[[5]]\",\"self_device_us\":4,"
        "\"device_us\":4,\"count\":1},{\"name\":\"denoise\",\"shapes\":\"\","
        "\"self_device_us\":1,\"device_us\":1,\"count\":1}]\n");
    empty(NULL);
    /* Nested are 9 us, of which 5 were recorded inside of calls with shapes. */
    node.device_within_ns = 9 * US;
    shapes[0].device_within_ns = 5 * US;
    make_of(&t, &both);
    assert_string_equal(
        json.data,
        "[{\"name\":\"denoise\",\"shapes\":\"[[4]]\",\"self_device_us\":2,\"device_us\":7,"
        "\"count\":5},{\"name\":\"denoise\",\"shapes\":\"[[5]]\",\"self_device_us\":4,"
        "\"device_us\":4,\"count\":1},{\"name\":\"denoise\",\"shapes\":\"\","
        "\"self_device_us\":1,\"device_us\":5,\"count\":1}]\n");
    empty(NULL);
    /* Device time that is left, without a sample, is that of failed calls. */
    node.device.ns.total = 6 * US;
    make_of(&t, &both);
    assert_null(strstr(json.data, "\"shapes\":\"\""));
    empty(NULL);
    node.device.ns.total = 0;
    make_of(&t, &both);
    assert_null(strstr(json.data, "\"shapes\":\"\""));
}

static void more_by_shapes_than_there_is_is_not_believed(void **state)
{
    struct plumb_timing_node node = node_of("denoise", 5, 50 * US);
    struct plumb_shape_time shapes[] = {
        {"denoise", "[[4]]", UINT64_MAX, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
        {"denoise", "[[5]]", 2, 0, 9 * US, 0, 0, 0}};
    struct plumb_shape_times all = {.at = shapes, .count = 2};
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    t.nodes = &node;
    t.node_count = 1;
    make_of(&t, &all);
    assert_string_equal(json.data,
                        "[{\"name\":\"denoise\",\"shapes\":\"[[4]]\",\"self_device_us\":0,"
                        "\"device_us\":0,\"count\":5}]\n");
    empty(NULL);
    node.host.ns.count = 0; /* all failed, and something took 50 us */
    make_of(&t, &all);
    assert_string_equal(json.data, "[{\"name\":\"denoise\",\"shapes\":\"\",\"self_device_us\":0,"
                                   "\"device_us\":0,\"count\":0}]\n");
    assert_non_null(strstr(text.data, "0.050\n"));
}

static void long_shapes_are_cut_in_the_text_alone(void **state)
{
    char shapes[200];
    struct plumb_rank_row rows[] = {{"a", shapes, 1, 0, 0, 2}, {"b", "[[1]]", 1, 0, 0, 1}};
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    memset(shapes, '7', sizeof shapes);
    memcpy(shapes, "[[", 2);
    memcpy(shapes + sizeof shapes - 3, "]]", 3);
    make(&t, rows, 2);
    assert_non_null(strstr(json.data, shapes));
    shapes[77] = '\0';
    assert_non_null(strstr(text.data, shapes));
    assert_non_null(strstr(text.data, "7...        1 "));
    shapes[78] = '\0';
    /* The other row keeps to the columns. */
    const char *a = strstr(text.data, "\na "), *b = strstr(text.data, "\nb ");
    assert_int_equal(strchr(a + 1, '\n') - a, strchr(b + 1, '\n') - b);
}

static void a_run_without_nodes_has_empty_files(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    make_of(&t, NULL);
    assert_string_equal(json.data, "[]\n");
    assert_int_equal(lines(text.data), 3);
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct written {
    char names[3][48];
    int n;
    bool refuse_first;
};

static int take(void *arg, const char *name, const struct plumb_buf *b, plumb_error *err)
{
    struct written *w = arg;
    assert_true(b->len > 0 && w->n < 3);
    snprintf(w->names[w->n++], sizeof w->names[0], "%s", name);
    if (w->refuse_first && w->n == 1)
        return plumb_fail(err, PLUMB_ERR_IO, "no room for '%s'", name);
    return PLUMB_OK;
}

static void the_files_bear_the_rank(void **state)
{
    struct plumb_timing t;
    struct written w = {.n = 0};
    (void)state;
    plumb_timing_init(&t);
    assert_int_equal(plumb_rank_files(&t, NULL, take, &w, NULL), PLUMB_OK);
    assert_string_equal(w.names[0], "summary_rank0.txt");
    assert_string_equal(w.names[1], "summary_rank0.json");
    assert_string_equal(w.names[2], "summary_rank0.nodes.txt");
    w.n = 0;
    t.rank = INT32_MAX;
    assert_int_equal(plumb_rank_files(&t, NULL, take, &w, NULL), PLUMB_OK);
    assert_string_equal(w.names[1], "summary_rank2147483647.json");
}

static void one_that_cannot_be_written_does_not_keep_the_others_back(void **state)
{
    struct plumb_timing t;
    struct written w = {.refuse_first = true};
    plumb_error err = {0, ""};
    (void)state;
    plumb_timing_init(&t);
    assert_int_equal(plumb_rank_files(&t, NULL, take, &w, &err), PLUMB_ERR_IO);
    assert_int_equal(w.n, 3);
    assert_string_equal(err.message, "no room for 'summary_rank0.txt'");
}

#define TEST(name) cmocka_unit_test_teardown(name, empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_of_one_name_and_shapes_are_one),
        TEST(the_text_has_sixty_rows_and_says_what_it_left_out),
        TEST(without_shapes_the_nodes_are_the_rows),
        TEST(shapes_are_rows_and_add_up_to_their_node),
        TEST(device_time_goes_with_the_shapes_when_all_runs_had_the_same),
        TEST(more_by_shapes_than_there_is_is_not_believed),
        TEST(long_shapes_are_cut_in_the_text_alone),
        TEST(a_run_without_nodes_has_empty_files),
        TEST(the_files_bear_the_rank),
        TEST(one_that_cannot_be_written_does_not_keep_the_others_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* TF-21: the breakdown of a node lists what ran inside by own time, at most 50 rows, none below
 * 0.01 ms, kernels of devices apart from what ran on the host, and its numbers are those of the
 * rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "record.h"

enum { KERNELS = 70, MS = 1000000 };

static void forward(void)
{
    char name[32];
    PLUMB_SPAN("forward");
    record_work_ns(2 * MS);
    {
        PLUMB_SPAN("matmul");
        record_work_ns(3 * MS);
    }
    /* Kernel i takes i us twice; the first five are too short to be listed. */
    for (int i = 0; i < 2 * KERNELS; i++) {
        snprintf(name, sizeof name, "kernel.%d", i / 2);
        plumb_record_device_ns(plumb_node_get(name), (uint64_t)(i / 2) * 1000);
    }
}

static json_t *breakdown(void)
{
    plumb_options o = plumb_options_default();
    char dir[1024], path[1100];
    json_t *b;
    o.trace_nodes = "forward";
    record_start_with(o);
    plumb_record_device_ns(plumb_node_get("outside"), 500 * MS);
    forward();
    forward();
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    snprintf(path, sizeof path, "%s/forward_rank0.breakdown.json", dir);
    b = json_load_file(path, 0, NULL);
    assert_non_null(b);
    return b;
}

static double number(const json_t *o, const char *key)
{
    const json_t *n = json_object_get(o, key);
    assert_true(json_is_number(n));
    return json_number_value(n);
}

/* Rows stand by `ms`, and their sum is at most the total. */
static void check_list(const json_t *b, const char *list, const char *total)
{
    const json_t *rows = json_object_get(b, list), *row;
    double before = 1e300, sum = 0;
    size_t i;
    assert_true(json_array_size(rows) <= 50);
    json_array_foreach(rows, i, row)
    {
        assert_true(json_is_string(json_object_get(row, "name")));
        assert_true(number(row, "ms") <= before && number(row, "ms") >= 0.01);
        assert_true(number(row, "cuda_ms") >= 0 && number(row, "cpu_ms") >= 0);
        before = number(row, "ms");
        sum += before;
    }
    assert_true(sum <= number(b, total) + 0.01 * 50);
}

/* Which of the two is first, is for the machine to say. */
static const json_t *row_of(const json_t *b, const char *name)
{
    const json_t *rows = json_object_get(b, "top_host_ops"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
            return row;
    }
    fail_msg("no row of '%s'", name);
    return NULL;
}

static void kernels_are_apart_from_host_work(void **state)
{
    json_t *b = breakdown();
    const json_t *kernels = json_object_get(b, "top_kernels"), *host;
    (void)state;
    assert_string_equal(json_string_value(json_object_get(b, "name")), "forward");
    assert_int_equal(number(b, "rank"), 0);
    assert_int_equal(number(b, "runs"), 2);
    check_list(b, "top_kernels", "total_kernel_time_ms");
    check_list(b, "top_host_ops", "total_host_time_ms");
    /* Four times i us: from kernel 3 on that is 0.01 ms and more. */
    assert_int_equal(number(b, "num_kernels"), KERNELS - 3);
    assert_int_equal(json_array_size(kernels), 50);
    assert_string_equal(json_string_value(json_object_get(json_array_get(kernels, 0), "name")),
                        "kernel.69");
    assert_int_equal(number(json_array_get(kernels, 0), "count"), 4);
    /* 4 * (3 + ... + 69) us */
    assert_true(number(b, "total_kernel_time_ms") > 9.64 &&
                number(b, "total_kernel_time_ms") < 9.66);
    /* Own time: what is nested counts once, and the sum is at most the runs' time. Two clocks agree
     * within 1 %. */
    host = row_of(b, "matmul");
    assert_true(number(host, "ms") >= 6 * 0.99);
    assert_true(number(host, "cpu_total_ms") == number(host, "ms"));
    host = row_of(b, "forward");
    assert_true(number(host, "ms") >= 4 * 0.99 && number(host, "cpu_total_ms") >= 10 * 0.99);
    assert_int_equal(number(b, "num_host_ops"), 2);
    assert_true(number(b, "total_host_time_ms") >= 10 * 0.99 &&
                number(b, "total_host_time_ms") <= number(b, "run_time_ms") + 0.02);
    json_decref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_apart_from_host_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

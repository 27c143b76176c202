/* TF-21: the breakdown of a node lists what ran inside by own time, at most 50 rows, none below
 * 0.01 ms, kernels apart from operators on the host, and its numbers are those of the rows. Kernels
 * are those that the program measured, and those of collectors, whoever reports them and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <plumb/collector.h>

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

static void start(void)
{
    plumb_options o = plumb_options_default();
    o.trace_nodes = "forward";
    record_start_with(o);
}

/* Ends the run. */
static json_t *breakdown(void)
{
    char dir[1024], path[1100];
    json_t *b;
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
        assert_true(number(row, "cpu_ms") >= 0 && number(row, "count") >= 1);
        assert_true(number(row, "mean_us") >= 0);
        assert_string_equal(json_string_value(json_object_get(row, "stage")), "forward");
        before = number(row, "ms");
        sum += before;
    }
    assert_true(sum <= number(b, total) + 0.01 * 50);
}

/* Which of two operators is first, is for the machine to say. */
static const json_t *row_of(const json_t *b, const char *list, const char *name)
{
    const json_t *rows = json_object_get(b, list), *row;
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
    const json_t *kernels, *host;
    json_t *b;
    (void)state;
    start();
    plumb_record_device_ns(plumb_node_get("outside"), 500 * MS);
    forward();
    forward();
    b = breakdown();
    kernels = json_object_get(b, "top_kernels");
    assert_string_equal(json_string_value(json_object_get(b, "name")), "forward");
    assert_int_equal(number(b, "rank"), 0);
    assert_int_equal(number(b, "runs"), 2);
    check_list(b, "top_kernels", "total_kernel_time_ms");
    check_list(b, "top_ops", "total_op_time_ms");
    /* Four times i us: from kernel 3 on that is 0.01 ms and more. */
    assert_int_equal(number(b, "num_kernels"), KERNELS - 3);
    assert_int_equal(json_array_size(kernels), 50);
    assert_string_equal(json_string_value(json_object_get(json_array_get(kernels, 0), "name")),
                        "kernel.69");
    assert_int_equal(number(json_array_get(kernels, 0), "count"), 4);
    /* Which device that was, the program has not said. */
    host = json_array_get(kernels, 0);
    assert_true(json_is_null(json_object_get(host, "cuda_ms")));
    assert_true(number(host, "device_ms") == number(host, "ms") && number(host, "cpu_ms") == 0);
    assert_true(number(host, "mean_us") == 69);
    /* 4 * (3 + ... + 69) us */
    assert_true(number(b, "total_kernel_time_ms") > 9.64 &&
                number(b, "total_kernel_time_ms") < 9.66);
    /* Own time: what is nested counts once, and the sum is at most the runs' time. Two clocks agree
     * within 1 %. */
    host = row_of(b, "top_ops", "matmul");
    assert_true(number(host, "ms") >= 6 * 0.99);
    assert_true(number(host, "cpu_total_ms") == number(host, "ms"));
    host = row_of(b, "top_ops", "forward");
    assert_true(number(host, "ms") >= 4 * 0.99 && number(host, "cpu_total_ms") >= 10 * 0.99);
    assert_int_equal(number(b, "num_ops"), 2);
    assert_true(number(b, "total_op_time_ms") >= 10 * 0.99 &&
                number(b, "total_op_time_ms") <= number(b, "run_time_ms") + 0.02);
    json_decref(b);
}

/* ---- Collectors ------------------------------------------------------------------------------ */

static plumb_lane gpu, host_lane;

static int open_lanes(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = plumb_lane_options_default();
    (void)arg;
    (void)options;
    o.name = "stream 7";
    o.device = "cuda:0";
    if (plumb_lane_open(&gpu, self, &o, err) < 0)
        return PLUMB_ERR_STATE;
    o.name = "library";
    o.device = NULL;
    o.kind = PLUMB_LANE_OF_HOST;
    return plumb_lane_open(&host_lane, self, &o, err);
}

static int close_lanes(void *arg, plumb_error *err)
{
    (void)arg;
    (void)err;
    return 0;
}

/* From `begin` until now. */
static void report(plumb_lane lane, const plumb_origin *origin, const char *name, const char *key,
                   const char *text, uint64_t begin)
{
    const plumb_clock host = {0};
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_event_arg arg = {plumb_name_get(key), 3, {(int64_t)plumb_name_get(text)}};
    e.name = plumb_name_get(name);
    e.begin = begin;
    e.end = plumb_host_ticks();
    e.origin = origin;
    e.args = &arg;
    e.arg_count = 1;
    assert_int_equal(plumb_emit(lane, host, &e), PLUMB_OK);
}

static plumb_origin launched[2];

/* Two kernels of a device are launched in an operator, which then calls a library. */
static void layer(int step)
{
    plumb_origin origin;
    uint64_t begin;
    PLUMB_SPAN("layer");
    plumb_origin_capture(&launched[step], gpu, 0);
    plumb_origin_capture(&origin, host_lane, 0);
    begin = plumb_host_ticks();
    record_work_ns(3 * MS);
    report(host_lane, &origin, "conv", "shapes", "src:1x64", begin);
    /* One that the same thread reports at once: it counts once. */
    plumb_origin_capture(&origin, gpu, 0);
    begin = plumb_host_ticks();
    record_work_ns(1 * MS);
    report(gpu, &origin, "copy", "grid", "4x1x1", begin);
}

/* The device's driver: after all spans have ended, on a thread that is in none. */
static void *complete(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        uint64_t begin = plumb_host_ticks();
        record_work_ns(2 * MS);
        report(gpu, &launched[i], "gemm", "grid", i ? "8x1x1" : "4x1x1", begin);
    }
    return NULL;
}

/* The report that `plumb report kernels` makes of the trace next to the breakdown. */
static json_t *kernels_of_trace(const char *dir)
{
    char command[2400];
    json_t *report;
    FILE *out;
    snprintf(command, sizeof command,
             "'%s' report kernels --format json '%s/forward_rank0.trace.json.gz'", TEST_PLUMB_BIN,
             dir);
    out = popen(command, "r");
    assert_non_null(out);
    report = json_loadf(out, 0, NULL);
    pclose(out);
    assert_non_null(report);
    return report;
}

static void check_trace(const char *dir)
{
    json_t *report = kernels_of_trace(dir);
    const json_t *row;
    assert_int_equal(json_array_size(json_object_get(report, "top_kernels")), 3);
    row = row_of(report, "top_kernels", "gemm");
    assert_int_equal(number(row, "count"), 2);
    assert_true(number(row, "cuda_ms") >= 4 * 0.99 && number(row, "cpu_ms") == 0);
    row = row_of(report, "top_kernels", "conv");
    assert_int_equal(number(row, "count"), 2);
    assert_true(number(row, "cpu_ms") >= 6 * 0.99 && number(row, "cuda_ms") == 0);
    json_decref(report);
}

static void check_conv(const json_t *b)
{
    const json_t *conv = row_of(b, "top_kernels", "conv"), *op = row_of(b, "top_ops", "layer");
    assert_int_equal(number(conv, "count"), 2);
    assert_true(number(conv, "ms") >= 6 * 0.99 && number(conv, "cpu_ms") == number(conv, "ms"));
    assert_true(number(conv, "cuda_ms") == 0 && number(conv, "device_ms") == 0);
    assert_string_equal(json_string_value(json_object_get(conv, "shape")), "src:1x64");
    assert_true(json_is_null(json_object_get(conv, "step")));
    /* The operator's own time lacks the library's, which is inside. */
    assert_true(number(op, "cpu_total_ms") >= number(conv, "ms") &&
                number(op, "ms") <= number(op, "cpu_total_ms") - number(conv, "ms") + 0.02);
}

static void check_gemm(const json_t *b)
{
    const json_t *gemm = row_of(b, "top_kernels", "gemm"), *op = row_of(b, "top_ops", "layer");
    assert_int_equal(number(gemm, "count"), 2);
    assert_true(number(gemm, "ms") >= 4 * 0.99 && number(gemm, "cpu_ms") == 0);
    assert_true(number(gemm, "cuda_ms") == number(gemm, "ms") &&
                number(gemm, "device_ms") == number(gemm, "ms"));
    assert_true(json_is_null(json_object_get(gemm, "grid"))); /* of two runs with two */
    gemm = row_of(b, "top_kernels", "copy");
    assert_string_equal(json_string_value(json_object_get(gemm, "grid")), "4x1x1");
    assert_true(number(op, "cuda_ms") >= 6 * 0.99);
    assert_true(number(op, "cuda_ms") <= number(b, "total_kernel_time_ms") - 6 * 0.99);
}

/* A run with a collector: two forward passes, whose kernels end later, and a kernel elsewhere. */
static void record_kernels(plumb_collector **c)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_origin outside;
    pthread_t thread;
    ops.name = "device";
    ops.start = open_lanes;
    ops.stop = close_lanes;
    start();
    *c = plumb_collector_register(&ops, NULL, NULL);
    assert_non_null(*c);
    plumb_origin_capture(&outside, gpu, 0);
    for (int i = 0; i < 2; i++) {
        PLUMB_SPAN("forward");
        layer(i);
    }
    assert_int_equal(pthread_create(&thread, NULL, complete, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    report(gpu, &outside, "elsewhere", "grid", "1", plumb_host_ticks());
}

static void check_kernels(const json_t *b, const char *dir)
{
    check_list(b, "top_kernels", "total_kernel_time_ms");
    check_list(b, "top_ops", "total_op_time_ms");
    assert_int_equal(number(b, "num_kernels"), 3);
    assert_int_equal(number(b, "runs"), 2);
    check_conv(b);
    check_gemm(b);
    /* The thread's work took no longer than the thread. */
    assert_true(number(b, "total_op_time_ms") +
                    number(row_of(b, "top_kernels", "conv"), "cpu_ms") <=
                number(b, "run_time_ms") + 0.03);
    check_trace(dir);
}

static void kernels_of_collectors_belong_to_the_node_that_launched_them(void **state)
{
    plumb_collector *c;
    char dir[1024];
    json_t *b;
    (void)state;
    record_kernels(&c);
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    b = breakdown();
    check_kernels(b, dir);
    json_decref(b);
    assert_int_equal(plumb_collector_unregister(c, NULL), PLUMB_OK);
}

static void kernels_of_a_killed_process_belong_to_it_too(void **state)
{
    char dir[1024] = "", command[2400], path[1100];
    plumb_collector *c;
    int pipes[2], status;
    json_t *b;
    pid_t pid;
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        record_kernels(&c);
        if (plumb_run_dir(dir, sizeof dir, NULL) < 0 ||
            write(pipes[1], dir, sizeof dir) != (ssize_t)sizeof dir)
            _exit(1);
        raise(SIGKILL);
    }
    assert_true(pid > 0);
    close(pipes[1]); /* a child that fails ends without a word */
    assert_int_equal(read(pipes[0], dir, sizeof dir), sizeof dir);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    snprintf(command, sizeof command, "'%s' recover '%s' >/dev/null 2>&1", TEST_PLUMB_BIN, dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/forward_rank0.breakdown.json", dir);
    b = json_load_file(path, 0, NULL);
    assert_non_null(b);
    check_kernels(b, dir);
    json_decref(b);
    close(pipes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_apart_from_host_work),
        cmocka_unit_test(kernels_of_collectors_belong_to_the_node_that_launched_them),
        cmocka_unit_test(kernels_of_a_killed_process_belong_to_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Kernels and operators of hand-made traces: which slices they are, that no time counts twice, and
 * where kernels were launched. */
#include "analyze/kernel/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels_fixture.h"
#include "random.h"

static uint32_t process, thread;

static uint32_t id(const char *text)
{
    return plumb_table_string(&t, text, strlen(text));
}

static uint32_t add_track(enum plumb_track_kind kind, const char *name, uint32_t parent,
                          int64_t tid)
{
    uint32_t track = plumb_table_new_track(&t);
    t.tracks[track].kind = kind;
    t.tracks[track].name = id(name);
    t.tracks[track].parent = parent;
    t.tracks[track].pid = 7;
    t.tracks[track].has_pid = true;
    t.tracks[track].tid = tid;
    t.tracks[track].has_tid = tid > 0;
    return track;
}

static void start(bool plumb)
{
    assert_int_equal(plumb_table_init(&t, &err), PLUMB_OK);
    t.plumb = plumb;
    process = add_track(PLUMB_TRACK_PROCESS, "host", PLUMB_TABLE_NONE, 0);
    thread = add_track(PLUMB_TRACK_THREAD, "main", process, 12);
}

static uint32_t slice(uint32_t track, int64_t ns, uint64_t dur, const char *name,
                      const char *category)
{
    return plumb_table_complete(&t, track, ns, dur, id(name), id(category));
}

static void number(uint32_t event, const char *key, int64_t value)
{
    plumb_table_add_arg(&t, event, id(key), PLUMB_ARG_I64,
                        (union plumb_table_number){.i64 = value});
}

static void word(uint32_t event, const char *key, const char *value)
{
    plumb_table_add_arg(&t, event, id(key), PLUMB_ARG_TEXT,
                        (union plumb_table_number){.u64 = id(value)});
}

static void flow(uint32_t from, uint32_t to, uint64_t number)
{
    plumb_table_add_flow(&t, from, number, PLUMB_FLOW_ON);
    plumb_table_add_flow(&t, to, number, PLUMB_FLOW_ENDS);
}

static void look(enum plumb_kernels_by by, bool ops)
{
    assert_int_equal(plumb_table_finish(&t, &err), PLUMB_OK);
    kernels_look(by, ops);
}

static void look_again(enum plumb_kernels_by by, bool ops)
{
    plumb_own_rows_fini(&rows);
    assert_int_equal(plumb_own_rows_init(&rows, &k, by, ops, &err), PLUMB_OK);
}

static const char *text(uint32_t number)
{
    const char *text = plumb_own_rows_text(&rows, number);
    return text ? text : "";
}

/* denoise [0, 1000] > step 3 [100, 900] > conv [200, 600] and its primitive [250, 550]; what ran on
 * the queue later was launched in conv; the wait and the asynchronous span are neither. */
static void make_own(void)
{
    uint32_t device, queue, waits, lane, async, other, event, conv, copy;
    start(true);
    device = add_track(PLUMB_TRACK_OTHER, "cuda:0", process, 0);
    queue = add_track(PLUMB_TRACK_OTHER, "stream 7", device, 0);
    waits = add_track(PLUMB_TRACK_OTHER, "stream 7: thread 12 waits", queue, 0);
    lane = add_track(PLUMB_TRACK_OTHER, "oneDNN 1", process, 0);
    async = add_track(PLUMB_TRACK_OTHER, "upload", process, 0);
    other = add_track(PLUMB_TRACK_OTHER, "thread 12: off-CPU", process, 0);
    slice(thread, 0, 1000, "denoise", "");
    number(slice(thread, 100, 800, "step", ""), "step", 3);
    conv = slice(thread, 200, 400, "conv", "");
    event = slice(lane, 250, 300, "convolution", "");
    number(event, "tid", 12);
    word(event, "shapes", "1x3x8x8");
    word(event, "node", "conv");
    number(event, "step", 3);
    event = slice(queue, 700, 600, "gemm", "");
    number(event, "clock_bound_ns", 5);
    number(event, "step", 3);
    word(event, "grid", "8x1x1/64x1x1");
    flow(conv, event, 1);
    copy = slice(queue, 1300, 100, "copy", "");
    number(copy, "bytes", 4096);
    number(copy, "clock_bound_ns", 5);
    event = slice(waits, 900, 300, "waiting for conv", "");
    word(event, "node", "conv");
    slice(async, 0, 5000, "upload", "");
    slice(other, 300, 50, "blocked", "");
}

static void primitives_take_their_time_from_the_operator_around_them(void **state)
{
    (void)state;
    make_own();
    look(PLUMB_KERNELS_BY_NAME, true);
    assert_int_equal(rows.count, 3);
    assert_int_equal(row_of("denoise")->ns, 200);
    assert_int_equal(row_of("step")->ns, 400);
    assert_int_equal(row_of("conv")->ns, 100);
    assert_int_equal(row_of("conv")->total_ns, 400);
    assert_int_equal(row_of("conv")->device_ns, 600);
    assert_int_equal(row_of("conv")->cuda_ns, 600);
    look_again(PLUMB_KERNELS_BY_NAME, false);
    assert_int_equal(rows.count, 3);
    assert_int_equal(row_of("convolution")->ns, 300);
    assert_int_equal(row_of("convolution")->host_ns, 300);
    assert_int_equal(row_of("convolution")->device_ns, 0);
    assert_string_equal(text(row_of("convolution")->shape), "1x3x8x8");
    assert_int_equal(row_of("gemm")->cuda_ns, 600);
    assert_string_equal(text(row_of("gemm")->grid), "8x1x1/64x1x1");
    assert_int_equal(row_of("copy")->kind, PLUMB_KERNEL_COPY);
    assert_true(k.cuda && k.host);
    assert_int_equal(k.queues, 1);
    assert_int_equal(k.threads, 1);
    assert_int_equal(k.launches, 3);
    assert_int_equal(k.unlinked, 1); /* the copy */
    assert_int_equal(k.busy_ns, 300 + 700);
    assert_int_equal(k.last_ns - k.first_ns, 1400);
    kernels_end();
}

static void stage_and_step_are_those_of_the_launch(void **state)
{
    (void)state;
    make_own();
    look(PLUMB_KERNELS_BY_STAGE, false);
    assert_string_equal(text(row_of("gemm")->stage), "denoise");
    assert_true(row_of("gemm")->has_step && row_of("gemm")->step == 3);
    assert_string_equal(text(row_of("convolution")->stage), "denoise");
    assert_true(row_of("convolution")->has_step && row_of("convolution")->step == 3);
    assert_int_equal(row_of("copy")->stage, 0);
    assert_false(row_of("copy")->has_step);
    kernels_end();
}

/* A stage is not the region around it, and a row whose launches differ has none. */
static void rows_are_what_is_asked_for(void **state)
{
    uint32_t device, queue, span, event;
    (void)state;
    start(true);
    device = add_track(PLUMB_TRACK_OTHER, "opencl:0", process, 0);
    queue = add_track(PLUMB_TRACK_OTHER, "queue 0", device, 0);
    slice(thread, 0, 1000, "plumb.region::all of it", "");
    for (int i = 0; i < 4; i++) {
        span = slice(thread, 10 + 100 * i, 50, i % 2 ? "decode" : "encode", "");
        number(span, "step", i / 2);
        event = slice(queue, 20 + 100 * i, 10, "blur", "");
        number(event, "clock_bound_ns", 5);
        word(event, "grid", i == 3 ? "16x1x1" : "8x1x1");
        flow(span, event, (uint64_t)i + 1);
    }
    look(PLUMB_KERNELS_BY_NAME, false);
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.rows[0].count, 4);
    assert_int_equal(rows.rows[0].grid, 0);
    assert_int_equal(rows.rows[0].stage, 0);
    assert_false(rows.rows[0].has_step);
    assert_false(k.cuda);
    look_again(PLUMB_KERNELS_BY_SHAPE, false);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.rows[0].count, 3);
    assert_string_equal(text(rows.rows[0].grid), "8x1x1");
    look_again(PLUMB_KERNELS_BY_STAGE, false);
    assert_int_equal(rows.count, 2);
    assert_true(strcmp(text(rows.rows[0].stage), text(rows.rows[1].stage)) != 0);
    look_again(PLUMB_KERNELS_BY_STEP, false);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.rows[0].step + rows.rows[1].step, 1);
    assert_int_equal(rows.rows[0].count, 2);
    kernels_end();
}

/* Calls of the driver launch for the operator around them; shapes are the operator's; annotations
 * on the queue are not kernels. */
static void traces_of_pytorch_have_their_own_categories(void **state)
{
    uint32_t queue, op, call, event;
    (void)state;
    start(false);
    queue = add_track(PLUMB_TRACK_THREAD, "stream 7", process, 700);
    slice(thread, 0, 1000, "ProfilerStep#4", "user_annotation");
    slice(thread, 5, 600, "forward", "user_annotation");
    op = slice(thread, 10, 200, "aten::mm", "cpu_op");
    number(op, "Input Dims[0][0]", 2);
    number(op, "Input Dims[0][1]", 3);
    number(op, "Input Dims[1][0]", 3);
    call = slice(thread, 50, 20, "cudaLaunchKernel", "cuda_runtime");
    event = slice(queue, 300, 100, "gemm", "kernel");
    number(event, "grid[0]", 4);
    number(event, "grid[1]", 2);
    number(event, "grid[2]", 1);
    flow(call, event, 1);
    slice(queue, 290, 500, "forward", "gpu_user_annotation");
    slice(queue, 500, 40, "Memset", "gpu_memset");
    look(PLUMB_KERNELS_BY_SHAPE, false);
    assert_int_equal(rows.count, 2);
    assert_string_equal(text(row_of("gemm")->shape), "[2,3] [3]");
    assert_string_equal(text(row_of("gemm")->grid), "4x2x1");
    assert_string_equal(text(row_of("gemm")->stage), "forward");
    assert_true(row_of("gemm")->has_step && row_of("gemm")->step == 4);
    assert_int_equal(row_of("Memset")->kind, PLUMB_KERNEL_SET);
    assert_true(k.cuda && !k.host);
    look_again(PLUMB_KERNELS_BY_NAME, true);
    assert_int_equal(row_of("aten::mm")->ns, 180);
    assert_int_equal(row_of("aten::mm")->cuda_ns, 100);
    assert_int_equal(row_of("cudaLaunchKernel")->cuda_ns, 0);
    kernels_end();
}

/* Nothing nests as it should: slices and primitives of three threads begin and end anywhere. */
static void own_times_of_a_thread_never_exceed_its_time(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t next = seed, sum[3] = {0}, first[3], last[3] = {0};
        uint32_t threads[3], lane, event;
        memset(first, 0xff, sizeof first);
        start(true);
        for (int i = 0; i < 3; i++)
            threads[i] = add_track(PLUMB_TRACK_THREAD, "worker", process, 20 + i);
        lane = add_track(PLUMB_TRACK_OTHER, "oneDNN 1", process, 0);
        for (int i = 0; i < 200; i++) {
            uint64_t ts = random_next(&next) % 1000, dur = random_next(&next) % 200;
            uint32_t at = (uint32_t)(random_next(&next) % 3);
            if (random_next(&next) % 3) {
                slice(threads[at], (int64_t)ts, dur, "op", "");
                continue;
            }
            event = slice(lane, (int64_t)ts, dur, "primitive", "");
            number(event, "tid", 20 + (int64_t)at);
        }
        look(PLUMB_KERNELS_BY_NAME, false);
        assert_int_equal(t.slices.count, 200);
        for (uint32_t i = 0; i < t.slices.count; i++) {
            uint64_t begin = t.slices.ts_ns[i], after = plumb_table_end_ns(&t, i);
            uint32_t arg = plumb_table_arg(&t, i, plumb_strings_find(&t.strings, "tid"));
            int64_t tid = arg != PLUMB_TABLE_NONE ? t.slice_args.value[arg].i64
                                                  : t.tracks[t.slices.track[i]].tid;
            assert_in_range(tid, 20, 22);
            assert_true(k.self_ns[i] <= t.slices.dur_ns[i]);
            sum[tid - 20] += k.self_ns[i];
            first[tid - 20] = begin < first[tid - 20] ? begin : first[tid - 20];
            last[tid - 20] = after > last[tid - 20] ? after : last[tid - 20];
        }
        for (int i = 0; i < 3; i++)
            assert_in_range(sum[i], 1, last[i] - first[i]);
        kernels_end();
    }
}

static void a_trace_without_kernels_has_none(void **state)
{
    (void)state;
    start(true);
    look(PLUMB_KERNELS_BY_STEP, false);
    assert_int_equal(rows.count, 0);
    look_again(PLUMB_KERNELS_BY_SHAPE, true);
    assert_int_equal(rows.count, 0);
    assert_int_equal(k.last_ns - k.first_ns, 0);
    kernels_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_take_their_time_from_the_operator_around_them),
        cmocka_unit_test(stage_and_step_are_those_of_the_launch),
        cmocka_unit_test(rows_are_what_is_asked_for),
        cmocka_unit_test(traces_of_pytorch_have_their_own_categories),
        cmocka_unit_test(own_times_of_a_thread_never_exceed_its_time),
        cmocka_unit_test(a_trace_without_kernels_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

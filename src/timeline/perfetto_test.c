/* Slots become packets: clocks that jump, durations of zero, and ends that were left out. */
#include "timeline/perfetto.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perfetto_fixture.h"

static struct plumb_live_header header;
static unsigned char buffer[PLUMB_TRACE_BUFFER];
static struct plumb_trace_file file;
static struct plumb_thread_track track;
static struct plumb_buf bytes, text;

static bool keep(void *arg, const unsigned char *p, size_t n)
{
    (void)arg;
    plumb_buf_append(&bytes, p, n);
    return true;
}

static int setup(void **state)
{
    (void)state;
    memset(&file, 0, sizeof file);
    memset(&track, 0, sizeof track);
    file.source = plumb_live_view_of((unsigned char *)&header, sizeof header);
    file.out = (struct plumb_pf_out){buffer, sizeof buffer, 0};
    file.write = keep;
    file.clock.ns_per_tick = UINT64_C(1) << 32;
    assert_int_equal(plumb_trace_file_open(&file), 0);
    plumb_thread_track_open(&track, &file, 2, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plumb_trace_file_fini(&file);
    plumb_buf_fini(&bytes);
    plumb_buf_fini(&text);
    bytes = text = (struct plumb_buf){0};
    return 0;
}

/* A block at `base`: node 1 begins, node 2 begins and ends at once, both end. */
static void block(uint64_t number, uint64_t base, uint64_t begin, uint64_t end)
{
    struct plumb_trace_slot slot = {.number = number, .block = number, .step = -1};
    slot.kind = PLUMB_SLOT_BLOCK;
    slot.tid = slot.generation = 7;
    slot.words = PLUMB_BLOCK_HEAD + 4;
    slot.data[0] = base;
    slot.data[2] = begin << 22 | 1 << 2 | PLUMB_REC_BEGIN;
    slot.data[3] = begin << 22 | 2 << 2 | PLUMB_REC_BEGIN;
    slot.data[4] = begin << 22 | PLUMB_REC_END;
    slot.data[5] = end << 22 | PLUMB_REC_END;
    plumb_thread_track_slot(&track, NULL, &slot);
}

static const char *decoded(void)
{
    plumb_trace_file_flush(&file);
    pfx_reset();
    pfx_decode(&text, (const unsigned char *)bytes.data, bytes.len);
    pfx_reset();
    return text.data;
}

static void a_duration_may_be_zero(void **state)
{
    (void)state;
    block(1, 1000, 5, 5);
    assert_non_null(strstr(decoded(), "@1005 begin"));
    assert_int_equal(track.spans, 2);
    assert_null(strstr(text.data, "@1006"));
}

static void time_does_not_go_back_where_the_clock_does(void **state)
{
    const char *line;
    uint64_t last = 0;
    (void)state;
    block(1, 1000, 5, 90);
    block(2, 400, 10, 20); /* 690 back */
    block(3, 5000, 1, 2);
    line = strstr(decoded(), "plumb.clock_jumped");
    assert_non_null(line);
    assert_non_null(strstr(line, "back_ns=690"));
    for (line = text.data; (line = strstr(line, " @")) != NULL; line++) {
        uint64_t ns = strtoull(line + 2, NULL, 10);
        assert_true(ns >= last);
        last = ns;
    }
    assert_int_equal(last, 5002);
    assert_int_equal(track.spans, 6); /* each whole */
}

static void an_end_that_was_left_out_is_cut_and_counted(void **state)
{
    struct plumb_trace_gap gap = {.from_block = 2, .through_block = 3, .from_ticks = 1200};
    struct plumb_trace_slot slot = {.number = 1, .block = 1, .step = -1, .words = 3};
    (void)state;
    slot.kind = PLUMB_SLOT_BLOCK;
    slot.tid = slot.generation = 7;
    slot.data[0] = 1000;
    slot.data[2] = 1 << 22 | 1 << 2 | PLUMB_REC_BEGIN;
    plumb_thread_track_slot(&track, NULL, &slot);
    gap.spans = 9;
    gap.count = 1;
    gap.nodes[0].node = 1;
    gap.nodes[0].spans = 9;
    plumb_thread_track_gap(&track, &gap);
    slot.number = slot.block = 4;
    slot.flags = PLUMB_SLOT_RESUMES;
    slot.data[0] = 2000;
    slot.words = PLUMB_BLOCK_HEAD;
    plumb_thread_track_slot(&track, NULL, &slot);
    assert_non_null(strstr(decoded(), "@1200 instant plumb.dropped spans=9"));
    assert_non_null(strstr(text.data, "end cut=true"));
    assert_non_null(strstr(text.data, "2 dropped"));
    assert_int_equal(track.spans, 0);
}

/* Another writer completes the trace of a killed process, and goes on where the file ends. */
static void who_goes_on_is_never_before_what_is_told(void **state)
{
    struct plumb_trace_slot slot = {.number = 1, .block = 1, .step = -1, .words = 3};
    const char *cut;
    (void)state;
    slot.kind = PLUMB_SLOT_BLOCK;
    slot.tid = slot.generation = 7;
    slot.data[0] = 1000;
    slot.data[2] = 5 << 22 | 1 << 2 | PLUMB_REC_BEGIN;
    plumb_thread_track_slot(&track, NULL, &slot);
    track.state.last_ns = track.seq.last_ns;
    plumb_thread_track_open(&track, &file, 2, true);
    plumb_thread_track_again(&track, "again");
    slot.number = slot.block = 3;
    slot.flags = PLUMB_SLOT_RESUMES;
    slot.words = PLUMB_BLOCK_HEAD;
    plumb_thread_track_slot(&track, NULL, &slot);
    cut = strstr(decoded(), "end cut=true");
    assert_non_null(cut);
    assert_memory_equal(cut - 6, "@1005 ", 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_duration_may_be_zero),
        TEST(time_does_not_go_back_where_the_clock_does),
        TEST(an_end_that_was_left_out_is_cut_and_counted),
        TEST(who_goes_on_is_never_before_what_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

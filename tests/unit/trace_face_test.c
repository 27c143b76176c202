/* The public face of traces: columns of what a file holds, structs of callers who know less, texts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <plumb/read.h>

static plumb_trace *trace;

static int open_trace(void **state)
{
    plumb_error err;
    (void)state;
    if (system("python3 " TEST_PLUMB_SOURCE_DIR "/tests/cli/_trace.py face.pftrace") != 0 ||
        plumb_trace_open(&trace, "face.pftrace", &err) < 0)
        return -1;
    return 0;
}

static int close_trace(void **state)
{
    (void)state;
    plumb_trace_close(trace);
    plumb_trace_close(NULL);
    return 0;
}

static void columns_are_the_files(void **state)
{
    plumb_trace_info info = {.size = sizeof info};
    plumb_trace_slices s = {.size = sizeof s};
    plumb_trace_instants m = {.size = sizeof m};
    plumb_trace_counters c = {.size = sizeof c};
    plumb_trace_args args = {.size = sizeof args};
    (void)state;
    plumb_trace_get_info(&info, trace);
    assert_int_equal(info.open, 1);
    assert_int_equal(info.cut, 1);
    assert_int_equal(info.failed, 1);
    assert_int_equal(info.dropped, 4);
    assert_int_equal(info.unix_ns, UINT64_C(1700000000000000000));
    assert_int_equal(info.plumb, 1);
    plumb_trace_get_slices(&s, trace);
    plumb_trace_get_args(&args, trace);
    assert_int_equal(s.count, 12);
    assert_string_equal(plumb_trace_get_text(trace, s.name[0]), "request");
    assert_int_equal(s.parent[0], PLUMB_TRACE_NONE);
    assert_int_equal(s.parent[1], 0);
    assert_int_equal(s.flags[0], PLUMB_TRACE_SLICE_FAILED);
    assert_int_equal(s.args[1] - s.args[0], 2);
    assert_string_equal(plumb_trace_get_text(trace, args.key[s.args[0]]), "prompt");
    assert_int_equal(args.type[s.args[0]], PLUMB_TRACE_ARG_TEXT);
    assert_int_equal(args.value[s.args[1]].i64, 0); /* step */
    plumb_trace_get_instants(&m, trace);
    assert_int_equal(m.count, 2);
    plumb_trace_get_instant_args(&args, trace);
    assert_int_equal(args.count, 2);
    plumb_trace_get_counters(&c, trace);
    assert_int_equal(c.count, 0);
    assert_string_equal(plumb_trace_get_text(trace, UINT32_MAX), "");
}

static void tracks_have_ranges(void **state)
{
    plumb_trace_track track = {.size = sizeof track};
    plumb_trace_flow flow = {.size = sizeof flow};
    plumb_trace_metadata fact = {.size = sizeof fact};
    uint32_t i = 0, slices = 0;
    (void)state;
    for (; plumb_trace_get_track(&track, trace, i); i++)
        slices += track.slices;
    assert_int_equal(i, 2);
    assert_int_equal(slices, 12);
    assert_int_equal(track.kind, PLUMB_TRACE_TRACK_THREAD);
    assert_int_equal(track.tid, 12);
    assert_int_equal(track.pid, 10);
    assert_int_equal(track.first_slice, 9);
    assert_int_equal(plumb_trace_get_flow(&flow, trace, 0), 0);
    assert_int_equal(plumb_trace_get_metadata(&fact, trace, 0), 1);
    assert_string_equal(fact.key, "plumb.version");
    assert_string_equal(plumb_trace_get_text(trace, (uint32_t)fact.value.u64), "9.9");
    assert_int_equal(plumb_trace_get_metadata(&fact, trace, 1), 0);
}

/* A program that was compiled with a shorter struct: bytes after it are not touched. */
static void a_caller_who_knows_less_gets_less(void **state)
{
    plumb_trace_info info;
    (void)state;
    memset(&info, 0x5a, sizeof info);
    info.size = offsetof(plumb_trace_info, unix_ns);
    plumb_trace_get_info(&info, trace);
    assert_int_equal(info.end_ns, 200000000);
    assert_int_equal(info.size, offsetof(plumb_trace_info, unix_ns));
    assert_int_equal(info.unix_ns, UINT64_C(0x5a5a5a5a5a5a5a5a));
}

static void views_are_chosen_by_options(void **state)
{
    plumb_trace_view view = plumb_trace_view_default();
    plumb_error err;
    char *text;
    (void)state;
    assert_int_equal(plumb_trace_render(&text, trace, NULL, &err), PLUMB_OK);
    assert_non_null(strstr(text, "Largest gaps"));
    plumb_read_free(text);
    view.kind = PLUMB_TRACE_VIEW_SLOWEST;
    assert_int_equal(plumb_trace_render(&text, trace, &view, &err), PLUMB_ERR_NOT_FOUND);
    view.kind = PLUMB_TRACE_VIEW_KERNELS + 1;
    assert_int_equal(plumb_trace_render(&text, trace, &view, &err), PLUMB_ERR_ARG);
    view.size = 0;
    assert_int_equal(plumb_trace_render(&text, trace, &view, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_trace_remarks(&text, trace, &err), PLUMB_OK);
    assert_non_null(strstr(text, "1 span had not ended"));
    plumb_read_free(text);
}

static void what_is_no_trace_is_not_opened(void **state)
{
    plumb_trace *none = NULL;
    plumb_error err;
    char far[5000];
    (void)state;
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    assert_int_equal(plumb_trace_open(&none, "/dev/null", &err), PLUMB_ERR_FORMAT);
    assert_int_equal(plumb_trace_open(&none, "nowhere", &err), PLUMB_ERR_NOT_FOUND);
    assert_int_equal(plumb_trace_open(&none, far, &err), PLUMB_ERR_ARG);
    assert_null(none);
    assert_int_equal(plumb_trace_looks("face.pftrace"), 1);
    assert_int_equal(plumb_trace_looks("/dev/null"), 0);
    assert_int_equal(plumb_trace_looks("nowhere"), 0);
    assert_string_equal(plumb_trace_path(trace), "face.pftrace");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_files),
        cmocka_unit_test(tracks_have_ranges),
        cmocka_unit_test(a_caller_who_knows_less_gets_less),
        cmocka_unit_test(views_are_chosen_by_options),
        cmocka_unit_test(what_is_no_trace_is_not_opened),
    };
    return cmocka_run_group_tests(tests, open_trace, close_trace);
}

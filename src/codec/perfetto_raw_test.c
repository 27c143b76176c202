/* The protobuf compiler, which knows nothing of the format but how fields are laid out, reads the
 * same fields out of a trace that Perfetto's documentation has. */
#include "codec/perfetto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

static unsigned char memory[PLUMB_PF_PACKET_MAX];
static struct plumb_pf_out out = {memory, sizeof memory, 0};
static const struct plumb_pf_anchor zero = {300, 200, 100};

static const char *text_of(void *arg, enum plumb_pf_index index, uint32_t id)
{
    static const char *const texts[] = {"matmul", "kernel", "shape", "f32"};
    (void)arg;
    (void)id;
    return texts[index];
}

/* What `protoc --decode_raw` makes of the packets, without its indentation. */
static char *decode_raw(void)
{
    struct plumb_buf text = {0};
    char line[512];
    FILE *file = fopen("trace.pftrace", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(out.base, 1, out.used, file), out.used);
    assert_int_equal(fclose(file), 0);
    out.used = 0;
    FILE *p = popen("protoc --decode_raw <trace.pftrace", "r");
    assert_non_null(p);
    while (fgets(line, sizeof line, p))
        plumb_buf_str(&text, line + strspn(line, " "));
    assert_int_equal(pclose(p), 0);
    assert_non_null(text.data);
    return text.data;
}

static void assert_raw(const char *want)
{
    char *have = decode_raw();
    assert_string_equal(have, want);
    free(have);
}

static void the_head(void **state)
{
    static const char *const argv[] = {"./infer", "--fast"};
    const struct plumb_pf_head head = {
        .zero = zero,
        .uuid = {7, 8},
        .process_track = 9,
        .pid = 4711,
        .process_name = "infer",
        .argv = argv,
        .argc = 2,
    };
    (void)state;
    assert_true(plumb_pf_head(&out, &head));
    assert_true(plumb_pf_fact(&out, "version", "1.2"));
    assert_true(plumb_pf_fact_i64(&out, "rank", 3));
    assert_raw("1 {\n10: 1\n"                 /* TracePacket.trusted_packet_sequence_id */
               "6 {\n"                        /* ClockSnapshot */
               "1 {\n1: 6\n2: 300\n}\n"       /* clocks: BOOTTIME */
               "1 {\n1: 3\n2: 200\n}\n"       /* MONOTONIC */
               "1 {\n1: 1\n2: 100\n}\n"       /* REALTIME */
               "2: 6\n}\n}\n"                 /* primary_trace_clock */
               "1 {\n10: 1\n"                 /* */
               "89 {\n1: 7\n2: 8\n}\n}\n"     /* TraceUuid.msb, lsb */
               "1 {\n10: 1\n"                 /* */
               "60 {\n1: 9\n"                 /* TrackDescriptor.uuid */
               "3 {\n1: 4711\n"               /* ProcessDescriptor.pid */
               "2: \"./infer\"\n"             /* cmdline */
               "2: \"--fast\"\n"              /* */
               "6: \"infer\"\n}\n}\n}\n"      /* process_name */
               "1 {\n10: 1\n126 {\n1 {\n"     /* TraceAttributes.attribute */
               "1: \"version\"\n3: \"1.2\"\n" /* key, string_value */
               "}\n}\n}\n"                    /* */
               "1 {\n10: 1\n126 {\n1 {\n"     /* */
               "1: \"rank\"\n2: 3\n"          /* long_value */
               "}\n}\n}\n");
}

static void the_tracks(void **state)
{
    const struct plumb_pf_track thread = {PLUMB_PF_THREAD, .uuid = 10, .parent = 9,
                                          .name = "io",    .pid = 5,   .tid = 6};
    const struct plumb_pf_track counter = {
        PLUMB_PF_COUNTER_TRACK, .uuid = 11, .name = "vram",         .unit = PLUMB_PF_SIZE,
        .unit_name = "pages",   .rank = 4,  .ranked_children = true};
    (void)state;
    assert_true(plumb_pf_track(&out, &thread));
    assert_true(plumb_pf_track(&out, &counter));
    assert_raw("1 {\n10: 1\n60 {\n1: 10\n"       /* uuid */
               "4 {\n1: 5\n2: 6\n5: \"io\"\n}\n" /* ThreadDescriptor.pid, tid, thread_name */
               "5: 9\n}\n}\n"                    /* parent_uuid */
               "1 {\n10: 1\n60 {\n1: 11\n"       /* */
               "2: \"vram\"\n"                   /* name */
               "8 {\n3: 3\n6: \"pages\"\n}\n"    /* CounterDescriptor.unit, unit_name */
               "11: 3\n12: 4\n"                  /* child_ordering, sibling_order_rank */
               "15: 2\n}\n}\n");                 /* sibling_merge_behavior: none */
}

static void a_sequence_and_its_events(void **state)
{
    uint64_t bits[PLUMB_PF_INDEXES][1] = {{0}}, flow = 1, ending = 2;
    const struct plumb_pf_texts texts = {text_of, NULL};
    const struct plumb_pf_arg args[] = {
        {1, PLUMB_PF_TEXT_ID, {.u64 = 1}}, {1, PLUMB_PF_I64, {.i64 = 5}},
        {1, PLUMB_PF_TEXT, {.text = "x"}}, {1, PLUMB_PF_F64, {.f64 = 1.0}},
        {1, PLUMB_PF_U64, {.u64 = 6}},     {1, PLUMB_PF_BOOL, {.u64 = 1}},
        {1, PLUMB_PF_POINTER, {.u64 = 7}}, {64, PLUMB_PF_U64, {.u64 = 8}}};
    struct plumb_pf_event e = {.type = PLUMB_PF_BEGIN,
                               .ns = 50,
                               .track = 12,
                               .name = 1,
                               .category = 1,
                               .flows = &flow,
                               .flow_count = 1,
                               .ending = &ending,
                               .ending_count = 1,
                               .args = args,
                               .arg_count = 8};
    struct plumb_pf_sequence seq = {.id = 2, .texts = &texts};
    (void)state;
    for (int i = 0; i < PLUMB_PF_INDEXES; i++)
        seq.told[i] = (struct plumb_pf_told){bits[i], 64};
    assert_true(plumb_pf_sequence_lost(&out, &seq, 77, &zero));
    assert_raw("1 {\n10: 2\n42: 1\n}\n"             /* previous_packet_dropped */
               "1 {\n10: 2\n13: 1\n"                /* sequence_flags: state cleared */
               "6 {\n1 {\n1: 6\n2: 300\n}\n"        /* */
               "1 {\n1: 64\n2: 0\n3: 1\n}\n"        /* is_incremental */
               "1 {\n1: 65\n2: 0\n}\n}\n"           /* */
               "59 {\n58: 64\n11 {\n11: 77\n}\n}\n" /* defaults: clock, track_event: track_uuid */
               "87: 1\n}\n");                       /* first_packet_on_sequence */
    assert_true(plumb_pf_event(&out, &seq, &e));
    assert_raw("1 {\n8: 50\n10: 2\n13: 2\n"    /* timestamp, sequence, flags: needs state */
               "12 {\n"                        /* InternedData */
               "2 {\n1: 1\n2: \"matmul\"\n}\n" /* event_names: iid, name */
               "1 {\n1: 1\n2: \"kernel\"\n}\n" /* event_categories */
               "3 {\n1: 1\n2: \"shape\"\n}\n"  /* debug_annotation_names */
               "29 {\n1: 1\n2: \"f32\"\n}\n"   /* debug_annotation_string_values */
               "}\n"                           /* */
               "11 {\n9: 1\n"                  /* TrackEvent.type: slice begin */
               "10: 1\n3: 1\n11: 12\n"         /* name_iid, category_iids, track_uuid */
               "4 {\n1: 1\n17: 1\n}\n"         /* DebugAnnotation.name_iid, string_value_iid */
               "4 {\n1: 1\n4: 5\n}\n"          /* int_value */
               "4 {\n1: 1\n6: \"x\"\n}\n"      /* string_value */
               "4 {\n1: 1\n5: 0x3ff0000000000000\n}\n" /* double_value */
               "4 {\n1: 1\n3: 6\n}\n"                  /* uint_value */
               "4 {\n1: 1\n2: 1\n}\n"                  /* bool_value */
               "4 {\n1: 1\n7: 7\n}\n"                  /* pointer_value */
               "4 {\n10: \"shape\"\n3: 8\n}\n"         /* name */
               "47: 0x0000000000000001\n"              /* flow_ids */
               "48: 0x0000000000000002\n}\n}\n");      /* terminating_flow_ids */
    assert_true(plumb_pf_end(&out, &seq, 60));
    assert_true(plumb_pf_begin(&out, &seq, 20, 1));
    assert_true(plumb_pf_counter_i64(&out, &seq, 61, 11, 9));
    assert_true(plumb_pf_counter_f64(&out, &seq, 61, 11, 1.0));
    assert_raw("1 {\n8: 10\n10: 2\n13: 2\n11 {\n9: 2\n}\n}\n"  /* slice end */
               "1 {\n8: 20\n58: 65\n"                          /* timestamp_clock_id */
               "10: 2\n13: 2\n11 {\n9: 1\n10: 1\n}\n}\n"       /* */
               "1 {\n8: 1\n10: 2\n13: 2\n11 {\n9: 4\n11: 11\n" /* counter */
               "30: 9\n}\n}\n"                                 /* counter_value */
               "1 {\n8: 0\n10: 2\n13: 2\n11 {\n9: 4\n11: 11\n" /* */
               "44: 0x3ff0000000000000\n}\n}\n");              /* double_counter_value */
}

static void sequences_that_lost_events(void **state)
{
    static const uint32_t sequences[] = {3, 300};
    (void)state;
    assert_true(plumb_pf_losses(&out, sequences, 2, 5));
    assert_raw("1 {\n10: 1\n35 {\n"      /* TraceStats */
               "1 {\n19: 5\n}\n"         /* buffer_stats: trace_writer_packet_loss */
               "18 {\n1: 3\n4: 0\n}\n"   /* writer_stats: sequence_id, buffer */
               "18 {\n1: 300\n4: 0\n}\n" /* */
               "}\n}\n");
}

static const char *dotted_text(void *arg, enum plumb_pf_index index, uint32_t id)
{
    static char text[32]; /* lives until the next one is asked for */
    static const char *const keys[] = {"?",    "in.a", "in.b.c", "in_d", "stack",
                                       "a..b", ".c",   "d.",     "ins.e"};
    (void)arg;
    snprintf(text, sizeof text, "%s", index == PLUMB_PF_KEYS ? keys[id] : "n");
    return text;
}

/* Readers replace the dots of a name, so that "in.d" would be the same as "in_d". */
static void dotted_keys_and_stacks_are_nested(void **state)
{
    uint64_t bits[PLUMB_PF_INDEXES][1] = {{0}}, addresses[] = {7, 8};
    const struct plumb_pf_texts texts = {dotted_text, NULL};
    const struct plumb_pf_pointers stack = {addresses, 2};
    const struct plumb_pf_arg args[] = {{1, PLUMB_PF_I64, {.i64 = 1}},
                                        {2, PLUMB_PF_I64, {.i64 = 2}},
                                        {8, PLUMB_PF_I64, {.i64 = 9}},
                                        {3, PLUMB_PF_I64, {.i64 = 3}},
                                        {4, PLUMB_PF_POINTERS, {.pointers = &stack}},
                                        {5, PLUMB_PF_I64, {.i64 = 5}},
                                        {6, PLUMB_PF_I64, {.i64 = 6}},
                                        {7, PLUMB_PF_I64, {.i64 = 7}}};
    struct plumb_pf_event e = {
        .type = PLUMB_PF_INSTANT, .ns = 50, .name = 1, .args = args, .arg_count = 8};
    struct plumb_pf_sequence seq = {.id = 2, .opened = true, .texts = &texts};
    (void)state;
    for (int i = 0; i < PLUMB_PF_INDEXES; i++)
        seq.told[i] = (struct plumb_pf_told){bits[i], 64};
    assert_true(plumb_pf_event(&out, &seq, &e));
    out.used = 0;
    e.ns = 60;
    assert_true(plumb_pf_event(&out, &seq, &e));
    assert_raw("1 {\n8: 10\n10: 2\n13: 2\n"
               "11 {\n9: 3\n10: 1\n"
               "4 {\n10: \"in\"\n"
               "11 {\n10: \"a\"\n4: 1\n}\n"                     /* dict_entries */
               "11 {\n10: \"b\"\n11 {\n10: \"c\"\n4: 2\n}\n}\n" /* */
               "}\n"                                            /* */
               "4 {\n10: \"ins\"\n11 {\n10: \"e\"\n4: 9\n}\n}\n"
               "4 {\n1: 3\n4: 3\n}\n"
               "4 {\n1: 4\n12 {\n7: 7\n}\n12 {\n7: 8\n}\n}\n" /* array_values */
               "4 {\n1: 5\n4: 5\n}\n"
               "4 {\n1: 6\n4: 6\n}\n"
               "4 {\n1: 7\n4: 7\n}\n"
               "}\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head),
        cmocka_unit_test(the_tracks),
        cmocka_unit_test(a_sequence_and_its_events),
        cmocka_unit_test(sequences_that_lost_events),
        cmocka_unit_test(dotted_keys_and_stacks_are_nested),
    };
    if (system("protoc --version >/dev/null 2>&1") != 0) {
        printf("skipped: protoc (package protobuf-compiler) is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

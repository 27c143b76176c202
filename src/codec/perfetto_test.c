/* labels: notsan
 * Perfetto packets: bytes, decoded meaning, size, full buffers. */
#include "codec/perfetto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perfetto_fixture.h"

enum { IDS = 200, LARGE = 4 << 20 };

static unsigned char *memory;
static struct plumb_pf_out out;
static struct plumb_buf text;
static unsigned asked; /* texts */
static const char *odd_text;
static struct plumb_pf_anchor zero = {1000000, 900000, 1700000000000000000u};

/* Distinct in each index, but keys and values. */
static const char *text_of(void *arg, enum plumb_pf_index index, uint32_t id)
{
    static char name[32];
    (void)arg;
    asked++;
    if (odd_text)
        return odd_text;
    snprintf(name, sizeof name, "%c%u", "nckk"[index], (unsigned)id);
    return name;
}

static const struct plumb_pf_texts texts = {text_of, NULL};

struct thread {
    uint64_t bits[PLUMB_PF_INDEXES][(IDS + 63) / 64];
    struct plumb_pf_sequence seq;
};

static void thread_init(struct thread *t, uint32_t id, uint64_t track)
{
    memset(t, 0, sizeof *t);
    t->seq.id = id;
    t->seq.texts = &texts;
    for (int i = 0; i < PLUMB_PF_INDEXES; i++)
        t->seq.told[i] = (struct plumb_pf_told){t->bits[i], IDS};
    assert_true(plumb_pf_sequence_open(&out, &t->seq, track, &zero));
}

static int setup(void **state)
{
    (void)state;
    memory = malloc(LARGE);
    out = (struct plumb_pf_out){memory, LARGE, 0};
    asked = 0;
    odd_text = NULL;
    pfx_reset();
    return memory ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(memory);
    plumb_buf_fini(&text);
    text = (struct plumb_buf){0};
    pfx_reset();
    return 0;
}

/* The packets written since the last call, as text. */
static const char *decoded(void)
{
    plumb_buf_fini(&text);
    text = (struct plumb_buf){0};
    pfx_decode(&text, out.base, out.used);
    return text.data ? text.data : "";
}

static void assert_bytes(const void *bytes, size_t from, size_t n)
{
    assert_int_equal(out.used - from, n);
    assert_memory_equal(out.base + from, bytes, n);
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

static void a_plain_span_is_28_bytes(void **state)
{
    static const unsigned char begin[] = {
        0x0a, 13,               /* Trace.packet */
        0x40, 0x90, 0x4e,       /* timestamp: 10000 */
        0x50, 0x02,             /* trusted_packet_sequence_id: 2 */
        0x68, 0x02,             /* sequence_flags: needs state */
        0x5a, 0x04,             /* track_event */
        0x48, 0x01, 0x50, 0x07, /* type: begin, name_iid: 7 */
    };
    static const unsigned char end[] = {
        0x0a, 11, 0x40, 0x90, 0x4e, 0x50, 0x02, 0x68, 0x02, 0x5a, 0x02, 0x48, 0x02,
    };
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    assert_true(plumb_pf_begin(&out, &t.seq, 5, 7)); /* tells the name */
    size_t from = out.used;
    assert_true(plumb_pf_begin(&out, &t.seq, 10005, 7));
    assert_bytes(begin, from, sizeof begin);
    from = out.used;
    assert_true(plumb_pf_end(&out, &t.seq, 20005));
    assert_bytes(end, from, sizeof end);
    assert_int_equal(asked, 1);
}

static void a_name_is_told_in_the_packet_that_uses_it_first(void **state)
{
    static const unsigned char begin[] = {
        0x0a, 22,                                     /* packet */
        0x40, 0x05, 0x50, 0x02, 0x68, 0x02,           /* time, sequence, flags */
        0x62, 0x08,                                   /* interned_data */
        0x12, 0x06, 0x08, 0x07, 0x12, 0x02, 'n', '7', /* event_names: 7 is "n7" */
        0x5a, 0x04, 0x48, 0x01, 0x50, 0x07,           /* track_event */
    };
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    size_t from = out.used;
    assert_true(plumb_pf_begin(&out, &t.seq, 5, 7));
    assert_bytes(begin, from, sizeof begin);
}

static void a_sequence_begins_with_clocks_and_defaults(void **state)
{
    static const unsigned char open[] = {
        0x0a, 41,                                       /* packet */
        0x50, 0x02, 0x68, 0x01,                         /* sequence 2, state cleared */
        0x32, 22,                                       /* clock_snapshot */
        0x0a, 0x06, 0x08, 6,    0x10, 0xc0, 0x84, 0x3d, /* BOOTTIME 1000000 */
        0x0a, 0x06, 0x08, 64,   0x10, 0x00, 0x18, 0x01, /* 64: 0, incremental */
        0x0a, 0x04, 0x08, 65,   0x10, 0x00,             /* 65: 0 */
        0xda, 0x03, 0x07,                               /* trace_packet_defaults */
        0xd0, 0x03, 0x40,                               /* timestamp_clock_id 64 */
        0x5a, 0x02, 0x58, 0x4d,                         /* track_event_defaults: track 77 */
        0xb8, 0x05, 0x01,                               /* first_packet_on_sequence */
    };
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    assert_bytes(open, 0, sizeof open);
}

/* ---- Meaning -------------------------------------------------------------------------------- */

static void the_head_says_clocks_process_and_facts(void **state)
{
    static const char *const argv[] = {"./infer", "--prompt", "a\xff\n\"\\x41"};
    struct plumb_pf_head head = {
        .zero = zero,
        .uuid = {1, 2},
        .process_track = 9,
        .pid = 4711,
        .process_name = "infer",
        .argv = argv,
        .argc = 3,
    };
    (void)state;
    assert_true(plumb_pf_head(&out, &head));
    assert_true(plumb_pf_fact(&out, "plumb.version", "1.2"));
    assert_true(plumb_pf_fact_i64(&out, "plumb.rank", -1));
    assert_string_equal(decoded(),
                        "1 clock6=1000000 clock3=900000 clock1=1700000000000000000 primary=6\n"
                        "1 msb=1 lsb=2\n"
                        "1 uuid=9 process pid=4711 cmdline=./infer cmdline=--prompt "
                        "cmdline=a\\xff\n\"\\x5cx41 process_name=infer\n"
                        "1 key=plumb.version text=1.2\n"
                        "1 key=plumb.rank long=-1\n");
}

static void tracks_of_threads_lanes_and_counters(void **state)
{
    struct plumb_pf_track thread = {PLUMB_PF_THREAD, .uuid = 10, .parent = 9,
                                    .name = "main",  .pid = 5,   .tid = 6};
    struct plumb_pf_track device = {PLUMB_PF_LANE, .uuid = 11, .name = "GPU 0",
                                    .ranked_children = true};
    struct plumb_pf_track stream = {PLUMB_PF_LANE, .uuid = 12, .parent = 11, .name = "stream 7",
                                    .rank = -2};
    struct plumb_pf_track counter = {PLUMB_PF_COUNTER_TRACK, .uuid = 13, .name = "vram",
                                     .unit = PLUMB_PF_SIZE};
    struct plumb_pf_track own = {PLUMB_PF_COUNTER_TRACK, .uuid = 14, .name = "power",
                                 .unit_name = "W"};
    (void)state;
    assert_true(plumb_pf_track(&out, &thread));
    assert_true(plumb_pf_track(&out, &device));
    assert_true(plumb_pf_track(&out, &stream));
    assert_true(plumb_pf_track(&out, &counter));
    assert_true(plumb_pf_track(&out, &own));
    assert_string_equal(decoded(), "1 uuid=10 thread pid=5 tid=6 thread_name=main parent=9\n"
                                   "1 uuid=11 name=GPU 0 ordering=3 apart\n"
                                   "1 uuid=12 name=stream 7 parent=11 rank=-2 apart\n"
                                   "1 uuid=13 name=vram counter unit=3 apart\n"
                                   "1 uuid=14 name=power counter unit_name=W apart\n");
}

static void an_event_has_arguments_flows_and_a_track(void **state)
{
    const uint64_t flows[] = {UINT64_MAX, 5}, ending[] = {6};
    const struct plumb_pf_arg args[] = {
        {1, PLUMB_PF_I64, {.i64 = -3}},        {2, PLUMB_PF_U64, {.u64 = UINT64_MAX}},
        {3, PLUMB_PF_F64, {.f64 = 0.5}},       {4, PLUMB_PF_BOOL, {.u64 = 7}},
        {5, PLUMB_PF_POINTER, {.u64 = 0xbad}}, {6, PLUMB_PF_TEXT, {.text = "4x8"}},
        {7, PLUMB_PF_TEXT, {.text = NULL}},    {8, PLUMB_PF_TEXT_ID, {.u64 = 9}},
    };
    struct plumb_pf_event e = {
        .type = PLUMB_PF_BEGIN,
        .ns = 100,
        .track = 12,
        .name = 1,
        .category = 2,
        .flows = flows,
        .flow_count = 2,
        .ending = ending,
        .ending_count = 1,
        .args = args,
        .arg_count = 8,
    };
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    assert_true(plumb_pf_event(&out, &t.seq, &e));
    assert_int_equal(asked, 2 + 8 + 1);
    e.ns = 200;
    assert_true(plumb_pf_event(&out, &t.seq, &e));
    assert_int_equal(asked, 11); /* nothing is told twice */
#define EVENT                                                                                      \
    " begin n1 cat=c2 k1=-3 k2=18446744073709551615u k3=0.5 k4=true k5=0xbad k6=4x8 k7= k8=k9"     \
    " flow=18446744073709551615 flow=5 flow_end=6 on 12\n"
    assert_string_equal(decoded(), "2 first cleared clock6=1000000 clock64=0+ clock65=0 track=77\n"
                                   "2 @100" EVENT "2 @200" EVENT);
}

static void counters_take_integers_and_fractions(void **state)
{
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    assert_true(plumb_pf_counter_i64(&out, &t.seq, 10, 13, -5));
    assert_true(plumb_pf_counter_f64(&out, &t.seq, 20, 14, 2.25));
    assert_non_null(strstr(decoded(), "2 @10 counter value=-5 on 13\n"
                                      "2 @20 counter value=2.25 on 14\n"));
}

static void a_time_before_the_last_one_is_absolute(void **state)
{
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    assert_true(plumb_pf_begin(&out, &t.seq, 1000, 1));
    assert_true(plumb_pf_begin(&out, &t.seq, 400, 1));
    assert_true(plumb_pf_end(&out, &t.seq, 0));
    assert_true(plumb_pf_end(&out, &t.seq, 1500));
    assert_true(plumb_pf_end(&out, &t.seq, UINT64_C(1) << 62));
    assert_non_null(strstr(decoded(), "2 @1000 begin n1 on 77\n2 @400 begin n1 on 77\n"
                                      "2 @0 end on 77\n2 @1500 end on 77\n"
                                      "2 @4611686018427387904 end on 77\n"));
}

/* At the edges of the lengths that a time and a number can have, plain packets say the same. */
static void times_and_numbers_of_every_length_come_back(void **state)
{
    static const uint64_t gaps[] = {0,
                                    1,
                                    127,
                                    128,
                                    16383,
                                    16384,
                                    (1u << 21) - 1,
                                    1u << 21,
                                    (1u << 28) - 1,
                                    1u << 28,
                                    UINT64_C(1) << 35};
    static const uint32_t names[] = {1, 127, 128, IDS - 1};
    static const uint32_t ids[] = {2, 127, 128, 16384 + 5};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct plumb_buf want = {0};
        struct thread t;
        uint64_t ns = 0;
        out.used = 0;
        pfx_reset();
        thread_init(&t, ids[i], 77);
        for (size_t k = 0; k < 4; k++)
            for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
                assert_true(plumb_pf_begin(&out, &t.seq, ns += gaps[g], names[k]));
                plumb_buf_printf(&want, "%u @%" PRIu64 " begin n%u on 77\n", (unsigned)ids[i], ns,
                                 (unsigned)names[k]);
                assert_true(plumb_pf_end(&out, &t.seq, ns += gaps[g]));
                plumb_buf_printf(&want, "%u @%" PRIu64 " end on 77\n", (unsigned)ids[i], ns);
            }
        assert_string_equal(strchr(decoded(), '\n') + 1, want.data);
        plumb_buf_fini(&want);
    }
}

static void numbers_beyond_the_table_are_written_out(void **state)
{
    const struct plumb_pf_arg arg = {IDS + 1, PLUMB_PF_TEXT_ID, {.u64 = IDS + 2}};
    struct plumb_pf_event e = {
        .type = PLUMB_PF_INSTANT, .name = IDS, .category = IDS, .args = &arg, .arg_count = 1};
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    assert_true(plumb_pf_begin(&out, &t.seq, 0, IDS - 1));
    assert_true(plumb_pf_begin(&out, &t.seq, 0, IDS));
    assert_true(plumb_pf_event(&out, &t.seq, &e));
    assert_non_null(strstr(decoded(), "2 @0 begin n199 on 77\n2 @0 begin \"n200\" on 77\n"
                                      "2 @0 instant \"n200\" cat=\"c200\" k201=k202 on 77\n"));
}

static void a_sequence_that_is_opened_again_tells_again(void **state)
{
    struct thread t;
    (void)state;
    thread_init(&t, 300, 77);
    assert_true(plumb_pf_begin(&out, &t.seq, 1000, 1));
    assert_true(plumb_pf_sequence_open(&out, &t.seq, 78, &zero));
    assert_true(plumb_pf_begin(&out, &t.seq, 1500, 1));
    assert_true(plumb_pf_sequence_lost(&out, &t.seq, 78, &zero));
    assert_true(plumb_pf_begin(&out, &t.seq, 1400, 1));
    assert_int_equal(asked, 3);
#define CLEARED(at) " cleared clock6=100" at " clock64=" at "+ clock65=" at " track="
    assert_string_equal(
        decoded(),
        "300 first cleared clock6=1000000 clock64=0+ clock65=0 track=77\n"
        "300 @1000 begin n1 on 77\n"
        "300" CLEARED("1000") "78\n300 @1500 begin n1 on 78\n"
                              "300 dropped\n300" CLEARED("1500") "78\n300 @1400 begin n1 on 78\n");
}

static void any_name_becomes_valid_text(void **state)
{
    static const struct {
        const char *name, *written;
    } names[] = {
        {"", ""},
        {"a\"b\n\t\x01", "a\"b\n\t\x01"},
        {"\xf0\x9f\x94\xa7 plumb", "\xf0\x9f\x94\xa7 plumb"},
        {"\xff\xc0\xaf\xed\xa0\x80|", "\\xff\\xc0\\xaf\\xed\\xa0\\x80|"},
        {"\xe2\x82", "\\xe2\\x82"},
        {"\\xff", "\\x5cxff"},
        {"\\xg \\", "\\xg \\"},
        {NULL, "?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char want[64];
        struct plumb_pf_track track = {PLUMB_PF_LANE, .uuid = 1,
                                       .name = names[i].name ? names[i].name : "?"};
        out.used = 0;
        assert_true(plumb_pf_track(&out, &track));
        snprintf(want, sizeof want, "1 uuid=1 name=%s apart\n", names[i].written);
        assert_string_equal(decoded(), want);
    }
}

static void a_long_text_is_cut_between_characters(void **state)
{
    static char name[3 * PLUMB_PF_TEXT_MAX];
    struct plumb_pf_track track = {PLUMB_PF_LANE, .uuid = 1, .name = name};
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        size_t n = shift;
        memset(name, 'a', shift);
        while (n < PLUMB_PF_TEXT_MAX + 10) {
            memcpy(name + n, "\xf0\x9f\x94\xa7", 5);
            n += 4;
        }
        out.used = 0;
        assert_true(plumb_pf_track(&out, &track));
        const char *line = decoded();
        size_t written = strlen(line) - strlen("1 uuid=1 name= apart\n");
        assert_in_range(written, PLUMB_PF_TEXT_MAX - 3, PLUMB_PF_TEXT_MAX);
        assert_string_equal(line + strlen(line) - 10, "... apart\n");
    }
    memset(name, 'b', PLUMB_PF_TEXT_MAX);
    name[PLUMB_PF_TEXT_MAX] = '\0';
    out.used = 0;
    assert_true(plumb_pf_track(&out, &track));
    assert_null(strstr(decoded(), "...")); /* just fits */
}

static void track_numbers_are_stable_and_eight_bytes(void **state)
{
    uint64_t one = plumb_pf_uuid(1, 2, 3, 4);
    (void)state;
    assert_true(one == plumb_pf_uuid(1, 2, 3, 4));
    assert_true(one != plumb_pf_uuid(2, 2, 3, 4));
    assert_true(one != plumb_pf_uuid(1, 3, 3, 4));
    assert_true(one != plumb_pf_uuid(1, 2, 4, 3));
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(plumb_varint_size(plumb_pf_uuid(0, 0, i, 0)), 8);
}

/* ---- Size ----------------------------------------------------------------------------------- */

/* Bytes a span of `threads` threads, each `spans` spans over `nodes` nodes, `gap_ns` apart, with
 * all that belongs to them in the file but the head. */
static double bytes_per_span(uint32_t threads, uint32_t nodes, uint32_t spans, uint64_t gap_ns)
{
    struct thread *all = calloc(threads, sizeof *all);
    uint64_t total = 0;
    assert_non_null(all);
    for (uint32_t i = 0; i < threads; i++) {
        struct plumb_pf_track track = {PLUMB_PF_THREAD, .uuid = plumb_pf_uuid(1, 2, i, 0),
                                       .parent = 9,     .name = "worker",
                                       .pid = 1,        .tid = 1000 + i};
        assert_true(plumb_pf_track(&out, &track));
        thread_init(&all[i], i + 2, track.uuid);
    }
    for (uint32_t s = 0; s < spans; s++) {
        for (uint32_t i = 0; i < threads; i++) {
            assert_true(plumb_pf_begin(&out, &all[i].seq, (2 * s + 1) * gap_ns, s % nodes + 1));
            assert_true(plumb_pf_end(&out, &all[i].seq, (2 * s + 2) * gap_ns));
        }
        total += out.used;
        out.used = 0;
    }
    free(all);
    return (double)total / ((double)threads * spans);
}

static void spans_at_10_us_take_29_bytes_with_everything(void **state)
{
    (void)state;
    assert_true(bytes_per_span(100, 100, 5000, 10000) <= 29.0);
}

/* A thread beyond the 126th costs two bytes, a name beyond the 127th one. */
static void spans_take_at_most_36_bytes(void **state)
{
    static const uint64_t gaps[] = {0,       100,      1000,      10000,      100000,
                                    1000000, 10000000, 268000000, 30000000000};
    (void)state;
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        assert_true(bytes_per_span(150, 199, 4000, gaps[i]) <= 36.0);
}

/* ---- Full buffers --------------------------------------------------------------------------- */

static void a_packet_that_does_not_fit_is_not_begun(void **state)
{
    const struct plumb_pf_arg arg = {3, PLUMB_PF_TEXT_ID, {.u64 = 4}};
    struct plumb_pf_event e = {
        .type = PLUMB_PF_BEGIN, .ns = 50, .name = 1, .category = 2, .args = &arg, .arg_count = 1};
    struct thread t;
    (void)state;
    thread_init(&t, 2, 77);
    size_t from = out.used;
    for (out.size = from; !plumb_pf_event(&out, &t.seq, &e); out.size++) {
        assert_int_equal(out.used, from);
        assert_int_equal(t.seq.last_ns, 0);
        for (int i = 0; i < PLUMB_PF_INDEXES; i++)
            assert_int_equal(t.bits[i][0], 0);
    }
    assert_int_equal(out.used, out.size); /* to the byte */
    assert_non_null(strstr(decoded(), "2 @50 begin n1 cat=c2 k3=k4 on 77\n"));
}

static void the_largest_packets_fit_into_the_promised_buffer(void **state)
{
    static char huge[2 * PLUMB_PF_TEXT_MAX];
    static const char *argv[100];
    struct plumb_pf_arg args[PLUMB_PF_ARGS_MAX + 4];
    uint64_t flows[PLUMB_PF_FLOWS_MAX + 4] = {0};
    struct plumb_pf_event e = {.type = PLUMB_PF_INSTANT,
                               .name = 1,
                               .category = 2,
                               .args = args,
                               .arg_count = PLUMB_PF_ARGS_MAX + 4,
                               .flows = flows,
                               .flow_count = PLUMB_PF_FLOWS_MAX + 4,
                               .ending = flows,
                               .ending_count = PLUMB_PF_FLOWS_MAX + 4,
                               .track = UINT64_MAX};
    struct plumb_pf_head head = {.process_name = huge, .argv = argv, .argc = 100, .uuid = {-1, -1}};
    struct thread t;
    (void)state;
    memset(huge, 0xff, sizeof huge - 1);
    odd_text = huge;
    for (uint32_t i = 0; i < PLUMB_PF_ARGS_MAX + 4; i++)
        args[i] = (struct plumb_pf_arg){i + 1, PLUMB_PF_TEXT, {.text = huge}};
    for (int i = 0; i < 100; i++)
        argv[i] = huge;
    thread_init(&t, UINT32_MAX, 77);
    out = (struct plumb_pf_out){memory, PLUMB_PF_PACKET_MAX, 0};
    assert_true(plumb_pf_event(&out, &t.seq, &e));
    out.used = 0;
    assert_true(plumb_pf_head(&out, &head));
}

static uint32_t random_state = 1;

static uint32_t next_random(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static bool random_call(struct thread *t, uint64_t ns)
{
    static const char *const odd[] = {"", "x", "\xff\xff\xff", "a long text of some words", NULL};
    struct plumb_pf_arg args[4];
    uint64_t flows[2] = {ns, ns + 1};
    struct plumb_pf_event e = {.type = (enum plumb_pf_type)(1 + next_random(3)), .ns = ns};
    switch (next_random(8)) {
    case 0:
        for (size_t i = 0; i < 4; i++)
            args[i] = (struct plumb_pf_arg){
                1 + next_random(IDS + 9), PLUMB_PF_TEXT, {.text = odd[next_random(5)]}};
        args[3].type = PLUMB_PF_F64;
        e.name = next_random(IDS + 9);
        e.category = next_random(4);
        e.args = args;
        e.arg_count = next_random(5);
        e.flows = flows;
        e.flow_count = next_random(3);
        return plumb_pf_event(&out, &t->seq, &e);
    case 1:
        return plumb_pf_counter_i64(&out, &t->seq, ns, 5, (int64_t)ns - 1000);
    case 2:
        return next_random(50) || plumb_pf_sequence_lost(&out, &t->seq, ns | 1, &zero);
    case 3:
    case 4:
        return plumb_pf_end(&out, &t->seq, ns);
    default:
        return plumb_pf_begin(&out, &t->seq, ns, 1 + next_random(IDS + 9));
    }
}

static void random_streams_stay_in_the_buffer_and_decode(void **state)
{
    enum { GUARD = 64, SMALL = 700, THREADS = 3 };
    static unsigned char guarded[SMALL + GUARD];
    struct thread t[THREADS];
    uint64_t ns[THREADS] = {0}, written = 0;
    (void)state;
    memset(guarded, 0xa5, sizeof guarded);
    for (uint32_t i = 0; i < THREADS; i++)
        thread_init(&t[i], 100 + 100 * i, 7);
    size_t kept = out.used; /* the decoder points into it */
    for (int i = 0; i < 100000; i++) {
        uint32_t k = next_random(THREADS);
        struct plumb_pf_out whole = out, small = {guarded, 200 + next_random(SMALL - 200), 0};
        struct thread before = t[k];
        ns[k] += next_random(3) ? next_random(20000) : next_random(1u << 24) * (uint64_t)1000;
        uint64_t at = ns[k] - (next_random(20) || ns[k] < 500 ? 0 : 500);
        /* First where it may not fit, then again where it does. */
        small.used = next_random((uint32_t)small.size);
        out = small;
        uint32_t seed = random_state;
        bool fitted = random_call(&t[k], at);
        assert_true(out.used <= out.size && (fitted || out.used == small.used));
        for (size_t g = out.size; g < sizeof guarded; g++)
            assert_int_equal(guarded[g], 0xa5);
        memset(guarded, 0xa5, sizeof guarded);
        if (!fitted)
            assert_memory_equal(&t[k].bits, &before.bits, sizeof before.bits);
        for (int j = 0; j < PLUMB_PF_INDEXES; j++)
            before.seq.told[j].bits = t[k].bits[j];
        t[k] = before;
        out = whole;
        if (out.size - out.used < 4096)
            break;
        random_state = seed;
        assert_true(random_call(&t[k], at));
        written++;
    }
    assert_true(written > 10000 && out.used > kept);
    decoded();
    assert_true(pfx_packets > 10000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_plain_span_is_28_bytes),
        TEST(a_name_is_told_in_the_packet_that_uses_it_first),
        TEST(a_sequence_begins_with_clocks_and_defaults),
        TEST(the_head_says_clocks_process_and_facts),
        TEST(tracks_of_threads_lanes_and_counters),
        TEST(an_event_has_arguments_flows_and_a_track),
        TEST(counters_take_integers_and_fractions),
        TEST(a_time_before_the_last_one_is_absolute),
        TEST(times_and_numbers_of_every_length_come_back),
        TEST(numbers_beyond_the_table_are_written_out),
        TEST(a_sequence_that_is_opened_again_tells_again),
        TEST(any_name_becomes_valid_text),
        TEST(a_long_text_is_cut_between_characters),
        TEST(track_numbers_are_stable_and_eight_bytes),
        TEST(spans_at_10_us_take_29_bytes_with_everything),
        TEST(spans_take_at_most_36_bytes),
        TEST(a_packet_that_does_not_fit_is_not_begun),
        TEST(the_largest_packets_fit_into_the_promised_buffer),
        TEST(random_streams_stay_in_the_buffer_and_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The Perfetto reader: what plumb's own writer writes is read back exactly, whatever it was; what
 * others write is read by the rules of the format. */
#include "trace/perfetto_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/perfetto.h"
#include "format/perfetto_fields.h"
#include "format/protobuf.h"
#include "random.h"

static unsigned char memory[1 << 20];
static struct plumb_pf_out out;
static struct plumb_pb w;
static struct plumb_table t;
static plumb_error err;
static const struct plumb_pf_anchor zero = {3000, 2000, 1000};

/* ---- Helpers -------------------------------------------------------------------------------- */

static int start(void **state)
{
    (void)state;
    out = (struct plumb_pf_out){memory, sizeof memory, 0};
    w = (struct plumb_pb){memory, memory + sizeof memory, false};
    return 0;
}

static void parse(size_t size)
{
    if (plumb_perfetto_parse(&t, memory, size, "test", &err) < 0)
        fail_msg("%s", err.message);
}

static void parse_written(void)
{
    assert_false(w.full);
    parse((size_t)(w.p - memory));
}

static const char *text(uint32_t id)
{
    return plumb_table_text(&t, id);
}

/* The whole table as text, a line a row. */
static char *dump(void)
{
    struct plumb_buf b = {0};
    plumb_buf_str(&b, "");
    for (uint32_t i = 0; i < t.slices.count; i++) {
        const struct plumb_table_slices *s = &t.slices;
        plumb_table_put_lane(&b, &t, s->lane[i]);
        plumb_buf_printf(&b, ": %*s%s [%s] @%" PRIu64 "+%" PRIu64 "%s%s", 2 * (int)s->depth[i], "",
                         text(s->name[i]), text(s->category[i]), s->ts_ns[i], s->dur_ns[i],
                         s->flags[i] & PLUMB_SLICE_OPEN ? " open" : "",
                         s->flags[i] & PLUMB_SLICE_CUT ? " cut" : "");
        for (uint32_t a = s->args[i]; a < s->args[i + 1]; a++) {
            plumb_buf_printf(&b, " %s=", text(t.slice_args.key[a]));
            plumb_table_put_value(&b, &t, t.slice_args.type[a], t.slice_args.value[a]);
        }
        plumb_buf_char(&b, '\n');
    }
    for (uint32_t i = 0; i < t.instants.count; i++) {
        plumb_table_put_lane(&b, &t, t.instants.lane[i]);
        plumb_buf_printf(&b, ": %s @%" PRIu64, text(t.instants.name[i]), t.instants.ts_ns[i]);
        for (uint32_t a = t.instants.args[i]; a < t.instants.args[i + 1]; a++) {
            plumb_buf_printf(&b, " %s=", text(t.instant_args.key[a]));
            plumb_table_put_value(&b, &t, t.instant_args.type[a], t.instant_args.value[a]);
        }
        plumb_buf_char(&b, '\n');
    }
    for (uint32_t i = 0; i < t.counters.count; i++) {
        const struct plumb_table_lane *l = &t.lanes[t.counters.lane[i]];
        plumb_table_put_lane(&b, &t, t.counters.lane[i]);
        plumb_buf_printf(&b, " = ");
        plumb_table_put_value(&b, &t, l->whole ? PLUMB_ARG_I64 : PLUMB_ARG_F64,
                              t.counters.value[i]);
        plumb_buf_printf(&b, " @%" PRIu64 "\n", t.counters.ts_ns[i]);
    }
    assert_false(b.failed);
    return b.data;
}

static void assert_dump(const char *want)
{
    char *have = dump();
    assert_string_equal(have, want);
    free(have);
    plumb_table_fini(&t);
}

static unsigned char *packet(uint32_t sequence)
{
    unsigned char *start_of = plumb_pb_open(&w, PF_TRACE_PACKET);
    plumb_pb_u64(&w, PF_PACKET_SEQUENCE_ID, sequence);
    return start_of;
}

static unsigned char *event_packet(unsigned char **inner, uint32_t sequence, uint64_t ts, int type)
{
    unsigned char *start_of = packet(sequence);
    plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, ts);
    *inner = plumb_pb_open(&w, PF_PACKET_TRACK_EVENT);
    if (type)
        plumb_pb_u64(&w, PF_EVENT_TYPE, (uint64_t)type);
    return start_of;
}

static void close_both(unsigned char *inner, unsigned char *start_of)
{
    plumb_pb_close(&w, inner);
    plumb_pb_close(&w, start_of);
}

static void plain_event(uint32_t sequence, uint64_t ts, int type, uint64_t track, const char *name)
{
    unsigned char *inner, *start_of = event_packet(&inner, sequence, ts, type);
    if (track)
        plumb_pb_u64(&w, PF_EVENT_TRACK_UUID, track);
    if (name)
        plumb_pb_text(&w, PF_EVENT_NAME, name, 100);
    close_both(inner, start_of);
}

/* ---- What plumb writes ---------------------------------------------------------------------- */

enum { NAMES = 40, THREADS = 5, EVENTS = 4000 };

static const char *name_of(void *arg, enum plumb_pf_index index, uint32_t id)
{
    static char names[PLUMB_PF_INDEXES][NAMES][32];
    (void)arg;
    assert_in_range(id, 1, NAMES - 1);
    if (index == PLUMB_PF_NAMES && id == 1)
        return "odd \xff\n \"\xf0\x9f\x8e\x89\\x41";
    snprintf(names[index][id], sizeof names[index][id], "%c%u", "ncka"[index], (unsigned)id);
    return names[index][id];
}

static const struct plumb_pf_texts texts = {name_of, NULL};

/* What a thread did, told in the words of dump(). */
struct model {
    struct {
        uint64_t ts, dur;
        uint32_t name, category;
        int depth;
        char args[200];
    } slices[EVENTS];
    size_t count;
    size_t open[16];
    int depth;
    uint64_t ns;
    struct plumb_pf_sequence seq;
    uint64_t bits[PLUMB_PF_INDEXES][1];
};
static struct model models[THREADS];

static void random_args(uint64_t *seed, struct plumb_pf_arg *args, size_t *count, char *words,
                        size_t size)
{
    struct plumb_buf b = {0};
    plumb_buf_str(&b, words);
    *count = random_next(seed) % 4;
    for (size_t i = 0; i < *count; i++) {
        struct plumb_pf_arg *a = &args[i];
        a->key = 1 + (uint32_t)(random_next(seed) % (NAMES - 1));
        a->type = (enum plumb_pf_value)(random_next(seed) % 7);
        a->v.u64 = random_next(seed) << 33 | random_next(seed);
        plumb_buf_printf(&b, " k%u=", (unsigned)a->key);
        if (a->type == PLUMB_PF_I64)
            plumb_buf_printf(&b, "%" PRId64, a->v.i64);
        else if (a->type == PLUMB_PF_U64)
            plumb_buf_printf(&b, "%" PRIu64, a->v.u64);
        else if (a->type == PLUMB_PF_POINTER)
            plumb_buf_printf(&b, "0x%" PRIx64, a->v.u64);
        else if (a->type == PLUMB_PF_BOOL)
            plumb_buf_str(&b, a->v.u64 ? "true" : "false");
        else if (a->type == PLUMB_PF_F64) {
            a->v.f64 = (double)(int)random_next(seed) / 4;
            plumb_table_put_value(&b, &t, PLUMB_ARG_F64,
                                  (union plumb_table_number){.f64 = a->v.f64});
        } else if (a->type == PLUMB_PF_TEXT) {
            a->v.text = i ? "" : "a \xfe text";
            plumb_buf_str(&b, a->v.text);
        } else {
            a->v.u64 = 1 + random_next(seed) % (NAMES - 1);
            plumb_buf_printf(&b, "a%u", (unsigned)a->v.u64);
        }
    }
    assert_true(b.len < size);
    memcpy(words, b.data, b.len + 1);
    plumb_buf_fini(&b);
}

static void begin_one(struct model *m, uint64_t *seed)
{
    struct plumb_pf_arg args[4];
    uint32_t name = 1 + (uint32_t)(random_next(seed) % (NAMES - 1));
    size_t row = m->count++;
    m->slices[row].ts = m->ns;
    m->slices[row].name = name;
    m->slices[row].category = random_next(seed) % 2 ? 1 + name % 3 : 0;
    m->slices[row].depth = m->depth;
    m->slices[row].args[0] = '\0';
    struct plumb_pf_event e = {.type = PLUMB_PF_BEGIN,
                               .ns = m->ns,
                               .name = name,
                               .category = m->slices[row].category,
                               .args = args};
    random_args(seed, args, &e.arg_count, m->slices[row].args, sizeof m->slices[row].args);
    assert_true(plumb_pf_event(&out, &m->seq, &e));
    m->open[m->depth++] = row;
}

static void end_one(struct model *m, uint64_t *seed)
{
    struct plumb_pf_arg args[4];
    size_t row = m->open[--m->depth];
    struct plumb_pf_event e = {.type = PLUMB_PF_END, .ns = m->ns, .args = args};
    if (random_next(seed) % 2) {
        assert_true(plumb_pf_end(&out, &m->seq, m->ns));
    } else {
        random_args(seed, args, &e.arg_count, m->slices[row].args, sizeof m->slices[row].args);
        assert_true(plumb_pf_event(&out, &m->seq, &e));
    }
    m->slices[row].dur = m->ns - m->slices[row].ts;
}

static void write_head(void)
{
    const struct plumb_pf_head head = {
        .zero = zero, .process_track = 9, .pid = 4711, .process_name = "infer"};
    assert_true(plumb_pf_head(&out, &head));
    assert_true(plumb_pf_fact(&out, "plumb.version", "1.2"));
    assert_true(plumb_pf_fact_i64(&out, "plumb.rank", 3));
}

static void open_thread(struct model *m, uint32_t i)
{
    const struct plumb_pf_track track = {PLUMB_PF_THREAD, .uuid = 100 + i, .parent = 9, .pid = 4711,
                                         .tid = 20 + i};
    memset(m, 0, sizeof *m);
    m->seq = (struct plumb_pf_sequence){.id = 2 + i, .texts = &texts};
    for (int index = 0; index < PLUMB_PF_INDEXES; index++) /* some are told, some written out */
        m->seq.told[index] = (struct plumb_pf_told){m->bits[index], 30};
    assert_true(plumb_pf_track(&out, &track));
    assert_true(plumb_pf_sequence_open(&out, &m->seq, 100 + i, &zero));
}

static void put_model(struct plumb_buf *b)
{
    for (uint32_t i = 0; i < THREADS; i++)
        for (size_t row = 0; row < models[i].count; row++) {
            plumb_buf_printf(b, "thread %u: %*s", 20 + i, 2 * models[i].slices[row].depth, "");
            plumb_buf_str(b, name_of(NULL, PLUMB_PF_NAMES, models[i].slices[row].name));
            plumb_buf_str(b, " [");
            if (models[i].slices[row].category)
                plumb_buf_printf(b, "c%u", (unsigned)models[i].slices[row].category);
            plumb_buf_printf(b, "] @%" PRIu64 "+%" PRIu64 "%s\n", models[i].slices[row].ts,
                             models[i].slices[row].dur, models[i].slices[row].args);
        }
}

static void random_traces_are_read_back(void **state)
{
    for (uint64_t round = 1; round <= 10; round++) {
        uint64_t seed = round;
        struct plumb_buf want = {0};
        start(state);
        write_head();
        for (uint32_t i = 0; i < THREADS; i++)
            open_thread(&models[i], i);
        for (int i = 0; i < EVENTS / 2; i++) {
            struct model *m = &models[random_next(&seed) % THREADS];
            m->ns += random_next(&seed) % 8 ? random_next(&seed) % 3000 : random_next(&seed);
            if (m->depth > 0 && (m->depth == 16 || random_next(&seed) % 2))
                end_one(m, &seed);
            else
                begin_one(m, &seed);
            if (random_next(&seed) % 100 == 0)
                assert_true(plumb_pf_sequence_lost(&out, &m->seq, m->seq.id + 98, &zero));
        }
        for (uint32_t i = 0; i < THREADS; i++)
            while (models[i].depth > 0)
                end_one(&models[i], &seed);
        put_model(&want);
        parse(out.used);
        assert_true(t.plumb);
        assert_int_equal(t.zero_ns, 3000);
        assert_int_equal(t.unix_ns, 1000);
        assert_int_equal(t.faults.lone_ends + t.faults.unknown_names + t.faults.lost_state, 0);
        assert_string_equal(text((uint32_t)plumb_table_fact(&t, "plumb.version")->value.u64),
                            "1.2");
        assert_dump(want.data);
        plumb_buf_fini(&want);
    }
}

/* Cut anywhere, a file gives what its whole packets hold, and never more slices than the longer. */
static void a_file_that_is_cut_gives_its_whole_packets(void **state)
{
    uint64_t seed = 7;
    uint32_t before = 0;
    start(state);
    write_head();
    open_thread(&models[0], 0);
    for (int i = 0; i < 40; i++, models[0].ns += 5)
        if (i % 2)
            end_one(&models[0], &seed);
        else
            begin_one(&models[0], &seed);
    size_t whole = out.used, with_cuts = 0;
    for (size_t size = 0; size <= whole; size++) {
        unsigned char *copy = malloc(size + 1); /* so that reading behind it is seen */
        memcpy(copy, memory, size);
        int rc = plumb_perfetto_parse(&t, copy, size, "test", &err);
        free(copy);
        if (rc < 0) {
            assert_int_equal(rc, PLUMB_ERR_FORMAT);
            assert_int_equal(before, 0); /* only as long as there is no packet at all */
            continue;
        }
        assert_true(t.slices.count >= before);
        before = t.slices.count;
        with_cuts += t.faults.cut_bytes > 0;
        assert_true(t.open <= 1);
        plumb_table_fini(&t);
    }
    assert_int_equal(before, 20);
    assert_true(with_cuts > whole / 2);
}

static void room_that_was_not_filled_is_no_damage(void **state)
{
    (void)state;
    write_head();
    memset(memory + out.used, 0, 5000);
    parse(out.used + 5000);
    assert_int_equal(t.faults.cut_bytes, 5000);
    plumb_table_fini(&t);
}

static void what_is_no_trace_is_refused_in_one_line(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *says;
    } bad[] = {{"", 0, "'x' is no trace: it is empty"},
               {"{\"traceEvents\":[]}", 18,
                "'x' is no trace: it does not begin with a packet of Perfetto's format"},
               {"\n\x05", 2, "'x' has no whole packet: it was cut off, or is no trace"},
               {"\n\x02\x08", 3, "'x' has no whole packet: it was cut off, or is no trace"},
               {"\n\x01\xff\n\x01\xff", 6,
                "'x' is no trace, or damaged: not one of its 2 packets can be read"},
               {"\n\x02\x50\x01?", 5, "'x' is damaged at byte 4: no packet begins there"},
               {"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 13,
                "'x' is no trace: it does not begin with a packet of Perfetto's format"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(plumb_perfetto_parse(&t, bad[i].bytes, bad[i].n, "x", &err),
                         PLUMB_ERR_FORMAT);
        assert_string_equal(err.message, bad[i].says);
    }
    assert_int_equal(plumb_perfetto_read(&t, "nowhere.pftrace", &err), PLUMB_ERR_NOT_FOUND);
    assert_int_equal(plumb_perfetto_read(&t, ".", &err), PLUMB_ERR_IO);
}

/* Longer than the window that a file is read through, and packets across its edges. */
static void a_file_is_read_as_the_same_bytes_are(void **state)
{
    uint64_t seed = 3;
    FILE *file = fopen("long.pftrace", "wb");
    assert_non_null(file);
    start(state);
    write_head();
    open_thread(&models[0], 0);
    for (int i = 0; i < 400000; i++) {
        if (out.used > sizeof memory - PLUMB_PF_PACKET_MAX) {
            assert_int_equal(fwrite(memory, 1, out.used, file), out.used);
            out.used = 0;
        }
        models[0].count = 0;
        models[0].ns += random_next(&seed) % 100000;
        assert_true(i % 2 ? plumb_pf_end(&out, &models[0].seq, models[0].ns)
                          : plumb_pf_begin(&out, &models[0].seq, models[0].ns, 2));
    }
    assert_int_equal(fwrite(memory, 1, out.used, file), out.used);
    assert_int_equal(ftell(file) > 4 << 20, 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(plumb_perfetto_read(&t, "long.pftrace", &err), PLUMB_OK);
    assert_int_equal(t.slices.count, 200000);
    assert_int_equal(t.end_ns, models[0].ns);
    assert_int_equal(t.faults.cut_bytes + t.faults.damaged + t.open, 0);
    plumb_table_fini(&t);
}

/* ---- What others write ---------------------------------------------------------------------- */

static void put_clock(uint32_t id, uint64_t ns, bool incremental, uint64_t unit)
{
    unsigned char *clock = plumb_pb_open(&w, PF_SNAPSHOT_CLOCKS);
    plumb_pb_u64(&w, PF_CLOCK_ID, id);
    plumb_pb_u64(&w, PF_CLOCK_TIMESTAMP, ns);
    if (incremental)
        plumb_pb_u64(&w, PF_CLOCK_IS_INCREMENTAL, 1);
    if (unit)
        plumb_pb_u64(&w, PF_CLOCK_UNIT_NS, unit);
    plumb_pb_close(&w, clock);
}

static void clock_event(uint32_t sequence, uint32_t clock, uint64_t ts, const char *name)
{
    unsigned char *start_of = packet(sequence), *inner;
    plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, ts);
    if (clock)
        plumb_pb_u64(&w, PF_PACKET_TIMESTAMP_CLOCK_ID, clock);
    inner = plumb_pb_open(&w, PF_PACKET_TRACK_EVENT);
    plumb_pb_u64(&w, PF_EVENT_TYPE, PLUMB_PF_INSTANT);
    plumb_pb_text(&w, PF_EVENT_NAME, name, 100);
    close_both(inner, start_of);
}

static void clocks_are_related_by_snapshots(void **state)
{
    unsigned char *start_of, *snapshot;
    (void)state;
    start_of = packet(1);
    snapshot = plumb_pb_open(&w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(PF_CLOCK_BOOTTIME, 10000, false, 0);
    put_clock(PF_CLOCK_MONOTONIC, 4000, false, 0);
    put_clock(PF_CLOCK_REALTIME, 900000, false, 0);
    close_both(snapshot, start_of);
    /* A clock of sequence 5 in units of 10 ns, related to MONOTONIC alone. */
    start_of = packet(5);
    snapshot = plumb_pb_open(&w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(64, 7, true, 10);
    put_clock(PF_CLOCK_MONOTONIC, 5000, false, 0);
    close_both(snapshot, start_of);
    clock_event(5, 64, 5, "incremental");
    clock_event(5, 64, 5, "again");
    clock_event(5, PF_CLOCK_MONOTONIC, 4000, "monotonic");
    clock_event(5, 0, 10001, "own");
    clock_event(6, 64, 5, "another's");
    clock_event(6, 200, 5, "unknown");
    /* MONOTONIC jumps: later times count from the newer snapshot. */
    start_of = packet(1);
    snapshot = plumb_pb_open(&w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(PF_CLOCK_MONOTONIC, 6000, false, 0);
    put_clock(PF_CLOCK_BOOTTIME, 20000, false, 0);
    close_both(snapshot, start_of);
    clock_event(5, PF_CLOCK_MONOTONIC, 5999, "before");
    clock_event(5, PF_CLOCK_MONOTONIC, 6001, "behind");
    parse_written();
    assert_int_equal(t.zero_ns, 10000);
    assert_int_equal(t.unix_ns, 900000);
    assert_int_equal(t.faults.unknown_clock, 2);
    assert_dump("lane 0: monotonic @0\nlane 0: own @1\nlane 0: incremental @1050\n"
                "lane 0: again @1100\nlane 0: before @1999\nlane 0: behind @10001\n");
}

static void a_file_without_snapshots_is_on_one_clock(void **state)
{
    (void)state;
    clock_event(1, PF_CLOCK_MONOTONIC, 50, "a");
    clock_event(1, 0, 60, "b");
    parse_written();
    assert_int_equal(t.zero_ns, 50);
    assert_int_equal(t.unix_ns, 0);
    assert_dump("lane 0: a @0\nlane 0: b @10\n");
}

static void events_that_need_lost_state_are_left_out(void **state)
{
    unsigned char *start_of, *inner, *entry;
    (void)state;
    for (int i = 0; i < 3; i++) {
        start_of = packet(4);
        if (i == 1)
            plumb_pb_u64(&w, PF_PACKET_PREVIOUS_PACKET_DROPPED, 1);
        plumb_pb_u64(&w, PF_PACKET_SEQUENCE_FLAGS,
                     i == 1 ? PF_SEQUENCE_NEEDS_STATE
                            : PF_SEQUENCE_STATE_CLEARED | PF_SEQUENCE_NEEDS_STATE);
        plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, 10 + (uint64_t)i);
        if (i == 0) {
            inner = plumb_pb_open(&w, PF_PACKET_INTERNED_DATA);
            entry = plumb_pb_open(&w, PF_INTERNED_EVENT_NAMES);
            plumb_pb_u64(&w, PF_ENTRY_IID, UINT64_MAX);
            plumb_pb_text(&w, PF_ENTRY_TEXT, "told", 100);
            plumb_pb_close(&w, entry);
            plumb_pb_close(&w, inner);
        }
        inner = plumb_pb_open(&w, PF_PACKET_TRACK_EVENT);
        plumb_pb_u64(&w, PF_EVENT_TYPE, PLUMB_PF_INSTANT);
        plumb_pb_u64(&w, PF_EVENT_NAME_IID, UINT64_MAX);
        close_both(inner, start_of);
    }
    parse_written();
    assert_int_equal(t.faults.lost_state, 1);
    assert_int_equal(t.faults.losses, 1);
    assert_int_equal(t.faults.unknown_names, 1); /* forgotten when the state was cleared */
    assert_dump("lane 0: told @0\nlane 0:  @2\n");
}

static unsigned char *named(uint32_t field, const char *name)
{
    unsigned char *start_of = plumb_pb_open(&w, field);
    if (name)
        plumb_pb_text(&w, PF_ANNOTATION_NAME, name, 100);
    return start_of;
}

static void annotations_of_every_kind_become_args(void **state)
{
    unsigned char *inner, *start_of, *a, *b, *c;
    (void)state;
    start_of = event_packet(&inner, 1, 5, PLUMB_PF_BEGIN);
    plumb_pb_text(&w, PF_EVENT_NAME, "s", 10);
    plumb_pb_text(&w, PF_EVENT_CATEGORIES, "x", 10);
    plumb_pb_text(&w, PF_EVENT_CATEGORIES, "y", 10);
    a = named(PF_EVENT_DEBUG_ANNOTATIONS, "dev");
    b = named(PF_ANNOTATION_DICT_ENTRIES, "name");
    plumb_pb_text(&w, PF_ANNOTATION_STRING_VALUE, "gpu", 10);
    plumb_pb_close(&w, b);
    b = named(PF_ANNOTATION_DICT_ENTRIES, "q");
    for (int i = 0; i < 2; i++) {
        c = named(PF_ANNOTATION_ARRAY_VALUES, NULL);
        plumb_pb_i64(&w, PF_ANNOTATION_INT_VALUE, -i);
        plumb_pb_close(&w, c);
    }
    plumb_pb_close(&w, b);
    plumb_pb_close(&w, a);
    a = named(PF_EVENT_DEBUG_ANNOTATIONS, "old");
    b = plumb_pb_open(&w, PF_ANNOTATION_NESTED_VALUE);
    plumb_pb_text(&w, PF_NESTED_DICT_KEYS, "f", 10);
    plumb_pb_text(&w, PF_NESTED_DICT_KEYS, "l", 10);
    c = plumb_pb_open(&w, PF_NESTED_DICT_VALUES);
    plumb_pb_f64(&w, PF_NESTED_DOUBLE_VALUE, 1.5);
    plumb_pb_close(&w, c);
    c = plumb_pb_open(&w, PF_NESTED_DICT_VALUES);
    for (int i = 0; i < 2; i++) {
        unsigned char *d = plumb_pb_open(&w, PF_NESTED_ARRAY_VALUES);
        plumb_pb_u64(&w, PF_NESTED_BOOL_VALUE, (uint64_t)i);
        plumb_pb_close(&w, d);
    }
    plumb_pb_close(&w, c);
    plumb_pb_close(&w, b);
    plumb_pb_close(&w, a);
    a = named(PF_EVENT_DEBUG_ANNOTATIONS, "json");
    plumb_pb_text(&w, PF_ANNOTATION_LEGACY_JSON_VALUE, "{\"a\":1}", 20);
    plumb_pb_close(&w, a);
    close_both(inner, start_of);
    parse_written();
    assert_dump("lane 0: s [x,y] @0+0 open dev.name=gpu dev.q[0]=0 dev.q[1]=-1 old.f=1.5 "
                "old.l[0]=false old.l[1]=true json={\"a\":1}\n");
}

static void nesting_has_a_bottom(void **state)
{
    unsigned char *inner, *start_of, *open[300];
    (void)state;
    start_of = event_packet(&inner, 1, 5, PLUMB_PF_BEGIN);
    for (int i = 0; i < 300; i++)
        open[i] = named(i ? PF_ANNOTATION_DICT_ENTRIES : PF_EVENT_DEBUG_ANNOTATIONS, "level");
    plumb_pb_u64(&w, PF_ANNOTATION_UINT_VALUE, 1);
    for (int i = 300; i-- > 0;)
        plumb_pb_close(&w, open[i]);
    close_both(inner, start_of);
    parse_written();
    assert_int_equal(t.slices.count, 1);
    plumb_table_fini(&t);
}

static void put_track(uint64_t uuid, uint64_t parent, const char *name, uint32_t kind,
                      void (*fields)(void))
{
    unsigned char *start_of = packet(1), *inner = plumb_pb_open(&w, PF_PACKET_TRACK_DESCRIPTOR);
    plumb_pb_u64(&w, PF_TRACK_UUID, uuid);
    if (parent)
        plumb_pb_u64(&w, PF_TRACK_PARENT_UUID, parent);
    if (name)
        plumb_pb_text(&w, PF_TRACK_NAME, name, 100);
    if (kind) {
        unsigned char *part = plumb_pb_open(&w, kind);
        fields();
        plumb_pb_close(&w, part);
    }
    close_both(inner, start_of);
}

static void kilo_incremental(void)
{
    plumb_pb_u64(&w, PF_COUNTER_UNIT, PLUMB_UNIT_BYTES);
    plumb_pb_u64(&w, PF_COUNTER_UNIT_MULTIPLIER, 1000);
    plumb_pb_u64(&w, PF_COUNTER_IS_INCREMENTAL, 1);
}

static void nothing(void)
{
}

static void the_process(void)
{
    plumb_pb_i64(&w, PF_PROCESS_PID, 77);
    plumb_pb_text(&w, PF_PROCESS_CMDLINE, "run", 10);
    plumb_pb_text(&w, PF_PROCESS_CMDLINE, "fast", 10);
}

static void the_thread(void)
{
    plumb_pb_i64(&w, PF_THREAD_PID, 77);
    plumb_pb_i64(&w, PF_THREAD_TID, 78);
    plumb_pb_text(&w, PF_THREAD_NAME, "io", 10);
}

static void counters_may_ride_and_count_up(void **state)
{
    unsigned char *start_of, *inner, *defaults;
    (void)state;
    put_track(5, 0, "kb", PF_TRACK_COUNTER, kilo_incremental);
    put_track(6, 0, "load", PF_TRACK_COUNTER, nothing);
    start_of = packet(3);
    plumb_pb_u64(&w, PF_PACKET_SEQUENCE_FLAGS, PF_SEQUENCE_STATE_CLEARED);
    defaults = plumb_pb_open(&w, PF_PACKET_DEFAULTS);
    inner = plumb_pb_open(&w, PF_DEFAULTS_TRACK_EVENT);
    plumb_pb_u64(&w, PF_EVENT_EXTRA_COUNTER_TRACKS, 5);
    plumb_pb_u64(&w, PF_EVENT_EXTRA_DOUBLE_COUNTER_TRACKS, 6);
    close_both(inner, defaults);
    plumb_pb_close(&w, start_of);
    for (uint64_t i = 0; i < 2; i++) {
        start_of = event_packet(&inner, 3, 10 * i, i ? PLUMB_PF_END : PLUMB_PF_BEGIN);
        plumb_pb_u64(&w, PF_EVENT_EXTRA_COUNTER_VALUES, 2);
        plumb_pb_f64(&w, PF_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, 0.5);
        close_both(inner, start_of);
    }
    parse_written();
    assert_int_equal(t.lanes[0].unit, PLUMB_UNIT_BYTES);
    assert_dump("lane 2:  [] @0+10\nkb = 2000 @0\nkb = 4000 @10\nload = 0.5 @0\nload = 0.5 @10\n");
}

static void tracks_have_names_numbers_and_parents(void **state)
{
    (void)state;
    put_track(3, 2, "queue", 0, nothing);
    put_track(2, 1, NULL, PF_TRACK_THREAD, the_thread);
    put_track(1, 0, "main process", PF_TRACK_PROCESS, the_process);
    plain_event(9, 5, PLUMB_PF_BEGIN, 3, "a");
    plain_event(9, 7, PLUMB_PF_END, 3, NULL);
    plain_event(9, 8, PLUMB_PF_INSTANT, 2, "i");
    parse_written();
    assert_int_equal(t.lane_count, 3);
    assert_int_equal(t.lanes[0].pid, 77);
    assert_int_equal(t.lanes[0].tid, 78);
    assert_int_equal(t.lanes[0].process, 2);
    assert_string_equal(text(t.lanes[2].name), "main process");
    assert_string_equal(text((uint32_t)plumb_table_fact(&t, "cmdline")->value.u64), "run fast");
    assert_dump("queue: a [] @0+2\nio: i @3\n");
}

static void flows_may_be_packed_and_end(void **state)
{
    unsigned char *inner, *start_of, *packed;
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        start_of = event_packet(&inner, 1, 10 * i, PLUMB_PF_INSTANT);
        if (i == 0) {
            packed = plumb_pb_open(&w, PF_EVENT_FLOW_IDS);
            for (unsigned char id = 1; id <= 2; id++, w.p += 8)
                memcpy(w.p, (unsigned char[8]){id}, 8);
            plumb_pb_close(&w, packed);
        } else {
            plumb_pb_fixed64(&w, PF_EVENT_TERMINATING_FLOW_IDS, i);
        }
        close_both(inner, start_of);
    }
    parse_written();
    assert_int_equal(t.flow_count, 2);
    assert_int_equal(t.flows[0].id, 1);
    assert_int_equal(t.flows[1].to.row, 2);
    plumb_table_fini(&t);
}

static void legacy_event(uint64_t ts, int phase, const char *name, uint64_t id, uint64_t dur_us)
{
    unsigned char *inner, *legacy, *start_of = event_packet(&inner, 1, ts, 0);
    plumb_pb_text(&w, PF_EVENT_NAME, name, 10);
    legacy = plumb_pb_open(&w, PF_EVENT_LEGACY);
    plumb_pb_u64(&w, PF_LEGACY_PHASE, (uint64_t)phase);
    if (id)
        plumb_pb_u64(&w, PF_LEGACY_UNSCOPED_ID, id);
    if (dur_us)
        plumb_pb_u64(&w, PF_LEGACY_DURATION_US, dur_us);
    plumb_pb_close(&w, legacy);
    close_both(inner, start_of);
}

static void events_of_older_writers_are_read(void **state)
{
    unsigned char *start_of = packet(1), *thread = plumb_pb_open(&w, PF_PACKET_THREAD_DESCRIPTOR);
    (void)state;
    the_thread();
    close_both(thread, start_of);
    legacy_event(1000, 'X', "x", 0, 2);
    legacy_event(1500, 'B', "b", 0, 0);
    legacy_event(1600, 'E', "b", 0, 0);
    legacy_event(1000, 'b', "async", 7, 0);
    legacy_event(1700, 'e', "async", 7, 0);
    legacy_event(1800, 'I', "mark", 0, 0);
    legacy_event(1800, '?', "none", 0, 0);
    parse_written();
    assert_int_equal(t.faults.other, 1);
    assert_int_equal(t.lanes[0].pid, 77);
    assert_dump("io: x [] @0+2000\nio:   b [] @500+100\nasync: async [] @0+700\n"
                "io: mark @800\n");
}

static void unknown_packets_are_counted_and_damaged_ones_left_out(void **state)
{
    (void)state;
    plain_event(1, 5, PLUMB_PF_INSTANT, 0, "a");
    plumb_pb_close(&w, plumb_pb_open(&w, PF_TRACE_PACKET));
    unsigned char *start_of = packet(1);
    plumb_pb_text(&w, 66, "samples", 100);
    plumb_pb_close(&w, start_of);
    start_of = packet(1);
    plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, 6);
    plumb_pb_text(&w, PF_PACKET_TRACK_EVENT, "\x7f", 10);
    plumb_pb_close(&w, start_of);
    parse_written();
    assert_int_equal(t.faults.other, 1);
    assert_int_equal(t.faults.damaged, 1);
    assert_dump("lane 0: a @0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(random_traces_are_read_back, start),
        cmocka_unit_test_setup(a_file_that_is_cut_gives_its_whole_packets, start),
        cmocka_unit_test_setup(room_that_was_not_filled_is_no_damage, start),
        cmocka_unit_test_setup(what_is_no_trace_is_refused_in_one_line, start),
        cmocka_unit_test_setup(a_file_is_read_as_the_same_bytes_are, start),
        cmocka_unit_test_setup(clocks_are_related_by_snapshots, start),
        cmocka_unit_test_setup(a_file_without_snapshots_is_on_one_clock, start),
        cmocka_unit_test_setup(events_that_need_lost_state_are_left_out, start),
        cmocka_unit_test_setup(annotations_of_every_kind_become_args, start),
        cmocka_unit_test_setup(nesting_has_a_bottom, start),
        cmocka_unit_test_setup(counters_may_ride_and_count_up, start),
        cmocka_unit_test_setup(tracks_have_names_numbers_and_parents, start),
        cmocka_unit_test_setup(flows_may_be_packed_and_end, start),
        cmocka_unit_test_setup(events_of_older_writers_are_read, start),
        cmocka_unit_test_setup(unknown_packets_are_counted_and_damaged_ones_left_out, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

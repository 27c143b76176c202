/* The Perfetto reader: everything that plumb's own writer writes is read back exactly, even from a
 * file that is cut anywhere. */
#include "read/trace/perfetto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perfetto_read_fixture.h"
#include "random.h"

static const struct plumb_pf_anchor zero = {3000, 2000, 1000};

enum { NAMES = 40, THREADS = 5, EVENTS = 4000 };

static const char *name_of(void *arg, enum plumb_pf_index index, uint32_t id)
{
    static char names[PLUMB_PF_INDEXES][NAMES][32];
    (void)arg;
    assert_in_range(id, 1, NAMES - 1);
    if (index == PLUMB_PF_NAMES && id == 1)
        return "odd \xff\n \"\xf0\x9f\x8e\x89\\x41";
    /* Of the keys, one in three is nested, one in five has dots and is not. */
    snprintf(names[index][id], sizeof names[index][id], "%c%u%s", "ncka"[index], (unsigned)id,
             index != PLUMB_PF_KEYS ? ""
             : id % 3 == 0          ? ".b.\\x41\xfe"
             : id % 5 == 0          ? "..b"
                                    : "");
    return names[index][id];
}

static const struct plumb_pf_texts texts = {name_of, NULL};

/* The events of a thread, spelled as dump() does. */
struct model {
    struct {
        uint64_t ts, dur;
        uint32_t name, category;
        int depth;
        char args[400];
    } slices[EVENTS];
    size_t count;
    size_t open[16];
    int depth;
    uint64_t ns;
    struct plumb_pf_sequence seq;
    uint64_t bits[PLUMB_PF_INDEXES][1];
};
static struct model models[THREADS];

static const uint64_t addresses[] = {0x1234, UINT64_MAX};
static const struct plumb_pf_pointers stack = {addresses, 2};

static void random_args(uint64_t *seed, struct plumb_pf_arg *args, size_t *count, char *words,
                        size_t size)
{
    struct plumb_buf b = {0};
    plumb_buf_str(&b, words);
    *count = random_next(seed) % 4;
    for (size_t i = 0; i < *count; i++) {
        struct plumb_pf_arg *a = &args[i];
        a->key = 1 + (uint32_t)(random_next(seed) % (NAMES - 1));
        a->type = (enum plumb_pf_value)(random_next(seed) % 8);
        a->v.u64 = random_next(seed) << 33 | random_next(seed);
        if (a->type == PLUMB_PF_POINTERS) {
            a->v.pointers = &stack;
            for (int k = 0; k < 2; k++)
                plumb_buf_printf(&b, " %s.%d=0x%" PRIx64, name_of(NULL, PLUMB_PF_KEYS, a->key), k,
                                 stack.at[k]);
            continue;
        }
        plumb_buf_printf(&b, " %s=", name_of(NULL, PLUMB_PF_KEYS, a->key));
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
        unsigned char *copy = malloc(size + 1); /* of exactly its size, so that the sanitizer sees
                                                 * reads past its end */
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
    } bad[] = {{"", 0, "'x' is not a trace: it is empty"},
               {"{\"traceEvents\":[]}", 18,
                "'x' is not a trace: it does not begin with a packet of Perfetto's format"},
               {"\n\x05", 2, "'x' has no whole packet: it was cut off, or is not a trace"},
               {"\n\x02\x08", 3, "'x' has no whole packet: it was cut off, or is not a trace"},
               {"\n\x01\xff\n\x01\xff", 6,
                "'x' is not a trace, or damaged: not one of its 2 packets can be read"},
               {"\n\x02\x50\x01?", 5, "'x' is damaged at byte 4: no packet begins there"},
               {"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 13,
                "'x' is not a trace: it does not begin with a packet of Perfetto's format"}};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(random_traces_are_read_back, start),
        cmocka_unit_test_setup(a_file_that_is_cut_gives_its_whole_packets, start),
        cmocka_unit_test_setup(room_that_was_not_filled_is_no_damage, start),
        cmocka_unit_test_setup(what_is_no_trace_is_refused_in_one_line, start),
        cmocka_unit_test_setup(a_file_is_read_as_the_same_bytes_are, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

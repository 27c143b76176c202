/* labels: notsan
 * Taking many records at once writes what taking them one by one does. */
#include "timeline/perfetto.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "random.h"

enum { SLOTS = 600, RUNS = 24 };

static struct plumb_live_header header;
static unsigned char buffer[PLUMB_PF_PACKET_MAX];
static struct plumb_trace_file file;
static struct plumb_thread_track track;
static struct plumb_buf bytes;
static uint32_t taken; /* records, by plumb_trace_plain() */

static uint32_t one_by_one(struct plumb_trace_plain *t, const uint64_t *words, uint32_t n)
{
    (void)t;
    (void)words;
    (void)n;
    return 0;
}

static uint32_t counted(struct plumb_trace_plain *t, const uint64_t *words, uint32_t n)
{
    uint32_t took = plumb_trace_plain(t, words, n);
    assert_true(took <= n);
    taken += took;
    return took;
}

static bool keep(void *arg, const unsigned char *p, size_t n)
{
    (void)arg;
    plumb_buf_append(&bytes, p, n);
    return true;
}

static void open_track(uint32_t sequence, uint64_t ns_per_tick, plumb_trace_plain_fn *fn)
{
    memset(&file, 0, sizeof file);
    memset(&track, 0, sizeof track);
    file.source = plumb_live_view_of((unsigned char *)&header, sizeof header);
    file.out = (struct plumb_pf_out){buffer, sizeof buffer, 0};
    file.write = keep;
    file.clock.ns_per_tick = ns_per_tick;
    assert_int_equal(plumb_trace_file_open(&file), 0);
    file.plain = fn;
    plumb_thread_track_open(&track, &file, sequence, false);
    taken = 0;
    bytes.len = 0;
}

/* ---- Records --------------------------------------------------------------------------------- */

struct maker {
    uint64_t random, ticks;
    uint32_t nodes, odd; /* of `odd` words, one is not plain; 0: none */
    uint32_t depth;
    bool nested;
};

static uint64_t below(struct maker *m, uint64_t n)
{
    return random_next(&m->random) % n;
}

/* Times of any length, most of them short. */
static uint64_t gap(struct maker *m)
{
    uint64_t r = below(m, 64);
    if (m->odd && r == 0)
        return below(m, UINT64_C(1) << 26);
    return r < 8 ? below(m, 4) : below(m, r < 40 ? 1 << 14 : 1 << 20);
}

static uint64_t plain_word(struct maker *m)
{
    bool begin = m->nested ? below(m, 2) && m->depth < 200 : !m->depth;
    if (!begin && !m->depth && !m->odd)
        begin = true;
    m->depth += begin ? 1u : m->depth ? (uint32_t)-1 : 0;
    if (!begin)
        return PLUMB_REC_END;
    return (m->odd && below(m, 512) == 0 ? below(m, 1 << PLUMB_NODE_BITS) : 1 + below(m, m->nodes))
               << 2 |
           PLUMB_REC_BEGIN;
}

/* A wide record that changes what follows, or nothing a reader of traces knows. */
static uint32_t odd_words(struct maker *m, uint64_t *w, uint32_t room)
{
    static const uint32_t kinds[] = {PLUMB_WIDE_GROUP, PLUMB_WIDE_STEP,    PLUMB_WIDE_CLOSE,
                                     PLUMB_WIDE_MARK,  PLUMB_WIDE_INSTANT, 63};
    uint32_t kind = kinds[below(m, sizeof kinds / sizeof *kinds)];
    if (room < 3 || below(m, 8) == 0) {
        w[0] = below(m, 4) | below(m, 1 << 12) << 2;
        return 1;
    }
    w[0] = PLUMB_REC_WIDE | kind << 2 | 3 << 8 | 1 << 16;
    if (kind == PLUMB_WIDE_GROUP || kind == PLUMB_WIDE_STEP)
        w[1] = below(m, 8) == 0;
    else
        w[1] = below(m, 4);
    w[2] = 0;
    return 3;
}

static void make_slot(struct maker *m, struct plumb_trace_slot *slot, uint64_t number)
{
    uint32_t n = PLUMB_BLOCK_HEAD;
    uint64_t at = 0;
    memset(slot, 0, sizeof *slot);
    slot->number = slot->block = number;
    slot->kind = PLUMB_SLOT_BLOCK;
    slot->tid = slot->generation = 7;
    slot->step = -1;
    slot->words = (uint16_t)(m->odd && below(m, 4) == 0 ? below(m, 129) : PLUMB_BLOCK_WORDS);
    slot->data[0] = m->odd && below(m, 64) == 0 ? below(m, m->ticks + 1) : m->ticks;
    if (m->odd && below(m, 64) == 0) {
        slot->flags = PLUMB_SLOT_RESUMES;
        slot->depth = (uint32_t)below(m, 4);
        m->depth = slot->depth;
    }
    while (n < PLUMB_BLOCK_WORDS) {
        uint32_t first = n;
        at += gap(m);
        if (m->odd && below(m, m->odd) == 0)
            n += odd_words(m, &slot->data[n], PLUMB_BLOCK_WORDS - n);
        else
            slot->data[n++] = plain_word(m);
        slot->data[first] |= at << (64 - PLUMB_TICK_BITS);
    }
    m->ticks += at;
}

/* The bytes of a stream, and a digest of its state after them. */
static void run(const struct maker *like, uint32_t sequence, uint64_t ns_per_tick,
                plumb_trace_plain_fn *fn)
{
    struct maker m = *like;
    struct plumb_trace_slot slot;
    open_track(sequence, ns_per_tick, fn);
    for (uint64_t i = 1; i <= SLOTS; i++) {
        make_slot(&m, &slot, i);
        plumb_thread_track_slot(&track, NULL, &slot);
        plumb_buf_append(&bytes, &track.state.depth, sizeof track.state.depth);
        for (uint32_t d = 0; d <= track.state.depth; d++)
            plumb_buf_append(&bytes, &track.state.frames[d],
                             offsetof(struct plumb_trace_frame, why_off));
        plumb_buf_append(&bytes, &track.state.last_ticks, sizeof track.state.last_ticks);
        plumb_buf_append(&bytes, &track.spans, sizeof track.spans);
    }
    plumb_trace_file_flush(&file);
    plumb_trace_file_fini(&file);
}

static void compare(const struct maker *m, uint32_t sequence, uint64_t ns_per_tick)
{
    struct plumb_buf want;
    run(m, sequence, ns_per_tick, one_by_one);
    want = bytes;
    bytes = (struct plumb_buf){0};
    run(m, sequence, ns_per_tick, counted);
    assert_int_equal(bytes.len, want.len);
    assert_memory_equal(bytes.data, want.data, want.len);
    if (!m->odd) /* but for the first use of names, and the ends of buffers */
        assert_true(taken > SLOTS * 126 / 10 * 8);
    plumb_buf_fini(&want);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Ticks of 0.4 ns, 1 ns and 9 ns. */
static const uint64_t rates[] = {UINT64_C(1717986918), UINT64_C(1) << 32, UINT64_C(9) << 32};

static void plain_spans_are_what_they_are_one_by_one(void **state)
{
    static const uint32_t sequences[] = {2, 127, 128, 16384};
    (void)state;
    for (uint32_t i = 0; i < 4 * 4; i++) {
        struct maker m = {.random = i, .nodes = i & 1 ? 100 : 3000, .nested = i & 2};
        compare(&m, sequences[i / 4], rates[i % 2]);
    }
}

static void records_of_all_kinds_are_what_they_are_one_by_one(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RUNS; i++) {
        struct maker m = {.random = 100 + i,
                          .nodes = i & 1   ? 100
                                   : i & 8 ? 500
                                           : 13000,
                          .nested = i & 2};
        m.odd = i & 4 ? 3 : 50;
        compare(&m, i % 3 ? 5 : 300, rates[i % 3]);
    }
}

static int close_all(void **state)
{
    (void)state;
    plumb_buf_fini(&bytes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_spans_are_what_they_are_one_by_one),
        cmocka_unit_test(records_of_all_kinds_are_what_they_are_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}

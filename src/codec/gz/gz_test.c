/* labels: notsan
 * gzip: what zlib unpacks is what was written, whatever that was; size; parts. */
#include "codec/gz/gz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "codec/chrome.h"
#include "codec/gz/parts.h"
#include "random.h"

static struct plumb_gz *z;
static unsigned char *packed, *text, *unpacked;
static struct plumb_out out;

enum { LARGE = 8 << 20 };

static int setup(void **state)
{
    (void)state;
    z = malloc(sizeof *z);
    packed = malloc(LARGE);
    text = malloc(LARGE);
    unpacked = malloc(LARGE);
    memset(z, 0xa5, sizeof *z);
    out = (struct plumb_out){packed, LARGE, 0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(z);
    free(packed);
    free(text);
    free(unpacked);
    return 0;
}

/* In pieces of `piece` bytes at most. */
static void pack(size_t n, size_t piece)
{
    out.used = 0;
    plumb_gz_open(z);
    for (size_t at = 0, part; at < n; at += part) {
        part = n - at < piece ? n - at : piece;
        if (part > z->in.size - z->in.used)
            part = z->in.size - z->in.used;
        if (part == 0)
            assert_true(plumb_gz_flush(z, &out));
        memcpy(z->in.base + z->in.used, text + at, part);
        z->in.used += part;
    }
    assert_true(plumb_gz_close(z, &out));
}

/* Status of zlib; *got is how much it unpacked of `n` bytes of the member. */
static int unpack(size_t n, size_t *got)
{
    z_stream s = {.next_in = packed, .avail_in = (uInt)n, .next_out = unpacked, .avail_out = LARGE};
    assert_int_equal(inflateInit2(&s, 16 + MAX_WBITS), Z_OK);
    int status = inflate(&s, Z_FINISH);
    *got = s.total_out;
    inflateEnd(&s);
    return status;
}

static void check_whole(size_t n, size_t piece)
{
    size_t got = 0;
    pack(n, piece);
    assert_int_equal(unpack(out.used, &got), Z_STREAM_END);
    assert_int_equal(got, n);
    assert_memory_equal(unpacked, text, n);
}

/* Events as a pipeline makes them: returns their bytes. */
static size_t make_events(size_t count, bool args, uint64_t seed)
{
    struct plumb_out lines = {text, LARGE, 0};
    uint64_t ns = 1234567890123;
    for (size_t i = 0; i < count; i++) {
        char name[32];
        struct plumb_chrome_arg arg = {"step", PLUMB_CHROME_I64, {.i64 = (int64_t)(i / 7)}};
        snprintf(name, sizeof name, "stage.%02d", (int)(i % 30));
        struct plumb_chrome_event e = {.phase = PLUMB_CHROME_SPAN,
                                       .category = "user_annotation",
                                       .name = name,
                                       .pid = 4711,
                                       .tid = 4712 + (int64_t)(i / 500),
                                       .ns = ns += random_next(&seed) % 30000,
                                       .dur_ns = random_next(&seed) % 20000,
                                       .args = &arg,
                                       .arg_count = args && i % 3 == 0};
        assert_true(plumb_chrome_event(&lines, &e));
    }
    return lines.used;
}

static void events_come_back(void **state)
{
    (void)state;
    size_t n = make_events(30000, false, 1);
    check_whole(n, n);
    check_whole(n, 1000);
    n = make_events(20000, true, 2);
    check_whole(n, 4096);
}

static void events_take_less_room_than_by_zlib(void **state)
{
    (void)state;
    size_t n = make_events(30000, false, 3);
    z_stream s = {.next_in = text, .avail_in = (uInt)n, .next_out = unpacked, .avail_out = LARGE};
    assert_int_equal(deflateInit2(&s, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    size_t by_zlib = s.total_out;
    deflateEnd(&s);
    pack(n, n);
    assert_true((double)out.used <= 0.85 * (double)by_zlib);
}

static void short_texts_come_back(void **state)
{
    uint64_t seed = 4;
    (void)state;
    for (size_t n = 0; n < 700; n++) {
        for (size_t i = 0; i < n; i++)
            text[i] = "ab:\"ts\n01."[random_next(&seed) % 10];
        check_whole(n, n);
    }
}

static void any_bytes_come_back(void **state)
{
    uint64_t seed = 5;
    (void)state;
    size_t n = 3 * PLUMB_GZ_TEXT + 17;
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)random_next(&seed);
    check_whole(n, n);
    assert_true(out.used < n + n / 1000 + 64);
    memset(text, 'x', n);
    check_whole(n, n);
    memset(text, '\n', n);
    check_whole(n, n);
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)(i >> 8);
    check_whole(n, n);
    /* Repetitions at all distances, within the window and beyond it. */
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)(i < 40000 ? random_next(&seed) % 4 + 'a'
                                            : text[i - 1 - random_next(&seed) % 40 * (i & 1023)]);
    check_whole(n, n);
}

/* Pieces of every kind in turn. */
static void mixed_texts_come_back(void **state)
{
    uint64_t seed = 6;
    (void)state;
    for (int round = 0; round < 40; round++) {
        size_t n = 0, most = random_next(&seed) % 300000;
        while (n < most) {
            size_t part = random_next(&seed) % 5000, from = random_next(&seed) % (n + 1);
            uint64_t kind = random_next(&seed) % 4;
            for (size_t i = 0; i < part; i++)
                text[n + i] = kind == 0   ? (unsigned char)random_next(&seed)
                              : kind == 1 ? (unsigned char)('0' + random_next(&seed) % 10)
                              : kind == 2 ? text[from + i]
                                          : (unsigned char)"},\n{\"ts\":1"[i % 10];
            n += part;
        }
        check_whole(n, 1 + random_next(&seed) % 100000);
    }
}

static void a_cut_file_gives_what_it_has(void **state)
{
    size_t n = make_events(20000, true, 7), got = 0, before = 0;
    (void)state;
    pack(n, n);
    for (size_t cut = 0; cut < out.used; cut += out.used / 50 + 1) {
        assert_int_not_equal(unpack(cut, &got), Z_STREAM_END);
        assert_true(got >= before && got < n);
        assert_memory_equal(unpacked, text, got);
        before = got;
    }
    assert_true(before > n / 2);
}

static void without_room_nothing_happens(void **state)
{
    size_t n = make_events(100, false, 8), got = 0;
    struct plumb_out small = {packed, PLUMB_GZ_OUT - 1, 0};
    (void)state;
    plumb_gz_open(z);
    memcpy(z->in.base, text, n);
    z->in.used = n;
    assert_false(plumb_gz_flush(z, &small));
    assert_false(plumb_gz_close(z, &small));
    assert_int_equal(small.used, 0);
    assert_int_equal(z->in.used, n);
    assert_true(plumb_gz_close(z, &out));
    assert_int_equal(unpack(out.used, &got), Z_STREAM_END);
    assert_memory_equal(unpacked, text, n);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static void the_checksum_is_that_of_zlib(void **state)
{
    uint32_t(*table)[256] = z->crc_table;
    uint64_t seed = 9;
    (void)state;
    plumb_crc32_table(table);
    for (size_t i = 0; i < 5000; i++)
        text[i] = (unsigned char)random_next(&seed);
    for (size_t n = 0; n < 400; n++) {
        size_t at = n % 67;
        assert_int_equal(plumb_crc32(table, 0, text + at, n), crc32(0, text + at, (uInt)n));
        uint32_t crc = plumb_crc32(table, 0, text, n);
        assert_int_equal(plumb_crc32(table, crc, text + n, 4000), crc32(0, text, (uInt)n + 4000));
    }
}

static void check_code(const uint32_t *counts, uint32_t n, uint32_t limit)
{
    uint8_t lengths[288];
    uint32_t space = 0, used = 0;
    plumb_gz_lengths(lengths, counts, n, limit);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(lengths[i] <= limit);
        if (counts[i])
            assert_int_not_equal(lengths[i], 0);
        space += lengths[i] ? 1u << (limit - lengths[i]) : 0;
        used += counts[i] != 0;
        for (uint32_t k = 0; k < i; k++)
            assert_false(counts[i] && counts[k] > counts[i] && lengths[k] > lengths[i]);
    }
    assert_int_equal(space, used < 2 ? 1u << (limit - 1) : 1u << limit);
}

static void codes_are_complete_and_in_order(void **state)
{
    uint64_t seed = 11;
    uint32_t counts[288] = {0};
    (void)state;
    check_code(counts, 30, PLUMB_GZ_BITS);
    counts[7] = 5;
    check_code(counts, 30, PLUMB_GZ_BITS);
    for (int round = 0; round < 300; round++) {
        uint64_t shift = random_next(&seed) % 19;
        for (int i = 0; i < 286; i++)
            counts[i] = random_next(&seed) % 3 ? (uint32_t)(random_next(&seed) % (1u << shift)) : 0;
        check_code(counts, 286, PLUMB_GZ_BITS);
        check_code(counts, 19, 7);
    }
    /* The deepest tree there is: each as heavy as all before. */
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < 19; i++)
        counts[i] = 1u << i;
    check_code(counts, 19, 7);
    check_code(counts, 19, PLUMB_GZ_BITS);
}

static void lengths_and_distances_are_those_of_the_standard(void **state)
{
    static const uint16_t bases[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                       15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                       67, 83, 99, 115, 131, 163, 195, 227, 258};
    (void)state;
    for (uint32_t length = 3; length <= 258; length++) {
        struct plumb_gz_symbol s = plumb_gz_length(length);
        assert_int_equal(bases[s.code - 257] + s.extra, length);
        assert_int_equal(plumb_gz_length_extra(s.code), s.extra_bits);
        assert_true(s.extra < 1u << s.extra_bits);
    }
    for (uint32_t distance = 1, base = 1, code = 0; distance <= 32768; distance++) {
        struct plumb_gz_symbol s = plumb_gz_distance(distance);
        if (s.code != code) { /* the next code begins where the one before ends */
            assert_int_equal(s.code, code + 1);
            assert_int_equal(distance, base + (1u << plumb_gz_distance_extra(code)));
            base = distance;
            code = s.code;
        }
        assert_int_equal(base + s.extra, distance);
        assert_int_equal(plumb_gz_distance_extra(code), s.extra_bits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(events_take_less_room_than_by_zlib, setup, teardown),
        cmocka_unit_test_setup_teardown(short_texts_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(any_bytes_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(mixed_texts_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cut_file_gives_what_it_has, setup, teardown),
        cmocka_unit_test_setup_teardown(without_room_nothing_happens, setup, teardown),
        cmocka_unit_test_setup_teardown(the_checksum_is_that_of_zlib, setup, teardown),
        cmocka_unit_test_setup_teardown(codes_are_complete_and_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(lengths_and_distances_are_those_of_the_standard, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

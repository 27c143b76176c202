/* Files that gzip packed, and packets that are packed into one: they read as the plain ones do.
 * Damaged ones are refused in one line, and none unpacks to more than the bounds allow. */
#include "read/file/unpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "perfetto_read_fixture.h"
#include "read/trace/chrome.h"

enum { GZIP = 16 + MAX_WBITS, ZLIB = MAX_WBITS };

static unsigned char packed[1 << 20];

/* ---- Helpers -------------------------------------------------------------------------------- */

static size_t pack(unsigned char *to, size_t room, const void *bytes, size_t n, int kind)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, kind, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = to;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static const char *save(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    return name;
}

static void refuse(int (*read)(struct plumb_table *, const char *, plumb_error *), const char *path,
                   const char *says)
{
    assert_int_equal(read(&t, path, &err), PLUMB_ERR_FORMAT);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
    assert_null(strchr(err.message, '\n'));
}

/* Bytes that hardly shrink, in packets of spans. */
static size_t write_spans(unsigned count)
{
    char name[16];
    uint32_t seed = 7;
    for (unsigned i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        snprintf(name, sizeof name, "n%" PRIx32, seed);
        plain_event(1, 10 * i, PLUMB_PF_BEGIN, 5, name);
        plain_event(1, 10 * i + 5, PLUMB_PF_END, 5, NULL);
    }
    assert_false(w.full);
    return (size_t)(w.p - memory);
}

static char *dump_written(void)
{
    parse_written();
    char *said = dump();
    plumb_table_fini(&t);
    return said;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void a_packed_file_is_read_as_its_bytes_are(void **state)
{
    (void)state;
    size_t size = write_spans(14000), half = size / 2;
    char *want = dump_written();
    /* In two parts, followed by the zeros of a tape, under a name that does not say that it is
     * packed. */
    size_t n = pack(packed, sizeof packed, memory, half, GZIP);
    n += pack(packed + n, sizeof packed - n, memory + half, size - half, GZIP);
    assert_true(n > 64 * 1024); /* more than is read at once */
    memset(packed + n, 0, 1000);
    assert_int_equal(plumb_perfetto_read(&t, save("trace", packed, n + 1000), &err), PLUMB_OK);
    assert_int_equal(t.packet_bytes, size);
    assert_dump(want);
    free(want);
}

static void a_packed_document_is_read_as_its_text_is(void **state)
{
    static const char text[] = "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,"
                               "\"ts\":1.5,\"dur\":2}]}";
    (void)state;
    size_t n = pack(packed, sizeof packed, text, sizeof text - 1, GZIP);
    assert_int_equal(plumb_chrome_read(&t, save("document", packed, n), &err), PLUMB_OK);
    assert_dump("thread 2: a [] @0+2000\n");
    assert_int_equal(plumb_chrome_read(&t, "nowhere.json.gz", &err), PLUMB_ERR_NOT_FOUND);
    assert_int_equal(plumb_chrome_read(&t, ".", &err), PLUMB_ERR_IO);
}

static void a_packed_file_that_is_not_whole_is_refused(void **state)
{
    (void)state;
    size_t n = pack(packed, sizeof packed, memory, write_spans(3), GZIP);
    for (size_t cut = 2; cut < n; cut++)
        refuse(plumb_perfetto_read, save("cut.gz", packed, cut), "'cut.gz' is cut short");
    packed[n] = 'x';
    refuse(plumb_perfetto_read, save("more.gz", packed, n + 1), "'more.gz' is");
    packed[n - 5] ^= 1; /* of the checksum */
    refuse(plumb_perfetto_read, save("sum.gz", packed, n),
           "it cannot be unpacked (incorrect data check)");
    refuse(plumb_chrome_read, "sum.gz", "incorrect data check");
}

/* Each byte in turn: an error or a table, never a fault. */
static void damage_anywhere_is_survived(void **state)
{
    unsigned refused = 0;
    (void)state;
    size_t n = pack(packed, sizeof packed, memory, write_spans(3), GZIP);
    for (size_t i = 0; i < n; i++) {
        packed[i] ^= 0x41;
        int rc = plumb_perfetto_read(&t, save("damaged.gz", packed, n), &err);
        packed[i] ^= 0x41;
        refused += rc < 0;
        if (rc == PLUMB_OK)
            plumb_table_fini(&t);
    }
    assert_true(refused > n / 2);
}

static void a_little_that_holds_a_great_deal_is_refused(void **state)
{
    static const char begin[] = "{\"traceEvents\":[";
    unsigned char piece[65536];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)begin, .avail_in = sizeof begin - 1};
    (void)state;
    memset(piece, ' ', sizeof piece);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = packed;
    z.avail_out = sizeof packed;
    for (uint64_t n = 0; n < PLUMB_UNPACK_FREE + sizeof piece; n += sizeof piece) {
        assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
        z.next_in = piece;
        z.avail_in = sizeof piece;
    }
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    size_t n = sizeof packed - z.avail_out;
    assert_true(n < PLUMB_UNPACK_FREE / PLUMB_UNPACK_TIMES);
    refuse(plumb_chrome_read, save("bomb.gz", packed, n),
           "'bomb.gz' unpacks to more than 200 times its size");
}

/* ---- Packets in a packet -------------------------------------------------------------------- */

/* Replaces the packets written so far by one packet that holds them packed. */
static size_t pack_packets(int kind)
{
    size_t n = pack(packed, sizeof packed, memory, (size_t)(w.p - memory), kind);
    start(NULL);
    unsigned char *start_of = plumb_pb_open(&w, PF_TRACE_PACKET);
    unsigned char *bytes = plumb_pb_open(&w, PF_PACKET_COMPRESSED);
    memcpy(w.p, packed, n);
    w.p += n;
    close_both(bytes, start_of);
    assert_false(w.full);
    return n;
}

static void packed_packets_are_read_where_they_stand(void **state)
{
    (void)state;
    write_spans(2000);
    plain_event(1, 30000, PLUMB_PF_BEGIN, 5, "last");
    char *want = dump_written();
    start(NULL);
    write_spans(2000);
    pack_packets(ZLIB);
    plain_event(1, 30000, PLUMB_PF_BEGIN, 5, "last");
    parse_written();
    assert_int_equal(t.faults.other + t.faults.damaged + t.faults.cut_bytes, 0);
    assert_dump(want);
    /* And all of it packed once more, by gzip. */
    size_t n = pack(packed, sizeof packed, memory, (size_t)(w.p - memory), GZIP);
    assert_int_equal(plumb_perfetto_read(&t, save("twice", packed, n), &err), PLUMB_OK);
    assert_dump(want);
    free(want);
}

static void packed_packets_that_are_damaged_are_refused(void **state)
{
    (void)state;
    write_spans(3);
    size_t n = pack_packets(ZLIB), size = (size_t)(w.p - memory);
    memory[size - 1] ^= 1; /* of the checksum */
    refuse(plumb_perfetto_read, save("sum", memory, size),
           "'sum' is damaged: packets in it cannot be unpacked (incorrect data check)");
    memory[size - n] = 0; /* of the header */
    refuse(plumb_perfetto_read, save("head", memory, size), "(incorrect header check)");
    start(NULL);
    plumb_pb_close(&w, plumb_pb_open(&w, PF_TRACE_PACKET));
    w.p--; /* half a packet */
    pack_packets(ZLIB);
    size = (size_t)(w.p - memory);
    refuse(plumb_perfetto_read, save("half", memory, size),
           "'half' is damaged at byte 0 of packets that are packed in it: no packet begins there");
}

static void packed_packets_have_none_packed_in_turn(void **state)
{
    (void)state;
    write_spans(3);
    pack_packets(ZLIB);
    pack_packets(ZLIB);
    plain_event(1, 5, PLUMB_PF_INSTANT, 5, "a");
    parse_written();
    assert_int_equal(t.faults.damaged, 1);
    assert_dump("track 0: a @0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_packed_file_is_read_as_its_bytes_are, start),
        cmocka_unit_test_setup(a_packed_document_is_read_as_its_text_is, start),
        cmocka_unit_test_setup(a_packed_file_that_is_not_whole_is_refused, start),
        cmocka_unit_test_setup(damage_anywhere_is_survived, start),
        cmocka_unit_test_setup(a_little_that_holds_a_great_deal_is_refused, start),
        cmocka_unit_test_setup(packed_packets_are_read_where_they_stand, start),
        cmocka_unit_test_setup(packed_packets_that_are_damaged_are_refused, start),
        cmocka_unit_test_setup(packed_packets_have_none_packed_in_turn, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

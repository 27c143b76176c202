/* bench_export.c: a trace as Chrome JSON, and that compressed: how much faster than printf() and
 * zlib.
 *
 * The stream is what plumb export makes of a trace: track after track, 20 threads with 20000 spans
 * each of 100 nodes in turn, begins and ends 10 us apart on average (exponential). Nothing is
 * written to a file. Against it, in turns, the same lines by snprintf() with "%.3f", the way a
 * microsecond is usually printed; the same with whole numbers only, which is the fastest that
 * printf() does; and zlib, level 1, on the lines of the fast writer. The bytes of a line are
 * checked to be the same. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "codec/chrome.h"
#include "codec/gz/gz.h"

enum { THREADS = 20, SPANS_A_THREAD = 20000, SPANS = THREADS * SPANS_A_THREAD, PIECE = 256 * 1024 };
enum { BATCH = 512, PIECES = 64 * 1024 };

struct stream {
    struct plumb_chrome_span spans[SPANS];
    struct plumb_chrome_piece names[BENCH_NODES], tracks[THREADS];
    char name_texts[BENCH_NODES][16];
    unsigned char pieces[PIECES];
    unsigned char buffer[PIECE];
    struct plumb_out out, packed;
    size_t at; /* of the next span */
    uint64_t bytes;
    struct plumb_gz gz;
    z_stream z;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_export: %s\n", what);
    exit(1);
}

static void make_pieces(struct stream *s)
{
    struct plumb_out out = {s->pieces, sizeof s->pieces - PLUMB_CHROME_PAD, 0};
    for (int i = 0; i < BENCH_NODES; i++) {
        size_t from = out.used;
        snprintf(s->name_texts[i], sizeof s->name_texts[i], "node.%02d", i);
        if (!plumb_chrome_name_piece(&out, "cpu_op", s->name_texts[i], NULL, 0))
            die("no room for the names");
        s->names[i] = (struct plumb_chrome_piece){s->pieces + from, out.used - from};
    }
    for (int i = 0; i < THREADS; i++) {
        size_t from = out.used;
        if (!plumb_chrome_track_piece(&out, 4711, 4712 + i))
            die("no room for the tracks");
        s->tracks[i] = (struct plumb_chrome_piece){s->pieces + from, out.used - from};
    }
}

static void make_spans(struct stream *s)
{
    uint64_t random = 1, ns = 0, gap[2];
    for (size_t i = 0; i < SPANS; i++) {
        if (i % SPANS_A_THREAD == 0)
            ns = 123456789;
        for (int k = 0; k < 2; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            gap[k] = (uint64_t)(-log(((double)(random >> 11) + 0.5) / 9007199254740992.0) * 10000);
        }
        s->spans[i] = (struct plumb_chrome_span){ns += gap[0], gap[1], (uint32_t)(i % BENCH_NODES),
                                                 (uint32_t)(i / SPANS_A_THREAD)};
        ns += gap[1];
    }
}

/* ---- Cells ---------------------------------------------------------------------------------- */

static const struct plumb_chrome_span *next_spans(struct stream *s, uint64_t *n)
{
    const struct plumb_chrome_span *spans = s->spans + s->at;
    if (*n > BATCH)
        *n = BATCH;
    if (*n > SPANS - s->at)
        *n = SPANS - s->at;
    s->at = s->at + *n == SPANS ? 0 : s->at + *n;
    return spans;
}

static void write_spans(void *arg, uint64_t n)
{
    struct stream *s = arg;
    for (uint64_t some; n > 0; n -= some) {
        const struct plumb_chrome_span *spans = next_spans(s, (some = n, &some));
        for (size_t done = 0; done < some;) {
            done += plumb_chrome_spans(&s->out, s->names, s->tracks, spans + done, some - done);
            if (done < some)
                s->out.used = 0;
        }
    }
}

static int print_span(const struct stream *s, const struct plumb_chrome_span *span, char *to,
                      size_t room)
{
    return snprintf(to, room,
                    "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                    "\"ts\":%.3f,\"dur\":%.3f},\n",
                    "cpu_op", s->name_texts[span->name], 4711, 4712 + (int)span->track,
                    (double)span->ns / 1000, (double)span->dur_ns / 1000);
}

static int print_whole(const struct stream *s, const struct plumb_chrome_span *span, char *to,
                       size_t room)
{
    return snprintf(to, room,
                    "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                    "\"ts\":%llu.%03u,\"dur\":%llu.%03u},\n",
                    "cpu_op", s->name_texts[span->name], 4711, 4712 + (int)span->track,
                    (unsigned long long)span->ns / 1000, (unsigned)(span->ns % 1000),
                    (unsigned long long)span->dur_ns / 1000, (unsigned)(span->dur_ns % 1000));
}

static void print_spans(struct stream *s, uint64_t n,
                        int (*print)(const struct stream *s, const struct plumb_chrome_span *span,
                                     char *to, size_t room))
{
    for (uint64_t some; n > 0; n -= some) {
        const struct plumb_chrome_span *spans = next_spans(s, (some = n, &some));
        for (size_t i = 0; i < some; i++) {
            if (s->out.size - s->out.used < 512)
                s->out.used = 0;
            s->out.used += (size_t)print(s, &spans[i], (char *)s->out.base + s->out.used,
                                         s->out.size - s->out.used);
        }
    }
}

static void by_printf(void *arg, uint64_t n)
{
    print_spans(arg, n, print_span);
}

static void by_whole_printf(void *arg, uint64_t n)
{
    print_spans(arg, n, print_whole);
}

static void flush_gz(struct stream *s)
{
    s->packed.used = 0;
    if (!plumb_gz_flush(&s->gz, &s->packed))
        die("no room for compressed text");
    s->bytes += s->packed.used;
}

static void by_gz(void *arg, uint64_t n)
{
    struct stream *s = arg;
    for (uint64_t some; n > 0; n -= some) {
        const struct plumb_chrome_span *spans = next_spans(s, (some = n, &some));
        for (size_t done = 0; done < some;) {
            done += plumb_chrome_spans(&s->gz.in, s->names, s->tracks, spans + done, some - done);
            if (done < some)
                flush_gz(s);
        }
    }
}

static void flush_zlib(struct stream *s)
{
    s->z.next_in = s->out.base;
    s->z.avail_in = (uInt)s->out.used;
    while (s->z.avail_in > 0) {
        s->z.next_out = s->packed.base;
        s->z.avail_out = (uInt)s->packed.size;
        if (deflate(&s->z, Z_NO_FLUSH) != Z_OK)
            die("zlib failed");
        s->bytes += s->packed.size - s->z.avail_out;
    }
    s->out.used = 0;
}

static void by_zlib(void *arg, uint64_t n)
{
    struct stream *s = arg;
    for (uint64_t some; n > 0; n -= some) {
        const struct plumb_chrome_span *spans = next_spans(s, (some = n, &some));
        for (size_t done = 0; done < some;) {
            done += plumb_chrome_spans(&s->out, s->names, s->tracks, spans + done, some - done);
            if (done < some)
                flush_zlib(s);
        }
    }
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

static void check_lines(struct stream *s)
{
    char line[512];
    for (size_t i = 0; i < SPANS; i += 997) {
        int n = print_span(s, &s->spans[i], line, sizeof line);
        s->out.used = 0;
        plumb_chrome_spans(&s->out, s->names, s->tracks, &s->spans[i], 1);
        if (s->out.used != (size_t)n || memcmp(s->out.base, line, s->out.used) != 0)
            die("a line is not what printf() writes");
    }
}

/* Bytes of all spans, by one of the two. */
static double packed_bytes(struct stream *s, void (*pack)(void *arg, uint64_t n),
                           void (*flush)(struct stream *s))
{
    s->bytes = 0;
    s->at = 0;
    s->out.used = 0;
    pack(s, SPANS);
    flush(s);
    return (double)s->bytes;
}

static void open_zlib(struct stream *s)
{
    memset(&s->z, 0, sizeof s->z);
    if (deflateInit2(&s->z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        die("zlib failed");
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct stream s;
    bench_open(&b, "export", argc, argv);
    s.out = (struct plumb_out){s.buffer, sizeof s.buffer, 0};
    s.packed = (struct plumb_out){malloc(PLUMB_GZ_OUT), PLUMB_GZ_OUT, 0};
    if (!s.packed.base)
        die("out of memory");
    make_pieces(&s);
    make_spans(&s);
    check_lines(&s);
    plumb_gz_open(&s.gz);
    open_zlib(&s);
    double own = packed_bytes(&s, by_gz, flush_gz), other = packed_bytes(&s, by_zlib, flush_zlib);
    /* Without the few KiB of 6 MB that zlib still holds, which is in its favour. */
    bench_put(&b, "chrome_gz_bytes_per_span", own / SPANS);
    bench_put(&b, "chrome_gz_bytes_x_zlib", own / other);

    struct bench_cell cells[] = {
        {.name = "encoder", .run = write_spans, .arg = &s},
        {.name = "snprintf, %.3f", .run = by_printf, .arg = &s},
        {.name = "snprintf, whole numbers", .run = by_whole_printf, .arg = &s},
    };
    bench_interleave(&b, cells, 3, 8192, 100);
    bench_print_cells(cells, 3);
    bench_put_stat(&b, "chrome_x_snprintf", &cells[1].x);
    bench_put_stat(&b, "chrome_x_whole_snprintf", &cells[2].x);
    bench_put_stat(&b, "chrome_span_ns", &cells[0].ns);

    struct bench_cell packers[] = {
        {.name = "format, gz", .run = by_gz, .arg = &s},
        {.name = "format, zlib level 1", .run = by_zlib, .arg = &s},
    };
    /* A block holds several flushes of either. */
    bench_interleave(&b, packers, 2, 32 * 1024, 60);
    bench_print_cells(packers, 2);
    bench_put_stat(&b, "chrome_gz_x_zlib", &packers[1].x);
    bench_put_stat(&b, "chrome_gz_span_ns", &packers[0].ns);
    deflateEnd(&s.z);
    free(s.packed.base);
    return bench_close(&b);
}

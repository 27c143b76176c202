/* bench_trace.c: the trace file: how many bytes a span takes in it, and how much slower the writer
 * is than write() alone.
 *
 * The stream: 100 threads with 100 nodes, begins and ends 10 us apart on average (exponential, so
 * some gaps take a byte more than most), handed over as the writer gets them, 63 spans of a thread
 * at a time. Encoded into a buffer of 256 KiB and written when that is full, to a file below the
 * temporary folder. Against it, in turns: write() of the same bytes in the same pieces, from memory
 * where the whole file lies ready; and, harder, of one piece again and again, which never leaves
 * the cache. The file begins anew at 64 MiB, which hits too few blocks to move a median. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/perfetto.h"

enum {
    THREADS = 100,
    BATCH = 63,
    GAPS = 1 << 14,
    PIECE = 256 * 1024,
    FILE_MAX = 64 << 20,
    SPANS_A_THREAD = 20000,
};

struct stream {
    uint32_t gaps[GAPS]; /* ns */
    struct {
        struct plumb_pf_sequence seq;
        uint64_t bits[PLUMB_PF_INDEXES][2];
        uint64_t ns;
        uint32_t at, node; /* next gap; last name */
    } threads[THREADS];
    uint32_t thread;
    struct plumb_pf_out out;
    uint64_t bytes; /* so far */
    bool keep;      /* in `ready` too */
    bool to_file;
    unsigned char *ready;
    size_t ready_bytes, next;
    int fd;
    size_t file_bytes;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_trace: %s: %s\n", what, strerror(errno));
    exit(1);
}

static const char *node_name(void *arg, enum plumb_pf_index index, uint32_t id)
{
    static char name[16];
    (void)arg;
    (void)index;
    snprintf(name, sizeof name, "node.%02u", (unsigned)(id - 1));
    return name;
}

static const struct plumb_pf_texts texts = {node_name, NULL};

static void put_file(struct stream *s, const unsigned char *bytes, size_t n)
{
    if (s->file_bytes >= FILE_MAX) {
        if (ftruncate(s->fd, 0) != 0 || lseek(s->fd, 0, SEEK_SET) != 0)
            die("cannot begin the file anew");
        s->file_bytes = 0;
    }
    s->file_bytes += n;
    while (n > 0) {
        ssize_t written = write(s->fd, bytes, n);
        if (written < 0)
            die("cannot write the trace");
        bytes += written;
        n -= (size_t)written;
    }
}

static void flush(struct stream *s)
{
    s->bytes += s->out.used;
    if (s->keep && s->ready_bytes + s->out.used <= FILE_MAX) {
        memcpy(s->ready + s->ready_bytes, s->out.base, s->out.used);
        s->ready_bytes += s->out.used;
    }
    if (s->to_file)
        put_file(s, s->out.base, s->out.used);
    s->out.used = 0;
}

/* One span of the thread's stream; the run is a local of the caller. */
#define PUT(s, run, call)                                                                          \
    while (!(call)) {                                                                              \
        plumb_pf_run_close(&(run));                                                                \
        flush(s);                                                                                  \
        (run) = plumb_pf_run_open(&(s)->out, (run).seq);                                           \
    }

static void put_batch(struct stream *s, uint32_t thread, uint32_t spans)
{
    uint64_t ns = s->threads[thread].ns;
    uint32_t at = s->threads[thread].at, node = s->threads[thread].node;
    struct plumb_pf_run run = plumb_pf_run_open(&s->out, &s->threads[thread].seq);
    while (spans-- > 0) {
        node = node == BENCH_NODES ? 1 : node + 1;
        ns += s->gaps[at];
        PUT(s, run, plumb_pf_run_begin(&run, ns, node));
        ns += s->gaps[at + 1];
        PUT(s, run, plumb_pf_run_end(&run, ns));
        at = (at + 2) & (GAPS - 1);
    }
    plumb_pf_run_close(&run);
    s->threads[thread].ns = ns;
    s->threads[thread].at = at;
    s->threads[thread].node = node;
}

static void put_spans(struct stream *s, uint64_t n)
{
    while (n > 0) {
        uint32_t spans = n < BATCH ? (uint32_t)n : BATCH;
        put_batch(s, s->thread, spans);
        s->thread = s->thread == THREADS - 1 ? 0 : s->thread + 1;
        n -= spans;
    }
}

/* ---- Cells ---------------------------------------------------------------------------------- */

static void encode_and_write(void *arg, uint64_t n)
{
    struct stream *s = arg;
    s->to_file = true;
    put_spans(s, n);
    s->to_file = false;
}

static void encode(void *arg, uint64_t n)
{
    put_spans(arg, n);
}

/* The bytes of n spans. */
static void write_ready(void *arg, uint64_t n)
{
    struct stream *s = arg;
    for (size_t left = (size_t)(28.5 * (double)n); left > 0;) {
        size_t piece = left < PIECE ? left : PIECE;
        if (s->next + PIECE > s->ready_bytes)
            s->next = 0;
        put_file(s, s->ready + s->next, piece);
        s->next += piece;
        left -= piece;
    }
}

static void write_hot(void *arg, uint64_t n)
{
    struct stream *s = arg;
    for (size_t left = (size_t)(28.5 * (double)n); left > 0;) {
        size_t piece = left < PIECE ? left : PIECE;
        put_file(s, s->ready, piece);
        left -= piece;
    }
}

/* ---- The stream ----------------------------------------------------------------------------- */

static void make_gaps(struct stream *s)
{
    uint64_t random = 1;
    for (size_t i = 0; i < GAPS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double u = ((double)(random >> 11) + 0.5) / 9007199254740992.0;
        s->gaps[i] = (uint32_t)(-log(u) * 10000);
    }
}

static void open_stream(struct stream *s)
{
    const struct plumb_pf_anchor zero = {UINT64_C(86400000000000), UINT64_C(86400000000000),
                                         UINT64_C(1700000000000000000)};
    const char *const argv[] = {"bench_trace"};
    struct plumb_pf_head head = {.zero = zero,
                                 .process_track = plumb_pf_uuid(1, 0, 0, 0),
                                 .pid = 4711,
                                 .process_name = "bench_trace",
                                 .argv = argv,
                                 .argc = 1};
    if (!plumb_pf_head(&s->out, &head))
        die("no room for the head");
    for (uint32_t i = 0; i < THREADS; i++) {
        struct plumb_pf_sequence *seq = &s->threads[i].seq;
        struct plumb_pf_track track = {PLUMB_PF_THREAD,
                                       .uuid = plumb_pf_uuid(1, 1, i, 0),
                                       .parent = head.process_track,
                                       .name = "worker",
                                       .pid = 4711,
                                       .tid = 4712 + (int64_t)i};
        seq->id = i + 2;
        seq->texts = &texts;
        for (int k = 0; k < PLUMB_PF_INDEXES; k++)
            seq->told[k] = (struct plumb_pf_told){s->threads[i].bits[k], BENCH_NODES + 1};
        s->threads[i].at = i * 2 * BATCH & (GAPS - 1);
        s->threads[i].node = i % BENCH_NODES;
        if (!plumb_pf_track(&s->out, &track) ||
            !plumb_pf_sequence_open(&s->out, seq, track.uuid, &zero))
            die("no room for a thread");
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct stream s;
    char path[512];
    bench_open(&b, "trace", argc, argv);
    s.out = (struct plumb_pf_out){malloc(PIECE), PIECE, 0};
    s.ready = malloc(FILE_MAX);
    snprintf(path, sizeof path, "%s/bench-trace-%d.pftrace", b.tmp_path, (int)getpid());
    s.fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (s.fd < 0 || !s.out.base || !s.ready)
        die(path);
    unlink(path);
    make_gaps(&s);
    open_stream(&s);
    s.keep = true;
    put_spans(&s, (uint64_t)THREADS * SPANS_A_THREAD);
    flush(&s);
    s.keep = false;
    bench_put(&b, "pftrace_bytes_per_span", (double)s.bytes / ((double)THREADS * SPANS_A_THREAD));

    struct bench_cell cells[] = {
        {.name = "encode, write", .run = encode_and_write, .arg = &s},
        {.name = "write", .run = write_ready, .arg = &s},
        {.name = "write, in cache", .run = write_hot, .arg = &s},
        {.name = "encode", .run = encode, .arg = &s},
    };
    bench_interleave(&b, cells, 4, 4 * (uint64_t)(PIECE / 28), 400);
    bench_print_cells(cells, 4);
    bench_put_stat(&b, "writer_x_write", &cells[1].x);
    bench_put_stat(&b, "writer_x_hot_write", &cells[2].x);
    bench_put_stat(&b, "encode_span_ns", &cells[3].ns);
    close(s.fd);
    free(s.out.base);
    free(s.ready);
    return bench_close(&b);
}

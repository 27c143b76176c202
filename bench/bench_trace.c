/* bench_trace.c: the writer of a trace: how many bytes a span takes in its file, and how much
 * slower the writer is than write() alone.
 *
 * The writer is measured as it runs (plumb_trace_live_pass()): it finds the queues of a mapping,
 * decodes their slots, encodes packets, writes, and commits. The queues are those of 100 threads
 * with 100 nodes. Begins and ends are 10 us apart on average (exponential, so some gaps take a byte
 * more than most), and each pass finds 6 slots of 63 spans in each queue. The queues hold 5 MB,
 * more than an L2 cache, as do those of a process whose other processors fill them.
 *
 * Two floors are measured in turns with it. The first is write() of the same bytes in the same
 * pieces to the same file, from memory that holds the whole file. The second, which is harder to
 * reach, is write() of one piece again and again, which never leaves the cache. The file, below the
 * temporary folder, starts again at 64 MiB, which hits too few blocks to move a median. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"
#include "timeline/mapping.h"

enum {
    THREADS = 100,
    SLOTS = 32,
    SLOTS_A_PASS = 6,
    SPANS_A_SLOT = 63,
    SPANS_A_PASS = THREADS * SLOTS_A_PASS * SPANS_A_SLOT,
    FILE_MAX = 64 << 20,
    SPANS_A_THREAD = 20000,
    PIECES = 64,
    MAPPING = 32 << 20,
    NESTED = 4, /* spans open at once in the other stream */
};
#define NS_PER_TICK 0.4

struct stream {
    struct plumb_trace_live live;
    unsigned char *mapping;
    size_t used;
    struct {
        struct plumb_live_queue *queue;
        struct plumb_trace_slot *slots;
        uint64_t ticks[SLOTS]; /* that the slot's records take */
        uint64_t now;
    } threads[THREADS];
    uint64_t bytes; /* so far */
    bool keep;      /* in `ready` too */
    bool to_file;
    unsigned char *ready;
    size_t ready_bytes, next;
    size_t pieces[PIECES]; /* of the last pass */
    uint32_t piece_count;
    int fd;
    size_t file_bytes;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_trace: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void put_file(struct stream *s, const unsigned char *bytes, size_t n)
{
    if (s->file_bytes >= FILE_MAX) {
        if (ftruncate(s->fd, 0) != 0 || lseek(s->fd, 0, SEEK_SET) != 0)
            die("cannot begin the file again");
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

static bool take_bytes(void *arg, const unsigned char *bytes, size_t n)
{
    struct stream *s = arg;
    s->bytes += n;
    if (s->keep && s->ready_bytes + n <= FILE_MAX) {
        memcpy(s->ready + s->ready_bytes, bytes, n);
        s->ready_bytes += n;
    }
    if (s->to_file)
        put_file(s, bytes, n);
    if (s->piece_count < PIECES)
        s->pieces[s->piece_count++] = n;
    return true;
}

/* ---- The queues ------------------------------------------------------------------------------ */

static uint64_t carve(struct stream *s, size_t bytes)
{
    size_t off = (s->used + 127) & ~(size_t)127;
    s->used = off + bytes;
    if (s->used > MAPPING)
        die("the mapping is too small");
    return off;
}

static uint64_t carve_text(struct stream *s, const char *text)
{
    uint64_t off = carve(s, sizeof(struct plumb_live_text) + strlen(text) + 1);
    struct plumb_live_text *t = (struct plumb_live_text *)(void *)(s->mapping + off);
    t->bytes = (uint32_t)strlen(text);
    memcpy(t + 1, text, t->bytes + 1);
    return off;
}

/* Nodes 1 to 100. */
static void make_nodes(struct stream *s)
{
    struct plumb_live_table *t = &s->live.file.source.h->nodes;
    t->element_bytes = sizeof(struct plumb_live_node);
    for (uint32_t i = 0; i <= BENCH_NODES; i++) {
        uint32_t at, chunk = plumb_table_chunk(i, &at);
        char name[16];
        if (!t->chunk_off[chunk])
            t->chunk_off[chunk] = carve(s, ((size_t)64 << chunk) * t->element_bytes);
        snprintf(name, sizeof name, "node.%02u", (unsigned)i % 100);
        ((struct plumb_live_node *)(void *)(s->mapping + plumb_table_off(t, i)))->name_off =
            carve_text(s, name);
        t->count = i + 1;
    }
}

static uint64_t next_gap(uint64_t *random)
{
    double u;
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    u = ((double)(*random >> 11) + 0.5) / 9007199254740992.0;
    return (uint64_t)(-log(u) * 10000 / NS_PER_TICK);
}

/* Spans side by side, or NESTED of them in each other. */
static uint64_t fill_words(uint64_t *words, uint32_t *node, uint32_t depth, uint64_t *random)
{
    uint32_t open = 0, n = 0;
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < 2 * SPANS_A_SLOT; i++) {
        bool begin = open == 0 || (n % depth != 0 && n < SPANS_A_SLOT);
        ticks += next_gap(random);
        *node = begin ? *node % BENCH_NODES + 1 : *node;
        words[i] = ticks << (64 - PLUMB_TICK_BITS) |
                   (begin ? (uint64_t)*node << 2 | PLUMB_REC_BEGIN : PLUMB_REC_END);
        open += begin ? 1u : (uint32_t)-1;
        n += begin;
    }
    return ticks + next_gap(random);
}

static void make_thread(struct stream *s, uint32_t i, uint32_t depth, uint64_t *random)
{
    uint64_t off = carve(s, sizeof(struct plumb_live_thread));
    struct plumb_live_header *h = s->live.file.source.h;
    struct plumb_live_thread *live = (struct plumb_live_thread *)(void *)(s->mapping + off);
    struct plumb_live_queue *q;
    struct plumb_trace_slot *slots;
    uint32_t node = i;
    live->next_off = h->thread_off;
    h->thread_off = off;
    live->queue_off = carve(s, sizeof *q);
    q = (struct plumb_live_queue *)(void *)(s->mapping + live->queue_off);
    q->slots = SLOTS;
    q->slots_off = carve(s, SLOTS * sizeof *slots);
    slots = (struct plumb_trace_slot *)(void *)(s->mapping + q->slots_off);
    for (uint32_t k = 0; k < SLOTS; k++) {
        slots[k].tid = 4712 + i;
        slots[k].generation = 1;
        slots[k].step = -1;
        slots[k].kind = PLUMB_SLOT_BLOCK;
        slots[k].words = PLUMB_BLOCK_WORDS;
        strcpy(slots[k].name, "worker");
        s->threads[i].ticks[k] = fill_words(&slots[k].data[PLUMB_BLOCK_HEAD], &node, depth, random);
    }
    s->threads[i].queue = q;
    s->threads[i].slots = slots;
}

static void open_stream(struct stream *s, uint32_t depth)
{
    struct plumb_trace_file *f = &s->live.file;
    uint64_t random = 1;
    s->mapping = plumb_pages_map(MAPPING);
    s->ready = malloc(FILE_MAX);
    f->out = (struct plumb_pf_out){plumb_pages_map(PLUMB_TRACE_BUFFER), PLUMB_TRACE_BUFFER, 0};
    if (!s->mapping || !s->ready || !f->out.base)
        die("no memory");
    f->source = plumb_live_view_of(s->mapping, MAPPING);
    f->source.h = (struct plumb_live_header *)(void *)(s->mapping + carve(s, sizeof *f->source.h));
    f->source.h->pid = 4711;
    f->source.h->trace.zero_boottime_ns = f->source.h->trace.zero_monotonic_ns = 86400000000000;
    f->source.h->trace.zero_realtime_ns = UINT64_C(1700000000000000000);
    f->source.h->fact_off[PLUMB_FACT_PROGRAM] = carve_text(s, "bench_trace");
    f->write = take_bytes;
    f->arg = s;
    s->live.commits = true;
    make_nodes(s);
    for (uint32_t i = 0; i < THREADS; i++)
        make_thread(s, i, depth, &random);
    if (plumb_trace_live_open(&s->live, false) < 0)
        die("cannot open the writer");
    f->clock.ns_per_tick = (uint64_t)(NS_PER_TICK * 4294967296.0);
    plumb_trace_file_head(f);
}

/* Fills the queues as their threads would. Only the times are new; the records already lie
 * there. */
static void fill_queues(void *arg)
{
    struct stream *s = arg;
    for (uint32_t i = 0; i < THREADS; i++) {
        struct plumb_live_queue *q = s->threads[i].queue;
        for (uint32_t k = 0; k < SLOTS_A_PASS; k++) {
            uint32_t at = (uint32_t)q->put & (SLOTS - 1);
            struct plumb_trace_slot *slot = &s->threads[i].slots[at];
            slot->data[0] = s->threads[i].now;
            slot->block = slot->number = ++q->put;
            s->threads[i].now += s->threads[i].ticks[at];
        }
    }
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void encode(void *arg, uint64_t n)
{
    struct stream *s = arg;
    (void)n;
    s->piece_count = 0;
    plumb_trace_live_pass(&s->live);
}

static void encode_and_write(void *arg, uint64_t n)
{
    struct stream *s = arg;
    s->to_file = true;
    encode(s, n);
    s->to_file = false;
}

/* The bytes of a pass. */
static void write_ready(void *arg, uint64_t n)
{
    struct stream *s = arg;
    (void)n;
    for (uint32_t i = 0; i < s->piece_count; i++) {
        if (s->next + s->pieces[i] > s->ready_bytes)
            s->next = 0;
        put_file(s, s->ready + s->next, s->pieces[i]);
        s->next += s->pieces[i];
    }
}

static void write_hot(void *arg, uint64_t n)
{
    struct stream *s = arg;
    (void)n;
    for (uint32_t i = 0; i < s->piece_count; i++)
        put_file(s, s->ready, s->pieces[i]);
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct stream s, nested;
    uint64_t spans = 0;
    char path[512];
    bench_open(&b, "trace", argc, argv);
    snprintf(path, sizeof path, "%s/bench-trace-%d.pftrace", b.tmp_path, (int)getpid());
    s.fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (s.fd < 0)
        die(path);
    unlink(path);
    open_stream(&s, 1);
    open_stream(&nested, NESTED);
    s.keep = true;
    for (; spans < (uint64_t)THREADS * SPANS_A_THREAD; spans += SPANS_A_PASS) {
        fill_queues(&s);
        encode(&s, SPANS_A_PASS);
    }
    s.keep = false;
    bench_put(&b, "pftrace_bytes_per_span", (double)s.bytes / (double)spans);

    struct bench_cell cells[] = {
        {.name = "queues to file", .run = encode_and_write, .prepare = fill_queues, .arg = &s},
        {.name = "write", .run = write_ready, .arg = &s},
        {.name = "write, in cache", .run = write_hot, .arg = &s},
        {.name = "queues to memory", .run = encode, .prepare = fill_queues, .arg = &s},
        {.name = "the same, nested", .run = encode, .prepare = fill_queues, .arg = &nested},
    };
    bench_interleave(&b, cells, 5, SPANS_A_PASS, 400);
    bench_print_cells(cells, 5);
    bench_put_stat(&b, "writer_x_write", &cells[1].x);
    bench_put_stat(&b, "writer_x_hot_write", &cells[2].x);
    bench_put_stat(&b, "encode_span_ns", &cells[3].ns);
    bench_put_stat(&b, "encode_nested_span_ns", &cells[4].ns);
    close(s.fd);
    return bench_close(&b);
}

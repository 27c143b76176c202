/* bench_read.c: how fast a trace file becomes tables, and how much memory that takes.
 *
 * The file is a short form of the stream of bench_trace.c: 100 threads with 100 nodes, begins and
 * ends 10 us apart on average, 63 spans of a thread at a time. The floor, measured in turns with
 * it, is a copy of the file out of the page cache, which no reader can avoid. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "codec/perfetto.h"
#include "read/trace/perfetto.h"

enum { THREADS = 100, BATCH = 63, ROUNDS = 300, PIECE = 1 << 20 };

struct thread {
    struct plumb_pf_sequence seq;
    uint64_t bits[PLUMB_PF_INDEXES][2];
    uint64_t ns;
    uint32_t node;
};

struct input {
    char path[512];
    uint64_t bytes, spans;
    uint64_t rss_kb; /* what the first reading needed at most */
};

static void die(const char *what)
{
    fprintf(stderr, "bench_read: %s: %s\n", what, strerror(errno));
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

/* ---- The file ------------------------------------------------------------------------------- */

static void flush(struct plumb_pf_out *out, FILE *file)
{
    if (fwrite(out->base, 1, out->used, file) != out->used)
        die("cannot write the trace");
    out->used = 0;
}

static uint64_t gap(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint64_t)(-log(((double)(*random >> 11) + 0.5) / 9007199254740992.0) * 10000);
}

static void put_batch(struct plumb_pf_out *out, struct thread *t, uint64_t *random)
{
    for (int i = 0; i < BATCH; i++) {
        t->node = t->node == BENCH_NODES ? 1 : t->node + 1;
        t->ns += gap(random);
        bool done = plumb_pf_begin(out, &t->seq, t->ns, t->node);
        t->ns += gap(random);
        if (!done || !plumb_pf_end(out, &t->seq, t->ns))
            die("no room for a span");
    }
}

static void open_threads(struct plumb_pf_out *out, struct thread *threads)
{
    const struct plumb_pf_anchor zero = {1000, 1000, UINT64_C(1700000000000000000)};
    const struct plumb_pf_head head = {.zero = zero, .process_track = 1, .pid = 4711};
    bool done = plumb_pf_head(out, &head);
    for (uint32_t i = 0; i < THREADS; i++) {
        struct plumb_pf_track track = {PLUMB_PF_THREAD, .uuid = plumb_pf_uuid(1, 1, i, 0),
                                       .parent = 1,     .pid = 4711,
                                       .tid = 4712 + i, .name = "worker"};
        threads[i].seq = (struct plumb_pf_sequence){.id = i + 2, .texts = &texts};
        for (int k = 0; k < PLUMB_PF_INDEXES; k++)
            threads[i].seq.told[k] = (struct plumb_pf_told){threads[i].bits[k], BENCH_NODES + 1};
        done = done && plumb_pf_track(out, &track) &&
               plumb_pf_sequence_open(out, &threads[i].seq, track.uuid, &zero);
    }
    if (!done)
        die("no room for the head");
}

static void make_file(struct input *in)
{
    static struct thread threads[THREADS];
    struct plumb_pf_out out = {malloc(PIECE), PIECE, 0};
    uint64_t random = 1;
    FILE *file = fopen(in->path, "wb");
    if (!file || !out.base)
        die(in->path);
    open_threads(&out, threads);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < THREADS; i++) {
            if (PIECE - out.used < PIECE / 2)
                flush(&out, file);
            put_batch(&out, &threads[i], &random);
        }
    flush(&out, file);
    in->bytes = (uint64_t)ftell(file);
    in->spans = (uint64_t)ROUNDS * THREADS * BATCH;
    if (fclose(file) != 0)
        die(in->path);
    free(out.base);
}

/* ---- Cells ---------------------------------------------------------------------------------- */

static uint64_t most_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss;
}

/* `n` times; each reading has its own table. */
static void read_trace(void *arg, uint64_t n)
{
    struct input *in = arg;
    while (n-- > 0) {
        struct plumb_table t;
        plumb_error err;
        uint64_t before_kb = bench_rss_kb();
        if (plumb_perfetto_read(&t, in->path, &err) < 0) {
            fprintf(stderr, "bench_read: %s\n", err.message);
            exit(1);
        }
        if (t.slices.count != in->spans || t.open + t.faults.damaged + t.faults.lone_ends > 0)
            die("the trace was not read as it was written");
        if (in->rss_kb == 0)
            in->rss_kb = most_kb() - before_kb;
        plumb_table_fini(&t);
    }
}

static void copy_file(void *arg, uint64_t n)
{
    static char piece[PIECE];
    const struct input *in = arg;
    while (n-- > 0) {
        ssize_t got;
        int fd = open(in->path, O_RDONLY);
        while ((got = read(fd, piece, sizeof piece)) > 0)
            ;
        if (got < 0)
            die(in->path);
        close(fd);
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct input in;
    bench_open(&b, "read", argc, argv);
    snprintf(in.path, sizeof in.path, "%s/bench-read-%d.pftrace", b.tmp_path, (int)getpid());
    make_file(&in);
    struct bench_cell cells[] = {
        {.name = "read a trace", .run = read_trace, .arg = &in},
        {.name = "copy its file", .run = copy_file, .arg = &in},
    };
    bench_interleave(&b, cells, 2, 1, 15);
    unlink(in.path);
    bench_print_cells(cells, 2);
    bench_put(&b, "perfetto_read_mb_s", (double)in.bytes / 1e6 / (cells[0].ns.median / 1e9));
    bench_put(&b, "perfetto_read_span_ns", cells[0].ns.median / (double)in.spans);
    bench_put(&b, "perfetto_read_rss_x_file", (double)in.rss_kb * 1024 / (double)in.bytes);
    return bench_close(&b);
}

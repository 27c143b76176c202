/* bench_snapshot.c: what a live summary costs, and what it does to the threads that go on
 * recording.
 *
 * Idle: two threads have run a hundred nodes each and wait; a summary is taken again and again, CPU
 * time. Hot: one thread records without a pause while another takes summaries. There the wall time
 * of a call counts, because waiting for the writer would be the failure to be found; calls during
 * which the system switched the reader away are left out (they say what else the machine does), and
 * reported. */
#include "harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, IDLE_CALLS = 400, HOT_CALLS = 3000, SPANS_A_NODE = 500 };

static void die(const char *what)
{
    fprintf(stderr, "bench_snapshot: %s\n", what);
    exit(1);
}

/* Returns the number of rows. On failure it returns 0, and `*why` has the reason unless it is
 * NULL. */
static size_t summary(plumb_error *why)
{
    plumb_rows *rows = NULL;
    size_t n;
    if (plumb_summary_rows(&rows, NULL, NULL, why) < 0)
        return 0;
    n = plumb_rows_count(rows);
    plumb_rows_free(rows);
    return n;
}

/* ---- Idle writers
 * -------------------------------------------------------------------------------------- */

struct idle {
    pthread_barrier_t *recorded, *done;
    uint64_t seed;
    double tick_ns;
};

/* Spans of 0.1 to about 10 us, spread as durations are: over several octaves. */
static void record_spread(struct idle *w)
{
    uint64_t x = w->seed;
    for (uint32_t i = 0; i < BENCH_NODES * SPANS_A_NODE; i++) {
        plumb_span s = plumb_begin(&bench_points[i % BENCH_NODES]);
        uint64_t from = bench_ticks(), ticks;
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ticks = (uint64_t)((double)(100u << (x >> 61)) * (1 + (double)(x >> 40 & 1023) / 1024) /
                           w->tick_ns);
        while (bench_ticks() - from < ticks)
            continue;
        plumb_end(s);
    }
}

static void *idle_main(void *arg)
{
    struct idle *w = arg;
    record_spread(w);
    pthread_barrier_wait(w->recorded);
    pthread_barrier_wait(w->done);
    return NULL;
}

static void idle_writers(struct bench *b)
{
    static double ns[IDLE_CALLS];
    size_t n = b->quick ? IDLE_CALLS / 8 : IDLE_CALLS;
    pthread_barrier_t recorded, done;
    pthread_t thread[THREADS];
    struct idle w[THREADS];
    struct bench_stat s;
    pthread_barrier_init(&recorded, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct idle){&recorded, &done, (uint64_t)i + 1, bench_tick_ns()};
        if (pthread_create(&thread[i], NULL, idle_main, &w[i]) != 0)
            die("cannot make a thread");
    }
    pthread_barrier_wait(&recorded);
    if (summary(NULL) != BENCH_NODES)
        die("the summary does not have a row a node");
    for (size_t i = 0; i < n; i++) {
        uint64_t from = bench_cpu_ns();
        summary(NULL);
        ns[i] = (double)(bench_cpu_ns() - from) / (BENCH_NODES * THREADS);
    }
    s = bench_stat_of(ns, n);
    bench_put_stat(b, "snapshot_idle_ns", &s);
    pthread_barrier_wait(&done);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&recorded);
    pthread_barrier_destroy(&done);
}

/* ---- A hot writer
 * ----------------------------------------------------------------------------------------- */

struct hot {
    atomic_int stop;
    atomic_int warm; /* every node has been met and folded: meeting one takes a lock, once */
    int cpu;
};

static void *writer_main(void *arg)
{
    struct hot *h = arg;
    bench_pin(h->cpu);
    bench_spans_over_nodes(NULL, 100000);
    atomic_store(&h->warm, 1);
    while (!atomic_load_explicit(&h->stop, memory_order_relaxed))
        bench_spans_over_nodes(NULL, 1000);
    return NULL;
}

static long switches(void)
{
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return u.ru_nivcsw;
}

static void sleep_ns(long ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

/* Returns the calls that failed. */
static uint64_t hot_reader(struct bench *b, plumb_error *why)
{
    static double calm[HOT_CALLS], all[HOT_CALLS];
    size_t n = b->quick ? HOT_CALLS / 8 : HOT_CALLS, kept = 0;
    uint64_t failed = 0;
    struct bench_stat s;
    summary(NULL);
    for (size_t i = 0; i < n; i++) {
        long before = switches();
        uint64_t from = plumb_now_ns();
        if (summary(why) == 0)
            failed++;
        all[i] = (double)(plumb_now_ns() - from) * 1e-3;
        if (switches() == before)
            calm[kept++] = all[i];
        sleep_ns(100000);
    }
    s = bench_stat_of(calm, kept);
    bench_put_stat(b, "snapshot_hot_us", &s);
    bench_put(b, "snapshot_hot_p99_us", bench_quantile(calm, kept, 0.99));
    bench_put(b, "snapshot_hot_max_us", s.max);
    bench_stat_of(all, n);
    bench_put(b, "snapshot_hot_all_p99_us", bench_quantile(all, n, 0.99));
    bench_put(b, "snapshot_hot_left_out", (double)(n - kept));
    return failed;
}

/* Takes a summary every `pause_ns`, or without a pause if that is 0, while the writer is
 * measured. */
struct reader {
    atomic_int stop;
    int cpu;
    long pause_ns;
    uint64_t calls, failed;
    plumb_error *why;
};

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    bench_pin(r->cpu);
    while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
        if (summary(r->why) == 0)
            r->failed++;
        r->calls++;
        if (r->pause_ns)
            sleep_ns(r->pause_ns);
    }
    return NULL;
}

/* Returns the number of calls that failed. A block lasts for some ten summaries, at a thousand a
 * second. */
static uint64_t hot_writer(struct bench *b, int other, long pause_ns, const char *key,
                           plumb_error *why)
{
    struct bench_cell c[2] = {
        {.name = "two rdtsc", .run = bench_floor},
        {.name = "span, 100 nodes, while read", .run = bench_spans_over_nodes}};
    struct reader r = {.cpu = other, .pause_ns = pause_ns, .why = why};
    pthread_t thread;
    bench_spans_over_nodes(NULL, 100000); /* meet every node before the first summary */
    if (pthread_create(&thread, NULL, reader_main, &r) != 0)
        die("cannot make a thread");
    bench_interleave(b, c, 2, 400000, 80);
    atomic_store(&r.stop, 1);
    pthread_join(thread, NULL);
    bench_print_cells(c, 2);
    printf("  %llu summaries in the meantime\n", (unsigned long long)r.calls);
    bench_put_stat(b, key, &c[1].x);
    return r.failed;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct hot h = {0};
    pthread_t writer;
    plumb_error why = {0, ""};
    uint64_t failed;
    int other;
    bench_open(&b, "snapshot", argc, argv);
    bench_record_start(&b, false);
    idle_writers(&b);
    bench_record_stop(&b);

    other = bench_other_cpu(b.cpu);
    if (other < 0) {
        const char *alone = "this process may use one processor only";
        bench_put_null(&b, "snapshot_hot_p99_us", alone);
        bench_put_null(&b, "snapshot_hot_writer_x_floor", alone);
        return bench_close(&b);
    }
    bench_record_start(&b, false);
    h.cpu = other;
    if (pthread_create(&writer, NULL, writer_main, &h) != 0)
        die("cannot make a thread");
    while (!atomic_load(&h.warm))
        sleep_ns(1000000);
    failed = hot_reader(&b, &why);
    atomic_store(&h.stop, 1);
    pthread_join(writer, NULL);
    failed += hot_writer(&b, other, 1000000, "snapshot_hot_writer_x_floor", &why);
    failed += hot_writer(&b, other, 0, "snapshot_storm_writer_x_floor", &why);
    bench_put(&b, "snapshot_failed", (double)failed);
    bench_put_text(&b, "snapshot_failed_why", failed ? why.message : "none did");
    bench_record_stop(&b);
    return bench_close(&b);
}

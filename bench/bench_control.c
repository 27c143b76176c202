/* bench_control.c: what control from outside costs a process.
 *
 * Idle: spans of a tight loop while the process can be controlled and is not, against the same
 * loop while it cannot. Replies: a front end in a process of its own asks for the state and the
 * summary of 100 nodes in turns, while a thread of the host records without a pause; wall time of a
 * call, because waiting is what would be wrong. */
#include "harness.h"

#include <plumb/control.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A call each few milliseconds: more would measure the bound on processor time. */
enum { CALLS = 800, PAUSE_NS = 4000000 };

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_control: %s: %s\n", what, why);
    exit(1);
}

/* ---- Idle ------------------------------------------------------------------------------------ */

static void spans(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(&bench_points[0]);
        bench_barrier();
        plumb_end(s);
    }
}

static void open_control(void *unused)
{
    plumb_error err = {0, ""};
    (void)unused;
    if (plumb_control_open(&err) < 0)
        die("cannot be controlled", err.message);
}

static void close_control(void *unused)
{
    (void)unused;
    plumb_control_close();
}

static void idle(struct bench *b)
{
    struct bench_cell cells[2] = {
        {.name = "span, no control", .run = spans, .prepare = close_control},
        {.name = "span, control open and idle", .run = spans, .prepare = open_control}};
    bench_interleave(b, cells, 2, 20000, 400);
    bench_print_cells(cells, 2);
    bench_put(b, "control_idle_ns_per_span", cells[1].ns.median - cells[0].ns.median);
    bench_put_stat(b, "control_idle_x_closed", &cells[1].x);
}

/* ---- Replies --------------------------------------------------------------------------------- */

static atomic_int stop;

/* The harness has pinned this process and raised its priority, which plumb's threads do not have.
 * */
static void be_usual(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    setpriority(PRIO_PROCESS, 0, 0);
}

static void *writer_main(void *unused)
{
    (void)unused;
    be_usual();
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        bench_spans_over_nodes(NULL, 1000);
    return NULL;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The front end: writes the time of each call, ms, to `to`. */
static int ask(pid_t host, int to, size_t calls)
{
    static const struct timespec pause = {0, PAUSE_NS};
    static double ms[CALLS];
    plumb_control *c = NULL;
    plumb_control_rows *rows;
    const plumb_process *p;
    plumb_error err = {0, ""};
    char who[16];
    be_usual();
    snprintf(who, sizeof who, "%d", (int)host);
    if (plumb_control_connect(&c, who, 0, &err) < 0)
        die("cannot connect", err.message);
    for (size_t i = 0; i < calls; i++) {
        double from = now_ms();
        int rc = i % 2 ? plumb_control_summary(&rows, c, NULL, NULL, &err)
                       : plumb_control_status(&p, c, &err);
        if (rc < 0)
            die("a call failed", err.message);
        if (i % 2)
            plumb_control_rows_free(rows);
        ms[i] = now_ms() - from;
        nanosleep(&pause, NULL);
    }
    plumb_control_disconnect(c);
    return write(to, ms, calls * sizeof *ms) == (ssize_t)(calls * sizeof *ms) ? 0 : 1;
}

static void read_all(int fd, void *out, size_t n)
{
    char *p = out;
    while (n > 0) {
        ssize_t got = read(fd, p, n);
        if (got <= 0)
            die("the front end", "ended early");
        p += got;
        n -= (size_t)got;
    }
}

static void replies(struct bench *b)
{
    static double ms[CALLS];
    size_t calls = b->quick ? CALLS / 8 : CALLS;
    pid_t host = getpid(), child;
    pthread_t writer;
    int ends[2], status;
    if (pipe(ends) < 0 || (child = fork()) < 0)
        die("cannot fork", "");
    if (child == 0)
        _exit(ask(host, ends[1], calls));
    close(ends[1]);
    if (pthread_create(&writer, NULL, writer_main, NULL) != 0)
        die("cannot make a thread", "");
    read_all(ends[0], ms, calls * sizeof *ms);
    close(ends[0]);
    atomic_store(&stop, 1);
    pthread_join(writer, NULL);
    waitpid(child, &status, 0);
    bench_stat_of(ms, calls); /* sorts them */
    bench_put(b, "control_reply_p50_ms", bench_quantile(ms, calls, 0.5));
    bench_put(b, "control_reply_p99_ms", bench_quantile(ms, calls, 0.99));
    bench_put(b, "control_reply_max_ms", ms[calls - 1]);
}

int main(int argc, char **argv)
{
    static struct bench b;
    bench_open(&b, "control", argc, argv);
    bench_record_start(&b, false);
    idle(&b);
    open_control(NULL);
    replies(&b);
    close_control(NULL);
    bench_record_stop(&b);
    return bench_close(&b);
}

/* bench_traced.c: what a span costs while its run is traced: in ring mode, where every record fits,
 * and at the bound of the file, where every block is lost and counted. Also what call stacks add to
 * it, and how large a bounded file becomes over very many spans. bench_trace.c has the writer. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

PLUMB_POINT(tight, "tight");

enum { FLOOR, SPAN, NODES, CELLS, SAMPLES = 1 << 20, LEVELS = 24 };

static void spans(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(&tight);
        bench_barrier();
        plumb_end(s);
    }
}

static void traced(struct bench *b, const char *mode, const char *max)
{
    setenv("PLUMB_TRACE", "1", 1);
    setenv("PLUMB_TRACE_MODE", mode, 1);
    setenv("PLUMB_TRACE_MAX", max, 1);
    bench_record_start(b, false);
}

static void with_room(struct bench *b)
{
    struct bench_cell cells[CELLS] = {
        [FLOOR] = {.name = "two rdtsc", .run = bench_floor},
        [SPAN] = {.name = "span, traced", .run = spans},
        [NODES] = {.name = "span, traced, 100 nodes in turn", .run = bench_spans_over_nodes},
    };
    traced(b, "ring", "64M");
    bench_interleave(b, cells, CELLS, 20000, 800);
    bench_print_cells(cells, CELLS);
    bench_put_stat(b, "trace_x_floor", &cells[SPAN].x);
    bench_put_stat(b, "trace_100_nodes_x_floor", &cells[NODES].x);
    bench_record_stop(b);
}

/* The same with the call stack of each begin: `depth` return addresses of a chain of LEVELS calls.
 * 0: without stacks. */
static double with_stacks(struct bench *b, const char *depth, double *floor_ns)
{
    uint32_t levels = LEVELS;
    struct bench_cell cells[] = {
        {.name = "two rdtsc", .run = bench_floor},
        {.name = "span with its stack", .run = bench_spans_below, .arg = &levels},
    };
    setenv("PLUMB_TRACE_STACK", depth[0] == '0' ? "0" : "1", 1);
    setenv("PLUMB_TRACE_STACK_DEPTH", depth[0] == '0' ? "1" : depth, 1);
    traced(b, "ring", "64M");
    bench_interleave(b, cells, 2, 20000, 200);
    bench_record_stop(b);
    unsetenv("PLUMB_TRACE_STACK");
    unsetenv("PLUMB_TRACE_STACK_DEPTH");
    *floor_ns = cells[0].ns.median;
    return cells[1].x.median;
}

static void stacks(struct bench *b)
{
    static const char *const depths[] = {"1", "8", "16"};
    double floor_ns, none = with_stacks(b, "0", &floor_ns);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        char key[48];
        double x = with_stacks(b, depths[i], &floor_ns);
        snprintf(key, sizeof key, "trace_stack_%s_ns", depths[i]);
        bench_put(b, key, (x - none) * floor_ns);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Wall time of single spans, fold and count of losses included. */
static void starved(struct bench *b)
{
    double *ns = malloc(SAMPLES * sizeof *ns), tick_ns = bench_tick_ns();
    if (!ns)
        return;
    traced(b, "stop", "64K");
    spans(NULL, 10000000); /* far beyond the bound */
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t begin = bench_ticks();
        plumb_span s = plumb_begin(&tight);
        bench_barrier();
        plumb_end(s);
        ns[i] = (double)(bench_ticks() - begin) * tick_ns;
    }
    bench_record_stop(b);
    qsort(ns, SAMPLES, sizeof *ns, by_size);
    bench_put(b, "trace_p999_ns", bench_quantile(ns, SAMPLES, 0.999));
    free(ns);
}

static void capped(struct bench *b)
{
    plumb_options o = plumb_options_default();
    char dir[600], path[700];
    struct stat st;
    uint64_t n = b->quick ? 5000000 : 100000000, before;
    snprintf(dir, sizeof dir, "%s/capped-%ld", b->tmp_path, (long)getpid());
    setenv("PLUMB_TRACE_MAX", "64M", 1);
    o.run_dir = dir;
    o.quiet = PLUMB_ON;
    if (plumb_start(&o, NULL) < 0)
        return;
    bench_spans_over_nodes(NULL, 100000);
    before = bench_rss_kb();
    bench_spans_over_nodes(NULL, n - 100000);
    bench_put(b, "capped_rss_growth_kb", (double)bench_rss_kb() - (double)before);
    plumb_stop(NULL);
    snprintf(path, sizeof path, "%s/trace.pftrace", dir);
    if (stat(path, &st) == 0)
        bench_put(b, "capped_file_bytes", (double)st.st_size);
    else
        bench_put_null(b, "capped_file_bytes", "there is no trace file");
    static const char *const names[] = {"trace.pftrace", "timing.json", "summary_rank0.json",
                                        "summary_rank0.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

int main(int argc, char **argv)
{
    static struct bench b;
    bench_open(&b, "traced", argc, argv);
    with_room(&b);
    stacks(&b);
    starved(&b);
    capped(&b);
    return bench_close(&b);
}

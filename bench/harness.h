/* harness.h: how every figure of this folder is taken.
 *
 * A cell is one loop. Cells that are to be compared run in one process, on one pinned thread, in
 * short blocks that take turns: floor, library, floor, library, ... many hundred times. So a change
 * of the core clock, a neighbour's job or a warm-up hits all of them alike. A block's value is
 * thread CPU time per operation: being preempted costs nothing. A cell's figure is the median of
 * its blocks; the ratio of two cells is the median of the ratios of blocks of one round, because
 * the medians of both may lie at different core clocks; quartiles show how far to trust it.
 *
 * The floor is what no tool can go below that times a piece of work by itself: two reads of the
 * processor's time stamp counter.
 *
 * Every program takes the same options (bench_open) and leaves its keys in one flat JSON object. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <plumb/plumb.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { BENCH_ROUNDS_MAX = 4000, BENCH_KEYS_MAX = 128, BENCH_NODES = 100 };

static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return plumb_now_ns();
#endif
}

/* The body of a span in the tight loops. It costs nothing, and the compiler moves no work across
 * it. */
static inline void bench_barrier(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

struct bench_stat {
    double median, q1, q3, min, max;
    size_t samples;
};

struct bench_cell {
    const char *name;
    void (*run)(void *arg, uint64_t n); /* does the operation n times */
    void (*prepare)(void *arg);         /* before each block, not measured; NULL: nothing */
    void *arg;
    /* results, ns per operation */
    struct bench_stat ns;
    struct bench_stat x; /* times the first cell's block of the same round */
};

struct bench_key {
    char name[48];
    char value[256]; /* JSON */
};

struct bench {
    const char *name;
    const char *json_path; /* NULL: only print */
    const char *tmp_path;  /* where run directories go */
    bool quick;            /* fewer blocks, for a first look */
    int cpu;               /* pinned to */
    int nice;
    char run_dir[512]; /* of the open recording */
    struct bench_key keys[BENCH_KEYS_MAX];
    size_t key_count;
};

/* Options: --json FILE, --tmp DIR, --cpu N, --quick. Pins the thread, raises its priority when
 * permitted. Ends the program on a wrong command line. */
void bench_open(struct bench *b, const char *name, int argc, char **argv);
/* Writes the JSON file; the exit status of the program. */
int bench_close(struct bench *b);

/* A figure: kept for the JSON object, and printed. */
void bench_put(struct bench *b, const char *key, double value);
void bench_put_text(struct bench *b, const char *key, const char *text);
/* No figure, and why: the key is null, "<key>_reason" says it. */
void bench_put_null(struct bench *b, const char *key, const char *reason);
/* <key>, <key>_q1 and <key>_q3. */
void bench_put_stat(struct bench *b, const char *key, const struct bench_stat *s);

/* Runs the cells in turns: `rounds` blocks of `n` operations each, after a warm-up. */
void bench_interleave(struct bench *b, struct bench_cell *cells, size_t count, uint64_t n,
                      size_t rounds);
/* The same on two threads at once, each on its own processor; blocks of both count. Returns false
 * when this process has only one processor. */
bool bench_interleave_two(struct bench *b, struct bench_cell *cells, size_t count, uint64_t n,
                          size_t rounds);
void bench_print_cells(const struct bench_cell *cells, size_t count);

/* Opens a recording with everything on, into a directory of its own below the temporary one;
 * removes it again. End the program when it fails: there is nothing to measure then. */
void bench_record_start(struct bench *b, bool median_p2);
void bench_record_stop(struct bench *b);

/* Runs the program again with the library next to libplumb.so in LD_PRELOAD. Returns if that cannot
 * be done, or has been. Call it before bench_open(). */
void bench_start_again_with(const char *library, char **argv);

struct bench_stat bench_stat_of(double *samples, size_t n); /* sorts them */
double bench_quantile(const double *sorted, size_t n, double q);
uint64_t bench_cpu_ns(void); /* of this thread */
double bench_tick_ns(void);  /* ns a tick, measured over 50 ms */
uint64_t bench_rss_kb(void);
bool bench_pin(int cpu);
int bench_other_cpu(int cpu); /* -1: none */

/* The floor: two reads of the clock, n times. */
void bench_floor(void *unused, uint64_t n);
/* One trace point a node, "node.00" to "node.99". */
extern struct plumb_point bench_points[BENCH_NODES];
/* Spans over the hundred nodes in turn. */
void bench_spans_over_nodes(void *unused, uint64_t n);
/* Spans of one node below a chain of `levels` (uint32_t) calls with frame pointers
 * (stack_loops.c). */
void bench_spans_below(void *levels, uint64_t n);

#endif

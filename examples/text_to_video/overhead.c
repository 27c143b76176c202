/* Measures what recording costs this pipeline: wall time and processor time of all threads.
 *
 *     overhead ROUNDS DIR [JSON]
 *
 * A round runs the pipeline twice in one process, once with every node recorded and once without,
 * in alternating order. So the figure does not contain the start of the process, the compilation of
 * kernels or the writing of the run, and a neighbour that loads the machine for a second slows down
 * both. The figure is the median of the ratios of all rounds, printed with the half width of its
 * interval; an overhead smaller than that half width was not resolved. DIR is where the run is
 * recorded. Exit status: 0, or 2 and the reason. */
#include "options.h"
#include "pipeline.h"

#include <plumb/plumb.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_MOST = 10000, WARM_UPS = 2 };

static int switch_to(bool recorded)
{
    plumb_config config = plumb_config_default();

    config.enabled = recorded;
    return plumb_configure(NULL, &config, NULL);
}

enum clock_used { WALL, CPU, CLOCKS };

static double seconds_on(enum clock_used which)
{
    struct timespec t;

    clock_gettime(which == WALL ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the pipeline and measures it by each clock. Returns less than 0 after a message if it
 * failed. */
static int run_once(const struct options *o, bool recorded, double took[CLOCKS])
{
    struct pipeline_result result;
    int rc = switch_to(recorded);

    for (int c = 0; c < CLOCKS; c++)
        took[c] = -seconds_on(c);
    if (rc == 0 && pipeline_run(o, &result) < 0) {
        fprintf(stderr, "overhead: %s\n", result.error);
        rc = -1;
    }
    for (int c = 0; c < CLOCKS; c++)
        took[c] += seconds_on(c);
    return rc;
}

/* Returns how often plumb counted the node. */
static uint64_t count_of(const char *node)
{
    plumb_rows *rows = NULL;
    uint64_t count = 0;

    if (plumb_summary_rows(&rows, NULL, NULL, NULL) < 0)
        return 0;
    for (size_t i = 0; i < plumb_rows_count(rows); i++) {
        const plumb_row *row = plumb_rows_get(rows, i);
        if (strcmp(row->node, node) == 0)
            count += row->count;
    }
    plumb_rows_free(rows);
    return count;
}

/* Of all rounds: the extra time of the recorded run by each clock, in percent, and the milliseconds
 * of the other run. */
struct figures {
    double percent[CLOCKS][ROUNDS_MOST], ms[ROUNDS_MOST];
};

static int measure(const struct options *o, long rounds, struct figures *f)
{
    for (long i = -WARM_UPS; i < rounds; i++) {
        double took[2][CLOCKS];
        for (int k = 0; k < 2; k++) {
            bool recorded = (i + k) % 2 != 0;
            if (run_once(o, recorded, took[recorded]) < 0)
                return -1;
        }
        if (i < 0)
            continue;
        f->ms[i] = 1e3 * took[0][WALL];
        for (int c = 0; c < CLOCKS; c++)
            f->percent[c][i] = 100 * (took[1][c] / took[0][c] - 1);
    }
    if (count_of("denoise_step") != (uint64_t)(rounds + WARM_UPS) * (uint64_t)o->steps) {
        fprintf(stderr, "overhead: every other run was to be recorded; %llu steps were\n",
                (unsigned long long)count_of("denoise_step"));
        return -1;
    }
    return 0;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x;
    double b = *(const double *)y;

    return a < b ? -1 : a > b;
}

static double quantile(const double *sorted, long n, double q)
{
    return sorted[(long)(q * (double)(n - 1) + 0.5)];
}

static void put_clock(FILE *file, const char *key, const double *sorted, long n)
{
    double q1 = quantile(sorted, n, 0.25), q3 = quantile(sorted, n, 0.75);

    fprintf(file, "  \"%s\": %.4g,\n  \"%s_q1\": %.4g,\n  \"%s_q3\": %.4g,\n", key,
            quantile(sorted, n, 0.5), key, q1, key, q3);
    fprintf(file, "  \"%s_half_width\": %.4g,\n", key, 1.57 * (q3 - q1) / sqrt((double)n));
}

static void put_figures(FILE *file, long n, const struct figures *f)
{
    fprintf(file, "{\n");
    put_clock(file, "t2v_overhead_pct", f->percent[WALL], n);
    put_clock(file, "t2v_cpu_overhead_pct", f->percent[CPU], n);
    fprintf(file, "  \"t2v_run_ms\": %.4g,\n  \"t2v_rounds\": %ld\n}\n", quantile(f->ms, n, 0.5),
            n);
}

static int report(long n, struct figures *f, const char *path)
{
    FILE *file;

    for (int c = 0; c < CLOCKS; c++)
        qsort(f->percent[c], (size_t)n, sizeof(f->percent[c][0]), by_value);
    qsort(f->ms, (size_t)n, sizeof(f->ms[0]), by_value);
    put_figures(stdout, n, f);
    if (!path)
        return 0;
    file = fopen(path, "w");
    if (file) {
        put_figures(file, n, f);
        if (fclose(file) == 0)
            return 0;
    }
    fprintf(stderr, "overhead: cannot write '%s'\n", path);
    return -1;
}

int main(int argc, char **argv)
{
    static struct figures figures;
    long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    struct options work = options_default(true, false);
    plumb_options o = plumb_options_default();
    plumb_error err;
    int rc;

    if (rounds < 1 || rounds > ROUNDS_MOST || argc > 4) {
        fprintf(stderr, "usage: overhead ROUNDS DIR [JSON]\n");
        return 2;
    }
    work.out_path = NULL;
    o.run_dir = argv[2];
    o.debug = PLUMB_ON;
    o.quiet = PLUMB_ON;
    if (plumb_start(&o, &err) < 0) {
        fprintf(stderr, "overhead: %s\n", err.message);
        return 2;
    }
    rc = measure(&work, rounds, &figures);
    plumb_stop(NULL);
    if (rc == 0)
        rc = report(rounds, &figures, argc > 3 ? argv[3] : NULL);
    return rc < 0 ? 2 : 0;
}

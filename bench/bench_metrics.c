/* bench_metrics.c: what adding to a metric and reporting an event of a stream cost, and how long a
 * scrape of 1000 series takes: reading them from the mapping of this process, which records, and
 * writing the text. The floor of the calls is the harness's: two reads of the clock. */
#include "harness.h"

#include <stdlib.h>

#include <plumb/read/metrics.h>

enum { SERIES = 1000, FAMILIES = 10, OPERATIONS = 1000, ROUNDS = 400, SCRAPES = 60 };

static plumb_metric_series *counter, *gauge, *histogram;
static plumb_stream stream;
static plumb_stream_stage stage;

static void add(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        plumb_metric_add(counter, 1);
}

static void set(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        plumb_metric_set(gauge, (double)i);
}

static void observe(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        plumb_metric_observe(histogram, 0.125 * (double)(i & 7));
}

static void measure_calls(struct bench *b)
{
    struct bench_cell cells[] = {{.name = "floor", .run = bench_floor},
                                 {.name = "add", .run = add},
                                 {.name = "set", .run = set},
                                 {.name = "observe", .run = observe}};
    bench_interleave(b, cells, 4, OPERATIONS, b->quick ? ROUNDS / 10 : ROUNDS);
    bench_print_cells(cells, 4);
    bench_put_stat(b, "metric_add_ns", &cells[1].ns);
    bench_put_stat(b, "metric_set_ns", &cells[2].ns);
    bench_put_stat(b, "metric_observe_ns", &cells[3].ns);
}

static void make_series(void)
{
    for (int i = 0; i < SERIES; i++) {
        plumb_metric_options o = plumb_metric_options_default();
        char name[32], user[32];
        plumb_pair labels[2] = {{"user", user}, {NULL, NULL}};
        snprintf(name, sizeof name, "family_%d_total", i % FAMILIES);
        snprintf(user, sizeof user, "user %d", i);
        o.labels = labels;
        plumb_metric_add(plumb_metric_counter(name, &o), i);
    }
}

static double scrape_ms(const char *run_dir)
{
    plumb_metrics_options o = plumb_metrics_options_default();
    plumb_metrics *m = NULL;
    plumb_error err = {0, ""};
    char *text = NULL;
    uint64_t begin = bench_cpu_ns();
    o.only_recording = 1;
    if (plumb_metrics_open(&m, &o, &err) < 0 || plumb_metrics_add(m, run_dir, &err) < 0 ||
        plumb_metrics_render(&text, NULL, m, PLUMB_METRICS_OPENMETRICS, &err) < 0) {
        fprintf(stderr, "bench_metrics: %s\n", err.message);
        exit(1);
    }
    plumb_read_free(text);
    plumb_metrics_close(m);
    return (double)(bench_cpu_ns() - begin) / 1e6;
}

/* In turn what a scheduler reports of a sequence: an input, ready, admitted, completed, output. */
static void report(void *unused, uint64_t n)
{
    static uint64_t calls;
    (void)unused;
    for (uint64_t i = 0; i < n; i++, calls++) {
        uint64_t sequence = calls / 5;
        switch (calls % 5) {
        case 0:
            plumb_stream_input(stage, sequence, "latents");
            break;
        case 1:
            plumb_stream_ready(stage, sequence);
            break;
        case 2:
            plumb_stream_admitted(stage, sequence, NULL);
            break;
        case 3:
            plumb_stream_completed(stage, sequence);
            break;
        default:
            plumb_stream_output(stream, sequence);
        }
    }
}

/* After the scrapes, which would read its sequences too. */
static void measure_stream(struct bench *b)
{
    struct bench_cell cells[] = {{.name = "floor", .run = bench_floor},
                                 {.name = "report", .run = report}};
    stream = plumb_stream_begin("video");
    stage = plumb_stream_stage_of(stream, "denoise");
    bench_interleave(b, cells, 2, OPERATIONS, b->quick ? ROUNDS / 10 : ROUNDS);
    bench_print_cells(cells, 2);
    bench_put_stat(b, "stream_call_ns", &cells[1].ns);
}

int main(int argc, char **argv)
{
    struct bench b;
    double ms[SCRAPES];
    char dir[1024];
    size_t n;
    bench_open(&b, "metrics", argc, argv);
    bench_record_start(&b, false);
    counter = plumb_metric_counter("bench_added_total", NULL);
    gauge = plumb_metric_gauge("bench_level", NULL);
    histogram = plumb_metric_histogram("bench_seconds", NULL);
    measure_calls(&b);
    make_series();
    if (plumb_run_dir(dir, sizeof dir, NULL) < 0)
        return 1;
    n = b.quick ? SCRAPES / 6 : SCRAPES;
    for (size_t i = 0; i < n; i++)
        ms[i] = scrape_ms(dir);
    struct bench_stat stat = bench_stat_of(ms, n);
    bench_put_stat(&b, "metrics_scrape_ms_1000_series", &stat);
    measure_stream(&b);
    bench_record_stop(&b);
    return bench_close(&b);
}

/* Metrics of every kind, hostile names, stages that end well and fail, requests, a queue. Writes
 * the observations of its histograms to `values.txt`. With "wait" it then waits for a line on
 * stdin, with "loop" it goes on with stages, requests and tasks; the run stays open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <plumb/plumb.h>

#include "_labelled.h"

static const char HELP[] = "Help with \\ and \"quotes\"\nand a second line";

static void hostile(void)
{
    static char long_name[10001], long_value[10001];
    memset(long_name, 'n', sizeof long_name - 1);
    memset(long_value, 'v', sizeof long_value - 1);
    static const char *const names[] = {
        "", "a.b", "a b", "a_b", "1st", "x\"y", "x\ny", "größe", "\xff\xfe bytes", "ok:colon"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        plumb_metric_add(plumb_metric_counter(names[i], NULL), (double)i + 1);
    plumb_metric_add(plumb_metric_counter(long_name, NULL), 100);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plumb_metric_set(labelled(PLUMB_METRIC_GAUGE, "hostile_keys", names[i], "v", HELP),
                         (double)i);
        plumb_metric_set(labelled(PLUMB_METRIC_GAUGE, "hostile_values", "key", names[i], HELP),
                         (double)i);
    }
    plumb_metric_set(labelled(PLUMB_METRIC_GAUGE, "hostile_values", "key", long_value, HELP), 100);
    long_value[9999] = 'w';
    plumb_metric_set(labelled(PLUMB_METRIC_GAUGE, "hostile_values", "key", long_value, HELP), 101);
    plumb_metric_set(labelled(PLUMB_METRIC_GAUGE, "hostile_keys", "le", "reserved", HELP), 7);
    /* The names of samples of others. */
    plumb_metric_set(plumb_metric_gauge("latency_seconds_count", NULL), 1);
    plumb_metric_set(plumb_metric_gauge("plumb_stage_runs_total", NULL), 1);
    plumb_metric_set(plumb_metric_gauge("plumb_recording", NULL), 77);
    plumb_metric_set(labelled(PLUMB_METRIC_GAUGE, "hostile_values", "overflow", "true", HELP), 102);
    /* Names that want the same place, in any order. */
    plumb_metric_set(plumb_metric_gauge("wanted_a_total", NULL), 1);
    plumb_metric_add(plumb_metric_counter("wanted_a", NULL), 21);
    plumb_metric_add(plumb_metric_counter("wanted_b", NULL), 22);
    plumb_metric_set(plumb_metric_gauge("wanted_b_total", NULL), 2);
    plumb_metric_add(plumb_metric_counter("wanted_c", NULL), 23);
    plumb_metric_add(plumb_metric_counter("wanted_c_total", NULL), 24);
    plumb_metric_add(plumb_metric_counter("wanted_d_total", NULL), 25);
    plumb_metric_add(plumb_metric_counter("wanted_d", NULL), 26);
}

static void observe(FILE *values)
{
    static const double bounds[] = {-1, 0, 1e-3, 0.5, 1, 3.25, 1e6};
    plumb_metric_options o = plumb_metric_options_default();
    plumb_metric_series *latency, *custom, *summary = plumb_metric_summary("size_bytes", NULL);
    unsigned long long random = 42;
    o.bounds = bounds;
    o.bound_count = sizeof bounds / sizeof *bounds;
    custom = plumb_metric_histogram("custom", &o);
    latency = plumb_metric_histogram("latency_seconds", NULL);
    for (int i = 0; i < 1000; i++) {
        static const double edges[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 0, 11};
        double v;
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        v = i < 13 ? edges[i] : (double)(random >> 40) / 1e6;
        plumb_metric_observe(latency, v);
        plumb_metric_observe(custom, v - 1.5);
        plumb_metric_observe(summary, v);
        fprintf(values, "%.17g\n", v);
    }
}

static void stages(void)
{
    plumb_node direct = plumb_node_get("known");
    for (int i = 0; i < 20; i++) {
        char id[32];
        snprintf(id, sizeof id, "req-%d", i);
        plumb_request request = plumb_request_begin(id, NULL);
        plumb_span stage = plumb_begin_with(plumb_node_get("decode \"frame\""), PLUMB_POINT_STAGE);
        if (i % 5 == 4)
            plumb_span_fail(stage, "broken");
        plumb_end(stage);
        plumb_async_end(plumb_async_begin_with(plumb_node_get("upload"), PLUMB_POINT_STAGE));
        if (i % 10 == 3)
            plumb_request_fail(request, "bad");
        else if (i % 10 == 7)
            plumb_request_cancel(request, NULL);
        else
            plumb_request_end(request);
    }
    plumb_end(plumb_begin_with(direct, PLUMB_POINT_STAGE));
    for (int i = 0; i < 100; i++)
        plumb_record_ns(direct, (uint64_t)(i + 1) * 1000000);
    /* Exactly the bound of a bucket. */
    plumb_end(plumb_begin_with(plumb_node_get("edge"), PLUMB_POINT_STAGE));
    plumb_record_ns(plumb_node_get("edge"), (1u << 30) - 1);
}

static void phases(void)
{
    static const char *const names[] = {"train", "val"};
    for (int i = 0; i < 5; i++) {
        PLUMB_PHASE(names[i % 2]);
        plumb_end(plumb_begin_with(plumb_node_get("phased"), PLUMB_POINT_STAGE));
    }
}

static void queue(void)
{
    plumb_queue q = plumb_queue_get("gpu");
    plumb_queue_task task[6];
    const struct timespec wait = {0, 20000000};
    for (int i = 0; i < 6; i++)
        task[i] = plumb_queue_created(&q);
    nanosleep(&wait, NULL);
    for (int i = 0; i < 4; i++)
        plumb_queue_started(&q, &task[i]);
    plumb_queue_completed(&q, &task[0]);
    plumb_queue_completed(&q, &task[0]); /* no second end */
    plumb_queue_failed(&q, &task[1]);
    plumb_queue_cancelled(&q, &task[2]);
    plumb_queue_cancelled(&q, &task[5]); /* it has not started */
}

int main(int argc, char **argv)
{
    FILE *values = fopen("values.txt", "w");
    if (!values || plumb_start(NULL, NULL) < 0)
        return 1;
    hostile();
    observe(values);
    fclose(values);
    stages();
    phases();
    queue();
    if (argc > 1)
        fprintf(stderr, "ready\n");
    if (argc > 1 && strcmp(argv[1], "wait") == 0)
        getchar();
    while (argc > 1 && strcmp(argv[1], "loop") == 0) {
        const struct timespec pause = {0, 20000000};
        stages();
        queue();
        nanosleep(&pause, NULL);
    }
    return 0;
}

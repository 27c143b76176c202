/* bench_collect.c: what an event of a collector costs the thread that emits it: a span of a device
 * whose launch is known, one whose launch is not, the launch itself; and a span while a trace is
 * written, where it takes a place in its lane's queue as well. And what the collector `sched` costs
 * a program that switches threads all the time, and one that never does, and `perf` a stage: runs
 * with and without it take turns. */
#include "harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <plumb/collector.h>

enum { BLOCK = 1000 };

static plumb_lane lane;
static plumb_name name;
static plumb_origin origin;

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = plumb_lane_options_default();
    (void)arg;
    (void)options;
    o.name = "bench";
    o.slots = 1 << 20;
    name = plumb_name_get("event");
    return plumb_lane_open(&lane, self, &o, err);
}

static void emit(uint64_t n, const plumb_origin *from)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_clock host = {0};
    e.name = name;
    e.origin = from;
    e.begin = plumb_host_ticks();
    e.end = e.begin;
    for (uint64_t i = 0; i < n; i++)
        plumb_emit(lane, host, &e);
}

static void emit_alone(void *unused, uint64_t n)
{
    (void)unused;
    emit(n, NULL);
}

static void emit_of_a_launch(void *unused, uint64_t n)
{
    (void)unused;
    emit(n, &origin);
}

static void launch(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        plumb_origin_capture(&origin, lane, 0);
}

static void measure(struct bench *b)
{
    struct bench_cell cells[] = {{.name = "launch", .run = launch},
                                 {.name = "span of a launch", .run = emit_of_a_launch},
                                 {.name = "span alone", .run = emit_alone}};
    bench_record_start(b, false);
    {
        PLUMB_STAGE(stage, "stage");
        bench_interleave(b, cells, 3, BLOCK, b->quick ? 100 : 800);
    }
    bench_record_stop(b);
    bench_print_cells(cells, 3);
    bench_put_stat(b, "launch_ns", &cells[0].ns);
    bench_put_stat(b, "emit_ns", &cells[1].ns);
    bench_put_stat(b, "emit_unknown_ns", &cells[2].ns);
}

/* The whole block fits into the queue, so the writer need not keep up. */
static void measure_traced(struct bench *b)
{
    struct bench_cell cell = {.name = "span of a launch, traced", .run = emit_of_a_launch};
    setenv("PLUMB_TRACE", "1", 1);
    bench_record_start(b, false);
    unsetenv("PLUMB_TRACE");
    {
        PLUMB_STAGE(stage, "stage");
        plumb_origin_capture(&origin, lane, 0);
        bench_interleave(b, &cell, 1, BLOCK, b->quick ? 100 : 800);
    }
    bench_record_stop(b);
    bench_print_cells(&cell, 1);
    bench_put_stat(b, "emit_traced_ns", &cell.ns);
}

/* ---- sched ----------------------------------------------------------------------------------- */

enum { SWITCHES = 10000, SPANS = 200000, TURNS = 40 };

struct turn {
    double switch_us, span_ns; /* CPU time of all threads of the process */
};

static int to_other[2], to_this[2];

static void *answer(void *unused)
{
    char byte;
    while (read(to_other[0], &byte, 1) == 1) {
        PLUMB_SPAN("answer");
        if (write(to_this[1], &byte, 1) != 1)
            break;
    }
    return unused;
}

static double process_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Two threads on one processor: each waits until the other one has answered. */
static void switch_often(int n)
{
    char byte = 0;
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("ask");
        if (write(to_other[1], &byte, 1) != 1 || read(to_this[0], &byte, 1) != 1)
            abort();
    }
}

static struct turn take_turn(struct bench *b, const char *collect)
{
    struct turn turn;
    pthread_t other;
    setenv("PLUMB_COLLECT", collect, 1);
    bench_record_start(b, false);
    unsetenv("PLUMB_COLLECT");
    if (pipe(to_other) || pipe(to_this) || pthread_create(&other, NULL, answer, NULL))
        abort();
    switch_often(100); /* both threads have been met */
    double begin = process_us();
    switch_often(SWITCHES);
    turn.switch_us = (process_us() - begin) / (2 * SWITCHES);
    begin = process_us();
    for (int i = 0; i < SPANS; i++) {
        PLUMB_SPAN("span");
    }
    turn.span_ns = (process_us() - begin) * 1e3 / SPANS;
    close(to_other[1]);
    pthread_join(other, NULL);
    close(to_other[0]);
    close(to_this[0]);
    close(to_this[1]);
    bench_record_stop(b);
    return turn;
}

static bool has_switches(struct bench *b)
{
    plumb_collector_status s;
    setenv("PLUMB_COLLECT", "sched", 1);
    bench_record_start(b, false);
    unsetenv("PLUMB_COLLECT");
    bool runs = plumb_collector_status_get(&s, plumb_collector_find("sched")) == PLUMB_OK &&
                s.state == PLUMB_COLLECTOR_RUNNING;
    if (!runs)
        bench_put_null(b, "sched_switch_us", s.why);
    bench_record_stop(b);
    return runs;
}

static void measure_sched(struct bench *b)
{
    static double switches[TURNS];
    static double spans[TURNS];
    size_t turns = b->quick ? 5 : TURNS;
    if (!has_switches(b))
        return;
    for (size_t i = 0; i < turns; i++) {
        struct turn with;
        struct turn without;
        if (i % 2)
            with = take_turn(b, "sched");
        without = take_turn(b, "none");
        if (i % 2 == 0)
            with = take_turn(b, "sched");
        switches[i] = with.switch_us - without.switch_us;
        spans[i] = with.span_ns - without.span_ns;
    }
    struct bench_stat s = bench_stat_of(switches, turns);
    bench_put_stat(b, "sched_switch_us", &s);
    s = bench_stat_of(spans, turns);
    bench_put_stat(b, "sched_span_ns", &s);
}

/* ---- perf ------------------------------------------------------------------------------------ */

enum { STAGES = 2000 };

/* CPU time of all threads for an empty stage, in us. */
static double stage_us(struct bench *b, const char *collect)
{
    setenv("PLUMB_COLLECT", collect, 1);
    setenv("PLUMB_MEMORY", "off", 1);
    bench_record_start(b, false);
    for (int i = 0; i < 100; i++) {
        PLUMB_STAGE(stage, "stage");
    }
    double begin = process_us();
    for (int i = 0; i < STAGES; i++) {
        PLUMB_STAGE(stage, "stage");
    }
    double us = (process_us() - begin) / STAGES;
    bench_record_stop(b);
    unsetenv("PLUMB_COLLECT");
    unsetenv("PLUMB_MEMORY");
    return us;
}

static void measure_perf(struct bench *b)
{
    static double software[TURNS], all[TURNS];
    size_t turns = b->quick ? 5 : TURNS;
    for (size_t i = 0; i < turns; i++) {
        double without = stage_us(b, "none");
        software[i] = stage_us(b, "perf:software") - without;
        all[i] = stage_us(b, "perf") - without;
    }
    struct bench_stat s = bench_stat_of(software, turns);
    bench_put_stat(b, "perf_stage_us", &s);
    s = bench_stat_of(all, turns);
    bench_put_stat(b, "perf_all_stage_us", &s);
}

int main(int argc, char **argv)
{
    static struct bench b;
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_error err = {0, ""};
    ops.name = "bench";
    ops.start = start;
    bench_open(&b, "collect", argc, argv);
    if (!plumb_collector_register(&ops, NULL, &err)) {
        bench_put_null(&b, "emit_ns", err.message);
        return bench_close(&b);
    }
    measure(&b);
    measure_traced(&b);
    measure_sched(&b);
    measure_perf(&b);
    return bench_close(&b);
}

/* bench_collect.c: what an event of a collector costs the thread that emits it: a span of a device
 * whose launch is known, one whose launch is not, the launch itself; and a span while a trace is
 * written, where it takes a place in its lane's queue as well. */
#include "harness.h"

#include <stdlib.h>

#include <plumb/plugin.h>

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

/* The queue has room for all of it: the writer need not keep up. */
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
    return bench_close(&b);
}

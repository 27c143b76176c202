/* bench_span.c: what a span costs in a loop that does nothing else, as a multiple of the two clock
 * reads it cannot do without. The friendliest case there is: caches warm, branches learnt. See
 * bench_payload.c for the ones that matter to a program. */
#include "least.h"

#include <stdlib.h>

PLUMB_POINT(tight, "tight");
PLUMB_POINT(outer, "outer");
PLUMB_POINT(second, "second");
PLUMB_POINT(third, "third");
PLUMB_POINT(fourth, "fourth");

static void spans(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(&tight);
        bench_barrier();
        plumb_end(s);
    }
}

/* Four nested spans are four operations. */
static void nested(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i += 4) {
        plumb_span a = plumb_begin(&outer), b, c, d;
        bench_barrier();
        b = plumb_begin(&second);
        bench_barrier();
        c = plumb_begin(&third);
        bench_barrier();
        d = plumb_begin(&fourth);
        bench_barrier();
        plumb_end(d);
        bench_barrier();
        plumb_end(c);
        bench_barrier();
        plumb_end(b);
        bench_barrier();
        plumb_end(a);
    }
}

/* A pipeline of four nodes, one after the other; a node is an operation. */
static void laps(void *unused, uint64_t n)
{
    plumb_span s = {0};
    (void)unused;
    for (uint64_t i = 0; i < n; i += 4) {
        s = plumb_lap(s, &outer);
        bench_barrier();
        s = plumb_lap(s, &second);
        bench_barrier();
        s = plumb_lap(s, &third);
        bench_barrier();
        s = plumb_lap(s, &fourth);
        bench_barrier();
    }
    plumb_end(s);
}

enum { FLOOR, SPAN, NESTED, LAP, NODES, BARE, LEAST, LEAST_LAP, CELLS };

int main(int argc, char **argv)
{
    static struct bench b;
    struct bench_cell one[CELLS] = {
        [FLOOR] = {.name = "two rdtsc", .run = bench_floor},
        [SPAN] = {.name = "span", .run = spans},
        [NESTED] = {.name = "span, nested 4 deep", .run = nested},
        [LAP] = {.name = "lap", .run = laps},
        [NODES] = {.name = "span, 100 nodes in turn", .run = bench_spans_over_nodes},
        [BARE] = {.name = "two calls, a record each", .run = bench_bare_spans},
        [LEAST] = {.name = "the least with statistics", .run = bench_least_spans},
        [LEAST_LAP] = {.name = "the least lap with statistics", .run = bench_least_laps},
    };
    struct bench_cell two[2] = {one[FLOOR], one[SPAN]}, p2[2] = {one[FLOOR], one[SPAN]};
    bench_open(&b, "span", argc, argv);

    bench_record_start(&b, false);
    bench_interleave(&b, one, CELLS, 20000, 800);
    bench_print_cells(one, CELLS);
    bench_put_stat(&b, "floor_ns", &one[FLOOR].ns);
    bench_put_stat(&b, "span_ns", &one[SPAN].ns);
    bench_put_stat(&b, "span_x_floor", &one[SPAN].x);
    bench_put_stat(&b, "span_nested4_x_floor", &one[NESTED].x);
    bench_put_stat(&b, "lap_x_floor", &one[LAP].x);
    bench_put_stat(&b, "span_100_nodes_x_floor", &one[NODES].x);
    bench_put_stat(&b, "bare_records_x_floor", &one[BARE].x);
    bench_put_stat(&b, "least_span_x_floor", &one[LEAST].x);
    bench_put_stat(&b, "least_lap_x_floor", &one[LEAST_LAP].x);
    if (bench_interleave_two(&b, two, 2, 20000, 800)) {
        bench_print_cells(two, 2);
        bench_put_stat(&b, "span_x_floor_2t", &two[1].x);
    } else {
        bench_put_null(&b, "span_x_floor_2t", "this process may use one processor only");
    }
    bench_record_stop(&b);

    bench_record_start(&b, true);
    bench_interleave(&b, p2, 2, 20000, 800);
    bench_print_cells(p2, 2);
    bench_put_stat(&b, "span_p2_x_floor", &p2[1].x);
    bench_record_stop(&b);
    return bench_close(&b);
}

/* bench_memory.c: what recording keeps in memory: bytes a (thread, phase, node), and whether the
 * process grows while it records and records. The first half of the spans still touches pages of
 * the sketches (a duration not seen before), which are part of state_bytes; the second half shows
 * what is left when that is over. */
#include "harness.h"

#include "live/layout.h"

int main(int argc, char **argv)
{
    static struct bench b;
    uint64_t few = 1000000, many = 100000000, early, half, late, from;
    bench_open(&b, "memory", argc, argv);
    bench_put(&b, "state_bytes", (double)sizeof(struct plumb_live_state));

    bench_record_start(&b, false);
    bench_spans_over_nodes(NULL, few);
    early = bench_rss_kb();
    from = bench_cpu_ns();
    bench_spans_over_nodes(NULL, many / 2 - few);
    half = bench_rss_kb();
    bench_spans_over_nodes(NULL, many / 2);
    late = bench_rss_kb();
    printf("  %.0f million spans in %.2f s of CPU time\n", (double)(many - few) * 1e-6,
           (double)(bench_cpu_ns() - from) * 1e-9);
    bench_put(&b, "rss_kb_at_1e6", (double)early);
    bench_put(&b, "rss_growth_kb_1e8", (double)late - (double)early);
    bench_put(&b, "rss_growth_kb_second_half", (double)late - (double)half);
    bench_record_stop(&b);
    return bench_close(&b);
}

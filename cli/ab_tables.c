/* ab_tables.c: the medians of a sweep of sizes or of element types, and where they cross. */
#include "ab.h"

#include <inttypes.h>
#include <string.h>

static const char *verdict_of(int32_t faster)
{
    return faster > 0 ? "faster" : faster < 0 ? "slower" : "cannot tell";
}

static void print_crossover(const struct plumb_ab *ab, const struct plumb_ab_pair *pair)
{
    const plumb_gate_crossover_result *c = &pair->crossover;
    printf("crossover%s%s: ", pair->type[0] ? " of " : "", pair->type);
    if (c->threshold == 0)
        printf("none: %s is not faster at the largest size\n", pair->b);
    else
        printf("%s is faster from %s = %" PRIu64 " on", pair->b, ab->size_name, c->threshold);
    if (c->threshold && c->to == c->from)
        printf("\n");
    else if (c->threshold)
        printf(" (certain from %" PRIu64 " on%s; not before %" PRIu64 ")\n", c->to,
               c->to ? "" : ": never", c->from);
}

bool plumb_ab_print(const struct plumb_ab *ab)
{
    printf("%-8s %10s %14s %14s %9s  %s\n", "type", ab->size_count ? ab->size_name : "",
           "A median (us)", "B median (us)", "speed-up", "B is");
    for (size_t p = 0; p < ab->pair_count; p++) {
        const struct plumb_ab_pair *pair = &ab->pairs[p];
        const plumb_gate_point point = plumb_ab_point(ab, pair);
        plumb_gate_pair_result found = {.size = sizeof found};
        plumb_error err = {0, ""};
        if (plumb_gate_pair(&found, &point, &err) < 0) {
            plumb_cli_say(ab->command, "%s", err.message);
            return false;
        }
        printf("%-8s %10" PRIu64 " %14.3f %14.3f %9.3f  %s\n", pair->type, pair->size,
               found.a_ns / 1e3, found.b_ns / 1e3, 1 / found.ratio, verdict_of(found.faster));
        if (ab->pair_count == 1)
            printf("%s %s %s: %.3f times as fast\n", pair->b,
                   found.faster > 0   ? "beats"
                   : found.faster < 0 ? "does not beat"
                                      : "cannot be told from",
                   pair->a, 1 / found.ratio);
        if (ab->size_count > 0 && (p + 1) % ab->size_count == 0)
            print_crossover(ab, pair);
    }
    printf("\n");
    return true;
}

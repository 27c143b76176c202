/* labels: notsan
 * A reason may take the place of one that the trace is just writing: it looks for that afterwards.
 * Each failure of a server has a reason of its own ("timeout after 12.345 ms"): what that costs has
 * a bound, and what comes later is recorded as ever. */
#include "hosts/host.h"

enum { LATER = 20 };

int main(void)
{
    PLUMB_POINT(point, "request");
    plumb_options options = plumb_options_default();
    long rounds = host_rounds(40000);
    options.max_state_bytes = 2u << 20;
    options.quiet = PLUMB_ON;
    plumb_start(&options, NULL);
    for (long i = 0; i < rounds; i++) {
        char why[64];
        plumb_span span = plumb_begin(&point);
        snprintf(why, sizeof why, "request %ld: timeout after %ld.%03ld ms", i, i % 977, i % 1000);
        plumb_span_fail(span, why);
        plumb_end(span);
    }
    for (int i = 0; i < LATER; i++) {
        char name[32];
        snprintf(name, sizeof name, "later.%d", i);
        PLUMB_SPAN_NODE(plumb_node_get(name));
    }
    for (int i = 0; i < LATER; i++) {
        char name[32];
        snprintf(name, sizeof name, "later.%d", i);
        host_expect(name, 1);
    }
    return 0;
}

/* labels: notsan
 * (The buffer of a reason may be reused while the trace writes it; the writer checks that
 * afterwards.)
 *
 * Each failure of a server has a reason of its own ("timeout after 12.345 ms"). Their cost has a
 * bound, and later failures are recorded as usual. */
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

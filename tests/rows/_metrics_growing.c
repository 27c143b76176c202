/* Records more nodes than fit into a small file, says so, and waits for the end of its input. */
#include <plumb/plumb.h>
#include <stdio.h>

enum { NODES = 300, RUNS = 4 };

int main(void)
{
    plumb_options o = plumb_options_default();
    plumb_start(&o, NULL);
    for (int i = 0; i < NODES * RUNS; i++) {
        char name[16];
        snprintf(name, sizeof name, "n.%d", i % NODES);
        PLUMB_SPAN_NODE(plumb_node_get(name));
    }
    puts("ready");
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}

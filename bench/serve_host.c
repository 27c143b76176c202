/* serve_host.c: the process whose rows serve.py reads: NODES nodes, until stdin closes. */
#include <stdio.h>

#include <plumb/plumb.h>

enum { NODES = 20, SAMPLES = 1000 };

int main(void)
{
    char name[32], line[8];
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "node.%d", i);
        plumb_node node = plumb_node_get(name);
        for (int k = 0; k < SAMPLES; k++)
            plumb_record_ns(node, 1000u * (unsigned)(1 + k % 97));
    }
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        continue;
    return 0;
}

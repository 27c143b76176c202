/* compare_host.c: what compare.py records: twelve nodes, from loops that stay in registers to walks
 * over more memory than caches hold, so that some are quiet on any machine and some on none. Prints
 * a sum, so that nothing is left out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <plumb/plumb.h>

enum { NODES = 12, ROUNDS = 60, LARGEST = 1 << 22 };

static uint64_t spin(uint64_t x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return x;
}

static uint64_t walk(const uint64_t *memory, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i += 8)
        sum += memory[i];
    return sum;
}

int main(void)
{
    uint64_t *memory = calloc(LARGEST, sizeof *memory);
    uint64_t x = 1;
    plumb_node node[NODES];
    if (!memory)
        return 1;
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s.%d", i % 2 ? "walk" : "spin", i / 2);
        node[i] = plumb_node_get(name);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < NODES; i++) {
            PLUMB_SPAN_NODE(node[i]);
            if (i % 2)
                x += walk(memory, (size_t)LARGEST >> (NODES - i));
            else
                x = spin(x, (size_t)5000 << i / 2);
        }
    printf("%llu\n", (unsigned long long)x);
    free(memory);
    return 0;
}

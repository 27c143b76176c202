/* An error path leaves 240 nested spans of different nodes at once, each time at another place
 * among its neighbours. Ending them changes no other figure. */
#include "hosts/host.h"

enum { DEEP = 240, LEAVES = 40 };

static plumb_node deep[DEEP], leaf[LEAVES];
static uint64_t leaves[LEAVES];

static void one_leaf(int i)
{
    PLUMB_SPAN_NODE(leaf[i]);
    leaves[i]++;
}

static void round_of(long i)
{
    for (int k = 0; k < 10 * LEAVES; k++)
        one_leaf(k % LEAVES);
    PLUMB_SPAN_AS(outer, "outer");
    for (int k = 0; k < DEEP; k++)
        plumb_begin_node(deep[k]); /* ended by `outer` */
    for (long k = 0; k < i * 7 % 120; k++)
        one_leaf(0);
}

static plumb_node numbered(const char *name, int i)
{
    char text[32];
    snprintf(text, sizeof text, "%s.%d", name, i);
    return plumb_node_get(text);
}

int main(void)
{
    long rounds = host_rounds(400);
    for (int i = 0; i < DEEP; i++)
        deep[i] = numbered("deep", i);
    for (int i = 0; i < LEAVES; i++)
        leaf[i] = numbered("leaf", i);
    for (long i = 0; i < rounds; i++)
        round_of(i);
    for (int i = 0; i < LEAVES; i++) {
        char name[32];
        snprintf(name, sizeof name, "leaf.%d", i);
        host_expect(name, leaves[i]);
    }
    host_expect("deep.0", 0);
    host_expect("deep.239", 0);
    host_expect("outer", (uint64_t)rounds);
    return 0;
}

/* A decoder of 80 layers on the virtual clock (PLUMB_CLOCK=virtual, PLUMB_COLLECT=fake): kernels of
 * 300 ns in stages of milliseconds, a phase inside a span of another one, tokens that are counted.
 */
#include <stdint.h>
#include <stdio.h>

#include <plumb/fake.h>
#include <plumb/plumb.h>

enum { LAYERS = 80, TOKENS = 4 };
static const uint64_t US = 1000;

static void layer(int i)
{
    char name[32];
    snprintf(name, sizeof name, "layer.%d", i);
    plumb_node node = plumb_node_get(name);
    snprintf(name, sizeof name, "layer.%d.rope", i);
    plumb_node rope = plumb_node_get(name);
    PLUMB_SPAN_NODE(node);
    PLUMB_SPAN("attn");
    {
        PLUMB_SPAN_NODE(rope);
        plumb_fake_advance(300 + (uint64_t)i);
    }
    {
        PLUMB_SPAN("qkv");
        plumb_fake_advance(4 * US);
    }
    PLUMB_SPAN("softmax");
    plumb_fake_advance(6 * US);
}

int main(void)
{
    {
        PLUMB_SPAN("load");
        plumb_fake_advance(20000 * US);
    }
    PLUMB_SPAN("request");
    {
        PLUMB_PHASE("decode");
        for (int t = 0; t < TOKENS; t++) {
            PLUMB_SPAN("token");
            for (int i = 0; i < LAYERS; i++)
                layer(i);
            plumb_counter_add("tokens", 500);
        }
    }
    return 0;
}

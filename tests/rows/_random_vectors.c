/* Prints, for each element type and shape of the generator, a hash of 5000 values from fixed
 * parameters: what tf_24_generator.sh compares between compilers. */
#include "isolate/random_fill.h"

#include <inttypes.h>
#include <stdio.h>

enum { COUNT = 5000 };

static const struct plumb_random shapes[] = {
    {.shape = 12, .exponent = -30, .spread = 1 << 30, .low = -6442450944, .high = 6442450944},
    {.shape = 3,
     .exponent = -36,
     .center = -98765432109,
     .spread = 34567890123,
     .low = -202469135798,
     .high = 4938271605},
    {.shape = 1,
     .extreme = 1u << 30,
     .high_of = 3u << 29,
     .exponent = -24,
     .center = 1500000000,
     .spread = 1700000000,
     .low = -300000000,
     .high = 3200000000},
    {.shape = 0, .high_of = 1u << 29, .exponent = 3, .low = -5, .high = 12345678901},
    /* Below the smallest normal number of half precision, and above its largest. */
    {.shape = 12,
     .exponent = -60,
     .spread = INT64_C(1) << 40,
     .low = -INT64_MAX / 8,
     .high = INT64_MAX / 8},
    {.shape = 12,
     .exponent = 20,
     .spread = INT64_C(1) << 35,
     .low = -INT64_MAX / 8,
     .high = INT64_MAX / 8},
};

int main(void)
{
    static unsigned char bytes[COUNT * 8];
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint32_t e = 0; e < PLUMB_RANDOM_ELEMENTS; e++) {
            struct plumb_random r = shapes[s];
            size_t size = plumb_random_element_bytes(e);
            uint64_t hash = UINT64_C(0xcbf29ce484222325);
            r.seed = plumb_random_seed(7, "denoise", "latents");
            r.element = e;
            r.least = -100;
            r.most = 110;
            r.unsigned_least = 1;
            r.unsigned_most = 200;
            /* In two pieces, the second first. */
            plumb_random_fill(bytes + 1234 * size, 1234, COUNT - 1234, &r);
            plumb_random_fill(bytes, 0, 1234, &r);
            for (size_t i = 0; i < COUNT * size; i++)
                hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
            printf("%u %u %016" PRIx64 "\n", s, (unsigned)e, hash);
        }
    }
    return 0;
}

/* Owns the random numbers: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014).
 *
 * Why not rand(): its sequence differs between C libraries, and threads share its state. */
#include "random.h"

static uint64_t next_u64(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct random random_of(uint64_t seed, enum random_purpose purpose, uint64_t index)
{
    struct random r = {seed};

    r.state = next_u64(&r) ^ (uint64_t)purpose;
    r.state = next_u64(&r) ^ index;
    return r;
}

uint32_t random_below(struct random *r, uint32_t n)
{
    return (uint32_t)((next_u64(r) >> 32) * n >> 32);
}

double random_between(struct random *r, double least, double most)
{
    double unit = ((double)(next_u64(r) >> 11) + 0.5) * 0x1p-53;

    return least + unit * (most - least);
}

void random_order(struct random *r, int *order, int n)
{
    for (int i = 0; i < n; i++) { /* i goes to any place, and what was there to the end */
        int j = (int)random_below(r, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

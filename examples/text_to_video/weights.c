/* Owns the random numbers: splitmix64, seeded by the hash of a name. No state outlives a call.
 *
 * Why not rand(): its sequence differs between C libraries, and it hands out 31 bits of it. */
#include "weights.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

struct random {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next_u64(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In (0, 1): never 0, so that its logarithm is finite. */
static double next_unit(struct random *r)
{
    return ((double)(next_u64(r) >> 11) + 0.5) * 0x1p-53;
}

/* FNV-1a over the name. */
static struct random random_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return (struct random){hash};
}

struct tensor weights_constant(struct nn *nn, int64_t n, float value)
{
    struct tensor t = nn_tensor_of(nn, ELEMENT_F32, 1, &n);

    for (int64_t i = 0; i < n && !nn_failed(nn); i++)
        tensor_put(&t, i, value);
    return t;
}

/* Trained weights come in bfloat16 and are widened where more is asked for: all precisions run one
 * model. */
static float as_shipped(float value)
{
    return element_from_bf16(element_to_bf16(value));
}

struct tensor weights_uniform(struct nn *nn, const char *name, int ndims, const int64_t *dims,
                              int64_t fan_in)
{
    struct tensor t = nn_tensor_of(nn, nn->weights, ndims, dims);
    struct random r = random_of(name);
    int64_t count = tensor_count(&t);
    double limit = sqrt(3.0 / (double)fan_in);

    if (nn_failed(nn))
        return t;
    for (int64_t i = 0; i < count; i++)
        tensor_put(&t, i, as_shipped((float)((2.0 * next_unit(&r) - 1.0) * limit)));
    return t;
}

void weights_noise(struct nn *nn, uint64_t seed, const struct tensor *t)
{
    struct random r = random_of("noise");
    int64_t count = tensor_count(t);

    r.state ^= seed * 0x2545f4914f6cdd1du;
    for (int64_t i = 0; i < count && !nn_failed(nn); i += 2) {
        /* Box-Muller: two uniform numbers give two normal ones. */
        double radius = sqrt(-2.0 * log(next_unit(&r)));
        double angle = 2.0 * pi * next_unit(&r);
        tensor_put(t, i, (float)(radius * cos(angle)));
        if (i + 1 < count)
            tensor_put(t, i + 1, (float)(radius * sin(angle)));
    }
}

/* The blur in plain C: what the device's result is compared with. */
#include "blur.h"

#include <math.h>

struct blur_plane blur_plane(const struct blur_shape *s, int plane)
{
    const int luma = s->width * s->height, chroma = luma / 4;
    if (plane == 0)
        return (struct blur_plane){0, s->width, s->height};
    return (struct blur_plane){luma + (plane - 1) * chroma, s->width / 2, s->height / 2};
}

size_t blur_picture_bytes(const struct blur_shape *s)
{
    return (size_t)s->width * (size_t)s->height * 3 / 2;
}

void blur_weights(int32_t *out, int radius)
{
    const double sigma = radius / 2.0;
    double sum = 0;
    int32_t rest = 65536;
    for (int k = -radius; k <= radius; k++)
        sum += exp(-k * k / (2 * sigma * sigma));
    for (int k = -radius; k <= radius; k++) {
        out[k + radius] = (int32_t)(exp(-k * k / (2 * sigma * sigma)) / sum * 65536);
        rest -= out[k + radius];
    }
    out[radius] += rest;
}

static int clamped(int x, int size)
{
    return x < 0 ? 0 : x >= size ? size - 1 : x;
}

/* Along a line of `size` pixels that lie `step` apart. */
static void blur_line(const uint8_t *in, uint8_t *out, int size, int step, const int32_t *weights,
                      int radius)
{
    for (int x = 0; x < size; x++) {
        int32_t sum = 32768;
        for (int k = -radius; k <= radius; k++)
            sum += weights[k + radius] * in[clamped(x + k, size) * step];
        out[x * step] = (uint8_t)(sum >> 16);
    }
}

void blur_reference(const struct blur_shape *s, const uint8_t *in, uint8_t *out, uint8_t *scratch)
{
    int32_t weights[2 * BLUR_RADIUS_MAX + 1];
    blur_weights(weights, s->radius);
    for (int i = 0; i < BLUR_PLANES; i++) {
        const struct blur_plane p = blur_plane(s, i);
        for (int y = 0; y < p.height; y++)
            blur_line(in + p.offset + y * p.width, scratch + p.offset + y * p.width, p.width, 1,
                      weights, s->radius);
        for (int x = 0; x < p.width; x++)
            blur_line(scratch + p.offset + x, out + p.offset + x, p.height, p.width, weights,
                      s->radius);
    }
}

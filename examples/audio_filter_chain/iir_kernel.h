/* The kernels for samples of type T; NAME(x) is x with the type's suffix. Included by iir.c.
 *
 * A recursive filter cannot take its samples at the same time: each waits for the one before.
 * Sections can overlap, the second's sample n with the first's n + 1. So a cascade in one pass is
 * faster than its sections one after the other, not only because memory is read once. */

/* Transposed direct form II. Filters `frames` samples with `count` <= GROUP sections. */
static inline void NAME(group)(const struct iir_section *c, size_t count, double (*state)[2],
                               const T *in, T *out, size_t frames)
{
    for (size_t n = 0; n < frames; n++) {
        double x = (double)in[n];
        for (size_t k = 0; k < count; k++) {
            double y = c[k].b0 * x + state[k][0];
            state[k][0] = c[k].b1 * x - c[k].a1 * y + state[k][1];
            state[k][1] = c[k].b2 * x - c[k].a2 * y;
            x = y;
        }
        out[n] = (T)x;
    }
}

/* A block of one channel through all sections. The sections of a group and their state are copied
 * to where the compiler knows that the samples do not overlap them. */
static void NAME(block)(const struct iir_section *sections, size_t count, double (*state)[2],
                        const T *in, T *out, size_t frames)
{
    for (size_t k = 0; k < count; k += GROUP) {
        size_t n = count - k < GROUP ? count - k : GROUP;
        struct iir_section c[GROUP];
        double held[GROUP][2];
        memcpy(c, sections + k, n * sizeof(c[0]));
        memcpy(held, state + k, n * sizeof(held[0]));
        NAME(group)(c, n, held, k ? out : in, out, frames);
        memcpy(state + k, held, n * sizeof(held[0]));
    }
}

static void NAME(cascade)(const struct iir_section *sections, size_t count, double (*state)[2],
                          const struct iir_signal *s)
{
    for (size_t ch = 0; ch < s->channels; ch++) {
        const T *in = (const T *)s->in + ch * s->stride;
        T *out = (T *)s->out + ch * s->stride;
        for (size_t at = 0; at < s->frames; at += BLOCK) {
            size_t n = s->frames - at < BLOCK ? s->frames - at : BLOCK;
            NAME(block)(sections, count, state + ch * count, in + at, out + at, n);
        }
    }
}

static void NAME(echo)(size_t delay, T mix, T *line, size_t *position, const struct iir_signal *s)
{
    size_t at = *position;
    for (size_t ch = 0; ch < s->channels; ch++) {
        const T *in = (const T *)s->in + ch * s->stride;
        T *out = (T *)s->out + ch * s->stride;
        T *kept = line + ch * delay;
        at = *position;
        for (size_t n = 0; n < s->frames; n++) {
            T x = in[n];
            out[n] = x + mix * kept[at];
            kept[at] = x;
            at = at + 1 < delay ? at + 1 : 0;
        }
    }
    *position = at;
}

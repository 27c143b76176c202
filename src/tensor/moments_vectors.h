/* moments_vectors.h: the loop of moments.h over vectors of floats, for the files that are named
 * after an instruction set. Such a file first defines
 *
 *     FLOATS                      floats of a vector
 *     vec, wide, tally            vectors of float, double, and counts
 *     v_set(x) v_add v_sub v_mul v_min v_max, v_fma(a, b, c) = a * b + c
 *     v_magnitudes(a, b)          |a| + |b|, rounded once
 *     v_least(v), v_most(v)       across the vector
 *     V_REGISTER(v)               constraint of an operand of asm: read and written in a register
 *     w_zero(), w_add(w, v), w_sum(w)
 *     t_zero(), t_zeros(t, v), t_sum(t)      counts the floats that are zero
 *     load_f32(at), load_f16, load_bf16      8 * FLOATS values as 8 vectors
 *
 * on `struct octet`, then includes this one. Eight vectors are added up as a tree (3 roundings),
 * DEPTH such trees one after the other (12 more: the first is added to 0), and their sum is carried
 * on in double. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tensor/moments.h"
#include "tensor/small_float.h"

enum { GROUP = 8 * FLOATS, DEPTH = 13, SOME = 16 };
enum { STREAMS = 4, AHEAD_BYTES = 4096, NEAR_BYTES = 131072 };

#define VECTOR_INLINE static inline __attribute__((always_inline))

typedef struct octet load_fn(const unsigned char *at);
typedef double one_fn(const unsigned char *at);

/* What `op` makes of all eight, two by two. */
#define TREE(op, x)                                                                                \
    op(op(op((x).a, (x).b), op((x).c, (x).d)), op(op((x).e, (x).f), op((x).g, (x).h)))

VECTOR_INLINE vec tree_abs(struct octet x)
{
    vec ab = v_magnitudes(x.a, x.b), cd = v_magnitudes(x.c, x.d);
    vec ef = v_magnitudes(x.e, x.f), gh = v_magnitudes(x.g, x.h);
    return v_add(v_add(ab, cd), v_add(ef, gh));
}

VECTOR_INLINE vec tree_squares(struct octet x)
{
    vec ab = v_fma(x.b, x.b, v_mul(x.a, x.a));
    vec cd = v_fma(x.d, x.d, v_mul(x.c, x.c));
    vec ef = v_fma(x.f, x.f, v_mul(x.e, x.e));
    vec gh = v_fma(x.h, x.h, v_mul(x.g, x.g));
    return v_add(v_add(ab, cd), v_add(ef, gh));
}

VECTOR_INLINE struct octet less(struct octet x, vec p)
{
    return (struct octet){v_sub(x.a, p), v_sub(x.b, p), v_sub(x.c, p), v_sub(x.d, p),
                          v_sub(x.e, p), v_sub(x.f, p), v_sub(x.g, p), v_sub(x.h, p)};
}

VECTOR_INLINE tally tally_zeros(tally t, struct octet x)
{
    t = t_zeros(t_zeros(t_zeros(t_zeros(t, x.a), x.b), x.c), x.d);
    return t_zeros(t_zeros(t_zeros(t_zeros(t, x.e), x.f), x.g), x.h);
}

struct partial {
    vec sum, abs_sum, squares, min, max;
    tally zeros;
};

/* Once: left alone, the compiler lets each use of a value load it again, and loads are scarce. */
VECTOR_INLINE struct octet loaded(struct octet x)
{
    __asm__(""
            : V_REGISTER(x.a), V_REGISTER(x.b), V_REGISTER(x.c), V_REGISTER(x.d), V_REGISTER(x.e),
              V_REGISTER(x.f), V_REGISTER(x.g), V_REGISTER(x.h));
    return x;
}

VECTOR_INLINE void add_group(struct partial *l, struct octet x, vec pivot, unsigned flags)
{
    l->abs_sum = v_add(l->abs_sum, tree_abs(x));
    if (flags & PLUMB_MOMENTS_ZEROS)
        l->zeros = tally_zeros(l->zeros, x);
    if (flags & PLUMB_MOMENTS_SPREAD) {
        l->min = v_min(l->min, TREE(v_min, x));
        l->max = v_max(l->max, TREE(v_max, x));
    }
    if (flags & PLUMB_MOMENTS_PIVOT)
        x = less(x, pivot);
    l->sum = v_add(l->sum, TREE(v_add, x));
    if (flags & PLUMB_MOMENTS_SPREAD)
        l->squares = v_add(l->squares, tree_squares(x));
}

/* One line a prefetch: of `bytes`, at most 512, AHEAD_BYTES after `at`. It is not an access, so any
 * address will do. Into L1 if the loop is as fast as L2; otherwise into L2, to leave L1 to the
 * loop. */
VECTOR_INLINE void prefetch(const unsigned char *at, size_t bytes, bool near)
{
    uintptr_t ahead = (uintptr_t)at + AHEAD_BYTES;
#define LINE(i)                                                                                    \
    if (bytes > 64 * (i) && near)                                                                  \
        __builtin_prefetch((const void *)(ahead + 64 * (i)), 0, 3);                                \
    else if (bytes > 64 * (i))                                                                     \
    __builtin_prefetch((const void *)(ahead + 64 * (i)), 0, 2)
    LINE(0);
    LINE(1);
    LINE(2);
    LINE(3);
    LINE(4);
    LINE(5);
    LINE(6);
    LINE(7);
#undef LINE
}

/* Adds the values before the first group and after the last. */
VECTOR_INLINE void add_rest(struct plumb_moments *out, const unsigned char *at, size_t n,
                            size_t bytes, float pivot, one_fn one, unsigned flags)
{
    double from = flags & PLUMB_MOMENTS_PIVOT ? (double)pivot : 0;
    for (size_t i = 0; i < n; i++) {
        double x = one(at + i * bytes);
        double d = x - from;
        out->sum += d;
        out->abs_sum += x < 0 ? -x : x;
        if (flags & PLUMB_MOMENTS_SPREAD) {
            out->squares += d * d;
            out->min = x < out->min ? x : out->min;
            out->max = x > out->max ? x : out->max;
        }
        if (flags & PLUMB_MOMENTS_ZEROS)
            out->zeros += x == 0;
    }
}

/* How many groups each of STREAMS places of the block has, which take turns: memory that others use
 * too answers four streams half again as fast as one. 0: no places. A block this small is in the
 * second-level cache as a rule, which answers one stream best. */
VECTOR_INLINE size_t stream_of(size_t groups, size_t bytes)
{
    return groups * GROUP * bytes < NEAR_BYTES ? 0 : groups / STREAMS;
}

/* Where group `g` lies, in groups. */
VECTOR_INLINE size_t place(size_t g, size_t stream)
{
    return g < STREAMS * stream ? g % STREAMS * stream + g / STREAMS : g;
}

struct totals {
    wide sum, abs_sum, squares;
};

/* Carries on in double what DEPTH groups, or less, have added up. */
VECTOR_INLINE void carry_on(struct totals *t, struct partial *l, unsigned flags)
{
    t->sum = w_add(t->sum, l->sum);
    t->abs_sum = w_add(t->abs_sum, l->abs_sum);
    if (flags & PLUMB_MOMENTS_SPREAD)
        t->squares = w_add(t->squares, l->squares);
    l->sum = l->abs_sum = l->squares = v_set(0);
}

/* Fewer values than a group, among zeros, which change no plain sum. The compiler must not know how
 * many: it would copy by instructions that take longer to start than the C library takes. */
VECTOR_INLINE void add_part(struct totals *t, struct partial *l, const unsigned char *at, size_t n,
                            size_t bytes, load_fn load)
{
    unsigned char group[4 * GROUP];
    size_t room = GROUP * bytes, used = n * bytes;
    __asm__("" : "+r"(room), "+r"(used));
    memset(group, 0, room);
    memcpy(group, at, used);
    add_group(l, loaded(load(group)), v_set(0), 0);
    carry_on(t, l, 0);
}

/* Values before the first one that starts a vector in memory: a load across two lines of the cache
 * takes twice as long, which float32 cannot hide. */
VECTOR_INLINE size_t head_of(const unsigned char *at, size_t n, size_t bytes)
{
    size_t head = bytes == 4 ? (0 - (uintptr_t)at) % (4 * FLOATS) / 4 : 0;
    return head < n ? head : n;
}

VECTOR_INLINE void vector_moments(struct plumb_moments *out, const unsigned char *at, size_t n,
                                  float pivot, size_t bytes, load_fn load, one_fn one,
                                  unsigned flags)
{
    const vec zero = v_set(0), from = v_set(pivot);
    const size_t head = head_of(at, n, bytes), groups = (n - head) / GROUP;
    const size_t stream = stream_of(groups, bytes);
    const unsigned char *body = at + head * bytes, *rest = body + groups * GROUP * bytes;
    size_t left = (n - head) % GROUP;
    struct totals t = {w_zero(), w_zero(), w_zero()};
    struct partial l = {.sum = zero, .abs_sum = zero, .squares = zero, .zeros = t_zero()};
    l.min = l.max = v_set((float)one(at));
    for (size_t g = 0; g < groups;) {
        size_t end = groups - g < DEPTH ? groups : g + DEPTH;
        for (; g < end; g++) {
            const unsigned char *here = body + place(g, stream) * GROUP * bytes;
            prefetch(here, GROUP * bytes, bytes == 4 && !(flags & PLUMB_MOMENTS_SPREAD));
            add_group(&l, loaded(load(here)), from, flags);
        }
        carry_on(&t, &l, flags);
    }
    if (flags == 0 && left >= SOME) { /* one by one, fewer are quicker */
        add_part(&t, &l, rest, left, bytes, load);
        left = 0;
    }
    *out = (struct plumb_moments){w_sum(t.sum),   w_sum(t.abs_sum), w_sum(t.squares),
                                  v_least(l.min), v_most(l.max),    t_sum(l.zeros)};
    add_rest(out, at, head, bytes, pivot, one, flags);
    add_rest(out, rest, left, bytes, pivot, one, flags);
}

VECTOR_INLINE double one_f32(const unsigned char *at)
{
    float x;
    memcpy(&x, at, sizeof x);
    return x;
}

VECTOR_INLINE double one_f16(const unsigned char *at)
{
    uint16_t x;
    memcpy(&x, at, sizeof x);
    return plumb_from_f16(x);
}

VECTOR_INLINE double one_bf16(const unsigned char *at)
{
    uint16_t x;
    memcpy(&x, at, sizeof x);
    return plumb_from_bf16(x);
}

#define VECTOR_VARIANT(type, bytes, flags)                                                         \
    static void type##_##flags(struct plumb_moments *out, const void *values, size_t n,            \
                               float pivot)                                                        \
    {                                                                                              \
        vector_moments(out, values, n, pivot, bytes, load_##type, one_##type, flags);              \
    }

#define VECTOR_VARIANTS(type, bytes)                                                               \
    VECTOR_VARIANT(type, bytes, 0)                                                                 \
    VECTOR_VARIANT(type, bytes, 1)                                                                 \
    VECTOR_VARIANT(type, bytes, 2)                                                                 \
    VECTOR_VARIANT(type, bytes, 3)                                                                 \
    VECTOR_VARIANT(type, bytes, 5)                                                                 \
    VECTOR_VARIANT(type, bytes, 7)

#define VECTOR_TABLE(type) VECTOR_TABLE_WITH(type, type##_0)
/* With a function of the file's own for plain sums. */
#define VECTOR_TABLE_WITH(type, sums)                                                              \
    {                                                                                              \
        sums, type##_1, type##_2, type##_3, NULL, type##_5, NULL, type##_7                         \
    }

VECTOR_VARIANTS(f32, 4)
VECTOR_VARIANTS(f16, 2)
VECTOR_VARIANTS(bf16, 2)

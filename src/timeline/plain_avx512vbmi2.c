/* plain_avx512vbmi2.c: plain.h, eight records at a time.
 *
 * Eight words give eight times, eight names, and which of them begin a span. What differs from one
 * packet to the next is gathered in eight bytes each; a byte permutation sets them into packets
 * that have room for the longest of each part, four packets a register, and one instruction closes
 * the rows over the bytes that a packet does not have. So neither lengths nor the order of begins
 * and ends cost a branch.
 *
 *   narrow, 16 bytes:  0a LEN 40 t0 t1 (t2) 50 sequence 68 02 5a LEN 48 TYPE (50 name)
 *   wide, 32 bytes:    the same where numbers of sequences or names are longer (from 128 on)
 *
 * Times come out as those of one multiplication a record: ticks * ns_per_tick >> 32 is the upper
 * half of IFMA's product of both, shifted by 20 bits between them.
 *
 * Eight records are taken together or not at all: how far to go on is known before they are looked
 * at, so the processor begins with the next eight meanwhile. */
#include <immintrin.h>
#include <string.h>

#include "base/atomic.h"
#include "timeline/plain.h"

enum {
    RECORDS = 8,
    TOUCHES = RECORDS * 24 + 64, /* bytes that eight packets may scribble on */
    TAIL_NARROW = 8
};

/* Bytes of a lane, from the lowest: what differs between packets. */
#define LANE(len, t0, t1, t2, event, type, n0, n1)                                                 \
    ((uint64_t)(len) | (uint64_t)(t0) << 8 | (uint64_t)(t1) << 16 | (uint64_t)(t2) << 24 |         \
     (uint64_t)(event) << 32 | (uint64_t)(type) << 40 | (uint64_t)(n0) << 48 |                     \
     (uint64_t)(n1) << 56)

/* A constant that the compiler does not know: it stays in a register, and is not made anew for each
 * eight records on the port that is the scarcest. */
static PLUMB_ALWAYS_INLINE __m512i keep(__m512i x)
{
    __asm__("" : "+v"(x));
    return x;
}

/* The same of what is taken out of a mask register, for which there is one port as well. */
static PLUMB_ALWAYS_INLINE uint32_t out_of(__mmask8 mask)
{
    uint32_t bits = mask;
    __asm__("" : "+r"(bits));
    return bits;
}

static PLUMB_ALWAYS_INLINE __m512i all(uint64_t v)
{
    return keep(_mm512_set1_epi64((int64_t)v));
}

/* How packets are put together. */
struct shape {
    __m512i bytes;      /* what all have */
    __m512i from, then; /* byte of the lanes, for those set in `differs`; of the next register */
    __mmask64 differs;
    uint64_t always; /* bytes that every packet has; a bit a packet of others: */
    uint64_t late, name, second;
};

/* What does not change between records. */
struct encoder {
    __m512i rate, from;                                             /* of times */
    __m512i one, high_times, other_names, upper_names, three_bytes; /* of choices */
    __m512i told[2], ids;
    __m512i name, sevens, values, begin, end, late; /* of lanes */
    struct shape shape;
    const uint64_t *bits; /* of names that are told */
};

/* What does. */
struct place {
    unsigned char *p;
    __m512i last; /* times, of the records before */
    uint32_t depth;
};

/* ---- Shapes ---------------------------------------------------------------------------------- */

static PLUMB_ALWAYS_INLINE struct shape narrow_shape(const struct plumb_pf_sequence *seq)
{
    __m128i bytes = _mm_setr_epi8(0x0a, 0, 0x40, 0, 0, 0, 0x50, (char)seq->end[1], 0x68, 2, 0x5a, 0,
                                  0x48, 0, 0x50, 0);
    __m512i from = _mm512_add_epi8(
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 4, 0, 5, 0, 6)),
        _mm512_setr_epi64(0, 0, 0x0808080808080808, 0x0808080808080808, 0x1010101010101010,
                          0x1010101010101010, 0x1818181818181818, 0x1818181818181818));
    return (struct shape){
        .bytes = keep(_mm512_broadcast_i32x4(bytes)),
        .from = keep(from),
        .then = keep(_mm512_add_epi8(from, _mm512_set1_epi8(32))),
        .differs = 0xa83aa83aa83aa83a,
        .always = 0x3fdf3fdf3fdf3fdf,
        .late = 0x0020002000200020,
        .name = 0x4000400040004000,
    };
}

static struct shape wide_shape(const struct plumb_pf_sequence *seq)
{
    const uint64_t both = UINT64_C(0x100000001), tail = seq->tail;
    unsigned char bytes[64] = {0}, from[64] = {0};
    struct shape s = {.late = both << 5, .name = both << (6 + tail), .second = both << (8 + tail)};
    for (size_t at = 0; at < 64; at += 32) {
        const size_t places[] = {1, 3, 4, 5, 6 + tail - 3, 6 + tail - 1, 7 + tail, 8 + tail};
        bytes[at] = 0x0a;
        bytes[at + 2] = 0x40;
        memcpy(&bytes[at + 6], seq->end, tail);
        bytes[at + 6 + tail] = 0x50;
        for (size_t i = 0; i < 8; i++) {
            from[at + places[i]] = (unsigned char)(at / 4 + i);
            s.differs |= UINT64_C(1) << (at + places[i]);
        }
    }
    s.bytes = _mm512_loadu_si512(bytes);
    s.from = _mm512_loadu_si512(from);
    s.then = _mm512_add_epi8(s.from, _mm512_set1_epi8(16));
    s.always = (s.name - both) & ~s.late;
    return s;
}

static PLUMB_ALWAYS_INLINE struct encoder encoder_open(const struct plumb_trace_plain *t)
{
    const uint64_t tail = t->run->seq->tail, *bits = t->run->seq->told[PLUMB_PF_NAMES].bits;
    return (struct encoder){
        /* Both with a bit or more to spare, so that nothing is lost when they are shifted. */
        .rate = all(t->clock->ns_per_tick << 19),
        .from = all((t->base - t->clock->ticks0) << 1),
        .one = all(1),
        .high_times = all(~UINT64_C(0x1fffff)),
        .three_bytes = all((1u << 14) - 1),
        .other_names = all(UINT64_C(0x3ffe00)),
        .upper_names = all(64 << 2),
        .name = all(UINT64_C(0xfffff) << 32),
        .sevens = all(LANE(0, 0, 7, 14, 0, 0, 32, 39)),
        .values = all(LANE(0, 0x7f, 0x7f, 0x7f, 0, 0, 0x7f, 0x7f)),
        .begin = all(LANE(3 + tail + 2, 0x80, 0, 0, 4, PLUMB_PF_BEGIN, 0, 0)),
        .end = all(LANE(3 + tail, 0x80, 0, 0, 2, PLUMB_PF_END, 0, 0)),
        .late = all(LANE(1, 0, 0x80, 0, 0, 0, 0, 0)),
        .told = {all(bits[0]), all(bits[1])},
        .ids = all(t->ids),
        .bits = bits,
    };
}

/* ---- Packets --------------------------------------------------------------------------------- */

static PLUMB_ALWAYS_INLINE unsigned char *put_row(unsigned char *p, const struct shape *s,
                                                  __m512i lanes, __m512i from, uint64_t mask)
{
    __m512i row = _mm512_mask_permutexvar_epi8(s->bytes, s->differs, from, lanes);
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi8(mask, row));
    return p + _mm_popcnt_u64(mask);
}

static PLUMB_ALWAYS_INLINE unsigned char *put_narrow(unsigned char *p, const struct shape *s,
                                                     __m512i lanes, uint32_t count, uint32_t begin,
                                                     uint32_t late)
{
    uint64_t low = s->always | _pdep_u64(late, s->late) | _pdep_u64(begin, s->name) * 3;
    uint64_t high = s->always | _pdep_u64(late >> 4, s->late) | _pdep_u64(begin >> 4, s->name) * 3;
    if (count < RECORDS) {
        low = _bzhi_u64(low, 16 * count);
        high = _bzhi_u64(high, count > 4 ? 16 * count - 64 : 0);
    }
    p = put_row(p, s, lanes, s->from, low);
    return put_row(p, s, lanes, s->then, high);
}

static PLUMB_ALWAYS_INLINE unsigned char *put_wide(unsigned char *p, const struct shape *s,
                                                   __m512i lanes, uint32_t count, uint32_t begin,
                                                   uint32_t late, uint32_t second)
{
    __m512i from = s->from, step = _mm512_sub_epi8(s->then, s->from);
    lanes =
        _mm512_mask_add_epi64(lanes, (__mmask8)second, lanes, all(LANE(1, 0, 0, 0, 1, 0, 0x80, 0)));
    for (uint32_t i = 0; i < count; i += 2) {
        uint64_t mask = s->always | _pdep_u64(late >> i, s->late) |
                        _pdep_u64(begin >> i, s->name) * 3 | _pdep_u64(second >> i, s->second);
        p = put_row(p, s, lanes, from, count - i < 2 ? (uint32_t)mask : mask);
        from = _mm512_add_epi8(from, step);
    }
    return p;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Words whose bit `node` % 64 says whether the sequence has told the name. */
static PLUMB_ALWAYS_INLINE __m512i told_words(const struct encoder *e, __m512i w, bool narrow)
{
    __m512i node;
    if (narrow)
        return _mm512_mask_blend_epi64(_mm512_test_epi64_mask(w, e->upper_names), e->told[0],
                                       e->told[1]);
    node = _mm512_srli_epi64(_mm512_slli_epi64(w, PLUMB_TICK_BITS), PLUMB_TICK_BITS + 2);
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(),
                                       _mm512_cmplt_epu64_mask(node, e->ids),
                                       _mm512_srli_epi64(node, 6), e->bits, 8);
}

/* Not zero: some are not begins and ends of plain spans as this loop takes them. */
static PLUMB_ALWAYS_INLINE uint32_t bad_ones(const struct encoder *e, __m512i w, __m512i delta,
                                             bool narrow)
{
    __m512i bad = _mm512_and_si512(delta, e->high_times);
    __m512i told = _mm512_rorv_epi64(told_words(e, w, narrow), _mm512_srli_epi64(w, 2));
    if (narrow)
        bad = _mm512_ternarylogic_epi64(bad, w, e->other_names, 0xf8); /* a | (b & c) */
    /* The lowest bit: one of both is set in the kinds, and it is no begin or its name is told:
     * ~((b ^ c) & (a | ~b)). */
    told = _mm512_ternarylogic_epi64(told, w, _mm512_srli_epi64(w, 1), 0x9d);
    bad = _mm512_ternarylogic_epi64(bad, told, e->one, 0xf8);
    return _mm512_test_epi64_mask(bad, bad);
}

/* The eight bytes of each packet. */
static PLUMB_ALWAYS_INLINE __m512i lanes_of(const struct encoder *e, __m512i w, __m512i delta,
                                            __mmask8 begin, __mmask8 late)
{
    __m512i v = _mm512_ternarylogic_epi64(_mm512_slli_epi64(w, 30), e->name, delta, 0xea);
    v = _mm512_multishift_epi64_epi8(e->sevens, v);
    v = _mm512_ternarylogic_epi64(v, e->values, _mm512_mask_blend_epi64(begin, e->end, e->begin),
                                  0xea); /* (a & b) | c */
    return _mm512_mask_add_epi64(v, late, v, e->late);
}

/* Spans that stay open; returns how many. */
static __attribute__((noinline)) uint32_t open_frames(const struct plumb_trace_plain *t,
                                                      const uint64_t *words, uint32_t opens,
                                                      uint32_t depth)
{
    struct plumb_trace_state *s = t->state;
    struct plumb_trace_frame *f = &s->frames[depth];
    for (; opens; opens &= opens - 1) {
        uint64_t word = words[__builtin_ctz(opens)];
        f++;
        f->begin_ticks = t->base + plumb_record_ticks(word);
        f->key = (uint64_t)s->group << PLUMB_NODE_BITS | plumb_record_node(word);
        f->step = s->step;
        f->flags = PLUMB_TRACE_SHOWN;
    }
    return (uint32_t)(f - s->frames) - depth;
}

/* `count` records, 1 to 8; false: none. */
static PLUMB_ALWAYS_INLINE bool some(struct place *at, const struct encoder *e,
                                     const struct plumb_trace_plain *t, const uint64_t *words,
                                     uint32_t count, uint32_t floor, bool narrow)
{
    uint32_t there = _bzhi_u32(0xff, count), begins, row, opens, closes;
    __m512i w = count == RECORDS ? _mm512_loadu_si512(words)
                                 : _mm512_maskz_loadu_epi64((__mmask8)there, words);
    /* Twice the ticks: the bit below them belongs to nodes that have no such name. */
    __m512i ns = _mm512_madd52hi_epu64(
        _mm512_setzero_si512(), _mm512_add_epi64(_mm512_srli_epi64(w, 21), e->from), e->rate);
    __m512i delta = _mm512_sub_epi64(ns, _mm512_alignr_epi64(ns, at->last, 7)), lanes;
    __mmask8 begin = _mm512_test_epi64_mask(w, e->one);
    __mmask8 late = _mm512_cmpgt_epu64_mask(delta, e->three_bytes);
    __builtin_prefetch((const void *)((uintptr_t)words + t->ahead));
    if (PLUMB_UNLIKELY(bad_ones(e, w, delta, narrow) & there))
        return false;
    begins = out_of(begin);
    row = count == RECORDS ? begins : (begins | ~there) & 0xff;
    if (row != 0x55) { /* not four spans side by side */
        opens = t->nesting->opens[row] & there;
        closes = t->nesting->closes[row];
        if (PLUMB_UNLIKELY(closes > at->depth - floor ||
                           (opens && at->depth + RECORDS >= PLUMB_TRACE_DEPTH - 1)))
            return false;
        at->depth -= closes;
        if (opens)
            at->depth += open_frames(t, words, opens, at->depth);
    }
    lanes = lanes_of(e, w, delta, begin, late);
    if (narrow)
        at->p = put_narrow(at->p, &e->shape, lanes, count, begins, out_of(late));
    else
        at->p = put_wide(at->p, &e->shape, lanes, count, begins, out_of(late),
                         begin & _mm512_test_epi64_mask(w, e->other_names));
    at->last = ns;
    return true;
}

static PLUMB_ALWAYS_INLINE uint32_t encode(struct plumb_trace_plain *t, const uint64_t *words,
                                           uint32_t n, const struct encoder *e, bool narrow)
{
    const unsigned char *end = t->run->end - TOUCHES;
    uint32_t floor = plumb_trace_plain_floor(t->state), i = 0;
    struct place at = {.p = t->run->p,
                       .last = _mm512_set1_epi64((int64_t)(t->run->last_ns - t->clock->ns0)),
                       .depth = t->state->depth};
    if (t->run->end - t->run->p < TOUCHES)
        return 0;
    while (n - i >= RECORDS && at.p <= end && some(&at, e, t, words + i, RECORDS, floor, narrow))
        i += RECORDS;
    if (n - i < RECORDS && i < n && at.p <= end && some(&at, e, t, words + i, n - i, floor, narrow))
        i = n;
    if (!i)
        return 0;
    /* Each begin has moved the depth up, each end down. */
    t->spans += (i + t->state->depth - at.depth) / 2;
    t->state->depth = at.depth;
    t->run->p = at.p;
    at.last = _mm512_permutexvar_epi64(_mm512_set1_epi64((i - 1) % RECORDS), at.last);
    t->run->last_ns = t->clock->ns0 + (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(at.last));
    return i;
}

static __attribute__((noinline)) uint32_t encode_wide(struct plumb_trace_plain *t,
                                                      const uint64_t *words, uint32_t n)
{
    struct encoder e = encoder_open(t);
    e.shape = wide_shape(t->run->seq);
    return encode(t, words, n, &e, false);
}

/* Whether numbers are to blame that the next records could not be taken. */
static bool needs_wide(const struct plumb_trace_plain *t, const uint64_t *words, uint32_t n)
{
    if (t->run->seq->tail != TAIL_NARROW)
        return true;
    for (uint32_t i = 0; i < n && i < RECORDS; i++)
        if ((words[i] & 3) == PLUMB_REC_BEGIN && plumb_record_node(words[i]) >= 128)
            return true;
    return false;
}

uint32_t plumb_trace_plain_avx512vbmi2(struct plumb_trace_plain *t, const uint64_t *words,
                                       uint32_t n)
{
    const struct plumb_trace_clock *c = t->clock;
    uint32_t at = 0;
    if (plumb_trace_plain_floor(t->state) == UINT32_MAX || t->base < c->ticks0)
        return 0;
    if (!((t->base - c->ticks0) >> 50 || c->ns_per_tick >> 33)) {
        if (t->run->seq->tail == TAIL_NARROW) {
            struct encoder e = encoder_open(t);
            e.shape = narrow_shape(t->run->seq);
            at = encode(t, words, n, &e, true);
        }
        if (at < n && needs_wide(t, words + at, n - at))
            at += encode_wide(t, words + at, n - at);
    }
    /* What is in the way is among the next eight; those before it. */
    n -= at;
    return n ? at + plumb_trace_plain_scalar(t, words + at, n < RECORDS ? n : RECORDS) : at;
}

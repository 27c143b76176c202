/* clock.c: see clock.h. Between two jumps the counter and the clock advance together. Such a piece
 * has an anchor at each end, and a reading is converted from the nearer one. */
#include "live/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live/merge.h"
#include "model/timing.h"

/* ---- Taking ---------------------------------------------------------------------------------- */

void plumb_live_clock_begin(struct plumb_live_header *h)
{
    plumb_clock_line_begin(&h->now[0], &h->early, &h->start);
    h->anchor = 0;
}

/* CLOCK_MONOTONIC may be steered by more than the tolerance of a jump, and never jumps. */
static bool can_jump(const struct plumb_live_header *h)
{
    return h->clock_source != PLUMB_CLOCK_GETTIME;
}

static enum plumb_clock_step advance(struct plumb_clock_point *out,
                                     const struct plumb_live_header *h,
                                     const struct plumb_clock_point *p,
                                     const struct plumb_anchor *a, struct plumb_clock_jump *jump)
{
    if (can_jump(h))
        return plumb_clock_line_advance(out, p, a, jump);
    *out = *p;
    out->at = *a;
    out->ticks += a->ticks - p->at.ticks;
    out->raw_ns += a->raw_ns - p->at.raw_ns;
    return PLUMB_CLOCK_FITS;
}

typedef uint64_t __attribute__((may_alias)) word;
_Static_assert(sizeof(struct plumb_clock_point) % sizeof(word) == 0, "whole words");
enum { POINT_WORDS = sizeof(struct plumb_clock_point) / sizeof(word), TRIES = 100 };

static void point_put(struct plumb_clock_point *to, const struct plumb_clock_point *from)
{
    const word *f = (const word *)(const void *)from;
    word *t = (word *)(void *)to;
    for (int i = 0; i < POINT_WORDS; i++)
        PLUMB_STORE(t[i], f[i]);
}

/* Copies the newest point. Another thread may be taking an anchor: it writes to the place that does
 * not hold the newest point. */
static void point_get(struct plumb_clock_point *to, const struct plumb_live_header *h)
{
    word *t = (word *)(void *)to;
    for (int tries = 0; tries < TRIES; tries++) {
        uint32_t anchor = PLUMB_ACQUIRE(h->anchor);
        const word *f = (const word *)(const void *)&h->now[anchor & 1];
        for (int i = 0; i < POINT_WORDS; i++)
            t[i] = PLUMB_ACQUIRE(f[i]);
        if (PLUMB_LOAD(h->anchor) == anchor)
            return;
    }
}

bool plumb_live_clock_take(struct plumb_live_header *h, const struct plumb_anchor *a)
{
    uint32_t now = h->anchor, next = now + 1;
    struct plumb_clock_point point;
    bool jumped = advance(&point, h, &h->now[now & 1], a, h->jump) == PLUMB_CLOCK_JUMPED;
    point_put(&h->now[next & 1], &point);
    PLUMB_RELEASE(h->anchor, next);
    return jumped;
}

/* ---- The rate -------------------------------------------------------------------------------- */

/* A rate that was reported is kept until a later one is BETTER times as exact. A rate with a larger
 * error than TOLD_PPM_MOST is not kept at all. */
enum { BETTER = 4, TOLD_PPM_MOST = 10 };

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double real_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void plumb_live_tick_keep(struct plumb_live_header *h, double tick_ns, double ppm)
{
    PLUMB_STORE(h->told_tick_ns, bits_of(tick_ns));
    PLUMB_STORE(h->told_ppm, bits_of(ppm));
}

static bool keeps_told(const struct plumb_live_header *h, double rate, double ppm)
{
    double told = real_of(PLUMB_LOAD(h->told_tick_ns));
    double told_ppm = real_of(PLUMB_LOAD(h->told_ppm));
    return told_ppm > 0 && told_ppm <= TOLD_PPM_MOST && ppm * BETTER > told_ppm &&
           fabs(rate - told) <= rate * (ppm + told_ppm) * 1e-6;
}

double plumb_live_tick_ns(const struct plumb_live_header *h, const struct plumb_anchor *end,
                          double *ppm)
{
    struct plumb_clock_point p;
    double rate;
    point_get(&p, h);
    if (end)
        advance(&p, h, &p, end, NULL);
    rate = plumb_clock_line_rate(&p, ppm);
    if (keeps_told(h, rate, *ppm)) {
        rate = real_of(PLUMB_LOAD(h->told_tick_ns));
        *ppm = real_of(PLUMB_LOAD(h->told_ppm));
    }
    if (h->clock_source == PLUMB_CLOCK_TSC)
        return rate > 0 ? rate : 1;
    *ppm = 0;
    return 1;
}

struct plumb_anchor plumb_live_clock_newest(const struct plumb_live_header *h)
{
    struct plumb_clock_point p;
    point_get(&p, h);
    return p.at;
}

static uint32_t jumps_of(const struct plumb_live_header *h)
{
    struct plumb_clock_point p;
    point_get(&p, h);
    return p.jumps;
}

/* ---- Places in time -------------------------------------------------------------------------- */

struct piece {
    const struct plumb_anchor *from, *to;
};

static const struct plumb_clock_jump *jump_at(const struct plumb_live_header *h, uint32_t number)
{
    return &h->jump[(number - 1) % PLUMB_CLOCK_JUMPS];
}

static uint64_t distance(const struct piece *p, uint64_t ticks)
{
    if (ticks < p->from->ticks)
        return p->from->ticks - ticks;
    return ticks > p->to->ticks ? ticks - p->to->ticks : 0;
}

/* The nearest; of several the newest. */
static uint32_t piece_of(struct piece *out, const struct plumb_live_header *h,
                         const struct plumb_anchor *end, uint64_t ticks)
{
    uint32_t jumps = jumps_of(h), best = jumps;
    uint32_t oldest = jumps > PLUMB_CLOCK_JUMPS ? jumps - PLUMB_CLOCK_JUMPS : 0;
    uint64_t least = UINT64_MAX;
    *out = (struct piece){&h->early, end};
    for (uint32_t k = jumps + 1; k-- > oldest && least;) {
        struct piece p = {k > oldest ? &jump_at(h, k)->after : &h->early,
                          k < jumps ? &jump_at(h, k + 1)->before : end};
        /* Of the piece before the oldest jump that is kept, the end is known. */
        if (k == oldest && oldest > 0)
            p.from = p.to;
        if (distance(&p, ticks) < least) {
            least = distance(&p, ticks);
            best = k;
            *out = p;
        }
    }
    return best;
}

static uint64_t moved(uint64_t ns, uint64_t from, uint64_t to, double tick_ns)
{
    uint64_t by = plumb_ticks_to_ns(to > from ? to - from : from - to, tick_ns);
    if (to >= from)
        return ns + by;
    return by < ns ? ns - by : 0;
}

/* The end of the piece that is nearer to `ticks`. */
static const struct plumb_anchor *nearer(const struct piece *p, uint64_t ticks)
{
    return ticks >= p->to->ticks || ticks > p->from->ticks / 2 + p->to->ticks / 2 ? p->to : p->from;
}

static bool has_jumped(const struct plumb_live_header *h)
{
    return jumps_of(h) > 0;
}

uint64_t plumb_live_at_ns(const struct plumb_live_header *h, const struct plumb_anchor *end,
                          double tick_ns, uint64_t ticks)
{
    const struct plumb_anchor *a;
    struct piece p;
    uint64_t ns;
    if (!has_jumped(h))
        return ticks > h->start.ticks ? plumb_ticks_to_ns(ticks - h->start.ticks, tick_ns) : 0;
    piece_of(&p, h, end, ticks);
    a = nearer(&p, ticks);
    ns = moved(a->raw_ns, a->ticks, ticks, tick_ns);
    return ns > h->start.raw_ns ? ns - h->start.raw_ns : 0;
}

uint64_t plumb_live_unix_ns(const struct plumb_live_header *h, const struct plumb_anchor *end,
                            double tick_ns, uint64_t ticks)
{
    const struct plumb_anchor *a = end;
    struct piece p;
    if (has_jumped(h)) {
        piece_of(&p, h, end, ticks);
        a = nearer(&p, ticks);
    } else if (ticks > end->ticks) {
        return end->unix_ns;
    }
    return moved(a->unix_ns, a->ticks, ticks, tick_ns);
}

bool plumb_live_is_newest(const struct plumb_live_header *h, uint64_t ticks)
{
    const struct plumb_anchor newest = plumb_live_clock_newest(h);
    struct piece p;
    return !has_jumped(h) || piece_of(&p, h, &newest, ticks) == jumps_of(h);
}

/* ---- What a reader has to know --------------------------------------------------------------- */

static void note_jump(struct plumb_timing *t, const struct plumb_live_header *h, uint32_t number,
                      double tick_ns)
{
    const struct plumb_clock_jump *j = jump_at(h, number);
    double at = (double)(j->before.raw_ns - h->start.raw_ns) * 1e-9;
    double by = plumb_clock_jump_ns(j, tick_ns) * 1e-9;
    if (by >= 0)
        plumb_timing_note(
            t, plumb_arena_printf(
                   &t->arena,
                   "%.3f s after the start the machine was suspended, paused or moved, and "
                   "its counter went on for %.3f s: spans that were open then have them",
                   at, by));
    else
        plumb_timing_note(t,
                          plumb_arena_printf(
                              &t->arena,
                              "%.3f s after the start the machine was suspended or moved, and its "
                              "counter was set back: spans that were open then are recorded as 0 s",
                              at));
}

void plumb_live_clock_note(struct plumb_timing *t, const struct plumb_live_header *h,
                           double tick_ns)
{
    enum { SHOWN = 5 };
    struct plumb_clock_point p;
    double now, ppm;
    uint32_t jumps, first;
    point_get(&p, h);
    jumps = p.jumps;
    first = jumps > PLUMB_CLOCK_JUMPS ? jumps - PLUMB_CLOCK_JUMPS : 0;
    if (!jumps)
        return;
    t->clock.jumps = jumps;
    for (uint32_t k = first + 1; k <= jumps && k <= first + SHOWN; k++)
        note_jump(t, h, k, tick_ns);
    if (jumps > SHOWN)
        plumb_timing_note(
            t, plumb_arena_printf(&t->arena, "its counter jumped %" PRIu32 " times in all", jumps));
    if (p.flags & PLUMB_CLOCK_CHANGED) {
        p.ticks = p.now_ticks;
        p.raw_ns = p.now_ns;
        now = plumb_clock_line_rate(&p, &ppm);
        plumb_timing_note(
            t, plumb_arena_printf(
                   &t->arena,
                   "its counter runs at another rate since: what was measured after that "
                   "shows %.4g times its duration",
                   now > 0 ? tick_ns / now : 1));
    }
}

/* ---- The last moment ------------------------------------------------------------------------- */

/* Anchors are a second apart, so the newest reading of the counter is searched for in every place
 * that keeps one. The mapping may be damaged: every offset goes through plumb_live_at(), and
 * invalid readings are left out. */

/* Eight days of the fastest counters: no process lives that long without an anchor, and a damaged
 * file may hold anything. */
#define PLUMB_TICKS_BEYOND (UINT64_C(8) * 86400 * 1000000000)

struct newest {
    const struct plumb_merge *m;
    uint64_t from, ticks;
};

static void see(struct newest *n, uint64_t ticks)
{
    if (ticks > n->ticks && ticks - n->from < PLUMB_TICKS_BEYOND &&
        plumb_live_is_newest(n->m->view.h, ticks))
        n->ticks = ticks;
}

static void see_block(struct newest *n, const uint64_t *words)
{
    const uint64_t *w = words + PLUMB_BLOCK_HEAD, *end = words + PLUMB_BLOCK_WORDS;
    uint64_t base = PLUMB_LOAD(words[0]);
    while (w < end) {
        uint64_t record = PLUMB_LOAD(*w);
        uint32_t words_of = (record & 3) == PLUMB_REC_WIDE ? (uint32_t)(record >> 8) & 255 : 1;
        if ((record & 3) == PLUMB_REC_NONE || words_of == 0 || words_of > end - w)
            return;
        see(n, base + plumb_record_ticks(record));
        w += words_of;
    }
}

/* The blocks that are not folded yet, or whose fold was not finished. */
static void see_ring(struct newest *n, const struct plumb_live_thread *th)
{
    for (uint32_t i = 1; i <= th->blocks; i++) {
        uint64_t number = th->folded + i;
        const uint64_t *words =
            plumb_live_at(&n->m->view, th->ring_off + number % th->blocks * PLUMB_BLOCK_WORDS * 8,
                          PLUMB_BLOCK_WORDS * 8);
        if (!words || PLUMB_ACQUIRE(words[1]) != number)
            return;
        see_block(n, words);
    }
}

static void see_thread(struct newest *n, const struct plumb_live_thread *th)
{
    uint64_t off = th->state_off;
    for (uint32_t d = 1; d <= th->context.depth && d <= PLUMB_DEPTH_MAX; d++)
        see(n, th->frames[d].begin_ticks);
    for (uint32_t left = th->states; off && left; left--) {
        const struct plumb_live_state *st = plumb_live_at(&n->m->view, off, sizeof *st);
        if (!st)
            break;
        see(n, st->last_at);
        off = st->next_off;
    }
    see_ring(n, th);
}

static void see_async(struct newest *n)
{
    for (uint32_t c = 0; c < PLUMB_ASYNC_CHUNKS && n->m->view.h->async_off[c]; c++) {
        const struct plumb_live_async *a =
            plumb_live_at(&n->m->view, n->m->view.h->async_off[c], PLUMB_ASYNC_CHUNK * sizeof *a);
        for (uint32_t i = 0; a && i < PLUMB_ASYNC_CHUNK; i++)
            if (a[i].state & PLUMB_ASYNC_OPEN)
                see(n, a[i].begin_ticks);
    }
}

/* Looks at two readings in each element of a table, at these offsets. */
static void see_table(struct newest *n, const struct plumb_live_table *t, size_t bytes, size_t one,
                      size_t other)
{
    for (uint32_t i = 0; i < t->count && i < n->m->view.bytes / bytes; i++) {
        const unsigned char *e = plumb_live_element(&n->m->view, t, i, (uint32_t)bytes);
        if (!e)
            return;
        see(n, *(const uint64_t *)(const void *)(e + one));
        see(n, *(const uint64_t *)(const void *)(e + other));
    }
}

uint64_t plumb_live_newest_ticks(const struct plumb_merge *m, const struct plumb_anchor *last)
{
    const struct plumb_live_header *h = m->view.h;
    struct newest n = {m, last->ticks, last->ticks};
    uint64_t off = h->thread_off;
    size_t most = m->view.bytes / sizeof(struct plumb_live_thread) + 1;
    see(&n, PLUMB_LOAD(h->seen_ticks));
    see(&n, h->frozen_ticks);
    while (off && most--) {
        const struct plumb_live_thread *th = plumb_live_at(&m->view, off, sizeof *th);
        if (!th)
            break;
        see_thread(&n, th);
        off = th->next_off;
    }
    see_async(&n);
    see_table(&n, &h->requests, sizeof(struct plumb_live_request),
              offsetof(struct plumb_live_request, begin_ticks),
              offsetof(struct plumb_live_request, end_ticks));
    see_table(&n, &h->checkpoints, sizeof(struct plumb_live_checkpoint),
              offsetof(struct plumb_live_checkpoint, at_ticks),
              offsetof(struct plumb_live_checkpoint, at_ticks));
    see_table(&n, &h->intervals, sizeof(struct plumb_live_interval),
              offsetof(struct plumb_live_interval, on_ticks),
              offsetof(struct plumb_live_interval, off_ticks));
    return n.ticks;
}

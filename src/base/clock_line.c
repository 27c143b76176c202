/* clock_line.c: see clock_line.h. Sums are taken modulo 2^64, so that a counter that was set back
 * needs no case of its own. */
#include "base/clock_line.h"

#include <string.h>

/* The tolerated error of an interval: clocks that the kernel steers move by up to 500 ppm. */
#define TOLERANCE 1e-3
#define TOLERANCE_NS 1000.0
/* A base with a larger relative error is not used. */
#define USEFUL_ERROR 0.02

static double difference(uint64_t a, uint64_t b)
{
    return (double)(int64_t)(a - b);
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

void plumb_clock_line_begin(struct plumb_clock_point *out, const struct plumb_anchor *first,
                            const struct plumb_anchor *at)
{
    memset(out, 0, sizeof *out);
    out->at = *at;
    out->ticks = out->now_ticks = at->ticks - first->ticks;
    out->raw_ns = out->now_ns = at->raw_ns - first->raw_ns;
    out->width_ns = first->half_width_ns;
}

static double rate_of(uint64_t ticks, uint64_t ns)
{
    double t = difference(ticks, 0), n = difference(ns, 0);
    return t > 0 && n > 0 ? n / t : 0;
}

double plumb_clock_line_rate(const struct plumb_clock_point *p, double *ppm)
{
    double rate = rate_of(p->ticks, p->raw_ns);
    *ppm = rate > 0 ? (double)(p->width_ns + p->at.half_width_ns) / (double)p->raw_ns * 1e6 : 1e6;
    return rate;
}

/* The relative error of the rate; 1: the rate is not known. */
static double error_of(const struct plumb_clock_point *p)
{
    double width = (double)p->width_ns + (double)p->at.half_width_ns;
    return rate_of(p->now_ticks, p->now_ns) > 0 ? width / (double)p->now_ns : 1;
}

/* Returns whether the clock moved by as much as the counter and the rate predict. */
static bool fits(const struct plumb_clock_point *p, const struct plumb_anchor *to)
{
    double rate = rate_of(p->now_ticks, p->now_ns), ns = difference(to->raw_ns, p->at.raw_ns);
    double width = (double)p->at.half_width_ns + (double)to->half_width_ns, error = error_of(p);
    if (error > USEFUL_ERROR)
        return difference(to->ticks, p->at.ticks) >= 0 && ns >= 0;
    return magnitude(difference(to->ticks, p->at.ticks) * rate - ns) <=
           width + ns * (TOLERANCE + error) + TOLERANCE_NS;
}

/* Discards the base: the rate is measured from the newest anchor on. */
static void forget_base(struct plumb_clock_point *p)
{
    p->ticks = p->raw_ns = p->now_ticks = p->now_ns = 0;
    p->width_ns = p->at.half_width_ns;
}

/* Returns whether the newest interval, taken for a jump, and the one up to `to` have the same
 * rate. */
static bool agree(const struct plumb_clock_jump *j, const struct plumb_anchor *to)
{
    double t0 = difference(j->after.ticks, j->before.ticks),
           t1 = difference(to->ticks, j->after.ticks);
    double n0 = difference(j->after.raw_ns, j->before.raw_ns);
    double n1 = difference(to->raw_ns, j->after.raw_ns);
    double w0 = (double)j->before.half_width_ns + (double)j->after.half_width_ns;
    double w1 = (double)j->after.half_width_ns + (double)to->half_width_ns;
    if (!(t0 > 0 && t1 > 0 && n0 > 0 && n1 > 0))
        return false;
    return magnitude(n0 / t0 * t1 - n1) <= n1 * (2 * TOLERANCE + w0 / n0) + w1 + TOLERANCE_NS;
}

static void keep(struct plumb_clock_point *out, const struct plumb_clock_point *p,
                 const struct plumb_anchor *to, struct plumb_clock_jump *jump)
{
    if (jump)
        jump[p->jumps % PLUMB_CLOCK_JUMPS] = (struct plumb_clock_jump){p->at, *to};
    out->jumps = p->jumps + 1;
    out->width_ns = p->width_ns + p->at.half_width_ns + to->half_width_ns;
    out->flags |= PLUMB_CLOCK_DOUBT;
}

/* Sets a new rate from `from` on. If no interval had agreed with the first rate yet, that one was
 * wrong: the jump came before the line began. */
static void revise(struct plumb_clock_point *out, const struct plumb_clock_point *p,
                   const struct plumb_clock_jump *from, const struct plumb_anchor *to)
{
    out->now_ticks = to->ticks - from->before.ticks;
    out->now_ns = to->raw_ns - from->before.raw_ns;
    if (p->flags & PLUMB_CLOCK_SETTLED) {
        out->now_ticks = to->ticks - from->after.ticks;
        out->now_ns = to->raw_ns - from->after.raw_ns;
        out->flags |= PLUMB_CLOCK_CHANGED;
        return;
    }
    out->ticks = out->now_ticks;
    out->raw_ns = out->now_ns;
    out->width_ns = from->before.half_width_ns;
    out->jumps = p->jumps - 1;
    out->flags |= PLUMB_CLOCK_SETTLED;
}

enum plumb_clock_step plumb_clock_line_advance(struct plumb_clock_point *out,
                                               const struct plumb_clock_point *p,
                                               const struct plumb_anchor *to,
                                               struct plumb_clock_jump *jump)
{
    uint64_t ticks = to->ticks - p->at.ticks, ns = to->raw_ns - p->at.raw_ns;
    const struct plumb_clock_jump *last =
        jump && p->jumps ? &jump[(p->jumps - 1) % PLUMB_CLOCK_JUMPS] : NULL;
    struct plumb_clock_point next = *p;
    enum plumb_clock_step step = PLUMB_CLOCK_FITS;
    if (error_of(p) > USEFUL_ERROR && !(p->flags & PLUMB_CLOCK_SETTLED))
        forget_base(&next);
    next.at = *to;
    next.flags &= ~(uint32_t)PLUMB_CLOCK_DOUBT;
    if (fits(p, to)) {
        next.flags |= PLUMB_CLOCK_SETTLED;
        next.now_ticks += ticks;
        next.now_ns += ns;
        next.ticks += p->flags & PLUMB_CLOCK_CHANGED ? 0 : ticks;
        next.raw_ns += p->flags & PLUMB_CLOCK_CHANGED ? 0 : ns;
    } else if (p->flags & PLUMB_CLOCK_DOUBT && last && agree(last, to)) {
        revise(&next, p, last, to);
        step = PLUMB_CLOCK_REVISED;
    } else {
        keep(&next, p, to, jump);
        step = PLUMB_CLOCK_JUMPED;
    }
    *out = next;
    return step;
}

double plumb_clock_jump_ns(const struct plumb_clock_jump *j, double tick_ns)
{
    return difference(j->after.ticks, j->before.ticks) * tick_ns -
           difference(j->after.raw_ns, j->before.raw_ns);
}

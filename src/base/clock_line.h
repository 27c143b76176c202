/* clock_line.h: the duration of a tick when the counter and CLOCK_MONOTONIC_RAW diverge, because a
 * machine was suspended, or a virtual machine paused or moved. Then the counter continues while the
 * clock stands still, or it starts again. The rate is measured between such jumps, so durations
 * before and after them are right. A span that was open across one gets the counter's difference,
 * and 0 where the counter was set back.
 *
 * A new point is made from the previous one and an anchor, and replaces it with one store. So a
 * reader of a mapping finds a complete point whenever the process stopped. One thread advances. */
#ifndef PLUMB_BASE_CLOCK_LINE_H
#define PLUMB_BASE_CLOCK_LINE_H

#include "base/clock.h"

enum { PLUMB_CLOCK_JUMPS = 64 /* that are remembered, the newest */ };

/* The last anchor before a jump and the first after it. */
struct plumb_clock_jump {
    struct plumb_anchor before, after;
};

enum plumb_clock_flags {
    PLUMB_CLOCK_SETTLED = 1, /* an interval has agreed with the rate */
    PLUMB_CLOCK_DOUBT = 2,   /* the newest interval is taken for a jump; an anchor soon will tell */
    PLUMB_CLOCK_CHANGED = 4  /* the rate is no longer the first one: it changed at a jump */
};

struct plumb_clock_point {
    struct plumb_anchor at;     /* the newest */
    uint64_t ticks, raw_ns;     /* moved without a jump at the first rate; mod 2^64 */
    uint64_t now_ticks, now_ns; /* the same at the rate of now */
    uint64_t width_ns;          /* error of raw_ns */
    uint32_t jumps;             /* so far; number k lies at jump[(k - 1) % PLUMB_CLOCK_JUMPS] */
    uint32_t flags;             /* enum plumb_clock_flags */
};

enum plumb_clock_step {
    PLUMB_CLOCK_FITS = 0,
    PLUMB_CLOCK_JUMPED = 1, /* take another anchor in some milliseconds */
    PLUMB_CLOCK_REVISED = 2 /* two intervals in a row agree against the rate: it is another one */
};

/* Begins a line at `at`; `first` is an anchor from before, for a longer base. */
void plumb_clock_line_begin(struct plumb_clock_point *out, const struct plumb_anchor *first,
                            const struct plumb_anchor *at);
/* Makes the point that follows `p` at the anchor `to`. `jump`: where jumps are kept
 * [PLUMB_CLOCK_JUMPS]; NULL: they are counted only. Returns what the interval was. */
enum plumb_clock_step plumb_clock_line_advance(struct plumb_clock_point *out,
                                               const struct plumb_clock_point *p,
                                               const struct plumb_anchor *to,
                                               struct plumb_clock_jump *jump);
/* Returns nanoseconds a tick at the first rate; 0: not known. *ppm: bound of its error. */
double plumb_clock_line_rate(const struct plumb_clock_point *p, double *ppm);

/* Returns by how many ns the counter went further than the clock across a jump; less than 0: it was
 * set back. */
double plumb_clock_jump_ns(const struct plumb_clock_jump *j, double tick_ns);

#endif

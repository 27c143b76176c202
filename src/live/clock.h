/* clock.h: from the ticks in a mapping to times, by the anchors that it keeps. */
#ifndef PLUMB_LIVE_CLOCK_H
#define PLUMB_LIVE_CLOCK_H

#include "live/layout.h"

struct plumb_merge;
struct plumb_timing;

/* Begins the clock of a run whose `early` and `start` are in the header. */
void plumb_live_clock_begin(struct plumb_live_header *h);
/* Stores an anchor in the mapping; one thread at a time. Returns whether the counter seems to have
 * jumped; then another anchor should follow some milliseconds later. */
bool plumb_live_clock_take(struct plumb_live_header *h, const struct plumb_anchor *a);
/* Returns the newest anchor, also while another thread takes one. */
struct plumb_anchor plumb_live_clock_newest(const struct plumb_live_header *h);

/* Returns nanoseconds a tick, measured between the anchors of the mapping and `end`, which may be
 * NULL, without the time around jumps. 0: not known. *ppm: bound of its error. */
double plumb_live_tick_ns(const struct plumb_live_header *h, const struct plumb_anchor *end,
                          double *ppm);
/* Stores the rate that a summary used. While later readings agree with it, and are not much more
 * exact, plumb_live_tick_ns() returns it again, so the summary and the report of a run have the
 * same digits. One thread at a time. */
void plumb_live_tick_keep(struct plumb_live_header *h, double tick_ns, double ppm);

/* Returns the time of `ticks` in ns since the run's start, and as Unix time. `end`: the newest
 * anchor or one from after it. Around a jump a reading belongs to the nearer side. */
uint64_t plumb_live_at_ns(const struct plumb_live_header *h, const struct plumb_anchor *end,
                          double tick_ns, uint64_t ticks);
uint64_t plumb_live_unix_ns(const struct plumb_live_header *h, const struct plumb_anchor *end,
                            double tick_ns, uint64_t ticks);
/* Returns whether `ticks` lie after the newest jump that the mapping knows. */
bool plumb_live_is_newest(const struct plumb_live_header *h, uint64_t ticks);

/* Returns the newest reading of the counter that the mapping keeps: of a record, an open span, a
 * state, a request, plumb's own thread. Not less than that of `last`. */
uint64_t plumb_live_newest_ticks(const struct plumb_merge *m, const struct plumb_anchor *last);

/* Adds notes about jumps of the clock to `t`. */
void plumb_live_clock_note(struct plumb_timing *t, const struct plumb_live_header *h,
                           double tick_ns);

#endif

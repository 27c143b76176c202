/* lane_anchor.c: clocks of collectors and the readings that tie them to the host's.
 *
 * A reading calls a function of the collector, so it is made without locks and outside the run;
 * only the finished anchor is stored in the mapping. Of a few tries, the one with the narrowest
 * pair of host readings around it wins: the others were delayed in between. */
#include <string.h>

#include "base/futex.h"
#include "live/lane_clock.h"
#include "record/collect/collector.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"

enum { TRIES = 5, FIT_NS = 2000000 };

static int read_clock(const struct plumb_collector_clock *from, struct plumb_live_anchor *a)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = plumb_ticks_from(plumb_rt.clock), after, source = 0, width;
        if (from->now(&source, from->arg) < 0)
            return PLUMB_ERR_STATE;
        after = plumb_ticks_from(plumb_rt.clock);
        width = after > before ? after - before : 0;
        if (width >= best)
            continue;
        best = width;
        a->source = source;
        a->ticks = before + width / 2;
        a->half_width = (uint32_t)(width / 2 < UINT32_MAX - 1 ? (width + 1) / 2 : UINT32_MAX - 1);
    }
    return PLUMB_OK;
}

/* `kept`: it is later than the last anchor, of the run that is open. */
static int append(struct plumb_collector *c, const struct plumb_collector_clock *of,
                  const struct plumb_live_anchor *a, bool *kept)
{
    struct plumb_in in;
    *kept = false;
    if (!plumb_enter(&in, true))
        return PLUMB_ERR_STATE;
    if (in.run->generation == of->run) {
        pthread_mutex_lock(&c->lock);
        *kept = plumb_lane_clock_append(plumb_table_at(in.run, &in.run->h->clocks, of->index), a);
        pthread_mutex_unlock(&c->lock);
    }
    plumb_leave(in);
    return PLUMB_OK;
}

static int take(struct plumb_collector *c, const struct plumb_collector_clock *from)
{
    struct plumb_live_anchor a = {0};
    bool kept;
    if (!from->now || read_clock(from, &a) < 0)
        return PLUMB_ERR_STATE;
    return append(c, from, &a, &kept);
}

void plumb_collector_anchors(struct plumb_collector *c)
{
    for (uint32_t i = 0; i < PLUMB_ACQUIRE(c->clocks); i++)
        take(c, &c->clock[i]);
}

/* Copies the clock: the next run of the collector opens others in its place. Returns false if it is
 * not one of the run that the collector was started for. */
static bool clock_of(struct plumb_collector_clock *out, struct plumb_collector *c,
                     plumb_clock clock)
{
    bool found = false;
    if (!clock.id || !c)
        return false;
    pthread_mutex_lock(&c->lock);
    for (uint32_t k = 0; !found && k < c->clocks; k++) {
        found = c->clock[k].run == plumb_lane_run(clock.id) &&
                c->clock[k].index == plumb_lane_index(clock.id);
        if (found)
            *out = c->clock[k];
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

int plumb_clock_anchor_impl(plumb_clock clock)
{
    struct plumb_collector *c = plumb_collector_at(plumb_lane_collector(clock.id));
    struct plumb_collector_clock from;
    return clock_of(&from, c, clock) ? take(c, &from) : PLUMB_ERR_ARG;
}

int plumb_clock_anchor_between_impl(plumb_clock clock, uint64_t source, uint64_t earliest,
                                    uint64_t latest)
{
    struct plumb_collector *c = plumb_collector_at(plumb_lane_collector(clock.id));
    struct plumb_collector_clock of;
    uint64_t width = latest >= earliest ? latest - earliest : 0, half = width / 2 + width % 2;
    struct plumb_live_anchor a = {.source = source, .ticks = earliest + half};
    bool kept = false;
    if (!clock_of(&of, c, clock) || latest < earliest || half >= UINT32_MAX)
        return PLUMB_ERR_ARG;
    a.half_width = (uint32_t)half;
    return append(c, &of, &a, &kept) == PLUMB_OK && kept ? PLUMB_OK : PLUMB_ERR_STATE;
}

/* Measured over the time since the library was loaded; if the machine was suspended in it, over the
 * last moments. */
double plumb_host_rate(double *ppm)
{
    struct plumb_clock_point p;
    struct plumb_anchor before, now;
    double tick_ns;
    plumb_anchor_take(&before, plumb_rt.clock);
    plumb_nap(FIT_NS);
    plumb_anchor_take(&now, plumb_rt.clock);
    plumb_clock_line_begin(&p, &plumb_rt.early, &before);
    if (plumb_clock_line_advance(&p, &p, &now, NULL) == PLUMB_CLOCK_FITS)
        before = plumb_rt.early;
    tick_ns = plumb_clock_fit(&before, &now, plumb_rt.clock, ppm);
    PLUMB_STORE(plumb_rt.host_hz, (uint64_t)(1e9 / tick_ns + 0.5));
    return 1e9 / tick_ns;
}

static struct plumb_live_clock *carve(struct plumb_run *run, const struct plumb_collector *c,
                                      const plumb_clock_options *o, uint32_t *index)
{
    struct plumb_live_clock *live = NULL;
    double ppm = 0, hz = plumb_host_rate(&ppm);
    plumb_lock();
    if (run->h->clocks.count < PLUMB_LIVE_CLOCKS)
        live = plumb_table_add(run, &run->h->clocks);
    if (live) {
        live->name_off = plumb_carve_text(run, o->name ? o->name : "");
        live->hz = o->hz;
        live->drift_ppm = (o->drift_ppm > 0 ? o->drift_ppm : 200) + ppm;
        live->wander_ppm = o->wander_ppm > 0 ? o->wander_ppm : 1;
        live->nominal_step = hz / o->hz;
        live->collector = c->index;
        *index = run->h->clocks.count;
        plumb_table_commit(&run->h->clocks);
    }
    plumb_unlock();
    return live;
}

int plumb_clock_open_impl(plumb_clock *out, plumb_collector *c, const plumb_clock_options *options,
                          plumb_error *err)
{
    plumb_clock_options o = {0};
    struct plumb_collector_clock own = {0};
    struct plumb_in in;
    uint32_t index = 0;
    int rc = PLUMB_OK;
    if (!c || !options || options->size < sizeof options->size)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_clock_open: no collector, or no options");
    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (!(o.hz >= 1 && o.hz <= 1e15))
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "clock '%.60s' of collector '%s': it needs 1 to 1e15 ticks a second",
                          o.name ? o.name : "", c->ops.name);
    if (!PLUMB_ACQUIRE(c->open) || !plumb_enter(&in, true))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "plumb_clock_open outside of start and stop of collector '%s'",
                          c->ops.name);
    if (in.run->generation != PLUMB_LOAD(c->generation) || !carve(in.run, c, &o, &index)) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no slot for clock '%.60s' of collector '%s'",
                        o.name ? o.name : "", c->ops.name);
    } else {
        /* Has a place for each clock of a run. */
        own = (struct plumb_collector_clock){o.now, o.arg, index, in.run->generation};
        pthread_mutex_lock(&c->lock);
        c->clock[c->clocks] = own;
        out->id = plumb_lane_handle(in.run, c, index);
        PLUMB_RELEASE(c->clocks, c->clocks + 1);
        pthread_mutex_unlock(&c->lock);
    }
    plumb_leave(in);
    if (rc == PLUMB_OK && o.now)
        take(c, &own);
    return rc;
}

/* lane_clock.c: see lane_clock.h. Differences of readings are integers; rates are doubles, whose
 * error over the seconds between two anchors is far below a tick. */
#include "live/lane_clock.h"

#include <string.h>

#include "base/atomic.h"

enum { FIT_OVER = 16 }; /* anchors that a rate is measured over */

static double load_double(const uint64_t *bits)
{
    uint64_t word = PLUMB_LOAD(*bits);
    double v;
    memcpy(&v, &word, sizeof v);
    return v;
}

static void store_double(uint64_t *bits, double v)
{
    uint64_t word;
    memcpy(&word, &v, sizeof word);
    PLUMB_STORE(*bits, word);
}

/* A copy: where a reader is held up for long, there may be a later anchor in the place. */
static struct plumb_live_anchor at(const struct plumb_live_clock *c, uint64_t k)
{
    const struct plumb_live_anchor *a = &c->anchor[k % PLUMB_LIVE_ANCHORS];
    return (struct plumb_live_anchor){PLUMB_LOAD(a->source), PLUMB_LOAD(a->ticks),
                                      PLUMB_LOAD(a->half_width), PLUMB_LOAD(a->jumped)};
}

static void put(struct plumb_live_anchor *to, const struct plumb_live_anchor *from)
{
    PLUMB_STORE(to->source, from->source);
    PLUMB_STORE(to->ticks, from->ticks);
    PLUMB_STORE(to->half_width, from->half_width);
    PLUMB_STORE(to->jumped, from->jumped);
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

static uint64_t up(double x)
{
    /* A damaged file may hold anything: NaN too becomes the largest bound. */
    if (!(x < 1e18))
        return UINT64_C(1000000000000000000);
    return x > 0 ? (uint64_t)x + (x > (double)(uint64_t)x) : 0;
}

/* `t` + d, which must not wrap. */
static uint64_t moved(uint64_t t, double d)
{
    if (d < 0)
        return -d < (double)t ? t - (uint64_t)(-d + 0.5) : 0;
    return d < (double)(UINT64_MAX - t) ? t + (uint64_t)(d + 0.5) : UINT64_MAX;
}

static double difference(uint64_t a, uint64_t b)
{
    return a >= b ? (double)(a - b) : -(double)(b - a);
}

/* ---- Converting ------------------------------------------------------------------------------ */

/* Returns the rate after the last anchor, and its relative error. */
static double step_of(const struct plumb_live_clock *c, double *error)
{
    double step = load_double(&c->step_bits);
    *error = c->drift_ppm * 1e-6;
    if (!(step > 0))
        return c->nominal_step;
    *error = load_double(&c->error_bits) + c->wander_ppm * 1e-6;
    return step;
}

static void beyond(struct plumb_lane_time *out, const struct plumb_live_clock *c,
                   struct plumb_live_anchor a, uint64_t source)
{
    double error, far = difference(source, a.source) * step_of(c, &error);
    out->ticks = moved(a.ticks, far);
    out->bound = a.half_width + up(magnitude(far) * error);
}

static void between(struct plumb_lane_time *out, const struct plumb_live_clock *c,
                    struct plumb_live_anchor a, struct plumb_live_anchor b, uint64_t source)
{
    double whole = difference(b.ticks, a.ticks), part = difference(source, a.source);
    double span = difference(b.source, a.source), at_ticks = whole * (part / span);
    double near = at_ticks < whole - at_ticks ? at_ticks : whole - at_ticks;
    uint32_t width = a.half_width > b.half_width ? a.half_width : b.half_width;
    out->ticks = moved(a.ticks, at_ticks);
    out->bound = width + up(2 * near * c->wander_ppm * 1e-6);
}

/* The clock jumped somewhere between the two anchors. */
static void across(struct plumb_lane_time *out, const struct plumb_live_clock *c,
                   struct plumb_live_anchor a, struct plumb_live_anchor b, uint64_t source)
{
    double early = difference(source, a.source) * c->nominal_step;
    double late = difference(b.ticks, a.ticks) - difference(b.source, source) * c->nominal_step;
    double slack = difference(b.ticks, a.ticks) * c->drift_ppm * 1e-6;
    uint32_t width = a.half_width > b.half_width ? a.half_width : b.half_width;
    out->ticks = moved(a.ticks, (early + late) / 2);
    out->bound = width + up(magnitude(late - early) / 2 + slack);
}

static bool in_segment(struct plumb_lane_time *out, const struct plumb_live_clock *c,
                       struct plumb_live_anchor a, struct plumb_live_anchor b, uint64_t source)
{
    if (source < a.source || source >= b.source)
        return false;
    if (b.jumped)
        across(out, c, a, b, source);
    else
        between(out, c, a, b, source);
    return true;
}

/* Returns the newest of the anchors `low` to `high` that is not later than `source`; they are in
 * rising order. */
static uint64_t search(const struct plumb_live_clock *c, uint64_t low, uint64_t high,
                       uint64_t source)
{
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (at(c, middle).source <= source)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Searches the segments from the newest on: after a jump back, several contain the time. */
static bool look_back(struct plumb_lane_time *out, const struct plumb_live_clock *c, uint64_t low,
                      uint64_t high, uint64_t source, uint64_t emitted)
{
    for (uint64_t k = high; k > low; k--) {
        const struct plumb_live_anchor a = at(c, k - 1), b = at(c, k);
        if (a.ticks <= emitted && in_segment(out, c, a, b, source) &&
            out->ticks - (out->ticks < out->bound ? out->ticks : out->bound) <= emitted)
            return true;
        /* Before the clock jumped back, it continued after `a`. */
        if (b.jumped && b.source <= a.source && source >= a.source &&
            difference(source, a.source) * c->nominal_step <= difference(b.ticks, a.ticks)) {
            beyond(out, c, a, source);
            if (out->ticks <= emitted)
                return true;
        }
    }
    return false;
}

bool plumb_lane_clock_convert(struct plumb_lane_time *out, const struct plumb_live_clock *c,
                              uint64_t source, uint64_t emitted)
{
    uint64_t n = PLUMB_ACQUIRE(c->anchors), oldest, last;
    struct plumb_live_anchor newest;
    if (n == 0)
        return false;
    last = n - 1;
    newest = at(c, last);
    /* One is left out, because it may be being overwritten. */
    oldest = n >= PLUMB_LIVE_ANCHORS ? n - PLUMB_LIVE_ANCHORS + 1 : 0;
    if (source >= newest.source) {
        beyond(out, c, newest, source);
        if (!PLUMB_LOAD(c->jumps) || out->ticks <= emitted)
            return true;
    }
    if (PLUMB_LOAD(c->jumps) && look_back(out, c, oldest, last, source, emitted))
        return true;
    if (source >= newest.source) {
        beyond(out, c, newest, source);
    } else if (source >= at(c, oldest).source) {
        uint64_t k = search(c, oldest, last, source);
        if (!in_segment(out, c, at(c, k), at(c, k + 1), source))
            beyond(out, c, at(c, k), source);
    } else if (oldest > 0 && in_segment(out, c, c->first, at(c, oldest), source)) {
        return true;
    } else {
        beyond(out, c, oldest > 0 && source < c->first.source ? c->first : at(c, oldest), source);
    }
    return true;
}

uint64_t plumb_lane_clock_ns(const struct plumb_live_clock *c, uint64_t length)
{
    double ns = (double)length * load_double(&c->tick_ns_bits);
    return ns >= 0 && ns < 9e18 ? (uint64_t)(ns + 0.5) : UINT64_C(9000000000000000000);
}

/* ---- Anchors --------------------------------------------------------------------------------- */

static bool jumped(const struct plumb_live_clock *c, struct plumb_live_anchor a,
                   struct plumb_live_anchor b)
{
    double host = difference(b.ticks, a.ticks);
    double own = difference(b.source, a.source) * c->nominal_step;
    double slack = host * c->drift_ppm * 1e-6 + a.half_width + b.half_width + 2;
    return magnitude(own - host) > slack;
}

/* The rate over the last anchors without a jump between them. */
static void measure(struct plumb_live_clock *c, uint64_t last)
{
    struct plumb_live_anchor b = at(c, last), a = b;
    uint64_t least = last >= FIT_OVER ? last - FIT_OVER : 0;
    double step, error;
    for (uint64_t k = last; k > least && !at(c, k).jumped; k--)
        a = at(c, k - 1);
    if (a.source == b.source || a.ticks == b.ticks)
        return;
    step = difference(b.ticks, a.ticks) / difference(b.source, a.source);
    error = ((double)a.half_width + (double)b.half_width) / difference(b.ticks, a.ticks);
    /* Too close to each other for a better rate than the collector's. */
    if (error > c->drift_ppm * 1e-6)
        return;
    store_double(&c->error_bits, error);
    store_double(&c->step_bits, step);
    store_double(&c->tick_ns_bits, step / c->nominal_step * (1e9 / c->hz));
}

bool plumb_lane_clock_append(struct plumb_live_clock *c, const struct plumb_live_anchor *a)
{
    uint64_t n = PLUMB_LOAD(c->anchors);
    struct plumb_live_anchor *to = &c->anchor[n % PLUMB_LIVE_ANCHORS];
    struct plumb_live_anchor made = *a;
    made.jumped = 0;
    if (n == 0) {
        c->first = made;
        store_double(&c->tick_ns_bits, 1e9 / c->hz);
    } else {
        if (a->ticks <= at(c, n - 1).ticks)
            return false;
        made.jumped = jumped(c, at(c, n - 1), *a);
    }
    put(to, &made);
    PLUMB_RELEASE(c->anchors, n + 1);
    if (made.jumped)
        PLUMB_STORE(c->jumps, c->jumps + 1);
    measure(c, n);
    return true;
}

double plumb_lane_clock_drift_ppm(const struct plumb_live_clock *c)
{
    uint64_t n = PLUMB_ACQUIRE(c->anchors), k = n ? n - 1 : 0;
    uint64_t oldest = n >= PLUMB_LIVE_ANCHORS ? n - PLUMB_LIVE_ANCHORS + 1 : 0;
    struct plumb_live_anchor a, b = at(c, k);
    double own;
    while (k > oldest && !at(c, k).jumped)
        k--;
    a = k == oldest && oldest > 0 && !PLUMB_LOAD(c->jumps) ? c->first : at(c, k);
    own = n ? difference(b.source, a.source) * c->nominal_step : 0;
    return own > 0 ? (own / difference(b.ticks, a.ticks) - 1) * 1e6 : 0;
}

uint64_t plumb_lane_clock_width(const struct plumb_live_clock *c)
{
    uint64_t n = PLUMB_ACQUIRE(c->anchors), widest = n ? c->first.half_width : 0;
    uint64_t oldest = n >= PLUMB_LIVE_ANCHORS ? n - PLUMB_LIVE_ANCHORS + 1 : 0;
    for (uint64_t k = oldest; k < n; k++) {
        uint64_t width = at(c, k).half_width;
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* lane.c: lanes and the events that are emitted into them.
 *
 * An emit enters the runtime as every record does (plumb_enter), so the stop of a run waits for it.
 * Then it checks whether its collector is open; closing one includes a barrier. An event has up to
 * three effects. For statistics it becomes a sample in the emitting thread's own ring, without a
 * lock. For a stage it is added to the ledger. While a trace is recorded, it takes a slot of the
 * lane's queue. */
#include <string.h>

#include "live/lane_clock.h"
#include "record/collect/collector.h"
#include "record/collect/lane_names.h"
#include "record/count/count.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"
#include "record/stage/perf.h"
#include "record/stage/stage.h"
#include "record/trace/trace.h"
#include "timeline/lane_ring.h"

enum {
    LANE_SLOTS_MIN = 64,
    QUEUE_PART = 4 /* one part in so many of the trace's remaining share, for one lane: there are
                    * few */
};

/* ---- Lanes ----------------------------------------------------------------------------------- */

static uint32_t slots_of(const plumb_lane_options *o)
{
    uint32_t n = LANE_SLOTS_MIN, want = o->slots ? o->slots : PLUMB_LANE_SLOTS;
    while (n < want && n < PLUMB_LANE_SLOTS_MAX)
        n *= 2;
    return n;
}

/* Under the lock. */
static void carve_queue(struct plumb_run *run, struct plumb_live_lane *l, const char *name)
{
    struct plumb_queue_want want = {sizeof(union plumb_live_slot), LANE_SLOTS_MIN, l->slots_wanted,
                                    QUEUE_PART};
    l->queue_off = plumb_carve_queue(run, &want, &l->slots);
    if (!l->queue_off)
        plumb_run_note(run,
                       "no buffer for the queue of lane '%.100s': its events are not in the "
                       "trace; raise PLUMB_MAX_STATE",
                       name);
}

void plumb_lanes_window(struct plumb_run *run)
{
    plumb_lock();
    run->window_begins = true;
    for (uint32_t i = 0; i < run->h->lanes.count; i++) {
        struct plumb_live_lane *l = plumb_table_at(run, &run->h->lanes, i);
        if (!l->slots)
            carve_queue(run, l,
                        PLUMB_AT(run, const char, l->name_off + sizeof(struct plumb_live_text)));
        /* An emit that was held up since the last window publishes to a position before these. */
        PLUMB_STORE(l->taken, PLUMB_LOAD(l->tail));
        l->commit[0].batch = l->commit[1].batch = 0;
        l->sequence = 0;
        l->told_dropped = l->dropped_before = PLUMB_LOAD(l->dropped);
    }
    plumb_unlock();
}

static struct plumb_live_lane *carve(struct plumb_run *run, struct plumb_collector *c,
                                     const plumb_lane_options *o, uint32_t *index)
{
    struct plumb_live_lane *l = NULL;
    bool parent = plumb_lane_run(o->parent.id) == run->generation &&
                  plumb_lane_index(o->parent.id) < run->h->lanes.count;
    plumb_lock();
    if (run->h->lanes.count < PLUMB_LIVE_LANES)
        l = plumb_table_add(run, &run->h->lanes);
    if (l) {
        l->slots_wanted = slots_of(o);
        if (PLUMB_LOAD(run->h->trace.on) || run->window_begins)
            carve_queue(run, l, o->name ? o->name : "");
        *index = run->h->lanes.count;
        l->name_off = plumb_carve_text(run, o->name ? o->name : "");
        l->device_off = o->device ? plumb_carve_text(run, o->device) : 0;
        l->collector = c->index;
        l->parent = parent ? plumb_lane_index(o->parent.id) + 1 : 0;
        l->kind = o->kind;
        l->flags = o->flags;
        plumb_table_commit(&run->h->lanes);
        PLUMB_STORE(c->lanes, c->lanes + 1);
    }
    plumb_unlock();
    return l;
}

int plumb_lane_open_impl(plumb_lane *out, plumb_collector *c, const plumb_lane_options *options,
                         plumb_error *err)
{
    plumb_lane_options o = {0};
    struct plumb_in in;
    uint32_t index = 0;
    int rc = PLUMB_OK;
    if (!c || !options || options->size < sizeof options->size)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_lane_open: no collector, or no options");
    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (o.kind < PLUMB_LANE_OF_WORK || o.kind > PLUMB_LANE_OF_VALUES)
        return plumb_fail(err, PLUMB_ERR_ARG, "lane '%.60s': %u is not a kind of lane",
                          o.name ? o.name : "", o.kind);
    /* The wanted run opens here, if none is open, and starts the collector. */
    if (!plumb_enter(&in, true))
        return plumb_fail(err, PLUMB_ERR_STATE, "plumb_lane_open: nothing is recorded");
    if (!PLUMB_ACQUIRE(c->open))
        rc = plumb_fail(err, PLUMB_ERR_STATE,
                        "plumb_lane_open outside of start and stop of collector '%s'", c->ops.name);
    else if (in.run->generation != PLUMB_LOAD(c->generation) || !carve(in.run, c, &o, &index)) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no slot for lane '%.60s' of collector '%s'",
                        o.name ? o.name : "", c->ops.name);
    } else {
        out->id = plumb_lane_handle(in.run, c, index);
    }
    plumb_leave(in);
    return rc;
}

void plumb_lanes_sum(struct plumb_run *run, const struct plumb_collector *c,
                     plumb_collector_status *out)
{
    uint32_t n = PLUMB_ACQUIRE(run->h->lanes.count);
    out->emitted = out->dropped = out->refused_times = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_live_lane *l = plumb_table_at(run, &run->h->lanes, i);
        if (l->collector != c->index)
            continue;
        out->emitted += PLUMB_LOAD(l->emitted);
        out->dropped += PLUMB_LOAD(l->dropped);
        out->refused_times += PLUMB_LOAD(l->refused_times);
    }
}

/* ---- The queue ------------------------------------------------------------------------------- */

static union plumb_live_slot *slot_at(struct plumb_run *run, const struct plumb_live_lane *l,
                                      uint64_t position)
{
    return PLUMB_AT(run, union plumb_live_slot, l->queue_off) + (position & (l->slots - 1));
}

static void put_args(struct plumb_run *run, const struct plumb_live_lane *l, uint64_t position,
                     const plumb_event *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct plumb_live_event_args *to =
            &slot_at(run, l, position + 1 + i / PLUMB_LANE_ARGS)->args;
        uint32_t k = i % PLUMB_LANE_ARGS;
        to->arg[k].key = plumb_lane_name(run, e->args[i].key);
        to->arg[k].type = e->args[i].type;
        to->arg[k].value = (uint64_t)e->args[i].value.i64;
        if (e->args[i].type == 3)
            to->arg[k].value = plumb_lane_name(run, (plumb_name)e->args[i].value.i64);
    }
}

/* Reserves `n` positions, which belong to this event until the writer has taken it. Returns false
 * if the queue is full. */
static bool take_positions(struct plumb_live_lane *l, uint32_t n, uint64_t *position)
{
    *position = PLUMB_LOAD(l->tail);
    do {
        if (*position + n - PLUMB_ACQUIRE(l->taken) > l->slots)
            return false;
    } while (!__atomic_compare_exchange_n(&l->tail, position, *position + n, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

/* Ring mode: reserves the oldest positions. Returns false if another thread still writes to one of
 * these slots. */
static bool take_ring_positions(struct plumb_run *run, struct plumb_live_lane *l, uint32_t n,
                                uint64_t *position)
{
    uint32_t i = 0;
    *position = __atomic_fetch_add(&l->tail, n, __ATOMIC_RELAXED);
    while (i < n && plumb_lane_ring_claim(slot_at(run, l, *position + i), *position + i))
        i++;
    if (i == n)
        return true;
    while (i-- > 0)
        PLUMB_RELEASE(slot_at(run, l, *position + i)->event.seq, 0);
    return false;
}

/* `v` is the event without the fields that the queue adds. */
static int enqueue(struct plumb_run *run, struct plumb_live_lane *l, struct plumb_live_event *v,
                   const plumb_event *e)
{
    bool ring = PLUMB_LOAD(run->h->trace.mode) == PLUMB_LIVE_TRACE_RING;
    uint32_t args = e->args && e->arg_count < PLUMB_EVENT_ARGS ? e->arg_count
                    : e->args                                  ? (uint32_t)PLUMB_EVENT_ARGS
                                                               : 0;
    uint32_t n = 1 + (args + PLUMB_LANE_ARGS - 1) / PLUMB_LANE_ARGS;
    uint64_t position;
    struct plumb_live_event *to;
    if (!(ring ? take_ring_positions(run, l, n, &position) : take_positions(l, n, &position))) {
        PLUMB_ADD(l->dropped, 1);
        return PLUMB_ERR_MEMORY;
    }
    to = &slot_at(run, l, position)->event;
    v->name = plumb_lane_name(run, e->name);
    v->slots = (uint8_t)n;
    v->args = (uint8_t)args;
    memcpy((unsigned char *)to + sizeof to->seq, (const unsigned char *)v + sizeof v->seq,
           sizeof *v - sizeof v->seq);
    put_args(run, l, position, e, args);
    for (uint32_t i = 1; ring && i < n; i++)
        PLUMB_RELEASE(slot_at(run, l, position + i)->args.seq,
                      (position + i + 1) | PLUMB_LANE_RING_ARGS);
    PLUMB_RELEASE(to->seq, position + 1);
    return PLUMB_OK;
}

/* ---- Emit ------------------------------------------------------------------------------------ */

/* An event on its way in. */
struct entry {
    struct plumb_in in;
    struct plumb_live_lane *lane;
    const struct plumb_live_clock *clock; /* NULL: the host's */
    const plumb_event *event;
    const plumb_origin *origin; /* of this run; NULL: none */
    uint64_t now, ns;           /* host ticks; length of a span or wait */
};

static bool find_clock(struct entry *e, plumb_clock clock)
{
    struct plumb_run *run = e->in.run;
    uint32_t index = plumb_lane_index(clock.id);
    e->clock = NULL;
    if (!clock.id)
        return true;
    if (plumb_lane_run(clock.id) != run->generation || index >= PLUMB_ACQUIRE(run->h->clocks.count))
        return false;
    e->clock = plumb_table_at(run, &run->h->clocks, index);
    return true;
}

static const uint64_t hour_ns = UINT64_C(3600000000000);

/* Returns whether the times are possible, with the tolerance that anchors need: a device's time may
 * be ahead of the host's by the bound, and by a jump since the last anchor. */
static bool times_can_be(const struct entry *e, double host_hz)
{
    const plumb_event *v = e->event;
    bool lasts = v->kind == PLUMB_EVENT_SPAN || v->kind == PLUMB_EVENT_WAIT;
    uint64_t end = lasts ? v->end : v->begin, second = (uint64_t)host_hz;
    struct plumb_lane_time first = {v->begin, 0}, last = {end, 0};
    uint64_t earliest = e->in.run->h->start.ticks;
    if (end < v->begin)
        return false;
    if (e->clock) {
        if (!plumb_lane_clock_convert(&first, e->clock, v->begin, e->now) ||
            !plumb_lane_clock_convert(&last, e->clock, end, e->now))
            return false;
        earliest = e->clock->first.ticks;
    }
    if (last.ticks > e->now && last.ticks - e->now > last.bound + second)
        return false;
    /* Host ticks begin with the machine, perhaps minutes ago: an earlier time has no ticks. */
    if (e->clock && first.ticks == 0 && v->begin < e->clock->first.source)
        return plumb_lane_clock_ns(e->clock, e->clock->first.source - v->begin) <= hour_ns;
    return first.ticks + 3600 * second >= earliest;
}

static double host_rate(const struct entry *e)
{
    return e->clock ? e->clock->nominal_step * e->clock->hz : (double)PLUMB_LOAD(plumb_rt.host_hz);
}

static uint64_t length_ns(const struct entry *e)
{
    uint64_t length = e->event->end - e->event->begin;
    if (e->clock)
        return plumb_lane_clock_ns(e->clock, length);
    return plumb_ticks_to_ns(length, 1e9 / host_rate(e));
}

/* The highest bit distinguishes the flow of an origin from flows of contexts, which are ticks and a
 * thread's number. Alone: of work on the host, which is not launched. */
static const uint64_t NO_LAUNCH = UINT64_C(1) << 63;

/* The device of a lane, or the lane where it has none: names that equal runs share. */
static const char *device_of(struct plumb_run *run, const struct plumb_live_lane *l)
{
    uint64_t off = l->device_off ? l->device_off : l->name_off;
    return off ? PLUMB_AT(run, const char, off + sizeof(struct plumb_live_text)) : "";
}

/* Returns the index of the argument; -1: none. */
static int find_arg(const plumb_event *v, plumb_name key)
{
    uint32_t n = v->arg_count < PLUMB_EVENT_ARGS ? v->arg_count : PLUMB_EVENT_ARGS;
    for (uint32_t i = 0; key && v->args && i < n; i++)
        if (v->args[i].key == key)
            return (int)i;
    return -1;
}

/* Counts finished work that has bytes as a copy, where it was launched. With operations it is a
 * kernel, whose bytes are those that it reads and writes. */
static void count_copy(const struct entry *e)
{
    const plumb_event *v = e->event;
    const plumb_origin *o = e->origin;
    int bytes = find_arg(v, plumb_lane_name_bytes());
    struct plumb_count_event c = {.kind = PLUMB_COUNT_COPIES,
                                  .group = o ? o->group & 0xffff : e->in.th->group,
                                  .node = o ? o->node : 0,
                                  .step = o ? o->step : -1,
                                  .name = device_of(e->in.run, e->lane),
                                  .calls = 1};
    if (bytes < 0 || v->args[bytes].type != 1 || v->args[bytes].value.i64 < 0 ||
        find_arg(v, plumb_lane_name_flops()) >= 0)
        return;
    c.value = v->args[bytes].value.i64;
    if (o && o->tid == e->in.th->tid)
        plumb_tally_add(e->in.th, &c);
    plumb_cell_add(e->in.run, &c);
}

static void count_wait(const struct entry *e)
{
    struct plumb_count_event c;
    plumb_count_here(&c, e->in.th, PLUMB_COUNT_SYNCHRONISATIONS, device_of(e->in.run, e->lane), 1);
    plumb_count_raise(e->in, &c);
}

static void count_launch(struct plumb_in in, const plumb_origin *o, const struct plumb_live_lane *l)
{
    struct plumb_count_event c = {.kind = PLUMB_COUNT_LAUNCHES,
                                  .group = o->group & 0xffff,
                                  .node = o->node,
                                  .step = o->step,
                                  .name = l ? device_of(in.run, l) : "",
                                  .calls = 1,
                                  .value = 1};
    plumb_count_raise(in, &c);
}

/* Work on the host is in the host time of its node already. */
static bool is_of_host(const struct plumb_live_lane *l)
{
    return l->kind == PLUMB_LANE_OF_HOST;
}

static void count_span(struct entry *e)
{
    uint64_t payload[3];
    PLUMB_ADD(e->lane->busy_ns, e->ns);
    if (e->lane->kind == PLUMB_LANE_OF_WORK)
        count_copy(e);
    if (!e->origin || !e->origin->node) {
        PLUMB_ADD(e->lane->unknown_ns, e->ns);
        return;
    }
    if (is_of_host(e->lane))
        return;
    payload[0] = e->origin->node | (uint64_t)e->origin->group << 32;
    payload[1] = e->ns;
    payload[2] = e->origin->stage;
    plumb_wide(e->in, PLUMB_WIDE_SAMPLE, PLUMB_SAMPLE_DEVICE, payload, 4);
    plumb_device_done(e->in, e->origin, e->ns);
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void describe(struct plumb_live_event *to, const struct entry *e, plumb_clock clock)
{
    const plumb_event *v = e->event;
    const plumb_origin *o = e->origin;
    *to = (struct plumb_live_event){
        .begin = v->begin,
        .length = v->end - v->begin,
        .emitted = e->now,
        .flow = o && o->flow != NO_LAUNCH ? o->flow : 0,
        .node = o ? o->node : 0,
        .group = o ? (uint16_t)o->group : 0,
        .tid = o ? o->tid : 0,
        .step = o && o->step >= 0 && o->step <= INT32_MAX ? (int32_t)o->step : -1,
        .clock = clock.id ? (uint8_t)(plumb_lane_index(clock.id) + 1) : 0,
        .kind = (uint8_t)v->kind};
    if (v->kind == PLUMB_EVENT_COUNTER)
        to->length = bits_of(v->value);
    else if (v->kind == PLUMB_EVENT_INSTANT)
        to->length = 0;
    else if (v->kind == PLUMB_EVENT_FLOW)
        to->length = v->flow;
    if (v->kind == PLUMB_EVENT_WAIT)
        to->tid = e->in.th->tid;
}

/* Work on the host that ran on this thread, from the capture of its origin until now. */
static void count_kernel(const struct entry *e)
{
    const plumb_origin *o = e->origin;
    if (o && o->flow && o->run == e->in.run->generation && o->tid == e->in.th->tid)
        plumb_perf_kernel_end(e->in, plumb_off_of(e->in.run, e->lane), e->event->begin,
                              plumb_lane_name(e->in.run, e->event->name), o->stage);
}

/* Inside enter, with the collector open. */
static int take(struct entry *e, plumb_clock clock)
{
    uint32_t kind = e->event->kind;
    struct plumb_live_event v;
    if (plumb_perf_is_on() && kind == PLUMB_EVENT_SPAN && is_of_host(e->lane) && !clock.id)
        count_kernel(e);
    if (kind < PLUMB_EVENT_SPAN || kind > PLUMB_EVENT_WAIT || !find_clock(e, clock))
        return PLUMB_ERR_ARG;
    if (e->origin && (!e->origin->flow || e->origin->run != e->in.run->generation))
        e->origin = NULL;
    e->now = plumb_ticks_from(e->in.th->clock);
    if (!times_can_be(e, host_rate(e))) {
        PLUMB_ADD(e->lane->refused_times, 1);
        return PLUMB_ERR_ARG;
    }
    PLUMB_ADD(e->lane->emitted, 1);
    if (kind == PLUMB_EVENT_SPAN || kind == PLUMB_EVENT_WAIT)
        e->ns = length_ns(e);
    if (kind == PLUMB_EVENT_SPAN)
        count_span(e);
    else if (kind == PLUMB_EVENT_WAIT) {
        count_wait(e);
        if (e->origin)
            plumb_device_waited(e->in, e->origin, e->ns);
    }
    if (!PLUMB_ACQUIRE(e->in.run->h->trace.on) || !e->lane->slots)
        return PLUMB_OK;
    if (!e->lane->queue_off) {
        PLUMB_ADD(e->lane->dropped, 1);
        return PLUMB_ERR_MEMORY;
    }
    describe(&v, e, clock);
    return enqueue(e->in.run, e->lane, &v, e->event);
}

int plumb_emit_impl(plumb_lane lane, plumb_clock clock, const plumb_event *event)
{
    struct plumb_collector *c = plumb_collector_at(plumb_lane_collector(lane.id));
    plumb_event given = {0};
    struct entry e = {.event = &given};
    int rc = PLUMB_ERR_STATE;
    if (!c || !lane.id || !event || event->size < sizeof event->size)
        return PLUMB_ERR_ARG;
    memcpy(&given, event, event->size < sizeof given ? event->size : sizeof given);
    e.origin = given.origin;
    if (!plumb_enter(&e.in, true)) {
        PLUMB_ADD(c->late, 1);
        return rc;
    }
    if (plumb_lane_run(lane.id) != e.in.run->generation || !PLUMB_ACQUIRE(c->open)) {
        PLUMB_ADD(c->late, 1);
    } else if (plumb_lane_index(lane.id) >= PLUMB_ACQUIRE(e.in.run->h->lanes.count)) {
        rc = PLUMB_ERR_ARG;
    } else {
        e.lane = plumb_table_at(e.in.run, &e.in.run->h->lanes, plumb_lane_index(lane.id));
        rc = take(&e, clock);
    }
    plumb_leave(e.in);
    return rc;
}

uint64_t plumb_host_ticks_impl(void)
{
    return plumb_ticks_from(plumb_rt.clock);
}

/* ---- Origins --------------------------------------------------------------------------------- */

void plumb_origin_capture_impl(plumb_origin *out, plumb_lane lane, plumb_node node)
{
    struct plumb_in in;
    const struct plumb_stage_run *s;
    struct plumb_live_lane *l = NULL;
    uint32_t index = plumb_lane_index(lane.id);
    const struct plumb_live_lane *host = NULL;
    bool launches = true, traced;
    if (!plumb_enter(&in, false))
        return;
    s = in.th->stages ? &in.th->stage[in.th->stages - 1] : NULL;
    out->run = in.run->generation;
    out->tid = in.th->tid;
    out->group = in.th->group;
    out->step = in.th->step;
    out->node =
        node && node < PLUMB_ACQUIRE(plumb_rt.node_count) ? node : plumb_innermost_node(in.th);
    out->stage = s ? s->key + 1 : 0;
    out->request = s ? s->request : 0;
    if (plumb_lane_run(lane.id) == in.run->generation &&
        index < PLUMB_ACQUIRE(in.run->h->lanes.count)) {
        l = plumb_table_at(in.run, &in.run->h->lanes, index);
        launches = !is_of_host(l);
        host = launches ? NULL : l;
        PLUMB_ADD(l->launches, launches);
    }
    /* The origin of work on the host only says what is open around it. A flow leads from there to
     * its event if nodes have files of their own, which must know whose work it is. */
    traced = plumb_traced(in.th) && (launches || PLUMB_LOAD(in.run->h->trace.nodes_off));
    out->flow = NO_LAUNCH;
    if (launches || traced)
        out->flow |= __atomic_add_fetch(&plumb_rt.flows, 1, __ATOMIC_RELAXED);
    if (launches)
        count_launch(in, out, l);
    if (out->node && launches)
        plumb_device_launched(in, out);
    if (traced)
        plumb_wide(in, PLUMB_WIDE_FLOW, launches ? 0 : 2, &out->flow, 2);
    if (host && plumb_perf_is_on())
        plumb_perf_kernel_begin(in, plumb_off_of(in.run, host));
    plumb_leave(in);
}

/* stream.c: streams: begin, stages, controls, outputs, end. Each call enters the runtime, takes the
 * time and then the ledger's lock, so that waiting for the lock is in no figure.
 *
 * A handle holds the stream's serial and the generation of its run: it is of no effect in a later
 * run, and in the child of a fork. */
#include <string.h>

#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/stage/ledger.h"
#include "record/stage/stream.h"

enum { SERIAL_BITS = 40 };
#define SERIAL_MASK ((UINT64_C(1) << SERIAL_BITS) - 1)

/* Enters the runtime and takes the lock. After true the caller must call plumb_ledger_leave().
 * `at_ns` becomes the time of the event. */
static bool enter(struct plumb_in *in, bool even_if_off, uint64_t *at_ns)
{
    if (!plumb_enter(in, even_if_off))
        return false;
    if (!*at_ns)
        *at_ns = plumb_clock_raw_ns(plumb_rt.clock);
    plumb_ledger_lock();
    return true;
}

static struct plumb_live_stream *at(struct plumb_run *run, uint64_t serial)
{
    uint32_t i = (uint32_t)((serial - 1) % PLUMB_LIVE_STREAMS);
    struct plumb_live_stream *s =
        serial && i < run->h->stream.count ? plumb_table_at(run, &run->h->stream, i) : NULL;
    return s && s->serial == serial ? s : NULL;
}

/* Returns the stream of a handle while it is open, otherwise NULL. */
static struct plumb_live_stream *stream_of(struct plumb_run *run, uint64_t id)
{
    struct plumb_live_stream *s =
        id >> SERIAL_BITS == (run->generation & 0xffffff) ? at(run, id & SERIAL_MASK) : NULL;
    if (!s && id >> SERIAL_BITS == (run->generation & 0xffffff))
        run->h->streams.lost++;
    return s && !s->end_ns ? s : NULL;
}

static struct plumb_live_channel *channel_at(struct plumb_run *run, uint32_t i)
{
    return plumb_table_at(run, &run->h->channels, i);
}

/* Returns a new entry, in a table that grows up to its bound and then begins again; NULL: the
 * mapping is full. Its serial is 0 so far. */
static struct plumb_live_stream *make(struct plumb_run *run)
{
    struct plumb_live_table *t = &run->h->stream;
    uint32_t i = (uint32_t)(run->h->streams.streams % PLUMB_LIVE_STREAMS);
    struct plumb_live_stream *s;
    if (i < t->count) {
        s = plumb_table_at(run, t, i);
        PLUMB_STORE(s->serial, 0);
        plumb_order();
        memset(s, 0, sizeof *s);
        return s;
    }
    plumb_lock();
    s = plumb_table_add(run, t);
    plumb_unlock();
    if (s)
        plumb_table_commit(t);
    return s;
}

static uint64_t begin(struct plumb_in in, const char *name, uint64_t now_ns)
{
    struct plumb_run *run = in.run;
    uint32_t channel = plumb_stream_channel(in, name ? name : "");
    struct plumb_live_stream *s = channel != UINT32_MAX ? make(run) : NULL;
    if (!s) {
        run->h->streams.lost++;
        return 0;
    }
    s->channel = channel;
    s->begin_ns = now_ns;
    s->request = plumb_request_current(in);
    channel_at(run, channel)->streams++;
    PLUMB_STORE(run->h->streams.streams, run->h->streams.streams + 1);
    PLUMB_RELEASE(s->serial, run->h->streams.streams);
    return s->serial | (uint64_t)(run->generation & 0xffffff) << SERIAL_BITS;
}

plumb_stream plumb_stream_begin_impl(const char *name, uint64_t at_ns)
{
    plumb_stream stream = {0};
    struct plumb_in in;
    if (!plumb_wanted() || !enter(&in, false, &at_ns))
        return stream;
    stream.id = begin(in, name, at_ns);
    plumb_ledger_leave(in);
    return stream;
}

static uint32_t step_of(struct plumb_in in, struct plumb_live_stream *s, const char *name)
{
    uint32_t stage = plumb_stream_stage_at(in, s->channel, name ? name : ""), i = 0;
    while (i < s->steps && s->step[i].stage != stage)
        i++;
    if (stage == UINT32_MAX || i == PLUMB_LIVE_STREAM_STEPS)
        return UINT32_MAX;
    if (i == s->steps) {
        s->step[i].stage = stage;
        PLUMB_RELEASE(s->steps, i + 1);
    }
    return i;
}

plumb_stream_stage plumb_stream_stage_impl(plumb_stream stream, const char *name)
{
    plumb_stream_stage stage = {0, 0, 0};
    struct plumb_live_stream *s;
    struct plumb_in in;
    uint32_t step = UINT32_MAX;
    if (!stream.id || !plumb_ledger_enter(&in, true))
        return stage;
    if ((s = stream_of(in.run, stream.id)) != NULL) {
        step = step_of(in, s, name);
        if (step == UINT32_MAX)
            in.run->h->streams.lost++;
    }
    plumb_ledger_leave(in);
    if (step != UINT32_MAX) {
        stage.stream = stream.id;
        stage.step = step;
    }
    return stage;
}

void plumb_stream_event_impl(const plumb_stream_stage *stage, uint32_t what, uint64_t sequence,
                             const char *text, uint64_t at_ns)
{
    struct plumb_stream_at e = {.step = stage->step, .sequence = sequence, .text = text};
    if (!stage->stream || !enter(&e.in, true, &at_ns))
        return;
    e.now_ns = at_ns;
    e.stream = stream_of(e.in.run, stage->stream);
    if (e.stream && e.step < e.stream->steps)
        plumb_stream_step_event(&e, what);
    plumb_ledger_leave(e.in);
}

/* ---- Controls and outputs -------------------------------------------------------------------- */

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* A place for a control; if all are taken, the oldest is dropped. */
static void control(struct plumb_run *run, struct plumb_live_stream *s, uint64_t sequence,
                    uint64_t now_ns)
{
    uint32_t place = 0;
    channel_at(run, s->channel)->controls++;
    for (uint32_t i = 1; i < PLUMB_LIVE_STREAM_CONTROLS; i++)
        place = s->control[i].at_ns < s->control[place].at_ns ? i : place;
    if (s->control[place].at_ns)
        run->h->streams.lost++;
    s->control[place].sequence = sequence;
    s->control[place].at_ns = now_ns;
}

static void output(struct plumb_run *run, struct plumb_live_stream *s, uint64_t sequence,
                   uint64_t now_ns)
{
    struct plumb_live_channel *c = channel_at(run, s->channel);
    c->outputs++;
    if (!s->outputs++) {
        s->first_output_ns = now_ns;
        plumb_stream_latency_add(run, c, PLUMB_LATENCY_FIRST_OUTPUT, since(s->begin_ns, now_ns));
    } else {
        plumb_stream_latency_add(run, c, PLUMB_LATENCY_CHUNK_PERIOD,
                                 since(s->last_output_ns, now_ns));
    }
    s->last_output_ns = now_ns;
    for (uint32_t i = 0; i < PLUMB_LIVE_STREAM_CONTROLS; i++) {
        if (!s->control[i].at_ns || s->control[i].sequence > sequence)
            continue;
        plumb_stream_latency_add(run, c, PLUMB_LATENCY_CONTROL, since(s->control[i].at_ns, now_ns));
        s->control[i].at_ns = 0;
    }
}

void plumb_stream_mark_impl(plumb_stream stream, uint32_t what, uint64_t sequence, uint64_t at_ns)
{
    struct plumb_live_stream *s;
    struct plumb_in in;
    if (!stream.id || !enter(&in, true, &at_ns))
        return;
    s = stream_of(in.run, stream.id);
    if (s && what == PLUMB_STREAM_CONTROL)
        control(in.run, s, sequence, at_ns);
    else if (s && what == PLUMB_STREAM_OUTPUT)
        output(in.run, s, sequence, at_ns);
    else if (s && what == PLUMB_STREAM_END)
        PLUMB_RELEASE(s->end_ns, at_ns);
    plumb_ledger_leave(in);
}

/* stream_step.c: a sequence at a stage of a stream: changes by an event, and the cause of the idle
 * time that ends with it. Under the ledger's lock.
 *
 * A stage is idle while none of its sequences is admitted. The cause of idle time is decided when
 * it ends, because only then is it known which input came last. Two entries describe a sequence:
 * the chunk, in a ring that keeps the newest, and a place among the open ones of the stage. The
 * place repeats what the figures need, so they stay right when the chunk has been overwritten. */
#include <stdio.h>
#include <string.h>

#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/stage/stream.h"

enum { CAUSE_BYTES = 1024 };
typedef struct plumb_live_stream_step step_of_stream;

static step_of_stream *step_at(const struct plumb_stream_at *at)
{
    return &at->stream->step[at->step];
}

static struct plumb_live_stream_stage *stage_at(const struct plumb_stream_at *at)
{
    return plumb_table_at(at->in.run, &at->in.run->h->stream_stages, step_at(at)->stage);
}

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* ---- Entries of a sequence ------------------------------------------------------------------- */

static struct plumb_live_chunk *chunk_at(struct plumb_run *run, uint64_t serial)
{
    uint32_t i = (uint32_t)((serial - 1) % PLUMB_LIVE_STREAM_CHUNKS);
    struct plumb_live_chunk *c =
        serial && i < run->h->chunks.count ? plumb_table_at(run, &run->h->chunks, i) : NULL;
    return c && c->serial == serial ? c : NULL;
}

/* Returns the serial of a new chunk, in a table that grows up to its bound and then begins again;
 * 0: the mapping is full. */
static uint64_t make_chunk(const struct plumb_stream_at *at)
{
    struct plumb_live_table *t = &at->in.run->h->chunks;
    uint64_t serial = at->in.run->h->streams.chunks + 1;
    uint32_t i = (uint32_t)((serial - 1) % PLUMB_LIVE_STREAM_CHUNKS);
    bool fresh = i >= t->count;
    struct plumb_live_chunk *c;
    if (fresh) {
        plumb_lock();
        c = plumb_table_add(at->in.run, t);
        plumb_unlock();
        if (!c)
            return 0;
    } else {
        c = plumb_table_at(at->in.run, t, i);
        PLUMB_STORE(c->serial, 0);
        plumb_order();
        memset(c, 0, sizeof *c);
    }
    c->stream = at->stream->serial;
    c->sequence = at->sequence;
    c->stage = step_at(at)->stage;
    PLUMB_RELEASE(c->serial, serial);
    if (fresh)
        plumb_table_commit(t);
    PLUMB_STORE(at->in.run->h->streams.chunks, serial);
    return serial;
}

static uint32_t find_open(const struct plumb_stream_at *at)
{
    const step_of_stream *s = step_at(at);
    uint32_t i = 0;
    while (i < PLUMB_LIVE_STREAM_OPEN && !(s->open[i].chunk && s->open[i].sequence == at->sequence))
        i++;
    return i;
}

/* Frees a place; a stage without an admitted sequence is idle from then on. */
static void close_open(const struct plumb_stream_at *at, uint32_t i)
{
    step_of_stream *s = step_at(at);
    bool admitted = s->open[i].admitted_ns != 0;
    s->open[i].chunk = 0;
    s->open[i].admitted_ns = s->open[i].ready_ns = 0;
    if (admitted && --s->in_flight == 0)
        s->idle_since_ns = at->now_ns;
}

/* Returns a free place; if there is none, that of the lowest sequence, which is lost. */
static uint32_t free_place(const struct plumb_stream_at *at)
{
    const step_of_stream *s = step_at(at);
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < PLUMB_LIVE_STREAM_OPEN; i++) {
        if (!s->open[i].chunk)
            return i;
        if (s->open[i].sequence < s->open[lowest].sequence)
            lowest = i;
    }
    at->in.run->h->streams.lost++;
    close_open(at, lowest);
    return lowest;
}

/* Returns the place of a sequence, made if needed; PLUMB_LIVE_STREAM_OPEN: the mapping is full. */
static uint32_t get_open(const struct plumb_stream_at *at)
{
    step_of_stream *s = step_at(at);
    uint32_t i = find_open(at);
    uint64_t serial;
    if (i < PLUMB_LIVE_STREAM_OPEN)
        return i;
    if (!(serial = make_chunk(at))) {
        at->in.run->h->streams.lost++;
        return i;
    }
    i = free_place(at);
    s->open[i].sequence = at->sequence;
    s->open[i].ready_ns = s->open[i].admitted_ns = 0;
    s->open[i].chunk = serial;
    return i;
}

/* ---- Causes ---------------------------------------------------------------------------------- */

/* The inputs of the chunk that came after `from_ns`: "control+latents". */
static uint64_t missing_inputs(const struct plumb_stream_at *at, const struct plumb_live_chunk *c,
                               uint64_t from_ns)
{
    const struct plumb_live_stream_stage *stage = stage_at(at);
    char cause[CAUSE_BYTES];
    size_t used = 0;
    cause[0] = '\0';
    for (uint32_t i = 0; i < stage->inputs && used < sizeof cause; i++) {
        const char *name =
            PLUMB_AT(at->in.run, const char, stage->input_off[i] + sizeof(struct plumb_live_text));
        if (c && c->input_ns[i] > from_ns)
            used +=
                (size_t)snprintf(cause + used, sizeof cause - used, "%s%s", used ? "+" : "", name);
    }
    return plumb_thread_name(at->in, used ? cause : "inputs_not_ready");
}

/* Splits the idle time up to now into the part of the inputs and that of the admission. */
static void end_idle(const struct plumb_stream_at *at, struct plumb_live_chunk *c,
                     uint64_t ready_ns)
{
    step_of_stream *s = step_at(at);
    uint64_t from = s->idle_since_ns, idle = since(from, at->now_ns);
    uint64_t inputs = since(from, ready_ns && ready_ns < at->now_ns ? ready_ns : at->now_ns);
    uint64_t cause[2] = {0, 0};
    s->idle_since_ns = 0;
    if (!ready_ns && at->text)
        inputs = 0; /* the program knows of no input, but why it waited */
    if (inputs <= PLUMB_STREAM_CONTINUOUS_NS)
        inputs = 0;
    else if (idle - inputs <= PLUMB_STREAM_CONTINUOUS_NS)
        inputs = idle;
    if (idle <= PLUMB_STREAM_CONTINUOUS_NS) {
        inputs = 0;
        cause[1] = plumb_thread_name(at->in, "continuous");
    } else {
        if (inputs)
            cause[0] = missing_inputs(at, c, from);
        if (inputs < idle)
            cause[1] = plumb_thread_name(at->in, at->text ? at->text : "scheduler_admission");
    }
    if (c) {
        c->idle_from_ns = from;
        c->idle_split_ns = from + inputs;
        c->cause_off[0] = cause[0];
        c->cause_off[1] = cause[1];
    }
    if (cause[0])
        plumb_stream_idle_add(at->in, stage_at(at), cause[0], inputs);
    if (cause[1])
        plumb_stream_idle_add(at->in, stage_at(at), cause[1], idle - inputs);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void input(const struct plumb_stream_at *at)
{
    step_of_stream *s = step_at(at);
    uint32_t which = plumb_stream_input_of(at->in, stage_at(at), at->text ? at->text : "");
    uint32_t i = get_open(at);
    struct plumb_live_chunk *c;
    if (which == UINT32_MAX) {
        at->in.run->h->streams.lost++;
        return;
    }
    if (i == PLUMB_LIVE_STREAM_OPEN)
        return;
    c = chunk_at(at->in.run, s->open[i].chunk);
    if (c)
        c->input_ns[which] = at->now_ns;
}

static void ready(const struct plumb_stream_at *at)
{
    step_of_stream *s = step_at(at);
    uint32_t i = get_open(at);
    struct plumb_live_chunk *c;
    if (i == PLUMB_LIVE_STREAM_OPEN || s->open[i].admitted_ns)
        return;
    s->open[i].ready_ns = at->now_ns;
    c = chunk_at(at->in.run, s->open[i].chunk);
    if (c)
        c->ready_ns = at->now_ns;
}

static uint64_t last_input(const struct plumb_live_chunk *c)
{
    uint64_t last = 0;
    for (uint32_t i = 0; c && i < PLUMB_LIVE_STREAM_INPUTS; i++)
        last = c->input_ns[i] > last ? c->input_ns[i] : last;
    return last;
}

static void admitted(const struct plumb_stream_at *at)
{
    step_of_stream *s = step_at(at);
    uint32_t i = get_open(at);
    struct plumb_live_chunk *c;
    if (i == PLUMB_LIVE_STREAM_OPEN)
        return;
    if (s->open[i].admitted_ns) {
        at->in.run->h->streams.stale++;
        return;
    }
    c = chunk_at(at->in.run, s->open[i].chunk);
    if (!s->open[i].ready_ns)
        s->open[i].ready_ns = last_input(c);
    s->open[i].admitted_ns = at->now_ns;
    if (s->idle_since_ns && s->in_flight == 0)
        end_idle(at, c, s->open[i].ready_ns);
    s->in_flight++;
    if (c) {
        c->ready_ns = s->open[i].ready_ns;
        c->admitted_ns = at->now_ns;
    }
    if (s->open[i].ready_ns)
        plumb_stream_sum_add(&stage_at(at)->waited, since(s->open[i].ready_ns, at->now_ns));
}

static void completed(const struct plumb_stream_at *at)
{
    step_of_stream *s = step_at(at);
    uint32_t i = find_open(at);
    struct plumb_live_chunk *c;
    if (i == PLUMB_LIVE_STREAM_OPEN || !s->open[i].admitted_ns) {
        at->in.run->h->streams.stale++;
        return;
    }
    c = chunk_at(at->in.run, s->open[i].chunk);
    if (c)
        c->completed_ns = at->now_ns;
    plumb_stream_sum_add(&stage_at(at)->ran, since(s->open[i].admitted_ns, at->now_ns));
    close_open(at, i);
}

static void abandoned(const struct plumb_stream_at *at)
{
    uint32_t i = find_open(at);
    struct plumb_live_chunk *c;
    if (i == PLUMB_LIVE_STREAM_OPEN) {
        at->in.run->h->streams.stale++;
        return;
    }
    c = chunk_at(at->in.run, step_at(at)->open[i].chunk);
    if (c)
        c->abandoned = 1;
    stage_at(at)->abandoned++;
    close_open(at, i);
}

void plumb_stream_step_event(const struct plumb_stream_at *at, uint32_t what)
{
    switch (what) {
    case PLUMB_STREAM_INPUT:
        input(at);
        break;
    case PLUMB_STREAM_READY:
        ready(at);
        break;
    case PLUMB_STREAM_ADMITTED:
        admitted(at);
        break;
    case PLUMB_STREAM_COMPLETED:
        completed(at);
        break;
    case PLUMB_STREAM_ABANDONED:
        abandoned(at);
        break;
    default:
        break;
    }
}

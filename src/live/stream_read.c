/* stream_read.c: streams of a mapping (ledger.h), converted to the report's model. The mapping may
 * be a damaged file, or one that its process still writes to: every index and offset is checked. */
#include <stdlib.h>
#include <string.h>

#include "live/ledger_read.h"

/* Since the run's start. */
static uint64_t at_ns(const struct plumb_ledger_reader *r, uint64_t raw_ns)
{
    uint64_t start = r->m->view.h->start.raw_ns;
    return raw_ns > start ? raw_ns - start : 0;
}

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

static const void *element(struct plumb_ledger_reader *r, const struct plumb_live_table *t,
                           uint32_t i, size_t bytes)
{
    return plumb_live_element(&r->m->view, t, i, bytes);
}

static const char *text(struct plumb_ledger_reader *r, uint64_t off)
{
    return plumb_live_text(&r->m->view, off);
}

static struct plumb_timing_sum sum_of(const struct plumb_live_stream_sum *s)
{
    const struct plumb_live_stream_figures *f = &s->copy[s->shown & 1];
    struct plumb_timing_sum none = {0, 0, 0, 0};
    return s->shown ? (struct plumb_timing_sum){f->count, f->total_ns, f->min_ns, f->max_ns} : none;
}

/* ---- Latencies ------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Type 7 of Hyndman and Fan (1996). */
static double quantile(const uint64_t *sorted, size_t n, double q)
{
    double place = (double)(n - 1) * q;
    size_t below = (size_t)place;
    double low = (double)sorted[below];
    double high = (double)sorted[below + 1 < n ? below + 1 : below];
    return low + (high - low) * (place - (double)below);
}

static void fill_latency(struct plumb_ledger_reader *r, struct plumb_timing_latency *out,
                         uint64_t off)
{
    const struct plumb_live_latency *l = off ? plumb_live_at(&r->m->view, off, sizeof *l) : NULL;
    uint64_t *sorted;
    if (!l)
        return;
    out->sum = sum_of(&l->sum);
    out->kept = out->sum.count < PLUMB_LIVE_STREAM_SAMPLES ? out->sum.count
                                                           : (uint64_t)PLUMB_LIVE_STREAM_SAMPLES;
    sorted = plumb_arena_alloc(&r->t->arena, (out->kept + 1) * sizeof *sorted);
    if (!sorted || !out->kept)
        return;
    memcpy(sorted, l->sample_ns, out->kept * sizeof *sorted);
    qsort(sorted, out->kept, sizeof *sorted, by_size);
    out->p50_ns = quantile(sorted, out->kept, 0.5);
    out->p95_ns = quantile(sorted, out->kept, 0.95);
}

/* ---- Names and their stages ------------------------------------------------------------------ */

/* place_of[i]: the index of stage i of the mapping among those of its channel. */
struct places {
    uint32_t *place_of;
    uint32_t count;
};

static void fill_stage(struct plumb_ledger_reader *r, struct plumb_timing_stream_stage *out,
                       const struct plumb_live_stream_stage *s)
{
    uint32_t inputs = PLUMB_ACQUIRE(s->inputs), causes = PLUMB_ACQUIRE(s->causes);
    if (inputs > PLUMB_LIVE_STREAM_INPUTS || causes > PLUMB_LIVE_STREAM_CAUSES)
        inputs = causes = 0;
    out->name = text(r, s->name_off);
    out->abandoned = s->abandoned;
    out->waited = sum_of(&s->waited);
    out->ran = sum_of(&s->ran);
    out->inputs = plumb_arena_alloc(&r->t->arena, (inputs + 1) * sizeof *out->inputs);
    for (uint32_t i = 0; out->inputs && i < inputs; i++)
        out->inputs[out->input_count++] = text(r, s->input_off[i]);
    out->idle = plumb_arena_alloc(&r->t->arena, (causes + 1) * sizeof *out->idle);
    for (uint32_t i = 0; out->idle && i < causes; i++)
        out->idle[out->idle_count++] =
            (struct plumb_timing_idle){text(r, s->cause[i].name_off), sum_of(&s->cause[i].idle)};
}

static void fill_stages(struct plumb_ledger_reader *r, struct plumb_timing_channel_of_streams *out,
                        uint32_t channel, struct places *p)
{
    const struct plumb_live_table *t = &r->m->view.h->stream_stages;
    out->stages = plumb_arena_alloc(&r->t->arena, (p->count + 1) * sizeof *out->stages);
    for (uint32_t i = 0; out->stages && i < p->count; i++) {
        const struct plumb_live_stream_stage *s = element(r, t, i, sizeof *s);
        if (!s || s->channel != channel)
            continue;
        p->place_of[i] = (uint32_t)out->stage_count;
        fill_stage(r, &out->stages[out->stage_count++], s);
    }
}

static void fill_channels(struct plumb_ledger_reader *r, struct places *p)
{
    struct plumb_timing_streams *out = &r->t->streams;
    const struct plumb_live_table *t = &r->m->view.h->channels;
    uint32_t n = plumb_ledger_count(r, t, sizeof(struct plumb_live_channel));
    out->channels = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *out->channels);
    for (uint32_t i = 0; out->channels && i < n; i++) {
        const struct plumb_live_channel *c = element(r, t, i, sizeof *c);
        struct plumb_timing_channel_of_streams *to = &out->channels[i];
        if (!c)
            return;
        to->name = text(r, c->name_off);
        to->streams = c->streams;
        to->outputs = c->outputs;
        to->controls = c->controls;
        fill_latency(r, &to->first_output, c->latency_off[PLUMB_LATENCY_FIRST_OUTPUT]);
        fill_latency(r, &to->control_to_output, c->latency_off[PLUMB_LATENCY_CONTROL]);
        fill_latency(r, &to->chunk_period, c->latency_off[PLUMB_LATENCY_CHUNK_PERIOD]);
        fill_stages(r, to, i, p);
        out->channel_count++;
    }
}

/* ---- Streams and sequences ------------------------------------------------------------------- */

/* Elements of both tables begin with their serial. */
static int by_serial(const void *a, const void *b)
{
    uint64_t x = **(const uint64_t *const *)a, y = **(const uint64_t *const *)b;
    return (x > y) - (x < y);
}

/* Sets `out` to the elements of a table in the order of their serials, to be freed. */
static uint32_t in_order(struct plumb_ledger_reader *r, const struct plumb_live_table *t,
                         size_t bytes, const uint64_t ***out)
{
    uint32_t n = plumb_ledger_count(r, t, bytes), found = 0;
    const uint64_t **list = calloc(n + 1, sizeof *list);
    for (uint32_t i = 0; list && i < n; i++) {
        const uint64_t *serial = element(r, t, i, bytes);
        if (serial && PLUMB_ACQUIRE(*serial))
            list[found++] = serial;
    }
    if (list)
        qsort(list, found, sizeof *list, by_serial);
    *out = list;
    return found;
}

static void fill_streams(struct plumb_ledger_reader *r)
{
    struct plumb_timing_streams *out = &r->t->streams;
    const uint64_t **list;
    uint32_t n = in_order(r, &r->m->view.h->stream, sizeof(struct plumb_live_stream), &list);
    out->streams = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *out->streams);
    for (uint32_t i = 0; list && out->streams && i < n; i++) {
        const struct plumb_live_stream *s = (const struct plumb_live_stream *)(const void *)list[i];
        uint64_t end = s->end_ns ? s->end_ns : r->end.raw_ns;
        if (s->channel >= out->channel_count)
            continue;
        out->streams[out->stream_count++] = (struct plumb_timing_stream){
            .channel = s->channel,
            .request = plumb_ledger_request_index(r, s->request),
            .number = s->serial,
            .begin_ns = at_ns(r, s->begin_ns),
            .open = !s->end_ns,
            .lasted_ns = since(s->begin_ns, end),
            .outputs = s->outputs,
            .first_output_ns = s->outputs ? since(s->begin_ns, s->first_output_ns) : 0};
    }
    out->streams_lost = since(out->stream_count, r->m->view.h->streams.streams);
    free(list);
}

static void fill_idle(struct plumb_ledger_reader *r, struct plumb_timing_sequence *out,
                      const struct plumb_live_chunk *c)
{
    if (c->cause_off[0]) {
        out->idle[0].cause = text(r, c->cause_off[0]);
        out->idle[0].begin_ns = at_ns(r, c->idle_from_ns);
        out->idle[0].ns = since(c->idle_from_ns, c->idle_split_ns);
    }
    if (c->cause_off[1]) {
        out->idle[1].cause = text(r, c->cause_off[1]);
        out->idle[1].begin_ns = at_ns(r, c->idle_split_ns);
        out->idle[1].ns = since(c->idle_split_ns, c->admitted_ns);
    }
}

static void fill_sequences(struct plumb_ledger_reader *r, const struct places *p)
{
    struct plumb_timing_streams *out = &r->t->streams;
    const uint64_t **list;
    uint32_t n = in_order(r, &r->m->view.h->chunks, sizeof(struct plumb_live_chunk), &list);
    out->sequences = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *out->sequences);
    for (uint32_t i = 0; list && out->sequences && i < n; i++) {
        const struct plumb_live_chunk *c = (const struct plumb_live_chunk *)(const void *)list[i];
        const struct plumb_live_stream_stage *stage =
            element(r, &r->m->view.h->stream_stages, c->stage, sizeof *stage);
        struct plumb_timing_sequence *to = &out->sequences[out->sequence_count];
        if (!stage || c->stage >= p->count || stage->channel >= out->channel_count)
            continue;
        out->sequence_count++;
        *to = (struct plumb_timing_sequence){.channel = stage->channel,
                                             .stage = p->place_of[c->stage],
                                             .stream = c->stream,
                                             .sequence = c->sequence,
                                             .ready = c->ready_ns != 0,
                                             .admitted = c->admitted_ns != 0,
                                             .completed = c->completed_ns != 0,
                                             .abandoned = c->abandoned != 0,
                                             .ready_ns = at_ns(r, c->ready_ns),
                                             .admitted_ns = at_ns(r, c->admitted_ns),
                                             .completed_ns = at_ns(r, c->completed_ns)};
        fill_idle(r, to, c);
    }
    out->sequences_lost = since(out->sequence_count, r->m->view.h->streams.chunks);
    free(list);
}

void plumb_streams_read(struct plumb_ledger_reader *r)
{
    const struct plumb_live_table *t = &r->m->view.h->stream_stages;
    struct places p = {NULL, plumb_ledger_count(r, t, sizeof(struct plumb_live_stream_stage))};
    p.place_of = plumb_arena_alloc(&r->t->arena, (p.count + 1) * sizeof *p.place_of);
    if (!p.place_of)
        return;
    fill_channels(r, &p);
    fill_streams(r);
    fill_sequences(r, &p);
    r->t->streams.events_lost = r->m->view.h->streams.lost;
    r->t->streams.events_stale = r->m->view.h->streams.stale;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static void own(struct plumb_arena *a, const char **text)
{
    *text = plumb_arena_strdup(a, *text);
}

void plumb_streams_own(struct plumb_timing *t)
{
    struct plumb_arena *a = &t->arena;
    for (size_t i = 0; i < t->streams.channel_count; i++) {
        struct plumb_timing_channel_of_streams *c = &t->streams.channels[i];
        own(a, &c->name);
        for (size_t k = 0; k < c->stage_count; k++) {
            struct plumb_timing_stream_stage *s = &c->stages[k];
            own(a, &s->name);
            for (size_t n = 0; n < s->input_count; n++)
                own(a, &s->inputs[n]);
            for (size_t n = 0; n < s->idle_count; n++)
                own(a, &s->idle[n].cause);
        }
    }
    for (size_t i = 0; i < t->streams.sequence_count; i++) {
        own(a, &t->streams.sequences[i].idle[0].cause);
        own(a, &t->streams.sequences[i].idle[1].cause);
    }
}

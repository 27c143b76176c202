/* stream_figures.c: names and sums of streams: channels, stages, causes of idle time, latencies.
 * All of it is called under the ledger's lock. Lists are searched from their begin: they are short,
 * and equal texts have one offset. */
#include <string.h>

#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/stage/stream.h"

#define OTHER "(other)"

static void *add(struct plumb_run *run, struct plumb_live_table *t)
{
    void *made;
    plumb_lock();
    made = plumb_table_add(run, t);
    plumb_unlock();
    return made;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static uint32_t find_channel(struct plumb_run *run, uint64_t name_off)
{
    const struct plumb_live_table *t = &run->h->channels;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct plumb_live_channel *c = plumb_table_at(run, t, i);
        if (c->name_off == name_off)
            return i;
    }
    return UINT32_MAX;
}

uint32_t plumb_stream_channel(struct plumb_in in, const char *name)
{
    struct plumb_run *run = in.run;
    struct plumb_live_table *t = &run->h->channels;
    uint64_t off = plumb_thread_name(in, name);
    uint32_t at = off ? find_channel(run, off) : UINT32_MAX;
    struct plumb_live_channel *c;
    if (at == UINT32_MAX && t->count >= PLUMB_LIVE_CHANNELS - 1) {
        off = plumb_thread_name(in, OTHER);
        at = off ? find_channel(run, off) : UINT32_MAX;
    }
    if (at != UINT32_MAX || !off || !(c = add(run, t)))
        return at;
    c->name_off = off;
    plumb_table_commit(t);
    return t->count - 1;
}

uint32_t plumb_stream_stage_at(struct plumb_in in, uint32_t channel, const char *name)
{
    struct plumb_run *run = in.run;
    struct plumb_live_table *t = &run->h->stream_stages;
    uint64_t off = plumb_thread_name(in, name);
    struct plumb_live_stream_stage *s;
    for (uint32_t i = 0; i < t->count; i++) {
        s = plumb_table_at(run, t, i);
        if (s->channel == channel && s->name_off == off)
            return i;
    }
    if (!off || t->count >= PLUMB_LIVE_STREAM_STAGES || !(s = add(run, t)))
        return UINT32_MAX;
    s->channel = channel;
    s->name_off = off;
    plumb_table_commit(t);
    return t->count - 1;
}

uint32_t plumb_stream_input_of(struct plumb_in in, struct plumb_live_stream_stage *stage,
                               const char *name)
{
    uint64_t off = plumb_thread_name(in, name);
    for (uint32_t i = 0; i < stage->inputs; i++) {
        if (stage->input_off[i] == off)
            return i;
    }
    if (!off || stage->inputs == PLUMB_LIVE_STREAM_INPUTS)
        return UINT32_MAX;
    stage->input_off[stage->inputs] = off;
    PLUMB_RELEASE(stage->inputs, stage->inputs + 1);
    return stage->inputs - 1;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

void plumb_stream_sum_add(struct plumb_live_stream_sum *sum, uint64_t ns)
{
    struct plumb_live_stream_figures f = sum->copy[sum->shown & 1];
    f.min_ns = !f.count || ns < f.min_ns ? ns : f.min_ns;
    f.max_ns = ns > f.max_ns ? ns : f.max_ns;
    f.count++;
    f.total_ns += ns;
    sum->copy[(sum->shown + 1) & 1] = f;
    PLUMB_RELEASE(sum->shown, sum->shown + 1);
}

void plumb_stream_latency_add(struct plumb_run *run, struct plumb_live_channel *channel,
                              enum plumb_live_latency_kind kind, uint64_t ns)
{
    struct plumb_live_latency *l;
    if (!channel->latency_off[kind]) {
        uint64_t off;
        plumb_lock();
        off = plumb_carve(run, sizeof *l);
        plumb_unlock();
        if (!off) {
            run->h->streams.lost++;
            return;
        }
        PLUMB_RELEASE(channel->latency_off[kind], off);
    }
    l = PLUMB_AT(run, struct plumb_live_latency, channel->latency_off[kind]);
    l->sample_ns[l->sum.copy[l->sum.shown & 1].count % PLUMB_LIVE_STREAM_SAMPLES] = ns;
    plumb_order();
    plumb_stream_sum_add(&l->sum, ns);
}

void plumb_stream_idle_add(struct plumb_in in, struct plumb_live_stream_stage *stage,
                           uint64_t cause_off, uint64_t ns)
{
    uint32_t i = 0;
    while (i < stage->causes && stage->cause[i].name_off != cause_off)
        i++;
    if (i == stage->causes && i >= PLUMB_LIVE_STREAM_CAUSES - 1) {
        cause_off = plumb_thread_name(in, OTHER);
        i = PLUMB_LIVE_STREAM_CAUSES - 1;
    }
    if (i == stage->causes) {
        stage->cause[i].name_off = cause_off;
        PLUMB_RELEASE(stage->causes, i + 1);
    }
    plumb_stream_sum_add(&stage->cause[i].idle, ns);
}

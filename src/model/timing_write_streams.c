/* timing_write_streams.c: `streams` of timing.json: timing of streams by sequence. Any thread. */
#include "model/timing_parts.h"

static void write_sum(struct plumb_json *j, const struct plumb_timing_sum *s)
{
    plumb_put_u64(j, "count", s->count);
    plumb_put_u64(j, "total_ns", s->total_ns);
    plumb_put_u64(j, "min_ns", s->min_ns);
    plumb_put_u64(j, "max_ns", s->max_ns);
    plumb_put_f64(j, "mean_ns", plumb_timing_sum_mean(s));
}

static void write_named_sum(struct plumb_json *j, const char *key, const struct plumb_timing_sum *s)
{
    plumb_json_key(j, key);
    plumb_json_object_inline(j);
    write_sum(j, s);
    plumb_json_object_end(j);
}

static void write_latency(struct plumb_json *j, const char *key,
                          const struct plumb_timing_latency *l)
{
    plumb_json_key(j, key);
    plumb_json_object_inline(j);
    write_sum(j, &l->sum);
    plumb_put_f64(j, "p50_ns", l->p50_ns);
    plumb_put_f64(j, "p95_ns", l->p95_ns);
    plumb_put_u64(j, "percentiles_of", l->kept);
    plumb_json_object_end(j);
}

static void write_stage(struct plumb_json *j, const struct plumb_timing_stream_stage *s)
{
    plumb_json_object(j);
    plumb_put_text(j, "name", s->name);
    plumb_put_array(j, "inputs");
    for (size_t i = 0; i < s->input_count; i++)
        plumb_json_str(j, s->inputs[i]);
    plumb_json_array_end(j);
    plumb_put_u64(j, "abandoned", s->abandoned);
    write_named_sum(j, "waited", &s->waited);
    write_named_sum(j, "ran", &s->ran);
    plumb_put_array(j, "idle");
    for (size_t i = 0; i < s->idle_count; i++) {
        plumb_json_object_inline(j);
        plumb_put_text(j, "cause", s->idle[i].cause);
        write_sum(j, &s->idle[i].sum);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

static void write_channel(struct plumb_json *j, const struct plumb_timing_channel_of_streams *c)
{
    plumb_json_object(j);
    plumb_put_text(j, "name", c->name);
    plumb_put_u64(j, "streams", c->streams);
    plumb_put_u64(j, "outputs", c->outputs);
    plumb_put_u64(j, "controls", c->controls);
    write_latency(j, "first_output", &c->first_output);
    write_latency(j, "control_to_output", &c->control_to_output);
    write_latency(j, "chunk_period", &c->chunk_period);
    plumb_put_array(j, "stages");
    for (size_t i = 0; i < c->stage_count; i++)
        write_stage(j, &c->stages[i]);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

/* One line each, as the sequences: there may be thousands. */
static void write_stream(struct plumb_json *j, const struct plumb_timing_stream *s)
{
    plumb_json_object_inline(j);
    plumb_put_u64(j, "name", s->channel);
    plumb_put_u64(j, "number", s->number);
    plumb_put_index(j, "request", s->request);
    plumb_put_u64(j, "begin_ns", s->begin_ns);
    plumb_put_u64(j, "lasted_ns", s->lasted_ns);
    plumb_put_bool(j, "open", s->open);
    plumb_put_u64(j, "outputs", s->outputs);
    if (s->outputs)
        plumb_put_u64(j, "first_output_ns", s->first_output_ns);
    plumb_json_object_end(j);
}

static void write_time(struct plumb_json *j, const char *key, bool known, uint64_t ns)
{
    if (known)
        plumb_put_u64(j, key, ns);
    else
        plumb_put_null(j, key);
}

void plumb_timing_write_sequence(struct plumb_json *j, const struct plumb_timing_sequence *s)
{
    plumb_put_u64(j, "stream", s->stream);
    plumb_put_u64(j, "sequence", s->sequence);
    write_time(j, "inputs_ready_at_ns", s->ready, s->ready_ns);
    write_time(j, "admitted_at_ns", s->admitted, s->admitted_ns);
    write_time(j, "completed_at_ns", s->completed, s->completed_ns);
    if (s->abandoned)
        plumb_put_bool(j, "abandoned", true);
    plumb_put_array(j, "idle_before");
    for (int i = 0; i < 2; i++) {
        if (!s->idle[i].cause)
            continue;
        plumb_json_object(j);
        plumb_put_text(j, "cause", s->idle[i].cause);
        plumb_put_u64(j, "begin_ns", s->idle[i].begin_ns);
        plumb_put_u64(j, "ns", s->idle[i].ns);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

void plumb_timing_write_stream_names(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "names");
    for (size_t i = 0; i < t->streams.channel_count; i++)
        write_channel(j, &t->streams.channels[i]);
    plumb_json_array_end(j);
}

void plumb_timing_write_stream_list(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "streams");
    for (size_t i = 0; i < t->streams.stream_count; i++)
        write_stream(j, &t->streams.streams[i]);
    plumb_json_array_end(j);
    plumb_put_u64(j, "streams_lost", t->streams.streams_lost);
    plumb_put_u64(j, "sequences_lost", t->streams.sequences_lost);
    plumb_put_u64(j, "events_lost", t->streams.events_lost);
    plumb_put_u64(j, "events_stale", t->streams.events_stale);
}

void plumb_timing_write_streams(const struct plumb_timing *t, struct plumb_json *j)
{
    if (t->streams.channel_count == 0)
        return;
    plumb_put_object(j, "streams");
    plumb_timing_write_stream_names(t, j);
    plumb_timing_write_stream_list(t, j);
    plumb_put_array(j, "sequences");
    for (size_t i = 0; i < t->streams.sequence_count; i++) {
        const struct plumb_timing_sequence *s = &t->streams.sequences[i];
        plumb_json_object_inline(j);
        plumb_put_u64(j, "name", s->channel);
        plumb_put_u64(j, "stage", s->stage);
        plumb_timing_write_sequence(j, s);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

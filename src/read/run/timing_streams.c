/* timing_streams.c: `streams` of a timing report. Any thread. */
#include "read/run/timing_parts.h"

static void read_sum(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                     struct plumb_timing_sum *out)
{
    out->count = plumb_field_u64(&c->f, v, "count");
    out->total_ns = plumb_field_u64(&c->f, v, "total_ns");
    out->min_ns = plumb_field_u64(&c->f, v, "min_ns");
    out->max_ns = plumb_field_u64(&c->f, v, "max_ns");
}

static void read_named_sum(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                           const char *key, struct plumb_timing_sum *out)
{
    read_sum(c, plumb_field_object(&c->f, v, key), out);
}

static void read_latency(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                         const char *key, struct plumb_timing_latency *out)
{
    const struct plumb_json_value *l = plumb_field_object(&c->f, v, key);
    read_sum(c, l, &out->sum);
    out->p50_ns = plumb_field_f64(&c->f, l, "p50_ns");
    out->p95_ns = plumb_field_f64(&c->f, l, "p95_ns");
    out->kept = plumb_field_u64(&c->f, l, "percentiles_of");
}

static void read_idle(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                      struct plumb_timing_stream_stage *s)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, "idle", sizeof *s->idle, &s->idle, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *e = plumb_field_entry(&c->f, list, "idle", i);
        s->idle[i].cause = plumb_field_name(&c->f, e, "cause");
        read_sum(c, e, &s->idle[i].sum);
    }
    s->idle_count = n;
    plumb_field_end(&c->f);
}

static void read_inputs(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                        struct plumb_timing_stream_stage *s)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, "inputs", sizeof *s->inputs, &s->inputs, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const char *text = plumb_json_text(&list->at[i]);
        if (!text)
            plumb_field_fault(&c->f, "inputs", "is not a list of strings");
        s->inputs[i] = plumb_field_own(&c->f, text ? text : "");
    }
    s->input_count = n;
}

static void read_stages(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                        struct plumb_timing_channel_of_streams *out)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, "stages", sizeof *out->stages, &out->stages, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *e = plumb_field_entry(&c->f, list, "stages", i);
        struct plumb_timing_stream_stage *s = &out->stages[i];
        struct plumb_field_place outer;
        s->name = plumb_field_name(&c->f, e, "name");
        s->abandoned = plumb_field_u64(&c->f, e, "abandoned");
        read_named_sum(c, e, "waited", &s->waited);
        read_named_sum(c, e, "ran", &s->ran);
        read_inputs(c, e, s);
        outer = plumb_field_down(&c->f, "");
        read_idle(c, e, s);
        plumb_field_up(&c->f, outer);
    }
    out->stage_count = n;
    plumb_field_end(&c->f);
}

static void read_names(struct plumb_timing_cursor *c, const struct plumb_json_value *streams)
{
    struct plumb_timing_streams *out = &c->t->streams;
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, streams, "names", sizeof *out->channels, &out->channels, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "names", i);
        struct plumb_timing_channel_of_streams *to = &out->channels[i];
        struct plumb_field_place outer;
        to->name = plumb_field_name(&c->f, v, "name");
        to->streams = plumb_field_u64(&c->f, v, "streams");
        to->outputs = plumb_field_u64(&c->f, v, "outputs");
        to->controls = plumb_field_u64(&c->f, v, "controls");
        read_latency(c, v, "first_output", &to->first_output);
        read_latency(c, v, "control_to_output", &to->control_to_output);
        read_latency(c, v, "chunk_period", &to->chunk_period);
        outer = plumb_field_down(&c->f, "");
        read_stages(c, v, to);
        plumb_field_up(&c->f, outer);
    }
    out->channel_count = n;
    plumb_field_end(&c->f);
}

static void read_list(struct plumb_timing_cursor *c, const struct plumb_json_value *streams)
{
    struct plumb_timing_streams *out = &c->t->streams;
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, streams, "streams", sizeof *out->streams, &out->streams, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "streams", i);
        struct plumb_timing_stream *s = &out->streams[i];
        s->channel = plumb_field_index(&c->f, v, "name", out->channel_count, "names");
        s->request =
            plumb_field_index_or_none(&c->f, v, "request", c->t->request_count, "requests");
        s->number = plumb_field_u64(&c->f, v, "number");
        s->begin_ns = plumb_field_u64(&c->f, v, "begin_ns");
        s->lasted_ns = plumb_field_u64(&c->f, v, "lasted_ns");
        s->open = plumb_field_bool(&c->f, v, "open");
        s->outputs = plumb_field_u64(&c->f, v, "outputs");
        if (s->outputs)
            s->first_output_ns = plumb_field_u64(&c->f, v, "first_output_ns");
    }
    out->stream_count = n;
    plumb_field_end(&c->f);
    out->streams_lost = plumb_field_u64(&c->f, streams, "streams_lost");
    out->sequences_lost = plumb_field_u64(&c->f, streams, "sequences_lost");
    out->events_lost = plumb_field_u64(&c->f, streams, "events_lost");
    out->events_stale = plumb_field_u64(&c->f, streams, "events_stale");
}

static void read_time(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                      const char *key, bool *known, uint64_t *ns)
{
    *known = !plumb_json_is(plumb_json_get(v, key), PLUMB_JSON_IS_NULL);
    if (*known)
        *ns = plumb_field_u64(&c->f, v, key);
}

static void read_idle_before(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                             struct plumb_timing_sequence *s)
{
    char *unused; /* there are up to two, which have their place */
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, "idle_before", sizeof *unused, &unused, &n);
    for (size_t i = 0; i < n && i < 2 && !c->f.failed; i++) {
        const struct plumb_json_value *e = plumb_field_entry(&c->f, list, "idle_before", i);
        s->idle[i].cause = plumb_field_name(&c->f, e, "cause");
        s->idle[i].begin_ns = plumb_field_u64(&c->f, e, "begin_ns");
        s->idle[i].ns = plumb_field_u64(&c->f, e, "ns");
    }
    plumb_field_end(&c->f);
}

static void read_sequences(struct plumb_timing_cursor *c, const struct plumb_json_value *streams)
{
    struct plumb_timing_streams *out = &c->t->streams;
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, streams, "sequences", sizeof *out->sequences, &out->sequences, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "sequences", i);
        struct plumb_timing_sequence *s = &out->sequences[i];
        struct plumb_field_place outer;
        s->channel = plumb_field_index(&c->f, v, "name", out->channel_count, "names");
        if (c->f.failed)
            return;
        s->stage = plumb_field_index(&c->f, v, "stage", out->channels[s->channel].stage_count,
                                     "stages of its name");
        s->stream = plumb_field_u64(&c->f, v, "stream");
        s->sequence = plumb_field_u64(&c->f, v, "sequence");
        read_time(c, v, "inputs_ready_at_ns", &s->ready, &s->ready_ns);
        read_time(c, v, "admitted_at_ns", &s->admitted, &s->admitted_ns);
        read_time(c, v, "completed_at_ns", &s->completed, &s->completed_ns);
        s->abandoned = plumb_json_get(v, "abandoned") && plumb_field_bool(&c->f, v, "abandoned");
        outer = plumb_field_down(&c->f, "");
        read_idle_before(c, v, s);
        plumb_field_up(&c->f, outer);
    }
    out->sequence_count = n;
    plumb_field_end(&c->f);
}

void plumb_timing_read_streams(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    const struct plumb_json_value *streams;
    struct plumb_field_place outer;
    if (!plumb_json_get(root, "streams"))
        return;
    streams = plumb_field_object(&c->f, root, "streams");
    outer = plumb_field_down(&c->f, "streams");
    read_names(c, streams);
    read_list(c, streams);
    read_sequences(c, streams);
    plumb_field_up(&c->f, outer);
}

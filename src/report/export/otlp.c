/* otlp.c: requests as OTLP traces.
 *
 * Ids are made from the run and the numbers of requests and stage runs, never at random: what is
 * exported twice, live and from its report, has the same ids. Times of a trace are the request's
 * begin by the clock of the day, and distances by the monotonic clock from there, so that a clock
 * that was set in the meantime cannot put a stage outside its request.
 *
 * The parent of a stage is a run of the stage that it was begun in (plumb_timing_stage_run.within):
 * on its thread, or on the one that the work was captured on. Only the stage is recorded, not its
 * run, so of several runs the one that was open at the begin is taken, and of several open ones the
 * one on the same thread, then the newest. */
#include "report/export/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/text/ascii.h"
#include "codec/json_fields.h"
#include "model/trace_context.h"

enum { KIND_INTERNAL = 1, KIND_SERVER = 2, STATUS_ERROR = 2, ID_HEX = 17 };
/* SpanFlags: whether the parent is remote is known; it is remote. */
enum { FLAG_KNOWN = 0x100, FLAG_REMOTE = 0x200 };

struct span { /* a stage's run */
    const struct plumb_timing_stage_run *run;
    const char *why; /* of a failure, or of an end that did not come */
    bool open;
    uint64_t id;
    size_t parent; /* index in `spans`; SIZE_MAX: the request */
};

struct writer {
    const struct plumb_timing *t;
    const struct plumb_otlp_wish *wish;
    struct plumb_otlp_written *written;
    struct plumb_json j;
    uint64_t seed; /* of the run */
    /* Runs of all requests, by request and begin; `own`: those that were open, from t->open. */
    struct span *spans;
    size_t count;
    struct plumb_timing_stage_run *own;
    size_t own_count;
};

/* ---- Ids ------------------------------------------------------------------------------------- */

/* The finaliser of splitmix64. */
static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

enum id_of { OF_TRACE_HIGH = 1, OF_TRACE_LOW = 2, OF_REQUEST = 3, OF_STAGE = 4, OF_OPEN_STAGE = 5 };

/* Never 0, which is not an id. */
static uint64_t make_id(const struct writer *w, enum id_of what, uint64_t number)
{
    uint64_t id = mix(mix(w->seed ^ (uint64_t)what << 56) ^ number * UINT64_C(0x9e3779b97f4a7c15));
    return id ? id : 1;
}

static uint64_t seed_of(const struct plumb_timing *t)
{
    uint64_t host = plumb_hash_text(t->host ? t->host : "");
    return mix(mix(host ^ t->start_unix_ns) ^ (uint64_t)t->pid << 20);
}

static void hex(char out[ID_HEX], uint64_t id)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++)
        out[i] = digits[id >> (60 - 4 * i) & 15];
    out[16] = '\0';
}

/* ---- JSON of protobuf ------------------------------------------------------------------------ */

/* 64-bit integers are strings. */
static void put_u64_text(struct plumb_json *j, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    plumb_put_text(j, key, text);
}

static void begin_attribute(struct plumb_json *j, const char *key)
{
    plumb_json_object_inline(j);
    plumb_put_text(j, "key", key);
    plumb_put_object(j, "value");
}

static void end_attribute(struct plumb_json *j)
{
    plumb_json_object_end(j);
    plumb_json_object_end(j);
}

/* NULL and "": no attribute. */
static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    begin_attribute(j, key);
    plumb_put_text(j, "stringValue", text);
    end_attribute(j);
}

static void put_number(struct plumb_json *j, const char *key, uint64_t value)
{
    begin_attribute(j, key);
    put_u64_text(j, "intValue", value);
    end_attribute(j);
}

static void put_true(struct plumb_json *j, const char *key)
{
    begin_attribute(j, key);
    plumb_put_bool(j, "boolValue", true);
    end_attribute(j);
}

static void put_status(struct plumb_json *j, bool failed, const char *why)
{
    if (!failed)
        return;
    plumb_put_object(j, "status");
    if (why && *why)
        plumb_put_text(j, "message", why);
    plumb_put_u64(j, "code", STATUS_ERROR);
    plumb_json_object_end(j);
}

/* ---- The stages of each request -------------------------------------------------------------- */

static uint64_t end_of(const struct plumb_timing_stage_run *r)
{
    return r->begin_ns + r->duration_ns;
}

/* The request that an open stage belongs to: the newest open one of its thread that began
 * earlier. */
static uint32_t request_of_open(const struct plumb_timing *t, uint32_t tid, uint64_t begin_ns)
{
    for (size_t i = t->request_count; i-- > 0;)
        if (t->requests[i].state == PLUMB_TIMING_REQUEST_OPEN && t->requests[i].tid == tid &&
            t->requests[i].begin_ns <= begin_ns)
            return (uint32_t)i;
    return PLUMB_TIMING_NONE;
}

static uint32_t stage_called(const struct plumb_timing *t, const struct plumb_timing_open *o)
{
    for (size_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].stage && plumb_timing_is_open(o, &t->nodes[i]))
            return (uint32_t)i;
    return PLUMB_TIMING_NONE;
}

/* Stages that were open when the run ended, as runs up to then. */
static void add_open(struct writer *w)
{
    const struct plumb_timing *t = w->t;
    uint32_t depth = 0, tid = 0, within = PLUMB_TIMING_NONE;
    for (size_t i = 0; i < t->open_count; i++) {
        const struct plumb_timing_open *o = &t->open[i];
        uint32_t node = stage_called(t, o);
        uint64_t begin = t->wall_clock_ns > o->age_ns ? t->wall_clock_ns - o->age_ns : 0;
        if (o->tid != tid) {
            depth = 0;
            within = PLUMB_TIMING_NONE;
        }
        tid = o->tid;
        if (node == PLUMB_TIMING_NONE)
            continue;
        w->own[w->own_count++] =
            (struct plumb_timing_stage_run){.node = node,
                                            .tid = o->tid,
                                            .depth = depth++,
                                            .request = request_of_open(t, o->tid, begin),
                                            .begin_ns = begin,
                                            .duration_ns = o->age_ns,
                                            .within = within,
                                            .number = i + 1};
        within = node;
    }
}

static int by_request(const void *a, const void *b)
{
    const struct plumb_timing_stage_run *x = ((const struct span *)a)->run;
    const struct plumb_timing_stage_run *y = ((const struct span *)b)->run;
    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static bool is_better(const struct plumb_timing_stage_run *r,
                      const struct plumb_timing_stage_run *a,
                      const struct plumb_timing_stage_run *than)
{
    bool here = a->tid == r->tid, there = than->tid == r->tid;
    return here != there ? here : a->begin_ns >= than->begin_ns;
}

/* Returns the index of the run around `spans[of]`, among those of the same request from `first`. */
static size_t parent_of(const struct writer *w, size_t first, size_t of)
{
    const struct plumb_timing_stage_run *r = w->spans[of].run;
    size_t best = SIZE_MAX;
    if (r->within == PLUMB_TIMING_NONE)
        return best;
    for (size_t i = first; i < w->count && w->spans[i].run->request == r->request; i++) {
        const struct plumb_timing_stage_run *p = w->spans[i].run;
        if (i == of || p->node != r->within || p->begin_ns > r->begin_ns ||
            end_of(p) < r->begin_ns ||
            (p->tid == r->tid && p->node == r->node && p->depth >= r->depth))
            continue;
        if (best == SIZE_MAX || is_better(r, p, w->spans[best].run))
            best = i;
    }
    return best;
}

static int collect(struct writer *w)
{
    const struct plumb_timing *t = w->t;
    w->own = calloc(t->open_count + 1, sizeof *w->own);
    w->spans = calloc(t->stage_run_count + t->open_count + 1, sizeof *w->spans);
    if (!w->own || !w->spans)
        return PLUMB_ERR_MEMORY;
    if (w->wish->open_too)
        add_open(w);
    for (size_t i = 0; i < t->stage_run_count; i++)
        if (t->stage_runs[i].request != PLUMB_TIMING_NONE)
            w->spans[w->count++] =
                (struct span){.run = &t->stage_runs[i],
                              .why = t->stage_runs[i].why,
                              .id = make_id(w, OF_STAGE, t->stage_runs[i].number)};
    for (size_t i = 0; i < w->own_count; i++)
        if (w->own[i].request != PLUMB_TIMING_NONE)
            w->spans[w->count++] = (struct span){
                .run = &w->own[i], .open = true, .id = make_id(w, OF_OPEN_STAGE, w->own[i].number)};
    qsort(w->spans, w->count, sizeof *w->spans, by_request);
    for (size_t i = 0, first = 0; i < w->count; i++) {
        if (w->spans[i].run->request != w->spans[first].run->request)
            first = i;
        w->spans[i].parent = parent_of(w, first, i);
    }
    return PLUMB_OK;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

struct trace {
    const struct plumb_timing_request *request;
    struct plumb_trace_context caller; /* trace_id "": it has none */
    const char *state;                 /* of the caller; NULL: none */
    struct plumb_buf joined;           /* what `state` lies in */
    const char *ignored;               /* why the caller's traceparent is; NULL: it is not */
    char trace_id[33];
    uint64_t root;
};

/* The caller's tracestate; several are one list, in their order. NULL: there is none, or it is to
 * be ignored. In `joined`, which the caller ends. */
static const char *state_of(const struct plumb_timing_request *r, struct plumb_buf *joined)
{
    for (size_t i = 0; i < r->metadata_count; i++) {
        if (!plumb_ascii_equal(r->metadata[i].key, PLUMB_TRACESTATE) || !*r->metadata[i].value)
            continue;
        if (joined->len)
            plumb_buf_char(joined, ',');
        plumb_buf_str(joined, r->metadata[i].value);
    }
    if (joined->failed || !joined->len || plumb_tracestate_check(joined->data))
        return NULL;
    return joined->data;
}

static void begin_trace(struct writer *w, struct trace *trace, const struct plumb_timing_request *r)
{
    memset(trace, 0, sizeof *trace);
    trace->request = r;
    trace->root = make_id(w, OF_REQUEST, r->number);
    if (r->traceparent)
        trace->ignored = plumb_traceparent_read(&trace->caller, r->traceparent);
    if (trace->ignored && !w->written->parents_ignored++)
        w->written->why_ignored = trace->ignored;
    if (trace->caller.trace_id[0]) {
        memcpy(trace->trace_id, trace->caller.trace_id, sizeof trace->trace_id);
        trace->state = state_of(r, &trace->joined);
    } else {
        hex(trace->trace_id, make_id(w, OF_TRACE_HIGH, r->number));
        hex(trace->trace_id + 16, make_id(w, OF_TRACE_LOW, r->number));
    }
}

/* The members that every span begins with. `from_ns`: since the run's start. */
static void begin_span(struct writer *w, const struct trace *trace, uint64_t id, const char *parent,
                       const char *name)
{
    char text[ID_HEX];
    struct plumb_json *j = &w->j;
    plumb_json_object(j);
    plumb_put_text(j, "traceId", trace->trace_id);
    hex(text, id);
    plumb_put_text(j, "spanId", text);
    if (trace->state)
        plumb_put_text(j, "traceState", trace->state);
    if (parent)
        plumb_put_text(j, "parentSpanId", parent);
    plumb_put_text(j, "name", name);
    w->written->spans++;
}

static void put_times(struct writer *w, const struct trace *trace, uint64_t from_ns, uint64_t ns)
{
    const struct plumb_timing_request *r = trace->request;
    uint64_t begin = r->begin_unix_ns + from_ns - r->begin_ns;
    put_u64_text(&w->j, "startTimeUnixNano", begin);
    put_u64_text(&w->j, "endTimeUnixNano", begin + ns);
}

static void put_request_attributes(struct writer *w, const struct trace *trace, uint64_t lost)
{
    const struct plumb_timing_request *r = trace->request;
    struct plumb_json *j = &w->j;
    char key[300];
    plumb_put_array(j, "attributes");
    put_text(j, "plumb.request.id", r->id);
    put_number(j, "thread.id", r->tid);
    put_number(j, "plumb.stage_runs", r->records);
    if (r->memory.samples)
        put_number(j, "plumb.peak_rss_bytes", r->memory.peak_rss);
    if (lost)
        put_number(j, "plumb.stage_runs_lost", lost);
    if (r->state == PLUMB_TIMING_REQUEST_OPEN)
        put_true(j, "plumb.open");
    if (trace->ignored) {
        put_text(j, "plumb.traceparent_ignored", r->traceparent);
        put_text(j, "plumb.traceparent_ignored_because", trace->ignored);
    }
    for (size_t i = 0; i < r->metadata_count; i++) {
        if (plumb_ascii_equal(r->metadata[i].key, PLUMB_TRACEPARENT) ||
            plumb_ascii_equal(r->metadata[i].key, PLUMB_TRACESTATE))
            continue;
        snprintf(key, sizeof key, "plumb.metadata.%s", r->metadata[i].key);
        put_text(j, key, r->metadata[i].value);
    }
    plumb_json_array_end(j);
}

static void put_root(struct writer *w, const struct trace *trace, uint64_t lost)
{
    const struct plumb_timing_request *r = trace->request;
    bool remote = trace->caller.trace_id[0] != '\0';
    bool cut = r->state == PLUMB_TIMING_REQUEST_OPEN && w->wish->killed;
    struct plumb_json *j = &w->j;
    begin_span(w, trace, trace->root, remote ? trace->caller.parent_id : NULL, "request");
    if (remote)
        plumb_put_u64(j, "flags", trace->caller.flags | FLAG_KNOWN | FLAG_REMOTE);
    plumb_put_u64(j, "kind", remote ? KIND_SERVER : KIND_INTERNAL);
    put_times(w, trace, r->begin_ns, r->wall_ns);
    put_request_attributes(w, trace, lost);
    put_status(j, r->state == PLUMB_TIMING_REQUEST_FAILED || cut,
               cut ? "the process was killed" : r->why);
    plumb_json_object_end(j);
}

static void put_stage(struct writer *w, const struct trace *trace, const struct span *s)
{
    const struct plumb_timing_stage_run *r = s->run;
    const struct plumb_timing_node *node = &w->t->nodes[r->node];
    bool cut = s->open && w->wish->killed;
    struct plumb_json *j = &w->j;
    char parent[ID_HEX];
    hex(parent, s->parent == SIZE_MAX ? trace->root : w->spans[s->parent].id);
    begin_span(w, trace, s->id, parent, node->name);
    if (trace->caller.trace_id[0])
        plumb_put_u64(j, "flags", trace->caller.flags | FLAG_KNOWN);
    plumb_put_u64(j, "kind", KIND_INTERNAL);
    put_times(w, trace, r->begin_ns, r->duration_ns);
    plumb_put_array(j, "attributes");
    put_text(j, "plumb.pipeline", node->pipeline);
    put_text(j, "plumb.phase", node->phase);
    put_number(j, "thread.id", r->tid);
    if (r->peak_rss)
        put_number(j, "plumb.peak_rss_bytes", r->peak_rss);
    if (s->open)
        put_true(j, "plumb.open");
    plumb_json_array_end(j);
    put_status(j, r->failed || cut, cut ? "the process was killed" : s->why);
    plumb_json_object_end(j);
}

/* Returns the first of the request's spans; they end where another request begins. */
static size_t first_span(const struct writer *w, uint32_t request)
{
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->spans[middle].run->request < request)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_request(struct writer *w, uint32_t index)
{
    struct trace trace;
    size_t first = first_span(w, index), end = first, done = 0;
    uint64_t lost;
    begin_trace(w, &trace, &w->t->requests[index]);
    for (; end < w->count && w->spans[end].run->request == index; end++)
        done += !w->spans[end].open;
    lost = trace.request->records > done ? trace.request->records - done : 0;
    put_root(w, &trace, lost);
    for (size_t i = first; i < end; i++)
        put_stage(w, &trace, &w->spans[i]);
    plumb_buf_fini(&trace.joined);
    w->written->requests++;
    w->written->stages_lost += lost;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void put_resource(struct writer *w)
{
    const struct plumb_timing *t = w->t;
    struct plumb_json *j = &w->j;
    const char *slash = t->program ? strrchr(t->program, '/') : NULL;
    plumb_put_object(j, "resource");
    plumb_put_array(j, "attributes");
    put_text(j, "service.name", w->wish->service ? w->wish->service : t->pipeline);
    put_text(j, "host.name", t->host);
    put_number(j, "process.pid", t->pid);
    put_text(j, "process.executable.name", slash ? slash + 1 : t->program);
    put_text(j, "process.executable.path", t->program);
    if (t->rank >= 0)
        put_number(j, "plumb.rank", (uint64_t)t->rank);
    if (t->world_size > 0)
        put_number(j, "plumb.world_size", (uint64_t)t->world_size);
    put_text(j, "plumb.run", t->request_id);
    put_text(j, "telemetry.sdk.name", "plumb");
    put_text(j, "telemetry.sdk.language", "c");
    put_text(j, "telemetry.sdk.version", t->plumb_version);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

static bool is_wanted(const struct plumb_otlp_wish *wish, const struct plumb_timing_request *r)
{
    return (wish->open_too || r->state != PLUMB_TIMING_REQUEST_OPEN) &&
           (!wish->wanted || wish->wanted(wish->arg, r->number));
}

static void put_spans(struct writer *w)
{
    const struct plumb_otlp_wish *wish = w->wish;
    for (size_t i = 0; i < w->t->request_count; i++) {
        if (!is_wanted(wish, &w->t->requests[i]))
            continue;
        if (wish->max && w->written->requests == wish->max) {
            w->written->more = true;
            return;
        }
        put_request(w, (uint32_t)i);
    }
}

static void put_all(struct writer *w)
{
    struct plumb_json *j = &w->j;
    plumb_json_object(j);
    plumb_put_array(j, "resourceSpans");
    plumb_json_object(j);
    put_resource(w);
    plumb_put_array(j, "scopeSpans");
    plumb_json_object(j);
    plumb_put_object(j, "scope");
    plumb_put_text(j, "name", "plumb");
    plumb_put_text(j, "version", w->t->plumb_version);
    plumb_json_object_end(j);
    plumb_put_array(j, "spans");
    put_spans(w);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

int plumb_otlp_write(struct plumb_buf *out, const struct plumb_timing *t,
                     const struct plumb_otlp_wish *wish, struct plumb_otlp_written *written,
                     plumb_error *err)
{
    struct writer w = {.t = t, .wish = wish, .written = written, .seed = seed_of(t)};
    int rc;
    memset(written, 0, sizeof *written);
    if ((rc = collect(&w)) == PLUMB_OK) {
        plumb_json_init(&w.j, out, wish->indent);
        put_all(&w);
        rc = out->failed ? PLUMB_ERR_MEMORY : PLUMB_OK;
    }
    free(w.spans);
    free(w.own);
    return rc < 0 ? plumb_fail(err, rc, "out of memory while writing traces") : PLUMB_OK;
}

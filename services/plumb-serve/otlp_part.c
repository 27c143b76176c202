/* otlp_part.c: plumb serve --otlp: sends the requests of runs to a collector of OpenTelemetry.
 *
 * One thread looks every few seconds which requests have ended, and sends them in batches. There is
 * one batch in memory at most: while the collector does not answer, nothing more is read, and the
 * runs themselves are the queue (each keeps its newest 4096 requests). Requests that a run drops in
 * that time are counted. A text that is refused for good is dropped and counted. The recorded
 * processes notice nothing of it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"
#include "log.h"
#include "otlp_post.h"
#include "otlp_runs.h"
#include "serve.h"

enum { BATCH = 512, PAUSE_MS = 5000, FIRST_RETRY_MS = 500, LAST_RETRY_MS = 30000 };

struct otlp {
    struct otlp_post *post;
    struct otlp_runs runs;
    plumb_otlp_batch batch; /* that waits; json NULL: none does */
    bool away;              /* the collector did not answer the last time */
    uint64_t retry_ms;
    uint64_t requests, spans, dropped, parents; /* so far */
    uint64_t pause_ms;
    pthread_t thread;
    pthread_mutex_t lock; /* of the following */
    pthread_cond_t wake;
    bool ends, ended;
};

static bool ends(struct otlp *o)
{
    bool now;
    pthread_mutex_lock(&o->lock);
    now = o->ends;
    pthread_mutex_unlock(&o->lock);
    return now;
}

/* Waits, until the part ends at most. */
static void rest(struct otlp *o, uint64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000 * 1000000);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&o->lock);
    while (!o->ends && pthread_cond_timedwait(&o->wake, &o->lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&o->lock);
}

/* ---- Batches --------------------------------------------------------------------------------- */

static void drop(struct otlp *o, uint64_t requests, const char *why)
{
    if (requests && !o->dropped)
        serve_log("otlp: requests are dropped: %s; their number is logged at the end", why);
    o->dropped += requests;
}

static void forget_batch(struct otlp *o)
{
    plumb_read_free(o->batch.json);
    o->batch.json = NULL;
}

/* Sends the batch that waits. Returns false while the collector does not take it. */
static bool send_batch(struct otlp *o)
{
    struct otlp_reply reply;
    enum otlp_answer answer = otlp_post_send(o->post, o->batch.json, o->batch.bytes, &reply);
    if (answer == OTLP_LATER) {
        if (!o->away)
            serve_log("otlp: %s: %s; tries again", otlp_post_url(o->post), reply.why);
        o->retry_ms = o->away ? o->retry_ms * 2 : FIRST_RETRY_MS;
        if (o->retry_ms > LAST_RETRY_MS)
            o->retry_ms = LAST_RETRY_MS;
        if (reply.retry_after_s * 1000 > o->retry_ms)
            o->retry_ms = reply.retry_after_s * 1000;
        o->away = true;
        return false;
    }
    if (o->away)
        serve_log("otlp: %s answers again", otlp_post_url(o->post));
    o->away = false;
    if (answer == OTLP_REFUSED) {
        drop(o, o->batch.requests, reply.why);
    } else {
        o->requests += o->batch.requests;
        o->spans += o->batch.spans;
        if (reply.rejected)
            serve_log("otlp: %s rejects %llu spans: %s", otlp_post_url(o->post),
                      (unsigned long long)reply.rejected, reply.why);
    }
    forget_batch(o);
    return true;
}

/* Makes the next batch of a run. Returns false: it has none now. */
static bool next_batch(struct otlp *o, struct otlp_run *run)
{
    plumb_otlp_batch batch = {.json = NULL};
    plumb_error err;
    int rc = run->over ? 0 : plumb_otlp_next(&batch, run->reader, &err);
    run->fails = rc < 0; /* it begins or ends just now, was removed, or is damaged */
    if (run->fails)
        return false;
    if (batch.requests_lost > run->lost)
        drop(o, batch.requests_lost - run->lost, "a run keeps its newest 4096, and had more");
    run->lost = batch.requests_lost > run->lost ? batch.requests_lost : run->lost;
    if (batch.parents_ignored && !o->parents)
        serve_log("otlp: a traceparent is ignored: %s; further ones are not logged",
                  batch.why_ignored);
    o->parents += batch.parents_ignored;
    run->over = run->over || (batch.over && !batch.more);
    o->batch = batch;
    return rc == 1;
}

/* Sends what there is. Returns false when the collector does not take it. */
static bool send_all(struct otlp *o)
{
    if (o->batch.json && !send_batch(o))
        return false;
    otlp_runs_look(&o->runs);
    for (size_t i = 0; i < o->runs.count; i++)
        while (next_batch(o, &o->runs.run[i]))
            if (!send_batch(o))
                return false;
    return true;
}

static void *work(void *arg)
{
    struct otlp *o = arg;
    bool last;
    do {
        last = ends(o); /* one more round after that */
        bool sent = send_all(o);
        if (!last)
            rest(o, sent ? o->pause_ms : o->retry_ms);
    } while (!last);
    pthread_mutex_lock(&o->lock);
    o->ended = true;
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

/* ---- The part -------------------------------------------------------------------------------- */

static uint64_t pause_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    unsigned long long ms = text ? strtoull(text, &end, 10) : 0;
    return text && *text && !*end && ms > 0 && ms <= 3600000 ? ms : PAUSE_MS;
}

static void destroy(struct otlp *o)
{
    otlp_runs_fini(&o->runs);
    otlp_post_close(o->post);
    pthread_cond_destroy(&o->wake);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static int start(void **out, struct serve *s, plumb_error *err)
{
    plumb_otlp_options options = plumb_otlp_options_default();
    const char *service = getenv("OTEL_SERVICE_NAME");
    pthread_condattr_t monotonic;
    struct otlp *o;
    int rc;
    if (!s->options.otlp)
        return PLUMB_OK;
    if (!(o = calloc(1, sizeof *o)))
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    options.max_requests = BATCH;
    options.service = service && *service ? service : NULL;
    otlp_runs_init(&o->runs, s->options.runs, &options);
    o->pause_ms = pause_of("OTEL_BSP_SCHEDULE_DELAY");
    pthread_mutex_init(&o->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&o->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    rc = otlp_post_open(&o->post, s->options.otlp, err);
    if (rc == PLUMB_OK && pthread_create(&o->thread, NULL, work, o) != 0)
        rc = serve_fail(err, PLUMB_ERR_MEMORY, "cannot start a thread");
    if (rc < 0) {
        destroy(o);
        return rc;
    }
    serve_log("otlp: sends requests to %s", otlp_post_url(o->post));
    *out = o;
    return PLUMB_OK;
}

static bool drained(void *part, bool now)
{
    struct otlp *o = part;
    bool ended;
    if (now)
        otlp_post_abort(o->post);
    pthread_mutex_lock(&o->lock);
    o->ends = true;
    ended = o->ended;
    pthread_cond_signal(&o->wake);
    pthread_mutex_unlock(&o->lock);
    return ended;
}

/* Counts what a collector that is away has not got: the batch that waits, and all after it. */
static void drop_rest(struct otlp *o)
{
    static const char why[] = "the collector did not answer until the end";
    if (o->batch.json)
        drop(o, o->batch.requests, why);
    forget_batch(o);
    if (!o->away)
        return;
    otlp_runs_look(&o->runs);
    for (size_t i = 0; i < o->runs.count; i++)
        while (next_batch(o, &o->runs.run[i])) {
            drop(o, o->batch.requests, why);
            forget_batch(o);
        }
}

static void stop(void *part)
{
    struct otlp *o = part;
    otlp_post_abort(o->post);
    drained(o, true);
    pthread_join(o->thread, NULL);
    drop_rest(o);
    serve_log("otlp: sent %llu requests, %llu spans; %llu requests dropped",
              (unsigned long long)o->requests, (unsigned long long)o->spans,
              (unsigned long long)o->dropped);
    destroy(o);
}

const struct serve_part serve_part_otlp = {"otlp", start, drained, stop};

/* request.c: requests: sections of the ledger, one for each piece of work that the program was
 * asked for.
 *
 * A thread works for one request at a time; beginning the next ends the one before. Workers that
 * adopt a context work for the request that it was captured in. The newest requests keep their
 * figures, fewer of them also those of their stages. Cumulative statistics are not touched here. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/text/ascii.h"
#include "record/metrics/metrics.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"

static struct plumb_live_request *at(struct plumb_run *run, uint64_t serial)
{
    uint32_t i = (uint32_t)((serial - 1) % PLUMB_LIVE_REQUESTS);
    struct plumb_live_request *r =
        serial && i < run->h->requests.count ? plumb_table_at(run, &run->h->requests, i) : NULL;
    return r && r->serial == serial ? r : NULL;
}

/* Returns the section of a request: made, or taken over from an older request. NULL: the mapping is
 * full. */
static struct plumb_live_section *section_at(struct plumb_run *run, uint64_t serial, bool take)
{
    uint64_t *off = &run->h->ledger.section_off[(serial - 1) % PLUMB_LIVE_SECTIONS];
    struct plumb_live_section *s;
    if (!*off && take) {
        uint64_t made;
        plumb_lock();
        made = plumb_carve(run, sizeof *s);
        plumb_unlock();
        PLUMB_RELEASE(*off, made);
    }
    s = *off ? PLUMB_AT(run, struct plumb_live_section, *off) : NULL;
    if (s && take) {
        PLUMB_STORE(s->request, 0);
        plumb_order();
        s->stages = s->metadata_bytes = s->signatures = 0;
        s->signatures_lost = 0;
        plumb_checkpoints_drop(run, serial);
        memset(s->stage, 0, sizeof s->stage);
        plumb_order();
        PLUMB_STORE(s->request, serial);
    }
    return s && s->request == serial ? s : NULL;
}

struct plumb_live_section *plumb_request_section(struct plumb_run *run, uint64_t request)
{
    return at(run, request) ? section_at(run, request, false) : NULL;
}

uint64_t plumb_request_current(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    const struct plumb_live_request *r = at(in.run, th->request);
    if (!r || r->end_ticks)
        th->request = 0;
    return th->request;
}

static void copy_metadata(struct plumb_live_section *s, const plumb_pair *pair)
{
    for (; pair && pair->key; pair++) {
        const char *value = pair->value ? pair->value : "";
        size_t k = strlen(pair->key) + 1, v = strlen(value) + 1;
        if (s->metadata_bytes + k + v > sizeof s->metadata)
            return;
        memcpy(s->metadata + s->metadata_bytes, pair->key, k);
        memcpy(s->metadata + s->metadata_bytes + k, value, v);
        s->metadata_bytes += (uint32_t)(k + v);
    }
}

/* The caller's trace. A header that is empty or comes twice is not valid, and kept as such. */
static void copy_traceparent(struct plumb_live_request *r, const plumb_pair *pair)
{
    bool found = false;
    for (; pair && pair->key; pair++) {
        if (!plumb_ascii_equal(pair->key, "traceparent"))
            continue;
        snprintf(r->traceparent, sizeof r->traceparent, "%s",
                 found || !pair->value || !*pair->value ? "(twice or empty)" : pair->value);
        found = true;
    }
}

static uint64_t unix_now_ns(void)
{
    return plumb_clock_gettime_ns(CLOCK_REALTIME);
}

/* "req_<local date>_<time>_<microseconds>" */
static void stamp_id(char *out, size_t size, uint64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    struct tm tm;
    size_t n;
    localtime_r(&seconds, &tm);
    n = strftime(out, size, "req_%Y%m%d_%H%M%S", &tm);
    snprintf(out + n, size - n, "_%06u", (unsigned)(unix_ns / 1000 % 1000000));
}

static void end(struct plumb_in in, struct plumb_live_request *r, uint32_t scope,
                const struct plumb_rss *rss, uint32_t failed, const char *why)
{
    struct plumb_live_memory m;
    if (r->end_ticks)
        return;
    plumb_scope_close(in, scope, rss, &m);
    plumb_ledger_show(&r->memory, &m);
    r->failed = failed != 0;
    snprintf(r->why, sizeof r->why, "%s", failed && why ? why : "");
    PLUMB_RELEASE(r->end_ticks, plumb_ticks_from(in.th->clock));
    plumb_request_ended(in, r->serial, plumb_clock_gettime_ns(CLOCK_MONOTONIC) - r->begin_mono_ns,
                        failed);
}

/* A new entry, in a table that grows up to its bound and then begins again. */
static struct plumb_live_request *enter(struct plumb_run *run)
{
    struct plumb_live_table *t = &run->h->requests;
    uint64_t serial = run->h->ledger.requests + 1;
    uint32_t i = (uint32_t)((serial - 1) % PLUMB_LIVE_REQUESTS);
    struct plumb_live_request *r;
    if (i < t->count) {
        r = plumb_table_at(run, t, i);
        PLUMB_STORE(r->serial, 0);
        plumb_order();
        memset(r, 0, sizeof *r);
    } else {
        plumb_lock();
        r = plumb_table_add(run, t);
        plumb_unlock();
        if (!r)
            return NULL;
        plumb_table_commit(t);
    }
    PLUMB_STORE(run->h->ledger.requests, serial);
    return r;
}

plumb_request plumb_request_begin_impl(const char *id, const plumb_pair *metadata)
{
    bool with_rss = plumb_wanted() && PLUMB_LOAD(plumb_rt.settings.memory) != PLUMB_MEMORY_OFF;
    struct plumb_rss rss = with_rss ? plumb_rss_read() : (struct plumb_rss){0, 0};
    struct plumb_live_request *r, *before;
    struct plumb_live_section *s;
    plumb_request request = {0};
    struct plumb_in in;
    uint64_t now_ns = unix_now_ns();
    char stamp[64];
    if (!plumb_wanted())
        return request;
    plumb_request_metrics_make();
    /* Before the lock: the holder of libc's lock of local time may allocate, and so wait for
     * ours. */
    stamp_id(stamp, sizeof stamp, now_ns);
    if (!plumb_ledger_enter(&in, false))
        return request;
    before = at(in.run, in.th->request);
    if (before && !in.th->memory_adopted)
        end(in, before, before->scope, &rss, 0, NULL);
    plumb_sized_flush(in);
    r = enter(in.run);
    if (!r) {
        plumb_drop(in.run, PLUMB_DROP_LOST);
        plumb_ledger_leave(in);
        return request;
    }
    r->begin_unix_ns = now_ns;
    r->tid = in.th->tid;
    copy_traceparent(r, metadata);
    snprintf(r->id, sizeof r->id, "%s", id && *id ? id : stamp);
    r->scope = plumb_scope_open(in, with_rss ? PLUMB_SCOPE_RSS : 0, &rss);
    r->begin_mono_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    r->begin_ticks = plumb_ticks_from(in.th->clock);
    plumb_request_began(in);
    in.th->request = in.run->h->ledger.requests;
    PLUMB_RELEASE(r->serial, in.th->request);
    s = section_at(in.run, in.th->request, true);
    if (s)
        copy_metadata(s, metadata);
    request.id = in.th->request | (uint64_t)in.run->generation << 40;
    plumb_ledger_leave(in);
    return request;
}

void plumb_request_end_impl(plumb_request request, uint32_t failed, const char *why)
{
    bool with_rss = request.id && PLUMB_LOAD(plumb_rt.settings.memory) != PLUMB_MEMORY_OFF;
    struct plumb_rss rss = with_rss ? plumb_rss_read() : (struct plumb_rss){0, 0};
    uint64_t serial = request.id & ((UINT64_C(1) << 40) - 1);
    struct plumb_live_request *r;
    struct plumb_in in;
    if (!request.id || !plumb_ledger_enter(&in, true))
        return;
    plumb_sized_flush(in);
    r = request.id >> 40 == (in.run->generation & 0xffffff) ? at(in.run, serial) : NULL;
    if (r)
        end(in, r, r->scope, &rss, failed, why);
    if (in.th->request == serial)
        in.th->request = 0;
    plumb_ledger_leave(in);
}

/* ---- Stages of a request --------------------------------------------------------------------- */

static struct plumb_live_section_stage *stage_at(struct plumb_live_section *s, uint64_t key)
{
    for (uint32_t i = 0; i < s->stages; i++) {
        if (s->stage[i].key == key)
            return &s->stage[i];
    }
    if (s->stages == PLUMB_LIVE_SECTION_STAGES)
        return NULL;
    s->stage[s->stages].key = key;
    PLUMB_RELEASE(s->stages, s->stages + 1);
    return &s->stage[s->stages - 1];
}

/* Returns the part of a stage's last `ticks` that lies in the request, which may have ended
 * earlier. */
static uint64_t within(const struct plumb_live_request *r, const struct plumb_stage_entry *e,
                       uint64_t ticks)
{
    uint64_t end = r->end_ticks && r->end_ticks < e->end_ticks ? r->end_ticks : e->end_ticks;
    uint64_t over = e->end_ticks - (end > e->begin_ticks ? end : e->begin_ticks);
    return ticks > over ? ticks - over : 0;
}

/* Updates the longest gap between stages on the request's thread. */
static void look_at_gap(struct plumb_live_request *r, const struct plumb_stage_entry *e)
{
    uint64_t from = r->last_end_ticks ? r->last_end_ticks : r->begin_ticks;
    uint64_t gap = e->begin_ticks > from ? e->begin_ticks - from : 0;
    if (gap > r->gap_ticks) {
        r->gap_after = r->last_key;
        r->gap_before = e->key + 1;
        r->gap_ticks = gap;
    }
    r->last_key = e->key + 1;
    r->last_end_ticks = e->end_ticks;
}

struct plumb_live_device_use *plumb_request_use(struct plumb_run *run, uint64_t request,
                                                uint64_t key)
{
    struct plumb_live_section *s = plumb_request_section(run, request);
    struct plumb_live_section_stage *stage = s ? stage_at(s, key) : NULL;
    return stage ? &stage->use : NULL;
}

void plumb_request_took(struct plumb_run *run, uint64_t request, uint64_t ticks)
{
    struct plumb_live_request *r = at(run, request);
    if (r)
        r->stages_ticks += ticks;
}

void plumb_request_stage(struct plumb_run *run, const struct plumb_stage_entry *e)
{
    struct plumb_live_request *r = at(run, e->request);
    struct plumb_live_section *s;
    struct plumb_live_section_stage *stage;
    uint64_t took = e->end_ticks > e->begin_ticks ? e->end_ticks - e->begin_ticks : 0, own = 0;
    if (!r)
        return;
    r->records++;
    if (e->tid == r->tid && !e->async) {
        own = within(r, e, e->own_ticks);
        r->exclusive_ticks += own;
        if (e->tops)
            look_at_gap(r, e);
    }
    if (e->outermost)
        r->stages_ticks += took;
    s = section_at(run, e->request, false);
    stage = s ? stage_at(s, e->key) : NULL;
    if (!stage)
        return;
    stage->exclusive += own;
    /* A failed run took its time too: without it the whole would be less than the sum of its parts.
     */
    stage->total += took;
    stage->own += e->own_ticks;
    stage->last = took;
    stage->last_end = e->end_ticks;
    if (e->failed)
        stage->failures++;
    else
        stage->count++;
    plumb_ledger_add(&stage->memory, &e->memory, 0);
}

#include "live/signature_live.h"

#include <string.h>

#include "base/error.h"
#include "base/strings/strings.h"
#include "codec/json_fields.h"
#include "live/clock.h"
#include "live/merge.h"
#include "model/signature_pack.h"

struct stages { /* the stages found so far */
    struct plumb_signature_stage *at;
    size_t count, cap;
    struct plumb_strings names; /* number of each: index + 1 */
    uint64_t *last_serial;      /* of each: serial of the call that its `last` is of */
};

struct reader {
    struct plumb_signature *s;
    struct plumb_merge m;                    /* only for its checked reads of the mapping */
    const char *captured;                    /* the stage with a capture; NULL: none */
    struct plumb_signature_capture *capture; /* of it */
    size_t left; /* bytes of packs that may still come: a sound mapping has no pack twice */
};

static const char *text_at(struct reader *r, uint64_t off)
{
    const char *text = plumb_live_text(&r->m.view, off);
    return plumb_arena_strdup(&r->s->arena, text);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static const struct plumb_live_request *request_at(struct reader *r, uint32_t i)
{
    return plumb_live_element(&r->m.view, &r->m.view.h->requests, i,
                              sizeof(struct plumb_live_request));
}

static const char *request_id(struct reader *r, uint64_t serial)
{
    const struct plumb_live_request *q =
        serial ? request_at(r, (uint32_t)((serial - 1) % PLUMB_LIVE_REQUESTS)) : NULL;
    if (!q || q->serial != serial)
        return NULL;
    return plumb_arena_strndup(&r->s->arena, q->id, sizeof q->id - 1);
}

/* ---- Captured inputs ------------------------------------------------------------------------- */

static void read_capture(struct reader *r)
{
    const struct plumb_live_capture *live = &r->m.view.h->ledger.capture;
    struct plumb_arena *arena = &r->s->arena;
    if (!PLUMB_ACQUIRE(live->shown) || !(r->capture = plumb_arena_alloc(arena, sizeof *r->capture)))
        return;
    r->capture->file = plumb_arena_strndup(arena, live->file, sizeof live->file - 1);
    r->capture->step = live->step;
    r->capture->bytes = live->bytes;
    r->capture->missing = live->missing;
    /* In a damaged mapping anything stands there. */
    if (r->capture->file && *r->capture->file && !strchr(r->capture->file, '/'))
        r->captured = plumb_live_node_name(&r->m.view, live->node);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

/* The stage of that name, made when missing; NULL: no memory. */
static struct plumb_signature_stage *stage_of(struct reader *r, struct stages *stages,
                                              const char *name)
{
    uint32_t number = plumb_strings_put_key(&stages->names, &name, 1);
    struct plumb_arena *arena = &r->s->arena;
    size_t cap = stages->cap;
    if (number > 0 && number <= stages->count)
        return &stages->at[number - 1];
    struct plumb_signature_stage *at =
        plumb_arena_grow(arena, stages->at, &cap, stages->count + 1, sizeof *at);
    if (!at)
        return NULL;
    stages->at = at;
    uint64_t *serials = plumb_arena_grow(arena, stages->last_serial, &stages->cap,
                                         stages->count + 1, sizeof *serials);
    if (!serials || number == 0) {
        arena->failed = true;
        return NULL;
    }
    stages->last_serial = serials;
    struct plumb_signature_stage *stage = &at[stages->count++];
    stage->name = plumb_arena_strdup(arena, name);
    if (r->captured && strcmp(r->captured, name) == 0)
        stage->capture = r->capture;
    return stage;
}

static struct plumb_signature_call *room_for(struct reader *r, struct plumb_signature_stage *stage)
{
    if (!stage->distinct)
        stage->distinct =
            plumb_arena_alloc(&r->s->arena, PLUMB_LIVE_SIGNATURES * sizeof *stage->distinct);
    if (!stage->distinct || stage->distinct_count >= PLUMB_LIVE_SIGNATURES)
        return NULL;
    return &stage->distinct[stage->distinct_count];
}

static void add(struct reader *r, struct stages *stages, const struct plumb_live_signature *live)
{
    uint32_t shown = live->shown & 1;
    uint64_t count = live->copy[shown].count;
    size_t used = live->copy[shown].used;
    const unsigned char *bytes = plumb_live_at(&r->m.view, live->copy[shown].off, used);
    struct plumb_signature_call call = {.count = count, .dropped = live->copy[shown].dropped};
    if (!live->shown || !bytes || used > r->left ||
        !plumb_pack_read(&call, &r->s->arena, bytes, used))
        return;
    r->left -= used;
    struct plumb_signature_stage *stage =
        stage_of(r, stages, plumb_live_node_name(&r->m.view, live->node));
    if (!stage)
        return;
    call.request_id = request_id(r, live->copy[shown].request);
    uint64_t *serial = &stages->last_serial[stage - stages->at];
    if (live->copy[shown].serial >= *serial) {
        *serial = live->copy[shown].serial;
        stage->last = call;
    }
    struct plumb_signature_call *to = live->form ? room_for(r, stage) : NULL;
    stage->calls += count;
    if (to) {
        *to = call;
        stage->distinct_count++;
    } else {
        stage->other_calls += count;
    }
}

/* Reads the signatures of all calls. */
static void read_stages(struct reader *r)
{
    const struct plumb_live_table *t = &r->m.view.h->signatures;
    struct stages stages = {0};
    uint32_t n = PLUMB_ACQUIRE(t->count);
    for (uint32_t i = 0; i < n && !r->s->arena.failed; i++) {
        const struct plumb_live_signature *live =
            plumb_live_element(&r->m.view, t, i, sizeof *live);
        if (!live)
            break; /* the rest is beyond the end of the mapping */
        add(r, &stages, live);
    }
    r->s->stages = stages.at;
    r->s->stage_count = stages.count;
    plumb_strings_fini(&stages.names);
}

/* ---- Sections of requests -------------------------------------------------------------------- */

static void read_section(struct reader *r, const struct plumb_live_section *section)
{
    struct plumb_signature_request *out = &r->s->requests[r->s->request_count];
    struct stages stages = {0};
    uint32_t n = PLUMB_ACQUIRE(section->signatures);
    const char *id = request_id(r, section->request);
    if (!id || n > PLUMB_LIVE_SECTION_SIGNATURES)
        return;
    for (uint32_t i = 0; i < n && !r->s->arena.failed; i++)
        add(r, &stages, &section->signature[i]);
    *out = (struct plumb_signature_request){id, stages.at, stages.count, section->signatures_lost};
    r->s->request_count++;
    plumb_strings_fini(&stages.names);
}

static const struct plumb_live_section *section_at(struct reader *r, uint64_t serial)
{
    uint64_t off = r->m.view.h->ledger.section_off[(serial - 1) % PLUMB_LIVE_SECTIONS];
    const struct plumb_live_section *section =
        off ? plumb_live_at(&r->m.view, off, sizeof *section) : NULL;
    return section && section->request == serial ? section : NULL;
}

/* Reads the newest requests; none if no call was for a request. */
static void read_requests(struct reader *r)
{
    uint64_t last = PLUMB_ACQUIRE(r->m.view.h->ledger.requests);
    uint64_t first = last > PLUMB_LIVE_SECTIONS ? last - PLUMB_LIVE_SECTIONS + 1 : 1;
    bool any = false;
    for (uint64_t i = first; i <= last; i++) {
        const struct plumb_live_section *section = section_at(r, i);
        any = any || (section && (section->signatures > 0 || section->signatures_lost > 0));
    }
    if (!any)
        return;
    r->s->requests = plumb_arena_alloc(&r->s->arena, PLUMB_LIVE_SECTIONS * sizeof *r->s->requests);
    for (uint64_t i = first; r->s->requests && i <= last && !r->s->arena.failed; i++) {
        const struct plumb_live_section *section = section_at(r, i);
        if (section)
            read_section(r, section);
    }
}

/* ---- The mapping ----------------------------------------------------------------------------- */

static void read_head(struct reader *r)
{
    const struct plumb_live_header *h = r->m.view.h;
    char time[PLUMB_TIME_TEXT];
    r->s->request_id = request_id(r, h->ledger.requests);
    if (!r->s->request_id)
        r->s->request_id = text_at(r, h->fact_off[PLUMB_FACT_REQUEST]);
    plumb_time_text(time, plumb_live_clock_newest(h).unix_ns);
    r->s->timestamp = plumb_arena_strdup(&r->s->arena, time);
    r->s->plumb_version = text_at(r, h->fact_off[PLUMB_FACT_VERSION]);
    r->s->pid = h->pid;
    r->s->rank = h->rank < 0 ? -1 : h->rank;
    r->s->lost_calls = h->ledger.signatures_lost;
}

/* The frame holds a struct plumb_merge: 8 KiB. A mapping is read when a run ends, or by a
 * command. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
int plumb_live_to_signature(struct plumb_signature *out, const unsigned char *base, size_t bytes,
                            plumb_error *err)
{
    const struct plumb_live_header *h = (const struct plumb_live_header *)(const void *)base;
    if (bytes < sizeof *h || h->magic != PLUMB_LIVE_MAGIC || h->version != PLUMB_LIVE_VERSION ||
        h->header_bytes != sizeof *h)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "not a live mapping of this version of plumb");
    struct reader r = {.s = out, .m = {.view = plumb_live_view_of(base, bytes)}, .left = bytes};
    read_head(&r);
    read_capture(&r);
    read_stages(&r);
    read_requests(&r);
    if (out->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory reading the I/O signatures");
    return PLUMB_OK;
}
#pragma GCC diagnostic pop

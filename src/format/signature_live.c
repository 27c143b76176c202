#include "format/signature_live.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "format/merge.h"
#include "format/put.h"
#include "format/signature_pack.h"

struct reader {
    struct plumb_signature *s;
    struct plumb_merge m;      /* for its checked looks into the mapping alone */
    struct plumb_map stage_of; /* hash of the name -> index + 1 */
    uint64_t *last_serial;     /* of each stage: what its `last` is of */
    size_t stage_cap;
    size_t left; /* bytes of packs still to be expected: a sound mapping has none of them twice */
};

static const char *text_at(struct reader *r, uint64_t off)
{
    const char *text = plumb_merge_text(&r->m, off);
    return plumb_arena_strdup(&r->s->arena, text);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static const struct plumb_live_request *request_at(struct reader *r, uint32_t i)
{
    return plumb_merge_element(&r->m, &r->m.h->requests, i, sizeof(struct plumb_live_request));
}

static const char *request_id(struct reader *r, uint64_t serial)
{
    const struct plumb_live_request *q =
        serial ? request_at(r, (uint32_t)((serial - 1) % PLUMB_LIVE_REQUESTS)) : NULL;
    if (!q || q->serial != serial)
        return NULL;
    return plumb_arena_strndup(&r->s->arena, q->id, sizeof q->id - 1);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static const char *node_name(struct reader *r, uint32_t node)
{
    const struct plumb_live_node *n =
        plumb_merge_element(&r->m, &r->m.h->nodes, node, sizeof(struct plumb_live_node));
    return plumb_merge_text(&r->m, n ? n->name_off : 0);
}

/* The stage of that name, made when missing; NULL: no memory. */
static struct plumb_signature_stage *stage_of(struct reader *r, const char *name)
{
    uint64_t hash = plumb_hash_text(name);
    uint64_t known = plumb_map_get(&r->stage_of, hash);
    struct plumb_signature *s = r->s;
    size_t cap = r->stage_cap;
    if (known)
        return &s->stages[known - 1];
    struct plumb_signature_stage *stages =
        plumb_arena_grow(&s->arena, s->stages, &cap, s->stage_count + 1, sizeof *stages);
    if (!stages)
        return NULL;
    s->stages = stages;
    uint64_t *serials = plumb_arena_grow(&s->arena, r->last_serial, &r->stage_cap,
                                         s->stage_count + 1, sizeof *serials);
    if (!serials || plumb_map_put(&r->stage_of, hash, s->stage_count + 1) < 0) {
        s->arena.failed = true;
        return NULL;
    }
    r->last_serial = serials;
    struct plumb_signature_stage *stage = &stages[s->stage_count++];
    stage->name = plumb_arena_strdup(&s->arena, name);
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

static void add(struct reader *r, const struct plumb_live_signature *live)
{
    uint32_t shown = live->shown & 1;
    uint64_t count = live->copy[shown].count;
    size_t used = live->copy[shown].used;
    const unsigned char *bytes = plumb_merge_at(&r->m, live->copy[shown].off, used);
    struct plumb_signature_call call = {.count = count, .dropped = live->copy[shown].dropped};
    if (!live->shown || !bytes || used > r->left ||
        !plumb_pack_read(&call, &r->s->arena, bytes, used))
        return;
    r->left -= used;
    struct plumb_signature_stage *stage = stage_of(r, node_name(r, live->node));
    if (!stage)
        return;
    call.request_id = request_id(r, live->copy[shown].request);
    uint64_t *serial = &r->last_serial[stage - r->s->stages];
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

/* ---- The mapping ----------------------------------------------------------------------------- */

static void read_head(struct reader *r)
{
    const struct plumb_live_header *h = r->m.h;
    char time[PLUMB_TIME_TEXT];
    r->s->request_id = request_id(r, h->ledger.requests);
    if (!r->s->request_id)
        r->s->request_id = text_at(r, h->fact_off[PLUMB_FACT_REQUEST]);
    plumb_time_text(time, h->now[h->anchor & 1].unix_ns);
    r->s->timestamp = plumb_arena_strdup(&r->s->arena, time);
    r->s->plumb_version = text_at(r, h->fact_off[PLUMB_FACT_VERSION]);
    r->s->pid = h->pid;
    r->s->rank = h->rank < 0 ? -1 : h->rank;
    r->s->lost_calls = h->ledger.signatures_lost;
}

int plumb_live_to_signature(struct plumb_signature *out, const unsigned char *base, size_t bytes,
                            plumb_error *err)
{
    const struct plumb_live_header *h = (const struct plumb_live_header *)(const void *)base;
    if (bytes < sizeof *h || h->magic != PLUMB_LIVE_MAGIC || h->version != PLUMB_LIVE_VERSION ||
        h->header_bytes != sizeof *h)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "not a live mapping of this version of plumb");
    struct reader r = {.s = out, .m = {.base = base, .bytes = bytes, .h = h}, .left = bytes};
    uint32_t n = PLUMB_ACQUIRE(h->signatures.count);
    read_head(&r);
    for (uint32_t i = 0; i < n && !out->arena.failed; i++) {
        const struct plumb_live_signature *live =
            plumb_merge_element(&r.m, &h->signatures, i, sizeof *live);
        if (!live)
            break; /* the rest lies beyond what there is */
        add(&r, live);
    }
    plumb_map_fini(&r.stage_of);
    if (out->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory reading the I/O signatures");
    return PLUMB_OK;
}

/* view.c: see view.h. No state. */
#include "live/view.h"

bool plumb_live_load_chunk(const struct plumb_live_view *v, const struct plumb_live_table *t,
                           uint32_t chunk)
{
    uint64_t first = ((UINT64_C(1) << chunk) - 1) << 6, n = UINT64_C(64) << chunk;
    uint64_t off = PLUMB_ACQUIRE(t->chunk_off[chunk]), count = PLUMB_ACQUIRE(t->count);
    bool words = t == &v->h->keys || t == &v->h->counts || t == &v->h->cells;
    n = count - first < n ? count - first : n;
    return plumb_live_inside(v, off, n * t->element_bytes) &&
           v->loader->load(v->loader, off, n, t->element_bytes, words);
}

/* The text of a reference that has a turn may be replaced: both are loaded as one. */
static bool load_why(const struct plumb_live_view *v, uint64_t reference)
{
    uint64_t off = reference & ((UINT64_C(1) << PLUMB_TEXT_BITS) - 1);
    uint64_t begin = off - offsetof(struct plumb_live_why, text);
    return !v->loader || !(reference >> PLUMB_TEXT_BITS) || off < sizeof(uint64_t) ||
           plumb_live_at(v, begin, sizeof(struct plumb_live_why));
}

const char *plumb_live_text(const struct plumb_live_view *v, uint64_t reference)
{
    const struct plumb_live_text *t;
    const char *text;
    uint64_t off;
    uint32_t bytes;
    if (!reference)
        return "";
    if (!load_why(v, reference))
        return "?";
    if (!(off = plumb_text_off(v->base, v->bytes, reference)))
        return "(other)";
    t = plumb_live_at(v, off, sizeof *t);
    bytes = t ? PLUMB_ACQUIRE(t->bytes) : 0; /* another thread may have just written it */
    if (!t || bytes >= v->bytes - off - sizeof *t)
        return "?";
    if (v->loader && !plumb_live_at(v, off, sizeof *t + bytes + 1))
        return "?";
    text = (const char *)(t + 1);
    return text[bytes] == '\0' ? text : "?";
}

PLUMB_RACY const char *plumb_live_why(const struct plumb_live_view *v, uint64_t reference,
                                      char out[PLUMB_WHY_BYTES])
{
    uint64_t turn = reference >> PLUMB_TEXT_BITS;
    uint64_t off = reference & ((UINT64_C(1) << PLUMB_TEXT_BITS) - 1);
    const struct plumb_live_why *w;
    uint32_t bytes;
    if (!turn || v->loader)
        return plumb_live_text(v, reference);
    w = plumb_live_at(v, off - offsetof(struct plumb_live_why, text), sizeof *w);
    if (!w)
        return "?";
    if (PLUMB_ACQUIRE(w->turn) != turn)
        return "(other)";
    bytes = PLUMB_LOAD(w->text.bytes);
    for (uint32_t i = 0; i < PLUMB_WHY_BYTES; i++)
        out[i] = PLUMB_LOAD(w->bytes[i]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (PLUMB_LOAD(w->turn) != turn)
        return "(other)";
    return bytes < PLUMB_WHY_BYTES && out[bytes] == '\0' ? out : "?";
}

const char *plumb_live_node_name(const struct plumb_live_view *v, uint32_t node)
{
    const struct plumb_live_node *n = plumb_live_element(v, &v->h->nodes, node, sizeof *n);
    return n ? plumb_live_text(v, n->name_off) : "?";
}

const char *plumb_live_phase_name(const struct plumb_live_view *v, uint32_t phase)
{
    const struct plumb_live_name *n = plumb_live_element(v, &v->h->phases, phase, sizeof *n);
    return n ? plumb_live_text(v, n->name_off) : "?";
}

const char *plumb_live_pipeline_name(const struct plumb_live_view *v, uint32_t pipeline)
{
    const struct plumb_live_pipeline *p =
        plumb_live_element(v, &v->h->pipelines, pipeline, sizeof *p);
    return p ? plumb_live_text(v, p->name_off) : "?";
}

const char *plumb_live_fact_text(const struct plumb_live_view *v, enum plumb_live_fact fact)
{
    return plumb_live_text(v, v->h->fact_off[fact]);
}

const struct plumb_live_key *plumb_live_key_at(const struct plumb_live_view *v, uint32_t key)
{
    return plumb_live_element(v, &v->h->keys, key, sizeof(struct plumb_live_key));
}

struct plumb_live_queue *plumb_live_queue_of(const struct plumb_live_view *v,
                                             const struct plumb_live_thread *th)
{
    struct plumb_live_queue *q = plumb_live_at(v, PLUMB_ACQUIRE(th->queue_off), sizeof *q);
    return q && q->slots && (q->slots & (q->slots - 1)) == 0 ? q : NULL;
}

struct plumb_trace_slot *plumb_live_slots_of(const struct plumb_live_view *v,
                                             const struct plumb_live_queue *q)
{
    return plumb_live_at(v, q->slots_off, (size_t)q->slots * sizeof(struct plumb_trace_slot));
}

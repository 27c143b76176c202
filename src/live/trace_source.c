/* trace_source.c: see trace_source.h. No state. */
#include "live/trace_source.h"

#include <string.h>

void *plumb_trace_at(const struct plumb_trace_source *s, uint64_t off, size_t bytes)
{
    return off && off % 8 == 0 && off <= s->bytes && bytes <= s->bytes - off ? s->base + off : NULL;
}

const char *plumb_trace_text(const struct plumb_trace_source *s, uint64_t off)
{
    const struct plumb_live_text *t;
    const char *text;
    uint32_t bytes;
    if (off && !(off = plumb_text_off(s->base, s->bytes, off)))
        return "(other)";
    t = plumb_trace_at(s, off, sizeof *t);
    bytes = t ? PLUMB_ACQUIRE(t->bytes) : 0;
    if (!t || bytes >= s->bytes - off - sizeof *t)
        return "?";
    text = (const char *)(t + 1);
    return text[bytes] == '\0' ? text : "?";
}

static const void *element(const struct plumb_trace_source *s, const struct plumb_live_table *t,
                           uint32_t i, size_t bytes)
{
    uint32_t at, chunk;
    if (i >= PLUMB_ACQUIRE(t->count) || t->element_bytes != bytes)
        return NULL;
    chunk = plumb_table_chunk(i, &at);
    if (chunk >= PLUMB_TABLE_CHUNKS || !PLUMB_ACQUIRE(t->chunk_off[chunk]))
        return NULL;
    return plumb_trace_at(s, t->chunk_off[chunk] + (uint64_t)at * bytes, bytes);
}

const char *plumb_trace_node(const struct plumb_trace_source *s, uint32_t node)
{
    const struct plumb_live_node *n = element(s, &s->h->nodes, node, sizeof *n);
    return n ? plumb_trace_text(s, n->name_off) : "?";
}

const char *plumb_trace_phase(const struct plumb_trace_source *s, uint32_t group)
{
    const struct plumb_live_name *n = element(s, &s->h->phases, group & 0xff, sizeof *n);
    return n ? plumb_trace_text(s, n->name_off) : "?";
}

const char *plumb_trace_pipeline(const struct plumb_trace_source *s, uint32_t group)
{
    const struct plumb_live_pipeline *p = element(s, &s->h->pipelines, group >> 8, sizeof *p);
    return p ? plumb_trace_text(s, p->name_off) : "?";
}

const struct plumb_live_key *plumb_trace_key(const struct plumb_trace_source *s, uint32_t key)
{
    return element(s, &s->h->keys, key, sizeof(struct plumb_live_key));
}

const char *plumb_trace_fact(const struct plumb_trace_source *s, enum plumb_live_fact fact)
{
    return s->h->fact_off[fact] ? plumb_trace_text(s, s->h->fact_off[fact]) : "";
}

struct plumb_live_queue *plumb_trace_queue(const struct plumb_trace_source *s,
                                           const struct plumb_live_thread *th)
{
    struct plumb_live_queue *q = plumb_trace_at(s, PLUMB_ACQUIRE(th->queue_off), sizeof *q);
    return q && q->slots && (q->slots & (q->slots - 1)) == 0 ? q : NULL;
}

struct plumb_trace_slot *plumb_trace_slots(const struct plumb_trace_source *s,
                                           const struct plumb_live_queue *q)
{
    return plumb_trace_at(s, q->slots_off, (size_t)q->slots * sizeof(struct plumb_trace_slot));
}

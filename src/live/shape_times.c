/* shape_times.c: see shape_times.h. No state. */
#include "live/shape_times.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "live/merge.h"
#include "model/signature_pack.h"

struct reader {
    struct plumb_shape_times *out;
    struct plumb_merge m; /* only for its checked reads of the mapping */
    double tick_ns;
    uint32_t *group_of; /* by a signature's index: index in `out` + 1; 0: none */
    size_t signatures, signature_cap, group_cap;
    size_t left; /* bytes of packs that may still come: a sound mapping has no pack twice */
};

/* ---- Shapes ---------------------------------------------------------------------------------- */

static void put_separator(struct plumb_buf *out, size_t i)
{
    if (i > 0)
        plumb_buf_str(out, ", ");
}

/* Lists are nested PLUMB_SIGNATURE_DEPTH deep at most: plumb_pack_read() ensures that. */
static void put_shape(struct plumb_buf *out, const struct plumb_signature_value *v)
{
    plumb_buf_char(out, '[');
    if (v->kind == PLUMB_SIGNATURE_TENSOR)
        for (size_t i = 0; i < v->is.tensor->ndim; i++) {
            put_separator(out, i);
            plumb_buf_printf(out, "%" PRId64, v->is.tensor->shape[i]);
        }
    if (v->kind == PLUMB_SIGNATURE_LIST)
        for (size_t i = 0; i < v->is.list.count; i++) {
            put_separator(out, i);
            put_shape(out, &v->is.list.at[i]);
        }
    if (v->kind == PLUMB_SIGNATURE_FIELDS)
        for (size_t i = 0; i < v->is.fields.count; i++) {
            put_separator(out, i);
            put_shape(out, &v->is.fields.at[i].value);
        }
    plumb_buf_char(out, ']');
}

static void put_shapes(struct plumb_buf *out, const struct plumb_signature_call *call)
{
    plumb_buf_char(out, '[');
    for (size_t i = 0; i < call->inputs.count; i++) {
        put_separator(out, i);
        put_shape(out, &call->inputs.at[i].value);
    }
    if (call->dropped) {
        put_separator(out, call->inputs.count);
        plumb_buf_str(out, "...");
    }
    plumb_buf_char(out, ']');
}

static const char *shapes_of(struct reader *r, const struct plumb_live_signature *live)
{
    struct plumb_arena unpacked = {0};
    struct plumb_buf text = {0};
    const char *shapes = NULL;
    uint32_t shown = live->shown & 1;
    size_t used = live->copy[shown].used;
    const unsigned char *bytes = plumb_live_at(&r->m.view, live->copy[shown].off, used);
    struct plumb_signature_call call = {.dropped = live->copy[shown].dropped};
    if (!live->shown || !bytes || used > r->left)
        return NULL;
    r->left -= used;
    if (plumb_pack_read(&call, &unpacked, bytes, used)) {
        put_shapes(&text, &call);
        shapes = text.failed ? NULL : plumb_arena_strdup(&r->out->arena, text.data);
    }
    if (unpacked.failed || text.failed)
        r->out->arena.failed = true;
    plumb_buf_fini(&text);
    plumb_arena_fini(&unpacked);
    return shapes;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static const char *name_of(struct reader *r, uint32_t node)
{
    const struct plumb_live_node *n =
        plumb_live_element(&r->m.view, &r->m.view.h->nodes, node, sizeof(struct plumb_live_node));
    return n ? plumb_arena_strdup(&r->out->arena, plumb_live_text(&r->m.view, n->name_off)) : NULL;
}

/* Adds the group of the next signature; an invalid signature, or one whose shapes are not known,
 * has none. */
static void add_signature(struct reader *r, const struct plumb_live_signature *live)
{
    struct plumb_shape_times *out = r->out;
    const char *name = live->form ? name_of(r, live->node) : NULL;
    const char *shapes = name ? shapes_of(r, live) : NULL;
    uint32_t *group_of = plumb_arena_grow(&out->arena, r->group_of, &r->signature_cap,
                                          r->signatures + 1, sizeof *group_of);
    if (!group_of)
        return;
    r->group_of = group_of;
    group_of[r->signatures++] = 0;
    if (!shapes)
        return;
    struct plumb_shape_time *at =
        plumb_arena_grow(&out->arena, out->at, &r->group_cap, out->count + 1, sizeof *at);
    if (!at)
        return;
    out->at = at;
    at[out->count++] = (struct plumb_shape_time){.name = name, .shapes = shapes};
    group_of[r->signatures - 1] = (uint32_t)out->count;
}

static void add_time(struct reader *r, const struct plumb_live_signature_time *t)
{
    uint32_t shown = t->shown & 1;
    uint32_t group = t->signature < r->signatures ? r->group_of[t->signature] : 0;
    const struct plumb_live_pipeline *p =
        plumb_live_element(&r->m.view, &r->m.view.h->pipelines, plumb_key_group(t->key) >> 8 & 0xff,
                           sizeof(struct plumb_live_pipeline));
    /* Data from before the pipeline's last reset is left out. */
    if (!group || !t->shown || !p || t->copy[shown].reset_generation != p->reset_generation)
        return;
    struct plumb_shape_time *to = &r->out->at[group - 1];
    to->count += t->copy[shown].count;
    to->total_ns += plumb_ticks_to_ns(t->copy[shown].total, r->tick_ns);
    to->self_ns += plumb_ticks_to_ns(t->copy[shown].self, r->tick_ns);
    to->device_ns = plumb_total_add(to->device_ns, t->copy[shown].device_ns);
    to->device_samples += t->copy[shown].device_samples;
    to->device_within_ns = plumb_total_add(to->device_within_ns, t->copy[shown].device_within_ns);
}

/* ---- The mapping ----------------------------------------------------------------------------- */

/* The frame holds a struct plumb_merge: 8 KiB. A mapping is read when a run ends, or by a
 * command. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
int plumb_live_to_shape_times(struct plumb_shape_times *out, const unsigned char *base,
                              size_t bytes, double tick_ns, plumb_error *err)
{
    const struct plumb_live_header *h = (const struct plumb_live_header *)(const void *)base;
    if (bytes < sizeof *h || h->magic != PLUMB_LIVE_MAGIC || h->version != PLUMB_LIVE_VERSION ||
        h->header_bytes != sizeof *h)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "not a live mapping of this version of plumb");
    struct reader r = {.out = out,
                       .m = {.view = plumb_live_view_of(base, bytes)},
                       .tick_ns = tick_ns,
                       .left = bytes};
    /* The count of times is read first: then each of them has its signature in the table. */
    uint32_t times = PLUMB_ACQUIRE(h->times.count), n = PLUMB_ACQUIRE(h->signatures.count);
    for (uint32_t i = 0; i < n && !out->arena.failed; i++) {
        const struct plumb_live_signature *live =
            plumb_live_element(&r.m.view, &h->signatures, i, sizeof *live);
        if (!live)
            break; /* the rest is beyond the end of the mapping */
        add_signature(&r, live);
    }
    for (uint32_t i = 0; i < times && !out->arena.failed; i++) {
        const struct plumb_live_signature_time *t =
            plumb_live_element(&r.m.view, &h->times, i, sizeof *t);
        if (!t)
            break;
        add_time(&r, t);
    }
    if (out->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory reading the times of signatures");
    return PLUMB_OK;
}
#pragma GCC diagnostic pop

void plumb_shape_times_fini(struct plumb_shape_times *s)
{
    plumb_arena_fini(&s->arena);
    *s = (struct plumb_shape_times){.count = 0};
}

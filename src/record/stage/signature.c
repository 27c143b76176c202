/* signature.c: inputs and outputs of stages. While a stage runs, its thread packs them into a
 * buffer of its own (model/signature_pack.h), one for each depth of open stages. When the stage has
 * ended without failure, the bytes are added to the calls of the same form in the mapping.
 *
 * After a thread has been at a depth once, nothing is allocated. Tensors are read without any lock,
 * outside the runtime, so long reads of values hold up no other thread. A signal handler that
 * interrupts the packing finds the buffer busy and leaves it alone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/pages.h"
#include "model/signature_pack.h"
#include "model/value_parts.h"
#include "record/activation/activation.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include "record/stage/capture.h"
#include "record/stage/check.h"
#include "record/stage/ledger.h"
#include "record/stage/stage.h"
#include "record/trace/trace.h"
#include "tensor/value_stats.h"

/* ---- Packing --------------------------------------------------------------------------------- */

static void pack_error(struct plumb_pack *p, const char *why)
{
    char text[300];
    struct plumb_signature_value v = {.kind = PLUMB_SIGNATURE_TEXT, .is.text = text};
    snprintf(text, sizeof text, "<error: %s>", why);
    plumb_pack_value(p, &v);
}

/* Statistics of the values, or why there are none. */
static void look_inside(struct plumb_signature_tensor *t, struct plumb_signature_stats *stats,
                        const struct plumb_view *view, plumb_error *why)
{
    struct plumb_value_stats s;
    if (plumb_value_stats(&s, view, PLUMB_VALUE_SPREAD, why) < 0) {
        t->stats_error = why->message;
        return;
    }
    *stats = (struct plumb_signature_stats){.n = s.n,
                                            .nan = s.nan,
                                            .inf = s.pos_inf + s.neg_inf,
                                            .neg_inf = s.neg_inf,
                                            .min = s.min,
                                            .max = s.max,
                                            .mean = s.mean,
                                            .std = s.std};
    t->stats = stats;
}

/* The model's pointers are not const; nothing is written through them. */
static int64_t *borrowed(const int64_t *numbers)
{
    return (int64_t *)(uintptr_t)numbers;
}

static void pack_tensor(struct plumb_pack *p, const void *tensor)
{
    char dtype[PLUMB_DTYPE_NAME_MAX];
    char device[PLUMB_DL_DEVICE_NAME_MAX];
    plumb_error why = {0, ""};
    struct plumb_view view;
    struct plumb_signature_stats stats;
    struct plumb_signature_tensor t = {.requires_grad = -1};
    struct plumb_signature_value v = {.kind = PLUMB_SIGNATURE_TENSOR, .is.tensor = &t};
    if (plumb_view_init(&view, tensor, &why) < 0) {
        pack_error(p, why.message);
        return;
    }
    t.ndim = (size_t)view.ndim;
    t.shape = borrowed(view.shape);
    t.strides = plumb_view_is_compact(&view) ? NULL : borrowed(view.strides);
    t.dtype = plumb_dtype_name(dtype, view.dtype);
    t.device = plumb_dl_device_name(device, view.device);
    t.bytes = (int64_t)view.bytes;
    if (PLUMB_LOAD(plumb_rt.settings.signature) == PLUMB_SIGNATURE_FULL)
        look_inside(&t, &stats, &view, &why);
    plumb_pack_value(p, &v);
}

static void pack(struct plumb_pack *p, const plumb_value *value, int depth);

static const char *field_name(const plumb_field *f)
{
    return f->name ? f->name : "";
}

/* Returns whether a later field has the same name, which then counts. */
static bool is_replaced(const plumb_value *value, uint32_t i)
{
    for (uint32_t k = i + 1; k < value->count; k++)
        if (strncmp(field_name(&value->as.fields[i]), field_name(&value->as.fields[k]),
                    PLUMB_PACK_NAME) == 0)
            return true;
    return false;
}

static void pack_fields(struct plumb_pack *p, const plumb_value *value, int depth)
{
    uint32_t count = 0;
    /* Each field is compared with each. */
    if (value->count > PLUMB_PACK_FIELDS) {
        p->full = true;
        return;
    }
    for (uint32_t i = 0; i < value->count; i++)
        count += !is_replaced(value, i);
    plumb_pack_fields(p, count);
    for (uint32_t i = 0; i < value->count && !p->full; i++) {
        if (is_replaced(value, i))
            continue;
        plumb_pack_field(p, field_name(&value->as.fields[i]));
        pack(p, &value->as.fields[i].value, depth + 1);
    }
}

static void pack(struct plumb_pack *p, const plumb_value *value, int depth)
{
    struct plumb_signature_value v = {.kind = PLUMB_SIGNATURE_NULL};
    switch (value->kind) {
    case PLUMB_VALUE_NULL:
        break;
    case PLUMB_VALUE_BOOL:
        v.kind = PLUMB_SIGNATURE_BOOL;
        v.is.boolean = value->as.i64 != 0;
        break;
    case PLUMB_VALUE_I64:
        v.kind = PLUMB_SIGNATURE_INT;
        v.is.integer = value->as.i64;
        break;
    case PLUMB_VALUE_F64:
        v.kind = PLUMB_SIGNATURE_REAL;
        v.is.real = value->as.f64;
        break;
    case PLUMB_VALUE_STR:
        v.kind = PLUMB_SIGNATURE_TEXT;
        v.is.text = value->as.str;
        break;
    case PLUMB_VALUE_TENSOR:
        pack_tensor(p, value->as.tensor);
        return;
    case PLUMB_VALUE_LIST:
        if (depth >= PLUMB_SIGNATURE_DEPTH) {
            pack_error(p, "the lists are nested too deeply");
            return;
        }
        plumb_pack_list(p, value->count);
        for (uint32_t i = 0; i < value->count && !p->full; i++)
            pack(p, &value->as.list[i], depth + 1);
        return;
    case PLUMB_VALUE_FIELDS:
        if (depth >= PLUMB_SIGNATURE_DEPTH)
            pack_error(p, "the mappings are nested too deeply");
        else
            pack_fields(p, value, depth);
        return;
    default:
        pack_error(p, "a kind of value that this plumb does not know");
        return;
    }
    plumb_pack_value(p, &v);
}

/* Returns the buffer of an open stage, emptied at its first value. */
static struct plumb_pack *buffer(struct plumb_thread *th, struct plumb_stage_run *s)
{
    struct plumb_pack **at = &th->pack[s - th->stage];
    if (!*at)
        *at = plumb_pages_map(sizeof **at);
    if (*at && !s->told) {
        plumb_pack_reset(*at);
        s->told = 1;
    }
    return *at;
}

struct packing {
    struct plumb_thread *th;
    struct plumb_stage_run *stage;
    uint32_t part;
};

static void pack_named(void *arg, const char *name, const plumb_value *value)
{
    const struct packing *to = arg;
    struct plumb_pack *p = buffer(to->th, to->stage);
    if (!p || PLUMB_LOAD(p->busy))
        return;
    PLUMB_STORE(p->busy, 1);
    plumb_order();
    plumb_pack_begin(p, (enum plumb_pack_part)to->part, name);
    pack(p, value, 0);
    plumb_pack_end(p);
    plumb_order();
    PLUMB_STORE(p->busy, 0);
}

void plumb_stage_value_impl(plumb_span stage, uint32_t part, const char *name,
                            const plumb_value *value)
{
    struct plumb_thread *th = plumb_tls;
    struct plumb_stage_run *s;
    int saved = errno;
    if (!th || PLUMB_LOAD(th->busy) || !value || part > PLUMB_PACK_METADATA)
        return;
    s = plumb_stage_of(th, stage);
    if (!s || !(s->flags & PLUMB_POINT_STAGE))
        return;
    if (PLUMB_LOAD(plumb_rt.settings.activations))
        plumb_activation_stage(th, s->node, part, name, value);
    if (PLUMB_LOAD(plumb_rt.settings.signature) != PLUMB_SIGNATURE_OFF)
        plumb_each_part(name, value, pack_named, &(struct packing){th, s, part});
    if (part == PLUMB_STAGE_INPUT && PLUMB_LOAD(plumb_capture_wanted))
        s->captured |= plumb_capture_input(
            &(struct plumb_capture_call){s->span, s->node, s->step, th->step}, name, value);
    if (part == PLUMB_STAGE_OUTPUT && s->captured && PLUMB_LOAD(plumb_capture_wanted))
        plumb_capture_output(&(struct plumb_capture_call){s->span, s->node, s->step, th->step},
                             name, value);
    if (PLUMB_LOAD(plumb_rt.settings.verify) != PLUMB_VERIFY_OFF)
        plumb_verify_value(s, part, name, value);
    /* The settings of the process decide, not those of the run, which may have ended. */
    if (plumb_traced(th) && PLUMB_LOAD(plumb_rt.settings.trace_shapes))
        plumb_trace_shape(stage, part, name, value);
    errno = saved;
}

/* ---- The mapping ----------------------------------------------------------------------------- */

static struct plumb_live_signature *at(struct plumb_run *run, uint64_t place)
{
    return place ? plumb_table_at(run, &run->h->signatures, (uint32_t)place - 1) : NULL;
}

static struct plumb_live_signature *add(struct plumb_run *run, uint32_t node, uint64_t form,
                                        uint32_t *index)
{
    struct plumb_live_table *t = &run->h->signatures;
    struct plumb_live_signature *s;
    uint64_t first = plumb_map_get(&run->signatures, (uint64_t)node + 1);
    plumb_lock();
    s = plumb_table_add(run, t);
    if (s && plumb_map_put(&run->signatures, (uint64_t)node + 1, (uint64_t)t->count + 1) == 0) {
        s->node = node;
        s->form = form;
        s->next = (uint32_t)first;
        *index = t->count;
        plumb_table_commit(t);
    } else {
        s = NULL;
    }
    plumb_unlock();
    return s;
}

/* Returns the entry that counts calls of a node and form; if the node has too many forms, the one
 * shared by all later forms. `index`: that of the entry, if it has a form. */
static struct plumb_live_signature *entry(struct plumb_run *run, uint32_t node, uint64_t form,
                                          uint32_t *index)
{
    struct plumb_live_signature *others = NULL;
    uint32_t n = 0;
    uint64_t place = plumb_map_get(&run->signatures, (uint64_t)node + 1);
    for (struct plumb_live_signature *s; (s = at(run, place)); place = s->next) {
        if (s->form == form) {
            *index = (uint32_t)place - 1;
            return s;
        }
        if (s->form)
            n++;
        else
            others = s;
    }
    if (n < PLUMB_LIVE_SIGNATURES)
        return add(run, node, form, index);
    return others ? others : add(run, node, 0, index);
}

/* Returns the sums of the times of a key's calls with signature `s`. */
static struct plumb_live_signature_time *
times(struct plumb_run *run, struct plumb_live_signature *s, uint64_t key, uint32_t index)
{
    struct plumb_live_table *t = &run->h->times;
    struct plumb_live_signature_time *at;
    for (uint32_t i = s->times; i; i = at->next) {
        at = plumb_table_at(run, t, i - 1);
        if (at->key == key)
            return at;
    }
    plumb_lock();
    if ((at = plumb_table_add(run, t))) {
        at->key = key;
        at->signature = index;
        at->next = s->times;
        plumb_table_commit(t);
        s->times = t->count;
    }
    plumb_unlock();
    return at;
}

/* In the summary of the rank, calls whose times do not fit are among those without shapes. */
static void add_times(struct plumb_run *run, struct plumb_live_signature *s, uint32_t index,
                      const struct plumb_stage_entry *e)
{
    const struct plumb_live_pipeline *p = plumb_pipeline_of_group(run, plumb_key_group(e->key));
    struct plumb_live_signature_time *t = times(run, s, e->key, index);
    uint32_t generation = PLUMB_LOAD(p->reset_generation), next;
    if (!t)
        return;
    next = (t->shown + 1) & 1;
    t->copy[next] = t->copy[next ^ 1];
    if (t->copy[next].reset_generation != generation)
        memset(&t->copy[next], 0, sizeof t->copy[next]);
    t->copy[next].reset_generation = generation;
    t->copy[next].count++;
    t->copy[next].total += plumb_stage_took(e);
    t->copy[next].self += e->self_ticks;
    t->copy[next].device_ns = plumb_total_add(t->copy[next].device_ns, e->device_ns);
    t->copy[next].device_samples += e->device_samples;
    t->copy[next].device_within_ns =
        plumb_total_add(t->copy[next].device_within_ns, e->device_within_ns);
    PLUMB_RELEASE(t->shown, t->shown + 1);
}

/* Publishes a call with the bytes of `pack` as the last of entry `s`. Returns false if the mapping
 * is full. */
static bool put(struct plumb_run *run, struct plumb_live_signature *s,
                const struct plumb_stage_entry *e, const struct plumb_pack *pack)
{
    uint32_t next = (s->shown + 1) & 1;
    if (s->copy[next].room < pack->used) {
        uint64_t off;
        uint32_t room = pack->used + pack->used / 4;
        plumb_lock();
        off = plumb_carve(run, room);
        plumb_unlock();
        if (!off)
            return false;
        s->copy[next].off = off;
        s->copy[next].room = room;
    }
    if (pack->used)
        memcpy(PLUMB_AT(run, unsigned char, s->copy[next].off), pack->bytes, pack->used);
    s->copy[next].used = pack->used;
    s->copy[next].count = s->copy[next ^ 1].count + 1;
    s->copy[next].serial = run->h->ledger.signatures;
    s->copy[next].request = e->request;
    s->copy[next].dropped = pack->dropped;
    PLUMB_RELEASE(s->shown, s->shown + 1);
    return true;
}

/* Returns the entry of a node and form among those of a request; `fresh`: it is new, after the last
 * of them, and not published yet. Entries of the section's earlier requests are reused. NULL: too
 * many. */
static struct plumb_live_signature *section_entry(struct plumb_live_section *section, uint32_t node,
                                                  uint64_t form, bool *fresh)
{
    struct plumb_live_signature *s = section->signature;
    for (uint32_t i = 0; i < section->signatures; i++, s++) {
        if (s->node == node && s->form == form)
            return s;
    }
    if (section->signatures == PLUMB_LIVE_SECTION_SIGNATURES)
        return NULL;
    *fresh = true;
    s->node = node;
    s->form = form;
    s->shown = 0;
    s->copy[0].count = s->copy[1].count = 0;
    return s;
}

static void enter_request(struct plumb_run *run, const struct plumb_stage_entry *e,
                          const struct plumb_pack *pack, uint64_t form)
{
    struct plumb_live_section *section = e->request ? plumb_request_section(run, e->request) : NULL;
    bool fresh = false;
    struct plumb_live_signature *s =
        section ? section_entry(section, plumb_key_node(e->key), form, &fresh) : NULL;
    if (!section)
        return;
    if (!s || !put(run, s, e, pack))
        PLUMB_STORE(section->signatures_lost, section->signatures_lost + 1);
    else if (fresh)
        PLUMB_RELEASE(section->signatures, section->signatures + 1);
}

void plumb_signature_enter(struct plumb_run *run, const struct plumb_stage_entry *e,
                           const struct plumb_pack *pack)
{
    struct plumb_live_ledger *l = &run->h->ledger;
    uint64_t form = plumb_pack_form(pack->bytes, pack->used);
    uint32_t index = 0;
    struct plumb_live_signature *s = entry(run, plumb_key_node(e->key), form, &index);
    PLUMB_STORE(l->signatures, l->signatures + 1);
    enter_request(run, e, pack, form);
    if (!s || !put(run, s, e, pack)) {
        PLUMB_STORE(l->signatures_lost, l->signatures_lost + 1);
        return;
    }
    if (e->counts && s->form)
        add_times(run, s, index, e);
}

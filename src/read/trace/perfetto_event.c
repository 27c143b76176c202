/* perfetto_event.c: track events become events of the table. */
#include "codec/perfetto.h"
#include "read/trace/perfetto_parts.h"

enum { CATEGORIES_MAX = 1024 /* bytes of several, joined */ };

struct event {
    uint64_t type;
    uint32_t name, category, track;
    bool has_name, has_track, has_more, has_extra, has_value, is_double, has_legacy;
    uint64_t value;
    int64_t ns;
    bool has_ns;
    struct plumb_wire legacy;
};

/* ---- Fields --------------------------------------------------------------------------------- */

static uint32_t told_name(struct plumb_pfr *r, const struct plumb_pfr_sequence *s, uint64_t id)
{
    uint32_t told = plumb_ids_get(&s->told[PLUMB_PFR_NAMES], id);
    if (PLUMB_LIKELY(told))
        return told - 1;
    r->t->faults.unknown_names++;
    return 0;
}

/* Several categories are one text with commas. */
static void add_category(struct plumb_pfr *r, struct event *e, uint32_t category)
{
    const char *text = plumb_table_text(r->t, category);
    if (e->category == 0) {
        e->category = category;
        r->text.len = 0;
        return;
    }
    if (r->text.len == 0)
        plumb_buf_str(&r->text, plumb_table_text(r->t, e->category));
    if (r->text.len + strlen(text) + 1 > CATEGORIES_MAX)
        return;
    plumb_buf_char(&r->text, ',');
    plumb_buf_str(&r->text, text);
}

static void read_categories(struct plumb_pfr *r, const struct plumb_pfr_sequence *s,
                            struct event *e, const struct plumb_wire *w)
{
    const unsigned char *at = NULL;
    uint64_t id;
    if (w->field == PF_EVENT_CATEGORIES) {
        add_category(r, e, plumb_pfr_text(r, w->bytes, w->n));
        return;
    }
    while (plumb_wire_each(w, PLUMB_PB_VARINT, &at, &id)) {
        uint32_t told = plumb_ids_get(&s->told[PLUMB_PFR_CATEGORIES], id);
        if (told)
            add_category(r, e, told - 1);
    }
}

static void legacy_time(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct event *e,
                        const struct plumb_wire *w)
{
    int64_t us = (int64_t)w->v;
    if (w->field == PF_EVENT_TIMESTAMP_DELTA_US)
        us = s->reference_us = (int64_t)((uint64_t)s->reference_us + w->v);
    uint64_t ns = (uint64_t)us * 1000;
    e->has_ns = plumb_pfr_time(r, s, PF_CLOCK_MONOTONIC, ns, &e->ns);
}

static bool read_event(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct event *e,
                       struct plumb_wire *w)
{
    while (plumb_wire_next(w)) {
        switch (w->field) {
        case PF_EVENT_TYPE:
            e->type = w->v;
            break;
        case PF_EVENT_NAME_IID:
            e->name = told_name(r, s, w->v);
            e->has_name = true;
            break;
        case PF_EVENT_NAME:
            e->name = plumb_pfr_text(r, w->bytes, w->n);
            e->has_name = true;
            break;
        case PF_EVENT_CATEGORY_IIDS:
        case PF_EVENT_CATEGORIES:
            read_categories(r, s, e, w);
            break;
        case PF_EVENT_TRACK_UUID:
            e->track = plumb_table_track(r->t, w->v);
            e->has_track = true;
            break;
        case PF_EVENT_COUNTER_VALUE:
        case PF_EVENT_DOUBLE_COUNTER_VALUE:
            e->value = w->v;
            e->is_double = w->field == PF_EVENT_DOUBLE_COUNTER_VALUE;
            e->has_value = true;
            break;
        case PF_EVENT_EXTRA_COUNTER_VALUES:
        case PF_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
            e->has_extra = true;
            break;
        case PF_EVENT_LEGACY:
            e->legacy = plumb_wire_inner(w);
            e->has_legacy = true;
            break;
        case PF_EVENT_TIMESTAMP_DELTA_US:
        case PF_EVENT_TIMESTAMP_ABSOLUTE_US:
            if (!e->has_ns)
                legacy_time(r, s, e, w);
            break;
        default:
            e->has_more = true;
            break;
        }
    }
    return !w->bad;
}

static uint32_t track_of(struct plumb_pfr *r, const struct plumb_pfr_sequence *s,
                         const struct event *e)
{
    if (e->has_track)
        return e->track;
    return s->track ? s->track - 1 : plumb_table_track(r->t, 0);
}

/* ---- Counters ------------------------------------------------------------------------------- */

static void put_counter(struct plumb_pfr *r, struct plumb_pfr_sequence *s, uint32_t track,
                        int64_t ns, bool is_double, uint64_t bits)
{
    struct plumb_pfr_counter *c = plumb_pfr_counter(r, track);
    int64_t whole = (int64_t)bits;
    double real = plumb_wire_f64(bits);
    if (track == PLUMB_TABLE_NONE)
        return;
    if (c && c->multiplier > 1) {
        whole = (int64_t)(bits * (uint64_t)c->multiplier);
        real *= (double)c->multiplier;
    }
    if (c && c->incremental) {
        bool again = c->clears == s->clears + 1;
        whole = (int64_t)((again ? (uint64_t)c->last : 0) + (uint64_t)whole);
        real += again ? c->last_f64 : 0;
        c->clears = s->clears + 1;
        c->last = whole;
        c->last_f64 = real;
    }
    if (!r->t->tracks[track].known)
        r->t->tracks[track].kind = PLUMB_TRACK_COUNTER;
    if (is_double)
        plumb_table_counter_f64(r->t, track, ns, real);
    else
        plumb_table_counter_i64(r->t, track, ns, whole);
}

static bool collect(struct plumb_pfr *r, struct plumb_pfr_list *out, struct plumb_wire w,
                    uint32_t field, enum plumb_pb_wire kind)
{
    out->count = 0;
    while (plumb_wire_next(&w)) {
        const unsigned char *at = NULL;
        uint64_t v;
        while (w.field == field && plumb_wire_each(&w, kind, &at, &v))
            if (!plumb_pfr_push(r, out, v))
                return false;
    }
    return true;
}

/* An event may carry values of counters. Their tracks are listed in the event itself, or once for
 * the whole sequence. */
static void put_extra(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w,
                      int64_t ns, bool is_double)
{
    const struct plumb_pfr_list *tracks = is_double ? &s->doubles : &s->counters;
    uint32_t values =
        is_double ? PF_EVENT_EXTRA_DOUBLE_COUNTER_VALUES : PF_EVENT_EXTRA_COUNTER_VALUES;
    uint32_t told =
        is_double ? PF_EVENT_EXTRA_DOUBLE_COUNTER_TRACKS : PF_EVENT_EXTRA_COUNTER_TRACKS;
    if (!collect(r, &r->tracks, w, told, PLUMB_PB_VARINT) ||
        !collect(r, &r->values, w, values, is_double ? PLUMB_PB_FIXED64 : PLUMB_PB_VARINT))
        return;
    if (r->tracks.count > 0)
        tracks = &r->tracks;
    for (size_t i = 0; i < r->values.count && i < tracks->count; i++)
        put_counter(r, s, plumb_table_track(r->t, tracks->at[i]), ns, is_double, r->values.at[i]);
}

/* ---- Events of the older kind --------------------------------------------------------------- */

struct legacy {
    int phase;
    uint64_t id, id_kind;
    int64_t duration_us, pid, tid;
    bool other_thread;
};

static struct legacy read_legacy(struct plumb_pfr *r, const struct plumb_pfr_sequence *s,
                                 struct event *e)
{
    struct legacy l = {.pid = s->pid, .tid = s->tid};
    struct plumb_wire w = e->legacy;
    while (plumb_wire_next(&w)) {
        switch (w.field) {
        case PF_LEGACY_NAME_IID:
            if (!e->has_name)
                e->name = told_name(r, s, w.v);
            break;
        case PF_LEGACY_PHASE:
            l.phase = (int)(int32_t)w.v;
            break;
        case PF_LEGACY_DURATION_US:
            l.duration_us = (int64_t)w.v;
            break;
        case PF_LEGACY_UNSCOPED_ID:
        case PF_LEGACY_LOCAL_ID:
        case PF_LEGACY_GLOBAL_ID:
            l.id = w.v;
            l.id_kind = w.field;
            break;
        case PF_LEGACY_PID_OVERRIDE:
            l.pid = (int32_t)w.v;
            break;
        case PF_LEGACY_TID_OVERRIDE:
            l.tid = (int32_t)w.v;
            l.other_thread = true;
            break;
        default:
            break;
        }
    }
    return l;
}

/* Asynchronous slices of one id are a track. */
static uint32_t async_track(struct plumb_pfr *r, const struct event *e, const struct legacy *l)
{
    uint64_t pid = l->id_kind == PF_LEGACY_GLOBAL_ID ? 0 : (uint64_t)l->pid;
    uint32_t track = plumb_table_track(
        r->t, plumb_pf_uuid(pid, (uint32_t)l->id_kind + 1000, l->id, e->category));
    if (track != PLUMB_TABLE_NONE && !r->t->tracks[track].name) {
        r->t->tracks[track].name = e->name;
        r->t->tracks[track].pid = l->pid;
        r->t->tracks[track].has_pid = l->pid != 0;
    }
    return track;
}

static uint32_t put_legacy(struct plumb_pfr *r, const struct plumb_pfr_sequence *s, struct event *e)
{
    struct legacy l = read_legacy(r, s, e);
    uint32_t track = l.other_thread ? plumb_pfr_thread_track(r, l.pid, l.tid) : track_of(r, s, e);
    uint64_t us = l.duration_us > 0 ? (uint64_t)l.duration_us : 0;
    switch (l.phase) {
    case 'B':
        return plumb_table_begin(r->t, track, e->ns, e->name, e->category);
    case 'E':
        return plumb_table_end(r->t, track, e->ns, e->name);
    case 'X':
        return plumb_table_complete(r->t, track, e->ns,
                                    us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX, e->name,
                                    e->category);
    case 'I':
    case 'i':
    case 'R':
        return plumb_table_instant(r->t, track, e->ns, e->name, e->category);
    case 'b':
    case 'S':
        return plumb_table_begin(r->t, async_track(r, e, &l), e->ns, e->name, e->category);
    case 'e':
    case 'F':
        return plumb_table_end(r->t, async_track(r, e, &l), e->ns, 0);
    case 'n':
    case 'T':
        return plumb_table_instant(r->t, async_track(r, e, &l), e->ns, e->name, e->category);
    default:
        r->t->faults.other++;
        return PLUMB_TABLE_NONE;
    }
}

/* ---- An event ------------------------------------------------------------------------------- */

static bool put_more(struct plumb_pfr *r, const struct plumb_pfr_sequence *s, uint32_t event,
                     struct plumb_wire w)
{
    while (plumb_wire_next(&w)) {
        const unsigned char *at = NULL;
        uint64_t id;
        bool ending = w.field == PF_EVENT_TERMINATING_FLOW_IDS ||
                      w.field == PF_EVENT_TERMINATING_FLOW_IDS_OLD;
        bool old = w.field == PF_EVENT_FLOW_IDS_OLD || w.field == PF_EVENT_TERMINATING_FLOW_IDS_OLD;
        if (w.field == PF_EVENT_DEBUG_ANNOTATIONS) {
            if (!plumb_pfr_annotation(r, s, event, plumb_wire_inner(&w)))
                return false;
        } else if (old || ending || w.field == PF_EVENT_FLOW_IDS) {
            while (plumb_wire_each(&w, old ? PLUMB_PB_VARINT : PLUMB_PB_FIXED64, &at, &id))
                plumb_table_add_flow(r->t, event, id, ending ? PLUMB_FLOW_ENDS : PLUMB_FLOW_ON);
        }
    }
    return true;
}

static uint32_t put_event(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct event *e)
{
    uint32_t track = track_of(r, s, e);
    switch (e->type) {
    case PLUMB_PF_BEGIN:
        return plumb_table_begin(r->t, track, e->ns, e->name, e->category);
    case PLUMB_PF_END:
        return plumb_table_end(r->t, track, e->ns, e->name);
    case PLUMB_PF_INSTANT:
        return plumb_table_instant(r->t, track, e->ns, e->name, e->category);
    case PLUMB_PF_COUNTER:
        if (e->has_value)
            put_counter(r, s, track, e->ns, e->is_double, e->value);
        return PLUMB_TABLE_NONE;
    default:
        if (e->has_legacy)
            return put_legacy(r, s, e);
        r->t->faults.other++;
        return PLUMB_TABLE_NONE;
    }
}

void plumb_pfr_put_plain(struct plumb_pfr *r, const struct plumb_pfr_plain *plain, int64_t ns)
{
    if (plain->type == PLUMB_PF_BEGIN)
        plumb_table_begin(r->t, plain->track, ns, plain->name, plain->category);
    else
        plumb_table_end(r->t, plain->track, ns, plain->name);
}

static bool is_plain(const struct event *e)
{
    return (e->type == PLUMB_PF_BEGIN || e->type == PLUMB_PF_END) && !e->has_more &&
           !e->has_extra && !e->has_legacy && !(e->has_name && e->name == 0);
}

bool plumb_pfr_event(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w,
                     const int64_t *ns, struct plumb_pfr_plain *plain)
{
    struct event e = {.has_ns = ns != NULL, .ns = ns ? *ns : 0};
    struct plumb_wire again = w;
    if (!read_event(r, s, &e, &w))
        return false;
    if (!e.has_ns) {
        r->t->faults.unknown_clock++;
        return true;
    }
    if (r->text.len > 0 && e.category) {
        e.category = plumb_table_string(r->t, r->text.data, r->text.len);
        r->text.len = 0;
    }
    uint32_t event = put_event(r, s, &e);
    if (is_plain(&e))
        *plain = (struct plumb_pfr_plain){(uint32_t)e.type, track_of(r, s, &e), e.name, e.category};
    if (e.has_extra) {
        put_extra(r, s, again, e.ns, false);
        put_extra(r, s, again, e.ns, true);
    }
    return !e.has_more || put_more(r, s, event, again);
}

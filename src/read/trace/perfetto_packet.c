/* perfetto_packet.c: one packet: how it changes the state of its sequence, and the facts or the
 * event that it holds. */
#include "read/trace/perfetto_parts.h"

/* ---- Texts ---------------------------------------------------------------------------------- */

uint32_t plumb_pfr_text(struct plumb_pfr *r, const unsigned char *bytes, size_t n)
{
    if (r->t->plumb)
        return plumb_strings_put_escaped(&r->t->strings, bytes, n);
    return plumb_table_string(r->t, bytes, n);
}

bool plumb_pfr_push(struct plumb_pfr *r, struct plumb_pfr_list *list, uint64_t value)
{
    uint64_t *at =
        plumb_arena_grow(&r->arena, list->at, &list->cap, list->count + 1, sizeof *list->at);
    if (!at) {
        r->failed = true;
        return false;
    }
    list->at = at;
    at[list->count++] = value;
    return true;
}

/* ---- Sequences ------------------------------------------------------------------------------ */

static struct plumb_pfr_sequence *make_sequence(struct plumb_pfr *r, uint64_t id)
{
    struct plumb_pfr_sequence *s = plumb_arena_alloc(&r->arena, sizeof *s), **all;
    all = plumb_arena_grow(&r->arena, r->sequences, &r->sequence_cap, r->sequence_count + 1,
                           sizeof *all);
    if (!s || !all || !plumb_ids_put(&r->sequence_of, id, (uint32_t)r->sequence_count + 1)) {
        r->failed = true;
        return NULL;
    }
    r->sequences = all;
    all[r->sequence_count++] = s;
    return s;
}

static struct plumb_pfr_sequence *find_sequence(struct plumb_pfr *r, uint64_t id)
{
    if (PLUMB_LIKELY(r->last && r->last_id == id))
        return r->last;
    uint32_t place = plumb_ids_get(&r->sequence_of, id);
    r->last = place ? r->sequences[place - 1] : make_sequence(r, id);
    r->last_id = id;
    return r->last;
}

static void forget(struct plumb_pfr_sequence *s)
{
    for (int i = 0; i < PLUMB_PFR_INDEXES; i++)
        plumb_ids_clear(&s->told[i]);
    s->default_clock = 0;
    s->clock = NULL;
    s->track = 0;
    s->counters.count = s->doubles.count = 0;
    s->clears++;
    s->changes++;
    s->valid = true;
}

static void take_lists(struct plumb_pfr *r, struct plumb_pfr_list *list, bool *begun,
                       const struct plumb_wire *w)
{
    const unsigned char *at = NULL;
    uint64_t uuid;
    if (!*begun)
        list->count = 0;
    *begun = true;
    while (plumb_wire_each(w, PLUMB_PB_VARINT, &at, &uuid) && plumb_pfr_push(r, list, uuid))
        ;
}

static void read_event_defaults(struct plumb_pfr *r, struct plumb_pfr_sequence *s,
                                struct plumb_wire w)
{
    bool counters = false, doubles = false;
    while (plumb_wire_next(&w)) {
        if (w.field == PF_EVENT_TRACK_UUID)
            s->track = plumb_table_track(r->t, w.v) + 1;
        else if (w.field == PF_EVENT_EXTRA_COUNTER_TRACKS)
            take_lists(r, &s->counters, &counters, &w);
        else if (w.field == PF_EVENT_EXTRA_DOUBLE_COUNTER_TRACKS)
            take_lists(r, &s->doubles, &doubles, &w);
    }
}

static void read_defaults(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w)
{
    while (plumb_wire_next(&w)) {
        if (w.field == PF_DEFAULTS_TIMESTAMP_CLOCK_ID)
            s->default_clock = (uint32_t)w.v;
        else if (w.field == PF_DEFAULTS_TRACK_EVENT)
            read_event_defaults(r, s, plumb_wire_inner(&w));
    }
}

static int index_of(uint32_t field)
{
    switch (field) {
    case PF_INTERNED_EVENT_NAMES:
        return PLUMB_PFR_NAMES;
    case PF_INTERNED_EVENT_CATEGORIES:
        return PLUMB_PFR_CATEGORIES;
    case PF_INTERNED_DEBUG_ANNOTATION_NAMES:
        return PLUMB_PFR_KEYS;
    case PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES:
        return PLUMB_PFR_VALUES;
    default:
        return -1;
    }
}

static void read_entry(struct plumb_pfr *r, struct plumb_pfr_sequence *s, int index,
                       struct plumb_wire w)
{
    uint64_t id = 0;
    uint32_t text = 0;
    while (plumb_wire_next(&w)) {
        if (w.field == PF_ENTRY_IID)
            id = w.v;
        else if (w.field == PF_ENTRY_TEXT)
            text = plumb_pfr_text(r, w.bytes, w.n);
    }
    if (!plumb_ids_put(&s->told[index], id, text + 1))
        r->failed = true;
}

static bool read_interned(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w)
{
    while (plumb_wire_next(&w)) {
        int index = index_of(w.field);
        if (index >= 0)
            read_entry(r, s, index, plumb_wire_inner(&w));
    }
    return !w.bad;
}

/* ---- Facts ---------------------------------------------------------------------------------- */

static void read_attribute(struct plumb_pfr *r, struct plumb_wire w)
{
    static const char own[] = "plumb";
    uint32_t key = 0;
    enum plumb_table_type type = PLUMB_ARG_TEXT;
    union plumb_table_number value = {.u64 = 0};
    while (plumb_wire_next(&w)) {
        if (w.field == PF_ATTRIBUTE_KEY) {
            r->t->plumb |= w.n >= sizeof own - 1 && memcmp(w.bytes, own, sizeof own - 1) == 0;
            key = plumb_pfr_text(r, w.bytes, w.n);
        } else if (w.field == PF_ATTRIBUTE_LONG_VALUE) {
            type = PLUMB_ARG_I64;
            value.u64 = w.v;
        } else if (w.field == PF_ATTRIBUTE_STRING_VALUE) {
            type = PLUMB_ARG_TEXT;
            value.u64 = plumb_pfr_text(r, w.bytes, w.n);
        }
    }
    plumb_table_add_fact(r->t, key, type, value);
}

static void read_attributes(struct plumb_pfr *r, struct plumb_wire w)
{
    while (plumb_wire_next(&w))
        if (w.field == PF_ATTRIBUTES_ATTRIBUTE)
            read_attribute(r, plumb_wire_inner(&w));
}

/* ---- The packet ----------------------------------------------------------------------------- */

enum { KINDS = 7 };

/* A packet without what is not looked at. */
struct packet {
    uint64_t sequence, flags, timestamp;
    uint32_t clock; /* 0: the default one */
    bool has_timestamp, twice, dropped, has_event, other;
    struct plumb_wire event;
    const unsigned char *packed; /* compressed_packets */
    size_t packed_bytes;
    struct {
        uint32_t field;
        struct plumb_wire message;
    } parts[KINDS];
    int part_count;
};

static void keep_part(struct packet *p, const struct plumb_wire *w)
{
    if (p->part_count == KINDS || w->wire != PLUMB_PB_BYTES)
        return;
    p->parts[p->part_count].field = w->field;
    p->parts[p->part_count++].message = plumb_wire_inner(w);
}

static bool read_packet(struct packet *p, struct plumb_wire w)
{
    while (plumb_wire_next(&w)) {
        switch (w.field) {
        case PF_PACKET_TIMESTAMP:
            p->timestamp = w.v;
            p->twice = p->has_timestamp;
            p->has_timestamp = true;
            break;
        case PF_PACKET_SEQUENCE_ID:
            p->sequence = w.v;
            break;
        case PF_PACKET_SEQUENCE_FLAGS:
            p->flags = w.v;
            break;
        case PF_PACKET_TIMESTAMP_CLOCK_ID:
            p->clock = (uint32_t)w.v;
            break;
        case PF_PACKET_PREVIOUS_PACKET_DROPPED:
            p->dropped = w.v != 0;
            break;
        case PF_PACKET_TRACK_EVENT:
            p->event = plumb_wire_inner(&w);
            p->has_event = w.wire == PLUMB_PB_BYTES;
            break;
        case PF_PACKET_COMPRESSED:
            p->packed = w.bytes;
            p->packed_bytes = w.n;
            break;
        case PF_PACKET_CLOCK_SNAPSHOT:
        case PF_PACKET_INTERNED_DATA:
        case PF_PACKET_DEFAULTS:
        case PF_PACKET_TRACK_DESCRIPTOR:
        case PF_PACKET_PROCESS_DESCRIPTOR:
        case PF_PACKET_THREAD_DESCRIPTOR:
        case PF_PACKET_TRACE_ATTRIBUTES:
            keep_part(p, &w);
            break;
        default:
            p->other |= w.wire == PLUMB_PB_BYTES && w.field != PF_PACKET_TRACE_UUID &&
                        w.field != PF_PACKET_TRACE_STATS;
            break;
        }
    }
    return !w.bad;
}

/* In an order of our own: the fields that an event needs come first. */
static bool read_parts(struct plumb_pfr *r, struct plumb_pfr_sequence *s, const struct packet *p)
{
    bool sound = true;
    s->changes++;
    for (int i = 0; i < p->part_count; i++) {
        struct plumb_wire w = p->parts[i].message;
        switch (p->parts[i].field) {
        case PF_PACKET_CLOCK_SNAPSHOT:
            plumb_pfr_snapshot(r, s, w);
            break;
        case PF_PACKET_INTERNED_DATA:
            sound &= read_interned(r, s, w);
            break;
        case PF_PACKET_DEFAULTS:
            read_defaults(r, s, w);
            break;
        case PF_PACKET_TRACK_DESCRIPTOR:
            plumb_pfr_track(r, w);
            break;
        case PF_PACKET_PROCESS_DESCRIPTOR:
            plumb_pfr_process(r, w);
            break;
        case PF_PACKET_THREAD_DESCRIPTOR:
            plumb_pfr_thread(r, s, w);
            break;
        default:
            read_attributes(r, w);
            break;
        }
    }
    return sound;
}

/* False: the packet must be left out, because it refers to state that was lost. */
static bool enter_sequence(struct plumb_pfr *r, struct plumb_pfr_sequence *s,
                           const struct packet *p)
{
    if (p->dropped && s->used) {
        s->valid = false;
        s->changes++;
        r->t->faults.losses++;
    }
    s->used = true;
    if (p->flags & PF_SEQUENCE_STATE_CLEARED)
        forget(s);
    return s->valid || !(p->flags & PF_SEQUENCE_NEEDS_STATE);
}

/* ---- Packets seen before -------------------------------------------------------------------- */

/* Finds where the bytes after the timestamp are kept, and fills in `words`. NULL: the packet does
 * not begin with its timestamp, or is too long. */
static struct plumb_pfr_seen *find_seen(struct plumb_pfr *r, const unsigned char *bytes, size_t n,
                                        uint64_t *timestamp, struct plumb_pfr_seen *words)
{
    const unsigned char *p = bytes + 1, *end = bytes + n;
    if (n == 0 || bytes[0] != (PF_PACKET_TIMESTAMP << 3 | PLUMB_PB_VARINT) ||
        !plumb_wire_varint(&p, end, timestamp) || end - p < PLUMB_PFR_SEEN_MIN ||
        end - p > PLUMB_PFR_SEEN_MAX)
        return NULL;
    words->bytes = (uint32_t)(end - p);
    memcpy(&words->head, p, sizeof words->head);
    memcpy(&words->end, end - sizeof words->end, sizeof words->end);
    uint64_t hash =
        (words->head * UINT64_C(0x9e3779b97f4a7c15) ^ words->end) * UINT64_C(0xbf58476d1ce4e5b9);
    return &r->seen[hash >> (64 - PLUMB_PFR_SEEN_BITS)];
}

static bool is_seen(const struct plumb_pfr_seen *seen, const struct plumb_pfr_seen *words)
{
    return seen->head == words->head && seen->end == words->end && seen->bytes == words->bytes &&
           seen->sequence && seen->changes == seen->sequence->changes;
}

static void put_seen(struct plumb_pfr *r, const struct plumb_pfr_seen *seen, uint64_t timestamp)
{
    int64_t ns;
    r->packets++;
    if (plumb_pfr_time(r, seen->sequence, seen->clock, timestamp, &ns))
        plumb_pfr_put_plain(r, &seen->plain, ns);
    else
        r->t->faults.unknown_clock++;
}

/* ---- One packet ----------------------------------------------------------------------------- */

/* Returns the sequence of the packet if it holds a plain event and nothing more. */
static struct plumb_pfr_sequence *put_packet(struct plumb_pfr *r, const unsigned char *bytes,
                                             size_t n, struct plumb_pfr_plain *plain,
                                             uint32_t *clock)
{
    struct packet p;
    struct plumb_pfr_sequence *s;
    int64_t ns = 0;
    p.sequence = p.flags = p.timestamp = p.clock = 0;
    p.has_timestamp = p.twice = p.dropped = p.has_event = p.other = false;
    p.part_count = 0;
    p.packed_bytes = 0;
    if (!read_packet(&p, plumb_wire_of(bytes, n))) {
        r->t->faults.damaged++;
        return NULL;
    }
    r->packets++;
    r->known |= p.has_timestamp || p.sequence || p.has_event;
    if (PLUMB_UNLIKELY(p.packed_bytes > 0)) {
        r->packed = p.packed;
        r->packed_bytes = p.packed_bytes;
        return NULL;
    }
    if (!(s = find_sequence(r, p.sequence)))
        return NULL;
    if (!enter_sequence(r, s, &p)) {
        r->t->faults.lost_state += p.has_event;
        return NULL;
    }
    r->t->faults.other += p.other && !p.has_event && p.part_count == 0;
    if (p.part_count > 0 && !read_parts(r, s, &p)) {
        r->t->faults.damaged++;
        return NULL;
    }
    /* Also without an event: the next timestamp may be a difference to this one. */
    bool timed = p.has_timestamp && plumb_pfr_time(r, s, p.clock, p.timestamp, &ns);
    if (!p.has_event)
        return NULL;
    if (p.has_timestamp && !timed)
        r->t->faults.unknown_clock++;
    else if (!plumb_pfr_event(r, s, p.event, timed ? &ns : NULL, plain))
        r->t->faults.damaged++;
    *clock = p.clock;
    bool bare = timed && !p.twice && !p.dropped && !p.other && p.part_count == 0 &&
                !(p.flags & PF_SEQUENCE_STATE_CLEARED);
    return bare && plain->type ? s : NULL;
}

void plumb_pfr_packet(struct plumb_pfr *r, const unsigned char *bytes, size_t n)
{
    struct plumb_pfr_seen words = {.head = 0};
    uint64_t timestamp = 0;
    struct plumb_pfr_seen *seen = find_seen(r, bytes, n, &timestamp, &words);
    if (seen && is_seen(seen, &words)) {
        put_seen(r, seen, timestamp);
        return;
    }
    words.sequence = put_packet(r, bytes, n, &words.plain, &words.clock);
    if (!seen || !words.sequence)
        return;
    words.changes = words.sequence->changes;
    *seen = words;
}

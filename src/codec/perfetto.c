/* perfetto.c: packets of Perfetto's trace format.
 *
 * Packets are written directly after `used`. `used` moves only when a packet is complete, so a full
 * buffer needs no computation of sizes beforehand and never holds a part of a packet. Plain spans
 * do not come here, except for the first use of a name: see the inline functions of the header. */
#include "codec/perfetto.h"

#include "codec/perfetto_fields.h"
#include "codec/protobuf.h"

static struct plumb_pb writer_at(const struct plumb_pf_out *out)
{
    return (struct plumb_pb){.p = out->base + out->used, .end = out->base + out->size};
}

static bool commit(struct plumb_pf_out *out, const struct plumb_pb *w)
{
    if (w->full)
        return false;
    out->used = (size_t)(w->p - out->base);
    return true;
}

static void put_text(struct plumb_pb *w, uint32_t field, const char *text)
{
    plumb_pb_text(w, field, text, PLUMB_PF_TEXT_MAX);
}

/* ---- The file and its tracks ---------------------------------------------------------------- */

static unsigned char *open_packet(struct plumb_pb *w, uint32_t sequence)
{
    unsigned char *start = plumb_pb_open(w, PF_TRACE_PACKET);
    plumb_pb_u64(w, PF_PACKET_SEQUENCE_ID, sequence);
    return start;
}

static void put_clock(struct plumb_pb *w, uint32_t id, uint64_t ns, bool incremental)
{
    unsigned char *clock = plumb_pb_open(w, PF_SNAPSHOT_CLOCKS);
    plumb_pb_u64(w, PF_CLOCK_ID, id);
    plumb_pb_u64(w, PF_CLOCK_TIMESTAMP, ns);
    if (incremental)
        plumb_pb_u64(w, PF_CLOCK_IS_INCREMENTAL, 1);
    plumb_pb_close(w, clock);
}

static void put_head_clocks(struct plumb_pb *w, const struct plumb_pf_anchor *zero)
{
    unsigned char *packet = open_packet(w, PLUMB_PF_HEAD_SEQUENCE);
    unsigned char *snapshot = plumb_pb_open(w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(w, PF_CLOCK_BOOTTIME, zero->boottime_ns, false);
    put_clock(w, PF_CLOCK_MONOTONIC, zero->monotonic_ns, false);
    put_clock(w, PF_CLOCK_REALTIME, zero->realtime_ns, false);
    plumb_pb_u64(w, PF_SNAPSHOT_PRIMARY_TRACE_CLOCK, PF_CLOCK_BOOTTIME);
    plumb_pb_close(w, snapshot);
    plumb_pb_close(w, packet);
}

static void put_trace_uuid(struct plumb_pb *w, const uint64_t uuid[2])
{
    unsigned char *packet = open_packet(w, PLUMB_PF_HEAD_SEQUENCE);
    unsigned char *message = plumb_pb_open(w, PF_PACKET_TRACE_UUID);
    plumb_pb_u64(w, PF_UUID_MSB, uuid[0]);
    plumb_pb_u64(w, PF_UUID_LSB, uuid[1]);
    plumb_pb_close(w, message);
    plumb_pb_close(w, packet);
}

static void put_cmdline(struct plumb_pb *w, const char *const *argv, size_t argc)
{
    const unsigned char *start = w->p;
    for (size_t i = 0; i < argc && !w->full; i++) {
        if ((size_t)(w->p - start) + PLUMB_PF_TEXT_MAX + PLUMB_VARINT_MAX > PLUMB_PF_CMDLINE_MAX)
            return;
        put_text(w, PF_PROCESS_CMDLINE, argv[i]);
    }
}

static void put_process(struct plumb_pb *w, const struct plumb_pf_head *head)
{
    unsigned char *packet = open_packet(w, PLUMB_PF_HEAD_SEQUENCE);
    unsigned char *track = plumb_pb_open(w, PF_PACKET_TRACK_DESCRIPTOR);
    plumb_pb_u64(w, PF_TRACK_UUID, head->process_track);
    unsigned char *process = plumb_pb_open(w, PF_TRACK_PROCESS);
    plumb_pb_i64(w, PF_PROCESS_PID, head->pid);
    put_cmdline(w, head->argv, head->argc);
    if (head->process_name)
        put_text(w, PF_PROCESS_NAME, head->process_name);
    plumb_pb_close(w, process);
    plumb_pb_close(w, track);
    plumb_pb_close(w, packet);
}

bool plumb_pf_head(struct plumb_pf_out *out, const struct plumb_pf_head *head)
{
    struct plumb_pb w = writer_at(out);
    put_head_clocks(&w, &head->zero);
    if (head->uuid[0] || head->uuid[1])
        put_trace_uuid(&w, head->uuid);
    put_process(&w, head);
    return commit(out, &w);
}

static bool put_fact(struct plumb_pf_out *out, const char *key, const char *text, int64_t value)
{
    struct plumb_pb w = writer_at(out);
    unsigned char *packet = open_packet(&w, PLUMB_PF_HEAD_SEQUENCE);
    unsigned char *attributes = plumb_pb_open(&w, PF_PACKET_TRACE_ATTRIBUTES);
    unsigned char *attribute = plumb_pb_open(&w, PF_ATTRIBUTES_ATTRIBUTE);
    put_text(&w, PF_ATTRIBUTE_KEY, key);
    if (text)
        put_text(&w, PF_ATTRIBUTE_STRING_VALUE, text);
    else
        plumb_pb_i64(&w, PF_ATTRIBUTE_LONG_VALUE, value);
    plumb_pb_close(&w, attribute);
    plumb_pb_close(&w, attributes);
    plumb_pb_close(&w, packet);
    return commit(out, &w);
}

bool plumb_pf_fact(struct plumb_pf_out *out, const char *key, const char *text)
{
    return put_fact(out, key, text ? text : "", 0);
}

bool plumb_pf_fact_i64(struct plumb_pf_out *out, const char *key, int64_t value)
{
    return put_fact(out, key, NULL, value);
}

bool plumb_pf_losses(struct plumb_pf_out *out, const uint32_t *sequences, size_t count,
                     uint64_t losers)
{
    struct plumb_pb w = writer_at(out);
    unsigned char *packet = open_packet(&w, PLUMB_PF_HEAD_SEQUENCE);
    unsigned char *stats = plumb_pb_open(&w, PF_PACKET_TRACE_STATS);
    unsigned char *part = plumb_pb_open(&w, PF_STATS_BUFFER_STATS);
    plumb_pb_u64(&w, PF_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS, losers);
    plumb_pb_close(&w, part);
    for (size_t i = 0; i < count && i < PLUMB_PF_LOSSES_MAX; i++) {
        part = plumb_pb_open(&w, PF_STATS_WRITER_STATS);
        plumb_pb_u64(&w, PF_WRITER_STATS_SEQUENCE_ID, sequences[i]);
        plumb_pb_u64(&w, PF_WRITER_STATS_BUFFER, 0);
        plumb_pb_close(&w, part);
    }
    plumb_pb_close(&w, stats);
    plumb_pb_close(&w, packet);
    return commit(out, &w);
}

/* The finalizer of splitmix64: each bit of the input moves half of the output. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t plumb_pf_uuid(uint64_t seed, uint32_t kind, uint64_t a, uint64_t b)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = mixed(seed + step);
    x = mixed((x ^ kind) + step);
    x = mixed((x ^ a) + step);
    x = mixed((x ^ b) + step);
    /* 50 to 56 bits: eight bytes as a varint instead of ten. */
    return x >> 8 | UINT64_C(1) << 55;
}

static void put_thread(struct plumb_pb *w, const struct plumb_pf_track *t)
{
    unsigned char *thread = plumb_pb_open(w, PF_TRACK_THREAD);
    plumb_pb_i64(w, PF_THREAD_PID, t->pid);
    plumb_pb_i64(w, PF_THREAD_TID, t->tid);
    if (t->name)
        put_text(w, PF_THREAD_NAME, t->name);
    plumb_pb_close(w, thread);
}

static void put_counter_descriptor(struct plumb_pb *w, const struct plumb_pf_track *t)
{
    unsigned char *counter = plumb_pb_open(w, PF_TRACK_COUNTER);
    if (t->unit != PLUMB_PF_UNIT_NONE)
        plumb_pb_u64(w, PF_COUNTER_UNIT, t->unit);
    if (t->unit_name)
        put_text(w, PF_COUNTER_UNIT_NAME, t->unit_name);
    plumb_pb_close(w, counter);
}

bool plumb_pf_track(struct plumb_pf_out *out, const struct plumb_pf_track *t)
{
    enum { EXPLICIT = 3 }; /* ChildTracksOrdering */
    struct plumb_pb w = writer_at(out);
    unsigned char *packet = open_packet(&w, PLUMB_PF_HEAD_SEQUENCE);
    unsigned char *track = plumb_pb_open(&w, PF_PACKET_TRACK_DESCRIPTOR);
    plumb_pb_u64(&w, PF_TRACK_UUID, t->uuid);
    if (t->name && t->kind != PLUMB_PF_THREAD)
        put_text(&w, PF_TRACK_NAME, t->name);
    if (t->kind == PLUMB_PF_THREAD)
        put_thread(&w, t);
    if (t->parent)
        plumb_pb_u64(&w, PF_TRACK_PARENT_UUID, t->parent);
    if (t->kind == PLUMB_PF_COUNTER_TRACK)
        put_counter_descriptor(&w, t);
    if (t->ranked_children)
        plumb_pb_u64(&w, PF_TRACK_CHILD_ORDERING, EXPLICIT);
    if (t->rank)
        plumb_pb_i64(&w, PF_TRACK_SIBLING_ORDER_RANK, t->rank);
    /* Without it, readers make one row of all siblings that have the same name. */
    if (t->kind != PLUMB_PF_THREAD)
        plumb_pb_u64(&w, PF_TRACK_SIBLING_MERGE_BEHAVIOR, PF_SIBLING_MERGE_NONE);
    plumb_pb_close(&w, track);
    plumb_pb_close(&w, packet);
    return commit(out, &w);
}

/* ---- Sequences ------------------------------------------------------------------------------ */

/* The bytes of a plain span's packets that follow the timestamp. */
static void prepare_tails(struct plumb_pf_sequence *seq)
{
    unsigned char *p = seq->end;
    *p++ = PF_PACKET_SEQUENCE_ID << 3 | PLUMB_PB_VARINT;
    p = plumb_varint_put(p, seq->id);
    *p++ = PF_PACKET_SEQUENCE_FLAGS << 3 | PLUMB_PB_VARINT;
    *p++ = PF_SEQUENCE_NEEDS_STATE;
    *p++ = PF_PACKET_TRACK_EVENT << 3 | PLUMB_PB_BYTES;
    *p++ = 2; /* length of the event */
    *p++ = PF_EVENT_TYPE << 3 | PLUMB_PB_VARINT;
    *p++ = PLUMB_PF_END;
    seq->tail = (unsigned char)(p - seq->end);
    *p = PF_EVENT_NAME_IID << 3 | PLUMB_PB_VARINT;
    memcpy(seq->begin, seq->end, sizeof seq->begin);
    seq->begin[seq->tail - 1] = PLUMB_PF_BEGIN;
    seq->begin[seq->tail - 3] = 4; /* with a name of one byte */
}

/* Starts at the latest time that was written: a sequence that is opened again goes on there. */
static void put_sequence_clocks(struct plumb_pb *w, const struct plumb_pf_anchor *zero,
                                uint64_t last_ns)
{
    unsigned char *snapshot = plumb_pb_open(w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(w, PF_CLOCK_BOOTTIME, zero->boottime_ns + last_ns, false);
    put_clock(w, PF_CLOCK_RUN_INCREMENTAL, last_ns, true);
    put_clock(w, PF_CLOCK_RUN_ABSOLUTE, last_ns, false);
    plumb_pb_close(w, snapshot);
}

static void put_defaults(struct plumb_pb *w, uint64_t track)
{
    unsigned char *defaults = plumb_pb_open(w, PF_PACKET_DEFAULTS);
    plumb_pb_u64(w, PF_DEFAULTS_TIMESTAMP_CLOCK_ID, PF_CLOCK_RUN_INCREMENTAL);
    unsigned char *event = plumb_pb_open(w, PF_DEFAULTS_TRACK_EVENT);
    plumb_pb_u64(w, PF_EVENT_TRACK_UUID, track);
    plumb_pb_close(w, event);
    plumb_pb_close(w, defaults);
}

static void forget_all(struct plumb_pf_sequence *seq)
{
    for (int i = 0; i < PLUMB_PF_INDEXES; i++)
        if (seq->told[i].ids)
            memset(seq->told[i].bits, 0, (seq->told[i].ids + 63) / 64 * sizeof(uint64_t));
    seq->opened = true;
}

static bool open_sequence(struct plumb_pf_out *out, struct plumb_pb *w,
                          struct plumb_pf_sequence *seq, uint64_t track,
                          const struct plumb_pf_anchor *zero)
{
    unsigned char *packet = open_packet(w, seq->id);
    plumb_pb_u64(w, PF_PACKET_SEQUENCE_FLAGS, PF_SEQUENCE_STATE_CLEARED);
    put_sequence_clocks(w, zero, seq->last_ns);
    put_defaults(w, track);
    if (!seq->opened)
        plumb_pb_u64(w, PF_PACKET_FIRST_ON_SEQUENCE, 1);
    plumb_pb_close(w, packet);
    if (!commit(out, w))
        return false;
    prepare_tails(seq);
    forget_all(seq);
    return true;
}

bool plumb_pf_sequence_open(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t track,
                            const struct plumb_pf_anchor *zero)
{
    struct plumb_pb w = writer_at(out);
    return open_sequence(out, &w, seq, track, zero);
}

bool plumb_pf_sequence_lost(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t track,
                            const struct plumb_pf_anchor *zero)
{
    struct plumb_pb w = writer_at(out);
    /* A packet of its own: one that also clears the state is not counted as a loss by readers. */
    unsigned char *packet = open_packet(&w, seq->id);
    plumb_pb_u64(&w, PF_PACKET_PREVIOUS_PACKET_DROPPED, 1);
    plumb_pb_close(&w, packet);
    return open_sequence(out, &w, seq, track, zero);
}

/* ---- Names that are interned with an event -------------------------------------------------- */

struct telling {
    struct plumb_pb *w;
    struct plumb_pf_sequence *seq;
    unsigned char *message; /* the interned data, once it is needed */
    unsigned count;
    struct {
        enum plumb_pf_index index;
        uint32_t id;
    } told[2 + 2 * PLUMB_PF_ARGS_MAX]; /* to be taken back when the packet does not fit */
};

static const char *text_of(const struct plumb_pf_sequence *seq, enum plumb_pf_index index,
                           uint32_t id)
{
    const char *text = seq->texts->text(seq->texts->arg, index, id);
    return text ? text : "?";
}

/* The bytes of the first part of a key that is written as dictionaries; 0: it is not. */
static size_t first_part(const char *key)
{
    const char *dot = strchr(key, '.'), *at = key, *next;
    int parts = 1;
    if (!dot || strlen(key) > PLUMB_PF_KEY_NESTED_MAX)
        return 0;
    for (; (next = strchr(at, '.')) != NULL; at = next + 1, parts++)
        if (next == at)
            return 0;
    return *at && parts <= PLUMB_PF_KEY_PARTS_MAX ? (size_t)(dot - key) : 0;
}

static void tell(struct telling *t, enum plumb_pf_index index, uint32_t id)
{
    static const uint32_t fields[PLUMB_PF_INDEXES] = {
        [PLUMB_PF_NAMES] = PF_INTERNED_EVENT_NAMES,
        [PLUMB_PF_CATEGORIES] = PF_INTERNED_EVENT_CATEGORIES,
        [PLUMB_PF_KEYS] = PF_INTERNED_DEBUG_ANNOTATION_NAMES,
        [PLUMB_PF_VALUES] = PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES,
    };
    struct plumb_pf_told *told = &t->seq->told[index];
    const char *text;
    if (id == 0 || id >= told->ids || plumb_pf_is_told(told, id))
        return;
    text = text_of(t->seq, index, id);
    if (index == PLUMB_PF_KEYS && first_part(text))
        return;
    if (!t->message)
        t->message = plumb_pb_open(t->w, PF_PACKET_INTERNED_DATA);
    unsigned char *entry = plumb_pb_open(t->w, fields[index]);
    plumb_pb_u64(t->w, PF_ENTRY_IID, id);
    put_text(t->w, PF_ENTRY_TEXT, text);
    plumb_pb_close(t->w, entry);
    told->bits[id >> 6] |= UINT64_C(1) << (id & 63);
    t->told[t->count].index = index;
    t->told[t->count++].id = id;
}

static void take_back(struct telling *t)
{
    while (t->count-- > 0) {
        uint32_t id = t->told[t->count].id;
        t->seq->told[t->told[t->count].index].bits[id >> 6] &= ~(UINT64_C(1) << (id & 63));
    }
}

static size_t arg_count(const struct plumb_pf_event *e)
{
    return e->arg_count < PLUMB_PF_ARGS_MAX ? e->arg_count : PLUMB_PF_ARGS_MAX;
}

static void tell_what_is_new(struct telling *t, const struct plumb_pf_event *e)
{
    tell(t, PLUMB_PF_NAMES, e->name);
    tell(t, PLUMB_PF_CATEGORIES, e->category);
    for (size_t i = 0; i < arg_count(e); i++) {
        tell(t, PLUMB_PF_KEYS, e->args[i].key);
        if (e->args[i].type == PLUMB_PF_TEXT_ID)
            tell(t, PLUMB_PF_VALUES, (uint32_t)e->args[i].v.u64);
    }
    if (t->message)
        plumb_pb_close(t->w, t->message);
}

/* Writes the number of an interned text, or the text. */
static void put_named(struct plumb_pb *w, const struct plumb_pf_sequence *seq,
                      enum plumb_pf_index index, uint32_t id, uint32_t iid_field,
                      uint32_t text_field)
{
    if (id != 0 && plumb_pf_is_told(&seq->told[index], id))
        plumb_pb_u64(w, iid_field, id);
    else
        put_text(w, text_field, id ? text_of(seq, index, id) : "?");
}

/* ---- Events --------------------------------------------------------------------------------- */

static void put_value(struct plumb_pb *w, const struct plumb_pf_sequence *seq,
                      const struct plumb_pf_arg *a)
{
    switch (a->type) {
    case PLUMB_PF_I64:
        plumb_pb_i64(w, PF_ANNOTATION_INT_VALUE, a->v.i64);
        break;
    case PLUMB_PF_U64:
        plumb_pb_u64(w, PF_ANNOTATION_UINT_VALUE, a->v.u64);
        break;
    case PLUMB_PF_F64:
        plumb_pb_f64(w, PF_ANNOTATION_DOUBLE_VALUE, a->v.f64);
        break;
    case PLUMB_PF_BOOL:
        plumb_pb_u64(w, PF_ANNOTATION_BOOL_VALUE, a->v.u64 != 0);
        break;
    case PLUMB_PF_POINTER:
        plumb_pb_u64(w, PF_ANNOTATION_POINTER_VALUE, a->v.u64);
        break;
    case PLUMB_PF_TEXT:
        put_text(w, PF_ANNOTATION_STRING_VALUE, a->v.text ? a->v.text : "");
        break;
    case PLUMB_PF_TEXT_ID:
        put_named(w, seq, PLUMB_PF_VALUES, (uint32_t)a->v.u64, PF_ANNOTATION_STRING_VALUE_IID,
                  PF_ANNOTATION_STRING_VALUE);
        break;
    case PLUMB_PF_POINTERS:
        for (size_t i = 0; i < a->v.pointers->count && i < PLUMB_PF_POINTERS_MAX; i++) {
            unsigned char *element = plumb_pb_open(w, PF_ANNOTATION_ARRAY_VALUES);
            plumb_pb_u64(w, PF_ANNOTATION_POINTER_VALUE, a->v.pointers->at[i]);
            plumb_pb_close(w, element);
        }
        break;
    }
}

/* `n` bytes of a key as the name of an annotation that is open. */
static void put_part(struct plumb_pb *w, const char *key, size_t n)
{
    char part[PLUMB_PF_KEY_NESTED_MAX + 1];
    memcpy(part, key, n);
    part[n] = '\0';
    put_text(w, PF_ANNOTATION_NAME, part);
}

/* An entry of the dictionary that is open, with the rest of a key, which may be nested in turn. */
static void put_entry(struct plumb_pb *w, const struct plumb_pf_sequence *seq,
                      const struct plumb_pf_arg *a, const char *key)
{
    unsigned char *open[PLUMB_PF_KEY_PARTS_MAX];
    size_t n = 0, part;
    do {
        part = strcspn(key, ".");
        open[n++] = plumb_pb_open(w, PF_ANNOTATION_DICT_ENTRIES);
        put_part(w, key, part);
        key += part + (key[part] == '.');
    } while (*key);
    put_value(w, seq, a);
    while (n-- > 0)
        plumb_pb_close(w, open[n]);
}

/* The arguments from `from` on whose keys begin with the same part are one dictionary. Returns the
 * first one after them. */
static size_t put_dictionary(struct plumb_pb *w, const struct plumb_pf_sequence *seq,
                             const struct plumb_pf_event *e, size_t from, const char *key, size_t n)
{
    unsigned char *annotation = plumb_pb_open(w, PF_EVENT_DEBUG_ANNOTATIONS);
    char part[PLUMB_PF_KEY_NESTED_MAX + 1];
    size_t i = from;
    /* The text of a key may live only until the next one is fetched. */
    memcpy(part, key, n);
    put_part(w, part, n);
    do {
        put_entry(w, seq, &e->args[i++], key + n + 1);
        key = i < arg_count(e) ? text_of(seq, PLUMB_PF_KEYS, e->args[i].key) : "";
    } while (first_part(key) == n && memcmp(key, part, n) == 0);
    plumb_pb_close(w, annotation);
    return i;
}

static void put_args(struct plumb_pb *w, const struct plumb_pf_sequence *seq,
                     const struct plumb_pf_event *e)
{
    for (size_t i = 0; i < arg_count(e);) {
        uint32_t id = e->args[i].key;
        const char *key = id == 0 ? "?"
                          : plumb_pf_is_told(&seq->told[PLUMB_PF_KEYS], id)
                              ? ""
                              : text_of(seq, PLUMB_PF_KEYS, id);
        size_t part = first_part(key);
        if (part) {
            i = put_dictionary(w, seq, e, i, key, part);
            continue;
        }
        unsigned char *annotation = plumb_pb_open(w, PF_EVENT_DEBUG_ANNOTATIONS);
        put_named(w, seq, PLUMB_PF_KEYS, id, PF_ANNOTATION_NAME_IID, PF_ANNOTATION_NAME);
        put_value(w, seq, &e->args[i++]);
        plumb_pb_close(w, annotation);
    }
}

static void put_flows(struct plumb_pb *w, uint32_t field, const uint64_t *ids, size_t count)
{
    for (size_t i = 0; i < count && i < PLUMB_PF_FLOWS_MAX; i++)
        plumb_pb_fixed64(w, field, ids[i]);
}

static void put_event(struct plumb_pb *w, const struct plumb_pf_sequence *seq,
                      const struct plumb_pf_event *e)
{
    unsigned char *event = plumb_pb_open(w, PF_PACKET_TRACK_EVENT);
    plumb_pb_u64(w, PF_EVENT_TYPE, e->type);
    if (e->name)
        put_named(w, seq, PLUMB_PF_NAMES, e->name, PF_EVENT_NAME_IID, PF_EVENT_NAME);
    if (e->category)
        put_named(w, seq, PLUMB_PF_CATEGORIES, e->category, PF_EVENT_CATEGORY_IIDS,
                  PF_EVENT_CATEGORIES);
    if (e->track)
        plumb_pb_u64(w, PF_EVENT_TRACK_UUID, e->track);
    if (e->type == PLUMB_PF_COUNTER && e->value_type == PLUMB_PF_F64)
        plumb_pb_f64(w, PF_EVENT_DOUBLE_COUNTER_VALUE, e->value.f64);
    else if (e->type == PLUMB_PF_COUNTER)
        plumb_pb_i64(w, PF_EVENT_COUNTER_VALUE, e->value.i64);
    put_args(w, seq, e);
    put_flows(w, PF_EVENT_FLOW_IDS, e->flows, e->flow_count);
    put_flows(w, PF_EVENT_TERMINATING_FLOW_IDS, e->ending, e->ending_count);
    plumb_pb_close(w, event);
}

bool plumb_pf_event(struct plumb_pf_out *out, struct plumb_pf_sequence *seq,
                    const struct plumb_pf_event *e)
{
    struct plumb_pb w = writer_at(out);
    struct telling telling = {.w = &w, .seq = seq};
    bool in_order = e->ns >= seq->last_ns;
    unsigned char *packet = plumb_pb_open(&w, PF_TRACE_PACKET);
    plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, in_order ? e->ns - seq->last_ns : e->ns);
    if (!in_order)
        plumb_pb_u64(&w, PF_PACKET_TIMESTAMP_CLOCK_ID, PF_CLOCK_RUN_ABSOLUTE);
    plumb_pb_u64(&w, PF_PACKET_SEQUENCE_ID, seq->id);
    plumb_pb_u64(&w, PF_PACKET_SEQUENCE_FLAGS, PF_SEQUENCE_NEEDS_STATE);
    tell_what_is_new(&telling, e);
    put_event(&w, seq, e);
    plumb_pb_close(&w, packet);
    if (!commit(out, &w)) {
        take_back(&telling);
        return false;
    }
    if (in_order)
        seq->last_ns = e->ns;
    return true;
}

bool plumb_pf_counter_i64(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns,
                          uint64_t track, int64_t value)
{
    struct plumb_pf_event e = {.type = PLUMB_PF_COUNTER, .ns = ns, .track = track};
    e.value_type = PLUMB_PF_I64;
    e.value.i64 = value;
    return plumb_pf_event(out, seq, &e);
}

bool plumb_pf_counter_f64(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns,
                          uint64_t track, double value)
{
    struct plumb_pf_event e = {.type = PLUMB_PF_COUNTER, .ns = ns, .track = track};
    e.value_type = PLUMB_PF_F64;
    e.value.f64 = value;
    return plumb_pf_event(out, seq, &e);
}

bool plumb_pf_begin_slow(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns,
                         uint32_t name)
{
    struct plumb_pf_event e = {.type = PLUMB_PF_BEGIN, .ns = ns, .name = name};
    return plumb_pf_event(out, seq, &e);
}

bool plumb_pf_end_slow(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns)
{
    struct plumb_pf_event e = {.type = PLUMB_PF_END, .ns = ns};
    return plumb_pf_event(out, seq, &e);
}

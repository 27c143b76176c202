/* perfetto_fixture.h: an own decoder of the packets that plumb writes, which knows nothing of the
 * writer: its field numbers are typed from Perfetto's proto files once more. A trace becomes text,
 * a line a packet, with names, times and tracks resolved as a viewer does. Whatever it does not
 * know, and whatever a viewer would skip or warn of, fails the test. Include cmocka.h before. */
#ifndef PERFETTO_FIXTURE_H
#define PERFETTO_FIXTURE_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/utf8.h"

enum { PFX_SEQUENCES = 20000, PFX_IDS = 1 << 14, PFX_INDEXES = 30, PFX_TEXT = 5000 };

struct pfx_sequence {
    bool open, used;
    uint64_t track, last;
    struct pfx_text {
        const unsigned char *p;
        size_t n;
    } * text[3]; /* categories, names, keys */
    uint64_t ids[3];
};

struct pfx {
    const unsigned char *p, *end; /* of the message that is read */
    uint32_t field, wire;
    bool padded;
    uint64_t v; /* VARINT, FIXED64 */
    const unsigned char *bytes;
    size_t n; /* BYTES */
};

static struct pfx_sequence *pfx_sequences[PFX_SEQUENCES];
static uint64_t pfx_packets;
static bool pfx_one_line; /* newlines in texts become spaces */

static inline struct pfx pfx_message(const unsigned char *p, size_t n)
{
    return (struct pfx){.p = p, .end = p + n};
}

static inline struct pfx pfx_inner(const struct pfx *m)
{
    assert_int_equal(m->wire, 2);
    return pfx_message(m->bytes, m->n);
}

static inline uint64_t pfx_varint(struct pfx *m)
{
    const unsigned char *from = m->p;
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(m->p < m->end && shift < 70);
        v |= (uint64_t)(*m->p & 0x7f) << shift;
        if (!(*m->p++ & 0x80))
            break;
    }
    m->padded = m->p[-1] == 0 && m->p - from > 1; /* not the shortest form */
    return v;
}

static inline bool pfx_next(struct pfx *m)
{
    if (m->p == m->end)
        return false;
    uint64_t key = pfx_varint(m);
    m->field = (uint32_t)(key >> 3);
    m->wire = (uint32_t)(key & 7);
    switch (m->wire) {
    case 0:
        m->v = pfx_varint(m);
        return true;
    case 1:
        assert_true(m->end - m->p >= 8);
        m->v = 0;
        for (int i = 0; i < 8; i++)
            m->v |= (uint64_t)*m->p++ << 8 * i;
        return true;
    case 2:
        m->n = pfx_varint(m);
        assert_false(m->padded);
        m->bytes = m->p;
        assert_true((size_t)(m->end - m->p) >= m->n);
        m->p += m->n;
        return true;
    default:
        fail_msg("wire type %u of field %u", m->wire, m->field);
    }
    return false;
}

static inline void pfx_put_text(struct plumb_buf *out, const unsigned char *p, size_t n)
{
    static char text[PFX_TEXT];
    assert_true(n < sizeof text);
    memcpy(text, p, n);
    text[n] = '\0';
    assert_int_equal(strlen(text), n);
    assert_true(plumb_utf8_valid(text)); /* strings of protobuf are */
    for (char *at = text; pfx_one_line && (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    plumb_buf_str(out, text);
}

static inline double pfx_f64(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline struct pfx_sequence *pfx_sequence(uint32_t id)
{
    assert_true(id > 0 && id < PFX_SEQUENCES);
    if (!pfx_sequences[id])
        pfx_sequences[id] = calloc(1, sizeof *pfx_sequences[id]);
    return pfx_sequences[id];
}

static inline void pfx_forget(struct pfx_sequence *s)
{
    for (int index = 0; s && index < 3; index++)
        free(s->text[index]);
    if (s)
        memset(s, 0, sizeof *s);
}

/* The place of text `id`, made when there is none. */
static inline struct pfx_text *pfx_text_at(struct pfx_sequence *s, int index, uint64_t id)
{
    uint64_t ids = 2 * id + 64;
    assert_true(id > 0 && id < PFX_IDS);
    if (id >= s->ids[index]) {
        s->text[index] = realloc(s->text[index], ids * sizeof(struct pfx_text));
        assert_non_null(s->text[index]);
        memset(s->text[index] + s->ids[index], 0, (ids - s->ids[index]) * sizeof(struct pfx_text));
        s->ids[index] = ids;
    }
    return &s->text[index][id];
}

static inline void pfx_reset(void)
{
    for (size_t i = 0; i < PFX_SEQUENCES; i++) {
        pfx_forget(pfx_sequences[i]);
        free(pfx_sequences[i]);
        pfx_sequences[i] = NULL;
    }
    pfx_packets = 0;
}

static inline void pfx_put_interned(struct plumb_buf *out, const struct pfx_sequence *s, int index,
                                    uint64_t id)
{
    assert_true(id > 0 && id < s->ids[index]);
    assert_non_null(s->text[index][id].p); /* told before it is used */
    pfx_put_text(out, s->text[index][id].p, s->text[index][id].n);
}

static inline void pfx_clocks(struct plumb_buf *out, struct pfx m, struct pfx_sequence *s)
{
    while (pfx_next(&m)) {
        uint64_t id = 0, ns = 0, incremental = 0;
        if (m.field == 2) {
            plumb_buf_printf(out, " primary=%" PRIu64, m.v);
            continue;
        }
        assert_int_equal(m.field, 1);
        struct pfx c = pfx_inner(&m);
        while (pfx_next(&c)) {
            *(c.field == 1 ? &id : c.field == 2 ? &ns : &incremental) = c.v;
            assert_in_range(c.field, 1, 3);
        }
        plumb_buf_printf(out, " clock%" PRIu64 "=%" PRIu64 "%s", id, ns, incremental ? "+" : "");
        if (incremental)
            s->last = ns;
    }
}

static inline void pfx_fields(struct plumb_buf *out, struct pfx m, const char *names[],
                              size_t count)
{
    while (pfx_next(&m)) {
        const char *name = m.field < count ? names[m.field] : NULL;
        if (!name)
            fail_msg("field %u", m.field);
        plumb_buf_printf(out, " %s=", name);
        if (m.wire == 2)
            pfx_put_text(out, m.bytes, m.n);
        else
            plumb_buf_printf(out, "%" PRId64, (int64_t)m.v);
    }
}

static inline void pfx_track(struct plumb_buf *out, struct pfx m)
{
    static const char *process[] = {[1] = "pid", [2] = "cmdline", [6] = "process_name"};
    static const char *thread[] = {[1] = "pid", [2] = "tid", [5] = "thread_name"};
    static const char *counter[] = {[3] = "unit", [6] = "unit_name"};
    while (pfx_next(&m)) {
        switch (m.field) {
        case 1:
            plumb_buf_printf(out, " uuid=%" PRIu64, m.v);
            break;
        case 2:
            plumb_buf_str(out, " name=");
            pfx_put_text(out, m.bytes, m.n);
            break;
        case 3:
            plumb_buf_str(out, " process");
            pfx_fields(out, pfx_inner(&m), process, 7);
            break;
        case 4:
            plumb_buf_str(out, " thread");
            pfx_fields(out, pfx_inner(&m), thread, 6);
            break;
        case 5:
            plumb_buf_printf(out, " parent=%" PRIu64, m.v);
            break;
        case 8:
            plumb_buf_str(out, " counter");
            pfx_fields(out, pfx_inner(&m), counter, 7);
            break;
        case 11:
            plumb_buf_printf(out, " ordering=%" PRIu64, m.v);
            break;
        case 12:
            plumb_buf_printf(out, " rank=%" PRId64, (int64_t)m.v);
            break;
        case 15: /* sibling_merge_behavior: never */
            assert_int_equal(m.v, 2);
            plumb_buf_str(out, " apart");
            break;
        default:
            fail_msg("field %u of a track", m.field);
        }
    }
}

static inline void pfx_interned(struct pfx m, struct pfx_sequence *s)
{
    while (pfx_next(&m)) {
        /* debug_annotation_string_values (29) share a table with the names of annotations here:
         * tests give both the same text for a number. */
        int index = m.field == 29 ? 2 : (int)m.field - 1;
        struct pfx entry = pfx_inner(&m);
        uint64_t id = 0;
        assert_in_range(index, 0, 2);
        assert_true(pfx_next(&entry) && entry.field == 1);
        id = entry.v;
        assert_true(pfx_next(&entry) && entry.field == 2 && entry.wire == 2);
        *pfx_text_at(s, index, id) = (struct pfx_text){entry.bytes, entry.n};
        assert_false(pfx_next(&entry));
    }
}

/* Appends each value with its whole key: " input.latents=...", " stack[0]=..." */
static inline void pfx_annotation_in(struct plumb_buf *out, struct pfx m,
                                     const struct pfx_sequence *s, const char *around)
{
    struct plumb_buf name = {0};
    char key[600];
    int elements = 0;
    snprintf(key, sizeof key, "%s", around);
    while (pfx_next(&m)) {
        switch (m.field) {
        case 1:
        case 10:
            name.len = 0;
            if (m.field == 1)
                pfx_put_interned(&name, s, 2, m.v);
            else
                pfx_put_text(&name, m.bytes, m.n);
            snprintf(key, sizeof key, "%s%s%s", around, *around ? "." : "",
                     name.data ? name.data : "");
            break;
        case 11:
            pfx_annotation_in(out, pfx_inner(&m), s, key);
            continue;
        case 12: {
            char element[620];
            snprintf(element, sizeof element, "%s[%d]", key, elements++);
            pfx_annotation_in(out, pfx_inner(&m), s, element);
            continue;
        }
        default:
            plumb_buf_printf(out, " %s", key);
            break;
        }
        switch (m.field) {
        case 1:
        case 10:
            break;
        case 2:
            plumb_buf_str(out, m.v ? "=true" : "=false");
            break;
        case 3:
            plumb_buf_printf(out, "=%" PRIu64 "u", m.v);
            break;
        case 4:
            plumb_buf_printf(out, "=%" PRId64, (int64_t)m.v);
            break;
        case 5:
            assert_int_equal(m.wire, 1);
            plumb_buf_printf(out, "=%g", pfx_f64(m.v));
            break;
        case 7:
            plumb_buf_printf(out, "=%#" PRIx64, m.v);
            break;
        case 6:
            plumb_buf_char(out, '=');
            pfx_put_text(out, m.bytes, m.n);
            break;
        case 17:
            plumb_buf_char(out, '=');
            pfx_put_interned(out, s, 2, m.v);
            break;
        default:
            fail_msg("field %u of an annotation", m.field);
        }
    }
    plumb_buf_fini(&name);
}

static inline void pfx_annotation(struct plumb_buf *out, struct pfx m, const struct pfx_sequence *s)
{
    pfx_annotation_in(out, m, s, "");
}

static inline void pfx_event(struct plumb_buf *out, struct pfx m, const struct pfx_sequence *s,
                             uint64_t ns)
{
    static const char *types[] = {NULL, "begin", "end", "instant", "counter"};
    uint64_t track = s->track;
    plumb_buf_printf(out, " @%" PRIu64, ns);
    while (pfx_next(&m)) {
        switch (m.field) {
        case 9:
            assert_in_range(m.v, 1, 4);
            plumb_buf_printf(out, " %s", types[m.v]);
            break;
        case 10:
            plumb_buf_char(out, ' ');
            pfx_put_interned(out, s, 1, m.v);
            break;
        case 23:
            plumb_buf_str(out, " \"");
            pfx_put_text(out, m.bytes, m.n);
            plumb_buf_char(out, '"');
            break;
        case 3:
            plumb_buf_str(out, " cat=");
            pfx_put_interned(out, s, 0, m.v);
            break;
        case 22:
            plumb_buf_str(out, " cat=\"");
            pfx_put_text(out, m.bytes, m.n);
            plumb_buf_char(out, '"');
            break;
        case 11:
            track = m.v;
            break;
        case 4:
            pfx_annotation(out, pfx_inner(&m), s);
            break;
        case 30:
            plumb_buf_printf(out, " value=%" PRId64, (int64_t)m.v);
            break;
        case 44:
            plumb_buf_printf(out, " value=%g", pfx_f64(m.v));
            break;
        case 47:
            plumb_buf_printf(out, " flow=%" PRIu64, m.v);
            break;
        case 48:
            plumb_buf_printf(out, " flow_end=%" PRIu64, m.v);
            break;
        default:
            fail_msg("field %u of an event", m.field);
        }
        bool fixed = m.field == 44 || m.field == 47 || m.field == 48;
        bool bytes = m.field == 4 || m.field == 22 || m.field == 23;
        assert_int_equal(m.wire, fixed ? 1 : bytes ? 2 : 0);
    }
    plumb_buf_printf(out, " on %" PRIu64, track);
}

static inline void pfx_defaults(struct pfx m, struct pfx_sequence *s)
{
    bool clock = false;
    while (pfx_next(&m)) {
        if (m.field == 58) {
            assert_int_equal(m.v, 64);
            clock = true;
            continue;
        }
        assert_int_equal(m.field, 11);
        struct pfx event = pfx_inner(&m);
        assert_true(pfx_next(&event) && event.field == 11);
        s->track = event.v;
        assert_false(pfx_next(&event));
    }
    assert_true(clock);
}

/* The fields of a packet apart from its data. */
struct pfx_frame {
    uint64_t sequence, flags, clock, time, first, dropped;
    bool has_time;
};

static inline struct pfx_frame pfx_frame(struct pfx m)
{
    struct pfx_frame f = {0};
    while (pfx_next(&m)) {
        switch (m.field) {
        case 8:
            f.time = m.v;
            f.has_time = true;
            break;
        case 10:
            f.sequence = m.v;
            break;
        case 13:
            f.flags = m.v;
            break;
        case 42:
            f.dropped = m.v;
            break;
        case 58:
            f.clock = m.v;
            break;
        case 87:
            f.first = m.v;
            break;
        case 6:
        case 11:
        case 12:
        case 35:
        case 59:
        case 60:
        case 89:
        case 126:
            break;
        default:
            fail_msg("field %u of a packet", m.field);
        }
    }
    return f;
}

static inline uint64_t pfx_time(const struct pfx_frame *f, struct pfx_sequence *s)
{
    assert_true(f->has_time);
    if (f->clock) {
        assert_int_equal(f->clock, 65);
        return f->time;
    }
    return s->last += f->time;
}

/* TraceStats: what was lost of buffer 0, and by whom. */
static inline void pfx_losses(struct plumb_buf *out, struct pfx m)
{
    while (pfx_next(&m)) {
        struct pfx part = pfx_inner(&m);
        assert_true(m.field == 1 || m.field == 18);
        assert_true(pfx_next(&part) && part.field == (m.field == 1 ? 19 : 1));
        plumb_buf_printf(out, m.field == 1 ? " losers=%" PRIu64 : " loser=%" PRIu64, part.v);
        if (m.field == 18)
            assert_true(pfx_next(&part) && part.field == 4 && part.v == 0);
        assert_false(pfx_next(&part));
    }
}

static inline void pfx_packet(struct plumb_buf *out, struct pfx m)
{
    static const char *uuid[] = {[1] = "msb", [2] = "lsb"};
    static const char *attribute[] = {[1] = "key", [2] = "long", [3] = "text"};
    struct pfx_frame f = pfx_frame(m);
    struct pfx_sequence *s = pfx_sequence((uint32_t)f.sequence);
    struct pfx again = m;
    plumb_buf_printf(out, "%" PRIu64 "%s%s", f.sequence, f.first ? " first" : "",
                     f.dropped ? " dropped" : "");
    assert_int_equal(f.first, f.sequence != 1 && !s->used && f.flags == 1);
    if (f.dropped)
        s->open = false;
    if (f.flags == 1) {
        pfx_forget(s);
        s->open = s->used = true;
        plumb_buf_str(out, " cleared");
    }
    while (pfx_next(&again)) {
        switch (again.field) {
        case 6:
            pfx_clocks(out, pfx_inner(&again), s);
            break;
        case 59:
            pfx_defaults(pfx_inner(&again), s);
            plumb_buf_printf(out, " track=%" PRIu64, s->track);
            break;
        case 12:
            pfx_interned(pfx_inner(&again), s);
            break;
        case 60:
            pfx_track(out, pfx_inner(&again));
            break;
        case 89:
            pfx_fields(out, pfx_inner(&again), uuid, 3);
            break;
        case 35:
            pfx_losses(out, pfx_inner(&again));
            break;
        case 126:
            again = pfx_inner(&again);
            assert_true(pfx_next(&again) && again.field == 1);
            pfx_fields(out, pfx_inner(&again), attribute, 4);
            break;
        case 11:
            assert_true(s->open && f.flags == 2); /* a viewer skips it otherwise */
            pfx_event(out, pfx_inner(&again), s, pfx_time(&f, s));
            break;
        default:
            break;
        }
    }
    plumb_buf_char(out, '\n');
    pfx_packets++;
}

/* Appends the packets of `bytes`, whole ones only, to `out` as text. pfx_reset() begins a file. */
static inline void pfx_decode(struct plumb_buf *out, const unsigned char *bytes, size_t n)
{
    struct pfx file = pfx_message(bytes, n);
    while (pfx_next(&file)) {
        assert_int_equal(file.field, 1);
        pfx_packet(out, pfx_inner(&file));
    }
}

#endif

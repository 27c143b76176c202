/* perfetto_read_fixture.h: packets such as any program may write, and the table that is read from
 * them, as text. For tests of the Perfetto reader, each a program. Include cmocka.h before. */
#ifndef PERFETTO_READ_FIXTURE_H
#define PERFETTO_READ_FIXTURE_H

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "codec/perfetto.h"
#include "codec/perfetto_fields.h"
#include "codec/protobuf.h"
#include "read/trace/perfetto.h"

static unsigned char memory[1 << 20];
static struct plumb_pf_out out;
static struct plumb_pb w;
static struct plumb_table t;
static plumb_error err;

static inline int start(void **state)
{
    (void)state;
    out = (struct plumb_pf_out){memory, sizeof memory, 0};
    w = (struct plumb_pb){memory, memory + sizeof memory, false};
    return 0;
}

static inline void parse(size_t size)
{
    if (plumb_perfetto_parse(&t, memory, size, "test", &err) < 0)
        fail_msg("%s", err.message);
}

static inline void parse_written(void)
{
    assert_false(w.full);
    parse((size_t)(w.p - memory));
}

static inline const char *text(uint32_t id)
{
    return plumb_table_text(&t, id);
}

/* The whole table as text, a line a row. */
static inline char *dump(void)
{
    struct plumb_buf b = {0};
    plumb_buf_str(&b, "");
    for (uint32_t i = 0; i < t.slices.count; i++) {
        const struct plumb_table_slices *s = &t.slices;
        plumb_table_put_track(&b, &t, s->track[i]);
        plumb_buf_printf(&b, ": %*s%s [%s] @%" PRIu64 "+%" PRIu64 "%s%s", 2 * (int)s->depth[i], "",
                         text(s->name[i]), text(s->category[i]), s->ts_ns[i], s->dur_ns[i],
                         s->flags[i] & PLUMB_SLICE_OPEN ? " open" : "",
                         s->flags[i] & PLUMB_SLICE_CUT ? " cut" : "");
        for (uint32_t a = s->args[i]; a < s->args[i + 1]; a++) {
            plumb_buf_printf(&b, " %s=", text(t.slice_args.key[a]));
            plumb_table_put_value(&b, &t, t.slice_args.type[a], t.slice_args.value[a]);
        }
        plumb_buf_char(&b, '\n');
    }
    for (uint32_t i = 0; i < t.instants.count; i++) {
        plumb_table_put_track(&b, &t, t.instants.track[i]);
        plumb_buf_printf(&b, ": %s @%" PRIu64, text(t.instants.name[i]), t.instants.ts_ns[i]);
        for (uint32_t a = t.instants.args[i]; a < t.instants.args[i + 1]; a++) {
            plumb_buf_printf(&b, " %s=", text(t.instant_args.key[a]));
            plumb_table_put_value(&b, &t, t.instant_args.type[a], t.instant_args.value[a]);
        }
        plumb_buf_char(&b, '\n');
    }
    for (uint32_t i = 0; i < t.counters.count; i++) {
        const struct plumb_table_track *l = &t.tracks[t.counters.track[i]];
        plumb_table_put_track(&b, &t, t.counters.track[i]);
        plumb_buf_printf(&b, " = ");
        plumb_table_put_value(&b, &t, l->whole ? PLUMB_ARG_I64 : PLUMB_ARG_F64,
                              t.counters.value[i]);
        plumb_buf_printf(&b, " @%" PRIu64 "\n", t.counters.ts_ns[i]);
    }
    assert_false(b.failed);
    return b.data;
}

static inline void assert_dump(const char *want)
{
    char *have = dump();
    assert_string_equal(have, want);
    free(have);
    plumb_table_fini(&t);
}

static inline unsigned char *packet(uint32_t sequence)
{
    unsigned char *start_of = plumb_pb_open(&w, PF_TRACE_PACKET);
    plumb_pb_u64(&w, PF_PACKET_SEQUENCE_ID, sequence);
    return start_of;
}

static inline unsigned char *event_packet(unsigned char **inner, uint32_t sequence, uint64_t ts,
                                          int type)
{
    unsigned char *start_of = packet(sequence);
    plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, ts);
    *inner = plumb_pb_open(&w, PF_PACKET_TRACK_EVENT);
    if (type)
        plumb_pb_u64(&w, PF_EVENT_TYPE, (uint64_t)type);
    return start_of;
}

static inline void close_both(unsigned char *inner, unsigned char *start_of)
{
    plumb_pb_close(&w, inner);
    plumb_pb_close(&w, start_of);
}

static inline void plain_event(uint32_t sequence, uint64_t ts, int type, uint64_t track,
                               const char *name)
{
    unsigned char *inner, *start_of = event_packet(&inner, sequence, ts, type);
    if (track)
        plumb_pb_u64(&w, PF_EVENT_TRACK_UUID, track);
    if (name)
        plumb_pb_text(&w, PF_EVENT_NAME, name, 100);
    close_both(inner, start_of);
}

#endif

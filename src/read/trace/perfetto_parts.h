/* perfetto_parts.h: what the files of the Perfetto reader share. For perfetto_*.c alone. */
#ifndef PLUMB_READ_TRACE_PERFETTO_PARTS_H
#define PLUMB_READ_TRACE_PERFETTO_PARTS_H

#include "base/arena.h"
#include "codec/perfetto_fields.h"
#include "codec/wire.h"
#include "read/trace/ids.h"
#include "read/trace/table.h"

/* ---- Clocks --------------------------------------------------------------------------------- */

/* When a clock showed `from`, it was `to` on the trace's clock. */
struct plumb_pfr_point {
    int64_t from, to;
};
struct plumb_pfr_clock {
    struct plumb_pfr_clock *next;
    uint32_t id;
    bool incremental;               /* a timestamp is the difference to the one before */
    uint64_t unit_ns, last;         /* last: in ns */
    struct plumb_pfr_point *points; /* by `from` */
    size_t count, cap;
};

/* ---- Sequences ------------------------------------------------------------------------------ */

enum { PLUMB_PFR_NAMES, PLUMB_PFR_CATEGORIES, PLUMB_PFR_KEYS, PLUMB_PFR_VALUES, PLUMB_PFR_INDEXES };

struct plumb_pfr_list { /* of 64-bit values; memory is the arena's */
    uint64_t *at;
    size_t count, cap;
};

struct plumb_pfr_sequence {
    bool used;   /* had packets before */
    bool valid;  /* what is interned can be relied upon */
    bool legacy; /* has a thread descriptor of the old kind */
    uint32_t clears;
    uint32_t changes;                         /* of anything that decides what a packet means */
    struct plumb_ids told[PLUMB_PFR_INDEXES]; /* number -> string + 1 */
    uint32_t default_clock;                   /* 0: none */
    uint32_t track;                           /* events without a track go there, + 1; 0: none */
    int64_t pid, tid, reference_us;           /* legacy */
    struct plumb_pfr_clock *clocks;           /* 64 to 127 */
    struct plumb_pfr_clock *clock;            /* that of the last event, for the next */
    struct plumb_pfr_list counters, doubles;  /* default tracks of extra counters */
};

/* ---- Packets seen before -------------------------------------------------------------------- */

/* Most packets of a thread differ in their time alone: a begin of some node, an end. The decoded
 * event is kept, under the bytes after the timestamp, until the sequence changes. */
enum { PLUMB_PFR_SEEN_BITS = 13, PLUMB_PFR_SEEN_MIN = 8, PLUMB_PFR_SEEN_MAX = 16 /* bytes */ };

struct plumb_pfr_plain {
    uint32_t type; /* enum plumb_pf_type; 0: it is not plain */
    uint32_t track, name, category;
};
struct plumb_pfr_seen {
    uint64_t head, end; /* first and last eight bytes */
    struct plumb_pfr_sequence *sequence;
    uint32_t bytes, changes, clock;
    struct plumb_pfr_plain plain;
};

/* ---- The reader ----------------------------------------------------------------------------- */

/* State of a counter's track that the table does not keep. */
struct plumb_pfr_counter {
    int64_t multiplier; /* 0: none */
    bool incremental;
    uint32_t clears; /* of the sequence, when `last` was set */
    int64_t last;
    double last_f64;
};

/* Bytes of packets, the last of them perhaps not whole. */
struct plumb_pfr_window {
    unsigned char *bytes;
    size_t size, cap;
};

struct plumb_pfr {
    struct plumb_table *t;
    struct plumb_arena arena;
    struct plumb_ids sequence_of; /* id -> place + 1 */
    struct plumb_pfr_sequence **sequences;
    size_t sequence_count, sequence_cap;
    struct plumb_pfr_sequence *last;
    uint64_t last_id;
    struct plumb_pfr_clock *clocks; /* of the whole file */
    uint32_t trace_clock;
    bool has_snapshot, has_unix;
    int64_t first_ns;            /* of the first snapshot, on the trace's clock */
    struct plumb_ids counter_of; /* track -> place + 1 */
    struct plumb_pfr_counter *counters;
    size_t counter_count, counter_cap;
    struct plumb_pfr_list values, tracks; /* scratch */
    struct plumb_buf text;                /* scratch */
    uint64_t packets;
    bool known; /* one of them has a time, a sequence, an event or packed packets */
    struct plumb_pfr_seen *seen; /* [1 << PLUMB_PFR_SEEN_BITS], by hash */
    const unsigned char *packed; /* packets that the last one has packed */
    size_t packed_bytes;         /* 0: it has none */
    struct plumb_unpack *inner;
    struct plumb_pfr_window inner_window;
    bool failed; /* out of memory */
};

/* A text of the file as the number of a string. In files of plumb, each \xHH of a text is a
 * byte. */
uint32_t plumb_pfr_text(struct plumb_pfr *r, const unsigned char *bytes, size_t n);
bool plumb_pfr_push(struct plumb_pfr *r, struct plumb_pfr_list *list, uint64_t value);

/* perfetto_packet.c: the `n` bytes of a packet. Sets r->packed where it has packets in turn. */
void plumb_pfr_packet(struct plumb_pfr *r, const unsigned char *bytes, size_t n);

/* perfetto_clocks.c */
void plumb_pfr_snapshot(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w);
/* Converts `timestamp` of a clock (0: the sequence's default, otherwise the trace's) to the trace's
 * clock. False: nothing relates that clock to the trace's. */
bool plumb_pfr_time(struct plumb_pfr *r, struct plumb_pfr_sequence *s, uint32_t clock,
                    uint64_t timestamp, int64_t *out);

/* perfetto_tracks.c */
void plumb_pfr_track(struct plumb_pfr *r, struct plumb_wire w);
void plumb_pfr_process(struct plumb_pfr *r, struct plumb_wire w);
void plumb_pfr_thread(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w);
/* The track of a thread that older writers name by its numbers. */
uint32_t plumb_pfr_thread_track(struct plumb_pfr *r, int64_t pid, int64_t tid);
/* Returns the state of a counter's track; NULL: a plain counter without any. */
struct plumb_pfr_counter *plumb_pfr_counter(struct plumb_pfr *r, uint32_t track);

/* perfetto_event.c: a track event at `ns`, NULL: the packet has no time of its own. False: the
 * message is damaged. Fills in `plain` if the event is a plain one. */
bool plumb_pfr_event(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w,
                     const int64_t *ns, struct plumb_pfr_plain *plain);
void plumb_pfr_put_plain(struct plumb_pfr *r, const struct plumb_pfr_plain *plain, int64_t ns);
/* perfetto_args.c: an annotation of an event, as args. False: damaged. */
bool plumb_pfr_annotation(struct plumb_pfr *r, const struct plumb_pfr_sequence *s, uint32_t event,
                          struct plumb_wire w);

#endif

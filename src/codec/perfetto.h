/* perfetto.h: writes a trace in Perfetto's protobuf format into a buffer of the caller.
 *
 * The file is a row of packets, whole ones only, so that whatever part of it reached the disk is
 * valid up to its last packet. Every function below appends to `out` and returns true, or returns
 * false with everything unchanged because the buffer is full: write it out, set `used` to 0, call
 * again. No allocation, no system call, no lock. A buffer of PLUMB_PF_PACKET_MAX bytes takes any
 * packet.
 *
 * Order: plumb_pf_head() first; a sequence's plumb_pf_sequence_open() before its events; a track
 * before the events on it.
 *
 * Time is nanoseconds since the run's zero. Each sequence has two clocks: 64, in which a timestamp
 * is the difference to the packet before, and 65, absolute, for a time that lies before the last
 * one. So events of a sequence should come in order, and may come out of order.
 *
 * Names are interned: written once a sequence, and then referred to by number. The caller numbers
 * its names from 1, the same number for the same text in all sequences and for the whole file. It
 * is asked for the text when a sequence meets a number for the first time. A span of a sequence's
 * own track takes two packets: 24 bytes, and the two times (2 bytes below 16.4 us since the packet
 * before, 3 below 2.1 ms, 4 below 268 ms, 5 below 34 s); one more for a name's number above 127 and
 * two more for a sequence's number above 127.
 *
 * Texts may hold anything: a byte that is not UTF-8 becomes the text \xHH as in json_write.h.
 * Longer ones than PLUMB_PF_TEXT_MAX bytes are cut and end in "...".
 *
 * Threads: none of its own; a sequence and a buffer belong to one caller at a time. */
#ifndef PLUMB_CODEC_PERFETTO_H
#define PLUMB_CODEC_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "codec/varint.h"

enum {
    PLUMB_PF_TEXT_MAX = 4096,
    PLUMB_PF_ARGS_MAX = 24,           /* of an event; more are not written */
    PLUMB_PF_KEY_NESTED_MAX = 256,    /* bytes of a key that is nested */
    PLUMB_PF_KEY_PARTS_MAX = 8,       /* likewise: its parts */
    PLUMB_PF_POINTERS_MAX = 64,       /* of one argument; more are not written */
    PLUMB_PF_FLOWS_MAX = 64,          /* of an event, of each kind; more are not written */
    PLUMB_PF_CMDLINE_MAX = 16 * 1024, /* bytes of all arguments; the rest is left out */
    PLUMB_PF_LOSSES_MAX = 2048,       /* sequences that are listed; more are not */
    PLUMB_PF_PACKET_MAX = 224 * 1024,
    PLUMB_PF_HEAD_SEQUENCE = 1, /* of descriptors; those of the caller begin at 2 */
};

struct plumb_pf_out {
    unsigned char *base;
    size_t size, used; /* bytes after `used` may be overwritten */
};

/* ---- The file ------------------------------------------------------------------------------- */

/* The run's zero on the clocks of the system. */
struct plumb_pf_anchor {
    uint64_t boottime_ns, monotonic_ns, realtime_ns;
};

struct plumb_pf_head {
    struct plumb_pf_anchor zero;
    uint64_t uuid[2];       /* of the trace; zeros: none */
    uint64_t process_track; /* plumb_pf_uuid() */
    int32_t pid;
    const char *process_name; /* NULL: none */
    const char *const *argv;
    size_t argc;
};

/* Clocks, trace uuid, and the track of the process. */
bool plumb_pf_head(struct plumb_pf_out *out, const struct plumb_pf_head *head);

/* A fact about the run (a version, the host): TraceAttributes, which viewers list in the trace's
 * overview and trace processors in the table `metadata`, as `trace_attribute.<key>`. */
bool plumb_pf_fact(struct plumb_pf_out *out, const char *key, const char *text);
bool plumb_pf_fact_i64(struct plumb_pf_out *out, const char *key, int64_t value);

/* Which sequences have lost events, at the end of the file: readers count the marks of
 * plumb_pf_sequence_lost() only of sequences that are listed here. `losers`: how many there are,
 * also those that are not among the `count` that are listed. */
bool plumb_pf_losses(struct plumb_pf_out *out, const uint32_t *sequences, size_t count,
                     uint64_t losers);

/* ---- Tracks --------------------------------------------------------------------------------- */

/* Returns a number for a track that other tracks will hardly have: never 0, 8 bytes in the file.
 * Equal arguments give equal numbers. `seed` identifies the process (so that files can be joined),
 * `kind` says what `a` and `b` are. */
uint64_t plumb_pf_uuid(uint64_t seed, uint32_t kind, uint64_t a, uint64_t b);

enum plumb_pf_unit {
    PLUMB_PF_UNIT_NONE = 0,
    PLUMB_PF_NS = 1,
    PLUMB_PF_COUNT = 2,
    PLUMB_PF_SIZE = 3
};
enum plumb_pf_track_kind { PLUMB_PF_LANE = 0, PLUMB_PF_THREAD = 1, PLUMB_PF_COUNTER_TRACK = 2 };

struct plumb_pf_track {
    enum plumb_pf_track_kind kind;
    uint64_t uuid;
    uint64_t parent;         /* uuid; 0: none */
    const char *name;        /* NULL: none */
    int32_t rank;            /* among its siblings; 0: the viewer's order */
    bool ranked_children;    /* its children are shown by their `rank` */
    int32_t pid;             /* THREAD */
    int64_t tid;             /* THREAD */
    enum plumb_pf_unit unit; /* COUNTER_TRACK */
    const char *unit_name;   /* COUNTER_TRACK, for units of one's own; NULL: none */
};

bool plumb_pf_track(struct plumb_pf_out *out, const struct plumb_pf_track *track);

/* ---- Sequences ------------------------------------------------------------------------------ */

enum plumb_pf_index {
    PLUMB_PF_NAMES = 0,      /* of events */
    PLUMB_PF_CATEGORIES = 1, /* of events */
    PLUMB_PF_KEYS = 2,       /* of arguments */
    PLUMB_PF_VALUES = 3,     /* texts of arguments */
    PLUMB_PF_INDEXES = 4,
};

/* Text number `id` of an index. Called within the functions below. NULL counts as "?". */
struct plumb_pf_texts {
    const char *(*text)(void *arg, enum plumb_pf_index index, uint32_t id);
    void *arg;
};

/* Bit `id` set: interned. An id that is not below `ids` is written out each time. */
struct plumb_pf_told {
    uint64_t *bits; /* (ids + 63) / 64 words of the caller */
    uint32_t ids;
};

/* One source of packets: a thread, or a lane of a collector. Plain data. The caller sets `id`,
 * `texts` and `told`; the rest is zero before the first open. When a thread has ended another may
 * have the sequence: open it again. */
struct plumb_pf_sequence {
    uint32_t id; /* from 2; below 128 is a byte less in each packet */
    bool opened;
    unsigned char tail; /* bytes of `end`; `begin` has the same and a byte for the name's key */
    unsigned char begin[16], end[16]; /* a packet from its timestamp on */
    uint64_t last_ns;                 /* last written; where a sequence that is opened goes on */
    const struct plumb_pf_texts *texts;
    struct plumb_pf_told told[PLUMB_PF_INDEXES];
};

/* Begins the sequence, or begins it again with nothing interned. Events without a track of their
 * own go on `track`. */
bool plumb_pf_sequence_open(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t track,
                            const struct plumb_pf_anchor *zero);
/* Marks that events of the sequence were lost here (previous_packet_dropped), and opens it again,
 * because a reader then forgets its interned names. The number of lost events is recorded by an
 * instant. */
bool plumb_pf_sequence_lost(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t track,
                            const struct plumb_pf_anchor *zero);

/* ---- Events --------------------------------------------------------------------------------- */

enum plumb_pf_type {
    PLUMB_PF_BEGIN = 1,
    PLUMB_PF_END = 2,
    PLUMB_PF_INSTANT = 3,
    PLUMB_PF_COUNTER = 4,
};

enum plumb_pf_value {
    PLUMB_PF_I64 = 0,
    PLUMB_PF_U64 = 1,
    PLUMB_PF_F64 = 2,
    PLUMB_PF_BOOL = 3,    /* u64 */
    PLUMB_PF_POINTER = 4, /* u64 */
    PLUMB_PF_TEXT = 5,    /* text */
    PLUMB_PF_TEXT_ID = 6, /* u64: a number of PLUMB_PF_VALUES */
    PLUMB_PF_POINTERS = 7 /* an array of them */
};

struct plumb_pf_pointers {
    const uint64_t *at;
    size_t count;
};

/* A key with dots, "input.latents", becomes a dictionary `input` with the entry `latents`: readers
 * replace a dot in a name by '_'. So do keys with more parts. A key of which a part is empty, and
 * one that is too long, are written as they are. Keys with dots are not interned. */
struct plumb_pf_arg {
    uint32_t key; /* a number of PLUMB_PF_KEYS */
    enum plumb_pf_value type;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        const char *text; /* NULL: "" */
        const struct plumb_pf_pointers *pointers;
    } v;
};

struct plumb_pf_event {
    enum plumb_pf_type type;
    uint64_t ns;
    uint64_t track;         /* 0: the sequence's own */
    uint32_t name;          /* 0: none */
    uint32_t category;      /* 0: none */
    const uint64_t *flows;  /* flows that begin here or pass through */
    const uint64_t *ending; /* flows that end here */
    const struct plumb_pf_arg *args;
    size_t flow_count, ending_count, arg_count;
    enum plumb_pf_value value_type; /* of a COUNTER: I64 or F64 */
    union {
        int64_t i64;
        double f64;
    } value;
};

bool plumb_pf_event(struct plumb_pf_out *out, struct plumb_pf_sequence *seq,
                    const struct plumb_pf_event *event);
bool plumb_pf_counter_i64(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns,
                          uint64_t track, int64_t value);
bool plumb_pf_counter_f64(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns,
                          uint64_t track, double value);

/* ---- Plain spans, which are nearly all ------------------------------------------------------ */

/* Writing many of them in a row to one sequence: what the next packet needs is kept in a local
 * variable, so that the compiler can keep it in registers. Between plumb_pf_run_open() and
 * plumb_pf_run_close() nothing else may touch the buffer or the sequence. */
struct plumb_pf_run {
    unsigned char *p, *end;
    uint64_t last_ns;
    uint64_t begin_head, end_head; /* packet, its length, key of the timestamp */
    size_t tail;
    uint32_t ids; /* names that are looked up; others go the long way */
    struct plumb_pf_out *out;
    struct plumb_pf_sequence *seq;
};

enum { PLUMB_PF_RUN_TOUCHES = 32 };

bool plumb_pf_begin_slow(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns,
                         uint32_t name);
bool plumb_pf_end_slow(struct plumb_pf_out *out, struct plumb_pf_sequence *seq, uint64_t ns);

static inline bool plumb_pf_is_told(const struct plumb_pf_told *told, uint32_t id)
{
    return id < told->ids && (told->bits[id >> 6] >> (id & 63) & 1);
}

static PLUMB_ALWAYS_INLINE struct plumb_pf_run plumb_pf_run_open(struct plumb_pf_out *out,
                                                                 struct plumb_pf_sequence *seq)
{
    /* Keys of packet and timestamp, a length byte, and the mark that a byte of time follows. */
    const uint64_t keys = UINT64_C(0x8040000a);
    uint32_t ids = seq->told[PLUMB_PF_NAMES].ids;
    struct plumb_pf_run run = {
        .p = out->base + out->used,
        .end = out->base + out->size,
        .last_ns = seq->last_ns,
        .begin_head = keys | (uint64_t)(3 + seq->tail + 2) << 8,
        .end_head = keys | (uint64_t)(3 + seq->tail) << 8,
        .tail = seq->tail,
        .ids = ids < 1u << 14 ? ids : 1u << 14,
        .out = out,
        .seq = seq,
    };
    return run;
}

static PLUMB_ALWAYS_INLINE void plumb_pf_run_close(const struct plumb_pf_run *run)
{
    run->out->used = (size_t)(run->p - run->out->base);
    run->seq->last_ns = run->last_ns;
}

/* Up to the timestamp, which is below 2^21: two or three bytes of it without a branch, and two
 * where one would do. */
static PLUMB_ALWAYS_INLINE unsigned char *plumb_pf_put_head(unsigned char *p, uint64_t head,
                                                            uint64_t delta)
{
    const uint64_t third = UINT64_C(1) << 8 | UINT64_C(0x80) << 32; /* length, and a mark more */
    /* Each 7 bits move up by one more than those before. */
    uint64_t time = delta + (delta & 0x1fff80) + 2 * (delta & 0x1fc000);
    bool long_time = delta >= 1u << 14;
    plumb_store_le64(p, head + (long_time ? third : 0) + (time << 24));
    return p + 5 + long_time;
}

/* Whether the buffer has enough free bytes, and the time is at or after the last one, by at most 2
 * ms. */
static PLUMB_ALWAYS_INLINE bool plumb_pf_run_quick(const struct plumb_pf_run *run, uint64_t delta)
{
    return PLUMB_LIKELY((size_t)(run->end - run->p) >= PLUMB_PF_RUN_TOUCHES) &&
           PLUMB_LIKELY(delta < 1u << 21);
}

/* A span begins on the sequence's own track. */
static PLUMB_ALWAYS_INLINE bool plumb_pf_run_begin(struct plumb_pf_run *run, uint64_t ns,
                                                   uint32_t name)
{
    uint64_t delta = ns - run->last_ns;
    const uint64_t *told = run->seq->told[PLUMB_PF_NAMES].bits;
    if (!plumb_pf_run_quick(run, delta) || PLUMB_UNLIKELY(name >= run->ids) ||
        PLUMB_UNLIKELY(!(told[name >> 6] >> (name & 63) & 1))) {
        plumb_pf_run_close(run);
        bool done = plumb_pf_begin_slow(run->out, run->seq, ns, name);
        *run = plumb_pf_run_open(run->out, run->seq);
        return done;
    }
    unsigned char *packet = run->p, *p = plumb_pf_put_head(packet, run->begin_head, delta);
    memcpy(p, run->seq->begin, sizeof run->seq->begin);
    p += run->tail + 1;
    if (PLUMB_LIKELY(name < 1u << 7)) {
        *p++ = (unsigned char)name;
    } else {
        p[-4]++; /* length of the event */
        packet[1]++;
        *p++ = (unsigned char)(name | 0x80);
        *p++ = (unsigned char)(name >> 7);
    }
    run->p = p;
    run->last_ns = ns;
    return true;
}

/* The span that began last on the sequence's own track ends. */
static PLUMB_ALWAYS_INLINE bool plumb_pf_run_end(struct plumb_pf_run *run, uint64_t ns)
{
    uint64_t delta = ns - run->last_ns;
    if (!plumb_pf_run_quick(run, delta)) {
        plumb_pf_run_close(run);
        bool done = plumb_pf_end_slow(run->out, run->seq, ns);
        *run = plumb_pf_run_open(run->out, run->seq);
        return done;
    }
    unsigned char *p = plumb_pf_put_head(run->p, run->end_head, delta);
    memcpy(p, run->seq->end, sizeof run->seq->end);
    run->p = p + run->tail;
    run->last_ns = ns;
    return true;
}

/* The same, one at a time. */
static inline bool plumb_pf_begin(struct plumb_pf_out *out, struct plumb_pf_sequence *seq,
                                  uint64_t ns, uint32_t name)
{
    struct plumb_pf_run run = plumb_pf_run_open(out, seq);
    bool done = plumb_pf_run_begin(&run, ns, name);
    plumb_pf_run_close(&run);
    return done;
}

static inline bool plumb_pf_end(struct plumb_pf_out *out, struct plumb_pf_sequence *seq,
                                uint64_t ns)
{
    struct plumb_pf_run run = plumb_pf_run_open(out, seq);
    bool done = plumb_pf_run_end(&run, ns);
    plumb_pf_run_close(&run);
    return done;
}

#endif

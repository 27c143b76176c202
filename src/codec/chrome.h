/* chrome.h: writes a trace as Chrome trace event JSON, as Kineto spells it, into a buffer of the
 * caller.
 *
 * Every function appends to `out` and returns true, or returns false with `used` unchanged because
 * the buffer is full (out.h). No allocation, no system call, no lock. A buffer of
 * PLUMB_CHROME_EVENT_MAX bytes takes any event; PLUMB_CHROME_JSON arguments take their own length
 * in addition.
 *
 * Order: plumb_chrome_head(), facts, plumb_chrome_events(), events and metadata in any order,
 * plumb_chrome_end(). An event is one line that ends in ",\n", so a file that was cut short lacks
 * only its last line's end and "]}", as Kineto's do.
 *
 * Times are nanoseconds since the head's `base_unix_ns`, written as microseconds with exactly three
 * decimals. Those above PLUMB_CHROME_NS_MAX (31 years) are written as that.
 *
 * Texts are NUL-terminated and may hold anything: control characters become \u00HH, and a byte that
 * is not UTF-8 becomes the text \xHH as in json_write.h. The head says so (PLUMB_CHROME_ESCAPED),
 * so that a reader gets the bytes back. A text of more than PLUMB_CHROME_TEXT_MAX bytes is cut and
 * ends in "...". NULL counts as "".
 *
 * Threads: none of its own; a buffer belongs to one caller at a time. */
#ifndef PLUMB_CODEC_CHROME_H
#define PLUMB_CODEC_CHROME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/out.h"

enum {
    PLUMB_CHROME_TEXT_MAX = 4096,
    PLUMB_CHROME_ARGS_MAX = 32, /* of an event; more are not written */
    PLUMB_CHROME_EVENT_MAX = 320 * 1024,
    PLUMB_CHROME_PAD = 64, /* readable bytes after a piece; bytes that may be overwritten after a
                            * span */
};
#define PLUMB_CHROME_NS_MAX UINT64_C(999999999999999999)

/* ---- The file ------------------------------------------------------------------------------- */

struct plumb_chrome_device {
    int32_t id;
    const char *name;
    uint64_t total_bytes; /* 0: not known */
};

struct plumb_chrome_head {
    uint64_t base_unix_ns;
    const char *trace_name, *trace_id; /* NULL: none */
    const struct plumb_chrome_device *devices;
    size_t device_count; /* those beyond 64 are not written */
    int32_t rank;        /* negative: not distributed */
    int32_t world_size;  /* negative: not known */
    const char *backend; /* NULL: not known */
    bool record_shapes, with_stack, profile_memory, with_flops;
};

/* The object up to its facts. */
bool plumb_chrome_head(struct plumb_out *out, const struct plumb_chrome_head *head);
/* A key of the object's top level; not one that plumb_chrome_head() writes. */
bool plumb_chrome_fact(struct plumb_out *out, const char *key, const char *text);
bool plumb_chrome_fact_i64(struct plumb_out *out, const char *key, int64_t value);
/* Behind the facts. */
bool plumb_chrome_events(struct plumb_out *out);
/* Writes "Record Window End", the name of Kineto's last event, and the end of the file. */
bool plumb_chrome_end(struct plumb_out *out, int64_t pid, uint64_t ns);

/* ---- Events --------------------------------------------------------------------------------- */

/* ph "M": what a viewer calls a process or a thread, and where it shows it. */
enum plumb_chrome_meta {
    PLUMB_CHROME_PROCESS_NAME = 0,
    PLUMB_CHROME_PROCESS_LABELS = 1,
    PLUMB_CHROME_PROCESS_SORT_INDEX = 2, /* `sort_index` instead of `text` */
    PLUMB_CHROME_THREAD_NAME = 3,
    PLUMB_CHROME_THREAD_SORT_INDEX = 4, /* the same */
};

bool plumb_chrome_meta(struct plumb_out *out, enum plumb_chrome_meta what, int64_t pid, int64_t tid,
                       const char *text, int64_t sort_index);

enum plumb_chrome_value {
    PLUMB_CHROME_I64 = 0,
    PLUMB_CHROME_U64 = 1, /* a text of digits from 2^63 on */
    PLUMB_CHROME_F64 = 2, /* NaN and infinities are texts, but null as the value of a counter */
    PLUMB_CHROME_BOOL = 3,
    PLUMB_CHROME_POINTER = 4, /* u64, as a text "0x..." */
    PLUMB_CHROME_TEXT = 5,
    PLUMB_CHROME_JSON = 6, /* text, which is JSON already */
};

struct plumb_chrome_arg {
    const char *key;
    enum plumb_chrome_value type;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        bool boolean;
        const char *text;
    } v;
};

/* The letter is what stands in "ph". */
enum plumb_chrome_phase {
    PLUMB_CHROME_SPAN = 'X',
    PLUMB_CHROME_INSTANT = 'i',
    PLUMB_CHROME_COUNTER = 'C',    /* its args are its values */
    PLUMB_CHROME_FLOW_START = 's', /* at a span's time, on its thread */
    PLUMB_CHROME_FLOW_STEP = 't',
    PLUMB_CHROME_FLOW_END = 'f', /* bound to the span around it ("bp": "e") */
    PLUMB_CHROME_ASYNC_BEGIN = 'b',
    PLUMB_CHROME_ASYNC_END = 'e',
};

struct plumb_chrome_event {
    enum plumb_chrome_phase phase;
    const char *category, *name;
    int64_t pid, tid;
    uint64_t ns;
    uint64_t dur_ns; /* SPAN */
    uint64_t id;     /* FLOW_*, ASYNC_*: below 2^53, so that any reader keeps it whole */
    const struct plumb_chrome_arg *args;
    size_t arg_count;
};

bool plumb_chrome_event(struct plumb_out *out, const struct plumb_chrome_event *event);

/* ---- Plain spans, which are nearly all ------------------------------------------------------ */

/* A part of a span's line that is made once and copied from then on. PLUMB_CHROME_PAD bytes after
 * it must be readable too. */
struct plumb_chrome_piece {
    const unsigned char *text;
    size_t bytes;
};

/* Append the piece of a name, with the arguments that all its spans have, or that of a track. The
 * caller takes the appended bytes as the piece. Without arguments it takes at most
 * PLUMB_CHROME_PIECE_MAX bytes. */
enum { PLUMB_CHROME_PIECE_MAX = 2 * PLUMB_CHROME_TEXT_MAX + 64 };
bool plumb_chrome_name_piece(struct plumb_out *out, const char *category, const char *name,
                             const struct plumb_chrome_arg *args, size_t arg_count);
bool plumb_chrome_track_piece(struct plumb_out *out, int64_t pid, int64_t tid);

struct plumb_chrome_span {
    uint64_t ns, dur_ns;
    uint32_t name, track; /* indices of `names` and `tracks` */
};

/* Writes spans without arguments, as many as fit; returns how many. */
size_t plumb_chrome_spans(struct plumb_out *out, const struct plumb_chrome_piece *names,
                          const struct plumb_chrome_piece *tracks,
                          const struct plumb_chrome_span *spans, size_t n);

#endif

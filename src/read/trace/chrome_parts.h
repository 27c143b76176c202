/* chrome_parts.h: what the files of the Chrome reader share. For chrome_*.c alone. */
#ifndef PLUMB_READ_TRACE_CHROME_PARTS_H
#define PLUMB_READ_TRACE_CHROME_PARTS_H

#include "read/json/scan.h"
#include "read/trace/ids.h"
#include "read/trace/table.h"

/* A pid, a tid or an id: a number, or a text. */
struct plumb_chrome_id {
    bool there, is_text;
    int64_t number; /* of a text: its hash */
    uint32_t text;
};

struct plumb_chrome_raw_arg {
    uint32_t key;
    enum plumb_table_type type;
    union plumb_table_number value;
};

/* An event as it stands in the file. */
struct plumb_chrome_raw_event {
    char phase;
    bool has_ts, bad_ts, binds_around; /* "bp": "e" */
    uint32_t name, category;
    int64_t ts_ns, dur_ns;
    struct plumb_chrome_id pid, tid, id;
    char id_kind; /* 'i', or of id2 'l' (local), 'g' (global) */
};

struct plumb_chrome {
    struct plumb_table *t;
    struct plumb_json_scan scan;
    struct plumb_chrome_raw_event event;
    struct plumb_chrome_raw_arg *args; /* of the event */
    size_t arg_count, arg_cap;
    struct plumb_buf key;   /* of an arg, so far */
    int64_t base_ns;        /* baseTimeNanoseconds; 0: none */
    uint64_t events, empty; /* objects in the list of events: with a phase, and without one */
    uint64_t strange;       /* values where events should be that are not objects */
    bool bare;              /* the document is a list of events */
    bool escaped;           /* plumb wrote it: texts have \xHH for a byte */
    const char *whole;      /* end of the last event that is whole */
    bool failed;            /* out of memory */
};

/* The number of a text of the file. */
static inline uint32_t plumb_chrome_text(struct plumb_chrome *r, const char *text, size_t n)
{
    return r->escaped ? plumb_strings_put_escaped(&r->t->strings, text, n)
                      : plumb_table_string(r->t, text, n);
}

/* chrome_args.c: the value that is the scan's token, an object or not, as args under r->key. */
bool plumb_chrome_args(struct plumb_chrome *r, int depth);
/* Reads a decimal number of microseconds (sign, digits, a point, an exponent; any number of digits)
 * as ns, to the last digit, halves away from zero. False: not a number, or beyond int64_t. */
bool plumb_chrome_ns(const char *text, size_t size, int64_t *out);
/* The number that the scan has just read, likewise. */
bool plumb_chrome_number_ns(const struct plumb_json_scan *s, int64_t *out);

/* chrome_event.c: r->event and r->args become rows. */
void plumb_chrome_put(struct plumb_chrome *r);

#endif

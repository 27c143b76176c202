/* scan.h: reads JSON (RFC 8259) token by token, from a text in memory: a document, or lines
 * with one document each (JSONL).
 *
 *     struct plumb_json_scan s;
 *     plumb_json_scan_init(&s, PLUMB_JSON_LINES);
 *     plumb_json_scan_text(&s, text, size);              (PLUMB_JSON_PADDING zeros follow it)
 *     while (plumb_json_next(&s) > PLUMB_JSON_END)
 *         ...                                            (s.key, s.text, s.number, s.depth)
 *     if (s.token == PLUMB_JSON_ERROR)
 *         rc = plumb_json_scan_fail(&s, path, err);
 *     plumb_json_scan_fini(&s);
 *
 * It accepts JSON and nothing else, except what flags ask for: strings are well-formed UTF-8
 * without control characters, \u escapes pair their surrogates, numbers that no double comes near
 * are refused. Names may come twice: the caller decides whether that is an error.
 *
 * A member is one token: its name comes with its value. Names of at most 28 bytes without escapes
 * get a slot, the same for the life of the scan, so that a reader looks each up once, not in every
 * record. The scan guesses that a name is followed by the same name as last time; if so, it
 * compares instead of reading. No memory is allocated for a value, but strings with escapes are
 * decoded into two buffers that stay.
 *
 * Strings are looked through 8 bytes at a time (scan_next.c). One thread at a time. */
#ifndef PLUMB_READ_JSON_SCAN_H
#define PLUMB_READ_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "read/json/number.h"

enum plumb_json_token {
    PLUMB_JSON_ERROR = -1, /* no token follows; plumb_json_scan_fail() says why */
    PLUMB_JSON_END = 0,    /* the text is read */
    PLUMB_JSON_OBJECT,     /* `depth` is that inside */
    PLUMB_JSON_OBJECT_END, /* `depth` is that outside */
    PLUMB_JSON_ARRAY,
    PLUMB_JSON_ARRAY_END,
    PLUMB_JSON_STRING, /* `text`, `size` */
    PLUMB_JSON_NUMBER, /* `number` */
    PLUMB_JSON_TRUE,
    PLUMB_JSON_FALSE,
    PLUMB_JSON_NULL
};

enum plumb_json_flags {
    /* Each line is a document; empty ones are passed over. `line` counts them. */
    PLUMB_JSON_LINES = 1,
    /* NaN, Infinity and -Infinity are numbers, as Python writes them. */
    PLUMB_JSON_NAN = 2,
    /* A comma after the last value of an object or an array, and control characters in strings, are
     * skipped and counted (`odds`). Not with LINES. */
    PLUMB_JSON_LENIENT = 8
};

enum {
    PLUMB_JSON_PADDING = 64,
    PLUMB_JSON_MAX_DEPTH = 2048,
    PLUMB_JSON_SLOTS = 64,
    PLUMB_JSON_NO_SLOT = 255,
    PLUMB_JSON_SLOT_BYTES = 32
};

/* A name as it is spelled, from its first quote up to and including the colon. */
struct plumb_json_slot {
    char spelled[PLUMB_JSON_SLOT_BYTES];
    char name[PLUMB_JSON_SLOT_BYTES]; /* NUL-terminated */
    uint8_t spelled_size;             /* 0: too long to be compared */
    uint8_t name_size;
    uint8_t next; /* slot of the name that followed last; NO_SLOT: none */
};

struct plumb_json_scan {
    enum plumb_json_token token;
    uint32_t depth;
    const char *key; /* of a member, not NUL-terminated; NULL elsewhere */
    size_t key_size;
    uint32_t slot;    /* of `key`, or PLUMB_JSON_NO_SLOT */
    const char *text; /* of a string, not NUL-terminated */
    size_t size;
    struct plumb_json_number number;
    uint64_t line; /* LINES: number of lines already read */
    uint64_t odds; /* LENIENT: places so far that are not JSON */

    /* Private. */
    const char *at, *begin, *end;
    const char *fault, *odd, *odd_at;
    uint8_t expect, newline, memory_failed;
    uint32_t flags, slot_count;
    uint64_t in_object[PLUMB_JSON_MAX_DEPTH / 64 + 1]; /* a bit for each depth */
    uint8_t first_slot[8];   /* of the objects at a depth, modulo 8: only guesses follow from it */
    uint8_t slot_at[8];      /* of the newest name at a depth, likewise */
    uint8_t slot_index[256]; /* by hash, from 1 */
    struct plumb_json_slot slots[PLUMB_JSON_SLOTS];
    struct plumb_buf key_buf, text_buf;
};

void plumb_json_scan_init(struct plumb_json_scan *s, unsigned flags);
void plumb_json_scan_fini(struct plumb_json_scan *s);

/* Begins with a text that PLUMB_JSON_PADDING zero bytes follow. It must live as long as it is
 * scanned, and as the names and strings taken from it. Slots and `line` go on from the text before:
 * texts that end at the end of a line are parts of one. */
void plumb_json_scan_text(struct plumb_json_scan *s, const char *text, size_t size);

/* The next token, which is also `s->token`. */
enum plumb_json_token plumb_json_next(struct plumb_json_scan *s);

/* After OBJECT or ARRAY: moves to its end, which is then the token (or ERROR). After other tokens:
 * does nothing. The skipped values are checked all the same. */
enum plumb_json_token plumb_json_skip(struct plumb_json_scan *s);

/* After OBJECT or ARRAY, to remember how the rest of it is spelled: where it begins; and after its
 * end, where it ends. */
static inline const char *plumb_json_here(const struct plumb_json_scan *s)
{
    return s->at;
}

/* After OBJECT or ARRAY: whether the rest of it is spelled like `n` (<= PLUMB_JSON_PADDING) bytes
 * that were the rest of such a one before. If so its end is the token; if not, nothing happens. */
bool plumb_json_pass_same(struct plumb_json_scan *s, const char *spelled, size_t n);

/* Whether the name of the member, or the string, is `text`. */
bool plumb_json_key_is(const struct plumb_json_scan *s, const char *text);
bool plumb_json_text_is(const struct plumb_json_scan *s, const char *text);

/* Refuses the current token: it becomes ERROR, with this text, which must be static. */
void plumb_json_refuse(struct plumb_json_scan *s, const char *why);

/* Where the scan stands, or found the fault: line and column from 1, the column in bytes. */
void plumb_json_scan_place(const struct plumb_json_scan *s, uint64_t *line, uint64_t *column);

/* The same of the first place that is not JSON, and what it is; NULL: there is none. */
const char *plumb_json_scan_odd(const struct plumb_json_scan *s, uint64_t *line, uint64_t *column);

/* After ERROR: PLUMB_ERR_FORMAT and "'NAME' is not valid JSON: line 3, column 17: ...", or
 * PLUMB_ERR_MEMORY. */
int plumb_json_scan_fail(const struct plumb_json_scan *s, const char *name, plumb_error *err);

#endif

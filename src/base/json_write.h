/* json_write.h: a streaming writer of strict JSON into a plumb_buf. Commas and indentation are its
 * business; the caller opens, names and closes. Numbers that JSON lacks (NaN, infinities) become null;
 * bytes that are not UTF-8 become the six characters \\xHH, control characters \u00HH. */
#ifndef PLUMB_BASE_JSON_WRITE_H
#define PLUMB_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct plumb_json {
    struct plumb_buf *out;
    int indent;        /* spaces a level; 0: compact */
    int depth;
    bool after_key;
    uint64_t has_items; /* bit per depth (up to 64 levels) */
    uint64_t inline_at; /* bit per depth: a container written on one line */
};

void plumb_json_init(struct plumb_json *j, struct plumb_buf *out, int indent);
void plumb_json_object(struct plumb_json *j);     /* { */
void plumb_json_object_end(struct plumb_json *j); /* } */
void plumb_json_array(struct plumb_json *j);
void plumb_json_array_inline(struct plumb_json *j); /* an array kept on one line */
void plumb_json_array_end(struct plumb_json *j);
void plumb_json_key(struct plumb_json *j, const char *key);
void plumb_json_str(struct plumb_json *j, const char *text); /* NULL: null */
void plumb_json_i64(struct plumb_json *j, int64_t v);
void plumb_json_u64(struct plumb_json *j, uint64_t v);
void plumb_json_f64(struct plumb_json *j, double v);                /* shortest that reads back */
void plumb_json_fixed(struct plumb_json *j, double v, int decimals); /* rounded */
void plumb_json_bool(struct plumb_json *j, bool v);
void plumb_json_null(struct plumb_json *j);

/* Whether `text` is well-formed UTF-8 (no surrogates, no overlong forms). */
bool plumb_utf8_valid(const char *text);

#endif

/* json_write.h: a streaming writer of strict JSON into a plumb_buf. Commas and indentation are its
 * business; the caller opens, names and closes. At most 63 levels: more sets `failed` of the
 * buffer. Numbers that JSON lacks (NaN, infinities) become null. Control characters become \u00HH.
 * A byte that is not part of UTF-8 becomes the text \xHH (its backslash escaped), and a backslash
 * that stands before xHH in the text becomes \x5c, so that distinct strings stay distinct. */
#ifndef PLUMB_CODEC_JSON_WRITE_H
#define PLUMB_CODEC_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct plumb_json {
    struct plumb_buf *out;
    int indent; /* spaces a level; 0: compact */
    int depth;
    bool after_key;
    uint64_t has_items; /* bit per depth */
    uint64_t inline_at; /* bit per depth: a container written on one line */
};

void plumb_json_init(struct plumb_json *j, struct plumb_buf *out, int indent);
void plumb_json_object(struct plumb_json *j);        /* { */
void plumb_json_object_inline(struct plumb_json *j); /* an object kept on one line */
void plumb_json_object_end(struct plumb_json *j);    /* } */
void plumb_json_array(struct plumb_json *j);
void plumb_json_array_inline(struct plumb_json *j); /* an array kept on one line */
void plumb_json_array_end(struct plumb_json *j);
void plumb_json_key(struct plumb_json *j, const char *key);
void plumb_json_str(struct plumb_json *j, const char *text); /* NULL: null */
void plumb_json_i64(struct plumb_json *j, int64_t v);
void plumb_json_u64(struct plumb_json *j, uint64_t v);
/* With six decimals: 1500000 is 1.500000. */
void plumb_json_millionths(struct plumb_json *j, uint64_t v);
void plumb_json_f64(struct plumb_json *j, double v); /* shortest that reads back */
/* The same, but NaN and infinities are strings, so that they stay apart. */
void plumb_json_real(struct plumb_json *j, double v);
/* Returns "NaN", "Infinity" or "-Infinity"; NULL for a number that JSON has. */
const char *plumb_json_special(double v);
void plumb_json_fixed(struct plumb_json *j, double v, int decimals);    /* rounded */
void plumb_json_i64s(struct plumb_json *j, const int64_t *v, size_t n); /* an array, on one line */
void plumb_json_f64s(struct plumb_json *j, const double *v, size_t n);  /* the same */
void plumb_json_bool(struct plumb_json *j, bool v);
void plumb_json_null(struct plumb_json *j);

#endif

/* fields.h: taking the fields of a JSON file, with one check for all of them at the end.
 *
 * The first fault is kept, with the place of the field, and everything taken after it is zero or
 * empty, so that a reader reads like the file it reads. Texts and arrays live in `arena`, whose
 * `failed` the caller checks too. One thread at a time. */
#ifndef PLUMB_READ_JSON_FIELDS_H
#define PLUMB_READ_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/u128.h"
#include "read/json/tree.h"
#include <plumb/error.h>

struct plumb_fields {
    struct plumb_arena *arena;
    const char *name; /* of the file, in error texts */
    plumb_error *err; /* of the first fault; may be NULL */
    bool failed;
    char place[160]; /* "nodes[3]": what the fields belong to; "": the whole */
    size_t base;     /* the prefix of `place` that stays; names of lists are appended to it */
};

/* "'<name>' is damaged: <place>.<key> <what>", PLUMB_ERR_FORMAT; key "": the place itself. */
void plumb_field_fault(struct plumb_fields *f, const char *key, const char *what);

/* A text with each \xHH, which the writer puts for a byte that is not UTF-8, turned into the
 * byte. */
const char *plumb_field_own(struct plumb_fields *f, const char *text);

/* A string; NULL when it is null or not there. */
const char *plumb_field_text(struct plumb_fields *f, const struct plumb_json_value *object,
                             const char *key);
/* A string that must be there. */
const char *plumb_field_name(struct plumb_fields *f, const struct plumb_json_value *object,
                             const char *key);
/* A whole number, or a string of decimal digits. */
uint64_t plumb_field_u64(struct plumb_fields *f, const struct plumb_json_value *object,
                         const char *key);
uint64_t plumb_field_to_u64(struct plumb_fields *f, const struct plumb_json_value *v,
                            const char *key);
uint32_t plumb_field_u32(struct plumb_fields *f, const struct plumb_json_value *object,
                         const char *key);
int64_t plumb_field_i64(struct plumb_fields *f, const struct plumb_json_value *object,
                        const char *key);
/* A place in `list`, which has `count` elements. The second: null or not there gives UINT32_MAX. */
uint32_t plumb_field_index(struct plumb_fields *f, const struct plumb_json_value *object,
                           const char *key, size_t count, const char *list);
uint32_t plumb_field_index_or_none(struct plumb_fields *f, const struct plumb_json_value *object,
                                   const char *key, size_t count, const char *list);
/* A number; null, the value of numbers that JSON lacks, gives 0. */
double plumb_field_f64(struct plumb_fields *f, const struct plumb_json_value *object,
                       const char *key);
/* False when it is not there. */
bool plumb_field_bool(struct plumb_fields *f, const struct plumb_json_value *object,
                      const char *key);
/* -1 when it is null or not there. */
int32_t plumb_field_known(struct plumb_fields *f, const struct plumb_json_value *object,
                          const char *key);
const struct plumb_json_value *
plumb_field_object(struct plumb_fields *f, const struct plumb_json_value *object, const char *key);
/* The array `key`; stores zeroed memory for as many elements of `size` bytes in the pointer at
 * `elements`, which stays as it is when there are none. */
const struct plumb_json_value *plumb_field_array(struct plumb_fields *f,
                                                 const struct plumb_json_value *object,
                                                 const char *key, size_t size, void *elements,
                                                 size_t *count);
/* Entry `i` of a list of objects, which becomes the place until plumb_field_end(). */
const struct plumb_json_value *plumb_field_entry(struct plumb_fields *f,
                                                 const struct plumb_json_value *list,
                                                 const char *key, size_t i);
void plumb_field_end(struct plumb_fields *f);
/* Between the two the place is that of now and `key` ("": none), and lists lie in it. */
struct plumb_field_place {
    size_t base, length;
};
struct plumb_field_place plumb_field_down(struct plumb_fields *f, const char *key);
void plumb_field_up(struct plumb_fields *f, struct plumb_field_place outer);

/* Decimal digits, and nothing else, below 2^128. */
bool plumb_field_decimal(const char *text, plumb_u128 *out);

/* Appends the whole file. PLUMB_ERR_NOT_FOUND, PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
int plumb_read_file(struct plumb_buf *text, const char *path, plumb_error *err);

#endif

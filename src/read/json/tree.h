/* tree.h: a JSON document as a tree of values, built on the scan (scan.h): for documents whose
 * members are asked for by name. Code that reads a stream uses the scan itself.
 *
 *     struct plumb_json_tree tree;
 *     int rc = plumb_json_tree_read(&tree, text, size, 0, path, err);
 *     if (rc == PLUMB_OK)
 *         ... plumb_json_text(plumb_json_get(tree.root, "format")) ...
 *     plumb_json_tree_fini(&tree);
 *
 * The tree accepts what the scan accepts, except that it refuses a name that comes twice in one
 * object, and the character NUL in names and strings. Whole numbers are exact, of any size.
 *
 * It costs a copy of the text and 32 bytes a value. Reading is linear in the text; plumb_json_get()
 * is linear in the members of the object. The accessors accept NULL, and a value of another kind,
 * and return NULL, 0 or false: a reader checks once, where it takes the value. A tree does not
 * change after it has been read: any number of threads may look at it. */
#ifndef PLUMB_READ_JSON_TREE_H
#define PLUMB_READ_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include <plumb/error.h>

enum plumb_json_kind {
    PLUMB_JSON_IS_NULL,
    PLUMB_JSON_IS_FALSE,
    PLUMB_JSON_IS_TRUE,
    PLUMB_JSON_IS_INT,   /* `whole` */
    PLUMB_JSON_IS_BIG,   /* a whole number beyond int64_t: `text`, as it is spelled */
    PLUMB_JSON_IS_REAL,  /* `real`; with PLUMB_JSON_NAN also NaN and the infinities */
    PLUMB_JSON_IS_TEXT,  /* `text`, UTF-8 */
    PLUMB_JSON_IS_ARRAY, /* `at`, `count` */
    PLUMB_JSON_IS_OBJECT /* the same; each has a name, in the order of the text */
};

struct plumb_json_value {
    uint8_t kind; /* enum plumb_json_kind */
    uint8_t slot; /* private */
    uint32_t name_bytes;
    const char *name; /* NUL-terminated; NULL: not a member of an object */
    union {
        int64_t whole;
        double real;
        const char *text; /* NUL-terminated */
        const struct plumb_json_value *at;
    };
    size_t count;
};

struct plumb_json_tree {
    const struct plumb_json_value *root;
    char *text; /* a copy, in which names and strings end with NUL */
    struct plumb_arena arena;
};

/* Reads `text` [size] with the flags of the scan: PLUMB_JSON_NAN, PLUMB_JSON_LENIENT. `name` is
 * what errors call the document. PLUMB_ERR_FORMAT: "'NAME' is not valid JSON: line 3, column 17:
 * ..."; PLUMB_ERR_MEMORY. After an error there is nothing to free. */
int plumb_json_tree_read(struct plumb_json_tree *out, const char *text, size_t size, unsigned flags,
                         const char *name, plumb_error *err);
/* Frees the tree and everything that was taken from it by pointer. One that is all zero is fine. */
void plumb_json_tree_fini(struct plumb_json_tree *tree);

/* Returns the member `name` of an object, or NULL. */
const struct plumb_json_value *plumb_json_get(const struct plumb_json_value *object,
                                              const char *name);

static inline bool plumb_json_is(const struct plumb_json_value *v, enum plumb_json_kind kind)
{
    return v && v->kind == kind;
}

/* Returns the number of values of an array or members of an object. */
static inline size_t plumb_json_count(const struct plumb_json_value *v)
{
    return v && v->kind >= PLUMB_JSON_IS_ARRAY ? v->count : 0;
}

/* Returns value `i` of an array or member `i` of an object, or NULL. */
static inline const struct plumb_json_value *plumb_json_at(const struct plumb_json_value *v,
                                                           size_t i)
{
    return i < plumb_json_count(v) ? &v->at[i] : NULL;
}

/* Returns a string, or NULL. */
static inline const char *plumb_json_text(const struct plumb_json_value *v)
{
    return plumb_json_is(v, PLUMB_JSON_IS_TEXT) ? v->text : NULL;
}

/* Returns a whole number within int64_t, or 0. */
static inline int64_t plumb_json_whole(const struct plumb_json_value *v)
{
    return plumb_json_is(v, PLUMB_JSON_IS_INT) ? v->whole : 0;
}

static inline bool plumb_json_is_number(const struct plumb_json_value *v)
{
    return v && v->kind >= PLUMB_JSON_IS_INT && v->kind <= PLUMB_JSON_IS_REAL;
}

/* Returns any number as the nearest double, or 0. */
double plumb_json_as_real(const struct plumb_json_value *v);

#endif

/* tree.c: see tree.h.
 *
 * The text is copied once, and names and strings are used where they lie in the copy: once the scan
 * is past a name or string, the quote that ends it becomes its NUL. Only those with escapes, which
 * the scan decodes, are copied again. Names that repeat have a slot in the scan, and all of them
 * share one copy.
 *
 * Values wait on a stack until the array or object around them ends; then they move to the arena
 * side by side. */
#include "read/json/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/json/scan.h"

struct builder {
    struct plumb_json_tree *tree;
    struct plumb_json_scan scan;
    struct plumb_json_value *stack; /* what is not in the arena yet */
    size_t used, size;
    size_t open;                   /* 1 + the stack's index of what is open; 0: nothing is */
    char *slots[PLUMB_JSON_SLOTS]; /* names; NULL: not met yet */
    const char *twice;             /* the name that is refused */
};

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Returns the name or string that the scan has just read, NUL-terminated; NULL: out of memory, or
 * refused. */
static const char *keep_text(struct builder *b, const char *text, size_t size)
{
    const struct plumb_json_scan *s = &b->scan;
    char *own;
    if (memchr(text, '\0', size)) {
        plumb_json_refuse(&b->scan, "a string holds the character NUL");
        return NULL;
    }
    if (text < s->begin || text >= s->end)
        return plumb_arena_strndup(&b->tree->arena, text, size);
    own = b->tree->text + (text - s->begin);
    own[size] = '\0';
    return own;
}

static const char *keep_name(struct builder *b)
{
    const struct plumb_json_scan *s = &b->scan;
    if (s->slot == PLUMB_JSON_NO_SLOT)
        return keep_text(b, s->key, s->key_size);
    if (!b->slots[s->slot])
        b->slots[s->slot] = plumb_arena_strndup(&b->tree->arena, s->key, s->key_size);
    return b->slots[s->slot];
}

/* ---- Names that come twice ------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct plumb_json_value *const *x = a, *const *y = b;
    if ((*x)->name_bytes != (*y)->name_bytes)
        return (*x)->name_bytes < (*y)->name_bytes ? -1 : 1;
    return memcmp((*x)->name, (*y)->name, (*x)->name_bytes);
}

/* Returns a name that two of the members have, or NULL. Compares neighbours in sorted order. Out of
 * memory also gives NULL, and sets the arena's `failed`. */
static const char *find_twice_sorted(struct builder *b, const struct plumb_json_value *members,
                                     size_t n)
{
    const struct plumb_json_value **sorted = malloc(n * sizeof *sorted);
    const char *twice = NULL;
    if (!sorted) {
        b->tree->arena.failed = true;
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = &members[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 1; i < n && !twice; i++)
        if (by_name(&sorted[i - 1], &sorted[i]) == 0)
            twice = sorted[i]->name;
    free(sorted);
    return twice;
}

/* The same. Nearly all names have a slot, each its own: then a bit for each slot is enough. */
static const char *find_twice(struct builder *b, const struct plumb_json_value *members, size_t n)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bit;
        if (members[i].slot == PLUMB_JSON_NO_SLOT)
            return n > 1 ? find_twice_sorted(b, members, n) : NULL;
        bit = UINT64_C(1) << members[i].slot;
        if (seen & bit)
            return members[i].name;
        seen |= bit;
    }
    return NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static struct plumb_json_value *push(struct builder *b)
{
    if (b->used == b->size) {
        size_t size = b->size ? 2 * b->size : 256;
        struct plumb_json_value *grown = realloc(b->stack, size * sizeof *grown);
        if (!grown) {
            b->tree->arena.failed = true;
            return NULL;
        }
        b->stack = grown;
        b->size = size;
    }
    return &b->stack[b->used++];
}

/* The number that the scan has just read, as it is spelled; empty for NaN and the infinities. */
static const char *spelled(const struct plumb_json_scan *s, size_t *size)
{
    static const char characters[] = "0123456789+-.eE";
    const char *end = plumb_json_here(s), *begin = end;
    while (begin > s->begin && memchr(characters, begin[-1], sizeof characters - 1))
        begin--;
    *size = (size_t)(end - begin);
    return begin;
}

static bool is_whole(const char *number, size_t size)
{
    return size && !memchr(number, '.', size) && !memchr(number, 'e', size) &&
           !memchr(number, 'E', size);
}

static void put_number(struct builder *b, struct plumb_json_value *v)
{
    const struct plumb_json_number *number = &b->scan.number;
    const char *text;
    size_t size;
    if (number->kind == PLUMB_JSON_NUMBER_INT) {
        v->kind = PLUMB_JSON_IS_INT;
        v->whole = (int64_t)number->whole;
        return;
    }
    text = spelled(&b->scan, &size);
    if (is_whole(text, size)) {
        v->kind = PLUMB_JSON_IS_BIG;
        v->text = plumb_arena_strndup(&b->tree->arena, text, size);
    } else {
        v->kind = PLUMB_JSON_IS_REAL;
        v->real = number->real;
    }
}

/* The value of the scan's token; an array or object is still empty. */
static void put_value(struct builder *b, struct plumb_json_value *v)
{
    struct plumb_json_scan *s = &b->scan;
    switch (s->token) {
    case PLUMB_JSON_STRING:
        v->kind = PLUMB_JSON_IS_TEXT;
        v->count = s->size;
        v->text = keep_text(b, s->text, s->size);
        break;
    case PLUMB_JSON_NUMBER:
        put_number(b, v);
        break;
    case PLUMB_JSON_TRUE:
        v->kind = PLUMB_JSON_IS_TRUE;
        break;
    case PLUMB_JSON_FALSE:
        v->kind = PLUMB_JSON_IS_FALSE;
        break;
    case PLUMB_JSON_OBJECT:
        v->kind = PLUMB_JSON_IS_OBJECT;
        break;
    case PLUMB_JSON_ARRAY:
        v->kind = PLUMB_JSON_IS_ARRAY;
        break;
    default:
        v->kind = PLUMB_JSON_IS_NULL;
    }
}

/* `count` of an open array or object is what `open` was before it. */
static void begin_value(struct builder *b)
{
    struct plumb_json_scan *s = &b->scan;
    bool opens = s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY;
    struct plumb_json_value *v = push(b);
    if (!v)
        return;
    *v = (struct plumb_json_value){.slot = PLUMB_JSON_NO_SLOT};
    if (s->key) {
        if (s->key_size > UINT32_MAX) {
            plumb_json_refuse(s, "a name is longer than 4 GiB");
            return;
        }
        v->slot = (uint8_t)s->slot;
        v->name_bytes = (uint32_t)s->key_size;
        v->name = keep_name(b);
    }
    put_value(b, v);
    if (opens) {
        v->count = b->open;
        b->open = b->used;
    }
}

/* The values of the open array or object are those above it on the stack. */
static void end_value(struct builder *b)
{
    struct plumb_json_value *v = &b->stack[b->open - 1], *inside = NULL;
    size_t n = b->used - b->open;
    b->twice = v->kind == PLUMB_JSON_IS_OBJECT ? find_twice(b, v + 1, n) : NULL;
    if (b->twice) {
        plumb_json_refuse(&b->scan, "");
        return;
    }
    if (n && (inside = plumb_arena_alloc(&b->tree->arena, n * sizeof *inside)))
        memcpy(inside, v + 1, n * sizeof *inside);
    b->used = b->open;
    b->open = v->count;
    v->at = inside;
    v->count = inside ? n : 0;
}

/* ---- The document ---------------------------------------------------------------------------- */

static int refuse_twice(const struct builder *b, const char *name, plumb_error *err)
{
    uint64_t line, column;
    plumb_json_scan_place(&b->scan, &line, &column);
    return plumb_fail(err, PLUMB_ERR_FORMAT,
                      "'%s' is not valid JSON: line %" PRIu64 ", column %" PRIu64
                      ": the object that ends here has '%.100s' twice",
                      name, line, column, b->twice);
}

static int build(struct builder *b, const char *name, plumb_error *err)
{
    struct plumb_json_scan *s = &b->scan;
    struct plumb_json_tree *tree = b->tree;
    struct plumb_json_value *root;
    while (plumb_json_next(s) > PLUMB_JSON_END && !tree->arena.failed) {
        if (s->token == PLUMB_JSON_OBJECT_END || s->token == PLUMB_JSON_ARRAY_END)
            end_value(b);
        else
            begin_value(b);
        if (s->token == PLUMB_JSON_ERROR)
            break;
    }
    if (s->token == PLUMB_JSON_ERROR)
        return b->twice ? refuse_twice(b, name, err) : plumb_json_scan_fail(s, name, err);
    if (tree->arena.failed || !(root = plumb_arena_alloc(&tree->arena, sizeof *root)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    *root = b->stack[0];
    tree->root = root;
    return PLUMB_OK;
}

int plumb_json_tree_read(struct plumb_json_tree *out, const char *text, size_t size, unsigned flags,
                         const char *name, plumb_error *err)
{
    struct plumb_json_tree tree = {.text = NULL};
    struct builder *b = calloc(1, sizeof *b);
    int rc = PLUMB_ERR_MEMORY;
    if (size <= SIZE_MAX - PLUMB_JSON_PADDING)
        tree.text = malloc(size + PLUMB_JSON_PADDING);
    if (!b || !tree.text) {
        plumb_fail(err, rc, "out of memory while reading '%s'", name);
        goto out;
    }
    memcpy(tree.text, text, size);
    memset(tree.text + size, 0, PLUMB_JSON_PADDING);
    b->tree = &tree;
    plumb_json_scan_init(&b->scan, flags);
    plumb_json_scan_text(&b->scan, tree.text, size);
    rc = build(b, name, err);
    plumb_json_scan_fini(&b->scan);
    free(b->stack);
out:
    free(b);
    if (rc < 0)
        plumb_json_tree_fini(&tree);
    *out = tree;
    return rc;
}

void plumb_json_tree_fini(struct plumb_json_tree *tree)
{
    free(tree->text);
    plumb_arena_fini(&tree->arena);
    *tree = (struct plumb_json_tree){.text = NULL};
}

/* ---- Looking --------------------------------------------------------------------------------- */

const struct plumb_json_value *plumb_json_get(const struct plumb_json_value *object,
                                              const char *name)
{
    size_t bytes = strlen(name);
    if (!plumb_json_is(object, PLUMB_JSON_IS_OBJECT))
        return NULL;
    for (size_t i = 0; i < object->count; i++) {
        const struct plumb_json_value *v = &object->at[i];
        if (v->name_bytes == bytes && memcmp(v->name, name, bytes) == 0)
            return v;
    }
    return NULL;
}

double plumb_json_as_real(const struct plumb_json_value *v)
{
    if (!plumb_json_is_number(v))
        return 0;
    if (v->kind == PLUMB_JSON_IS_INT)
        return (double)v->whole;
    return v->kind == PLUMB_JSON_IS_REAL ? v->real : strtod(v->text, NULL);
}

/* json_compare.h: whether plumb's scan and jansson agree about a text: both refuse it, or both find
 * the same values in it. jansson knows nothing of ours, and has read the JSON of the world since
 * 2009. */
#ifndef TESTS_JSON_COMPARE_H
#define TESTS_JSON_COMPARE_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "read/json/scan.h"

struct json_compared {
    json_t *root;
    bool large;    /* a whole number beyond int64_t: jansson refuses it, or reads it as a double */
    bool nul_name; /* a name with a NUL inside: jansson refuses it */
    bool deep;     /* as deep as we go: jansson counts one level more */
};

static json_t *json_compared_value(struct plumb_json_scan *s, bool as_real,
                                   struct json_compared *out)
{
    switch (s->token) {
    case PLUMB_JSON_OBJECT:
        return json_object();
    case PLUMB_JSON_ARRAY:
        return json_array();
    case PLUMB_JSON_STRING:
        return json_stringn_nocheck(s->text, s->size);
    case PLUMB_JSON_NUMBER:
        out->large |= s->number.kind == PLUMB_JSON_NUMBER_UINT;
        if (s->number.kind == PLUMB_JSON_NUMBER_INT && !as_real)
            return json_integer((json_int_t)s->number.whole);
        return json_real(s->number.real);
    case PLUMB_JSON_TRUE:
        return json_true();
    case PLUMB_JSON_FALSE:
        return json_false();
    default:
        return json_null();
    }
}

/* The tree of what the scan gives; `out->root` is NULL when it refuses the text. Each token's name
 * and slot are checked against one another. */
static struct json_compared json_compared_read(const char *text, size_t size, unsigned flags,
                                               bool as_real)
{
    static json_t *open[PLUMB_JSON_MAX_DEPTH + 1];
    struct json_compared out = {NULL, false, false, false};
    struct plumb_json_scan *s = malloc(sizeof *s);
    char *padded = calloc(1, size + PLUMB_JSON_PADDING);
    if (!s || !padded)
        abort();
    if (size)
        memcpy(padded, text, size);
    plumb_json_scan_init(s, flags);
    plumb_json_scan_text(s, padded, size);
    while (plumb_json_next(s) > PLUMB_JSON_END) {
        if (s->token == PLUMB_JSON_OBJECT_END || s->token == PLUMB_JSON_ARRAY_END)
            continue;
        bool container = s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY;
        uint32_t outside = s->depth - container;
        json_t *v = json_compared_value(s, as_real, &out);
        out.deep |= s->depth >= PLUMB_JSON_MAX_DEPTH - 1;
        if (s->key && s->slot != PLUMB_JSON_NO_SLOT &&
            (s->slots[s->slot].name_size != s->key_size ||
             memcmp(s->slots[s->slot].name, s->key, s->key_size) != 0))
            abort();
        if (s->key && memchr(s->key, '\0', s->key_size))
            out.nul_name = true;
        if (outside == 0)
            out.root = v;
        else if (s->key)
            json_object_setn_new_nocheck(open[outside], s->key, s->key_size, v);
        else
            json_array_append_new(open[outside], v);
        if (container)
            open[s->depth] = v;
    }
    if (s->token == PLUMB_JSON_ERROR) {
        json_decref(out.root);
        out.root = NULL;
    }
    plumb_json_scan_fini(s);
    free(s);
    free(padded);
    return out;
}

/* NULL, or what the two do not agree about. */
static const char *json_compare(const char *text, size_t size, unsigned flags)
{
    const char *wrong = NULL;
    for (int as_real = 0; as_real < 2 && !wrong; as_real++) {
        size_t jansson_flags =
            JSON_DECODE_ANY | JSON_ALLOW_NUL | (as_real ? JSON_DECODE_INT_AS_REAL : 0);
        json_error_t why;
        json_t *theirs = json_loadb(text, size, jansson_flags, &why);
        struct json_compared ours = json_compared_read(text, size, flags, as_real);
        bool too_big = !theirs && !as_real && strstr(why.text, "too big");
        if (ours.nul_name || ours.deep || too_big)
            wrong = theirs && ours.nul_name ? "a name with a NUL" : NULL;
        else if (size && memchr(text, '\0', size)) /* which jansson takes for the end, at the end */
            wrong = ours.root ? "a NUL in the text" : NULL;
        else if (!theirs != !ours.root)
            wrong = theirs ? "we refuse what jansson reads" : "we read what jansson refuses";
        else if (theirs && !json_equal(theirs, ours.root))
            wrong = "the values differ";
        json_decref(theirs);
        json_decref(ours.root);
    }
    return wrong;
}

#endif

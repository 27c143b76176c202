/* canonical.c: see canonical.h. */
#include "read/history/canonical.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "codec/real_text.h"

static void put_unit(struct plumb_buf *out, uint32_t unit)
{
    plumb_buf_printf(out, "\\u%04" PRIx32, unit);
}

static void put_code_point(struct plumb_buf *out, uint32_t c)
{
    static const char *const short_forms[] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r",
        ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\"};
    if (c < sizeof short_forms / sizeof *short_forms && short_forms[c])
        plumb_buf_str(out, short_forms[c]);
    else if (c >= 0x20 && c < 0x7f)
        plumb_buf_char(out, (char)c);
    else if (c == 0x7f)
        plumb_buf_char(out, (char)c); /* Python leaves DEL as it is */
    else if (c < 0x10000)
        put_unit(out, c);
    else {
        put_unit(out, 0xd800 + ((c - 0x10000) >> 10));
        put_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
    }
}

void plumb_canonical_text(struct plumb_buf *out, const char *text)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *p = (const unsigned char *)text;
    plumb_buf_char(out, '"');
    while (*p) {
        size_t n = plumb_utf8_sequence((const char *)p);
        uint32_t c = n ? *p & masks[n] : *p;
        for (size_t i = 1; i < n; i++)
            c = c << 6 | (p[i] & 0x3f);
        put_code_point(out, c);
        p += n ? n : 1;
    }
    plumb_buf_char(out, '"');
}

/* Python's repr of a float: exponents begin at 1e16 and at 1e-05. */
static void put_real(struct plumb_buf *out, double v)
{
    char text[PLUMB_REAL_TEXT];
    if (isnan(v) || isinf(v)) {
        plumb_buf_str(out, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
    } else if (v == trunc(v) && fabs(v) < 1e16) {
        plumb_buf_printf(out, "%.0f", v == 0 ? 0.0 : v);
    } else {
        plumb_real_text(text, v);
        plumb_buf_str(out, text);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct plumb_json_value *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name); /* of UTF-8: the order of code points */
}

static void put_object(struct plumb_buf *out, const struct plumb_json_value *v)
{
    const struct plumb_json_value **members = calloc(v->count + 1, sizeof *members);
    if (!members) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < v->count; i++)
        members[i] = &v->at[i];
    qsort(members, v->count, sizeof *members, by_name);
    plumb_buf_char(out, '{');
    for (size_t i = 0; i < v->count; i++) {
        plumb_buf_str(out, i ? "," : "");
        plumb_canonical_text(out, members[i]->name);
        plumb_buf_char(out, ':');
        plumb_canonical_json(out, members[i]);
    }
    plumb_buf_char(out, '}');
    free(members);
}

void plumb_canonical_json(struct plumb_buf *out, const struct plumb_json_value *v)
{
    switch (v ? v->kind : PLUMB_JSON_IS_NULL) {
    case PLUMB_JSON_IS_FALSE:
    case PLUMB_JSON_IS_TRUE:
        plumb_buf_str(out, v->kind == PLUMB_JSON_IS_TRUE ? "true" : "false");
        break;
    case PLUMB_JSON_IS_INT:
        plumb_buf_printf(out, "%" PRId64, v->whole);
        break;
    case PLUMB_JSON_IS_BIG:
        plumb_buf_str(out, v->text);
        break;
    case PLUMB_JSON_IS_REAL:
        put_real(out, v->real);
        break;
    case PLUMB_JSON_IS_TEXT:
        plumb_canonical_text(out, v->text);
        break;
    case PLUMB_JSON_IS_ARRAY:
        plumb_buf_char(out, '[');
        for (size_t i = 0; i < v->count; i++) {
            plumb_buf_str(out, i ? "," : "");
            plumb_canonical_json(out, &v->at[i]);
        }
        plumb_buf_char(out, ']');
        break;
    case PLUMB_JSON_IS_OBJECT:
        put_object(out, v);
        break;
    default:
        plumb_buf_str(out, "null");
    }
}

/* json_write.c: a streaming writer of strict JSON. One thread at a time per writer.
 *
 * Where numbers pass through printf, its decimal separator is the host's locale's; whatever it
 * wrote there is replaced by '.'. (newlocale/uselocale would do as well, at an allocation per
 * process and a switch per number.) Records of activations consist of keys, plain texts, whole
 * numbers and doubles, and do without it: there may be a million a minute. */
#include "codec/json_write.h"

#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "codec/decimal.h"
#include "codec/real_text.h"

enum { MAX_DEPTH = 64 };

static uint64_t bit_of(int depth)
{
    return (uint64_t)1 << (depth & (MAX_DEPTH - 1));
}

static void new_line(struct plumb_json *j)
{
    if (j->indent <= 0)
        return;
    plumb_buf_char(j->out, '\n');
    for (int i = 0; i < j->indent * j->depth; i++)
        plumb_buf_char(j->out, ' ');
}

/* Writes the separator between the item before and this one. */
static void separate(struct plumb_json *j)
{
    uint64_t bit = bit_of(j->depth);
    bool first = !(j->has_items & bit);
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    j->has_items |= bit;
    if (!first)
        plumb_buf_char(j->out, ',');
    if (j->inline_at & bit) {
        if (!first && j->indent > 0)
            plumb_buf_char(j->out, ' ');
    } else if (j->depth > 0) {
        new_line(j);
    }
}

static void open_container(struct plumb_json *j, char mark, bool on_one_line)
{
    separate(j);
    bool inside_line = j->inline_at & bit_of(j->depth);
    plumb_buf_char(j->out, mark);
    j->depth++;
    if (j->depth >= MAX_DEPTH)
        j->out->failed = true; /* the state of the outer levels would be overwritten */
    uint64_t bit = bit_of(j->depth);
    j->has_items &= ~bit;
    j->inline_at &= ~bit;
    if (on_one_line || inside_line)
        j->inline_at |= bit;
}

static void close_container(struct plumb_json *j, char mark)
{
    uint64_t bit = bit_of(j->depth);
    bool break_line = (j->has_items & bit) && !(j->inline_at & bit);
    j->depth--;
    if (break_line)
        new_line(j);
    plumb_buf_char(j->out, mark);
}

void plumb_json_init(struct plumb_json *j, struct plumb_buf *out, int indent)
{
    *j = (struct plumb_json){.out = out, .indent = indent};
}

void plumb_json_object(struct plumb_json *j)
{
    open_container(j, '{', false);
}

void plumb_json_object_inline(struct plumb_json *j)
{
    open_container(j, '{', true);
}

void plumb_json_object_end(struct plumb_json *j)
{
    close_container(j, '}');
}

void plumb_json_array(struct plumb_json *j)
{
    open_container(j, '[', false);
}

void plumb_json_array_inline(struct plumb_json *j)
{
    open_container(j, '[', true);
}

void plumb_json_array_end(struct plumb_json *j)
{
    close_container(j, ']');
}

/* Bytes up to the first that is not plain ASCII, or must be escaped. */
static size_t plain_bytes(const char *text)
{
    size_t n = 0;
    while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
        n++;
    return n;
}

static void write_string(struct plumb_buf *out, const char *text)
{
    size_t easy = plain_bytes(text);
    const char *p = text + easy;
    plumb_buf_char(out, '"');
    plumb_buf_append(out, text, easy);
    while (*p) {
        size_t plain = 0; /* copied in one piece */
        size_t n;
        while ((n = plumb_utf8_sequence(p + plain)) > 0) {
            char c = p[plain];
            if ((unsigned char)c < 0x20 || c == '"' || c == '\\')
                break;
            plain += n;
        }
        plumb_buf_append(out, p, plain);
        p += plain;
        if (!*p)
            break;
        if (plumb_utf8_sequence(p) == 0 || plumb_utf8_looks_escaped(p))
            plumb_buf_printf(out, "\\\\x%02x", (unsigned)(unsigned char)*p);
        else if ((unsigned char)*p < 0x20)
            plumb_buf_printf(out, "\\u%04x", (unsigned)(unsigned char)*p);
        else
            plumb_buf_printf(out, "\\%c", *p);
        p++;
    }
    plumb_buf_char(out, '"');
}

void plumb_json_key(struct plumb_json *j, const char *key)
{
    separate(j);
    write_string(j->out, key);
    plumb_buf_char(j->out, ':');
    if (j->indent > 0)
        plumb_buf_char(j->out, ' ');
    j->after_key = true;
}

static void write_literal(struct plumb_json *j, const char *text)
{
    separate(j);
    plumb_buf_str(j->out, text);
}

void plumb_json_str(struct plumb_json *j, const char *text)
{
    if (!text) {
        plumb_json_null(j);
        return;
    }
    separate(j);
    write_string(j->out, text);
}

static void write_whole(struct plumb_buf *out, uint64_t v)
{
    char digits[20];
    size_t n = sizeof digits;
    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    plumb_buf_append(out, digits + n, sizeof digits - n);
}

void plumb_json_i64(struct plumb_json *j, int64_t v)
{
    separate(j);
    if (v < 0)
        plumb_buf_char(j->out, '-');
    write_whole(j->out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void plumb_json_u64(struct plumb_json *j, uint64_t v)
{
    separate(j);
    write_whole(j->out, v);
}

void plumb_json_millionths(struct plumb_json *j, uint64_t v)
{
    char decimals[7] = ".";
    for (int i = 6; i > 0; i--, v /= 10)
        decimals[i] = (char)('0' + v % 10);
    separate(j);
    write_whole(j->out, v);
    plumb_buf_append(j->out, decimals, sizeof decimals);
}

static bool is_finite(double v)
{
    return v - v == 0;
}

void plumb_json_f64(struct plumb_json *j, double v)
{
    char number[PLUMB_REAL_TEXT];
    if (!is_finite(v)) {
        plumb_json_null(j);
        return;
    }
    separate(j);
    plumb_buf_append(j->out, number, plumb_real_text(number, v));
}

const char *plumb_json_special(double v)
{
    return is_finite(v) ? NULL : v != v ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
}

void plumb_json_real(struct plumb_json *j, double v)
{
    if (is_finite(v))
        plumb_json_f64(j, v);
    else
        plumb_json_str(j, plumb_json_special(v));
}

void plumb_json_fixed(struct plumb_json *j, double v, int decimals)
{
    char number[360]; /* DBL_MAX has 309 digits */
    if (!is_finite(v)) {
        plumb_json_null(j);
        return;
    }
    decimals = decimals < 0 ? 0 : decimals > 20 ? 20 : decimals;
    snprintf(number, sizeof number, "%.*f", decimals, v);
    plumb_decimal_point(number);
    bool minus_zero = number[0] == '-' && strspn(number + 1, "0.") == strlen(number + 1);
    write_literal(j, number + minus_zero);
}

void plumb_json_i64s(struct plumb_json *j, const int64_t *v, size_t n)
{
    plumb_json_array_inline(j);
    for (size_t i = 0; i < n; i++)
        plumb_json_i64(j, v[i]);
    plumb_json_array_end(j);
}

void plumb_json_f64s(struct plumb_json *j, const double *v, size_t n)
{
    plumb_json_array_inline(j);
    for (size_t i = 0; i < n; i++)
        plumb_json_f64(j, v[i]);
    plumb_json_array_end(j);
}

void plumb_json_bool(struct plumb_json *j, bool v)
{
    write_literal(j, v ? "true" : "false");
}

void plumb_json_null(struct plumb_json *j)
{
    write_literal(j, "null");
}

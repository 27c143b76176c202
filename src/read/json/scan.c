/* scan.c: the parts of the scan that few tokens need: odd strings, words, names that are new,
 * what lies between documents, and the account of a fault. */
#include "read/json/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "read/json/scan_parts.h"

static uint8_t expected_at(const struct plumb_json_scan *s)
{
    if (s->depth == 0)
        return EXPECT_NOTHING;
    bool object = s->in_object[s->depth / 64] >> (s->depth % 64) & 1;
    return object ? EXPECT_MEMBER : EXPECT_ITEM;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

const char *plumb_json_fault(struct plumb_json_scan *s, const char *at, const char *why)
{
    s->token = PLUMB_JSON_ERROR;
    s->expect = EXPECT_NO_MORE;
    s->at = at;
    s->fault = why;
    if (at >= s->end)
        s->fault = s->flags & PLUMB_JSON_LINES
                       ? "the last line is cut off: leave it out to read the others"
                       : "it ends in the middle of a value";
    else if (*at == '\n' && s->flags & PLUMB_JSON_LINES)
        s->fault = "the line ends in the middle of a value";
    return NULL;
}

void plumb_json_refuse(struct plumb_json_scan *s, const char *why)
{
    s->token = PLUMB_JSON_ERROR;
    s->expect = EXPECT_NO_MORE;
    s->fault = why;
}

static void find_place(const struct plumb_json_scan *s, const char *at, uint64_t *line,
                       uint64_t *column)
{
    const char *line_begin = s->begin;
    *line = s->line + 1;
    for (const char *p = s->begin; p < at; p++) {
        if (*p != '\n')
            continue;
        *line += !(s->flags & PLUMB_JSON_LINES);
        line_begin = p + 1;
    }
    *column = (uint64_t)(at - line_begin) + 1;
}

void plumb_json_scan_place(const struct plumb_json_scan *s, uint64_t *line, uint64_t *column)
{
    find_place(s, s->at, line, column);
}

/* ---- What is not JSON, and passed over ------------------------------------------------------- */

static void note_odd(struct plumb_json_scan *s, const char *at, const char *what)
{
    if (s->odds++ == 0) {
        s->odd = what;
        s->odd_at = at;
    }
}

const char *plumb_json_scan_odd(const struct plumb_json_scan *s, uint64_t *line, uint64_t *column)
{
    if (s->odds == 0)
        return NULL;
    find_place(s, s->odd_at, line, column);
    return s->odd;
}

/* The container ends at `p`, after a comma. */
static void end_after_comma(struct plumb_json_scan *s, const char *p)
{
    note_odd(s, p, "nothing follows a comma");
    s->depth--;
    s->key = NULL;
    s->at = p + 1;
    s->token = *p == '}' ? PLUMB_JSON_OBJECT_END : PLUMB_JSON_ARRAY_END;
    s->expect = expected_at(s);
}

const char *plumb_json_no_name(struct plumb_json_scan *s, const char *p, bool first)
{
    if (!(s->flags & PLUMB_JSON_LENIENT) || first || *p != '}')
        return plumb_json_fault(s, p, "a name in double quotes is missing");
    end_after_comma(s, p);
    return NULL;
}

int plumb_json_scan_fail(const struct plumb_json_scan *s, const char *name, plumb_error *err)
{
    uint64_t line;
    uint64_t column;
    if (s->memory_failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    plumb_json_scan_place(s, &line, &column);
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not valid JSON: line %llu, column %llu: %s",
                      name, (unsigned long long)line, (unsigned long long)column,
                      s->fault ? s->fault : "");
}

/* ---- Documents ------------------------------------------------------------------------------- */

static const char *end_scan(struct plumb_json_scan *s, const char *p)
{
    s->at = p;
    s->expect = EXPECT_NO_MORE;
    s->token = PLUMB_JSON_END;
    return NULL;
}

const char *plumb_json_between(struct plumb_json_scan *s, const char *p)
{
    bool lines = s->flags & PLUMB_JSON_LINES;
    bool after_value = s->expect == EXPECT_NOTHING;
    while (lines && *p == '\n') {
        s->line++;
        after_value = false;
        p++;
        while (*p == ' ' || *p == '\t' || *p == '\r')
            p++;
    }
    if (p >= s->end && (lines || after_value))
        return end_scan(s, p);
    if (after_value)
        return plumb_json_fault(s, p, "something follows the value");
    s->expect = EXPECT_VALUE;
    return p;
}

void plumb_json_scan_init(struct plumb_json_scan *s, unsigned flags)
{
    memset(s, 0, sizeof *s);
    s->flags = flags;
    s->newline = flags & PLUMB_JSON_LINES ? ' ' : '\n';
    memset(s->first_slot, PLUMB_JSON_NO_SLOT, sizeof s->first_slot);
    for (size_t i = 0; i < PLUMB_JSON_SLOTS; i++)
        s->slots[i].next = PLUMB_JSON_NO_SLOT;
    s->expect = EXPECT_NO_MORE;
}

void plumb_json_scan_fini(struct plumb_json_scan *s)
{
    plumb_buf_fini(&s->key_buf);
    plumb_buf_fini(&s->text_buf);
}

void plumb_json_scan_text(struct plumb_json_scan *s, const char *text, size_t size)
{
    s->begin = s->at = text;
    s->end = text + size;
    s->depth = 0;
    s->key = NULL;
    s->fault = s->odd = s->odd_at = NULL;
    s->odds = 0;
    s->token = PLUMB_JSON_END;
    s->expect = EXPECT_VALUE;
}

enum plumb_json_token plumb_json_skip(struct plumb_json_scan *s)
{
    if (s->token != PLUMB_JSON_OBJECT && s->token != PLUMB_JSON_ARRAY)
        return s->token;
    uint32_t outside = s->depth - 1;
    while (s->token > PLUMB_JSON_END && s->depth > outside)
        plumb_json_next(s);
    return s->token;
}

bool plumb_json_pass_same(struct plumb_json_scan *s, const char *spelled, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s->at[i] != spelled[i])
            return false;
    s->token = s->token == PLUMB_JSON_OBJECT ? PLUMB_JSON_OBJECT_END : PLUMB_JSON_ARRAY_END;
    s->at += n;
    s->depth--;
    s->key = NULL;
    s->expect = expected_at(s);
    return true;
}

/* ---- Names ----------------------------------------------------------------------------------- */

bool plumb_json_key_is(const struct plumb_json_scan *s, const char *text)
{
    size_t n = strlen(text);
    return s->key && s->key_size == n && memcmp(s->key, text, n) == 0;
}

bool plumb_json_text_is(const struct plumb_json_scan *s, const char *text)
{
    size_t n = strlen(text);
    return s->token == PLUMB_JSON_STRING && s->size == n && memcmp(s->text, text, n) == 0;
}

static uint8_t name_hash(const char *name, size_t size)
{
    uint32_t h = (uint32_t)size;
    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)name[i]) * UINT32_C(0x01000193);
    return (uint8_t)(h ^ h >> 8 ^ h >> 16 ^ h >> 24);
}

uint32_t plumb_json_slot_of(struct plumb_json_scan *s, const char *p, const char *end)
{
    size_t spelled_size = (size_t)(end - p);
    /* A name with escapes was decoded elsewhere, and its spelling differs from the name. */
    if (s->key_size >= PLUMB_JSON_SLOT_BYTES - 3 || s->key != p + 1)
        return PLUMB_JSON_NO_SLOT;
    uint8_t h = name_hash(s->key, s->key_size);
    struct plumb_json_slot *slot;
    for (; s->slot_index[h]; h++) {
        slot = &s->slots[s->slot_index[h] - 1];
        if (slot->name_size == s->key_size && memcmp(slot->name, s->key, s->key_size) == 0)
            break;
    }
    if (!s->slot_index[h]) {
        if (s->slot_count == PLUMB_JSON_SLOTS)
            return PLUMB_JSON_NO_SLOT;
        s->slot_index[h] = (uint8_t)(s->slot_count + 1);
        slot = &s->slots[s->slot_count++];
        slot->name_size = (uint8_t)s->key_size;
        memcpy(slot->name, s->key, s->key_size);
    }
    slot->spelled_size = 0;
    if (spelled_size <= PLUMB_JSON_SLOT_BYTES) {
        memcpy(slot->spelled, p, spelled_size);
        slot->spelled_size = (uint8_t)spelled_size;
    }
    return (uint32_t)(slot - s->slots);
}

/* ---- Strings --------------------------------------------------------------------------------- */

/* Four hexadecimal digits as a number; -1: they are not. */
static int32_t hex4(const char *p)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

static void put_utf8(struct plumb_buf *out, uint32_t c)
{
    char b[4];
    if (c < 0x80) {
        plumb_buf_char(out, (char)c);
        return;
    }
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(c | (n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0));
    plumb_buf_append(out, b, (size_t)n);
}

/* The escape at `p`, \u and four hex digits, or two of them that make one character. */
static const char *take_unicode(struct plumb_json_scan *s, const char *p, struct plumb_buf *out)
{
    int32_t c = hex4(p + 2);
    if (c < 0)
        return plumb_json_fault(s, p, "\\u without four hexadecimal digits");
    if (c >= 0xdc00 && c <= 0xdfff)
        return plumb_json_fault(s, p, "the second half of a surrogate pair without the first");
    if (c < 0xd800 || c > 0xdbff) {
        put_utf8(out, (uint32_t)c);
        return p + 6;
    }
    int32_t low = p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return plumb_json_fault(s, p, "the first half of a surrogate pair without the second");
    put_utf8(out, 0x10000u + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
    return p + 12;
}

static const char *take_escape(struct plumb_json_scan *s, const char *p, struct plumb_buf *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    if (p[1] == 'u')
        return take_unicode(s, p, out);
    const char *letter = p[1] ? strchr(letters, p[1]) : NULL;
    if (!letter)
        return plumb_json_fault(s, p + !p[1], "there is no such escape");
    plumb_buf_char(out, meant[letter - letters]);
    return p + 2;
}

/* Well-formed from `p` to `end`? The fault is at the first byte that is not. */
static bool check_utf8(struct plumb_json_scan *s, const char *p, const char *end)
{
    while (p < end) {
        size_t n = plumb_utf8_sequence(p);
        if (n == 0) {
            plumb_json_fault(s, p, "bytes that are not UTF-8");
            return false;
        }
        p += n;
    }
    return true;
}

static const char *run_end(const char *p)
{
    while (*p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
        p++;
    return p;
}

/* A control character that is passed over, or none. */
static bool pass_control(struct plumb_json_scan *s, const char *p)
{
    if (!(s->flags & PLUMB_JSON_LENIENT) || p >= s->end || (unsigned char)*p >= ' ')
        return false;
    note_odd(s, p, "a control character in a string");
    return true;
}

const char *plumb_json_string_slowly(struct plumb_json_scan *s, const char *p, const char *end,
                                     struct plumb_buf *decoded, const char **text, size_t *size)
{
    if (!check_utf8(s, p, end))
        return NULL;
    if (*end == '"') {
        *text = p;
        *size = (size_t)(end - p);
        return end + 1;
    }
    decoded->len = 0;
    while (*end == '\\' || pass_control(s, end)) {
        plumb_buf_append(decoded, p, (size_t)(end - p));
        if (*end != '\\')
            plumb_buf_char(decoded, *end);
        if (!(p = *end == '\\' ? take_escape(s, end, decoded) : end + 1))
            return NULL;
        end = run_end(p);
        if (!check_utf8(s, p, end))
            return NULL;
    }
    if (*end != '"')
        return plumb_json_fault(s, end, "a control character in a string");
    plumb_buf_append(decoded, p, (size_t)(end - p));
    if (decoded->failed) {
        s->memory_failed = 1;
        return plumb_json_fault(s, end, "out of memory");
    }
    *text = decoded->data ? decoded->data : "";
    *size = decoded->len;
    return end + 1;
}

/* ---- Words and odd numbers ------------------------------------------------------------------- */

static enum plumb_json_token give_word(struct plumb_json_scan *s, const char *end,
                                       enum plumb_json_token token)
{
    s->at = end;
    s->expect = expected_at(s);
    return s->token = token;
}

static enum plumb_json_token give_real(struct plumb_json_scan *s, const char *p, const char *end,
                                       double value)
{
    if (!(s->flags & PLUMB_JSON_NAN)) {
        plumb_json_fault(s, p, "NaN and Infinity are not JSON");
        return s->token;
    }
    s->number = (struct plumb_json_number){PLUMB_JSON_NUMBER_REAL, 0, value};
    return give_word(s, end, PLUMB_JSON_NUMBER);
}

enum plumb_json_token plumb_json_word(struct plumb_json_scan *s, const char *p)
{
    if (*p == ']' && s->expect == EXPECT_ITEM && s->flags & PLUMB_JSON_LENIENT) {
        end_after_comma(s, p);
        return s->token;
    }
    if (memcmp(p, "true", 4) == 0)
        return give_word(s, p + 4, PLUMB_JSON_TRUE);
    if (memcmp(p, "false", 5) == 0)
        return give_word(s, p + 5, PLUMB_JSON_FALSE);
    if (memcmp(p, "null", 4) == 0)
        return give_word(s, p + 4, PLUMB_JSON_NULL);
    if (memcmp(p, "NaN", 3) == 0)
        return give_real(s, p, p + 3, (double)NAN);
    if (memcmp(p, "Infinity", 8) == 0)
        return give_real(s, p, p + 8, (double)INFINITY);
    plumb_json_fault(s, p, "a value is missing");
    return s->token;
}

enum plumb_json_token plumb_json_odd_number(struct plumb_json_scan *s, const char *p,
                                            const char *end)
{
    if (!end && memcmp(p, "-Infinity", 9) == 0)
        return give_real(s, p, p + 9, -(double)INFINITY);
    if (!end) {
        while (*p == '-' || *p == '+' || *p == '.' || (*p >= '0' && *p <= '9') ||
               (*p | 0x20) == 'e')
            p++;
        plumb_json_fault(s, p, "a number is not complete");
    } else if (s->number.kind == PLUMB_JSON_NUMBER_MEMORY) {
        s->memory_failed = 1;
        plumb_json_fault(s, p, "out of memory");
    } else {
        plumb_json_fault(s, p, "the number is too large for any double");
    }
    return s->token;
}

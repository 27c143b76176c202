#include "model/trace_context.h"

#include <stddef.h>
#include <string.h>

/* "00-" 32 hex "-" 16 hex "-" 2 hex */
enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, LENGTH = 55 };
enum { STATE_MEMBERS = 32, KEY_MAX = 256, TENANT_MAX = 241, SYSTEM_MAX = 14, VALUE_MAX = 256 };

/* ---- traceparent ----------------------------------------------------------------------------- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_hex(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hex_of(text[i]) < 0)
            return false;
    return true;
}

static bool is_zero(const char *text, size_t n)
{
    return strspn(text, "0") >= n;
}

const char *plumb_traceparent_read(struct plumb_trace_context *out, const char *text)
{
    size_t n = strlen(text);
    if (n < LENGTH)
        return "it is shorter than 55 characters";
    if (text[2] != '-' || text[PARENT_AT - 1] != '-' || text[FLAGS_AT - 1] != '-' ||
        !is_hex(text, 2) || !is_hex(text + TRACE_AT, 32) || !is_hex(text + PARENT_AT, 16) ||
        !is_hex(text + FLAGS_AT, 2))
        return "it is not VERSION-TRACE_ID-PARENT_ID-FLAGS in hex digits of lower case";
    if (strncmp(text, "ff", 2) == 0)
        return "version ff is not valid";
    if (n > LENGTH && (strncmp(text, "00", 2) == 0 || text[LENGTH] != '-'))
        return "it is longer than its version allows";
    if (is_zero(text + TRACE_AT, 32))
        return "its trace id is zero";
    if (is_zero(text + PARENT_AT, 16))
        return "its parent id is zero";
    memcpy(out->trace_id, text + TRACE_AT, 32);
    memcpy(out->parent_id, text + PARENT_AT, 16);
    out->trace_id[32] = out->parent_id[16] = '\0';
    out->flags = (uint8_t)(hex_of(text[FLAGS_AT]) * 16 + hex_of(text[FLAGS_AT + 1]));
    return NULL;
}

/* ---- tracestate ------------------------------------------------------------------------------ */

struct part {
    const char *at;
    size_t n;
};

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool has_key_characters(struct part k)
{
    for (size_t i = 0; i < k.n; i++)
        if (!is_lower(k.at[i]) && !is_digit(k.at[i]) && !memchr("_-*/", k.at[i], 4))
            return false;
    return true;
}

/* "vendor" or "tenant@system" */
static bool is_key(struct part k)
{
    const char *at = memchr(k.at, '@', k.n);
    struct part tenant = {k.at, at ? (size_t)(at - k.at) : 0};
    struct part system = {at ? at + 1 : NULL, at ? k.n - tenant.n - 1 : 0};
    if (!at)
        return k.n > 0 && k.n <= KEY_MAX && is_lower(*k.at) && has_key_characters(k);
    return tenant.n > 0 && tenant.n <= TENANT_MAX && (is_lower(*k.at) || is_digit(*k.at)) &&
           system.n > 0 && system.n <= SYSTEM_MAX && is_lower(*system.at) &&
           has_key_characters(tenant) && has_key_characters(system);
}

static bool is_value(struct part v)
{
    for (size_t i = 0; i < v.n; i++)
        if (v.at[i] < 0x20 || v.at[i] > 0x7e || v.at[i] == ',' || v.at[i] == '=')
            return false;
    return v.n > 0 && v.n <= VALUE_MAX && v.at[v.n - 1] != ' ';
}

static struct part trimmed(struct part m)
{
    while (m.n > 0 && (*m.at == ' ' || *m.at == '\t')) {
        m.at++;
        m.n--;
    }
    while (m.n > 0 && (m.at[m.n - 1] == ' ' || m.at[m.n - 1] == '\t'))
        m.n--;
    return m;
}

static bool is_among(const struct part *keys, size_t n, struct part key)
{
    for (size_t i = 0; i < n; i++)
        if (keys[i].n == key.n && memcmp(keys[i].at, key.at, key.n) == 0)
            return true;
    return false;
}

const char *plumb_tracestate_check(const char *text)
{
    struct part keys[STATE_MEMBERS];
    size_t count = 0;
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = text + strcspn(text, ",");
        struct part m = trimmed((struct part){text, (size_t)(end - text)});
        const char *equals = m.n ? memchr(m.at, '=', m.n) : NULL;
        if (m.n == 0)
            continue; /* an empty member is allowed */
        if (!equals)
            return "a member is not KEY=VALUE";
        struct part key = {m.at, (size_t)(equals - m.at)};
        if (!is_key(key))
            return "a key is not valid";
        if (!is_value((struct part){equals + 1, m.n - key.n - 1}))
            return "a value is not valid";
        if (count == STATE_MEMBERS)
            return "it has more than 32 members";
        if (is_among(keys, count, key))
            return "a key comes twice";
        keys[count++] = key;
    }
    return NULL;
}

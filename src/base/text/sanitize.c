/* sanitize.c: any name as the name of a file. No state; any thread. */
#include "base/text/sanitize.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

enum { HASH_DIGITS = 12, TAIL_BYTES = HASH_DIGITS + 1 };

/* FNV-1a, folded to 48 bits. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        hash = (hash ^ *p) * 0x100000001b3u;
    return (hash ^ (hash >> 48)) & 0xffffffffffffu;
}

/* Returns the bytes of the character at `p` of `name` when it may be in a word, else 0. */
static size_t allowed_in_word(const char *p, const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return *p && (strchr(letters, *p) || (p > name && strchr(".-", *p)));
}

/* Bytes of the character at `p` when it may be in a file name, else 0. Characters U+0080 to U+009F
 * are control characters as well: terminals act on them. */
static size_t allowed_in_file(const char *p, const char *name)
{
    (void)name;
    size_t n = plumb_utf8_sequence(p);
    unsigned char c = (unsigned char)p[0];
    if (n == 1 && (c < 0x20 || c == 0x7f || c == '/'))
        return 0;
    if (n == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0)
        return 0;
    return n;
}

static bool ends_like_hash(const char *name)
{
    size_t len = strlen(name);
    if (len < TAIL_BYTES || name[len - TAIL_BYTES] != '-')
        return false;
    return strspn(name + len - HASH_DIGITS, "0123456789abcdef") == HASH_DIGITS;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

typedef size_t allowed_character(const char *p, const char *name);

static bool is_safe(const char *name, allowed_character *allowed)
{
    const char *p = name;
    size_t n;
    while ((n = allowed(p, name)) > 0)
        p += n;
    return *p == '\0' && p > name && p - name <= PLUMB_SAFE_NAME_MAX && !is_dots(name) &&
           !ends_like_hash(name);
}

static void make(char out[PLUMB_SAFE_NAME_MAX + 1], const char *name, allowed_character *allowed)
{
    size_t len = 0;
    bool dots = is_dots(name);
    if (is_safe(name, allowed)) {
        memcpy(out, name, strlen(name) + 1);
        return;
    }
    for (const char *p = name; *p;) {
        size_t n = dots ? 0 : allowed(p, name);
        if (len + (n ? n : 1) > PLUMB_SAFE_NAME_MAX - TAIL_BYTES)
            break;
        if (n)
            memcpy(out + len, p, n);
        else
            out[len] = '_';
        len += n ? n : 1;
        p += n ? n : 1;
    }
    if (len == 0)
        out[len++] = '_';
    snprintf(out + len, TAIL_BYTES + 1, "-%012llx", (unsigned long long)hash_of(name));
}

void plumb_sanitize(char out[PLUMB_SAFE_NAME_MAX + 1], const char *name)
{
    make(out, name, allowed_in_file);
}

void plumb_sanitize_word(char out[PLUMB_SAFE_NAME_MAX + 1], const char *name)
{
    make(out, name, allowed_in_word);
}

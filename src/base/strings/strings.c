/* strings.c: see strings.h. Open addressing at a load of at most one half; the hash takes eight
 * bytes at a step, because names of kernels are long. */
#include "base/strings/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

static uint32_t hash_of(const unsigned char *p, size_t n)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = n * odd, word;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * odd;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, p, n);
    h = (h ^ word) * odd;
    return (uint32_t)(h ^ h >> 32);
}

static bool is_text(const struct plumb_strings *s, uint32_t id, const void *text, size_t n)
{
    const char *have = s->text.data + s->at[id];
    size_t end = id + 1 < s->count ? s->at[id + 1] : s->text.len;
    return end - s->at[id] == n + 1 && memcmp(have, text, n) == 0;
}

static uint32_t slot_of(const struct plumb_strings *s, const void *text, size_t n)
{
    uint32_t i = hash_of(text, n) & s->mask;
    while (s->slots[i] && !is_text(s, s->slots[i] - 1, text, n))
        i = (i + 1) & s->mask;
    return i;
}

static bool grow(struct plumb_strings *s)
{
    uint32_t cap = s->cap ? 2 * s->cap : 64;
    uint32_t *slots = cap <= PLUMB_STRINGS_MAX ? calloc(2 * (size_t)cap, sizeof *slots) : NULL;
    size_t *at = slots ? realloc(s->at, cap * sizeof *at) : NULL;
    if (!at) {
        free(slots);
        return false;
    }
    free(s->slots);
    s->at = at;
    s->slots = slots;
    s->cap = cap;
    s->mask = 2 * cap - 1;
    for (uint32_t id = 0; id < s->count; id++) {
        size_t end = id + 1 < s->count ? at[id + 1] : s->text.len;
        slots[slot_of(s, s->text.data + at[id], end - at[id] - 1)] = id + 1;
    }
    return true;
}

static uint32_t add(struct plumb_strings *s, const void *text, size_t n)
{
    if (s->count == s->cap && !grow(s)) {
        s->text.failed = true;
        return 0;
    }
    uint32_t slot = slot_of(s, text, n);
    if (s->slots[slot])
        return s->slots[slot] - 1;
    size_t at = s->text.len;
    plumb_buf_append(&s->text, text, n);
    plumb_buf_char(&s->text, '\0');
    if (s->text.failed) {
        s->text.len = at; /* the buffer holds whole texts only, even after a failure */
        return 0;
    }
    s->at[s->count] = at;
    s->slots[slot] = ++s->count;
    return s->count - 1;
}

/* Adds a text with its NULs replaced by spaces: a NUL would end it early for every printer. */
static uint32_t add_without_nul(struct plumb_strings *s, const void *text, size_t n)
{
    char *copy = malloc(n);
    if (!copy) {
        s->text.failed = true;
        return 0;
    }
    memcpy(copy, text, n);
    for (char *p = copy; (p = memchr(p, '\0', n - (size_t)(p - copy)));)
        *p = ' ';
    uint32_t id = add(s, copy, n);
    free(copy);
    return id;
}

uint32_t plumb_strings_put(struct plumb_strings *s, const void *text, size_t n)
{
    if (s->text.failed)
        return 0;
    if (s->count == 0)
        add(s, "", 0);
    if (n == 0)
        return 0;
    return memchr(text, '\0', n) ? add_without_nul(s, text, n) : add(s, text, n);
}

static int hex(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static size_t unescape(char *out, const char *text, size_t n)
{
    char four[5] = "";
    size_t put = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(four, text + i, n - i < 4 ? n - i : 4);
        if (n - i >= 4 && plumb_utf8_looks_escaped(four)) {
            out[put++] = (char)(hex(four[2]) << 4 | hex(four[3]));
            i += 3;
        } else {
            out[put++] = text[i];
        }
    }
    return put;
}

uint32_t plumb_strings_put_escaped(struct plumb_strings *s, const void *text, size_t n)
{
    char *copy;
    if (n == 0 || !memchr(text, '\\', n))
        return plumb_strings_put(s, text, n);
    if (!(copy = malloc(n))) {
        s->text.failed = true;
        return 0;
    }
    uint32_t id = plumb_strings_put(s, copy, unescape(copy, text, n));
    free(copy);
    return id;
}

uint32_t plumb_strings_find(const struct plumb_strings *s, const char *text)
{
    if (s->count == 0)
        return *text ? UINT32_MAX : 0;
    uint32_t slot = slot_of(s, text, strlen(text));
    return s->slots[slot] ? s->slots[slot] - 1 : UINT32_MAX;
}

/* Each with its length before it, so that no text runs into the next. */
static void put_texts(struct plumb_buf *out, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(texts[i]);
        plumb_buf_printf(out, "%zu:", length);
        plumb_buf_append(out, texts[i], length);
    }
}

uint32_t plumb_strings_put_key(struct plumb_strings *s, const char *const *texts, size_t n)
{
    struct plumb_buf key = {0};
    uint32_t id = 0;
    put_texts(&key, texts, n);
    if (key.failed)
        s->text.failed = true;
    else
        id = plumb_strings_put(s, key.data, key.len);
    plumb_buf_fini(&key);
    return id;
}

uint32_t plumb_strings_find_key(const struct plumb_strings *s, const char *const *texts, size_t n)
{
    struct plumb_buf key = {0};
    put_texts(&key, texts, n);
    uint32_t id = key.failed ? UINT32_MAX : plumb_strings_find(s, key.data);
    plumb_buf_fini(&key);
    return id;
}

void plumb_strings_fini(struct plumb_strings *s)
{
    plumb_buf_fini(&s->text);
    free(s->at);
    free(s->slots);
    *s = (struct plumb_strings){.at = NULL};
}

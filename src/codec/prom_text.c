#include "codec/prom_text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/text/utf8.h"
#include <plumb/stage.h>

enum { HASH = 8, LABEL_MOST = 64 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void put_hash(char out[HASH + 1], const char *text)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t h = plumb_hash_text(text);
    uint32_t v = (uint32_t)(h ^ h >> 32);
    for (int i = HASH; i-- > 0; v >>= 4)
        out[i] = digits[v & 15];
    out[HASH] = '\0';
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Writes at most `most` bytes. Returns whether they differ from the text. */
static bool put_name(char *out, const char *text, size_t most, bool colon)
{
    size_t n = 0;
    bool changed = !*text;
    if (is_digit(*text)) {
        out[n++] = '_';
        changed = true;
    }
    for (; *text && n < most; text++) {
        bool good = is_letter(*text) || is_digit(*text) || (colon && *text == ':');
        changed |= !good;
        out[n++] = good ? *text : '_';
    }
    if (n == 0)
        out[n++] = '_';
    out[n] = '\0';
    return changed || *text;
}

static void put_name_apart(char *out, const char *text, bool colon)
{
    char hash[HASH + 1];
    put_hash(hash, text);
    put_name(out, text, PLUMB_PROM_NAME - HASH - 2 - sizeof "exported_", colon);
    snprintf(out + strlen(out), HASH + 2, "_%s", hash);
}

bool plumb_prom_name(char out[PLUMB_PROM_NAME], const char *text)
{
    if (strlen(text) < PLUMB_PROM_NAME - 1)
        return put_name(out, text, PLUMB_PROM_NAME - 1, true);
    put_name_apart(out, text, true);
    return true;
}

void plumb_prom_name_apart(char out[PLUMB_PROM_NAME], const char *text)
{
    put_name_apart(out, text, true);
}

static bool is_taken(const char *name)
{
    static const char *const ours[] = {"le",      "quantile", "overflow", "pid",
                                       "program", "rank",     "run"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(name, ours[i]) == 0)
            return true;
    return strncmp(name, "__", 2) == 0;
}

void plumb_prom_label(char out[PLUMB_PROM_NAME], const char *text)
{
    char plain[PLUMB_PROM_NAME];
    if (put_name(plain, text, LABEL_MOST, false))
        put_name_apart(plain, text, false);
    strcpy(out, is_taken(plain) ? "exported_" : "");
    strcat(out, plain); /* put_name_apart() leaves space for both */
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Writes one character of the text, escaped; returns how many bytes, and moves the text on. `wrong`
 * is set at bytes that are not UTF-8. */
static size_t put_char(char out[4], const char **text, bool quotes, bool *wrong)
{
    size_t n = plumb_utf8_sequence(*text);
    char c = **text;
    if (n == 0) {
        memcpy(out, "\xef\xbf\xbd", 3);
        *wrong = true;
        ++*text;
        return 3;
    }
    if (c == '\\' || c == '\n' || (c == '"' && quotes)) {
        out[0] = '\\';
        out[1] = c == '\n' ? 'n' : c;
        ++*text;
        return 2;
    }
    memcpy(out, *text, n);
    *text += n;
    return n;
}

size_t plumb_prom_value(char out[PLUMB_PROM_VALUE], const char *text)
{
    const size_t most = PLUMB_PROM_VALUE - 1 - HASH - 1;
    const char *at = text;
    size_t n = 0;
    bool wrong = false;
    while (*at && n + 4 <= most)
        n += put_char(out + n, &at, true, &wrong);
    if (*at || wrong) {
        out[n++] = '~';
        put_hash(out + n, text);
        return n + HASH;
    }
    out[n] = '\0';
    return n;
}

void plumb_prom_help(char *out, size_t size, const char *text, bool quotes)
{
    size_t n = 0;
    bool wrong = false;
    while (*text && n + 5 <= size)
        n += put_char(out + n, &text, quotes, &wrong);
    out[n] = '\0';
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Finds the least name above `above` ("": any), and the last pair that has it. Pairs are few, and
 * stacks may be small: each name is made again for each place. */
static const struct plumb_pair *next_of(char name[PLUMB_PROM_NAME], const struct plumb_pair *pairs,
                                        size_t most, const char *above)
{
    const struct plumb_pair *found = NULL;
    char one[PLUMB_PROM_NAME];
    for (size_t i = 0; pairs && i < most && pairs[i].key; i++) {
        plumb_prom_label(one, pairs[i].key);
        if (strcmp(one, above) > 0 && (!found || strcmp(one, name) <= 0)) {
            memcpy(name, one, sizeof one);
            found = &pairs[i];
        }
    }
    return found;
}

void plumb_prom_labels(char out[PLUMB_PROM_LABELS], const struct plumb_pair *pairs, size_t most)
{
    char name[PLUMB_PROM_NAME], above[PLUMB_PROM_NAME] = "", value[PLUMB_PROM_VALUE];
    const struct plumb_pair *pair;
    size_t n = 0;
    out[0] = '\0';
    while ((pair = next_of(name, pairs, most, above)) != NULL) {
        size_t bytes = plumb_prom_value(value, pair->value ? pair->value : "");
        if (n + strlen(name) + bytes + sizeof ",=\"\"" <= PLUMB_PROM_LABELS)
            n += (size_t)snprintf(out + n, PLUMB_PROM_LABELS - n, "%s%s=\"%s\"", n ? "," : "", name,
                                  value);
        memcpy(above, name, sizeof above);
    }
}

/* names.c: the fields of one entry of the table of predecessors' names, and whether a text is that
 * name. The table is a data file (load.c). No state. */
#include "report/names/names.h"

#include <stdint.h>
#include <string.h>

enum { LITERAL_MIN = 3 }; /* bytes that a name must have besides its placeholders */

const char *plumb_predecessor_system(const struct plumb_predecessor *p)
{
    static const struct {
        const char *prefix, *system;
    } systems[] = {{"FV", "FastVideo"},
                   {"AT", "FastVideo"},
                   {"TF", "TeleFuser"},
                   {"TX", "TorchFX"},
                   {"CV", "CUVIS.AI"}};
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (strncmp(p->row, systems[i].prefix, 2) == 0)
            return systems[i].system;
    return "";
}

static const char *const kinds[] = {
    [PLUMB_THEIR_VARIABLE] = "variable",   [PLUMB_THEIR_FUNCTION] = "function",
    [PLUMB_THEIR_PARAMETER] = "parameter", [PLUMB_THEIR_COMMAND] = "command",
    [PLUMB_THEIR_OPTION] = "option",       [PLUMB_THEIR_ENDPOINT] = "endpoint",
    [PLUMB_THEIR_FILE] = "file",           [PLUMB_THEIR_LINE] = "line",
    [PLUMB_THEIR_FIELD] = "field",         [PLUMB_THEIR_METRIC] = "metric",
    [PLUMB_THEIR_NAME] = "name",           [PLUMB_THEIR_VALUE] = "value",
};
static const char *const statuses[] = {
    [PLUMB_THEIR_WORKS] = "works",
    [PLUMB_THEIR_PARTLY] = "partly",
    [PLUMB_THEIR_NOT_YET] = "not yet",
    [PLUMB_THEIR_NOT_NEEDED] = "not needed",
};
static const char *const texts[] = {
    [PLUMB_TEXT_ANY] = "any",           [PLUMB_TEXT_PATH] = "path",
    [PLUMB_TEXT_NOT_ZERO] = "not-zero", [PLUMB_TEXT_INTEGER] = "integer",
    [PLUMB_TEXT_TRUE] = "true",         [PLUMB_TEXT_WORDS] = "words",
    [PLUMB_TEXT_RANK] = "rank",         [PLUMB_TEXT_UNREAD] = "unread",
};

const char *plumb_predecessor_kind(const struct plumb_predecessor *p)
{
    return kinds[p->kind];
}

const char *plumb_predecessor_status(const struct plumb_predecessor *p)
{
    return statuses[p->status];
}

static int place_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

bool plumb_predecessor_words(struct plumb_predecessor *p, const char *kind, const char *text,
                             const char *status)
{
    int k = place_of(kind, kinds, sizeof kinds / sizeof *kinds);
    int s = place_of(status, statuses, sizeof statuses / sizeof *statuses);
    bool variable = k == PLUMB_THEIR_VARIABLE;
    int t = variable ? place_of(text, texts, sizeof texts / sizeof *texts) : PLUMB_TEXT_ANY;
    if (k < 0 || s < 0 || t < 0 || (!variable && strcmp(text, "-") != 0))
        return false;
    p->kind = (enum plumb_their_kind)k;
    p->status = (enum plumb_their_status)s;
    p->text = (enum plumb_their_text)t;
    return true;
}

/* ---- Names with placeholders ----------------------------------------------------------------- */

/* Bytes of the placeholder that `p` begins with, 0: none. */
static size_t placeholder(const char *p)
{
    if (*p == '*')
        return 1;
    if (strncmp(p, "...", 3) == 0)
        return 3;
    if (*p != '<')
        return 0;
    size_t n = 1 + strcspn(p + 1, "<>");
    return p[n] == '>' && n > 1 ? n + 1 : 0;
}

static size_t literal_bytes(const char *name)
{
    size_t n = 0;
    while (*name) {
        size_t skip = placeholder(name);
        n += skip == 0;
        name += skip ? skip : 1;
    }
    return n;
}

/* Goes back to the last placeholder alone: what an earlier one could take instead, the last can
 * take as well. So the time is at most the product of both lengths. */
static bool fits(const char *name, const char *text)
{
    const char *after = NULL; /* the last placeholder's end, */
    const char *taken = NULL; /* and the end of the text that it stands for */
    for (;;) {
        size_t skip = placeholder(name);
        if (skip && *text) {
            name += skip;
            text++;
            after = name;
            taken = text;
        } else if (!skip && *name && *name == *text) {
            name++;
            text++;
        } else if (!*name && !*text) {
            return true;
        } else if (after && *taken) {
            text = ++taken;
            name = after;
        } else {
            return false;
        }
    }
}

size_t plumb_predecessor_match(const struct plumb_predecessor *p, const char *text)
{
    if (strcmp(p->name, text) == 0)
        return SIZE_MAX;
    size_t literal = literal_bytes(p->name);
    bool free = literal < strlen(p->name);
    return free && literal >= LITERAL_MIN && fits(p->name, text) ? literal : 0;
}

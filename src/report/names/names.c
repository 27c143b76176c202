/* names.c: the table of their names, and which of them a text is. No state.
 *
 * The table lies in five .def files, one a system, with a line for each name however long it is, so
 * that two people who each change a status never meet. A line is
 *
 *     VARIABLE(row, text, name, plumb, status, remark)    what the variable's text meant there
 *     NAME(row, kind, name, plumb, status, remark)
 *
 * tools/check_coming_from.py checks them against plumb itself and against the systems. */
#include "report/names/names.h"

#include <stdint.h>
#include <string.h>

#define VARIABLE(row_, text_, name_, plumb_, status_, remark_)                                     \
    {row_, PLUMB_THEIR_VARIABLE, PLUMB_TEXT_##text_, name_, plumb_, PLUMB_THEIR_##status_, remark_},
#define NAME(row_, kind_, name_, plumb_, status_, remark_)                                         \
    {row_, PLUMB_THEIR_##kind_, PLUMB_TEXT_ANY, name_, plumb_, PLUMB_THEIR_##status_, remark_},

static const struct plumb_predecessor table[] = {
#include "report/names/fv.def"

#include "report/names/at.def"

#include "report/names/tf.def"

#include "report/names/tx.def"

#include "report/names/cv.def"
};

enum { LITERAL_MIN = 3 }; /* bytes that a name must have besides its placeholders */

const struct plumb_predecessor *plumb_predecessors(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}

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

const char *plumb_predecessor_kind(const struct plumb_predecessor *p)
{
    static const char *const words[] = {
        [PLUMB_THEIR_VARIABLE] = "variable",   [PLUMB_THEIR_FUNCTION] = "function",
        [PLUMB_THEIR_PARAMETER] = "parameter", [PLUMB_THEIR_COMMAND] = "command",
        [PLUMB_THEIR_OPTION] = "option",       [PLUMB_THEIR_ENDPOINT] = "endpoint",
        [PLUMB_THEIR_FILE] = "file",           [PLUMB_THEIR_LINE] = "line",
        [PLUMB_THEIR_FIELD] = "field",         [PLUMB_THEIR_METRIC] = "metric",
        [PLUMB_THEIR_NAME] = "name",           [PLUMB_THEIR_VALUE] = "value",
    };
    return words[p->kind];
}

const char *plumb_predecessor_status(const struct plumb_predecessor *p)
{
    static const char *const words[] = {
        [PLUMB_THEIR_WORKS] = "works",
        [PLUMB_THEIR_PARTLY] = "partly",
        [PLUMB_THEIR_NOT_YET] = "not yet",
        [PLUMB_THEIR_NOT_NEEDED] = "not needed",
    };
    return words[p->status];
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

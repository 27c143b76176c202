/* wanted.c: see wanted.h. */
#include "inject/count/wanted.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/text/glob.h"
#include "inject/count/bare.h"

struct part {
    const char *text;
    size_t bytes;
};

static const char *wanted;
PLUMB_BARE_HIDDEN uint32_t plumb_wanted_never_found[PLUMB_CALLS_ITEMS / 32];

/* Takes the next item from the list, with an empty library if it has none. */
static bool next(const char **list, struct part *library, struct part *function)
{
    const char *at = *list, *colon = NULL;
    if (!*at)
        return false;
    for (; *at && *at != ','; at++)
        if (*at == ':' && !colon)
            colon = at;
    *library = (struct part){*list, colon ? (size_t)(colon - *list) : 0};
    function->text = colon ? colon + 1 : *list;
    function->bytes = (size_t)(at - function->text);
    *list = *at ? at + 1 : at;
    return true;
}

bool plumb_wanted_set(const char *list)
{
    struct part library, function;
    uint32_t n = 0;
    for (const char *at = list; next(&at, &library, &function) && n < PLUMB_CALLS_ITEMS; n++)
        plumb_wanted_never_found[n / 32] |= UINT32_C(1) << n % 32;
    wanted = list;
    return n > 0;
}

static bool matches(struct part pattern, const char *text)
{
    return plumb_glob_matches(pattern.text, pattern.bytes, text);
}

bool plumb_wanted_name(const char *name)
{
    struct part library, function;
    for (const char *at = wanted; next(&at, &library, &function);)
        if (matches(function, name))
            return true;
    return false;
}

static bool is_library(struct part pattern, const char *name)
{
    if (!name)
        return false;
    return matches(pattern, name) ||
           (plumb_bare_begins(name, pattern.text, pattern.bytes) && name[pattern.bytes] == '.');
}

bool plumb_wanted_function(const char *soname, const char *file, const char *name)
{
    struct part library, function;
    bool found = false;
    uint32_t i = 0;
    for (const char *at = wanted; next(&at, &library, &function); i++) {
        if (!matches(function, name) ||
            (library.bytes && !is_library(library, soname) && !is_library(library, file)))
            continue;
        found = true;
        if (i < PLUMB_CALLS_ITEMS)
            __atomic_fetch_and(&plumb_wanted_never_found[i / 32], ~(UINT32_C(1) << i % 32),
                               __ATOMIC_RELAXED);
    }
    return found;
}

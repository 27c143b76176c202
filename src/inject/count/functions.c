/* functions.c: see functions.h. */
#include "inject/count/functions.h"

#include "base/atomic.h"
#include "inject/count/bare.h"
#include "inject/count/trampoline.h"

enum { TEXT_BYTES = 1 << 18, LINE_BYTES = 400 };

PLUMB_BARE_HIDDEN struct plumb_calls_function plumb_functions[PLUMB_CALLS_FUNCTIONS];
PLUMB_BARE_HIDDEN uint32_t plumb_function_count;
PLUMB_BARE_HIDDEN const char *plumb_notes[PLUMB_NOTES];
PLUMB_BARE_HIDDEN uint32_t plumb_note_count;

static const struct link_map *object_of[PLUMB_CALLS_FUNCTIONS]; /* NULL: unloaded. Atomic */
static char text[TEXT_BYTES];
static uint32_t text_used;
static uint32_t told_full;

/* Does nothing once there are enough: the text is full, and the count saturates. */
static char *take(size_t bytes)
{
    uint32_t at;
    if (PLUMB_LOAD(text_used) > TEXT_BYTES - LINE_BYTES || bytes > LINE_BYTES)
        return NULL;
    at = PLUMB_ADD(text_used, (uint32_t)bytes);
    return at <= TEXT_BYTES - bytes ? text + at : NULL;
}

const char *plumb_text_keep(const char *from)
{
    size_t n = plumb_bare_length(from) + 1;
    char *to = take(n);
    for (size_t i = 0; to && i < n; i++)
        to[i] = from[i];
    return to;
}

/* Returns the number of slots to claim, or the limit. */
static uint32_t claim(uint32_t *count, uint32_t limit)
{
    return PLUMB_LOAD(*count) < limit ? PLUMB_ADD(*count, 1) : limit;
}

static char *append(char *to, const char *end, const char *from)
{
    while (*from && to < end)
        *to++ = *from++;
    return to;
}

void plumb_note_uncounted(const char *object, const char *name, const char *why)
{
    uint32_t i = claim(&plumb_note_count, PLUMB_NOTES);
    char line[LINE_BYTES], *at = line, *end = line + sizeof line - 1;
    if (i >= PLUMB_NOTES)
        return;
    at = append(at, end, "not counted: ");
    at = append(at, end, name);
    at = append(at, end, " in ");
    at = append(at, end, object);
    at = append(at, end, ": ");
    *append(at, end, why) = '\0';
    PLUMB_RELEASE(plumb_notes[i], plumb_text_keep(line));
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static const char *library_of(const struct plumb_object *o)
{
    return o->soname ? o->soname : o->file;
}

static bool is_function(uint32_t i, const char *library, const char *name)
{
    const char *known = PLUMB_ACQUIRE(plumb_functions[i].name);
    return known && plumb_bare_equal(known, name) &&
           plumb_bare_equal(plumb_functions[i].library, library);
}

/* Returns the number of a function that is bound already, or that was when its library was loaded
 * before. */
static uint32_t find(const struct plumb_object *of, const char *name, uintptr_t target)
{
    uint32_t n = PLUMB_LOAD(plumb_function_count);
    const char *library = library_of(of);
    for (uint32_t i = 0; i < n && i < PLUMB_CALLS_FUNCTIONS; i++) {
        const struct link_map *map = PLUMB_ACQUIRE(object_of[i]), *unloaded = NULL;
        if (!is_function(i, library, name))
            continue;
        if (map == of->map && PLUMB_LOAD(plumb_targets[i]) == target)
            return i;
        if (!map && __atomic_compare_exchange_n(&object_of[i], &unloaded, of->map, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            PLUMB_RELEASE(plumb_targets[i], target);
            return i;
        }
    }
    return PLUMB_CALLS_FUNCTIONS;
}

static uint32_t add(const struct plumb_object *of, const char *name, uintptr_t target)
{
    const char *library = plumb_text_keep(library_of(of)), *kept = plumb_text_keep(name);
    uint32_t i = library && kept ? claim(&plumb_function_count, PLUMB_CALLS_FUNCTIONS)
                                 : PLUMB_CALLS_FUNCTIONS;
    if (i >= PLUMB_CALLS_FUNCTIONS)
        return PLUMB_CALLS_FUNCTIONS;
    PLUMB_RELEASE(plumb_targets[i], target);
    PLUMB_STORE(object_of[i], of->map);
    plumb_functions[i].library = library;
    PLUMB_RELEASE(plumb_functions[i].name, kept);
    return i;
}

uintptr_t plumb_function_bind(const struct plumb_object *of, const char *name, uintptr_t target)
{
    uint32_t i = find(of, name, target);
    if (i == PLUMB_CALLS_FUNCTIONS)
        i = add(of, name, target);
    if (i < PLUMB_CALLS_FUNCTIONS)
        return plumb_trampoline(i);
    if (!__atomic_exchange_n(&told_full, 1, __ATOMIC_RELAXED))
        plumb_note_uncounted(library_of(of), name,
                             "more than 2048 functions match (this is the first that is left out)");
    return target;
}

void plumb_functions_close(const struct link_map *map)
{
    uint32_t n = PLUMB_LOAD(plumb_function_count);
    for (uint32_t i = 0; i < n && i < PLUMB_CALLS_FUNCTIONS; i++)
        if (PLUMB_LOAD(object_of[i]) == map)
            PLUMB_RELEASE(object_of[i], NULL);
}

/* functions.c: see functions.h. */
#include "inject/count/functions.h"

#include "base/atomic.h"
#include "inject/count/bare.h"
#include "inject/count/trampoline.h"

/* Addresses; what is not touched costs no memory. Names of C++ are often longer than 1 KiB. */
enum { TEXT_MOST = 1 << 23, TEXT_LEAST = 1 << 16 };

PLUMB_BARE_HIDDEN struct plumb_calls_function plumb_functions[PLUMB_CALLS_FUNCTIONS];
PLUMB_BARE_HIDDEN uint32_t plumb_function_count;
PLUMB_BARE_HIDDEN const char *plumb_notes[PLUMB_NOTES];
PLUMB_BARE_HIDDEN uint32_t plumb_note_count;

static const struct link_map *object_of[PLUMB_CALLS_FUNCTIONS]; /* NULL: unloaded. Atomic */
static char *text;                                              /* [text_bytes] */
static uint64_t text_bytes;
static uint64_t text_used; /* atomic */
static uint32_t told_full, told_no_text;

bool plumb_functions_init(void)
{
    uint64_t part = plumb_bare_budget() / 8;
    text_bytes = part < TEXT_LEAST ? TEXT_LEAST : part > TEXT_MOST ? TEXT_MOST : part;
    text = plumb_bare_map(text_bytes);
    return text != NULL;
}

/* Returns NULL without memory for so many bytes; a shorter name may still fit. */
static char *take(size_t bytes)
{
    uint64_t at = PLUMB_LOAD(text_used);
    do {
        if (bytes > text_bytes - at)
            return NULL;
    } while (!__atomic_compare_exchange_n(&text_used, &at, at + bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return text + at;
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

void plumb_note_uncounted(const char *object, const char *name, const char *why)
{
    const char *const parts[] = {"not counted: ", name, " in ", object, ": ", why};
    enum { PARTS = sizeof parts / sizeof *parts };
    uint32_t i = PLUMB_ADD(plumb_note_count, 1);
    size_t bytes = 1;
    char *line, *at;
    if (i >= PLUMB_NOTES)
        return;
    for (size_t k = 0; k < PARTS; k++)
        bytes += plumb_bare_length(parts[k]);
    line = at = take(bytes);
    for (size_t k = 0; line && k < PARTS; k++)
        for (const char *from = parts[k]; *from; from++)
            *at++ = *from;
    PLUMB_RELEASE(plumb_notes[i], line);
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

static bool is_full(void)
{
    return PLUMB_LOAD(plumb_function_count) >= PLUMB_CALLS_FUNCTIONS;
}

/* A number that two threads claim at a time may be the last. */
static uint32_t add(const struct plumb_object *of, const char *name, uintptr_t target)
{
    const char *library, *kept;
    uint32_t i;
    if (is_full() || !(library = plumb_text_keep(library_of(of))) ||
        !(kept = plumb_text_keep(name)) ||
        (i = claim(&plumb_function_count, PLUMB_CALLS_FUNCTIONS)) >= PLUMB_CALLS_FUNCTIONS)
        return PLUMB_CALLS_FUNCTIONS;
    PLUMB_RELEASE(plumb_targets[i], target);
    PLUMB_STORE(object_of[i], of->map);
    plumb_functions[i].library = library;
    PLUMB_RELEASE(plumb_functions[i].name, kept);
    return i;
}

/* Notes why a function has no number, for the first one of each reason. */
static void note_left_out(const struct plumb_object *of, const char *name)
{
    bool full = is_full();
    if (!__atomic_exchange_n(full ? &told_full : &told_no_text, 1, __ATOMIC_RELAXED))
        plumb_note_uncounted(
            library_of(of), full ? name : "a function",
            full ? "more than 2048 functions match (this is the first that is left out)"
                 : "there is no more memory for the names of functions");
}

uintptr_t plumb_function_bind(const struct plumb_object *of, const char *name, uintptr_t target)
{
    uint32_t i = find(of, name, target);
    if (i == PLUMB_CALLS_FUNCTIONS)
        i = add(of, name, target);
    if (i < PLUMB_CALLS_FUNCTIONS)
        return plumb_trampoline(i);
    note_left_out(of, name);
    return target;
}

void plumb_functions_close(const struct link_map *map)
{
    uint32_t n = PLUMB_LOAD(plumb_function_count);
    for (uint32_t i = 0; i < n && i < PLUMB_CALLS_FUNCTIONS; i++)
        if (PLUMB_LOAD(object_of[i]) == map)
            PLUMB_RELEASE(object_of[i], NULL);
}

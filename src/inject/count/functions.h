/* functions.h: the functions that are counted, each with a number, by which its trampoline and its
 * counts are found. Numbers stay for the life of the process. Any thread, also in a signal handler:
 * lazy binding takes no lock, so neither does this. Two threads that bind a function at the same
 * time may give it two numbers, which the reader adds up by name. */
#ifndef PLUMB_INJECT_COUNT_FUNCTIONS_H
#define PLUMB_INJECT_COUNT_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/calls_area.h"
#include "inject/count/object.h"

/* Reserves memory for names. Returns false if there is none. Once, before anything is bound. */
bool plumb_functions_init(void);
/* Returns the address that callers are given instead of `target`: the trampoline of the function,
 * or `target` itself if there are too many, which is noted. */
uintptr_t plumb_function_bind(const struct plumb_object *of, const char *name, uintptr_t target);
/* Of an object that is being unloaded: a number is used again when the library comes back. */
void plumb_functions_close(const struct link_map *map);
/* Returns a copy of the text that lives as long as the process. NULL: no memory. */
const char *plumb_text_keep(const char *text);
/* Notes that calls of `name` from `object` are not counted. */
void plumb_note_uncounted(const char *object, const char *name, const char *why);

enum { PLUMB_NOTES = 64 };
extern struct plumb_calls_function plumb_functions[PLUMB_CALLS_FUNCTIONS];
extern uint32_t plumb_function_count;
extern const char *plumb_notes[PLUMB_NOTES];
extern uint32_t plumb_note_count;

#endif

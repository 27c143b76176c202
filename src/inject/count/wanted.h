/* wanted.h: the list of functions to count: "LIBRARY:FUNCTION,FUNCTION,...". Both parts are shell
 * patterns. LIBRARY is compared with the library's SONAME and with the name of its file; without a
 * pattern's characters it also stands for that name with a version after it ("libiir.so" for
 * "libiir.so.0"). Without LIBRARY, functions of every object are meant.
 *
 * Set once, before there are threads; then any thread. */
#ifndef PLUMB_INJECT_COUNT_WANTED_H
#define PLUMB_INJECT_COUNT_WANTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/calls_area.h"

/* Takes the list, which must stay. Returns false if it is empty. */
bool plumb_wanted_set(const char *list);
/* Returns whether a function of this name may be one of the list's, in whatever library. */
bool plumb_wanted_name(const char *function);
/* Returns whether the function is on the list, and notes that its items were found. `soname` and
 * `file` may be NULL. */
bool plumb_wanted_function(const char *soname, const char *file, const char *function);
/* Bit i: item i has matched no function yet. Atomic. */
extern uint32_t plumb_wanted_never_found[PLUMB_CALLS_ITEMS / 32];

#endif

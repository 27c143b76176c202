/* library.h: stage libraries (plumb/stage_library.h): loading one, and what makes a table of stages
 * acceptable. One thread. */
#ifndef PLUMB_ISOLATE_LIBRARY_H
#define PLUMB_ISOLATE_LIBRARY_H

#include <stddef.h>

#include <plumb/error.h>
#include <plumb/stage_library.h>

/* Loads the library at `path` and checks its table. `*out` belongs to the library, which stays
 * loaded for the life of the process: its threads may never end.
 *   errors  PLUMB_ERR_NOT_FOUND: the loader cannot load it, and says why; PLUMB_ERR_FORMAT: it has
 *           no table, one of another version, or one with a wrong entry */
int plumb_stage_library_load(const struct plumb_stage_library **out, const char *path,
                             plumb_error *err);

/* Checks a table. `whose` is its name in messages. PLUMB_ERR_FORMAT. */
int plumb_stage_library_check(const struct plumb_stage_library *library, const char *whose,
                              plumb_error *err);
/* Checks one stage. PLUMB_ERR_FORMAT. */
int plumb_stage_ops_check(const plumb_stage_ops *ops, const char *whose, plumb_error *err);

/* Sets `*out` to the stage of that name. PLUMB_ERR_NOT_FOUND: there is none; the message lists the
 * existing ones. */
int plumb_stage_library_find(const plumb_stage_ops **out, const struct plumb_stage_library *library,
                             const char *name, const char *whose, plumb_error *err);

#endif

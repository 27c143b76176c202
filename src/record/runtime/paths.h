/* paths.h: the paths of the settings, as this process uses them. */
#ifndef PLUMB_RECORD_RUNTIME_PATHS_H
#define PLUMB_RECORD_RUNTIME_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include <plumb/error.h>

/* Under the lock, or alone in a forked child. */
void plumb_paths_resolve(void); /* of the settings just taken */
void plumb_paths_forked(void);  /* makes them this child's own */

/* Makes an absolute path of this process's own from a pattern of the settings. On failure reports
 * it together with `none` and returns false. */
bool plumb_path_own(char *out, size_t size, const char *pattern, const char *none);
/* Turns "a/b.json" and ".7" into "a/b.7.json". Returns false, with nothing changed, if it does not
 * fit. */
bool plumb_path_insert(char *path, size_t size, const char *tag);
/* Makes the folders that lead to a file. Defined in record/run/dir.c. */
int plumb_run_make_parents(const char *path, plumb_error *err);

#endif

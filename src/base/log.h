/* log.h: where the library's own words go: a callback or the program's stderr (stderr.h), never
 * stdout. Any thread; a line is written with one call. Control characters and bytes that are not
 * UTF-8 become '?'. */
#ifndef PLUMB_BASE_LOG_H
#define PLUMB_BASE_LOG_H

#include <plumb/abi.h>

/* level 0 silences everything but plumb_say(). */
void plumb_log_set(int level, plumb_log_fn fn, void *arg);
int plumb_log_level(void);
void plumb_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Passes the line to `fn` instead; the level counts as for plumb_log(). */
void plumb_log_to(int level, plumb_log_fn fn, void *arg, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Between the two, lines of this thread are kept, and the second writes them: a callback may fork
 * or start a run, and a pipe may be blocked, so neither is called with a lock held. What does not
 * fit into 256 KiB is written at once. The second does nothing where nothing is held. */
void plumb_log_hold(void);
void plumb_log_release(void);
/* The end block and start-up errors: shown at every level, unless the run is quiet. */
void plumb_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

/* log.h: the library's messages, which go to a callback or to the program's stderr (stderr.h),
 * never to stdout. Any thread; a line is written with one call. Control characters and bytes that
 * are not UTF-8 become '?'. */
#ifndef PLUMB_BASE_LOG_H
#define PLUMB_BASE_LOG_H

#include <stdbool.h>

#include <plumb/run.h>

/* Level 0 silences everything but plumb_say(). */
void plumb_log_set(int level, plumb_log_fn fn, void *arg);
void plumb_log_set_level(int level); /* and leaves the rest */
int plumb_log_level(void);
void plumb_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Passes the line to `fn` instead; the level counts as for plumb_log(). */
void plumb_log_to(int level, plumb_log_fn fn, void *arg, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The end block and start-up errors: shown at every level, unless the run is quiet. */
void plumb_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Between the two, lines of this thread are kept, and shown by the next plumb_log_show() or last
 * release of any thread. A callback may fork or start a run, and a pipe may be blocked, so neither
 * is used with a lock held. A thread with a descriptor table of its own never releases, because the
 * table has no stderr. Calls may be nested. Lines that do not fit into 8 MiB are counted. */
void plumb_log_hold(void);
void plumb_log_release(void);
enum plumb_log_sink { PLUMB_LOG_TO_STDERR = 1, PLUMB_LOG_TO_CALLBACK = 2, PLUMB_LOG_TO_ANY = 3 };
/* Shows the lines that all threads have kept, in order, if their sink is one of `sinks`: a signal
 * handler must not call the program's function, and a thread with a descriptor table of its own
 * must not write. */
void plumb_log_show(enum plumb_log_sink sinks);
/* While `on`, lines of plumb_say() are not shown, but put aside for a front end that has opened the
 * run: the owner of the program has not asked for it. Each begins without "plumb: "; what does not
 * fit is left out. The second empties the text. */
enum { PLUMB_LOG_ASIDE = 2048 };
void plumb_log_aside(bool on);
void plumb_log_take_aside(char out[PLUMB_LOG_ASIDE]);
void plumb_log_forked(void); /* in the child of a fork: what is kept is the parent's */

#endif

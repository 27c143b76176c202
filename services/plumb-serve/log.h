/* log.h: one line on stderr for each event, with the time in UTC. Any thread. */
#ifndef PLUMB_SERVE_LOG_H
#define PLUMB_SERVE_LOG_H

#include <stddef.h>

/* Prints "TIME plumb serve: ..." as one write. Control characters, which callers from outside may
 * have put into a name, appear as \xHH. */
void serve_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

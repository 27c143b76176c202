/* helper_life.h: when the helper is made, and when it ends. */
#ifndef PLUMB_RECORD_RUNTIME_HELPER_LIFE_H
#define PLUMB_RECORD_RUNTIME_HELPER_LIFE_H

#include <stdbool.h>

/* Remembers how the process runs, before the program has changed anything. */
void plumb_helper_loaded(void);
/* Makes the helper unless there is one or the settings want none. Allocates; never from a span.
 * Under life_lock, or where nobody else is. */
void plumb_helper_start(void);
/* Tells it to end, where no run is open or wanted: a process with one thread has one again. Under
 * life_lock. True: the caller must join it once it has let go of that. */
bool plumb_helper_end(void);
void plumb_helper_join(void);
bool plumb_helper_is_ending(void); /* somebody joins it */
/* What to do in order to have one, for messages. */
const char *plumb_helper_cure(void);
void plumb_helper_forget(void); /* in the child of a fork: the thread is the parent's */
/* Leaves it to the first span, as in that child: nothing that is loaded has trace points. */
void plumb_helper_start_late(void);
/* With that first span: makes one. False: the span seems to come in a signal handler,
 * which may have interrupted what making a thread needs. */
bool plumb_helper_start_by_span(void);

#endif

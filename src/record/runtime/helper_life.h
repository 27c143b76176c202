/* helper_life.h: the start and the end of the helper. */
#ifndef PLUMB_RECORD_RUNTIME_HELPER_LIFE_H
#define PLUMB_RECORD_RUNTIME_HELPER_LIFE_H

#include <stdbool.h>

/* Remembers attributes of the process, before the program has changed them. */
void plumb_helper_loaded(void);
/* Starts the helper unless there is one or the settings disable it. Allocates; never called from a
 * span. Under life_lock, or while there is one thread. */
void plumb_helper_start(void);
/* Asks it to end if no run is open or wanted and the process cannot be controlled, so that a
 * process with one thread has one again. Under life_lock. Returns true if the caller must join it
 * after releasing that lock. */
bool plumb_helper_end(void);
void plumb_helper_join(void);
bool plumb_helper_is_ending(void); /* a thread is joining it */
/* Returns how the user can get a helper, for messages. */
const char *plumb_helper_cure(void);
/* Says that the process cannot be controlled for lack of a helper, if it was to be. */
void plumb_helper_warn_control(void);
void plumb_helper_forget(void); /* in the child of a fork: the thread is the parent's */
/* Leaves the start to the first span, as in that child: no loaded object has trace points. */
void plumb_helper_start_late(void);
/* Called with that first span: starts the helper. Returns false if the span seems to be in a signal
 * handler, which may have interrupted code that starting a thread needs. */
bool plumb_helper_start_by_span(void);

#endif

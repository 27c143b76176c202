/* live_thread.h: copies what a thread of a running process has recorded, as of one moment, from
 * outside the process and without its help. */
#ifndef PLUMB_READ_RUN_LIVE_THREAD_H
#define PLUMB_READ_RUN_LIVE_THREAD_H

#include "read/run/live_image.h"

enum plumb_live_thread_copy {
    PLUMB_LIVE_THREAD_WHOLE = 0, /* everything is of one moment */
    PLUMB_LIVE_THREAD_APART = 1  /* each row is of a moment of its own, during the reading */
};

/* Loads the thread block at `off`: its states, its call tree, its open spans, and the records that
 * were not folded. Returns an enum plumb_live_thread_copy. Errors: PLUMB_ERR_STATE: it changed too
 * fast, try again; PLUMB_ERR_FORMAT: damaged, or cut short. */
int plumb_live_thread_load(struct plumb_live_image *image, uint64_t off);

#endif

/* live_watch.h: the run that a process records, read again and again while it goes on, from
 * outside. No reading stops or delays the process, and nothing of it is torn. */
#ifndef PLUMB_READ_RUN_LIVE_WATCH_H
#define PLUMB_READ_RUN_LIVE_WATCH_H

#include <limits.h>

#include "model/timing.h"
#include "read/run/live_image.h"

enum plumb_live_watch_state {
    PLUMB_LIVE_WATCH_RECORDS = 0,
    PLUMB_LIVE_WATCH_ENDED = 1, /* the run was ended */
    PLUMB_LIVE_WATCH_KILLED = 2 /* the process is gone, and the run was not ended */
};

struct plumb_live_watch {
    struct plumb_live_image image;
    char path[PATH_MAX];    /* of the mapping, as this process reaches it */
    char run_dir[PATH_MAX]; /* as the process has it where it was found by its pid */
    uint32_t pid;           /* as this process knows it; 0: not known here */
    uint64_t process_start;
};

struct plumb_live_moment {
    uint32_t state;         /* enum plumb_live_watch_state */
    uint32_t threads;       /* thread blocks */
    uint32_t threads_apart; /* whose rows are not of one moment (live_thread.h) */
    uint32_t threads_used;  /* blocks that a thread has now */
    uint64_t mapped_bytes;  /* of the mapping that are in use */
};

/* Opens <run_dir>/live.plumb. Errors: PLUMB_ERR_NOT_FOUND: it does not exist; PLUMB_ERR_IO. */
int plumb_live_watch_open(struct plumb_live_watch *out, const char *run_dir, plumb_error *err);
/* Finds the mapping of process `pid` in the list of its mappings, and opens it below the root
 * directory that the process has. Errors: PLUMB_ERR_NOT_FOUND: the process does not exist, or
 * records nothing; PLUMB_ERR_IO: it is another user's. */
int plumb_live_watch_open_pid(struct plumb_live_watch *out, uint32_t pid, plumb_error *err);
/* Returns whether the process records the run now. */
bool plumb_live_watch_records(struct plumb_live_watch *watch);
void plumb_live_watch_close(struct plumb_live_watch *watch);

/* Fills `out` (plumb_timing_init() done) and `moment`. Errors: PLUMB_ERR_STATE: it changed too
 * fast, try again; PLUMB_ERR_FORMAT: not ours, damaged, or cut short; PLUMB_ERR_IO:
 * the process lives, and its disk had no space for more of the run; PLUMB_ERR_MEMORY. */
int plumb_live_watch_read(struct plumb_live_watch *watch, struct plumb_timing *out,
                          struct plumb_live_moment *moment, plumb_error *err);

#endif

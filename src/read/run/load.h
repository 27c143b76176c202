/* load.h: a run becomes its timing report, whatever state the run is in. */
#ifndef PLUMB_READ_RUN_LOAD_H
#define PLUMB_READ_RUN_LOAD_H

#include <stddef.h>

#include "model/timing.h"

enum plumb_load_state {
    PLUMB_LOAD_ENDED = 0,     /* its timing.json was there */
    PLUMB_LOAD_RECOVERED = 1, /* it was killed: read from its mapping, timing.json is now written */
    PLUMB_LOAD_UNSAVED = 2,   /* the same, but timing.json could not be written; `why` says why */
    PLUMB_LOAD_LIVE = 3       /* it still records: a momentary view, nothing was written */
};

struct plumb_load {
    struct plumb_timing timing; /* the caller's, to be ended with plumb_timing_fini() */
    enum plumb_load_state state;
    bool fresh; /* recovered by this very call */
    plumb_error why;
};

/* Loads the run in the directory `dir`; a killed one is recovered on the way, which leaves its
 * mapping where it is. Errors: those of plumb_timing_read() and plumb_live_read(). */
int plumb_load_run(struct plumb_load *out, const char *dir, plumb_error *err);

/* Puts a file into a run's directory, whole or not at all; one that is there already stays. */
int plumb_load_save(const char *dir, const char *name, const struct plumb_buf *text,
                    plumb_error *err);

/* Loads a timing report by its path. */
int plumb_load_file(struct plumb_load *out, const char *path, plumb_error *err);

#endif

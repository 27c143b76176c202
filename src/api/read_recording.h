/* read_recording.h: the activations that a user means by a path or the name of a run. */
#ifndef PLUMB_API_READ_RECORDING_H
#define PLUMB_API_READ_RECORDING_H

#include "read/activation/read.h"

/* Reads recorded activations into `out`, which the caller releases with plumb_activations_fini().
 * `path` is a file or folder of activations, a run directory, a folder of runs (the newest of them
 * is read), or the name of a run or pipeline below the output folder; NULL is the newest run there.
 * On an error `out` needs no release. */
int plumb_read_recording(struct plumb_activations *out, const char *path, plumb_error *err);

#endif

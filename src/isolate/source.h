/* source.h: the signature that a stage is rebuilt from, and what lies next to it. */
#ifndef PLUMB_ISOLATE_SOURCE_H
#define PLUMB_ISOLATE_SOURCE_H

#include <plumb/error.h>

#include "model/signature.h"

enum { PLUMB_SOURCE_PATH = 4096 };

struct plumb_source {
    char path[PLUMB_SOURCE_PATH];   /* of the signature file */
    char folder[PLUMB_SOURCE_PATH]; /* that it lies in */
    struct plumb_signature signature;
};

/* Opens the signature that a user means: a file, or a run, by the names that runs have (`runs`: the
 * folder that is searched). Errors: PLUMB_ERR_NOT_FOUND, PLUMB_ERR_FORMAT, PLUMB_ERR_IO,
 * PLUMB_ERR_MEMORY; `out` is then not to be closed. */
int plumb_source_open(struct plumb_source *out, const char *what, const char *runs,
                      plumb_error *err);
void plumb_source_close(struct plumb_source *source);

/* Sets `out` to the stage of that name. PLUMB_ERR_NOT_FOUND: the message lists those there are. */
int plumb_source_stage(const struct plumb_signature_stage **out, const struct plumb_source *source,
                       const char *name, plumb_error *err);

/* Returns the configuration that the program recorded for the stage, as metadata "stage_config";
 * "" without one. */
const char *plumb_source_config(const struct plumb_signature_stage *stage);

#endif

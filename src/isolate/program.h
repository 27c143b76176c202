/* program.h: writes a C program that runs a stage alone, without plumb: the interface of stage
 * libraries, the inputs and the generator of random values are in its text. Equal arguments give
 * equal text. Any thread. */
#ifndef PLUMB_ISOLATE_PROGRAM_H
#define PLUMB_ISOLATE_PROGRAM_H

#include <stdint.h>

#include "base/buf.h"
#include "isolate/inputs.h"
#include "model/signature.h"

struct plumb_program {
    const char *file; /* the stage's name as a part of file names: profile_FILE.c */
    const char *library, *config;
    const struct plumb_signature_stage *stage;
    const struct plumb_inputs *inputs; /* captured ones, if there are any */
    const struct plumb_inputs *random; /* the same in mode random: what stands for each tensor */
    uint64_t seed;
    int64_t first_step; /* 0 for a stage without a loop */
    int64_t steps;
};

/* Appends the text. Errors: PLUMB_ERR_IO: the size of the captured file is not known;
 * PLUMB_ERR_MEMORY. */
int plumb_program_write(struct plumb_buf *out, const struct plumb_program *p, plumb_error *err);

#endif

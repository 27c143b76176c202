/* inputs_parts.h: what inputs.c and captured.c share while a set of inputs is made. */
#ifndef PLUMB_ISOLATE_INPUTS_PARTS_H
#define PLUMB_ISOLATE_INPUTS_PARTS_H

#include "isolate/inputs.h"

struct plumb_inputs_maker {
    struct plumb_inputs *out;
    const struct plumb_signature_stage *stage;
    const struct plumb_inputs_options *options;
    plumb_error *err;
    struct plumb_inputs_tensor **end; /* of the list of tensors */
};

/* "input 'PATH' of stage 'NAME': WHY"; returns `code`. */
int plumb_inputs_fault(const struct plumb_inputs_maker *m, const char *path, int code,
                       const char *why);

/* Makes a tensor of that form with zeros in it, and adds it to the list. `bytes`: those that its
 * captured values have, which must be as many; NULL: it has none. */
int plumb_inputs_tensor(struct plumb_inputs_maker *m, const char *path,
                        const struct plumb_signature_tensor *form, const uint64_t *bytes,
                        struct plumb_inputs_tensor **out);

/* Makes a recorded value, with random tensors. */
int plumb_inputs_recorded(struct plumb_inputs_maker *m, const char *path,
                          const struct plumb_signature_value *from, plumb_value *out);

/* The path of element `i` of a list, or of the field `name`; NULL: out of memory. */
const char *plumb_inputs_path(struct plumb_inputs_maker *m, const char *path, size_t i,
                              const char *name);

/* captured.c: the inputs of the captured call. 1: there is no capture; 0: they are made. */
int plumb_inputs_captured(struct plumb_inputs_maker *m);

#endif

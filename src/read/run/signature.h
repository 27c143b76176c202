/* signature.h: files of I/O signatures become the model of signature.h, those of plumb and
 * those that its predecessor TeleFuser wrote under the same name. Any thread, one model at a time.
 */
#ifndef PLUMB_READ_RUN_SIGNATURE_H
#define PLUMB_READ_RUN_SIGNATURE_H

#include <stddef.h>

#include "model/signature.h"

/* Fills `out` (then the caller's, to be ended with plumb_signature_fini()) from the file `path`.
 *
 * A file of plumb reads back exactly. In the predecessor's the output of a stage is called
 * "output", `requires_grad` is false where it is missing, a stage has one signature and the number
 * of its calls is not known (0); NaN, Infinity and numbers of any length are read, as Python writes
 * them.
 *   errors  PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_IO; PLUMB_ERR_MEMORY;
 *           PLUMB_ERR_FORMAT: no JSON, no signatures, of a newer plumb, or damaged.
 *           `out` is untouched on errors. */
int plumb_signature_read(struct plumb_signature *out, const char *path, plumb_error *err);

/* The same from `size` bytes at `text`; `name` is what error texts call it. */
int plumb_signature_parse(struct plumb_signature *out, const char *text, size_t size,
                          const char *name, plumb_error *err);

#endif

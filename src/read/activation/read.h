/* read.h: recorded activations become a table (table.h), whoever recorded them and however they lie
 * on disk. The contents of a file decide its format:
 *
 *     JSONL            of plumb, or of FastVideo (NaN and Infinity as bare words)
 *     dump.json        of msprobe, with construct.json (which module called which) and stack.json
 *                      (which line ran it), if these files are there
 *     .npy             one array of NumPy: a record whose statistics are computed here
 *     .safetensors     the same for each of its tensors
 *     a folder         a run of plumb, a folder with a dump.json, or with .npy, .safetensors or
 *                      JSONL files, by name; or one of these for each step: "step3", "3", "step_3"
 *
 * The name of an array is its place: "block.3.attn.out.npy", or "block.3.attn.out" in a file of
 * safetensors, is the tensor "out" of the module "block.3.attn". A name without a label of plumb's
 * at its end ("out", "in[0]", "grad.x") is a module, and the tensor is its "out". "/" stands for
 * "." in both. */
#ifndef PLUMB_READ_ACTIVATION_READ_H
#define PLUMB_READ_ACTIVATION_READ_H

#include "read/activation/table.h"
#include <plumb/error.h>

/* Fills `out` from the file or folder at `path`: records in order of execution, with calls
 * numbered. The caller ends `out` with plumb_activations_fini(). On errors `out` is untouched:
 * PLUMB_ERR_NOT_FOUND: no such path, or a folder without records; PLUMB_ERR_IO; PLUMB_ERR_MEMORY;
 * PLUMB_ERR_FORMAT: an unknown format, no records, or damaged; the message is one line that says
 * where. */
int plumb_activations_read(struct plumb_activations *out, const char *path, plumb_error *err);

/* The same from memory, for tests: JSONL, a dump.json, or an array; `name` is what errors call it.
 */
int plumb_activations_parse(struct plumb_activations *out, const void *data, size_t size,
                            const char *name, plumb_error *err);

#endif

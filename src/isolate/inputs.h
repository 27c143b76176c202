/* inputs.h: the inputs of a stage that is run alone: those that PLUMB_CAPTURE recorded, or random
 * ones of the shapes, types and statistics in the signature (random.h).
 *
 *     struct plumb_inputs inputs;
 *     const struct plumb_inputs_options options = {.mode = PLUMB_INPUTS_AUTO, .seed = 1,
 *                                                  .dir = run_directory};
 *     if (plumb_inputs_make(&inputs, stage, &options, err) < 0)
 *         ...
 *     for (size_t i = 0; i < inputs.count; i++)
 *         ... inputs.at[i].name, inputs.at[i].value ...
 *     plumb_inputs_fini(&inputs);
 *
 * Tensors are DLTensors on "cpu" in memory of their own, page-aligned, with the recorded shape and
 * strides; what lies between the elements is zero, and `data` points to the first element, which
 * negative strides may put at the end. Their memory may be written to. Scalars, strings and nulls
 * are those that were recorded. Any thread, one set at a time. */
#ifndef PLUMB_ISOLATE_INPUTS_H
#define PLUMB_ISOLATE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "isolate/random_fill.h"
#include "model/signature.h"
#include "tensor/dl_tensor.h"
#include "tensor/value_hash.h"
#include "tensor/view.h"
#include <plumb/value.h>

enum plumb_inputs_mode {
    PLUMB_INPUTS_AUTO = 0,     /* captured ones where there are any, random ones otherwise */
    PLUMB_INPUTS_CAPTURED = 1, /* an error where one is missing */
    PLUMB_INPUTS_RANDOM = 2
};

struct plumb_inputs_options {
    enum plumb_inputs_mode mode;
    uint64_t seed;
    const char *dir; /* where the captured file lies, the run directory; NULL: nowhere */
    /* Makes tensors of other devices in the memory of the host, as tensors on "cpu". Otherwise one
     * is an error. */
    bool devices_on_host;
};

struct plumb_inputs_tensor {
    const char *path; /* "latents", "cond.text", "frames[3]", "rows[0].mask" */
    struct plumb_dl_tensor tensor;
    struct plumb_view view;     /* of it */
    bool captured;              /* otherwise random */
    struct plumb_random random; /* of a random one, with its seed */
    uint64_t offset;            /* of the values of a captured one, in the file */
    void *memory;
    size_t memory_bytes;
    struct plumb_inputs_tensor *next; /* in the order of the inputs */
};

struct plumb_inputs {
    struct plumb_arena arena;
    plumb_field *at; /* [count], in the order of the signature, or of the capture */
    size_t count;
    struct plumb_inputs_tensor *tensors;
    size_t tensor_count, captured_count; /* of these */
    uint64_t bytes;                      /* of their elements */
    const char *file;                    /* that captured ones came from; NULL: none did */
    int64_t step;                        /* of the stage's loop that they are of; -1: of a call */
    int64_t call_step;                   /* of the loop around the call; -1: not known */
    bool exact;                          /* all are the captured ones: nothing was made up */
    struct plumb_value_hashes *outputs;  /* of the captured call, in the arena; NULL: not known */
};

/* Makes the inputs of `stage`, of its last recorded call; those of a capture are the captured
 * call's, by name and order too. `out` is the caller's, to be ended with plumb_inputs_fini(). Equal
 * signatures and seeds give equal bytes on every machine. Cost: about 5 ns a random float32.
 *   errors  each names the input. PLUMB_ERR_ARG: an element type without values (lanes, opaque,
 *           unknown), memory of a device, a value that could not be recorded; PLUMB_ERR_NOT_FOUND:
 *           captured inputs are wanted, and there are none or one is missing; PLUMB_ERR_FORMAT: a
 *           damaged capture or statistics that contradict each other; PLUMB_ERR_IO;
 *           PLUMB_ERR_MEMORY. `out` is untouched. */
int plumb_inputs_make(struct plumb_inputs *out, const struct plumb_signature_stage *stage,
                      const struct plumb_inputs_options *options, plumb_error *err);

void plumb_inputs_fini(struct plumb_inputs *inputs);

/* Fills the elements of a tensor, in row-major order, with random values. */
void plumb_inputs_fill(const struct plumb_view *view, const struct plumb_random *random);

#endif

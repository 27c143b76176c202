/* signature.h: record the inputs and outputs of a stage. Part of plumb.h.
 *
 *     PLUMB_STAGE(stage, "denoise");
 *     plumb_stage_input(stage, "latents", &latents);                     (a DLTensor)
 *     plumb_stage_metadata(stage, "cfg_scale", plumb_value_f64(5.0));
 *     ...
 *     plumb_stage_output(stage, "latents", &result);
 *
 * plumb records shape, type, device and strides of tensors, and the values of scalars: those of the
 * last call, and of each call with a different signature, in timing_io_signature.json next to
 * timing.json (docs/signature-json.md). Call these functions on the thread of the stage, before it
 * ends; a stage that fails or is abandoned leaves no signature. With PLUMB_SIGNATURE=full plumb
 * also computes statistics of tensors that the host can read, while the stage's clock runs. With
 * PLUMB_CAPTURE=denoise it copies the inputs of one call, in the same time.
 *
 * A name is "latents", or the path of a part: "cond.text", "frames[3]". The same name again in one
 * run of the stage overwrites the value. Names are cut at 255 bytes, texts at 4000; data beyond 63
 * KiB for one run of a stage is counted and omitted.
 *
 * An invalid tensor is recorded as an error and has no other effect. Cost: below a microsecond a
 * call for shapes; nothing while nothing is recorded. */
#ifndef PLUMB_SIGNATURE_H
#define PLUMB_SIGNATURE_H

#include <plumb/detail/client.h>
#include <plumb/stage.h>
#include <plumb/value.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void plumb_stage_value_(plumb_span stage, uint32_t part, const char *name,
                                      plumb_value value)
{
    const struct plumb_api *api = plumb_api_for_(stage.id);
    if (PLUMB_KNOWS_(api, stage_value))
        api->stage_value(stage, part, name, &value);
}

/* Records a tensor as an input of the stage. It is read before the call returns, and not kept. NULL
 * is recorded as null, an invalid tensor as an error. */
static inline void plumb_stage_input(plumb_span stage, const char *name, const plumb_tensor *tensor)
{
    plumb_stage_value_(stage, PLUMB_STAGE_INPUT, name, plumb_value_tensor(tensor));
}
/* Records a tensor as an output of the stage. As plumb_stage_input(). */
static inline void plumb_stage_output(plumb_span stage, const char *name,
                                      const plumb_tensor *tensor)
{
    plumb_stage_value_(stage, PLUMB_STAGE_OUTPUT, name, plumb_value_tensor(tensor));
}
/* Records an input of any kind (value.h). Its pointers are read before the call returns. */
static inline void plumb_stage_input_value(plumb_span stage, const char *name, plumb_value value)
{
    plumb_stage_value_(stage, PLUMB_STAGE_INPUT, name, value);
}
/* Records an output of any kind. As plumb_stage_input_value(). */
static inline void plumb_stage_output_value(plumb_span stage, const char *name, plumb_value value)
{
    plumb_stage_value_(stage, PLUMB_STAGE_OUTPUT, name, value);
}
/* Records another property of the call, of any kind. Calls that differ only in metadata have the
 * same signature. */
static inline void plumb_stage_metadata(plumb_span stage, const char *name, plumb_value value)
{
    plumb_stage_value_(stage, PLUMB_STAGE_METADATA, name, value);
}

#ifdef __cplusplus
}
#endif
#endif

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
 * also computes statistics of tensors that the host can read, while the stage's clock runs.
 *
 * A name is "latents", or the path of a part: "cond.text", "frames[3]". The same name again in one
 * run of the stage overwrites the value. Names are cut at 255 bytes, texts at 4000; data beyond 63
 * KiB for one run of a stage is counted and omitted.
 *
 * Tensors are DLTensors of DLPack, of any version of its header. plumb does not need that header;
 * if it is included before this one, the compiler checks the type. A DLManagedTensor begins with a
 * DLTensor, a DLManagedTensorVersioned contains one. An invalid tensor is recorded as an error and
 * has no other effect. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_SIGNATURE_H
#define PLUMB_SIGNATURE_H

#if defined(DLPACK_DLPACK_H_)
typedef DLTensor plumb_tensor;
#else
typedef void plumb_tensor;
#endif

/* ---- Values ---------------------------------------------------------------------------------- */

static inline plumb_value plumb_value_null(void)
{
    plumb_value v;
    v.kind = PLUMB_VALUE_NULL;
    v.count = 0;
    v.as.i64 = 0;
    return v;
}
static inline plumb_value plumb_value_bool(int boolean)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_BOOL;
    v.as.i64 = boolean != 0;
    return v;
}
static inline plumb_value plumb_value_i64(int64_t number)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_I64;
    v.as.i64 = number;
    return v;
}
static inline plumb_value plumb_value_f64(double number)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_F64;
    v.as.f64 = number;
    return v;
}
/* Returns a string value; for an object that has no text form, pass the name of its type. NULL
 * becomes null. */
static inline plumb_value plumb_value_str(const char *text)
{
    plumb_value v = plumb_value_null();
    v.kind = text ? PLUMB_VALUE_STR : PLUMB_VALUE_NULL;
    v.as.str = text;
    return v;
}
/* Returns a tensor value. NULL becomes null. */
static inline plumb_value plumb_value_tensor(const plumb_tensor *tensor)
{
    plumb_value v = plumb_value_null();
    v.kind = tensor ? PLUMB_VALUE_TENSOR : PLUMB_VALUE_NULL;
    v.as.tensor = tensor;
    return v;
}
/* Returns a list of values of any kind, including lists, at most 16 levels deep. `values` is
 * borrowed until the call that takes the list returns. */
static inline plumb_value plumb_value_list(const plumb_value *values, size_t count)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_LIST;
    v.count = !values ? 0 : count > 0xffffffffu ? 0xffffffffu : (uint32_t)count;
    v.as.list = values;
    return v;
}

/* ---- Stages ---------------------------------------------------------------------------------- */

#if !defined(PLUMB_DISABLE)

static inline void plumb_stage_value_(plumb_span stage, uint32_t part, const char *name,
                                      plumb_value value)
{
    const struct plumb_api *api = plumb_client_api_();
    if (stage.id && PLUMB_KNOWS_(api, stage_value))
        api->stage_value(stage, part, name, &value);
}

static inline void plumb_stage_input(plumb_span stage, const char *name, const plumb_tensor *tensor)
{
    plumb_stage_value_(stage, PLUMB_STAGE_INPUT, name, plumb_value_tensor(tensor));
}
static inline void plumb_stage_output(plumb_span stage, const char *name,
                                      const plumb_tensor *tensor)
{
    plumb_stage_value_(stage, PLUMB_STAGE_OUTPUT, name, plumb_value_tensor(tensor));
}
static inline void plumb_stage_input_value(plumb_span stage, const char *name, plumb_value value)
{
    plumb_stage_value_(stage, PLUMB_STAGE_INPUT, name, value);
}
static inline void plumb_stage_output_value(plumb_span stage, const char *name, plumb_value value)
{
    plumb_stage_value_(stage, PLUMB_STAGE_OUTPUT, name, value);
}
/* Records other properties of the call. Calls that differ only in metadata have the same
 * signature. */
static inline void plumb_stage_metadata(plumb_span stage, const char *name, plumb_value value)
{
    plumb_stage_value_(stage, PLUMB_STAGE_METADATA, name, value);
}

#endif
#endif

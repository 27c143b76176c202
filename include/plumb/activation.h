/* activation.h: record the outputs (and inputs) of layers. Part of plumb.h.
 *
 *     PLUMB_SPAN_AS(span, "attn");
 *     ...
 *     plumb_activation(attn, "out", &result);                            (a DLTensor)
 *     plumb_activation_f32(attn, "out", data, shape, rank);              (an array)
 *
 * With PLUMB_ACTIVATIONS=1 each call leaves a record: statistics of the values, read in one pass
 * before the call returns, with module, step, call, rank, shape and type, as a line of JSON
 * (docs/activations.md). The module is the dotted path of the thread's open nodes below the
 * innermost stage, followed by `node` unless the path already ends with it: "block.3.attn". Inputs
 * and outputs of stages (signature.h) are recorded without another call, as "in.<name>" and
 * "out.<name>" under the stage's name.
 *
 * Labels: "out" (also NULL or ""), "in", "grad", a part of one ("out[1]", "out.hidden"), or any
 * other text. A label that begins like "in" or "grad" is an input or a gradient. Labels are cut at
 * 127 bytes.
 *
 * Cost while off: one load and one branch; for plumb_activation_value() also the construction of
 * the value. Cost of a call for a module that PLUMB_ACTIVATIONS_LAYERS does not select: about 0.2
 * us; of one that it selects, some 1.2 us in all threads and one pass over the values
 * (docs/activations.md). An invalid tensor leaves a record that says why. Any thread may call; a
 * signal handler may not. */
#ifndef PLUMB_ACTIVATION_H
#define PLUMB_ACTIVATION_H

#include <plumb/detail/activation.h>
#include <plumb/detail/client.h>
#include <plumb/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records the tensors in `value`, which is read before the call returns. A tensor inside a list or
 * a field appends its path to the label: "out[0].hidden". Values that are not tensors are ignored.
 * `node` 0: nothing is recorded. */
static inline void plumb_activation_value(plumb_node node, const char *label, plumb_value value)
{
    if (!plumb_activations_off_())
        plumb_activation_slow_(node, label, &value);
}
/* Records a tensor, which is read before the call returns. `tensor` NULL or `node` 0: nothing is
 * recorded. */
static inline void plumb_activation(plumb_node node, const char *label, const plumb_tensor *tensor)
{
    /* No value is made where nothing is recorded. */
    if (!plumb_activations_off_())
        plumb_activation_value(node, label, plumb_value_tensor(tensor));
}

/* ---- Arrays ----------------------------------------------------------------------------------
 * For programs without DLTensor. `data` holds contiguous elements in row-major order in host
 * memory; `shape` has `rank` sizes (NULL if rank is 0: a single value). Both are borrowed until the
 * call returns. float16 and bfloat16 are passed as 16-bit patterns of any C type. Cost while off:
 * as plumb_activation().
 *
 *     plumb_activation_f32(attn, "out", x, (const int64_t[]){tokens, width}, 2);             (C) */

/* `code`: DLDataTypeCode. */
static inline void plumb_activation_array_(plumb_node node, const char *label, uint32_t code,
                                           uint32_t bits, const void *data, const int64_t *shape,
                                           int32_t rank)
{
    if (!plumb_activations_off_())
        plumb_activation_array_slow_(node, label, code, bits, data, shape, rank);
}
/* Records an array of double, float, float16, bfloat16, int8, uint8, int32 or int64.
 *   node   the module; 0: nothing is recorded
 *   label  as above
 *   data   [shape[0]][shape[1]]...; NULL is recorded as an invalid tensor, unless a size is 0
 *   shape  [rank] sizes in elements, each 0 or more */
static inline void plumb_activation_f64(plumb_node node, const char *label, const double *data,
                                        const int64_t *shape, int32_t rank);
static inline void plumb_activation_f32(plumb_node node, const char *label, const float *data,
                                        const int64_t *shape, int32_t rank);
static inline void plumb_activation_f16(plumb_node node, const char *label, const void *data,
                                        const int64_t *shape, int32_t rank);
static inline void plumb_activation_bf16(plumb_node node, const char *label, const void *data,
                                         const int64_t *shape, int32_t rank);
static inline void plumb_activation_i8(plumb_node node, const char *label, const int8_t *data,
                                       const int64_t *shape, int32_t rank);
static inline void plumb_activation_u8(plumb_node node, const char *label, const uint8_t *data,
                                       const int64_t *shape, int32_t rank);
static inline void plumb_activation_i32(plumb_node node, const char *label, const int32_t *data,
                                        const int64_t *shape, int32_t rank);
static inline void plumb_activation_i64(plumb_node node, const char *label, const int64_t *data,
                                        const int64_t *shape, int32_t rank);

/* Defines one of them: elements of DLDataTypeCode `code` with `bits` bits. */
#define PLUMB_ACTIVATION_ARRAY_(name, type, code, bits)                                            \
    static inline void name(plumb_node node, const char *label, const type *data,                  \
                            const int64_t *shape, int32_t rank)                                    \
    {                                                                                              \
        plumb_activation_array_(node, label, code, bits, data, shape, rank);                       \
    }
PLUMB_ACTIVATION_ARRAY_(plumb_activation_f64, double, 2, 64)
PLUMB_ACTIVATION_ARRAY_(plumb_activation_f32, float, 2, 32)
PLUMB_ACTIVATION_ARRAY_(plumb_activation_f16, void, 2, 16)
PLUMB_ACTIVATION_ARRAY_(plumb_activation_bf16, void, 4, 16)
PLUMB_ACTIVATION_ARRAY_(plumb_activation_i8, int8_t, 0, 8)
PLUMB_ACTIVATION_ARRAY_(plumb_activation_u8, uint8_t, 1, 8)
PLUMB_ACTIVATION_ARRAY_(plumb_activation_i32, int32_t, 0, 32)
PLUMB_ACTIVATION_ARRAY_(plumb_activation_i64, int64_t, 0, 64)
#undef PLUMB_ACTIVATION_ARRAY_

/* ---- Callbacks of the program ---------------------------------------------------------------- */

/* Computes a custom statistic of `tensor`, a DLTensor whose values the host can read. Called on the
 * thread that records it, by several at a time. Returns 0 if `out` is set; otherwise it may write
 * the reason to `why` [size]. */
typedef int (*plumb_activation_stat_fn)(double *out, const void *tensor, char *why, size_t size,
                                        void *arg);
/* Receives every record as a line of JSON of `bytes` bytes, which lives until the function returns.
 * Called on one of plumb's own threads. */
typedef void (*plumb_activation_sink_fn)(const char *line, size_t bytes, void *arg);
/* Copies `bytes` from an address of device `device_index` to the host; returns 0 on success. Called
 * on the thread that records the tensor. */
typedef int (*plumb_activation_copy_fn)(void *to, const void *from, size_t bytes,
                                        int32_t device_index, void *arg);

/* Registers a statistic that PLUMB_ACTIVATIONS_STATS may name, for the life of the process: `fn`
 * and `arg` must stay. If `fn` fails for a tensor, the record's field for it contains the reason;
 * other fields are not affected. Errors: PLUMB_ERR_ARG: `fn` is NULL, or the name is in use, has 64
 * bytes or more, or contains anything but letters, digits and '_'; PLUMB_ERR_STATE: 32 are
 * registered already; PLUMB_ERR_MEMORY. */
static inline int plumb_activation_stat(const char *name, plumb_activation_stat_fn fn, void *arg,
                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_stat) ? api->activation_stat(name, fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}
/* Passes every record to `fn` too, which must not record activations itself. `fn` and `arg` must
 * stay until a call with NULL, which removes all such functions and waits for calls in flight.
 * Errors: PLUMB_ERR_STATE: there are 8 already. */
static inline int plumb_activation_sink(plumb_activation_sink_fn fn, void *arg, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_sink) ? api->activation_sink(fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}
/* Sets the function that copies tensors from devices of this type (DLDeviceType) to the host; NULL
 * removes it. `fn` and `arg` must stay until they are replaced and no record is being made. Errors:
 * PLUMB_ERR_STATE: there are functions for 16 types already. */
static inline int plumb_activation_copy(int32_t device_type, plumb_activation_copy_fn fn, void *arg,
                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_copy) ? api->activation_copy(device_type, fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}

#ifdef __cplusplus
}
#endif
#endif

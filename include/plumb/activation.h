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
 * us. An invalid tensor leaves a record that says why. Any thread may call; a signal handler may
 * not. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_ACTIVATION_H
#define PLUMB_ACTIVATION_H

/* Returns a value with the fields of a mapping or a struct. `fields` are borrowed until the call
 * that takes the value returns. */
static inline plumb_value plumb_value_fields(const plumb_field *fields, size_t count)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_FIELDS;
    v.count = !fields ? 0 : count > 0xffffffffu ? 0xffffffffu : (uint32_t)count;
    v.as.fields = fields;
    return v;
}

static inline plumb_hook plumb_hook_default(void)
{
    plumb_hook h;
    size_t i;
    for (i = 0; i < sizeof h; i++)
        ((unsigned char *)&h)[i] = 0;
    h.size = sizeof h;
    return h;
}

#if !defined(PLUMB_DISABLE)

#ifdef __cplusplus
extern "C" {
#endif

void plumb_activation_slow_(plumb_node node, const char *label,
                            const plumb_value *value) PLUMB_MERGED_;

/* The first call of a shared object finds the runtime, which switches later calls on and off. */
PLUMB_MERGED_ void plumb_activation_slow_(plumb_node node, const char *label,
                                          const plumb_value *value)
{
    const struct plumb_api *api = plumb_api_();
    if (!PLUMB_KNOWS_(api, activation)) {
        if (api || plumb_is_absent_())
            __atomic_store_n(&plumb_client_1.activations, (uint32_t)PLUMB_MODE_OFF,
                             __ATOMIC_RELAXED);
        return;
    }
    if (__atomic_load_n(&plumb_client_1.activations, __ATOMIC_RELAXED) == PLUMB_MODE_UNKNOWN)
        api->activation_register(&plumb_client_1);
    if (__atomic_load_n(&plumb_client_1.activations, __ATOMIC_RELAXED) == PLUMB_MODE_ON)
        api->activation(node, label, value);
}

/* Records the tensors in `value`. A tensor inside a list or a field appends its path to the label:
 * "out[0].hidden". Values that are not tensors are ignored. */
static inline void plumb_activation_value(plumb_node node, const char *label, plumb_value value)
{
    if (__builtin_expect(
            __atomic_load_n(&plumb_client_1.activations, __ATOMIC_RELAXED) != PLUMB_MODE_OFF, 0))
        plumb_activation_slow_(node, label, &value);
}
static inline void plumb_activation(plumb_node node, const char *label, const plumb_tensor *tensor)
{
    /* No value is made where nothing is recorded. */
    if (__builtin_expect(
            __atomic_load_n(&plumb_client_1.activations, __ATOMIC_RELAXED) != PLUMB_MODE_OFF, 0))
        plumb_activation_value(node, label, plumb_value_tensor(tensor));
}

/* ---- Arrays ----------------------------------------------------------------------------------
 * For programs without DLTensor. `data` holds contiguous elements in row-major order in host
 * memory; `shape` has `rank` sizes (NULL if rank is 0: a single value). Both are borrowed until the
 * call returns. float16 and bfloat16 are passed as 16-bit patterns of any C type. Cost while off:
 * as plumb_activation().
 *
 *     plumb_activation_f32(attn, "out", x, (const int64_t[]){tokens, width}, 2);             (C) */

/* Has the memory layout of DLTensor, which never changes. */
struct plumb_activation_tensor_ {
    const void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides;
    uint64_t byte_offset;
};
void plumb_activation_array_slow_(plumb_node node, const char *label, uint32_t code, uint32_t bits,
                                  const void *data, const int64_t *shape,
                                  int32_t rank) PLUMB_MERGED_;

PLUMB_MERGED_ void plumb_activation_array_slow_(plumb_node node, const char *label, uint32_t code,
                                                uint32_t bits, const void *data,
                                                const int64_t *shape, int32_t rank)
{
    plumb_value v = plumb_value_null();
    struct plumb_activation_tensor_ t;
    t.data = data;
    t.device_type = 1; /* kDLCPU */
    t.device_id = 0;
    t.ndim = rank;
    t.code = (uint8_t)code;
    t.bits = (uint8_t)bits;
    t.lanes = 1;
    t.shape = shape;
    t.strides = NULL;
    t.byte_offset = 0;
    v.kind = PLUMB_VALUE_TENSOR;
    v.as.tensor = &t;
    plumb_activation_slow_(node, label, &v);
}

/* `code`: DLDataTypeCode. */
static inline void plumb_activation_array_(plumb_node node, const char *label, uint32_t code,
                                           uint32_t bits, const void *data, const int64_t *shape,
                                           int32_t rank)
{
    if (__builtin_expect(
            __atomic_load_n(&plumb_client_1.activations, __ATOMIC_RELAXED) != PLUMB_MODE_OFF, 0))
        plumb_activation_array_slow_(node, label, code, bits, data, shape, rank);
}
/* void NAME(plumb_node node, const char *label, const TYPE *data, const int64_t *shape, int32_t
 * rank) records an array of elements of TYPE: DLDataTypeCode `code` with `bits` bits. */
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

/* Registers a statistic that PLUMB_ACTIVATIONS_STATS may name. If `fn` fails for a tensor, the
 * record's field for it contains the reason; other fields are not affected. PLUMB_ERR_ARG: the name
 * is in use, or contains anything but letters, digits and '_'; PLUMB_ERR_STATE: 32 are registered
 * already. */
static inline int plumb_activation_stat(const char *name, plumb_activation_stat_fn fn, void *arg,
                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_stat) ? api->activation_stat(name, fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}
/* Also passes every record to `fn`, which must not record activations itself. NULL removes all such
 * functions and waits for calls in flight. At most 8 (PLUMB_ERR_STATE). */
static inline int plumb_activation_sink(plumb_activation_sink_fn fn, void *arg, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_sink) ? api->activation_sink(fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}
/* Sets the function that copies tensors from devices of this type (DLDeviceType) to the host; NULL
 * removes it. */
static inline int plumb_activation_copy(int32_t device_type, plumb_activation_copy_fn fn, void *arg,
                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_copy) ? api->activation_copy(device_type, fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}

/* ---- Hooks of nodes ----------------------------------------------------------------------------
 * Called around every recorded run of a node on a thread, outside its two clock reads. A change
 * applies to runs that begin later: each hook whose `before` was called gets its `after`, also if
 * an outer end closes the run or plumb_stop() comes between, but not if the thread ends while the
 * run is open. Regions and async spans have no hooks. Hooks add about 0.1 us to a run. At most 16
 * for each node. PLUMB_ERR_ARG: the node has a hook of that name already (add), or none (get,
 * replace, remove), or `node` is 0. */
static inline int plumb_hook_change_(uint32_t change, plumb_node node, const char *name,
                                     plumb_hook *hook, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, node_hook) ? api->node_hook(change, node, name, hook, err)
                                        : PLUMB_ERR_ABSENT;
}
static inline int plumb_hook_add(plumb_node node, const plumb_hook *hook, plumb_error *err)
{
    plumb_hook copy = *hook;
    return plumb_hook_change_(PLUMB_HOOK_ADD, node, hook->name, &copy, err);
}
/* Replaces the hook of the same name; it keeps its position in the order. */
static inline int plumb_hook_replace(plumb_node node, const plumb_hook *hook, plumb_error *err)
{
    plumb_hook copy = *hook;
    return plumb_hook_change_(PLUMB_HOOK_REPLACE, node, hook->name, &copy, err);
}
static inline int plumb_hook_remove(plumb_node node, const char *name, plumb_error *err)
{
    return plumb_hook_change_(PLUMB_HOOK_REMOVE, node, name, NULL, err);
}
static inline int plumb_hook_get(plumb_hook *out, plumb_node node, const char *name,
                                 plumb_error *err)
{
    return plumb_hook_change_(PLUMB_HOOK_GET, node, name, out, err);
}

#ifdef __cplusplus
}
#endif
#endif
#endif

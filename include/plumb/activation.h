/* activation.h: tell plumb what layers give out (and take in). Part of plumb.h.
 *
 *     PLUMB_SPAN_AS(span, "attn");
 *     ...
 *     plumb_activation(attn, "out", &result);                            (a DLTensor)
 *     plumb_activation_f32(attn, "out", data, shape, rank);              (an array)
 *
 * With PLUMB_ACTIVATIONS=1 each call leaves a record: statistics of the values, read in one pass
 * before the call returns, with module, step, call, rank, shape and type, as a line of JSON
 * (docs/activations.md). The module is the dotted path of the nodes that are open on the thread
 * below the innermost stage, and `node` behind them, if it is not the last of them itself:
 * "block.3.attn". Inputs and outputs that stages tell of (signature.h) are recorded without a call
 * of their own, as "in.<name>" and "out.<name>" of the stage's name.
 *
 * Labels: "out" (NULL or ""), "in", "grad", a part of one ("out[1]", "out.hidden"), or anything;
 * what begins as "in" or "grad" is an input or a gradient. They are cut at 127 bytes.
 *
 * Off: one load and one branch; plumb_activation_value() takes a value, which the caller makes
 * before. On, where PLUMB_ACTIVATIONS_LAYERS does not choose the module: some 0.2 us. A tensor that
 * makes no sense leaves a record that says why. A thread calls for itself; not from signal
 * handlers. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_ACTIVATION_H
#define PLUMB_ACTIVATION_H

/* Fields of a mapping, or of a struct of the program's. Borrowed until the call that takes them
 * returns. */
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

/* The first call of a shared object finds the runtime, which switches from there on. */
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

/* Tensors inside of lists and fields have the label's path behind them: "out[0].hidden"; other
 * values are passed over. */
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
 * For programs that have no DLTensor: `rank` sizes of `shape` (NULL where rank is 0: a single
 * value), elements one behind the other in row-major order, in the host's memory. Borrowed until
 * the call returns. float16 and bfloat16 are whatever 16 bits the program keeps them in. Off: as
 * plumb_activation().
 *
 *     plumb_activation_f32(attn, "out", x, (const int64_t[]){tokens, width}, 2);             (C) */

/* Lies in memory as DLTensor does, which never changes. */
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
static inline void plumb_activation_f64(plumb_node node, const char *label, const double *data,
                                        const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 2, 64, data, shape, rank);
}
static inline void plumb_activation_f32(plumb_node node, const char *label, const float *data,
                                        const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 2, 32, data, shape, rank);
}
static inline void plumb_activation_f16(plumb_node node, const char *label, const void *data,
                                        const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 2, 16, data, shape, rank);
}
static inline void plumb_activation_bf16(plumb_node node, const char *label, const void *data,
                                         const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 4, 16, data, shape, rank);
}
static inline void plumb_activation_i8(plumb_node node, const char *label, const int8_t *data,
                                       const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 0, 8, data, shape, rank);
}
static inline void plumb_activation_u8(plumb_node node, const char *label, const uint8_t *data,
                                       const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 1, 8, data, shape, rank);
}
static inline void plumb_activation_i32(plumb_node node, const char *label, const int32_t *data,
                                        const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 0, 32, data, shape, rank);
}
static inline void plumb_activation_i64(plumb_node node, const char *label, const int64_t *data,
                                        const int64_t *shape, int32_t rank)
{
    plumb_activation_array_(node, label, 0, 64, data, shape, rank);
}

/* ---- What programs add ----------------------------------------------------------------------- */

/* A statistic that PLUMB_ACTIVATIONS_STATS may name from here on. A failure becomes the text of its
 * field, and of it alone. PLUMB_ERR_ARG: the name is taken, or not of letters, digits and '_';
 * PLUMB_ERR_STATE: 32 there are already. */
static inline int plumb_activation_stat(const char *name, plumb_activation_stat_fn fn, void *arg,
                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_stat) ? api->activation_stat(name, fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}
/* Who gets every record beside the file. It may not tell of activations itself. NULL: nobody any
 * more, and no call is under way when this returns. At most 8 (PLUMB_ERR_STATE). */
static inline int plumb_activation_sink(plumb_activation_sink_fn fn, void *arg, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_sink) ? api->activation_sink(fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}
/* How tensors of a kind of device (DLDeviceType) are brought to the host; NULL: not any more. */
static inline int plumb_activation_copy(int32_t device_type, plumb_activation_copy_fn fn, void *arg,
                                        plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, activation_copy) ? api->activation_copy(device_type, fn, arg, err)
                                              : PLUMB_ERR_ABSENT;
}

/* ---- Hooks of nodes ----------------------------------------------------------------------------
 * Called around every recorded run of a node on a thread, outside its two clock reads. Changes
 * count for runs that begin later: what was called before a run is called after it, also where an
 * outer end closes it or plumb_stop() comes between. (Not where its thread ends with it open.)
 * Regions and async spans have no hooks. A node with hooks costs some 0.1 us more. At most 16 a
 * node. PLUMB_ERR_ARG: a name that the node has already (add), or does not have (get, replace,
 * remove); no node. */
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
/* Keeps the place in the order. */
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

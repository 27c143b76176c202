/* activation.h: what stands between plumb/activation.h and the function table. */
#ifndef PLUMB_DETAIL_ACTIVATION_H
#define PLUMB_DETAIL_ACTIVATION_H

#include <plumb/detail/client.h>
#include <plumb/value.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PLUMB_DISABLE)

static inline int plumb_activations_off_(void)
{
    return 1;
}
static inline void plumb_activation_slow_(plumb_node node, const char *label,
                                          const plumb_value *value)
{
    (void)node;
    (void)label;
    (void)value;
}
static inline void plumb_activation_array_slow_(plumb_node node, const char *label, uint32_t code,
                                                uint32_t bits, const void *data,
                                                const int64_t *shape, int32_t rank)
{
    (void)node;
    (void)label;
    (void)code;
    (void)bits;
    (void)data;
    (void)shape;
    (void)rank;
}

#else

/* Returns 1 if activations are off for this object: the runtime has switched them off, or none was
 * found. */
static inline int plumb_activations_off_(void)
{
    return __builtin_expect(
        __atomic_load_n(&plumb_client_1.activations, __ATOMIC_RELAXED) == PLUMB_MODE_OFF, 1);
}

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

#endif

#ifdef __cplusplus
}
#endif
#endif

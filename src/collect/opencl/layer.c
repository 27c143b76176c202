/* layer.c: what the loader of OpenCL calls, for each layer that OPENCL_LAYERS lists. Without a
 * runtime of plumb in the process the layer changes nothing: its table is that of the next one. */
#include "collect/opencl/layer.h"

#include <string.h>

cl_icd_dispatch plumb_ocl_next;
static cl_icd_dispatch table;

#define EXPORTED __attribute__((visibility("default")))
#define NAME "plumb"

static cl_int answer(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret)
{
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

EXPORTED cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
                                           size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION)
        return answer(&version, sizeof version, size, value, size_ret);
    if (what == CL_LAYER_NAME)
        return answer(NAME, sizeof NAME, size, value, size_ret);
    return CL_INVALID_VALUE;
}

/* The loader may know fewer functions than this layer, or more: those that only one of both knows
 * pass by. */
EXPORTED cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                        cl_uint *count_ret, const cl_icd_dispatch **table_ret)
{
    const cl_uint known = sizeof table / sizeof(void *);
    cl_uint n = count < known ? count : known;
    if (!target || !count_ret || !table_ret)
        return CL_INVALID_VALUE;
    memcpy(&plumb_ocl_next, target, n * sizeof(void *));
    table = plumb_ocl_next;
    if (plumb_ocl_session_begin()) {
        plumb_ocl_queue_hooks(&table);
        plumb_ocl_enqueue_hooks(&table);
        plumb_ocl_image_hooks(&table);
        plumb_ocl_wait_hooks(&table);
    }
    *table_ret = &table;
    *count_ret = n;
    return CL_SUCCESS;
}

/* view.c: the fields of a DLTensor, checked before any code computes with them.
 *
 * Owns the rules of a sound descriptor. After plumb_view_init() these hold and are not checked
 * again: `count` is the product of the shape; every element lies within INT64_MAX bytes of the
 * first, and none wraps round the end of the address space. Only the program knows whether the
 * memory is there. Pure, any thread. */
#include "tensor/view.h"

#include <inttypes.h>

#include "base/error.h"
#include "tensor/dl_tensor.h"

/* ---- Checks ---------------------------------------------------------------------------------- */

static int check_shape(const struct plumb_dl_tensor *t, plumb_error *err)
{
    if (t->ndim < 0 || t->ndim > PLUMB_VIEW_MAX_DIMS)
        return plumb_fail(err, PLUMB_ERR_ARG, "the tensor has %" PRId32 " dimensions, not 0 to %d",
                          t->ndim, PLUMB_VIEW_MAX_DIMS);
    if (t->ndim > 0 && !t->shape)
        return plumb_fail(err, PLUMB_ERR_ARG, "the tensor has %" PRId32 " dimensions and no shape",
                          t->ndim);
    for (int32_t i = 0; i < t->ndim; i++)
        if (t->shape[i] < 0)
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "dimension %" PRId32 " of the tensor has size %" PRId64, i,
                              t->shape[i]);
    if (plumb_dtype_element_bits(t->dtype) == 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "the tensor has elements of %d bits in %d lanes",
                          t->dtype.bits, t->dtype.lanes);
    return PLUMB_OK;
}

static bool has_no_elements(const struct plumb_dl_tensor *t)
{
    for (int32_t i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0)
            return true;
    return false;
}

static int count_elements(struct plumb_view *view, plumb_error *err)
{
    uint64_t count = 1;
    for (int32_t i = 0; i < view->ndim; i++) {
        uint64_t size = (uint64_t)view->shape[i];
        if (count > UINT64_MAX / size)
            goto too_large;
        count *= size;
    }
    if (plumb_dtype_bytes(&view->bytes, view->dtype, count)) {
        view->count = count;
        return PLUMB_OK;
    }
too_large:
    return plumb_fail(err, PLUMB_ERR_ARG,
                      "the shape of the tensor is too large for 2^63 - 1 bytes");
}

/* Bytes from the first element down to the lowest and up to the end of the highest. */
static bool find_extent(const struct plumb_view *view, uint64_t *below, uint64_t *above)
{
    uint64_t element = ((uint64_t)plumb_dtype_element_bits(view->dtype) + 7) / 8;
    uint64_t room = INT64_MAX - element;
    *below = 0;
    *above = view->strides ? element : view->bytes;
    for (int32_t i = 0; view->strides && i < view->ndim; i++) {
        uint64_t steps = (uint64_t)view->shape[i] - 1;
        int64_t stride = view->strides[i];
        uint64_t size = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
        if (steps == 0 || size == 0)
            continue;
        if (size > room / steps / element)
            return false;
        uint64_t reach = steps * size * element;
        room -= reach;
        *(stride < 0 ? below : above) += reach;
    }
    return true;
}

static int check_addresses(const struct plumb_view *view, uint64_t byte_offset, plumb_error *err)
{
    uint64_t address = (uintptr_t)view->data;
    uint64_t below;
    uint64_t above;
    if (view->count == 0)
        return PLUMB_OK;
    if (!find_extent(view, &below, &above))
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "the strides of the tensor reach further than 2^63 - 1 bytes");
    if (!view->data)
        return PLUMB_OK;
    if (byte_offset > UINTPTR_MAX - address || below > address + byte_offset ||
        above > UINTPTR_MAX - (address + byte_offset))
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "the tensor reaches out of the address space: data 0x%" PRIx64
                          ", byte_offset %" PRIu64 ", %" PRIu64 " bytes below and %" PRIu64
                          " above it",
                          address, byte_offset, below, above);
    return PLUMB_OK;
}

int plumb_view_init(struct plumb_view *out, const void *tensor, plumb_error *err)
{
    const struct plumb_dl_tensor *t = tensor;
    int rc;
    if (!t)
        return plumb_fail(err, PLUMB_ERR_ARG, "the tensor is NULL");
    if ((rc = check_shape(t, err)) < 0)
        return rc;
    struct plumb_view view = {
        .data = t->data,
        .device = t->device,
        .dtype = t->dtype,
        .ndim = t->ndim,
        .shape = t->shape,
        .strides = t->strides,
    };
    if (!has_no_elements(t) && (rc = count_elements(&view, err)) < 0)
        return rc;
    if ((rc = check_addresses(&view, t->byte_offset, err)) < 0)
        return rc;
    if (view.data && view.count > 0)
        view.data = (const unsigned char *)((uintptr_t)t->data + t->byte_offset);
    *out = view;
    return PLUMB_OK;
}

/* ---- Questions ------------------------------------------------------------------------------- */

bool plumb_view_is_compact(const struct plumb_view *view)
{
    int64_t expected = 1;
    if (!view->strides || view->count == 0)
        return true;
    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        if (view->shape[i] != 1 && view->strides[i] != expected)
            return false;
        expected *= view->shape[i];
    }
    return true;
}

bool plumb_view_span(const struct plumb_view *view, uint64_t *below, uint64_t *bytes)
{
    uint64_t above;
    if (view->dtype.bits % 8 != 0 || view->count == 0 || !find_extent(view, below, &above))
        return false;
    *bytes = *below + above;
    return true;
}

int plumb_view_readable(const struct plumb_view *view, plumb_error *err)
{
    char name[PLUMB_DL_DEVICE_NAME_MAX];
    char type[PLUMB_DTYPE_NAME_MAX];
    if (view->count == 0)
        return PLUMB_OK;
    if (!plumb_dl_device_is_host(view->device))
        return plumb_fail(err, PLUMB_ERR_ARG, "the tensor lies in memory of %s",
                          plumb_dl_device_name(name, view->device));
    if (!view->data)
        return plumb_fail(err, PLUMB_ERR_ARG, "the tensor has no data");
    if (view->dtype.bits % 8 != 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "elements of %s do not fill whole bytes",
                          plumb_dtype_name(type, view->dtype));
    return PLUMB_OK;
}

/* ---- Walking --------------------------------------------------------------------------------- */

/* Adds a dimension, where it belongs among those that are sorted by falling stride. */
static void insert(struct plumb_walk *w, int64_t size, int64_t stride_bytes)
{
    int i = w->outer++;
    for (; i > 0 && w->stride_bytes[i - 1] < stride_bytes; i--) {
        w->size[i] = w->size[i - 1];
        w->stride_bytes[i] = w->stride_bytes[i - 1];
    }
    w->size[i] = size;
    w->stride_bytes[i] = stride_bytes;
}

/* Joins each dimension with the one inside it, where the outer one begins as the inner one ends. */
static void join(struct plumb_walk *w)
{
    int kept = w->outer - 1; /* the innermost of those that are done lie at [kept, outer) */
    for (int i = w->outer - 2; i >= 0; i--) {
        uint64_t end = (uint64_t)w->stride_bytes[kept] * (uint64_t)w->size[kept];
        if ((uint64_t)w->stride_bytes[i] == end) {
            w->size[kept] *= w->size[i];
        } else {
            kept--;
            w->size[kept] = w->size[i];
            w->stride_bytes[kept] = w->stride_bytes[i];
        }
    }
    for (int i = kept; i < w->outer; i++) {
        w->size[i - kept] = w->size[i];
        w->stride_bytes[i - kept] = w->stride_bytes[i];
    }
    w->outer -= kept;
}

static void add_dimensions(struct plumb_walk *w, const struct plumb_view *view, int64_t element)
{
    int64_t compact = 1;
    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        int64_t size = view->shape[i];
        int64_t stride = view->strides ? view->strides[i] : compact;
        if (!view->strides)
            compact *= size;
        if (size == 1)
            continue;
        if (stride == 0) {
            w->repeat *= (uint64_t)size;
            continue;
        }
        if (stride < 0) {
            w->at += (size - 1) * stride * element;
            stride = -stride;
        }
        insert(w, size, stride * element);
    }
}

void plumb_walk_init(struct plumb_walk *walk, const struct plumb_view *view)
{
    int64_t scalar = view->dtype.bits / 8;
    *walk = (struct plumb_walk){.at = view->data, .repeat = 1};
    if (view->count == 0)
        return;
    add_dimensions(walk, view, scalar * view->dtype.lanes);
    if (view->dtype.lanes > 1)
        insert(walk, view->dtype.lanes, scalar);
    walk->run_length = 1;
    walk->run_stride_bytes = (uint64_t)scalar;
    if (walk->outer == 0)
        return;
    join(walk);
    walk->outer--;
    walk->run_length = (uint64_t)walk->size[walk->outer];
    walk->run_stride_bytes = (uint64_t)walk->stride_bytes[walk->outer];
}

bool plumb_walk_next(struct plumb_walk *w)
{
    for (int i = w->outer - 1; i >= 0; i--) {
        if (++w->index[i] < w->size[i]) {
            w->at += w->stride_bytes[i];
            return true;
        }
        w->at -= (w->size[i] - 1) * w->stride_bytes[i];
        w->index[i] = 0;
    }
    return false;
}

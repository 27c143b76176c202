/* row_major.c: see row_major.h. */
#include "tensor/row_major.h"

#include <string.h>

static int64_t stride_of(const struct plumb_view *view, int32_t dim)
{
    int64_t stride = 1;
    if (view->strides)
        return view->strides[dim];
    for (int32_t i = view->ndim - 1; i > dim; i--)
        stride *= view->shape[i];
    return stride;
}

void plumb_row_major_init(struct plumb_row_major *rows, const struct plumb_view *view)
{
    memset(rows, 0, sizeof *rows);
    rows->view = view;
    rows->at = view->data;
    rows->left = view->count;
    rows->element_bytes = plumb_dtype_element_bits(view->dtype) / 8;
}

/* On to the next element of the dimensions from `dim` up. */
static void carry(struct plumb_row_major *rows, int32_t dim)
{
    const struct plumb_view *v = rows->view;
    for (int32_t i = dim; i >= 0; i--) {
        int64_t bytes = stride_of(v, i) * (int64_t)rows->element_bytes;
        if (++rows->index[i] < v->shape[i]) {
            rows->at += bytes;
            return;
        }
        rows->at -= (v->shape[i] - 1) * bytes;
        rows->index[i] = 0;
    }
}

/* Copies `bytes` between the view's memory and the caller's. */
static void copy(const unsigned char *at, unsigned char *memory, size_t bytes, bool write)
{
    if (write)
        memcpy((unsigned char *)(uintptr_t)at, memory, bytes);
    else
        memcpy(memory, at, bytes);
}

static size_t copy_compact(struct plumb_row_major *rows, unsigned char *memory, uint64_t n,
                           bool write)
{
    copy(rows->at, memory, n * rows->element_bytes, write);
    rows->at += n * rows->element_bytes;
    rows->left -= n;
    return n * rows->element_bytes;
}

static size_t copy_elements(struct plumb_row_major *rows, unsigned char *memory, size_t size,
                            bool write)
{
    const struct plumb_view *v = rows->view;
    size_t bytes = rows->element_bytes;
    uint64_t room = size / bytes;
    unsigned char *to = memory;
    int32_t last = v->ndim - 1;
    if (room > rows->left)
        room = rows->left;
    if (room == 0)
        return 0;
    if (plumb_view_is_compact(v))
        return copy_compact(rows, memory, room, write);
    int64_t step = stride_of(v, last) * (int64_t)bytes;
    while (room > 0) {
        uint64_t n = (uint64_t)(v->shape[last] - rows->index[last]);
        if (n > room)
            n = room;
        for (uint64_t i = 0; i < n; i++, to += bytes)
            copy(rows->at + (int64_t)i * step, to, bytes, write);
        room -= n;
        rows->left -= n;
        rows->index[last] += (int64_t)n - 1;
        rows->at += ((int64_t)n - 1) * step;
        carry(rows, last);
    }
    return (size_t)(to - memory);
}

size_t plumb_row_major_read(struct plumb_row_major *rows, void *to, size_t size)
{
    return copy_elements(rows, to, size, false);
}

size_t plumb_row_major_write(struct plumb_row_major *rows, const void *from, size_t size)
{
    return copy_elements(rows, (unsigned char *)(uintptr_t)from, size, true);
}

const unsigned char *plumb_view_scalar(const struct plumb_view *view, uint64_t i)
{
    size_t scalar = view->dtype.bits / 8;
    const unsigned char *at = view->data + i % view->dtype.lanes * scalar;
    uint64_t element = i / view->dtype.lanes;
    for (int32_t dim = view->ndim - 1; dim >= 0; dim--) {
        uint64_t size = (uint64_t)view->shape[dim];
        at +=
            (int64_t)(element % size) * stride_of(view, dim) * (int64_t)scalar * view->dtype.lanes;
        element /= size;
    }
    return at;
}

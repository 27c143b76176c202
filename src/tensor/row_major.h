/* row_major.h: the elements of a view in row-major order, whatever its strides. Any thread; no
 * allocation. */
#ifndef PLUMB_TENSOR_ROW_MAJOR_H
#define PLUMB_TENSOR_ROW_MAJOR_H

#include <stddef.h>

#include "tensor/view.h"

struct plumb_row_major {
    const struct plumb_view *view; /* borrowed */
    const unsigned char *at;       /* the next element */
    uint64_t left;                 /* elements */
    size_t element_bytes;
    int64_t index[PLUMB_VIEW_MAX_DIMS];
};

/* Stands at the first element of a readable view. */
void plumb_row_major_init(struct plumb_row_major *rows, const struct plumb_view *view);
/* Copies the next elements, as many as fit whole into `size` bytes; the bytes written, 0 at the
 * end. `size` must hold one element. */
size_t plumb_row_major_read(struct plumb_row_major *rows, void *to, size_t size);

/* Copies whole elements from `from` over the next ones, at most `size` bytes of them; the bytes
 * read, 0 at the end. Where elements share an address the last one stays. The memory of the view
 * must be the caller's to write to. */
size_t plumb_row_major_write(struct plumb_row_major *rows, const void *from, size_t size);

/* Where scalar `i` (of count * lanes) in row-major order lies. */
const unsigned char *plumb_view_scalar(const struct plumb_view *view, uint64_t i);

#endif

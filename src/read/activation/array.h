/* array.h: what the readers of arrays share. */
#ifndef PLUMB_READ_ACTIVATION_ARRAY_H
#define PLUMB_READ_ACTIVATION_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "read/activation/parts.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

struct plumb_activation_array {
    struct plumb_dtype dtype;
    size_t ndim;
    int64_t shape[PLUMB_VIEW_MAX_DIMS];
    bool fortran;
    uint64_t offset, bytes; /* in the file */
};

/* Bytes of the elements; false: more than any file has. */
bool plumb_activation_array_bytes(const struct plumb_activation_array *a, uint64_t *out);

/* Appends `r`, which has its names, as the record of an array whose values are at `data`, with
 * their statistics unless `from` is bare. PLUMB_ERR_FORMAT: they cannot be had. */
int plumb_activation_array_add(const struct plumb_activation_source *from,
                               struct plumb_activation *r, const struct plumb_activation_array *a,
                               const unsigned char *data, plumb_error *err);

#endif

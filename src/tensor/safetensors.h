/* safetensors.h: the element types of .safetensors files. The format: 8 bytes with the length of a
 * header, which is JSON, then the values, little-endian, row-major, in the order of the header.
 * Pure. */
#ifndef PLUMB_TENSOR_SAFETENSORS_H
#define PLUMB_TENSOR_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/dtype.h"

/* Returns the format's name of a type ("BF16"); NULL: it has none, as complex numbers, vectors and
 * types that DLPack does not name. */
const char *plumb_safetensors_name(struct plumb_dtype type);

/* Sets the type of the name of `size` bytes. False: the format, or plumb, does not have it. */
bool plumb_safetensors_type(struct plumb_dtype *out, const char *name, size_t size);

#endif

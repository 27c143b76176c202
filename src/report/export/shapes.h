/* shapes.h: the inputs that a span records (arguments "input.NAME": "float32[2,3]") as the two
 * lists that PyTorch's recorder makes of them. */
#ifndef PLUMB_REPORT_EXPORT_SHAPES_H
#define PLUMB_REPORT_EXPORT_SHAPES_H

#include "read/trace/table.h"

enum { PLUMB_EXPORT_SHAPES_MAX = 2048 };

struct plumb_export_shapes {
    char dims[PLUMB_EXPORT_SHAPES_MAX];  /* JSON: [[2,3],[]] */
    char types[PLUMB_EXPORT_SHAPES_MAX]; /* JSON: ["float32",""] */
};

/* Reads the args [from, to) of a slice. An arg that is not a tensor gets an empty shape and an
 * empty type. False: there are no tensors among them, or more than the lists hold. */
bool plumb_export_shapes(const struct plumb_table *t, uint32_t from, uint32_t to,
                         struct plumb_export_shapes *out);

#endif

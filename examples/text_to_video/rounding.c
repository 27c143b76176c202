/* Owns the copies between element types. Rows whose elements lie side by side have loops of their
 * own, which a compiler may turn into vectors. */
#include "rounding.h"

static void to_f32(enum element type, const uint16_t *from, float *to, int64_t n)
{
    for (int64_t i = 0; type == ELEMENT_BF16 && i < n; i++)
        to[i] = element_from_bf16(from[i]);
    for (int64_t i = 0; type == ELEMENT_F16 && i < n; i++)
        to[i] = element_from_f16(from[i]);
}

static void from_f32(enum element type, const float *from, uint16_t *to, int64_t n)
{
    for (int64_t i = 0; type == ELEMENT_BF16 && i < n; i++)
        to[i] = element_to_bf16(from[i]);
    for (int64_t i = 0; type == ELEMENT_F16 && i < n; i++)
        to[i] = element_to_f16(from[i]);
}

/* The last axis, from the given elements on. */
static void copy_row(const struct tensor *from, int64_t at_from, const struct tensor *to,
                     int64_t at_to)
{
    int last = from->ndims - 1;
    int64_t n = from->dims[last];
    bool side_by_side = from->strides[last] == 1 && to->strides[last] == 1;

    if (side_by_side && from->type == ELEMENT_F32 && to->type != ELEMENT_F32) {
        from_f32(to->type, (const float *)from->data + at_from, (uint16_t *)to->data + at_to, n);
    } else if (side_by_side && from->type != ELEMENT_F32 && to->type == ELEMENT_F32) {
        to_f32(from->type, (const uint16_t *)from->data + at_from, (float *)to->data + at_to, n);
    } else {
        for (int64_t i = 0; i < n; i++)
            tensor_put(to, at_to + i * to->strides[last],
                       tensor_get(from, at_from + i * from->strides[last]));
    }
}

static void copy_axes(const struct tensor *from, int64_t at_from, const struct tensor *to,
                      int64_t at_to, int axis)
{
    if (axis == from->ndims - 1) {
        copy_row(from, at_from, to, at_to);
        return;
    }
    for (int64_t i = 0; i < from->dims[axis]; i++)
        copy_axes(from, at_from + i * from->strides[axis], to, at_to + i * to->strides[axis],
                  axis + 1);
}

void rounding_copy(struct nn *nn, const struct tensor *from, const struct tensor *to)
{
    if (!nn_failed(nn))
        copy_axes(from, 0, to, 0, 0);
}

struct tensor rounding_room(struct nn *nn, const struct tensor *t)
{
    return t->type == ELEMENT_F32 ? *t : nn_tensor_of(nn, ELEMENT_F32, t->ndims, t->dims);
}

struct tensor rounding_widen(struct nn *nn, const struct tensor *t)
{
    struct tensor wide = rounding_room(nn, t);

    if (t->type != ELEMENT_F32)
        rounding_copy(nn, t, &wide);
    return wide;
}

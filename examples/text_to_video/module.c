/* Owns the stack of names in nn, and the calls that record tensors with plumb. */
#include "module.h"

#include "fault.h"

#include <stdio.h>
#include <string.h>

plumb_span module_enter(struct nn *nn, const char *name)
{
    if (nn->depth < NN_MAX_DEPTH)
        nn->modules[nn->depth] = name;
    else
        nn_fail(nn, "modules nest more than %d deep", NN_MAX_DEPTH);
    nn->depth++;
    return plumb_begin_node(plumb_node_get(name));
}

void module_leave(struct nn *nn, plumb_span span)
{
    nn->depth--;
    plumb_end(span);
}

static void tell(const struct nn *nn, const char *leaf, const char *label, const struct tensor *x)
{
    struct tensor copy = *x;
    DLTensor tensor = tensor_dlpack(&copy);
    const char *name = leaf ? leaf : nn->modules[nn->depth - 1];

    if (!nn_failed(nn))
        plumb_activation(plumb_node_get(name), label, &tensor);
}

void module_in(struct nn *nn, const char *label, const struct tensor *x)
{
    tell(nn, NULL, label, x);
}

void module_numbers(struct nn *nn, const char *leaf, const int32_t *numbers, int64_t count)
{
    DLTensor tensor = {.data = (void *)(uintptr_t)numbers,
                       .device = {.device_type = kDLCPU},
                       .ndim = 1,
                       .dtype = {.code = kDLInt, .bits = 32, .lanes = 1},
                       .shape = &count};

    if (!nn_failed(nn))
        plumb_activation(plumb_node_get(leaf), "in", &tensor);
}

void module_leaf(struct nn *nn, const char *leaf, const struct tensor *x)
{
    fault_spoil(nn, leaf, x);
    tell(nn, leaf, "out", x);
}

void module_out(struct nn *nn, const struct tensor *x)
{
    module_leaf(nn, NULL, x);
}

void module_name(const struct nn *nn, const char *leaf, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (int i = 0; i < nn->depth + (leaf != NULL) && i <= NN_MAX_DEPTH && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? "." : "",
                               i < nn->depth ? nn->modules[i] : leaf);
}

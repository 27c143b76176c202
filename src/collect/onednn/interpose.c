/* interpose.c: the two functions of oneDNN that programs are given instead of its own, because this
 * library is preloaded: one runs a primitive, the other one destroys it. Arguments and results are
 * passed on as they are.
 *
 * Which copy of oneDNN is meant depends on the caller (load.h), so both look at their return
 * address. */
#include "collect/onednn/load.h"
#include "collect/onednn/session.h"
#include "collect/onednn/table.h"

#define FACE __attribute__((visibility("default")))

FACE int dnnl_primitive_execute(const void *primitive, void *stream, int nargs,
                                const struct plumb_dnnl_exec_arg *args);
FACE int dnnl_primitive_destroy(void *primitive);

FACE int dnnl_primitive_execute(const void *primitive, void *stream, int nargs,
                                const struct plumb_dnnl_exec_arg *args)
{
    const struct plumb_dnnl *d = plumb_dnnl_of(__builtin_return_address(0));
    const struct plumb_dnnl_call call = {primitive, stream, nargs, args};
    struct plumb_onednn_span span;
    int status;
    if (!d)
        return PLUMB_DNNL_RUNTIME_ERROR;
    if (!primitive || !plumb_onednn_begin(&span, d, &call))
        return d->execute(primitive, stream, nargs, args);
    status = d->execute(primitive, stream, nargs, args);
    plumb_onednn_end(&span, status == PLUMB_DNNL_OK);
    return status;
}

FACE int dnnl_primitive_destroy(void *primitive)
{
    const struct plumb_dnnl *d = plumb_dnnl_of(__builtin_return_address(0));
    if (!d)
        return PLUMB_DNNL_RUNTIME_ERROR;
    plumb_onednn_forget(primitive);
    return d->destroy(primitive);
}

__attribute__((constructor)) static void meet_the_runtime(void)
{
    plumb_onednn_meet(false);
}

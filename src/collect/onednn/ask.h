/* ask.h: asks oneDNN what a primitive is. Calls the query functions of the copy that it belongs to,
 * which do not change it. Any thread that may use the primitive. */
#ifndef PLUMB_COLLECT_ONEDNN_ASK_H
#define PLUMB_COLLECT_ONEDNN_ASK_H

#include "collect/onednn/load.h"
#include "collect/onednn/op.h"

/* Fills `out` wholly. Shapes are those of the operands of this call. A query that fails leaves
 * its field empty. Cost: one to two microseconds. */
void plumb_onednn_ask(struct plumb_onednn_op *out, const struct plumb_dnnl *d,
                      const struct plumb_dnnl_call *call);

#endif

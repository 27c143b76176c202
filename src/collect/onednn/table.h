/* table.h: what is known of primitives, so that a call does not ask again.
 *
 * Two tables, both bounded, read without a lock, and kept for the life of the process:
 *   facts       one for each different operation: names as interned, FLOPs, bytes. A program that
 *               makes the same primitive for each call (PyTorch does) finds them here
 *   primitives  the address of a primitive -> its facts; forgotten when it is destroyed
 * Where the facts are full, 4095 of them, an operation is described without its shapes; where the
 * primitives are, an older one is asked about again. Any thread. */
#ifndef PLUMB_COLLECT_ONEDNN_TABLE_H
#define PLUMB_COLLECT_ONEDNN_TABLE_H

#include "collect/onednn/load.h"
#include "collect/onednn/op.h"
#include <plumb/detail/abi.h>

struct plumb_onednn_facts {
    plumb_name name, impl, shapes, types, details; /* 0: none */
    uint32_t known;                                /* enum plumb_onednn_known */
    int64_t flops, bytes;
};
enum plumb_onednn_known { PLUMB_ONEDNN_FLOPS = 1, PLUMB_ONEDNN_BYTES = 2 };

/* Finds, otherwise asks for and keeps, the facts of a call. `name_get` interns a text. */
void plumb_onednn_facts_of(struct plumb_onednn_facts *out, const struct plumb_dnnl *d,
                           const struct plumb_dnnl_call *call,
                           plumb_name (*name_get)(const char *text));

/* The primitive is destroyed: another one may get its address. */
void plumb_onednn_forget(const void *primitive);

#endif

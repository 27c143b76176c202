/* signature_pack.h: the inputs and outputs of a stage as one piece of bytes: its form in a live
 * mapping, and how it is made in place, without allocating, while the stage runs.
 *
 *     plumb_pack_begin(p, PLUMB_PACK_INPUT, "latents");
 *     plumb_pack_value(p, &value);        or plumb_pack_list(p, n) and then n values or lists,
 *                                         or plumb_pack_fields(p, n) and then n names and values
 *     plumb_pack_end(p);
 *
 * Bytes are of the machine that wrote them, and not aligned. One thread at a time. */
#ifndef PLUMB_MODEL_SIGNATURE_PACK_H
#define PLUMB_MODEL_SIGNATURE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/signature.h"

enum plumb_pack_part { PLUMB_PACK_INPUT = 0, PLUMB_PACK_OUTPUT = 1, PLUMB_PACK_METADATA = 2 };
enum {
    PLUMB_PACK_BYTES = 65408, /* the struct with its head is less than 64 KiB */
    PLUMB_PACK_NAME = 255,    /* longer names and texts are cut */
    PLUMB_PACK_TEXT = 4000,
    PLUMB_PACK_DIMS = 64,
    PLUMB_PACK_FIELDS = 1024 /* of one mapping in a list */
};

struct plumb_pack {
    uint32_t used;    /* bytes of whole items */
    uint32_t dropped; /* items that did not fit */
    uint32_t busy;    /* for the owner's use: an item is being added */
    uint32_t part;    /* of the item being added */
    uint32_t end;     /* bytes with it */
    bool full;        /* it does not fit */
    unsigned char bytes[PLUMB_PACK_BYTES];
};

void plumb_pack_reset(struct plumb_pack *p);
void plumb_pack_begin(struct plumb_pack *p, enum plumb_pack_part part, const char *name);
/* Anything but a list or a mapping. */
void plumb_pack_value(struct plumb_pack *p, const struct plumb_signature_value *v);
void plumb_pack_list(struct plumb_pack *p, uint32_t count);
void plumb_pack_fields(struct plumb_pack *p, uint32_t count);
void plumb_pack_field(struct plumb_pack *p, const char *name);
/* Replaces an earlier item of that part and name. An item that does not fit is counted. */
void plumb_pack_end(struct plumb_pack *p);

/* Never 0. Equal for equal names, types, shapes, strides and devices of inputs and outputs,
 * whatever the values. */
uint64_t plumb_pack_form(const unsigned char *bytes, size_t size);

/* Fills inputs, outputs and metadata of `out`; everything is copied into `arena`. False: no such
 * bytes, or no memory (then the arena says so); `out` is empty then. `bytes` may be anything. */
bool plumb_pack_read(struct plumb_signature_call *out, struct plumb_arena *arena,
                     const unsigned char *bytes, size_t size);

#endif

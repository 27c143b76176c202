/* signature_live.h: converts the signatures of a live mapping to the model of model/signature.h. */
#ifndef PLUMB_LIVE_SIGNATURE_LIVE_H
#define PLUMB_LIVE_SIGNATURE_LIVE_H

#include <stddef.h>

#include "model/signature.h"

/* Fills `out` (plumb_signature_init() done) from a whole mapping, which may be a damaged file:
 * invalid entries are left out. Texts are copied. Errors: PLUMB_ERR_FORMAT: no mapping of this
 * version; PLUMB_ERR_MEMORY. */
int plumb_live_to_signature(struct plumb_signature *out, const unsigned char *base, size_t bytes,
                            plumb_error *err);

#endif

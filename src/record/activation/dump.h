/* dump.h: passes a tensor to the thread that writes it to a file of its own. One at a time. The
 * program's thread waits, because the memory is the program's, but not for a stalled disk. */
#ifndef PLUMB_RECORD_ACTIVATION_DUMP_H
#define PLUMB_RECORD_ACTIVATION_DUMP_H

#include "base/buf.h"
#include "base/text/sanitize.h"
#include "record/activation/activation.h"

struct plumb_act_dump {
    struct plumb_buf header; /* JSON */
    char name[1200], safe[PLUMB_SAFE_NAME_MAX + 1], folder[1300];
    uint64_t call;
    struct plumb_view view; /* of the program's memory */
};

/* Returns the structure to fill in, which is the caller's until plumb_act_dump_end(). NULL, with
 * *why: an earlier tensor has not been written yet, or there is no memory. Not a cancellation
 * point. */
struct plumb_act_dump *plumb_act_dump_begin(enum plumb_act_dump_why *why);
/* Has the tensor written, if `good`. After it returns the tensor is no longer read. Returns
 * PLUMB_ACT_DUMP_WHYS if the tensor is kept. */
enum plumb_act_dump_why plumb_act_dump_end(struct plumb_act_dump *d, bool good);

#endif

/* dump.h: a tensor on its way to a file of its own. One at a time; the thread that tells
 * of the tensor waits, because the memory is the program's, but not for a disk that takes nothing.
 */
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

/* The one that is to be filled in, the caller's until plumb_act_dump_end(). NULL, and *why: the
 * disk has not taken one that was given before, or there is no memory. No cancellation. */
struct plumb_act_dump *plumb_act_dump_begin(enum plumb_act_dump_why *why);
/* Has it written, if `good`. When this returns nobody reads the tensor any more.
 * PLUMB_ACT_DUMP_WHYS: it is kept. */
enum plumb_act_dump_why plumb_act_dump_end(struct plumb_act_dump *d, bool good);

#endif

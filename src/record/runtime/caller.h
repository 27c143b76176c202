/* caller.h: where the program called a function of the table: what it returns to, which lies in the
 * function with the mark, and that function's frame pointer. Both are values: the frame of the
 * function of the table is gone when it ends in a tail call. */
#ifndef PLUMB_RECORD_RUNTIME_CALLER_H
#define PLUMB_RECORD_RUNTIME_CALLER_H

#include <stdint.h>

struct plumb_caller {
    uintptr_t address, frame;
};

/* In a function of the table. */
#define PLUMB_CALLER() PLUMB_CALLER_OF(__builtin_return_address(0))
/* In one that it calls, with what it returns to; it has kept the program's frame pointer until
 * then, or its own frame leads there. */
#define PLUMB_CALLER_OF(address_)                                                                  \
    ((struct plumb_caller){(uintptr_t)(address_), *(const uintptr_t *)__builtin_frame_address(0)})
/* Makes a function keep a frame, so that the one before it is found from what it calls. */
#define PLUMB_KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

#endif

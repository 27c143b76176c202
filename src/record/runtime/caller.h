/* caller.h: where the program called a function of the table: the return address, which lies in the
 * marked function, and that function's frame pointer. Both are values: the frame of the function of
 * the table is gone when it ends in a tail call. */
#ifndef PLUMB_RECORD_RUNTIME_CALLER_H
#define PLUMB_RECORD_RUNTIME_CALLER_H

#include <stdint.h>

struct plumb_caller {
    uintptr_t address, frame;
};

/* For use in a function of the table. */
#define PLUMB_CALLER() PLUMB_CALLER_OF(__builtin_return_address(0))
/* For use in a function that it calls, with the return address of the former. Until then the former
 * has kept the program's frame pointer, or its own frame leads to it. */
#define PLUMB_CALLER_OF(address_)                                                                  \
    ((struct plumb_caller){(uintptr_t)(address_), *(const uintptr_t *)__builtin_frame_address(0)})
/* Makes a function keep a frame, so that its caller's frame is found from the functions that it
 * calls. */
#define PLUMB_KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

#endif

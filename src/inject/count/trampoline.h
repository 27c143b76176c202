/* trampoline.h: the code between a caller and a counted function.
 *
 * A trampoline adds one to a counter and jumps to the function. It leaves the stack as it found it,
 * with the caller's return address on top, and all registers but r11 and the flags, which a call
 * through a PLT may change. So the function sees the call as it was made: variable arguments,
 * results in memory, vector registers, functions that return twice, longjmp() and exceptions past
 * it need nothing.
 *
 * The counter is the thread's own, so no locked instruction is needed. It is found in a table of
 * the thread, the cells, by the function's number. A cell is valid for one state of the thread's
 * record in libplumb: its words `head` and `base`, of which at least one changes with the innermost
 * node, the phase or the step. The record is found as libplumb finds it, at a fixed offset from the
 * thread pointer, which all namespaces of a process share: libplumb's thread-local pointer is in
 * the static block (initial-exec), and so is this library's own. */
#ifndef PLUMB_INJECT_COUNT_TRAMPOLINE_H
#define PLUMB_INJECT_COUNT_TRAMPOLINE_H

#include <stdint.h>

#include "base/calls_area.h"

/* The trampolines' view of the record of a thread: two words of it. */
enum { PLUMB_RECORD_HEAD = 8, PLUMB_RECORD_BASE = 32 };

struct plumb_cell {
    uint64_t head, base;
    uint64_t *calls; /* NULL: the cell is empty */
    uint64_t unused; /* a cell lies in one cache line */
};

/* The counts of a thread; zero in a forked child, until it comes to plumb_count_slow(). */
struct plumb_counted_thread {
    uintptr_t pointer; /* the thread pointer that it belongs to; 0: none */
    uint32_t *index;   /* of its entries: a hash table of 1 + their number; 0: free */
    uint32_t index_size, index_used;
    uint64_t key; /* of the node that it was in last */
    int64_t step;
    uint64_t unused[3];
    struct plumb_cell cell[PLUMB_CALLS_FUNCTIONS];
};
enum { PLUMB_CELLS_AT = 64, PLUMB_CELL_BYTES = 32, PLUMB_TRAMPOLINE_BYTES = 128 };

/* Stands for the record of a thread without one: constant, so its cells stay valid. */
struct plumb_no_record {
    uint64_t word[8];
};
extern const struct plumb_no_record plumb_no_record;

extern __thread struct plumb_counted_thread *plumb_own_counts
    __attribute__((tls_model("initial-exec")));
extern int64_t plumb_record_at;                        /* offset from the thread pointer */
extern uintptr_t plumb_targets[PLUMB_CALLS_FUNCTIONS]; /* atomic */

uintptr_t plumb_trampoline(uint32_t function);

/* Counts the call and fills the cell. The trampoline calls it; all registers are saved but those
 * that it does not touch. */
void plumb_count_slow(uint32_t function);

/* The stubs of functions that end the program (leave.h): each calls plumb_leave_now() with its
 * number and jumps to its target. All arguments are as they were. */
enum { PLUMB_LEAVE_STUBS = 64, PLUMB_LEAVE_BYTES = 16 };
extern uintptr_t plumb_leave_targets[PLUMB_LEAVE_STUBS]; /* atomic */
uintptr_t plumb_leave_stub(uint32_t stub);
void plumb_leave_now(uint32_t stub);

/* Calls `fn`, which may use vector registers, and restores them. The x87 and AVX state is saved as
 * the dynamic linker saves it when it binds a function. */
void plumb_with_vectors_saved(void (*fn)(void *arg), void *arg);
/* Chooses the instruction for that. Before anything is bound. */
void plumb_vectors_init(void);

#endif

/* mapped.h: how memory of the process is mapped, as /proc/self/maps says. */
#ifndef PLUMB_INJECT_COUNT_MAPPED_H
#define PLUMB_INJECT_COUNT_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_mapped {
    uintptr_t begin, end;
    int protection; /* PROT_READ, PROT_WRITE, PROT_EXEC */
};

/* Finds the mapping that contains all bytes from `begin` to `end`. Returns false if there is none,
 * or no /proc. Reads the whole file: 0.1 ms. */
bool plumb_mapped_find(struct plumb_mapped *out, uintptr_t begin, uintptr_t end);

#endif

/* references.h: whether objects that are loaded refer to a symbol. */
#ifndef PLUMB_BASE_PROCESS_REFERENCES_H
#define PLUMB_BASE_PROCESS_REFERENCES_H

#include <stdbool.h>

/* Returns whether a loaded object, except the one that contains the address `own`, names `symbol`
 * in its dynamic symbol table without defining it. An object that resolved the symbol when it was
 * linked, such as a static program, does not. Takes the loader's lock, no memory. Cost: 1 to 2 ns
 * for each undefined symbol, some 10 us for a usual program. */
bool plumb_is_referred_to(const char *symbol, const void *own);

#endif

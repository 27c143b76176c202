/* table.h: the functions whose calls are recorded, by the address that they have in this process.
 * Read once, in the library's constructor; then any thread, without a lock. */
#ifndef PLUMB_INJECT_CALLS_TABLE_H
#define PLUMB_INJECT_CALLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/detail/abi.h>

/* Reads the file that `plumb record --calls` wrote (cli/functions.h). Objects that are not loaded
 * now are left out. Returns false if no function is left. */
bool plumb_functions_read(const char *path, const struct plumb_api *api);
/* Returns the node of the function at this address; 0: it is not recorded. */
plumb_node plumb_function_node(const void *function);

#endif

/* functions.h: the functions of a program whose source lies below a folder, from its debug
 * information, for `plumb record --calls`. */
#ifndef PLUMB_CLI_FUNCTIONS_H
#define PLUMB_CLI_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "target.h"

/* Writes the table of the functions of the program and of the libraries that it is linked with
 * whose source lies below the folder `root` to a temporary file, whose name goes to `path` and to
 * PLUMB_CALLS_TABLE. For each object with such a function a line "object PATH", and for each
 * function "ADDRESS NAME (FILE:LINE)": the address is that of the object's file, in hexadecimal;
 * FILE is relative to `root`. Returns false after a message; `path` is then empty, and there is no
 * file. */
bool plumb_cli_functions_prepare(char *path, size_t size, const struct plumb_cli_target *target,
                                 const char *root);

#endif

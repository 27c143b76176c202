/* record_count.h: counting calls without a rebuild: `plumb record --count`, and what `plumb doctor`
 * says about it. */
#ifndef PLUMB_CLI_RECORD_COUNT_H
#define PLUMB_CLI_RECORD_COUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "launch.h"
#include "target.h"

/* Returns why calls cannot be counted on this machine, in words a user can act on; NULL: they can
 * be. `library`: libplumb, next to which the counter lies; NULL: not found. The result lies in
 * `memory`. */
const char *plumb_cli_count_obstacle(char *memory, size_t size, const char *library);

/* Prepares the environment of a program whose calls are to be counted (PLUMB_COUNT): the auditor in
 * LD_AUDIT. Returns false after a message if the list is wrong, or nothing can be counted in this
 * program: a count of zero would look like a result. */
bool plumb_cli_count_prepare(const struct plumb_cli_target *target, const char *program,
                             const char *library);

/* After the program: says which functions of the list no process had, or that no process counted.
 */
void plumb_cli_count_tell(const struct plumb_cli_log *log, const char *program);

#endif

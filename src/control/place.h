/* place.h: where a controlled process is found: a socket named <pid>.<start time> in a folder of
 * its user. The socket is the one file that the process leaves; its name says whose it is, and
 * everything else is asked. While plumb attach is at work, its lock <name>.attach is next to it.
 *
 * Nothing here trusts the file system: the folder must belong to this user, with no rights for
 * others, and is opened without following a link; a socket is reached through the descriptor of the
 * folder or of itself, so no path can be exchanged in between. That also makes paths of any length
 * possible, of which sockaddr_un holds 108 bytes. */
#ifndef PLUMB_CONTROL_PLACE_H
#define PLUMB_CONTROL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

enum { PLUMB_CONTROL_PATH = 4096, PLUMB_CONTROL_NAME = 40 };

/* Writes the path of the `i`th folder that may hold sockets of this user: that of XDG_RUNTIME_DIR
 * (from `runtime_dir`; NULL or relative: none), /run/user/<uid>/plumb where `all`, and
 * /tmp/plumb-<uid>. Returns false beyond the last. A process makes its socket in the first that it
 * can, a front end looks into all of them: the variable is not in every process of a user. */
bool plumb_control_folder_path(char *out, size_t size, size_t i, const char *runtime_dir, bool all);
/* Opens such a folder, and where `make` makes it first. Returns a descriptor. Errors:
 * PLUMB_ERR_NOT_FOUND: it does not exist; PLUMB_ERR_STATE: it is a link, belongs to another user,
 * or others have rights in it; PLUMB_ERR_IO. */
int plumb_control_folder_open(const char *path, bool make, plumb_error *err);

/* The name of a socket, and what it says. */
void plumb_control_name(char out[PLUMB_CONTROL_NAME], uint32_t pid, uint64_t start_time);
bool plumb_control_parse(const char *name, uint32_t *pid, uint64_t *start_time);

/* Makes the socket `name` in the folder and listens on it. Returns a descriptor that never blocks,
 * or -1 and errno; EADDRINUSE: the name is taken. */
int plumb_control_listen(int folder, const char *name, int waiting);
/* Opens a connection to the socket `name` in the folder, with a descriptor that never blocks.
 * Returns it, or -1 and errno; ECONNREFUSED: nothing listens; ENOTSOCK: it is another kind of file,
 * a link for one; EPERM: it belongs to another user; EAGAIN: too many wait to be accepted. */
int plumb_control_dial(int folder, const char *name);
/* Returns whether the process at the other end runs as this user; `*pid`: its number. */
bool plumb_control_peer(int fd, uint32_t *pid);

#endif

/* new_file.h: the files that plumb makes, in folders that others may write to as well. Nothing is
 * opened through a symbolic link, no existing file is overwritten, and files of other users stay.
 * No state, no allocation, no stdio; any thread. Errors are errno's, unless there is an `err`.
 * Files that must be whole before they get their name: base/whole_file.h. */
#ifndef PLUMB_BASE_NEW_FILE_H
#define PLUMB_BASE_NEW_FILE_H

#include <sys/types.h>

#include <plumb/error.h>

/* Makes the file `path`, which is not there yet, and opens it (`how`: O_WRONLY or O_RDWR). Returns
 * a descriptor, or -1 and errno (EEXIST: it is there). */
int plumb_new_file(const char *path, int how, mode_t mode);
/* The same, but first removes a regular file of this user that has the name. */
int plumb_new_file_again(const char *path, int how, mode_t mode);

/* The first of these, in an open folder. */
int plumb_new_file_at(int folder, const char *name, int how, mode_t mode);
/* Opens the folder of `path`, to be named and not to be read; `*name` is the rest of `path`, which
 * may be empty. Whatever becomes of the path later, the descriptor stays in that folder. Returns -1
 * and errno otherwise. */
int plumb_open_folder(const char *path, const char **name);

/* Makes the folders above the last name of `path`, with `mode` less the umask; existing ones stay
 * as they are. `path` is changed while this works. Errors: PLUMB_ERR_IO, which names the folder. */
int plumb_make_above(char *path, mode_t mode, plumb_error *err);

#endif

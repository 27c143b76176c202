/* new_file.h: the files that plumb makes, in folders that others may write to as well. Nothing is
 * opened through a symbolic link or made over what is there, and what another user owns stays. No
 * state, no memory; any thread. Errors are errno's. */
#ifndef PLUMB_BASE_NEW_FILE_H
#define PLUMB_BASE_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Makes the file `path`, which is not there yet, and opens it (`how`: O_WRONLY or O_RDWR). Returns
 * a descriptor, or -1 and errno (EEXIST: it is there). */
int plumb_new_file(const char *path, int how, mode_t mode);
/* The same, and takes away a regular file of this user that is there. */
int plumb_new_file_again(const char *path, int how, mode_t mode);

/* A file that appears whole or not at all: it is written under another name in the same folder. */
struct plumb_new_file {
    int fd;     /* to be written to */
    int folder; /* both names are in it, whatever becomes of its path */
    char name[NAME_MAX + 1], temporary[NAME_MAX + 1];
};
/* Returns 0, or an errno; then nothing is open. */
int plumb_new_file_begin(struct plumb_new_file *f, const char *path, mode_t mode);
/* Closes it, and gives it its name if `good`; removes it otherwise. Returns 0 or an errno; EPERM:
 * another user's file has the name, EISDIR, EEXIST: a folder, a link. All stay. */
int plumb_new_file_end(struct plumb_new_file *f, bool good);
/* Begins, writes and ends. */
int plumb_new_file_write(const char *path, const void *bytes, size_t n, mode_t mode);

#endif

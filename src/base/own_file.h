/* own_file.h: recognising a file of ours whose name or descriptor the program or others may change.
 *
 * In the program's process a descriptor is a number that the program may close, and get back for
 * another file. A path leads to whatever file others have put there. plumb's own thread has a
 * descriptor table of its own, so its descriptors cannot change and need none of this. Two things
 * remain: the file of the mapping, which threads of the program open by its path where there is no
 * such thread, and descriptor 2.
 *
 * A file is recognised by its device and inode. For a regular file the time of its birth counts
 * too, if the file system has one, because the inode of a removed file is reused. Plain data, no
 * memory; any thread, any signal handler. One or two system calls each. */
#ifndef PLUMB_BASE_OWN_FILE_H
#define PLUMB_BASE_OWN_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_own_file {
    uint64_t device, inode;
    int64_t born_s; /* with `born_ns` 0: not known */
    uint32_t born_ns;
    bool known; /* there is such a file */
};

/* Remembers what descriptor `fd` is now. Returns false, and remembers that there is nothing, when
 * it is not open. */
bool plumb_own_file_remember(struct plumb_own_file *out, int fd);
/* Returns whether descriptor `fd`, or the name `path` (not through a symbolic link), is that
 * file. */
bool plumb_own_file_is(const struct plumb_own_file *file, int fd);
bool plumb_own_file_is_at(const struct plumb_own_file *file, const char *path);
/* Opens `path` if it still is that file (`how`: O_RDONLY, O_WRONLY or O_RDWR). Returns a
 * descriptor, or -1 and errno; ESTALE: another file has the name. */
int plumb_own_file_open(const struct plumb_own_file *file, const char *path, int how);

#endif

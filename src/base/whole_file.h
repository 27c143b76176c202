/* whole_file.h: files that appear whole or not at all: reports, traces, exports, tensors.
 *
 *     struct plumb_whole_file f;
 *     int code = plumb_whole_file_begin(&f, path, 0, 0600), ended;
 *     if (code)
 *         return code;
 *     code = plumb_whole_file_put(&f, bytes, n);          as often as there is something
 *     ended = plumb_whole_file_end(&f, code == 0);
 *     return code ? code : ended;
 *
 * The file is written under another name in the same folder and gets its own name at the end. A
 * full disk, a quota, an error of the caller or a kill leaves the file that had the name before.
 * All of these except a kill remove the other name too.
 *
 * The folder may be one that others write to. The other name is new (O_EXCL, O_NOFOLLOW); a name
 * that is in use is left to its owner. Both names are looked up in the folder that was opened
 * first, whatever becomes of its path.
 *
 * Nothing is synced. A process that ends, in whatever way, loses nothing of a file that has its
 * name. After a power failure the file may be the old one, or on some file systems empty: waiting
 * for the disk would hold up the program that is measured, for seconds on a busy disk.
 *
 * No state, no memory, no stdio: plumb's own thread calls these, and where there is none, threads
 * of the program. Writing raises no signal (SIGXFSZ, SIGPIPE) and is not a cancellation point.
 * Errors are errno's. 600 bytes on the caller's stack. */
#ifndef PLUMB_BASE_WHOLE_FILE_H
#define PLUMB_BASE_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Flags for the file that may already be at the path. Without a flag: nothing, or a regular file of
 * the owner of the new one. Errors: EPERM for another user's file, EISDIR for a folder, EEXIST for
 * any other kind of file. All of these stay as they are. */
enum plumb_whole_flags {
    PLUMB_WHOLE_FIRST = 1,     /* nothing: EEXIST even for a file of the same owner */
    PLUMB_WHOLE_ANY_OWNER = 2, /* a regular file of any user */
    /* For a path that a user has typed. A regular file is replaced where it may be written to, and
     * keeps its mode. Anything else, a pipe, a device or a symbolic link, is opened and written to
     * directly, so it is not written "whole or not at all". */
    PLUMB_WHOLE_AS_TYPED = 4,
};

struct plumb_whole_file {
    int fd;     /* to be written to, by plumb_whole_file_put() or directly */
    int folder; /* both names are in it; -1: `fd` is what the path names */
    unsigned flags;
    char name[NAME_MAX + 1], temporary[NAME_MAX + 1];
};

/* Begins the file. `mode`: that of a new file, to which the umask applies. Returns 0, or an errno
 * with nothing open and nothing to end. */
int plumb_whole_file_begin(struct plumb_whole_file *f, const char *path, unsigned flags,
                           mode_t mode);
/* Appends all of the bytes. Returns 0, or an errno after which the file must be ended as not
 * good. */
int plumb_whole_file_put(struct plumb_whole_file *f, const void *bytes, size_t n);
/* Closes the file, and gives it its name if `good`; removes it otherwise. Returns 0 or an errno. */
int plumb_whole_file_end(struct plumb_whole_file *f, bool good);
/* Begins the file, writes it and ends it. */
int plumb_whole_file_write(const char *path, unsigned flags, mode_t mode, const void *bytes,
                           size_t n);

/* Writes all of the bytes to `fd`, as plumb_whole_file_put() does. Returns 0 or an errno. */
int plumb_write_all(int fd, const void *bytes, size_t n);

#endif

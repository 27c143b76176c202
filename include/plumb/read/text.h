/* text.h: free the texts that libplumb-read returns, or write them to a file; folders, its version,
 * and the nearest of several words. Part of libplumb-read; plumb/read.h has the rules of all its
 * headers. */
#ifndef PLUMB_READ_TEXT_H
#define PLUMB_READ_TEXT_H

#include <stddef.h>

#include <plumb/detail/visibility.h>
#include <plumb/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a text that a function of libplumb-read returned through `char **`. NULL is ignored. */
PLUMB_API void plumb_read_free(char *text);
/* Writes `n` bytes to the file `path`, which a user has typed. The file is written under another
 * name in the same folder and renamed, so a full disk leaves what was there; it keeps the mode
 * of the file that it replaces. Anything but a regular file (a pipe, a device, a symbolic link)
 * is opened and written to. The disk is not waited for. Errors: PLUMB_ERR_IO: "cannot write 'PATH':
 * REASON". */
PLUMB_API int plumb_read_save(const char *path, const void *bytes, size_t n, plumb_error *err);
/* Makes the folder `path`, which a user has typed, and those above it, unless they exist. Errors:
 * PLUMB_ERR_IO: the message names the folder; PLUMB_ERR_ARG: the path is longer than 4 KiB. */
PLUMB_API int plumb_read_make_folder(const char *path, plumb_error *err);
/* Returns the version of the library in use: "0.1.0". The text lives as long as the process. */
PLUMB_API const char *plumb_read_version(void);
/* Returns the one of the `n` candidates that is most similar to a misspelt `word`, without regard
 * to case, or NULL if none is similar. O(bytes of all candidates times those of the word). */
PLUMB_API const char *plumb_word_nearest(const char *word, const char *const *candidates, size_t n);

#ifdef __cplusplus
}
#endif
#endif

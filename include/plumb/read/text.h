/* text.h: free the texts that libplumb-read returns, its version, and the nearest of several
 * words. Part of libplumb-read; plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_TEXT_H
#define PLUMB_READ_TEXT_H

#include <stddef.h>

#include <plumb/detail/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a text that a function of libplumb-read returned through `char **`. NULL is ignored. */
PLUMB_API void plumb_read_free(char *text);
/* Returns the version of the library in use: "0.1.0". */
PLUMB_API const char *plumb_read_version(void);
/* Returns the one of the `n` candidates that is most similar to a misspelt `word`, without regard
 * to case, or NULL if none is similar. */
PLUMB_API const char *plumb_word_nearest(const char *word, const char *const *candidates, size_t n);

#ifdef __cplusplus
}
#endif
#endif

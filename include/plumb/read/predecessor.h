/* predecessor.h: translate the names of the systems that plumb replaces. Part of libplumb-read;
 * plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_PREDECESSOR_H
#define PLUMB_READ_PREDECESSOR_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of their names: the file share/plumb/predecessors.tsv of an installed plumb. An open
 * table never changes; any thread. */
typedef struct plumb_predecessors plumb_predecessors;
/* Reads the table at `path`. Errors: PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_IO: it cannot be
 * read; PLUMB_ERR_FORMAT: it is damaged, or belongs to another version of plumb. */
PLUMB_API int plumb_predecessors_open(plumb_predecessors **out, const char *path, plumb_error *err);
/* Frees the table. */
PLUMB_API void plumb_predecessors_close(plumb_predecessors *table);

/* Translates a name of FastVideo, TeleFuser, TorchFX or CUVIS.AI to plumb. NULL: every name, a line
 * each. `name` may be a name, NAME=value, a call, or a file or console line that these systems
 * write. Returns 1 if there is no such name: the text is then about the most similar one, and `err`
 * says so. Errors: PLUMB_ERR_NOT_FOUND: no name is similar. */
PLUMB_API int plumb_predecessor_help(char **out, const plumb_predecessors *table, const char *name,
                                     plumb_error *err);
/* Writes the tables of docs/coming-from.md, in Markdown, to `out`. */
PLUMB_API int plumb_predecessor_page(char **out, const plumb_predecessors *table, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif

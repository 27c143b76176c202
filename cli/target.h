/* target.h: what is known about a program before it runs: can libplumb be preloaded, and must it?
 */
#ifndef PLUMB_CLI_TARGET_H
#define PLUMB_CLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct plumb_cli_target {
    char path[4096];   /* as found; "" when not found */
    char binary[4096]; /* the file that runs: `path`, or the interpreter of a script */
    int error;         /* errno when it cannot be run: ENOENT, EACCES; 0 */
    bool known;        /* `binary` is an ELF file that could be read; else the rest is false */
    bool is_static;    /* no program interpreter: nothing can be preloaded */
    bool foreign;      /* for another kind of processor or word size than ours */
    bool other_loader; /* its dynamic linker is another than ours: that of another C library */
    bool privileged;   /* changes the user or gains capabilities: the loader ignores LD_PRELOAD */
    bool links_plumb;  /* needs libplumb.so itself */
    bool holds_plumb;  /* the runtime is inside (libplumb.a) */
    bool is_marked;    /* contains trace points, also those of a static library */
    bool owns_malloc;  /* has an allocator inside, which is found before any that is preloaded */
    bool wants_first;  /* its AddressSanitizer ends it if another library is loaded before */
    bool sanitized;    /* by a sanitizer that allocates for it */
};

/* Finds `name` as execvp() would and looks at the file. */
void plumb_cli_target_find(struct plumb_cli_target *out, const char *name);

/* Returns why nothing can be preloaded into the program, as the end of a sentence after its name.
 * NULL: it can. */
const char *plumb_cli_target_obstacle(const struct plumb_cli_target *t);
/* The same for the malloc interposer. */
const char *plumb_cli_target_allocator(const struct plumb_cli_target *t);

/* Runs the program's dynamic linker so that it prints the libraries that the program is linked
 * with, a line each ("libc.so.6 => /lib/... (0x...)"), instead of running it. The caller closes
 * the file and waits for the child. NULL: no process. */
FILE *plumb_cli_libraries(const char *binary, pid_t *child);

/* Finds the libplumb.so to preload: PLUMB_LIBRARY, otherwise the one that belongs to this command.
 * Returns whether it exists; `out` has the expected path in both cases. */
bool plumb_cli_library(char *out, size_t size);

/* Finds the file `name` next to `library`. Returns whether it exists; `out` has the expected path
 * in both cases. */
bool plumb_cli_beside(char *out, size_t size, const char *library, const char *name);
#define PLUMB_CLI_MALLOC_LIBRARY "libplumb-malloc.so"
#define PLUMB_CLI_CALLS_LIBRARY "libplumb-calls.so"
#define PLUMB_CLI_COUNT_LIBRARY "libplumb-count.so"
#define PLUMB_CLI_ONEDNN_LIBRARY "libplumb-onednn.so"
#define PLUMB_CLI_OPENCL_LIBRARY "libplumb-opencl.so"

#endif

/* target.h: what is known about a program before it runs: can libplumb be preloaded, and must it?
 */
#ifndef PLUMB_CLI_TARGET_H
#define PLUMB_CLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>

struct plumb_cli_target {
    char path[4096];   /* as found; "" when not found */
    char binary[4096]; /* the file that runs: `path`, or the interpreter of a script */
    int error;         /* errno when it cannot be run: ENOENT, EACCES; 0 */
    bool known;        /* `binary` is an ELF file that could be read; else the rest is false */
    bool is_static;    /* no program interpreter: nothing can be preloaded */
    bool foreign;      /* for another kind of processor or word size than ours */
    bool privileged;   /* changes the user or gains capabilities: the loader ignores LD_PRELOAD */
    bool links_plumb;  /* needs libplumb.so itself */
    bool holds_plumb;  /* the runtime is inside (libplumb.a) */
    bool is_marked;    /* holds trace points, or a library's code that does */
    bool owns_malloc;  /* has an allocator inside, which is found before any that is preloaded */
    bool wants_first;  /* its library of AddressSanitizer ends it when another one comes before */
    bool sanitized;    /* by a sanitizer that allocates for it */
};

/* Finds `name` as execvp() would and looks at the file. */
void plumb_cli_target_find(struct plumb_cli_target *out, const char *name);

/* Why nothing can be preloaded into it, to follow its name in a sentence; NULL: it can. */
const char *plumb_cli_target_obstacle(const struct plumb_cli_target *t);
/* The same for following its malloc. */
const char *plumb_cli_target_allocator(const struct plumb_cli_target *t);

/* The libplumb.so to preload: PLUMB_LIBRARY, else the one that belongs to this command. False:
 * none; `out` then says where it was looked for. */
bool plumb_cli_library(char *out, size_t size);

/* The libplumb-malloc.so beside `library`. False: none; `out` then says where it was looked for. */
bool plumb_cli_malloc_library(char *out, size_t size, const char *library);

#endif

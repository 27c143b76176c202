/* target.h: what can be told of a program before it runs: can libplumb be preloaded, and must it?
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
};

/* Finds `name` as execvp() would and looks at the file. */
void plumb_cli_target_find(struct plumb_cli_target *out, const char *name);

/* The libplumb.so to preload: PLUMB_LIBRARY, else the one that belongs to this command. False:
 * none; `out` then says where it was looked for. */
bool plumb_cli_library(char *out, size_t size);

#endif

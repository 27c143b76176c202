/* find.h: the control sockets of this user's processes. Any thread. */
#ifndef PLUMB_READ_CONTROL_FIND_H
#define PLUMB_READ_CONTROL_FIND_H

#include <stddef.h>
#include <stdint.h>

#include "control/place.h"

/* A socket by its name; whether anything answers is not known yet. */
struct plumb_found {
    char folder[PLUMB_CONTROL_PATH];
    char name[PLUMB_CONTROL_NAME];
    uint32_t pid;
    uint64_t start_time; /* as in the name */
};

/* Finds the sockets of living processes, by pid, and removes those of processes that are gone. Free
 * `*out` with free(). Errors: PLUMB_ERR_STATE: a folder of this user is not safe, or there is none
 * but a folder of another user; PLUMB_ERR_MEMORY. */
int plumb_found_list(struct plumb_found **out, size_t *count, plumb_error *err);
/* Finds the one that `who` means: a pid, the name of a program, the path of a socket. Errors:
 * PLUMB_ERR_NOT_FOUND, and PLUMB_ERR_STATE: several. */
int plumb_found_one(struct plumb_found *out, const char *who, plumb_error *err);
/* Copies the path of a process's executable; "" if it cannot be read. */
void plumb_found_program(char *out, size_t size, uint32_t pid);

#endif

/* process.h: whether the process of a mapping can still change it, as /proc tells. */
#ifndef PLUMB_BASE_PROCESS_PROCESS_H
#define PLUMB_BASE_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum plumb_process {
    PLUMB_PROCESS_GONE = 0,   /* or a zombie: it has ended, and nobody has waited for it yet */
    PLUMB_PROCESS_ENDING = 1, /* killed: it will not come back from the kernel, and is not gone */
    PLUMB_PROCESS_LIVES = 2
};

/* When a process began, in ticks since the machine did: field 22 of /proc/<pid>/stat. 0: it is
 * gone. */
uint64_t plumb_process_start(uint32_t pid);
/* Of process `pid` that began at `start`; any other that has its number by now is not it. */
enum plumb_process plumb_process_state(uint32_t pid, uint64_t start);
/* The same from the texts of /proc/<pid>/stat and /proc/<pid>/status, which may be empty. */
enum plumb_process plumb_process_told(const char *stat, const char *status, uint64_t start);
/* Gives one that is ending some time to be gone, 50 ms at most; false: it lives. What it had mapped
 * does not change any more when this is true. */
bool plumb_process_is_over(uint32_t pid, uint64_t start);

#endif

/* process.h: whether the process of a mapping can still change it, as /proc tells. */
#ifndef PLUMB_BASE_PROCESS_PROCESS_H
#define PLUMB_BASE_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum plumb_life {
    PLUMB_PROCESS_GONE = 0,   /* or a zombie: it has ended and is not waited for yet */
    PLUMB_PROCESS_ENDING = 1, /* killed: it runs none of its code any more, and is not gone yet */
    PLUMB_PROCESS_LIVES = 2
};

/* Returns when a process began, in ticks since the machine started: field 22 of /proc/<pid>/stat. 0
 * if it is gone. */
uint64_t plumb_process_start(uint32_t pid);
/* Returns a number that the namespace of that kind ("pid", "mnt"), in which process `pid` is, has
 * alone on this machine; 0: it is not known. `pid` 0: of this process. */
uint32_t plumb_process_namespace(uint32_t pid, const char *kind);
/* Returns the state of process `pid` that began at `start`. Another process that has its number by
 * now does not count. */
enum plumb_life plumb_process_state(uint32_t pid, uint64_t start);
/* The same from the texts of /proc/<pid>/stat and /proc/<pid>/status, which may be empty. */
enum plumb_life plumb_process_parse(const char *stat, const char *status, uint64_t start);
/* Returns whether the process is over; waits up to 50 ms for one that is ending. After true its
 * mappings no longer change; false means that it is alive. */
bool plumb_process_is_over(uint32_t pid, uint64_t start);

#endif

/* state.h: the state of this process, as a front end is told it. On plumb's own threads. */
#ifndef PLUMB_RECORD_CONTROL_STATE_H
#define PLUMB_RECORD_CONTROL_STATE_H

#include <stdint.h>

#include <plumb/control.h>

/* The texts of `process` lie in the rest. */
struct plumb_control_state {
    plumb_process process;
    uint32_t tries;
    char program[1024], command[4096], run_dir[1024];
};

/* Reads it: some tens of microseconds, and the cost of a summary. */
void plumb_control_state_read(struct plumb_control_state *out);
#endif

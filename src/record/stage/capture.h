/* capture.h: PLUMB_CAPTURE=denoise[:7]: the inputs of one call of a stage, with their values, in a
 * file next to the signature, so that the stage can be run alone with them; and hashes of what that
 * call gave out, so that the run alone can be compared with it.
 *
 *     capture.c        which call, which of its inputs, and copying them
 *     capture_value.c  values of every kind, and what of them cannot be kept
 *     capture_file.c   the file, and the thread that writes it
 *     capture_note.c   what is said of it at the end of the run
 *
 * The thread of the stage copies each input before plumb_stage_input() returns, because the program
 * may change it then: the time of a memcpy, within the stage, and memory of the same size. Writing
 * is left to a thread of plumb's, from the end of the stage on. One call of a run is kept.
 *
 * A run of the stage claims the capture with its first input; until it ends, other runs of the
 * stage are ignored. A run that is abandoned, or ends without an input at the step, gives it back.
 * The claimant is the only one that touches the items. Its outputs from then on are hashed where
 * they lie, before plumb_stage_output() returns. Threads that are inside a call are counted, and
 * the end of the run waits for them. */
#ifndef PLUMB_RECORD_STAGE_CAPTURE_H
#define PLUMB_RECORD_STAGE_CAPTURE_H

#include "record/runtime/mapping.h"
#include <plumb/value.h>

/* Whether a run is open that still wants inputs; atomic. The only cost where none is. */
extern uint32_t plumb_capture_wanted;

struct plumb_capture_call { /* a run of a stage */
    uint64_t span;          /* of its begin; of open spans each has another one */
    uint32_t node;
    int64_t begin_step, step; /* of the thread when it began, and now; negative: none */
};

/* Takes an input of an open stage of this thread, outside enter. Returns whether the run has the
 * claim; one of the next two must then be called when it ends. May take memory, from the kernel;
 * takes no lock. */
bool plumb_capture_input(const struct plumb_capture_call *call, const char *name,
                         const plumb_value *value);
/* Takes the hash of an output of a call that has the claim; of those with one name the last counts,
 * and for a step those that are named at it. The same rules; reads the value once. */
void plumb_capture_output(const struct plumb_capture_call *call, const char *name,
                          const plumb_value *value);
/* Ends the call, outside enter. `abandoned`: it is as if it had not been. */
void plumb_capture_end(uint64_t span, bool abandoned);
/* Gives the claim of a call back that is closed from outside. Anywhere. */
void plumb_capture_left(uint64_t span);

/* ---- The life of a run: under life_lock ------------------------------------------------------ */

void plumb_capture_open(struct plumb_run *run);
void plumb_capture_do_write(void); /* PLUMB_JOB_CAPTURE */
/* Waits for the file while the disk takes something, and notes what became of it. */
void plumb_capture_close(struct plumb_run *run);
void plumb_capture_forked(void);

#endif

/* helper.h: the one thread that plumb adds to a process, and how others ask it for something.
 *
 * The helper has a table of descriptors of its own: nothing that it opens ever has a number in the
 * program's, and the program cannot close it. So it is the one that opens, grows and closes runs,
 * reads /proc and writes files; threads of the program ask, and wait for no longer than they say.
 * What it creates threads of (the trace's, the activations') shares its table.
 *
 * It is made when the library is loaded with recording wanted and by plumb_start(), never by a
 * span; but a forked child, which mostly calls exec() soon, and a process in which nothing has
 * trace points when the library is loaded get it with their first span outside of a signal handler.
 * Without one (PLUMB_HELPER=off, or none could be made) whoever asks does the job itself.
 *
 * Asking takes no lock and no memory and is no cancellation point: a signal handler may. */
#ifndef PLUMB_RECORD_RUNTIME_HELPER_H
#define PLUMB_RECORD_RUNTIME_HELPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/runtime/own_thread.h"

/* In order of urgency: the first ones are also done in the middle of the others, while the helper
 * waits for a lock or a thread, whose holder may be waiting for them. */
enum plumb_job {
    PLUMB_JOB_GROW,        /* record/runtime/carve.c: storage for the run */
    PLUMB_JOB_RSS,         /* record/stage/memory.c: a reading of the resident set */
    PLUMB_JOB_RSS_RESET,   /* record/stage/memory.c: the kernel's peak begins again */
    PLUMB_JOB_STACKS,      /* record/trace/stack.c: where stacks of threads end */
    PLUMB_JOB_MODULES,     /* record/activation/module.c: which are chosen */
    PLUMB_JOB_OPEN,        /* record/run/run.c: the run that is wanted */
    PLUMB_JOB_ACTIVATIONS, /* record/activation/run.c: the file of the records, and its writer */
    PLUMB_JOB_ENVIRONMENT, /* record/run/platform.c: what the program asks for */
    PLUMB_JOB_STOP,        /* record/run/run.c: the end of the run, with its files */
    PLUMB_JOBS
};

/* What the helper does: the jobs, and what is due by the clock, which returns ns until something is
 * again, UINT64_MAX: never. Defined in record/run/subsystems.c. */
struct plumb_helper_work {
    void (*job[PLUMB_JOBS])(void);
    uint64_t (*turn)(void);
    bool (*needs_keeper)(void); /* from the beginning */
};
extern const struct plumb_helper_work plumb_helper_work;

/* Whether this process has one. */
bool plumb_helper_is_there(void);

/* Asks for a job and waits until it has been done after the call, at most `ns`. False: it has not
 * yet; it will be. Where there is no helper, or from itself: does it on this thread. */
bool plumb_helper_do(enum plumb_job job, uint64_t ns);
/* The same without a wait; nothing where there is no helper. */
void plumb_helper_ask(enum plumb_job job);
/* The same for as long as the helper seems to work: it used processor time within `ns`. */
bool plumb_helper_do_patiently(enum plumb_job job, uint64_t ns);

/* Sleeps for `ns`, on the helper perhaps for less, which does what is urgent meanwhile. No
 * cancellation point. */
void plumb_helper_pause(uint64_t ns);
/* pthread_mutex_lock(), during which the helper does what is urgent: who has the lock may be
 * waiting for that. */
void plumb_helper_lock(pthread_mutex_t *mutex);

#endif

/* helper.h: the one thread that plumb adds to a process, and the requests of other threads to it.
 *
 * The helper has a descriptor table of its own: its descriptors never take a number in the
 * program's table, and the program cannot close them. So the helper opens, grows and closes runs,
 * reads /proc and writes files. Threads of the program ask it, and wait for a bounded time. The
 * threads that it creates (the trace's, the activations') share its table.
 *
 * It is started when the library is loaded with recording wanted, and by plumb_start(). In two
 * cases the first span outside a signal handler starts it: in a forked child, which usually calls
 * exec() soon, and in a process whose objects have no trace points when the library is loaded.
 * Without a helper (PLUMB_HELPER=off, or it could not be started) the asking thread does the job
 * itself.
 *
 * Asking takes no lock and no memory and is not a cancellation point, so signal handlers may
 * ask. */
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
    PLUMB_JOB_RSS_RESET,   /* record/stage/memory.c: restarts the kernel's peak */
    PLUMB_JOB_STACKS,      /* record/trace/stack.c: the ends of threads' stacks */
    PLUMB_JOB_MODULES,     /* record/activation/module.c: which modules are chosen */
    PLUMB_JOB_OPEN,        /* record/run/run.c: the run that is wanted */
    PLUMB_JOB_ACTIVATIONS, /* record/activation/run.c: the file of the records, and its writer */
    PLUMB_JOB_CAPTURE,     /* record/stage/capture_file.c: the thread that writes the inputs */
    PLUMB_JOB_CONTROL,     /* record/control/control.c: the control socket, and its requests */
    PLUMB_JOB_ENVIRONMENT, /* record/run/platform.c: the platform, for the program */
    PLUMB_JOB_SWITCH,      /* record/span/trace_switch.c: a window of a trace */
    PLUMB_JOB_PASS_ON,     /* record/control/periodic.c: the counts of calls, before exec */
    PLUMB_JOB_STOP,        /* record/run/run.c: the end of the run, with its files */
    PLUMB_JOBS
};

/* The helper's work: the jobs, and `turn`, which does the periodic work that is due and returns ns
 * until the next, UINT64_MAX: never. Defined in record/run/subsystems.c. */
struct plumb_helper_work {
    void (*job[PLUMB_JOBS])(void);
    uint64_t (*turn)(void);
    bool (*needs_keeper)(void); /* from the beginning */
};
extern const struct plumb_helper_work plumb_helper_work;

/* Returns whether this process has a helper. */
bool plumb_helper_is_there(void);

/* Asks for a job and waits, at most `ns`, until it has been done after the call. Returns false if
 * it is not done yet; it will be. Without a helper, or on the helper itself, does it on this
 * thread. */
bool plumb_helper_do(enum plumb_job job, uint64_t ns);
/* The same without a wait; does nothing without a helper. */
void plumb_helper_ask(enum plumb_job job);
/* The same, and waits as long as the helper is working: it has used processor time within `ns`. */
bool plumb_helper_do_patiently(enum plumb_job job, uint64_t ns);

/* Sleeps for `ns`; the helper does urgent jobs during that time, and may return earlier. Not a
 * cancellation point. */
void plumb_helper_pause(uint64_t ns);
/* pthread_mutex_lock() that does urgent jobs on the helper: the holder of the lock may be waiting
 * for one. */
void plumb_helper_lock(pthread_mutex_t *mutex);

#endif

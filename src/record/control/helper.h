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
#ifndef PLUMB_RECORD_CONTROL_HELPER_H
#define PLUMB_RECORD_CONTROL_HELPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* In order of urgency: the first ones are also done in the middle of the others, while the helper
 * waits for a lock or a thread, whose holder may be waiting for them. */
enum plumb_job {
    PLUMB_JOB_GROW,      /* record/run/carve.c: storage for the run */
    PLUMB_JOB_RSS,       /* record/stage/memory.c: a reading of the resident set */
    PLUMB_JOB_RSS_RESET, /* record/stage/memory.c: the kernel's peak begins anew */
    PLUMB_JOB_STACKS,    /* record/trace/stack.c: where stacks of threads end */
    PLUMB_JOB_MODULES,   /* record/activation/module.c: which are chosen */
    PLUMB_JOB_OPEN,      /* record/run/run.c: the run that is wanted */
    PLUMB_JOB_ACTIVATIONS, /* record/activation/activation.c: the file of the records, and who writes it */
    PLUMB_JOB_ENVIRONMENT, /* record/run/platform.c: what the program asks for */
    PLUMB_JOB_STOP,        /* record/run/run.c: the end of the run, with its files */
    PLUMB_JOBS
};

/* Remembers how the process runs, before the program has changed anything. */
void plumb_helper_loaded(void);
/* Makes the helper unless there is one or the settings want none. Allocates; never from a span.
 * Under life_lock, or where nobody else is. */
void plumb_helper_start(void);
/* Tells it to end, where no run is open or wanted: a process with one thread has one again. Under
 * life_lock. True: the caller must join it once it has let go of that. */
bool plumb_helper_end(void);
void plumb_helper_join(void);
bool plumb_helper_is_ending(void); /* somebody joins it */
/* Whether this process has one. */
bool plumb_helper_is_there(void);
/* What to do in order to have one, for messages. */
const char *plumb_helper_cure(void);
/* Whether the calling thread is the helper, or one of those that share its descriptors. */
bool plumb_helper_is_me(void);

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

void plumb_helper_forget(void); /* in the child of a fork: the thread is the parent's */
/* Leaves it to the first span, as in that child: nothing that is loaded has trace points. */
void plumb_helper_start_late(void);
/* With that first span: makes one. False: the span seems to come in a signal handler,
 * which may have interrupted what making a thread needs. */
bool plumb_helper_start_by_span(void);

/* A thread that takes no signal and shares the caller's descriptors. `size`: bytes of its stack, 0:
 * as the program's. 0, or an errno. */
int plumb_own_thread(pthread_t *out, void *(*run)(void *arg), void *arg, size_t size);
/* Gives the calling thread a table of descriptors of its own with nothing in it. False: the kernel
 * refuses, and it shares the table as before. */
bool plumb_own_table(void);
/* Whoever is made by that says so as the last that it does. So never too many are counted, and none
 * of the program's is taken for one of them. */
void plumb_own_thread_ends(void);
uint32_t plumb_own_threads(void);

#endif

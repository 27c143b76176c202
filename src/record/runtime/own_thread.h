/* own_thread.h: the threads that plumb adds to a process, and whose descriptors they have. */
#ifndef PLUMB_RECORD_RUNTIME_OWN_THREAD_H
#define PLUMB_RECORD_RUNTIME_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the calling thread is the helper, or one of those that share its descriptors. */
bool plumb_helper_is_me(void);
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
void plumb_own_threads_forget(void); /* in the child of a fork */

/* The same in its parts: `birth` has to stay until it is copied, which the second waits for. `own`:
 * the thread has descriptors of its own, as has whatever it makes. */
struct plumb_birth {
    void *(*run)(void *arg);
    void *arg;
    bool own;
    uint32_t copied; /* atomic */
};
int plumb_own_thread_make(pthread_t *out, struct plumb_birth *birth, size_t size);
void plumb_own_thread_await(const struct plumb_birth *birth);

#endif

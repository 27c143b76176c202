/* own_thread.h: the threads that plumb adds to a process, and their descriptor tables. */
#ifndef PLUMB_RECORD_RUNTIME_OWN_THREAD_H
#define PLUMB_RECORD_RUNTIME_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether the calling thread is the helper, or shares its descriptors. */
bool plumb_helper_is_me(void);
/* Starts a thread that blocks all signals and shares the caller's descriptors. `size`: bytes of its
 * stack, 0: like the program's. Returns 0 or an errno. */
int plumb_own_thread(pthread_t *out, void *(*run)(void *arg), void *arg, size_t size);
/* Gives the calling thread an empty descriptor table of its own. Returns false if the kernel
 * refuses; then it shares the table as before. */
bool plumb_own_table(void);
/* The last call of a thread that plumb_own_thread() has started. So the count is never too high,
 * and no thread of the program is counted as plumb's. */
void plumb_own_thread_ends(void);
uint32_t plumb_own_threads(void);
/* Waits for threads that start or end, for at most a second: another library's handler may have
 * stopped the allocator that they need. None starts or ends until after the fork. This is the last
 * lock that a fork takes. */
void plumb_own_threads_before_fork(void);
void plumb_own_threads_after_fork(void);
void plumb_own_threads_forget(void); /* in the child of a fork */

/* The same in two parts: `birth` must stay valid until it is copied, which the second call waits
 * for. `own`: the thread, and every thread that it starts, has a descriptor table of its own. */
struct plumb_birth {
    void *(*run)(void *arg);
    void *arg;
    bool own;
    uint32_t copied; /* atomic */
};
int plumb_own_thread_make(pthread_t *out, struct plumb_birth *birth, size_t size);
void plumb_own_thread_await(const struct plumb_birth *birth);

#endif

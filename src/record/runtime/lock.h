/* lock.h: the runtime's locks, and the code that must not take them.
 *
 * life_lock (start, stop, fork), then snapshot_lock, then ledger_lock (record/stage/ledger.h), then
 * `lock`: a thread may wait for one while it holds earlier ones. The holder of `lock` gets no
 * signals. A handler that interrupts the holder of another one on its own thread would wait for
 * ever, so each thread records which locks it holds or waits for. A holder is not cancelled, not
 * even asynchronously; a cancellation happens when the last lock is released. */
#ifndef PLUMB_RECORD_RUNTIME_LOCK_H
#define PLUMB_RECORD_RUNTIME_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/error.h>

struct plumb_thread;

/* Not 0 while this thread holds the lock, or waits for it. */
extern __thread uint32_t plumb_locked __attribute__((tls_model("initial-exec")));
extern __thread bool plumb_life_locked __attribute__((tls_model("initial-exec")));
extern __thread bool plumb_snapshot_locked __attribute__((tls_model("initial-exec")));

/* Take and release the lock. Two system calls each, to block signals; never on paths that a program
 * takes all the time. For the handler of a fault the thread is busy, as inside a span's begin. */
void plumb_lock(void);
void plumb_unlock(void);
/* Under the lock: makes `th` the record of the calling thread, which had none. */
void plumb_lock_is_of(struct plumb_thread *th);
void plumb_life_lock(void);
void plumb_life_unlock(void);
void plumb_snapshot_lock(void);
void plumb_snapshot_unlock(void);
void plumb_ledger_lock(void);
bool plumb_ledger_trylock(void);
void plumb_ledger_unlock(void);
/* The same around a fork, whose thread is not inside the runtime. The holder gets no signals,
 * because a stage in a handler would wait for the lock on its own thread. Called before `lock` is
 * taken, and after it is released. */
void plumb_fork_ledger_lock(void);
void plumb_fork_ledger_unlock(void);
/* In the child of a fork, which has only this thread: other holders of a lock are not there to
 * release it. `interrupted`: the code that the fork's handler interrupted continues, and releases
 * its own locks. */
void plumb_locks_forked(bool interrupted);

/* Returns whether this code is, or may be, the handler of a signal that interrupted plumb on this
 * thread. */
bool plumb_is_interrupted(void);
/* Called before a call of the program takes the lock, or (the second) any of the three. Returns
 * PLUMB_OK, or PLUMB_ERR_STATE in the handler of a signal that interrupted plumb while it held
 * them. */
int plumb_may_lock(const char *call, plumb_error *err);
int plumb_may_lock_all(const char *call, plumb_error *err);

#endif

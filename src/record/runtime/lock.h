/* lock.h: the runtime's locks, and who may not take them.
 *
 * life_lock (start, stop, fork), then snapshot_lock, then ledger_lock (record/stage/ledger.h), then
 * `lock`: each may be waited for by who holds those before it. No signal comes to the holder of
 * `lock`. Handlers that interrupt the holder of another one on its own thread would wait for ever,
 * so each thread knows which it holds, or waits for. Who holds any is not cancelled, not even
 * asynchronously: that comes as the last one is released. */
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

/* Two system calls each, to block signals; never for what a program does all the time. To the
 * handler of a fault the thread is busy, as if it were inside a span's begin. */
void plumb_lock(void);
void plumb_unlock(void);
/* Under the lock: `th` is from now on the calling thread's, which had none. */
void plumb_lock_is_of(struct plumb_thread *th);
void plumb_life_lock(void);
void plumb_life_unlock(void);
void plumb_snapshot_lock(void);
void plumb_snapshot_unlock(void);
void plumb_ledger_lock(void);
bool plumb_ledger_trylock(void);
void plumb_ledger_unlock(void);
/* The same around a fork, whose thread is not inside the runtime: no signal comes to the holder,
 * for a stage in its handler would wait for the lock on its own thread. Before `lock` is taken, and
 * after it is released. */
void plumb_fork_ledger_lock(void);
void plumb_fork_ledger_unlock(void);
/* In the child of a fork, which has one thread, this one: whoever else held a lock is not here to
 * release it. `interrupted`: what the fork's handler interrupted goes on, and releases its own. */
void plumb_locks_forked(bool interrupted);

/* Whether this code is, or may be, the handler of a signal that interrupted plumb on this thread.
 */
bool plumb_is_interrupted(void);
/* Before a call of the program's takes the lock, or (the second) any of the three: PLUMB_OK, or
 * PLUMB_ERR_STATE in the handler of a signal that interrupted plumb where it has them. */
int plumb_may_lock(const char *call, plumb_error *err);
int plumb_may_lock_all(const char *call, plumb_error *err);

#endif

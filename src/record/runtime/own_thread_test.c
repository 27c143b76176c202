/* Forks while a thread of plumb's starts or ends.
 *
 * The program's pthread_create() stands for a library that holds a lock of its own then, as the
 * allocator of a sanitizer does: the thread takes the lock, waits until the fork has begun, and
 * holds it a little longer. The fork's handlers of plumb run after those of this program, which
 * were registered later. */
#include "record/runtime/own_thread.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <plumb/plumb.h>

#include "base/atomic.h"
#include "base/futex.h"

enum { LONGER_NS = 50000000, ROUNDS = 3 };

enum when { STARTS = 1, ENDS };

static pthread_mutex_t foreign = PTHREAD_MUTEX_INITIALIZER;
static enum when holds_when; /* 0: never */
static uint32_t held, forking;
static pthread_key_t at_end;

static void await(const uint32_t *word)
{
    while (!PLUMB_ACQUIRE(*word))
        plumb_futex_wait(word, 0, UINT64_MAX);
}

static void set(uint32_t *word)
{
    PLUMB_RELEASE(*word, 1);
    plumb_futex_wake(word);
}

static void hold_during_fork(void)
{
    pthread_mutex_lock(&foreign);
    set(&held);
    await(&forking);
    plumb_nap(LONGER_NS);
    pthread_mutex_unlock(&foreign);
}

static void end_of_thread(void *unused)
{
    (void)unused;
    hold_during_fork();
}

static struct {
    void *(*run)(void *arg);
    void *arg;
} start;

static void *start_of_thread(void *unused)
{
    (void)unused;
    if (holds_when == STARTS)
        hold_during_fork();
    else
        pthread_setspecific(at_end, &start);
    return start.run(start.arg);
}

int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
    static int (*next)(pthread_t * out, const pthread_attr_t *attr, void *(*run)(void *),
                       void *arg);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next, &found, sizeof next);
    if (!holds_when)
        return next(out, attr, run, arg);
    start.run = run;
    start.arg = arg;
    return next(out, attr, start_of_thread, NULL);
}

static void before_fork(void)
{
    set(&forking);
}

static void *short_life(void *unused)
{
    (void)unused;
    plumb_own_thread_ends();
    return NULL;
}

static void fork_when(enum when when)
{
    struct plumb_birth birth = {short_life, NULL, false, 0};
    pthread_t thread;
    int status = -1;
    pid_t pid;
    held = forking = 0;
    holds_when = when;
    assert_int_equal(plumb_own_thread_make(&thread, &birth, 0), 0);
    await(&held);
    pid = fork();
    if (pid == 0) /* by the system call: ThreadSanitizer's _exit() misses a join of the thread */
        syscall(SYS_exit_group, pthread_mutex_trylock(&foreign) == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    plumb_own_thread_await(&birth);
    assert_int_equal(pthread_join(thread, NULL), 0);
    holds_when = 0;
}

static void a_fork_waits_for_a_thread_that_starts(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        fork_when(STARTS);
}

static void a_fork_waits_for_a_thread_that_ends(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        fork_when(ENDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_waits_for_a_thread_that_starts),
        cmocka_unit_test(a_fork_waits_for_a_thread_that_ends),
    };
    assert_non_null(plumb_api_1()); /* links what registers plumb's handlers of forks */
    pthread_key_create(&at_end, end_of_thread);
    pthread_atfork(before_fork, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

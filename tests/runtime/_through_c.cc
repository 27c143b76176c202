/* _through_c.cc: throws through the C frame of _through_c.c, 100 times, and cancels a thread in it.
 */
#include <plumb/plumb.hpp>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

extern "C" void through_c(void (*call)(void));

static void throws()
{
    throw 42;
}

static void returns()
{
}

static int waiting;

static void waits()
{
    __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

static void *cancelled(void *arg)
{
    through_c(waits);
    return arg;
}

int main()
{
    int caught = 0;
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        PLUMB_CXX_SPAN(frame, "frame");
        {
            PLUMB_CXX_SPAN(attempt, "attempt");
            try {
                through_c(i % 2 ? throws : returns);
            } catch (int e) {
                caught += e == 42;
            }
        }
        PLUMB_CXX_SPAN(after, "after");
    }
    if (pthread_create(&thread, nullptr, cancelled, nullptr))
        return 1;
    while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
        sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    return caught == 50 ? 0 : 2;
}

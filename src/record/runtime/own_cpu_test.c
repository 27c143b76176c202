/* Processor time of plumb's own threads is counted while they live and when they have ended; that
 * of the program's is not. */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/runtime/own_cpu.h"

#define BURN_NS UINT64_C(20000000)

static sem_t burnt, go;

static void burn(void)
{
    uint64_t until = plumb_clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;
    while (plumb_clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        continue;
}

static void *of_plumb(void *unused)
{
    (void)unused;
    plumb_own_cpu_begin();
    burn();
    sem_post(&burnt);
    sem_wait(&go);
    plumb_own_cpu_end();
    return NULL;
}

static void a_thread_counts_while_it_lives_and_after(void **state)
{
    pthread_t thread;
    uint64_t before = plumb_own_cpu_ns(), living;
    (void)state;
    sem_init(&burnt, 0, 0);
    sem_init(&go, 0, 0);
    burn();
    assert_true(plumb_own_cpu_ns() - before < BURN_NS);
    assert_int_equal(pthread_create(&thread, NULL, of_plumb, NULL), 0);
    sem_wait(&burnt);
    living = plumb_own_cpu_ns() - before;
    assert_true(living >= BURN_NS);
    sem_post(&go);
    pthread_join(thread, NULL);
    assert_true(plumb_own_cpu_ns() - before >= living);
    plumb_own_cpu_forked();
    assert_int_equal(plumb_own_cpu_ns(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_counts_while_it_lives_and_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

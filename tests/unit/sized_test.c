/* malloc, reported by size alone: exact calls and bytes for each node and in total, from many
 * threads, in signal handlers, beyond the bounds, across runs. The figures of other pools do not
 * change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "record_memory.h"
#include "record_traced.h"
#include "signal_point.h"

static void allocate(uint64_t bytes)
{
    plumb_api_()->mem_sized(PLUMB_MEM_ALLOC, bytes);
}

static void release(uint64_t bytes)
{
    plumb_api_()->mem_sized(PLUMB_MEM_FREE, bytes);
}

static const struct plumb_timing_pool *of_malloc(const struct plumb_timing *t)
{
    const struct plumb_timing_pool *p = timing_pool(t, "cpu", "malloc");
    assert_true(p->by_size);
    return p;
}

static void assert_owner(const struct plumb_timing_pool *p, const char *node, uint64_t allocs,
                         uint64_t alloc_bytes, uint64_t frees, uint64_t free_bytes)
{
    const struct plumb_timing_owner *o = timing_owner(p, node);
    assert_int_equal(o->allocs, allocs);
    assert_int_equal(o->alloc_bytes, alloc_bytes);
    assert_int_equal(o->frees, frees);
    assert_int_equal(o->free_bytes, free_bytes);
}

/* ---- One thread ------------------------------------------------------------------------------ */

static void calls_and_bytes_count_for_the_node_around(void **state)
{
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    allocate(7);
    {
        PLUMB_SPAN("outer");
        allocate(100);
        {
            PLUMB_SPAN("inner");
            allocate(1000);
            allocate(2000);
            release(1000);
        }
        release(100);
    }
    release(7);
    record_finish(&t);
    p = of_malloc(&t);
    assert_owner(p, "", 1, 7, 1, 7);
    assert_owner(p, "outer", 1, 100, 1, 100);
    assert_owner(p, "inner", 2, 3000, 1, 1000);
    assert_int_equal(p->allocs, 4);
    assert_int_equal(p->alloc_bytes, 3107);
    assert_int_equal(p->frees, 3);
    assert_int_equal(p->allocated, 2000);
    assert_int_equal(p->held_before, 0);
    plumb_timing_fini(&t);
}

/* The peak lies between two events that are passed on together. */
static void the_peak_of_one_thread_is_exact(void **state)
{
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("weights");
        allocate(500);
    }
    {
        PLUMB_SPAN("work");
        for (int i = 0; i < 10; i++) {
            allocate(300);
            allocate((uint64_t)i * 10);
            release(300);
            release((uint64_t)i * 10);
        }
        allocate(40);
    }
    record_finish(&t);
    p = of_malloc(&t);
    assert_int_equal(p->peak_allocated, 500 + 300 + 90);
    assert_int_equal(timing_owner(p, "work")->at_peak,
                     0); /* whose blocks were freed is not known */
    assert_int_equal(p->allocated, 540);
    plumb_timing_fini(&t);
}

static void stages_know_their_malloc(void **state)
{
    struct plumb_timing_use use;
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_STAGE(stage, "encode");
        allocate(3 * MIB);
        release(3 * MIB);
        allocate(100);
    }
    {
        PLUMB_STAGE(stage, "decode");
        allocate(50);
    }
    record_finish(&t);
    use = timing_use(&t, &timing_node(&t, NULL, "encode")->memory, "cpu", "malloc");
    assert_int_equal(use.peak_allocated, 3 * MIB);
    assert_int_equal(use.allocated, 100);
    use = timing_use(&t, &timing_node(&t, NULL, "decode")->memory, "cpu", "malloc");
    assert_int_equal(use.peak_allocated, 150);
    plumb_timing_fini(&t);
}

static void *give_back(void *arg)
{
    release(MIB);
    return arg;
}

/* Blocks are not followed, so that a stage shows the heap: also where others free what it made. */
static void a_stage_shows_the_whole_heap_of_malloc(void **state)
{
    struct plumb_timing_use use;
    struct plumb_timing t;
    pthread_t thread;
    (void)state;
    for (int i = 0; i < 5; i++) {
        PLUMB_STAGE(stage, "producer");
        allocate(MIB);
        assert_int_equal(pthread_create(&thread, NULL, give_back, NULL), 0);
        pthread_join(thread, NULL);
    }
    record_finish(&t);
    use = timing_use(&t, &timing_node(&t, NULL, "producer")->memory, "cpu", "malloc");
    assert_int_equal(use.peak_allocated, MIB);
    assert_int_equal(use.allocated, 0);
    plumb_timing_fini(&t);
}

/* A value each time that events are passed on. */
static void a_trace_with_memory_counts_the_heap(void **state)
{
    plumb_options o = traced_options();
    struct trace_read t;
    (void)state;
    record_stop();
    o.trace_memory = PLUMB_ON;
    record_start_with(o);
    {
        PLUMB_SPAN("grows");
        allocate(3 * MIB);
        allocate(2 * MIB);
    }
    {
        PLUMB_SPAN("shrinks");
        release(5 * MIB);
    }
    traced_finish(&t);
    assert_true(trace_says(&t, "name=memory cpu malloc allocated"));
    assert_true(trace_says(&t, "5242880"));
    trace_fini(&t);
}

/* The ring goes round many times while `outer` is open: records of others come to lie where its own
 * was. */
static void a_node_keeps_its_events_however_long_it_is_open(void **state)
{
    enum { TIMES = 20000 };
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("outer");
        for (int i = 0; i < TIMES; i++) {
            allocate(1);
            if (i % 3 == 0) {
                PLUMB_SPAN("inner");
                allocate(2);
                PLUMB_SPAN("leaf");
            } else {
                PLUMB_SPAN("other");
            }
        }
    }
    record_finish(&t);
    p = of_malloc(&t);
    assert_owner(p, "outer", TIMES, TIMES, 0, 0);
    assert_owner(p, "inner", (TIMES + 2) / 3, (TIMES + 2) / 3 * 2, 0, 0);
    assert_int_equal(p->owner_count, 2);
    plumb_timing_fini(&t);
}

static void errno_stays(void **state)
{
    struct plumb_timing t;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        errno = 1234;
        allocate((uint64_t)i * 1000);
        assert_int_equal(errno, 1234);
    }
    record_finish(&t);
    plumb_timing_fini(&t);
}

static void nonsense_changes_nothing(void **state)
{
    struct plumb_timing t;
    (void)state;
    allocate(UINT64_MAX);
    plumb_api_()->mem_sized(PLUMB_MEM_TOTAL, 5);
    plumb_api_()->mem_sized(4711, 5);
    allocate(1);
    record_finish(&t);
    assert_int_equal(of_malloc(&t)->alloc_bytes, 1);
    plumb_timing_fini(&t);
}

/* The memory of frames comes from malloc, so a pool "frames" would count it twice. */
static void sums_of_pools_leave_malloc_out(void **state)
{
    struct plumb_timing t;
    (void)state;
    allocate(1000);
    assert_int_equal(mem_now(NULL, NULL).allocated, 1000);
    assert_int_equal(mem_now("cpu", NULL).allocated, 1000);
    plumb_mem_alloc("cpu", "frames", block(1), 300);
    plumb_mem_alloc("cuda:0", "", block(2), 50);
    assert_int_equal(mem_now(NULL, NULL).allocated, 350);
    assert_int_equal(mem_now("cpu", NULL).allocated, 300);
    assert_int_equal(mem_now("cpu", "malloc").allocated, 1000);
    assert_int_equal(mem_now("cpu", "frames").peak_allocated, 300);
    record_finish(&t);
    plumb_timing_fini(&t);
}

static char lines[2000];

static void keep_line(int level, const char *line, void *arg)
{
    size_t n = strlen(lines);
    (void)level;
    (void)arg;
    snprintf(lines + n, sizeof lines - n, "%s\n", line);
}

static void so_does_the_line_of_a_stage(void **state)
{
    struct plumb_timing t;
    (void)state;
    lines[0] = '\0';
    plumb_set_log(PLUMB_LOG_INFO, keep_line, NULL);
    {
        PLUMB_STAGE(stage, "alone");
        allocate(MIB);
    }
    {
        PLUMB_STAGE(stage, "beside");
        allocate(MIB);
        plumb_mem_alloc("cpu", "frames", block(1), 3 * MIB);
    }
    plumb_set_log(0, NULL, NULL);
    assert_non_null(strstr(lines, "memory: 1.00/0.00 MB (peak: 1.00/0.00 MB)"));
    assert_non_null(strstr(lines, "memory: 3.00/0.00 MB (peak: 3.00/0.00 MB)"));
    record_finish(&t);
    plumb_timing_fini(&t);
}

/* ---- Across runs ----------------------------------------------------------------------------- */

/* Last of this file: from here on an interposer has reported malloc. */
static void a_run_begins_with_what_is_held(void **state)
{
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    record_stop();
    plumb_api_()->mem_sized(PLUMB_MEM_HELD, 1000);
    allocate(24);
    record_start();
    {
        PLUMB_SPAN("cleanup");
        release(1000);
        release(20);
    }
    record_finish(&t);
    p = of_malloc(&t);
    assert_int_equal(p->held_before, 1024);
    assert_int_equal(p->allocated, 4);
    assert_int_equal(p->peak_allocated, 1024);
    assert_int_equal(p->frees, 2);
    assert_int_equal(p->leaked_bytes, 0);
    assert_int_equal(timing_owner(p, "cleanup")->at_peak, 0);
    plumb_timing_fini(&t);
    allocate(100);
    record_start();
    record_finish(&t);
    p = of_malloc(&t);
    assert_int_equal(p->held_before, 104);
    assert_int_equal(p->allocated, 104);
    assert_int_equal(p->allocs, 0);
    plumb_timing_fini(&t);
    record_start();
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { THREADS = 8, TIMES = 100000 };

static void *work(void *arg)
{
    PLUMB_SPAN("worker");
    (void)arg;
    for (int i = 0; i < TIMES; i++) {
        allocate(48);
        if (i % 100 == 0) {
            PLUMB_SPAN("seldom");
            allocate(16);
            release(16);
        }
        release(48);
    }
    return NULL;
}

static void in_threads(void *(*body)(void *), size_t n)
{
    pthread_t thread[200];
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, body, (void *)(uintptr_t)(i + 1)), 0);
    for (size_t i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

static void eight_threads_lose_no_call(void **state)
{
    const uint64_t n = (uint64_t)THREADS * TIMES, seldom = n / 100;
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    in_threads(work, THREADS);
    record_finish(&t);
    p = of_malloc(&t);
    assert_owner(p, "worker", n, n * 48, n, n * 48);
    assert_owner(p, "seldom", seldom, seldom * 16, seldom, seldom * 16);
    assert_int_equal(p->allocs, n + seldom);
    assert_int_equal(p->allocated, 0);
    assert_in_range(p->peak_allocated, 48, THREADS * (65536 + 64));
    plumb_timing_fini(&t);
}

/* Blocks with addresses, of a pool that all threads share, each freed by its neighbour. */
static void *work_on_blocks(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    PLUMB_STAGE(stage, "worker");
    for (uint64_t i = 1; i <= TIMES / 20; i++) {
        mem_alloc(me << 32 | i, 100);
        allocate(10);
        mem_free(me << 32 | i);
        release(10);
    }
    return NULL;
}

static void events_of_both_kinds_from_eight_threads(void **state)
{
    const uint64_t n = (uint64_t)THREADS * (TIMES / 20);
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    in_threads(work_on_blocks, THREADS);
    record_finish(&t);
    p = timing_pool(&t, "cuda:0", "caching");
    assert_owner(p, "worker", n, n * 100, n, n * 100);
    assert_int_equal(p->allocated, 0);
    assert_int_equal(p->unknown_frees, 0);
    assert_in_range(p->peak_allocated, 100, THREADS * 100);
    assert_owner(of_malloc(&t), "worker", n, n * 10, n, n * 10);
    plumb_timing_fini(&t);
}

static pthread_barrier_t all_here;

static void *work_without_room(void *arg)
{
    (void)arg;
    allocate(100);
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < 100; i++) {
        allocate(8);
        release(8);
    }
    release(100);
    PLUMB_SPAN("late");
    return NULL;
}

/* More threads than fit into the run: their allocations count outside of every node. */
static void threads_without_room_are_counted_too(void **state)
{
    enum { MANY = 150 };
    plumb_options o = plumb_options_default();
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    record_stop();
    o.max_state_bytes = 3 << 20;
    record_start_with(o);
    pthread_barrier_init(&all_here, NULL, MANY);
    in_threads(work_without_room, MANY);
    pthread_barrier_destroy(&all_here);
    record_finish(&t);
    assert_true(t.drops.lost_state > 0);
    p = of_malloc(&t);
    assert_int_equal(p->allocs, MANY * 101);
    assert_int_equal(p->alloc_bytes, MANY * 900);
    assert_int_equal(p->frees, MANY * 101);
    assert_owner(p, "", MANY * 101, MANY * 900, MANY * 101, MANY * 900);
    plumb_timing_fini(&t);
}

/* ---- Signal handlers ------------------------------------------------------------------------- */

static uint64_t handled;
static uint32_t handles;

static void on_alarm(int sig)
{
    (void)sig;
    if (!__atomic_load_n(&handles, __ATOMIC_RELAXED))
        return; /* delivered late */
    allocate(32);
    allocate(64);
    release(32);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

/* The handler comes between any two instructions of the runtime. */
static void handlers_lose_no_call(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, before;
    struct itimerval timer = {{0, 50}, {0, 50}};
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    uint64_t done = 0;
    (void)state;
    __atomic_store_n(&handles, 1, __ATOMIC_RELAXED);
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < 300) {
        PLUMB_SPAN("loop");
        for (int i = 0; i < 50; i++, done++) {
            PLUMB_SPAN("inner");
            allocate(8);
        }
        signal_point();
    }
    __atomic_store_n(&handles, 0, __ATOMIC_RELAXED);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    sigaction(SIGALRM, &before, NULL);
    record_finish(&t);
    p = of_malloc(&t);
    assert_int_equal(p->allocs, done + 2 * handled);
    assert_int_equal(p->alloc_bytes, 8 * done + 96 * handled);
    assert_int_equal(p->frees, handled);
    assert_int_equal(p->free_bytes, 32 * handled);
    plumb_timing_fini(&t);
}

/* ---- Short lives ----------------------------------------------------------------------------- */

#if !defined(__SANITIZE_THREAD__)
static pthread_key_t key;

static void at_thread_end(void *left)
{
    uintptr_t n = (uintptr_t)left;
    allocate(16);
    release(16);
    if (n > 1)
        pthread_setspecific(key, (void *)(n - 1));
}

static void *short_life(void *arg)
{
    (void)arg;
    pthread_setspecific(key, (void *)3); /* destructors run again, after the runtime's */
    allocate(1);
    return NULL;
}

static void threads_that_allocate_in_their_destructors(void **state)
{
    enum { MANY = 200 };
    const struct plumb_timing_pool *p;
    struct plumb_timing t;
    (void)state;
    assert_int_equal(pthread_key_create(&key, at_thread_end), 0);
    in_threads(short_life, MANY);
    pthread_key_delete(key);
    record_finish(&t);
    p = of_malloc(&t);
    assert_int_equal(p->allocs, MANY * 4);
    assert_int_equal(p->frees, MANY * 3);
    plumb_timing_fini(&t);
}
#endif

static int setup(void **state)
{
    setenv("PLUMB_RING", "4K", 1);
    return record_setup(state);
}

/* The tests end their runs themselves. */
static int teardown(void **state)
{
    if (plumb_is_recording())
        record_teardown(state);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_and_bytes_count_for_the_node_around),
        TEST(the_peak_of_one_thread_is_exact),
        TEST(stages_know_their_malloc),
        TEST(a_stage_shows_the_whole_heap_of_malloc),
        TEST(a_trace_with_memory_counts_the_heap),
        TEST(a_node_keeps_its_events_however_long_it_is_open),
        TEST(errno_stays),
        TEST(nonsense_changes_nothing),
        TEST(sums_of_pools_leave_malloc_out),
        TEST(so_does_the_line_of_a_stage),
        TEST(eight_threads_lose_no_call),
        TEST(events_of_both_kinds_from_eight_threads),
        TEST(threads_without_room_are_counted_too),
        TEST(handlers_lose_no_call),
#if !defined(__SANITIZE_THREAD__) /* which does not outlive the third round of destructors */
        TEST(threads_that_allocate_in_their_destructors),
#endif
        TEST(a_run_begins_with_what_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

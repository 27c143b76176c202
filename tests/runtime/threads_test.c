/* Many short threads cost as much as the few that live at once, and none of their spans is lost,
 * however late in a thread's life it comes. */
#include <limits.h>
#include <pthread.h>

#include "record/runtime/enter.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "runtime/child.h"

enum { THREADS = 10000, LATE_THREADS = 6000, AT_ONCE = 4, SPANS = 7 };
/* A thread that was joined may not be gone yet for the kernel, so that a few records more than
 * threads live at once are needed; one for each thread would be thousands. */
enum { RECORDS = 16 * AT_ONCE };

static void run_threads(int n, void *(*body)(void *), void *arg)
{
    pthread_t threads[AT_ONCE];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    for (int i = 0; i < n; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++)
            ROLE_NEEDS(pthread_create(&threads[k], &attr, body, arg) == 0);
        for (int k = 0; k < AT_ONCE; k++)
            pthread_join(threads[k], NULL);
    }
    pthread_attr_destroy(&attr);
}

static uint64_t records(void)
{
    uint64_t n = 0;
    for (const struct plumb_thread *th = plumb_rt.threads; th; th = th->next)
        n++;
    return n;
}

/* The first threads warm up: allocators, stacks, pages of the mapping. */
static void need_flat_memory(void *(*body)(void *), void *arg, int n)
{
    uint64_t kib;
    run_threads(400, body, arg);
    kib = resident_kib();
    run_threads(n - 400, body, arg);
    fprintf(stderr, "%" PRId64 " KiB more, %" PRIu64 " records, %" PRIu32 " in the mapping\n",
            (int64_t)(resident_kib() - kib), records(), plumb_rt.run->h->threads);
    ROLE_NEEDS(records() <= RECORDS && plumb_rt.run->h->threads <= RECORDS);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ROLE_NEEDS(resident_kib() <= kib + 4096);
#endif
}

static void load_of(struct plumb_load *run, const char *role, const char *const *settings)
{
    struct child c;
    int status = child_run(&c, role, role, settings);
    assert_exited(&c, status, 0);
    load_run(run, in_place(role));
    assert_int_equal(run->state, PLUMB_LOAD_ENDED);
    assert_consistent(&run->timing, true);
}

/* ---- Short threads ------------------------------------------------------------------------------
 */

static void *short_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < SPANS; i++) {
        PLUMB_SPAN("work");
        PLUMB_SPAN("inner");
    }
    return NULL;
}

static int role_short_threads(void)
{
    need_flat_memory(short_thread, NULL, THREADS);
    return 0;
}

static void ten_thousand_short_threads_cost_what_four_cost(void **state)
{
    const char *const settings[] = {"PLUMB_QUIET=1", NULL};
    struct plumb_load run;
    const struct plumb_timing_node *work;
    (void)state;
    load_of(&run, "short_threads", settings);
    work = node_in(&run.timing, "inference", "work");
    assert_non_null(work);
    assert_int_equal(work->host.ns.count, THREADS * SPANS);
    assert_int_equal(work->threads, THREADS);
    assert_int_equal(work->unbalanced, 0);
    assert_int_equal(count_of(&run.timing, "inner"), THREADS * SPANS);
    assert_int_equal(run.timing.open_count, 0);
    plumb_timing_fini(&run.timing);
}

static int role_few_threads(void)
{
    run_threads(2 * AT_ONCE, short_thread, NULL);
    return 0;
}

static void threads_that_left_only_unfolded_records_are_counted_too(void **state)
{
    struct plumb_load run;
    (void)state;
    load_of(&run, "few_threads", NULL);
    assert_int_equal(node_in(&run.timing, "inference", "work")->threads, 2 * AT_ONCE);
    plumb_timing_fini(&run.timing);
}

/* ---- Spans that a thread leaves open
 * ------------------------------------------------------------- */

static void *leaves_open(void *arg)
{
    static struct plumb_point point = PLUMB_POINT_INIT("left open", PLUMB_POINT_PLAIN);
    (void)arg;
    plumb_begin(&point);
    short_thread(NULL);
    return NULL;
}

static void *is_cancelled(void *arg)
{
    static struct plumb_point point = PLUMB_POINT_INIT("left open", PLUMB_POINT_PLAIN);
    plumb_begin(&point);
    short_thread(NULL);
    pthread_barrier_wait(arg);
    for (;;)
        pause();
    return NULL;
}

static int role_leaves_open(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    run_threads(AT_ONCE, leaves_open, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    ROLE_NEEDS(pthread_create(&thread, NULL, is_cancelled, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return 0;
}

static void spans_that_a_thread_leaves_open_are_unbalanced(void **state)
{
    struct plumb_load run;
    const struct plumb_timing_node *open;
    (void)state;
    load_of(&run, "leaves_open", NULL);
    open = node_in(&run.timing, "inference", "left open");
    assert_non_null(open);
    assert_int_equal(open->host.ns.count, 0);
    assert_int_equal(open->unbalanced, AT_ONCE + 1);
    assert_int_equal(count_of(&run.timing, "work"), (AT_ONCE + 1) * SPANS);
    assert_int_equal(run.timing.open_count, 0);
    plumb_timing_fini(&run.timing);
}

/* ---- Late spans
 * ---------------------------------------------------------------------------------- */

static pthread_key_t keys[2];

/* Comes again in every round of destructors, `value` times. */
static void late(pthread_key_t key, void *value)
{
    uintptr_t left = (uintptr_t)value;
    {
        PLUMB_SPAN("late");
    }
    if (left > 1)
        pthread_setspecific(key, (void *)(left - 1));
}

static void late_before(void *value)
{
    late(keys[0], value);
}

static void late_after(void *value)
{
    late(keys[1], value);
}

static void *ends_late(void *arg)
{
    short_thread(NULL);
    pthread_setspecific(keys[0], arg);
    pthread_setspecific(keys[1], arg);
    return NULL;
}

static void make_keys(void)
{
    ROLE_NEEDS(pthread_key_create(&keys[0], late_before) == 0);
    {
        PLUMB_SPAN("first"); /* plumb's key lies between the two */
    }
    ROLE_NEEDS(pthread_key_create(&keys[1], late_after) == 0);
}

static int role_ends_late(void)
{
    make_keys();
    need_flat_memory(ends_late, (void *)(uintptr_t)1, LATE_THREADS);
    return 0;
}

static void spans_in_destructors_of_thread_keys_count(void **state)
{
    struct plumb_load run;
    (void)state;
    load_of(&run, "ends_late", NULL);
    assert_int_equal(count_of(&run.timing, "late"), LATE_THREADS * 2);
    assert_int_equal(count_of(&run.timing, "work"), LATE_THREADS * SPANS);
    plumb_timing_fini(&run.timing);
}

/* As many rounds as there are: in the last, plumb's own destructor does not come again. */
static int role_ends_as_late_as_can_be(void)
{
    make_keys();
    need_flat_memory(ends_late, (void *)(uintptr_t)PTHREAD_DESTRUCTOR_ITERATIONS, LATE_THREADS);
    return 0;
}

static void spans_after_the_last_destructor_count_and_cost_no_memory(void **state)
{
    struct plumb_load run;
    (void)state;
#if defined(__SANITIZE_THREAD__)
    print_message("skipped: the view that ThreadSanitizer has of the thread is gone by then\n");
    skip();
#endif
    load_of(&run, "ends_as_late_as_can_be", NULL);
    assert_int_equal(count_of(&run.timing, "late"),
                     LATE_THREADS * 2 * PTHREAD_DESTRUCTOR_ITERATIONS);
    assert_int_equal(count_of(&run.timing, "work"), LATE_THREADS * SPANS);
    plumb_timing_fini(&run.timing);
}

static void in_atexit(void)
{
    PLUMB_SPAN("atexit");
}

static int role_atexit_spans(void)
{
    atexit(in_atexit);
    short_thread(NULL);
    atexit(in_atexit);
    return 0;
}

static void spans_in_atexit_handlers_count(void **state)
{
    struct plumb_load run;
    (void)state;
    load_of(&run, "atexit_spans", NULL);
    assert_int_equal(count_of(&run.timing, "atexit"), 2);
    plumb_timing_fini(&run.timing);
}

/* ---- Threads that are still there at the end
 * -------------------------------------------------------- */

static pthread_barrier_t all_inside;

static void *stays_inside(void *arg)
{
    static struct plumb_point point = PLUMB_POINT_INIT("held", PLUMB_POINT_PLAIN);
    plumb_begin(&point);
    short_thread(arg);
    pthread_barrier_wait(&all_inside);
    for (;;)
        pause();
    return NULL;
}

static void *never_stops(void *arg)
{
    pthread_barrier_wait(&all_inside);
    for (;;)
        short_thread(arg);
    return NULL;
}

static int role_threads_at_exit(void)
{
    pthread_t thread;
    pthread_barrier_init(&all_inside, NULL, 4);
    for (int i = 0; i < 2; i++)
        ROLE_NEEDS(pthread_create(&thread, NULL, stays_inside, NULL) == 0);
    ROLE_NEEDS(pthread_create(&thread, NULL, never_stops, NULL) == 0);
    pthread_barrier_wait(&all_inside);
    exit(5);
}

static void threads_that_record_at_exit_neither_crash_nor_lose(void **state)
{
    struct plumb_load run;
    struct child c;
    uint64_t held = 0;
    int status;
    (void)state;
    status = child_run(&c, "threads_at_exit", "at_exit", NULL);
    assert_exited(&c, status, 5);
    load_run(&run, in_place("at_exit"));
    assert_int_equal(run.state, PLUMB_LOAD_ENDED);
    assert_consistent(&run.timing, true);
    for (size_t i = 0; i < run.timing.open_count; i++)
        held += strcmp(run.timing.open[i].node, "held") == 0;
    assert_int_equal(held, 2);
    assert_true(count_of(&run.timing, "work") >= 2 * SPANS);
    assert_non_null(strstr(child_errors(&c), "still open at the end: 'held'"));
    plumb_timing_fini(&run.timing);
}

static const struct role roles[] = {{"short_threads", role_short_threads},
                                    {"few_threads", role_few_threads},
                                    {"leaves_open", role_leaves_open},
                                    {"ends_late", role_ends_late},
                                    {"ends_as_late_as_can_be", role_ends_as_late_as_can_be},
                                    {"atexit_spans", role_atexit_spans},
                                    {"threads_at_exit", role_threads_at_exit},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_short_threads_cost_what_four_cost),
        cmocka_unit_test(threads_that_left_only_unfolded_records_are_counted_too),
        cmocka_unit_test(spans_that_a_thread_leaves_open_are_unbalanced),
        cmocka_unit_test(spans_in_destructors_of_thread_keys_count),
        cmocka_unit_test(spans_after_the_last_destructor_count_and_cost_no_memory),
        cmocka_unit_test(spans_in_atexit_handlers_count),
        cmocka_unit_test(threads_that_record_at_exit_neither_crash_nor_lose),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

/* Where a thread is: phases, steps, pipelines and adopted contexts. Per thread, nested, restored
 * however their scope is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"
#include "record/stage/ledger.h"
#include "record_timing.h"

static void node(void)
{
    PLUMB_SPAN("node");
}

static int64_t step_now(void)
{
    plumb_context c;
    plumb_context_capture(&c);
    return c.step;
}

static uint64_t count_in(const char *phase)
{
    return record_row_of(NULL, phase, "node").count;
}

/* ---- Phases -------------------------------------------------------------------------------------
 */

static int leave_phase(int how)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_PHASE("train");
        node();
        if (how == 0)
            continue;
        if (how == 1)
            break;
        if (how == 2)
            return 1;
        goto out;
    }
out:
    return 0;
}

static void a_phase_is_restored_however_it_is_left(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        leave_phase(how);
        node();
    }
    assert_int_equal(count_in("train"), 3 + 1 + 1 + 1);
    assert_int_equal(count_in("inference"), 4);
}

static void phases_nest_and_end_in_any_order(void **state)
{
    plumb_scope a, b, c;
    (void)state;
    a = plumb_phase_begin("a");
    b = plumb_phase_begin("b");
    node();
    plumb_scope_end(a);
    node();
    /* b has ended with a; its number must not end what came later. */
    c = plumb_phase_begin("c");
    plumb_phase_begin("d");
    plumb_scope_end(b);
    node();
    plumb_scope_end(c);
    node();
    assert_int_equal(count_in("b"), 1);
    assert_int_equal(count_in("d"), 1);
    assert_int_equal(count_in("inference"), 2);
}

static void more_scopes_than_can_be_kept_change_nothing(void **state)
{
    plumb_scope scopes[80];
    size_t kept = 0;
    (void)state;
    for (int i = 0; i < 80; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        scopes[i] = plumb_phase_begin(name);
        kept += scopes[i].id != 0;
    }
    node();
    for (int i = 80; i-- > 0;)
        plumb_scope_end(scopes[i]);
    node();
    assert_int_equal(kept, 64);
    assert_int_equal(count_in("p63"), 1);
    assert_int_equal(count_in("inference"), 1);
}

static void *in_its_own_phase(void *name)
{
    node();
    {
        PLUMB_PHASE(name);
        node();
    }
    return NULL;
}

static void phases_are_the_threads_own(void **state)
{
    pthread_t threads[2];
    (void)state;
    {
        PLUMB_PHASE("main");
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, in_its_own_phase, i ? "one" : "other"), 0);
        node();
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        node();
    }
    assert_int_equal(count_in("main"), 2);
    assert_int_equal(count_in("one"), 1);
    assert_int_equal(count_in("other"), 1);
    assert_int_equal(count_in("inference"), 2);
}

static void a_phase_begun_before_the_run_holds_in_it(void **state)
{
    (void)state;
    record_stop();
    {
        PLUMB_PHASE("epoch");
        PLUMB_STEP(12);
        record_start();
        node();
        assert_int_equal(step_now(), 12);
    }
    node();
    assert_int_equal(step_now(), -1);
    assert_int_equal(count_in("epoch"), 1);
    assert_int_equal(count_in("inference"), 1);
}

static void a_run_that_ends_inside_a_phase_leaves_it_standing(void **state)
{
    (void)state;
    {
        PLUMB_PHASE("epoch");
        node();
        record_stop();
        record_start();
        node();
        assert_int_equal(count_in("epoch"), 1);
    }
    node();
    assert_int_equal(count_in("inference"), 1);
}

/* ---- Steps --------------------------------------------------------------------------------------
 */

static int leave_steps(int at, int how)
{
    for (PLUMB_STEPS (step, 5)) {
        assert_int_equal(step_now(), step);
        node();
        if (step < at)
            continue;
        if (how == 1)
            break;
        if (how == 2)
            return step;
        if (how == 3)
            goto out;
    }
out:
    assert_int_equal(step_now(), -1);
    return -1;
}

static void steps_are_known_and_restored_however_the_loop_is_left(void **state)
{
    (void)state;
    assert_int_equal(step_now(), -1);
    for (int how = 0; how < 4; how++) {
        assert_int_equal(leave_steps(2, how), how == 2 ? 2 : -1);
        assert_int_equal(step_now(), -1);
    }
    assert_int_equal(record_count("node"), 5 + 3 + 3 + 3);
}

static void steps_nest(void **state)
{
    int runs = 0;
    (void)state;
    for (PLUMB_STEPS (outer, 3)) {
        for (PLUMB_STEPS (inner, outer)) {
            assert_int_equal(step_now(), inner);
            runs++;
        }
        assert_int_equal(step_now(), outer);
        {
            PLUMB_STEP(100);
            assert_int_equal(step_now(), 100);
        }
        assert_int_equal(step_now(), outer);
    }
    assert_int_equal(runs, 3);
    assert_int_equal(step_now(), -1);
}

static void a_loop_of_no_steps_does_not_run(void **state)
{
    (void)state;
    for (PLUMB_STEPS (step, 0))
        fail_msg("step %d", step);
    for (PLUMB_STEPS (step, -3))
        fail_msg("step %d", step);
    assert_int_equal(step_now(), -1);
}

static void steps_run_as_often_when_nothing_is_recorded(void **state)
{
    int runs = 0;
    (void)state;
    record_stop();
    for (PLUMB_STEPS (step, 7)) {
        if (step == 5)
            break;
        runs++;
    }
    assert_int_equal(runs, 5);
    record_start();
}

/* ---- Pipelines
 * ----------------------------------------------------------------------------------- */

static void pipelines_nest_and_are_restored(void **state)
{
    plumb_pipeline *a = plumb_pipeline_get("a"), *b = plumb_pipeline_get("b");
    plumb_rows *rows;
    (void)state;
    {
        PLUMB_PIPELINE(a);
        PLUMB_PHASE("val");
        node();
        {
            PLUMB_PIPELINE(b);
            node();
            {
                PLUMB_PIPELINE(NULL);
                node();
            }
        }
        node();
    }
    node();
    assert_int_equal(record_row_of(a, "val", "node").count, 2);
    assert_int_equal(record_row_of(b, "val", "node").count, 1);
    /* The default pipeline had one run in each phase. */
    rows = record_rows(NULL, NULL);
    assert_int_equal(plumb_rows_count(rows), 4);
    for (size_t i = 0; i < 4; i++) {
        const plumb_row *row = plumb_rows_get(rows, i);
        if (strcmp(row->pipeline, "a") != 0)
            assert_int_equal(row->count, 1);
    }
    plumb_rows_free(rows);
}

/* ---- Contexts
 * ------------------------------------------------------------------------------------ */

static plumb_context captured;

static void *work_for_it(void *times)
{
    for (int i = 0; i < *(int *)times; i++) {
        PLUMB_ADOPT(&captured);
        PLUMB_SPAN("task");
        {
            PLUMB_SPAN("inside");
            record_work_ns(100000);
        }
    }
    {
        PLUMB_SPAN("own");
    }
    return NULL;
}

static void run_workers(int count, int times)
{
    pthread_t threads[4];
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_for_it, &times), 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void an_adopted_context_hangs_the_workers_spans_below_their_parent(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *batch;
    (void)state;
    {
        PLUMB_PHASE("train");
        PLUMB_SPAN("frame");
        PLUMB_SPAN("batch");
        plumb_context_capture(&captured);
        run_workers(3, 40);
    }
    record_finish(&t);
    assert_int_equal(timing_place_count(&t, "frame/batch/task/inside"), 120);
    assert_int_equal(timing_place_count(&t, "frame/batch"), 1);
    assert_int_equal(timing_node(&t, "train", "task")->host.ns.count, 120);
    assert_int_equal(timing_node(&t, "train", "task")->threads, 3);
    assert_int_equal(timing_node(&t, "train", "task")->outermost_count, 0);
    /* Spans after the adoption are the thread's own again. */
    assert_int_equal(timing_node(&t, "inference", "own")->host.ns.count, 3);
    assert_int_equal(timing_place_count(&t, "own"), 3);
    /* The parent did not do the workers' work. */
    batch = timing_node(&t, "train", "batch");
    assert_int_equal(batch->self_ns, batch->host.ns.total);
    assert_int_equal(t.drops.unbalanced, 0);
    plumb_timing_fini(&t);
    record_start();
}

static void *check_where_it_is(void *unused)
{
    plumb_context inner;
    (void)unused;
    {
        PLUMB_ADOPT(&captured);
        assert_int_equal(step_now(), 17);
        node();
        plumb_context_capture(&inner);
        assert_int_equal(inner.depth, captured.depth);
        assert_memory_equal(inner.path, captured.path, sizeof inner.path[0] * inner.depth);
        assert_int_equal(inner.group, captured.group);
    }
    assert_int_equal(step_now(), -1);
    node();
    return NULL;
}

static void phase_step_and_pipeline_come_with_the_context(void **state)
{
    pthread_t thread;
    plumb_pipeline *p = plumb_pipeline_get("carried");
    (void)state;
    {
        PLUMB_PIPELINE(p);
        PLUMB_PHASE("val");
        PLUMB_STEP(17);
        PLUMB_SPAN("parent");
        plumb_context_capture(&captured);
    }
    assert_int_equal(pthread_create(&thread, NULL, check_where_it_is, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(record_row_of(p, "val", "node").count, 1);
    assert_int_equal(count_in("inference"), 1);
}

static void *adopt_and_pass_on(void *unused)
{
    int once = 1;
    (void)unused;
    PLUMB_ADOPT(&captured);
    {
        PLUMB_SPAN("first hand");
        plumb_context_capture(&captured);
        run_workers(1, once);
    }
    return NULL;
}

static void a_context_can_be_passed_on(void **state)
{
    struct plumb_timing t;
    pthread_t thread;
    (void)state;
    {
        PLUMB_SPAN("frame");
        plumb_context_capture(&captured);
        assert_int_equal(pthread_create(&thread, NULL, adopt_and_pass_on, NULL), 0);
        pthread_join(thread, NULL);
    }
    record_finish(&t);
    assert_int_equal(timing_place_count(&t, "frame/first hand/task/inside"), 1);
    plumb_timing_fini(&t);
    record_start();
}

static void a_context_of_an_earlier_run_carries_no_parent(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("old parent");
        plumb_context_capture(&captured);
    }
    record_stop();
    record_start();
    run_workers(1, 1);
    record_finish(&t);
    assert_int_equal(timing_place_count(&t, "task/inside"), 1);
    plumb_timing_fini(&t);
    record_start();
}

static void a_made_up_context_harms_nothing(void **state)
{
    plumb_context c;
    (void)state;
    plumb_context_capture(&c);
    c.depth = 28;
    c.group = 0xffffff;
    memset(c.path, 0xff, sizeof c.path);
    for (int i = 0; i < 200; i++) {
        PLUMB_ADOPT(&c);
        PLUMB_SPAN("somewhere");
    }
    c.depth = 1000;
    for (int i = 0; i < 200; i++) {
        PLUMB_ADOPT(&c);
        PLUMB_SPAN("somewhere");
    }
    node();
    assert_int_equal(count_in("inference"), 1);
    plumb_rows_free(record_rows(NULL, NULL));
}

static int nest_and_capture(int depth)
{
    PLUMB_SPAN("deep");
    if (depth > 1)
        return nest_and_capture(depth - 1);
    plumb_context_capture(&captured);
    return (int)captured.depth;
}

static void a_path_longer_than_a_context_holds_is_cut_at_its_inner_end(void **state)
{
    (void)state;
    assert_int_equal(nest_and_capture(40), 27);
    run_workers(1, 1);
    assert_int_equal(record_count("task"), 1);
}

/* ---- Cost ------------------------------------------------------------------------------------ */

static sem_t warm, go, done;

static void all_scopes_of_a_pipeline(void)
{
    plumb_context c;
    PLUMB_PHASE("train");
    node();
    PLUMB_STEP(7);
    plumb_context_capture(&c);
    PLUMB_ADOPT(&c);
    PLUMB_PIPELINE(NULL);
    node();
}

static void *scopes_again(void *unused)
{
    all_scopes_of_a_pipeline();
    sem_post(&warm);
    sem_wait(&go);
    all_scopes_of_a_pipeline();
    sem_post(&done); /* the end of a thread takes the lock */
    return unused;
}

static void *sample_memory(void *unused)
{
    (void)plumb_series_sample(plumb_rt.run);
    return unused;
}

/* The runtime's lock is taken by whatever is slow; a phase costs some clock reads. Nor do scopes
 * wait for a sample of the process's memory that waits for that lock, as a run's first does. */
static void scopes_of_one_pipeline_do_not_wait_for_the_runtimes_lock(void **state)
{
    pthread_t thread, sampler;
    struct timespec until, pause = {.tv_nsec = 50000000};
    int rc;
    (void)state;
    sem_init(&warm, 0, 0);
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, scopes_again, NULL), 0);
    sem_wait(&warm);
    plumb_lock();
    PLUMB_RELEASE(plumb_rt.run->h->ledger.series_off[0], 0);
    assert_int_equal(pthread_create(&sampler, NULL, sample_memory, NULL), 0);
    nanosleep(&pause, NULL);
    sem_post(&go);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    rc = sem_timedwait(&done, &until);
    plumb_unlock();
    pthread_join(thread, NULL);
    pthread_join(sampler, NULL);
    assert_int_equal(rc, 0);
    assert_int_equal(count_in("train"), 4);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(a_phase_is_restored_however_it_is_left),
        IN_A_RUN(phases_nest_and_end_in_any_order),
        IN_A_RUN(more_scopes_than_can_be_kept_change_nothing),
        IN_A_RUN(phases_are_the_threads_own),
        IN_A_RUN(a_phase_begun_before_the_run_holds_in_it),
        IN_A_RUN(a_run_that_ends_inside_a_phase_leaves_it_standing),
        IN_A_RUN(steps_are_known_and_restored_however_the_loop_is_left),
        IN_A_RUN(steps_nest),
        IN_A_RUN(a_loop_of_no_steps_does_not_run),
        IN_A_RUN(steps_run_as_often_when_nothing_is_recorded),
        IN_A_RUN(pipelines_nest_and_are_restored),
        IN_A_RUN(an_adopted_context_hangs_the_workers_spans_below_their_parent),
        IN_A_RUN(phase_step_and_pipeline_come_with_the_context),
        IN_A_RUN(a_context_can_be_passed_on),
        IN_A_RUN(a_context_of_an_earlier_run_carries_no_parent),
        IN_A_RUN(a_made_up_context_harms_nothing),
        IN_A_RUN(a_path_longer_than_a_context_holds_is_cut_at_its_inner_end),
        IN_A_RUN(scopes_of_one_pipeline_do_not_wait_for_the_runtimes_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

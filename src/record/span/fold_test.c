/* Resets and summaries during a fold. After a reset nothing from before it is counted, wherever in
 * the call tree the node is and wherever the process dies. A summary has everything that the thread
 * has recorded, and does not wait for it, whether the thread continues or not. A fold calls a
 * function for the sums of a row; the tests replace it by one of theirs, which knows how far the
 * fold has come. */
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/span/span_pairs.h"
#include "record/span/thread_copy.h"
#include "runtime/child.h"

enum { ROW = 10 }; /* as many as are summed up in one call */

static plumb_leaves_fn *real_leaves;
static unsigned reset_in, kill_in; /* rows of the fold, from 1; 0: in none */
static __thread bool armed;        /* plumb measures spans on a thread of its own at the same
                                    * time */
static __thread unsigned rows_seen;

/* A thread that folds holds no lock. Another thread resets, because the folding one cannot do that
 * there. */
static void *another_resets(void *arg)
{
    plumb_reset(NULL, NULL);
    return arg;
}

/* Called once, in the fold's row number `rows_left`, from 1. */
static __thread void (*in_row)(void);
static __thread unsigned rows_left;

static void leaves_and_more(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs)
{
    void (*call)(void) = in_row && --rows_left == 0 ? in_row : NULL;
    pthread_t other;
    if (call) {
        in_row = NULL;
        call();
    }
    rows_seen += armed;
    if (armed && rows_seen == reset_in && pthread_create(&other, NULL, another_resets, NULL) == 0)
        pthread_join(other, NULL);
    if (armed && rows_seen == kill_in)
        raise(SIGKILL);
    real_leaves(out, words, pairs);
}

static void twice(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        PLUMB_SPAN("twice");
    }
}

/* Records until the thread's block is folded. */
static void fill(void)
{
    uint64_t folded = plumb_tls->live->folded;
    while (plumb_tls->live->folded == folded) {
        PLUMB_SPAN("filler");
    }
}

/* One block: a row that takes the short path, the same node at a new place, and another row at the
 * first place. */
static void fold_a_block_with_both_nodes(void)
{
    twice(1000);
    fill();
    rows_seen = 0;
    armed = true;
    twice(ROW);
    {
        PLUMB_SPAN("around");
        twice(1);
    }
    twice(ROW);
    fill();
    armed = false;
    ROLE_NEEDS(rows_seen >= 2);
}

static void nothing_from_before_a_reset_within_a_fold_is_counted(void **state)
{
    (void)state;
    reset_in = 1;
    record_start();
    fold_a_block_with_both_nodes();
    assert_int_equal(record_count("twice"), 0);
    twice(3);
    assert_int_equal(record_count("twice"), 3);
    fill();
    assert_int_equal(record_count("twice"), 3);
    record_stop();
}

static int killed_in(unsigned row)
{
    reset_in = 1;
    kill_in = row;
    fold_a_block_with_both_nodes();
    return 0;
}

static int role_killed_in_the_row_of_the_reset(void)
{
    return killed_in(1);
}

static int role_killed_in_the_row_after_it(void)
{
    return killed_in(2);
}

static void nor_by_who_reads_a_run_that_was_killed_in_that_fold(void **state)
{
    static const char *const killed[] = {"in_the_row", "in_the_next"};
    (void)state;
    for (size_t i = 0; i < sizeof killed / sizeof *killed; i++) {
        struct plumb_load run;
        struct child c;
        int status = child_run(&c, killed[i], killed[i], NULL);
        assert_signaled(&c, status, SIGKILL);
        load_run(&run, in_place(killed[i]));
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        assert_int_equal(count_of(&run.timing, "twice"), 0);
        assert_consistent(&run.timing, false);
        plumb_timing_fini(&run.timing);
    }
}

/* ---- Summaries of a thread that does not come out of a fold ---------------------------------- */

static sem_t folding, go_on;
static uint64_t begun[2]; /* spans of each node when the thread is held up */
static struct plumb_thread *held_up;
static __thread sigjmp_buf away;

/* Rows of two nodes in turn. A block is folded at the end of its last span, which counts. */
static void record_until_held_up(void (*how)(void))
{
    static struct plumb_point points[2] = {PLUMB_POINT_INIT("twice", PLUMB_POINT_PLAIN),
                                           PLUMB_POINT_INIT("too", PLUMB_POINT_PLAIN)};
    begun[0] = begun[1] = 0;
    for (uint32_t i = 0; i < 1000 || in_row; i++) {
        uint32_t node = i / ROW % 2;
        if (i == 999) { /* a block has six rows: some after it, and some before it */
            rows_left = 4;
            in_row = how;
        }
        begun[node]++;
        plumb_end(plumb_begin(&points[node]));
    }
}

static void wait_in_the_fold(void)
{
    held_up = plumb_tls;
    sem_post(&folding);
    while (sem_wait(&go_on) < 0)
        continue;
}

static void *waits(void *arg)
{
    record_until_held_up(wait_in_the_fold);
    twice(10);
    return arg;
}

static void jump_out_of_the_fold(void)
{
    siglongjmp(away, 1);
}

/* Like a handler that interrupted the fold. The thread lives on. */
static void *jumps(void *arg)
{
    if (sigsetjmp(away, 1) == 0)
        record_until_held_up(jump_out_of_the_fold);
    wait_in_the_fold();
    return arg;
}

static void end_in_the_fold(void)
{
    pthread_exit(NULL);
}

/* Like an asynchronous cancellation. */
static void *ends(void *arg)
{
    record_until_held_up(end_in_the_fold);
    return arg;
}

static void nothing_is_missing(void)
{
    for (int i = 0; i < 3; i++) {
        assert_int_equal(record_count("twice"), begun[0]);
        assert_int_equal(record_count("too"), begun[1]);
    }
}

static void a_summary_does_not_wait_for_a_fold(void **state)
{
    pthread_t thread;
    (void)state;
    record_start();
    assert_int_equal(pthread_create(&thread, NULL, waits, NULL), 0);
    sem_wait(&folding);
    nothing_is_missing();
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_int_equal(record_count("twice"), begun[0] + 10);
    record_stop();
}

static void nor_for_one_that_was_left_by_a_jump(void **state)
{
    pthread_t thread;
    (void)state;
    record_start();
    assert_int_equal(pthread_create(&thread, NULL, jumps, NULL), 0);
    sem_wait(&folding);
    nothing_is_missing();
    sem_post(&go_on);
    pthread_join(thread, NULL);
    nothing_is_missing();
}

static void nor_for_one_whose_thread_has_ended(void **state)
{
    pthread_t thread;
    (void)state;
    record_start();
    assert_int_equal(pthread_create(&thread, NULL, ends, NULL), 0);
    pthread_join(thread, NULL);
    nothing_is_missing();
    record_stop();
}

/* The parts of a summary of the thread that is held up, with a reset where other threads' states
 * are added: its buckets are ahead of its counts by the samples that the replay brings. */
static void merge_with_a_reset(struct plumb_merge *m, struct plumb_copy_memory *memory)
{
    static struct plumb_live_frame frames[PLUMB_DEPTH_MAX + 1];
    struct plumb_run *run = plumb_rt.run;
    struct plumb_live_view view = plumb_live_view_of(run->base, run->mapped);
    struct plumb_thread_copy copy;
    struct plumb_live_context context;
    assert_int_equal(plumb_merge_open(m, m->arena, &view, false), PLUMB_OK);
    assert_int_equal(plumb_thread_copy(&copy, memory, (struct plumb_in){held_up, run}, m),
                     PLUMB_OK);
    assert_true(copy.ahead_count > 0);
    plumb_merge_thread(m, copy.generation);
    for (uint32_t i = 0; i < copy.states; i++) {
        assert_null(copy.state[i].lines);
        plumb_merge_state(m, copy.state[i].head);
    }
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    context = *copy.context;
    memcpy(frames, copy.frames, (context.depth + 1) * sizeof *frames);
    memcpy(m->ahead, copy.ahead, copy.ahead_count * sizeof *copy.ahead);
    m->ahead_count = copy.ahead_count;
    for (uint32_t i = 0; i < copy.blocks; i++)
        plumb_merge_block(m, &context, frames, copy.words + (size_t)i * PLUMB_BLOCK_WORDS);
}

static void a_reset_during_a_summary_tears_no_row(void **state)
{
    struct plumb_arena arena = {0};
    struct plumb_copy_memory memory = {0};
    struct plumb_merge m = {.arena = &arena};
    uint64_t samples = 0;
    pthread_t thread;
    (void)state;
    record_start();
    assert_int_equal(pthread_create(&thread, NULL, waits, NULL), 0);
    sem_wait(&folding);
    merge_with_a_reset(&m, &memory);
    for (size_t i = 0; i < m.row_count; i++) {
        const struct plumb_merge_channel *c = m.rows[i]->channel[PLUMB_CHANNEL_SPAN];
        uint64_t mass = 0;
        size_t n = 0;
        const struct plumb_bucket *b = c ? plumb_merge_buckets(&m, c, 1, &n) : NULL;
        for (size_t k = 0; k < n; k++)
            mass += b[k].count;
        assert_int_equal(mass, c ? c->stats.count : 0);
        samples += mass;
    }
    assert_int_equal(samples, begun[0] + begun[1]);
    assert_int_equal(record_count("twice"), 0);
    plumb_merge_close(&m);
    plumb_copy_fini(&memory);
    plumb_arena_fini(&arena);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    record_stop();
}

static int open_semaphores(void **state)
{
    sem_init(&folding, 0, 0);
    sem_init(&go_on, 0, 0);
    return fresh_place(state);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {{"in_the_row", role_killed_in_the_row_of_the_reset},
                                        {"in_the_next", role_killed_in_the_row_after_it},
                                        {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_from_before_a_reset_within_a_fold_is_counted,
                                  record_close),
        cmocka_unit_test_teardown(nor_by_who_reads_a_run_that_was_killed_in_that_fold,
                                  record_close),
        cmocka_unit_test_teardown(a_summary_does_not_wait_for_a_fold, record_close),
        cmocka_unit_test_teardown(a_reset_during_a_summary_tears_no_row, record_close),
        cmocka_unit_test_teardown(nor_for_one_whose_thread_has_ended, record_close),
        cmocka_unit_test_teardown(nor_for_one_that_was_left_by_a_jump, record_close),
    };
    /* Before there is a run, and another thread. */
    real_leaves = plumb_rt.leaves;
    plumb_rt.leaves = leaves_and_more;
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, open_semaphores, NULL);
}

/* A reset that comes while a thread folds: nothing from before it is counted, wherever in the call
 * tree the node lies and wherever the process dies. A fold asks a function for the sums of a row;
 * the tests put one of theirs in its place, which knows how far the fold has come. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/runtime.h"
#include "record.h"
#include "runtime/child.h"

enum { ROW = 10 }; /* as many as are summed up in one call */

static plumb_leaves_fn *real_leaves;
static unsigned rows_seen, reset_in, kill_in; /* rows of the fold, from 1; 0: in none */

/* A thread that folds holds no lock, but another one does what it cannot do to itself there. */
static void *another_resets(void *arg)
{
    plumb_reset(NULL, NULL);
    return arg;
}

static void leaves_and_more(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs)
{
    pthread_t other;
    rows_seen++;
    if (rows_seen == reset_in && pthread_create(&other, NULL, another_resets, NULL) == 0)
        pthread_join(other, NULL);
    if (rows_seen == kill_in)
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

/* One block: a row that is added without a look, the same node at a place where it never was, and
 * another row at the first. */
static void fold_a_block_with_both_places(void)
{
    twice(1000);
    fill();
    rows_seen = 0;
    real_leaves = plumb_rt.leaves;
    plumb_rt.leaves = leaves_and_more;
    twice(ROW);
    {
        PLUMB_SPAN("around");
        twice(1);
    }
    twice(ROW);
    fill();
    plumb_rt.leaves = real_leaves;
    assert_true(rows_seen >= 2);
}

static void nothing_from_before_a_reset_within_a_fold_is_counted(void **state)
{
    (void)state;
    reset_in = 1;
    record_start();
    fold_a_block_with_both_places();
    assert_int_equal(record_count("twice"), 0);
    twice(3);
    assert_int_equal(record_count("twice"), 3);
    fill();
    assert_int_equal(record_count("twice"), 3);
    record_stop();
}

static void nor_by_who_reads_a_run_that_was_killed_in_that_fold(void **state)
{
    const char *dir = in_place("killed");
    struct plumb_load run;
    (void)state;
    for (kill_in = 1; kill_in <= 2; kill_in++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            plumb_options options = plumb_options_default();
            options.run_dir = dir;
            options.quiet = PLUMB_ON;
            ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
            fold_a_block_with_both_places();
            _exit(0);
        }
        status = child_status_of(pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        load_run(&run, dir);
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        assert_int_equal(count_of(&run.timing, "twice"), 0);
        assert_consistent(&run.timing, false);
        plumb_timing_fini(&run.timing);
        remove_run(dir);
    }
    kill_in = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_from_before_a_reset_within_a_fold_is_counted),
        cmocka_unit_test(nor_by_who_reads_a_run_that_was_killed_in_that_fold),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

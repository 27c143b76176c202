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
static unsigned reset_in, kill_in; /* rows of the fold, from 1; 0: in none */
static __thread bool armed;        /* plumb measures spans on a thread of its own meanwhile */
static __thread unsigned rows_seen;

/* A thread that folds holds no lock, but another one does what it cannot do to itself there. */
static void *another_resets(void *arg)
{
    plumb_reset(NULL, NULL);
    return arg;
}

static void leaves_and_more(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs)
{
    pthread_t other;
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

/* One block: a row that is added without a look, the same node at a place where it never was, and
 * another row at the first. */
static void fold_a_block_with_both_places(void)
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
    fold_a_block_with_both_places();
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
    fold_a_block_with_both_places();
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
    };
    /* Before there is a run, and another thread. */
    real_leaves = plumb_rt.leaves;
    plumb_rt.leaves = leaves_and_more;
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

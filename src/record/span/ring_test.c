/* A thread's blocks wait and are folded together. A summary has all waiting records, a thread that
 * is held by another one continues, and open spans are found. */
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include "record/runtime/enter.h"
#include "record/runtime/mapping.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/span/thread_lock.h"
#include "runtime/child.h"

static uint64_t unfolded(void)
{
    return plumb_tls->number - plumb_tls->live->folded;
}

static void leaves(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        PLUMB_SPAN("leaf");
    }
}

/* Records until `n` blocks are unfolded. Returns how many spans that took. */
static unsigned leaves_until(uint64_t n)
{
    unsigned spans = 0;
    for (; unfolded() != n; spans++)
        leaves(1);
    return spans;
}

static void settle(void)
{
    struct plumb_in in;
    assert_true(plumb_enter(&in, false));
    plumb_block_settle(in, plumb_ticks_from(in.th->clock));
    plumb_leave(in);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void full_blocks_wait_and_are_folded_together(void **state)
{
    uint64_t batch, from;
    (void)state;
    leaves(1);
    batch = plumb_tls->batch;
    assert_int_equal(plumb_tls->live->blocks, 16);
    assert_int_equal(batch, 8);
    leaves_until(batch);
    from = plumb_tls->live->folded;
    leaves_until(1);
    assert_int_equal(plumb_tls->live->folded, from + batch);
}

static void a_summary_has_them_and_folds_them(void **state)
{
    unsigned spans = 1;
    (void)state;
    leaves(1);
    spans += leaves_until(5);
    assert_int_equal(record_count("leaf"), spans);
    assert_int_equal(unfolded(), 1);
    spans += leaves_until(3);
    assert_int_equal(record_count("leaf"), spans);
}

static void the_size_of_the_ring_is_as_asked_for(void **state)
{
    static const struct {
        uint64_t bytes, blocks, batch;
    } rings[] = {{4096, 4, 2}, {65536, 64, 32}, {1 << 20, 1024, 64}};
    (void)state;
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        plumb_options options = plumb_options_default();
        unsigned spans = 1;
        options.ring_bytes = rings[i].bytes;
        record_start_with(options);
        leaves(1);
        assert_int_equal(plumb_tls->live->blocks, rings[i].blocks);
        assert_int_equal(plumb_tls->batch, rings[i].batch);
        spans += leaves_until(rings[i].batch);
        assert_int_equal(record_count("leaf"), spans);
        record_stop();
    }
}

static void the_blocks_of_a_traced_thread_do_not_wait(void **state)
{
    plumb_options options = plumb_options_default();
    (void)state;
    options.trace = PLUMB_ON;
    record_start_with(options);
    for (unsigned i = 0; i < 1000; i++) {
        leaves(1);
        assert_int_equal(unfolded(), 1);
    }
    record_stop();
}

/* ---- The undo log ---------------------------------------------------------------------------- */

/* Returns how many of the thread's states have that much device time inside them. */
static unsigned states_around(uint64_t ns)
{
    const struct plumb_live_thread *live = plumb_tls->live;
    unsigned n = 0;
    for (uint64_t at = live->state_off; at;) {
        const struct plumb_live_state *st = PLUMB_AT(plumb_rt.run, struct plumb_live_state, at);
        n += st->channel == PLUMB_CHANNEL_DEVICE_NS && st->self == ns;
        at = st->next_off;
    }
    return n;
}

/* Many other nodes come earlier, in blocks that are folded with it. */
static void a_sample_in_a_hundred_nodes_counts_for_each(void **state)
{
    enum { DEPTH = 100, OTHERS = 126 }; /* two blocks */
    char name[16];
    (void)state;
    for (unsigned i = 0; i < DEPTH; i++) {
        snprintf(name, sizeof name, "around.%u", i);
        plumb_begin_node(plumb_node_get(name));
    }
    settle();
    for (unsigned i = 0; i < OTHERS; i++) {
        snprintf(name, sizeof name, "other.%u", i);
        plumb_end(plumb_begin_node(plumb_node_get(name)));
    }
    plumb_record_device_ns(plumb_node_get("kernel"), 1000);
    assert_true(unfolded() > 1);
    settle();
    assert_int_equal(states_around(1000), DEPTH);
}

/* ---- Held by another thread ------------------------------------------------------------------ */

static struct plumb_thread *held;
static sem_t is_held, let_go;

static void *hold(void *arg)
{
    plumb_hold(held);
    sem_post(&is_held);
    sem_wait(&let_go);
    plumb_hold_release(held);
    return arg;
}

static void a_thread_that_is_held_goes_on_until_its_ring_is_full(void **state)
{
    pthread_t holder;
    unsigned spans = 1;
    uint64_t folded;
    (void)state;
    leaves(1);
    held = plumb_tls;
    assert_int_equal(sem_init(&is_held, 0, 0), 0);
    assert_int_equal(sem_init(&let_go, 0, 0), 0);
    assert_int_equal(pthread_create(&holder, NULL, hold, NULL), 0);
    sem_wait(&is_held);
    folded = held->live->folded;
    spans += leaves_until(held->live->blocks);
    assert_int_equal(held->live->folded, folded);
    sem_post(&let_go);
    spans += leaves_until(1);
    pthread_join(holder, NULL);
    assert_int_equal(record_count("leaf"), spans);
}

/* ---- Killed ---------------------------------------------------------------------------------- */

enum { KILLED_AFTER = 400 }; /* six blocks and a part of the seventh */

static int role_killed_with_blocks_that_wait(void)
{
    leaves(KILLED_AFTER);
    ROLE_NEEDS(unfolded() == 7);
    raise(SIGKILL);
    return 0;
}

static void blocks_that_wait_are_there_after_a_kill(void **state)
{
    struct plumb_load run;
    struct child c;
    int status = child_run(&c, "waiting", "waiting", NULL);
    (void)state;
    assert_signaled(&c, status, SIGKILL);
    load_run(&run, in_place("waiting"));
    assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
    assert_int_equal(count_of(&run.timing, "leaf"), KILLED_AFTER);
    assert_consistent(&run.timing, false);
    plumb_timing_fini(&run.timing);
}

/* ---- What is open ---------------------------------------------------------------------------- */

static uint32_t innermost(void)
{
    struct plumb_in in;
    uint32_t node;
    assert_true(plumb_enter(&in, false));
    node = plumb_key_node(plumb_ring_innermost(in.th));
    plumb_leave(in);
    return node;
}

/* Spans at every depth up to three, at each place of the ring where their begins can be. */
static void walk(plumb_node at_one, unsigned rounds)
{
    plumb_node inner = plumb_node_get("inner"), leaf = plumb_node_get("leaf");
    for (unsigned i = 0; i < rounds; i++) {
        plumb_span a = plumb_begin_node(inner), b;
        assert_int_equal(innermost(), inner);
        b = plumb_begin_node(leaf);
        assert_int_equal(innermost(), leaf);
        if (i % 97 == 0)
            settle();
        plumb_end(b);
        assert_int_equal(innermost(), inner);
        plumb_end(a);
        assert_int_equal(innermost(), at_one);
        leaves(i % 5);
        assert_int_equal(innermost(), at_one);
    }
}

static void the_innermost_span_is_found_wherever_it_began(void **state)
{
    plumb_node outer = plumb_node_get("outer");
    plumb_span s;
    (void)state;
    s = plumb_begin_node(outer);
    walk(outer, 3000);
    plumb_end(s);
}

/* As deep as a span that was open at the last fold, and many blocks ago. */
static void so_is_one_that_began_blocks_ago(void **state)
{
    plumb_node first = plumb_node_get("first"), second = plumb_node_get("second");
    plumb_span s = plumb_begin_node(first);
    (void)state;
    settle();
    plumb_end(s);
    leaves_until(3);
    s = plumb_begin_node(second);
    leaves_until(5);
    assert_int_equal(innermost(), second);
    plumb_end(s);
    /* After a question that had to search, fewer blocks wait, so frequent questions stay cheap. */
    leaves_until(1);
    assert_int_equal(plumb_tls->batch, 1);
}

static int place(void **state)
{
    return fresh_place(state);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {{"waiting", role_killed_with_blocks_that_wait},
                                        {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(full_blocks_wait_and_are_folded_together, record_setup,
                                        record_teardown),
        cmocka_unit_test_setup_teardown(a_summary_has_them_and_folds_them, record_setup,
                                        record_teardown),
        cmocka_unit_test_teardown(the_size_of_the_ring_is_as_asked_for, record_close),
        cmocka_unit_test_setup_teardown(a_sample_in_a_hundred_nodes_counts_for_each, record_setup,
                                        record_teardown),
        cmocka_unit_test_teardown(the_blocks_of_a_traced_thread_do_not_wait, record_close),
        cmocka_unit_test_setup_teardown(a_thread_that_is_held_goes_on_until_its_ring_is_full,
                                        record_setup, record_teardown),
        cmocka_unit_test_teardown(blocks_that_wait_are_there_after_a_kill, record_close),
        cmocka_unit_test_setup_teardown(the_innermost_span_is_found_wherever_it_began, record_setup,
                                        record_teardown),
        cmocka_unit_test_setup_teardown(so_is_one_that_began_blocks_ago, record_setup,
                                        record_teardown),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, place, NULL);
}

/* Eight threads record into traces that start and stop under them, by turns in stop mode with much
 * room and with little and in ring mode, while another thread keeps the ring. Of each run every
 * span that ended is whole in the trace or counted as lost, and each file is one that a reader
 * takes. ThreadSanitizer sees the rest. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"
#include "record_trace.h"
#include "runtime/child.h"
#include "trace_ends.h"

enum { RECORDERS = 8, RUNS = 6, KINDS = 3, ROUNDS = 24 };

static uint32_t over;
static struct {
    _Alignas(64) uint64_t rounds;
} done[RECORDERS];
static uint64_t kept; /* wishes that were heard */

static bool is_over(void)
{
    return __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

static void nested(int i)
{
    PLUMB_PHASE(i & 1 ? "train" : "inference");
    PLUMB_STEP(i);
    PLUMB_SPAN_AS(outer, "outer");
    plumb_arg_i64(outer, "i", i);
    plumb_arg_str(outer, "kind", i % 5 ? "usual" : "rare");
    for (int k = 0; k < 3; k++) {
        PLUMB_SPAN("inner");
        plumb_gauge_set("depth", k);
    }
    PLUMB_SPAN_AS(odd, "odd");
    if (i % 7 == 0)
        plumb_span_fail(odd, "made to fail");
    else if (i % 7 == 1)
        plumb_span_abandon(odd);
    plumb_instant("moment");
}

static void across_threads(int i)
{
    plumb_context context;
    char name[32];
    plumb_context_capture(&context);
    plumb_scope scope = plumb_context_adopt(&context);
    snprintf(name, sizeof name, "block.%d", i % 40); /* new names, and old ones */
    plumb_end(plumb_begin_node(plumb_node_get(name)));
    plumb_scope_end(scope);
    plumb_async_end(plumb_async_begin(plumb_node_get("request")));
    PLUMB_STAGE(stage, "stage");
    plumb_stage_metadata(stage, "i", plumb_value_i64(i));
    plumb_mem_alloc("cuda:0", "torch", name, 4096);
    plumb_mem_free("cuda:0", "torch", name, 4096);
}

static void *recorder(void *arg)
{
    for (int i = 0; !is_over(); i++) {
        nested(i);
        across_threads(i);
        __atomic_fetch_add(&done[(intptr_t)arg].rounds, 1, __ATOMIC_RELAXED);
        if (i % 8 == 0)
            sched_yield();
    }
    return NULL;
}

static void *keeper(void *arg)
{
    while (!is_over()) {
        if (plumb_trace_keep("the test wants it", NULL) == PLUMB_OK)
            __atomic_fetch_add(&kept, 1, __ATOMIC_RELAXED);
        sched_yield();
    }
    return arg;
}

/* Returns when each recorder has done some rounds more, and `wanted` wishes were heard. */
static void await_rounds(uint64_t wanted)
{
    uint64_t from[RECORDERS];
    for (int i = 0; i < RECORDERS; i++)
        from[i] = __atomic_load_n(&done[i].rounds, __ATOMIC_RELAXED);
    for (int i = 0; i < RECORDERS; i++)
        while (__atomic_load_n(&done[i].rounds, __ATOMIC_RELAXED) - from[i] < ROUNDS)
            sched_yield();
    while (__atomic_load_n(&kept, __ATOMIC_RELAXED) < wanted)
        sched_yield();
}

static plumb_options options_of(int kind, const char *dir)
{
    plumb_options o = plumb_options_default();
    o.run_dir = dir;
    o.trace = PLUMB_ON;
    o.trace_mode = kind == 2 ? PLUMB_TRACE_RING : PLUMB_TRACE_STOP;
    o.trace_ring_bytes = kind == 0 ? 0 : 16384;
    /* Large enough however long the threads wait for each other; in ring mode the files that are
     * kept in the meantime must leave space for the trace at the end. */
    o.trace_max_bytes = kind == 2 ? 16 << 20 : 1 << 20;
    o.trace_shapes = o.trace_memory = o.trace_stack = PLUMB_ON;
    o.keep_if = kind == 2 ? "inner>1ns" : NULL;
    return o;
}

static void look_at(const char *dir, const struct plumb_timing *timing, int kind)
{
    static const char *const names[] = {"outer", "inner", "odd", "request", "stage"};
    struct trace_read t;
    uint64_t all = 0;
    trace_read_run(&t, dir);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct trace_tally n = trace_tally_of(&t, names[i]);
        uint64_t untraced;
        uint64_t ended = trace_ended_of(timing, names[i], &untraced);
        if (kind == 2 ? n.whole > ended : n.whole + untraced != ended)
            fail_msg("%s: %s: %llu ended, %llu untraced; in the trace %llu whole, %llu cut, %llu "
                     "open",
                     dir, names[i], (unsigned long long)ended, (unsigned long long)untraced,
                     (unsigned long long)n.whole, (unsigned long long)n.cut,
                     (unsigned long long)n.open);
        if (kind < 2 && !untraced)
            assert_true(n.cut == 0 && n.open <= RECORDERS);
        all += n.whole;
    }
    assert_true(all >= (kind == 0 ? RECORDERS * ROUNDS : 1));
    trace_fini(&t);
}

/* Returns how many whole spans are in the pieces that were kept; each is a trace by itself. */
static uint64_t look_at_kept(const char *dir)
{
    uint64_t spans = 0;
    for (int i = 1;; i++) {
        struct trace_read t;
        char path[64];
        snprintf(path, sizeof path, "%s/kept-%d.pftrace", dir, i);
        if (access(path, F_OK) != 0)
            return spans;
        trace_read_file(&t, path);
        assert_true(trace_says(&t, "key=plumb.keep.why text="));
        spans += t.whole;
        trace_fini(&t);
    }
}

static void traces_that_begin_and_end_among_hot_threads_are_whole(void **state)
{
    pthread_t threads[RECORDERS], other;
    uint64_t kept_spans = 0;
    (void)state;
    for (intptr_t i = 0; i < RECORDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, recorder, (void *)i), 0);
    assert_int_equal(pthread_create(&other, NULL, keeper, NULL), 0);
    for (int run = 0; run < RUNS; run++) {
        int kind = run % KINDS;
        struct plumb_timing timing;
        char dir[16];
        snprintf(dir, sizeof dir, "run-%d", run);
        uint64_t heard = __atomic_load_n(&kept, __ATOMIC_RELAXED);
        record_start_with(options_of(kind, dir));
        await_rounds(kind == 2 ? heard + 2 : 0);
        record_finish(&timing);
        look_at(dir, &timing, kind);
        kept_spans += look_at_kept(dir);
        plumb_timing_fini(&timing);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(other, NULL);
    assert_true(kept_spans > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_that_begin_and_end_among_hot_threads_are_whole),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

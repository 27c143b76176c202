/* labels: notsan
 * A process that switches a trace on and off is killed at random moments, in windows and between
 * them, with a large queue and with a small one. Recovery leaves files that a reader takes. In
 * each the spans of a thread follow each other without a hole that is not counted, and where the
 * window was open and not being switched off, up to the last span that the rows have. TEST_KILLS
 * is the number of kills instead of 60. A child that is forked in a window has a run of its own. */
#include <pthread.h>

#include "runtime/child.h"

#include "record/trace/switch.h"
#include "record_trace.h"
#include "trace_ends.h"

enum { THREADS = 2, KILLS = 60 };

/* [THREADS] spans so far, then windows, then 1 while a window is switched off */
static uint64_t *side;
enum { WINDOWS = THREADS, ENDS };

static void work(int who)
{
    char name[16];
    plumb_node node;
    snprintf(name, sizeof name, "work.%c", 'a' + who);
    node = plumb_node_get(name);
    for (uint64_t i = 1;; i++) {
        plumb_span span = plumb_begin_node(node);
        plumb_arg_i64(span, "i", (int64_t)i);
        plumb_end(span);
        __atomic_store_n(&side[who], i, __ATOMIC_RELEASE);
        if (i % 64 == 0)
            sched_yield();
    }
}

static void *worker(void *arg)
{
    work((int)(intptr_t)arg);
    return NULL;
}

static void await_more(uint64_t n)
{
    for (int who = 0; who < THREADS; who++) {
        uint64_t from = __atomic_load_n(&side[who], __ATOMIC_ACQUIRE);
        while (__atomic_load_n(&side[who], __ATOMIC_ACQUIRE) - from < n)
            sched_yield();
    }
}

static void switch_until_killed(const char *dir, void *arg)
{
    const bool *small = arg;
    plumb_options options = plumb_options_default();
    pthread_t thread;
    char path[1200];
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    options.trace_ring_bytes = *small ? 16384 : 0;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    for (intptr_t i = 0; i < THREADS; i++)
        ROLE_NEEDS(pthread_create(&thread, NULL, worker, (void *)i) == 0);
    for (;;) {
        await_more(100);
        ROLE_NEEDS(plumb_trace_switch_on(NULL, path, sizeof path, NULL) == PLUMB_OK);
        await_more(300);
        __atomic_store_n(&side[ENDS], 1, __ATOMIC_RELEASE);
        ROLE_NEEDS(plumb_trace_switch_off(path, sizeof path, NULL) == PLUMB_OK);
        __atomic_store_n(&side[ENDS], 0, __ATOMIC_RELEASE);
        __atomic_store_n(&side[WINDOWS], side[WINDOWS] + 1, __ATOMIC_RELEASE);
    }
}

/* Returns the number of the last span of the thread; adds those that are missing before it. */
static uint64_t last_of(const struct trace_read *t, int who, uint64_t *holes)
{
    uint64_t last = 0;
    char name[16];
    snprintf(name, sizeof name, "work.%c", 'a' + who);
    for (size_t k = 0; k < t->count; k++) {
        const struct trace_slice *s = &t->slices[k];
        const char *at = strstr(s->last, "i=");
        uint64_t i;
        if (strcmp(s->name, name) != 0 || !at)
            continue;
        i = strtoull(at + 2, NULL, 10);
        assert_true(i > last);
        *holes += last ? i - last - 1 : 0;
        last = i;
    }
    return last;
}

static void look_at_window(const char *dir, const struct plumb_timing *timing, size_t i,
                           uint64_t *open)
{
    const struct plumb_timing_window *w = &timing->windows[i];
    bool killed = strcmp(w->end, "with its process") == 0;
    struct trace_read t;
    char path[1200];
    uint64_t holes = 0;
    snprintf(path, sizeof path, "%s/%s", dir, w->file);
    trace_read_file(&t, path);
    if (!killed)
        assert_string_equal(w->end, "complete");
    assert_int_equal(t.bytes, w->bytes);
    for (int who = 0; who < THREADS; who++) {
        uint64_t last = last_of(&t, who, &holes), untraced;
        char name[16];
        snprintf(name, sizeof name, "work.%c", 'a' + who);
        if (!killed || !last || w->dropped)
            continue;
        /* A window is switched off thread by thread: one that has left it goes on without it. */
        if (side[ENDS]) {
            assert_true(last <= trace_ended_of(timing, name, &untraced));
            continue;
        }
        assert_int_equal(last, trace_ended_of(timing, name, &untraced));
        ++*open;
    }
    assert_true(holes <= w->dropped);
    trace_fini(&t);
}

static void every_window_is_whole_after_kills(void **state)
{
    int kills = child_kills(KILLS);
    bool small = false;
    struct victim victim = {switch_until_killed, &small, side, 4096, side, 0, 0};
    uint64_t random = 0x5bd1e995 + (uint64_t)kills, open = 0, closed = 0;
    (void)state;
    for (int i = 0; i < kills; i++) {
        struct plumb_load run;
        const char *dir;
        small = i % 2;
        victim.least = random_next(&random) % 2000 + 1;
        victim.longer = random_next(&random) % 65536;
        dir = child_kill(&victim, i);
        load_run(&run, dir);
        if (run.state != PLUMB_LOAD_RECOVERED)
            fail_msg("%s: %s", dir, run.why.message);
        for (size_t k = 0; k < run.timing.window_count; k++)
            look_at_window(dir, &run.timing, k, &open);
        closed += run.timing.window_count;
        plumb_timing_fini(&run.timing);
        remove_run(dir);
    }
    assert_true(open > 0 && closed > open / THREADS);
}

static void a_child_forked_in_a_window_is_not_in_it(void **state)
{
    plumb_options options = plumb_options_default();
    const char *dir = in_place("forks");
    struct plumb_load run;
    struct trace_read t;
    char path[1200];
    pid_t pid;
    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        options.run_dir = dir;
        options.quiet = PLUMB_ON;
        ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
        ROLE_NEEDS(plumb_trace_switch_on(NULL, path, sizeof path, NULL) == PLUMB_OK);
        PLUMB_SPAN("around");
        pid = fork();
        if (pid == 0) {
            {
                PLUMB_SPAN("of the child");
            }
            ROLE_NEEDS(!plumb_trace_window_is_on());
            ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
            _exit(0);
        }
        child_needs_exit(pid, 0);
        {
            PLUMB_SPAN("of the parent");
        }
        ROLE_NEEDS(plumb_trace_switch_off(path, sizeof path, NULL) == PLUMB_OK);
        ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
        _exit(0);
    }
    child_needs_exit(pid, 0);
    load_run(&run, dir);
    assert_int_equal(run.timing.window_count, 1);
    plumb_timing_fini(&run.timing);
    snprintf(path, sizeof path, "%s/trace-1.pftrace", dir);
    trace_read_file(&t, path);
    assert_false(trace_says(&t, "of the child"));
    assert_true(trace_says(&t, "of the parent"));
    trace_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window_is_whole_after_kills),
        cmocka_unit_test(a_child_forked_in_a_window_is_not_in_it),
    };
    side = child_side(4096);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

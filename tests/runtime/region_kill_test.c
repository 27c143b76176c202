/* labels: notsan
 * timeout: 300
 * A run whose trace is restricted to regions is killed at random moments while two threads enter
 * and leave them. The recovered trace has every span that ended inside a region, and none from
 * outside. */
#include <pthread.h>

#include "runtime/child.h"

#include "record_trace.h"

enum { KILLS = 20, THREADS = 2 };

static const char region[] = "plumb.region::profiler_region_training_train_one_step";

static void spans(const char *name, uint64_t n)
{
    plumb_node node = plumb_node_get(name);
    while (n--) {
        PLUMB_SPAN_NODE(node);
    }
}

/* Counts its rounds in `side`. */
static void *work(void *side)
{
    uint64_t *rounds = side, random = (uint64_t)(uintptr_t)side;
    for (;;) {
        spans("out", random_next(&random) % 300);
        {
            PLUMB_REGION("training_step");
            spans("in", random_next(&random) % 300);
        }
        __atomic_fetch_add(rounds, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void record_until_killed(const char *dir, uint64_t *side, uint32_t scope)
{
    plumb_options options = plumb_options_default();
    pthread_t thread;
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    options.regions = "training_step";
    options.region_scope = scope;
    options.trace_max_bytes = UINT64_C(1) << 30;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    if (scope == PLUMB_REGION_THREAD)
        ROLE_NEEDS(pthread_create(&thread, NULL, work, side + 16) == 0);
    work(side);
}

static uint64_t ended_of(const struct plumb_timing *t, const char *name, uint64_t *untraced)
{
    const struct plumb_timing_node *n = node_in(t, "inference", name);
    *untraced = n ? n->untraced : 0;
    return n ? n->host.ns.count : 0;
}

static void look_at(const char *dir, uint64_t *found)
{
    struct plumb_load run;
    struct trace_read t;
    uint64_t whole = 0, untraced, ended;
    load_run(&run, dir);
    if (run.state != PLUMB_LOAD_RECOVERED)
        fail_msg("%s: %s", dir, run.why.message);
    trace_read_run(&t, dir);
    assert_int_equal(trace_count(&t, "out"), 0);
    for (size_t i = 0; i < t.count; i++) {
        if (strcmp(t.slices[i].name, "in") != 0)
            continue;
        assert_string_equal(trace_parent(&t, &t.slices[i]), region);
        whole += t.slices[i].end != UINT64_MAX && !strstr(t.slices[i].last, "cut=true");
    }
    ended = ended_of(&run.timing, "in", &untraced);
    if (whole + untraced != ended)
        fail_msg("%s: %" PRIu64 " ended, %" PRIu64 " in the trace, %" PRIu64 " lost", dir, ended,
                 whole, untraced);
    *found += whole;
    trace_fini(&t);
    plumb_timing_fini(&run.timing);
    remove_run(dir);
}

static void only_what_ran_in_regions_is_recovered(void **state)
{
    uint64_t *side = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t random = 0x51ed27, found = 0;
    (void)state;
    assert_ptr_not_equal(side, MAP_FAILED);
    for (int i = 0; i < KILLS; i++) {
        uint64_t after = random_next(&random) % (UINT64_C(4) << random_next(&random) % 4);
        char name[32];
        const char *dir;
        pid_t pid;
        memset(side, 0, 4096);
        snprintf(name, sizeof name, "kill-%d", i);
        dir = in_place(name);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            record_until_killed(dir, side, i % 3 ? PLUMB_REGION_THREAD : PLUMB_REGION_PROCESS);
            _exit(0);
        }
        child_kill_after(pid, side, after + 1, random_next(&random) % 4096);
        look_at(dir, &found);
    }
    assert_true(found > 0);
    munmap(side, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_ran_in_regions_is_recovered),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

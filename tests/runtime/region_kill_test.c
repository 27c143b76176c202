/* labels: notsan
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

struct part {
    uint64_t *side;
    uint32_t scope;
};

static void record_until_killed(const char *dir, void *arg)
{
    const struct part *part = arg;
    plumb_options options = plumb_options_default();
    pthread_t thread;
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    options.regions = "training_step";
    options.region_scope = part->scope;
    options.trace_max_bytes = UINT64_C(1) << 30;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    if (part->scope == PLUMB_REGION_THREAD)
        ROLE_NEEDS(pthread_create(&thread, NULL, work, part->side + 16) == 0);
    work(part->side);
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
    struct part part = {child_side(4096), 0};
    struct victim victim = {record_until_killed, &part, part.side, 4096, part.side, 0, 0};
    uint64_t random = 0x51ed27, found = 0;
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        uint64_t after = random_next(&random) % (UINT64_C(4) << random_next(&random) % 4);
        victim.least = after + 1;
        victim.longer = random_next(&random) % 4096;
        part.scope = i % 3 ? PLUMB_REGION_THREAD : PLUMB_REGION_PROCESS;
        look_at(child_kill(&victim, i), &found);
    }
    assert_true(found > 0);
    munmap(part.side, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_ran_in_regions_is_recovered),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

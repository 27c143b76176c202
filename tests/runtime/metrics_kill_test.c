/* labels: notsan
 * A process is killed at random moments while two threads add to metrics. The mapping that it
 * leaves has every addition that had returned, and at most the one that each thread was in. */
#include <pthread.h>

#include "live/read.h"
#include "runtime/child.h"

enum { KILLS = 40, THREADS = 2 };

struct side { /* of one thread; a cache line */
    uint64_t rounds, reserved[7];
};
struct part {
    plumb_metric_series *count, *seconds;
    struct side *side;
};

static void *run_part(void *arg)
{
    const struct part *p = arg;
    for (uint64_t i = 0;; i++) {
        plumb_metric_add(p->count, 1);
        plumb_metric_observe(p->seconds, 1);
        __atomic_store_n(&p->side->rounds, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void work_until_killed(const char *dir, void *arg)
{
    struct side *side = arg;
    plumb_options options = plumb_options_default();
    plumb_metric_series *count = plumb_metric_counter("added", NULL);
    struct part parts[THREADS];
    pthread_t thread;
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    ROLE_NEEDS(plumb_metric_add(count, 1000000) == PLUMB_OK); /* before the run */
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    for (int i = 0; i < THREADS; i++)
        parts[i] = (struct part){count, plumb_metric_histogram("seconds", NULL), &side[i]};
    ROLE_NEEDS(pthread_create(&thread, NULL, run_part, &parts[1]) == 0);
    run_part(&parts[0]);
}

static void about(uint64_t found, uint64_t rounds)
{
    assert_true(found >= rounds && found <= rounds + THREADS);
}

static void check(const struct plumb_timing *t, uint64_t rounds)
{
    bool count = false, seconds = false;
    for (size_t i = 0; i < t->metric_count; i++) {
        const struct plumb_timing_metric *m = &t->metrics[i];
        if (strcmp(m->name, "added") == 0) {
            about((uint64_t)m->value - 1000000, rounds);
            count = true;
        } else if (strcmp(m->name, "seconds") == 0) {
            about(m->count, rounds);
            about(m->buckets[7], rounds);
            assert_true(m->sum <= (double)m->count && m->sum + THREADS >= (double)m->count);
            seconds = true;
        }
    }
    assert_true(count && seconds);
}

static void metrics_survive_kills(void **state)
{
    struct side *side = child_side(4096);
    struct victim victim = {work_until_killed, side, side, 4096, &side->rounds, 0, 0};
    uint64_t random = 0x7e57ab1e;
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        struct plumb_load run;
        const char *dir;
        victim.least = 1 + random_next(&random) % 5000;
        victim.longer = random_next(&random) % 65536;
        dir = child_kill(&victim, i);
        load_run(&run, dir);
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        check(&run.timing, side[0].rounds + side[1].rounds);
        plumb_timing_fini(&run.timing);
        remove_run(dir);
    }
    munmap(side, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(metrics_survive_kills)};
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

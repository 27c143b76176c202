/* labels: notsan
 * A process is killed at random moments while two threads run sequences through streams. The
 * recovered streams have what the threads report by a side channel, up to the one event that each
 * was in the middle of. A child of a fork has none of its parent's. */
#include <pthread.h>

#include "runtime/child.h"

enum { KILLS = 40, THREADS = 2 };
#define MS UINT64_C(1000000)

static void one_sequence(plumb_stream s, plumb_stream_stage stage, uint64_t i)
{
    uint64_t at = 1 + 100 * MS * (i + 1); /* times of our own: figures are exact */
    plumb_stream_mark_at(s, PLUMB_STREAM_CONTROL, i, at);
    plumb_stream_event_at(stage, PLUMB_STREAM_INPUT, i, "frame", at + 10 * MS);
    plumb_stream_event_at(stage, PLUMB_STREAM_ADMITTED, i, NULL, at + 10 * MS);
    plumb_stream_event_at(stage, PLUMB_STREAM_COMPLETED, i, NULL, at + 30 * MS);
    plumb_stream_mark_at(s, PLUMB_STREAM_OUTPUT, i, at + 40 * MS);
}

static void *run_part(void *arg)
{
    uint64_t *rounds = arg;
    plumb_stream s = plumb_stream_begin("video");
    plumb_stream_stage stage = plumb_stream_stage_of(s, "filter");
    for (uint64_t i = 0;; i++) {
        one_sequence(s, stage, i);
        __atomic_store_n(rounds, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void work_until_killed(const char *dir, void *arg)
{
    uint64_t *side = arg;
    plumb_options options = plumb_options_default();
    pthread_t thread;
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    ROLE_NEEDS(pthread_create(&thread, NULL, run_part, &side[8]) == 0);
    run_part(&side[0]);
}

static void about(uint64_t a, uint64_t b)
{
    assert_true(a <= b + THREADS && b <= a + THREADS);
}

static void check_sum(const struct plumb_timing_sum *s, uint64_t each_ms)
{
    assert_int_equal(s->total_ns, s->count * each_ms * MS);
    assert_int_equal(s->min_ns, s->count ? each_ms * MS : 0);
    assert_int_equal(s->max_ns, s->count ? each_ms * MS : 0);
}

static void check(const struct plumb_timing_streams *t, uint64_t rounds)
{
    const struct plumb_timing_channel_of_streams *c = &t->channels[0];
    const struct plumb_timing_stream_stage *s = &c->stages[0];
    uint64_t idle = 0;
    assert_int_equal(t->channel_count, 1);
    about(c->outputs, rounds);
    about(c->control_to_output.sum.count, rounds);
    check_sum(&c->control_to_output.sum, 40);
    check_sum(&c->chunk_period.sum, 100);
    if (c->stage_count == 0)
        return;
    about(s->ran.count, rounds);
    about(t->sequence_count + t->sequences_lost, rounds);
    check_sum(&s->ran, 20);
    if (s->idle_count) {
        assert_string_equal(s->idle[0].cause, "frame");
        check_sum(&s->idle[0].sum, 80);
        idle = s->idle[0].sum.count;
    }
    if (s->idle_count >
        1) { /* a sequence that waited while 4096 others overwrote what is kept of it */
        assert_string_equal(s->idle[1].cause, "inputs_not_ready");
        idle += s->idle[1].sum.count;
    }
    about(idle + THREADS, s->ran.count);
    for (size_t i = 0; i < t->sequence_count; i++)
        assert_true(t->sequences[i].completed <= t->sequences[i].admitted);
}

static void streams_survive_kills(void **state)
{
    uint64_t *side = child_side(4096);
    struct victim victim = {work_until_killed, side, side, 4096, side, 0, 0};
    uint64_t random = 0x5eed5eed;
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        uint64_t after = random_next(&random) % (UINT64_C(2) << random_next(&random) % 13);
        struct plumb_load run;
        const char *dir;
        victim.least = after + 1;
        victim.longer = random_next(&random) % 65536;
        dir = child_kill(&victim, i);
        load_run(&run, dir);
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        check(&run.timing.streams, side[0] + side[8]);
        plumb_timing_fini(&run.timing);
        remove_run(dir);
    }
    munmap(side, 4096);
}

/* ---- Children of a fork ---------------------------------------------------------------------- */

static int role_forks(void)
{
    plumb_stream s = plumb_stream_begin("parent"), of_parent = s;
    plumb_stream_stage stage = plumb_stream_stage_of(s, "filter");
    int status = 0;
    pid_t pid;
    plumb_stream_admitted(stage, 0, NULL);
    pid = fork();
    if (pid == 0) {
        plumb_stream_completed(stage, 0);
        plumb_stream_output(s, 0);
        s = plumb_stream_begin("child");
        plumb_stream_output(s, 0);
        plumb_stream_output(of_parent, 1); /* which has the number of the child's own */
        exit(0);
    }
    ROLE_NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
    plumb_stream_completed(stage, 0);
    return 0;
}

static void a_child_has_streams_of_its_own(void **state)
{
    static const char *const settings[] = {"PLUMB=1", "PLUMB_QUIET=1",
                                           "ASAN_OPTIONS=detect_leaks=0", NULL};
    struct plumb_load run;
    struct child c;
    glob_t found;
    int status = child_run(&c, "forks", "forked", settings);
    (void)state;
    assert_exited(&c, status, 0);
    load_run(&run, in_place("forked"));
    assert_int_equal(run.timing.streams.channel_count, 1);
    assert_string_equal(run.timing.streams.channels[0].name, "parent");
    assert_int_equal(run.timing.streams.channels[0].outputs, 0);
    assert_int_equal(run.timing.streams.channels[0].stages[0].ran.count, 1);
    plumb_timing_fini(&run.timing);
    assert_int_equal(glob("forked.*", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    load_run(&run, in_place(found.gl_pathv[0]));
    globfree(&found);
    assert_int_equal(run.timing.streams.channel_count, 1);
    assert_string_equal(run.timing.streams.channels[0].name, "child");
    assert_int_equal(run.timing.streams.channels[0].outputs, 1);
    plumb_timing_fini(&run.timing);
}

static const struct role roles[] = {{"forks", role_forks}, {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_survive_kills),
        cmocka_unit_test(a_child_has_streams_of_its_own),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

/* labels: notsan
 * A process is killed at random moments while two threads run stages in requests and allocate. The
 * recovered memory, stage runs and requests are whole, and as many as the threads report by a side
 * channel. At most the one event that a thread was in the middle of is in doubt. */
#include <dirent.h>
#include <pthread.h>

#include "live/read.h"
#include "live/shape_times.h"
#include "runtime/child.h"

enum { KILLS = 80, THREADS = 2, BLOCK = 1000 };

struct side { /* of one thread; a cache line */
    uint64_t rounds, requests, reserved[6];
};

static void one_round(unsigned who, struct side *side, uint64_t i)
{
    char id[32];
    plumb_request request;
    plumb_span stage;
    const void *block = (const void *)(uintptr_t)((uint64_t)(who + 1) << 40 | (i + 1) * 16);
    snprintf(id, sizeof id, "t%u.%llu", who, (unsigned long long)i);
    request = plumb_request_begin(id, (const plumb_pair[]){{"round", id}, {NULL, NULL}});
    stage = plumb_begin_with(plumb_node_get(who ? "encode" : "decode"), PLUMB_POINT_STAGE);
    plumb_mem_alloc("cuda:0", "frames", block, BLOCK);
    if (i % 3)
        plumb_mem_free("cuda:0", "frames", block, BLOCK);
    plumb_checkpoint(who ? "a" : "b");
    plumb_stage_input_value(stage, i % 2 ? "odd" : "even", plumb_value_i64((int64_t)i));
    plumb_end(stage);
    plumb_request_end(request);
    __atomic_store_n(&side->rounds, i + 1, __ATOMIC_RELEASE);
}

struct part {
    unsigned who;
    struct side *side;
};

static void *run_part(void *arg)
{
    const struct part *p = arg;
    for (uint64_t i = 0;; i++)
        one_round(p->who, p->side, i);
    return NULL;
}

static void work_until_killed(const char *dir, void *arg)
{
    struct side *side = arg;
    plumb_options options = plumb_options_default();
    struct part parts[THREADS] = {{0, &side[0]}, {1, &side[1]}};
    pthread_t thread;
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    ROLE_NEEDS(pthread_create(&thread, NULL, run_part, &parts[1]) == 0);
    run_part(&parts[0]);
}

/* How far two sums may lie apart: each thread was in the middle of one event. */
static void about(uint64_t a, uint64_t b, uint64_t each)
{
    assert_true(a <= b + THREADS * each && b <= a + THREADS * each);
}

static void check_pool(const struct plumb_timing *t, const struct side *side)
{
    const struct plumb_timing_pool *p = &t->memory.pools[0];
    uint64_t owned = 0, live = 0;
    assert_int_equal(t->memory.pool_count, 1);
    for (size_t i = 0; i < p->owner_count; i++)
        owned += p->owners[i].alloc_bytes - p->owners[i].free_bytes;
    for (int i = 0; i < THREADS; i++)
        live += (side[i].rounds + 2) / 3 * BLOCK;
    about(p->allocated, p->alloc_bytes - p->free_bytes, BLOCK);
    about(p->allocated, owned, BLOCK);
    about(p->allocated, live, BLOCK);
    assert_true(p->peak_allocated >= p->allocated);
}

static void check_requests(const struct plumb_timing *t, const struct side *side)
{
    uint64_t begun = t->request_count + t->requests_lost, open = 0;
    about(begun, side[0].rounds + side[1].rounds, 1);
    for (size_t i = 0; i < t->request_count; i++) {
        const struct plumb_timing_request *r = &t->requests[i];
        assert_true(r->id[0] == 't' && (r->id[1] == '0' || r->id[1] == '1'));
        assert_true(r->records <= 1);
        open += r->state == PLUMB_TIMING_REQUEST_OPEN;
        if (r->metadata_count)
            assert_string_equal(r->metadata[0].value, r->id);
    }
    assert_true(open <= THREADS);
}

static void check_stage_runs(const struct plumb_timing *t, const struct side *side)
{
    about(t->stage_run_count + t->stage_runs_lost, side[0].rounds + side[1].rounds, 1);
    for (size_t i = 0; i < t->stage_run_count; i++) {
        const struct plumb_timing_stage_run *s = &t->stage_runs[i];
        assert_true(s->node < t->node_count && !s->failed);
        assert_true(s->rss > 0 && s->peak_rss >= s->rss / 2);
        assert_true(s->request == PLUMB_TIMING_NONE || s->request < t->request_count);
    }
    for (size_t i = 0; i < t->memory.checkpoint_count; i++)
        assert_int_equal(strlen(t->memory.checkpoints[i].name), 1);
}

/* Runs by shapes: no more than the statistics hold, and all but the one in the middle. */
static void check_shape_times(const struct plumb_timing *t, const char *dir, uint64_t rounds)
{
    struct plumb_shape_times s = {.count = 0};
    plumb_error err = {0, ""};
    uint64_t runs = 0, self = 0;
    if (plumb_live_read_shape_times(&s, dir, t->clock.tick_ns, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < s.count; i++) {
        assert_string_equal(s.at[i].shapes, "[[]]");
        runs += s.at[i].count;
        self += s.at[i].self_ns;
    }
    about(runs, rounds, 1);
    uint64_t counted = 0, counted_self = 0;
    for (size_t i = 0; i < t->node_count; i++) {
        counted += t->nodes[i].host.ns.count;
        counted_self += t->nodes[i].self_ns;
    }
    about(runs, counted, 1);
    assert_true(runs <= counted && self <= counted_self + s.count);
    plumb_shape_times_fini(&s);
}

static void memory_and_requests_survive_kills(void **state)
{
    struct side *side = child_side(4096);
    struct victim victim = {work_until_killed, side, side, 4096, &side->rounds, 0, 0};
    uint64_t random = 0x51ed2701;
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        uint64_t after = random_next(&random) % (UINT64_C(2) << random_next(&random) % 10);
        struct plumb_load run;
        const char *dir;
        victim.least = after + 1;
        victim.longer = random_next(&random) % 65536;
        dir = child_kill(&victim, i);
        load_run(&run, dir);
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        check_pool(&run.timing, side);
        check_requests(&run.timing, side);
        check_stage_runs(&run.timing, side);
        check_shape_times(&run.timing, dir, side[0].rounds + side[1].rounds);
        assert_consistent(&run.timing, false);
        plumb_timing_fini(&run.timing);
        remove_run(dir);
    }
    munmap(side, 4096);
}

/* ---- Children of a fork ---------------------------------------------------------------------- */

static int role_forks(void)
{
    plumb_request request = plumb_request_begin("parents", NULL);
    plumb_span stage = plumb_begin_with(plumb_node_get("parent"), PLUMB_POINT_STAGE);
    int status = 0;
    pid_t pid;
    plumb_mem_alloc("cpu", "pool", (const void *)0x1000, 100);
    pid = fork();
    if (pid == 0) {
        plumb_mem_free("cpu", "pool", (const void *)0x1000, 100); /* not this run's */
        plumb_end(stage);
        plumb_request_end(request);
        stage = plumb_begin_with(plumb_node_get("child"), PLUMB_POINT_STAGE);
        plumb_mem_alloc("cpu", "pool", (const void *)0x1000, 7);
        plumb_end(stage);
        exit(0);
    }
    ROLE_NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
    plumb_end(stage);
    plumb_request_end(request);
    return 0;
}

static void a_child_has_a_ledger_of_its_own(void **state)
{
    static const char *const settings[] = {"PLUMB=1", "PLUMB_QUIET=1",
                                           "ASAN_OPTIONS=detect_leaks=0", NULL};
    struct plumb_load run;
    struct child c;
    char child_dir[64];
    int status = child_run(&c, "forks", "forked", settings);
    DIR *all = opendir(".");
    struct dirent *e;
    (void)state;
    assert_exited(&c, status, 0);
    load_run(&run, in_place("forked"));
    assert_int_equal(run.timing.memory.pools[0].allocated, 100);
    assert_int_equal(run.timing.memory.pools[0].unknown_frees, 0);
    assert_int_equal(run.timing.stage_run_count, 1);
    assert_string_equal(run.timing.requests[0].id, "parents");
    plumb_timing_fini(&run.timing);
    child_dir[0] = '\0';
    while (all && (e = readdir(all)))
        if (strncmp(e->d_name, "forked.", 7) == 0)
            snprintf(child_dir, sizeof child_dir, "%.63s", e->d_name);
    closedir(all);
    load_run(&run, in_place(child_dir));
    assert_int_equal(run.timing.memory.pools[0].allocated, 7);
    assert_int_equal(run.timing.memory.pools[0].unknown_frees, 1);
    assert_int_equal(run.timing.request_count, 0);
    assert_int_equal(run.timing.stage_run_count, 1);
    assert_string_equal(run.timing.nodes[run.timing.stage_runs[0].node].name, "child");
    plumb_timing_fini(&run.timing);
}

static const struct role roles[] = {{"forks", role_forks}, {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_requests_survive_kills),
        cmocka_unit_test(a_child_has_a_ledger_of_its_own),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

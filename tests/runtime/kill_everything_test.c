/* labels: notsan
 * A process is killed at random moments with everything on. Two threads do operations whose number
 * is exact after a kill. A third one runs stages in requests, async spans, counters, activations
 * and allocations, and counts each in shared memory before and after. The recovered count lies
 * between the two, and the trace has each span that ended, whole or counted as lost. TEST_KILLS is
 * the number of kills instead of 16; the random numbers then begin elsewhere. */
#include <dlpack/dlpack.h>
#include <pthread.h>

#include "runtime/ops.h"

#include "record_trace.h"
#include "trace_ends.h"

enum { OPS_THREADS = 2, KILLS = 16, BLOCKS = 16, BLOCK = 100, OPEN = 4 };
enum { STAGE, INNER, REQUEST, ASYNC, COUNT, LAYER, ALLOC, FREE, KINDS };

static struct side { /* what each thread has done */
    uint64_t ops[OPS_THREADS][16];
    uint64_t begun[KINDS], ended[KINDS];
} * side;

static void begin(int kind)
{
    __atomic_fetch_add(&side->begun[kind], 1, __ATOMIC_SEQ_CST);
}

static void end(int kind)
{
    __atomic_fetch_add(&side->ended[kind], 1, __ATOMIC_SEQ_CST);
}

static void a_stage(const DLTensor *tensor)
{
    begin(STAGE);
    plumb_span stage = plumb_begin_with(plumb_node_get("stage"), PLUMB_POINT_STAGE);
    plumb_stage_input(stage, "x", tensor);
    begin(INNER);
    {
        PLUMB_STAGE(inner, "inner stage");
    }
    end(INNER);
    begin(LAYER);
    plumb_activation(plumb_node_get("layer"), "out", tensor);
    end(LAYER);
    plumb_end(stage);
    end(STAGE);
}

static void a_block(uint64_t i)
{
    static uint64_t held[BLOCKS];
    uint64_t *at = &held[i * 7 % BLOCKS];
    int kind = *at ? FREE : ALLOC;
    begin(kind);
    if (*at)
        plumb_mem_free("cuda:0", "pool", (const void *)(uintptr_t)*at, BLOCK);
    else
        plumb_mem_alloc("cuda:0", "pool", (const void *)(uintptr_t)((i + 1) << 12), BLOCK);
    end(kind);
    *at = *at ? 0 : (i + 1) << 12;
}

static void *everything(void *arg)
{
    float values[4] = {1, 2, 3, 4};
    int64_t shape[] = {4};
    DLTensor tensor = {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    plumb_async open[OPEN] = {{0}};
    (void)arg;
    for (uint64_t i = 0;; i++) {
        plumb_async *async = &open[i % OPEN];
        if (async->id) {
            begin(ASYNC);
            plumb_async_end(*async);
            end(ASYNC);
        }
        *async = plumb_async_begin(plumb_node_get("async"));
        begin(REQUEST);
        plumb_request request = plumb_request_begin("r", NULL);
        for (PLUMB_STEPS (step, 2)) {
            a_stage(&tensor);
            a_block(2 * i + (uint64_t)step);
        }
        plumb_request_end(request);
        end(REQUEST);
        begin(COUNT);
        plumb_counter_add("counter", 1);
        end(COUNT);
        plumb_checkpoint("checkpoint");
    }
    return NULL;
}

static void *second(void *arg)
{
    ops_run(1, side->ops[1], 0);
    return arg;
}

static void record_until_killed(const char *dir, void *arg)
{
    uint64_t *random = arg;
    plumb_options options = plumb_options_default();
    pthread_t threads[2];
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    options.memory = PLUMB_MEMORY_ALL;
    options.memory_interval_ms = 1;
    options.memory_checkpoints = PLUMB_ON;
    options.median_p2 = random_next(random) % 2 ? PLUMB_ON : PLUMB_OFF;
    options.ring_bytes = random_next(random) % 2 ? 4096 : 0;
    options.signature = PLUMB_SIGNATURE_FULL;
    options.trace = options.trace_shapes = options.trace_memory = PLUMB_ON;
    options.trace_nodes = "*stage";
    options.trace_ring_bytes = random_next(random) % 2 ? 16384 : 0;
    options.activations = PLUMB_ON;
    options.collect = "fake";
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    ROLE_NEEDS(pthread_create(&threads[0], NULL, second, NULL) == 0);
    ROLE_NEEDS(pthread_create(&threads[1], NULL, everything, NULL) == 0);
    ops_run(0, side->ops[0], 0);
}

static void between(const char *what, int kind, uint64_t found)
{
    if (found < side->ended[kind] || found > side->begun[kind])
        fail_msg("%s: %" PRIu64 " ended, %" PRIu64 " begun, %" PRIu64 " recovered", what,
                 side->ended[kind], side->begun[kind], found);
}

static void compare_ledger(const struct plumb_timing *t)
{
    between("requests", REQUEST, t->request_count + t->requests_lost);
    for (size_t i = 0; i < t->count_count; i++)
        if (strcmp(t->counts[i].name, "counter") == 0)
            between("counter", COUNT, (uint64_t)t->counts[i].total);
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &t->memory.pools[i];
        if (strcmp(p->pool, "pool") != 0)
            continue;
        between("allocations", ALLOC, p->allocs);
        between("frees", FREE, p->frees);
        assert_int_equal(p->allocated, BLOCK * (p->allocs - p->frees));
    }
}

/* Lines of activations, of which those that were not written yet may be missing. */
static void compare_activations(const char *dir)
{
    uint64_t lines = 0;
    char path[1400], *line = NULL;
    size_t room = 0;
    FILE *f;
    snprintf(path, sizeof path, "%s/activations.jsonl", dir);
    f = fopen(path, "re");
    for (ssize_t n; f && (n = getline(&line, &room, f)) > 0;) {
        assert_true(line[--n] == '\n');
        while (n > 0 && line[n - 1] == ' ') /* no line crosses a page */
            n--;
        assert_true(line[0] == '{' && line[n - 1] == '}');
        lines++;
    }
    free(line);
    if (f)
        fclose(f);
    /* Of each layer and stage there is a line for its tensor. */
    if (lines > side->begun[LAYER] + side->begun[STAGE])
        fail_msg("%" PRIu64 " lines of activations, %" PRIu64 " begun", lines, side->begun[LAYER]);
}

static void compare_trace(const char *dir, const struct plumb_timing *timing)
{
    struct trace_read t;
    trace_read_run(&t, dir);
    for (unsigned who = 0; who < OPS_THREADS; who++) {
        const char *name = ops_names_of(who).inner;
        uint64_t untraced, ended = trace_ended_of(timing, name, &untraced);
        struct trace_tally n = trace_tally_of(&t, name);
        if (n.whole + untraced != ended)
            fail_msg("%s: %" PRIu64 " ended, %" PRIu64 " untraced, %" PRIu64 " in the trace", name,
                     ended, untraced, n.whole);
    }
    trace_fini(&t);
}

static void look_at(const char *dir)
{
    struct plumb_load run;
    load_run(&run, dir);
    if (run.state != PLUMB_LOAD_RECOVERED)
        fail_msg("%s: %s", dir, run.why.message);
    for (unsigned who = 0; who < OPS_THREADS; who++)
        ops_found(&run.timing, who, side->ops[who][0]);
    between("stages", STAGE, count_of(&run.timing, "stage"));
    between("inner stages", INNER, count_of(&run.timing, "inner stage"));
    between("async spans", ASYNC, count_of(&run.timing, "async"));
    compare_ledger(&run.timing);
    compare_activations(dir);
    compare_trace(dir, &run.timing);
    assert_consistent(&run.timing, false);
    plumb_timing_fini(&run.timing);
    remove_tree(dir);
}

static void what_was_done_is_recovered_whatever_is_on(void **state)
{
    int kills = child_kills(KILLS);
    uint64_t random = 0x6c078965 + (uint64_t)kills;
    struct victim victim = {.until_killed = record_until_killed, .arg = &random};
    (void)state;
    side = child_side(sizeof *side);
    victim.side = side;
    victim.side_bytes = sizeof *side;
    assert_true(kills > 0);
    for (int i = 0; i < kills; i++) {
        uint64_t after = random_next(&random) % (UINT64_C(64) << random_next(&random) % 10);
        victim.count = i % 2 ? side->ops[0] : &side->ended[STAGE];
        victim.least = i % 2 ? after + 1 : after / 16 + 1;
        victim.longer = random_next(&random) % 4096;
        look_at(child_kill(&victim, i));
    }
    munmap(side, sizeof *side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_done_is_recovered_whatever_is_on),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

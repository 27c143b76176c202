/* labels: plain
 * A recording process is stopped after every instruction of whole folds, and
 * its mapping is read as it would be had the process been killed there: the
 * same figures each time, to the last bit, whatever half of the fold has
 * happened. Kills at random moments hit such a moment far too seldom. */
#include <sys/ptrace.h>

#include "live/read.h"
#include "record/runtime/thread.h"
#include "runtime/child.h"

enum { STRIDE = 11 }; /* read after so many instructions of a fold */
enum { STOP_SIGNAL = SIGUSR1 };

/* ---- What the child does
 * ----------------------------------------------------------------------- */

/* Shared with the test. */
struct progress {
    uint64_t phase; /* 0 getting ready, 1 to be stepped, 2 over */
};

static struct progress *progress;

static void start(const char *dir, uint64_t skip, bool p2)
{
    plumb_options options = plumb_options_default();
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    options.skip_first_n = skip;
    options.median_p2 = p2 ? PLUMB_ON : PLUMB_DEFAULT;
    options.max_state_bytes = 1 << 20;
    options.ring_bytes = 4096; /* four blocks, of which two are folded together */
    /* Nothing but the stepped thread is to change the mapping, or to make it longer. */
    setenv("PLUMB_MEMORY", "off", 1);
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
}

static void mixed_span(int i)
{
    static struct plumb_point outer = PLUMB_POINT_INIT("outer", PLUMB_POINT_PLAIN);
    static struct plumb_point inner = PLUMB_POINT_INIT("inner", PLUMB_POINT_PLAIN);
    static struct plumb_point leaf = PLUMB_POINT_INIT("leaf", PLUMB_POINT_PLAIN);
    plumb_span o = plumb_begin(&outer), s = plumb_begin(&inner);
    if (i % 5 == 1)
        plumb_span_fail(s, "made to fail");
    if (i % 5 == 2)
        plumb_span_abandon(s);
    if (i % 5 != 3)
        plumb_end(s); /* left open: the outer end closes it as unbalanced */
    if (i % 5 == 4)
        plumb_record_ns(plumb_node_get("elsewhere"), 1000);
    plumb_end(o);
    for (int k = 0; i % 5 == 0 && k < 5; k++)
        plumb_end(plumb_begin(&leaf));
}

static void mixed_spans(int n)
{
    for (int i = 0; i < n; i++)
        mixed_span(i);
}

static bool fold_is_near(void)
{
    return plumb_tls->number - plumb_tls->live->folded == plumb_tls->batch &&
           plumb_tls->end - plumb_tls->head <= 20;
}

/* From shortly before a fold to shortly after it. */
static void stepped_through_a_fold(void)
{
    for (int i = 0; !fold_is_near(); i++)
        mixed_span(i);
    __atomic_store_n(&progress->phase, 1, __ATOMIC_RELEASE);
    raise(STOP_SIGNAL);
    mixed_spans(6);
}

static void fold_that_meets_everything_first(const char *dir)
{
    start(dir, 0, false);
    mixed_span(0); /* there is a thread record from here on */
    stepped_through_a_fold();
}

static void fold_of_known_nodes(const char *dir)
{
    start(dir, 0, false);
    mixed_spans(100);
    stepped_through_a_fold();
}

static void fold_with_p2(const char *dir)
{
    start(dir, 0, true);
    mixed_spans(100);
    stepped_through_a_fold();
}

static void fold_with_skipped_samples(const char *dir)
{
    start(dir, 15, false);
    mixed_span(0);
    stepped_through_a_fold();
}

static void fold_after_a_reset(const char *dir)
{
    start(dir, 0, false);
    mixed_spans(100);
    ROLE_NEEDS(plumb_reset(NULL, NULL) == PLUMB_OK);
    stepped_through_a_fold();
}

static void fold_of_rows_of_leaves(const char *dir)
{
    static struct plumb_point leaf = PLUMB_POINT_INIT("leaf", PLUMB_POINT_PLAIN);
    start(dir, 0, false);
    for (int i = 0; i < 200; i++)
        plumb_end(plumb_begin(&leaf));
    while (!fold_is_near())
        plumb_end(plumb_begin(&leaf));
    __atomic_store_n(&progress->phase, 1, __ATOMIC_RELEASE);
    raise(STOP_SIGNAL);
    for (int i = 0; i < 20; i++)
        plumb_end(plumb_begin(&leaf));
}

static void end_of_an_async_span(const char *dir)
{
    plumb_node node = plumb_node_get("async");
    plumb_async span;
    start(dir, 0, false);
    plumb_async_end(plumb_async_begin(plumb_node_get("another")));
    span = plumb_async_begin(node);
    __atomic_store_n(&progress->phase, 1, __ATOMIC_RELEASE);
    raise(STOP_SIGNAL);
    plumb_async_end(span);
}

/* ---- Reading as if it had been killed
 * ------------------------------------------------------------ */

struct digest {
    uint64_t hash, runs;
    uint64_t async; /* samples of the node "async", and spans of it that are open */
};

static void mix(uint64_t *h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++)
        *h = (*h ^ p[i]) * UINT64_C(0x100000001b3);
}

static void mix_text(uint64_t *h, const char *text)
{
    if (text)
        mix(h, text, strlen(text) + 1);
}

static void mix_channel(uint64_t *h, const struct plumb_timing_channel *c)
{
    mix(h, &c->ns, sizeof c->ns);
    mix(h, &c->median_ns, sizeof c->median_ns);
    mix(h, &c->p50_ns, 4 * sizeof c->p50_ns);
    for (size_t i = 0; i < c->bucket_count; i++) {
        mix(h, &c->buckets[i].value, sizeof c->buckets[i].value);
        mix(h, &c->buckets[i].count, sizeof c->buckets[i].count);
    }
}

static struct digest digest_of(const struct plumb_timing *t)
{
    struct digest d = {UINT64_C(0xcbf29ce484222325), 0, 0};
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        uint64_t figures[] = {n->self_ns,    n->outermost_ns, n->outermost_count,
                              n->skipped,    n->failures,     n->abandoned,
                              n->unbalanced, n->threads,      n->median_estimator};
        mix_text(&d.hash, n->name);
        mix_text(&d.hash, n->last_failure);
        mix_channel(&d.hash, &n->host);
        mix(&d.hash, figures, sizeof figures);
        if (strcmp(n->name, "async") == 0)
            d.async += n->host.ns.count;
        d.runs += n->host.ns.count + n->skipped + n->failures + n->abandoned + n->unbalanced;
    }
    for (size_t i = 0; i < t->tree_count; i++) {
        const struct plumb_timing_tree *p = &t->tree[i];
        uint64_t figures[] = {p->parent, p->node, p->count, p->total_ns, p->self_ns, p->async};
        mix(&d.hash, figures, sizeof figures);
    }
    for (size_t i = 0; i < t->open_count; i++) {
        d.async += strcmp(t->open[i].node, "async") == 0;
        mix_text(&d.hash, t->open[i].node);
        mix(&d.hash, &t->open[i].depth, sizeof t->open[i].depth);
        mix(&d.hash, &t->open[i].age_ns, sizeof t->open[i].age_ns);
    }
    return d;
}

/* The mapping of the stopped child, for looking at. */
struct view {
    int fd;
    unsigned char *live;
    unsigned char *last; /* as it was at the last reading */
    unsigned char *copy;
    struct digest digest; /* of the last reading */
    size_t bytes;
    struct plumb_anchor end; /* the same for each reading, so that ticks become the same ns */
};

/* Long after all that will be read, on the line of the child's clock. */
static void end_later(struct plumb_anchor *end, const struct plumb_live_header *h)
{
    enum { TIMES = 4096 };
    plumb_anchor_take(end, h->clock_source);
    end->ticks += (end->ticks - h->early.ticks) * TIMES;
    end->unix_ns += (end->raw_ns - h->early.raw_ns) * TIMES;
    end->raw_ns += (end->raw_ns - h->early.raw_ns) * TIMES;
}

static void view_open(struct view *v, const char *dir)
{
    char path[1200];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, PLUMB_LIVE_NAME);
    v->fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(v->fd >= 0);
    assert_int_equal(fstat(v->fd, &st), 0);
    v->bytes = (size_t)st.st_size;
    v->live = mmap(NULL, v->bytes, PROT_READ, MAP_SHARED, v->fd, 0);
    assert_ptr_not_equal(v->live, MAP_FAILED);
    v->copy = malloc(v->bytes);
    v->last = calloc(1, v->bytes);
    v->digest = (struct digest){0, 0, 0};
    assert_non_null(v->copy);
    assert_non_null(v->last);
    end_later(&v->end, (const struct plumb_live_header *)(const void *)v->live);
}

static void view_close(struct view *v)
{
    munmap(v->live, v->bytes);
    free(v->copy);
    free(v->last);
    close(v->fd);
}

static const struct plumb_live_thread *the_thread(const struct view *v)
{
    const struct plumb_live_header *h = (const struct plumb_live_header *)(const void *)v->live;
    return h->thread_off ? (const struct plumb_live_thread *)(const void *)(v->live + h->thread_off)
                         : NULL;
}

static bool is_folding(const struct view *v)
{
    const struct plumb_live_thread *th = the_thread(v);
    return th && th->folding != th->folded;
}

static void read_as_if_killed(struct view *v)
{
    struct plumb_timing t;
    plumb_error err = {0, ""};
    size_t used = ((const struct plumb_live_header *)(const void *)v->live)->used;
    used = used < v->bytes ? used : v->bytes;
    /* Most instructions store nothing into the mapping. */
    if (memcmp(v->last, v->live, used) == 0)
        return;
    memcpy(v->last, v->live, used);
    memcpy(v->copy, v->live, used);
    plumb_timing_init(&t);
    if (plumb_live_to_timing(&t, v->copy, v->bytes, &v->end, &err) < 0)
        fail_msg("%s", err.message);
    assert_consistent(&t, false);
    v->digest = digest_of(&t);
    plumb_timing_fini(&t);
}

/* ---- Stepping
 * --------------------------------------------------------------------------------------
 */

static void stop_wanted(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    while (WIFSTOPPED(status) && WSTOPSIG(status) != STOP_SIGNAL) {
        assert_int_equal(ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status)), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    if (!WIFSTOPPED(status))
        fail_msg("the child ended before it was to be stepped: %#x", status);
}

/* One instruction; false: the child is done. */
static bool step(pid_t pid)
{
    int status;
    if (progress->phase == 2)
        return false;
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status))
        fail_msg("the child ended while it was stepped: %#x", status);
    return true;
}

struct result {
    uint64_t steps, folds, in_fold;
    uint64_t blocks; /* of the fold that had most */
};

/* During a fold no record is added, so that every reading must give what the
 * first one gave. Between folds only the number of runs is followed: it never
 * falls. */
static struct result step_through(pid_t pid, struct view *v, uint64_t stride)
{
    struct result r = {0};
    struct digest at_begin = {0};
    uint64_t runs = 0, folded = 0;
    bool was_folding = false;
    while (step(pid)) {
        bool folding = is_folding(v);
        r.steps++;
        if (!folding && !was_folding && r.steps % 16)
            continue;
        if (folding && was_folding && r.steps % stride)
            continue;
        read_as_if_killed(v);
        if (folding && !was_folding) {
            r.folds++;
            at_begin = v->digest;
            folded = the_thread(v)->folded;
        }
        /* The first reading after the fold too: it sees the fold's result, and no
         * new record. */
        if (folding || was_folding) {
            r.in_fold++;
            if (the_thread(v)->folded - folded > r.blocks)
                r.blocks = the_thread(v)->folded - folded;
            if (v->digest.hash != at_begin.hash)
                fail_msg("reading %" PRIu64 " of fold %" PRIu64 ": %" PRIu64
                         " runs, before %" PRIu64,
                         r.in_fold, r.folds, v->digest.runs, at_begin.runs);
        }
        if (v->digest.runs < runs)
            fail_msg("%" PRIu64 " runs after %" PRIu64, v->digest.runs, runs);
        runs = v->digest.runs;
        was_folding = folding;
    }
    return r;
}

/* A child that works in `dir`, stopped where it wants to be stepped. */
static pid_t stopped_child(void (*work)(const char *dir), const char *dir)
{
    pid_t pid;
    progress->phase = 0;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        ROLE_NEEDS(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
        work(dir);
        __atomic_store_n(&progress->phase, 2, __ATOMIC_RELEASE);
        for (;;)
            pause();
    }
    stop_wanted(pid);
    return pid;
}

static void stays_exact(void (*work)(const char *dir), const char *name)
{
    const char *dir = in_place(name);
    struct view v;
    struct result r;
    pid_t pid = stopped_child(work, dir);
    view_open(&v, dir);
    r = step_through(pid, &v, STRIDE);
    print_message("%s: %" PRIu64 " instructions, %" PRIu64 " folds of up to %" PRIu64
                  " blocks, %" PRIu64 " readings in them\n",
                  name, r.steps, r.folds, r.blocks, r.in_fold);
    assert_true(r.folds > 0);
    assert_true(r.blocks > 1);
    assert_true(r.in_fold > 100);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    view_close(&v);
}

static void a_fold_of_rows_of_leaves_can_be_killed_anywhere(void **state)
{
    (void)state;
    stays_exact(fold_of_rows_of_leaves, "leaves");
}

/* Killed at any instruction of its end, it is open or counted. */
static void an_async_span_is_never_lost(void **state)
{
    const char *dir = in_place("async");
    struct view v;
    uint64_t both = 0;
    pid_t pid;
    (void)state;
    pid = stopped_child(end_of_an_async_span, dir);
    view_open(&v, dir);
    read_as_if_killed(&v);
    assert_int_equal(v.digest.async, 1);
    while (step(pid)) {
        read_as_if_killed(&v);
        if (v.digest.async < 1 || v.digest.async > 2)
            fail_msg("there %" PRIu64 " times", v.digest.async);
        both += v.digest.async == 2;
    }
    assert_int_equal(v.digest.async, 1);
    print_message("open and counted for %" PRIu64 " instructions\n", both);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    view_close(&v);
}

static void a_fold_that_meets_its_nodes_for_the_first_time_can_be_killed_anywhere(void **state)
{
    (void)state;
    stays_exact(fold_that_meets_everything_first, "first");
}

static void a_fold_of_known_nodes_can_be_killed_anywhere(void **state)
{
    (void)state;
    stays_exact(fold_of_known_nodes, "known");
}

static void a_fold_with_the_p2_estimator_can_be_killed_anywhere(void **state)
{
    (void)state;
    stays_exact(fold_with_p2, "p2");
}

static void a_fold_that_skips_samples_can_be_killed_anywhere(void **state)
{
    (void)state;
    stays_exact(fold_with_skipped_samples, "skip");
}

static void a_fold_after_a_reset_can_be_killed_anywhere(void **state)
{
    (void)state;
    stays_exact(fold_after_a_reset, "reset");
}

/* Sandboxes may forbid it. */
static bool may_trace(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, 0, 0) < 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fold_that_meets_its_nodes_for_the_first_time_can_be_killed_anywhere),
        cmocka_unit_test(a_fold_of_known_nodes_can_be_killed_anywhere),
        cmocka_unit_test(a_fold_with_the_p2_estimator_can_be_killed_anywhere),
        cmocka_unit_test(a_fold_that_skips_samples_can_be_killed_anywhere),
        cmocka_unit_test(a_fold_after_a_reset_can_be_killed_anywhere),
        cmocka_unit_test(a_fold_of_rows_of_leaves_can_be_killed_anywhere),
        cmocka_unit_test(an_async_span_is_never_lost),
    };
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 1;
    if (!may_trace()) {
        fprintf(stderr, "step: this system lets no process be traced\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

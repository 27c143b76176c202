/* Random programs of nested regions, selected and not, spans, scopes, adopted contexts, ends by an
 * outer span and jumps, on one to three threads: each thread's trace has exactly what began inside.
 * Each thread reads its own queue, which ring mode leaves to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_region.h"
#include "record_shown.h"
#include "seeds.h"

enum { THREADS = 3, DEPTH = 7 };

struct program {
    pthread_t thread;
    uint64_t random;
    uint32_t scope; /* enum plumb_region_scope */
    /* The model: what is to be in the trace. */
    int selected; /* selected regions that are open */
    bool adopted; /* working for one */
    bool left;    /* a jump has left a region, whose span no span around has ended yet */
    uint64_t inside, regions, switches, jumps;
    jmp_buf back;
    struct shown shown;
    const char *wrong;
    uint64_t got, wanted;
};

static uint32_t below(struct program *p, uint32_t n)
{
    return (uint32_t)(random_next(&p->random) % n);
}

static bool is_inside(const struct program *p)
{
    return p->selected || p->adopted;
}

static void spans(struct program *p, int n)
{
    region_spans(is_inside(p) ? "inside" : "outside", n);
    p->inside += is_inside(p) ? (uint64_t)n : 0;
}

static void entered(struct program *p)
{
    p->regions++;
    p->switches += p->selected++ == 0;
}

static void wander(struct program *p, int depth);

static void in_selected(struct program *p, int depth)
{
    plumb_span region = plumb_region_begin(below(p, 2) ? "training_step" : " Model_Loading");
    entered(p);
    wander(p, depth + 1);
    plumb_region_end(region);
    p->selected--;
}

/* An ordinary span in one that is selected. */
static void in_another(struct program *p, int depth)
{
    plumb_span region = plumb_region_begin("training_epoch");
    p->regions += is_inside(p);
    wander(p, depth + 1);
    plumb_region_end(region);
}

static void in_a_span(struct program *p, int depth)
{
    plumb_span span = plumb_begin_node(plumb_node_get(is_inside(p) ? "inside" : "outside"));
    p->inside += is_inside(p);
    wander(p, depth + 1);
    plumb_end(span);
}

/* A span that ends what is open inside it. */
static void in_an_outer_end(struct program *p, int depth)
{
    plumb_span span = plumb_begin_node(plumb_node_get(is_inside(p) ? "inside" : "outside"));
    int before = p->selected;
    p->inside += is_inside(p);
    for (uint32_t i = below(p, 3); i-- > 0;) {
        plumb_region_begin("model_loading");
        entered(p);
        spans(p, (int)below(p, 70));
    }
    if (depth < DEPTH && below(p, 2))
        wander(p, depth + 1);
    plumb_end(span);
    p->selected = before;
}

static void in_a_context(struct program *p, int depth)
{
    plumb_context context;
    plumb_context_capture(&context);
    bool before = p->adopted;
    plumb_scope scope = plumb_context_adopt(&context);
    p->adopted = is_inside(p);
    wander(p, depth + 1);
    p->adopted = before;
    plumb_scope_end(scope);
}

static __attribute__((noinline)) void jump(struct program *p)
{
    PLUMB_REGION("training_step");
    entered(p);
    spans(p, (int)below(p, 70));
    longjmp(p->back, 1);
}

static __attribute__((noinline)) void caught(struct program *p)
{
    if (!setjmp(p->back))
        jump(p);
}

/* The step ends the region that the jump has left. */
static void in_a_step_with_a_jump(struct program *p)
{
    plumb_scope step = plumb_step_begin(3);
    caught(p);
    spans(p, (int)below(p, 3));
    plumb_scope_end(step);
    p->selected--;
    p->left = true;
    p->jumps++;
}

/* A context that is captured while a span is open that a jump has left is one of its inside. */
static bool may_adopt(const struct program *p)
{
    return p->scope == PLUMB_REGION_THREAD && !p->left;
}

static void wander(struct program *p, int depth)
{
    for (uint32_t i = 1 + below(p, 3); i-- > 0;) {
        uint32_t what = depth < DEPTH ? below(p, 8) : 7;
        bool left = p->left;
        if (what == 0 || what == 1)
            in_selected(p, depth);
        else if (what == 2)
            in_another(p, depth);
        else if (what == 3)
            in_a_span(p, depth);
        else if (what == 4)
            in_an_outer_end(p, depth);
        else if (what == 5 && may_adopt(p))
            in_a_context(p, depth);
        else if (what == 6 && below(p, 4) == 0)
            in_a_step_with_a_jump(p);
        else
            spans(p, (int)below(p, below(p, 4) ? 5 : 140));
        if (what < 5)
            p->left = left;
    }
}

static void demand(struct program *p, const char *what, uint64_t got, uint64_t wanted)
{
    if (p->wrong || got == wanted)
        return;
    p->wrong = what;
    p->got = got;
    p->wanted = wanted;
}

static void *run(void *arg)
{
    struct program *p = arg;
    plumb_span around = plumb_begin_node(plumb_node_get("outside"));
    shown_open(&p->shown);
    for (uint32_t i = 1 + below(p, 4); i-- > 0;) {
        wander(p, 0);
        if (!shown_take(&p->shown))
            demand(p, "slots of the queue that are left", 0, 1);
    }
    plumb_end(around);
    shown_take(&p->shown);
    demand(p, "spans inside", p->shown.inside_begun, p->inside);
    demand(p, "regions", p->shown.begun, p->regions);
    demand(p, "spans outside", p->shown.other, 0);
    /* Where a jump has left a region, the end of its span is not defined. */
    demand(p, "spans that are cut short", p->shown.cut > p->jumps, 0);
    demand(p, "marks of on", p->shown.on, p->switches);
    demand(p, "marks of off", p->shown.off, p->switches);
    return NULL;
}

static uint32_t scope_now;

static void one(uint64_t seed)
{
    static struct program programs[THREADS];
    uint64_t random = seed * 2654435761u;
    /* The same for some seeds in a row: a run takes longer to open and close than its programs. */
    uint32_t scope = seed / 64 % 4 ? PLUMB_REGION_THREAD : PLUMB_REGION_PROCESS;
    size_t n = scope == PLUMB_REGION_THREAD ? 1 + random_next(&random) % THREADS : 1;
    if (!plumb_is_recording() || scope_now != scope) {
        record_close(NULL);
        shown_start("training_step,model_loading", scope);
        scope_now = scope;
    }
    for (size_t i = 0; i < n; i++) {
        memset(&programs[i], 0, sizeof programs[i]);
        programs[i].random = random + i;
        programs[i].scope = scope;
        if (i + 1 < n)
            assert_int_equal(pthread_create(&programs[i].thread, NULL, run, &programs[i]), 0);
    }
    run(&programs[n - 1]);
    for (size_t i = 0; i + 1 < n; i++)
        pthread_join(programs[i].thread, NULL);
    for (size_t i = 0; i < n; i++)
        if (programs[i].wrong)
            fail_msg("thread %zu of %zu, scope %u: %s: %llu, not %llu", i, n, scope,
                     programs[i].wrong, (unsigned long long)programs[i].got,
                     (unsigned long long)programs[i].wanted);
}

static void the_trace_has_exactly_what_began_inside(void **state)
{
    (void)state;
    seeds_run(one);
}

static int teardown(void **state)
{
    record_close(state);
    return seeds_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_trace_has_exactly_what_began_inside, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

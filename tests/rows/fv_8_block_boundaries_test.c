/* FV-8 and FV-9: a region's span, its two marks and what runs inside are whole wherever a ring
 * block happens to end. Every pair of 0 to 300 spans inside and 0 to 300 outside is recorded and
 * read back from the queue, which ring mode leaves to the test; a sanitizer's build takes every
 * seventh.
 *
 * timeout: 600 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/runtime.h"
#include "format/trace_live.h"
#include "format/trace_regions.h"
#include "record_region.h"

enum { MOST = 300 };

/* What the trace of this thread shows, read from its queue. */
struct shown {
    struct plumb_trace_source source;
    struct plumb_trace_regions regions;
    struct plumb_trace_state state;
    uint64_t taken;
    uint32_t inside; /* node */
    uint64_t begun, ended, cut, inside_begun, other, on, off;
};

static void on_begin_more(void *self, const struct plumb_trace_state *s,
                          const struct plumb_trace_frame *f)
{
    struct shown *t = self;
    const char *name = plumb_trace_node(&t->source, plumb_key_node(f->key));
    (void)s;
    if (plumb_key_node(f->key) == t->inside)
        t->inside_begun++;
    else if (strncmp(name, "plumb.region::", 14) == 0)
        t->begun++;
    else
        t->other++;
}

static void on_begin(void *self, uint64_t ticks, uint32_t node)
{
    (void)ticks;
    on_begin_more(self, NULL, &(struct plumb_trace_frame){.key = node});
}

static void on_end(void *self, uint64_t ticks)
{
    (void)ticks;
    ((struct shown *)self)->ended++;
}

static void on_end_more(void *self, const struct plumb_trace_state *s,
                        const struct plumb_trace_frame *f, uint64_t ticks, enum plumb_trace_end how)
{
    struct shown *t = self;
    (void)s, (void)f, (void)ticks;
    t->ended += how == PLUMB_TRACE_END_SAID;
    t->cut += how != PLUMB_TRACE_END_SAID;
}

static void on_instant(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint64_t text)
{
    struct shown *t = self;
    (void)s, (void)ticks;
    t->on += text == t->source.h->regions.on_off;
    t->off += text == t->source.h->regions.off_off;
}

static const struct plumb_trace_sink sink = {.begin = on_begin,
                                             .end = on_end,
                                             .begin_more = on_begin_more,
                                             .end_more = on_end_more,
                                             .instant = on_instant};

static void shown_open(struct shown *t)
{
    struct plumb_run *run = plumb_rt.run;
    memset(t, 0, sizeof *t);
    t->source = (struct plumb_trace_source){run->base, run->mapped, run->h};
    t->inside = plumb_node_get("inside");
    assert_true(plumb_trace_regions_open(&t->regions, &t->source, false, false));
}

/* Takes the slots that came since, and all that the thread has recorded by then. */
static void shown_take(struct shown *t)
{
    struct plumb_live_queue *q = plumb_tls->queue;
    struct plumb_trace_decoder d = {&sink, t, &t->regions.filter, &t->state};
    static struct plumb_trace_slot slot;
    plumb_context context;
    plumb_context_capture(&context); /* folds */
    assert_true(q->put - t->taken <= q->slots);
    for (; t->taken < q->put; t->taken++) {
        assert_true(plumb_trace_copy_slot(&t->source, q, t->taken + 1, &slot));
        plumb_trace_slot(&d, &slot);
    }
}

static void ring_start(uint32_t scope)
{
    plumb_options o = plumb_options_default();
    o.regions = "training_step";
    o.region_scope = scope;
    o.trace_mode = PLUMB_TRACE_RING;
    o.trace_ring_bytes = 4 << 20;
    record_start_with(o);
    region_spans("outside", 1);
}

static void every_count_of_spans(uint32_t scope, int every)
{
    struct shown t;
    uint64_t regions = 0, inside = 0;
    ring_start(scope);
    shown_open(&t);
    for (int n = 0; n <= MOST; n += every)
        for (int m = 0; m <= MOST; m += every) {
            {
                PLUMB_REGION("training_step");
                region_spans("inside", n);
            }
            region_spans("outside", m);
            regions++;
            inside += (uint64_t)n;
            if (regions % 64)
                continue;
            shown_take(&t);
            if (t.begun != regions || t.ended != regions + inside || t.cut || t.off != regions ||
                t.on != regions)
                fail_msg("%d spans inside, %d outside: of %llu regions %llu begin, %llu end, %llu "
                         "are cut short, %llu and %llu are marked",
                         n, m, (unsigned long long)regions, (unsigned long long)t.begun,
                         (unsigned long long)(t.ended - t.inside_begun), (unsigned long long)t.cut,
                         (unsigned long long)t.on, (unsigned long long)t.off);
            assert_int_equal(t.inside_begun, inside);
            assert_int_equal(t.other, 0);
        }
    record_stop();
}

static int stride(void)
{
    return strcmp(TEST_PLUMB_BUILD_KIND, "plain") == 0 ? 1 : 7;
}

static void each_region_is_whole_in_the_scope_of_its_thread(void **state)
{
    (void)state;
    every_count_of_spans(PLUMB_REGION_THREAD, stride());
}

static void each_region_is_whole_in_the_scope_of_the_process(void **state)
{
    (void)state;
    every_count_of_spans(PLUMB_REGION_PROCESS, 7 * stride());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_region_is_whole_in_the_scope_of_its_thread),
        cmocka_unit_test(each_region_is_whole_in_the_scope_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* CV-6: a run has 255 phases and 255 pipelines; the runs of every further one are under "(other)",
 * and the report says how many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"
#include "report/run/render.h"

enum { PHASES = 300, PIPELINES = 300, NAMED = 255 };

static void run_in(const char *prefix, int i, plumb_scope (*begin)(const char *))
{
    char name[16];
    snprintf(name, sizeof name, "%s%d", prefix, i);
    plumb_scope scope = begin(name);
    plumb_record_ns(plumb_node_get("node"), 1000);
    plumb_scope_end(scope);
}

static plumb_scope begin_phase(const char *name)
{
    return plumb_phase_begin(name);
}

static plumb_scope begin_pipeline(const char *name)
{
    return plumb_pipeline_begin(plumb_pipeline_get(name));
}

static void assert_remark(const struct plumb_timing *t, const char *want)
{
    struct plumb_buf text = {0};
    plumb_remarks_write(t, false, &text);
    if (!text.data || !strstr(text.data, want))
        fail_msg("no '%s' in the remarks: %s", want, text.data ? text.data : "none");
    plumb_buf_fini(&text);
}

static void phases_and_pipelines_beyond_the_bound_are_counted(void **state)
{
    struct plumb_timing t;
    (void)state;
    record_start();
    /* The first of each is there before: inference, default. */
    for (int i = 0; i < PHASES; i++)
        run_in("phase", i, begin_phase);
    for (int i = 0; i < PIPELINES; i++)
        run_in("pipeline", i, begin_pipeline);
    assert_int_equal(record_row_of(plumb_pipeline_get(NULL), "(other)", "node").count,
                     PHASES - (NAMED - 1));
    assert_int_equal(record_row_of(plumb_pipeline_get("(other)"), NULL, "node").count,
                     PIPELINES - (NAMED - 1));
    record_finish(&t);
    assert_int_equal(t.drops.other_phases, PHASES - (NAMED - 1));
    assert_int_equal(t.drops.other_pipelines, PIPELINES - (NAMED - 1));
    assert_remark(&t, "46 uses of phases beyond 255 are counted under (other)");
    assert_remark(&t, "46 uses of pipelines beyond 255 are counted under (other)");
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_and_pipelines_beyond_the_bound_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

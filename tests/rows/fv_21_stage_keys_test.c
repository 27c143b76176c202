/* FV-21: stages of one class stay apart under names of their own, and each may name the component
 * metric that it counts for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"

/* A stage class: which of the pipeline's stages it is stands in its object. */
struct decoding_stage {
    const char *name;
    const char *metric;
};

static void forward(const struct decoding_stage *self)
{
    plumb_span stage = plumb_begin_with(plumb_node_get(self->name), PLUMB_POINT_STAGE);
    plumb_stage_metric(stage, self->metric);
    plumb_end(stage);
}

static void two_of_one_class_stay_apart(void **state)
{
    const struct decoding_stage video = {"video_decode", "vae_decode_time_s"};
    const struct decoding_stage audio = {"audio_decode", "audio_decode_time_s"};
    struct plumb_timing t;
    (void)state;
    forward(&video);
    forward(&audio);
    forward(&video);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "video_decode")->host.ns.count, 2);
    assert_int_equal(timing_node(&t, NULL, "audio_decode")->host.ns.count, 1);
    assert_string_equal(timing_node(&t, NULL, "video_decode")->metric, "vae_decode_time_s");
    assert_string_equal(timing_node(&t, NULL, "audio_decode")->metric, "audio_decode_time_s");
    assert_true(timing_node(&t, NULL, "audio_decode")->stage);
    plumb_timing_fini(&t);
}

static void a_stage_without_one_has_none_and_plain_spans_take_none(void **state)
{
    struct plumb_timing t;
    plumb_span none = {0};
    (void)state;
    {
        PLUMB_STAGE(stage, "unmapped");
    }
    {
        PLUMB_SPAN_AS(span, "plain");
        plumb_stage_metric(span, "dit_time_s");
        plumb_stage_metric(none, "dit_time_s");
    }
    record_finish(&t);
    assert_null(timing_node(&t, NULL, "unmapped")->metric);
    assert_null(timing_node(&t, NULL, "plain")->metric);
    plumb_timing_fini(&t);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup(f, record_setup)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(two_of_one_class_stay_apart),
        IN_A_RUN(a_stage_without_one_has_none_and_plain_spans_take_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Model FLOPs utilisation: the formula against figures by hand, and what it needs. */
#include "analyze/roofline/mfu.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static plumb_error err;

static void percent_is(const char *text, const char *expected)
{
    struct plumb_mfu m;
    char out[32];
    assert_int_equal(plumb_mfu_parse(&m, text, &err), 0);
    snprintf(out, sizeof out, "%.4f", plumb_mfu_percent(&m));
    assert_string_equal(out, expected);
}

/* h = 2, s = 3, c = 1, f = 5: 96 + 64 + 120 + 72 + 24 = 376. */
static void operations_of_a_small_layer_are_those_by_hand(void **state)
{
    struct plumb_mfu m;
    (void)state;
    assert_int_equal(plumb_mfu_parse(&m,
                                     "hidden_dim=2,dit_seq_len=3,context_len=1,ffn_dim=5,"
                                     "num_layers=2,batch=3,grad_accum=2,step_s=1,peak_tflops=1",
                                     &err),
                     0);
    assert_true(plumb_mfu_layer_flops(&m) == 376);
    assert_true(plumb_mfu_step_flops(&m) == 376.0 * 2 * 3 * 4 * 2);
}

/* h = 1536, s = 32760, c = 512, f = 8960: 618324295680 + 313993986048 + 1803445862400 +
 * 6593848934400 + 103054049280 = 9432667127808 a layer; with 30 layers 1131920055336960 a step.
 * 10 s on 8 devices of 989 TFLOP/s: 1.43063707... %. */
static void utilisation_of_a_video_model_is_that_by_hand(void **state)
{
    (void)state;
    percent_is("hidden_dim=1536,dit_seq_len=32760,context_len=512,ffn_dim=8960,num_layers=30,"
               "step_s=10,device=h100,world_size=8",
               "1.4306");
    percent_is("hidden_dim=1536,dit_seq_len=32760,context_len=512,ffn_dim=8960,num_layers=30,"
               "step_s=100,device=a100,world_size=16,batch=2,grad_accum=4",
               "1.8140");
    percent_is("hidden_dim=2,dit_seq_len=3,context_len=1,ffn_dim=5,num_layers=1,step_s=0.5,"
               "peak_tflops=1e-8",
               "30.0800");
}

static void a_missing_or_wrong_figure_is_named(void **state)
{
    struct plumb_mfu m;
    static const char *const texts[][2] = {
        {"hidden_dim=2", "utilisation needs dit_seq_len="},
        {"hidden_dim=0", "hidden_dim wants a number above 0, not '0'"},
        {"hidden_dim=2x", "hidden_dim wants a number above 0, not '2x'"},
        {"hidden_dim=2-3", "hidden_dim wants a number above 0, not '2-3'"},
        {"hidden_dim=", "hidden_dim wants a number above 0, not ''"},
        {"hidden_dim=1e999", "hidden_dim wants a number above 0, not '1e999'"},
        {"hidden_dim", "utilisation wants run, or NAME=VALUE, not 'hidden_dim'"},
        {"heads=2", "utilisation has no figure 'heads'"},
        {"device=b200", "the peak of 'b200' is not known (h100, a100): give it as peak_tflops="},
        {"hidden_dim=2,dit_seq_len=3,context_len=1,ffn_dim=5,num_layers=2",
         "utilisation needs the time of a step: step_s= or step=NODE"},
        {"hidden_dim=2,dit_seq_len=3,context_len=1,ffn_dim=5,num_layers=2,step=x",
         "utilisation needs a peak: peak_tflops=, device= or dtype="},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(plumb_mfu_parse(&m, texts[i][0], &err), PLUMB_ERR_ARG);
        assert_string_equal(err.message, texts[i][1]);
    }
}

static void the_time_of_a_step_is_the_median_run_of_its_node(void **state)
{
    struct plumb_mfu m;
    struct plumb_table t;
    (void)state;
    assert_int_equal(plumb_table_init(&t, &err), 0);
    uint32_t track = plumb_table_new_track(&t), name = plumb_table_string(&t, "step", 4);
    for (uint32_t i = 0; i < 3; i++)
        plumb_table_complete(&t, track, 1000 * (int)i, 100 * (i + 1), name, 0);
    assert_int_equal(plumb_table_finish(&t, &err), 0);
    assert_int_equal(plumb_mfu_parse(&m,
                                     "hidden_dim=2,dit_seq_len=3,context_len=1,ffn_dim=5,"
                                     "num_layers=2,step=step,dtype=bf16",
                                     &err),
                     0);
    assert_int_equal(m.type, PLUMB_PEAK_BF16);
    assert_int_equal(plumb_mfu_take_step(&m, &t, &err), 0);
    assert_int_equal(m.runs, 3);
    assert_true(m.step_s == 200 * 1e-9);
    strcpy(m.step, "nothing");
    assert_int_equal(plumb_mfu_take_step(&m, &t, &err), PLUMB_ERR_NOT_FOUND);
    plumb_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_a_small_layer_are_those_by_hand),
        cmocka_unit_test(utilisation_of_a_video_model_is_that_by_hand),
        cmocka_unit_test(a_missing_or_wrong_figure_is_named),
        cmocka_unit_test(the_time_of_a_step_is_the_median_run_of_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

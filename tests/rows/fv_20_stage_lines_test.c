/* FV-20: a stage logs its start and its completion with the time, an error with the time until
 * then;
 * (+) running it again adds to its row, with a count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"

enum { LINES = 64, STAGE_NS = 3000000 };

static struct {
    int level;
    char text[256];
    uint64_t at_ns;
} lines[LINES];
static size_t line_count;

static void take_line(int level, const char *text, void *arg)
{
    assert_ptr_equal(arg, &line_count);
    assert_true(line_count < LINES);
    assert_null(strchr(text, '\n'));
    if (strncmp(text, "[Rank ", 6) == 0)
        return; /* row TF-7's */
    lines[line_count].level = level;
    lines[line_count].at_ns = record_now_ns();
    snprintf(lines[line_count++].text, sizeof lines[0].text, "%s", text);
}

static int setup(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    line_count = 0;
    o.pipeline = "t2v";
    o.log_level = PLUMB_LOG_INFO;
    o.log = take_line;
    o.log_arg = &line_count;
    record_start_with(o);
    line_count = 0;
    return 0;
}

static int teardown(void **state)
{
    plumb_set_log(0, NULL, NULL);
    return record_teardown(state);
}

static double work_ms; /* as the stage's own body saw it */

static int denoise(int fail)
{
    PLUMB_STAGE(stage, "denoise");
    uint64_t begin_ns = record_now_ns();
    record_work_ns(STAGE_NS);
    work_ms = (double)(record_now_ns() - begin_ns) * 1e-6;
    if (fail) {
        plumb_span_fail(stage, "NaN in latents");
        return -1;
    }
    return 0;
}

/* The milliseconds of line `i`, which must be `before`, a number, `after`. */
static double line_ms(size_t i, const char *before, const char *after)
{
    double ms = 0;
    int used = 0;
    char pattern[128];
    assert_true(i < line_count);
    snprintf(pattern, sizeof pattern, "%s%%lf%s%%n", before, after);
    if (sscanf(lines[i].text, pattern, &ms, &used) != 1 || lines[i].text[used] != '\0' || !used)
        fail_msg("'%s' is not '%s<ms>%s'", lines[i].text, before, after);
    return ms;
}

/* The time in line `i` lies between that of the stage's body and that between its lines; half a
 * microsecond is rounding. */
static void assert_time_of(size_t i, double ms)
{
    assert_true(ms >= work_ms - 0.0005);
    assert_true(ms <= (double)(lines[i].at_ns - lines[i - 1].at_ns) * 1e-6 + 0.0005);
}

static void a_stage_logs_its_start_and_completion(void **state)
{
    double ms;
    plumb_row row;
    (void)state;
    assert_int_equal(denoise(0), 0);
    assert_int_equal(line_count, 2);
    assert_string_equal(lines[0].text, "[denoise|t2v] Starting execution");
    assert_int_equal(lines[0].level, PLUMB_LOG_INFO);
    assert_int_equal(lines[1].level, PLUMB_LOG_INFO);
    ms = line_ms(1, "[denoise|t2v] Execution completed in ", " ms");
    assert_time_of(1, ms);
    row = record_row("denoise");
    assert_int_equal(row.count, 1);
    assert_true(row.last_ms >= work_ms * 0.99);
    /* The line's clock reads lie outside the span's. */
    assert_true(ms >= row.last_ms * 0.99 - 0.001);
}

static void seconds_and_milliseconds_agree(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *n;
    double ms;
    (void)state;
    denoise(0);
    ms = line_ms(1, "[denoise|t2v] Execution completed in ", " ms");
    record_finish(&t);
    n = timing_node(&t, NULL, "denoise");
    assert_true(n->stage);
    /* The clock of spans and that of the line agree within 1 %. */
    assert_true((double)n->host.ns.total * 1e-9 <= (ms + 0.0005) * 1e-3 * 1.01);
    assert_true((double)n->host.ns.total * 1e-6 >= work_ms * 0.99);
    assert_time_of(1, ms);
    plumb_timing_fini(&t);
    setup(state);
}

static void a_failing_stage_logs_an_error_with_the_time_and_passes_the_error_on(void **state)
{
    double ms;
    (void)state;
    assert_int_equal(denoise(1), -1);
    assert_int_equal(line_count, 2);
    assert_string_equal(lines[0].text, "[denoise|t2v] Starting execution");
    ms = line_ms(1, "[denoise|t2v] Execution failed after ", " ms: NaN in latents");
    assert_int_equal(lines[1].level, PLUMB_LOG_ERROR);
    assert_time_of(1, ms);
    assert_int_equal(record_row("denoise").failures, 1);
    assert_int_equal(record_count("denoise"), 0);
}

static void an_abandoned_stage_does_not_claim_completion(void **state)
{
    (void)state;
    {
        PLUMB_STAGE(stage, "speculative");
        plumb_span_abandon(stage);
    }
    assert_int_equal(line_count, 2);
    line_ms(1, "[speculative|t2v] Execution abandoned after ", " ms");
}

static void repeats_accumulate_with_a_count(void **state)
{
    double total = 0;
    plumb_row row;
    (void)state;
    for (int i = 0; i < 3; i++) {
        double ms;
        denoise(0);
        ms = line_ms(2 * (size_t)i + 1, "[denoise|t2v] Execution completed in ", " ms");
        assert_time_of(2 * (size_t)i + 1, ms);
        total += ms;
    }
    row = record_row("denoise");
    assert_int_equal(row.count, 3);
    assert_true(row.total_ms >= 3 * STAGE_NS * 0.99e-6);
    assert_true(row.total_ms <= total * 1.01 + 0.003);
}

static void stages_nest_and_name_their_pipeline(void **state)
{
    static const char *const begins[] = {"[outer|other] Starting", "[inner|other] Starting",
                                         "[inner|other] Execution completed",
                                         "[outer|other] Execution completed"};
    (void)state;
    {
        PLUMB_PIPELINE(plumb_pipeline_get("other"));
        PLUMB_STAGE(outer, "outer");
        {
            PLUMB_SPAN("plain span");
            PLUMB_STAGE(inner, "inner");
        }
    }
    assert_int_equal(line_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(strncmp(lines[i].text, begins[i], strlen(begins[i])), 0);
    assert_int_equal(record_count("plain span"), 1);
}

static void deeper_stages_than_can_be_logged_are_recorded_all_the_same(void **state)
{
    (void)state;
    {
        PLUMB_STAGE(s1, "deep");
        PLUMB_STAGE(s2, "deep");
        PLUMB_STAGE(s3, "deep");
        PLUMB_STAGE(s4, "deep");
        PLUMB_STAGE(s5, "deep");
        PLUMB_STAGE(s6, "deep");
        PLUMB_STAGE(s7, "deep");
        PLUMB_STAGE(s8, "deep");
        PLUMB_STAGE(s9, "deep");
        PLUMB_STAGE(s10, "deep");
    }
    assert_int_equal(record_count("deep"), 10);
    assert_int_equal(line_count % 2, 0);
    line_count = 0;
    denoise(0);
    assert_int_equal(line_count, 2);
}

static void below_info_a_stage_is_silent_and_recorded(void **state)
{
    (void)state;
    plumb_set_log(PLUMB_LOG_WARN, take_line, &line_count);
    denoise(0);
    assert_int_equal(line_count, 0);
    assert_int_equal(record_count("denoise"), 1);
    /* Switched on in the middle: the stages that begin from then on. */
    plumb_set_log(PLUMB_LOG_INFO, take_line, &line_count);
    denoise(0);
    assert_int_equal(line_count, 2);
    assert_int_equal(record_count("denoise"), 2);
}

static void the_callback_may_record_and_ask_for_a_summary(void **state);

static int depth;
static void nosy_line(int level, const char *text, void *arg)
{
    (void)level;
    (void)arg;
    if (strncmp(text, "[Rank ", 6) == 0)
        return; /* row TF-7's */
    if (depth++ == 0) {
        PLUMB_SPAN("in the callback");
        plumb_rows_free(record_rows(NULL, NULL));
    }
    depth--;
}

static void the_callback_may_record_and_ask_for_a_summary(void **state)
{
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, nosy_line, NULL);
    denoise(0);
    denoise(1);
    plumb_set_log(0, NULL, NULL);
    assert_int_equal(record_count("denoise"), 1);
    assert_int_equal(record_count("in the callback"), 4);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(a_stage_logs_its_start_and_completion),
        IN_A_RUN(seconds_and_milliseconds_agree),
        IN_A_RUN(a_failing_stage_logs_an_error_with_the_time_and_passes_the_error_on),
        IN_A_RUN(an_abandoned_stage_does_not_claim_completion),
        IN_A_RUN(repeats_accumulate_with_a_count),
        IN_A_RUN(stages_nest_and_name_their_pipeline),
        IN_A_RUN(deeper_stages_than_can_be_logged_are_recorded_all_the_same),
        IN_A_RUN(below_info_a_stage_is_silent_and_recorded),
        IN_A_RUN(the_callback_may_record_and_ask_for_a_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

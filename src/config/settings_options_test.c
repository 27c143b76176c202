/* The options of a program. */
#include "config/settings.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <plumb/summary.h>

static struct plumb_settings s;
static plumb_error err;

static int setup(void **state)
{
    (void)state;
    plumb_settings_default(&s);
    return 0;
}

static void log_nowhere(int level, const char *line, void *arg)
{
    (void)level;
    (void)line;
    (void)arg;
}

static void options_are_taken(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    o.dir = "d";
    o.run_dir = "r";
    o.pipeline = "p";
    o.max_nodes = 10;
    o.max_state_bytes = 1 << 20;
    o.skip_first_n = 3;
    o.sync = PLUMB_ON;
    o.median_p2 = PLUMB_ON;
    o.debug = PLUMB_ON;
    o.signals = PLUMB_OFF;
    o.quiet = PLUMB_ON;
    o.log_level = PLUMB_LOG_WARN;
    o.log = log_nowhere;
    o.log_arg = &o;
    assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
    assert_string_equal(s.dir, "d");
    assert_string_equal(s.run_dir, "r");
    assert_string_equal(s.pipeline, "p");
    assert_int_equal(s.max_nodes, 10);
    assert_int_equal(s.max_state_bytes, 1 << 20);
    assert_int_equal(s.skip_first_n, 3);
    assert_true(s.sync && s.debug && s.quiet);
    assert_false(s.signals);
    assert_int_equal(s.median, PLUMB_MEDIAN_P2);
    assert_int_equal(s.log_level, PLUMB_LOG_WARN);
    assert_true(s.log == log_nowhere);
    assert_ptr_equal(s.log_arg, &o);
    assert_null(s.implied_by);
}

static void zero_options_change_nothing(void **state)
{
    plumb_options o = plumb_options_default();
    struct plumb_settings before = s;
    (void)state;
    assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
    assert_int_equal(plumb_settings_apply(&s, NULL, &err), PLUMB_OK);
    assert_memory_equal(&s, &before, sizeof s);
}

static void the_environment_wins_over_the_options(void **state)
{
    const char *environment[] = {"PLUMB_MEDIAN=sketch", "PLUMB_DIR=e", NULL};
    plumb_options o = plumb_options_default();
    (void)state;
    o.dir = "d";
    o.median_p2 = PLUMB_ON;
    o.skip_first_n = 9;
    assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
    assert_int_equal(plumb_settings_from_env(&s, (char *const *)environment, NULL, NULL), 0);
    assert_string_equal(s.dir, "e");
    assert_int_equal(s.median, PLUMB_MEDIAN_SKETCH);
    assert_int_equal(s.skip_first_n, 9);
}

static void an_older_caller_has_fewer_fields(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    o.dir = "d";
    o.max_nodes = 10;
    o.size = offsetof(plumb_options, max_nodes);
    assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
    assert_string_equal(s.dir, "d");
    assert_int_equal(s.max_nodes, 4096);
}

static void expect_refused(const plumb_options *o, const char *why)
{
    struct plumb_settings before = s;
    assert_int_equal(plumb_settings_apply(&s, o, &err), PLUMB_ERR_ARG);
    assert_memory_equal(&s, &before, sizeof s);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not tell of %s", err.message, why);
}

static void wrong_options_are_refused_as_a_whole(void **state)
{
    static char path[PLUMB_SETTINGS_PATH + 1];
    plumb_options o = {0};
    (void)state;
    expect_refused(&o, "plumb_options_default()");
    o = plumb_options_default();
    o.dir = "d";
    o.sync = 3;
    expect_refused(&o, "sync");
    o.sync = 0;
    o.max_nodes = 1048576;
    expect_refused(&o, "PLUMB_MAX_NODES");
    o.max_nodes = 0;
    o.log_level = 5;
    expect_refused(&o, "log_level");
    o.log_level = 0;
    memset(path, 'p', PLUMB_SETTINGS_PATH);
    o.run_dir = path;
    expect_refused(&o, "run_dir");
    o.run_dir = NULL;
    o.skip_first_n = UINT64_MAX;
    expect_refused(&o, "PLUMB_SKIP_FIRST");
}

/* ---- A field for each setting -----------------------------------------------------------------
 */

/* A value that a program may set instead of the default, and one that is refused. */
static const struct field {
    const char *setting;
    size_t offset, size; /* in plumb_options */
    uint64_t value;      /* of the field */
    uint64_t taken;      /* by the setting */
    uint64_t wrong;
} fields[] = {
#define FIELD(setting, member, ...)                                                                \
    {                                                                                              \
        setting, offsetof(plumb_options, member), sizeof(((plumb_options *)0)->member),            \
            __VA_ARGS__                                                                            \
    }
    FIELD("DIR", dir, 0, 0, 0),
    FIELD("RUN_DIR", run_dir, 0, 0, 0),
    FIELD("TIMING_REPORT", timing_report, 0, 0, 0),
    FIELD("PIPELINE", pipeline, 0, 0, 0),
    FIELD("SKIP_FIRST", skip_first_n, 7, 7, (uint64_t)INT64_MAX + 1),
    FIELD("SYNC", sync, PLUMB_ON, 1, 3),
    FIELD("MEDIAN", median_p2, PLUMB_ON, PLUMB_MEDIAN_P2, 3),
    FIELD("DEBUG", debug, PLUMB_ON, 1, 3),
    FIELD("MAX_NODES", max_nodes, 1048575, 1048575, 1048576),
    FIELD("MAX_STATE", max_state_bytes, 65536, 65536, 65535),
    FIELD("RING", ring_bytes, 4096, 4096, 4095),
    FIELD("MEMORY", memory, PLUMB_MEMORY_OFF, PLUMB_MEMORY_OFF, 3),
    FIELD("MEMORY_PEAK", memory_peak, PLUMB_MEMORY_PEAK_EXACT, PLUMB_MEMORY_PEAK_EXACT, 2),
    FIELD("MEMORY_INTERVAL", memory_interval_ms, 3600000, 3600000, 3600001),
    FIELD("MEMORY_CHECKPOINTS", memory_checkpoints, PLUMB_ON, 1, 3),
    FIELD("VERIFY", verify, PLUMB_VERIFY_FAIL, PLUMB_VERIFY_FAIL, 3),
    FIELD("SIGNATURE", signature, PLUMB_SIGNATURE_OFF, PLUMB_SIGNATURE_OFF, 3),
    FIELD("COLLECT", collect, 0, 0, 0),
    FIELD("TRACE", trace, PLUMB_ON, 1, 3),
    FIELD("TRACE_MAX", trace_max_bytes, 65536, 65536, 65535),
    FIELD("TRACE_MODE", trace_mode, PLUMB_TRACE_RING, PLUMB_TRACE_RING, 2),
    FIELD("TRACE_RING", trace_ring_bytes, 16384, 16384, 16383),
    FIELD("KEEP_SIGNAL", keep_signal, 0, 0, 0),
    FIELD("KEEP_IF", keep_if, 0, 0, 0),
    FIELD("TRACE_STEPS", trace_steps, 0, 0, 0),
    FIELD("TRACE_SHAPES", trace_shapes, PLUMB_ON, 1, 3),
    FIELD("TRACE_MEMORY", trace_memory, PLUMB_ON, 1, 3),
    FIELD("TRACE_FLOPS", trace_flops, PLUMB_ON, 1, 3),
    FIELD("TRACE_STACK", trace_stack, PLUMB_ON, 1, 3),
    FIELD("TRACE_STACK_DEPTH", trace_stack_depth, 16, 16, 17),
    FIELD("REGIONS", regions, 0, 0, 0),
    FIELD("REGION_SCOPE", region_scope, PLUMB_REGION_PROCESS, PLUMB_REGION_PROCESS, 2),
    FIELD("TRACE_NODES", trace_nodes, 0, 0, 0),
    FIELD("NVTX", nvtx, PLUMB_NVTX_ALWAYS, PLUMB_NVTX_ALWAYS, 4),
    FIELD("ACTIVATIONS", activations, PLUMB_ON, 1, 3),
    FIELD("ACTIVATIONS_LAYERS", activations_layers, 0, 0, 0),
    FIELD("ACTIVATIONS_STATS", activations_stats, 0, 0, 0),
    FIELD("ACTIVATIONS_STEPS", activations_steps, 0, 0, 0),
    FIELD("ACTIVATIONS_OUTPUT", activations_output, 0, 0, 0),
    FIELD("ACTIVATIONS_APPEND", activations_append, PLUMB_ON, 1, 3),
    FIELD("ACTIVATIONS_QUEUE", activations_queue, PLUMB_ACTIVATIONS_DROP, PLUMB_ACTIVATIONS_DROP,
          2),
    FIELD("ACTIVATIONS_DUMP", activations_dump, 0, 0, 0),
    FIELD("ACTIVATIONS_DUMP_BYTES", activations_dump_bytes, 4096, 4096, (uint64_t)INT64_MAX + 1),
    FIELD("FORK", fork, PLUMB_FORK_OFF, PLUMB_FORK_OFF, 2),
    FIELD("SIGNALS", signals, PLUMB_OFF, 0, 3),
    FIELD("QUIET", quiet, PLUMB_ON, 1, 3),
    FIELD("LOG", log_level, PLUMB_LOG_DEBUG, PLUMB_LOG_DEBUG, 5),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static const struct {
    const char *setting, *why;
} without_field[] = {
    {"", "plumb_start() itself asks for recording, and only a user may forbid it"},
    {"TRACE_DIR", "trace and dir in one, which have fields"},
    {"REGION_CHECK", "only a user may have the program end"},
    {"HELPER", "made when the library is loaded with recording wanted"},
    {"COUNT", "functions are counted from the load of the program, by plumb record alone"},
    {"CAPTURE", "asked for from outside, of a program as it is, for one run"},
    {"CAPTURE_BYTES", "of the same"},
    {"CONTROL", "plumb_control_open() stands for it: it is not of one run"},
    {"CLOCK", "chosen when the library is loaded: time stamps are taken before plumb_start()"},
};

static void each_setting_has_a_field_or_a_reason(void **state)
{
    size_t n;
    const struct plumb_setting *table = plumb_settings_table(&n);
    (void)state;
    for (size_t i = 0; i < n; i++) {
        int found = 0;
        for (size_t k = 0; k < FIELDS; k++)
            found += strcmp(fields[k].setting, table[i].name) == 0;
        for (size_t k = 0; k < sizeof without_field / sizeof without_field[0]; k++)
            found += strcmp(without_field[k].setting, table[i].name) == 0;
        if (found != !table[i].hidden)
            fail_msg("PLUMB_%s has %d fields of plumb_options and reasons to have none",
                     table[i].name, found);
    }
}

static const struct plumb_setting *setting_of(const struct field *f)
{
    char variable[64];
    snprintf(variable, sizeof variable, "PLUMB_%s", f->setting);
    return plumb_setting_find(variable);
}

static plumb_options options_with(const struct field *f, uint64_t value, const char *text)
{
    plumb_options o = plumb_options_default();
    uint32_t narrow = (uint32_t)value;
    char *at = (char *)&o + f->offset;
    if (setting_of(f)->type == PLUMB_SETTING_STRING)
        memcpy(at, &text, sizeof text);
    else if (f->size == sizeof narrow)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &value, sizeof value);
    return o;
}

/* Returns whether the setting is `value` (or `text`), and every other one its default. */
static bool is_alone(const struct field *f, uint64_t value, const char *text)
{
    const struct plumb_setting *t = setting_of(f);
    struct plumb_settings want;
    char *member = (char *)&want + t->offset;
    uint32_t narrow = (uint32_t)value;
    plumb_settings_default(&want);
    if (t->type == PLUMB_SETTING_STRING)
        strcpy(member, text);
    else if (t->type == PLUMB_SETTING_BOOL)
        *(bool *)member = value;
    else
        memcpy(member, t->size == sizeof narrow ? (void *)&narrow : (void *)&value, t->size);
    return memcmp(&want, &s, offsetof(struct plumb_settings, log)) == 0;
}

static void each_field_sets_its_setting_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIELDS; i++) {
        plumb_options o = options_with(&fields[i], fields[i].value, "text");
        plumb_settings_default(&s);
        assert_false(is_alone(&fields[i], fields[i].taken, "text"));
        assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
        if (!is_alone(&fields[i], fields[i].taken, "text"))
            fail_msg("the field of PLUMB_%s", fields[i].setting);
        assert_false(plumb_settings_wants_recording(&s));
    }
}

static void each_variable_wins_over_its_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        const struct plumb_setting *t = setting_of(f);
        bool is_text = t->type == PLUMB_SETTING_STRING;
        plumb_options o = options_with(f, f->value, "text");
        const char *environment[] = {NULL, NULL};
        struct plumb_settings defaults;
        char entry[128];
        snprintf(entry, sizeof entry, "PLUMB_%s=%s", f->setting, is_text ? "won" : t->default_text);
        environment[0] = entry;
        plumb_settings_default(&s);
        assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
        assert_int_equal(plumb_settings_from_env(&s, (char *const *)environment, NULL, NULL), 0);
        plumb_settings_default(&defaults);
        if (is_text)
            assert_string_equal((char *)&s + t->offset, "won");
        else
            assert_memory_equal((char *)&s + t->offset, (char *)&defaults + t->offset, t->size);
    }
}

static void each_field_has_bounds(void **state)
{
    static char path[PLUMB_SETTINGS_LIST + 1];
    (void)state;
    memset(path, 'p', PLUMB_SETTINGS_LIST);
    for (size_t i = 0; i < FIELDS; i++) {
        plumb_options o = options_with(&fields[i], fields[i].wrong, path);
        expect_refused(&o, "plumb_options");
        assert_null(strchr(err.message, '\n'));
    }
}

/* A field that is a choice is taken unless it is 0, so the default must be the first. */
static void the_first_choice_is_the_default(void **state)
{
    size_t n;
    const struct plumb_setting *table = plumb_settings_table(&n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        if (table[i].type == PLUMB_SETTING_ENUM) {
            size_t length = strcspn(table[i].choices, "|");
            assert_int_equal(length, strlen(table[i].default_text));
            assert_memory_equal(table[i].choices, table[i].default_text, length);
        }
}

static void a_negative_interval_is_none(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    o.memory_interval_ms = -1;
    assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
    assert_int_equal(s.memory_interval_ms, 0);
    o.memory_interval_ms = INT32_MIN;
    assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
    assert_int_equal(s.memory_interval_ms, 0);
    o.memory_interval_ms = 1;
    assert_int_equal(plumb_settings_apply(&s, &o, &err), PLUMB_OK);
    assert_int_equal(s.memory_interval_ms, 1);
}

static void a_refusal_tells_the_choices(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    o.signature = 9;
    expect_refused(&o, "plumb_options.signature is 9, not 0 to 2 (shapes|full|off)");
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(options_are_taken),
        TEST(zero_options_change_nothing),
        TEST(the_environment_wins_over_the_options),
        TEST(an_older_caller_has_fewer_fields),
        TEST(wrong_options_are_refused_as_a_whole),
        TEST(each_setting_has_a_field_or_a_reason),
        TEST(each_field_sets_its_setting_alone),
        TEST(each_variable_wins_over_its_field),
        TEST(each_field_has_bounds),
        TEST(the_first_choice_is_the_default),
        TEST(a_negative_interval_is_none),
        TEST(a_refusal_tells_the_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table of settings, and the environment. */
#include "config/settings.h"

#include <ctype.h>
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
static char warnings[4096];

static void collect(const char *line, void *arg)
{
    size_t len = strlen(warnings);
    assert_ptr_equal(arg, warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

/* Reads the given entries on top of the defaults; the number of warnings. */
#define FROM_ENV(...) from_env((const char *const[]){__VA_ARGS__, NULL})
static int from_env(const char *const *environment)
{
    warnings[0] = '\0';
    plumb_settings_default(&s);
    return plumb_settings_from_env(&s, (char *const *)environment, collect, warnings);
}

static int setup(void **state)
{
    (void)state;
    plumb_settings_default(&s);
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

static void the_defaults_are_those_of_the_table(void **state)
{
    (void)state;
    assert_int_equal(s.recording, PLUMB_DEFAULT);
    assert_string_equal(s.dir, "plumb-out");
    assert_string_equal(s.run_dir, "");
    assert_string_equal(s.pipeline, "");
    assert_int_equal(s.max_nodes, 4096);
    assert_int_equal(s.max_state_bytes, 256 << 20);
    assert_int_equal(s.ring_bytes, 16 << 10);
    assert_int_equal(s.skip_first_n, 0);
    assert_int_equal(s.median, PLUMB_MEDIAN_SKETCH);
    assert_int_equal(s.log_level, 0);
    assert_int_equal(s.clock, 0);
    assert_int_equal(s.fork, PLUMB_FORK_FOLLOW);
    assert_int_equal(s.signature, PLUMB_SIGNATURE_SHAPES);
    assert_true(s.signals);
    assert_false(s.sync || s.debug || s.quiet);
    assert_false(plumb_settings_wants_recording(&s));
}

static size_t member_size(enum plumb_setting_type type)
{
    switch (type) {
    case PLUMB_SETTING_SWITCH:
    case PLUMB_SETTING_ENUM:
        return sizeof(uint32_t);
    case PLUMB_SETTING_BOOL:
        return sizeof(bool);
    case PLUMB_SETTING_UINT:
    case PLUMB_SETTING_SIZE:
        return sizeof(uint64_t);
    case PLUMB_SETTING_STRING:
        break;
    }
    return 0;
}

static void every_entry_is_sound(void **state)
{
    size_t n;
    const struct plumb_setting *table = plumb_settings_table(&n);
    (void)state;
    assert_int_equal(n, 60);
    for (size_t i = 0; i < n; i++) {
        const struct plumb_setting *t = &table[i];
        size_t size = member_size(t->type);
        char text[64];
        for (const char *p = t->name; *p; p++)
            assert_true(isupper((unsigned char)*p) || *p == '_');
        assert_true(size ? t->size == size : t->size > 100);
        assert_true(strlen(t->help) > 5 && strlen(t->help) <= 80);
        if (t->type != PLUMB_SETTING_SWITCH)
            assert_int_equal(t->type == PLUMB_SETTING_ENUM, t->choices != NULL);
        assert_true(t->min <= t->max);
        assert_int_equal(plumb_setting_parse(t, &s, t->default_text, &err), PLUMB_OK);
        plumb_setting_variable(text, sizeof text, t);
        assert_ptr_equal(plumb_setting_find(text), t);
        plumb_setting_option(text, sizeof text, t);
        assert_ptr_equal(plumb_setting_find(text), *t->name ? t : NULL);
    }
}

static void names_become_variables_and_options(void **state)
{
    char text[64];
    const struct plumb_setting *t = plumb_setting_find("PLUMB_MAX_NODES");
    (void)state;
    plumb_setting_option(text, sizeof text, t);
    assert_string_equal(text, "--max-nodes");
    plumb_setting_variable(text, sizeof text, t);
    assert_string_equal(text, "PLUMB_MAX_NODES");
    plumb_setting_variable(text, sizeof text, plumb_setting_find("PLUMB"));
    assert_string_equal(text, "PLUMB");
    assert_null(plumb_setting_find("MAX_NODES"));
    assert_null(plumb_setting_find(""));
    assert_null(plumb_setting_find("--"));
}

static void the_help_tells_of_every_variable_but_the_hidden(void **state)
{
    struct plumb_buf out = {0};
    size_t n;
    const struct plumb_setting *table = plumb_settings_table(&n);
    (void)state;
    plumb_settings_help(&out);
    for (size_t i = 0; i < n; i++) {
        char text[66] = "\n";
        plumb_setting_variable(text + 1, sizeof text - 2, &table[i]);
        strcat(text, " ");
        assert_int_equal(strstr(out.data, text) != NULL, !table[i].hidden);
    }
    assert_null(strstr(out.data, "RECORD_LOG"));
    plumb_buf_fini(&out);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void the_boolean_rule_holds(void **state)
{
    static const char *const yes[] = {"1", "true", "YES", "On", "tRuE"};
    static const char *const no[] = {"0", "false", "NO", "oFF", ""};
    static const char *const neither[] = {"2", "maybe", "y", " 1", "01", "enabled"};
    const struct plumb_setting *sync = plumb_setting_find("PLUMB_SYNC");
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        s.sync = false;
        assert_int_equal(plumb_setting_parse(sync, &s, yes[i], &err), PLUMB_OK);
        assert_true(s.sync);
        assert_int_equal(plumb_setting_parse(sync, &s, no[i], &err), PLUMB_OK);
        assert_false(s.sync);
    }
    for (size_t i = 0; i < 6; i++) {
        s.sync = i % 2;
        assert_int_equal(plumb_setting_parse(sync, &s, neither[i], &err), PLUMB_ERR_ARG);
        assert_int_equal(s.sync, i % 2);
    }
}

static void sizes_have_suffixes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"65536", 65536},          {"64K", 65536},    {"64k", 65536}, {"3M", 3u << 20},
                {"2g", (uint64_t)2 << 30}, {"0065536", 65536}};
    static const char *const bad[] = {"K",       "1T",   "1KB",  "-1", "1.5M",
                                      "0x10000", " 64K", "64K ", "M1"};
    const struct plumb_setting *t = plumb_setting_find("PLUMB_MAX_STATE");
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(plumb_setting_parse(t, &s, good[i].text, &err), PLUMB_OK);
        assert_int_equal(s.max_state_bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        s.max_state_bytes = 77;
        assert_int_equal(plumb_setting_parse(t, &s, bad[i], &err), PLUMB_ERR_ARG);
        assert_int_equal(s.max_state_bytes, 77);
    }
}

static void numbers_have_no_suffix_and_are_moved_into_their_range(void **state)
{
    const struct plumb_setting *t = plumb_setting_find("PLUMB_MAX_NODES");
    (void)state;
    assert_int_equal(plumb_setting_parse(t, &s, "10K", &err), PLUMB_ERR_ARG);
    assert_int_equal(s.max_nodes, 4096);
    assert_int_equal(plumb_setting_parse(t, &s, "1048575", &err), PLUMB_OK);
    assert_int_equal(s.max_nodes, 1048575);
    assert_int_equal(plumb_setting_parse(t, &s, "1048576", &err), 1);
    assert_int_equal(s.max_nodes, 1048575);
    assert_non_null(strstr(err.message, "using 1048575"));
    assert_int_equal(plumb_setting_parse(t, &s, "0", &err), 1);
    assert_int_equal(s.max_nodes, 1);
    assert_int_equal(plumb_setting_parse(t, &s, "99999999999999999999999999", &err), 1);
    assert_int_equal(s.max_nodes, 1048575);
    t = plumb_setting_find("PLUMB_MAX_STATE");
    assert_int_equal(plumb_setting_parse(t, &s, "18446744073709551615G", &err), 1);
    assert_int_equal(s.max_state_bytes, (uint64_t)1 << 40);
}

static void choices_are_places_in_any_case(void **state)
{
    (void)state;
    assert_int_equal(
        FROM_ENV("PLUMB_LOG=INFO", "PLUMB_MEDIAN=p2", "PLUMB_CLOCK=Monotonic", "PLUMB_FORK=off"),
        0);
    assert_int_equal(s.log_level, PLUMB_LOG_INFO);
    assert_int_equal(s.median, PLUMB_MEDIAN_P2);
    assert_int_equal(s.clock, 2);
    assert_int_equal(s.fork, PLUMB_FORK_OFF);
    assert_int_equal(FROM_ENV("PLUMB_LOG=inf", "PLUMB_MEDIAN=p2|", "PLUMB_CLOCK=tsc|monotonic"), 3);
    assert_int_equal(s.log_level, 0);
    assert_non_null(strstr(warnings, "'inf' is not one of silent|error|warn|info|debug; ignored"));
    assert_int_equal(FROM_ENV("PLUMB_LOG=debug"), 0);
    assert_int_equal(s.log_level, PLUMB_LOG_DEBUG);
    assert_int_equal(FROM_ENV("PLUMB_LOG=error"), 0);
    assert_int_equal(s.log_level, PLUMB_LOG_ERROR);
    assert_int_equal(FROM_ENV("PLUMB_LOG=warn"), 0);
    assert_int_equal(s.log_level, PLUMB_LOG_WARN);
}

static void a_path_that_does_not_fit_is_refused(void **state)
{
    static char entry[2000];
    const size_t prefix = strlen("PLUMB_DIR=");
    (void)state;
    memset(entry, 'd', sizeof entry);
    memcpy(entry, "PLUMB_DIR=", prefix);
    entry[prefix + PLUMB_SETTINGS_PATH] = '\0';
    assert_int_equal(FROM_ENV(entry), 1);
    assert_string_equal(s.dir, "plumb-out");
    assert_non_null(strstr(warnings, "longer than 1023 bytes; ignored"));
    entry[prefix + PLUMB_SETTINGS_PATH - 1] = '\0';
    assert_int_equal(FROM_ENV(entry), 0);
    assert_int_equal(strlen(s.dir), PLUMB_SETTINGS_PATH - 1);
}

/* ---- The environment ------------------------------------------------------------------------- */

static void the_master_switch_has_three_states(void **state)
{
    (void)state;
    FROM_ENV("HOME=/");
    assert_int_equal(s.recording, PLUMB_DEFAULT);
    FROM_ENV("PLUMB=1");
    assert_int_equal(s.recording, PLUMB_ON);
    assert_true(plumb_settings_wants_recording(&s));
    FROM_ENV("PLUMB=off");
    assert_int_equal(s.recording, PLUMB_OFF);
    FROM_ENV("PLUMB=");
    assert_int_equal(s.recording, PLUMB_OFF);
    assert_int_equal(FROM_ENV("PLUMB=perhaps"), 1);
    assert_int_equal(s.recording, PLUMB_DEFAULT);
}

static void a_run_directory_implies_recording_and_plain_settings_do_not(void **state)
{
    (void)state;
    FROM_ENV("PLUMB_RUN_DIR=/tmp/r");
    assert_true(plumb_settings_wants_recording(&s));
    assert_string_equal(s.implied_by->name, "RUN_DIR");
    FROM_ENV("PLUMB_RUN_DIR=");
    assert_false(plumb_settings_wants_recording(&s));
    FROM_ENV("PLUMB_DIR=/tmp", "PLUMB_SYNC=1", "PLUMB_SKIP_FIRST=3", "PLUMB_PIPELINE=t2v",
             "PLUMB_MEDIAN=p2", "PLUMB_DEBUG=1", "PLUMB_LOG=info");
    assert_false(plumb_settings_wants_recording(&s));
}

static void one_variable_turns_the_trace_on_and_names_the_folder(void **state)
{
    (void)state;
    FROM_ENV("PLUMB_TRACE_DIR=/tmp/t", "PLUMB_DIR=/tmp/d");
    assert_true(plumb_settings_wants_recording(&s));
    assert_true(s.trace);
    assert_string_equal(s.dir, "/tmp/t");
    FROM_ENV("PLUMB_TRACE_DIR=/tmp/t", "PLUMB_TRACE=0");
    assert_false(s.trace);
    assert_string_equal(s.dir, "/tmp/t");
    FROM_ENV("PLUMB_TRACE_DIR=/tmp/t", "PLUMB_TRACE=");
    assert_true(s.trace);
    FROM_ENV("PLUMB_TRACE_DIR=", "PLUMB_DIR=/tmp/d");
    assert_false(plumb_settings_wants_recording(&s));
    assert_false(s.trace);
    assert_string_equal(s.dir, "/tmp/d");
}

static void off_wins_over_what_implies_recording(void **state)
{
    (void)state;
    FROM_ENV("PLUMB_RUN_DIR=/tmp/r", "PLUMB=0");
    assert_false(plumb_settings_wants_recording(&s));
    FROM_ENV("PLUMB=0", "PLUMB_RUN_DIR=/tmp/r");
    assert_false(plumb_settings_wants_recording(&s));
}

static void a_value_without_sense_warns_and_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(FROM_ENV("PLUMB_SYNC=maybe", "PLUMB_SIGNALS=2", "PLUMB_SKIP_FIRST=some"), 3);
    assert_false(s.sync);
    assert_true(s.signals);
    assert_int_equal(s.skip_first_n, 0);
    assert_string_equal(warnings,
                        "PLUMB_SYNC: 'maybe' is neither 1, true, yes, on nor 0, false, no, off; "
                        "ignored\n"
                        "PLUMB_SIGNALS: '2' is neither 1, true, yes, on nor 0, false, no, off; "
                        "ignored\n"
                        "PLUMB_SKIP_FIRST: 'some' is not a number; ignored\n");
}

static void a_value_out_of_range_warns_and_is_moved(void **state)
{
    (void)state;
    assert_int_equal(FROM_ENV("PLUMB_RING=1G"), 1);
    assert_int_equal(s.ring_bytes, 16 << 20);
    assert_string_equal(warnings,
                        "PLUMB_RING: 1G is not between 4096 and 16777216; using 16777216\n");
}

static void unknown_names_warn_with_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(FROM_ENV("PLUMB_SKIPFIRST=3"), 1);
    assert_string_equal(warnings,
                        "unknown variable PLUMB_SKIPFIRST: did you mean PLUMB_SKIP_FIRST?\n");
    assert_int_equal(FROM_ENV("PLUMB_TELEMETRY=1"), 1);
    assert_string_equal(warnings,
                        "unknown variable PLUMB_TELEMETRY: see 'plumb help environment'\n");
    assert_int_equal(FROM_ENV("PLUMB_=1", "PLUMB_sync=1"), 2);
    assert_non_null(strstr(warnings, "PLUMB_sync: did you mean PLUMB_SYNC?"));
}

static void a_name_warns_once_and_its_first_entry_counts(void **state)
{
    (void)state;
    assert_int_equal(FROM_ENV("PLUMB_X=1", "PLUMB_X=2", "PLUMB_RING=8K", "PLUMB_RING=zzz"), 1);
    assert_int_equal(s.ring_bytes, 8 << 10);
}

static void names_of_others_and_the_hidden_one_pass_silently(void **state)
{
    (void)state;
    assert_int_equal(FROM_ENV("PLUMBUM_HOME=/x", "PLUMBER=1", "plumb_sync=1", "PLUMB_RECORD_LOG=/l",
                              "PLUMB_SYNC", "=PLUMB_SYNC"),
                     0);
    assert_string_equal(s.record_log, "/l");
    assert_false(s.sync);
}

static void a_hostile_name_gives_one_bounded_line(void **state)
{
    static char entry[5000];
    (void)state;
    memset(entry, 'A', sizeof entry - 1);
    memcpy(entry, "PLUMB_\n\x1b", 8);
    entry[4990] = '=';
    assert_int_equal(FROM_ENV(entry), 1);
    assert_true(strlen(warnings) < 200);
    assert_ptr_equal(strchr(warnings, '\n'), warnings + strlen(warnings) - 1);
}

static void empty_texts_leave_all_but_switches_as_they_are(void **state)
{
    (void)state;
    assert_int_equal(FROM_ENV("PLUMB_DIR=", "PLUMB_MAX_NODES=", "PLUMB_MAX_STATE=", "PLUMB_LOG=",
                              "PLUMB_SIGNALS="),
                     0);
    assert_string_equal(s.dir, "plumb-out");
    assert_int_equal(s.max_nodes, 4096);
    assert_int_equal(s.max_state_bytes, 256 << 20);
    assert_false(s.signals);
}

static void no_environment_and_no_callback_are_fine(void **state)
{
    const char *environment[] = {"PLUMB_SYNC=maybe", NULL};
    (void)state;
    assert_int_equal(plumb_settings_from_env(&s, NULL, NULL, NULL), 0);
    assert_int_equal(plumb_settings_from_env(&s, (char *const *)environment, NULL, NULL), 1);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_defaults_are_those_of_the_table),
        TEST(every_entry_is_sound),
        TEST(names_become_variables_and_options),
        TEST(the_help_tells_of_every_variable_but_the_hidden),
        TEST(the_boolean_rule_holds),
        TEST(sizes_have_suffixes),
        TEST(numbers_have_no_suffix_and_are_moved_into_their_range),
        TEST(choices_are_places_in_any_case),
        TEST(a_path_that_does_not_fit_is_refused),
        TEST(the_master_switch_has_three_states),
        TEST(a_run_directory_implies_recording_and_plain_settings_do_not),
        TEST(one_variable_turns_the_trace_on_and_names_the_folder),
        TEST(off_wins_over_what_implies_recording),
        TEST(a_value_without_sense_warns_and_changes_nothing),
        TEST(a_value_out_of_range_warns_and_is_moved),
        TEST(unknown_names_warn_with_the_nearest),
        TEST(a_name_warns_once_and_its_first_entry_counts),
        TEST(names_of_others_and_the_hidden_one_pass_silently),
        TEST(a_hostile_name_gives_one_bounded_line),
        TEST(empty_texts_leave_all_but_switches_as_they_are),
        TEST(no_environment_and_no_callback_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

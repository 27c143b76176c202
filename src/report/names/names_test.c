#include "report/names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static plumb_predecessors *names; /* the table of the source tree */

static int open_names(void **state)
{
    plumb_error err = {0, ""};
    (void)state;
    if (plumb_predecessors_open(&names, TEST_PLUMB_SOURCE_DIR "/share/predecessors.tsv", &err) < 0)
        fprintf(stderr, "%s\n", err.message);
    return names ? 0 : -1;
}

static int close_names(void **state)
{
    (void)state;
    plumb_predecessors_close(names);
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

static void every_entry_is_whole(void **state)
{
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(names, &n);
    (void)state;
    assert_true(n > 500);
    for (size_t i = 0; i < n; i++) {
        assert_true(plumb_predecessor_system(&table[i])[0]);
        assert_true(plumb_predecessor_kind(&table[i])[0]);
        assert_true(plumb_predecessor_status(&table[i])[0]);
        assert_true(table[i].name[0] && table[i].remark[0]);
        assert_int_equal(strcspn(table[i].name, "`\n"), strlen(table[i].name));
        assert_int_equal(strcspn(table[i].plumb, "`\n"), strlen(table[i].plumb));
        assert_true(plumb_predecessor_match(&table[i], table[i].name) == SIZE_MAX);
    }
}

static struct predecessor_like {
    const char *name, *text;
    bool fits;
} const likes[] = {
    {"summary_rank<R>.txt", "summary_rank12.txt", true},
    {"summary_rank<R>.txt", "summary_rank.txt", false},
    {"summary_rank<R>.txt", "summary_rank1.txt.bak", false},
    {"<a>_<b>.json", "x_y_z.json", true},
    {"<a>_<b>.json", "_y.json", false},
    {"<a>ab<b>ab", "xababab", true},
    {"pool_overhead_*", "pool_overhead_gb", true},
    {"pool_overhead_*", "pool_overhead_", false},
    {"attached to <N> modules (stats=[...])", "attached to 40 modules (stats=['sum'])", true},
    {"<<< DIVERGE", "xxx DIVERGE", false},
    {"<pid>", "anything", false}, /* nothing to hold on to */
    {"<a>.b", "x.b", false},
    {"plain", "plai", false},
    {"", "", true},
};

static void placeholders_stand_for_any_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof likes / sizeof *likes; i++) {
        struct plumb_predecessor p = {.row = "TX-1", .name = likes[i].name, .plumb = ""};
        bool fits = plumb_predecessor_match(&p, likes[i].text) > 0;
        if (fits != likes[i].fits)
            fail_msg("'%s' and '%s'", likes[i].name, likes[i].text);
    }
}

static void a_long_text_takes_no_long_time(void **state)
{
    struct plumb_predecessor p = {.name = "<a>xxxxxxxxxxxxxxxxxxxx<b>xxxxxxxxxxxxxxxxxy"};
    enum { SIZE = 100000 };
    char *text = malloc(SIZE);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', SIZE - 1);
    text[SIZE - 1] = '\0';
    assert_int_equal(plumb_predecessor_match(&p, text), 0);
    text[SIZE - 2] = 'y';
    assert_true(plumb_predecessor_match(&p, text) > 0);
    free(text);
}

/* ---- Damaged files ---- */

#define HEAD "# plumb predecessors 1\n"
#define ENTRY "FV-1\tvariable\tany\tX\tPLUMB=1\tworks\tremark\n"

static const struct damage {
    const char *text, *why; /* NULL: nothing is wrong */
} damages[] = {
    {HEAD ENTRY "# end\n", NULL},
    {HEAD ENTRY "# end", NULL},
    {HEAD "# end\n", NULL},
    {"", "line 1: it is not a table of names of this plumb"},
    {"# plumb predecessors 2\n# end\n", "line 1: it is not a table of names of this plumb"},
    {HEAD ENTRY, "line 3: the end is missing"},
    {HEAD ENTRY "FV-1\tvariable", "line 3: there are not seven columns"},
    {HEAD "FV-1\tfunction\t-\tX\tY\tworks\tremark\tmore\n# end\n",
     "line 2: there are not seven columns"},
    {HEAD "ZZ-1\tfunction\t-\tX\tY\tworks\tremark\n# end\n", "line 2: the row is unknown"},
    {HEAD "FV\tfunction\t-\tX\tY\tworks\tremark\n# end\n", "line 2: the row is unknown"},
    {HEAD "FV-1\tfunction\t-\t\tY\tworks\tremark\n# end\n",
     "line 2: the name or the remark is empty"},
    {HEAD "FV-1\tthing\t-\tX\tY\tworks\tremark\n# end\n", "line 2: the kind, "},
    {HEAD "FV-1\tfunction\tany\tX\tY\tworks\tremark\n# end\n", "line 2: the kind, "},
    {HEAD "FV-1\tfunction\t-\tX\tY\tsurely\tremark\n# end\n", "line 2: the kind, "},
};

static void a_damaged_table_is_refused_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage *d = &damages[i];
        plumb_predecessors *t = NULL;
        plumb_error err = {0, ""};
        int rc = plumb_predecessors_parse(&t, d->text, strlen(d->text), "f.tsv", &err);
        assert_int_equal(rc, d->why ? PLUMB_ERR_FORMAT : PLUMB_OK);
        assert_true((t != NULL) == (d->why == NULL));
        if (d->why && (!strstr(err.message, d->why) || !strstr(err.message, "'f.tsv' is damaged")))
            fail_msg("'%s', not '%s'", err.message, d->why);
        plumb_predecessors_close(t);
    }
}

/* ---- Advice ---------------------------------------------------------------------------------- */

static struct advice {
    const char *entry; /* of the environment, besides `also` */
    const char *also;
    uint32_t state;
    const char *aside; /* "": nothing stands between value and purpose */
    const char *cure;
} const advices[] = {
    {"FASTVIDEO_STAGE_LOGGING=1", NULL, PLUMB_CHECK_NOT_SEEN, "", "PLUMB=1 PLUMB_LOG=info"},
    {"FASTVIDEO_STAGE_LOGGING=-3", NULL, PLUMB_CHECK_NOT_SEEN, "", "PLUMB=1 PLUMB_LOG=info"},
    {"FASTVIDEO_STAGE_LOGGING=0", NULL, PLUMB_CHECK_SEEN, "off", ""},
    {"FASTVIDEO_STAGE_LOGGING=-00", NULL, PLUMB_CHECK_SEEN, "off", ""},
    {"FASTVIDEO_STAGE_LOGGING=true", NULL, PLUMB_CHECK_NOT_SEEN,
     "no integer, which was an error there", "PLUMB=1 PLUMB_LOG=info, if it is to be on"},
    {"FASTVIDEO_STAGE_LOGGING=no", NULL, PLUMB_CHECK_SEEN, "no integer, which was an error there",
     ""},
    {"FASTVIDEO_STAGE_LOGGING=1", "PLUMB=1", PLUMB_CHECK_NOT_SEEN, "", "PLUMB=1 PLUMB_LOG=info"},
    {"TELEFUSER_PROFILE_DEBUG=true", NULL, PLUMB_CHECK_NOT_SEEN, "", "PLUMB=1 PLUMB_DEBUG=1"},
    {"TELEFUSER_PROFILE_DEBUG=TRUE", NULL, PLUMB_CHECK_NOT_SEEN, "", "PLUMB=1 PLUMB_DEBUG=1"},
    {"TELEFUSER_PROFILE_DEBUG=1", NULL, PLUMB_CHECK_NOT_SEEN, "off there, where only 'true' was on",
     "PLUMB=1 PLUMB_DEBUG=1, if it is to be on"},
    {"TELEFUSER_PROFILE_DEBUG=false", NULL, PLUMB_CHECK_SEEN, "off", ""},
    {"TELEFUSER_PROFILE_DEBUG=", NULL, PLUMB_CHECK_SEEN, "off", ""},
    {"TELEFUSER_PIPELINE_NAME=wan", NULL, PLUMB_CHECK_NOT_SEEN, "", "PLUMB_PIPELINE=wan"},
    {"TELEFUSER_PIPELINE_NAME=wan", "PLUMB_PIPELINE=w", PLUMB_CHECK_SEEN,
     "what plumb calls it is set", ""},
    {"TELEFUSER_PIPELINE_NAME=", NULL, PLUMB_CHECK_SEEN, "off", ""},
    {"TELEFUSER_PIPELINE_NAME=a'b $(c)", NULL, PLUMB_CHECK_NOT_SEEN, "",
     "PLUMB_PIPELINE=\"$TELEFUSER_PIPELINE_NAME\""},
    {"TELEFUSER_PROFILER_OUTPUT_DIR=/d/100%", NULL, PLUMB_CHECK_NOT_SEEN, "",
     "PLUMB=1 PLUMB_DIR=/d/100%%"},
    {"PROFILER_OUTPUT_DIR=/d", NULL, PLUMB_CHECK_NOT_SEEN, "never read there",
     "PLUMB=1 PLUMB_DIR=/d, if it is to be on"},
    {"FASTVIDEO_NVTX_PROFILE=1", NULL, PLUMB_CHECK_NOT_SEEN, "", "PLUMB=1 PLUMB_NVTX=1"},
    {"FASTVIDEO_NVTX_PROFILE=0", NULL, PLUMB_CHECK_SEEN, "off", ""},
    {"WAN_DEBUG_PATCH_ROPE=1", NULL, PLUMB_CHECK_NOT_SEEN, "", "plumb diverge A B"},
    {"PERF_PYTEST_RC=1", NULL, PLUMB_CHECK_SEEN, "what plumb calls it is set", ""},
    {"PERF_UPLOAD_POLICY=never", NULL, PLUMB_CHECK_NOT_SEEN, "not built yet", ""},
    {"TORCHFX_NO_SIMD=1", NULL, PLUMB_CHECK_SEEN, "nothing to set", ""},
    {"RANK=3", "WORLD_SIZE_=4", PLUMB_CHECK_NOT_SEEN, "not taken",
     "RANK, WORLD_SIZE and LOCAL_RANK as whole numbers, RANK below WORLD_SIZE"},
};

static void a_value_means_what_it_meant_there(void **state)
{
    char expected[256];
    (void)state;
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        const struct advice *a = &advices[i];
        char *const environment[] = {(char *)(uintptr_t)a->entry, (char *)(uintptr_t)a->also, NULL};
        plumb_check check;
        assert_int_equal(plumb_predecessors_advise(&check, names, 0, environment), 1);
        snprintf(expected, sizeof expected, "%s%s%s%s: ", a->entry, *a->aside ? " (" : "", a->aside,
                 *a->aside ? ")" : "");
        if (strncmp(check.detail, expected, strlen(expected)) != 0)
            fail_msg("'%s', not '%s'", check.detail, expected);
        assert_string_equal(check.cure, a->cure);
        assert_int_equal(check.state, a->state);
        assert_int_equal(plumb_predecessors_advise(&check, names, 1, environment), 0);
    }
}

static void ranks_are_read_as_the_recorder_reads_them(void **state)
{
    static char rank[] = "RANK=1", world[] = "WORLD_SIZE=2", local[] = "LOCAL_RANK=x";
    char *const environment[] = {rank, world, local, NULL};
    plumb_check check;
    (void)state;
    assert_int_equal(plumb_predecessors_advise(&check, names, 0, environment), 1);
    assert_non_null(strstr(check.detail, "RANK=1 (plumb reads it too)"));
    assert_int_equal(check.state, PLUMB_CHECK_SEEN);
    assert_int_equal(plumb_predecessors_advise(&check, names, 1, environment), 1);
    assert_non_null(strstr(check.detail, "LOCAL_RANK=x (not taken)"));
    assert_int_equal(plumb_predecessors_advise(&check, names, 2, environment), 1);
    assert_non_null(strstr(check.detail, "WORLD_SIZE=2 (plumb reads it too)"));
    assert_int_equal(plumb_predecessors_advise(&check, names, 3, environment), 0);
}

static void hostile_values_stay_on_one_short_line(void **state)
{
    static char value[5000] = "TELEFUSER_PIPELINE_NAME=\033[31m\n";
    static char again[] = "TELEFUSER_PIPELINE_NAME=second";
    static char nameless[] = "=x", bare[] = "TELEFUSER_PIPELINE_NAME";
    char *const environment[] = {nameless, bare, value, again, NULL};
    plumb_check check;
    (void)state;
    memset(value + strlen(value), 'v', sizeof value - strlen(value) - 1);
    assert_int_equal(plumb_predecessors_advise(&check, names, 0, environment), 1);
    assert_non_null(strstr(check.detail, "=\\x1b[31m\\x0avvv"));
    assert_non_null(strstr(check.detail, "vvv...: name of the pipeline"));
    assert_true(strlen(check.detail) < 200);
    assert_string_equal(check.cure, "PLUMB_PIPELINE=\"$TELEFUSER_PIPELINE_NAME\"");
    /* Variables that getenv() does not see are not reported. */
    assert_int_equal(plumb_predecessors_advise(&check, names, 1, environment), 0);
    assert_int_equal(plumb_predecessors_advise(&check, names, 0, NULL), 0);
}

/* Every variable, set to what is on for all of them: none may be blocked, or be said to work
 * without a way to have it. */
static void every_variable_has_a_line(void **state)
{
    static const char *const values[] = {"1", "true", "", "0", "x y"};
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(names, &n);
    char *const nothing[] = {NULL};
    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            struct plumb_buf meaning = {0}, cure = {0};
            if (table[i].kind != PLUMB_THEIR_VARIABLE)
                continue;
            uint32_t seen = plumb_predecessor_judge(&meaning, &cure, &table[i], table[i].name,
                                                    values[v], nothing);
            assert_true(seen == PLUMB_CHECK_SEEN || seen == PLUMB_CHECK_NOT_SEEN);
            assert_non_null(meaning.data);
            if (seen == PLUMB_CHECK_NOT_SEEN && table[i].status <= PLUMB_THEIR_PARTLY)
                assert_true(cure.len > 0);
            else
                assert_int_equal(cure.len, 0);
            assert_null(cure.data ? strstr(cure.data, "<value>") : NULL);
            plumb_buf_fini(&meaning);
            plumb_buf_fini(&cure);
        }
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static const struct question {
    const char *text;
    int status;
    const char *answer; /* in the text, or in the error when there is none */
} questions[] = {
    {"FASTVIDEO_STAGE_LOGGING", 0, "FASTVIDEO_STAGE_LOGGING (variable of FastVideo, FV-20)"},
    {"count", 0, "CV-11"},
    {"ProfilingContext()", 0, "function of TeleFuser, TF-1"},
    {"TELEFUSER_PIPELINE_NAME=a=b", 0, "  set       PLUMB_PIPELINE=a=b\n"},
    {"TELEFUSER_PIPELINE_NAME=", 0, "  value     TELEFUSER_PIPELINE_NAME= (off)\n"},
    {"le=\"inf\"", 0, "value of TeleFuser, TF-35"},
    {"timing.json", 0, "file of TeleFuser, TF-9"},
    {"TELEFUSER_PROFLIE_DEBUG", 1, "variable of TeleFuser, TF-2"},
    {"_joules", 1, "gpu_joules"},
    {"", PLUMB_ERR_NOT_FOUND, "no name like ''"},
    {"()", PLUMB_ERR_NOT_FOUND, "no name like '()'"},
    {"=", PLUMB_ERR_NOT_FOUND, "no name like '='"},
    {"\033]0;x\007", PLUMB_ERR_NOT_FOUND, "no name like '\\x1b]0;x\\x07'"},
    {"\xff\xfe\xfd", PLUMB_ERR_NOT_FOUND, "no name like '\\xff\\xfe\\xfd'"},
};

static void a_question_gets_the_answer_or_the_nearest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const struct question *q = &questions[i];
        struct plumb_buf out = {0};
        plumb_error err = {0, ""};
        assert_int_equal(plumb_predecessors_explain(&out, names, q->text, &err), q->status);
        const char *said = q->status < 0 ? err.message : out.data;
        if (!said || !strstr(said, q->answer))
            fail_msg("'%s' gives '%s', not '%s'", q->text, said ? said : "", q->answer);
        assert_true((q->status == 0) == (err.message[0] == '\0'));
        assert_true((q->status < 0) == (out.len == 0));
        plumb_buf_fini(&out);
    }
}

static void a_long_question_is_cut_at_a_whole_character(void **state)
{
    enum { SIZE = 70000 };
    char *text = malloc(SIZE);
    plumb_error err = {0, ""};
    struct plumb_buf out = {0};
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i + 1 < SIZE; i++)
        text[i] = (i % 2) ? '\xa9' : '\xc3';
    text[SIZE - 1] = '\0';
    assert_int_equal(plumb_predecessors_explain(&out, names, text, &err), PLUMB_ERR_NOT_FOUND);
    assert_null(strstr(err.message, "\\x"));
    assert_non_null(strstr(err.message, "\xc3\xa9...'"));
    free(text);
    plumb_buf_fini(&out);
}

static void list_and_page_have_every_entry(void **state)
{
    struct plumb_buf list = {0}, page = {0};
    size_t n, lines = 0, rows = 0;
    plumb_predecessors_all(names, &n);
    (void)state;
    plumb_predecessors_list(&list, names);
    plumb_predecessors_page(&page, names);
    assert_false(list.failed || page.failed);
    for (const char *p = list.data; (p = strchr(p, '\n')); p++)
        lines++;
    for (const char *p = page.data; (p = strstr(p, "\n| `")); p++)
        rows++;
    assert_int_equal(lines, n + 1);
    assert_int_equal(rows, n);
    plumb_buf_fini(&list);
    plumb_buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_whole),
        cmocka_unit_test(placeholders_stand_for_any_text),
        cmocka_unit_test(a_long_text_takes_no_long_time),
        cmocka_unit_test(a_damaged_table_is_refused_with_its_line),
        cmocka_unit_test(a_value_means_what_it_meant_there),
        cmocka_unit_test(ranks_are_read_as_the_recorder_reads_them),
        cmocka_unit_test(hostile_values_stay_on_one_short_line),
        cmocka_unit_test(every_variable_has_a_line),
        cmocka_unit_test(a_question_gets_the_answer_or_the_nearest),
        cmocka_unit_test(a_long_question_is_cut_at_a_whole_character),
        cmocka_unit_test(list_and_page_have_every_entry),
    };
    return cmocka_run_group_tests(tests, open_names, close_names);
}

/* Files that variables name are not written through links, and those of others stay. */
#include "runtime/child.h"

static int role_record(void)
{
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("work");
    }
    return plumb_stop(NULL) == PLUMB_OK ? 3 : 4;
}

static const struct role roles[] = {{"record", role_record}, {NULL, NULL}};

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static const char *held(const char *path)
{
    static char bytes[4096];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(bytes, 1, sizeof bytes - 1, f) : 0;
    bytes[n] = '\0';
    if (f)
        fclose(f);
    return bytes;
}

/* Records into a folder of this name, with activations, and with one more setting: of a path below
 * the test's folder. */
static void records(struct child *c, const char *dir, const char *variable, const char *path)
{
    char setting[2200];
    const char *const settings[] = {"PLUMB_ACTIVATIONS=1", setting, NULL};
    snprintf(setting, sizeof setting, "%s=%s", variable, in_place(path));
    assert_exited(c, child_run(c, "record", dir, settings), 3);
    assert_true(run_has(dir, "timing.json"));
}

static void the_log_of_plumb_record_is_a_file(void **state)
{
    struct child c;
    (void)state;
    put("log", "");
    records(&c, "logged", "PLUMB_RECORD_LOG", "log");
    assert_non_null(strstr(held("log"), "run "));
    put("victim", "kept");
    assert_int_equal(symlink("victim", "link"), 0);
    records(&c, "through_a_link", "PLUMB_RECORD_LOG", "link");
    assert_string_equal(held("victim"), "kept");
    /* The pipe has no reader. */
    assert_int_equal(mkfifo("pipe", 0600), 0);
    records(&c, "into_a_pipe", "PLUMB_RECORD_LOG", "pipe");
}

static void a_copy_of_the_report_replaces_files_of_this_user_alone(void **state)
{
    struct child c;
    (void)state;
    put("own.json", "before");
    records(&c, "over_its_own", "PLUMB_TIMING_REPORT", "own.json");
    assert_non_null(strstr(held("own.json"), "plumb-timing"));
    put("theirs.json", "theirs");
    if (chown("theirs.json", 65534, 65534) < 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    records(&c, "over_theirs", "PLUMB_TIMING_REPORT", "theirs.json");
    assert_string_equal(held("theirs.json"), "theirs");
    assert_non_null(strstr(child_errors(&c), "theirs.json': there is a file of another user"));
}

static void activation_records_go_through_no_link(void **state)
{
    struct child c;
    (void)state;
    put("other_victim", "kept");
    assert_int_equal(symlink("other_victim", "other_link"), 0);
    records(&c, "activations", "PLUMB_ACTIVATIONS_OUTPUT", "other_link");
    assert_string_equal(held("other_victim"), "kept");
    assert_non_null(strstr(child_errors(&c), "it is a symbolic link"));
}

static void nor_over_a_file_of_another_user(void **state)
{
    struct child c;
    (void)state;
    put("their_records", "theirs");
    if (chown("their_records", 65534, 65534) < 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    records(&c, "activations_of_others", "PLUMB_ACTIVATIONS_OUTPUT", "their_records");
    assert_string_equal(held("their_records"), "theirs");
    assert_non_null(strstr(child_errors(&c), "it is a file of another user"));
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_of_plumb_record_is_a_file),
        cmocka_unit_test(a_copy_of_the_report_replaces_files_of_this_user_alone),
        cmocka_unit_test(activation_records_go_through_no_link),
        cmocka_unit_test(nor_over_a_file_of_another_user),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

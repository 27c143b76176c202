/* Tests of the history's file: what comes back, which records are a baseline, and what is said of
 * files of other kinds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/history/store.h"
#include "read/history/store_parts.h"

#if defined(PLUMB_HISTORY)

#include <sqlite3.h>

static struct plumb_store *opened(const char *path, bool write)
{
    struct plumb_store *s = NULL;
    plumb_error err = {0, ""};
    if (plumb_store_open(&s, path, write, 100, &err) < 0)
        fail_msg("%s", err.message);
    return s;
}

static void refused(const char *path, bool write, int code, const char *words)
{
    struct plumb_store *s = NULL;
    plumb_error err = {0, ""};
    assert_int_equal(plumb_store_open(&s, path, write, 100, &err), code);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
    assert_null(s);
}

static void add(struct plumb_store *s, const char *digest, uint64_t time_ns, double value,
                uint32_t eligible, const char *version)
{
    struct plumb_result_list list;
    plumb_error err = {0, ""};
    bool known;
    plumb_result_list_init(&list);
    struct plumb_result_item *item = plumb_result_add(&list);
    item->digest = digest;
    item->r.time_ns = time_ns;
    item->r.eligible = eligible;
    item->r.cohort = (plumb_cohort){"w", "v", version, "r", "hw-1", "sw-1"};
    plumb_result_metric(&list, item, "latency", "s", value);
    plumb_result_metric(&list, item, "it's; DROP TABLE record", "\"", NAN);
    if (plumb_store_begin(s, &err) < 0 || plumb_store_add(s, item, &known, &err) < 0 ||
        plumb_store_end(s, true, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(item->r.id > 0);
    plumb_result_list_fini(&list);
}

static size_t selected(struct plumb_store *s, struct plumb_store_filter f,
                       struct plumb_result_list *list)
{
    plumb_error err = {0, ""};
    plumb_result_list_init(list);
    if (plumb_store_select(list, s, &f, &err) < 0)
        fail_msg("%s", err.message);
    return list->count;
}

static size_t counted(struct plumb_store *s, struct plumb_store_filter f)
{
    struct plumb_result_list list;
    size_t n = selected(s, f, &list);
    plumb_result_list_fini(&list);
    return n;
}

static void what_is_added_comes_back(void **state)
{
    struct plumb_result_list list;
    (void)state;
    unlink("a.db");
    struct plumb_store *s = opened("a.db", true);
    add(s, "d1", 2000000000, 1.25, 1, "0");
    add(s, "d2", 1000000000, 2.5, 0, "0");
    plumb_store_close(s);
    s = opened("a.db", false);
    assert_int_equal(selected(s, (struct plumb_store_filter){0}, &list), 2);
    assert_int_equal(list.items[0].r.time_ns, 1000000000); /* the oldest first */
    const plumb_result *r = &list.items[1].r;
    assert_string_equal(r->cohort.version, "0");
    assert_int_equal(r->metric_count, 2);
    assert_string_equal(r->metrics[0].name, "latency");
    assert_float_equal(r->metrics[0].value, 1.25, 0);
    assert_float_equal(r->metrics[0].floor_absolute, 0.5, 0);
    assert_string_equal(r->metrics[1].name, "it's; DROP TABLE record");
    assert_true(isnan(r->metrics[1].value));
    plumb_result_list_fini(&list);
    plumb_store_close(s);
}

static int count_ticks(void *ticks)
{
    ++*(int *)ticks;
    return 0;
}

/* Hundreds of instructions of SQLite's machine, whatever the processor is. */
static int work_of(struct plumb_store *s, const char *variant)
{
    struct plumb_store_filter f = {
        .cohort = {"w", variant, "1", "r", "hw-1", "sw-1"}, .eligible = true, .newest = 6};
    int ticks = 0;
    sqlite3_progress_handler(s->db, 100, count_ticks, &ticks);
    assert_int_equal(counted(s, f), 1);
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    return ticks;
}

static void a_cohort_is_found_without_reading_all_records(void **state)
{
    (void)state;
    unlink("many.db");
    struct plumb_store *s = opened("many.db", true);
    plumb_error err = {0, ""};
    assert_int_equal(plumb_store_begin(s, &err), PLUMB_OK);
    for (int i = 0; i < 2000; i++) {
        char variant[24], digest[24];
        struct plumb_result_list list;
        bool known;
        plumb_result_list_init(&list);
        struct plumb_result_item *item = plumb_result_add(&list);
        snprintf(variant, sizeof variant, "v%d", i);
        snprintf(digest, sizeof digest, "d%d", i);
        item->digest = digest;
        item->r.time_ns = 1;
        item->r.eligible = 1;
        item->r.cohort = (plumb_cohort){"w", variant, "1", "r", "hw-1", "sw-1"};
        assert_int_equal(plumb_store_add(s, item, &known, &err), PLUMB_OK);
        plumb_result_list_fini(&list);
    }
    assert_int_equal(plumb_store_end(s, true, &err), PLUMB_OK);
    assert_in_range(work_of(s, "v1"), 0, 20);
    assert_in_range(work_of(s, "v1999"), 0, 20);
    plumb_store_close(s);
}

static void an_equal_result_is_one_record_which_may_become_eligible(void **state)
{
    (void)state;
    unlink("b.db");
    struct plumb_store *s = opened("b.db", true);
    add(s, "same", 1, 1, 0, "1");
    assert_int_equal(counted(s, (struct plumb_store_filter){.eligible = true}), 0);
    add(s, "same", 1, 1, 1, "1");
    assert_int_equal(counted(s, (struct plumb_store_filter){.eligible = true}), 1);
    add(s, "same", 1, 1, 0, "1"); /* nor does it lose that */
    assert_int_equal(counted(s, (struct plumb_store_filter){.eligible = true}), 1);
    assert_int_equal(counted(s, (struct plumb_store_filter){0}), 1);
    plumb_store_close(s);
}

static void filters_choose(void **state)
{
    struct plumb_result_list list;
    (void)state;
    unlink("c.db");
    struct plumb_store *s = opened("c.db", true);
    for (int i = 1; i <= 8; i++) {
        char digest[8];
        snprintf(digest, sizeof digest, "c%d", i);
        add(s, digest, (uint64_t)i, i, i % 2, i < 7 ? "1" : "01");
    }
    struct plumb_store_filter newest = {.newest = 3, .cohort = {.version = "1"}, .eligible = true};
    assert_int_equal(selected(s, newest, &list), 3);
    assert_float_equal(list.items[0].r.metrics[0].value, 1, 0);
    assert_float_equal(list.items[2].r.metrics[0].value, 5, 0);
    plumb_result_list_fini(&list);
    assert_int_equal(counted(s, (struct plumb_store_filter){.until_ns = 3}), 3);
    assert_int_equal(counted(s, (struct plumb_store_filter){.since_ns = 3}), 6);
    assert_int_equal(counted(s, (struct plumb_store_filter){.id = 4}), 1);
    assert_int_equal(counted(s, (struct plumb_store_filter){.not_recipe = "r"}), 0);
    assert_int_equal(counted(s, (struct plumb_store_filter){.not_recipe = "q"}), 8);
    assert_int_equal(counted(s, (struct plumb_store_filter){.trusted = true}), 4);
    plumb_store_close(s);
}

static void removed_records_take_their_metrics_along(void **state)
{
    static const int64_t ids[] = {1, 3};
    plumb_error err = {0, ""};
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    (void)state;
    unlink("d.db");
    struct plumb_store *s = opened("d.db", true);
    add(s, "d1", 1, 1, 0, "1");
    add(s, "d2", 2, 2, 0, "1");
    add(s, "d3", 3, 3, 0, "1");
    assert_int_equal(plumb_store_begin(s, &err), PLUMB_OK);
    assert_int_equal(plumb_store_remove(s, ids, 2, &err), PLUMB_OK);
    assert_int_equal(plumb_store_end(s, true, &err), PLUMB_OK);
    assert_int_equal(plumb_store_compact(s, &err), PLUMB_OK);
    assert_int_equal(counted(s, (struct plumb_store_filter){0}), 1);
    plumb_store_close(s);
    assert_int_equal(sqlite3_open("d.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM metric", -1, &q, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(q, 0), 2);
    sqlite3_finalize(q);
    sqlite3_close(db);
}

static void what_is_undone_leaves_nothing(void **state)
{
    plumb_error err = {0, ""};
    struct plumb_result_item item = {.digest = "e1"};
    bool known;
    (void)state;
    unlink("e.db");
    struct plumb_store *s = opened("e.db", true);
    item.r.run_source = "local";
    assert_int_equal(plumb_store_begin(s, &err), PLUMB_OK);
    assert_int_equal(plumb_store_add(s, &item, &known, &err), PLUMB_OK);
    assert_int_equal(plumb_store_end(s, false, &err), PLUMB_OK);
    assert_int_equal(counted(s, (struct plumb_store_filter){0}), 0);
    plumb_store_close(s);
}

static void write_file(const char *path, const char *text, size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    fclose(file);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void what_is_not_a_history_is_refused(void **state)
{
    (void)state;
    unlink("none.db");
    refused("none.db", false, PLUMB_ERR_NOT_FOUND, "'plumb history add' makes one");
    mkdir("folder.db", 0700);
    refused("folder.db", false, PLUMB_ERR_IO, "is a folder");
    refused("folder.db", true, PLUMB_ERR_IO, "is a folder");
    write_file("text.db", "this is not it at all", 21);
    refused("text.db", true, PLUMB_ERR_FORMAT, "it is not a SQLite file");
    write_file("empty.db", "", 0);
    refused("empty.db", false, PLUMB_ERR_FORMAT, "is empty");
    plumb_store_close(opened("empty.db", true)); /* as a file that was made for it is */
    unlink("other.db");
    run_sql("other.db", "CREATE TABLE mine(x); PRAGMA user_version=3;");
    refused("other.db", true, PLUMB_ERR_FORMAT, "of another program");
    unlink("newer.db");
    plumb_store_close(opened("newer.db", true));
    run_sql("newer.db", "PRAGMA user_version=2");
    refused("newer.db", true, PLUMB_ERR_FORMAT, "written by a newer plumb (schema 2");
    refused("newer.db", false, PLUMB_ERR_FORMAT, "update plumb");
    refused("text.db/x.db", true, PLUMB_ERR_IO, "text.db");
}

static void a_damaged_history_is_named(void **state)
{
    char bytes[4096] = "SQLite format 3";
    (void)state;
    memset(bytes + 16, 0x5a, sizeof bytes - 16);
    write_file("damaged.db", bytes, sizeof bytes);
    refused("damaged.db", false, PLUMB_ERR_FORMAT, "'damaged.db' is damaged");
}

static void a_locked_history_is_waited_for_and_then_named(void **state)
{
    sqlite3 *db = NULL;
    plumb_error err = {0, ""};
    (void)state;
    unlink("locked.db");
    struct plumb_store *s = opened("locked.db", true);
    assert_int_equal(sqlite3_open("locked.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(plumb_store_begin(s, &err), PLUMB_ERR_STATE);
    assert_non_null(strstr(err.message, "another process has had it locked for 0.1 s"));
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(plumb_store_begin(s, &err), PLUMB_OK);
    assert_int_equal(plumb_store_end(s, true, &err), PLUMB_OK);
    sqlite3_close(db);
    plumb_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_comes_back),
        cmocka_unit_test(a_cohort_is_found_without_reading_all_records),
        cmocka_unit_test(an_equal_result_is_one_record_which_may_become_eligible),
        cmocka_unit_test(filters_choose),
        cmocka_unit_test(removed_records_take_their_metrics_along),
        cmocka_unit_test(what_is_undone_leaves_nothing),
        cmocka_unit_test(what_is_not_a_history_is_refused),
        cmocka_unit_test(a_damaged_history_is_named),
        cmocka_unit_test(a_locked_history_is_waited_for_and_then_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* built without SQLite */
}

#endif

/* record.h: what the tests of recording share: a run in the test's own folder, its rows, and what
 * its timing.json says. Include it after cmocka.h.
 *
 * PLUMB_LINKED: in a test linked with every internal symbol the runtime is there, but only a strong
 * reference takes it out of the archive. */
#ifndef TESTS_RECORD_H
#define TESTS_RECORD_H

#ifndef PLUMB_LINKED
#define PLUMB_LINKED
#endif
#include <dirent.h>
#include <plumb/plumb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline void record_start_with(plumb_options options)
{
    plumb_error err = {0, ""};
    options.quiet = PLUMB_ON;
    if (plumb_start(&options, &err) < 0)
        fail_msg("plumb_start: %s", err.message);
    assert_true(plumb_is_recording());
}

static inline void record_start(void)
{
    record_start_with(plumb_options_default());
}

static inline void record_stop(void)
{
    plumb_error err = {0, ""};
    if (plumb_stop(&err) < 0)
        fail_msg("plumb_stop: %s", err.message);
    assert_false(plumb_is_recording());
}

/* For cmocka's setup and teardown: each test in a run of its own. */
static inline int record_setup(void **state)
{
    (void)state;
    record_start();
    return 0;
}

static inline int record_teardown(void **state)
{
    (void)state;
    record_stop();
    return 0;
}

/* cmocka's teardown for tests that start runs themselves: ends the run that a failed test left
 * open, which would fail every test after it. */
static inline int record_close(void **state)
{
    (void)state;
    if (plumb_is_recording())
        record_stop();
    return 0;
}

/* Removes the folder of a run that is over, with its files. */
static inline void record_remove(const char *dir)
{
    DIR *d = opendir(dir);
    char path[1400];
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path); /* not "." and ".." */
    }
    closedir(d);
    assert_int_equal(rmdir(dir), 0);
}

static inline plumb_rows *record_rows(plumb_pipeline *pipeline, const char *phase)
{
    plumb_error err = {0, ""};
    plumb_rows *rows = NULL;
    if (plumb_summary_rows(&rows, pipeline, phase, &err) < 0)
        fail_msg("plumb_summary_rows: %s", err.message);
    return rows;
}

/* The row of (phase, node) in `rows`, NULL: none; `phase` NULL: any. */
static inline const plumb_row *record_find(const plumb_rows *rows, const char *phase,
                                           const char *node)
{
    const plumb_row *found = NULL;
    for (size_t i = 0; i < plumb_rows_count(rows); i++) {
        const plumb_row *row = plumb_rows_get(rows, i);
        if (strcmp(row->node, node) != 0 || (phase && strcmp(row->phase, phase) != 0))
            continue;
        if (found)
            fail_msg("two rows of node '%s'", node);
        found = row;
    }
    return found;
}

/* A copy of the row of (pipeline, phase, node), zeroed (node NULL) when there is none. */
static inline plumb_row record_row_of(plumb_pipeline *pipeline, const char *phase, const char *node)
{
    plumb_rows *rows = record_rows(pipeline, phase);
    const plumb_row *found = record_find(rows, phase, node);
    plumb_row row;
    memset(&row, 0, sizeof row);
    if (found)
        row = *found;
    plumb_rows_free(rows);
    return row;
}

static inline plumb_row record_row(const char *node)
{
    return record_row_of(NULL, NULL, node);
}

static inline uint64_t record_count(const char *node)
{
    return record_row(node).count;
}

/* Checks the invariants of a row of a summary. */
static inline void record_check_row(const plumb_row *row)
{
    double slack = row->max_ms * 1e-9;
    if (!row->count) {
        assert_true(row->total_ms == 0 && row->min_ms == 0 && row->max_ms == 0);
        assert_true(row->mean_ms == 0 && row->std_ms == 0 && row->last_ms == 0);
        assert_true(row->p50_ms == 0 && row->p99_ms == 0 && row->median_ms == 0);
        return;
    }
    assert_true(row->min_ms <= row->p50_ms + slack);
    assert_true(row->p50_ms <= row->p90_ms && row->p90_ms <= row->p95_ms);
    assert_true(row->p95_ms <= row->p99_ms && row->p99_ms <= row->max_ms + slack);
    assert_true(row->min_ms <= row->last_ms && row->last_ms <= row->max_ms);
    assert_true(row->mean_ms >= row->min_ms - slack && row->mean_ms <= row->max_ms + slack);
    assert_true(row->std_ms >= 0 && row->std_ms <= row->max_ms - row->min_ms + slack);
    assert_true(row->self_ms >= 0 && row->self_ms <= row->total_ms + slack);
}

static inline uint64_t record_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Lasts at least `ns`: work whose time a span must show. */
static inline void record_work_ns(uint64_t ns)
{
    uint64_t until = record_now_ns() + ns;
    while (record_now_ns() < until)
        continue;
}

#endif

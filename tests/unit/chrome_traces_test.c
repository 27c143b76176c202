/* labels: traces
 * Chrome traces of other tools: each slice that Perfetto's trace processor makes of its own test
 * files is there, and the kernels of a training have the times that PyTorch's profiler tells, in
 * all and by step. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/trace/spans.h"
#include "read/trace/chrome.h"

static struct plumb_table t;

static const char *collection(void)
{
    const char *path = getenv("TEST_PLUMB_TRACES");
    return path ? path : "";
}

/* The field of a line of CSV that has this name in the header; quotes are taken off. */
static char *field(const char *line, const char *header, const char *name, char *out)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    int skip = 0;
    for (const char *p = header; p < at; p++)
        skip += *p == ',';
    for (bool inside = false; skip > 0; line++) {
        inside ^= *line == '"';
        skip -= *line == ',' && !inside;
    }
    size_t n = *line == '"' ? strcspn(++line, "\"") : strcspn(line, ",\r\n");
    memcpy(out, line, n);
    out[n] = '\0';
    return out;
}

static bool has(int64_t ts, int64_t dur, const char *name)
{
    const struct plumb_table_slices *s = &t.slices;
    uint64_t at = (uint64_t)ts - t.zero_ns;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->ts_ns[i] == at && strcmp(plumb_table_text(&t, s->name[i]), name) == 0 &&
            (dur < 0 ? (s->flags[i] & PLUMB_SLICE_OPEN) != 0 : s->dur_ns[i] == (uint64_t)dur))
            return true;
    for (uint32_t i = 0; dur == 0 && i < t.instants.count; i++)
        if (t.instants.ts_ns[i] == at &&
            strcmp(plumb_table_text(&t, t.instants.name[i]), name) == 0)
            return true;
    return false;
}

static int check_folder(const char *name)
{
    char path[1024], header[1024], line[4096], ts[4096], dur[4096], title[4096];
    plumb_error err;
    int rows = 0;
    snprintf(path, sizeof path, "%s/perfetto-json/%s/trace.json", collection(), name);
    if (plumb_chrome_read(&t, path, &err) < 0)
        fail_msg("%s", err.message);
    snprintf(path, sizeof path, "%s/perfetto-json/%s/expected.csv", collection(), name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(header, sizeof header, file));
    while (fgets(line, sizeof line, file)) {
        if (!field(line, header, "ts", ts) || !field(line, header, "dur", dur) ||
            !field(line, header, "name", title))
            continue;
        if (!has(strtoll(ts, NULL, 10), strtoll(dur, NULL, 10), title))
            fail_msg("%s: no '%s' at %s for %s", name, title, ts, dur);
        rows++;
    }
    fclose(file);
    plumb_table_fini(&t);
    return rows;
}

static void slices_are_those_of_the_trace_processor(void **state)
{
    static const char *const folders[] = {"json_all_slice_types",
                                          "json_async",
                                          "json_extreme_vals",
                                          "json_id2",
                                          "json_id2_global_int_id",
                                          "json_id2_global_string_id",
                                          "json_id2_local_string_id",
                                          "json_incomplete",
                                          "json_metadata",
                                          "json_metadata_missing_or_invalid_ts",
                                          "json_pid_tid_zero",
                                          "json_counter_args",
                                          "json_sort_index_hints",
                                          "json_trace_metadata",
                                          "json_trailing_comma",
                                          "invalid_string_ts_and_dur",
                                          "overlapping_complete_event_import_log",
                                          "string_pid_tid",
                                          "string_ts_and_dur",
                                          "string_tts_and_tdur",
                                          "trailing_empty_event",
                                          "x_event_order"};
    int rows = 0;
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        rows += check_folder(folders[i]);
    assert_true(rows > 20);
}

static void read_training(void)
{
    char path[1024];
    plumb_error err;
    snprintf(path, sizeof path,
             "%s/kineto-samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
             collection());
    if (plumb_chrome_read(&t, path, &err) < 0)
        fail_msg("%s", err.message);
}

/* Their reader passes over a comma too many and a line break within a text; so does ours, and says
 * where the first is. */
static void what_is_nearly_json_is_read_and_told(void **state)
{
    static const struct {
        const char *name;
        uint64_t odds, line, column;
        uint32_t slices;
    } files[] = {{"args_ordered", 2, 12, 15, 2},
                 {"json_pid_tid_zero", 14, 17, 68, 7},
                 {"json_trailing_comma", 1, 5, 11, 2},
                 {"x_event_order", 0, 0, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1024];
        plumb_error err;
        snprintf(path, sizeof path, "%s/perfetto-json/%s/trace.json", collection(), files[i].name);
        if (plumb_chrome_read(&t, path, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(t.faults.odds, files[i].odds);
        assert_int_equal(t.faults.odd_line, files[i].line);
        assert_int_equal(t.faults.odd_column, files[i].column);
        assert_int_equal(t.faults.cut_bytes + t.faults.damaged, 0);
        assert_true(t.slices.count >= files[i].slices);
        plumb_table_fini(&t);
    }
}

/* As in their tests: rank 34 of 300, and two files without it in their metadata. */
static void ranks_are_those_that_the_files_tell(void **state)
{
    static const struct {
        const char *path;
        int32_t rank, world_size;
    } files[] = {{"cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34, 300},
                 {"rank_unavailable/rank_not_found.json.gz", -1, -1},
                 {"distributed_info_unavailable/distributed_info_not_found.json.gz", -1, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1024];
        plumb_error err;
        snprintf(path, sizeof path, "%s/hta/%s", collection(), files[i].path);
        if (plumb_chrome_read(&t, path, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(plumb_table_rank(&t).rank, files[i].rank);
        assert_int_equal(plumb_table_rank(&t).world_size, files[i].world_size);
        plumb_table_fini(&t);
    }
}

/* Microseconds since 1970 with three decimals: 19 digits, which a double does not hold. */
static void starts_have_their_nanoseconds(void **state)
{
    char path[1024];
    plumb_error err;
    uint64_t sum = 0, least = UINT64_MAX;
    (void)state;
    snprintf(path, sizeof path,
             "%s/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
             collection());
    if (plumb_chrome_read(&t, path, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(t.slices.count, 45420);
    for (uint32_t i = 0; i < t.slices.count; i++) {
        uint64_t ns = t.zero_ns + t.slices.ts_ns[i];
        sum += ns % 1000;
        least = ns < least ? ns : least;
    }
    assert_int_equal(least, UINT64_C(1712195495406752797));
    assert_int_equal(sum, 22601991); /* as Python's Decimal adds them up */
    plumb_table_fini(&t);
}

/* Their kernel table: 162 calls, 80756 us in all, 323 to 1017. */
static void kernels_have_their_times(void **state)
{
    static const char name[] =
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(";
    struct plumb_span_rows rows;
    plumb_error err;
    bool found = false;
    (void)state;
    read_training();
    assert_int_equal(plumb_span_rows_init(&rows, &t, false, &err), PLUMB_OK);
    for (size_t i = 0; i < rows.count; i++) {
        const struct plumb_span_row *row = &rows.rows[i];
        if (strncmp(plumb_table_text(&t, row->name), name, sizeof name - 1) != 0)
            continue;
        found = true;
        assert_int_equal(row->of.count, 162);
        assert_int_equal(row->of.total_ns, 80756000);
        assert_int_equal(row->of.min_ns, 323000);
        assert_int_equal(row->of.max_ns, 1017000);
    }
    assert_true(found);
    assert_int_equal(t.flow_count, 9096); /* one for each kernel, copy and fill */
    for (uint32_t i = 0; i < t.flow_count; i++)
        assert_true(!t.flows[i].from.instant && !t.flows[i].to.instant);
    plumb_span_rows_fini(&rows);
    plumb_table_fini(&t);
}

/* Their overview: the time of kernels and of copies in each of the steps 5 to 10. */
static void steps_have_the_kernels_that_were_launched_in_them(void **state)
{
    static const uint64_t kernels[] = {98598, 98570, 98596, 98623, 98504, 98641};
    static const uint64_t copies[] = {1941, 1947, 1931, 1938, 1937, 1798};
    struct plumb_step_marks marks;
    uint64_t in_kernels[6] = {0}, in_copies[6] = {0};
    plumb_error err;
    (void)state;
    read_training();
    assert_int_equal(plumb_step_marks_init(&marks, &t, &err), PLUMB_OK);
    for (uint32_t i = 0; i < t.slices.count; i++) {
        const char *category = plumb_table_text(&t, t.slices.category[i]);
        bool kernel = strcmp(category, "Kernel") == 0;
        int64_t step;
        if (!kernel && strcmp(category, "Memcpy") != 0)
            continue;
        if (!plumb_step_of(&marks, i, &step))
            fail_msg("%s was launched in no step", plumb_table_text(&t, t.slices.name[i]));
        assert_in_range(step, 5, 10);
        *(kernel ? &in_kernels[step - 5] : &in_copies[step - 5]) += t.slices.dur_ns[i];
    }
    for (int i = 0; i < 6; i++) {
        assert_int_equal(in_kernels[i], 1000 * kernels[i]);
        assert_int_equal(in_copies[i], 1000 * copies[i]);
    }
    plumb_step_marks_fini(&marks);
    plumb_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_those_of_the_trace_processor),
        cmocka_unit_test(what_is_nearly_json_is_read_and_told),
        cmocka_unit_test(ranks_are_those_that_the_files_tell),
        cmocka_unit_test(starts_have_their_nanoseconds),
        cmocka_unit_test(kernels_have_their_times),
        cmocka_unit_test(steps_have_the_kernels_that_were_launched_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* labels: traces
 * Kernels of other tools' traces: as many, and for as long, as the tools say that come with them;
 * and no thread or queue has more time of its own than it has time. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels_fixture.h"
#include "read/trace/chrome.h"

static const char folder[] = "kineto-samples/resnet50_num_workers_0";

static const char *path_of(const char *name)
{
    static char path[1024];
    const char *collection = getenv("TEST_PLUMB_TRACES");
    snprintf(path, sizeof path, "%s/%s", collection ? collection : "", name);
    return path;
}

static void look_at(const char *name, bool ops)
{
    if (plumb_chrome_read(&t, path_of(name), &err) < 0)
        fail_msg("%s", err.message);
    kernels_look(PLUMB_KERNELS_BY_NAME, ops);
}

/* TraceLens's kernels, without copies of memory, and their sum in ns; HTA's test has no GPU. */
static void kernels_and_their_time_are_those_of_tracelens(void **state)
{
    static const struct {
        const char *name;
        uint64_t kernels, ns;
    } files[] = {
        {"tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz", 60, 307197},
        {"tracelens/h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz", 446,
         154855595},
        {"tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz", 60, 388344},
        {"tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz", 562, 5343422},
        {"tracelens/torch_compile_triton/trace.json.gz", 12, 12549021},
        {"hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        uint64_t count = 0, ns = 0;
        look_at(files[i].name, false);
        for (size_t r = 0; r < rows.count; r++)
            if (rows.rows[r].kind == PLUMB_KERNEL_WORK) {
                count += rows.rows[r].count;
                ns += rows.rows[r].ns;
            }
        assert_int_equal(count, files[i].kernels);
        /* Theirs are rounded to us for each kernel. */
        assert_in_range(ns + count, files[i].ns, files[i].ns + 2 * count);
        kernels_end();
    }
}

static json_t *table_of(const char *name)
{
    char file[512];
    json_t *all;
    snprintf(file, sizeof file, "%s/expected_span1/%s", folder, name);
    all = json_load_file(path_of(file), 0, NULL);
    assert_non_null(all);
    return all;
}

static void look_at_training(bool ops)
{
    char file[512];
    snprintf(file, sizeof file, "%s/worker0.1623143089861.pt.trace.json.gz", folder);
    look_at(file, ops);
}

/* Name, -, calls, total, mean, maximum, minimum in us. */
static void each_kernel_of_a_training_has_the_profilers_figures(void **state)
{
    json_t *all = table_of("kernel_table.json"), *row;
    json_t *theirs = json_object_get(json_object_get(all, "data"), "rows");
    size_t i;
    (void)state;
    look_at_training(false);
    assert_int_equal(json_array_size(theirs), 67);
    json_array_foreach(theirs, i, row)
    {
        const struct plumb_own_row *own = row_of(json_string_value(json_array_get(row, 0)));
        assert_int_equal(own->kind, PLUMB_KERNEL_WORK);
        assert_int_equal(own->count, json_integer_value(json_array_get(row, 2)));
        assert_int_equal(own->ns / 1000, json_integer_value(json_array_get(row, 3)));
        assert_int_equal(own->max_ns / 1000, json_integer_value(json_array_get(row, 5)));
    }
    json_decref(all);
    kernels_end();
}

/* Theirs counts calls of the driver as the operator's own time; ours lists them. Of the 204 runs of
 * aten::div in the trace theirs leaves 6 out. */
static void operators_of_a_training_have_the_profilers_figures(void **state)
{
    json_t *all = table_of("operator_table.json"), *row;
    size_t i, compared = 0;
    (void)state;
    look_at_training(true);
    json_array_foreach(json_object_get(all, "data"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        const struct plumb_own_row *own = row_of(name);
        if (strcmp(name, "aten::div") == 0)
            continue;
        assert_int_equal(own->count, json_integer_value(json_object_get(row, "calls")));
        assert_int_equal(own->device_ns / 1000,
                         json_integer_value(json_object_get(row, "device_self_duration")));
        assert_int_equal(own->total_ns / 1000,
                         json_integer_value(json_object_get(row, "host_total_duration")));
        assert_true(own->ns / 1000 <=
                    (uint64_t)json_integer_value(json_object_get(row, "host_self_duration")));
        compared++;
    }
    assert_int_equal(compared, 75);
    json_decref(all);
    kernels_end();
}

static void no_thread_has_more_time_of_its_own_than_time(void **state)
{
    (void)state;
    look_at_training(true);
    uint64_t *own = calloc(t.track_count, sizeof *own), *first = calloc(t.track_count, 8),
             *last = calloc(t.track_count, 8);
    assert_true(own && first && last);
    for (uint32_t i = 0; i < t.slices.count; i++) {
        uint32_t at = t.slices.track[i];
        uint64_t after = plumb_table_end_ns(&t, i);
        first[at] = own[at] || last[at] ? first[at] : t.slices.ts_ns[i];
        last[at] = after > last[at] ? after : last[at];
        own[at] += k.self_ns[i];
    }
    for (uint32_t i = 0; i < t.track_count; i++)
        assert_true(own[i] <= last[i] - first[i]);
    free(own);
    free(first);
    free(last);
    kernels_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_their_time_are_those_of_tracelens),
        cmocka_unit_test(each_kernel_of_a_training_has_the_profilers_figures),
        cmocka_unit_test(operators_of_a_training_have_the_profilers_figures),
        cmocka_unit_test(no_thread_has_more_time_of_its_own_than_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* node_trace_test.c: files of single nodes from known spans. */
#include <errno.h>
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

#include "timeline/node_trace.h"

enum { A = 1, B = 2, C = 3, HOSTILE = 4, NODES = 2000 };

static const char *name_of(void *arg, uint32_t node)
{
    static char numbered[32];
    static const char *const names[] = {"?", "a", "block.0", "c", "../x\"\n\xff"};
    (void)arg;
    if (node < 5)
        return names[node];
    snprintf(numbered, sizeof numbered, "n%u", node);
    return numbered;
}

static struct plumb_node_trace_options options(const char *patterns)
{
    struct plumb_node_trace_options o = {.dir = "nodes",
                                         .patterns = patterns,
                                         .trace_name = "test",
                                         .rank = 3,
                                         .pid = 77,
                                         .base_unix_ns = 1000,
                                         .max_text_bytes = 1 << 20,
                                         .nodes_max = NODES,
                                         .name_of = name_of};
    return o;
}

static struct plumb_node_trace *open_set(const struct plumb_node_trace_options *o)
{
    struct plumb_node_trace *set = NULL;
    plumb_error err = {0, ""};
    assert_true(mkdir("nodes", 0700) == 0 || errno == EEXIST);
    assert_int_equal(plumb_node_trace_open(&set, o, &err), PLUMB_OK);
    return set;
}

static char *told_by(struct plumb_node_trace *set, int files)
{
    static char text[4096];
    struct plumb_buf told = {0};
    plumb_error err = {0, ""};
    assert_int_equal(plumb_node_trace_close(set, &told, &err), files);
    snprintf(text, sizeof text, "%s", told.data ? told.data : "");
    plumb_buf_fini(&told);
    assert_int_equal(system("test -z \"$(find nodes -name '*.part' -o -name '*.tmp')\""), 0);
    return text;
}

/* The decompressed contents of nodes/<file>; each call overwrites the text of the one before. */
static const char *text_of(const char *file)
{
    static char text[1 << 20];
    char command[256];
    FILE *pipe;
    size_t n;
    snprintf(command, sizeof command,
             strstr(file, ".gz") ? "gzip -dc 'nodes/%s'" : "cat 'nodes/%s'", file);
    pipe = popen(command, "r");
    n = fread(text, 1, sizeof text - 1, pipe);
    text[n] = '\0';
    assert_int_equal(pclose(pipe), 0);
    return text;
}

static int occurrences(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void span(struct plumb_node_track *l, uint32_t node, uint64_t from, uint64_t to)
{
    plumb_node_track_begin(l, node, from);
    plumb_node_track_end(l, to, "inference", NULL, 0);
}

static void nested_nodes_each_have_their_own(void **state)
{
    struct plumb_node_trace_options o = options(" a, block.* ");
    struct plumb_node_trace *set = open_set(&o);
    struct plumb_node_track l;
    const char *text;
    (void)state;
    plumb_node_track_open(&l, set, 5, "worker");
    span(&l, C, 0, 10000000); /* before: in no file */
    plumb_node_track_begin(&l, A, 10000000);
    span(&l, C, 11000000, 12000000);
    plumb_node_track_begin(&l, B, 20000000);
    span(&l, C, 21000000, 23000000);
    plumb_node_track_end(&l, 24000000, "inference", NULL, 0);
    plumb_node_track_end(&l, 30000000, "inference", NULL, 0);
    span(&l, B, 40000000, 41000000);
    assert_string_equal(told_by(set, 2), "");
    text = text_of("a_rank3.trace.json.gz");
    assert_int_equal(occurrences(text, "\"ph\":\"X\""), 4);
    assert_int_equal(occurrences(text, "\"name\":\"c\""), 2);
    assert_int_equal(occurrences(text, "thread 5 (worker)"), 1);
    assert_non_null(strstr(text, "Record Window End"));
    text = text_of("block.0_rank3.trace.json.gz");
    assert_int_equal(occurrences(text, "\"ph\":\"X\""), 3);
    assert_int_equal(occurrences(text, "\"name\":\"c\""), 1);
    text = text_of("a_rank3.breakdown.json");
    assert_non_null(strstr(text, "\"name\": \"a\""));
    assert_non_null(strstr(text, "\"rank\": 3"));
    assert_non_null(strstr(text, "\"num_kernels\": 0"));
    assert_non_null(strstr(text, "\"total_op_time_ms\": 20.00"));
    assert_non_null(strstr(text, "\"num_ops\": 3"));
    assert_non_null(strstr(text, "\"runs\": 1"));
    assert_non_null(strstr(text, "\"run_time_ms\": 20.00"));
    /* a: 20 - 1 - 4 of its own; c: 1 + 2; block.0: 4 - 2. */
    assert_true(strstr(text, "\"ms\": 15.00") < strstr(text, "\"ms\": 3.00"));
    assert_true(strstr(text, "\"ms\": 3.00") < strstr(text, "\"ms\": 2.00"));
    text = text_of("block.0_rank3.breakdown.json");
    assert_non_null(strstr(text, "\"runs\": 2"));
    assert_non_null(strstr(text, "\"run_time_ms\": 5.00"));
}

static void a_node_inside_itself_is_there_once(void **state)
{
    struct plumb_node_trace_options o = options("a");
    struct plumb_node_trace *set = open_set(&o);
    struct plumb_node_track l;
    (void)state;
    plumb_node_track_open(&l, set, 5, NULL);
    plumb_node_track_begin(&l, A, 0);
    plumb_node_track_begin(&l, C, 0);
    span(&l, A, 1000000, 3000000);
    plumb_node_track_end(&l, 4000000, "inference", NULL, 0);
    plumb_node_track_end(&l, 5000000, "inference", NULL, 0);
    told_by(set, 1);
    assert_int_equal(occurrences(text_of("a_rank3.trace.json.gz"), "\"ph\":\"X\""), 3);
    assert_non_null(strstr(text_of("a_rank3.breakdown.json"), "\"runs\": 1"));
    assert_non_null(strstr(text_of("a_rank3.breakdown.json"), "\"total_op_time_ms\": 5.00"));
}

static void who_works_for_a_node_is_in_its_file(void **state)
{
    struct plumb_node_trace_options o = options("a,c");
    struct plumb_node_trace *set = open_set(&o);
    const uint32_t path[] = {A, B};
    struct plumb_node_track l;
    (void)state;
    plumb_node_track_open(&l, set, 6, "helper");
    plumb_node_track_path(&l, path, 2);
    span(&l, C, 0, 1000000);
    plumb_node_track_device(&l, C, 2000000);
    plumb_node_track_path(&l, path, 0);
    span(&l, B, 0, 1000000);
    told_by(set, 2);
    assert_int_equal(occurrences(text_of("a_rank3.trace.json.gz"), "\"ph\":\"X\""), 1);
    assert_non_null(strstr(text_of("a_rank3.breakdown.json"), "\"num_kernels\": 1"));
    assert_non_null(strstr(text_of("a_rank3.breakdown.json"), "\"device_ms\": 2.00"));
    assert_non_null(strstr(text_of("c_rank3.breakdown.json"), "\"runs\": 1"));
}

static void short_rows_are_dropped_and_the_list_is_cut(void **state)
{
    struct plumb_node_trace_options o = options("a");
    struct plumb_node_trace *set = open_set(&o);
    struct plumb_node_track l;
    const char *text;
    (void)state;
    plumb_node_track_open(&l, set, 5, NULL);
    plumb_node_track_begin(&l, A, 0);
    for (uint32_t i = 0; i < 70; i++)
        span(&l, 100 + i, 1000000 * i, 1000000 * i + (i < 60 ? 10000 + i : 9999));
    plumb_node_track_end(&l, 100000000, "inference", NULL, 0);
    told_by(set, 1);
    text = text_of("a_rank3.breakdown.json");
    assert_non_null(strstr(text, "\"num_ops\": 61"));
    assert_int_equal(occurrences(text, "cpu_total_ms"), 50);
    assert_null(strstr(text, "n165"));
    /* The longest first. */
    assert_true(strstr(text, "\"n159\"") < strstr(text, "\"n158\""));
}

static void names_of_files_are_safe_and_texts_are_json(void **state)
{
    struct plumb_node_trace_options o = options("*");
    struct plumb_node_trace *set = open_set(&o);
    struct plumb_node_track l;
    (void)state;
    o.rank = -1;
    plumb_node_track_open(&l, set, 5, "\"\n");
    span(&l, HOSTILE, 0, 1000000);
    told_by(set, 1);
    assert_int_equal(system("ls nodes/.._x* >names.txt && test $(wc -l <names.txt) = 2"), 0);
    assert_int_equal(system("for f in nodes/.._x*gz; do gzip -dc $f; done | "
                            "python3 -c 'import json,sys; json.load(sys.stdin)'"),
                     0);
}

static void the_bound_leaves_out_spans_and_keeps_the_figures(void **state)
{
    struct plumb_node_trace_options o = options("a");
    struct plumb_node_trace *set;
    struct plumb_node_track l;
    const char *text;
    (void)state;
    o.max_text_bytes = 4096;
    set = open_set(&o);
    plumb_node_track_open(&l, set, 5, NULL);
    for (uint64_t i = 0; i < 1000; i++)
        span(&l, A, i * 1000000, i * 1000000 + 500000);
    assert_non_null(strstr(told_by(set, 1), "lack 9"));
    text = text_of("a_rank3.trace.json.gz");
    assert_true(strlen(text) < 4096 + 512);
    assert_non_null(strstr(text, "]}"));
    text = text_of("a_rank3.breakdown.json");
    assert_non_null(strstr(text, "\"runs\": 1000"));
    assert_non_null(strstr(text, "\"trace_left_out\": 9"));
}

static void more_nodes_than_files_are_told(void **state)
{
    struct plumb_node_trace_options o = options("n*,nothing_like_it");
    struct plumb_node_trace *set = open_set(&o);
    struct plumb_node_track l;
    const char *told;
    (void)state;
    plumb_node_track_open(&l, set, 5, NULL);
    for (uint32_t i = 0; i < PLUMB_NODE_FILES + 10; i++)
        span(&l, 100 + i, 0, 1000);
    told = told_by(set, PLUMB_NODE_FILES);
    assert_non_null(strstr(told, "no node that ran matches 'nothing_like_it'"));
    assert_non_null(strstr(told, "10 nodes have no trace of their own"));
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    struct plumb_node_trace_options o = options("a");
    struct plumb_node_trace *set = NULL;
    struct plumb_buf told = {0};
    struct plumb_node_track l;
    plumb_error err = {0, ""};
    (void)state;
    o.dir = "nowhere";
    assert_int_equal(plumb_node_trace_open(&set, &o, &err), PLUMB_OK);
    plumb_node_track_open(&l, set, 5, NULL);
    for (int i = 0; i < 1000; i++)
        span(&l, A, 0, 1);
    assert_int_equal(plumb_node_trace_close(set, &told, &err), PLUMB_ERR_IO);
    assert_non_null(strstr(err.message, "cannot write 'nowhere/a_rank3.trace.json.gz': No such"));
    plumb_buf_fini(&told);
    plumb_node_trace_drop(NULL);
}

static int clean(void **state)
{
    (void)state;
    return system("rm -rf nodes");
}

int main(void)
{
#define CLEAN(f) cmocka_unit_test_setup(f, clean)
    const struct CMUnitTest tests[] = {
        CLEAN(nested_nodes_each_have_their_own),
        CLEAN(a_node_inside_itself_is_there_once),
        CLEAN(who_works_for_a_node_is_in_its_file),
        CLEAN(short_rows_are_dropped_and_the_list_is_cut),
        CLEAN(names_of_files_are_safe_and_texts_are_json),
        CLEAN(the_bound_leaves_out_spans_and_keeps_the_figures),
        CLEAN(more_nodes_than_files_are_told),
        CLEAN(a_folder_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

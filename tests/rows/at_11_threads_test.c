/* AT-11: lines of concurrent writers stay whole and none is lost; each thread has its own step,
 * restored after nested and failed scopes. A sink of the program gets them in addition to the
 * file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

#include <dlpack/dlpack.h>
#include <jansson.h>

#include "record.h"

enum { THREADS = 8, EACH = 1000 };

static struct {
    uint64_t lines; /* of the writer's thread alone */
    bool torn;
} sunk;

static void sink(const char *line, size_t bytes, void *arg)
{
    (void)arg;
    sunk.lines++;
    sunk.torn |= bytes < 2 || line[0] != '{' || line[bytes - 1] != '\n';
}

static void tell(plumb_node node, int64_t expected)
{
    float x = (float)expected;
    DLTensor t = {
        .data = &x, .device = {kDLCPU, 0}, .dtype = {.code = kDLFloat, .bits = 32, .lanes = 1}};
    plumb_activation(node, "out", &t);
}

static void *work(void *arg)
{
    int64_t mine = (int64_t)(intptr_t)arg * 100000;
    char name[16];
    snprintf(name, sizeof name, "thread.%d", (int)(intptr_t)arg);
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < EACH / 4; i++) {
        PLUMB_STEP(mine + i);
        tell(node, mine + i);
        {
            PLUMB_STEP(mine + 50000 + i);
            tell(node, mine + 50000 + i);
            PLUMB_SPAN_AS(span, "fails");
            plumb_span_fail(span, "on purpose");
        }
        tell(node, mine + i);
        for (PLUMB_STEPS (inner, 3)) {
            if (inner == 1)
                break;
        }
        tell(node, mine + i);
    }
    return NULL;
}

/* Every line is an object; its step is what its tensor held; every (thread, seq) once. */
static void check(const char *path)
{
    static char seen[THREADS * EACH];
    FILE *f = fopen(path, "r");
    char line[4096];
    size_t lines = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_error_t why;
        json_t *r = json_loads(line, JSON_REJECT_DUPLICATES, &why);
        if (!r)
            fail_msg("line %zu: %s: %s", lines + 1, why.text, line);
        json_int_t seq = json_integer_value(json_object_get(r, "seq"));
        double step = (double)json_integer_value(json_object_get(r, "step"));
        assert_true(step == json_number_value(json_object_get(r, "sum")));
        assert_true(seq >= 0 && seq < THREADS * EACH && !seen[seq]);
        seen[seq] = 1;
        lines++;
        json_decref(r);
    }
    fclose(f);
    assert_int_equal(lines, THREADS * EACH);
}

static void lines_of_eight_threads_are_whole(void **state)
{
    pthread_t threads[THREADS];
    plumb_options o = plumb_options_default();
    (void)state;
    o.activations = PLUMB_ON;
    o.activations_output = "threads.jsonl";
    assert_int_equal(plumb_activation_sink(sink, NULL, NULL), PLUMB_OK);
    record_start_with(o);
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    record_stop();
    assert_int_equal(plumb_activation_sink(NULL, NULL, NULL), PLUMB_OK);
    assert_int_equal(sunk.lines, THREADS * EACH);
    assert_false(sunk.torn);
    check("threads.jsonl");
}

/* No line crosses a page of the file, so that no kill can tear one. */
static void no_line_crosses_a_page(void **state)
{
    FILE *f = fopen("threads.jsonl", "r");
    size_t at = 0;
    int c;
    size_t begin = 0;
    (void)state;
    assert_non_null(f);
    for (; (c = fgetc(f)) != EOF; at++) {
        if (c != '\n')
            continue;
        if (begin / 4096 != at / 4096)
            fail_msg("the line at %zu ends at %zu", begin, at);
        begin = at + 1;
    }
    fclose(f);
    assert_int_equal(begin, at);
}

static void a_full_queue_that_may_drop_counts(void **state)
{
    plumb_options o = plumb_options_default();
    char line[4096];
    size_t lines = 0;
    (void)state;
    o.activations = PLUMB_ON;
    o.activations_queue = PLUMB_ACTIVATIONS_DROP;
    o.activations_output = "dropped.jsonl";
    record_start_with(o);
    for (int i = 0; i < 20000; i++) {
        PLUMB_STEP(i);
        tell(plumb_node_get("fast"), i);
    }
    record_stop();
    FILE *f = fopen("dropped.jsonl", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *r = json_loads(line, 0, NULL);
        assert_non_null(r);
        json_decref(r);
        lines++;
    }
    fclose(f);
    assert_in_range(lines, 1, 20000);
}

static void a_second_run_begins_anew(void **state)
{
    for (int run = 0; run < 2; run++) {
        plumb_options o = plumb_options_default();
        char line[4096];
        o.activations = PLUMB_ON;
        o.activations_layers = run ? "^other$" : "^one$";
        o.activations_stats = run ? "max" : "min";
        o.activations_output = "again.jsonl";
        record_start_with(o);
        tell(plumb_node_get("one"), 3);
        tell(plumb_node_get("other"), 4);
        record_stop();
        FILE *f = fopen("again.jsonl", "r");
        assert_non_null(f);
        assert_non_null(fgets(line, sizeof line, f));
        assert_non_null(strstr(line, run ? "\"other\"" : "\"one\""));
        assert_non_null(strstr(line, run ? "\"max\":4" : "\"min\":3"));
        assert_null(fgets(line, sizeof line, f));
        fclose(f);
    }
    (void)state;
}

static void what_makes_no_sense_is_refused_at_the_start(void **state)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    (void)state;
    o.quiet = PLUMB_ON;
    o.activations = PLUMB_ON;
    o.activations_layers = "(";
    assert_int_equal(plumb_start(&o, &err), PLUMB_ERR_ARG);
    assert_non_null(
        strstr(err.message, "PLUMB_ACTIVATIONS_LAYERS: '(' is not a regular expression"));
    o.activations_layers = NULL;
    o.activations_steps = "1,x";
    assert_int_equal(plumb_start(&o, &err), PLUMB_ERR_ARG);
    assert_false(plumb_is_recording());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lines_of_eight_threads_are_whole, record_close),
        cmocka_unit_test_teardown(no_line_crosses_a_page, record_close),
        cmocka_unit_test_teardown(a_full_queue_that_may_drop_counts, record_close),
        cmocka_unit_test_teardown(a_second_run_begins_anew, record_close),
        cmocka_unit_test_teardown(what_makes_no_sense_is_refused_at_the_start, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

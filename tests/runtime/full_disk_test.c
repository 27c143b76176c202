/* labels: notsan
 * A full disk, simulated by a limit on the size of files: the library meets both in the same place.
 * Beyond the limit a write would raise a signal that ends the host. */
#include <sys/resource.h>

#include "runtime/child.h"

#include "record_trace.h"
#include "report/run/render.h"

enum { NODES = 300, RUNS = 400 }; /* together more than wait for a fold */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    ROLE_NEEDS(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* In letters: the table has one row for names that differ in a number alone. */
static void name_of(char name[32], int i)
{
    snprintf(name, 32, "node.%c%c", 'a' + i / 26, 'a' + i % 26);
}

static void record(int nodes)
{
    for (int i = 0; i < RUNS; i++) {
        PLUMB_SPAN("work");
    }
    for (int i = 0; i < nodes; i++) {
        char name[32];
        name_of(name, i);
        PLUMB_SPAN_NODE(plumb_node_get(name));
    }
}

static int role_fits(void)
{
    limit_files(64 * 1024);
    record(1);
    return 7;
}

static void a_mapping_that_cannot_grow_still_gives_the_report(void **state)
{
    struct child c;
    struct plumb_load run;
    int status = child_run(&c, "fits", "fits", NULL);
    (void)state;
    assert_exited(&c, status, 7);
    assert_non_null(strstr(child_errors(&c), "cannot grow live.plumb"));
    load_run(&run, in_place("fits"));
    assert_int_equal(run.state, PLUMB_LOAD_ENDED);
    assert_consistent(&run.timing, true);
    assert_int_equal(count_of(&run.timing, "work"), RUNS);
    assert_int_equal(count_of(&run.timing, "node.aa"), 1);
    plumb_timing_fini(&run.timing);
}

static int role_fills(void)
{
    limit_files(256 * 1024);
    record(NODES);
    return 7;
}

static int role_fills_and_dies(void)
{
    role_fills();
    kill(getpid(), SIGKILL);
    return 0;
}

static unsigned notes_with(const struct plumb_timing *t, const char *text)
{
    unsigned n = 0;
    for (size_t i = 0; i < t->note_count; i++)
        n += strstr(t->notes[i], text) != NULL;
    return n;
}

/* The line of the table that begins with `name` counts `n`. */
static void assert_row(const char *text, const char *name, unsigned n)
{
    char begin[64], phase[32];
    const char *line;
    unsigned count = 0;
    snprintf(begin, sizeof begin, "\n%s ", name);
    line = strstr(text, begin);
    assert_non_null(line);
    assert_int_equal(sscanf(line, "%*s %31s %u", phase, &count), 2);
    assert_string_equal(phase, "inference");
    assert_int_equal(count, n);
}

static void what_no_file_takes_is_printed(void **state)
{
    struct child c;
    char name[32];
    int status = child_run(&c, "fills", "fills", NULL);
    (void)state;
    assert_exited(&c, status, 7);
    assert_false(run_has(in_place("fills"), "timing.json"));
    assert_false(run_has_temporary(in_place("fills")));
    assert_non_null(strstr(child_errors(&c), "plumb: cannot grow live.plumb beyond 262144 bytes"));
    assert_row(child_errors(&c), "work", RUNS);
    for (int i = 0; i < NODES; i++) {
        name_of(name, i);
        assert_row(child_errors(&c), name, 1);
    }
}

static const char *remarks_on(const struct plumb_timing *t)
{
    static char text[4096];
    struct plumb_buf b = {0};
    plumb_remarks_write(t, false, &b);
    snprintf(text, sizeof text, "%.*s", (int)b.len, b.data);
    plumb_buf_fini(&b);
    return text;
}

/* A file that stopped growing says when it stopped. The note is there at the second reading too. */
static void assert_frozen(const char *role, bool ended)
{
    struct plumb_load run;
    for (int again = 0; again < 2; again++) {
        load_run(&run, in_place(role));
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        assert_int_equal(run.timing.unsaved, ended);
        assert_int_equal(notes_with(&run.timing, "incomplete: live.plumb could not grow any more"),
                         1);
        assert_int_equal(notes_with(&run.timing, "File too large"), 1);
        assert_int_equal(count_of(&run.timing, "work"), RUNS);
        assert_true(run.timing.node_count < NODES);
        assert_int_equal(strstr(remarks_on(&run.timing), "did not end the run") != NULL, !ended);
        assert_int_equal(strstr(remarks_on(&run.timing), "could not save its report") != NULL,
                         ended);
        plumb_timing_fini(&run.timing);
    }
}

static void a_file_that_stopped_growing_says_when(void **state)
{
    struct child c;
    int status = child_run(&c, "fills", "stopped", NULL);
    (void)state;
    assert_exited(&c, status, 7);
    assert_non_null(strstr(child_errors(&c), "live.plumb has the run's first "));
    assert_frozen("stopped", true);
}

static void a_process_killed_after_its_file_stopped_growing_leaves_word(void **state)
{
    struct child c;
    int status = child_run(&c, "fills_and_dies", "fills_and_dies", NULL);
    (void)state;
    assert_signaled(&c, status, SIGKILL);
    assert_frozen("fills_and_dies", false);
}

/* The mapping has its room before the limit is set; the trace then meets it. */
static int role_traced(void)
{
    record(1);
    limit_files(1024 * 1024);
    for (int i = 0; i < 100000; i++) {
        PLUMB_SPAN("work");
    }
    return 7;
}

static void a_trace_that_cannot_grow_stays_valid_and_counts_the_rest(void **state)
{
    static const char *const settings[] = {"PLUMB_TRACE=1", "PLUMB_TRACE_RING=16K", NULL};
    struct child c;
    struct plumb_load run;
    struct trace_read t;
    const char *dir = in_place("traced");
    int status = child_run(&c, "traced", "traced", settings);
    uint64_t whole = 0;
    (void)state;
    assert_exited(&c, status, 7);
    load_run(&run, dir);
    assert_int_equal(run.state, PLUMB_LOAD_ENDED);
    assert_int_equal(count_of(&run.timing, "work"), RUNS + 100000);
    trace_read_run(&t, dir);
    assert_true(t.bytes <= 1024 * 1024);
    for (size_t i = 0; i < t.count; i++)
        whole += t.slices[i].end != UINT64_MAX && !strstr(t.slices[i].last, "cut=true");
    assert_int_equal(whole, run.timing.trace.spans);
    assert_int_equal(whole + run.timing.trace.dropped, RUNS + 1 + 100000);
    trace_fini(&t);
    plumb_timing_fini(&run.timing);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {
        {"fits", role_fits},
        {"fills", role_fills},
        {"traced", role_traced},
        {"fills_and_dies", role_fills_and_dies},
        {NULL, NULL},
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_that_cannot_grow_stays_valid_and_counts_the_rest),
        cmocka_unit_test(a_mapping_that_cannot_grow_still_gives_the_report),
        cmocka_unit_test(what_no_file_takes_is_printed),
        cmocka_unit_test(a_file_that_stopped_growing_says_when),
        cmocka_unit_test(a_process_killed_after_its_file_stopped_growing_leaves_word),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

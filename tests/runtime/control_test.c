/* A running process is found, watched and steered from outside: what each command does, and what is
 * left when it is over. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/control.h"

/* ---- Hosts ----------------------------------------------------------------------------------- */

static void work(void)
{
    PLUMB_SPAN("work");
    for (volatile int i = 0; i < 100; i++)
        ;
}

/* Works until the test says so. Its status shows whether plumb has changed anything. */
static int role_works(void)
{
    child_ready();
    while (!child_may_go()) {
        work();
        {
            PLUMB_SPAN_DEBUG("detail");
        }
        nap_ms(1);
    }
    return 3;
}

/* As a server that writes a title over its arguments, started by a link. */
static int role_is_renamed(void)
{
    char name[16];
    snprintf(name, sizeof name, "serves-%d", (int)getpid());
    prctl(PR_SET_NAME, name);
    return role_works();
}

/* As on a disk that is full. */
static int role_is_limited(void)
{
    const struct rlimit limit = {64 * 1024, 64 * 1024};
    ROLE_NEEDS(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    return role_works();
}

static int role_opens_itself(void)
{
    plumb_error err = {0, ""};
    ROLE_NEEDS(plumb_control_open(&err) == 0);
    ROLE_NEEDS(plumb_control_open(&err) == 0);
    child_ready();
    child_wait_go();
    work();
    plumb_control_close();
    child_ready();
    child_wait_go();
    ROLE_NEEDS(plumb_control_open(&err) == 0);
    return role_works();
}

static int role_has_pipelines(void)
{
    plumb_pipeline *render = plumb_pipeline_get("render");
    child_ready();
    while (!child_may_go()) {
        work();
        PLUMB_PIPELINE(render);
        PLUMB_SPAN("draw");
        nap_ms(1);
    }
    return 0;
}

/* The same process, in two roles: the rows of outside are those of inside. */
static const char *const on[] = {"PLUMB_CONTROL=1", NULL};
static const char *const on_and_recording[] = {"PLUMB_CONTROL=1", "PLUMB=1", "PLUMB_QUIET=1", NULL};

static void end_with(struct child *c, int code)
{
    child_go(c);
    assert_exited(c, child_end(c), code);
}

/* ---- Finding --------------------------------------------------------------------------------- */

static const plumb_process *process_in(const plumb_process_list *list, pid_t pid)
{
    for (size_t i = 0; i < plumb_process_list_count(list); i++)
        if (plumb_process_list_get(list, i)->pid == (uint32_t)pid)
            return plumb_process_list_get(list, i);
    return NULL;
}

static void a_process_is_listed_while_it_lives_and_leaves_no_socket(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_process_list *list = NULL;
    const plumb_process *p;
    (void)state;
    plumb_control_disconnect(control_of(&c, c.pid));
    assert_ok(plumb_process_list_open(&list, &err));
    p = process_in(list, c.pid);
    assert_non_null(p);
    assert_int_equal(p->answers, 1);
    assert_int_equal(p->recording, 0);
    assert_non_null(strstr(p->program, "runtime.control"));
    assert_non_null(strstr(p->command, "works"));
    assert_string_equal(p->version, PLUMB_VERSION);
    assert_string_equal(p->socket, socket_of(c.pid));
    assert_true(p->memory_bytes > 100000);
    assert_int_equal(p->rank, -1);
    plumb_process_list_close(list);
    end_with(&c, 3);
    assert_string_equal(socket_of(c.pid), "");
    assert_string_equal(child_errors(&c), "");
}

static void a_process_is_found_by_the_name_that_it_gives_itself(void **state)
{
    struct child c = child_start("is_renamed", NULL, on);
    plumb_control *control;
    char name[16];
    (void)state;
    child_await_ready(&c);
    plumb_control_disconnect(control_of(&c, c.pid));
    snprintf(name, sizeof name, "serves-%d", (int)c.pid);
    assert_ok(plumb_control_connect(&control, name, 0, &err));
    assert_int_equal(status_of(control)->pid, c.pid);
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static void a_process_that_was_not_asked_to_is_not_found(void **state)
{
    struct child c = child_start("works", NULL, NULL);
    plumb_control *control;
    char pid[16];
    (void)state;
    child_await_ready(&c);
    snprintf(pid, sizeof pid, "%d", (int)c.pid);
    assert_fails(PLUMB_ERR_NOT_FOUND, "PLUMB_CONTROL=1",
                 plumb_control_connect(&control, pid, 0, &err));
    assert_fails(PLUMB_ERR_NOT_FOUND, "does not exist",
                 plumb_control_connect(&control, "2147483647", 0, &err));
    assert_fails(PLUMB_ERR_NOT_FOUND, "no-such-program",
                 plumb_control_connect(&control, "no-such-program", 0, &err));
    end_with(&c, 3);
}

static void a_killed_process_leaves_a_socket_that_the_next_look_removes(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_process_list *list = NULL;
    char path[1400];
    (void)state;
    plumb_control_disconnect(control_of(&c, c.pid));
    snprintf(path, sizeof path, "%s", socket_of(c.pid));
    kill(c.pid, SIGKILL);
    child_end(&c);
    assert_true(exists(path));
    assert_ok(plumb_process_list_open(&list, &err));
    assert_null(process_in(list, c.pid));
    plumb_process_list_close(list);
    assert_false(exists(path));
}

/* A socket with the name of a process that is gone, on which another listens: that process may be
 * one of another pid namespace. */
static void a_socket_on_which_a_process_listens_is_not_removed(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct child c = child_start("works", NULL, on);
    plumb_process_list *list = NULL;
    char path[1400];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    plumb_control_disconnect(control_of(&c, c.pid));
    snprintf(path, sizeof path, "%s", socket_of(c.pid));
    kill(c.pid, SIGKILL);
    child_end(&c);
    assert_int_equal(unlink(path), 0);
    snprintf(a.sun_path, sizeof a.sun_path, "./listens");
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(rename("listens", path), 0);
    assert_ok(plumb_process_list_open(&list, &err));
    assert_null(process_in(list, c.pid));
    plumb_process_list_close(list);
    assert_true(exists(path));
    close(fd);
    assert_ok(plumb_process_list_open(&list, &err));
    plumb_process_list_close(list);
    assert_false(exists(path));
}

/* `leased`: -1: the front end opens no run; 1: one that lasts as long as its connection. */
static void open_and_close(int leased, const char *dir)
{
    struct child c = child_start("opens_itself", NULL, NULL);
    plumb_control *control;
    char setting[1200];
    const char *settings[] = {setting, NULL};
    snprintf(setting, sizeof setting, "run_dir=%s", in_place(dir));
    child_await_ready(&c);
    control = control_of(&c, c.pid);
    assert_int_equal(status_of(control)->recording, 0);
    if (leased >= 0) {
        plumb_control_while_connected(control, leased);
        assert_ok(plumb_control_start(control, settings, &err));
    }
    child_go(&c);
    child_await_ready(&c);
    assert_string_equal(socket_of(c.pid), "");
    plumb_control_disconnect(control);
    child_go(&c);
    control = control_of(&c, c.pid);
    assert_int_equal(status_of(control)->recording, leased == 0);
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static void the_program_itself_may_open_and_close(void **state)
{
    (void)state;
    open_and_close(-1, "none");
}

static void a_run_ends_with_the_control_that_it_was_to_last_as_long_as(void **state)
{
    struct plumb_load load;
    (void)state;
    open_and_close(0, "stays");
    open_and_close(1, "leased");
    load_run(&load, in_place("leased"));
    assert_int_equal(load.state, PLUMB_LOAD_ENDED);
    assert_int_equal(count_of(&load.timing, "work"), 1);
    plumb_timing_fini(&load.timing);
}

/* ---- Steering -------------------------------------------------------------------------------- */

static void await_spans(plumb_control *control)
{
    uint64_t before = status_of(control)->spans;
    while (status_of(control)->spans == before)
        nap_ms(1);
}

static void a_run_is_opened_and_ended_from_outside(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_control *control = control_of(&c, c.pid);
    const plumb_process *p;
    char dir[1100], setting[1200], run[1200];
    const char *settings[] = {setting, "TRACE=1", NULL};
    struct plumb_load load;
    (void)state;
    snprintf(dir, sizeof dir, "%s", in_place("asked"));
    snprintf(setting, sizeof setting, "run_dir=%s", dir);
    assert_ok(plumb_control_start(control, settings, &err));
    p = status_of(control);
    assert_int_equal(p->recording, 1);
    assert_int_equal(p->tracing, 1);
    assert_string_equal(p->run_dir, dir);
    assert_true(p->since_ns > UINT64_C(1700000000000000000));
    assert_fails(PLUMB_ERR_STATE, "already open", plumb_control_start(control, NULL, &err));
    await_spans(control);
    assert_ok(plumb_control_stop(control, &err));
    assert_ok(plumb_control_stop(control, &err));
    assert_int_equal(status_of(control)->recording, 0);
    assert_true(run_has(dir, "trace.pftrace"));
    load_run(&load, dir);
    assert_int_equal(load.state, PLUMB_LOAD_ENDED);
    assert_true(count_of(&load.timing, "work") > 0);
    assert_int_equal(count_of(&load.timing, "detail"), 0);
    plumb_timing_fini(&load.timing);
    /* The settings were those of that run alone. */
    snprintf(run, sizeof run, "dir=%s", in_place("second"));
    settings[0] = run;
    settings[1] = NULL;
    assert_ok(plumb_control_start(control, settings, &err));
    p = status_of(control);
    assert_int_equal(p->tracing, 0);
    assert_non_null(strstr(p->run_dir, "/second/"));
    plumb_control_disconnect(control);
    end_with(&c, 3);
    assert_string_equal(child_errors(&c), "");
}

static void what_goes_wrong_in_a_run_is_said_to_its_front_end_alone(void **state)
{
    struct child c = child_start("is_limited", NULL, on);
    plumb_control *control;
    char setting[1300];
    const char *const settings[] = {setting, NULL};
    const char *notes;
    (void)state;
    child_await_ready(&c);
    control = control_of(&c, c.pid);
    snprintf(setting, sizeof setting, "run_dir=%s", in_place("limited"));
    assert_ok(plumb_control_start(control, settings, &err));
    await_spans(control);
    assert_ok(plumb_control_stop(control, &err));
    notes = plumb_control_notes(control);
    if (strncmp(notes, "cannot grow live.plumb", 22) != 0)
        fail_msg("'%s'", notes);
    assert_null(strchr(strchr(notes, '\n') + 1, '\n'));
    plumb_control_disconnect(control);
    end_with(&c, 3);
    assert_string_equal(child_errors(&c), "");
}

static void wrong_settings_are_refused_and_change_nothing(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_control *control = control_of(&c, c.pid);
    static const struct {
        const char *setting, *text, *also;
    } wrong[] = {
        {"trase=1", "is not a setting", NULL},
        {"trace", "is not a setting", NULL},
        {"trace=perhaps", "perhaps", NULL},
        {"ring=1", "not between", NULL},
        {"clock=virtual", "cannot be changed", NULL},
        {"helper=off", "cannot be changed", NULL},
        {"control=0", "cannot be changed", NULL},
        {"record_log=/tmp/x", "cannot be changed", NULL},
        {"activations_layers=(", "(", "activations=1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *settings[] = {wrong[i].setting, wrong[i].also, NULL};
        assert_fails(PLUMB_ERR_ARG, wrong[i].text, plumb_control_start(control, settings, &err));
        assert_int_equal(status_of(control)->recording, 0);
    }
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static void plumb_0_wins_over_a_front_end(void **state)
{
    const char *const settings[] = {"PLUMB_CONTROL=1", "PLUMB=0", NULL};
    struct child c = child_start("works", NULL, settings);
    plumb_control *control = control_of(&c, c.pid);
    (void)state;
    assert_fails(PLUMB_ERR_STATE, "PLUMB=0", plumb_control_start(control, NULL, &err));
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static const plumb_row *row_of(const plumb_control_rows *rows, const char *node)
{
    for (size_t i = 0; i < plumb_control_rows_count(rows); i++)
        if (strcmp(plumb_control_rows_get(rows, i)->node, node) == 0)
            return plumb_control_rows_get(rows, i);
    return NULL;
}

static void pipelines_are_listed_switched_skipped_and_reset(void **state)
{
    struct child c = child_start("has_pipelines", "pipelines", on_and_recording);
    plumb_control *control;
    plumb_control_pipeline_list *list = NULL;
    plumb_control_rows *rows = NULL;
    plumb_config config = plumb_config_default();
    const plumb_control_pipeline *render;
    uint64_t before;
    (void)state;
    child_await_ready(&c);
    control = control_of(&c, c.pid);
    while (status_of(control)->spans < 10)
        nap_ms(1);
    config.sync = 1;
    config.skip_first_n = 5;
    assert_ok(plumb_control_configure(control, "render", &config, &err));
    assert_ok(plumb_control_pipelines(&list, control, &err));
    assert_int_equal(plumb_control_pipelines_count(list), 2);
    render = plumb_control_pipelines_get(list, 1);
    assert_string_equal(render->name, "render");
    assert_int_equal(render->enabled, 0);
    assert_int_equal(render->sync, 1);
    assert_int_equal(render->skip_first_n, 5);
    assert_int_equal(plumb_control_pipelines_get(list, 0)->enabled, 1);
    assert_null(plumb_control_pipelines_get(list, 2));
    plumb_control_pipelines_free(list);
    /* The other one goes on; a span that was open has ended by then. */
    await_spans(control);
    assert_ok(plumb_control_summary(&rows, control, "render", NULL, &err));
    before = row_of(rows, "draw")->count;
    plumb_control_rows_free(rows);
    await_spans(control);
    assert_ok(plumb_control_summary(&rows, control, "render", NULL, &err));
    assert_int_equal(row_of(rows, "draw")->count, before);
    assert_null(row_of(rows, "work"));
    plumb_control_rows_free(rows);
    assert_ok(plumb_control_reset(control, "render", &err));
    assert_ok(plumb_control_summary(&rows, control, "render", NULL, &err));
    assert_null(row_of(rows, "draw"));
    plumb_control_rows_free(rows);
    assert_fails(PLUMB_ERR_NOT_FOUND, "no pipeline 'rendr'",
                 plumb_control_reset(control, "rendr", &err));
    config.skip_first_n = -1;
    assert_fails(PLUMB_ERR_ARG, "skip_first_n",
                 plumb_control_configure(control, "render", &config, &err));
    plumb_control_disconnect(control);
    end_with(&c, 0);
}

static void debug_spans_and_the_log_level_are_switched(void **state)
{
    struct child c = child_start("works", "debug", on_and_recording);
    plumb_control *control = control_of(&c, c.pid);
    plumb_control_rows *rows = NULL;
    bool seen = false;
    (void)state;
    assert_ok(plumb_control_debug(control, 1, &err));
    while (!seen) {
        assert_ok(plumb_control_summary(&rows, control, NULL, NULL, &err));
        seen = row_of(rows, "detail") != NULL;
        plumb_control_rows_free(rows);
        nap_ms(1);
    }
    assert_ok(plumb_control_debug(control, 0, &err));
    assert_ok(plumb_control_log_level(control, PLUMB_LOG_INFO, &err));
    assert_fails(PLUMB_ERR_ARG, "log level 9", plumb_control_log_level(control, 9, &err));
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static void the_ring_is_kept_on_request(void **state)
{
    const char *const settings[] = {"PLUMB_CONTROL=1",       "PLUMB=1",
                                    "PLUMB_QUIET=1",         "PLUMB_TRACE=1",
                                    "PLUMB_TRACE_MODE=ring", NULL};
    struct child c = child_start("works", "ring", settings);
    plumb_control *control = control_of(&c, c.pid);
    char path[1400];
    (void)state;
    while (status_of(control)->spans == 0)
        nap_ms(1);
    assert_ok(plumb_control_keep(path, sizeof path, control, "slow", &err));
    assert_true(exists(path));
    assert_non_null(strstr(path, "/ring/kept-1.pftrace"));
    assert_fails(PLUMB_ERR_ARG, "bytes", plumb_control_keep(path, 4, control, NULL, &err));
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static void a_trace_is_switched_on_and_off_inside_a_run(void **state)
{
    struct child c = child_start("works", "windows", on_and_recording);
    plumb_control *control = control_of(&c, c.pid);
    plumb_control_trace options = {.size = sizeof options, .path = "named.pftrace"};
    char first[1400], second[1400];
    (void)state;
    await_spans(control);
    assert_int_equal(status_of(control)->tracing, 0);
    assert_fails(PLUMB_ERR_STATE, "", plumb_control_trace_off(first, sizeof first, control, &err));
    assert_ok(plumb_control_trace_on(first, sizeof first, control, NULL, &err));
    assert_int_equal(status_of(control)->tracing, 2);
    assert_fails(PLUMB_ERR_STATE, "",
                 plumb_control_trace_on(second, sizeof second, control, NULL, &err));
    await_spans(control);
    assert_ok(plumb_control_trace_off(second, sizeof second, control, &err));
    assert_string_equal(first, second);
    assert_true(exists(first));
    assert_non_null(strstr(first, "/windows/trace-1.pftrace"));
    assert_int_equal(status_of(control)->tracing, 0);
    assert_ok(plumb_control_nodes(control, "wo*", &err));
    assert_fails(PLUMB_ERR_ARG, "no_such", plumb_control_regions(control, "no_such", &err));
    assert_ok(plumb_control_trace_on(first, sizeof first, control, &options, &err));
    assert_ok(plumb_control_trace_off(first, sizeof first, control, &err));
    assert_string_equal(first, in_place("named.pftrace"));
    assert_true(exists(first));
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

/* An answer that does not wait comes a thousand times before the trace is over. */
static void a_front_end_waits_for_the_end_of_a_trace(void **state)
{
    struct child c = child_start("works", "waits", on_and_recording);
    plumb_control *control = control_of(&c, c.pid);
    plumb_control_trace options = {.size = sizeof options, .for_ns = 200000000, .path = ""};
    const plumb_process *p;
    char path[1400];
    int asked = 0;
    (void)state;
    await_spans(control);
    assert_ok(plumb_control_wait(&p, control, 1000, &err));
    assert_int_equal(p->tracing, 0);
    assert_ok(plumb_control_trace_on(path, sizeof path, control, &options, &err));
    do
        assert_ok(plumb_control_wait(&p, control, 1000, &err));
    while (p->tracing && ++asked < 60);
    assert_in_range(asked, 0, 59);
    /* The wait has a limit: this trace has none. */
    options.for_ns = 0;
    assert_ok(plumb_control_trace_on(path, sizeof path, control, &options, &err));
    assert_ok(plumb_control_wait(&p, control, 1, &err));
    assert_int_equal(p->tracing, 2);
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static void a_front_end_ends_its_own_trace_and_no_other(void **state)
{
    struct child c = child_start("works", "owners", on_and_recording);
    plumb_control *control = control_of(&c, c.pid);
    char setting[1300];
    const char *const settings[] = {setting, NULL};
    plumb_control_trace soon = {.size = sizeof soon, .for_ns = 1};
    char first[1400], second[1400];
    (void)state;
    snprintf(setting, sizeof setting, "run_dir=%s", in_place("owners-2"));
    await_spans(control);
    assert_fails(PLUMB_ERR_STATE, "no trace", plumb_control_trace_end(control, "nix", &err));
    assert_fails(PLUMB_ERR_ARG, "NULL", plumb_control_trace_end(control, NULL, &err));
    assert_ok(plumb_control_trace_on(first, sizeof first, control, &soon, &err));
    while (status_of(control)->tracing)
        nap_ms(1);
    assert_ok(plumb_control_trace_on(second, sizeof second, control, NULL, &err));
    assert_ok(plumb_control_trace_end(control, first, &err)); /* it has ended by itself */
    assert_ok(plumb_control_trace_end(control, "", &err));
    assert_int_equal(status_of(control)->tracing, 2);
    assert_ok(plumb_control_trace_end(control, second, &err));
    assert_int_equal(status_of(control)->tracing, 0);
    assert_ok(plumb_control_stop(control, &err));
    assert_ok(plumb_control_start(control, settings, &err));
    assert_ok(plumb_control_trace_on(second, sizeof second, control, NULL, &err));
    assert_fails(PLUMB_ERR_STATE, second, plumb_control_trace_end(control, first, &err));
    assert_int_equal(status_of(control)->tracing, 2);
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

/* ---- The rows -------------------------------------------------------------------------------- */

static uint64_t bits(double v)
{
    uint64_t n;
    memcpy(&n, &v, sizeof n);
    return n;
}

/* Threads have ended, so the rows of both sides are of the same records. */
static int role_compares_rows(void)
{
    plumb_control *c = NULL;
    plumb_control_rows *outside = NULL;
    plumb_rows *inside = NULL;
    char pid[16];
    ROLE_NEEDS(plumb_control_open(NULL) == 0);
    for (int i = 0; i < 1000; i++) {
        work();
        plumb_record_ns(plumb_node_get("odd \xff name"), (uint64_t)i * 977 + 1);
        plumb_record_device_ns(plumb_node_get("device"), (uint64_t)i);
    }
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    ROLE_NEEDS(plumb_control_connect(&c, pid, CONTROL_WAIT_MS, NULL) == 0);
    ROLE_NEEDS(plumb_summary_rows(&inside, NULL, NULL, NULL) == 0);
    ROLE_NEEDS(plumb_control_summary(&outside, c, NULL, NULL, NULL) == 0);
    ROLE_NEEDS(plumb_rows_count(inside) == 3);
    ROLE_NEEDS(plumb_control_rows_count(outside) == 3);
    for (size_t i = 0; i < 3; i++) {
        const plumb_row *a = plumb_rows_get(inside, i), *b = plumb_control_rows_get(outside, i);
        const double *da = &a->mean_ms, *db = &b->mean_ms;
        ROLE_NEEDS(strcmp(a->node, b->node) == 0 && strcmp(a->phase, b->phase) == 0);
        ROLE_NEEDS(strcmp(a->pipeline, b->pipeline) == 0);
        ROLE_NEEDS(a->count == b->count && a->skipped == b->skipped && a->threads == b->threads);
        ROLE_NEEDS(a->failures == b->failures && a->device_count == b->device_count);
        ROLE_NEEDS(a->median_estimator == b->median_estimator);
        for (int k = 0; k < 12; k++)
            ROLE_NEEDS(bits(da[k]) == bits(db[k]));
        da = &a->device_total_ms;
        db = &b->device_total_ms;
        for (int k = 0; k < 5; k++)
            ROLE_NEEDS(bits(da[k]) == bits(db[k]));
    }
    plumb_control_rows_free(outside);
    plumb_rows_free(inside);
    plumb_control_disconnect(c);
    return 0;
}

static void rows_from_outside_are_bit_equal_to_those_of_inside(void **state)
{
    const char *const settings[] = {"PLUMB=1", "PLUMB_QUIET=1", "PLUMB_CLOCK=virtual", NULL};
    struct child c;
    int status = child_run(&c, "compares_rows", "rows", settings);
    (void)state;
    assert_exited(&c, status, 0);
}

/* ---- Children -------------------------------------------------------------------------------- */

/* A parent that serves with a child; neither records. */
static int role_forks(void)
{
    pid_t child;
    work();
    child = fork();
    if (child == 0) {
        while (getppid() != 1 && !child_may_go()) {
            work();
            nap_ms(1);
        }
        _exit(5);
    }
    ROLE_NEEDS(dprintf(CHILD_READY_FD, "r%d\n", (int)child) > 0);
    child_needs_exit(child, 5);
    return role_works();
}

static pid_t child_of(const struct child *c)
{
    char text[32] = "";
    size_t n = 0;
    while (n < sizeof text - 1 && !strchr(text, '\n')) {
        ssize_t got = read(c->ready_fd, text + n, 1);
        if (got != 1)
            fail_msg("the child ended early: %s", child_errors(c));
        n += (size_t)got;
    }
    return (pid_t)atoi(text + (text[0] == 'r'));
}

static void a_forked_child_is_controlled_under_its_own_pid(void **state)
{
    struct child c = child_start("forks", NULL, on);
    pid_t child;
    plumb_control *parent_side, *child_side;
    char setting[1200];
    const char *settings[] = {setting, NULL};
    struct plumb_load load;
    (void)state;
    child_await_ready(&c);
    child = child_of(&c);
    parent_side = control_of(&c, c.pid);
    child_side = control_of(&c, child);
    assert_int_equal(status_of(child_side)->pid, child);
    assert_int_equal(status_of(parent_side)->pid, c.pid);
    snprintf(setting, sizeof setting, "run_dir=%s", in_place("of-the-child"));
    assert_ok(plumb_control_start(child_side, settings, &err));
    await_spans(child_side);
    assert_int_equal(status_of(parent_side)->recording, 0);
    assert_ok(plumb_control_stop(child_side, &err));
    load_run(&load, in_place("of-the-child"));
    assert_true(count_of(&load.timing, "work") > 0);
    plumb_timing_fini(&load.timing);
    plumb_control_disconnect(child_side);
    plumb_control_disconnect(parent_side);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

static int role_execs(void)
{
    char path[1024];
    char *args[] = {path, (char *)(uintptr_t) "works", NULL};
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    work();
    ROLE_NEEDS(plumb_control_open(NULL) == 0);
    path[n > 0 ? n : 0] = '\0';
    execv(path, args);
    return 1;
}

static void after_exec_the_new_program_takes_the_socket_over(void **state)
{
    struct child c = child_start("execs", NULL, on);
    plumb_control *control;
    (void)state;
    child_await_ready(&c);
    control = control_of(&c, c.pid);
    assert_non_null(strstr(status_of(control)->command, " works"));
    plumb_control_disconnect(control);
    end_with(&c, 3);
}

static const struct role roles[] = {{"works", role_works},
                                    {"is_renamed", role_is_renamed},
                                    {"is_limited", role_is_limited},
                                    {"opens_itself", role_opens_itself},
                                    {"has_pipelines", role_has_pipelines},
                                    {"compares_rows", role_compares_rows},
                                    {"forks", role_forks},
                                    {"execs", role_execs},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_listed_while_it_lives_and_leaves_no_socket),
        cmocka_unit_test(a_process_is_found_by_the_name_that_it_gives_itself),
        cmocka_unit_test(a_process_that_was_not_asked_to_is_not_found),
        cmocka_unit_test(a_killed_process_leaves_a_socket_that_the_next_look_removes),
        cmocka_unit_test(a_socket_on_which_a_process_listens_is_not_removed),
        cmocka_unit_test(the_program_itself_may_open_and_close),
        cmocka_unit_test(a_run_ends_with_the_control_that_it_was_to_last_as_long_as),
        cmocka_unit_test(a_run_is_opened_and_ended_from_outside),
        cmocka_unit_test(what_goes_wrong_in_a_run_is_said_to_its_front_end_alone),
        cmocka_unit_test(wrong_settings_are_refused_and_change_nothing),
        cmocka_unit_test(plumb_0_wins_over_a_front_end),
        cmocka_unit_test(pipelines_are_listed_switched_skipped_and_reset),
        cmocka_unit_test(debug_spans_and_the_log_level_are_switched),
        cmocka_unit_test(the_ring_is_kept_on_request),
        cmocka_unit_test(a_trace_is_switched_on_and_off_inside_a_run),
        cmocka_unit_test(a_front_end_waits_for_the_end_of_a_trace),
        cmocka_unit_test(a_front_end_ends_its_own_trace_and_no_other),
        cmocka_unit_test(rows_from_outside_are_bit_equal_to_those_of_inside),
        cmocka_unit_test(a_forked_child_is_controlled_under_its_own_pid),
        cmocka_unit_test(after_exec_the_new_program_takes_the_socket_over),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, control_place, NULL);
}

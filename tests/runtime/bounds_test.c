/* labels: notsan
 * Beyond every bound the host goes on as if nothing were there, and the report says what it lacks.
 */
#include <grp.h>
#include <pthread.h>
#include <sys/resource.h>

#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/runtime.h"
#include "runtime/child.h"

static void spans(const char *name, int n)
{
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN_NODE(node);
    }
}

static void record(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("work");
    }
}

static uint64_t count_of_all(const struct plumb_timing *t)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->node_count; i++)
        n += t->nodes[i].host.ns.count;
    return n;
}

/* Plays a role with one more setting; it must end with `code` and leave a report. */
static void load_of(struct plumb_load *run, struct child *c, const char *role, const char *setting,
                    int code)
{
    const char *const settings[] = {setting, NULL};
    int status = child_run(c, role, role, settings);
    assert_exited(c, status, code);
    load_run(run, in_place(role));
    assert_int_equal(run->state, PLUMB_LOAD_ENDED);
    assert_consistent(&run->timing, run->timing.drops.tree == 0);
}

/* ---- Scopes
 * ----------------------------------------------------------------------------------------- */

static int role_seventy_scopes(void)
{
    plumb_scope scope[70];
    for (int i = 0; i < 70; i++) {
        char name[32];
        snprintf(name, sizeof name, "phase.%d", i);
        scope[i] = plumb_phase_begin(name);
        spans("work", 1);
    }
    for (int i = 70; i-- > 0;)
        plumb_scope_end(scope[i]);
    spans("work", 1);
    return 3;
}

static void scopes_beyond_the_bound_are_counted_and_not_applied(void **state)
{
    struct plumb_load run;
    struct child c;
    bool said = false;
    (void)state;
    load_of(&run, &c, "seventy_scopes", NULL, 3);
    for (size_t i = 0; i < run.timing.note_count; i++)
        said |= strcmp(run.timing.notes[i],
                       "6 scopes were not applied: a thread had 64 nested already") == 0;
    assert_true(said);
    assert_int_equal(count_of_all(&run.timing), 71);
    for (size_t i = 0; i < run.timing.node_count; i++) {
        if (strcmp(run.timing.nodes[i].phase, "phase.63") == 0)
            assert_int_equal(run.timing.nodes[i].host.ns.count, 7);
    }
    plumb_timing_fini(&run.timing);
}

/* ---- Nodes
 * ----------------------------------------------------------------------------------------- */

static int role_twenty_names(void)
{
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "name.%d", i);
        spans(name, 10);
    }
    return 3;
}

static void names_beyond_the_bound_are_counted_under_other(void **state)
{
    struct plumb_load run;
    struct child c;
    (void)state;
    load_of(&run, &c, "twenty_names", "PLUMB_MAX_NODES=8", 3);
    assert_int_equal(count_of_all(&run.timing), 200);
    assert_int_equal(count_of(&run.timing, "name.0"), 10);
    assert_true(count_of(&run.timing, "(other)") >= 120);
    assert_true(run.timing.node_count <= 9);
    assert_true(run.timing.drops.other_nodes > 0);
    assert_non_null(strstr(child_errors(&c), "PLUMB_MAX_NODES"));
    plumb_timing_fini(&run.timing);
}

static int role_a_million_names(void)
{
    uint64_t kib = 0;
    for (int i = 0; i < 1000000; i++) {
        char name[32];
        snprintf(name, sizeof name, "name.%d", i);
        spans(name, 1);
        if (i == 20000)
            kib = resident_kib();
    }
    ROLE_NEEDS(resident_kib() <= kib + 1024);
    return 3;
}

static void a_million_names_neither_grow_the_process_nor_end_it(void **state)
{
    struct plumb_load run;
    struct child c;
    (void)state;
    load_of(&run, &c, "a_million_names", "PLUMB_MAX_NODES=4096", 3);
    assert_int_equal(count_of_all(&run.timing), 1000000);
    assert_true(count_of(&run.timing, "(other)") >= 1000000 - 4096);
    assert_true(run.timing.node_count <= 4097);
    plumb_timing_fini(&run.timing);
}

/* ---- Texts made up without end ----------------------------------------------------------------
 */

enum { REASONS = 1000000 };

static void *new_thread(void *arg)
{
    spans("from.a.new.thread", 10);
    return arg;
}

static void something_new(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        char name[32];
        snprintf(name, sizeof name, "new.%d", i);
        spans(name, 10);
        ROLE_NEEDS(pthread_create(&thread, NULL, new_thread, NULL) == 0);
        pthread_join(thread, NULL);
    }
}

static void run_failing(plumb_node node, const char *why)
{
    plumb_span s = plumb_begin_node(node);
    plumb_span_fail(s, why);
    plumb_end(s);
}

static int role_a_million_reasons(void)
{
    plumb_node node = plumb_node_get("request"), async = plumb_node_get("async");
    uint64_t kib = 0;
    run_failing(plumb_node_get("early"), "of long ago");
    for (int i = 0; i < REASONS; i++) {
        plumb_async a = plumb_async_begin(async);
        char why[64];
        snprintf(why, sizeof why, "timeout after %d.%03d ms", i / 1000, i % 1000);
        run_failing(node, why);
        run_failing(plumb_node_get("same"), "always the same");
        plumb_async_fail(a, why);
        if (i == 50000)
            kib = resident_kib();
    }
    run_failing(plumb_node_get("late"), "just now");
    ROLE_NEEDS(resident_kib() <= kib + 1024);
    something_new();
    return 3;
}

static void assert_something_new(const struct plumb_timing *t)
{
    for (int i = 0; i < 8; i++) {
        char name[32];
        snprintf(name, sizeof name, "new.%d", i);
        assert_int_equal(count_of(t, name), 10);
    }
    assert_int_equal(count_of(t, "from.a.new.thread"), 80);
    assert_int_equal(t->drops.lost_state, 0);
    assert_int_equal(t->drops.other_state, 0);
}

static const char *last_failure(const struct plumb_timing *t, const char *name)
{
    return node_in(t, "inference", name)->last_failure;
}

static void a_million_reasons_leave_room_and_each_node_its_last(void **state)
{
    struct plumb_load run;
    struct child c;
    (void)state;
    load_of(&run, &c, "a_million_reasons", "PLUMB_MAX_STATE=4M", 3);
    assert_something_new(&run.timing);
    assert_int_equal(node_in(&run.timing, "inference", "request")->failures, REASONS);
    assert_string_equal(last_failure(&run.timing, "request"), "timeout after 999.999 ms");
    assert_string_equal(last_failure(&run.timing, "async"), "timeout after 999.999 ms");
    assert_string_equal(last_failure(&run.timing, "same"), "always the same");
    assert_string_equal(last_failure(&run.timing, "late"), "just now");
    /* Its text has given way, and it is not shown with another's. */
    assert_string_equal(last_failure(&run.timing, "early"), "(other)");
    plumb_timing_fini(&run.timing);
}

static int role_long_reason(void)
{
    char why[600];
    for (int i = 0; i < 598; i += 2)
        memcpy(why + i, "\xc3\xa9", 2);
    why[598] = '\0';
    run_failing(plumb_node_get("long"), why);
    return 3;
}

static void a_long_reason_is_cut_between_characters(void **state)
{
    struct plumb_load run;
    struct child c;
    const char *why;
    (void)state;
    load_of(&run, &c, "long_reason", NULL, 3);
    why = last_failure(&run.timing, "long");
    assert_in_range(strlen(why), 200, 243);
    for (size_t i = 0; why[i]; i += 2)
        assert_memory_equal(why + i, "\xc3\xa9", 2);
    plumb_timing_fini(&run.timing);
}

static int role_made_up_keys(void)
{
    plumb_node node = plumb_node_get("request");
    for (int i = 0; i < 100000; i++) {
        plumb_span s = plumb_begin_node(node);
        char key[64];
        snprintf(key, sizeof key, "user.%d", i);
        plumb_arg_i64(s, key, i);
        plumb_arg_i64(s, "size", i);
        plumb_end(s);
    }
    something_new();
    return 3;
}

static void names_made_up_without_end_are_other_and_told(void **state)
{
    struct plumb_load run;
    struct child c;
    unsigned long long told = 0;
    (void)state;
    load_of(&run, &c, "made_up_keys", "PLUMB_MAX_STATE=4M", 3);
    assert_something_new(&run.timing);
    assert_int_equal(count_of(&run.timing, "request"), 100000);
    for (size_t i = 0; i < run.timing.note_count && !told; i++)
        if (strstr(run.timing.notes[i], "uses of names"))
            assert_int_equal(sscanf(run.timing.notes[i], "%llu", &told), 1);
    /* 4096 names of 64 bytes are kept, the one that came before among them. */
    assert_in_range(told, 100000 - 4096, 100000 - 3000);
    assert_non_null(strstr(child_errors(&c), "uses of names"));
    plumb_timing_fini(&run.timing);
}

/* ---- State
 * ------------------------------------------------------------------------------------------ */

static int role_a_thousand_names(void)
{
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "name.%d", i);
        spans(name, 5);
    }
    return 3;
}

static void statistics_beyond_the_bound_are_counted_under_other(void **state)
{
    struct plumb_load run;
    struct child c;
    (void)state;
    load_of(&run, &c, "a_thousand_names", "PLUMB_MAX_STATE=1M", 3);
    assert_int_equal(count_of_all(&run.timing) + run.timing.drops.lost_state, 5000);
    assert_int_equal(run.timing.drops.lost_state, 0);
    assert_int_equal(run.timing.drops.other_state, count_of(&run.timing, "(other)"));
    assert_true(count_of(&run.timing, "(other)") > 1000);
    assert_int_equal(count_of(&run.timing, "name.0"), 5);
    assert_non_null(strstr(child_errors(&c), "PLUMB_MAX_STATE"));
    plumb_timing_fini(&run.timing);
}

static int role_hardly_any_room(void)
{
    record(1000);
    spans("another", 1000);
    return 3;
}

static void without_room_for_anything_the_host_goes_on(void **state)
{
    static const char *const settings[] = {"PLUMB_MAX_STATE=64K", NULL};
    struct child c;
    struct plumb_load run;
    const char *dir = in_place("no_room");
    int status = child_run(&c, "hardly_any_room", "no_room", settings);
    (void)state;
    assert_exited(&c, status, 3);
    assert_true(child_errors(&c)[0] != '\0');
    if (!run_has(dir, "timing.json"))
        return;
    load_run(&run, dir);
    assert_int_equal(count_of_all(&run.timing) + run.timing.drops.lost_state, 2000);
    plumb_timing_fini(&run.timing);
}

enum { ASYNC = 70000 };

static int role_many_async(void)
{
    static plumb_async open[ASYNC];
    plumb_node node = plumb_node_get("request");
    for (int i = 0; i < ASYNC; i++)
        open[i] = plumb_async_begin(node);
    for (int i = 0; i < ASYNC; i++)
        plumb_async_end(open[i]);
    for (int i = 0; i < 100; i++)
        plumb_async_end(plumb_async_begin(node)); /* they fit again */
    return 3;
}

static void async_spans_beyond_the_bound_are_dropped_and_counted(void **state)
{
    struct plumb_load run;
    struct child c;
    uint64_t n;
    (void)state;
    load_of(&run, &c, "many_async", "PLUMB_QUIET=0", 3);
    n = count_of(&run.timing, "request");
    assert_in_range(n, 65000 + 100, 65536 + 100);
    assert_int_equal(run.timing.drops.async, ASYNC + 100 - n);
    assert_int_equal(run.timing.open_count, 0);
    assert_non_null(strstr(child_errors(&c), "async spans beyond"));
    plumb_timing_fini(&run.timing);
}

static void nest(int depth)
{
    PLUMB_SPAN("nested");
    if (depth > 1)
        nest(depth - 1);
}

static int role_nests(void)
{
    nest(400);
    nest(255);
    return 3;
}

static void spans_nested_deeper_than_can_be_kept_are_counted(void **state)
{
    struct plumb_load run;
    struct child c;
    (void)state;
    load_of(&run, &c, "nests", "PLUMB_QUIET=0", 3);
    assert_int_equal(count_of(&run.timing, "nested"), 2 * 255);
    assert_int_equal(run.timing.drops.too_deep, 400 - 255);
    assert_non_null(strstr(child_errors(&c), "deeper"));
    plumb_timing_fini(&run.timing);
}

static int role_pipelines_without_room(void)
{
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "name.%d", i);
        spans(name, 5);
    }
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "pipeline.%d", i);
        plumb_scope scope = plumb_pipeline_begin(plumb_pipeline_get(name));
        spans("name.0", 5);
        plumb_scope_end(scope);
    }
    ROLE_NEEDS(plumb_rt.pipeline_count > plumb_rt.run->h->pipelines.count);
    for (uint32_t i = 0; i < plumb_rt.pipeline_count; i++)
        ROLE_NEEDS((void *)plumb_pipeline_of_group(plumb_rt.run, i << 8) >
                   (void *)(plumb_rt.run->h + 1));
    return 3;
}

/* Their part of the mapping would be its header, which says that they were reset. */
static void pipelines_without_room_are_not_read_from_the_header(void **state)
{
    static const char *const settings[] = {"PLUMB_MAX_STATE=512K", NULL};
    struct child c;
    int status = child_run(&c, "pipelines_without_room", "pipelines", settings);
    (void)state;
    assert_exited(&c, status, 3);
}

/* ---- What the system gives
 * ---------------------------------------------------------------------------- */

enum { MIB = 1024 * 1024 };

/* A field of /proc/self/status, "VmSize" or "VmData". */
static rlim_t status_bytes(const char *field)
{
    unsigned long long kib = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "re");
    size_t n = strlen(field);
    ROLE_NEEDS(f != NULL);
    while (!kib && fgets(line, sizeof line, f))
        if (strncmp(line, field, n) == 0 && line[n] == ':')
            ROLE_NEEDS(sscanf(line + n + 1, "%llu", &kib) == 1);
    fclose(f);
    ROLE_NEEDS(kib > 0);
    return (rlim_t)kib * 1024;
}

static void need_memory(size_t bytes)
{
    char *p = malloc(bytes);
    ROLE_NEEDS(p != NULL);
    p[0] = p[bytes - 1] = 1;
    __asm__ volatile("" : : "r"(p) : "memory");
    free(p);
}

static int in_little(int resource, const char *field)
{
    struct rlimit limit;
    /* The helper takes addresses when it begins, which is not what is left for the program. */
    ROLE_NEEDS(plumb_helper_do(PLUMB_JOB_RSS, UINT64_C(60000000000)));
    limit.rlim_cur = limit.rlim_max = status_bytes(field) + 160 * MIB;
    ROLE_NEEDS(setrlimit((unsigned)resource, &limit) == 0);
    record(100);
    need_memory(96 * MIB);
    record(100);
    return 3;
}

/* A little more than now; the default mapping alone is 256 MiB. */
static int role_little_address_space(void)
{
    return in_little(RLIMIT_AS, "VmSize");
}

static int role_little_data(void)
{
    return in_little(RLIMIT_DATA, "VmData");
}

static void assert_little(const char *role)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)role;
    print_message("skipped: sanitizers need terabytes themselves\n");
    skip();
#else
    struct plumb_load run;
    struct child c;
    load_of(&run, &c, role, NULL, 3);
    assert_int_equal(count_of(&run.timing, "work"), 200);
    assert_non_null(strstr(child_errors(&c), "less than PLUMB_MAX_STATE"));
    plumb_timing_fini(&run.timing);
#endif
}

static void in_little_memory_there_is_a_run_and_room_for_the_host(void **state)
{
    (void)state;
    assert_little("little_address_space");
    assert_little("little_data");
}

/* Off, so that there is no run. */
static int role_passes_a_point(void)
{
    rlim_t before = status_bytes("VmSize");
    record(100);
    ROLE_NEEDS(!plumb_is_recording());
    ROLE_NEEDS(status_bytes("VmSize") - before <= 2 * MIB);
    return 3;
}

static void without_recording_nothing_is_reserved(void **state)
{
    struct child c;
    int status = child_run(&c, "passes_a_point", NULL, NULL);
    (void)state;
    assert_exited(&c, status, 3);
}

static int role_unprivileged(void)
{
    if (geteuid() == 0) {
        ROLE_NEEDS(setgroups(0, NULL) == 0);
        ROLE_NEEDS(setresgid(65534, 65534, 65534) == 0);
        ROLE_NEEDS(setresuid(65534, 65534, 65534) == 0);
    }
    record(100);
    return 3;
}

static void a_directory_that_cannot_be_written_gives_the_table_on_stderr(void **state)
{
    char dir[1100];
    const char *const settings[] = {"PLUMB=1", dir, "ASAN_OPTIONS=detect_leaks=0", NULL};
    struct child c;
    int status;
    (void)state;
    assert_int_equal(mkdir("locked", 0555), 0);
    snprintf(dir, sizeof dir, "PLUMB_DIR=%s", in_place("locked/out"));
    status = child_run(&c, "unprivileged", NULL, settings);
    assert_exited(&c, status, 3);
    assert_non_null(strstr(child_errors(&c), "recording in memory"));
    assert_non_null(strstr(child_errors(&c), "work"));
    assert_non_null(strstr(child_errors(&c), "TOTAL"));
    assert_false(exists(in_place("locked/out")));
}

static void a_directory_that_is_a_file_gives_the_table_on_stderr(void **state)
{
    struct child c;
    FILE *f = fopen("a-file", "we");
    int status;
    (void)state;
    assert_non_null(f);
    fclose(f);
    status = child_run(&c, "hardly_any_room", "a-file/run", NULL);
    assert_exited(&c, status, 3);
    assert_non_null(strstr(child_errors(&c), "recording in memory"));
    assert_non_null(strstr(child_errors(&c), "another"));
}

static uint64_t checksum(const char *dir)
{
    char path[1100];
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    FILE *f;
    snprintf(path, sizeof path, "%s/timing.json", dir);
    f = fopen(path, "re");
    assert_non_null(f);
    for (int c; (c = getc(f)) != EOF;)
        h = (h ^ (unsigned char)c) * UINT64_C(0x100000001b3);
    fclose(f);
    return h;
}

static void a_directory_that_holds_a_run_is_refused(void **state)
{
    struct child c;
    uint64_t before;
    int status = child_run(&c, "hardly_any_room", "taken", NULL);
    (void)state;
    assert_exited(&c, status, 3);
    before = checksum(in_place("taken"));
    status = child_run(&c, "hardly_any_room", "taken", NULL);
    assert_exited(&c, status, 3);
    assert_non_null(strstr(child_errors(&c), "already holds a run"));
    assert_int_equal(checksum(in_place("taken")), before);
    assert_false(run_has(in_place("taken"), PLUMB_LIVE_NAME));
}

static int role_sleeps_inside(void)
{
    struct timespec ms = {0, 2000000};
    for (int i = 0; i < 5; i++) {
        PLUMB_SPAN("sleep");
        nanosleep(&ms, NULL);
    }
    return 3;
}

static void without_a_usable_counter_the_clock_is_clock_gettime(void **state)
{
    struct plumb_load run;
    struct child c;
    const struct plumb_timing_node *n;
    (void)state;
    load_of(&run, &c, "sleeps_inside", "PLUMB_CLOCK=monotonic", 3);
    assert_string_equal(run.timing.clock.source, "clock_gettime");
    n = node_in(&run.timing, "inference", "sleep");
    assert_int_equal(n->host.ns.count, 5);
    assert_true(n->host.ns.min >= 2000000);
    assert_true(n->host.ns.total <= run.timing.wall_clock_ns);
    plumb_timing_fini(&run.timing);
}

/* ---- Names
 * ------------------------------------------------------------------------------------------- */

static char long_names[2][301];

static const char *const hostile[] = {"../x",
                                      "/etc/passwd",
                                      "..",
                                      "",
                                      "\xff",
                                      "\xfe",
                                      "\xef\xbf\xbd",
                                      "\xc3\x28",
                                      "\xed\xa0\x80",
                                      "a\x01"
                                      "b",
                                      "a\x02"
                                      "b",
                                      "tab\t",
                                      "line\nline",
                                      "quote\"",
                                      "back\\",
                                      "\\u0001",
                                      "\x1b[31m",
                                      "\x7f",
                                      "(other)x",
                                      "name",
                                      "name ",
                                      long_names[0],
                                      long_names[1]};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static void make_long_names(void)
{
    for (int i = 0; i < 2; i++) {
        memset(long_names[i], 'n', 300);
        long_names[i][299] = (char)('a' + i);
    }
}

static int role_hostile(void)
{
    make_long_names();
    for (int i = 0; i < HOSTILE; i++) {
        /* The empty name is the default's. */
        const char *name = hostile[i][0] ? hostile[i] : "empty";
        plumb_scope phase = plumb_phase_begin(name);
        plumb_scope pipeline = plumb_pipeline_begin(plumb_pipeline_get(name));
        plumb_span s = plumb_begin_node(plumb_node_get(hostile[i]));
        plumb_arg_str(s, hostile[i], hostile[i]);
        plumb_end(s);
        plumb_counter_add(hostile[i], i);
        plumb_scope_end(pipeline);
        plumb_scope_end(phase);
        spans(hostile[i], i + 1);
        plumb_counter_add(hostile[i], i + 1);
    }
    return 3;
}

/* As files: nothing but the report and the summary of the rank, whatever the names. */
static void assert_only_reports_below(const char *dir)
{
    char command[1200], line[1024];
    FILE *f;
    snprintf(command, sizeof command,
             "find '%s' ! -type d ! -type l ! -name timing.json ! -name 'summary_rank0.*'", dir);
    f = popen(command, "r");
    assert_non_null(f);
    if (fgets(line, sizeof line, f))
        fail_msg("left behind: %s", line);
    pclose(f);
}

static void hostile_names_stay_distinct_and_inside(void **state)
{
    char dirs[1][1024], dir[1100];
    const char *const settings[] = {"PLUMB=1", dir, "PLUMB_PIPELINE=../../p", "PLUMB_QUIET=1",
                                    NULL};
    struct child c;
    struct plumb_load run;
    uint64_t found = 0;
    int status;
    (void)state;
    make_long_names();
    snprintf(dir, sizeof dir, "PLUMB_DIR=%s", in_place("hostile/out"));
    status = child_run(&c, "hostile", NULL, settings);
    assert_exited(&c, status, 3);
    assert_int_equal(runs_below(dirs, 1, in_place("hostile/out")), 1);
    assert_only_reports_below(in_place("hostile"));
    load_run(&run, dirs[0]);
    assert_consistent(&run.timing, true);
    assert_string_equal(run.timing.pipeline, "../../p");
    for (size_t i = 0; i < run.timing.node_count; i++) {
        const struct plumb_timing_node *n = &run.timing.nodes[i];
        if (strcmp(n->pipeline, "../../p") != 0)
            continue;
        assert_int_equal(n->host.ns.count, found + 1); /* each has its own, in order */
        found++;
        /* Printable names come back as they were. */
        if (strcmp(n->name, "../x") == 0 || strcmp(n->name, "quote\"") == 0)
            assert_string_equal(n->name, hostile[found - 1]);
        for (size_t k = 0; k < i; k++)
            assert_false(strcmp(run.timing.nodes[k].name, n->name) == 0 &&
                         strcmp(run.timing.nodes[k].pipeline, n->pipeline) == 0 &&
                         strcmp(run.timing.nodes[k].phase, n->phase) == 0);
    }
    assert_int_equal(found, HOSTILE);
    plumb_timing_fini(&run.timing);
}

static const struct role roles[] = {{"seventy_scopes", role_seventy_scopes},
                                    {"twenty_names", role_twenty_names},
                                    {"a_million_names", role_a_million_names},
                                    {"a_million_reasons", role_a_million_reasons},
                                    {"long_reason", role_long_reason},
                                    {"made_up_keys", role_made_up_keys},
                                    {"a_thousand_names", role_a_thousand_names},
                                    {"hardly_any_room", role_hardly_any_room},
                                    {"many_async", role_many_async},
                                    {"nests", role_nests},
                                    {"little_address_space", role_little_address_space},
                                    {"pipelines_without_room", role_pipelines_without_room},
                                    {"little_data", role_little_data},
                                    {"passes_a_point", role_passes_a_point},
                                    {"unprivileged", role_unprivileged},
                                    {"sleeps_inside", role_sleeps_inside},
                                    {"hostile", role_hostile},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes_beyond_the_bound_are_counted_and_not_applied),
        cmocka_unit_test(names_beyond_the_bound_are_counted_under_other),
        cmocka_unit_test(a_million_names_neither_grow_the_process_nor_end_it),
        cmocka_unit_test(a_million_reasons_leave_room_and_each_node_its_last),
        cmocka_unit_test(a_long_reason_is_cut_between_characters),
        cmocka_unit_test(names_made_up_without_end_are_other_and_told),
        cmocka_unit_test(statistics_beyond_the_bound_are_counted_under_other),
        cmocka_unit_test(without_room_for_anything_the_host_goes_on),
        cmocka_unit_test(async_spans_beyond_the_bound_are_dropped_and_counted),
        cmocka_unit_test(spans_nested_deeper_than_can_be_kept_are_counted),
        cmocka_unit_test(pipelines_without_room_are_not_read_from_the_header),
        cmocka_unit_test(in_little_memory_there_is_a_run_and_room_for_the_host),
        cmocka_unit_test(without_recording_nothing_is_reserved),
        cmocka_unit_test(a_directory_that_cannot_be_written_gives_the_table_on_stderr),
        cmocka_unit_test(a_directory_that_is_a_file_gives_the_table_on_stderr),
        cmocka_unit_test(a_directory_that_holds_a_run_is_refused),
        cmocka_unit_test(without_a_usable_counter_the_clock_is_clock_gettime),
        cmocka_unit_test(hostile_names_stay_distinct_and_inside),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}

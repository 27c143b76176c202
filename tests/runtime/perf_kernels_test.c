/* labels: notsan
 * The collector `perf`: work on the host that another collector reports is counted on its thread,
 * by its name and the stage around it; a kernel that failed, or ended on another thread, is
 * not. (ThreadSanitizer touches pages of its own.) */
#include <sys/mman.h>

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <plumb/collector.h>
#include <plumb/stage.h>

#include "record.h"

enum { PAGES = 50, RUNS = 4 };

static plumb_lane lane;

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = {.size = sizeof o, .name = "kernels", .kind = PLUMB_LANE_OF_HOST};
    (void)arg;
    (void)options;
    return plumb_lane_open(&lane, self, &o, err);
}

static const plumb_collector_ops ops = {.size = sizeof ops, .name = "mine", .start = start};

static void touch(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *p =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    madvise((void *)p, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        p[i * page] = 1;
    munmap((void *)p, PAGES * page);
}

struct work {
    plumb_origin origin;
    uint64_t begin;
};

static struct work begin(void)
{
    struct work w;
    plumb_origin_capture(&w.origin, lane, 0);
    w.begin = plumb_host_ticks();
    return w;
}

static void end(const struct work *w, const char *name)
{
    const plumb_clock host = {0};
    plumb_event e = {.size = sizeof e,
                     .kind = PLUMB_EVENT_SPAN,
                     .name = plumb_name_get(name),
                     .begin = w->begin,
                     .end = plumb_host_ticks(),
                     .origin = &w->origin};
    assert_int_equal(plumb_emit(lane, host, &e), PLUMB_OK);
}

static void *end_elsewhere(void *work)
{
    end(work, "elsewhere");
    return NULL;
}

static void work_in(const char *stage)
{
    plumb_span s = plumb_begin_with(plumb_node_get(stage), PLUMB_POINT_STAGE);
    for (int i = 0; i < RUNS; i++) {
        struct work outer = begin();
        struct work inner = begin();
        touch();
        end(&inner, "inner");
        begin(); /* of a kernel that fails */
        end(&outer, "outer");
    }
    plumb_end(s);
}

/* Returns the kernel's entry. */
static const json_t *kernel(const json_t *root, const char *name, const char *stage)
{
    size_t i;
    json_t *k;
    json_array_foreach(json_object_get(json_object_get(root, "perf"), "kernels"), i, k)
    {
        const char *of = json_string_value(json_object_get(k, "name"));
        if (strcmp(json_string_value(json_object_get(k, "kernel")), name) == 0 &&
            (stage ? of && strcmp(of, stage) == 0 : !of))
            return k;
    }
    return NULL;
}

static void check(const json_t *root, const char *name, const char *stage, int runs, int faults)
{
    const json_t *k = kernel(root, name, stage);
    assert_non_null(k);
    const json_t *minor = json_object_get(json_object_get(k, "counters"), "minor_faults");
    assert_int_equal(json_integer_value(json_object_get(k, "runs")), runs);
    assert_int_equal(json_integer_value(json_object_get(minor, "runs")), runs);
    assert_in_range(json_integer_value(json_object_get(minor, "total")), faults,
                    faults + 16 * runs);
}

static void kernels_are_counted_by_name_and_stage(void **state)
{
    plumb_options o = plumb_options_default();
    char dir[1024];
    char path[1100];
    json_error_t why;
    pthread_t thread;
    (void)state;
    plumb_collector *mine = plumb_collector_register(&ops, NULL, NULL);
    assert_non_null(mine);
    o.collect = "mine,perf:software";
    record_start_with(o);
    work_in("first");
    work_in("second");
    struct work w = begin();
    touch();
    end(&w, "inner");
    w = begin();
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &w), 0);
    pthread_join(thread, NULL);
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    snprintf(path, sizeof path, "%s/timing.json", dir);
    json_t *root = json_load_file(path, 0, &why);
    if (!root)
        fail_msg("%s", why.text);
    check(root, "inner", "first", RUNS, RUNS * PAGES);
    check(root, "outer", "second", RUNS, RUNS * PAGES);
    check(root, "inner", NULL, 1, PAGES);
    assert_null(kernel(root, "elsewhere", NULL));
    json_decref(root);
    assert_int_equal(plumb_collector_unregister(mine, NULL), PLUMB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(kernels_are_counted_by_name_and_stage, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

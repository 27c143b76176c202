/* labels: notsan
 * Damaged mappings: cut short at every page, or with bytes changed at random. Each gives one clear
 * line or a report that can be written and read again, and never a crash. */
#include <ctype.h>

#include "live/read.h"
#include "live/shape_times.h"
#include "runtime/child.h"
#include "tensor_fixture.h"

#if defined(__SANITIZE_ADDRESS__)
enum { FLIPS = 500 };
#else
enum { FLIPS = 1000 };
#endif

/* A mapping with some of everything. */
static int role_killed(void)
{
    static struct plumb_point open_point = PLUMB_POINT_INIT("open", PLUMB_POINT_STAGE);
    plumb_node node = plumb_node_get("dynamic");
    plumb_async_begin(node);
    for (int i = 0; i < 500; i++) {
        PLUMB_PHASE(i % 3 ? "inference" : "train");
        PLUMB_SPAN_AS(s, "outer");
        PLUMB_SPAN_NODE(node);
        plumb_arg_str(s, "key", "value");
        if (i % 9 == 0)
            plumb_span_fail(s, "made to fail");
        plumb_record_ns(node, 1000u + (unsigned)i);
        plumb_record_device_ns(node, 2000u + (unsigned)i);
        plumb_counter_add("things", i);
        plumb_async_end(plumb_async_begin(node));
    }
    for (int64_t i = 0; i < 40; i++) {
        struct fixture_tensor t;
        fixture_tensor(&t, NULL, "float32", (const int64_t[]){i % 3, 8, -1});
        PLUMB_PHASE(i % 2 ? "inference" : "train");
        PLUMB_STAGE(s, "denoise");
        plumb_stage_input(s, "latents", &t.dl);
        plumb_stage_input_value(s, "steps", plumb_value_i64(i));
    }
    plumb_begin(&open_point);
    kill(getpid(), SIGKILL);
    return 0;
}

struct image {
    unsigned char *bytes, *copy;
    size_t size, used;
};

static int setup_of(void **state, const char *dir, const char *const *settings)
{
    static struct image image;
    struct child c;
    char path[1200];
    FILE *f;
    int status = child_run(&c, "killed", dir, settings);
    assert_signaled(&c, status, SIGKILL);
    snprintf(path, sizeof path, "%s/" PLUMB_LIVE_NAME, in_place(dir));
    f = fopen(path, "rbe");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    image.size = (size_t)ftell(f);
    rewind(f);
    image.bytes = malloc(image.size);
    image.copy = malloc(image.size);
    assert_int_equal(fread(image.bytes, 1, image.size, f), image.size);
    fclose(f);
    image.used = ((struct plumb_live_header *)(void *)image.bytes)->used;
    *state = &image;
    return 0;
}

static int setup(void **state)
{
    return fresh_place(state) ? -1 : setup_of(state, "killed", NULL);
}

/* Of a traced run, with all of its trace still in the mapping. */
static int setup_traced(void **state)
{
    static const char *const settings[] = {"PLUMB_TRACE=1", "PLUMB_TRACE_RING=64K", NULL};
    struct plumb_live_header *h;
    setup_of(state, "traced", settings);
    h = (struct plumb_live_header *)(void *)((struct image *)*state)->bytes;
    assert_int_equal(h->trace.mode, PLUMB_LIVE_TRACE_STOP);
    h->trace.batch = 0;
    return 0;
}

static int teardown(void **state)
{
    struct image *image = *state;
    free(image->bytes);
    free(image->copy);
    return 0;
}

static void assert_one_clear_line(const plumb_error *err)
{
    size_t n = strlen(err->message);
    assert_true(n > 10);
    for (size_t i = 0; i < n; i++)
        assert_true(isprint((unsigned char)err->message[i]));
}

/* Recovers a mapping of `size` bytes, in place of the run's own. True: it gave a report, which is
 * now a file like any other; false: one clear line. */
static bool recovers(const unsigned char *bytes, size_t size)
{
    struct plumb_load run;
    plumb_error err = {0, ""};
    FILE *f;
    mkdir("damaged", 0700);
    unlink("damaged/timing.json");
    unlink("damaged/" PLUMB_TRACE_FILE);
    f = fopen("damaged/" PLUMB_LIVE_NAME, "wbe");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
    if (plumb_load_run(&run, "damaged", &err) < 0) {
        assert_one_clear_line(&err);
        assert_false(exists("damaged/timing.json"));
        return false;
    }
    assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
    plumb_timing_fini(&run.timing);
    if (plumb_load_run(&run, "damaged", &err) < 0)
        fail_msg("%s", err.message);
    assert_consistent(&run.timing, false);
    plumb_timing_fini(&run.timing);
    return true;
}

/* Runs by shapes of a mapping that gave a report; 0: one clear line. */
static uint64_t runs_by_shapes(void)
{
    struct plumb_shape_times s = {.count = 0};
    plumb_error err = {0, ""};
    uint64_t runs = 0;
    if (plumb_live_read_shape_times(&s, "damaged", 0.5, &err) < 0)
        assert_one_clear_line(&err);
    for (size_t i = 0; i < s.count; i++) {
        assert_true(s.at[i].name && s.at[i].shapes[0] == '[');
        runs += s.at[i].count;
    }
    plumb_shape_times_fini(&s);
    return runs;
}

static void a_sound_mapping_is_read(void **state)
{
    struct image *image = *state;
    struct plumb_load run;
    assert_true(recovers(image->bytes, image->size));
    load_run(&run, "damaged");
    assert_int_equal(count_of(&run.timing, "outer"), 500 - 56);
    assert_int_equal(runs_by_shapes(), 40);
    assert_int_equal(run.timing.open_count, 2);
    plumb_timing_fini(&run.timing);
}

static void a_mapping_cut_short_at_any_page_gives_one_line_or_a_report(void **state)
{
    struct image *image = *state;
    uint64_t refused = 0;
    for (size_t size = 0; size <= image->size; size += size < 65536 ? 4096 : 16384)
        if (recovers(image->bytes, size))
            assert_in_range(runs_by_shapes(), 0, 40);
        else
            refused++;
    assert_in_range(refused, 1, image->used / 4096 + 1);
}

static void random_bytes_give_one_line_or_a_report(void **state)
{
    struct image *image = *state;
    uint64_t random = 20240607, read = 0;
    for (int i = 0; i < FLIPS; i++) {
        /* Many are in the header and the tables after it, where damage does most harm. */
        size_t within = i % 2 ? image->used : i % 4 ? 16384 : sizeof(struct plumb_live_header);
        memcpy(image->copy, image->bytes, image->size);
        for (uint64_t n = random_next(&random) % 4 + 1; n > 0; n--)
            image->copy[random_next(&random) % within] = (unsigned char)random_next(&random);
        if (recovers(image->copy, image->used)) {
            read++;
            runs_by_shapes();
        }
    }
    assert_in_range(read, 1, FLIPS - 1);
}

static const struct role roles[] = {{"killed", role_killed}, {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_mapping_is_read),
        cmocka_unit_test(a_mapping_cut_short_at_any_page_gives_one_line_or_a_report),
        cmocka_unit_test(random_bytes_give_one_line_or_a_report),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    int failed = cmocka_run_group_tests(tests, setup, teardown);
    return cmocka_run_group_tests_name("traced", tests, setup_traced, teardown) + failed;
}

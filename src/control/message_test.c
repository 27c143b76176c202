/* labels: plain
 * Requests and responses come back as they were written, whatever their names hold; damaged bytes
 * are refused; and the protobuf compiler reads by share/control.proto what is written here. */
#include "control/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/protobuf.h"

static unsigned char bytes[1 << 16];

static size_t put_request(const struct plumb_control_request *r)
{
    struct plumb_pb w = {bytes, bytes + sizeof bytes, false};
    plumb_control_put_request(&w, r);
    assert_false(w.full);
    return (size_t)(w.p - bytes);
}

static size_t put_response(const struct plumb_control_response *r)
{
    struct plumb_pb w = {bytes, bytes + sizeof bytes, false};
    plumb_control_put_response(&w, r);
    assert_false(w.full);
    return (size_t)(w.p - bytes);
}

static const char *settings[] = {"trace=1", "dir=/tmp/a b", "odd=\xff\x01"};

static struct plumb_control_request a_request(uint32_t command)
{
    return (struct plumb_control_request){
        .command = command,
        .pipeline = "",
        .phase = "val",
        .text = "why",
        .settings = settings,
        .setting_count = 3,
        .config = {sizeof(plumb_config), 1, 0, 1, 0, -5},
        .trace = {sizeof(plumb_control_trace), 10, 20, 30, "/tmp/x", NULL, "a*"},
        .value = -1,
        .while_connected = 1};
}

static void a_request_comes_back_as_it_was(void **state)
{
    struct plumb_control_request r = a_request(PLUMB_CONTROL_CONFIGURE), back;
    struct plumb_arena a = {NULL, false};
    (void)state;
    assert_int_equal(plumb_control_get_request(&back, &a, bytes, put_request(&r), NULL), 0);
    assert_int_equal(back.command, PLUMB_CONTROL_CONFIGURE);
    assert_string_equal(back.pipeline, "");
    assert_string_equal(back.phase, "val");
    assert_int_equal(back.setting_count, 3);
    assert_string_equal(back.settings[2], settings[2]);
    assert_int_equal(back.config.enabled, 1);
    assert_int_equal(back.config.reset, 1);
    assert_int_equal(back.config.skip_first_n, -5);
    assert_int_equal(back.value, -1);
    assert_int_equal(back.while_connected, 1);
    plumb_arena_fini(&a);
    r = a_request(PLUMB_CONTROL_TRACE_ON);
    r.pipeline = r.phase = NULL;
    assert_int_equal(plumb_control_get_request(&back, &a, bytes, put_request(&r), NULL), 0);
    assert_null(back.pipeline);
    assert_null(back.phase);
    assert_int_equal(back.trace.for_ns, 10);
    assert_int_equal(back.trace.steps, 20);
    assert_int_equal(back.trace.max_bytes, 30);
    assert_string_equal(back.trace.path, "/tmp/x");
    assert_null(back.trace.regions);
    assert_string_equal(back.trace.nodes, "a*");
    plumb_arena_fini(&a);
}

static plumb_row a_row(void)
{
    plumb_row row = {.pipeline = "p", .phase = "inference", .node = "odd \xff\n name", .count = 7};
    double *d = &row.mean_ms;
    for (int i = 0; i < 12; i++)
        d[i] = i + 1 / 3.0;
    row.std_ms = -0.0;
    row.max_ms = INFINITY;
    row.device_median_ms = 5e-324;
    row.device_count = UINT64_MAX;
    row.threads = UINT32_MAX;
    return row;
}

static void a_response_comes_back_bit_by_bit(void **state)
{
    plumb_row row = a_row();
    const plumb_process process = {.size = sizeof process,
                                   .pid = 7,
                                   .program = "/bin/x",
                                   .command = "",
                                   .pipeline = "",
                                   .run_dir = "",
                                   .version = "",
                                   .rank = -1};
    const plumb_control_pipeline pipelines[] = {{"a", 1, 0, 0}, {"b", 0, 1, INT64_MAX}};
    const struct plumb_control_response r = {.path = "/x",
                                             .process = &process,
                                             .pipelines = pipelines,
                                             .pipeline_count = 2,
                                             .rows = &row,
                                             .row_count = 1};
    struct plumb_control_response back;
    struct plumb_arena a = {NULL, false};
    (void)state;
    assert_int_equal(plumb_control_get_response(&back, &a, bytes, put_response(&r), NULL), 0);
    assert_int_equal(back.row_count, 1);
    assert_string_equal(back.rows[0].node, row.node);
    /* Everything after the three names. */
    assert_memory_equal((const char *)&back.rows[0] + offsetof(plumb_row, count),
                        (const char *)&row + offsetof(plumb_row, count),
                        sizeof row - offsetof(plumb_row, count));
    assert_int_equal(back.pipeline_count, 2);
    assert_int_equal(back.pipelines[1].skip_first_n, INT64_MAX);
    assert_int_equal(back.process->rank, -1);
    assert_string_equal(back.process->program, "/bin/x");
    assert_string_equal(back.path, "/x");
    plumb_arena_fini(&a);
}

static void a_message_that_is_cut_anywhere_is_read_or_refused(void **state)
{
    struct plumb_control_request r = a_request(PLUMB_CONTROL_TRACE_ON), back;
    size_t n = put_request(&r), refused = 0;
    plumb_error err;
    (void)state;
    for (size_t i = 0; i < n; i++) {
        struct plumb_arena a = {NULL, false};
        int rc = plumb_control_get_request(&back, &a, bytes, i, &err);
        assert_true(rc == PLUMB_OK || rc == PLUMB_ERR_FORMAT);
        refused += rc != PLUMB_OK;
        plumb_arena_fini(&a);
    }
    assert_true(refused > n / 2);
}

static void few_bytes_do_not_become_many_rows(void **state)
{
    static const unsigned char rows[] = {0x32, 0, 0x32, 0};
    struct plumb_control_response back;
    struct plumb_arena a = {NULL, false};
    (void)state;
    assert_int_equal(plumb_control_get_response(&back, &a, rows, sizeof rows, NULL),
                     PLUMB_ERR_FORMAT);
    plumb_arena_fini(&a);
}

/* ---- The schema ------------------------------------------------------------------------------ */

static char *decode(const char *message, size_t n)
{
    struct plumb_buf text = {0};
    char command[2048], line[512];
    FILE *p, *file = fopen("message.bin", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             "protoc --proto_path='%s/share' --decode=plumb.control.%s control.proto <message.bin",
             TEST_PLUMB_SOURCE_DIR, message);
    p = popen(command, "r");
    assert_non_null(p);
    while (fgets(line, sizeof line, p))
        plumb_buf_str(&text, line);
    assert_int_equal(pclose(p), 0);
    assert_non_null(text.data);
    return text.data;
}

static void the_schema_reads_what_is_written(void **state)
{
    struct plumb_control_request request = a_request(PLUMB_CONTROL_CONFIGURE);
    plumb_row row = a_row();
    const struct plumb_control_response response = {.status = PLUMB_ERR_STATE,
                                                    .message = "busy",
                                                    .notes = "full\n",
                                                    .rows = &row,
                                                    .row_count = 1};
    char *text;
    (void)state;
    if (system("protoc --version >/dev/null 2>&1") != 0) {
        printf("skipped: protoc (package protobuf-compiler) is not installed\n");
        skip();
    }
    text = decode("Request", put_request(&request));
    assert_string_equal(text, "command: CONFIGURE\n"
                              "pipeline: \"\"\n"
                              "phase: \"val\"\n"
                              "text: \"why\"\n"
                              "setting: \"trace=1\"\n"
                              "setting: \"dir=/tmp/a b\"\n"
                              "setting: \"odd=\\377\\001\"\n"
                              "config {\n"
                              "  enabled: true\n"
                              "  reset: true\n"
                              "  skip_first_n: -5\n"
                              "}\n"
                              "value: -1\n"
                              "while_connected: true\n");
    free(text);
    request = a_request(PLUMB_CONTROL_TRACE_ON);
    text = decode("Request", put_request(&request));
    assert_non_null(strstr(text, "trace {\n"
                                 "  for_ns: 10\n"
                                 "  steps: 20\n"
                                 "  max_bytes: 30\n"
                                 "  path: \"/tmp/x\"\n"
                                 "  nodes: \"a*\"\n"
                                 "}\n"));
    free(text);
    text = decode("Response", put_response(&response));
    assert_non_null(strstr(text, "status: -5\nmessage: \"busy\"\n"));
    assert_non_null(strstr(text, "notes: \"full\\n\"\n"));
    assert_non_null(strstr(text, "  node: \"odd \\377\\n name\"\n"));
    assert_non_null(strstr(text, "  max_ms: inf\n"));
    assert_non_null(strstr(text, "  device_count: 18446744073709551615\n"));
    assert_non_null(strstr(text, "  device_median_ms: 4.94065645841"));
    assert_non_null(strstr(text, "  threads: 4294967295\n"));
    /* No field is unknown to it: those are printed with their number. */
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        assert_false(line[strspn(line, " ")] >= '0' && line[strspn(line, " ")] <= '9');
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_comes_back_as_it_was),
        cmocka_unit_test(a_response_comes_back_bit_by_bit),
        cmocka_unit_test(a_message_that_is_cut_anywhere_is_read_or_refused),
        cmocka_unit_test(few_bytes_do_not_become_many_rows),
        cmocka_unit_test(the_schema_reads_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

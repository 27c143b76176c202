/* Fuzz target: any bytes as the captured inputs of a stage. Bytes that begin with '[' are the list
 * `inputs` in the metadata of a file whose two tensors are sound; any others are the whole file.
 *
 * Accepted inputs can be read as a whole and become the text of a program, and what is refused is
 * explained in one line. Made-up parts follow the signature, which is sound. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "codec/json_fields.h"
#include "isolate/inputs.h"
#include "isolate/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t sizes[] = {2, 3};
static struct plumb_signature_tensor tensor = {sizes, 2,  "float32", "cpu", -1,
                                               NULL,  24, NULL,      NULL};
static struct plumb_signature_value parts[] = {{PLUMB_SIGNATURE_TENSOR, {.tensor = &tensor}},
                                               {PLUMB_SIGNATURE_INT, {.integer = 4}}};
static struct plumb_signature_item fields[] = {
    {"mask", {PLUMB_SIGNATURE_TENSOR, {.tensor = &tensor}}}};
static struct plumb_signature_item items[] = {
    {"x", {PLUMB_SIGNATURE_TENSOR, {.tensor = &tensor}}},
    {"list", {PLUMB_SIGNATURE_LIST, {.list = {parts, 2}}}},
    {"cond", {PLUMB_SIGNATURE_FIELDS, {.fields = {fields, 1}}}},
    {"words", {PLUMB_SIGNATURE_TEXT, {.text = "a red car"}}}};

/* The list as a string of JSON, which has no control characters. */
static void put_list(struct plumb_buf *out, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '"' || data[i] == '\\')
            plumb_buf_char(out, '\\');
        if (data[i] < ' ')
            plumb_buf_printf(out, "\\u%04x", data[i]);
        else
            plumb_buf_char(out, (char)data[i]);
    }
}

static void put_file(struct plumb_buf *out, const uint8_t *data, size_t size)
{
    static const char values[40] = {1, 2, 3, 4, 5, 6, 7};
    struct plumb_buf head = {0};
    uint64_t length;
    plumb_buf_str(&head, "{\"__metadata__\":{\"format\":\"plumb-capture\",\"schema\":\"1\","
                         "\"stage\":\"denoise\",\"step\":\"7\",\"inputs\":\"");
    put_list(&head, data, size);
    plumb_buf_str(&head, "\"},\"x\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                         "\"y\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[24,40]}}");
    length = head.len;
    plumb_buf_append(out, &length, sizeof length);
    plumb_buf_append(out, head.data, head.len);
    plumb_buf_append(out, values, sizeof values);
    plumb_buf_fini(&head);
}

static void check(struct plumb_inputs *inputs, const struct plumb_signature_stage *stage)
{
    const plumb_value all = plumb_value_fields(inputs->at, inputs->count);
    const struct plumb_program program = {.stage = stage,
                                          .inputs = inputs,
                                          .random = inputs,
                                          .file = "denoise",
                                          .library = "lib.so",
                                          .config = ""};
    struct plumb_buf text = {0};
    plumb_error err = {0, ""};
    uint64_t hash, tensors = 0;
    for (const struct plumb_inputs_tensor *t = inputs->tensors; t; t = t->next)
        tensors++;
    if (tensors != inputs->tensor_count || inputs->captured_count > tensors)
        abort();
    if (!plumb_value_hash(&hash, &all) && inputs->count == 0)
        abort();
    if (plumb_program_write(&text, &program, &err) < 0 && !err.message[0])
        abort();
    plumb_buf_fini(&text);
}

static void make(int fd, enum plumb_inputs_mode mode)
{
    char name[16];
    struct plumb_signature_capture capture = {.file = name, .step = -1};
    struct plumb_signature_stage stage = {.name = "denoise", .calls = 1, .capture = &capture};
    const struct plumb_inputs_options options = {
        .mode = mode, .seed = 1, .dir = "/proc/self/fd", .devices_on_host = true};
    struct plumb_inputs inputs;
    plumb_error err = {0, ""};
    snprintf(name, sizeof name, "%d", fd);
    stage.last.inputs.at = items;
    stage.last.inputs.count = sizeof items / sizeof *items;
    if (plumb_inputs_make(&inputs, &stage, &options, &err) == PLUMB_OK) {
        check(&inputs, &stage);
        plumb_inputs_fini(&inputs);
    } else if (!err.message[0] || strchr(err.message, '\n')) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_buf file = {0};
    int fd = memfd_create("capture", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    if (size > 0 && data[0] == '[') {
        put_file(&file, data, size);
        data = (const uint8_t *)file.data;
        size = file.len;
    }
    if (size > 0 && write(fd, data, size) != (ssize_t)size)
        abort();
    make(fd, PLUMB_INPUTS_AUTO);
    make(fd, PLUMB_INPUTS_CAPTURED);
    close(fd);
    plumb_buf_fini(&file);
    return 0;
}

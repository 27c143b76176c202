/* Readers of activation records: the table holds what each format says; hostile files are refused
 * in one line that says where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "read/activation/read.h"

static struct plumb_activations t;

static void parse(const void *data, size_t size, const char *name)
{
    plumb_error err = {0, ""};
    if (plumb_activations_parse(&t, data, size, name, &err) < 0)
        fail_msg("%s", err.message);
}

static void parse_text(const char *text)
{
    parse(text, strlen(text), "a.jsonl");
}

static void refuse(const void *data, size_t size, const char *name, const char *why)
{
    plumb_error err = {0, ""};
    assert_int_equal(plumb_activations_parse(&t, data, size, name, &err), PLUMB_ERR_FORMAT);
    assert_string_equal(err.message, why);
}

static void refuse_text(const char *text, const char *why)
{
    refuse(text, strlen(text), "a.jsonl", why);
}

static const char *text(uint32_t id)
{
    return plumb_activations_text(&t, id);
}

/* ---- JSONL ----------------------------------------------------------------------------------- */

static void our_records_are_read_whole(void **state)
{
    (void)state;
    parse_text("{\"module\": \"blocks.3.attn\", \"tensor\": \"out[1]\", \"step\": 7, "
               "\"abs_mean\": 0.8353, \"sum\": -1.5e3, \"nan\": 2, \"inf\": 1, \"neg_inf\": 0, "
               "\"zeros\": 18446744073709551615, \"hash\": \"00ff00ff00ff00ff\", \"call\": 3, "
               "\"rank\": 1, \"seq\": 41, \"phase\": \"inference\", \"io\": \"in\", "
               "\"dtype\": \"bfloat16\", \"shape\": [1, 4096, 64]}\n");
    struct plumb_activation r;
    size_t ndim;
    assert_int_equal(t.count, 1);
    assert_int_equal(t.format, PLUMB_ACT_FORMAT_PLUMB);
    plumb_activations_get(&t, 0, &r);
    assert_string_equal(text(r.module), "blocks.3.attn");
    assert_string_equal(text(r.tensor), "out[1]");
    assert_string_equal(text(r.phase), "inference");
    assert_string_equal(text(r.dtype), "bfloat16");
    assert_int_equal(r.io, PLUMB_ACT_IN);
    assert_true(r.step == 7 && r.call == 3 && r.rank == 1 && r.seq == 41);
    assert_true(r.stat[PLUMB_ACT_ABS_MEAN] == 0.8353 && r.stat[PLUMB_ACT_SUM] == -1500);
    assert_true(plumb_activations_whole(&t, 0, PLUMB_ACT_ZEROS) == UINT64_MAX);
    assert_true(plumb_activations_whole(&t, 0, PLUMB_ACT_HASH) == UINT64_C(0x00ff00ff00ff00ff));
    assert_false(plumb_activations_has(&t, 0, PLUMB_ACT_STD));
    const int64_t *shape = plumb_activations_shape(&t, r.shape, &ndim);
    assert_true(ndim == 3 && shape[0] == 1 && shape[1] == 4096 && shape[2] == 64);
    plumb_activations_fini(&t);
}

static void fastvideo_records_have_bare_nan_and_error_texts(void **state)
{
    (void)state;
    parse_text("{\"module\": \"blocks.0\", \"tensor\": \"out\", \"step\": null, \"abs_mean\": NaN, "
               "\"sum\": -Infinity, \"shape\": [], \"dtype\": \"torch.float32\"}\n"
               "{\"sum\": \"<error: no sum of a bool>\", \"tensor\": \"out\", "
               "\"module\": \"blocks.0\", \"step\": null, \"abs_mean\": \"NaN\"}\n");
    assert_int_equal(t.count, 2);
    assert_int_equal(t.format, PLUMB_ACT_FORMAT_FASTVIDEO);
    assert_true(plumb_activations_has(&t, 0, PLUMB_ACT_ABS_MEAN));
    assert_true(isnan(t.stat[PLUMB_ACT_ABS_MEAN][0]) && isnan(t.stat[PLUMB_ACT_ABS_MEAN][1]));
    assert_true(t.stat[PLUMB_ACT_SUM][0] == -(double)INFINITY);
    assert_false(plumb_activations_has(&t, 1, PLUMB_ACT_SUM));
    assert_false(plumb_activations_has(&t, 0, PLUMB_ACT_STEP));
    assert_true(plumb_activations_has(&t, 0, PLUMB_ACT_SHAPE));
    assert_string_equal(text(t.error[1]), "<error: no sum of a bool>");
    assert_string_equal(text(t.dtype[0]), "float32");
    assert_int_equal(t.call[1], 1);
    plumb_activations_fini(&t);
}

static void records_come_in_order_of_their_number(void **state)
{
    (void)state;
    parse_text("{\"module\":\"b\",\"tensor\":\"out\",\"seq\":1}\n\n"
               "{\"module\":\"a\",\"tensor\":\"out\",\"seq\":0}\n");
    assert_string_equal(text(t.module[0]), "a");
    plumb_activations_fini(&t);
}

static void a_shape_that_looks_like_the_last_is_compared_to_its_end(void **state)
{
    static const int64_t expected[] = {1, 12, 1, 123};
    (void)state;
    parse_text("{\"module\":\"a\",\"tensor\":\"out\",\"shape\":[1]}\n"
               "{\"module\":\"a\",\"tensor\":\"out\",\"shape\":[12]}\n"
               "{\"module\":\"a\",\"tensor\":\"out\",\"shape\":[1]}\n"
               "{\"module\":\"a\",\"tensor\":\"out\",\"shape\":[123]}\n");
    for (size_t i = 0; i < 4; i++) {
        size_t ndim;
        assert_true(plumb_activations_shape(&t, t.shape[i], &ndim)[0] == expected[i]);
        assert_int_equal(ndim, 1);
    }
    plumb_activations_fini(&t);
}

/* More than one piece, with lines across their ends. */
static void many_records_are_read_in_pieces(void **state)
{
    enum { N = 40000 };
    char *all = malloc(N * (size_t)160);
    size_t size = 0;
    (void)state;
    assert_non_null(all);
    for (int i = 0; i < N; i++)
        size += (size_t)sprintf(all + size,
                                "{\"module\": \"blocks.%d\", \"tensor\": \"out\", \"step\": %d, "
                                "\"abs_mean\": %d.25, \"shape\": [%d, %d]}\n",
                                i % 100, i / 100, i, i % 7, i % 100);
    parse(all, size, "a.jsonl");
    assert_int_equal(t.count, N);
    for (int i = 0; i < N; i++) {
        size_t ndim;
        const int64_t *shape = plumb_activations_shape(&t, t.shape[i], &ndim);
        assert_true(t.step[i] == i / 100 && t.stat[PLUMB_ACT_ABS_MEAN][i] == i + 0.25);
        assert_true(shape[0] == i % 7 && shape[1] == i % 100);
    }
    assert_true(plumb_activations_bytes(&t) < 200 * t.count);
    plumb_activations_fini(&t);
    free(all);
}

static void bad_records_are_refused_with_their_line(void **state)
{
    (void)state;
    refuse_text(
        "{\"module\": \"a\", \"tensor\": \"out\"}\n{\"module\": \"a\", \"tensor\": \"o",
        "'a.jsonl' is not valid JSON: line 2, column 29: the last line is cut off: leave it "
        "out to read the others");
    refuse_text("{\"module\": \"a\", \"tensor\": \"out\"}\n{\"tensor\": \"out\"}\n",
                "'a.jsonl' line 2: 'module' is missing");
    refuse_text("{\"module\": \"a\", \"sum\": 1, \"tensor\": \"out\", \"sum\": 2}\n",
                "'a.jsonl' line 1: 'sum' comes twice in one record");
    refuse_text("{\"module\": \"a\", \"x\": 1, \"tensor\": \"out\", \"x\": 2}\n",
                "'a.jsonl' line 1: 'x' comes twice in one record");
    refuse_text("{\"module\": \"a\", \"tensor\": \"out\", \"step\": 1.5}\n",
                "'a.jsonl' line 1: 'step' is not a whole number, or out of range");
    refuse_text("{\"module\": \"a\", \"tensor\": \"out\", \"call\": -1}\n",
                "'a.jsonl' line 1: 'call' is not a whole number, or out of range");
    refuse_text("{\"module\": \"a\", \"tensor\": \"out\", \"sum\": [1]}\n",
                "'a.jsonl' line 1: 'sum' is not a number");
    refuse_text("{\"module\": \"a\", \"tensor\": \"out\", \"shape\": [1, -2]}\n",
                "'a.jsonl' line 1: 'shape' is not a list of at most 64 sizes");
    refuse_text("{\"module\": \"a\\u0000b\", \"tensor\": \"out\"}\n",
                "'a.jsonl' line 1: 'module' holds a NUL character");
    refuse_text("{\"module\": \"a\", \"tensor\": \"out\"} x\n",
                "'a.jsonl' is not valid JSON: line 1, column 34: something follows the value");
    refuse_text("", "'a.jsonl' holds no activation record");
    refuse(
        "hello", 5, "x.txt",
        "'x.txt' holds no activations: it is not JSONL of records, dump.json of msprobe, .npy or "
        ".safetensors");
}

/* ---- msprobe --------------------------------------------------------------------------------- */

static void dumps_of_msprobe_become_modules_and_calls(void **state)
{
    (void)state;
    parse_text("{\"task\": \"statistics\", \"data\": {"
               "\"Module.layer1.0.conv1.Conv2d.forward.2\": {\"input_args\": [{\"type\": "
               "\"torch.Tensor\", \"dtype\": \"torch.float16\", \"shape\": [2, 3], \"Max\": 1.5, "
               "\"Min\": -Infinity, \"Mean\": NaN, \"Norm\": 4}, null, [{\"type\": \"int\", "
               "\"value\": 1}]], \"input_kwargs\": {}, \"output\": [{\"type\": \"torch.Tensor\", "
               "\"dtype\": \"torch.float16\", \"shape\": [], \"Max\": 2}], \"parameters\": "
               "{\"weight\": {\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", "
               "\"shape\": [3]}}}, "
               "\"Functional.relu.7.backward\": {\"output\": [{\"type\": \"torch.Tensor\", "
               "\"dtype\": \"torch.float32\", \"shape\": [1]}, {\"type\": \"torch.Tensor\", "
               "\"dtype\": \"torch.float32\", \"shape\": [1]}]}}}");
    static const char *const tensors[] = {"in[0]", "out", "param.weight", "grad_out[0]",
                                          "grad_out[1]"};
    assert_int_equal(t.count, 5);
    assert_int_equal(t.format, PLUMB_ACT_FORMAT_MSPROBE);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(text(t.tensor[i]), tensors[i]);
    assert_string_equal(text(t.module[0]), "layer1.0.conv1");
    assert_string_equal(text(t.module[3]), "Functional.relu");
    assert_true(t.call[0] == 2 && t.call[3] == 7);
    assert_string_equal(text(t.phase[0]), "forward");
    assert_string_equal(text(t.phase[3]), "backward");
    assert_string_equal(text(t.dtype[0]), "float16");
    assert_int_equal(t.io[0], PLUMB_ACT_IN);
    assert_int_equal(t.io[1], PLUMB_ACT_OUT);
    assert_int_equal(t.io[2], PLUMB_ACT_PARAM);
    assert_true(t.stat[PLUMB_ACT_L2][0] == 4 && isnan(t.stat[PLUMB_ACT_MEAN][0]));
    plumb_activations_fini(&t);
}

static void bad_dumps_are_refused(void **state)
{
    char deep[4096] = "{\"data\": {\"a\": {\"output\": ";
    (void)state;
    refuse_text("{\"data\": {\"a\": {}, \"a\": {}}}",
                "'a.jsonl' line 1: 'a' comes twice in one object");
    refuse_text("{\"data\": {}, \"data\": {}}",
                "'a.jsonl' line 1: 'data' comes twice in one object");
    refuse_text("{\"data\": {\"a\": {\"output\": [],\n\"output\": []}}}",
                "'a.jsonl' line 2: 'output' comes twice in one object");
    refuse_text(
        "{\"data\": {\"a\": {\"output\": [{\"Max\": 1, \"x\": {\"Max\": 2}, \"Max\": 3}]}}}",
        "'a.jsonl' line 1: 'Max' comes twice in one object");
    refuse_text("{\"data\": {\"a\\u0000\": {}, \"a\": {}}}",
                "'a.jsonl' line 1: a name holds a NUL character");
    refuse_text("{\"task\": 1}", "'a.jsonl' line 1: 'data' is missing: no dump of msprobe");
    refuse_text("{\"data\": {\"a\": {\"output\": [",
                "'a.jsonl' is not valid JSON: line 1, column 28: it ends in the middle of a value");
    size_t n = strlen(deep);
    memset(deep + n, '[', 3000);
    deep[n + 3000] = '\0';
    refuse_text(deep, "'a.jsonl' line 1: arguments are nested too deeply");
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static size_t npy(unsigned char *out, const char *dict, const void *data, size_t size)
{
    size_t header = strlen(dict);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (unsigned char)header;
    out[9] = (unsigned char)(header >> 8);
    memcpy(out + 10, dict, header);
    memcpy(out + 10 + header, data, size);
    return 10 + header + size;
}

static void arrays_of_numpy_get_their_statistics(void **state)
{
    static const float values[6] = {1, -2, 3, 0, 5, -6};
    unsigned char file[512];
    (void)state;
    size_t n = npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", values,
                   sizeof values);
    parse(file, n, "dir/block.3.attn.out[1].npy");
    assert_int_equal(t.count, 1);
    assert_string_equal(text(t.module[0]), "block.3.attn");
    assert_string_equal(text(t.tensor[0]), "out[1]");
    assert_string_equal(text(t.dtype[0]), "float32");
    assert_true(t.stat[PLUMB_ACT_SUM][0] == 1 && t.stat[PLUMB_ACT_MIN][0] == -6);
    assert_true(plumb_activations_whole(&t, 0, PLUMB_ACT_ZEROS) == 1);
    const struct plumb_activation_ref *ref = &t.refs[t.ref[0]];
    assert_true(ref->bytes == sizeof values && ref->offset + ref->bytes == n);
    assert_string_equal(text(ref->file), "dir/block.3.attn.out[1].npy");
    uint64_t hash = plumb_activations_whole(&t, 0, PLUMB_ACT_HASH);
    plumb_activations_fini(&t);

    /* The same matrix by columns has the same values, so the same hash. */
    static const float columns[6] = {1, 0, -2, 5, 3, -6};
    n = npy(file, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", columns,
            sizeof columns);
    parse(file, n, "mlp.npy");
    assert_string_equal(text(t.module[0]), "mlp");
    assert_string_equal(text(t.tensor[0]), "out");
    assert_true(plumb_activations_whole(&t, 0, PLUMB_ACT_HASH) == hash);
    assert_int_equal(t.refs[t.ref[0]].fortran, 1);
    plumb_activations_fini(&t);
}

static void odd_but_sound_arrays_are_read(void **state)
{
    unsigned char file[512];
    int64_t one = -7;
    (void)state;
    size_t n = npy(file, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", &one, 8);
    parse(file, n, "a.npy");
    assert_true(t.stat[PLUMB_ACT_MIN][0] == -7);
    plumb_activations_fini(&t);
    n = npy(file, "{\"shape\": (0,), 'fortran_order':False,'descr':'|b1'}", "", 0);
    parse(file, n, "a.npy");
    assert_false(plumb_activations_has(&t, 0, PLUMB_ACT_MIN));
    assert_string_equal(text(t.dtype[0]), "bool");
    plumb_activations_fini(&t);
}

static void bad_arrays_are_refused(void **state)
{
    unsigned char file[512];
    (void)state;
    static const struct {
        const char *dict, *why;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }",
         "it ends before its last element"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
         "something follows its last element"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }",
         "it ends before its last element"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         "'shape' holds a size beyond 2^63"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
         "its element type is big-endian: save it with .astype('<f4')"},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }",
         "its element type is not one of NumPy's: save bfloat16 and float8 as .safetensors"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
         "plumb does not read its element type (floats, integers, bool)"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
         "plumb does not read its element type (a record of fields?)"},
        {"{'descr': '<f4', 'shape': (2,), }", "its header lacks descr, fortran_order or shape"},
        {"{'descr': '<f4', 'descr': '<f4'}",
         "its header has a key that is unknown, or comes twice"},
        {"{'descr': '<f4', ", "its header is not a dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
         "'shape' is not a tuple of at most 64 sizes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[256];
        size_t n = npy(file, cases[i].dict, "12345678", 8);
        snprintf(why, sizeof why, "'a.npy' is damaged: %s", cases[i].why);
        refuse(file, n, "a.npy", why);
    }
    memcpy(file, "\x93NUMPY\1\0\xff\xff", 10);
    refuse(file, 10, "a.npy", "'a.npy' is damaged: its header is longer than the file");
    memcpy(file, "\x93NUMPY\7\0\0\0", 10);
    refuse(file, 10, "a.npy", "'a.npy' is a .npy file of version 7.0; plumb reads 1.0 to 3.0");
    refuse("hello world", 11, "a.npy", "'a.npy' is not a .npy file: it does not begin as one");
}

static size_t safetensors(unsigned char *out, const char *header, size_t data)
{
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)((uint64_t)n >> 8 * i);
    memcpy(out + 8, header, n);
    memset(out + 8 + n, 0x3f, data);
    return 8 + n + data;
}

static void safetensors_are_records_in_order_of_their_data(void **state)
{
    unsigned char file[1024];
    (void)state;
    size_t n = safetensors(
        file,
        "{\"__metadata__\": {\"format\": \"pt\"}, "
        "\"b.mlp\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [4, 12]}, "
        "\"a/attn.in[0]\": {\"dtype\": \"BF16\", \"shape\": [1, 2], \"data_offsets\": [0, 4]}}   ",
        12);
    parse(file, n, "x.safetensors");
    assert_int_equal(t.count, 2);
    assert_string_equal(text(t.module[0]), "a.attn");
    assert_string_equal(text(t.tensor[0]), "in[0]");
    assert_int_equal(t.io[0], PLUMB_ACT_IN);
    assert_string_equal(text(t.dtype[0]), "bfloat16");
    assert_string_equal(text(t.module[1]), "b.mlp");
    assert_int_equal(t.refs[t.ref[1]].offset, n - 8);
    plumb_activations_fini(&t);
}

static void bad_safetensors_are_refused(void **state)
{
    unsigned char file[1024];
    (void)state;
    static const struct {
        const char *header, *why;
        size_t data;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
         "is damaged: tensor 'b' overlaps with another", 6},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         "is damaged: tensor 'a' leaves a hole before its data", 8},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
         "is damaged: tensor 'a' ends after the file: it was cut off", 3},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
         "is damaged: something follows its last tensor", 5},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,4]}}",
         "is damaged: tensor 'a' has 'data_offsets' that do not fit its shape", 4},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807,9],\"data_offsets\":[0,4]}}",
         "is damaged: tensor 'a' has 'data_offsets' that do not fit its shape", 4},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
         "is damaged: tensor 'a' comes twice", 0},
        {"{\"a\":{\"dtype\":\"C64\",\"shape\":[0],\"data_offsets\":[0,0]}}",
         "is damaged: tensor 'a' has an element type that plumb does not read", 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}",
         "is damaged: tensor 'a' lacks dtype, shape or data_offsets", 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
         "is damaged: tensor 'a' has a list that holds no sizes, or too many", 0},
        {"{\"a\":1}", "is damaged: tensor 'a' is not an object in the header", 0},
        {"{\"a\":", "is not valid JSON: line 1, column 6: it ends in the middle of a value", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[256];
        size_t n = safetensors(file, cases[i].header, cases[i].data);
        snprintf(why, sizeof why, "'x.safetensors' %s", cases[i].why);
        refuse(file, n, "x.safetensors", why);
    }
    memcpy(file, "\0\0\0\0\0\0\0\x10{}", 10); /* 2^60 */
    refuse(file, 10, "x", "'x' is damaged: its header is longer than the file");
    refuse("abc", 3, "x.safetensors",
           "'x.safetensors' is damaged: it is shorter than the length of its header");
}

/* ---- Folders --------------------------------------------------------------------------------- */

static void save(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void folders_of_steps_are_read_in_order_of_numbers(void **state)
{
    unsigned char file[256];
    float one = 1;
    char path[64];
    plumb_error err = {0, ""};
    (void)state;
    size_t n =
        npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", &one, sizeof one);
    assert_int_equal(mkdir("run", 0755), 0);
    for (int step = 9; step <= 10; step++) {
        snprintf(path, sizeof path, "run/step_%d", step);
        assert_int_equal(mkdir(path, 0755), 0);
        for (int block = 9; block <= 10; block++) {
            snprintf(path, sizeof path, "run/step_%d/block.%d.npy", step, block);
            save(path, file, n);
        }
    }
    assert_int_equal(plumb_activations_read(&t, "run", &err), PLUMB_OK);
    assert_int_equal(t.count, 4);
    assert_true(t.step[0] == 9 && t.step[1] == 9 && t.step[2] == 10);
    assert_string_equal(text(t.module[0]), "block.9");
    assert_string_equal(text(t.module[1]), "block.10");
    assert_int_equal(t.call[3], 0);
    assert_string_equal(text(t.refs[t.ref[3]].file), "run/step_10/block.10.npy");
    plumb_activations_fini(&t);
    assert_int_equal(plumb_activations_read(&t, "run/step_10", &err), PLUMB_OK);
    assert_true(t.step[0] == 10);
    plumb_activations_fini(&t);
}

static void what_is_not_there_is_said(void **state)
{
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_activations_read(&t, "none", &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "cannot read 'none': No such file or directory");
    assert_int_equal(mkdir("nothing", 0755), 0);
    assert_int_equal(plumb_activations_read(&t, "nothing", &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message,
                        "the folder 'nothing' holds no activations: no activations.jsonl, "
                        "dump.json, .npy, .safetensors, and no folder of a step");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_records_are_read_whole),
        cmocka_unit_test(fastvideo_records_have_bare_nan_and_error_texts),
        cmocka_unit_test(records_come_in_order_of_their_number),
        cmocka_unit_test(a_shape_that_looks_like_the_last_is_compared_to_its_end),
        cmocka_unit_test(many_records_are_read_in_pieces),
        cmocka_unit_test(bad_records_are_refused_with_their_line),
        cmocka_unit_test(dumps_of_msprobe_become_modules_and_calls),
        cmocka_unit_test(bad_dumps_are_refused),
        cmocka_unit_test(arrays_of_numpy_get_their_statistics),
        cmocka_unit_test(odd_but_sound_arrays_are_read),
        cmocka_unit_test(bad_arrays_are_refused),
        cmocka_unit_test(safetensors_are_records_in_order_of_their_data),
        cmocka_unit_test(bad_safetensors_are_refused),
        cmocka_unit_test(folders_of_steps_are_read_in_order_of_numbers),
        cmocka_unit_test(what_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

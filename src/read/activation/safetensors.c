/* safetensors.c: reads .safetensors files as records: a header of JSON, followed by the values.
 *
 * Every claim of the header is checked before a byte of the data is touched: ranges against the
 * file, against the sizes, and against each other. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/activation/array.h"
#include "read/json/scan.h"

enum { MAX_DIMS = PLUMB_VIEW_MAX_DIMS, MAX_HEADER = 100 << 20 };

static int refuse(const char *name, plumb_error *err, const char *why)
{
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: %s", name, why);
}

struct named_array {
    const char *name;
    size_t name_size;
    struct plumb_activation_array a;
};

struct tensors {
    struct plumb_arena arena;
    struct named_array **at;
    size_t count, cap;
    struct plumb_json_scan *scan;
    const char *file;
    plumb_error *err;
    int rc;
    struct plumb_activations *table;
    struct plumb_activation told; /* by `__metadata__` */
};

static void tensor_fault(struct tensors *in, const struct named_array *tensor, const char *why)
{
    if (in->rc < 0)
        return;
    if (in->scan && in->scan->token == PLUMB_JSON_ERROR)
        in->rc = plumb_json_scan_fail(in->scan, in->file, in->err);
    else
        in->rc = plumb_fail(in->err, PLUMB_ERR_FORMAT, "'%s' is damaged: tensor '%.80s' %s",
                            in->file, tensor->name, why);
}

static void read_type(struct tensors *in, struct named_array *tensor)
{
    static const struct {
        const char *name;
        struct plumb_dtype dtype;
    } known[] = {
        {"F64", {PLUMB_DTYPE_FLOAT, 64, 1}},
        {"F32", {PLUMB_DTYPE_FLOAT, 32, 1}},
        {"F16", {PLUMB_DTYPE_FLOAT, 16, 1}},
        {"BF16", {PLUMB_DTYPE_BFLOAT, 16, 1}},
        {"F8_E4M3", {PLUMB_DTYPE_FLOAT8_E4M3FN, 8, 1}},
        {"F8_E5M2", {PLUMB_DTYPE_FLOAT8_E5M2, 8, 1}},
        {"I64", {PLUMB_DTYPE_INT, 64, 1}},
        {"I32", {PLUMB_DTYPE_INT, 32, 1}},
        {"I16", {PLUMB_DTYPE_INT, 16, 1}},
        {"I8", {PLUMB_DTYPE_INT, 8, 1}},
        {"U64", {PLUMB_DTYPE_UINT, 64, 1}},
        {"U32", {PLUMB_DTYPE_UINT, 32, 1}},
        {"U16", {PLUMB_DTYPE_UINT, 16, 1}},
        {"U8", {PLUMB_DTYPE_UINT, 8, 1}},
        {"BOOL", {PLUMB_DTYPE_BOOL, 8, 1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (plumb_json_text_is(in->scan, known[i].name)) {
            tensor->a.dtype = known[i].dtype;
            return;
        }
    }
    tensor_fault(in, tensor, "has an element type that plumb does not read");
}

/* Numbers of a list, at most `most`; how many. */
static size_t read_numbers(struct tensors *in, const struct named_array *tensor, int64_t *out,
                           size_t most)
{
    struct plumb_json_scan *s = in->scan;
    size_t n = 0;
    if (s->token != PLUMB_JSON_ARRAY) {
        tensor_fault(in, tensor, "has something else where a list of sizes is expected");
        return 0;
    }
    while (plumb_json_next(s) == PLUMB_JSON_NUMBER && n < most &&
           s->number.kind == PLUMB_JSON_NUMBER_INT && (int64_t)s->number.whole >= 0)
        out[n++] = (int64_t)s->number.whole;
    if (s->token != PLUMB_JSON_ARRAY_END)
        tensor_fault(in, tensor, "has a list that holds no sizes, or too many");
    return n;
}

static void read_tensor(struct tensors *in, struct named_array *tensor, uint64_t data_offset)
{
    struct plumb_json_scan *s = in->scan;
    int64_t range[2] = {0, 0};
    unsigned seen = 0;
    uint64_t bytes;
    while (in->rc == PLUMB_OK && plumb_json_next(s) > PLUMB_JSON_END &&
           s->token != PLUMB_JSON_OBJECT_END) {
        unsigned field = 0;
        if (plumb_json_key_is(s, "dtype")) {
            field = 1;
            read_type(in, tensor);
        } else if (plumb_json_key_is(s, "shape")) {
            field = 2;
            tensor->a.ndim = read_numbers(in, tensor, tensor->a.shape, MAX_DIMS);
        } else if (plumb_json_key_is(s, "data_offsets")) {
            field = 4;
            if (read_numbers(in, tensor, range, 2) != 2)
                tensor_fault(in, tensor, "has 'data_offsets' that are not two numbers");
        } else {
            plumb_json_skip(s);
        }
        if (seen & field)
            tensor_fault(in, tensor, "has a field that comes twice");
        seen |= field;
    }
    if (s->token != PLUMB_JSON_OBJECT_END || seen != 7) {
        tensor_fault(in, tensor, "lacks dtype, shape or data_offsets");
        return;
    }
    if (range[0] > range[1] || !plumb_activation_array_bytes(&tensor->a, &bytes) ||
        bytes != (uint64_t)(range[1] - range[0]))
        tensor_fault(in, tensor, "has 'data_offsets' that do not fit its shape");
    tensor->a.bytes = (uint64_t)(range[1] - range[0]);
    tensor->a.offset = data_offset + (uint64_t)range[0];
}

/* A number from 0 to 2^31 - 1, the range that every field can hold. A `seq` beyond it is ignored.
 */
static bool take_digits(const struct plumb_json_scan *s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s->size; i++) {
        if (s->text[i] < '0' || s->text[i] > '9' ||
            (*out = *out * 10 + (uint64_t)(s->text[i] - '0')) > INT32_MAX)
            return false;
    }
    return s->size > 0;
}

/* Takes one member of the metadata, whose values are all strings. Other names, and values that are
 * not numbers, belong to other programs and are skipped. */
static void take_told(struct tensors *in)
{
    static const char *const numbers[] = {"step", "call", "rank", "seq"};
    const struct plumb_json_scan *s = in->scan;
    struct plumb_activation *r = &in->told;
    uint64_t n;
    if (s->token != PLUMB_JSON_STRING)
        return;
    if (plumb_json_key_is(s, "module"))
        r->module = plumb_activations_text_id(in->table, s->text, s->size);
    else if (plumb_json_key_is(s, "tensor"))
        r->tensor = plumb_activations_text_id(in->table, s->text, s->size);
    else if (plumb_json_key_is(s, "phase"))
        r->phase = plumb_activations_text_id(in->table, s->text, s->size);
    for (enum plumb_activation_io io = PLUMB_ACT_OUT; io <= PLUMB_ACT_PARAM; io++) {
        if (plumb_json_key_is(s, "io") && plumb_json_text_is(s, plumb_activation_io_name(io))) {
            r->io = (uint8_t)io;
            r->has |= 1u << PLUMB_ACT_IO;
        }
    }
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!plumb_json_key_is(s, numbers[i]) || !take_digits(s, &n))
            continue;
        r->has |= 1u << (PLUMB_ACT_STEP + i);
        if (i == 0)
            r->step = (int64_t)n;
        else if (i == 1)
            r->call = (uint32_t)n;
        else if (i == 2)
            r->rank = (int32_t)n;
        else
            r->seq = n;
    }
}

/* Reads the metadata that plumb writes: which record the values belong to. */
static void read_told(struct tensors *in)
{
    struct plumb_json_scan *s = in->scan;
    if (s->token != PLUMB_JSON_OBJECT) {
        plumb_json_skip(s);
        return;
    }
    while (plumb_json_next(s) > PLUMB_JSON_END && s->token != PLUMB_JSON_OBJECT_END) {
        take_told(in);
        plumb_json_skip(s);
    }
}

static void read_tensors(struct tensors *in, uint64_t data_offset)
{
    struct plumb_json_scan *s = in->scan;
    if (plumb_json_next(s) != PLUMB_JSON_OBJECT && s->token != PLUMB_JSON_ERROR)
        in->rc = refuse(in->file, in->err, "its header is not an object");
    while (in->rc == PLUMB_OK && plumb_json_next(s) > PLUMB_JSON_END && s->key) {
        if (plumb_json_key_is(s, "__metadata__")) {
            read_told(in);
            continue;
        }
        struct named_array **at =
            plumb_arena_grow(&in->arena, in->at, &in->cap, in->count + 1, sizeof *at);
        struct named_array *tensor = at ? plumb_arena_alloc(&in->arena, sizeof *tensor) : NULL;
        if (!tensor)
            break;
        in->at = at;
        at[in->count++] = tensor;
        tensor->name = plumb_arena_strndup(&in->arena, s->key, s->key_size);
        tensor->name_size = s->key_size;
        if (tensor->name && memchr(s->key, '\0', s->key_size))
            tensor_fault(in, tensor, "has a NUL character in its name");
        else if (tensor->name && s->token != PLUMB_JSON_OBJECT)
            tensor_fault(in, tensor, "is not an object in the header");
        else if (tensor->name)
            read_tensor(in, tensor, data_offset);
    }
    if (in->rc == PLUMB_OK && s->token == PLUMB_JSON_OBJECT_END)
        plumb_json_next(s);
    if (in->rc == PLUMB_OK && s->token == PLUMB_JSON_ERROR)
        in->rc = plumb_json_scan_fail(s, in->file, in->err);
    if (in->rc == PLUMB_OK && in->arena.failed)
        in->rc =
            plumb_fail(in->err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", in->file);
}

static int by_name(const void *a, const void *b)
{
    const struct named_array *x = *(struct named_array *const *)a;
    const struct named_array *y = *(struct named_array *const *)b;
    return strcmp(x->name, y->name);
}

static int by_offset(const void *a, const void *b)
{
    const struct named_array *x = *(struct named_array *const *)a;
    const struct named_array *y = *(struct named_array *const *)b;
    if (x->a.offset != y->a.offset)
        return x->a.offset < y->a.offset ? -1 : 1;
    if (x->a.bytes != y->a.bytes)
        return x->a.bytes < y->a.bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* One name a tensor; and together they are the data, without holes or overlaps. Leaves them in the
 * order of their data, which is the order they were written in. */
static int check_tensors(struct tensors *in, uint64_t data_offset, uint64_t size)
{
    uint64_t at = data_offset;
    if (in->count)
        qsort(in->at, in->count, sizeof *in->at, by_name);
    for (size_t i = 1; i < in->count; i++)
        if (strcmp(in->at[i]->name, in->at[i - 1]->name) == 0)
            tensor_fault(in, in->at[i], "comes twice");
    if (in->count)
        qsort(in->at, in->count, sizeof *in->at, by_offset);
    for (size_t i = 0; i < in->count && in->rc == PLUMB_OK; i++) {
        const struct plumb_activation_array *a = &in->at[i]->a;
        if (a->offset < at)
            tensor_fault(in, in->at[i], "overlaps with another");
        else if (a->offset > at)
            tensor_fault(in, in->at[i], "leaves a hole before its data");
        else if (a->bytes > size - at)
            tensor_fault(in, in->at[i], "ends after the file: it was cut off");
        at = a->offset + a->bytes;
    }
    if (in->rc == PLUMB_OK && at != size)
        in->rc = refuse(in->file, in->err, "something follows its last tensor");
    return in->rc;
}

/* Whether the file has one tensor, and the metadata names its record. */
static bool is_told(const struct tensors *in, const struct named_array *tensor)
{
    const char *module = plumb_activations_text(in->table, in->told.module);
    const char *label = plumb_activations_text(in->table, in->told.tensor);
    size_t n = strlen(module);
    return in->count == 1 && *label && strncmp(tensor->name, module, n) == 0 &&
           tensor->name[n] == '.' && strcmp(tensor->name + n + 1, label) == 0;
}

static int add_tensor(const struct tensors *in, const struct plumb_activation_source *from,
                      const struct named_array *tensor, const unsigned char *data, plumb_error *err)
{
    struct plumb_activation r = {0};
    if (is_told(in, tensor))
        r = in->told;
    else
        plumb_activation_name(from->table, &r, tensor->name, tensor->name_size);
    return plumb_activation_array_add(from, &r, &tensor->a, data + tensor->a.offset, err);
}

int plumb_activations_safetensors(const struct plumb_activation_source *from,
                                  const unsigned char *data, size_t size, plumb_error *err)
{
    struct tensors in = {.file = from->name, .err = err, .rc = PLUMB_OK, .table = from->table};
    uint64_t header = 0;
    if (size < 8)
        return refuse(from->name, err, "it is shorter than the length of its header");
    for (int i = 0; i < 8; i++)
        header |= (uint64_t)data[i] << 8 * i;
    if (header > size - 8)
        return refuse(from->name, err, "its header is longer than the file");
    if (header > MAX_HEADER)
        return refuse(from->name, err, "its header is longer than 100 MiB");
    char *text = calloc(1, header + PLUMB_JSON_PADDING);
    in.scan = malloc(sizeof *in.scan);
    if (text && in.scan) {
        memcpy(text, data + 8, header);
        plumb_json_scan_init(in.scan, 0);
        plumb_json_scan_text(in.scan, text, header);
        read_tensors(&in, 8 + header);
        plumb_json_scan_fini(in.scan);
    } else {
        in.rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", from->name);
    }
    free(in.scan);
    free(text);
    in.scan = NULL;
    if (in.rc == PLUMB_OK)
        check_tensors(&in, 8 + header, size);
    for (size_t i = 0; i < in.count && in.rc == PLUMB_OK; i++)
        in.rc = add_tensor(&in, from, in.at[i], data, err);
    plumb_arena_fini(&in.arena);
    return in.rc;
}

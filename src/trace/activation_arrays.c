/* activation_arrays.c: full tensors on disk, .npy files and .safetensors files, as records: their
 * statistics are computed here, in one pass over the mapped file, and the record says where the
 * values lie.
 *
 * Everything that a file claims is checked before a byte of its data is touched: lengths against
 * the file, sizes against lengths, ranges against each other. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/json_scan.h"
#include "tensor/dl_tensor.h"
#include "tensor/value_stats.h"
#include "trace/activation_parts.h"

enum { MAX_DIMS = PLUMB_VIEW_MAX_DIMS, MAX_HEADER = 100 << 20 };

struct array {
    struct plumb_dtype dtype;
    size_t ndim;
    int64_t shape[MAX_DIMS];
    bool fortran;
    uint64_t offset, bytes; /* in the file */
};

static int refuse(const char *name, plumb_error *err, const char *why)
{
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: %s", name, why);
}

/* ---- Statistics ------------------------------------------------------------------------------ */

static void set_stats(struct plumb_activation *r, const struct plumb_value_stats *s)
{
    const struct {
        enum plumb_activation_field field;
        double value;
    } reals[] = {
        {PLUMB_ACT_ABS_MEAN, s->abs_mean}, {PLUMB_ACT_SUM, s->sum},   {PLUMB_ACT_MIN, s->min},
        {PLUMB_ACT_MAX, s->max},           {PLUMB_ACT_MEAN, s->mean}, {PLUMB_ACT_STD, s->std},
        {PLUMB_ACT_RMS, s->rms},           {PLUMB_ACT_L2, s->l2},
    };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (reals[i].value == reals[i].value)
            plumb_activation_set(r, reals[i].field, reals[i].value);
    plumb_activation_set_whole(r, PLUMB_ACT_NAN, s->nan);
    plumb_activation_set_whole(r, PLUMB_ACT_POS_INF, s->pos_inf);
    plumb_activation_set_whole(r, PLUMB_ACT_NEG_INF, s->neg_inf);
    plumb_activation_set_whole(r, PLUMB_ACT_ZEROS, s->zeros);
    plumb_activation_set_whole(r, PLUMB_ACT_HASH, s->hash);
    plumb_activation_set_whole(r, PLUMB_ACT_HASH_ANY, s->set_hash);
}

/* Appends the record of an array whose values are at `data`. `name` is its place. */
static int add_array(const struct plumb_activation_source *from, const char *name, size_t name_size,
                     struct array *a, const unsigned char *data, plumb_error *err)
{
    const uint32_t want =
        PLUMB_VALUE_SPREAD | PLUMB_VALUE_ZEROS | PLUMB_VALUE_HASH | PLUMB_VALUE_SET_HASH;
    char type[PLUMB_DTYPE_NAME_MAX];
    int64_t strides[MAX_DIMS];
    int64_t stride = 1;
    struct plumb_activation r = {0};
    struct plumb_activations *t = from->table;
    struct plumb_value_stats stats;
    struct plumb_view view;
    plumb_error why = {0, ""};

    for (size_t i = 0; i < a->ndim; i++) {
        strides[i] = stride;
        stride *= a->shape[i] > 0 ? a->shape[i] : 1;
    }
    struct plumb_dl_tensor tensor = {.data = (void *)(uintptr_t)data,
                                     .device = {PLUMB_DL_CPU, 0},
                                     .ndim = (int32_t)a->ndim,
                                     .dtype = a->dtype,
                                     .shape = a->shape,
                                     .strides = a->fortran ? strides : NULL};
    plumb_activation_name(t, &r, name, name_size);
    plumb_activation_place(&r, from);
    r.dtype = plumb_activations_str_id(t, plumb_dtype_name(type, a->dtype));
    r.shape = plumb_activations_shape_id(t, a->shape, a->ndim);
    r.has |= 1u << PLUMB_ACT_SHAPE;
    r.ref = plumb_activations_ref_add(
        t, &(struct plumb_activation_ref){.file = plumb_activations_str_id(t, from->name),
                                          .dtype = r.dtype,
                                          .shape = r.shape,
                                          .fortran = a->fortran,
                                          .offset = a->offset,
                                          .bytes = a->bytes});
    if (plumb_view_init(&view, &tensor, &why) < 0 ||
        plumb_value_stats(&stats, &view, want, &why) < 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': '%.*s': %s", from->name,
                          (int)(name_size < 100 ? name_size : 100), name, why.message);
    set_stats(&r, &stats);
    plumb_activations_add(t, &r);
    return PLUMB_OK;
}

/* Bytes of the elements; false: more than any file has. */
static bool array_bytes(struct array *a, uint64_t *out)
{
    uint64_t count = 1;
    bool none = false;
    for (size_t i = 0; i < a->ndim; i++)
        none |= a->shape[i] == 0;
    for (size_t i = 0; i < a->ndim && !none; i++)
        if (__builtin_mul_overflow(count, (uint64_t)a->shape[i], &count))
            return false;
    return plumb_dtype_bytes(out, a->dtype, none ? 0 : count);
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

/* The header is a literal of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }.
 * `p` never passes `end`, where a '\0' stands. */
struct literal {
    const char *p;
    const char *why; /* what is wrong, or NULL */
};

static void skip(struct literal *in)
{
    while (*in->p == ' ' || *in->p == '\n' || *in->p == '\t' || *in->p == '\r')
        in->p++;
}

static bool take(struct literal *in, const char *text)
{
    size_t n = strlen(text);
    skip(in);
    if (strncmp(in->p, text, n) != 0)
        return false;
    in->p += n;
    return true;
}

static bool take_quoted(struct literal *in, char *out, size_t size)
{
    skip(in);
    char quote = *in->p;
    const char *end = quote == '\'' || quote == '"' ? strchr(in->p + 1, quote) : NULL;
    if (!end || (size_t)(end - in->p) > size)
        return false;
    memcpy(out, in->p + 1, (size_t)(end - in->p) - 1);
    out[end - in->p - 1] = '\0';
    in->p = end + 1;
    return true;
}

static void take_descr(struct literal *in, struct array *a)
{
    static const struct {
        const char *descr;
        struct plumb_dtype dtype;
    } known[] = {
        {"<f8", {PLUMB_DTYPE_FLOAT, 64, 1}}, {"<f4", {PLUMB_DTYPE_FLOAT, 32, 1}},
        {"<f2", {PLUMB_DTYPE_FLOAT, 16, 1}}, {"<i8", {PLUMB_DTYPE_INT, 64, 1}},
        {"<i4", {PLUMB_DTYPE_INT, 32, 1}},   {"<i2", {PLUMB_DTYPE_INT, 16, 1}},
        {"|i1", {PLUMB_DTYPE_INT, 8, 1}},    {"<i1", {PLUMB_DTYPE_INT, 8, 1}},
        {"<u8", {PLUMB_DTYPE_UINT, 64, 1}},  {"<u4", {PLUMB_DTYPE_UINT, 32, 1}},
        {"<u2", {PLUMB_DTYPE_UINT, 16, 1}},  {"|u1", {PLUMB_DTYPE_UINT, 8, 1}},
        {"<u1", {PLUMB_DTYPE_UINT, 8, 1}},   {"|b1", {PLUMB_DTYPE_BOOL, 8, 1}},
    };
    char descr[16];
    if (!take_quoted(in, descr, sizeof descr)) {
        in->why = "its element type is none that plumb reads (a record of fields?)";
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].descr, descr) == 0) {
            a->dtype = known[i].dtype;
            return;
        }
    }
    in->why = descr[0] == '>' ? "its element type is big-endian: save it with .astype('<f4')"
              : strchr(descr, 'V')
                  ? "its element type is none of NumPy's: save bfloat16 and float8 as .safetensors"
                  : "its element type is none that plumb reads (floats, integers, bool)";
}

static void take_shape(struct literal *in, struct array *a)
{
    if (!take(in, "("))
        in->why = "'shape' is no tuple";
    while (!in->why && !take(in, ")")) {
        uint64_t size = 0;
        skip(in);
        const char *begin = in->p;
        while (*in->p >= '0' && *in->p <= '9')
            if (__builtin_mul_overflow(size, UINT64_C(10), &size) ||
                __builtin_add_overflow(size, (uint64_t)(*in->p++ - '0'), &size) || size > INT64_MAX)
                in->why = "'shape' holds a size beyond 2^63";
        in->p += *in->p == 'L'; /* Python 2 */
        if (in->p == begin || a->ndim == MAX_DIMS) {
            in->why = "'shape' is no tuple of at most 64 sizes";
        } else {
            a->shape[a->ndim++] = (int64_t)size;
            if (!take(in, ",")) {
                if (!take(in, ")"))
                    in->why = "'shape' is no tuple of at most 64 sizes";
                break;
            }
        }
    }
}

static const char *read_npy_header(struct array *a, const char *text)
{
    struct literal in = {text, NULL};
    unsigned seen = 0;
    if (!take(&in, "{"))
        return "its header is no dictionary";
    while (!in.why && !take(&in, "}")) {
        char key[32];
        unsigned field = 0;
        if (!take_quoted(&in, key, sizeof key) || !take(&in, ":"))
            return "its header is no dictionary";
        if (strcmp(key, "descr") == 0) {
            field = 1;
            take_descr(&in, a);
        } else if (strcmp(key, "shape") == 0) {
            field = 2;
            take_shape(&in, a);
        } else if (strcmp(key, "fortran_order") == 0) {
            field = 4;
            a->fortran = take(&in, "True");
            if (!a->fortran && !take(&in, "False"))
                in.why = "'fortran_order' is neither True nor False";
        }
        if (!in.why && (field == 0 || seen & field))
            in.why = "its header has a key that is unknown, or comes twice";
        seen |= field;
        take(&in, ",");
    }
    return in.why ? in.why : seen == 7 ? NULL : "its header lacks descr, fortran_order or shape";
}

/* `module_of`: the name of the file, which is that of the tensor. */
int plumb_activations_npy(const struct plumb_activation_source *from, const char *module_of,
                          const unsigned char *data, size_t size, plumb_error *err)
{
    struct array a = {.ndim = 0};
    uint64_t bytes;
    if (size < 10 || memcmp(data, "\x93NUMPY", 6) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is no .npy file: it does not begin as one",
                          from->name);
    bool wide = data[6] >= 2;
    size_t fixed = wide ? 12 : 10;
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is a .npy file of version %d.%d; plumb reads 1.0 to 3.0",
                          from->name, data[6], data[7]);
    uint64_t header = data[8] | (uint64_t)data[9] << 8;
    if (wide && size >= fixed)
        header |= (uint64_t)data[10] << 16 | (uint64_t)data[11] << 24;
    if (size < fixed || header > size - fixed)
        return refuse(from->name, err, "its header is longer than the file");
    char *text = malloc(header + 1);
    if (!text)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", from->name);
    memcpy(text, data + fixed, header);
    text[header] = '\0';
    const char *why = read_npy_header(&a, text);
    free(text);
    if (why)
        return refuse(from->name, err, why);
    a.offset = fixed + header;
    if (!array_bytes(&a, &bytes) || bytes > size - a.offset)
        return refuse(from->name, err, "it ends before its last element");
    if (bytes < size - a.offset)
        return refuse(from->name, err, "something follows its last element");
    a.bytes = bytes;
    size_t name_size = strlen(module_of);
    if (name_size > 4 && strcmp(module_of + name_size - 4, ".npy") == 0)
        name_size -= 4;
    return add_array(from, module_of, name_size, &a, data + a.offset, err);
}

/* ---- safetensors ----------------------------------------------------------------------------- */

struct named_array {
    const char *name;
    size_t name_size;
    struct array a;
};

struct tensors {
    struct plumb_arena arena;
    struct named_array **at;
    size_t count, cap;
    struct plumb_json_scan *scan;
    const char *file;
    plumb_error *err;
    int rc;
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
    if (range[0] > range[1] || !array_bytes(&tensor->a, &bytes) ||
        bytes != (uint64_t)(range[1] - range[0]))
        tensor_fault(in, tensor, "has 'data_offsets' that do not fit its shape");
    tensor->a.bytes = (uint64_t)(range[1] - range[0]);
    tensor->a.offset = data_offset + (uint64_t)range[0];
}

static void read_tensors(struct tensors *in, uint64_t data_offset)
{
    struct plumb_json_scan *s = in->scan;
    if (plumb_json_next(s) != PLUMB_JSON_OBJECT && s->token != PLUMB_JSON_ERROR)
        in->rc = refuse(in->file, in->err, "its header is no object");
    while (in->rc == PLUMB_OK && plumb_json_next(s) > PLUMB_JSON_END && s->key) {
        if (plumb_json_key_is(s, "__metadata__")) {
            plumb_json_skip(s);
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
        if (tensor->name && s->token != PLUMB_JSON_OBJECT)
            tensor_fault(in, tensor, "is no object in the header");
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
        const struct array *a = &in->at[i]->a;
        if (a->offset < at)
            tensor_fault(in, in->at[i], "overlaps with another");
        else if (a->offset > at)
            tensor_fault(in, in->at[i], "leaves a hole before its data");
        else if (a->bytes > size - at)
            tensor_fault(in, in->at[i], "ends behind the file: it was cut off");
        at = a->offset + a->bytes;
    }
    if (in->rc == PLUMB_OK && at != size)
        in->rc = refuse(in->file, in->err, "something follows its last tensor");
    return in->rc;
}

int plumb_activations_safetensors(const struct plumb_activation_source *from,
                                  const unsigned char *data, size_t size, plumb_error *err)
{
    struct tensors in = {.file = from->name, .err = err, .rc = PLUMB_OK};
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
        in.rc = add_array(from, in.at[i]->name, in.at[i]->name_size, &in.at[i]->a,
                          data + in.at[i]->a.offset, err);
    plumb_arena_fini(&in.arena);
    return in.rc;
}

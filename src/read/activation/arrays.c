/* arrays.c: whole tensors on disk become records. One pass over the mapped file computes their
 * statistics, and the record says where the values lie. Also reads .npy files.
 *
 * Everything that a file claims is checked before a byte of its data is touched: lengths against
 * the file, sizes against lengths. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/activation/array.h"
#include "tensor/dl_tensor.h"
#include "tensor/value_stats.h"

enum { MAX_DIMS = PLUMB_VIEW_MAX_DIMS };
_Static_assert((int)PLUMB_ACT_BINS == (int)PLUMB_VALUE_BINS, "a histogram is one to both");

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

static void set_lists(struct plumb_activations *t, struct plumb_activation *r,
                      const struct plumb_value_stats *s)
{
    double counts[PLUMB_VALUE_BINS];
    for (int i = 0; i < PLUMB_VALUE_BINS; i++)
        counts[i] = (double)s->histogram[i];
    r->sample = plumb_activations_list_add(t, s->sample, s->samples);
    r->histogram = plumb_activations_list_add(t, counts, PLUMB_VALUE_BINS);
}

/* The values at `data`, whose strides are `strides` where they lie in column-major order. */
static int look(struct plumb_value_stats *out, const struct plumb_activation_array *a,
                const unsigned char *data, plumb_error *err)
{
    const uint32_t want = PLUMB_VALUE_SPREAD | PLUMB_VALUE_ZEROS | PLUMB_VALUE_HASH |
                          PLUMB_VALUE_SET_HASH | PLUMB_VALUE_SAMPLE | PLUMB_VALUE_HISTOGRAM;
    int64_t shape[MAX_DIMS];
    int64_t strides[MAX_DIMS];
    int64_t stride = 1;
    struct plumb_view view;
    int rc;
    for (size_t i = 0; i < a->ndim; i++) {
        shape[i] = a->shape[i];
        strides[i] = stride;
        stride *= a->shape[i] > 0 ? a->shape[i] : 1;
    }
    struct plumb_dl_tensor tensor = {.data = (void *)(uintptr_t)data,
                                     .device = {PLUMB_DL_CPU, 0},
                                     .ndim = (int32_t)a->ndim,
                                     .dtype = a->dtype,
                                     .shape = shape,
                                     .strides = a->fortran ? strides : NULL};
    rc = plumb_view_init(&view, &tensor, err);
    return rc < 0 ? rc : plumb_value_stats(out, &view, want, err);
}

int plumb_activation_array_add(const struct plumb_activation_source *from,
                               struct plumb_activation *r, const struct plumb_activation_array *a,
                               const unsigned char *data, plumb_error *err)
{
    char type[PLUMB_DTYPE_NAME_MAX];
    struct plumb_activations *t = from->table;
    struct plumb_value_stats stats;
    plumb_error why = {0, ""};
    plumb_activation_place(r, from);
    r->dtype = plumb_activations_str_id(t, plumb_dtype_name(type, a->dtype));
    r->shape = plumb_activations_shape_id(t, a->shape, a->ndim);
    r->has |= 1u << PLUMB_ACT_SHAPE;
    r->ref = plumb_activations_ref_add(
        t, &(struct plumb_activation_ref){.file = plumb_activations_str_id(t, from->name),
                                          .dtype = r->dtype,
                                          .shape = r->shape,
                                          .fortran = a->fortran,
                                          .offset = a->offset,
                                          .bytes = a->bytes});
    if (!from->bare) {
        if (look(&stats, a, data, &why) < 0)
            return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': '%.100s': %s", from->name,
                              plumb_activations_text(t, r->module), why.message);
        set_stats(r, &stats);
        set_lists(t, r, &stats);
    }
    plumb_activations_add(t, r);
    return PLUMB_OK;
}

bool plumb_activation_array_bytes(const struct plumb_activation_array *a, uint64_t *out)
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

static void take_descr(struct literal *in, struct plumb_activation_array *a)
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
        in->why = "plumb does not read its element type (a record of fields?)";
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].descr, descr) == 0) {
            a->dtype = known[i].dtype;
            return;
        }
    }
    in->why =
        descr[0] == '>' ? "its element type is big-endian: save it with .astype('<f4')"
        : strchr(descr, 'V')
            ? "its element type is not one of NumPy's: save bfloat16 and float8 as .safetensors"
            : "plumb does not read its element type (floats, integers, bool)";
}

static void take_shape(struct literal *in, struct plumb_activation_array *a)
{
    if (!take(in, "("))
        in->why = "'shape' is not a tuple";
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
            in->why = "'shape' is not a tuple of at most 64 sizes";
        } else {
            a->shape[a->ndim++] = (int64_t)size;
            if (!take(in, ",")) {
                if (!take(in, ")"))
                    in->why = "'shape' is not a tuple of at most 64 sizes";
                break;
            }
        }
    }
}

static const char *read_npy_header(struct plumb_activation_array *a, const char *text)
{
    struct literal in = {text, NULL};
    unsigned seen = 0;
    if (!take(&in, "{"))
        return "its header is not a dictionary";
    while (!in.why && !take(&in, "}")) {
        char key[32];
        unsigned field = 0;
        if (!take_quoted(&in, key, sizeof key) || !take(&in, ":"))
            return "its header is not a dictionary";
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
    struct plumb_activation_array a = {.ndim = 0};
    struct plumb_activation r = {0};
    uint64_t bytes;
    if (size < 10 || memcmp(data, "\x93NUMPY", 6) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a .npy file: it does not begin as one", from->name);
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
    if (!plumb_activation_array_bytes(&a, &bytes) || bytes > size - a.offset)
        return refuse(from->name, err, "it ends before its last element");
    if (bytes < size - a.offset)
        return refuse(from->name, err, "something follows its last element");
    a.bytes = bytes;
    size_t name_size = strlen(module_of);
    if (name_size > 4 && strcmp(module_of + name_size - 4, ".npy") == 0)
        name_size -= 4;
    plumb_activation_name(from->table, &r, module_of, name_size);
    return plumb_activation_array_add(from, &r, &a, data + a.offset, err);
}

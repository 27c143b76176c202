/* work.c: see work.h. One function a kind of primitive, found by name in a table. Products are
 * checked: sizes beyond 63 bits make the answer unknown, not wrong. */
#include "collect/onednn/work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Operands -------------------------------------------------------------------------------- */

static const struct plumb_onednn_tensor *find(const struct plumb_onednn_op *op, int arg)
{
    for (uint32_t i = 0; i < op->tensors; i++)
        if (op->tensor[i].arg == arg)
            return &op->tensor[i];
    return NULL;
}

/* The first of both that is there. */
static const struct plumb_onednn_tensor *either(const struct plumb_onednn_op *op, int arg,
                                                int gradient)
{
    const struct plumb_onednn_tensor *t = find(op, arg);
    return t ? t : find(op, gradient);
}

static bool multiply(int64_t *product, int64_t by)
{
    return by >= 0 && !__builtin_mul_overflow(*product, by, product);
}

static bool elements(int64_t *out, const struct plumb_onednn_tensor *t)
{
    *out = 1;
    for (int i = 0; t && i < t->ndims; i++)
        if (!multiply(out, t->dims[i]))
            return false;
    return t != NULL;
}

static bool times_elements(int64_t *product, const struct plumb_onednn_tensor *t)
{
    int64_t n;
    return elements(&n, t) && multiply(product, n);
}

static bool is_backward(const struct plumb_onednn_op *op)
{
    return op->prop >= PLUMB_DNNL_BACKWARD;
}

/* The tensor that a point-wise operation goes through. */
static const struct plumb_onednn_tensor *data(const struct plumb_onednn_op *op)
{
    return is_backward(op) ? find(op, PLUMB_DNNL_DIFF_DST) : find(op, PLUMB_DNNL_DST);
}

static bool a_data_element(int64_t *out, const struct plumb_onednn_op *op, int64_t flops)
{
    *out = flops;
    return times_elements(out, data(op));
}

/* ---- Products -------------------------------------------------------------------------------- */

/* A place of `t` meets the weights of all channels but its own. Groups are in the weights. */
static bool products(int64_t *out, const struct plumb_onednn_op *op,
                     const struct plumb_onednn_tensor *t)
{
    int64_t weights;
    *out = 2;
    if (!t || t->ndims < 3 || (op->flags & PLUMB_ONEDNN_FUSED) || !times_elements(out, t) ||
        !elements(&weights, either(op, PLUMB_DNNL_WEIGHTS, PLUMB_DNNL_DIFF_WEIGHTS)))
        return false;
    return t->dims[1] == 0 || multiply(out, weights / t->dims[1]);
}

static bool of_convolution(int64_t *out, const struct plumb_onednn_op *op)
{
    return products(out, op, either(op, PLUMB_DNNL_DST, PLUMB_DNNL_DIFF_DST));
}

static bool of_deconvolution(int64_t *out, const struct plumb_onednn_op *op)
{
    return products(out, op, either(op, PLUMB_DNNL_SRC, PLUMB_DNNL_DIFF_SRC));
}

static bool of_inner_product(int64_t *out, const struct plumb_onednn_op *op)
{
    const struct plumb_onednn_tensor *dst = either(op, PLUMB_DNNL_DST, PLUMB_DNNL_DIFF_DST);
    *out = 2;
    return dst && dst->ndims > 0 && multiply(out, dst->dims[0]) &&
           times_elements(out, either(op, PLUMB_DNNL_WEIGHTS, PLUMB_DNNL_DIFF_WEIGHTS));
}

static bool of_matmul(int64_t *out, const struct plumb_onednn_op *op)
{
    const struct plumb_onednn_tensor *src = find(op, PLUMB_DNNL_SRC);
    *out = 2;
    return src && src->ndims >= 2 && times_elements(out, find(op, PLUMB_DNNL_DST)) &&
           multiply(out, src->dims[src->ndims - 1]);
}

/* The products with the weights of layers, of recurrence and of projection: each weight once for
 * each time and sample, twice of that backward (data and weights). */
static bool of_rnn(int64_t *out, const struct plumb_onednn_op *op)
{
    const struct plumb_onednn_tensor *src = find(op, PLUMB_DNNL_SRC);
    int64_t weights = 0, n;
    for (uint32_t i = 0; i < op->tensors; i++) {
        int arg = op->tensor[i].arg;
        if ((arg == PLUMB_DNNL_WEIGHTS || arg == PLUMB_DNNL_WEIGHTS_1 ||
             arg == PLUMB_DNNL_WEIGHTS_3) &&
            (!elements(&n, &op->tensor[i]) || __builtin_add_overflow(weights, n, &weights)))
            return false;
    }
    *out = is_backward(op) ? 4 : 2;
    return src && src->ndims == 3 && weights > 0 && multiply(out, weights) &&
           multiply(out, src->dims[0]) && multiply(out, src->dims[1]);
}

/* ---- Element by element ---------------------------------------------------------------------- */

static bool of_pooling(int64_t *out, const struct plumb_onednn_op *op)
{
    bool is_max = strcmp(op->alg, "pooling_max") == 0;
    if (is_backward(op) && is_max)
        return a_data_element(out, op, 1);
    return op->window > 0 && a_data_element(out, op, op->window);
}

static bool of_softmax(int64_t *out, const struct plumb_onednn_op *op)
{
    return a_data_element(out, op, is_backward(op) ? 4 : 5);
}

/* Forward: mean 1, variance 3, the normal value 2, scale 1, shift 1. Backward: the normal value 2,
 * the sums of gradients 3, the gradient 4; with given statistics a product, and the sums only for
 * scale and shift. */
static bool of_normalization(int64_t *out, const struct plumb_onednn_op *op)
{
    bool scale = op->flags & PLUMB_ONEDNN_SCALE, shift = op->flags & PLUMB_ONEDNN_SHIFT;
    bool given = op->flags & PLUMB_ONEDNN_GLOBAL_STATS;
    if (is_backward(op))
        return a_data_element(out, op, !given ? 9 : 1 + (scale || shift ? 5 : 0));
    return a_data_element(out, op, (given ? 2 : 6) + scale + shift);
}

static bool of_eltwise(int64_t *out, const struct plumb_onednn_op *op)
{
    return a_data_element(out, op, is_backward(op) ? 2 : 1);
}

static bool of_binary(int64_t *out, const struct plumb_onednn_op *op)
{
    return a_data_element(out, op, 1);
}

static bool of_prelu(int64_t *out, const struct plumb_onednn_op *op)
{
    return !is_backward(op) && a_data_element(out, op, 1);
}

static bool of_sum(int64_t *out, const struct plumb_onednn_op *op)
{
    return op->sources > 0 && a_data_element(out, op, 2 * (int64_t)op->sources - 1);
}

static bool of_reduction(int64_t *out, const struct plumb_onednn_op *op)
{
    *out = strncmp(op->alg, "reduction_norm", strlen("reduction_norm")) == 0 ? 2 : 1;
    return times_elements(out, find(op, PLUMB_DNNL_SRC));
}

static bool of_a_copy(int64_t *out, const struct plumb_onednn_op *op)
{
    (void)op;
    *out = 0;
    return true;
}

static const struct {
    const char *kind;
    bool (*flops)(int64_t *out, const struct plumb_onednn_op *op);
} formulas[] = {{"convolution", of_convolution},
                {"deconvolution", of_deconvolution},
                {"inner_product", of_inner_product},
                {"matmul", of_matmul},
                {"rnn", of_rnn},
                {"pooling", of_pooling},
                {"softmax", of_softmax},
                {"logsoftmax", of_softmax},
                {"batch_normalization", of_normalization},
                {"layer_normalization", of_normalization},
                {"eltwise", of_eltwise},
                {"binary", of_binary},
                {"prelu", of_prelu},
                {"sum", of_sum},
                {"reduction", of_reduction},
                {"reorder", of_a_copy},
                {"concat", of_a_copy},
                {"shuffle", of_a_copy}};

/* The work of a call that returns before it is done would be divided by the time of the call. */
static bool can_be_known(const struct plumb_onednn_op *op)
{
    return !(op->flags & (PLUMB_ONEDNN_ASYNC | PLUMB_ONEDNN_UNKNOWN));
}

bool plumb_onednn_flops(int64_t *out, const struct plumb_onednn_op *op)
{
    int64_t flops;
    for (size_t i = 0; can_be_known(op) && i < sizeof formulas / sizeof *formulas; i++) {
        if (strcmp(op->kind, formulas[i].kind) != 0)
            continue;
        if (!formulas[i].flops(&flops, op))
            return false;
        *out = flops;
        return true;
    }
    return false;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

uint64_t plumb_onednn_type_bytes(const char *type)
{
    static const struct {
        const char *type;
        uint64_t bytes;
    } known[] = {{"f64", 8}, {"f32", 4},     {"s32", 4},     {"f16", 2},     {"bf16", 2}, {"s8", 1},
                 {"u8", 1},  {"boolean", 1}, {"f8_e5m2", 1}, {"f8_e4m3", 1}, {"e8m0", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(type, known[i].type) == 0)
            return known[i].bytes;
    return 0;
}

static bool add_bytes(int64_t *sum, const struct plumb_onednn_tensor *t)
{
    int64_t n = (int64_t)plumb_onednn_type_bytes(t->type);
    if (t->stored_bytes)
        n = (int64_t)t->stored_bytes;
    else if (n == 0 || !times_elements(&n, t))
        return false;
    return n >= 0 && !__builtin_add_overflow(*sum, n, sum);
}

bool plumb_onednn_bytes(int64_t *out, const struct plumb_onednn_op *op)
{
    int64_t sum = (int64_t)op->other_bytes;
    const struct plumb_onednn_tensor *dst = find(op, PLUMB_DNNL_DST);
    if (!can_be_known(op) || op->tensors == 0 || sum < 0)
        return false;
    for (uint32_t i = 0; i < op->tensors; i++)
        if (!add_bytes(&sum, &op->tensor[i]))
            return false;
    if ((op->flags & PLUMB_ONEDNN_SUM) && dst && !add_bytes(&sum, dst))
        return false;
    *out = sum;
    return true;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Appends; what does not fit is left out whole, with "..." where it was to begin. */
static bool append(char *out, size_t size, const char *format, ...)
{
    size_t n = strlen(out);
    va_list args;
    int length;
    va_start(args, format);
    length = vsnprintf(out + n, size - n, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < size - n)
        return true;
    n = n + 4 > size ? size - 4 : n;
    memcpy(out + n, "...", 4);
    return false;
}

/* The operands that make the shape of an operation; those of statistics and of attributes do not.
 */
static const char *role(int arg)
{
    static const struct {
        int arg;
        const char *name;
    } roles[] = {{PLUMB_DNNL_SRC, "src"},
                 {2, "src1"},
                 {3, "src2"},
                 {4, "src3"},
                 {PLUMB_DNNL_DST, "dst"},
                 {18, "dst1"},
                 {19, "dst2"},
                 {PLUMB_DNNL_WEIGHTS, "wei"},
                 {PLUMB_DNNL_WEIGHTS_1, "wei1"},
                 {35, "wei2"},
                 {PLUMB_DNNL_WEIGHTS_3, "wei3"},
                 {PLUMB_DNNL_BIAS, "bias"},
                 {PLUMB_DNNL_DIFF_SRC, "diff_src"},
                 {PLUMB_DNNL_DIFF_DST, "diff_dst"},
                 {PLUMB_DNNL_DIFF_WEIGHTS, "diff_wei"},
                 {162, "diff_wei1"},
                 {PLUMB_DNNL_DIFF_BIAS, "diff_bias"}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (roles[i].arg == arg)
            return roles[i].name;
    return arg >= PLUMB_DNNL_MULTIPLE_SRC && arg < PLUMB_DNNL_MULTIPLE_END ? "src" : NULL;
}

void plumb_onednn_name(char *out, size_t size, const struct plumb_onednn_op *op)
{
    snprintf(out, size, "%s%s%s", op->kind, op->impl[0] ? " " : "", op->impl);
}

static bool append_dims(char *out, size_t size, const struct plumb_onednn_tensor *t)
{
    for (int i = 0; i < t->ndims; i++)
        if (!append(out, size, i ? "x%lld" : "%lld", (long long)t->dims[i]))
            return false;
    return true;
}

void plumb_onednn_shapes(char *out, size_t size, const struct plumb_onednn_op *op)
{
    const char *name;
    out[0] = '\0';
    for (uint32_t i = 0; i < op->tensors; i++)
        if ((name = role(op->tensor[i].arg)) != NULL &&
            (!append(out, size, "%s%s:", out[0] ? " " : "", name) ||
             !append_dims(out, size, &op->tensor[i])))
            return;
    if (op->sources > op->tensors)
        append(out, size, " (%u sources)", op->sources);
}

void plumb_onednn_types(char *out, size_t size, const struct plumb_onednn_op *op)
{
    const char *name;
    out[0] = '\0';
    for (uint32_t i = 0; i < op->tensors; i++)
        if ((name = role(op->tensor[i].arg)) != NULL &&
            !append(out, size, "%s%s:%s", out[0] ? " " : "", name, op->tensor[i].type))
            return;
}

void plumb_onednn_details(char *out, size_t size, const struct plumb_onednn_op *op)
{
    const char *const words[] = {op->prop_text, op->alg, op->post,
                                 op->flags & PLUMB_ONEDNN_ASYNC ? "submitted" : ""};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i][0] && !append(out, size, "%s%s", out[0] ? " " : "", words[i]))
            return;
}

/* ask.c: see ask.h. The two interfaces differ in this: 2.x shows descriptors of operations and of
 * memory as structs, of which a few fields are read here at their offsets (abi.h); 3.x answers
 * queries. Both number kinds, algorithms and types in their own way, hence everything is compared
 * by name. */
#include "collect/onednn/ask.h"

#include <stdio.h>
#include <string.h>

#include "collect/onednn/work.h"

struct asked {
    struct plumb_onednn_op *op;
    const struct plumb_dnnl *d;
    const void *pd;
};

static int ask_int(const struct asked *a, int what, int otherwise)
{
    int value = otherwise;
    return a->d->query(a->pd, what, 0, &value) == PLUMB_DNNL_OK ? value : otherwise;
}

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static bool is_kind(const struct asked *a, const char *kind)
{
    return strcmp(a->op->kind, kind) == 0;
}

static bool is_normalization(const struct asked *a)
{
    return is_kind(a, "batch_normalization") || is_kind(a, "layer_normalization");
}

/* ---- The operation --------------------------------------------------------------------------- */

/* "softmax_v2" is the softmax of later versions. */
static void take_kind(struct asked *a)
{
    size_t n;
    copy_text(a->op->kind, sizeof a->op->kind,
              a->d->kind_text(ask_int(a, PLUMB_DNNL_QUERY_KIND, 0)));
    n = strlen(a->op->kind);
    if (n > 3 && strcmp(a->op->kind + n - 3, "_v2") == 0)
        memset(a->op->kind + n - 3, 0, 3);
}

static void take_alg(struct asked *a, int alg)
{
    if (alg > 0)
        copy_text(a->op->alg, sizeof a->op->alg, a->d->alg_text(alg));
}

static void take_window(struct asked *a, const int64_t *kernel, int ndims)
{
    a->op->window = 1;
    for (int i = 0; i < ndims && i < PLUMB_DNNL_DIMS; i++)
        if (kernel[i] < 1 || __builtin_mul_overflow(a->op->window, kernel[i], &a->op->window)) {
            a->op->window = 0;
            return;
        }
}

static int int_at(const unsigned char *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Where the algorithm is in the descriptor of such an operation of 2.x; 0: it has none. */
static size_t offset_of_alg(const struct asked *a, bool is_v2)
{
    static const char *const after_prop[] = {"convolution", "deconvolution", "eltwise",   "pooling",
                                             "lrn",         "rnn",           "resampling"};
    if (is_kind(a, "binary") || is_kind(a, "reduction"))
        return PLUMB_DNNL2_ALG_FIRST;
    if (is_kind(a, "softmax"))
        return is_v2 ? PLUMB_DNNL2_ALG_SOFTMAX : 0;
    for (size_t i = 0; i < sizeof after_prop / sizeof *after_prop; i++)
        if (is_kind(a, after_prop[i]))
            return PLUMB_DNNL2_ALG;
    return 0;
}

/* Dimensions of space: those of the result, the last operand, without batch and channels. */
static int space_of(const struct plumb_onednn_op *op)
{
    const struct plumb_onednn_tensor *last = op->tensors ? &op->tensor[op->tensors - 1] : NULL;
    return last && last->ndims > 2 ? last->ndims - 2 : 0;
}

static void take_parameters_2(struct asked *a)
{
    const unsigned char *d = NULL;
    const char *kind = a->d->kind_text(ask_int(a, PLUMB_DNNL_QUERY_KIND, 0));
    size_t alg = offset_of_alg(a, kind && strcmp(kind, "softmax_v2") == 0);
    int flags;
    if (!alg && !is_normalization(a))
        return;
    if (a->d->query(a->pd, PLUMB_DNNL2_QUERY_OP, 0, &d) != PLUMB_DNNL_OK || !d)
        return;
    if (alg)
        take_alg(a, int_at(d + alg));
    if (is_kind(a, "pooling")) {
        int64_t kernel[PLUMB_DNNL_DIMS];
        memcpy(kernel, d + PLUMB_DNNL2_KERNEL, sizeof kernel);
        take_window(a, kernel, space_of(a->op));
    }
    if (!is_normalization(a))
        return;
    flags = int_at(d + PLUMB_DNNL2_NORM_FLAGS);
    if (flags & PLUMB_DNNL2_GLOBAL_STATS)
        a->op->flags |= PLUMB_ONEDNN_GLOBAL_STATS;
    if (flags & (PLUMB_DNNL2_SCALE_SHIFT | PLUMB_DNNL2_SCALE))
        a->op->flags |= PLUMB_ONEDNN_SCALE;
    if (flags & (PLUMB_DNNL2_SCALE_SHIFT | PLUMB_DNNL2_SHIFT))
        a->op->flags |= PLUMB_ONEDNN_SHIFT;
}

static void take_parameters_3(struct asked *a)
{
    const int64_t *kernel = NULL;
    int flags;
    take_alg(a, ask_int(a, is_kind(a, "rnn") ? PLUMB_DNNL3_QUERY_CELL : PLUMB_DNNL3_QUERY_ALG, 0));
    if (is_kind(a, "pooling") &&
        a->d->query(a->pd, PLUMB_DNNL3_QUERY_KERNEL, 0, &kernel) == PLUMB_DNNL_OK && kernel)
        take_window(a, kernel, space_of(a->op));
    if (!is_normalization(a))
        return;
    flags = ask_int(a, PLUMB_DNNL3_QUERY_FLAGS, 0);
    if (flags & PLUMB_DNNL3_GLOBAL_STATS)
        a->op->flags |= PLUMB_ONEDNN_GLOBAL_STATS;
    if (flags & PLUMB_DNNL3_SCALE)
        a->op->flags |= PLUMB_ONEDNN_SCALE;
    if (flags & PLUMB_DNNL3_SHIFT)
        a->op->flags |= PLUMB_ONEDNN_SHIFT;
}

static void take_post_ops(struct asked *a)
{
    const void *attr = NULL, *ops = NULL;
    size_t n = 0;
    int count;
    if (a->d->attributes(a->pd, &attr) != PLUMB_DNNL_OK || !attr ||
        a->d->post_ops(attr, &ops) != PLUMB_DNNL_OK || !ops)
        return;
    count = a->d->post_ops_len(ops);
    for (int i = 0; i < count; i++) {
        const char *kind = a->d->kind_text(a->d->post_op_kind(ops, i));
        if (!kind)
            continue;
        if (strcmp(kind, "sum") == 0)
            a->op->flags |= PLUMB_ONEDNN_SUM;
        if (strcmp(kind, "convolution") == 0)
            a->op->flags |= PLUMB_ONEDNN_FUSED;
        if (n + strlen(kind) + 2 < sizeof a->op->post)
            n += (size_t)snprintf(a->op->post + n, sizeof a->op->post - n, "+%s", kind);
    }
}

static void take_engine(struct asked *a)
{
    void *engine = NULL;
    int kind = PLUMB_DNNL_ENGINE_CPU;
    if (a->d->query(a->pd, PLUMB_DNNL_QUERY_ENGINE, 0, &engine) == PLUMB_DNNL_OK && engine)
        a->d->engine_kind(engine, &kind);
    if (kind != PLUMB_DNNL_ENGINE_CPU || a->d->async)
        a->op->flags |= PLUMB_ONEDNN_ASYNC;
}

/* ---- Operands -------------------------------------------------------------------------------- */

struct md {
    int ndims, type, format;
    int64_t dims[PLUMB_DNNL_DIMS];
};

static bool read_md(struct md *out, const struct plumb_dnnl *d, const void *md)
{
    const int64_t *dims = NULL;
    struct plumb_dnnl2_md two;
    memset(out, 0, sizeof *out);
    if (!md)
        return false;
    if (d->major == 2) {
        memcpy(&two, md, sizeof two);
        out->ndims = two.ndims;
        out->type = two.data_type;
        out->format = two.format_kind;
        memcpy(out->dims, two.dims, sizeof out->dims);
    } else if (d->query_of_md(md, PLUMB_DNNL3_QUERY_NDIMS, &out->ndims) != PLUMB_DNNL_OK ||
               d->query_of_md(md, PLUMB_DNNL3_QUERY_DATA_TYPE, &out->type) != PLUMB_DNNL_OK ||
               d->query_of_md(md, PLUMB_DNNL3_QUERY_FORMAT_KIND, &out->format) != PLUMB_DNNL_OK ||
               d->query_of_md(md, PLUMB_DNNL3_QUERY_DIMS, &dims) != PLUMB_DNNL_OK || !dims) {
        return false;
    }
    if (out->ndims < 1 || out->ndims > PLUMB_DNNL_DIMS)
        return false;
    if (dims)
        memcpy(out->dims, dims, (size_t)out->ndims * sizeof *dims);
    return true;
}

/* Gradients after destinations after all other operands, as they are written down. */
static int rank(int arg)
{
    if (arg >= PLUMB_DNNL_DST && arg < PLUMB_DNNL_WEIGHTS)
        return arg + 100000;
    if (arg >= PLUMB_DNNL_DIFF_SRC && arg < PLUMB_DNNL_MULTIPLE_SRC)
        return arg + 200000;
    return arg;
}

static void insert(struct plumb_onednn_op *op, const struct plumb_onednn_tensor *t)
{
    uint32_t i = op->tensors++;
    for (; i > 0 && rank(op->tensor[i - 1].arg) > rank(t->arg); i--)
        op->tensor[i] = op->tensor[i - 1];
    op->tensor[i] = *t;
}

/* Operands beyond PLUMB_ONEDNN_TENSORS count in bytes alone. */
static void take_tensor(struct asked *a, int arg, const struct md *md, const void *handle)
{
    struct plumb_onednn_tensor t;
    uint64_t element;
    memset(&t, 0, sizeof t);
    t.arg = arg;
    t.ndims = md->ndims;
    memcpy(t.dims, md->dims, (size_t)md->ndims * sizeof *t.dims);
    copy_text(t.type, sizeof t.type, a->d->type_text(md->type));
    element = plumb_onednn_type_bytes(t.type);
    if (md->format != PLUMB_DNNL_BLOCKED || element == 0)
        t.stored_bytes = a->d->md_bytes(handle);
    if (arg >= PLUMB_DNNL_MULTIPLE_SRC && arg < PLUMB_DNNL_MULTIPLE_END)
        a->op->sources++;
    if (a->op->tensors < PLUMB_ONEDNN_TENSORS)
        insert(a->op, &t);
    else
        a->op->other_bytes += t.stored_bytes ? t.stored_bytes : a->d->md_bytes(handle);
}

static bool is_runtime(const struct asked *a, int arg)
{
    struct md md;
    if (!read_md(&md, a->d, a->d->query_md(a->pd, PLUMB_DNNL_QUERY_EXEC_ARG_MD, arg)))
        return false;
    for (int i = 0; i < md.ndims; i++)
        if (md.dims[i] == PLUMB_DNNL_RUNTIME_DIM)
            return true;
    return false;
}

static void take_operands(struct asked *a, int nargs, const struct plumb_dnnl_exec_arg *args)
{
    for (int i = 0; args && i < nargs; i++) {
        const void *handle = NULL;
        struct md md;
        if (!args[i].memory || args[i].arg == PLUMB_DNNL_SCRATCHPAD ||
            a->d->memory_md(args[i].memory, &handle) != PLUMB_DNNL_OK ||
            !read_md(&md, a->d, handle))
            continue;
        take_tensor(a, args[i].arg, &md, handle);
        if (is_runtime(a, args[i].arg))
            a->op->flags |= PLUMB_ONEDNN_RUNTIME_DIMS;
    }
}

void plumb_onednn_ask(struct plumb_onednn_op *out, const struct plumb_dnnl *d,
                      const struct plumb_dnnl_call *call)
{
    struct asked a = {out, d, NULL};
    const char *impl = NULL;
    memset(out, 0, sizeof *out);
    if (!d->major || d->primitive_desc(call->primitive, &a.pd) != PLUMB_DNNL_OK || !a.pd) {
        copy_text(out->kind, sizeof out->kind, "primitive");
        out->flags = PLUMB_ONEDNN_UNKNOWN;
        return;
    }
    take_kind(&a);
    if (d->query(a.pd, PLUMB_DNNL_QUERY_IMPL, 0, &impl) == PLUMB_DNNL_OK)
        copy_text(out->impl, sizeof out->impl, impl);
    out->prop = ask_int(&a, PLUMB_DNNL_QUERY_PROP, 0);
    if (out->prop)
        copy_text(out->prop_text, sizeof out->prop_text, d->prop_text(out->prop));
    take_operands(&a, call->nargs, call->args);
    if (d->major == 2)
        take_parameters_2(&a);
    else
        take_parameters_3(&a);
    take_post_ops(&a);
    take_engine(&a);
}

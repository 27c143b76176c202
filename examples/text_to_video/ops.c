/* Owns the way from a tensor operation to an executed oneDNN primitive. Keeps no state.
 *
 * Each call describes, creates, executes and destroys its primitive. oneDNN caches compiled
 * primitives by description, so a second one costs microseconds, and the models read as
 * formulas instead of as tables of prepared handles. */
#include "ops.h"

#include "rounding.h"

#include <string.h>

enum { MAX_ARGS = 6 };

/* The arguments of one execution: which role, what layout, where. */
struct args {
    int count;
    int roles[MAX_ARGS];
    dnnl_memory_desc_t descs[MAX_ARGS];
    void *data[MAX_ARGS];
};

static void add_arg(struct args *args, int role, const dnnl_memory_desc_t *desc, void *data)
{
    int i = args->count++;

    args->roles[i] = role;
    args->descs[i] = *desc;
    args->data[i] = data;
}

static bool check(struct nn *nn, dnnl_status_t status, const char *what)
{
    if (status != dnnl_success)
        nn_fail(nn, "oneDNN cannot %s (status %d)", what, (int)status);
    return status == dnnl_success;
}

static dnnl_data_type_t type_of(const struct tensor *t)
{
    static const dnnl_data_type_t types[] = {
        [ELEMENT_F32] = dnnl_f32, [ELEMENT_BF16] = dnnl_bf16, [ELEMENT_F16] = dnnl_f16};

    return types[t->type];
}

static void describe(struct nn *nn, const struct tensor *t, dnnl_memory_desc_t *desc)
{
    check(nn, dnnl_memory_desc_init_by_strides(desc, t->ndims, t->dims, type_of(t), t->strides),
          "describe a tensor");
}

/* A vector as the only row of a matrix, or of a batch of matrices: so it is added to every row. */
static void describe_row(struct nn *nn, const struct tensor *vector, int ndims,
                         dnnl_memory_desc_t *desc)
{
    struct tensor row = {.ndims = ndims, .type = vector->type};

    for (int i = 0; i < ndims; i++) {
        row.dims[i] = i == ndims - 1 ? vector->dims[0] : 1;
        row.strides[i] = i == ndims - 1 ? 1 : vector->dims[0];
    }
    describe(nn, &row, desc);
}

/* Channels last, as the frames lie in memory, under the names oneDNN gives the axes: N C D H W. */
static void describe_volume(struct nn *nn, const struct tensor *t, dnnl_memory_desc_t *desc)
{
    const struct tensor volume = {
        .ndims = 5,
        .dims = {1, t->dims[3], t->dims[0], t->dims[1], t->dims[2]},
        .strides = {tensor_count(t), 1, t->strides[0], t->strides[1], t->strides[2]},
        .type = t->type,
    };

    describe(nn, &volume, desc);
}

static dnnl_primitive_desc_t create_desc(struct nn *nn, const_dnnl_op_desc_t op,
                                         const_dnnl_primitive_attr_t attr, const char *what)
{
    dnnl_primitive_desc_t desc = NULL;

    if (!nn_failed(nn))
        check(nn, dnnl_primitive_desc_create(&desc, op, attr, nn->engine, NULL), what);
    return nn_failed(nn) ? NULL : desc;
}

/* Runs the described primitive to its end and destroys the description. */
static void execute(struct nn *nn, dnnl_primitive_desc_t desc, const struct args *args,
                    const char *what)
{
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t exec[MAX_ARGS] = {{0}};

    if (nn_failed(nn) || !check(nn, dnnl_primitive_create(&primitive, desc), what))
        goto out;
    for (int i = 0; i < args->count; i++) {
        exec[i].arg = args->roles[i];
        if (!check(nn,
                   dnnl_memory_create(&exec[i].memory, &args->descs[i], nn->engine, args->data[i]),
                   what))
            goto out;
    }
    if (check(nn, dnnl_primitive_execute(primitive, nn->stream, args->count, exec), what))
        check(nn, dnnl_stream_wait(nn->stream), what);
out:
    for (int i = 0; i < args->count; i++)
        if (exec[i].memory)
            dnnl_memory_destroy(exec[i].memory);
    if (primitive)
        dnnl_primitive_destroy(primitive);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
}

static dnnl_alg_kind_t algorithm_of(enum activation activation)
{
    switch (activation) {
    case ACTIVATION_GELU:
        return dnnl_eltwise_gelu_tanh;
    case ACTIVATION_SWISH:
        return dnnl_eltwise_swish;
    case ACTIVATION_TANH:
        return dnnl_eltwise_tanh;
    case ACTIVATION_NONE:
        break;
    }
    return dnnl_alg_kind_undef;
}

/* The epilogue as oneDNN attributes; the gate also becomes an argument. The bias is not here: it
 * belongs to the operation itself. */
static dnnl_primitive_attr_t create_attr(struct nn *nn, const struct epilogue *then, int ndims,
                                         struct args *args)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t post = NULL;
    dnnl_memory_desc_t gate;
    int n = 0;

    if (nn_failed(nn) || !check(nn, dnnl_primitive_attr_create(&attr), "create attributes") ||
        !check(nn, dnnl_post_ops_create(&post), "create attributes"))
        goto out;
    if (then->scale != 0.0f)
        check(nn, dnnl_primitive_attr_set_output_scales(attr, 1, 0, &then->scale), "set a scale");
    if (then->activation != ACTIVATION_NONE) {
        check(nn,
              dnnl_post_ops_append_eltwise(post, 1.0f, algorithm_of(then->activation), 1.0f, 0.0f),
              "fuse an activation");
        n++;
    }
    if (then->gate) {
        describe_row(nn, then->gate, ndims, &gate);
        check(nn, dnnl_post_ops_append_binary(post, dnnl_binary_mul, &gate), "fuse a gate");
        add_arg(args, DNNL_ARG_ATTR_MULTIPLE_POST_OP(n) | DNNL_ARG_SRC_1, &gate, then->gate->data);
    }
    if (then->accumulate)
        check(nn, dnnl_post_ops_append_sum(post, 1.0f), "fuse a sum");
    check(nn, dnnl_primitive_attr_set_post_ops(attr, post), "set attributes");
out:
    if (post)
        dnnl_post_ops_destroy(post);
    return attr;
}

/* Returns whether an operation with the result `out` must be computed in float32 and rounded. */
static bool is_rounded(const struct nn *nn, const struct tensor *out)
{
    return nn->rounds && out->type != ELEMENT_F32 && !nn_failed(nn);
}

static void matmul_rounded(struct nn *nn, const struct tensor *a, const struct tensor *b,
                           const struct epilogue *then, const struct tensor *out)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor wide_a = rounding_widen(nn, a);
    struct tensor wide_b = rounding_widen(nn, b);
    struct tensor result = then->accumulate ? rounding_widen(nn, out) : rounding_room(nn, out);

    op_matmul(nn, &wide_a, &wide_b, then, &result);
    rounding_copy(nn, &result, out);
    nn_release(nn, mark);
}

void op_matmul(struct nn *nn, const struct tensor *a, const struct tensor *b,
               const struct epilogue *then, const struct tensor *out)
{
    static const struct epilogue nothing = {0};
    dnnl_matmul_desc_t op;
    dnnl_memory_desc_t a_desc, b_desc, out_desc, bias_desc;
    dnnl_primitive_attr_t attr;
    struct args args = {0};

    if (nn_failed(nn))
        return;
    then = then ? then : &nothing;
    if (is_rounded(nn, out)) {
        matmul_rounded(nn, a, b, then, out);
        return;
    }
    describe(nn, a, &a_desc);
    describe(nn, b, &b_desc);
    describe(nn, out, &out_desc);
    add_arg(&args, DNNL_ARG_SRC, &a_desc, a->data);
    add_arg(&args, DNNL_ARG_WEIGHTS, &b_desc, b->data);
    add_arg(&args, DNNL_ARG_DST, &out_desc, out->data);
    if (then->bias) {
        describe_row(nn, then->bias, out->ndims, &bias_desc);
        add_arg(&args, DNNL_ARG_BIAS, &bias_desc, then->bias->data);
    }
    attr = create_attr(nn, then, out->ndims, &args);
    check(nn,
          dnnl_matmul_desc_init(&op, &a_desc, &b_desc, then->bias ? &bias_desc : NULL, &out_desc),
          "describe a matrix product");
    execute(nn, create_desc(nn, &op, attr, "prepare a matrix product"), &args,
            "run a matrix product");
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    nn->flops += 2 * (uint64_t)tensor_count(out) * (uint64_t)a->dims[a->ndims - 1];
}

/* Runs an operation from `x` to `out`, which may be one tensor, in float32, and rounds. */
static void run_rounded(struct nn *nn, const struct tensor *x, const struct tensor *out,
                        void (*op)(struct nn *nn, const struct tensor *x, const struct tensor *out,
                                   const void *arg),
                        const void *arg)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor wide = rounding_widen(nn, x);
    struct tensor result = rounding_room(nn, out);

    op(nn, &wide, &result, arg);
    rounding_copy(nn, &result, out);
    nn_release(nn, mark);
}

struct norm {
    const struct tensor *scale, *shift;
};

static void layer_norm(struct nn *nn, const struct tensor *x, const struct tensor *out,
                       const void *arg)
{
    const struct norm *norm = arg;

    op_layer_norm(nn, x, norm->scale, norm->shift, out);
}

void op_layer_norm(struct nn *nn, const struct tensor *x, const struct tensor *scale,
                   const struct tensor *shift, const struct tensor *out)
{
    dnnl_layer_normalization_desc_t op;
    dnnl_memory_desc_t x_desc, vector_desc;
    struct args args = {0};
    unsigned flags = scale ? dnnl_use_scale | dnnl_use_shift : 0;

    if (nn_failed(nn))
        return;
    if (is_rounded(nn, out)) {
        run_rounded(nn, x, out, layer_norm, &(struct norm){scale, shift});
        return;
    }
    describe(nn, x, &x_desc);
    add_arg(&args, DNNL_ARG_SRC, &x_desc, x->data);
    add_arg(&args, DNNL_ARG_DST, &x_desc, out->data);
    if (scale) {
        describe(nn, scale, &vector_desc);
        add_arg(&args, DNNL_ARG_SCALE, &vector_desc, scale->data);
        add_arg(&args, DNNL_ARG_SHIFT, &vector_desc, shift->data);
    }
    check(nn,
          dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_inference, &x_desc, NULL,
                                                     1e-5f, flags),
          "describe a layer norm");
    execute(nn, create_desc(nn, &op, NULL, "prepare a layer norm"), &args, "run a layer norm");
}

static void softmax(struct nn *nn, const struct tensor *x, const struct tensor *out,
                    const void *arg)
{
    dnnl_softmax_desc_t op;
    dnnl_memory_desc_t desc;
    struct args args = {0};

    (void)arg;
    describe(nn, x, &desc);
    add_arg(&args, DNNL_ARG_SRC, &desc, x->data);
    add_arg(&args, DNNL_ARG_DST, &desc, out->data);
    check(nn, dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &desc, x->ndims - 1),
          "describe a softmax");
    execute(nn, create_desc(nn, &op, NULL, "prepare a softmax"), &args, "run a softmax");
}

void op_softmax(struct nn *nn, const struct tensor *x)
{
    if (is_rounded(nn, x))
        run_rounded(nn, x, x, softmax, NULL);
    else if (!nn_failed(nn))
        softmax(nn, x, x, NULL);
}

static void activate(struct nn *nn, const struct tensor *x, const struct tensor *out,
                     const void *arg)
{
    const enum activation *activation = arg;
    dnnl_eltwise_desc_t op;
    dnnl_memory_desc_t desc;
    struct args args = {0};

    describe(nn, x, &desc);
    add_arg(&args, DNNL_ARG_SRC, &desc, x->data);
    add_arg(&args, DNNL_ARG_DST, &desc, out->data);
    check(nn,
          dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, algorithm_of(*activation),
                                         &desc, 1.0f, 0.0f),
          "describe an activation");
    execute(nn, create_desc(nn, &op, NULL, "prepare an activation"), &args, "run an activation");
}

void op_activation(struct nn *nn, enum activation activation, const struct tensor *x)
{
    if (is_rounded(nn, x))
        run_rounded(nn, x, x, activate, &activation);
    else if (!nn_failed(nn))
        activate(nn, x, x, &activation);
}

static void reorder(struct nn *nn, const dnnl_memory_desc_t *from_desc, void *from,
                    const dnnl_memory_desc_t *to_desc, void *to)
{
    dnnl_primitive_desc_t desc = NULL;
    struct args args = {0};

    if (nn_failed(nn))
        return;
    add_arg(&args, DNNL_ARG_FROM, from_desc, from);
    add_arg(&args, DNNL_ARG_TO, to_desc, to);
    check(
        nn,
        dnnl_reorder_primitive_desc_create(&desc, from_desc, nn->engine, to_desc, nn->engine, NULL),
        "prepare a copy");
    execute(nn, desc, &args, "run a copy");
}

void op_copy(struct nn *nn, const struct tensor *from, const struct tensor *to)
{
    dnnl_memory_desc_t from_desc, to_desc;

    if (nn_failed(nn))
        return;
    if (nn->rounds && (from->type != ELEMENT_F32 || to->type != ELEMENT_F32)) {
        rounding_copy(nn, from, to);
        return;
    }
    describe(nn, from, &from_desc);
    describe(nn, to, &to_desc);
    reorder(nn, &from_desc, from->data, &to_desc, to->data);
}

/* Returns the weights in the layout of the chosen convolution, from the arena. */
static void add_conv_weights(struct nn *nn, const_dnnl_primitive_desc_t conv,
                             const struct tensor *weight, struct args *args)
{
    const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md(conv, dnnl_query_weights_md, 0);
    int64_t floats = (int64_t)(dnnl_memory_desc_get_size(wanted) / sizeof(float) + 1);
    struct tensor packed =
        nn_tensor_of(nn, ELEMENT_F32, 1, &floats); /* large enough for any type */
    dnnl_memory_desc_t plain;

    describe(nn, weight, &plain);
    reorder(nn, &plain, weight->data, wanted, packed.data);
    add_arg(args, DNNL_ARG_WEIGHTS, wanted, packed.data);
}

static void conv3d_rounded(struct nn *nn, const struct tensor *x, const struct tensor *weight,
                           const struct epilogue *then, const struct tensor *out)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor wide = rounding_widen(nn, x);
    struct tensor wide_weight = rounding_widen(nn, weight);
    struct tensor result = then->accumulate ? rounding_widen(nn, out) : rounding_room(nn, out);

    op_conv3d(nn, &wide, &wide_weight, then, &result);
    rounding_copy(nn, &result, out);
    nn_release(nn, mark);
}

void op_conv3d(struct nn *nn, const struct tensor *x, const struct tensor *weight,
               const struct epilogue *then, const struct tensor *out)
{
    static const dnnl_dims_t ones = {1, 1, 1};
    const struct epilogue fused = {.activation = then->activation, .accumulate = then->accumulate};
    struct nn_mark mark = nn_mark(nn);
    dnnl_convolution_desc_t op;
    dnnl_memory_desc_t x_desc, any_desc, bias_desc, out_desc;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_attr_t attr;
    struct args args = {0};

    if (is_rounded(nn, out)) {
        conv3d_rounded(nn, x, weight, then, out);
        return;
    }
    if (nn_failed(nn))
        return;
    describe_volume(nn, x, &x_desc);
    describe_volume(nn, out, &out_desc);
    describe(nn, then->bias, &bias_desc);
    check(nn,
          dnnl_memory_desc_init_by_tag(&any_desc, weight->ndims, weight->dims, type_of(weight),
                                       dnnl_format_tag_any),
          "describe a convolution");
    check(nn,
          dnnl_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_direct,
                                             &x_desc, &any_desc, &bias_desc, &out_desc, ones, ones,
                                             ones),
          "describe a convolution");
    attr = create_attr(nn, &fused, 5, &args);
    desc = create_desc(nn, &op, attr, "prepare a convolution");
    add_arg(&args, DNNL_ARG_SRC, &x_desc, x->data);
    add_arg(&args, DNNL_ARG_BIAS, &bias_desc, then->bias->data);
    add_arg(&args, DNNL_ARG_DST, &out_desc, out->data);
    if (desc)
        add_conv_weights(nn, desc, weight, &args);
    execute(nn, desc, &args, "run a convolution");
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    nn_release(nn, mark);
    nn->flops += 2 * (uint64_t)tensor_count(out) * (uint64_t)(weight->dims[1] * 27);
}

static void resize(struct nn *nn, const struct tensor *x, const struct tensor *out, const void *arg)
{
    dnnl_resampling_desc_t op;
    dnnl_memory_desc_t x_desc, out_desc;
    struct args args = {0};

    (void)arg;
    describe_volume(nn, x, &x_desc);
    describe_volume(nn, out, &out_desc);
    add_arg(&args, DNNL_ARG_SRC, &x_desc, x->data);
    add_arg(&args, DNNL_ARG_DST, &out_desc, out->data);
    check(nn,
          dnnl_resampling_forward_desc_init(&op, dnnl_forward_inference, dnnl_resampling_linear,
                                            NULL, &x_desc, &out_desc),
          "describe a resize");
    execute(nn, create_desc(nn, &op, NULL, "prepare a resize"), &args, "run a resize");
}

void op_resize(struct nn *nn, const struct tensor *x, const struct tensor *out)
{
    if (is_rounded(nn, out))
        run_rounded(nn, x, out, resize, NULL);
    else if (!nn_failed(nn))
        resize(nn, x, out, NULL);
}

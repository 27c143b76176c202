/* work_test.c: FLOPs and bytes of each kind of primitive, computed by hand; the texts. */
#include "collect/onednn/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SRC = PLUMB_DNNL_SRC, DST = PLUMB_DNNL_DST, WEI = PLUMB_DNNL_WEIGHTS };
enum { DIFF_SRC = PLUMB_DNNL_DIFF_SRC, DIFF_DST = PLUMB_DNNL_DIFF_DST };
enum { DIFF_WEI = PLUMB_DNNL_DIFF_WEIGHTS };

static struct plumb_onednn_op make(const char *kind)
{
    struct plumb_onednn_op op;
    memset(&op, 0, sizeof op);
    strcpy(op.kind, kind);
    strcpy(op.impl, "ref:any");
    op.prop = PLUMB_DNNL_FORWARD_INFERENCE;
    return op;
}

/* The dimensions end with -1. */
static void add(struct plumb_onednn_op *op, int arg, const char *type, ...)
{
    struct plumb_onednn_tensor *t = &op->tensor[op->tensors++];
    va_list dims;
    int64_t dim;
    memset(t, 0, sizeof *t);
    t->arg = arg;
    strcpy(t->type, type);
    va_start(dims, type);
    while ((dim = va_arg(dims, int)) >= 0)
        t->dims[t->ndims++] = dim;
    va_end(dims);
}

static int64_t flops(const struct plumb_onednn_op *op)
{
    int64_t n = -1;
    bool known = plumb_onednn_flops(&n, op);
    assert_int_equal(known, n >= 0);
    return n;
}

static int64_t bytes(const struct plumb_onednn_op *op)
{
    int64_t n = -1;
    bool known = plumb_onednn_bytes(&n, op);
    assert_int_equal(known, n >= 0);
    return n;
}

/* 2 images, 4 channels of 5x5 -> 6 channels of 3x3 by 3x3: each of 2*6*9 = 108 places sums 4*9 = 36
 * products. */
static struct plumb_onednn_op convolution(void)
{
    struct plumb_onednn_op op = make("convolution");
    add(&op, SRC, "f32", 2, 4, 5, 5, -1);
    add(&op, WEI, "f32", 6, 4, 3, 3, -1);
    add(&op, DST, "f32", 2, 6, 3, 3, -1);
    return op;
}

static void a_convolution_has_a_product_for_each_weight_of_a_place(void **state)
{
    struct plumb_onednn_op op = convolution();
    (void)state;
    assert_int_equal(flops(&op), 2 * 108 * 36);
    assert_int_equal(bytes(&op), 4 * (200 + 216 + 108));
}

/* The destination is what strides, dilations and padding make it; the formula goes by that. */
static void strides_and_dilations_are_in_the_destination(void **state)
{
    struct plumb_onednn_op op = convolution();
    (void)state;
    op.tensor[2].dims[2] = op.tensor[2].dims[3] = 2; /* by 2 in each direction */
    assert_int_equal(flops(&op), 2 * (2 * 6 * 4) * 36);
    op.tensor[2].dims[2] = op.tensor[2].dims[3] = 1; /* dilated to 5x5 */
    assert_int_equal(flops(&op), 2 * (2 * 6 * 1) * 36);
}

/* Two groups: 2 channels each meet 3, and each place sums 2*9 products. */
static void groups_have_only_their_own_channels(void **state)
{
    struct plumb_onednn_op op = make("convolution");
    (void)state;
    add(&op, SRC, "f32", 2, 4, 5, 5, -1);
    add(&op, WEI, "f32", 2, 3, 2, 3, 3, -1);
    add(&op, DST, "f32", 2, 6, 3, 3, -1);
    assert_int_equal(flops(&op), 2 * 108 * 18);
}

static void a_depthwise_convolution_in_three_dimensions(void **state)
{
    struct plumb_onednn_op op = make("convolution");
    (void)state;
    add(&op, SRC, "bf16", 1, 8, 4, 4, 4, -1);
    add(&op, WEI, "bf16", 8, 1, 1, 3, 3, 3, -1);
    add(&op, DST, "f32", 1, 8, 2, 2, 2, -1);
    assert_int_equal(flops(&op), 2 * 64 * 27);
    assert_int_equal(bytes(&op), 2 * 512 + 2 * 216 + 4 * 64);
}

static void a_backward_convolution_has_the_products_of_the_forward_one(void **state)
{
    struct plumb_onednn_op data = make("convolution"), weights = make("convolution");
    (void)state;
    data.prop = PLUMB_DNNL_BACKWARD_DATA;
    add(&data, WEI, "f32", 6, 4, 3, 3, -1);
    add(&data, DIFF_SRC, "f32", 2, 4, 5, 5, -1);
    add(&data, DIFF_DST, "f32", 2, 6, 3, 3, -1);
    assert_int_equal(flops(&data), 2 * 108 * 36);
    weights.prop = PLUMB_DNNL_BACKWARD_WEIGHTS;
    add(&weights, SRC, "f32", 2, 4, 5, 5, -1);
    add(&weights, DIFF_DST, "f32", 2, 6, 3, 3, -1);
    add(&weights, DIFF_WEI, "f32", 6, 4, 3, 3, -1);
    assert_int_equal(flops(&weights), 2 * 108 * 36);
}

static void bias_and_post_ops_count_in_bytes_alone(void **state)
{
    struct plumb_onednn_op op = convolution();
    int64_t before = bytes(&op);
    (void)state;
    add(&op, PLUMB_DNNL_BIAS, "f32", 6, -1);
    op.flags = PLUMB_ONEDNN_SUM;
    op.other_bytes = 7;
    assert_int_equal(flops(&op), 2 * 108 * 36);
    assert_int_equal(bytes(&op), before + 4 * 6 + 4 * 108 + 7);
}

static void a_fused_convolution_is_unknown(void **state)
{
    struct plumb_onednn_op op = convolution();
    (void)state;
    op.flags = PLUMB_ONEDNN_FUSED;
    assert_int_equal(flops(&op), -1);
}

/* Each of 1*6*9 source places goes to 4*9 places. */
static void a_deconvolution_goes_by_its_source(void **state)
{
    struct plumb_onednn_op op = make("deconvolution");
    (void)state;
    add(&op, SRC, "f32", 1, 6, 3, 3, -1);
    add(&op, WEI, "f32", 4, 6, 3, 3, -1);
    add(&op, DST, "f32", 1, 4, 5, 5, -1);
    assert_int_equal(flops(&op), 2 * 54 * 36);
}

static void a_matmul_of_batches_that_are_broadcast(void **state)
{
    struct plumb_onednn_op op = make("matmul");
    (void)state;
    add(&op, SRC, "f32", 1, 7, 3, 5, -1); /* batch 1 meets 4, 7 meets 7 */
    add(&op, WEI, "f32", 4, 7, 5, 2, -1);
    add(&op, DST, "f32", 4, 7, 3, 2, -1);
    assert_int_equal(flops(&op), 2 * (4 * 7 * 3 * 2) * 5);
    assert_int_equal(bytes(&op), 4 * (105 + 280 + 168));
}

static void an_inner_product_of_images(void **state)
{
    struct plumb_onednn_op op = make("inner_product"), back = make("inner_product");
    (void)state;
    add(&op, SRC, "u8", 8, 3, 2, 2, -1);
    add(&op, WEI, "s8", 10, 3, 2, 2, -1);
    add(&op, DST, "s32", 8, 10, -1);
    assert_int_equal(flops(&op), 2 * 8 * 10 * 12);
    assert_int_equal(bytes(&op), 96 + 120 + 4 * 80);
    back.prop = PLUMB_DNNL_BACKWARD_WEIGHTS;
    add(&back, SRC, "f32", 8, 12, -1);
    add(&back, DIFF_DST, "f32", 8, 10, -1);
    add(&back, DIFF_WEI, "f32", 10, 12, -1);
    assert_int_equal(flops(&back), 2 * 8 * 10 * 12);
}

static void a_pooling_looks_at_its_window(void **state)
{
    struct plumb_onednn_op op = make("pooling");
    (void)state;
    add(&op, SRC, "f32", 1, 3, 8, 8, -1);
    add(&op, DST, "f32", 1, 3, 4, 4, -1);
    strcpy(op.alg, "pooling_max");
    assert_int_equal(flops(&op), -1); /* no window: unknown, not 0 */
    op.window = 4;
    assert_int_equal(flops(&op), 48 * 4);
    op.tensors = 0;
    add(&op, DIFF_SRC, "f32", 1, 3, 8, 8, -1);
    add(&op, DIFF_DST, "f32", 1, 3, 4, 4, -1);
    op.prop = PLUMB_DNNL_BACKWARD_DATA;
    assert_int_equal(flops(&op), 48);
    strcpy(op.alg, "pooling_avg_include_padding");
    assert_int_equal(flops(&op), 48 * 4);
}

static struct plumb_onednn_op pointwise(const char *kind, int prop)
{
    struct plumb_onednn_op op = make(kind);
    bool back = prop >= PLUMB_DNNL_BACKWARD;
    op.prop = prop;
    add(&op, SRC, "f32", 4, 25, -1);
    add(&op, back ? DIFF_DST : DST, "f32", 4, 25, -1);
    return op;
}

static void softmax_and_elementwise_operations_count_by_element(void **state)
{
    static const struct {
        const char *kind;
        int prop;
        int64_t each;
    } cases[] = {{"softmax", PLUMB_DNNL_FORWARD_INFERENCE, 5},
                 {"softmax", PLUMB_DNNL_BACKWARD_DATA, 4},
                 {"logsoftmax", PLUMB_DNNL_FORWARD_TRAINING, 5},
                 {"eltwise", PLUMB_DNNL_FORWARD_TRAINING, 1},
                 {"eltwise", PLUMB_DNNL_BACKWARD_DATA, 2},
                 {"binary", 0, 1},
                 {"prelu", PLUMB_DNNL_FORWARD_INFERENCE, 1},
                 {"reorder", 0, 0},
                 {"concat", 0, 0},
                 {"shuffle", PLUMB_DNNL_FORWARD_INFERENCE, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_onednn_op op = pointwise(cases[i].kind, cases[i].prop);
        assert_int_equal(flops(&op), cases[i].each * 100);
        assert_int_equal(bytes(&op), 800);
    }
}

static void normalizations_count_what_they_compute(void **state)
{
    static const struct {
        int prop;
        uint32_t flags;
        int64_t each;
    } cases[] = {{PLUMB_DNNL_FORWARD_TRAINING, 0, 6},
                 {PLUMB_DNNL_FORWARD_TRAINING, PLUMB_ONEDNN_SCALE | PLUMB_ONEDNN_SHIFT, 8},
                 {PLUMB_DNNL_FORWARD_INFERENCE, PLUMB_ONEDNN_GLOBAL_STATS, 2},
                 {PLUMB_DNNL_FORWARD_INFERENCE, PLUMB_ONEDNN_GLOBAL_STATS | PLUMB_ONEDNN_SCALE, 3},
                 {PLUMB_DNNL_BACKWARD, PLUMB_ONEDNN_SCALE, 9},
                 {PLUMB_DNNL_BACKWARD_DATA, PLUMB_ONEDNN_GLOBAL_STATS, 1},
                 {PLUMB_DNNL_BACKWARD, PLUMB_ONEDNN_GLOBAL_STATS | PLUMB_ONEDNN_SHIFT, 6}};
    static const char *const kinds[] = {"batch_normalization", "layer_normalization"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 2; k++) {
            struct plumb_onednn_op op = pointwise(kinds[k], cases[i].prop);
            op.flags = cases[i].flags;
            assert_int_equal(flops(&op), cases[i].each * 100);
        }
}

/* Three sources, each with a factor: 3 products and 2 additions. */
static void a_sum_has_a_product_for_each_source(void **state)
{
    struct plumb_onednn_op op = make("sum");
    (void)state;
    op.sources = 3;
    for (int i = 0; i < 3; i++)
        add(&op, PLUMB_DNNL_MULTIPLE_SRC + i, "f32", 10, 10, -1);
    add(&op, DST, "f32", 10, 10, -1);
    assert_int_equal(flops(&op), 5 * 100);
    assert_int_equal(bytes(&op), 4 * 400);
}

static void a_reduction_goes_by_its_source(void **state)
{
    struct plumb_onednn_op op = make("reduction");
    (void)state;
    add(&op, SRC, "f32", 8, 100, -1);
    add(&op, DST, "f32", 8, 1, -1);
    strcpy(op.alg, "reduction_mean");
    assert_int_equal(flops(&op), 800);
    strcpy(op.alg, "reduction_norm_lp_sum");
    assert_int_equal(flops(&op), 1600);
}

/* 5 times, 2 samples; layer weights 1x1x4x4x6 (an LSTM of 6), recurrence 1x1x6x4x6. */
static void an_rnn_meets_each_weight_at_each_time(void **state)
{
    struct plumb_onednn_op op = make("rnn");
    (void)state;
    add(&op, SRC, "f32", 5, 2, 4, -1);
    add(&op, WEI, "f32", 1, 1, 4, 4, 6, -1);
    add(&op, PLUMB_DNNL_WEIGHTS_1, "f32", 1, 1, 6, 4, 6, -1);
    add(&op, DST, "f32", 5, 2, 6, -1);
    assert_int_equal(flops(&op), 2 * 10 * (96 + 144));
    op.prop = PLUMB_DNNL_BACKWARD;
    assert_int_equal(flops(&op), 4 * 10 * (96 + 144));
}

static void what_has_no_formula_is_unknown_and_not_nothing(void **state)
{
    static const char *const kinds[] = {"lrn", "resampling", "gemm", "group_normalization",
                                        "primitive"};
    struct plumb_onednn_op none = make("convolution");
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct plumb_onednn_op op = pointwise(kinds[i], PLUMB_DNNL_FORWARD_INFERENCE);
        assert_int_equal(flops(&op), -1);
        assert_int_equal(bytes(&op), 800);
    }
    assert_int_equal(flops(&none), -1); /* no operand was there to ask */
    assert_int_equal(bytes(&none), -1);
}

static void work_that_goes_on_after_the_call_is_unknown(void **state)
{
    struct plumb_onednn_op op = convolution();
    char text[80];
    (void)state;
    op.flags = PLUMB_ONEDNN_ASYNC;
    assert_int_equal(flops(&op), -1);
    assert_int_equal(bytes(&op), -1);
    plumb_onednn_details(text, sizeof text, &op);
    assert_string_equal(text, "submitted");
}

static void sizes_beyond_63_bits_and_unknown_types_are_unknown(void **state)
{
    struct plumb_onednn_op op = convolution();
    (void)state;
    op.tensor[2].dims[0] = INT64_MAX / 3;
    assert_int_equal(flops(&op), -1);
    assert_int_equal(bytes(&op), -1);
    op = convolution();
    op.tensor[0].dims[0] = PLUMB_DNNL_RUNTIME_DIM;
    assert_int_equal(bytes(&op), -1);
    op = convolution();
    strcpy(op.tensor[1].type, "s4");
    assert_int_equal(bytes(&op), -1);
    op.tensor[1].stored_bytes = 108; /* as oneDNN says */
    assert_int_equal(bytes(&op), 4 * (200 + 108) + 108);
}

static void no_element_is_no_work(void **state)
{
    struct plumb_onednn_op op = convolution();
    (void)state;
    op.tensor[0].dims[0] = op.tensor[2].dims[0] = 0;
    assert_int_equal(flops(&op), 0);
    assert_int_equal(bytes(&op), 4 * 216);
}

static void texts_say_what_it_was(void **state)
{
    struct plumb_onednn_op op = convolution();
    char text[PLUMB_ONEDNN_SHAPES];
    (void)state;
    strcpy(op.prop_text, "forward_training");
    strcpy(op.alg, "convolution_direct");
    strcpy(op.post, "+sum+eltwise");
    add(&op, PLUMB_DNNL_MEAN, "f32", 6, -1); /* no part of the shape */
    plumb_onednn_name(text, sizeof text, &op);
    assert_string_equal(text, "convolution ref:any");
    plumb_onednn_shapes(text, sizeof text, &op);
    assert_string_equal(text, "src:2x4x5x5 wei:6x4x3x3 dst:2x6x3x3");
    plumb_onednn_types(text, sizeof text, &op);
    assert_string_equal(text, "src:f32 wei:f32 dst:f32");
    plumb_onednn_details(text, sizeof text, &op);
    assert_string_equal(text, "forward_training convolution_direct +sum+eltwise");
}

static void a_text_that_does_not_fit_says_so(void **state)
{
    struct plumb_onednn_op op = convolution();
    char text[80];
    (void)state;
    for (size_t size = 8; size < 40; size++) {
        memset(text, 'x', sizeof text);
        plumb_onednn_shapes(text, size, &op);
        assert_true(strlen(text) < size);
        if (size < sizeof "src:2x4x5x5 wei:6x4x3x3 dst:2x6x3x3")
            assert_string_equal(text + strlen(text) - 3, "...");
    }
    op.sources = 40;
    plumb_onednn_shapes(text, sizeof text, &op);
    assert_string_equal(text, "src:2x4x5x5 wei:6x4x3x3 dst:2x6x3x3 (40 sources)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_has_a_product_for_each_weight_of_a_place),
        cmocka_unit_test(strides_and_dilations_are_in_the_destination),
        cmocka_unit_test(groups_have_only_their_own_channels),
        cmocka_unit_test(a_depthwise_convolution_in_three_dimensions),
        cmocka_unit_test(a_backward_convolution_has_the_products_of_the_forward_one),
        cmocka_unit_test(bias_and_post_ops_count_in_bytes_alone),
        cmocka_unit_test(a_fused_convolution_is_unknown),
        cmocka_unit_test(a_deconvolution_goes_by_its_source),
        cmocka_unit_test(a_matmul_of_batches_that_are_broadcast),
        cmocka_unit_test(an_inner_product_of_images),
        cmocka_unit_test(a_pooling_looks_at_its_window),
        cmocka_unit_test(softmax_and_elementwise_operations_count_by_element),
        cmocka_unit_test(normalizations_count_what_they_compute),
        cmocka_unit_test(a_sum_has_a_product_for_each_source),
        cmocka_unit_test(a_reduction_goes_by_its_source),
        cmocka_unit_test(an_rnn_meets_each_weight_at_each_time),
        cmocka_unit_test(what_has_no_formula_is_unknown_and_not_nothing),
        cmocka_unit_test(work_that_goes_on_after_the_call_is_unknown),
        cmocka_unit_test(sizes_beyond_63_bits_and_unknown_types_are_unknown),
        cmocka_unit_test(no_element_is_no_work),
        cmocka_unit_test(texts_say_what_it_was),
        cmocka_unit_test(a_text_that_does_not_fit_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A program that uses oneDNN (2.x) and knows nothing of plumb, unless MARKED. It prints what it
 * ran: a line "kind flops bytes shapes" for each primitive, computed by hand ("-": unknown). */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <oneapi/dnnl/dnnl.h>

#ifdef MARKED
#include <plumb/plumb.h>
#include <plumb/stage.h>
#endif

#define CHECK(call)                                                                                \
    do {                                                                                           \
        dnnl_status_t status_ = (call);                                                            \
        if (status_ != dnnl_success) {                                                             \
            fprintf(stderr, "line %d: %d\n", __LINE__, status_);                                   \
            exit(99);                                                                              \
        }                                                                                          \
    } while (0)

typedef dnnl_memory_desc_t md;
static dnnl_engine_t engine;

static md tensor(dnnl_data_type_t type, int n, const dnnl_dim_t *dims)
{
    static const dnnl_format_tag_t plain[] = {dnnl_a,    dnnl_a,     dnnl_ab,    dnnl_abc,
                                              dnnl_abcd, dnnl_abcde, dnnl_abcdef};
    md d;
    CHECK(dnnl_memory_desc_init_by_tag(&d, n, dims, type, plain[n]));
    return d;
}
#define DIMS(...)                                                                                  \
    (int)(sizeof((dnnl_dim_t[]){__VA_ARGS__}) / 8), (dnnl_dim_t[])                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define F32(...) tensor(dnnl_f32, DIMS(__VA_ARGS__))

static dnnl_memory_t room(const md *d)
{
    dnnl_memory_t m;
    void *bytes;
    CHECK(dnnl_memory_create(&m, d, engine, DNNL_MEMORY_ALLOCATE));
    CHECK(dnnl_memory_get_data_handle(m, &bytes));
    memset(bytes, 0, dnnl_memory_desc_get_size(d));
    return m;
}

static dnnl_stream_t stream_of(void)
{
    dnnl_stream_t s;
    CHECK(dnnl_stream_create(&s, engine, dnnl_stream_default_flags));
    return s;
}

struct operand {
    int arg;
    md d;
};

/* Runs it `times` times. */
static void run(dnnl_primitive_desc_t pd, int n, const struct operand *operands, int times)
{
    dnnl_exec_arg_t args[16];
    dnnl_stream_t stream = stream_of();
    dnnl_primitive_t p;
    CHECK(dnnl_primitive_create(&p, pd));
    for (int i = 0; i < n; i++)
        args[i] = (dnnl_exec_arg_t){operands[i].arg, room(&operands[i].d)};
    for (int i = 0; i < times; i++)
        CHECK(dnnl_primitive_execute(p, stream, n, args));
    CHECK(dnnl_stream_wait(stream));
    for (int i = 0; i < n; i++)
        CHECK(dnnl_memory_destroy(args[i].memory));
    CHECK(dnnl_stream_destroy(stream));
    CHECK(dnnl_primitive_destroy(p));
    CHECK(dnnl_primitive_desc_destroy(pd));
}
#define RUN(pd, times, ...)                                                                        \
    run(pd, (int)(sizeof((struct operand[]){__VA_ARGS__}) / sizeof(struct operand)),               \
        (struct operand[]){__VA_ARGS__}, times)

static dnnl_primitive_desc_t describe_with(const void *op, const_dnnl_primitive_attr_t attr)
{
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_primitive_desc_create(&pd, (const_dnnl_op_desc_t)op, attr, engine, NULL));
    return pd;
}

static dnnl_primitive_desc_t describe(const void *op)
{
    return describe_with(op, NULL);
}

static const dnnl_dims_t one = {1, 1}, two = {2, 2}, zero = {0, 0};

static void convolutions(void)
{
    md src = F32(2, 4, 5, 5), wei = F32(2, 3, 2, 3, 3), dst = F32(2, 6, 3, 3), bias = F32(6);
    md apart = F32(2, 6, 2, 2);
    dnnl_convolution_desc_t c;
    dnnl_post_ops_t ops;
    dnnl_primitive_attr_t attr;
    CHECK(dnnl_post_ops_create(&ops));
    CHECK(dnnl_post_ops_append_sum(ops, 1));
    CHECK(dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0));
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, ops));
    /* Two groups: each of 108 places sums 18 products; the sum reads the destination as well. */
    CHECK(dnnl_convolution_forward_desc_init(&c, dnnl_forward_inference, dnnl_convolution_direct,
                                             &src, &wei, &bias, &dst, one, zero, zero));
    RUN(describe_with(&c, attr), 1, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, wei},
        {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, dst});
    printf("convolution %d %d src:2x4x5x5 wei:2x3x2x3x3 bias:6 dst:2x6x3x3\n", 2 * 108 * 18,
           4 * (200 + 108 + 6 + 2 * 108));
    /* By 2: 2*6*4 places. */
    CHECK(dnnl_convolution_forward_desc_init(&c, dnnl_forward_inference, dnnl_convolution_direct,
                                             &src, &wei, NULL, &apart, two, zero, zero));
    RUN(describe(&c), 1, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, wei}, {DNNL_ARG_DST, apart});
    printf("convolution %d %d src:2x4x5x5 wei:2x3x2x3x3 dst:2x6x2x2\n", 2 * 48 * 18,
           4 * (200 + 108 + 48));
    /* Dilated: 3 weights reach over 5 places. */
    apart = F32(2, 6, 1, 1);
    CHECK(dnnl_dilated_convolution_forward_desc_init(&c, dnnl_forward_inference,
                                                     dnnl_convolution_direct, &src, &wei, NULL,
                                                     &apart, one, one, zero, zero));
    RUN(describe(&c), 1, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, wei}, {DNNL_ARG_DST, apart});
    printf("convolution %d %d src:2x4x5x5 wei:2x3x2x3x3 dst:2x6x1x1\n", 2 * 12 * 18,
           4 * (200 + 108 + 12));
    CHECK(dnnl_convolution_backward_data_desc_init(&c, dnnl_convolution_direct, &src, &wei, &dst,
                                                   one, zero, zero));
    dnnl_primitive_desc_t pd, hint;
    dnnl_convolution_desc_t forward;
    CHECK(dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training,
                                             dnnl_convolution_direct, &src, &wei, NULL, &dst, one,
                                             zero, zero));
    hint = describe(&forward);
    CHECK(dnnl_primitive_desc_create(&pd, &c, NULL, engine, hint));
    RUN(pd, 1, {DNNL_ARG_DIFF_SRC, src}, {DNNL_ARG_WEIGHTS, wei}, {DNNL_ARG_DIFF_DST, dst});
    printf("convolution %d %d wei:2x3x2x3x3 diff_src:2x4x5x5 diff_dst:2x6x3x3\n", 2 * 108 * 18,
           4 * (200 + 108 + 108));
    CHECK(dnnl_primitive_desc_destroy(hint));
}

static void products(void)
{
    md src = F32(1, 3, 5), wei = F32(4, 5, 2), dst = F32(4, 3, 2);
    md image = F32(8, 3, 2, 2), plane = F32(10, 3, 2, 2), out = F32(8, 10);
    dnnl_matmul_desc_t m;
    dnnl_inner_product_desc_t ip;
    CHECK(dnnl_matmul_desc_init(&m, &src, &wei, NULL, &dst));
    RUN(describe(&m), 1, {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, wei}, {DNNL_ARG_DST, dst});
    printf("matmul %d %d src:1x3x5 wei:4x5x2 dst:4x3x2\n", 2 * 24 * 5, 4 * (15 + 40 + 24));
    CHECK(dnnl_inner_product_forward_desc_init(&ip, dnnl_forward_inference, &image, &plane, NULL,
                                               &out));
    RUN(describe(&ip), 1, {DNNL_ARG_SRC, image}, {DNNL_ARG_WEIGHTS, plane}, {DNNL_ARG_DST, out});
    printf("inner_product %d %d src:8x3x2x2 wei:10x3x2x2 dst:8x10\n", 2 * 80 * 12,
           4 * (96 + 120 + 80));
}

/* Each call has another number of rows: the shapes are known with the call alone. */
static void rows_of_runtime(void)
{
    md src, dst, wei = F32(5, 2);
    dnnl_dims_t rows = {DNNL_RUNTIME_DIM_VAL, 5}, to = {DNNL_RUNTIME_DIM_VAL, 2};
    dnnl_dims_t strides = {5, 1}, to_strides = {2, 1};
    dnnl_matmul_desc_t m;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t p;
    dnnl_stream_t stream = stream_of();
    CHECK(dnnl_memory_desc_init_by_strides(&src, 2, rows, dnnl_f32, strides));
    CHECK(dnnl_memory_desc_init_by_strides(&dst, 2, to, dnnl_f32, to_strides));
    CHECK(dnnl_matmul_desc_init(&m, &src, &wei, NULL, &dst));
    pd = describe(&m);
    CHECK(dnnl_primitive_create(&p, pd));
    for (int n = 3; n <= 4; n++) {
        md a = F32(n, 5), b = F32(n, 2);
        dnnl_exec_arg_t args[] = {
            {DNNL_ARG_SRC, room(&a)}, {DNNL_ARG_WEIGHTS, room(&wei)}, {DNNL_ARG_DST, room(&b)}};
        CHECK(dnnl_primitive_execute(p, stream, 3, args));
        printf("matmul %d %d src:%dx5 wei:5x2 dst:%dx2\n", 2 * n * 2 * 5, 4 * (n * 5 + 10 + n * 2),
               n, n);
    }
    CHECK(dnnl_primitive_destroy(p));
}

static void elements(void)
{
    md t = F32(4, 6, 8, 8), half = F32(4, 6, 4, 4), sum[3] = {t, t, t}, wide = F32(4, 18, 8, 8);
    md to = tensor(dnnl_bf16, DIMS(4, 6, 8, 8)), row = F32(4, 6, 8, 1), stat = F32(6);
    md scales = F32(2, 6), lines = F32(4, 6), dots = F32(4), gamma = F32(2, 6);
    dnnl_eltwise_desc_t e;
    dnnl_softmax_desc_t s;
    dnnl_pooling_v2_desc_t pool;
    dnnl_binary_desc_t b;
    dnnl_reduction_desc_t r;
    dnnl_batch_normalization_desc_t bn;
    dnnl_layer_normalization_desc_t ln;
    dnnl_primitive_desc_t pd;
    const float ones[] = {1, 1, 1};
    CHECK(dnnl_eltwise_forward_desc_init(&e, dnnl_forward_inference, dnnl_eltwise_gelu_tanh, &t, 0,
                                         0));
    RUN(describe(&e), 1, {DNNL_ARG_SRC, t}, {DNNL_ARG_DST, t});
    printf("eltwise 1536 12288 src:4x6x8x8 dst:4x6x8x8\n");
    CHECK(dnnl_softmax_forward_desc_init(&s, dnnl_forward_inference, &t, 3));
    RUN(describe(&s), 1, {DNNL_ARG_SRC, t}, {DNNL_ARG_DST, t});
    printf("softmax 7680 12288 src:4x6x8x8 dst:4x6x8x8\n");
    CHECK(dnnl_pooling_v2_forward_desc_init(&pool, dnnl_forward_inference, dnnl_pooling_max, &t,
                                            &half, two, two, zero, zero, zero));
    RUN(describe(&pool), 1, {DNNL_ARG_SRC, t}, {DNNL_ARG_DST, half});
    printf("pooling %d %d src:4x6x8x8 dst:4x6x4x4\n", 384 * 4, 4 * (1536 + 384));
    CHECK(dnnl_binary_desc_init(&b, dnnl_binary_mul, &t, &row, &t));
    RUN(describe(&b), 1, {DNNL_ARG_SRC_0, t}, {DNNL_ARG_SRC_1, row}, {DNNL_ARG_DST, t});
    printf("binary 1536 %d src:4x6x8x8 src1:4x6x8x1 dst:4x6x8x8\n", 4 * (2 * 1536 + 192));
    CHECK(dnnl_reduction_desc_init(&r, dnnl_reduction_mean, &t, &row, 0, 0));
    RUN(describe(&r), 1, {DNNL_ARG_SRC, t}, {DNNL_ARG_DST, row});
    printf("reduction 1536 %d src:4x6x8x8 dst:4x6x8x1\n", 4 * (1536 + 192));
    CHECK(dnnl_batch_normalization_forward_desc_init(&bn, dnnl_forward_inference, &t, 1e-5f,
                                                     dnnl_use_global_stats | dnnl_use_scaleshift));
    RUN(describe(&bn), 1, {DNNL_ARG_SRC, t}, {DNNL_ARG_MEAN, stat}, {DNNL_ARG_VARIANCE, stat},
        {DNNL_ARG_SCALE_SHIFT, scales}, {DNNL_ARG_DST, t});
    printf("batch_normalization %d %d src:4x6x8x8 wei:2x6 dst:4x6x8x8\n", 4 * 1536,
           4 * (2 * 1536 + 6 + 6 + 12));
    CHECK(dnnl_layer_normalization_forward_desc_init(&ln, dnnl_forward_training, &lines, &dots,
                                                     1e-5f, dnnl_use_scaleshift));
    RUN(describe(&ln), 1, {DNNL_ARG_SRC, lines}, {DNNL_ARG_MEAN, dots}, {DNNL_ARG_VARIANCE, dots},
        {DNNL_ARG_SCALE_SHIFT, gamma}, {DNNL_ARG_DST, lines});
    printf("layer_normalization %d %d src:4x6 wei:2x6 dst:4x6\n", 8 * 24, 4 * (48 + 8 + 12));
    CHECK(dnnl_reorder_primitive_desc_create(&pd, &t, engine, &to, engine, NULL));
    RUN(pd, 1, {DNNL_ARG_FROM, t}, {DNNL_ARG_TO, to});
    printf("reorder 0 %d src:4x6x8x8 dst:4x6x8x8\n", 6 * 1536);
    CHECK(dnnl_concat_primitive_desc_create(&pd, &wide, 3, 1, sum, NULL, engine));
    RUN(pd, 1, {DNNL_ARG_MULTIPLE_SRC, t}, {DNNL_ARG_MULTIPLE_SRC + 1, t},
        {DNNL_ARG_MULTIPLE_SRC + 2, t}, {DNNL_ARG_DST, wide});
    printf("concat 0 %d src:4x6x8x8 src:4x6x8x8 src:4x6x8x8 dst:4x18x8x8\n", 4 * 6 * 1536);
    CHECK(dnnl_sum_primitive_desc_create(&pd, &t, 3, ones, sum, NULL, engine));
    RUN(pd, 1, {DNNL_ARG_MULTIPLE_SRC, t}, {DNNL_ARG_MULTIPLE_SRC + 1, t},
        {DNNL_ARG_MULTIPLE_SRC + 2, t}, {DNNL_ARG_DST, t});
    printf("sum %d %d src:4x6x8x8 src:4x6x8x8 src:4x6x8x8 dst:4x6x8x8\n", 5 * 1536, 4 * 4 * 1536);
}

static void recurrence(void)
{
    md src = F32(5, 2, 4), layer = F32(1, 1, 4, 4, 6), iter = F32(1, 1, 6, 4, 6);
    md bias = F32(1, 1, 4, 6), dst = F32(5, 2, 6), none = {0};
    dnnl_rnn_desc_t r;
    dnnl_lrn_desc_t l;
    md t = F32(1, 8, 4, 4);
    CHECK(dnnl_lstm_forward_desc_init(&r, dnnl_forward_inference, dnnl_unidirectional_left2right,
                                      &src, &none, &none, &layer, &iter, &bias, &dst, &none, &none,
                                      0));
    RUN(describe(&r), 1, {DNNL_ARG_SRC_LAYER, src}, {DNNL_ARG_WEIGHTS_LAYER, layer},
        {DNNL_ARG_WEIGHTS_ITER, iter}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST_LAYER, dst});
    printf("rnn %d %d src:5x2x4 wei:1x1x4x4x6 wei1:1x1x6x4x6 bias:1x1x4x6 dst:5x2x6\n",
           2 * 10 * (96 + 144), 4 * (40 + 96 + 144 + 24 + 60));
    CHECK(dnnl_lrn_forward_desc_init(&l, dnnl_forward_inference, dnnl_lrn_across_channels, &t, 5,
                                     1e-4f, 0.75f, 1));
    RUN(describe(&l), 1, {DNNL_ARG_SRC, t}, {DNNL_ARG_DST, t});
    printf("lrn - 1024 src:1x8x4x4 dst:1x8x4x4\n");
}

static void relu(int rows, int times)
{
    md t = F32(rows, 7);
    dnnl_eltwise_desc_t e;
    CHECK(dnnl_eltwise_forward_desc_init(&e, dnnl_forward_inference, dnnl_eltwise_relu, &t, 0, 0));
    RUN(describe(&e), times, {DNNL_ARG_SRC, t}, {DNNL_ARG_DST, t});
}

/* An allocator that gives a block out again at once, which that of libc hardly does with aligned
 * ones. */
enum { BLOCKS = 64, BLOCK_BYTES = 4096 };
static _Alignas(64) char block[BLOCKS][BLOCK_BYTES];
static char taken[BLOCKS];
static int pooled;
void __libc_free(void *p);
void *__libc_memalign(size_t alignment, size_t n);

int posix_memalign(void **out, size_t alignment, size_t n)
{
    for (int i = 0; pooled && n <= BLOCK_BYTES && alignment <= 64 && i < BLOCKS; i++) {
        if (!taken[i]) {
            taken[i] = 1;
            *out = block[i];
            return 0;
        }
    }
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : 12;
}

void free(void *p)
{
    size_t at = (size_t)((char *)p - block[0]);
    if (at < sizeof block)
        taken[at / BLOCK_BYTES] = 0;
    else
        __libc_free(p);
}

/* Makes and destroys primitives of two kinds in turn: each gets the address of one of the other
 * kind. */
static int reuse(void)
{
    enum { KINDS = 2, TURNS = 50 };
    dnnl_primitive_desc_t pd[KINDS];
    dnnl_exec_arg_t args[KINDS][2];
    dnnl_stream_t stream = stream_of();
    void *had[TURNS * KINDS];
    int again = 0;
    for (int k = 0; k < KINDS; k++) {
        md t = F32(100 + k, 7);
        dnnl_eltwise_desc_t e;
        CHECK(dnnl_eltwise_forward_desc_init(&e, dnnl_forward_inference, dnnl_eltwise_relu, &t, 0,
                                             0));
        pd[k] = describe(&e);
        args[k][0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, room(&t)};
        args[k][1] = (dnnl_exec_arg_t){DNNL_ARG_DST, room(&t)};
    }
    pooled = 1;
    for (int i = 0; i < TURNS * KINDS; i++) {
        dnnl_primitive_t p;
        int k = i % KINDS;
        CHECK(dnnl_primitive_create(&p, pd[k]));
        had[i] = p;
        for (int before = i - 1; before >= 0; before -= KINDS)
            again += had[before] == p;
        CHECK(dnnl_primitive_execute(p, stream, 2, args[k]));
        CHECK(dnnl_primitive_execute(p, stream, 2, args[k]));
        CHECK(dnnl_primitive_destroy(p));
        for (int n = 0; n < 2; n++)
            printf("eltwise %d %d src:%dx7 dst:%dx7\n", 7 * (100 + k), 56 * (100 + k), 100 + k,
                   100 + k);
    }
    pooled = 0;
    return again ? 0 : 98;
}

static void *worker(void *rows)
{
    relu((int)(size_t)rows, 50);
    return NULL;
}

/* Five at a time, and more than there are lanes one after the other. */
static void threads(void)
{
    pthread_t t[5];
    for (size_t turn = 0; turn < 16; turn++) {
        for (size_t i = 0; i < 5; i++)
            if (pthread_create(&t[i], NULL, worker, (void *)(10 + i)))
                exit(97);
        for (int i = 0; i < 5; i++)
            pthread_join(t[i], NULL);
    }
}

enum { CROWD = 70 };
static pthread_barrier_t all;

static void *one_of_many(void *rows)
{
    relu((int)(size_t)rows, 2);
    pthread_barrier_wait(&all); /* each is alive until the last one has run its own */
    return NULL;
}

/* More threads at a time than there are lanes. */
static void crowd(void)
{
    pthread_t t[CROWD];
    pthread_barrier_init(&all, NULL, CROWD);
    for (size_t i = 0; i < CROWD; i++)
        if (pthread_create(&t[i], NULL, one_of_many, (void *)(10 + i)))
            exit(97);
    for (int i = 0; i < CROWD; i++)
        pthread_join(t[i], NULL);
}

static int forks(void)
{
    int status;
    pid_t child;
    relu(3, 2);
    child = fork();
    if (child == 0) {
        relu(5, 4);
        exit(4);
    }
    waitpid(child, &status, 0);
    relu(3, 1);
    return WEXITSTATUS(status);
}

/* A call that fails is not recorded. */
static int fails(void)
{
    md t = F32(2, 7);
    dnnl_eltwise_desc_t e;
    dnnl_primitive_t p;
    dnnl_status_t none, missing;
    CHECK(dnnl_eltwise_forward_desc_init(&e, dnnl_forward_inference, dnnl_eltwise_relu, &t, 0, 0));
    CHECK(dnnl_primitive_create(&p, describe(&e)));
    none = dnnl_primitive_execute(NULL, stream_of(), 0, NULL);
    missing = dnnl_primitive_execute(p, stream_of(), 0, NULL);
    CHECK(dnnl_primitive_destroy(p));
    printf("%d %d %d\n", none, missing, dnnl_primitive_destroy(NULL));
    return none == dnnl_invalid_arguments && missing != dnnl_success ? 0 : 96;
}

#ifdef MARKED
static void in_stages(void)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_STAGE(stage, "decode");
        relu(9, 2);
        {
            PLUMB_SPAN("inner");
            relu(11, 1);
        }
    }
}
#endif

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int status = 7;
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    if (strcmp(mode, "kinds") == 0) {
        convolutions();
        products();
        rows_of_runtime();
        elements();
        recurrence();
    } else if (strcmp(mode, "reuse") == 0) {
        status = reuse();
    } else if (strcmp(mode, "threads") == 0) {
        threads();
    } else if (strcmp(mode, "crowd") == 0) {
        crowd();
    } else if (strcmp(mode, "killed") == 0) {
        relu(3, 20);
        raise(SIGKILL);
    } else if (strcmp(mode, "forks") == 0) {
        status = forks();
    } else if (strcmp(mode, "fails") == 0) {
        status = fails();
    }
#ifdef MARKED
    if (strcmp(mode, "stages") == 0)
        in_stages();
#endif
    return status;
}

/* Tests of view.c: sound descriptors are described, others refused, and a walk meets every scalar.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "tensor/dl_tensor.h"
#include "tensor/view.h"
#include "tensor_fixture.h"

/* ---- Layout ---------------------------------------------------------------------------------- */

#define SAME_FIELD(ours, theirs)                                                                   \
    do {                                                                                           \
        assert_int_equal(offsetof(struct plumb_dl_tensor, ours), offsetof(DLTensor, theirs));      \
        assert_int_equal(sizeof((struct plumb_dl_tensor *)0)->ours,                                \
                         sizeof((DLTensor *)0)->theirs);                                           \
    } while (0)

static void the_layout_is_that_of_dlpack(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct plumb_dl_tensor), sizeof(DLTensor));
    SAME_FIELD(data, data);
    SAME_FIELD(device, device);
    SAME_FIELD(device.type, device.device_type);
    SAME_FIELD(device.index, device.device_id);
    SAME_FIELD(ndim, ndim);
    SAME_FIELD(dtype, dtype);
    SAME_FIELD(dtype.code, dtype.code);
    SAME_FIELD(dtype.bits, dtype.bits);
    SAME_FIELD(dtype.lanes, dtype.lanes);
    SAME_FIELD(shape, shape);
    SAME_FIELD(strides, strides);
    SAME_FIELD(byte_offset, byte_offset);
    assert_int_equal(PLUMB_DTYPE_INT, kDLInt);
    assert_int_equal(PLUMB_DTYPE_UINT, kDLUInt);
    assert_int_equal(PLUMB_DTYPE_FLOAT, kDLFloat);
    assert_int_equal(PLUMB_DTYPE_OPAQUE, kDLOpaqueHandle);
    assert_int_equal(PLUMB_DTYPE_BFLOAT, kDLBfloat);
    assert_int_equal(PLUMB_DTYPE_COMPLEX, kDLComplex);
    assert_int_equal(PLUMB_DL_CPU, kDLCPU);
    assert_int_equal(PLUMB_DL_CUDA, kDLCUDA);
    assert_int_equal(PLUMB_DL_CUDA_HOST, kDLCUDAHost);
    assert_int_equal(PLUMB_DL_OPENCL, kDLOpenCL);
    assert_int_equal(PLUMB_DL_VULKAN, kDLVulkan);
    assert_int_equal(PLUMB_DL_METAL, kDLMetal);
    assert_int_equal(PLUMB_DL_VPI, kDLVPI);
    assert_int_equal(PLUMB_DL_ROCM, kDLROCM);
    assert_int_equal(PLUMB_DL_ROCM_HOST, kDLROCMHost);
    assert_int_equal(PLUMB_DL_EXT, kDLExtDev);
    assert_int_equal(PLUMB_DL_CUDA_MANAGED, kDLCUDAManaged);
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

static struct plumb_view view_of(const DLTensor *dl)
{
    struct plumb_view view;
    plumb_error err = {0, ""};
    if (plumb_view_init(&view, dl, &err) < 0)
        fail_msg("%s", err.message);
    return view;
}

static void a_compact_tensor_is_described(void **state)
{
    struct fixture_tensor t;
    float data[24];
    (void)state;
    struct plumb_view v = view_of(fixture_tensor(&t, data, "float32", DIMS(2, 3, 4)));
    assert_ptr_equal(v.data, data);
    assert_int_equal(v.ndim, 3);
    assert_int_equal(v.count, 24);
    assert_int_equal(v.bytes, 96);
    assert_int_equal(v.device.type, PLUMB_DL_CPU);
    assert_true(plumb_view_is_compact(&v));
    assert_int_equal(plumb_view_readable(&v, NULL), PLUMB_OK);
}

static void no_dimensions_are_one_element(void **state)
{
    struct fixture_tensor t;
    double data = 1;
    (void)state;
    DLTensor *dl = fixture_tensor(&t, &data, "float64", NO_DIMS);
    dl->shape = NULL;
    struct plumb_view v = view_of(dl);
    assert_int_equal(v.count, 1);
    assert_int_equal(v.bytes, 8);
    assert_true(plumb_view_is_compact(&v));
}

static void a_size_of_zero_needs_no_data_and_no_room(void **state)
{
    struct fixture_tensor t;
    (void)state;
    struct plumb_view v = view_of(fixture_strided(
        &t, NULL, "float32", DIMS(INT64_MAX, 0, INT64_MAX), STRIDES(INT64_MIN, 7, INT64_MAX)));
    assert_int_equal(v.count, 0);
    assert_int_equal(v.bytes, 0);
    assert_true(plumb_view_is_compact(&v));
    assert_int_equal(plumb_view_readable(&v, NULL), PLUMB_OK);
    v = view_of(fixture_strided(&t, (void *)UINTPTR_MAX, "float32", DIMS(0), STRIDES(1)));
    assert_int_equal(v.count, 0);
}

static void an_offset_moves_the_first_element(void **state)
{
    struct fixture_tensor t;
    unsigned char data[64];
    (void)state;
    DLTensor *dl = fixture_tensor(&t, data, "uint8", DIMS(4));
    dl->byte_offset = 13;
    assert_ptr_equal(view_of(dl).data, data + 13);
    dl->data = NULL;
    assert_null(view_of(dl).data);
}

static bool compact(const int64_t *shape, const int64_t *strides)
{
    struct fixture_tensor t;
    struct plumb_view v = view_of(fixture_strided(&t, NULL, "int8", shape, strides));
    return plumb_view_is_compact(&v);
}

static void compact_means_row_major_without_gaps(void **state)
{
    (void)state;
    assert_true(compact(DIMS(2, 3, 4), STRIDES(12, 4, 1)));
    assert_true(compact(DIMS(2, 1, 4), STRIDES(4, 99, 1)));
    assert_true(compact(DIMS(1, 1), STRIDES(-5, 0)));
    assert_false(compact(DIMS(2, 3, 4), STRIDES(1, 2, 6)));
    assert_false(compact(DIMS(2, 3), STRIDES(4, 1)));
    assert_false(compact(DIMS(4), STRIDES(-1)));
    assert_false(compact(DIMS(4), STRIDES(0)));
    assert_false(compact(DIMS(4), STRIDES(2)));
}

static void other_devices_missing_data_and_packed_elements_are_not_read(void **state)
{
    struct fixture_tensor t;
    unsigned char data[16];
    plumb_error err;
    (void)state;
    DLTensor *dl = fixture_tensor(&t, data, "float32", DIMS(4));
    dl->device = (DLDevice){kDLCUDA, 3};
    struct plumb_view v = view_of(dl);
    assert_int_equal(plumb_view_readable(&v, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "the tensor lies in memory of cuda:3");
    dl->device = (DLDevice){kDLCUDAHost, 0};
    v = view_of(dl);
    assert_int_equal(plumb_view_readable(&v, &err), PLUMB_OK);
    dl->data = NULL;
    v = view_of(dl);
    assert_int_equal(plumb_view_readable(&v, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "the tensor has no data");
    v = view_of(fixture_tensor(&t, data, "dlpack(0,4,1)", DIMS(5)));
    assert_int_equal(v.bytes, 3);
    assert_int_equal(plumb_view_readable(&v, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "elements of dlpack(0,4,1) do not fill whole bytes");
}

/* ---- Hostile descriptors --------------------------------------------------------------------- */

static void assert_refused(const DLTensor *dl, const char *why)
{
    struct plumb_view view;
    plumb_error err = {0, ""};
    memset(&view, 0x5a, sizeof view);
    assert_int_equal(plumb_view_init(&view, dl, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, why);
    for (size_t i = 0; i < sizeof view; i++)
        assert_int_equal(((unsigned char *)&view)[i], 0x5a);
}

static void a_hostile_shape_is_refused(void **state)
{
    struct fixture_tensor t;
    const char *too_large = "the shape of the tensor is too large for 2^63 - 1 bytes";
    (void)state;
    assert_refused(NULL, "the tensor is NULL");
    DLTensor *dl = fixture_tensor(&t, NULL, "int8", DIMS(1));
    dl->ndim = -1;
    assert_refused(dl, "the tensor has -1 dimensions, not 0 to 64");
    dl->ndim = 65;
    assert_refused(dl, "the tensor has 65 dimensions, not 0 to 64");
    dl->ndim = INT32_MIN;
    assert_refused(dl, "the tensor has -2147483648 dimensions, not 0 to 64");
    dl->ndim = 1;
    dl->shape = NULL;
    assert_refused(dl, "the tensor has 1 dimensions and no shape");
    dl = fixture_tensor(&t, NULL, "int8", DIMS(2, 2));
    t.shape[1] = INT64_MIN;
    assert_refused(dl, "dimension 1 of the tensor has size -9223372036854775808");
    t.shape[0] = 0;
    assert_refused(dl, "dimension 1 of the tensor has size -9223372036854775808");
    assert_refused(fixture_tensor(&t, NULL, "dlpack(2,0,1)", DIMS(2)),
                   "the tensor has elements of 0 bits in 1 lanes");
    assert_refused(fixture_tensor(&t, NULL, "dlpack(2,32,0)", DIMS(2)),
                   "the tensor has elements of 32 bits in 0 lanes");
    assert_refused(fixture_tensor(&t, NULL, "int8", DIMS(INT64_MAX, INT64_MAX)), too_large);
    assert_refused(fixture_tensor(&t, NULL, "int8", DIMS(INT64_C(1) << 32, INT64_C(1) << 32)),
                   too_large);
    assert_refused(fixture_tensor(&t, NULL, "int16", DIMS(INT64_C(1) << 62)), too_large);
    assert_refused(fixture_tensor(&t, NULL, "dlpack(9,255,65535)", DIMS(INT64_C(1) << 45)),
                   too_large);
    assert_int_equal(view_of(fixture_tensor(&t, NULL, "int8", DIMS(INT64_MAX))).bytes, INT64_MAX);
}

static void sixty_four_dimensions_are_enough(void **state)
{
    struct fixture_tensor t;
    int64_t shape[FIXTURE_DIMS + 1];
    float data[4];
    (void)state;
    for (int i = 0; i < FIXTURE_DIMS; i++)
        shape[i] = i == 7 || i == 63 ? 2 : 1;
    shape[FIXTURE_DIMS] = -1;
    fixture_tensor(&t, data, "float32", shape);
    assert_int_equal(t.dl.ndim, 64);
    assert_int_equal(view_of(&t.dl).count, 4);
}

static void strides_beyond_the_address_space_are_refused(void **state)
{
    struct fixture_tensor t;
    char data[8];
    const char *too_far = "the strides of the tensor reach further than 2^63 - 1 bytes";
    plumb_error err;
    struct plumb_view view;
    (void)state;
    assert_refused(fixture_strided(&t, NULL, "int8", DIMS(2), STRIDES(INT64_MIN)), too_far);
    assert_refused(fixture_strided(&t, NULL, "int8", DIMS(3), STRIDES(INT64_MAX)), too_far);
    assert_refused(fixture_strided(&t, NULL, "int16", DIMS(2), STRIDES(INT64_MAX)), too_far);
    assert_refused(
        fixture_strided(&t, NULL, "int8", DIMS(2, 2), STRIDES(INT64_MAX - 10, INT64_MAX - 10)),
        too_far);
    assert_int_equal(
        view_of(fixture_strided(&t, NULL, "int8", DIMS(2), STRIDES(INT64_MAX - 1))).bytes, 2);
    fixture_strided(&t, data, "int8", DIMS(2), STRIDES(INT64_MIN + 2));
    assert_int_equal(plumb_view_init(&view, &t.dl, &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, "the tensor reaches out of the address space: data 0x"));
    DLTensor *dl = fixture_tensor(&t, data, "int8", DIMS(2));
    dl->byte_offset = UINT64_MAX;
    assert_int_equal(plumb_view_init(&view, dl, &err), PLUMB_ERR_ARG);
    dl->byte_offset = UINTPTR_MAX - (uintptr_t)data;
    assert_int_equal(plumb_view_init(&view, dl, &err), PLUMB_ERR_ARG);
    dl->byte_offset -= 2;
    assert_int_equal(plumb_view_init(&view, dl, &err), PLUMB_OK);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static struct plumb_walk walk_of(const struct plumb_view *v)
{
    struct plumb_walk walk;
    plumb_walk_init(&walk, v);
    return walk;
}

static void assert_one_run(const DLTensor *dl, uint64_t length, uint64_t stride_bytes,
                           uint64_t repeat)
{
    struct plumb_view v = view_of(dl);
    struct plumb_walk w = walk_of(&v);
    assert_int_equal(w.run_length, length);
    assert_int_equal(w.run_stride_bytes, stride_bytes);
    assert_int_equal(w.repeat, repeat);
    assert_false(plumb_walk_next(&w));
}

static void what_lies_together_is_one_run(void **state)
{
    struct fixture_tensor t;
    float data[240];
    (void)state;
    assert_one_run(fixture_tensor(&t, data, "float32", NO_DIMS), 1, 4, 1);
    assert_one_run(fixture_tensor(&t, data, "float32", DIMS(2, 3, 4)), 24, 4, 1);
    assert_one_run(fixture_tensor(&t, data, "float32", DIMS(1, 1, 1)), 1, 4, 1);
    assert_one_run(fixture_tensor(&t, data, "float32x4", DIMS(2, 3)), 24, 4, 1);
    assert_one_run(fixture_tensor(&t, data, "float32", DIMS(2, 0, 4)), 0, 0, 1);
    /* transposed; channels last; reversed; broadcast; every second */
    assert_one_run(fixture_strided(&t, data, "float32", DIMS(4, 3), STRIDES(1, 4)), 12, 4, 1);
    assert_one_run(fixture_strided(&t, data, "float32", DIMS(2, 3, 4, 5), STRIDES(60, 1, 15, 3)),
                   120, 4, 1);
    assert_one_run(fixture_strided(&t, data + 11, "float32", DIMS(3, 4), STRIDES(-4, -1)), 12, 4,
                   1);
    assert_one_run(fixture_strided(&t, data, "float32", DIMS(5, 4, 7), STRIDES(0, 1, 0)), 4, 4, 35);
    assert_one_run(fixture_strided(&t, data, "float32", DIMS(5, 7), STRIDES(0, 0)), 1, 4, 35);
    assert_one_run(fixture_strided(&t, data, "float32", DIMS(3, 4), STRIDES(8, 2)), 12, 8, 1);
    assert_one_run(fixture_strided(&t, data, "float32x2", DIMS(3), STRIDES(1)), 6, 4, 1);
}

static int by_address(const void *a, const void *b)
{
    const unsigned char *x = *(const unsigned char *const *)a;
    const unsigned char *y = *(const unsigned char *const *)b;
    return x < y ? -1 : x > y;
}

/* The addresses of all scalars, element by element in the order of the shape. */
static size_t addresses_by_index(const struct plumb_view *v, const unsigned char **out)
{
    size_t n = 0;
    int64_t scalar = v->dtype.bits / 8;
    for (uint64_t i = 0; i < v->count; i++) {
        uint64_t rest = i;
        int64_t at = 0;
        for (int d = v->ndim - 1; d >= 0; d--) {
            at += (int64_t)(rest % (uint64_t)v->shape[d]) * v->strides[d];
            rest /= (uint64_t)v->shape[d];
        }
        for (int lane = 0; lane < v->dtype.lanes; lane++)
            out[n++] = v->data + at * scalar * v->dtype.lanes + lane * scalar;
    }
    return n;
}

static size_t addresses_by_walk(const struct plumb_view *v, const unsigned char **out)
{
    struct plumb_walk w = walk_of(v);
    size_t n = 0;
    do {
        for (uint64_t i = 0; i < w.run_length; i++)
            for (uint64_t k = 0; k < w.repeat; k++)
                out[n++] = w.at + i * w.run_stride_bytes;
    } while (plumb_walk_next(&w));
    return n;
}

static void a_walk_meets_every_scalar_as_often_as_the_shape_says(void **state)
{
    static const char *const types[] = {"int8", "float32", "float64", "int16x3"};
    enum { MOST = 4 * 4 * 4 * 4 * 4 * 3 };
    static const unsigned char *by_index[MOST];
    static const unsigned char *by_walk[MOST];
    static unsigned char data[1 << 16];
    uint32_t random = 1;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct fixture_tensor t;
        int64_t shape[6];
        int64_t strides[5];
        int ndim = round % 6;
        for (int d = 0; d < ndim; d++) {
            random = random * 1103515245u + 12345u;
            shape[d] = random >> 24 & 1 ? 2 + (random >> 20 & 1) : 1 + (random >> 20 & 3);
            strides[d] = (int64_t)(random >> 8 & 31) - 15;
            if (round % 3 == 0) /* some that continue one another */
                strides[d] = d > 0 ? strides[d - 1] * shape[d - 1] : 1;
        }
        shape[ndim] = -1;
        struct plumb_view v =
            view_of(fixture_strided(&t, data + sizeof data / 2, types[round % 4], shape, strides));
        size_t n = addresses_by_index(&v, by_index);
        assert_int_equal(addresses_by_walk(&v, by_walk), n);
        qsort(by_index, n, sizeof *by_index, by_address);
        qsort(by_walk, n, sizeof *by_walk, by_address);
        assert_memory_equal(by_index, by_walk, n * sizeof *by_walk);
    }
}

static void a_walk_ends_where_it_began(void **state)
{
    struct fixture_tensor t;
    char data[64];
    (void)state;
    struct plumb_view v =
        view_of(fixture_strided(&t, data, "int8", DIMS(3, 4, 2), STRIDES(20, 4, 1)));
    struct plumb_walk w = walk_of(&v);
    int runs = 1;
    while (plumb_walk_next(&w))
        runs++;
    assert_int_equal(runs * w.run_length, 24);
    assert_ptr_equal(w.at, data);
    assert_true(plumb_walk_next(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_that_of_dlpack),
        cmocka_unit_test(a_compact_tensor_is_described),
        cmocka_unit_test(no_dimensions_are_one_element),
        cmocka_unit_test(a_size_of_zero_needs_no_data_and_no_room),
        cmocka_unit_test(an_offset_moves_the_first_element),
        cmocka_unit_test(compact_means_row_major_without_gaps),
        cmocka_unit_test(other_devices_missing_data_and_packed_elements_are_not_read),
        cmocka_unit_test(a_hostile_shape_is_refused),
        cmocka_unit_test(sixty_four_dimensions_are_enough),
        cmocka_unit_test(strides_beyond_the_address_space_are_refused),
        cmocka_unit_test(what_lies_together_is_one_run),
        cmocka_unit_test(a_walk_meets_every_scalar_as_often_as_the_shape_says),
        cmocka_unit_test(a_walk_ends_where_it_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

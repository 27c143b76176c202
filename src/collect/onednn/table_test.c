/* table_test.c: what is asked of oneDNN, and what is remembered of it, with a simulated library of
 * each interface. The figures that come out are those of work_test.c. */
#include "collect/onednn/table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "collect/onednn/ask.h"

/* ---- A simulated library: matmul of 3x5 by 5x2, or any number of rows ------------------------ */

struct fake_md {
    struct plumb_dnnl2_md md; /* 2.x looks into it */
};
struct fake_memory {
    struct fake_md md;
};
struct fake_primitive {
    int64_t rows;
    bool runtime;
    char rest[240]; /* addresses that are multiples of 16 */
};

static uint32_t asked; /* atomic: primitives that were asked about */

static int primitive_desc(const void *primitive, const void **pd)
{
    PLUMB_ADD(asked, 1);
    *pd = primitive;
    return PLUMB_DNNL_OK;
}

static int query(const void *pd, int what, int index, void *result)
{
    static int engine;
    const char *impl = "fake:gemm";
    int kind = 18;
    void *e = &engine;
    (void)pd;
    (void)index;
    if (what == PLUMB_DNNL_QUERY_KIND)
        memcpy(result, &kind, sizeof kind);
    else if (what == PLUMB_DNNL_QUERY_IMPL)
        memcpy(result, &impl, sizeof impl);
    else if (what == PLUMB_DNNL_QUERY_ENGINE)
        memcpy(result, &e, sizeof e);
    else
        return 3; /* unimplemented */
    return PLUMB_DNNL_OK;
}

static struct fake_md md_of(int64_t rows, int64_t columns)
{
    struct fake_md m;
    memset(&m, 0, sizeof m);
    m.md = (struct plumb_dnnl2_md){.ndims = 2, .data_type = 3, .format_kind = PLUMB_DNNL_BLOCKED};
    m.md.dims[0] = rows;
    m.md.dims[1] = columns;
    return m;
}

static const void *query_md(const void *pd, int what, int index)
{
    static struct fake_md fixed, open;
    const struct fake_primitive *p = pd;
    (void)index;
    fixed = md_of(3, 5);
    open = md_of(PLUMB_DNNL_RUNTIME_DIM, 5);
    return what == PLUMB_DNNL_QUERY_EXEC_ARG_MD ? (p->runtime ? &open : &fixed) : NULL;
}

static int nothing(const void *of, const void **out)
{
    (void)of;
    *out = NULL;
    return PLUMB_DNNL_OK;
}

static int memory_md(const void *memory, const void **md)
{
    *md = &((const struct fake_memory *)memory)->md;
    return PLUMB_DNNL_OK;
}

static size_t md_bytes(const void *md)
{
    (void)md;
    return 77;
}

static int engine_kind(void *engine, int *kind)
{
    (void)engine;
    *kind = PLUMB_DNNL_ENGINE_CPU;
    return PLUMB_DNNL_OK;
}

static const char *kind_text(int kind)
{
    return kind == 18 ? "matmul_v2" : "undef";
}

static const char *type_text(int type)
{
    return type == 3 ? "f32" : "unknown dt";
}

/* 3.x: a descriptor is opaque. */
static int query_of_md(const void *md, int what, void *result)
{
    const struct plumb_dnnl2_md *m = &((const struct fake_md *)md)->md;
    const int64_t *dims = m->dims;
    if (what == PLUMB_DNNL3_QUERY_NDIMS)
        memcpy(result, &m->ndims, sizeof m->ndims);
    else if (what == PLUMB_DNNL3_QUERY_DATA_TYPE)
        memcpy(result, &m->data_type, sizeof m->data_type);
    else if (what == PLUMB_DNNL3_QUERY_FORMAT_KIND)
        memcpy(result, &m->format_kind, sizeof m->format_kind);
    else if (what == PLUMB_DNNL3_QUERY_DIMS)
        memcpy(result, &dims, sizeof dims);
    else
        return 3;
    return PLUMB_DNNL_OK;
}

static struct plumb_dnnl library(int major)
{
    return (struct plumb_dnnl){.major = major,
                               .primitive_desc = primitive_desc,
                               .query = query,
                               .query_md = query_md,
                               .attributes = nothing,
                               .memory_md = memory_md,
                               .md_bytes = md_bytes,
                               .engine_kind = engine_kind,
                               .kind_text = kind_text,
                               .prop_text = kind_text,
                               .alg_text = kind_text,
                               .type_text = type_text,
                               .query_of_md = major == 3 ? query_of_md : NULL};
}

/* ---- Names ----------------------------------------------------------------------------------- */

enum { NAMES = 20000 };
static char name[NAMES][80];
static uint32_t names;

/* Of one thread; the tests with several make no new names. */
static plumb_name name_get(const char *text)
{
    uint32_t i = 0;
    while (i < names && strcmp(name[i], text) != 0)
        i++;
    if (i == names)
        snprintf(name[names++], sizeof *name, "%s", text);
    return i + 1;
}

static const char *text_of(plumb_name n)
{
    return n ? name[n - 1] : "";
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static struct plumb_onednn_facts call_with(const struct plumb_dnnl *d, const void *p, int64_t rows)
{
    struct fake_memory src = {md_of(rows, 5)}, wei = {md_of(5, 2)}, dst = {md_of(rows, 2)};
    const struct plumb_dnnl_exec_arg args[] = {
        {PLUMB_DNNL_DST, &dst}, {PLUMB_DNNL_WEIGHTS, &wei}, {PLUMB_DNNL_SRC, &src}};
    const struct plumb_dnnl_call call = {.primitive = p, .nargs = 3, .args = args};
    struct plumb_onednn_facts facts;
    plumb_onednn_facts_of(&facts, d, &call, name_get);
    return facts;
}

static _Alignas(256) struct fake_primitive primitive[8];

static void both_interfaces_answer_alike(void **state)
{
    (void)state;
    for (int major = 2; major <= 3; major++) {
        struct plumb_dnnl d = library(major);
        struct plumb_onednn_facts f = call_with(&d, &primitive[0], 3);
        assert_string_equal(text_of(f.name), "matmul fake:gemm");
        assert_string_equal(text_of(f.impl), "fake:gemm");
        assert_string_equal(text_of(f.shapes), "src:3x5 wei:5x2 dst:3x2");
        assert_string_equal(text_of(f.types), "src:f32 wei:f32 dst:f32");
        assert_int_equal(f.known, PLUMB_ONEDNN_FLOPS | PLUMB_ONEDNN_BYTES);
        assert_int_equal(f.flops, 2 * 3 * 5 * 2);
        assert_int_equal(f.bytes, 4 * (15 + 10 + 6));
        plumb_onednn_forget(&primitive[0]);
    }
}

static void a_primitive_is_asked_once_until_it_is_destroyed(void **state)
{
    struct plumb_dnnl d = library(2);
    uint32_t before;
    (void)state;
    call_with(&d, &primitive[1], 3);
    before = asked;
    assert_int_equal(call_with(&d, &primitive[1], 3).flops, 60);
    assert_int_equal(asked, before);
    /* Another one gets the address. */
    plumb_onednn_forget(&primitive[1]);
    assert_int_equal(call_with(&d, &primitive[1], 30).flops, 600);
    assert_int_equal(asked, before + 1);
    /* One like the first makes no new names. */
    plumb_onednn_forget(&primitive[1]);
    before = names;
    assert_int_equal(call_with(&d, &primitive[1], 3).flops, 60);
    assert_int_equal(names, before);
}

static void dimensions_of_a_call_are_asked_at_each_call(void **state)
{
    struct plumb_dnnl d = library(3);
    (void)state;
    primitive[2].runtime = true;
    for (int64_t rows = 1; rows < 5; rows++)
        assert_int_equal(call_with(&d, &primitive[2], rows).flops, rows * 20);
}

static void an_address_that_does_not_fit_is_asked_about_each_time(void **state)
{
    struct plumb_dnnl d = library(2);
    char *odd = (char *)&primitive[3] + 8;
    uint32_t before = asked;
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(call_with(&d, odd, 3).flops, 60);
    assert_int_equal(asked, before + 3);
    plumb_onednn_forget(odd);
    plumb_onednn_forget(NULL);
}

static void an_unknown_interface_gives_a_name_and_no_figures(void **state)
{
    struct plumb_dnnl d = library(0);
    struct plumb_onednn_facts f = call_with(&d, &primitive[4], 3);
    (void)state;
    assert_string_equal(text_of(f.name), "primitive");
    assert_int_equal(f.known, 0);
    assert_int_equal(f.shapes, 0);
}

static void *call_often(void *unused)
{
    struct plumb_dnnl d = library(2);
    for (int i = 0; i < 3000; i++) {
        const struct fake_primitive *p = &primitive[5 + i % 3];
        /* Each address stands for one operation at a time; its owner makes it another one. */
        struct plumb_onednn_facts f = call_with(&d, p, 3);
        if (f.flops != 60 || f.bytes != 124)
            return unused;
        if (i % 7 == 0)
            plumb_onednn_forget(p);
    }
    return NULL;
}

static void threads_see_whole_entries(void **state)
{
    pthread_t t[4];
    void *wrong = NULL;
    struct plumb_dnnl d = library(2);
    (void)state;
    call_with(&d, &primitive[5], 3);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, call_often, &d), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &wrong);
        assert_null(wrong);
    }
}

/* Last: the table is full afterwards. */
static void beyond_the_bound_shapes_are_left_out_and_figures_are_not(void **state)
{
    struct plumb_dnnl d = library(2);
    uint32_t without = 0;
    (void)state;
    for (int64_t rows = 1; rows <= 5000; rows++) {
        struct plumb_onednn_facts f;
        plumb_onednn_forget(&primitive[1]);
        f = call_with(&d, &primitive[1], rows);
        assert_int_equal(f.flops, rows * 20);
        assert_string_equal(text_of(f.name), "matmul fake:gemm");
        without += f.shapes == 0;
    }
    assert_in_range(without, 5000 - 4095, 2000);
    assert_true(names < 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_interfaces_answer_alike),
        cmocka_unit_test(a_primitive_is_asked_once_until_it_is_destroyed),
        cmocka_unit_test(dimensions_of_a_call_are_asked_at_each_call),
        cmocka_unit_test(an_address_that_does_not_fit_is_asked_about_each_time),
        cmocka_unit_test(an_unknown_interface_gives_a_name_and_no_figures),
        cmocka_unit_test(threads_see_whole_entries),
        cmocka_unit_test(beyond_the_bound_shapes_are_left_out_and_figures_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

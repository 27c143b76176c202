/* bench_onednn.c: the cost of the collector of oneDNN to the thread that runs a primitive: of a
 * call, and of a primitive that is made, run and destroyed each time, as PyTorch does.
 *
 * The interposer is preloaded: the program starts itself again with it. The library after it is
 * called by the address of its own function, so that a call with the interposer and one without
 * take turns in one process. The primitive is as small as possible, on one thread: the hook does
 * the same for each. */
#include "harness.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>
#include <plumb/stage.h>

enum { BLOCK = 200, ELEMENTS = 16 };

typedef dnnl_status_t (*execute_fn)(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                    int nargs, const dnnl_exec_arg_t *args);
typedef dnnl_status_t (*destroy_fn)(dnnl_primitive_t primitive);

static execute_fn real_execute;
static destroy_fn real_destroy;

static struct {
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    dnnl_exec_arg_t args[2];
} work;

static void check(dnnl_status_t status)
{
    if (status != dnnl_success)
        abort();
}

#if DNNL_VERSION_MAJOR == 2

static void make_work(void)
{
    dnnl_engine_t engine;
    dnnl_memory_desc_t d;
    dnnl_eltwise_desc_t e;
    dnnl_dims_t dims = {ELEMENTS};
    check(dnnl_engine_create(&engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&work.stream, engine, dnnl_stream_default_flags));
    check(dnnl_memory_desc_init_by_tag(&d, 1, dims, dnnl_f32, dnnl_a));
    check(dnnl_eltwise_forward_desc_init(&e, dnnl_forward_inference, dnnl_eltwise_relu, &d, 0, 0));
    check(dnnl_primitive_desc_create(&work.pd, &e, NULL, engine, NULL));
    check(dnnl_primitive_create(&work.primitive, work.pd));
    for (int i = 0; i < 2; i++) {
        work.args[i].arg = i ? DNNL_ARG_DST : DNNL_ARG_SRC;
        check(dnnl_memory_create(&work.args[i].memory, &d, engine, DNNL_MEMORY_ALLOCATE));
    }
}

#else

static void make_work(void)
{
}

#endif

static void call(uint64_t n, execute_fn execute)
{
    for (uint64_t i = 0; i < n; i++)
        execute(work.primitive, work.stream, 2, work.args);
}

static void calls_without(void *unused, uint64_t n)
{
    (void)unused;
    call(n, real_execute);
}

static void calls_with(void *unused, uint64_t n)
{
    (void)unused;
    call(n, dnnl_primitive_execute);
}

static void call_new(uint64_t n, execute_fn execute, destroy_fn destroy)
{
    for (uint64_t i = 0; i < n; i++) {
        dnnl_primitive_t p;
        check(dnnl_primitive_create(&p, work.pd));
        execute(p, work.stream, 2, work.args);
        destroy(p);
    }
}

static void new_without(void *unused, uint64_t n)
{
    (void)unused;
    call_new(n, real_execute, real_destroy);
}

static void new_with(void *unused, uint64_t n)
{
    (void)unused;
    call_new(n, dnnl_primitive_execute, dnnl_primitive_destroy);
}

/* The figure is the difference of blocks that took turns; its quartiles are those of the call with
 * the hook. */
static void put(struct bench *b, const char *key, const struct bench_cell *with,
                const struct bench_cell *without)
{
    struct bench_stat s = with->ns;
    s.median -= without->ns.median;
    s.q1 -= without->ns.median;
    s.q3 -= without->ns.median;
    bench_put_stat(b, key, &s);
}

static void measure(struct bench *b, const char *trace, const char *key, const char *key_new)
{
    struct bench_cell cells[] = {{.name = "primitive", .run = calls_without},
                                 {.name = "the same, recorded", .run = calls_with},
                                 {.name = "new primitive", .run = new_without},
                                 {.name = "the same, recorded", .run = new_with}};
    setenv("PLUMB_TRACE", trace, 1);
    setenv("PLUMB_COLLECT", "onednn", 1);
    bench_record_start(b, false);
    {
        PLUMB_STAGE(stage, "stage");
        bench_interleave(b, cells, 4, BLOCK, b->quick ? 50 : 400);
    }
    bench_record_stop(b);
    bench_print_cells(cells, 4);
    if (strcmp(trace, "0") == 0)
        bench_put_stat(b, "onednn_call_ns", &cells[0].ns);
    put(b, key, &cells[1], &cells[0]);
    if (key_new)
        put(b, key_new, &cells[3], &cells[2]);
}

/* The functions of the library itself, and whether the interposer stands before them. */
static bool find_real(void)
{
    void *library = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    Dl_info info;
    void *first = dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
    *(void **)(void *)&real_execute = library ? dlsym(library, "dnnl_primitive_execute") : NULL;
    *(void **)(void *)&real_destroy = library ? dlsym(library, "dnnl_primitive_destroy") : NULL;
    return real_execute && real_destroy && first && dladdr(first, &info) && info.dli_fname &&
           strstr(info.dli_fname, "libplumb-onednn");
}

int main(int argc, char **argv)
{
    static const char reason[] =
        "needs oneDNN 2.x, and libplumb-onednn.so next to libplumb.so: one of them is missing";
    static struct bench b;
    setenv("OMP_NUM_THREADS", "1", 1);
    bench_start_again_with("libplumb-onednn.so", argv);
    bench_open(&b, "onednn", argc, argv);
    if (!find_real()) {
        bench_put_null(&b, "onednn_hook_ns_per_call", reason);
        return bench_close(&b);
    }
    make_work();
    measure(&b, "0", "onednn_hook_ns_per_call", "onednn_hook_new_ns_per_call");
    measure(&b, "1", "onednn_hook_traced_ns_per_call", NULL);
    return bench_close(&b);
}

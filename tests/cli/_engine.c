/* A small engine, for the tests of plumb bench. As a program it runs its stages once and records
 * them. With -DAS_LIBRARY it is a stage library, with every way in which a stage can go wrong; with
 * -DPLANTED its loop has another result. */
#include <plumb/stage_library.h>

#include <dlpack/dlpack.h>
#include <plumb/fake.h>
#include <plumb/plumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1000, STEPS = 12 };

static DLTensor describe(void *data, uint8_t code, uint8_t bits, int64_t *shape)
{
    DLTensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = kDLCPU;
    t.ndim = 1;
    t.dtype.code = code;
    t.dtype.bits = bits;
    t.dtype.lanes = 1;
    t.shape = shape;
    return t;
}

/* Every step multiplies, and adds the index: the result says which steps ran. On the virtual clock
 * a step takes 1 ms, and what is around it nothing. */
static void iterate(plumb_span stage, float *x, int steps)
{
    int64_t n = N;
    for (PLUMB_STEPS (step, steps)) {
        DLTensor t = describe(x, kDLFloat, 32, &n);
        PLUMB_SPAN("engine_step");
        plumb_stage_input(stage, "x", &t);
        for (int i = 0; i < N; i++)
            x[i] = x[i] * 0.5f + (float)step;
#ifdef PLANTED
        x[N - 1] += 1;
#endif
#ifndef AS_LIBRARY
        plumb_fake_advance(1000000);
#endif
        plumb_stage_output(stage, "x", &t);
    }
}

/* The work of the stage inside a step. */
static void forward(float *x)
{
    for (int i = 0; i < N; i++)
        x[i] = x[i] * 2 + 1;
}

#ifndef AS_LIBRARY
static void loop_around(float *x)
{
    int64_t n = N;
    DLTensor t = describe(x, kDLFloat, 32, &n);
    for (PLUMB_STEPS (step, 9)) {
        PLUMB_STAGE(stage, "inner");
        plumb_stage_input(stage, "x", &t);
        forward(x);
        plumb_stage_output(stage, "x", &t);
    }
}

static int64_t total(const int32_t *index, const float *table)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += (double)table[index[i]];
    return (int64_t)sum;
}

int main(void)
{
    static float x[N];
    static int32_t index[N];
    int64_t n = N;
    DLTensor tx = describe(x, kDLFloat, 32, &n), ti = describe(index, kDLInt, 32, &n);
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 7);
        index[i] = i % 100;
    }
    {
        PLUMB_STAGE(stage, "loop");
        plumb_stage_input(stage, "x", &tx);
        plumb_stage_metadata(stage, "stage_config", plumb_value_str("steps=12"));
        iterate(stage, x, STEPS);
        plumb_stage_output(stage, "x", &tx);
    }
    for (int i = 0; i < 3; i++) {
        PLUMB_STAGE(stage, "lookup");
        plumb_stage_input(stage, "index", &ti);
        plumb_stage_input_value(stage, "scale", plumb_value_f64(2.0));
        printf("%lld\n", (long long)total(index, x));
        plumb_stage_output_value(stage, "total", plumb_value_f64(2.0));
    }
    loop_around(x);
    {
        PLUMB_STAGE(stage, "scalars");
        plumb_stage_input_value(stage, "scale", plumb_value_f64(21));
        plumb_stage_output_value(stage, "doubled", plumb_value_f64(42));
    }
    static const char *const others[] = {"by step", "crash", "hang", "fail",
                                         "exit",    "mute",  "NaN",  "by_step"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        plumb_span stage = plumb_begin_with(plumb_node_get(others[i]), PLUMB_POINT_STAGE);
        plumb_stage_input(stage, "x", &tx);
        plumb_end(stage);
    }
    return 0;
}
#else
struct engine {
    int steps;
    int runs;
    char output[16]; /* what is wrong with it; "": nothing */
    float x[N];
};

static int engine_open(void **out, const char *config, plumb_error *err)
{
    struct engine *e;
    int steps = 0;
    if (strcmp(config, "refuse") == 0)
        return plumb_call_fail("there is no such model", err);
    if (strcmp(config, "abort") == 0)
        abort();
    sscanf(config, "steps=%d", &steps);
    e = calloc(1, sizeof *e);
    sscanf(config, "output=%15s", e->output);
    e->steps = steps ? steps : STEPS;
    *out = e;
    return 0;
}

static void engine_close(void *instance)
{
    free(instance);
}

static int take(struct engine *e, plumb_stage_call *call, plumb_error *err)
{
    const DLTensor *x = (const DLTensor *)plumb_call_tensor(call, "x");
    if (!x || x->ndim != 1 || x->shape[0] != N || x->dtype.bits != 32)
        return plumb_call_fail("input 'x': 1000 float32 are needed", err);
    memcpy(e->x, (const char *)x->data + x->byte_offset, sizeof e->x);
    return 0;
}

static void give(struct engine *e, plumb_stage_call *call)
{
    int64_t n = N;
    DLTensor t = describe(e->x, kDLFloat, 32, &n);
    plumb_call_output(call, "x", (const plumb_tensor *)&t);
}

static int loop_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct engine *e = instance;
    plumb_span none = {0};
    if (take(e, call, err) < 0)
        return err->code;
    iterate(none, e->x, e->steps);
    give(e, call);
    return 0;
}

static int inner_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct engine *e = instance;
    if (take(e, call, err) < 0)
        return err->code;
    forward(e->x);
    give(e, call);
    return 0;
}

#ifdef BY_STEP
static int inner_step(void *instance, plumb_stage_call *call, int64_t step, plumb_error *err)
{
    fprintf(stderr, "inner step %lld\n", (long long)step);
    return inner_run(instance, call, err);
}
#endif

/* A stage is the program of a user: an output may be anything. */
static void give_wrong(struct engine *e, plumb_stage_call *call)
{
    int64_t n = -1;
    DLTensor t = describe(e->x, kDLFloat, 32, &n);
    if (strcmp(e->output, "shape") == 0)
        plumb_call_output(call, "wrong", (const plumb_tensor *)&t);
    t.ndim = 1000;
    if (strcmp(e->output, "ndim") == 0) {
        plumb_value v = plumb_value_tensor((const plumb_tensor *)&t);
        plumb_call_output_value(call, "wrong", plumb_value_list(&v, 1));
    }
    if (strcmp(e->output, "name") == 0)
        plumb_call_output_value(call, NULL, plumb_value_null());
}

static int scalars_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    (void)instance;
    (void)err;
    plumb_call_output_value(call, "doubled", plumb_value_f64(2 * plumb_call_f64(call, "scale", 0)));
    return 0;
}

static int lookup_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct engine *e = instance;
    const DLTensor *index = (const DLTensor *)plumb_call_tensor(call, "index");
    for (int i = 0; i < N; i++) {
        int32_t at = ((const int32_t *)index->data)[i];
        if (at < 0 || at >= 100)
            return plumb_call_fail("an index is out of range", err);
        e->x[i] = (float)at;
    }
    if (strcmp(e->output, "inputs") == 0) /* which it must not */
        *(int32_t *)index->data = (*(const int32_t *)index->data + 1) % 100;
    plumb_call_output_value(call, "total", plumb_value_f64(plumb_call_f64(call, "scale", 0)));
    give_wrong(e, call);
    return 0;
}

static int step_step(void *instance, plumb_stage_call *call, int64_t step, plumb_error *err)
{
    struct engine *e = instance;
    if (e->runs++ == 0 && take(e, call, err) < 0)
        return err->code;
    for (int i = 0; i < N; i++)
        e->x[i] += (float)step;
    fprintf(stderr, "step %lld\n", (long long)step);
    return 0;
}

static int crash_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct engine *e = instance;
    (void)call;
    (void)err;
    for (PLUMB_STEPS (step, e->steps))
        if (step == 3 && e->runs++ == 1)
            abort();
    return 0;
}

static int hang_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    (void)instance;
    (void)call;
    (void)err;
    for (PLUMB_STEPS (step, 100))
        if (step == 5)
            for (;;)
                pause();
    return 0;
}

static int fail_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct engine *e = instance;
    (void)call;
    return e->runs++ < 2 ? 0 : plumb_call_fail("the third run always fails", err);
}

static int exit_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    (void)instance;
    (void)call;
    (void)err;
    printf("on standard output\n");
    fflush(stdout);
    exit(0);
}

static int mute_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    (void)instance;
    (void)call;
    (void)err;
    return -77;
}

#define OPS(id, name, run, step)                                                                   \
    static const plumb_stage_ops id = {                                                            \
        PLUMB_STAGE_OPS_BEGIN, name, "a test", NULL, engine_open, run, step, engine_close, NULL}
OPS(loop_ops, "loop", loop_run, NULL);
OPS(lookup_ops, "lookup", lookup_run, NULL);
#ifdef BY_STEP
OPS(inner_ops, "inner", NULL, inner_step);
#else
OPS(inner_ops, "inner", inner_run, NULL);
#endif
OPS(scalars_ops, "scalars", scalars_run, NULL);
OPS(step_ops, "by step", NULL, step_step);
OPS(similar_ops, "by_step", NULL, step_step);
OPS(crash_ops, "crash", crash_run, NULL);
OPS(hang_ops, "hang", hang_run, NULL);
OPS(fail_ops, "fail", fail_run, NULL);
OPS(exit_ops, "exit", exit_run, NULL);
OPS(mute_ops, "mute", mute_run, NULL);
static const plumb_stage_ops *const stages[] = {&loop_ops,  &lookup_ops,  &step_ops,    &crash_ops,
                                                &hang_ops,  &fail_ops,    &exit_ops,    &mute_ops,
                                                &inner_ops, &similar_ops, &scalars_ops, NULL};
#ifdef WRONG_VERSION
extern const struct plumb_stage_library plumb_stage_library;
const struct plumb_stage_library plumb_stage_library = {99, sizeof plumb_stage_library, stages};
#elif !defined(NO_TABLE)
PLUMB_STAGE_LIBRARY(stages);
#else
const plumb_stage_ops *const *no_table(void);
const plumb_stage_ops *const *no_table(void)
{
    return stages;
}
#endif
#endif

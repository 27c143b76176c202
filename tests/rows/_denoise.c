/* A denoise stage, for the tests of plumb bench. As a program it is recorded once with its latents
 * alone ("plain") and once with optional inputs ("guided"). With -DAS_LIBRARY it is a stage library
 * that prints each call on standard error. Its configuration is a list of words: "sleep" makes a
 * step take 50 ms at least, "late" the third run 300 ms. */
#include <plumb/stage_library.h>

#include <dlpack/dlpack.h>
#include <plumb/plumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 64, STEPS = 6 };

static void nap(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

#ifndef AS_LIBRARY
static DLTensor of(float *data, int64_t *shape)
{
    DLTensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = kDLCPU;
    t.ndim = 1;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    t.shape = shape;
    return t;
}

int main(void)
{
    static float x[N];
    static const char *const names[] = {"plain", "guided"};
    int64_t n = N;
    DLTensor t = of(x, &n);
    for (int i = 0; i < 2; i++) {
        plumb_span stage = plumb_begin_with(plumb_node_get(names[i]), PLUMB_POINT_STAGE);
        plumb_stage_input(stage, "latents", &t);
        if (i == 1) {
            plumb_stage_input_value(stage, "cfg_scale", plumb_value_f64(2.5));
            plumb_stage_input_value(stage, "sigma_shift", plumb_value_f64(3.0));
        }
        for (PLUMB_STEPS (step, STEPS)) {
            PLUMB_SPAN("denoise_step");
            nap(1);
        }
        plumb_end(stage);
    }
    return 0;
}
#else
static struct engine {
    int sleeps, late, runs;
} engine;

static int engine_open(void **out, const char *config, plumb_error *err)
{
    (void)err;
    engine.sleeps = strstr(config, "sleep") != NULL;
    engine.late = strstr(config, "late") != NULL;
    *out = &engine;
    return 0;
}

static int engine_sync(void *instance, plumb_error *err)
{
    (void)instance;
    (void)err;
    fprintf(stderr, "call sync\n");
    return 0;
}

static int engine_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct engine *e = instance;
    int64_t seen = 0, sum = 0;
    fprintf(stderr, "call run\n");
    if (!plumb_call_tensor(call, "latents"))
        return plumb_call_fail("latents: a tensor is needed", err);
    for (PLUMB_STEPS (step, STEPS)) {
        PLUMB_SPAN("denoise_step");
        seen++;
        sum += step;
        if (e->sleeps)
            nap(50);
    }
    if (e->late && e->runs++ == 2)
        nap(300);
    fprintf(stderr, "call steps %d sum %d guidance %g shift %g reference %d\n", (int)seen, (int)sum,
            plumb_call_f64(call, "cfg_scale", 5.0), plumb_call_f64(call, "sigma_shift", 8.0),
            plumb_call_tensor(call, "ref_latent") != NULL);
    plumb_call_output_value(call, "sum", plumb_value_i64(sum));
    return 0;
}

#define OPS(id, name)                                                                              \
    static const plumb_stage_ops id = {                                                            \
        PLUMB_STAGE_OPS_BEGIN, name, NULL, NULL, engine_open, engine_run, NULL, NULL, engine_sync}
OPS(plain_ops, "plain");
OPS(guided_ops, "guided");
/* Has no way to be run. */
static const plumb_stage_ops none_ops = {
    PLUMB_STAGE_OPS_BEGIN, "none", NULL, NULL, engine_open, NULL, NULL, NULL, NULL};
#ifdef WITH_NONE
static const plumb_stage_ops *const stages[] = {&plain_ops, &guided_ops, &none_ops, NULL};
#else
static const plumb_stage_ops *const stages[] = {&plain_ops, &guided_ops, NULL};
const void *const unused = &none_ops;
#endif
PLUMB_STAGE_LIBRARY(stages);
#endif

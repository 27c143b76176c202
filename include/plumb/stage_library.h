/* stage_library.h: export the stages of an engine in a shared library, so that one of them can be
 * run alone.
 *
 * `plumb bench RUN --stage denoise --from libengine.so` loads the library, makes inputs of the
 * recorded shapes, and runs the stage with them; so does the C program that it generates. Neither
 * library nor engine needs libplumb for that. docs/layers.md walks through an example.
 *
 *     static int engine_open(void **out, const char *config, plumb_error *err);
 *     static int denoise_run(void *instance, plumb_stage_call *call, plumb_error *err)
 *     {
 *         struct engine *e = instance;
 *         const DLTensor *latents = plumb_call_tensor(call, "latents");
 *         if (!latents || copy_latents(e, latents) < 0)
 *             return plumb_call_fail("latents: a float32 tensor is needed", err);
 *         denoise(e, plumb_call_f64(call, "cfg_scale", 5.0));     (its loop is PLUMB_STEPS)
 *         plumb_call_output(call, "latents", &e->latents);
 *         return 0;
 *     }
 *     static const plumb_stage_ops denoise_ops = {
 *         PLUMB_STAGE_OPS_BEGIN, "denoise", "one video's denoising loop", denoise_inputs,
 *         engine_open, denoise_run, NULL, engine_close, NULL};
 *     static const plumb_stage_ops *const stages[] = {&text_encode_ops, &denoise_ops, NULL};
 *     PLUMB_STAGE_LIBRARY(stages);
 *
 * An iterative stage runs only the wanted steps if its loop is PLUMB_STEPS, in this shared object
 * and on the thread that calls `run`, or if it has `step`. With neither it is run as a whole.
 *
 * Rules
 *   - plumb calls the functions of a library one at a time: `open`, any number of `run` or `step`,
 *     `close`. All calls come from one thread.
 *   - A function returns 0, or less with `err` filled. It must not exit the process.
 *   - `err` is never NULL. Inputs are borrowed until the call returns. The stage must not change
 *     them: the next run gets the same memory.
 *   - Structs start with their size and are only appended to; a change of meaning raises
 *     PLUMB_STAGE_LIBRARY_VERSION. */
#ifndef PLUMB_STAGE_LIBRARY_H
#define PLUMB_STAGE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <plumb/detail/loop.h>
#include <plumb/error.h>
#include <plumb/value.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLUMB_STAGE_LIBRARY_VERSION = 1 };

/* One run of a stage: what goes in, and where outputs go. */
typedef struct plumb_stage_call {
    size_t size;               /* sizeof(plumb_stage_call) */
    const plumb_field *inputs; /* [input_count] as the signature names them: "cond.text" */
    size_t input_count;
    /* Takes an output; the value is read before the call returns. Time spent in it is not counted
     * as the stage's. */
    void (*output)(struct plumb_stage_call *call, const char *name, const plumb_value *value);
    void *arg; /* of whoever runs the stage */
} plumb_stage_call;

typedef struct plumb_stage_ops {
    size_t size; /* sizeof(plumb_stage_ops) */
    /* Sets the steps that loops of this object run (plumb_loop_limit_set). NULL: they cannot be
     * limited. */
    void (*limit)(struct plumb_loop_limit *limit);
    const char *name; /* of the stage, as the pipeline records it */
    const char *help; /* one line; NULL: none */
    /* The inputs it takes, ending with NULL: a recorded input that is not listed is not made. NULL:
     * all that were recorded. */
    const char *const *inputs;
    /* Loads the model, once, and sets `out` to the instance that the other functions get. `config`
     * is text from the command line, "" by default. */
    int (*open)(void **out, const char *config, plumb_error *err);
    /* Runs the stage once. NULL: the stage has `step` only. */
    int (*run)(void *instance, plumb_stage_call *call, plumb_error *err);
    /* Runs one iteration of the stage's loop. NULL: the loop of `run` is PLUMB_STEPS, or there is
     * none. */
    int (*step)(void *instance, plumb_stage_call *call, int64_t step, plumb_error *err);
    /* Frees what `open` made; called with NULL when `open` was not called or failed. NULL: nothing
     * to free. */
    void (*close)(void *instance);
    /* Waits for the work that runs and steps have launched; called before each run and after it.
     * NULL: they return when it is done. */
    int (*sync)(void *instance, plumb_error *err);
} plumb_stage_ops;

/* The table that a library exports. */
struct plumb_stage_library {
    uint32_t version;                     /* PLUMB_STAGE_LIBRARY_VERSION */
    uint32_t size;                        /* sizeof(struct plumb_stage_library) */
    const plumb_stage_ops *const *stages; /* ends with NULL */
};
#define PLUMB_STAGE_LIBRARY_SYMBOL "plumb_stage_library"

/* Exports the array of stages. Once in a shared object. */
#ifdef __cplusplus
#define PLUMB_STAGE_LIBRARY_C_ extern "C"
#else
#define PLUMB_STAGE_LIBRARY_C_ extern
#endif
#define PLUMB_STAGE_LIBRARY(array)                                                                 \
    PLUMB_STAGE_LIBRARY_C_ __attribute__((visibility("default")))                                  \
    const struct plumb_stage_library plumb_stage_library;                                          \
    const struct plumb_stage_library plumb_stage_library = {                                       \
        PLUMB_STAGE_LIBRARY_VERSION, sizeof(struct plumb_stage_library), array}

/* The first two members of a plumb_stage_ops. */
#if PLUMB_HAS_CLIENT_
#define PLUMB_STAGE_OPS_BEGIN sizeof(plumb_stage_ops), plumb_loop_limit_set
#else
#define PLUMB_STAGE_OPS_BEGIN sizeof(plumb_stage_ops), NULL
#endif

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* Returns the input called `name`, or NULL if the call has none. */
static inline const plumb_value *plumb_call_input(const plumb_stage_call *call, const char *name)
{
    size_t i;
    for (i = 0; i < call->input_count; i++)
        if (strcmp(call->inputs[i].name, name) == 0)
            return &call->inputs[i].value;
    return NULL;
}
/* Returns the tensor of that name, a DLTensor in the host's memory, or NULL if there is none. C++
 * needs dlpack.h before the headers of plumb to see its members without a cast. */
static inline const plumb_tensor *plumb_call_tensor(const plumb_stage_call *call, const char *name)
{
    const plumb_value *v = plumb_call_input(call, name);
    return v && v->kind == PLUMB_VALUE_TENSOR ? (const plumb_tensor *)v->as.tensor : NULL;
}
/* Returns the number of that name, or `otherwise` if there is none. */
static inline double plumb_call_f64(const plumb_stage_call *call, const char *name,
                                    double otherwise)
{
    const plumb_value *v = plumb_call_input(call, name);
    if (v && v->kind == PLUMB_VALUE_F64)
        return v->as.f64;
    return v && v->kind == PLUMB_VALUE_I64 ? (double)v->as.i64 : otherwise;
}
/* Returns the whole number or truth value of that name, or `otherwise` if there is none. */
static inline int64_t plumb_call_i64(const plumb_stage_call *call, const char *name,
                                     int64_t otherwise)
{
    const plumb_value *v = plumb_call_input(call, name);
    return v && (v->kind == PLUMB_VALUE_I64 || v->kind == PLUMB_VALUE_BOOL) ? v->as.i64 : otherwise;
}
/* Returns the text of that name, or `otherwise` if there is none. */
static inline const char *plumb_call_str(const plumb_stage_call *call, const char *name,
                                         const char *otherwise)
{
    const plumb_value *v = plumb_call_input(call, name);
    return v && v->kind == PLUMB_VALUE_STR ? v->as.str : otherwise;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

/* Passes an output of any kind on. */
static inline void plumb_call_output_value(plumb_stage_call *call, const char *name,
                                           plumb_value value)
{
    call->output(call, name, &value);
}
/* Passes a tensor on. */
static inline void plumb_call_output(plumb_stage_call *call, const char *name,
                                     const plumb_tensor *tensor)
{
    plumb_call_output_value(call, name, plumb_value_tensor(tensor));
}
/* Copies the reason, cut at 507 bytes, to `err` and returns the status of a failed call. */
static inline int plumb_call_fail(const char *why, plumb_error *err)
{
    size_t n = 0;
    while (why[n] && n < sizeof err->message - 1) {
        err->message[n] = why[n];
        n++;
    }
    err->message[n] = '\0';
    err->code = PLUMB_ERR_STATE;
    return PLUMB_ERR_STATE;
}

#ifdef __cplusplus
}
#endif
#endif

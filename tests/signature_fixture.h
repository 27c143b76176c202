/* signature_fixture.h: models of I/O signatures for tests: one with everything in it, hostile names
 * included. */
#ifndef TESTS_SIGNATURE_FIXTURE_H
#define TESTS_SIGNATURE_FIXTURE_H

#include <math.h>
#include <string.h>

#include "model/signature.h"

static inline int64_t *fixture_numbers(struct plumb_signature *s, const int64_t *from, size_t n)
{
    int64_t *numbers = plumb_arena_alloc(&s->arena, n * sizeof *numbers);
    if (n > 0)
        memcpy(numbers, from, n * sizeof *numbers);
    return numbers;
}

/* `shape` ends with -1. */
static inline struct plumb_signature_value fixture_tensor_of(struct plumb_signature *s,
                                                             const int64_t *shape,
                                                             const char *dtype, const char *device,
                                                             int64_t bytes)
{
    struct plumb_signature_value v = {.kind = PLUMB_SIGNATURE_TENSOR};
    v.is.tensor = plumb_arena_alloc(&s->arena, sizeof *v.is.tensor);
    while (shape[v.is.tensor->ndim] >= 0)
        v.is.tensor->ndim++;
    v.is.tensor->shape = fixture_numbers(s, shape, v.is.tensor->ndim);
    v.is.tensor->dtype = dtype;
    v.is.tensor->device = device;
    v.is.tensor->requires_grad = -1;
    v.is.tensor->bytes = bytes;
    return v;
}

static inline struct plumb_signature_value fixture_int(int64_t i)
{
    return (struct plumb_signature_value){.kind = PLUMB_SIGNATURE_INT, .is.integer = i};
}

static inline struct plumb_signature_value fixture_real(double x)
{
    return (struct plumb_signature_value){.kind = PLUMB_SIGNATURE_REAL, .is.real = x};
}

static inline struct plumb_signature_value fixture_words(const char *text)
{
    return (struct plumb_signature_value){.kind = PLUMB_SIGNATURE_TEXT, .is.text = text};
}

static inline struct plumb_signature_value fixture_bool(bool b)
{
    return (struct plumb_signature_value){.kind = PLUMB_SIGNATURE_BOOL, .is.boolean = b};
}

static inline struct plumb_signature_value
fixture_list(struct plumb_signature *s, const struct plumb_signature_value *from, size_t n)
{
    struct plumb_signature_value v = {.kind = PLUMB_SIGNATURE_LIST};
    v.is.list.at = plumb_arena_alloc(&s->arena, n * sizeof *from);
    if (n > 0)
        memcpy(v.is.list.at, from, n * sizeof *from);
    v.is.list.count = n;
    return v;
}

static inline void fixture_add(struct plumb_signature *s, struct plumb_signature_items *items,
                               const char *name, struct plumb_signature_value value)
{
    size_t cap = items->count;
    items->at = plumb_arena_grow(&s->arena, items->at, &cap, items->count + 1, sizeof *items->at);
    items->at[items->count++] = (struct plumb_signature_item){name, value};
}

#define DIMS_OF(...) ((const int64_t[]){__VA_ARGS__, -1})

static inline void fixture_denoise(struct plumb_signature *s, struct plumb_signature_call *call,
                                   int64_t frames)
{
    struct plumb_signature_value latents = fixture_tensor_of(
        s, DIMS_OF(1, 16, frames, 60, 104), "bfloat16", "cuda:0", 2 * 16 * frames * 60 * 104);
    struct plumb_signature_value text =
        fixture_tensor_of(s, DIMS_OF(77, 512), "float32", "cpu", 77 * 512 * 4);
    struct plumb_signature_value list[3] = {text, fixture_int(7), {.kind = PLUMB_SIGNATURE_NULL}};
    struct plumb_signature_value deep = fixture_list(s, list, 1);
    latents.is.tensor->requires_grad = 0;
    latents.is.tensor->stats_error = "the tensor lies in memory of cuda:0";
    fixture_add(s, &call->inputs, "latents", latents);
    text.is.tensor->strides = fixture_numbers(s, (const int64_t[]){1, -77}, 2);
    text.is.tensor->stats = plumb_arena_alloc(&s->arena, sizeof *text.is.tensor->stats);
    *text.is.tensor->stats = (struct plumb_signature_stats){39424, 1, 3, 2, -2.5, 4, 0.125, 1};
    fixture_add(s, &call->inputs, "cond.text", text);
    fixture_add(s, &call->inputs, "frames[3]",
                fixture_tensor_of(s, DIMS_OF(3, 0, 2), "uint8", "cpu", 0));
    fixture_add(s, &call->inputs, "scale",
                fixture_tensor_of(s, (const int64_t[]){-1}, "float64", "cpu", 8));
    fixture_add(s, &call->inputs, "none", (struct plumb_signature_value){0});
    fixture_add(s, &call->inputs, "empty", fixture_list(s, NULL, 0));
    fixture_add(s, &call->inputs, "mixed", fixture_list(s, list, 3));
    fixture_add(s, &call->inputs, "deep", fixture_list(s, &deep, 1));
    fixture_add(s, &call->inputs, "config", fixture_words("DenoiseConfig"));
    fixture_add(s, &call->inputs, "broken",
                fixture_words("<error: the tensor has -1 dimensions, not 0 to 64>"));
    fixture_add(s, &call->outputs, "output", latents);
    fixture_add(s, &call->metadata, "steps", fixture_int(50));
    fixture_add(s, &call->metadata, "cfg_scale", fixture_real(5));
    fixture_add(s, &call->metadata, "tiny", fixture_real(0x1p-1074));
    fixture_add(s, &call->metadata, "minus_zero", fixture_real(-0.0));
    fixture_add(s, &call->metadata, "unknown", fixture_real(NAN));
    fixture_add(s, &call->metadata, "bound", fixture_real(-INFINITY));
    fixture_add(s, &call->metadata, "least", fixture_int(INT64_MIN));
    fixture_add(s, &call->metadata, "tiled", fixture_bool(true));
    fixture_add(s, &call->metadata, "prompt", fixture_words("a \"fox\"\n\xf0\x9f\xa6\x8a"));
}

/* Stages `denoise`, with everything, one that never ended well, and one of a hostile name. */
static inline void fixture_signature(struct plumb_signature *s)
{
    plumb_signature_init(s);
    s->request_id = "run_20260102-030405";
    s->timestamp = "2026-01-02T03:04:06.123456+00:00";
    s->plumb_version = "0.1.0";
    s->pid = 4711;
    s->lost_calls = 1;
    s->rank = 3;
    s->stage_count = 3;
    s->stages = plumb_arena_alloc(&s->arena, 3 * sizeof *s->stages);
    struct plumb_signature_stage *denoise = &s->stages[0];
    denoise->name = "denoise";
    denoise->calls = 12;
    denoise->other_calls = 2;
    denoise->capture = plumb_arena_alloc(&s->arena, sizeof *denoise->capture);
    *denoise->capture = (struct plumb_signature_capture){"denoise.inputs.safetensors", 7, 12345, 1};
    denoise->distinct_count = 2;
    denoise->distinct = plumb_arena_alloc(&s->arena, 2 * sizeof *denoise->distinct);
    fixture_denoise(s, &denoise->distinct[0], 9);
    denoise->distinct[0].count = 7;
    fixture_denoise(s, &denoise->distinct[1], 21);
    denoise->distinct[1].count = 3;
    denoise->distinct[1].dropped = 4;
    denoise->distinct[1].request_id = "req_7";
    denoise->last = denoise->distinct[1];
    s->stages[1].name = "never";
    struct plumb_signature_stage *hostile = &s->stages[2];
    hostile->name = "bad\xff\x01 \"name\"";
    hostile->calls = UINT64_MAX;
    fixture_add(s, &hostile->last.inputs, "", fixture_words(""));
    fixture_add(s, &hostile->last.inputs, "\xff", fixture_words("\xc3("));
    fixture_add(s, &hostile->last.inputs, "\\xff", fixture_words("\\xff"));
    fixture_add(s, &hostile->last.inputs, "a.b[", fixture_int(1));
    fixture_add(s, &hostile->last.outputs, "first",
                fixture_tensor_of(s, DIMS_OF(INT64_MAX), "dlpack(7,12,1)", "device(99,-3)", -1));
    fixture_add(s, &hostile->last.outputs, "second", fixture_int(-1));
}

#endif

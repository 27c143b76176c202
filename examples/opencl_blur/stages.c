/* The stages as a stage library (plumb/stage_library.h), for `plumb bench` to run one alone:
 * `blur` on the device, and `reference`, the same picture in plain C, whose output is equal.
 *
 * The configuration is "WIDTH HEIGHT RADIUS", as main.c records it. */
#include "blur.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlpack/dlpack.h>
#include <plumb/plumb.h>
#include <plumb/stage_library.h>

struct instance {
    struct blur_shape shape;
    struct blur_device *device; /* NULL: of the reference */
    struct blur_job *job;
    uint8_t *out, *scratch; /* pictures */
};

static void close_instance(void *instance)
{
    struct instance *self = instance;
    if (!self)
        return;
    blur_job_close(self->job);
    blur_device_close(self->device);
    free(self->out);
    free(self->scratch);
    free(self);
}

static int open_reference(void **out, const char *config, plumb_error *err)
{
    struct instance *self = calloc(1, sizeof *self);
    struct blur_shape *s;
    if (!self)
        return plumb_call_fail("out of memory", err);
    s = &self->shape;
    if (sscanf(config, "%d %d %d", &s->width, &s->height, &s->radius) != 3 || s->width < 2 ||
        s->height < 2 || (s->width | s->height) & 1 || s->width > 16384 || s->height > 16384 ||
        s->radius < 1 || s->radius > BLUR_RADIUS_MAX) {
        close_instance(self);
        return plumb_call_fail("the configuration is not \"WIDTH HEIGHT RADIUS\" of a blur", err);
    }
    self->out = malloc(blur_picture_bytes(s));
    self->scratch = malloc(blur_picture_bytes(s));
    if (!self->out || !self->scratch) {
        close_instance(self);
        return plumb_call_fail("out of memory", err);
    }
    *out = self;
    return 0;
}

static int open_blur(void **out, const char *config, plumb_error *err)
{
    struct problem problem = {""};
    void *instance = NULL;
    struct instance *self;
    int rc = open_reference(&instance, config, err);
    if (rc < 0)
        return rc;
    self = instance;
    self->device = blur_device_open(&self->shape, &problem);
    if (self->device)
        self->job = blur_job_open(self->device, 0, &problem);
    if (!self->job) {
        close_instance(self);
        return plumb_call_fail(problem.text, err);
    }
    *out = self;
    return 0;
}

/* The bytes of the input `picture`; NULL with the reason in `err`. */
static const uint8_t *picture_of(const struct instance *self, const plumb_stage_call *call,
                                 plumb_error *err)
{
    const DLTensor *t = plumb_call_tensor(call, "picture");
    size_t bytes = blur_picture_bytes(&self->shape);
    if (t && t->dtype.code == kDLUInt && t->dtype.bits == 8 && t->ndim == 1 &&
        (size_t)t->shape[0] == bytes && (!t->strides || t->strides[0] == 1))
        return (const uint8_t *)t->data + t->byte_offset;
    plumb_call_fail("input 'picture': a row of uint8 is needed, with the planes Y, U and V of the "
                    "configured size",
                    err);
    return NULL;
}

static void give(struct instance *self, plumb_stage_call *call)
{
    int64_t bytes = (int64_t)blur_picture_bytes(&self->shape);
    DLTensor t = {.data = self->out,
                  .device = {kDLCPU, 0},
                  .ndim = 1,
                  .dtype = {kDLUInt, 8, 1},
                  .shape = &bytes};
    plumb_call_output(call, "picture", &t);
}

static int run_blur(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct instance *self = instance;
    struct problem problem = {""};
    const uint8_t *in = picture_of(self, call, err);
    PLUMB_STAGE(stage, "blur"); /* as the program's own stage is called */
    if (!in)
        return err->code;
    if (blur_launch(self->job, in, self->out, &problem) < 0 || blur_wait(self->job, &problem) < 0)
        return plumb_call_fail(problem.text, err);
    give(self, call);
    return 0;
}

static int run_reference(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct instance *self = instance;
    const uint8_t *in = picture_of(self, call, err);
    PLUMB_STAGE(stage, "reference");
    if (!in)
        return err->code;
    blur_reference(&self->shape, in, self->out, self->scratch);
    give(self, call);
    return 0;
}

static const char *const inputs[] = {"picture", NULL};
static const plumb_stage_ops blur_ops = {PLUMB_STAGE_OPS_BEGIN,
                                         "blur",
                                         "a picture on the device, until it is back",
                                         inputs,
                                         open_blur,
                                         run_blur,
                                         NULL,
                                         close_instance,
                                         NULL};
static const plumb_stage_ops reference_ops = {PLUMB_STAGE_OPS_BEGIN,
                                              "reference",
                                              "the same picture in plain C",
                                              inputs,
                                              open_reference,
                                              run_reference,
                                              NULL,
                                              close_instance,
                                              NULL};

static const plumb_stage_ops *const stages[] = {&blur_ops, &reference_ops, NULL};
PLUMB_STAGE_LIBRARY(stages);

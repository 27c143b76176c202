/* The blur on a device: a picture is written, each plane is blurred along its rows and then along
 * its columns, and the picture is read. In a queue that keeps the order this is all; in one that
 * does not, events order it, and the three planes may run at the same time. */
#include "blur.h"

#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

enum { GROUP = 16 };

static const char source[] =
    "__kernel void blur_rows(__global const uchar *in, __global uchar *out,\n"
    "                        __constant int *weights, int radius, int offset, int width, int "
    "height)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), sum = 32768;\n"
    "    if (x >= width)\n"
    "        return;\n"
    "    for (int k = -radius; k <= radius; k++)\n"
    "        sum += weights[k + radius] * in[offset + y * width + clamp(x + k, 0, width - 1)];\n"
    "    out[offset + y * width + x] = sum >> 16;\n"
    "}\n"
    "__kernel void blur_columns(__global const uchar *in, __global uchar *out,\n"
    "                           __constant int *weights, int radius, int offset, int width,\n"
    "                           int height)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), sum = 32768;\n"
    "    if (x >= width)\n"
    "        return;\n"
    "    for (int k = -radius; k <= radius; k++)\n"
    "        sum += weights[k + radius] * in[offset + clamp(y + k, 0, height - 1) * width + x];\n"
    "    out[offset + y * width + x] = sum >> 16;\n"
    "}\n";

struct blur_device {
    struct blur_shape shape;
    cl_device_id id;
    cl_context context;
    cl_program program;
    cl_mem weights;
};

struct blur_job {
    const struct blur_device *device;
    int out_of_order;
    cl_command_queue queue;
    cl_kernel rows, columns;
    cl_mem in, middle, out;
    cl_event done;
};

static int check(cl_int code, const char *what, struct problem *problem)
{
    return code == CL_SUCCESS ? 0 : problem_set(problem, "OpenCL: %s fails: error %d", what, code);
}

static int build(struct blur_device *d, struct problem *problem)
{
    const char *text = source;
    cl_int code;
    char log[256] = "";
    d->program = clCreateProgramWithSource(d->context, 1, &text, NULL, &code);
    if (check(code, "clCreateProgramWithSource", problem) < 0)
        return -1;
    if ((code = clBuildProgram(d->program, 1, &d->id, "", NULL, NULL)) == CL_SUCCESS)
        return 0;
    clGetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
    return problem_set(problem, "OpenCL: clBuildProgram fails: error %d: %.200s", code, log);
}

struct blur_device *blur_device_open(const struct blur_shape *s, struct problem *problem)
{
    struct blur_device *d = calloc(1, sizeof(*d));
    int32_t weights[2 * BLUR_RADIUS_MAX + 1];
    cl_platform_id platform;
    cl_int code;
    if (!d) {
        problem_set(problem, "out of memory");
        return NULL;
    }
    d->shape = *s;
    blur_weights(weights, s->radius);
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->id, NULL) != CL_SUCCESS) {
        problem_set(problem,
                    "OpenCL: there is no device (pocl-opencl-icd is one for any processor)");
        goto fail;
    }
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (check(code, "clCreateContext", problem) < 0 || build(d, problem) < 0)
        goto fail;
    d->weights = clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                (2 * (size_t)s->radius + 1) * sizeof(*weights), weights, &code);
    if (check(code, "clCreateBuffer", problem) < 0)
        goto fail;
    return d;
fail:
    blur_device_close(d);
    return NULL;
}

void blur_device_close(struct blur_device *d)
{
    if (!d)
        return;
    if (d->weights)
        clReleaseMemObject(d->weights);
    if (d->program)
        clReleaseProgram(d->program);
    if (d->context)
        clReleaseContext(d->context);
    free(d);
}

/* ---- A job ----------------------------------------------------------------------------------- */

static cl_mem buffer(const struct blur_device *d, cl_mem_flags flags, struct problem *problem)
{
    cl_int code;
    cl_mem b = clCreateBuffer(d->context, flags, blur_picture_bytes(&d->shape), NULL, &code);
    check(code, "clCreateBuffer", problem);
    return b;
}

static cl_kernel kernel(const struct blur_device *d, const char *name, cl_mem in, cl_mem out,
                        struct problem *problem)
{
    const cl_int radius = d->shape.radius;
    cl_int code;
    cl_kernel k = clCreateKernel(d->program, name, &code);
    if (check(code, name, problem) < 0)
        return NULL;
    clSetKernelArg(k, 0, sizeof(in), &in);
    clSetKernelArg(k, 1, sizeof(out), &out);
    clSetKernelArg(k, 2, sizeof(d->weights), &d->weights);
    clSetKernelArg(k, 3, sizeof(radius), &radius);
    return k;
}

struct blur_job *blur_job_open(struct blur_device *d, int out_of_order, struct problem *problem)
{
    const cl_queue_properties properties[] = {
        CL_QUEUE_PROPERTIES, out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, 0};
    struct blur_job *j = calloc(1, sizeof(*j));
    cl_int code;
    if (!j) {
        problem_set(problem, "out of memory");
        return NULL;
    }
    j->device = d;
    j->out_of_order = out_of_order;
    j->queue = clCreateCommandQueueWithProperties(d->context, d->id, properties, &code);
    if (check(code, "clCreateCommandQueueWithProperties", problem) < 0 ||
        !(j->in = buffer(d, CL_MEM_READ_ONLY, problem)) ||
        !(j->middle = buffer(d, CL_MEM_READ_WRITE, problem)) ||
        !(j->out = buffer(d, CL_MEM_WRITE_ONLY, problem)) ||
        !(j->rows = kernel(d, "blur_rows", j->in, j->middle, problem)) ||
        !(j->columns = kernel(d, "blur_columns", j->middle, j->out, problem))) {
        blur_job_close(j);
        return NULL;
    }
    return j;
}

void blur_job_close(struct blur_job *j)
{
    if (!j)
        return;
    if (j->done)
        clReleaseEvent(j->done);
    if (j->rows)
        clReleaseKernel(j->rows);
    if (j->columns)
        clReleaseKernel(j->columns);
    if (j->in)
        clReleaseMemObject(j->in);
    if (j->middle)
        clReleaseMemObject(j->middle);
    if (j->out)
        clReleaseMemObject(j->out);
    if (j->queue)
        clReleaseCommandQueue(j->queue);
    free(j);
}

/* After `*after`, which is given back; `*event` is for what comes next. Both NULL in a queue that
 * keeps the order. */
static int blur_plane_with(struct blur_job *j, cl_kernel k, struct blur_plane p, cl_event *after,
                           cl_event *event, struct problem *problem)
{
    const size_t global[2] = {(size_t)(p.width + GROUP - 1) / GROUP * GROUP, (size_t)p.height};
    const size_t local[2] = {GROUP, 1};
    const cl_int place[3] = {p.offset, p.width, p.height};
    for (cl_uint i = 0; i < 3; i++)
        clSetKernelArg(k, 4 + i, sizeof(place[i]), &place[i]);
    return check(
        clEnqueueNDRangeKernel(j->queue, k, 2, NULL, global, local, after ? 1 : 0, after, event),
        "clEnqueueNDRangeKernel", problem);
}

int blur_launch(struct blur_job *j, const uint8_t *in, uint8_t *out, struct problem *problem)
{
    const size_t bytes = blur_picture_bytes(&j->device->shape);
    const int events = j->out_of_order;
    cl_event written = NULL, rows[BLUR_PLANES] = {NULL}, columns[BLUR_PLANES] = {NULL};
    int status = check(clEnqueueWriteBuffer(j->queue, j->in, CL_FALSE, 0, bytes, in, 0, NULL,
                                            events ? &written : NULL),
                       "clEnqueueWriteBuffer", problem);
    for (int i = 0; status == 0 && i < BLUR_PLANES; i++) {
        const struct blur_plane p = blur_plane(&j->device->shape, i);
        status = blur_plane_with(j, j->rows, p, events ? &written : NULL, events ? &rows[i] : NULL,
                                 problem);
        if (status == 0)
            status = blur_plane_with(j, j->columns, p, events ? &rows[i] : NULL,
                                     events ? &columns[i] : NULL, problem);
    }
    if (status == 0)
        status =
            check(clEnqueueReadBuffer(j->queue, j->out, CL_FALSE, 0, bytes, out,
                                      events ? BLUR_PLANES : 0, events ? columns : NULL, &j->done),
                  "clEnqueueReadBuffer", problem);
    if (status == 0)
        status = check(clFlush(j->queue), "clFlush", problem);
    if (written)
        clReleaseEvent(written);
    for (int i = 0; i < BLUR_PLANES; i++) {
        if (rows[i])
            clReleaseEvent(rows[i]);
        if (columns[i])
            clReleaseEvent(columns[i]);
    }
    return status;
}

int blur_wait(struct blur_job *j, struct problem *problem)
{
    int status = check(clWaitForEvents(1, &j->done), "clWaitForEvents", problem);
    clReleaseEvent(j->done);
    j->done = NULL;
    return status;
}

#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AUDIO_SCENARIOS_OPENCL

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static const char source[] =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "__kernel void cascade(__global float *samples, __constant double *c, int count, int frames)\n"
    "{\n"
    "    __global float *s = samples + get_global_id(0) * (size_t)frames;\n"
    "    double state[8][2];\n"
    "    for (int k = 0; k < count; k++)\n"
    "        state[k][0] = state[k][1] = 0;\n"
    "    for (int n = 0; n < frames; n++) {\n"
    "        double x = s[n];\n"
    "        for (int k = 0; k < count; k++) {\n"
    "            double y = c[5 * k] * x + state[k][0];\n"
    "            state[k][0] = c[5 * k + 1] * x - c[5 * k + 3] * y + state[k][1];\n"
    "            state[k][1] = c[5 * k + 2] * x - c[5 * k + 4] * y;\n"
    "            x = y;\n"
    "        }\n"
    "        s[n] = (float)x;\n"
    "    }\n"
    "}\n";

enum { SECTIONS_MAX = 8 };

struct device {
    size_t channels, bytes;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem samples, sections;
};

static int check(cl_int code, const char *what, char error[DEVICE_ERROR_BYTES])
{
    if (code == CL_SUCCESS)
        return 0;
    snprintf(error, DEVICE_ERROR_BYTES, "OpenCL: %s fails: error %d", what, code);
    return -1;
}

static cl_device_id find(char error[DEVICE_ERROR_BYTES])
{
    cl_platform_id platform;
    cl_device_id id = NULL;
    cl_uint n = 0;
    char extensions[8192] = "";

    if (clGetPlatformIDs(1, &platform, &n) != CL_SUCCESS || n == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, &n) != CL_SUCCESS || n == 0) {
        snprintf(error, DEVICE_ERROR_BYTES,
                 "there is no OpenCL device; \"device=cpu\" runs the scenario on the processor");
        return NULL;
    }
    clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1, extensions, NULL);
    if (strstr(extensions, "cl_khr_fp64"))
        return id;
    snprintf(error, DEVICE_ERROR_BYTES, "the OpenCL device cannot compute in double");
    return NULL;
}

static int build(struct device *d, cl_device_id id, char error[DEVICE_ERROR_BYTES])
{
    const char *text = source;
    cl_int rc;

    d->program = clCreateProgramWithSource(d->context, 1, &text, NULL, &rc);
    if (check(rc, "clCreateProgramWithSource", error) < 0 ||
        check(clBuildProgram(d->program, 1, &id, "", NULL, NULL), "clBuildProgram", error) < 0)
        return -1;
    d->kernel = clCreateKernel(d->program, "cascade", &rc);
    return check(rc, "clCreateKernel", error);
}

static int allocate(struct device *d, const struct iir_section *sections, size_t count,
                    size_t frames, char error[DEVICE_ERROR_BYTES])
{
    struct iir_section copy[SECTIONS_MAX];
    cl_int rc, n = (cl_int)count, length = (cl_int)frames;

    memcpy(copy, sections, count * sizeof(copy[0]));
    d->sections = clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                 count * sizeof(copy[0]), copy, &rc);
    if (check(rc, "clCreateBuffer", error) < 0)
        return -1;
    d->samples = clCreateBuffer(d->context, CL_MEM_READ_WRITE, d->bytes, NULL, &rc);
    if (check(rc, "clCreateBuffer", error) < 0)
        return -1;
    if (check(clSetKernelArg(d->kernel, 0, sizeof(d->samples), &d->samples), "clSetKernelArg",
              error) < 0 ||
        check(clSetKernelArg(d->kernel, 1, sizeof(d->sections), &d->sections), "clSetKernelArg",
              error) < 0 ||
        check(clSetKernelArg(d->kernel, 2, sizeof(n), &n), "clSetKernelArg", error) < 0)
        return -1;
    return check(clSetKernelArg(d->kernel, 3, sizeof(length), &length), "clSetKernelArg", error);
}

static int open_all(struct device *d, const struct iir_section *sections, size_t count,
                    size_t frames, char error[DEVICE_ERROR_BYTES])
{
    cl_device_id id = find(error);
    cl_int rc;

    if (!id)
        return -1;
    d->context = clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
    if (check(rc, "clCreateContext", error) < 0)
        return -1;
    d->queue = clCreateCommandQueue(d->context, id, 0, &rc);
    if (check(rc, "clCreateCommandQueue", error) < 0)
        return -1;
    return build(d, id, error) < 0 ? -1 : allocate(d, sections, count, frames, error);
}

struct device *device_open(const struct iir_section *sections, size_t count, size_t channels,
                           size_t frames, char error[DEVICE_ERROR_BYTES])
{
    struct device *d = calloc(1, sizeof(*d));

    if (!d || count > SECTIONS_MAX) {
        snprintf(error, DEVICE_ERROR_BYTES,
                 d ? "a chain of more than 8 sections" : "out of memory");
        free(d);
        return NULL;
    }
    d->channels = channels;
    d->bytes = channels * frames * sizeof(float);
    if (open_all(d, sections, count, frames, error) == 0)
        return d;
    device_close(d);
    return NULL;
}

void device_close(struct device *d)
{
    if (!d)
        return;
    if (d->samples)
        clReleaseMemObject(d->samples);
    if (d->sections)
        clReleaseMemObject(d->sections);
    if (d->kernel)
        clReleaseKernel(d->kernel);
    if (d->program)
        clReleaseProgram(d->program);
    if (d->queue)
        clReleaseCommandQueue(d->queue);
    if (d->context)
        clReleaseContext(d->context);
    free(d);
}

int device_filter(struct device *d, float *samples, char error[DEVICE_ERROR_BYTES])
{
    if (check(clEnqueueWriteBuffer(d->queue, d->samples, CL_FALSE, 0, d->bytes, samples, 0, NULL,
                                   NULL),
              "clEnqueueWriteBuffer", error) < 0 ||
        check(
            clEnqueueNDRangeKernel(d->queue, d->kernel, 1, NULL, &d->channels, NULL, 0, NULL, NULL),
            "clEnqueueNDRangeKernel", error) < 0)
        return -1;
    return check(
        clEnqueueReadBuffer(d->queue, d->samples, CL_TRUE, 0, d->bytes, samples, 0, NULL, NULL),
        "clEnqueueReadBuffer", error);
}

#else

struct device *device_open(const struct iir_section *sections, size_t count, size_t channels,
                           size_t frames, char error[DEVICE_ERROR_BYTES])
{
    (void)sections, (void)count, (void)channels, (void)frames;
    snprintf(error, DEVICE_ERROR_BYTES,
             "built without OpenCL; \"device=cpu\" runs the scenario on the processor");
    return NULL;
}

void device_close(struct device *d)
{
    (void)d;
}

int device_filter(struct device *d, float *samples, char error[DEVICE_ERROR_BYTES])
{
    (void)d, (void)samples;
    snprintf(error, DEVICE_ERROR_BYTES, "built without OpenCL");
    return -1;
}

#endif

/* Prints when kernels ran on PoCL's clock, which is CLOCK_MONOTONIC_RAW, and what that clock was
 * around spans of its own. From both, and from the times in the trace, follows whether the layer's
 * times are those of the host, within the bound that it states. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <inttypes.h>
#include <plumb/plumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 1024, TURNS = 120 };

static uint64_t raw_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void need(cl_int rc)
{
    if (rc != CL_SUCCESS) {
        fprintf(stderr, "OpenCL: %d\n", rc);
        exit(3);
    }
}

static cl_ulong time_of(cl_event e, cl_profiling_info what)
{
    cl_ulong t = 0;
    need(clGetEventProfilingInfo(e, what, sizeof t, &t, NULL));
    return t;
}

/* A span around nothing, and the clock before and after its begin. */
static void mark(void)
{
    uint64_t before = raw_ns(), after;
    {
        PLUMB_SPAN("mark");
        after = raw_ns();
    }
    printf("mark %" PRIu64 " %" PRIu64 "\n", before, after);
}

int main(void)
{
    const char *text = "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }";
    const cl_queue_properties own[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    const struct timespec pause = {0, 4000000};
    const size_t global = N;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;
    cl_int rc;
    need(clGetPlatformIDs(1, &platform, NULL));
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    queue = clCreateCommandQueueWithProperties(context, device, own, &rc);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL));
    kernel = clCreateKernel(program, "twice", &rc);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, &rc);
    need(rc);
    need(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i < TURNS; i++) {
        cl_event e;
        mark();
        {
            PLUMB_STAGE(stage, "launch");
            need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, &e));
        }
        {
            PLUMB_STAGE(stage, "wait");
            need(clWaitForEvents(1, &e));
        }
        printf("kernel %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               (uint64_t)time_of(e, CL_PROFILING_COMMAND_QUEUED),
               (uint64_t)time_of(e, CL_PROFILING_COMMAND_SUBMIT),
               (uint64_t)time_of(e, CL_PROFILING_COMMAND_START),
               (uint64_t)time_of(e, CL_PROFILING_COMMAND_END));
        clReleaseEvent(e);
        nanosleep(&pause, NULL);
    }
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}

/* Two recordings in one process, with commands before, in, between and after them, and commands on
 * their way while a recording ends. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <plumb/plumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024 };
static cl_command_queue queue;
static cl_mem buffer;
static cl_context context;

static void need(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(3);
}

static void fill(int times, cl_event *after)
{
    const int zero = 0;
    for (int i = 0; i < times; i++)
        need(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, N, after ? 1 : 0, after,
                                 NULL) == CL_SUCCESS,
             "clEnqueueFillBuffer");
}

static void finish(void)
{
    need(clFinish(queue) == CL_SUCCESS, "clFinish");
}

static void start(const char *dir)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    o.run_dir = dir;
    o.trace = PLUMB_ON;
    need(plumb_start(&o, &err) == PLUMB_OK, err.message);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_event go;
    cl_int rc;
    need(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS,
         "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &rc);
    need(queue != NULL, "clCreateCommandQueueWithProperties");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, N, NULL, &rc);
    fill(3, NULL);
    start("first");
    fill(5, NULL);
    finish();
    go = clCreateUserEvent(context, &rc);
    fill(1, &go); /* runs when the recording has ended */
    need(plumb_stop(NULL) == PLUMB_OK, "plumb_stop");
    clSetUserEventStatus(go, CL_COMPLETE);
    fill(4, NULL);
    finish();
    start("second");
    fill(7, NULL);
    finish();
    need(plumb_stop(NULL) == PLUMB_OK, "plumb_stop");
    fill(2, NULL);
    finish();
    clReleaseEvent(go);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}

/* Recordings that begin and end while other threads enqueue commands: `turns`. Or one that ends
 * while the driver is about to refuse the callback of a command that cannot run yet: `refused`,
 * where the layer of _check_layer.c writes to CHECK_FD when it is in that call. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <plumb/plumb.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1024, THREADS = 3, TURNS = 6, COMMANDS = 10 };
static cl_device_id device;
static cl_context context;
static int over;
static unsigned done[THREADS];

static void need(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(3);
}

static void start(const char *dir)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    o.run_dir = dir;
    o.trace = PLUMB_ON;
    need(plumb_start(&o, &err) == PLUMB_OK, err.message);
}

static void fill(cl_command_queue queue, cl_mem buffer, cl_event *after)
{
    const int zero = 0;
    need(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, N, after ? 1 : 0, after, NULL) ==
             CL_SUCCESS,
         "clEnqueueFillBuffer");
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void *enqueue(void *arg)
{
    unsigned *mine = arg;
    cl_int rc;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &rc);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, N, NULL, &rc);
    need(queue && buffer, "clCreateCommandQueueWithProperties");
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        fill(queue, buffer, NULL);
        if (__atomic_add_fetch(mine, 1, __ATOMIC_RELEASE) % 4 == 0)
            need(clFinish(queue) == CL_SUCCESS, "clFinish");
    }
    clFinish(queue);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    return NULL;
}

/* Waits until each thread has enqueued some more. */
static void pass(void)
{
    for (int i = 0; i < THREADS; i++) {
        unsigned from = __atomic_load_n(&done[i], __ATOMIC_ACQUIRE);
        while (__atomic_load_n(&done[i], __ATOMIC_ACQUIRE) - from < COMMANDS)
            sched_yield();
    }
}

static void turns(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&thread[i], NULL, enqueue, &done[i]) == 0, "pthread_create");
    for (int i = 0; i < TURNS; i++) {
        char dir[16];
        snprintf(dir, sizeof dir, "turn%d", i);
        start(dir);
        pass();
        need(plumb_stop(NULL) == PLUMB_OK, "plumb_stop");
        pass();
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* ---- refused --------------------------------------------------------------------------------- */

static cl_command_queue queue;
static cl_event go;

static void *enqueue_one(void *arg)
{
    fill(queue, arg, &go);
    clFlush(queue);
    return NULL;
}

static void refused(void)
{
    pthread_t thread;
    cl_mem buffer;
    char text[16], byte;
    int ends[2];
    cl_int rc;
    need(pipe(ends) == 0, "pipe");
    snprintf(text, sizeof text, "%d", ends[1]);
    setenv("CHECK_FD", text, 1);
    start("refused");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &rc);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, N, NULL, &rc);
    go = clCreateUserEvent(context, &rc);
    need(queue && buffer && go, "clCreateUserEvent");
    need(pthread_create(&thread, NULL, enqueue_one, buffer) == 0, "pthread_create");
    need(read(ends[0], &byte, 1) == 1, "read");
    need(plumb_stop(NULL) == PLUMB_OK, "plumb_stop");
    clSetUserEventStatus(go, CL_COMPLETE);
    pthread_join(thread, NULL);
    clFinish(queue);
    clReleaseEvent(go);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_int rc;
    need(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS,
         "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    need(context != NULL, "clCreateContext");
    if (argc > 1 && strcmp(argv[1], "refused") == 0)
        refused();
    else
        turns();
    clReleaseContext(context);
    return 0;
}

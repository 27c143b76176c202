/* A program that uses OpenCL in the way that its first argument names, and prints what it computed
 * and what it could see of queues and events. It knows nothing of plumb. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char source[] =
    "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }\n"
    "__kernel void add(__global int *x, int n) { x[get_global_id(0)] += n; }\n"
    "__kernel void spin(__global int *x, int n)\n"
    "{ int v = x[get_global_id(0)]; for (int i = 0; i < n; i++) v = v * 1664525 + 1013904223;\n"
    "  x[get_global_id(0)] = v; }\n";

enum { N = 4096 };
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;

static void need(cl_int rc, const char *what)
{
    if (rc == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, rc);
    exit(3);
}

static void open_device(void)
{
    cl_int rc;
    const char *text = source;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    need(rc, "clCreateContext");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
    need(rc, "clCreateProgramWithSource");
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
}

static void close_device(void)
{
    clReleaseProgram(program);
    clReleaseContext(context);
}

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
    const cl_queue_properties p[] = {CL_QUEUE_PROPERTIES, properties, 0};
    cl_int rc;
    cl_command_queue q = clCreateCommandQueueWithProperties(context, device, p, &rc);
    need(rc, "clCreateCommandQueueWithProperties");
    return q;
}

static cl_mem new_buffer(void)
{
    cl_int rc;
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(int), NULL, &rc);
    need(rc, "clCreateBuffer");
    return b;
}

static cl_kernel new_kernel(const char *name, cl_mem buffer)
{
    cl_int rc;
    cl_kernel k = clCreateKernel(program, name, &rc);
    need(rc, "clCreateKernel");
    need(clSetKernelArg(k, 0, sizeof buffer, &buffer), "clSetKernelArg");
    return k;
}

static int checksum(const int *x)
{
    unsigned sum = 0;
    for (int i = 0; i < N; i++)
        sum = sum * 31 + (unsigned)x[i];
    return (int)sum;
}

static void fill(int *x)
{
    for (int i = 0; i < N; i++)
        x[i] = i;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

/* Five kernels and two copies on one queue, none of whose events is wanted. */
static int in_order(void)
{
    static int x[N];
    const size_t global = N, local = 64;
    const int three = 3;
    cl_command_queue q = new_queue(0);
    cl_mem b = new_buffer();
    cl_kernel twice = new_kernel("twice", b), add = new_kernel("add", b);
    fill(x);
    need(clSetKernelArg(add, 1, sizeof three, &three), "clSetKernelArg");
    need(clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof x, x, 0, NULL, NULL), "write");
    for (int i = 0; i < 3; i++)
        need(clEnqueueNDRangeKernel(q, twice, 1, NULL, &global, &local, 0, NULL, NULL), "twice");
    for (int i = 0; i < 2; i++)
        need(clEnqueueNDRangeKernel(q, add, 1, NULL, &global, NULL, 0, NULL, NULL), "add");
    /* Kernels are released before they have run. */
    clReleaseKernel(twice);
    clReleaseKernel(add);
    need(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL), "read");
    printf("%d\n", checksum(x));
    clReleaseMemObject(b);
    clReleaseCommandQueue(q);
    return x[7] == 7 * 8 + 6 ? 0 : 1;
}

/* Eight kernels on eight buffers, ordered by events alone, then one wait for all. */
static int out_of_order(void)
{
    static int x[8][N];
    const size_t global = N;
    cl_command_queue q = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem b[8];
    cl_event written[8], done[8], read[8];
    int bad = 0;
    for (int i = 0; i < 8; i++) {
        cl_kernel k;
        b[i] = new_buffer();
        k = new_kernel("twice", b[i]);
        fill(x[i]);
        need(clEnqueueWriteBuffer(q, b[i], CL_FALSE, 0, sizeof x[i], x[i], 0, NULL, &written[i]),
             "write");
        need(clEnqueueNDRangeKernel(q, k, 1, NULL, &global, NULL, 1, &written[i], &done[i]),
             "twice");
        need(clEnqueueReadBuffer(q, b[i], CL_FALSE, 0, sizeof x[i], x[i], 1, &done[i], &read[i]),
             "read");
        clReleaseKernel(k);
    }
    need(clWaitForEvents(8, read), "clWaitForEvents");
    for (int i = 0; i < 8; i++) {
        bad |= x[i][9] != 18;
        printf("%d\n", checksum(x[i]));
        clReleaseEvent(written[i]);
        clReleaseEvent(done[i]);
        clReleaseEvent(read[i]);
        clReleaseMemObject(b[i]);
    }
    clReleaseCommandQueue(q);
    return bad;
}

/* Four threads, each with two queues of its own. */
static void *worker(void *arg)
{
    const size_t global = N;
    int *x = malloc(N * sizeof *x);
    long bad = 0;
    (void)arg;
    for (int k = 0; k < 2; k++) {
        cl_command_queue q = new_queue(k ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
        cl_mem b = new_buffer();
        cl_kernel twice = new_kernel("twice", b);
        fill(x);
        need(clEnqueueWriteBuffer(q, b, CL_TRUE, 0, N * sizeof *x, x, 0, NULL, NULL), "write");
        for (int i = 0; i < 10; i++) {
            need(clEnqueueNDRangeKernel(q, twice, 1, NULL, &global, NULL, 0, NULL, NULL), "twice");
            if (k)
                need(clFinish(q), "clFinish");
        }
        need(clFinish(q), "clFinish");
        need(clEnqueueReadBuffer(q, b, CL_TRUE, 0, N * sizeof *x, x, 0, NULL, NULL), "read");
        bad |= x[3] != 3 << 10;
        clReleaseKernel(twice);
        clReleaseMemObject(b);
        clReleaseCommandQueue(q);
    }
    free(x);
    return (void *)bad;
}

static int threads(void)
{
    pthread_t t[4];
    int bad = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(t[i], &result);
        bad |= result != NULL;
    }
    return bad;
}

/* Everything that moves bytes. */
static int copies(void)
{
    static int x[N], y[N];
    const size_t origin[3] = {0, 0, 0}, rect[3] = {64, 4, 1}, image_region[3] = {16, 8, 1};
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
    const int zero = 0;
    const float color[4] = {0, 0, 0, 1};
    size_t row = 0;
    cl_command_queue q = new_queue(0);
    cl_mem a = new_buffer(), b = new_buffer(), image, image2;
    cl_event e;
    cl_int rc;
    void *p;
    fill(x);
    image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &rc);
    need(rc, "clCreateImage");
    image2 = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &rc);
    need(rc, "clCreateImage");
    need(clEnqueueFillBuffer(q, a, &zero, sizeof zero, 0, sizeof x, 0, NULL, NULL), "fill");
    need(clEnqueueWriteBuffer(q, a, CL_FALSE, 0, 1024, x, 0, NULL, NULL), "write");
    need(clEnqueueFillBuffer(q, b, &zero, sizeof zero, 0, sizeof x, 0, NULL, NULL), "fill");
    need(clEnqueueCopyBuffer(q, a, b, 0, 0, 2048, 0, NULL, NULL), "copy");
    need(clEnqueueWriteBufferRect(q, a, CL_FALSE, origin, origin, rect, 64, 0, 64, 0, x, 0, NULL,
                                  NULL),
         "write rect");
    need(clEnqueueCopyBufferRect(q, a, b, origin, origin, rect, 64, 0, 64, 0, 0, NULL, NULL),
         "copy rect");
    need(clEnqueueReadBufferRect(q, b, CL_TRUE, origin, origin, rect, 64, 0, 64, 0, y, 0, NULL,
                                 NULL),
         "read rect");
    p = clEnqueueMapBuffer(q, a, CL_TRUE, CL_MAP_READ, 0, 512, 0, NULL, NULL, &rc);
    need(rc, "map");
    memcpy(y, p, 512);
    need(clEnqueueUnmapMemObject(q, a, p, 0, NULL, NULL), "unmap");
    need(clEnqueueFillImage(q, image, color, origin, image_region, 0, NULL, NULL), "fill image");
    need(clEnqueueWriteImage(q, image, CL_FALSE, origin, image_region, 0, 0, x, 0, NULL, NULL),
         "write image");
    need(clEnqueueCopyImage(q, image, image2, origin, origin, image_region, 0, NULL, NULL),
         "copy image");
    need(clEnqueueCopyImageToBuffer(q, image2, b, origin, image_region, 0, 0, NULL, NULL),
         "image to buffer");
    need(clEnqueueCopyBufferToImage(q, b, image, 0, origin, image_region, 0, NULL, NULL),
         "buffer to image");
    p = clEnqueueMapImage(q, image, CL_TRUE, CL_MAP_READ, origin, image_region, &row, NULL, 0, NULL,
                          NULL, &rc);
    need(rc, "map image");
    printf("%d\n", ((const int *)p)[5]);
    need(clEnqueueUnmapMemObject(q, image, p, 0, NULL, NULL), "unmap image");
    need(clEnqueueReadImage(q, image, CL_TRUE, origin, image_region, 0, 0, y, 0, NULL, NULL),
         "read image");
    need(clEnqueueMigrateMemObjects(q, 1, &a, 0, 0, NULL, NULL), "migrate");
    need(clEnqueueMarkerWithWaitList(q, 0, NULL, &e), "marker");
    need(clWaitForEvents(1, &e), "clWaitForEvents");
    clReleaseEvent(e);
    need(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL), "read");
    printf("%d\n", checksum(y));
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(image);
    clReleaseMemObject(image2);
    clReleaseCommandQueue(q);
    return 0;
}

/* Prints the answers to a program's questions about its queues and events, with and without
 * profiling of its own. */
static void describe(const char *name, cl_command_queue q, cl_event *event)
{
    cl_command_queue_properties p = 12345;
    cl_queue_properties array[16];
    size_t bytes = 777;
    cl_uint references = 0;
    cl_ulong t = 4242;
    cl_int rc = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof p, &p, &bytes);
    printf("%s: properties %d %" PRIu64 " %zu\n", name, rc, (uint64_t)p, bytes);
    bytes = 777;
    rc = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof array, array, &bytes);
    printf("%s: array %d %zu:", name, rc, bytes);
    for (size_t i = 0; rc == CL_SUCCESS && i < bytes / sizeof *array; i++)
        printf(" %" PRIu64, (uint64_t)array[i]);
    rc = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, 1, array, NULL);
    printf("; too small: %d", rc);
    rc = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, 1, &p, NULL);
    printf(" %d", rc);
    rc = clGetCommandQueueInfo(q, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL);
    printf("; references %d\n", rc);
    rc = clGetEventProfilingInfo(*event, CL_PROFILING_COMMAND_END, sizeof t, &t, NULL);
    printf("%s: end %d %s\n", name, rc,
           rc == CL_SUCCESS ? ""
           : t == 4242      ? "untouched"
                            : "changed");
    rc = clGetEventProfilingInfo(*event, 0x1234, sizeof t, &t, NULL);
    printf("%s: nonsense %d\n", name, rc);
    rc = clGetEventProfilingInfo(*event, CL_PROFILING_COMMAND_END, 1, &t, NULL);
    printf("%s: short %d\n", name, rc);
    clReleaseEvent(*event);
    *event = NULL;
}

static cl_event one_marker(cl_command_queue q)
{
    cl_event e;
    need(clEnqueueMarkerWithWaitList(q, 0, NULL, &e), "marker");
    need(clFinish(q), "clFinish");
    return e;
}

static int info(void)
{
    const cl_queue_properties none[] = {0};
    const cl_queue_properties zero[] = {CL_QUEUE_PROPERTIES, 0, 0};
    const cl_queue_properties with[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    const cl_queue_properties wrong[] = {CL_QUEUE_PROPERTIES, 1u << 20, 0};
    const cl_queue_properties unknown[] = {0x7777, 1, 0};
    const cl_queue_properties *const given[] = {NULL, none, zero, with, wrong, unknown};
    cl_int rc;
    cl_event e, user;
    cl_command_queue q;
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "with %d", i);
        q = clCreateCommandQueueWithProperties(context, device, given[i], &rc);
        printf("%s: %d\n", name, rc);
        if (!q)
            continue;
        e = one_marker(q);
        describe(name, q, &e);
        clReleaseCommandQueue(q);
    }
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "old %d", i);
        q = clCreateCommandQueue(context, device, (cl_command_queue_properties)i, &rc);
        need(rc, "clCreateCommandQueue");
        e = one_marker(q);
        describe(name, q, &e);
        clRetainCommandQueue(q);
        clReleaseCommandQueue(q);
        e = one_marker(q);
        clReleaseCommandQueue(q); /* the event outlives its queue */
        {
            cl_ulong t = 0;
            printf("%s: after the queue %d\n", name,
                   clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_START, sizeof t, &t, NULL));
        }
        clReleaseEvent(e);
    }
    user = clCreateUserEvent(context, &rc);
    need(rc, "clCreateUserEvent");
    {
        cl_ulong t = 0;
        printf("user event %d\n",
               clGetEventProfilingInfo(user, CL_PROFILING_COMMAND_START, sizeof t, &t, NULL));
    }
    clSetUserEventStatus(user, CL_COMPLETE);
    clReleaseEvent(user);
    return 0;
}

/* Errors of every kind, whose codes are printed. */
static int errors(void)
{
    static int x[N];
    const size_t global = N, odd = 7, none = 0;
    cl_command_queue q = new_queue(0);
    cl_mem b = new_buffer();
    cl_kernel k = new_kernel("twice", b), add = new_kernel("add", b);
    cl_event e = (cl_event)(uintptr_t)0x1234;
    cl_int rc = 99;
    void *p;
    printf("%d\n", clEnqueueNDRangeKernel(NULL, k, 1, NULL, &global, NULL, 0, NULL, &e));
    printf("%d\n", clEnqueueNDRangeKernel(q, k, 4, NULL, &global, NULL, 0, NULL, &e));
    printf("%d\n", clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &odd, 0, NULL, &e));
    printf("%d\n", clEnqueueNDRangeKernel(q, add, 1, NULL, &global, NULL, 0, NULL, &e));
    printf("%d\n", clEnqueueReadBuffer(q, b, CL_TRUE, 0, 10 * sizeof x, x, 0, NULL, NULL));
    printf("%d\n", clEnqueueReadBuffer(q, b, CL_TRUE, 0, none, x, 0, NULL, NULL));
    printf("%d\n", clEnqueueReadBuffer(q, NULL, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL));
    printf("%d\n", clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof x, NULL, 0, NULL, NULL));
    printf("%d\n", clEnqueueWriteBuffer(q, b, CL_TRUE, 0, sizeof x, x, 1, NULL, &e));
    p = clEnqueueMapBuffer(q, b, CL_TRUE, CL_MAP_READ, 10 * sizeof x, 1, 0, NULL, NULL, &rc);
    printf("%d %d\n", p != NULL, rc);
    printf("%d\n", clEnqueueMapBuffer(q, b, CL_TRUE, CL_MAP_READ, 10 * sizeof x, 1, 0, NULL, NULL,
                                      NULL) != NULL);
    printf("%d\n", clEnqueueMarker(q, NULL));
    printf("%d\n", clWaitForEvents(0, NULL));
    printf("%d\n", clFinish(NULL));
    printf("%d\n", clReleaseCommandQueue(NULL));
    printf("%d\n", e == (cl_event)(uintptr_t)0x1234);
    clReleaseKernel(k);
    clReleaseKernel(add);
    clReleaseMemObject(b);
    clReleaseCommandQueue(q);
    return 0;
}

/* Commands that a user event holds back; some it lets go, some it fails. */
static int user_events(void)
{
    static int x[N];
    const size_t global = N;
    cl_command_queue q = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem b = new_buffer();
    cl_kernel k = new_kernel("twice", b);
    cl_int rc, status = 0;
    cl_event go = clCreateUserEvent(context, &rc), fail = clCreateUserEvent(context, &rc), done,
             bad;
    fill(x);
    need(clEnqueueWriteBuffer(q, b, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL), "write");
    need(clEnqueueNDRangeKernel(q, k, 1, NULL, &global, NULL, 1, &go, &done), "held");
    need(clEnqueueNDRangeKernel(q, k, 1, NULL, &global, NULL, 1, &fail, &bad), "failing");
    usleep(20000);
    need(clSetUserEventStatus(go, CL_COMPLETE), "go");
    need(clWaitForEvents(1, &done), "clWaitForEvents");
    need(clSetUserEventStatus(fail, -42), "fail");
    printf("wait %d\n", clWaitForEvents(1, &bad));
    clGetEventInfo(bad, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    printf("status %s\n", status < 0 ? "failed" : "good");
    need(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL), "read");
    printf("%d\n", checksum(x));
    clReleaseEvent(go);
    clReleaseEvent(fail);
    clReleaseEvent(done);
    clReleaseEvent(bad);
    clReleaseKernel(k);
    clReleaseMemObject(b);
    clReleaseCommandQueue(q);
    return 0;
}

/* Many small commands, and no wait before the end. */
static int many(int n)
{
    static int x[N];
    cl_command_queue q = new_queue(0);
    cl_mem b = new_buffer();
    for (int i = 0; i < n; i++)
        need(clEnqueueWriteBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, NULL), "write");
    need(clFinish(q), "clFinish");
    clReleaseMemObject(b);
    clReleaseCommandQueue(q);
    return 0;
}

/* Commands that wait for a user event that never comes, and an exit in the midst of them. */
static int held(int n)
{
    static int x[N];
    cl_int rc;
    cl_command_queue q = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem b = new_buffer();
    cl_event never = clCreateUserEvent(context, &rc);
    need(rc, "clCreateUserEvent");
    need(clEnqueueWriteBuffer(q, b, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL), "write");
    for (int i = 0; i < n; i++)
        need(clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 1, &never, NULL), "held");
    exit(7);
}

/* An exit while kernels run, and nothing is released. */
static int exits(void)
{
    const size_t global = N;
    const int turns = 400;
    cl_command_queue q = new_queue(0);
    cl_mem b = new_buffer();
    cl_kernel k = new_kernel("spin", b), twice = new_kernel("twice", b);
    need(clSetKernelArg(k, 1, sizeof turns, &turns), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(q, twice, 1, NULL, &global, NULL, 0, NULL, NULL), "twice");
    need(clFinish(q), "clFinish");
    for (int i = 0; i < 20; i++)
        need(clEnqueueNDRangeKernel(q, k, 1, NULL, &global, NULL, 0, NULL, NULL), "spin");
    clFlush(q);
    exit(7);
}

/* Children that do not touch the device, and one that runs another program. */
static int forks(void)
{
    int bad = in_order();
    for (int i = 0; i < 3; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            if (i == 1)
                _exit(5);
            if (i == 2)
                execlp("true", "true", (char *)NULL);
            exit(5);
        }
        waitpid(pid, &status, 0);
        bad |= !WIFEXITED(status) || WEXITSTATUS(status) != (i == 2 ? 0 : 5);
    }
    return bad | in_order();
}

/* A context that goes before its commands are done. */
static int destroys(void)
{
    static int x[N];
    close_device();
    for (int i = 0; i < 10; i++) {
        cl_command_queue q;
        cl_mem b;
        open_device();
        q = new_queue(0);
        b = new_buffer();
        for (int k = 0; k < 20; k++)
            need(clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof x, x, 0, NULL, NULL), "write");
        clFlush(q);
        clReleaseMemObject(b);
        clReleaseCommandQueue(q);
        close_device();
    }
    open_device();
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "in_order";
    int n = argc > 2 ? atoi(argv[2]) : 1000, bad = 2;
    open_device();
    if (strcmp(way, "in_order") == 0)
        bad = in_order();
    else if (strcmp(way, "out_of_order") == 0)
        bad = out_of_order();
    else if (strcmp(way, "threads") == 0)
        bad = threads();
    else if (strcmp(way, "copies") == 0)
        bad = copies();
    else if (strcmp(way, "info") == 0)
        bad = info();
    else if (strcmp(way, "errors") == 0)
        bad = errors();
    else if (strcmp(way, "user_events") == 0)
        bad = user_events();
    else if (strcmp(way, "many") == 0)
        bad = many(n);
    else if (strcmp(way, "held") == 0)
        bad = held(n);
    else if (strcmp(way, "exits") == 0)
        bad = exits();
    else if (strcmp(way, "forks") == 0)
        bad = forks();
    else if (strcmp(way, "destroys") == 0)
        bad = destroys();
    close_device();
    return bad;
}

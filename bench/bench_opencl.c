/* bench_opencl.c: what the OpenCL layer adds to a command. The same queue takes commands through
 * the loader's functions and through the layer's table in turns, in one process. A figure is the
 * median of the differences of neighbouring blocks: of CPU time of the thread that enqueues, and of
 * the whole process, with the threads of the driver, which call the layer back. */
#include "harness.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

enum { COMMANDS = 200, ROUNDS = 400 };

static cl_icd_dispatch loader;
static const cl_icd_dispatch *layer;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

/* ---- Devices --------------------------------------------------------------------------------- */

/* The functions of the loader in the place of a next layer; NULL: all are there. */
static const char *take_functions(void)
{
    void *object = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!object)
        return "libOpenCL.so.1 is not installed";
#define TAKE(name)                                                                                 \
    if (!(*(void **)(void *)&loader.name = dlsym(object, #name)))                                  \
    return #name " is not in libOpenCL.so.1"
    TAKE(clGetPlatformIDs);
    TAKE(clGetDeviceIDs);
    TAKE(clGetDeviceInfo);
    TAKE(clCreateContext);
    TAKE(clCreateProgramWithSource);
    TAKE(clBuildProgram);
    TAKE(clCreateKernel);
    TAKE(clGetKernelInfo);
    TAKE(clSetKernelArg);
    TAKE(clCreateBuffer);
    TAKE(clCreateCommandQueueWithProperties);
    TAKE(clGetCommandQueueInfo);
    TAKE(clEnqueueNDRangeKernel);
    TAKE(clEnqueueMarker);
    TAKE(clWaitForEvents);
    TAKE(clFinish);
    TAKE(clRetainEvent);
    TAKE(clReleaseEvent);
    TAKE(clGetEventInfo);
    TAKE(clGetEventProfilingInfo);
    TAKE(clSetEventCallback);
#undef TAKE
    return NULL;
}

/* Loads the layer that lies next to libplumb. */
static const char *take_layer(void)
{
    pfn_clInitLayer init;
    cl_uint n = 0;
    Dl_info info;
    char path[4096];
    const char *slash;
    void *api = dlsym(RTLD_DEFAULT, "plumb_api_1"), *object;
    if (!api || !dladdr(api, &info) || !(slash = strrchr(info.dli_fname, '/')))
        return "libplumb.so was not found";
    snprintf(path, sizeof path, "%.*s/libplumb-opencl.so", (int)(slash - info.dli_fname),
             info.dli_fname);
    object = dlopen(path, RTLD_NOW);
    *(void **)(void *)&init = object ? dlsym(object, "clInitLayer") : NULL;
    if (!init || init(sizeof loader / sizeof(void *), &loader, &n, &layer) != CL_SUCCESS)
        return "libplumb-opencl.so is not beside libplumb.so";
    return NULL;
}

static cl_device_id device;

static const char *open_device(void)
{
    const char *text = "__kernel void nothing(__global int *x) { if (x[0]) x[0] = 0; }";
    cl_platform_id platform;
    cl_program program;
    cl_int rc;
    if (loader.clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        loader.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return "there is no OpenCL device";
    context = loader.clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    program = loader.clCreateProgramWithSource(context, 1, &text, NULL, &rc);
    if (loader.clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return "the driver does not compile";
    kernel = loader.clCreateKernel(program, "nothing", &rc);
    buffer = loader.clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &rc);
    loader.clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    return rc == CL_SUCCESS ? NULL : "the device has no memory";
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void enqueue(const cl_icd_dispatch *through, uint64_t n)
{
    const size_t one = 1;
    for (uint64_t i = 0; i < n; i++)
        through->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    through->clFinish(queue);
}

static double process_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct cost {
    double thread, process; /* ns a command */
};

static struct cost block(const cl_icd_dispatch *through)
{
    const uint64_t thread = bench_cpu_ns();
    const double process = process_ns();
    enqueue(through, COMMANDS);
    return (struct cost){(double)(bench_cpu_ns() - thread) / COMMANDS,
                         (process_ns() - process) / COMMANDS};
}

static void put(struct bench *b, const char *key, double *samples, size_t n)
{
    const struct bench_stat s = bench_stat_of(samples, n);
    bench_put_stat(b, key, &s);
}

static void measure(struct bench *b)
{
    static double thread[ROUNDS], process[ROUNDS], hook[ROUNDS], layer_ns[ROUNDS];
    const size_t rounds = b->quick ? ROUNDS / 10 : ROUNDS;
    queue = layer->clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    block(&loader);
    block(layer);
    for (size_t i = 0; i < rounds; i++) {
        const int first = i & 1;
        struct cost of[2];
        of[first] = block(first ? layer : &loader);
        of[!first] = block(first ? &loader : layer);
        thread[i] = of[0].thread;
        process[i] = of[0].process;
        hook[i] = of[1].thread - of[0].thread;
        layer_ns[i] = of[1].process - of[0].process;
    }
    put(b, "opencl_enqueue_ns", thread, rounds);
    put(b, "opencl_hook_ns_per_call", hook, rounds);
    put(b, "opencl_command_ns", process, rounds);
    put(b, "opencl_layer_ns_per_command", layer_ns, rounds);
}

int main(int argc, char **argv)
{
    static struct bench b;
    const char *tmp = getenv("TMPDIR"), *why;
    setenv("POCL_CACHE_DIR", tmp && *tmp ? tmp : "/tmp", 0);
    setenv("PLUMB_COLLECT", "opencl", 1);
    /* Before the thread is pinned: those of the driver would be too. */
    if (!(why = take_functions()) && !(why = take_layer()))
        why = open_device();
    bench_open(&b, "opencl", argc, argv);
    if (why) {
        bench_put_null(&b, "opencl_hook_ns_per_call", why);
        return bench_close(&b);
    }
    bench_record_start(&b, false);
    measure(&b);
    bench_record_stop(&b);
    return bench_close(&b);
}

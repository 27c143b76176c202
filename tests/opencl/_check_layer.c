/* A layer between plumb's and the driver: counts what events are made (by kernels, copies of
 * buffers, markers and the program), retained and released, and fails or pretends on demand.
 * CHECK_OUT names the file for the counts, CHECK holds words:
 *
 *   no-profiling   queues with profiling are refused
 *   no-callback    clSetEventCallback() is refused
 *   lost-callback  it succeeds, and nothing is called back
 *   slow-callback  it succeeds, and returns after other threads had their turns
 *   late-refusal   it writes to CHECK_FD, waits until the event's state is asked for, and is
 *                  refused; the answer follows when the program calls clFlush()
 *   no-times       commands have no times
 *   timer          clGetDeviceAndHostTimer() works, on PoCL's clock
 *   wrong-timer    the same, on a clock that is not that of commands */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static cl_icd_dispatch next, table;
static long made, retained, released, profiled, timers;

static int says(const char *word)
{
    const char *all = getenv("CHECK"), *at = all ? strstr(all, word) : NULL;
    return at && (at == all || at[-1] == ' ');
}

static void add(long *to)
{
    __atomic_add_fetch(to, 1, __ATOMIC_RELAXED);
}

static cl_int made_by(cl_int rc, const cl_event *event)
{
    if (rc == CL_SUCCESS && event)
        add(&made);
    return rc;
}

static cl_int CL_API_CALL kernel(cl_command_queue q, cl_kernel k, cl_uint dims,
                                 const size_t *offset, const size_t *global, const size_t *local,
                                 cl_uint n, const cl_event *list, cl_event *event)
{
    return made_by(next.clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, list, event),
                   event);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue q, cl_mem b, cl_bool blocking, size_t offset,
                                      size_t bytes, void *host, cl_uint n, const cl_event *list,
                                      cl_event *event)
{
    return made_by(next.clEnqueueReadBuffer(q, b, blocking, offset, bytes, host, n, list, event),
                   event);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue q, cl_mem b, cl_bool blocking,
                                       size_t offset, size_t bytes, const void *host, cl_uint n,
                                       const cl_event *list, cl_event *event)
{
    return made_by(next.clEnqueueWriteBuffer(q, b, blocking, offset, bytes, host, n, list, event),
                   event);
}

static cl_int CL_API_CALL marker(cl_command_queue q, cl_event *event)
{
    return made_by(next.clEnqueueMarker(q, event), event);
}

static cl_int CL_API_CALL marker_with(cl_command_queue q, cl_uint n, const cl_event *list,
                                      cl_event *event)
{
    return made_by(next.clEnqueueMarkerWithWaitList(q, n, list, event), event);
}

static cl_event CL_API_CALL user_event(cl_context context, cl_int *rc)
{
    cl_event e = next.clCreateUserEvent(context, rc);
    if (e)
        add(&made);
    return e;
}

static cl_int CL_API_CALL retain(cl_event e)
{
    add(&retained);
    return next.clRetainEvent(e);
}

static cl_int CL_API_CALL release(cl_event e)
{
    add(&released);
    return next.clReleaseEvent(e);
}

static cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device,
                                           const cl_queue_properties *properties, cl_int *rc)
{
    for (const cl_queue_properties *p = properties; p && *p; p += 2) {
        if (p[0] != CL_QUEUE_PROPERTIES || !(p[1] & CL_QUEUE_PROFILING_ENABLE))
            continue;
        add(&profiled);
        if (says("no-profiling")) {
            if (rc)
                *rc = CL_INVALID_QUEUE_PROPERTIES;
            return NULL;
        }
    }
    return next.clCreateCommandQueueWithProperties(context, device, properties, rc);
}

static int refusing, asked, flushed;

static void wait_for(const int *word)
{
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void refuse_late(void)
{
    const char *fd = getenv("CHECK_FD");
    __atomic_store_n(&refusing, 1, __ATOMIC_RELEASE);
    if (!fd || write(atoi(fd), "r", 1) != 1)
        abort();
    wait_for(&asked);
}

static cl_int call_slowly(cl_event e, cl_int type, void(CL_CALLBACK *fn)(cl_event, cl_int, void *),
                          void *arg)
{
    cl_int rc = next.clSetEventCallback(e, type, fn, arg);
    for (int i = 0; i < 200; i++)
        sched_yield();
    return rc;
}

static cl_int CL_API_CALL info(cl_event e, cl_event_info what, size_t size, void *value,
                               size_t *size_ret)
{
    cl_int rc = next.clGetEventInfo(e, what, size, value, size_ret);
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && __atomic_load_n(&refusing, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
        wait_for(&flushed);
    }
    return rc;
}

static cl_int CL_API_CALL flush(cl_command_queue q)
{
    __atomic_store_n(&flushed, 1, __ATOMIC_RELEASE);
    return next.clFlush(q);
}

static cl_int CL_API_CALL callback(cl_event e, cl_int type,
                                   void(CL_CALLBACK *fn)(cl_event, cl_int, void *), void *arg)
{
    if (says("no-callback"))
        return CL_OUT_OF_HOST_MEMORY;
    if (says("lost-callback"))
        return CL_SUCCESS;
    if (says("late-refusal")) {
        refuse_late();
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (says("slow-callback"))
        return call_slowly(e, type, fn, arg);
    return next.clSetEventCallback(e, type, fn, arg);
}

static cl_int CL_API_CALL profiling(cl_event e, cl_profiling_info what, size_t size, void *value,
                                    size_t *size_ret)
{
    if (says("no-times"))
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return next.clGetEventProfilingInfo(e, what, size, value, size_ret);
}

static cl_int CL_API_CALL timer(cl_device_id id, cl_ulong *device, cl_ulong *host)
{
    struct timespec t;
    if (!says("timer") && !says("wrong-timer"))
        return next.clGetDeviceAndHostTimer(id, device, host);
    add(&timers);
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    *device = (cl_ulong)t.tv_sec * 1000000000 + (cl_ulong)t.tv_nsec;
    if (says("wrong-timer"))
        *device += 3600000000000;
    *host = *device;
    return CL_SUCCESS;
}

static void at_exit(void)
{
    const char *path = getenv("CHECK_OUT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "made %ld left %ld profiled %ld timers %s\n", made, made + retained - released,
            profiled, timers ? "read" : "none");
    fclose(f);
}

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (size_ret)
        *size_ret = sizeof version;
    return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_ret,
                               const cl_icd_dispatch **table_ret)
{
    const cl_uint known = sizeof table / sizeof(void *);
    memcpy(&next, target, (count < known ? count : known) * sizeof(void *));
    table = next;
    table.clEnqueueNDRangeKernel = kernel;
    table.clEnqueueReadBuffer = read_buffer;
    table.clEnqueueWriteBuffer = write_buffer;
    table.clEnqueueMarker = marker;
    table.clEnqueueMarkerWithWaitList = marker_with;
    table.clCreateUserEvent = user_event;
    table.clRetainEvent = retain;
    table.clReleaseEvent = release;
    table.clCreateCommandQueueWithProperties = create;
    table.clSetEventCallback = callback;
    table.clGetEventInfo = info;
    table.clFlush = flush;
    table.clGetEventProfilingInfo = profiling;
    table.clGetDeviceAndHostTimer = timer;
    *table_ret = &table;
    *count_ret = count < known ? count : known;
    atexit(at_exit);
    return CL_SUCCESS;
}

/* enqueue.c: the calls that enqueue kernels and commands on buffers, and markers. */
#include "collect/opencl/layer.h"

#include <stdlib.h>

enum { KERNELS = 1024, MAPPED = 1024 };

/* ---- Names of kernels ------------------------------------------------------------------------ */

/* Asked for once: a handle means another kernel only after a release. Under plumb_ocl_lock. */
static struct {
    cl_kernel id;
    plumb_name name;
} kernels[KERNELS];

static size_t place_of(const void *handle, size_t places)
{
    return ((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 14) % places;
}

static plumb_name ask_name(cl_kernel kernel)
{
    size_t bytes = 0;
    plumb_name name = 0;
    char *text;
    if (plumb_ocl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &bytes) !=
            CL_SUCCESS ||
        bytes == 0 || !(text = calloc(1, bytes + 1)))
        return 0;
    if (plumb_ocl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, bytes, text, NULL) ==
            CL_SUCCESS &&
        *text)
        name = plumb_name_get(text);
    free(text);
    return name;
}

static plumb_name name_of(cl_kernel kernel)
{
    size_t at = place_of(kernel, KERNELS);
    plumb_name name;
    pthread_mutex_lock(&plumb_ocl_lock);
    name = kernels[at].id == kernel ? kernels[at].name : 0;
    pthread_mutex_unlock(&plumb_ocl_lock);
    if (name || !(name = ask_name(kernel)))
        return name;
    pthread_mutex_lock(&plumb_ocl_lock);
    kernels[at].id = kernel;
    kernels[at].name = name;
    pthread_mutex_unlock(&plumb_ocl_lock);
    return name;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    size_t at = place_of(kernel, KERNELS);
    pthread_mutex_lock(&plumb_ocl_lock);
    if (kernels[at].id == kernel)
        kernels[at].id = NULL;
    pthread_mutex_unlock(&plumb_ocl_lock);
    return plumb_ocl_next.clReleaseKernel(kernel);
}

/* ---- Bytes of mappings ----------------------------------------------------------------------- */

/* The mapped ranges, for the unmapping; a collision replaces the older one. Under
 * plumb_ocl_lock. */
static struct {
    const void *address;
    uint64_t bytes;
} mapped[MAPPED];

void plumb_ocl_mapped(const void *address, uint64_t bytes)
{
    size_t at = place_of(address, MAPPED);
    if (!address || !plumb_ocl_run_now())
        return;
    pthread_mutex_lock(&plumb_ocl_lock);
    mapped[at].address = address;
    mapped[at].bytes = bytes;
    pthread_mutex_unlock(&plumb_ocl_lock);
}

bool plumb_ocl_unmapped(uint64_t *bytes, const void *address)
{
    size_t at = place_of(address, MAPPED);
    bool known;
    if (!address || !plumb_ocl_run_now())
        return false;
    pthread_mutex_lock(&plumb_ocl_lock);
    known = mapped[at].address == address;
    *bytes = mapped[at].bytes;
    if (known)
        mapped[at].address = NULL;
    pthread_mutex_unlock(&plumb_ocl_lock);
    return known;
}

/* ---- Launches -------------------------------------------------------------------------------- */

static struct plumb_ocl_launch launch_of(enum plumb_ocl_op op)
{
    return (struct plumb_ocl_launch){.command = {.op = op}};
}

static struct plumb_ocl_launch copy_of(enum plumb_ocl_op op, uint64_t bytes, cl_bool blocking)
{
    return (struct plumb_ocl_launch){.command = {.op = op, .has_bytes = true, .bytes = bytes},
                                     .blocking = blocking};
}

static uint64_t volume(const size_t *region)
{
    return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static struct plumb_ocl_launch kernel_of(cl_kernel kernel, cl_uint dims, const size_t *global,
                                         const size_t *local)
{
    struct plumb_ocl_launch l = launch_of(PLUMB_OCL_KERNEL);
    struct plumb_ocl_command *c = &l.command;
    if (!plumb_ocl_run())
        return l;
    c->name = kernel ? name_of(kernel) : 0;
    c->dims = global && dims <= 3 ? dims : 0;
    c->has_local = local != NULL;
    for (cl_uint i = 0; i < c->dims; i++) {
        c->global[i] = global[i];
        c->local[i] = local ? local[i] : 0;
    }
    return l;
}

static cl_int CL_API_CALL nd_range(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                   const size_t *offset, const size_t *global, const size_t *local,
                                   cl_uint n, const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = kernel_of(kernel, dims, global, local);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueNDRangeKernel(
                                        queue, kernel, dims, offset, global, local, n, list, to));
}

static cl_int CL_API_CALL task(cl_command_queue queue, cl_kernel kernel, cl_uint n,
                               const cl_event *list, cl_event *event)
{
    const size_t one = 1;
    struct plumb_ocl_launch l = kernel_of(kernel, 1, &one, &one);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueTask(queue, kernel, n, list, to));
}

static cl_int CL_API_CALL native_kernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
                                        void *args, size_t bytes, cl_uint count,
                                        const cl_mem *objects, const void **places, cl_uint n,
                                        const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = launch_of(PLUMB_OCL_NATIVE_KERNEL);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueNativeKernel(queue, function, args,
                                                                         bytes, count, objects,
                                                                         places, n, list, to));
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                      size_t offset, size_t bytes, void *host, cl_uint n,
                                      const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_READ_BUFFER, bytes, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueReadBuffer(
                                        queue, buffer, blocking, offset, bytes, host, n, list, to));
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t offset, size_t bytes, const void *host, cl_uint n,
                                       const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_WRITE_BUFFER, bytes, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueWriteBuffer(
                                        queue, buffer, blocking, offset, bytes, host, n, list, to));
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    const size_t *origin, const size_t *host_origin,
                                    const size_t *region, size_t row, size_t slice, size_t host_row,
                                    size_t host_slice, void *host, cl_uint n, const cl_event *list,
                                    cl_event *event)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_READ_BUFFER, volume(region), blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueReadBufferRect(
                                        queue, buffer, blocking, origin, host_origin, region, row,
                                        slice, host_row, host_slice, host, n, list, to));
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t *origin, const size_t *host_origin,
                                     const size_t *region, size_t row, size_t slice,
                                     size_t host_row, size_t host_slice, const void *host,
                                     cl_uint n, const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_WRITE_BUFFER, volume(region), blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueWriteBufferRect(
                                        queue, buffer, blocking, origin, host_origin, region, row,
                                        slice, host_row, host_slice, host, n, list, to));
}

static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to_buffer,
                                      size_t from_offset, size_t to_offset, size_t bytes, cl_uint n,
                                      const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_COPY_BUFFER, bytes, CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueCopyBuffer(queue, from, to_buffer,
                                                                       from_offset, to_offset,
                                                                       bytes, n, list, to));
}

static cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to_buffer,
                                    const size_t *from_origin, const size_t *to_origin,
                                    const size_t *region, size_t from_row, size_t from_slice,
                                    size_t to_row, size_t to_slice, cl_uint n, const cl_event *list,
                                    cl_event *event)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_COPY_BUFFER, volume(region), CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueCopyBufferRect(
                                        queue, from, to_buffer, from_origin, to_origin, region,
                                        from_row, from_slice, to_row, to_slice, n, list, to));
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                      size_t pattern_bytes, size_t offset, size_t bytes, cl_uint n,
                                      const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_FILL_BUFFER, bytes, CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueFillBuffer(queue, buffer, pattern,
                                                                       pattern_bytes, offset, bytes,
                                                                       n, list, to));
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint n,
                                    const cl_event *list, cl_event *event, cl_int *errcode_ret)
{
    struct plumb_ocl_launch l = copy_of(PLUMB_OCL_MAP_BUFFER, bytes, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    cl_int rc = CL_INVALID_VALUE;
    void *address = plumb_ocl_next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes,
                                                      n, list, to, &rc);
    if (errcode_ret)
        *errcode_ret = rc;
    if (rc == CL_SUCCESS)
        plumb_ocl_mapped(address, bytes);
    plumb_ocl_launch_end(&l, rc);
    return address;
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem object, void *address, cl_uint n,
                                const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = launch_of(PLUMB_OCL_UNMAP);
    cl_event *to;
    l.command.has_bytes = plumb_ocl_unmapped(&l.command.bytes, address);
    to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(
        &l, plumb_ocl_next.clEnqueueUnmapMemObject(queue, object, address, n, list, to));
}

static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                  cl_mem_migration_flags flags, cl_uint n, const cl_event *list,
                                  cl_event *event)
{
    struct plumb_ocl_launch l = launch_of(PLUMB_OCL_MIGRATE);
    cl_event *to;
    for (cl_uint i = 0; plumb_ocl_run() && objects && i < count; i++) {
        size_t bytes = 0;
        plumb_ocl_next.clGetMemObjectInfo(objects[i], CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
        l.command.bytes += bytes;
        l.command.has_bytes = true;
    }
    to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(
        &l, plumb_ocl_next.clEnqueueMigrateMemObjects(queue, count, objects, flags, n, list, to));
}

/* ---- Markers --------------------------------------------------------------------------------- */

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_event *event)
{
    struct plumb_ocl_launch l = launch_of(PLUMB_OCL_MARKER);
    /* One without an event is an error, which is the driver's to report. */
    cl_event *to = event ? plumb_ocl_launch_begin(&l, queue, event) : NULL;
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueMarker(queue, to));
}

static cl_int CL_API_CALL marker_with(cl_command_queue queue, cl_uint n, const cl_event *list,
                                      cl_event *event)
{
    struct plumb_ocl_launch l = launch_of(PLUMB_OCL_MARKER);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueMarkerWithWaitList(queue, n, list, to));
}

static cl_int CL_API_CALL barrier_with(cl_command_queue queue, cl_uint n, const cl_event *list,
                                       cl_event *event)
{
    struct plumb_ocl_launch l = launch_of(PLUMB_OCL_BARRIER);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l,
                                plumb_ocl_next.clEnqueueBarrierWithWaitList(queue, n, list, to));
}

void plumb_ocl_enqueue_hooks(cl_icd_dispatch *t)
{
    t->clReleaseKernel = release_kernel;
    t->clEnqueueNDRangeKernel = nd_range;
    t->clEnqueueTask = task;
    t->clEnqueueNativeKernel = native_kernel;
    t->clEnqueueReadBuffer = read_buffer;
    t->clEnqueueWriteBuffer = write_buffer;
    t->clEnqueueReadBufferRect = read_rect;
    t->clEnqueueWriteBufferRect = write_rect;
    t->clEnqueueCopyBuffer = copy_buffer;
    t->clEnqueueCopyBufferRect = copy_rect;
    t->clEnqueueFillBuffer = fill_buffer;
    t->clEnqueueMapBuffer = map_buffer;
    t->clEnqueueUnmapMemObject = unmap;
    t->clEnqueueMigrateMemObjects = migrate;
    t->clEnqueueMarker = marker;
    t->clEnqueueMarkerWithWaitList = marker_with;
    t->clEnqueueBarrierWithWaitList = barrier_with;
}

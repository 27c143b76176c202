/* image.c: the calls that enqueue commands on images and on shared virtual memory. */
#include "collect/opencl/layer.h"

/* Bytes of a region of the image, without what rows are padded with. */
static struct plumb_ocl_launch region_of(enum plumb_ocl_op op, cl_mem image, const size_t *region,
                                         cl_bool blocking)
{
    struct plumb_ocl_launch l = {.command = {.op = op}, .blocking = blocking};
    size_t element = 0;
    if (!region || !plumb_ocl_run() ||
        plumb_ocl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element,
                                      NULL) != CL_SUCCESS)
        return l;
    l.command.bytes = (uint64_t)region[0] * region[1] * region[2] * element;
    l.command.has_bytes = true;
    return l;
}

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                     const size_t *origin, const size_t *region, size_t row,
                                     size_t slice, void *host, cl_uint n, const cl_event *list,
                                     cl_event *event)
{
    struct plumb_ocl_launch l = region_of(PLUMB_OCL_READ_IMAGE, image, region, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueReadImage(queue, image, blocking,
                                                                      origin, region, row, slice,
                                                                      host, n, list, to));
}

static cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const size_t *origin, const size_t *region, size_t row,
                                      size_t slice, const void *host, cl_uint n,
                                      const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = region_of(PLUMB_OCL_WRITE_IMAGE, image, region, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueWriteImage(queue, image, blocking,
                                                                       origin, region, row, slice,
                                                                       host, n, list, to));
}

static cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to_image,
                                     const size_t *from_origin, const size_t *to_origin,
                                     const size_t *region, cl_uint n, const cl_event *list,
                                     cl_event *event)
{
    struct plumb_ocl_launch l = region_of(PLUMB_OCL_COPY_IMAGE, from, region, CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueCopyImage(queue, from, to_image,
                                                                      from_origin, to_origin,
                                                                      region, n, list, to));
}

static cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void *color,
                                     const size_t *origin, const size_t *region, cl_uint n,
                                     const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = region_of(PLUMB_OCL_FILL_IMAGE, image, region, CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(
        &l, plumb_ocl_next.clEnqueueFillImage(queue, image, color, origin, region, n, list, to));
}

static cl_int CL_API_CALL image_to_buffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                          const size_t *origin, const size_t *region, size_t offset,
                                          cl_uint n, const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = region_of(PLUMB_OCL_IMAGE_TO_BUFFER, image, region, CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueCopyImageToBuffer(
                                        queue, image, buffer, origin, region, offset, n, list, to));
}

static cl_int CL_API_CALL buffer_to_image(cl_command_queue queue, cl_mem buffer, cl_mem image,
                                          size_t offset, const size_t *origin, const size_t *region,
                                          cl_uint n, const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = region_of(PLUMB_OCL_BUFFER_TO_IMAGE, image, region, CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueCopyBufferToImage(
                                        queue, buffer, image, offset, origin, region, n, list, to));
}

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                   cl_map_flags flags, const size_t *origin, const size_t *region,
                                   size_t *row, size_t *slice, cl_uint n, const cl_event *list,
                                   cl_event *event, cl_int *errcode_ret)
{
    struct plumb_ocl_launch l = region_of(PLUMB_OCL_MAP_IMAGE, image, region, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    cl_int rc = CL_INVALID_VALUE;
    void *address = plumb_ocl_next.clEnqueueMapImage(queue, image, blocking, flags, origin, region,
                                                     row, slice, n, list, to, &rc);
    if (errcode_ret)
        *errcode_ret = rc;
    if (rc == CL_SUCCESS && l.command.has_bytes)
        plumb_ocl_mapped(address, l.command.bytes);
    plumb_ocl_launch_end(&l, rc);
    return address;
}

/* ---- Shared virtual memory ------------------------------------------------------------------- */

static struct plumb_ocl_launch svm_of(enum plumb_ocl_op op, uint64_t bytes, cl_bool blocking)
{
    return (struct plumb_ocl_launch){.command = {.op = op, .has_bytes = true, .bytes = bytes},
                                     .blocking = blocking};
}

static cl_int CL_API_CALL svm_copy(cl_command_queue queue, cl_bool blocking, void *to_address,
                                   const void *from, size_t bytes, cl_uint n, const cl_event *list,
                                   cl_event *event)
{
    struct plumb_ocl_launch l = svm_of(PLUMB_OCL_SVM_COPY, bytes, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueSVMMemcpy(queue, blocking, to_address,
                                                                      from, bytes, n, list, to));
}

static cl_int CL_API_CALL svm_fill(cl_command_queue queue, void *address, const void *pattern,
                                   size_t pattern_bytes, size_t bytes, cl_uint n,
                                   const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = svm_of(PLUMB_OCL_SVM_FILL, bytes, CL_FALSE);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueSVMMemFill(queue, address, pattern,
                                                                       pattern_bytes, bytes, n,
                                                                       list, to));
}

static cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
                                  void *address, size_t bytes, cl_uint n, const cl_event *list,
                                  cl_event *event)
{
    struct plumb_ocl_launch l = svm_of(PLUMB_OCL_SVM_MAP, bytes, blocking);
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    cl_int rc = plumb_ocl_next.clEnqueueSVMMap(queue, blocking, flags, address, bytes, n, list, to);
    if (rc == CL_SUCCESS)
        plumb_ocl_mapped(address, bytes);
    return plumb_ocl_launch_end(&l, rc);
}

static cl_int CL_API_CALL svm_unmap(cl_command_queue queue, void *address, cl_uint n,
                                    const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = svm_of(PLUMB_OCL_SVM_UNMAP, 0, CL_FALSE);
    cl_event *to;
    l.command.has_bytes = plumb_ocl_unmapped(&l.command.bytes, address);
    to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueSVMUnmap(queue, address, n, list, to));
}

static cl_int CL_API_CALL svm_migrate(cl_command_queue queue, cl_uint count, const void **addresses,
                                      const size_t *sizes, cl_mem_migration_flags flags, cl_uint n,
                                      const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = svm_of(PLUMB_OCL_SVM_MIGRATE, 0, CL_FALSE);
    cl_event *to;
    l.command.has_bytes = sizes != NULL;
    for (cl_uint i = 0; sizes && i < count; i++)
        l.command.bytes += sizes[i];
    to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(&l, plumb_ocl_next.clEnqueueSVMMigrateMem(
                                        queue, count, addresses, sizes, flags, n, list, to));
}

static cl_int CL_API_CALL svm_free(cl_command_queue queue, cl_uint count, void *addresses[],
                                   void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[],
                                                               void *),
                                   void *user, cl_uint n, const cl_event *list, cl_event *event)
{
    struct plumb_ocl_launch l = {.command = {.op = PLUMB_OCL_SVM_FREE}};
    cl_event *to = plumb_ocl_launch_begin(&l, queue, event);
    return plumb_ocl_launch_end(
        &l, plumb_ocl_next.clEnqueueSVMFree(queue, count, addresses, function, user, n, list, to));
}

void plumb_ocl_image_hooks(cl_icd_dispatch *t)
{
    t->clEnqueueReadImage = read_image;
    t->clEnqueueWriteImage = write_image;
    t->clEnqueueCopyImage = copy_image;
    t->clEnqueueFillImage = fill_image;
    t->clEnqueueCopyImageToBuffer = image_to_buffer;
    t->clEnqueueCopyBufferToImage = buffer_to_image;
    t->clEnqueueMapImage = map_image;
    t->clEnqueueSVMMemcpy = svm_copy;
    t->clEnqueueSVMMemFill = svm_fill;
    t->clEnqueueSVMMap = svm_map;
    t->clEnqueueSVMUnmap = svm_unmap;
    t->clEnqueueSVMMigrateMem = svm_migrate;
    t->clEnqueueSVMFree = svm_free;
}

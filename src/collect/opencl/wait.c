/* wait.c: the calls in which a thread waits for commands. */
#include "collect/opencl/layer.h"

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    struct plumb_ocl_wait wait;
    cl_int rc;
    plumb_ocl_wait_queue(&wait, queue);
    rc = plumb_ocl_next.clFinish(queue);
    plumb_ocl_wait_end(&wait);
    return rc;
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *events)
{
    struct plumb_ocl_wait wait;
    cl_int rc;
    plumb_ocl_wait_events(&wait, n, events);
    rc = plumb_ocl_next.clWaitForEvents(n, events);
    plumb_ocl_wait_end(&wait);
    return rc;
}

void plumb_ocl_wait_hooks(cl_icd_dispatch *t)
{
    t->clFinish = finish;
    t->clWaitForEvents = wait_for_events;
}

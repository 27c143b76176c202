/* queue.c: queues as the program made them.
 *
 * Commands have times only on queues made with CL_QUEUE_PROFILING_ENABLE, so every queue is made
 * with it, and the program is answered as if it were not: by clGetCommandQueueInfo() and, for each
 * event of the queue, by clGetEventProfilingInfo(). A driver that refuses it gives the queue that
 * the program asked for, of which launches alone are seen.
 *
 * An entry outlives the program's last reference, because events of the queue may; it goes when a
 * queue of the same handle is made, or with the oldest of too many. */
#include "collect/opencl/layer.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, RELEASED_MAX = 1024, PROPERTIES_MAX = 64 };

static struct {
    struct plumb_ocl_queue *bucket[BUCKETS];
    uint32_t released; /* entries that the program has given back */
} table;

static size_t bucket_of(cl_command_queue id)
{
    return ((uintptr_t)id >> 4 ^ (uintptr_t)id >> 12) % BUCKETS;
}

/* ---- The table, under plumb_ocl_lock --------------------------------------------------------- */

static struct plumb_ocl_queue *find(cl_command_queue id)
{
    struct plumb_ocl_queue *q = table.bucket[bucket_of(id)];
    while (q && q->id != id)
        q = q->next;
    return q;
}

static void free_queue(struct plumb_ocl_queue *q)
{
    free(q->properties);
    free(q);
}

static void drop(struct plumb_ocl_queue *q)
{
    struct plumb_ocl_queue **at = &table.bucket[bucket_of(q->id)];
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    table.released -= q->references == 0;
    /* Commands on their way refer to it: it is not in the table, and goes with the last of them. */
    if (q->pending == 0)
        free_queue(q);
    else
        q->id = NULL;
}

/* One entry that can go, of those that the program has given back. */
static void make_place(void)
{
    for (size_t i = 0; table.released > RELEASED_MAX && i < BUCKETS; i++)
        for (struct plumb_ocl_queue *q = table.bucket[i], *next; q; q = next) {
            next = q->next;
            if (q->references == 0 && q->pending == 0 && table.released > RELEASED_MAX)
                drop(q);
        }
}

/* The lowest that no living queue of the device has; the last one is shared. */
static uint32_t take_ordinal(struct plumb_ocl_device *d)
{
    uint32_t i = 0;
    while (i < PLUMB_OCL_LANES - 1 && d->queues >> i & 1)
        i++;
    d->queues |= UINT64_C(1) << i;
    return i;
}

static void add(struct plumb_ocl_queue *q)
{
    struct plumb_ocl_queue *before = find(q->id), **to = &table.bucket[bucket_of(q->id)];
    if (before)
        drop(before);
    q->ordinal = take_ordinal(q->device);
    q->next = *to;
    *to = q;
    make_place();
}

struct plumb_ocl_queue *plumb_ocl_queue_ready(cl_command_queue id, uint32_t run)
{
    struct plumb_ocl_queue *q = find(id);
    return q && q->run == run ? q : NULL;
}

void plumb_ocl_queue_done(struct plumb_ocl_queue *q)
{
    if (--q->pending == 0 && !q->id)
        free_queue(q);
}

void plumb_ocl_queues_forget(void)
{
    memset(&table, 0, sizeof table);
}

/* ---- New queues ------------------------------------------------------------------------------ */

static cl_device_id device_of(cl_command_queue id)
{
    cl_device_id device = NULL;
    plumb_ocl_next.clGetCommandQueueInfo(id, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    return device;
}

static cl_command_queue_properties properties_of(cl_command_queue id)
{
    cl_command_queue_properties p = 0;
    plumb_ocl_next.clGetCommandQueueInfo(id, CL_QUEUE_PROPERTIES, sizeof p, &p, NULL);
    return p;
}

/* The entry of a queue that exists; `given`: NULL or what the program passed. */
static struct plumb_ocl_queue *entry_of(cl_command_queue id, bool forced,
                                        const cl_queue_properties *given, size_t count)
{
    struct plumb_ocl_queue *q = calloc(1, sizeof *q);
    cl_command_queue_properties p = properties_of(id);
    if (!q)
        return NULL;
    q->id = id;
    q->references = 1;
    q->forced = forced;
    q->timed = (p & CL_QUEUE_PROFILING_ENABLE) != 0;
    q->out_of_order = (p & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    q->device = plumb_ocl_device(device_of(id));
    q->property_count = count;
    if (count && (q->properties = malloc(count * sizeof *given)))
        memcpy(q->properties, given, count * sizeof *given);
    if (!q->device || (count && !q->properties)) {
        free_queue(q);
        return NULL;
    }
    return q;
}

/* The driver's queue is the program's from here on. */
static void met(cl_command_queue id, bool forced, const cl_queue_properties *given, size_t count)
{
    struct plumb_ocl_queue *q = entry_of(id, forced, given, count);
    uint32_t run = plumb_ocl_run();
    if (!q)
        return;
    if (run && q->timed)
        plumb_ocl_device_open(q->device, run, id);
    pthread_mutex_lock(&plumb_ocl_lock);
    add(q);
    pthread_mutex_unlock(&plumb_ocl_lock);
}

bool plumb_ocl_queue_open(cl_command_queue id, uint32_t run)
{
    struct plumb_ocl_queue *q;
    struct plumb_ocl_device *d = NULL;
    uint32_t ordinal = 0;
    bool out_of_order = false, timed = false;
    plumb_lane lane;
    pthread_mutex_lock(&plumb_ocl_lock);
    q = find(id);
    pthread_mutex_unlock(&plumb_ocl_lock);
    if (!q) {
        if (!device_of(id) || !(q = entry_of(id, false, NULL, 0)))
            return false;
        pthread_mutex_lock(&plumb_ocl_lock);
        if (find(id))
            free_queue(q); /* another thread was faster */
        else
            add(q);
        pthread_mutex_unlock(&plumb_ocl_lock);
    }
    pthread_mutex_lock(&plumb_ocl_lock);
    if ((q = find(id))) {
        d = q->device;
        ordinal = q->ordinal;
        out_of_order = q->out_of_order;
        timed = q->timed;
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    if (!d || (timed && !plumb_ocl_device_open(d, run, NULL)) ||
        !plumb_ocl_lane_open(&lane, d, run, ordinal, out_of_order, timed))
        return false;
    pthread_mutex_lock(&plumb_ocl_lock);
    if ((q = find(id))) {
        q->lane = lane;
        q->run = run;
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    return q != NULL;
}

static cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device,
                                           cl_command_queue_properties properties,
                                           cl_int *errcode_ret)
{
    const cl_command_queue_properties with = properties | CL_QUEUE_PROFILING_ENABLE;
    bool forced = with != properties;
    cl_command_queue q =
        forced ? plumb_ocl_next.clCreateCommandQueue(context, device, with, errcode_ret) : NULL;
    if (!q) {
        forced = false;
        q = plumb_ocl_next.clCreateCommandQueue(context, device, properties, errcode_ret);
    }
    if (q)
        met(q, forced, NULL, 0);
    return q;
}

/* Copies what the program passed, with profiling on. Returns its length with the 0; 0: it is not to
 * be changed. */
static size_t with_profiling(cl_queue_properties out[PROPERTIES_MAX],
                             const cl_queue_properties *given, size_t *count)
{
    size_t n = 0;
    bool found = false;
    for (; given && given[n]; n += 2) {
        if (n + 5 > PROPERTIES_MAX)
            return 0;
        out[n] = given[n];
        out[n + 1] = given[n + 1];
        if (given[n] != CL_QUEUE_PROPERTIES)
            continue;
        found = true;
        if (given[n + 1] & (CL_QUEUE_ON_DEVICE | CL_QUEUE_PROFILING_ENABLE))
            return 0;
        out[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
    }
    *count = given ? n + 1 : 0;
    if (!found) {
        out[n++] = CL_QUEUE_PROPERTIES;
        out[n++] = CL_QUEUE_PROFILING_ENABLE;
    }
    out[n] = 0;
    return n + 1;
}

static bool is_on_device(const cl_queue_properties *given)
{
    for (; given && given[0]; given += 2)
        if (given[0] == CL_QUEUE_PROPERTIES && given[1] & CL_QUEUE_ON_DEVICE)
            return true;
    return false;
}

static cl_command_queue CL_API_CALL create_with(cl_context context, cl_device_id device,
                                                const cl_queue_properties *given,
                                                cl_int *errcode_ret)
{
    cl_queue_properties changed[PROPERTIES_MAX];
    size_t count = 0;
    bool forced = with_profiling(changed, given, &count) > 0;
    cl_command_queue q = forced ? plumb_ocl_next.clCreateCommandQueueWithProperties(
                                      context, device, changed, errcode_ret)
                                : NULL;
    if (!q) {
        forced = false;
        q = plumb_ocl_next.clCreateCommandQueueWithProperties(context, device, given, errcode_ret);
    }
    if (q && !is_on_device(given)) /* the host enqueues nothing there */
        met(q, forced, given, forced ? count : 0);
    return q;
}

/* ---- What the program asks ------------------------------------------------------------------- */

static cl_int CL_API_CALL retain(cl_command_queue id)
{
    cl_int rc = plumb_ocl_next.clRetainCommandQueue(id);
    struct plumb_ocl_queue *q;
    pthread_mutex_lock(&plumb_ocl_lock);
    if (rc == CL_SUCCESS && (q = find(id)))
        q->references++;
    pthread_mutex_unlock(&plumb_ocl_lock);
    return rc;
}

static cl_int CL_API_CALL release(cl_command_queue id)
{
    struct plumb_ocl_queue *q;
    pthread_mutex_lock(&plumb_ocl_lock);
    /* Before the call: after it the handle may be another queue's. */
    if ((q = find(id)) && q->references && --q->references == 0) {
        q->device->queues &= ~(UINT64_C(1) << q->ordinal);
        table.released++;
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    return plumb_ocl_next.clReleaseCommandQueue(id);
}

/* The properties of the queue that are hidden from the program. */
struct hidden {
    bool profiling;
    size_t count; /* of its own properties; 0: none */
    cl_queue_properties properties[PROPERTIES_MAX];
};

static void look_up(struct hidden *out, cl_command_queue id)
{
    const struct plumb_ocl_queue *q;
    pthread_mutex_lock(&plumb_ocl_lock);
    q = find(id);
    out->profiling = q && q->forced;
    out->count = q && q->property_count <= PROPERTIES_MAX ? q->property_count : 0;
    if (out->count)
        memcpy(out->properties, q->properties, out->count * sizeof *out->properties);
    pthread_mutex_unlock(&plumb_ocl_lock);
}

static cl_int answer_array(const struct hidden *h, size_t size, void *value, size_t *size_ret)
{
    size_t bytes = h->count * sizeof *h->properties;
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, h->properties, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL queue_info(cl_command_queue id, cl_command_queue_info what, size_t size,
                                     void *value, size_t *size_ret)
{
    struct hidden h = {.profiling = false};
    cl_command_queue_properties p;
    cl_int rc;
    if (what == CL_QUEUE_PROPERTIES || what == CL_QUEUE_PROPERTIES_ARRAY)
        look_up(&h, id);
    if (what == CL_QUEUE_PROPERTIES_ARRAY && h.profiling &&
        plumb_ocl_next.clGetCommandQueueInfo(id, what, 0, NULL, NULL) == CL_SUCCESS)
        return answer_array(&h, size, value, size_ret);
    rc = plumb_ocl_next.clGetCommandQueueInfo(id, what, size, value, size_ret);
    if (rc == CL_SUCCESS && what == CL_QUEUE_PROPERTIES && h.profiling && value) {
        memcpy(&p, value, sizeof p);
        p &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
        memcpy(value, &p, sizeof p);
    }
    return rc;
}

/* Of OpenCL 1.0. A property that the program switches itself is no longer forced. */
static cl_int CL_API_CALL set_property(cl_command_queue id, cl_command_queue_properties properties,
                                       cl_bool enable, cl_command_queue_properties *old)
{
    const cl_command_queue_properties profiling = CL_QUEUE_PROFILING_ENABLE;
    struct plumb_ocl_queue *q;
    struct hidden h;
    cl_int rc;
    look_up(&h, id);
    rc = plumb_ocl_next.clSetCommandQueueProperty(id, properties, enable, old);
    if (rc != CL_SUCCESS)
        return rc;
    if (old && h.profiling)
        *old &= ~profiling;
    pthread_mutex_lock(&plumb_ocl_lock);
    if ((q = find(id)) && properties & profiling) {
        q->forced = false;
        q->timed = enable;
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    return rc;
}

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t size,
                                         void *value, size_t *size_ret)
{
    cl_command_queue queue = NULL;
    struct hidden h = {.profiling = false};
    if (plumb_ocl_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) ==
            CL_SUCCESS &&
        queue)
        look_up(&h, queue);
    if (h.profiling)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return plumb_ocl_next.clGetEventProfilingInfo(event, what, size, value, size_ret);
}

/* The layer's reference is not the program's business. */
static cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, size_t size, void *value,
                                     size_t *size_ret)
{
    bool held = what == CL_EVENT_REFERENCE_COUNT && plumb_ocl_holds(event);
    cl_int rc = plumb_ocl_next.clGetEventInfo(event, what, size, value, size_ret);
    cl_uint n;
    if (rc == CL_SUCCESS && held && value) {
        memcpy(&n, value, sizeof n);
        n -= n > 1;
        memcpy(value, &n, sizeof n);
    }
    return rc;
}

void plumb_ocl_queue_hooks(cl_icd_dispatch *t)
{
    t->clCreateCommandQueue = create;
    t->clCreateCommandQueueWithProperties = create_with;
    t->clRetainCommandQueue = retain;
    t->clReleaseCommandQueue = release;
    t->clGetCommandQueueInfo = queue_info;
    t->clSetCommandQueueProperty = set_property;
    t->clGetEventProfilingInfo = profiling_info;
    t->clGetEventInfo = event_info;
}

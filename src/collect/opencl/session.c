/* session.c: the collector. Devices, their clocks and lanes are opened when the program first uses
 * them in a run, on the thread that does: a process may have drivers for devices that it never
 * touches, and asking these for anything starts them.
 *
 * Times of commands are on the device's clock. It is read by clGetDeviceAndHostTimer() where the
 * driver has that and its times prove to be those of commands; elsewhere each command gives an
 * interval (anchors.h). So that the first command's time is known as well as the others', a new
 * device is given a few markers on a queue that the program has not got yet. */
#include "collect/opencl/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb/run.h>

enum { MARKERS = 8, EXIT_KERNELS = 1 << 16 };
static const uint64_t EXIT_WAIT_NS = 1000000000;

static struct {
    plumb_collector_ops ops;
    plumb_collector *self; /* atomic */
    uint32_t run;          /* that is recorded; 0: none; atomic */
    uint32_t runs;         /* so far */
    uint32_t kernels;      /* that ran; atomic */
    uint32_t asked;        /* for a run, once a process; atomic */
    uint32_t closed;       /* the process is ending: no more calls; atomic */
    uint32_t devices;      /* under `opening` */
    struct plumb_ocl_device *device;
    struct plumb_ocl_names names;
    /* Recursive: while a device is measured the driver may call back, and the program enqueue. */
    pthread_mutex_t opening;
    bool busy;              /* under `opening` */
    pthread_mutex_t anchor; /* the order of anchors */
} session = {.anchor = PTHREAD_MUTEX_INITIALIZER};

const struct plumb_ocl_names *plumb_ocl_names(void)
{
    return &session.names;
}

uint32_t plumb_ocl_run_now(void)
{
    return __atomic_load_n(&session.run, __ATOMIC_ACQUIRE);
}

/* As a first span would: opens the run that is wanted. If another thread is opening it, this one
 * waits until the collectors have been started: a registration does, here of a name in use. */
static void open_run(void)
{
    const plumb_lane none = {0};
    plumb_origin origin;
    plumb_origin_capture(&origin, none, 0);
    if (!plumb_ocl_run_now())
        plumb_collector_register(&session.ops, NULL, NULL);
    /* A run that does not want this collector is left alone from here on. */
    __atomic_store_n(&session.asked, 1, __ATOMIC_RELAXED);
}

uint32_t plumb_ocl_run(void)
{
    uint32_t run = plumb_ocl_run_now();
    if (run || __atomic_load_n(&session.asked, __ATOMIC_RELAXED) || !plumb_is_recording())
        return run;
    open_run();
    return plumb_ocl_run_now();
}

/* ---- The device's clock ---------------------------------------------------------------------- */

static bool read_timer(cl_device_id id, uint64_t *out)
{
    cl_ulong device = 0, host = 0;
    if (!plumb_ocl_next.clGetDeviceAndHostTimer ||
        plumb_ocl_next.clGetDeviceAndHostTimer(id, &device, &host) != CL_SUCCESS || device == 0)
        return false;
    *out = device;
    return true;
}

static int timer_now(uint64_t *out, void *arg)
{
    const struct plumb_ocl_device *d = arg;
    if (__atomic_load_n(&session.closed, __ATOMIC_ACQUIRE))
        return PLUMB_ERR_STATE;
    return read_timer(d->id, out) ? PLUMB_OK : PLUMB_ERR_STATE;
}

/* The device's time of a marker's queueing, and host readings around that. */
static bool measure(cl_command_queue queue, struct plumb_ocl_interval *out)
{
    cl_event event = NULL;
    cl_ulong queued = 0;
    bool known = false;
    out->earliest = plumb_host_ticks();
    if (plumb_ocl_next.clEnqueueMarker(queue, &event) != CL_SUCCESS)
        return false;
    out->latest = plumb_host_ticks();
    known = plumb_ocl_next.clWaitForEvents(1, &event) == CL_SUCCESS &&
            plumb_ocl_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED,
                                                   sizeof queued, &queued, NULL) == CL_SUCCESS;
    plumb_ocl_next.clReleaseEvent(event);
    out->source = queued;
    return known && queued;
}

/* Whether the timer shows the time that commands have: a marker lies between two of its readings.
 * Without a queue to try it on it is believed, unless it was found wrong in an earlier run. */
static bool timer_fits(struct plumb_ocl_device *d, cl_command_queue fresh)
{
    uint64_t before = 0, after = 0;
    struct plumb_ocl_interval i;
    if (d->timer_lies || !read_timer(d->id, &before))
        return false;
    if (!fresh)
        return true;
    d->timer_lies =
        !measure(fresh, &i) || !read_timer(d->id, &after) || i.source < before || i.source > after;
    return !d->timer_lies;
}

static void anchor_at(plumb_clock clock, const struct plumb_ocl_interval *i)
{
    plumb_clock_anchor_between(clock, i->source, i->earliest, i->latest);
}

void plumb_ocl_device_saw(struct plumb_ocl_device *d, uint32_t run,
                          const struct plumb_ocl_interval *i)
{
    struct plumb_ocl_interval anchor;
    if (__atomic_load_n(&d->has_timer, __ATOMIC_RELAXED))
        return;
    /* Held until the anchor is taken: without the first one no event of any thread would be. */
    pthread_mutex_lock(&session.anchor);
    if (__atomic_load_n(&d->run, __ATOMIC_ACQUIRE) == run &&
        plumb_ocl_anchors_offer(&d->anchors, i, &anchor))
        anchor_at(d->clock, &anchor);
    pthread_mutex_unlock(&session.anchor);
}

static void first_anchors(struct plumb_ocl_device *d, cl_command_queue fresh)
{
    struct plumb_ocl_interval i, best;
    bool any = false;
    for (int k = 0; k < MARKERS; k++) {
        if (!measure(fresh, &i))
            return;
        if (!any || i.latest - i.earliest <= best.latest - best.earliest)
            best = i;
        any = true;
    }
    pthread_mutex_lock(&session.anchor);
    if (plumb_ocl_anchors_offer(&d->anchors, &best, &i))
        anchor_at(d->clock, &i);
    pthread_mutex_unlock(&session.anchor);
}

/* Replaces the clock of an earlier run, of which completions may still come. */
static void change_clock(struct plumb_ocl_device *d, plumb_clock clock, bool has_timer)
{
    pthread_mutex_lock(&session.anchor);
    pthread_mutex_lock(&plumb_ocl_lock);
    __atomic_store_n(&d->run, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&d->has_timer, has_timer, __ATOMIC_RELAXED);
    d->clock = clock;
    memset(&d->anchors, 0, sizeof d->anchors);
    pthread_mutex_unlock(&plumb_ocl_lock);
    pthread_mutex_unlock(&session.anchor);
}

static plumb_collector *self(void)
{
    return __atomic_load_n(&session.self, __ATOMIC_RELAXED);
}

/* Under `opening`. */
static bool open_clock(struct plumb_ocl_device *d, uint32_t run, cl_command_queue fresh)
{
    plumb_clock_options o = plumb_clock_options_default();
    bool has_timer = timer_fits(d, fresh);
    plumb_clock clock;
    char name[32];
    snprintf(name, sizeof name, "opencl:%u", d->index);
    o.name = name;
    o.now = has_timer ? timer_now : NULL;
    o.arg = d;
    if (plumb_clock_open(&clock, self(), &o, NULL) < 0)
        return false;
    change_clock(d, clock, has_timer);
    if (!has_timer && fresh)
        first_anchors(d, fresh);
    __atomic_store_n(&d->run, run, __ATOMIC_RELEASE);
    return true;
}

bool plumb_ocl_device_open(struct plumb_ocl_device *d, uint32_t run, cl_command_queue fresh)
{
    bool open;
    if (__atomic_load_n(&d->run, __ATOMIC_ACQUIRE) == run)
        return true;
    pthread_mutex_lock(&session.opening);
    open = d->run == run;
    /* Busy: this thread is inside it already. A run that has ended opens nothing in the next. */
    if (!open && !session.busy && run == plumb_ocl_run_now()) {
        session.busy = true;
        open = open_clock(d, run, fresh);
        session.busy = false;
    }
    pthread_mutex_unlock(&session.opening);
    return open;
}

bool plumb_ocl_lane_open(plumb_lane *out, struct plumb_ocl_device *d, uint32_t run,
                         uint32_t ordinal, bool out_of_order, bool timed)
{
    plumb_lane_options o = plumb_lane_options_default();
    uint32_t i = ordinal < PLUMB_OCL_LANES ? ordinal : PLUMB_OCL_LANES - 1;
    char name[64], device[32];
    bool open;
    snprintf(name, sizeof name, "queue %u%s", i, out_of_order ? " (out of order)" : "");
    snprintf(device, sizeof device, "opencl:%u", d->index);
    o.name = name;
    o.device = device;
    o.flags = timed ? 0 : PLUMB_LANE_LAUNCH_ONLY;
    pthread_mutex_lock(&session.opening);
    open = d->lane[i][out_of_order].run == run;
    if (!open && run == plumb_ocl_run_now() &&
        plumb_lane_open(&d->lane[i][out_of_order].lane, self(), &o, NULL) == 0) {
        d->lane[i][out_of_order].run = run;
        open = true;
    }
    *out = d->lane[i][out_of_order].lane;
    pthread_mutex_unlock(&session.opening);
    return open;
}

static cl_device_id root_of(cl_device_id id)
{
    cl_device_id parent = NULL;
    while (plumb_ocl_next.clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent,
                                          NULL) == CL_SUCCESS &&
           parent)
        id = parent;
    return id;
}

struct plumb_ocl_device *plumb_ocl_device(cl_device_id id)
{
    cl_device_id root = root_of(id);
    struct plumb_ocl_device *d;
    pthread_mutex_lock(&session.opening);
    for (d = session.device; d && d->id != root; d = d->next)
        ;
    if (!d && (d = calloc(1, sizeof *d))) {
        d->id = root;
        d->index = session.devices++;
        d->next = session.device;
        session.device = d;
    }
    pthread_mutex_unlock(&session.opening);
    return d;
}

/* ---- The collector --------------------------------------------------------------------------- */

/* Once a process: names are kept. */
static void intern_names(void)
{
    if (session.names.grid)
        return;
    for (int op = 0; op < PLUMB_OCL_OPS; op++)
        session.names.op[op] = plumb_name_get(plumb_ocl_op_name((enum plumb_ocl_op)op));
    session.names.bytes = plumb_name_get("bytes");
    session.names.queued_us = plumb_name_get("queued_us");
    session.names.submit_us = plumb_name_get("submit_us");
    session.names.failed = plumb_name_get("failed command");
    session.names.grid = plumb_name_get("grid");
}

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    (void)arg;
    (void)options;
    (void)err;
    __atomic_store_n(&session.self, self, __ATOMIC_RELAXED);
    intern_names();
    plumb_ocl_launches_reset();
    session.runs++;
    __atomic_store_n(&session.run, session.runs, __ATOMIC_RELEASE);
    return PLUMB_OK;
}

static void last_anchors(uint32_t run)
{
    struct plumb_ocl_interval i;
    pthread_mutex_lock(&session.opening);
    pthread_mutex_lock(&session.anchor);
    for (struct plumb_ocl_device *d = session.device; d; d = d->next)
        if (d->run == run && !d->has_timer && plumb_ocl_anchors_flush(&d->anchors, &i))
            anchor_at(d->clock, &i);
    pthread_mutex_unlock(&session.anchor);
    pthread_mutex_unlock(&session.opening);
}

static void report_losses(plumb_error *err)
{
    struct plumb_ocl_counts n;
    size_t at = 0;
    plumb_ocl_launches_count(&n);
    const struct {
        uint64_t n;
        const char *what;
    } part[] = {
        {n.unfinished, "had not completed when the recording ended (call clFinish() before)"},
        {n.missed, "could not be followed, with too many on their way already"},
        {n.untimed, "came back without times"}};
    for (size_t i = 0; i < sizeof part / sizeof *part && at < sizeof err->message; i++)
        if (part[i].n)
            at += (size_t)snprintf(
                err->message + at, sizeof err->message - at, "%s%llu command%s %s", at ? "; " : "",
                (unsigned long long)part[i].n, part[i].n == 1 ? "" : "s", part[i].what);
}

static int stop(void *arg, plumb_error *err)
{
    uint32_t run = plumb_ocl_run_now();
    (void)arg;
    if (!run)
        return PLUMB_OK;
    last_anchors(run);
    plumb_ocl_launches_drain(!__atomic_load_n(&session.closed, __ATOMIC_ACQUIRE));
    __atomic_store_n(&session.run, 0, __ATOMIC_RELEASE);
    report_losses(err);
    return PLUMB_OK;
}

/* Exit handlers of the driver's may take away what its threads still use: those of PoCL's compiler,
 * while a kernel is compiled. A process that exits at once does not notice, but one whose recording
 * ends in between crashes. So before them the device finishes; if it does not, the recording ends
 * here. */
static void at_exit(void)
{
    bool done = true;
    if (__atomic_load_n(&session.closed, __ATOMIC_ACQUIRE))
        return;
    if (plumb_ocl_run_now()) {
        done = plumb_ocl_launches_await(EXIT_WAIT_NS);
        plumb_ocl_launches_drain(true);
    }
    __atomic_store_n(&session.closed, 1, __ATOMIC_RELEASE);
    if (!done)
        plumb_stop(NULL);
}

/* The handler that was registered last runs first, and the driver registers its own as late as in
 * the first kernel, when it compiles it. Now and then is often enough. */
void plumb_ocl_kernel_ran(void)
{
    uint32_t n = __atomic_add_fetch(&session.kernels, 1, __ATOMIC_RELAXED);
    if (n <= EXIT_KERNELS && (n & (n - 1)) == 0)
        atexit(at_exit);
}

/* ---- Birth and fork -------------------------------------------------------------------------- */

static void init_opening(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&session.opening, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* In a forked child, where the driver's threads are gone and other threads may have held the locks.
 * No handler before the fork takes these: a thread that ends a run may hold plumb's, wait for ours,
 * and the forking thread would wait for plumb's. So what they guard is forgotten. */
static void forked(void)
{
    const pthread_mutex_t made = PTHREAD_MUTEX_INITIALIZER;
    init_opening();
    session.anchor = made;
    plumb_ocl_lock = made;
    session.busy = false;
    session.device = NULL;
    session.devices = 0;
    __atomic_store_n(&session.asked, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&session.run, 0, __ATOMIC_RELEASE);
    plumb_ocl_queues_forget();
    plumb_ocl_launches_forget();
}

bool plumb_ocl_session_begin(void)
{
    init_opening();
    session.ops = plumb_collector_ops_default();
    session.ops.name = "opencl";
    session.ops.help = "commands of OpenCL: kernels, copies, waits";
    session.ops.start = start;
    session.ops.stop = stop;
    if (!plumb_collector_register(&session.ops, NULL, NULL))
        return false;
    pthread_atfork(NULL, NULL, forked);
    atexit(at_exit);
    return true;
}

/* launch.c: commands that are on their way.
 *
 * Each command that is followed has a record and a reference to its event, from the call that
 * enqueues it until the driver calls back that it is complete. Then its times are read, its event
 * is emitted, and both are given back. Records are bounded: a program that enqueues millions of
 * commands and waits for none has that many in the driver, and here RECORDS; the others are counted
 * as missed.
 *
 * The first thread that finds a record ARMED finishes it: the callback or, when the run or the
 * process ends, the drain, which asks the driver for the state of each. The driver may call back
 * later for one that was drained, so only the callback gives a record back. */
#include "collect/opencl/layer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 256, CHUNKS = 128, RECORDS = CHUNK * CHUNKS, BUCKETS = 4096, QUIET_STEPS = 20 };
static const uint64_t WAIT_NS = 1000000000, STEP_NS = 1000000;

enum state {
    FREE,
    LAUNCHING, /* inside the call that enqueues */
    ARMED,     /* the driver is to call back */
    FINISHING, /* by one thread */
    FINISHED   /* by the drain, before the driver called back */
};

struct plumb_ocl_record {
    struct plumb_ocl_record *next; /* in the table of events, or of free ones */
    enum state state;
    bool called; /* the driver called back while another thread finished it */
    bool silent; /* the driver will not call back, as it said in the meantime */
    uint32_t run;
    cl_event event;
    struct plumb_ocl_queue *queue;
    struct plumb_ocl_device *device;
    plumb_lane lane;
    plumb_clock clock;
    plumb_origin origin;
    plumb_origin waits_for; /* of a blocking command: the command before it, if that is pending */
    struct plumb_ocl_interval queued;
    struct plumb_ocl_command command;
};

pthread_mutex_t plumb_ocl_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under plumb_ocl_lock. */
static struct {
    struct plumb_ocl_record *chunk[CHUNKS];
    uint32_t chunks;
    struct plumb_ocl_record *free;
    struct plumb_ocl_record *by_event[BUCKETS];
    uint32_t finishing, pending;
    uint64_t completed;
    pthread_cond_t finished;
    struct plumb_ocl_counts counts;
} launches = {.finished = PTHREAD_COND_INITIALIZER};

/* ---- Records, under plumb_ocl_lock ----------------------------------------------------------- */

static void add_chunk(void)
{
    struct plumb_ocl_record *r = launches.chunks < CHUNKS ? calloc(CHUNK, sizeof *r) : NULL;
    if (!r)
        return;
    launches.chunk[launches.chunks++] = r;
    for (int i = 0; i < CHUNK; i++) {
        r[i].next = launches.free;
        launches.free = &r[i];
    }
}

static struct plumb_ocl_record *take_record(void)
{
    struct plumb_ocl_record *r;
    if (!launches.free)
        add_chunk();
    r = launches.free;
    if (!r) {
        launches.counts.missed++;
        return NULL;
    }
    launches.free = r->next;
    r->state = LAUNCHING;
    r->called = r->silent = false;
    return r;
}

static void give_back(struct plumb_ocl_record *r)
{
    r->state = FREE;
    r->next = launches.free;
    launches.free = r;
}

static struct plumb_ocl_record **bucket_of(cl_event event)
{
    return &launches.by_event[((uintptr_t)event >> 4 ^ (uintptr_t)event >> 16) % BUCKETS];
}

static struct plumb_ocl_record *find(cl_event event)
{
    struct plumb_ocl_record *r = *bucket_of(event);
    while (r && r->event != event)
        r = r->next;
    return r;
}

static void enter(struct plumb_ocl_record *r)
{
    struct plumb_ocl_record **to = bucket_of(r->event);
    r->next = *to;
    *to = r;
    r->queue->last = r->origin;
    launches.pending++;
}

static void leave(struct plumb_ocl_record *r)
{
    struct plumb_ocl_record **at = bucket_of(r->event);
    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    launches.pending--;
    launches.completed++;
    plumb_ocl_queue_done(r->queue);
}

bool plumb_ocl_holds(cl_event event)
{
    bool holds;
    pthread_mutex_lock(&plumb_ocl_lock);
    holds = find(event) != NULL;
    pthread_mutex_unlock(&plumb_ocl_lock);
    return holds;
}

/* ---- Completion ------------------------------------------------------------------------------ */

static uint64_t time_of(cl_event event, cl_profiling_info what)
{
    cl_ulong t = 0;
    if (plumb_ocl_next.clGetEventProfilingInfo(event, what, sizeof t, &t, NULL) != CL_SUCCESS)
        return 0;
    return t;
}

static void emit(struct plumb_ocl_record *r)
{
    struct plumb_ocl_times t = {
        time_of(r->event, CL_PROFILING_COMMAND_QUEUED),
        time_of(r->event, CL_PROFILING_COMMAND_SUBMIT),
        time_of(r->event, CL_PROFILING_COMMAND_START),
        time_of(r->event, CL_PROFILING_COMMAND_END),
    };
    char text[PLUMB_OCL_GRID_TEXT];
    plumb_event_arg args[PLUMB_EVENT_ARGS];
    plumb_event e;
    plumb_name grid = plumb_ocl_grid_text(text, &r->command) ? plumb_name_get(text) : 0;
    if (!plumb_ocl_decode(&e, args, &r->command, &t, grid, plumb_ocl_names())) {
        pthread_mutex_lock(&plumb_ocl_lock);
        launches.counts.untimed++;
        pthread_mutex_unlock(&plumb_ocl_lock);
        return;
    }
    if (r->command.op == PLUMB_OCL_KERNEL)
        plumb_ocl_kernel_ran();
    r->queued.source = t.queued;
    plumb_ocl_device_saw(r->device, r->run, &r->queued);
    if (e.kind == PLUMB_EVENT_SPAN)
        e.origin = &r->origin;
    plumb_emit(r->lane, r->clock, &e);
}

/* A command that failed on the device has no times. */
static void emit_failure(const struct plumb_ocl_record *r)
{
    const plumb_clock host = {0};
    plumb_event e = plumb_event_default(PLUMB_EVENT_INSTANT);
    e.name = plumb_ocl_names()->failed;
    e.begin = plumb_host_ticks();
    plumb_emit(r->lane, host, &e);
}

/* FINISHING, by this thread. */
static void finish(struct plumb_ocl_record *r, cl_int status)
{
    if (r->run == plumb_ocl_run_now()) {
        if (status == CL_COMPLETE)
            emit(r);
        else
            emit_failure(r);
    }
    pthread_mutex_lock(&plumb_ocl_lock);
    leave(r);
    pthread_mutex_unlock(&plumb_ocl_lock);
    plumb_ocl_next.clReleaseEvent(r->event);
}

static void CL_CALLBACK completed(cl_event event, cl_int status, void *arg)
{
    struct plumb_ocl_record *r = arg;
    bool mine;
    (void)event;
    pthread_mutex_lock(&plumb_ocl_lock);
    mine = r->state == ARMED;
    if (mine) {
        r->state = FINISHING;
        launches.finishing++;
    } else if (r->state == FINISHING) {
        r->called = true;
    } else {
        give_back(r);
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    if (!mine)
        return;
    finish(r, status);
    pthread_mutex_lock(&plumb_ocl_lock);
    give_back(r);
    if (--launches.finishing == 0)
        pthread_cond_broadcast(&launches.finished);
    pthread_mutex_unlock(&plumb_ocl_lock);
}

/* Of a record that is in the table, and that the driver will not call back for: not followed any
 * more. Under the lock. Returns its event, for the caller to release without the lock. */
static cl_event lose(struct plumb_ocl_record *r)
{
    cl_event event = r->event;
    leave(r);
    launches.counts.missed++;
    give_back(r);
    return event;
}

/* Asks the driver for the state of an ARMED record, and finishes the command if it is complete.
 * Returns the state. Under the lock, which is released during the question. */
static cl_int drain_one(struct plumb_ocl_record *r)
{
    cl_int status;
    r->state = FINISHING;
    r->called = false;
    do { /* again if the driver called back in the meantime: it is complete now */
        status = CL_QUEUED;
        pthread_mutex_unlock(&plumb_ocl_lock);
        plumb_ocl_next.clGetEventInfo(r->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                      &status, NULL);
        if (status <= CL_COMPLETE)
            finish(r, status);
        pthread_mutex_lock(&plumb_ocl_lock);
    } while (status > CL_COMPLETE && r->called);
    if (r->silent && status > CL_COMPLETE) {
        cl_event event = lose(r);
        pthread_mutex_unlock(&plumb_ocl_lock);
        plumb_ocl_next.clReleaseEvent(event);
        pthread_mutex_lock(&plumb_ocl_lock);
        status = CL_COMPLETE; /* as far as the caller cares: it is counted as missed */
    } else if (r->called || r->silent) {
        give_back(r);
    } else {
        r->state = status <= CL_COMPLETE ? FINISHED : ARMED;
    }
    return status;
}

/* Under the lock: the `i`-th record, if its command is on its way in the run. */
static struct plumb_ocl_record *armed_at(uint32_t i, uint32_t run)
{
    struct plumb_ocl_record *r = &launches.chunk[i / CHUNK][i % CHUNK];
    return r->state == ARMED && r->run == run ? r : NULL;
}

static void in_ns(struct timespec *out, uint64_t ns)
{
    clock_gettime(CLOCK_REALTIME, out);
    ns += (uint64_t)out->tv_nsec;
    out->tv_sec += (time_t)(ns / 1000000000);
    out->tv_nsec = (long)(ns % 1000000000);
}

/* Callbacks on other threads that have begun. */
static void await_callbacks(void)
{
    struct timespec until;
    in_ns(&until, WAIT_NS);
    pthread_mutex_lock(&plumb_ocl_lock);
    while (launches.finishing &&
           pthread_cond_timedwait(&launches.finished, &plumb_ocl_lock, &until) == 0)
        ;
    pthread_mutex_unlock(&plumb_ocl_lock);
}

void plumb_ocl_launches_drain(bool calls)
{
    const uint32_t run = plumb_ocl_run_now();
    struct plumb_ocl_record *r;
    pthread_mutex_lock(&plumb_ocl_lock);
    launches.counts.unfinished = 0;
    for (uint32_t i = 0; i < launches.chunks * CHUNK; i++)
        if ((r = armed_at(i, run)) && (!calls || drain_one(r) > CL_COMPLETE))
            launches.counts.unfinished++;
    pthread_mutex_unlock(&plumb_ocl_lock);
    await_callbacks();
}

/* Whether the device has one of the commands: it runs, or waits for nothing but the device. */
static bool is_busy(void)
{
    const uint32_t run = plumb_ocl_run_now();
    struct plumb_ocl_record *r;
    cl_int status = CL_QUEUED;
    pthread_mutex_lock(&plumb_ocl_lock);
    for (uint32_t i = 0; i < launches.chunks * CHUNK; i++) {
        if ((r = armed_at(i, run)) && (status = drain_one(r)) > CL_COMPLETE && status < CL_QUEUED)
            break;
        status = CL_QUEUED;
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    return status != CL_QUEUED;
}

static uint32_t pending(uint64_t *completed)
{
    uint32_t n;
    pthread_mutex_lock(&plumb_ocl_lock);
    n = launches.pending;
    *completed = launches.completed;
    pthread_mutex_unlock(&plumb_ocl_lock);
    return n;
}

static uint64_t elapsed_ns(const struct timespec *from, const struct timespec *to)
{
    return (uint64_t)(to->tv_sec - from->tv_sec) * 1000000000 + (uint64_t)to->tv_nsec -
           (uint64_t)from->tv_nsec;
}

/* Between two commands of an ordered queue the device may have none: only after some turns without
 * one, and without a completion, there is nothing left to wait for. */
bool plumb_ocl_launches_await(uint64_t ns)
{
    struct timespec start, now;
    uint64_t before = 0, completed = 0;
    uint32_t quiet = 0;
    int cancel;
    bool busy = false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    clock_gettime(CLOCK_MONOTONIC, &start);
    now = start;
    while (elapsed_ns(&start, &now) < ns && quiet < QUIET_STEPS && pending(&completed)) {
        struct timespec until;
        busy = is_busy();
        quiet = busy || completed != before ? 0 : quiet + 1;
        before = completed;
        in_ns(&until, STEP_NS);
        pthread_mutex_lock(&plumb_ocl_lock);
        pthread_cond_timedwait(&launches.finished, &plumb_ocl_lock, &until);
        pthread_mutex_unlock(&plumb_ocl_lock);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    pthread_setcancelstate(cancel, NULL);
    return !busy || !pending(&completed);
}

void plumb_ocl_launches_count(struct plumb_ocl_counts *out)
{
    pthread_mutex_lock(&plumb_ocl_lock);
    *out = launches.counts;
    pthread_mutex_unlock(&plumb_ocl_lock);
}

void plumb_ocl_launches_reset(void)
{
    pthread_mutex_lock(&plumb_ocl_lock);
    memset(&launches.counts, 0, sizeof launches.counts);
    pthread_mutex_unlock(&plumb_ocl_lock);
}

void plumb_ocl_launches_forget(void)
{
    const pthread_cond_t made = PTHREAD_COND_INITIALIZER;
    memset(&launches, 0, sizeof launches);
    launches.finished = made;
}

/* ---- Launch ---------------------------------------------------------------------------------- */

/* A record for a command of the queue; NULL: it is not followed. `lane`: of the queue, where it is
 * one whose launches alone are seen. */
static struct plumb_ocl_record *prepare(cl_command_queue id, uint32_t run, plumb_lane *lane)
{
    struct plumb_ocl_record *r = NULL;
    struct plumb_ocl_queue *q;
    pthread_mutex_lock(&plumb_ocl_lock);
    q = plumb_ocl_queue_ready(id, run);
    if (!q) {
        pthread_mutex_unlock(&plumb_ocl_lock);
        if (!plumb_ocl_queue_open(id, run))
            return NULL;
        pthread_mutex_lock(&plumb_ocl_lock);
        q = plumb_ocl_queue_ready(id, run);
    }
    if (q && !q->timed)
        *lane = q->lane;
    else if (q && (r = take_record())) {
        r->queue = q;
        r->device = q->device;
        r->lane = q->lane;
        r->clock = q->device->clock;
        r->run = run;
        memset(&r->waits_for, 0, sizeof r->waits_for);
        if (q->pending > 0 && !q->out_of_order)
            r->waits_for = q->last;
        r->origin = q->last;
        q->pending++;
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    return r;
}

cl_event *plumb_ocl_launch_begin(struct plumb_ocl_launch *l, cl_command_queue queue,
                                 cl_event *event)
{
    uint32_t run = plumb_ocl_run();
    struct plumb_ocl_record *r;
    plumb_lane lane = {0};
    l->record = r = run ? prepare(queue, run, &lane) : NULL;
    l->event = event;
    l->own = NULL;
    if (lane.id && !plumb_ocl_is_mark(l->command.op)) {
        plumb_origin launched;
        plumb_origin_capture(&launched, lane, 0);
    }
    if (!r)
        return event;
    r->command = l->command;
    /* A marker is not work: who waits for it waits for what came before. */
    if (!plumb_ocl_is_mark(l->command.op))
        plumb_origin_capture(&r->origin, r->lane, 0);
    if (!event)
        l->event = &l->own;
    r->queued.earliest = plumb_host_ticks();
    return l->event;
}

static void abandon(struct plumb_ocl_record *r)
{
    pthread_mutex_lock(&plumb_ocl_lock);
    plumb_ocl_queue_done(r->queue);
    give_back(r);
    pthread_mutex_unlock(&plumb_ocl_lock);
}

/* The driver takes no callback: the command is not followed, unless the drain has finished it. */
static void disarm(struct plumb_ocl_record *r)
{
    cl_event event = NULL;
    pthread_mutex_lock(&plumb_ocl_lock);
    if (r->state == FINISHING)
        r->silent = true;
    else if (r->state == ARMED)
        event = lose(r);
    else
        give_back(r);
    pthread_mutex_unlock(&plumb_ocl_lock);
    if (event)
        plumb_ocl_next.clReleaseEvent(event);
}

static void arm(struct plumb_ocl_record *r, cl_event event)
{
    pthread_mutex_lock(&plumb_ocl_lock);
    r->event = event;
    r->state = ARMED;
    enter(r);
    pthread_mutex_unlock(&plumb_ocl_lock);
    /* The record may be another command's before this returns. */
    if (plumb_ocl_next.clSetEventCallback(event, CL_COMPLETE, completed, r) != CL_SUCCESS)
        disarm(r);
}

cl_int plumb_ocl_launch_end(struct plumb_ocl_launch *l, cl_int rc)
{
    struct plumb_ocl_record *r = l->record;
    struct plumb_ocl_wait wait;
    if (!r)
        return rc;
    r->queued.latest = plumb_host_ticks();
    if (rc != CL_SUCCESS || !*l->event) {
        abandon(r);
        return rc;
    }
    wait.lane = r->lane;
    wait.origin = r->waits_for.flow ? r->waits_for : r->origin;
    wait.begin = r->queued.earliest;
    if (l->event != &l->own)
        plumb_ocl_next.clRetainEvent(*l->event);
    arm(r, *l->event);
    if (l->blocking)
        plumb_ocl_wait_end(&wait);
    return rc;
}

/* ---- Waits ----------------------------------------------------------------------------------- */

static void begin_wait(struct plumb_ocl_wait *out)
{
    if (out->lane.id)
        out->begin = plumb_host_ticks();
}

void plumb_ocl_wait_queue(struct plumb_ocl_wait *out, cl_command_queue queue)
{
    uint32_t run = plumb_ocl_run_now();
    const struct plumb_ocl_queue *q;
    memset(out, 0, sizeof *out);
    if (!run)
        return;
    pthread_mutex_lock(&plumb_ocl_lock);
    q = plumb_ocl_queue_ready(queue, run);
    if (q)
        out->lane = q->lane;
    if (q && q->pending)
        out->origin = q->last;
    pthread_mutex_unlock(&plumb_ocl_lock);
    begin_wait(out);
}

void plumb_ocl_wait_events(struct plumb_ocl_wait *out, cl_uint n, const cl_event *events)
{
    memset(out, 0, sizeof *out);
    if (!plumb_ocl_run_now() || !events)
        return;
    pthread_mutex_lock(&plumb_ocl_lock);
    for (cl_uint i = 0; i < n; i++) {
        const struct plumb_ocl_record *r = find(events[i]);
        /* Flows are numbered in the order of launches. */
        if (r && r->run == plumb_ocl_run_now() && r->origin.flow >= out->origin.flow) {
            out->lane = r->lane;
            out->origin = r->origin;
        }
    }
    pthread_mutex_unlock(&plumb_ocl_lock);
    begin_wait(out);
}

void plumb_ocl_wait_end(const struct plumb_ocl_wait *wait)
{
    const plumb_clock host = {0};
    plumb_event e = plumb_event_default(PLUMB_EVENT_WAIT);
    if (!wait->lane.id)
        return;
    e.begin = wait->begin;
    e.end = plumb_host_ticks();
    e.origin = wait->origin.flow ? &wait->origin : NULL;
    plumb_emit(wait->lane, host, &e);
}

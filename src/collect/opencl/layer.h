/* layer.h: the functions below this layer, and what the files of the layer hand to each other.
 *
 *   layer.c    what the loader of OpenCL calls, and the table of functions that it gets
 *   session.c  the collector: start, stop, devices with their clocks and lanes
 *   queue.c    queues as the program made them, and what it may ask of them
 *   launch.c   commands that are on their way, from the call that enqueues to the completion
 *   enqueue.c, image.c  the calls that enqueue commands
 *   wait.c     the calls that wait for commands
 *
 * Every function of the program's passes through here on the program's threads, completions come on
 * threads of the driver. No lock is held while a function of OpenCL or of plumb's is called, but
 * for `opening`, under which a device is opened: the driver may call back from any of them. */
#ifndef PLUMB_COLLECT_OPENCL_LAYER_H
#define PLUMB_COLLECT_OPENCL_LAYER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include "collect/opencl/anchors.h"
#include "collect/opencl/decode.h"

/* The next layer, or the driver. Written once, before the loader calls anything else here. */
extern cl_icd_dispatch plumb_ocl_next;

/* Guards the tables of queue.c and launch.c. */
extern pthread_mutex_t plumb_ocl_lock;

/* ---- session.c ------------------------------------------------------------------------------- */

enum { PLUMB_OCL_LANES = 64 };

/* A root device. Never freed; there are few. */
struct plumb_ocl_device {
    struct plumb_ocl_device *next;
    cl_device_id id;
    uint32_t index;
    uint32_t run;   /* that the clock belongs to; atomic */
    bool has_timer; /* the clock can be read at will; atomic */
    bool timer_lies;
    plumb_clock clock;                /* under plumb_ocl_lock, or the lock of anchors */
    struct plumb_ocl_anchors anchors; /* under its own lock, see session.c */
    uint64_t queues;                  /* bits: ordinals of living queues; under plumb_ocl_lock */
    struct {
        uint32_t run;
        plumb_lane lane;
    } lane[PLUMB_OCL_LANES][2]; /* by ordinal; in order, out of order */
};

/* The number of the recording, 0: none. It is looked for where there is none yet, so that an
 * unmarked program is recorded. */
uint32_t plumb_ocl_run(void);
/* The same, without opening one. */
uint32_t plumb_ocl_run_now(void);
/* Opens the clock of a device, and the lane for an ordinal, in the run; false: not now. `fresh`: a
 * queue of the device that the program has not got yet, on which the clock can be measured. */
bool plumb_ocl_device_open(struct plumb_ocl_device *d, uint32_t run, cl_command_queue fresh);
bool plumb_ocl_lane_open(plumb_lane *out, struct plumb_ocl_device *d, uint32_t run,
                         uint32_t ordinal, bool out_of_order, bool timed);
/* The device of an id, or of the one that it is a part of; NULL: no memory. */
struct plumb_ocl_device *plumb_ocl_device(cl_device_id id);
/* Takes the bounds of the device's clock from a completed command; before its event is emitted. */
void plumb_ocl_device_saw(struct plumb_ocl_device *d, uint32_t run,
                          const struct plumb_ocl_interval *i);
/* A kernel has completed. */
void plumb_ocl_kernel_ran(void);
/* Names that are interned; of the run. */
const struct plumb_ocl_names *plumb_ocl_names(void);
/* Registers the collector; false: there is no runtime. Once. */
bool plumb_ocl_session_begin(void);

/* ---- queue.c --------------------------------------------------------------------------------- */

struct plumb_ocl_queue {
    struct plumb_ocl_queue *next;
    cl_command_queue id;
    struct plumb_ocl_device *device;
    cl_queue_properties *properties; /* that the program gave, with the 0; NULL: none */
    size_t property_count;
    uint32_t ordinal;
    uint32_t references; /* of the program */
    uint32_t pending;    /* commands on their way */
    uint32_t run;        /* that `lane` belongs to */
    bool timed;          /* the driver reports times */
    bool forced;         /* which the program has not asked for */
    bool out_of_order;
    plumb_lane lane;
    plumb_origin last; /* of the newest command */
};

/* Under plumb_ocl_lock. The queue with an open lane; NULL: see plumb_ocl_queue_open(). */
struct plumb_ocl_queue *plumb_ocl_queue_ready(cl_command_queue id, uint32_t run);
/* Without the lock: makes it ready. A queue that was made by an extension is met here. False: it
 * cannot be recorded. */
bool plumb_ocl_queue_open(cl_command_queue id, uint32_t run);
/* Under plumb_ocl_lock: one of its pending commands is no more. */
void plumb_ocl_queue_done(struct plumb_ocl_queue *q);
/* The table's entries. */
void plumb_ocl_queue_hooks(cl_icd_dispatch *table);
void plumb_ocl_queues_forget(void);

/* ---- launch.c -------------------------------------------------------------------------------- */

struct plumb_ocl_record;
struct plumb_ocl_launch {
    struct plumb_ocl_command command;
    bool blocking;                   /* the call returns when the command is done */
    struct plumb_ocl_record *record; /* NULL: it is not observed */
    cl_event own;                    /* where the program wants no event */
    cl_event *event;
};

/* Around the call that enqueues: `begin` returns where the event is to be stored, `end` what the
 * call returned. */
cl_event *plumb_ocl_launch_begin(struct plumb_ocl_launch *l, cl_command_queue queue,
                                 cl_event *event);
cl_int plumb_ocl_launch_end(struct plumb_ocl_launch *l, cl_int rc);

/* A thread waits: for the newest command of a queue, or for the newest of these events that is on
 * its way. */
struct plumb_ocl_wait {
    plumb_lane lane; /* all-zero: nothing is recorded */
    plumb_origin origin;
    uint64_t begin;
};
void plumb_ocl_wait_queue(struct plumb_ocl_wait *out, cl_command_queue queue);
void plumb_ocl_wait_events(struct plumb_ocl_wait *out, cl_uint n, const cl_event *events);
void plumb_ocl_wait_end(const struct plumb_ocl_wait *wait);

/* Whether the layer holds a reference to the event. */
bool plumb_ocl_holds(cl_event event);

/* Figures of a run. */
struct plumb_ocl_counts {
    uint64_t unfinished; /* commands that had not completed at its end */
    uint64_t missed;     /* too many were on their way */
    uint64_t untimed;    /* the driver reported no times */
};
/* Reports what has completed. `calls`: functions of OpenCL may be called. */
void plumb_ocl_launches_drain(bool calls);
/* Waits until the device has none of the commands, for `ns` at most; what an event of the program's
 * holds back is not waited for. False: it still has. */
bool plumb_ocl_launches_await(uint64_t ns);
void plumb_ocl_launches_count(struct plumb_ocl_counts *out);
void plumb_ocl_launches_reset(void);
void plumb_ocl_launches_forget(void);

/* ---- enqueue.c: memory that is mapped -------------------------------------------------------- */

void plumb_ocl_mapped(const void *address, uint64_t bytes);
/* False: it is not known how much was mapped there. */
bool plumb_ocl_unmapped(uint64_t *bytes, const void *address);

/* ---- The others ------------------------------------------------------------------------------ */

void plumb_ocl_enqueue_hooks(cl_icd_dispatch *table);
void plumb_ocl_image_hooks(cl_icd_dispatch *table);
void plumb_ocl_wait_hooks(cl_icd_dispatch *table);

#endif

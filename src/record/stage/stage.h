/* stage.h: stages, and other nodes whose memory is measured, while they are open.
 *
 * The handle of such a span has its lowest bit set, so its end takes the long path
 * (record/span/span.c), while spans inside keep the short one: that compares handles anyway.
 * Everything here is done outside the span's two clock reads. A stage costs some microseconds,
 * mostly for the kernel's memory figures. */
#ifndef PLUMB_RECORD_STAGE_STAGE_H
#define PLUMB_RECORD_STAGE_STAGE_H

#include "record/runtime/enter.h"

#define PLUMB_STAGE_BIT UINT64_C(1)

struct plumb_stage_run { /* of one thread; th->stage[0 .. th->stages) are open, outermost first */
    uint64_t span;       /* address of its begin record */
    uint64_t key;
    uint64_t begin_ticks, end_ticks;
    uint64_t child_ticks;  /* of the stages inside that have ended */
    uint64_t inside_ticks; /* of them, those of the same request */
    uint64_t begin_ns;     /* CLOCK_MONOTONIC, for the log lines */
    uint64_t request;      /* serial; 0: none */
    uint32_t node, depth;  /* depth among all spans */
    uint32_t flags;        /* enum plumb_point_flags */
    uint32_t scope;        /* of memory; 0: none */
    uint32_t mark;         /* as given to span_mark; 0: none */
    uint32_t captured;     /* 1: its inputs are being captured (capture.h) */
    int64_t step;          /* of the thread when it began */
    uint32_t told;         /* 1: th->pack[] at its place holds inputs or outputs */
    /* Device samples that were recorded while it is open, of its node and of others. */
    uint64_t device_ns, device_samples, device_within_ns;
    const struct plumb_hooks *hooks; /* of the node when it began; NULL: none */
    char why[116];                   /* of a failure */
    uint64_t checked;                /* bit by bit, the checks that were evaluated */
    uint32_t unmet_count;            /* of them, those that failed ... */
    char unmet[260];                 /* ... and how */
};

plumb_span plumb_stage_begin(struct plumb_thread *th, uint32_t node, uint32_t flags);
/* Returns the open stage of `span`; NULL if it is not one. */
struct plumb_stage_run *plumb_stage_of(struct plumb_thread *th, plumb_span span);
/* Returns the key + 1 of the innermost open stage of the thread or, without one, of that of the
 * adopted context; 0: there is none. */
uint64_t plumb_stage_within(const struct plumb_thread *th);
/* Inside enter: spans deeper than `depth` have been closed from outside. Removes the stages among
 * them; their hooks are kept for plumb_stages_unhook(). */
void plumb_stages_closed(struct plumb_in in, uint32_t depth);
/* Outside enter: calls the kept hooks, innermost first. */
void plumb_stages_unhook(struct plumb_thread *th);
/* Outside enter, after the thread's run has stopped: the program ends spans deeper than `depth`.
 * Calls the hooks of the stages among them. */
void plumb_stages_late(struct plumb_thread *th, uint32_t depth);
/* A stage that has ended, for its last log lines. */
struct plumb_stage_ended {
    struct plumb_stage_run run;
    uint64_t end_ns; /* CLOCK_MONOTONIC */
    struct plumb_live_memory memory;
};
/* After the end's clock read, inside enter: ends the innermost stage at `ticks`. */
void plumb_stage_end_inside(struct plumb_in in, uint64_t ticks, struct plumb_stage_ended *out);
/* Outside again: its checkpoint, log lines and hooks. */
void plumb_stage_end_report(const struct plumb_stage_ended *ended);
/* The log lines of a stage; outside enter. */
struct plumb_stage_line {
    uint32_t node, group;
    uint32_t mark; /* as given to span_mark; 0: none */
    uint64_t begin_ns, end_ns;
    const char *why; /* of a failure; never NULL */
};
void plumb_stage_log_begin(uint32_t node, uint32_t group);
void plumb_stage_log_end(const struct plumb_stage_line *line, const struct plumb_live_memory *m);
/* Takes a checkpoint "<when>_<stage>", if the settings want them. */
void plumb_stage_checkpoint(const char *when, uint32_t node);
/* Returns whether no open stage of `request` is around a stage that this thread begins or has just
 * ended. */
bool plumb_stage_is_outermost(struct plumb_thread *th, uint64_t request);
bool plumb_stage_below_another(const struct plumb_thread *th);

/* async_stage.c: stages that are async spans. */
plumb_async plumb_async_begin_with_impl(plumb_node node, uint32_t flags);
/* After the end's clock read, outside enter; `was`: its slot as it was. */
void plumb_async_stage_ended(const struct plumb_live_async *was, uint64_t ticks, uint32_t mark,
                             const char *why);

/* Inside enter: adds a device sample of `node` to the open runs. */
void plumb_stage_device(struct plumb_thread *th, uint32_t node, uint64_t ns);
void plumb_stage_metric_impl(plumb_span span, const char *name);

#endif

/* stream.h: timing of streams by sequence (plumb/stream.h, live/ledger.h), for the files of this
 * folder and the function table. */
#ifndef PLUMB_RECORD_STAGE_STREAM_H
#define PLUMB_RECORD_STAGE_STREAM_H

#include "record/runtime/enter.h"
#include <plumb/stream.h>

/* ---- stream.c: the function table ------------------------------------------------------------ */

plumb_stream plumb_stream_begin_impl(const char *name, uint64_t at_ns);
plumb_stream_stage plumb_stream_stage_impl(plumb_stream stream, const char *name);
void plumb_stream_event_impl(const plumb_stream_stage *stage, uint32_t what, uint64_t sequence,
                             const char *text, uint64_t at_ns);
void plumb_stream_mark_impl(plumb_stream stream, uint32_t what, uint64_t sequence, uint64_t at_ns);

/* ---- stream_figures.c: under the ledger's lock ----------------------------------------------- */

/* Returns the place in the table of the streams called `name`; UINT32_MAX: the mapping is full. */
uint32_t plumb_stream_channel(struct plumb_in in, const char *name);
/* Returns the place in the table of a stage of those; UINT32_MAX: there are too many. */
uint32_t plumb_stream_stage_at(struct plumb_in in, uint32_t channel, const char *name);
/* Returns the number of an input of the stage; UINT32_MAX: it has too many. */
uint32_t plumb_stream_input_of(struct plumb_in in, struct plumb_live_stream_stage *stage,
                               const char *name);
void plumb_stream_sum_add(struct plumb_live_stream_sum *sum, uint64_t ns);
void plumb_stream_latency_add(struct plumb_run *run, struct plumb_live_channel *channel,
                              enum plumb_live_latency_kind kind, uint64_t ns);
/* Adds idle time of the stage to the cause. */
void plumb_stream_idle_add(struct plumb_in in, struct plumb_live_stream_stage *stage,
                           uint64_t cause_off, uint64_t ns);

/* ---- stream_step.c: a sequence at a stage, under the ledger's lock --------------------------- */

/* An event: when it happened, and to which sequence of which stage. */
struct plumb_stream_at {
    struct plumb_in in;
    struct plumb_live_stream *stream;
    uint32_t step; /* of the stream */
    uint64_t sequence, now_ns;
    const char *text;
};
void plumb_stream_step_event(const struct plumb_stream_at *at, uint32_t what);

#endif

/* timing_streams.h: the part of a timing report that holds streams (plumb/stream.h). Times are ns
 * since the run's start; a time before it is 0. Owned by the report. */
#ifndef PLUMB_MODEL_TIMING_STREAMS_H
#define PLUMB_MODEL_TIMING_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_timing_sum {
    uint64_t count, total_ns, min_ns, max_ns;
};
static inline double plumb_timing_sum_mean(const struct plumb_timing_sum *s)
{
    return s->count ? (double)s->total_ns / (double)s->count : 0;
}

/* Percentiles are of the newest `kept` samples, by linear interpolation between the order
 * statistics around (n - 1) q; the sum is that of all. */
struct plumb_timing_latency {
    struct plumb_timing_sum sum;
    uint64_t kept;
    double p50_ns, p95_ns;
};

struct plumb_timing_idle { /* of a stage, by cause */
    const char *cause;
    struct plumb_timing_sum sum;
};
struct plumb_timing_stream_stage {
    const char *name;
    const char **inputs;
    size_t input_count;
    uint64_t abandoned;
    struct plumb_timing_sum waited; /* from inputs ready to admitted */
    struct plumb_timing_sum ran;    /* from admitted to completed */
    struct plumb_timing_idle *idle;
    size_t idle_count;
};
struct plumb_timing_channel_of_streams { /* streams of one name */
    const char *name;
    uint64_t streams, outputs, controls;
    struct plumb_timing_latency first_output, control_to_output, chunk_period;
    struct plumb_timing_stream_stage *stages;
    size_t stage_count;
};

/* One stream; the newest 512 are kept, oldest first. */
struct plumb_timing_stream {
    uint32_t channel; /* index in `channels` */
    uint32_t request; /* index in `requests` of the report, or PLUMB_TIMING_NONE */
    uint64_t number;  /* 1 is the first of the run */
    uint64_t begin_ns;
    bool open; /* when the run ended */
    uint64_t lasted_ns;
    uint64_t outputs;
    uint64_t first_output_ns; /* since its begin; with outputs == 0 of no meaning */
};

/* A sequence at a stage; the newest 4096 are kept, in the order of their first events. */
struct plumb_timing_sequence {
    uint32_t channel, stage; /* indexes: of `channels`, and of its `stages` */
    uint64_t stream;         /* number */
    uint64_t sequence;
    bool ready, admitted, completed, abandoned; /* whether the times are known */
    uint64_t ready_ns, admitted_ns, completed_ns;
    struct {               /* the idle time of the stage before it, in up to two parts */
        const char *cause; /* NULL: no such part */
        uint64_t begin_ns, ns;
    } idle[2];
};

struct plumb_timing_streams {
    struct plumb_timing_channel_of_streams *channels;
    size_t channel_count;
    struct plumb_timing_stream *streams;
    size_t stream_count;
    uint64_t streams_lost; /* older than those kept */
    struct plumb_timing_sequence *sequences;
    size_t sequence_count;
    uint64_t sequences_lost; /* older than those kept */
    uint64_t events_lost;    /* beyond a bound */
    uint64_t events_stale;   /* that do not fit, such as completed before admitted */
};

#endif

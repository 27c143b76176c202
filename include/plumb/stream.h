/* stream.h: the timing of a streaming pipeline, whose stages work on one sequence after another.
 * Part of plumb.h; docs/streams.md.
 *
 * The scheduler of the program reports what happens to each sequence (a chunk of video, a block of
 * audio) at each stage: an input arrived, all are ready, the stage begins, it is done. plumb then
 * says why a stage was idle between two sequences, how long the first output took, how long a
 * control of the user took to become visible, and how regular the outputs were:
 *
 *     plumb_stream s = plumb_stream_begin("video");
 *     plumb_stream_stage denoise = plumb_stream_stage_of(s, "denoise");
 *     plumb_stream_control(s, 7);                     (the user moved; chunk 7 shows it)
 *     plumb_stream_input(denoise, 7, "latents");
 *     plumb_stream_input(denoise, 7, "control");      (50 ms late)
 *     plumb_stream_ready(denoise, 7);
 *     plumb_stream_admitted(denoise, 7, NULL);
 *     run(model, 7);
 *     plumb_stream_completed(denoise, 7);
 *     plumb_stream_output(s, 7);
 *     plumb_stream_end(s);
 *
 * `plumb report streams` prints it: 50 ms of the idle time of denoise are those of "control".
 *
 * Any thread may call, for any sequence, also several at once; a signal handler may not. Each call
 * takes a lock: 70 ns, and longer while another thread holds it. The records survive a killed
 * process. Bounds: the newest 512 streams and 4096 sequences are kept, 16 sequences of a stage are
 * open at once; sums cover everything. */
#ifndef PLUMB_STREAM_H
#define PLUMB_STREAM_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are those of the binary interface; further ones are appended. */
enum plumb_stream_what {
    PLUMB_STREAM_INPUT = 1,     /* of a stage; text: its name */
    PLUMB_STREAM_READY = 2,     /* of a stage: all inputs have come */
    PLUMB_STREAM_ADMITTED = 3,  /* of a stage; text: why it was not admitted before, or NULL */
    PLUMB_STREAM_COMPLETED = 4, /* of a stage */
    PLUMB_STREAM_ABANDONED = 5, /* of a stage */
    PLUMB_STREAM_CONTROL = 6,   /* of a stream */
    PLUMB_STREAM_OUTPUT = 7,    /* of a stream */
    PLUMB_STREAM_END = 8        /* of a stream */
};

/* ---- The same with the time of the event ---------------------------------------------------- */

/* Begins a stream at `at_ns`, in ns of CLOCK_MONOTONIC_RAW; 0: now. This and the next two are for a
 * scheduler that learns of an event later than it happened; the functions below use them. */
static inline plumb_stream plumb_stream_begin_at(const char *name, uint64_t at_ns)
{
    const struct plumb_api *api = plumb_api_();
    plumb_stream none = {0};
    return PLUMB_KNOWS_(api, stream_begin) ? api->stream_begin(name, at_ns) : none;
}
/* Records a control, an output or the end of a stream at `at_ns`. */
static inline void plumb_stream_mark_at(plumb_stream stream, uint32_t what, uint64_t sequence,
                                        uint64_t at_ns)
{
    const struct plumb_api *api = plumb_api_for_(stream.id);
    if (PLUMB_KNOWS_(api, stream_mark))
        api->stream_mark(stream, what, sequence, at_ns);
}
/* Records an event of a sequence at a stage at `at_ns`. */
static inline void plumb_stream_event_at(plumb_stream_stage stage, uint32_t what, uint64_t sequence,
                                         const char *text, uint64_t at_ns)
{
    const struct plumb_api *api = plumb_api_for_(stage.stream);
    if (PLUMB_KNOWS_(api, stream_event))
        api->stream_event(&stage, what, sequence, text, at_ns);
}

/* ---- Streams -------------------------------------------------------------------------------- */

/* Begins a stream: one session of a user, when the program accepts it. Latencies are summed up by
 * `name`, the kind of stream; 31 different ones have figures of their own. It belongs to the
 * request that the calling thread works for. */
static inline plumb_stream plumb_stream_begin(const char *name)
{
    return plumb_stream_begin_at(name, 0);
}
/* Ends the stream. Events of it that come later are ignored. */
static inline void plumb_stream_end(plumb_stream stream)
{
    plumb_stream_mark_at(stream, PLUMB_STREAM_END, 0, 0);
}
/* Records that a control of the user arrived, which output `sequence`, or else the next one after
 * it, is the first to show. The time until then is a sample of control-to-output. 32 controls of a
 * stream wait at once; of more the oldest is dropped. */
static inline void plumb_stream_control(plumb_stream stream, uint64_t sequence)
{
    plumb_stream_mark_at(stream, PLUMB_STREAM_CONTROL, sequence, 0);
}
/* Records that output `sequence` left the pipeline. The first one of a stream gives its
 * first-output latency, since plumb_stream_begin(); each further one a chunk period, since the
 * output before it. */
static inline void plumb_stream_output(plumb_stream stream, uint64_t sequence)
{
    plumb_stream_mark_at(stream, PLUMB_STREAM_OUTPUT, sequence, 0);
}

/* ---- Sequences at a stage ------------------------------------------------------------------- */

/* Returns the stage of the stream with this name, made at the first call. All-zero: the stream has
 * 16 others, or the run 256. */
static inline plumb_stream_stage plumb_stream_stage_of(plumb_stream stream, const char *name)
{
    const struct plumb_api *api = plumb_api_for_(stream.id);
    plumb_stream_stage none = {0, 0, 0};
    return PLUMB_KNOWS_(api, stream_stage) ? api->stream_stage(stream, name) : none;
}
/* Records that the input `name` of a sequence has come. A stage has up to 8 different ones. */
static inline void plumb_stream_input(plumb_stream_stage stage, uint64_t sequence, const char *name)
{
    plumb_stream_event_at(stage, PLUMB_STREAM_INPUT, sequence, name, 0);
}
/* Records that all inputs of a sequence are ready. Without it, they are when the last one of them
 * came that was recorded before the sequence was admitted. */
static inline void plumb_stream_ready(plumb_stream_stage stage, uint64_t sequence)
{
    plumb_stream_event_at(stage, PLUMB_STREAM_READY, sequence, NULL, 0);
}
/* Records that the stage begins to work on a sequence. `reason`: why it did not do so as soon as
 * the inputs were ready ("output_full"); NULL: unknown, reported as "scheduler_admission".
 *
 * If the stage was idle, the time since it completed its last sequence has a cause. Up to 1 ms it
 * is "continuous". The part until the inputs were ready is that of the inputs that came in that
 * part, by their names, as in "control+latents"; "inputs_not_ready" if none was reported. The rest
 * is that of `reason`. A part of up to 1 ms is added to the other one. */
static inline void plumb_stream_admitted(plumb_stream_stage stage, uint64_t sequence,
                                         const char *reason)
{
    plumb_stream_event_at(stage, PLUMB_STREAM_ADMITTED, sequence, reason, 0);
}
/* Records that the stage has completed a sequence. */
static inline void plumb_stream_completed(plumb_stream_stage stage, uint64_t sequence)
{
    plumb_stream_event_at(stage, PLUMB_STREAM_COMPLETED, sequence, NULL, 0);
}
/* Records that the sequence is given up, whether it was admitted or not: it was cancelled, or the
 * stage failed. */
static inline void plumb_stream_abandoned(plumb_stream_stage stage, uint64_t sequence)
{
    plumb_stream_event_at(stage, PLUMB_STREAM_ABANDONED, sequence, NULL, 0);
}

#ifdef __cplusplus
}
#endif
#endif

/* plumb.h: record where the time of a program goes.
 *
 * Mark what you want to see, build with `pkg-config --cflags --libs plumb`, run with PLUMB=1 (or
 * under `plumb record`), read the result with `plumb report`:
 *
 *     int decode(struct vae *v)
 *     {
 *         PLUMB_SPAN("vae_decode");        (a declaration: lasts to the end of the block)
 *         ...
 *     }
 *
 * | You want to time                              | Use                                | Costs |
 * |-----------------------------------------------|------------------------------------|-------|
 * | the rest of a block                           | PLUMB_SPAN("name")                 | 23 ns |
 * | a stage of the pipeline, with its memory      | PLUMB_STAGE(var, "name")           | us    |
 * | from here to there in one function            | plumb_begin(&point), plumb_end()   | 23 ns |
 * | steps that follow each other without a gap    | PLUMB_LAPS(var), PLUMB_LAP(var, s) | 14 ns |
 * | something whose name is made at run time      | plumb_node_get(), PLUMB_SPAN_NODE  | 24 ns |
 * | from this thread to another                   | plumb_async_begin(), _end()        | 0.1us |
 * | every call of a function                      | PLUMB_WRAP(...) of wrap.h          | 23 ns |
 * | one operation, as seconds and a log line      | PLUMB_TIMED(var, s) of stopwatch.h | 50 ns |
 * | parts of a step, added up for its log line    | PLUMB_STEP_TIMED of step_timer.h   | 50 ns |
 * | nothing: a time is known already              | plumb_record_ns(node, ns)          | 50 ns |
 *
 * | You want to                                   | Look into (this file includes all) |
 * |-----------------------------------------------|------------------------------------|
 * | open and close a run, set its options         | run.h                              |
 * | have the figures inside the program           | summary.h                          |
 * | keep several engines apart; synchronise a GPU | pipeline.h                         |
 * | carry the place in the call tree to a worker  | context.h                          |
 * | group stages by request                       | stage.h                            |
 * | record tensors: of stages, of layers          | signature.h, activation.h, value.h |
 * | time a streaming pipeline by sequence         | stream.h                           |
 * | check the inputs and outputs of stages        | check.h                            |
 * | report allocations, query memory              | memory.h                           |
 * | add instants and values to the trace          | timeline.h                         |
 * | restrict the trace to parts of the program    | region.h                           |
 * | be called around the runs of a node           | hook.h                             |
 * | count dispatches; read counts while it runs   | count.h                            |
 * | record a device (not included here)           | collector.h                        |
 * | read recordings (another library)             | read.h                             |
 *
 * A library can be marked without linking it to anything: the headers alone are enough. If the
 * process has a libplumb, however it was loaded, the library reports to it; otherwise everything is
 * off. A shared object looks for the runtime once, at its first call; it does not find a libplumb
 * that is loaded later.
 *
 * Rules that hold for every function
 *   - Nothing prints to stdout, exits, aborts, or changes errno.
 *   - Any thread may call anything, unless its comment says otherwise.
 *   - A signal handler may use spans, plumb_counter_add(), plumb_set_debug(), plumb_configure() and
 *     plumb_trace_keep(). If it has interrupted plumb on its own thread, spans and counts are
 *     dropped and counted, and functions that take a lock return PLUMB_ERR_STATE or do nothing:
 *     call them again later. Other calls may allocate.
 *   - Without a runtime in the process (or with PLUMB_DISABLE) every call does nothing. A program
 *     built with PLUMB_DISABLE has no reference to plumb and, when optimised, none of its code.
 *     Arguments are evaluated all the same.
 *   - Two statuses are not repeated in each comment: PLUMB_ERR_ABSENT, without a runtime, and
 *     PLUMB_ERR_STATE, in a signal handler that has interrupted plumb.
 *   - An all-zero handle (plumb_span, plumb_node, ...) means "none". It is returned while nothing
 *     is recorded, and accepted everywhere.
 *   - Strings passed in are copied before the call returns. NULL names count as "".
 *   - The result comes first (`out`) and is set on success only; `plumb_error *err` comes last and
 *     may be NULL.
 *
 * Cost: the table's figures are for a recording, on one machine (docs/recording.md). A span is two
 * clock reads and two 8-byte stores plus a few instructions; every 500th span or so folds the
 * thread's last records into its statistics (2 to 5 us). The first run of a node on a thread costs
 * some microseconds more. Off: one relaxed load and one predicted branch. */
#ifndef PLUMB_PLUMB_H
#define PLUMB_PLUMB_H

#include <plumb/activation.h>
#include <plumb/check.h>
#include <plumb/context.h>
#include <plumb/count.h>
#include <plumb/detail/scope.h>
#include <plumb/hook.h>
#include <plumb/memory.h>
#include <plumb/metrics.h>
#include <plumb/pipeline.h>
#include <plumb/region.h>
#include <plumb/run.h>
#include <plumb/signature.h>
#include <plumb/stage.h>
#include <plumb/step_timer.h>
#include <plumb/stopwatch.h>
#include <plumb/stream.h>
#include <plumb/summary.h>
#include <plumb/timeline.h>
#include <plumb/version.h>
#include <plumb/wrap.h>
#include <stdlib.h> /* programs rely on having these two from here */
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Declarations that last to the end of the block ---------------------------------------------
 * However the block is left: return, break, goto. `name` is a string literal. A declaration cannot
 * be the body of an `if`, or follow a `case` directly: write braces. */

/* A span of the node `name`. */
#define PLUMB_SPAN(name) PLUMB_SCOPE_UNNAMED_(name, PLUMB_POINT_PLAIN)
/* ... whose handle is called `var`, for the functions that take one. */
#define PLUMB_SPAN_AS(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_PLAIN)
/* ... that is recorded only while debug is on (PLUMB_DEBUG=1, plumb_set_debug()). */
#define PLUMB_SPAN_DEBUG(name) PLUMB_SCOPE_UNNAMED_(name, PLUMB_POINT_DEBUG)
/* ... of a node from plumb_node_get(). */
#define PLUMB_SPAN_NODE(node)                                                                      \
    plumb_span PLUMB_ID_(plumb_span_) PLUMB_CLEANUP_(plumb_end_cleanup_) = plumb_begin_node(node)

/* A stage of the pipeline (stage.h), whose handle is called `var`. */
#define PLUMB_STAGE(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_STAGE)
#define PLUMB_STAGE_DEBUG(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_STAGE | PLUMB_POINT_DEBUG)

/* Steps that follow each other: PLUMB_LAPS(lap); PLUMB_LAP(lap, "read"); ... PLUMB_LAP(lap, "run");
 * One clock read ends a node and begins the next; the last ends with the block. */
#define PLUMB_LAPS(var) plumb_span var PLUMB_CLEANUP_(plumb_end_cleanup_) = {0}
#define PLUMB_LAP(var, name) PLUMB_LAP_AS_(var, name, PLUMB_POINT_PLAIN)
/* The next lap is a stage: `var` is its handle until the next lap. */
#define PLUMB_STAGE_LAP(var, name) PLUMB_LAP_AS_(var, name, PLUMB_POINT_STAGE)

/* The phase, step or pipeline of this thread, which the end of the block restores. */
#define PLUMB_PHASE(name) PLUMB_RESTORED_SCOPE_(plumb_phase_begin(name))
#define PLUMB_STEP(step) PLUMB_RESTORED_SCOPE_(plumb_step_begin(step))
#define PLUMB_PIPELINE(pipeline) PLUMB_RESTORED_SCOPE_(plumb_pipeline_begin(pipeline))

/* for (PLUMB_STEPS(step, n)) { ... }: an int `step` from 0 to n-1, which plumb records as the
 * current step. The previous step is restored however the loop is left. A stage that is run alone
 * (stage_library.h) runs only the wanted steps of its outermost loop. */
#define PLUMB_STEPS(step, n)                                                                       \
    int step##_plumb_ PLUMB_CLEANUP_(plumb_steps_leave_) = plumb_steps_enter_(),                   \
                      step##_obeys_ PLUMB_CLEANUP_(plumb_loop_leave_) = plumb_loop_enter_(),       \
                      step##_end_ = plumb_loop_end_(step##_obeys_, (n)),                           \
                      step = plumb_loop_first_(step##_obeys_, step##_end_);                        \
    step < step##_end_ &&plumb_steps_set_(step##_plumb_, step##_obeys_, step);                     \
    ++step

/* A trace point `var`, a static object, for plumb_begin() and plumb_lap(). */
#define PLUMB_POINT(var, name)                                                                     \
    static struct plumb_point var = PLUMB_POINT_INIT(name, PLUMB_POINT_PLAIN)

/* ---- Spans ------------------------------------------------------------------------------------
 * A span is one run of a node on the calling thread; spans nest. It must be ended on its thread,
 * innermost first; ending an outer one first closes what is still open inside it as `unbalanced`
 * (counted, no sample). */

/* Begins a span of the point's node on the calling thread. Returns its handle, for plumb_end().
 * `point` must live as long as its object (PLUMB_POINT). 23 ns with the end. */
static inline plumb_span plumb_begin(struct plumb_point *point);
/* Begins a span of a node of plumb_node_get(), whose name is made at run time. Returns its handle.
 * 24 ns with the end. */
static inline plumb_span plumb_begin_node(plumb_node node);
/* Ends the span: a sample, in nanoseconds of the host's clock. A handle that has ended, or is of an
 * earlier run, ends nothing. */
static inline void plumb_end(plumb_span span);
/* Ends `span` and begins one of `point` on the same clock read. Returns the handle of the new one.
 * 14 ns. */
static inline plumb_span plumb_lap(plumb_span span, struct plumb_point *point);

/* Marks an open span of the calling thread as failed: its end counts as a failure and leaves no
 * sample. It must still be ended. `why`: NULL, or the reason; the last one is kept with the node,
 * up to 255 bytes. 0.3 us with a reason: a lock. */
static inline void plumb_span_fail(plumb_span span, const char *why);
/* Marks an open span of the calling thread as abandoned: its end leaves neither a sample nor a
 * failure. It must still be ended. */
static inline void plumb_span_abandon(plumb_span span);

/* Adds an attribute to an open span of the calling thread, kept with its records in the trace. Each
 * distinct key is interned for the life of the process: use few. Strings are cut at 255 bytes.
 * 55 ns. */
static inline void plumb_arg_i64(plumb_span span, const char *key, int64_t value);
static inline void plumb_arg_f64(plumb_span span, const char *key, double value);
static inline void plumb_arg_str(plumb_span span, const char *key, const char *value);

/* ---- Nodes, samples, counters ---------------------------------------------------------------- */

/* Returns the node called `name`, which the first call interns for the life of the process: keep it
 * rather than ask again. Beyond PLUMB_MAX_NODES it returns the node "(other)", without a runtime 0.
 * 20 ns: one hash of the name; only the first call with a name takes a lock. */
static inline plumb_node plumb_node_get(const char *name);
/* Records a sample that the program measured, in nanoseconds: as a span of `ns` without children.
 * It is not subtracted from the self time of the span around it. More than 2^58 - 1 (9 years) is
 * rejected and counted: usually a negative difference. 50 ns. */
static inline void plumb_record_ns(plumb_node node, uint64_t ns);
/* Records a sample as device time of the node, in nanoseconds: the device columns of its row. Same
 * bound and cost. */
static inline void plumb_record_device_ns(plumb_node node, uint64_t ns);
/* Adds `n`, which may be negative, to the counter `name` of the thread's pipeline; reports show its
 * total. 20 ns, in a step 30 ns; a name that the thread has not used lately is searched for, one by
 * one, so use few. More than PLUMB_MAX_NODES are dropped and counted. (plumb_gauge_set() of
 * timeline.h sets a value instead.) */
static inline void plumb_counter_add(const char *name, int64_t n);

/* ---- Async spans ------------------------------------------------------------------------------
 * Begun on one thread, ended on any thread; many may be open. They count for the phase and step of
 * their begin, and have no self time and no children. At most 65536 are open at once; further ones
 * are dropped and counted. 0.1 us from begin to end. */

/* Begins an async span of `node`. Returns its handle; end it with one of the next three, once. */
static inline plumb_async plumb_async_begin(plumb_node node);
/* Ends the async span: a sample. A handle that has ended, or is of an earlier run, ends nothing. */
static inline void plumb_async_end(plumb_async span);
/* Ends the async span as a failure, without a sample. `why`: as of plumb_span_fail(). */
static inline void plumb_async_fail(plumb_async span, const char *why);
/* Ends the async span without a sample or a failure. */
static inline void plumb_async_abandon(plumb_async span);

/* ---- Phases, steps, pipelines of a thread -------------------------------------------------------
 * They nest, at most 64 deep with contexts (context.h); deeper ones are counted and have no effect.
 * Scopes may be ended in any order: ending an outer one ends the inner ones too. They last beyond a
 * run, and cost the same while nothing is recorded. */

/* Sets the phase of the calling thread: "inference" (the default, also of NULL and ""), "train",
 * "val", "test", or a name that the program chooses. Beyond 255 names it is "(other)". Returns the
 * scope, for plumb_scope_end(). 65 ns with the end. */
static inline plumb_scope plumb_phase_begin(const char *name);
/* Sets the step of the calling thread: the index of the current iteration, 0 or more; a negative
 * one leaves it as it is. Returns the scope. 65 ns with the end, 20 ns a turn of PLUMB_STEPS. */
static inline plumb_scope plumb_step_begin(int64_t step);
/* Makes the calling thread record into `pipeline` (pipeline.h); NULL: the default one. Returns the
 * scope. 1 us with the end: a lock at both. */
static inline plumb_scope plumb_pipeline_begin(plumb_pipeline *pipeline);
/* Restores what the scope replaced, on the thread that began it. One that has ended restores
 * nothing. */
static inline void plumb_scope_end(plumb_scope scope);

#include <plumb/detail/recording.h>

#ifdef __cplusplus
}
#endif
#endif

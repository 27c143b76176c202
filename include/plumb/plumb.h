/* plumb.h: record where the time of a program goes.
 *
 * Three ways to use it, in order of effort:
 *
 *   1. Mark what you want to see and build with `pkg-config --cflags --libs plumb`:
 *
 *          int decode(struct vae *v)
 *          {
 *              PLUMB_SPAN("vae_decode");        (a declaration: lasts to the end of the block)
 *              ...
 *          }
 *
 *      Run with PLUMB=1 (or under `plumb record`) and read the result with `plumb report`.
 *   2. Mark a library without linking it to anything: the header alone is enough. If the process
 *      has a libplumb, however it was loaded, the library reports to it; otherwise everything is
 *      off. A shared object looks for the runtime once, at its first call (lookup.h); it does not
 *      find a libplumb that is loaded later.
 *   3. Drive the recording from the program: plumb_start(), pipelines, plumb_summary_rows(), ...
 *
 * Rules that hold for every function below
 *   - Nothing here prints to stdout, exits, aborts, or changes errno.
 *   - Any thread may call anything, unless its comment says otherwise.
 *   - A signal handler may use spans, plumb_count(), plumb_set_debug(), plumb_configure() and
 *     plumb_trace_keep(). If it has interrupted plumb on its own thread, spans and counts are
 *     dropped and counted, and functions that take a lock return PLUMB_ERR_STATE or do nothing:
 *     call them again later. plumb_set_debug() then takes effect a moment later. Other calls may
 *     allocate.
 *   - Without a runtime in the process (or with PLUMB_DISABLE) every call does nothing; functions
 *     with a status return PLUMB_ERR_ABSENT.
 *   - Strings passed in are copied before the call returns. NULL names count as "".
 *   - With PLUMB_DISABLE defined, the object contains no code and no symbol reference of plumb.
 *
 * Cost, with recording on: a span is two clock reads and two 8-byte stores plus a few instructions;
 * every 500th span or so folds the thread's last records into its statistics (2 to 5 us, by the
 * averages; PLUMB_RING says how many records). Off: one relaxed load and one predicted branch.
 */
#ifndef PLUMB_PLUMB_H
#define PLUMB_PLUMB_H

#include <plumb/abi.h>
#if !defined(PLUMB_DISABLE)
#include <errno.h>
#include <plumb/lookup.h>
#include <stdio.h>
#include <stdlib.h> /* programs rely on having it from here */
#include <string.h>
#endif
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PLUMB_DISABLE)
#include <plumb/disabled.h>
#else

/* The runtime's table, found through the linker. Weak unless PLUMB_LINKED says that the program
 * links libplumb (then the reference must hold the library in the link). A function, not an object:
 * a table copied into the executable could never grow. */
#if defined(PLUMB_LINKED)
extern const struct plumb_api *plumb_api_1(void);
#else
extern const struct plumb_api *plumb_api_1(void) __attribute__((weak));
#endif

#define PLUMB_MERGED_ __attribute__((weak, visibility("hidden")))

extern PLUMB_MERGED_ struct plumb_client plumb_client_1;
const struct plumb_api *plumb_find_api_(void) PLUMB_MERGED_;
plumb_span plumb_begin_slow_(struct plumb_point *point) PLUMB_MERGED_;
void plumb_client_fini_(void) __attribute__((destructor(101))) PLUMB_MERGED_;

PLUMB_MERGED_ struct plumb_client plumb_client_1 = {NULL, NULL, 0, PLUMB_MODE_UNKNOWN};

static inline const struct plumb_api *plumb_client_api_(void)
{
    return __atomic_load_n(&plumb_client_1.api, __ATOMIC_RELAXED);
}

/* Returns whether no runtime was found; false while it is not known yet. */
static inline int plumb_is_absent_(void)
{
    return __atomic_load_n(&plumb_client_1.state, __ATOMIC_RELAXED) == PLUMB_CLIENT_ABSENT;
}

/* Returns the runtime's table, or NULL: there is no runtime, or it cannot be looked up now. A
 * lookup that interrupts another one of its own thread (from a signal handler, or from a function
 * of the host that the lookup calls) returns NULL, and its trace points look again when they are
 * passed the next time. Other threads look on their own, so that their spans are not lost. An
 * object that has found no runtime stays off, also if one is loaded later. */
PLUMB_MERGED_ const struct plumb_api *plumb_find_api_(void)
{
    const struct plumb_api *api = NULL, *none = NULL;
    uint32_t state = __atomic_load_n(&plumb_client_1.state, __ATOMIC_ACQUIRE), self;
    int saved;
    if (state == PLUMB_CLIENT_FOUND || state == PLUMB_CLIENT_ABSENT)
        return plumb_client_api_();
#if defined(PLUMB_LINKED)
    if (!(api = plumb_api_1()))
        return NULL; /* it is being loaded */
#else
    if (plumb_api_1 && !(api = plumb_api_1()))
        return NULL; /* the same */
#endif
    if (!api) {
        self = (uint32_t)PLUMB_CLIENT_LOOKING | (uint32_t)plumb_syscall_(SYS_gettid);
        if (state == self)
            return NULL;
        saved = errno;
        __atomic_compare_exchange_n(&plumb_client_1.state, &state, self, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        api = plumb_lookup_();
        errno = saved;
    }
    if (api && api->version != 1)
        api = NULL;
    /* Written once: of two threads that come here at the same time the first. Span begin and end
     * read it plainly, behind a mode word that says on. */
    __atomic_compare_exchange_n(&plumb_client_1.api, &none, api, 0, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&plumb_client_1.state, api ? PLUMB_CLIENT_FOUND : PLUMB_CLIENT_ABSENT,
                     __ATOMIC_RELEASE);
    return api;
}

/* Everything but the common case: the first pass of a point, and points that need the slower entry.
 */
PLUMB_MERGED_ plumb_span plumb_begin_slow_(struct plumb_point *point)
{
    plumb_span none = {0};
    const struct plumb_api *api = plumb_find_api_();
    if (!api) {
        if (plumb_is_absent_())
            __atomic_store_n(&point->mode, (uint32_t)PLUMB_MODE_OFF, __ATOMIC_RELAXED);
        return none;
    }
    if (__atomic_load_n(&point->mode, __ATOMIC_ACQUIRE) == PLUMB_MODE_UNKNOWN)
        api->point_register(&plumb_client_1, point);
    switch (__atomic_load_n(&point->mode, __ATOMIC_ACQUIRE)) {
    case PLUMB_MODE_ON:
        return api->span_begin(point);
    case PLUMB_MODE_SPECIAL:
        return api->span_begin_special(point);
    default:
        return none;
    }
}

/* Runs once per translation unit of the object, after its own destructors (101: last), which may
 * pass trace points; the second call finds nothing left. */
PLUMB_MERGED_ void plumb_client_fini_(void)
{
    if (plumb_client_api_() &&
        (plumb_client_1.points || plumb_client_1.activations != PLUMB_MODE_UNKNOWN))
        plumb_client_api_()->client_detach(&plumb_client_1);
    plumb_client_1.activations = PLUMB_MODE_OFF;
}

static inline const struct plumb_api *plumb_api_(void)
{
    return __atomic_load_n(&plumb_client_1.state, __ATOMIC_ACQUIRE) == PLUMB_CLIENT_FOUND
               ? plumb_client_api_()
               : plumb_find_api_();
}

/* The table of an older runtime ends before the members that were added later. */
#define PLUMB_KNOWS_(api, member)                                                                  \
    ((api) && (api)->size >= offsetof(struct plumb_api, member) + sizeof((api)->member))

/* ---- Spans ------------------------------------------------------------------------------------
 * A span is a run of a node on the calling thread; spans nest. It must be ended on its thread,
 * innermost first; ending an outer one first closes what is still open inside it as `unbalanced`
 * (counted, no sample). */

/* A thread that sees a point switched on must also see its node and the table. x86 keeps loads in
 * order by itself; there an acquire would only prevent the compiler from omitting the end of a span
 * that is off. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__SANITIZE_THREAD__)
#define PLUMB_MODE_ORDER_ __ATOMIC_RELAXED
#else
#define PLUMB_MODE_ORDER_ __ATOMIC_ACQUIRE
#endif

static inline plumb_span plumb_begin(struct plumb_point *point)
{
    uint32_t mode = __atomic_load_n(&point->mode, PLUMB_MODE_ORDER_);
    if (__builtin_expect(mode == PLUMB_MODE_OFF, 1)) {
        plumb_span none = {0};
        return none;
    }
    if (__builtin_expect(mode == PLUMB_MODE_ON, 1))
        return plumb_client_1.api->span_begin(point);
    return plumb_begin_slow_(point);
}

static inline void plumb_end(plumb_span span)
{
    if (__builtin_expect(span.id != 0, 0))
        plumb_client_1.api->span_end(span);
}

/* Begins a span of a node whose name is made at run time: intern the name once with
 * plumb_node_get(). */
static inline plumb_span plumb_begin_node(plumb_node node)
{
    const struct plumb_api *api = plumb_client_api_();
    plumb_span none = {0};
    return api && node ? api->span_begin_node(node) : none;
}

/* Ends `span` (may be none) and begins `point` on one clock read. */
static inline plumb_span plumb_lap(plumb_span span, struct plumb_point *point)
{
    if (__builtin_expect(__atomic_load_n(&point->mode, __ATOMIC_ACQUIRE) == PLUMB_MODE_ON, 1))
        return plumb_client_api_()->span_lap(span, point);
    plumb_end(span);
    return plumb_begin(point);
}

/* Marks an open span: when it ends it counts as a failure and leaves no sample. `why` may be NULL;
 * the last one is kept. The span must still be ended. */
static inline void plumb_span_fail(plumb_span span, const char *why)
{
    if (span.id)
        plumb_client_api_()->span_mark(span, 1, why);
}

/* Marks an open span: its end leaves neither a sample nor a failure. The span must still be
 * ended. */
static inline void plumb_span_abandon(plumb_span span)
{
    if (span.id)
        plumb_client_api_()->span_mark(span, 2, NULL);
}

/* Attributes of the innermost open span, kept with the span's records. Keys should be literals or
 * few: each distinct key is interned. Strings are cut at 255 bytes. */
static inline void plumb_arg_i64(plumb_span span, const char *key, int64_t value)
{
    if (span.id)
        plumb_client_api_()->span_arg(span, key, 1, &value);
}
static inline void plumb_arg_f64(plumb_span span, const char *key, double value)
{
    if (span.id)
        plumb_client_api_()->span_arg(span, key, 2, &value);
}
static inline void plumb_arg_str(plumb_span span, const char *key, const char *value)
{
    if (span.id)
        plumb_client_api_()->span_arg(span, key, 3, value);
}

/* gcc lets a goto or a case label jump past a declaration into its scope (clang and C++ refuse it).
 * The variable is then uninitialized. It must be read from memory, so that the content of a
 * register is not taken for an open handle, and it may hold any value even without a runtime. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#define PLUMB_JUMPED_PAST_(variable) __asm__ volatile("" : "+m"(variable))
#else
#define PLUMB_JUMPED_PAST_(variable) ((void)0)
#endif

static inline void plumb_end_cleanup_(plumb_span *span)
{
    PLUMB_JUMPED_PAST_(*span);
    if (__builtin_expect(span->id != 0, 0) && plumb_client_1.api)
        plumb_client_1.api->span_end(*span);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Returns the node called `name`, which the first call interns. Cost: one hash of the name; no lock
 * after the first call with it. Beyond PLUMB_MAX_NODES: the node "(other)". 0 without a runtime. */
static inline plumb_node plumb_node_get(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->node_get(name) : 0;
}

/* Records a sample that the program measured, on the host channel: as a span of `ns` without
 * children. Its time is not subtracted from the self time of the span around it. More than 2^58 - 1
 * (9 years) is rejected and counted: usually a negative difference. */
static inline void plumb_record_ns(plumb_node node, uint64_t ns)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->record_ns(node, 0, ns);
}

/* As plumb_record_ns(), on the device channel. */
static inline void plumb_record_device_ns(plumb_node node, uint64_t ns)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->record_ns(node, 1, ns);
}

/* Adds `n` to the counter `name` of the thread's current pipeline. Cost: a linear search through
 * the counters and one atomic add, so use few names. */
static inline void plumb_count(const char *name, int64_t n)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->count(name, n);
}

/* ---- Async spans ------------------------------------------------------------------------------
 * Begun on one thread, ended on any thread; many may be open. They count for the phase and step of
 * their begin, and have no self time and no children. At most 65535 are open at once; beyond that
 * they are dropped and counted.
 */
static inline plumb_async plumb_async_begin(plumb_node node)
{
    const struct plumb_api *api = plumb_api_();
    plumb_async none = {0};
    return api && node ? api->async_begin(node) : none;
}
static inline void plumb_async_end(plumb_async span)
{
    if (span.id)
        plumb_client_api_()->async_end(span, 0, NULL);
}
static inline void plumb_async_fail(plumb_async span, const char *why)
{
    if (span.id)
        plumb_client_api_()->async_end(span, 1, why);
}
static inline void plumb_async_abandon(plumb_async span)
{
    if (span.id)
        plumb_client_api_()->async_end(span, 2, NULL);
}

/* ---- Phases, steps, pipelines, contexts --------------------------------------------------------
 * Each is per thread and nests. plumb_scope_end() restores the previous value, in any order of
 * exits: ending an outer scope ends the inner ones too. */
static inline plumb_scope plumb_phase_begin(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->phase_begin(name) : none;
}
static inline plumb_scope plumb_step_begin(int64_t step)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->step_begin(step) : none;
}
static inline plumb_scope plumb_pipeline_begin(plumb_pipeline *pipeline)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->pipeline_begin(pipeline) : none;
}
/* Captures the thread's open nodes, phase, step and pipeline; `out` is plain data. */
static inline void plumb_context_capture(plumb_context *out)
{
    const struct plumb_api *api = plumb_api_();
    memset(out, 0, sizeof *out);
    out->step = -1;
    if (api)
        api->context_capture(out);
}
/* Continues a captured context on this thread: later spans of this thread are children of it in the
 * call tree. Their time is not subtracted from the parent's self time. */
static inline plumb_scope plumb_context_adopt(const plumb_context *context)
{
    const struct plumb_api *api = plumb_api_();
    plumb_scope none = {0};
    return api ? api->context_adopt(context) : none;
}
static inline void plumb_scope_end(plumb_scope scope)
{
    if (scope.id)
        plumb_client_api_()->scope_end(scope);
}
static inline void plumb_scope_cleanup_(plumb_scope *scope)
{
    PLUMB_JUMPED_PAST_(*scope);
    if (plumb_client_1.api)
        plumb_scope_end(*scope);
}

/* The three functions behind PLUMB_STEPS. The handle lives in an int: the runtime's scope numbers
 * are small. */
static inline int plumb_steps_enter_(void)
{
    plumb_scope s = plumb_step_begin(-1);
    return (int)s.id;
}
static inline int plumb_steps_set_(int handle, int step)
{
    if (__builtin_expect(handle != 0, 0)) {
        plumb_scope s;
        s.id = (uint64_t)(unsigned)handle;
        plumb_client_api_()->step_set(s, step);
    }
    return 1;
}
static inline void plumb_steps_leave_(int *handle)
{
    if (*handle) {
        plumb_scope s;
        s.id = (uint64_t)(unsigned)*handle;
        plumb_scope_end(s);
    }
}

/* ---- Pipelines ------------------------------------------------------------------------------- */

/* Returns the pipeline called `name`, which the first call creates; it lives until the process
 * ends. Returns NULL without a runtime; every function takes NULL as the default pipeline. */
static inline plumb_pipeline *plumb_pipeline_get(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->pipeline_get(name) : NULL;
}

/* Replaces the configuration: a field that is not set in `config` takes its default (off, no sync,
 * no skip). A changed skip_first_n applies to keys without samples; it never drops samples that
 * were counted. This does not open a run: without one the configuration is kept for the next run.
 * Errors: PLUMB_ERR_ARG when skip_first_n is negative; nothing is changed then. */
static inline int plumb_configure(plumb_pipeline *pipeline, const plumb_config *config,
                                  plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->configure(pipeline, config, err) : PLUMB_ERR_ABSENT;
}
/* 1 when a run is open and the pipeline records into it, else 0. */
static inline int plumb_pipeline_enabled(plumb_pipeline *pipeline)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->pipeline_enabled(pipeline) : 0;
}
/* Drops the pipeline's rows; keeps its configuration. A span open at the call leaves no sample. */
static inline int plumb_reset(plumb_pipeline *pipeline, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->reset(pipeline, err) : PLUMB_ERR_ABSENT;
}
/* Drops the pipeline's rows and switches it off, also while others record into it. */
static inline void plumb_pipeline_close(plumb_pipeline *pipeline)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->pipeline_close(pipeline);
}

/* ---- Devices: synchronised before a clock is read -----------------------------------------------
 * With sync on, `sync(arg)` is called immediately before each clock read of a span, on the span's
 * thread: the function of the node's device, or of the pipeline's device if the node has none.
 * Without a device nothing is called. */
static inline plumb_device *plumb_device_register(const char *name, void (*sync)(void *arg),
                                                  void *arg)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->device_register(name, sync, arg) : NULL;
}
/* Removes a device from every pipeline and node; call it before the code of its `sync` is unloaded.
 * Waits at most 3 s until no thread is in `sync`. PLUMB_ERR_STATE: a thread still is, so code and
 * `arg` must stay. The handle is invalid afterwards. Must not be called from `sync`. */
static inline int plumb_device_unregister(plumb_device *device, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, device_unregister) ? api->device_unregister(device, err)
                                                : (int)PLUMB_ERR_ABSENT;
}
static inline void plumb_pipeline_set_device(plumb_pipeline *pipeline, plumb_device *device)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->pipeline_set_device(pipeline, device);
}
static inline void plumb_node_set_device(plumb_node node, plumb_device *device)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->node_set_device(node, device);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* The rows of a pipeline (every pipeline when `pipeline` is NULL and there are several), of one
 * phase or of all (NULL), in first-seen order. An immutable copy: free it with plumb_rows_free().
 * Never waits for a recording thread longer than one fold of its records. */
static inline int plumb_summary_rows(plumb_rows **out, plumb_pipeline *pipeline, const char *phase,
                                     plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->summary_rows(out, pipeline, phase, err) : PLUMB_ERR_ABSENT;
}
static inline size_t plumb_rows_count(const plumb_rows *rows)
{
    return rows ? plumb_client_api_()->rows_count(rows) : 0;
}
/* Row `i`, or NULL beyond the last; lives as long as `rows`. */
static inline const plumb_row *plumb_rows_get(const plumb_rows *rows, size_t i)
{
    return rows ? plumb_client_api_()->rows_get(rows, i) : NULL;
}
static inline void plumb_rows_free(plumb_rows *rows)
{
    if (rows)
        plumb_client_api_()->rows_free(rows);
}

/* Renders the table that `plumb report` prints. `frames`: the number of frames, 0 if unknown; it
 * belongs to one phase and is ignored in a table of several. Free the text with
 * plumb_text_free(). */
static inline int plumb_summary_text(char **out, plumb_pipeline *pipeline, const char *phase,
                                     uint64_t frames, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->summary_text(out, pipeline, phase, frames, err) : PLUMB_ERR_ABSENT;
}
static inline void plumb_text_free(char *text)
{
    if (text)
        plumb_client_api_()->free_text(text);
}

/* ---- Life cycle ------------------------------------------------------------------------------ */

/* Opens a run. Needed only without PLUMB=1. PLUMB=0 wins: then nothing is recorded and the call
 * succeeds. If a run is open: without options the run continues, which is logged at info; with
 * options the call returns PLUMB_ERR_STATE, because an open run cannot change its options. Other
 * errors are PLUMB_ERR_ARG. If the directory cannot be written, this is logged and the run stays in
 * memory (plumb_summary_rows still works). A program with rights that its caller lacks (AT_SECURE)
 * ignores environment variables and must set `dir` or `run_dir`, otherwise PLUMB_ERR_STATE. */
static inline int plumb_start(const plumb_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->start(options, err) : PLUMB_ERR_ABSENT;
}
/* Ends the run: writes timing.json and prints the end block. Without an open run it does nothing
 * and succeeds. */
static inline int plumb_stop(plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->stop(err) : PLUMB_ERR_ABSENT;
}
static inline int plumb_is_recording(void)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->is_recording() : 0;
}
/* The run directory as an absolute path. PLUMB_ERR_STATE when no run has a directory. */
static inline int plumb_run_dir(char *out, size_t size, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->run_dir(out, size, err) : PLUMB_ERR_ABSENT;
}
/* Switches PLUMB_SPAN_DEBUG points on or off. */
static inline void plumb_set_debug(int on)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->set_debug(on);
}
/* Sends log lines to `log` (NULL: stderr) up to `level` (enum plumb_log, 0: silent). */
static inline void plumb_set_log(int level, plumb_log_fn log, void *arg)
{
    const struct plumb_api *api = plumb_api_();
    if (api)
        api->set_log(level, log, arg);
}

/* Measures fn(arg): first warm-up calls, which absorb lazy initialisation, then samples with the
 * device synchronised before each clock read; `out` has their median. Errors: PLUMB_ERR_NOT_RUN
 * when `options->counter` did not move during a sample (a lazy pipeline that never ran). */
static inline int plumb_measure(plumb_measured *out, void (*fn)(void *arg), void *arg,
                                const plumb_measure_options *options, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return api ? api->measure(out, fn, arg, options, err) : PLUMB_ERR_ABSENT;
}

/* ---- Timed operations --------------------------------------------------------------------------
 */

static inline void plumb_timed_end(plumb_timed *timed)
{
    const struct plumb_api *api;
    char line[256];
    uint64_t ns, ms;
    if (!timed->begin_ns)
        return;
    ns = plumb_now_ns() - timed->begin_ns;
    timed->elapsed_seconds = (double)ns * 1e-9;
    timed->begin_ns = 0;
    api = plumb_api_();
    if (!api)
        return;
    /* No %f: the host's locale may write a comma. */
    ms = (ns + 500000) / 1000000;
    snprintf(line, sizeof line, "%.200s completed in %llu.%03us",
             timed->operation_name ? timed->operation_name : "", (unsigned long long)(ms / 1000),
             (unsigned)(ms % 1000));
    if (timed->log && PLUMB_KNOWS_(api, log_line_to))
        api->log_line_to(timed->level, line, timed->log, timed->log_arg);
    else
        api->log_line(timed->level, line);
}

/* ---- Macros: declarations that last to the end of the enclosing block ------------------------ */

/* A trace point to be used with plumb_begin() and plumb_lap(). */
#define PLUMB_POINT(var, name)                                                                     \
    static struct plumb_point var = PLUMB_POINT_INIT(name, PLUMB_POINT_PLAIN)

#define PLUMB_SCOPE_(var, name, flags)                                                             \
    static struct plumb_point PLUMB_CAT_(var, _point_) = PLUMB_POINT_INIT(name, flags);            \
    plumb_span var __attribute__((cleanup(plumb_end_cleanup_), unused)) =                          \
        plumb_begin(&PLUMB_CAT_(var, _point_))

/* A span of the node `name` (a string literal). _AS gives the handle a name. */
#define PLUMB_SPAN(name) PLUMB_SCOPE_(PLUMB_ID_(plumb_span_), name, PLUMB_POINT_PLAIN)
#define PLUMB_SPAN_AS(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_PLAIN)
/* Recorded only while debug is on. */
#define PLUMB_SPAN_DEBUG(name) PLUMB_SCOPE_(PLUMB_ID_(plumb_span_), name, PLUMB_POINT_DEBUG)
/* A pipeline stage. */
#define PLUMB_STAGE(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_STAGE)
#define PLUMB_STAGE_DEBUG(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_STAGE | PLUMB_POINT_DEBUG)
/* A span of a node from plumb_node_get(). */
#define PLUMB_SPAN_NODE(node)                                                                      \
    plumb_span PLUMB_ID_(plumb_span_) __attribute__((cleanup(plumb_end_cleanup_), unused)) =       \
        plumb_begin_node(node)

/* Laps: one clock read ends a node and begins the next; the last ends with the block. */
#define PLUMB_LAPS(var) plumb_span var __attribute__((cleanup(plumb_end_cleanup_), unused)) = {0}
#define PLUMB_LAP(var, name) PLUMB_LAP_AS_(var, name, PLUMB_POINT_PLAIN)
/* The next lap is a stage: `var` is its handle until the next lap. */
#define PLUMB_STAGE_LAP(var, name) PLUMB_LAP_AS_(var, name, PLUMB_POINT_STAGE)
#define PLUMB_LAP_AS_(var, name, flags)                                                            \
    do {                                                                                           \
        static struct plumb_point plumb_lap_point_ = PLUMB_POINT_INIT(name, flags);                \
        (var) = plumb_lap((var), &plumb_lap_point_);                                               \
    } while (0)

#define PLUMB_RESTORED_ __attribute__((cleanup(plumb_scope_cleanup_), unused))
#define PLUMB_PHASE(name)                                                                          \
    plumb_scope PLUMB_ID_(plumb_scope_) PLUMB_RESTORED_ = plumb_phase_begin(name)
#define PLUMB_STEP(step)                                                                           \
    plumb_scope PLUMB_ID_(plumb_scope_) PLUMB_RESTORED_ = plumb_step_begin(step)
#define PLUMB_PIPELINE(pipeline)                                                                   \
    plumb_scope PLUMB_ID_(plumb_scope_) PLUMB_RESTORED_ = plumb_pipeline_begin(pipeline)
#define PLUMB_ADOPT(context)                                                                       \
    plumb_scope PLUMB_ID_(plumb_scope_) PLUMB_RESTORED_ = plumb_context_adopt(context)

/* for (PLUMB_STEPS(step, n)) { ... }: an int `step` from 0 to n-1, which plumb records as the
 * current step. The previous step is restored however the loop is left. */
#define PLUMB_STEPS(step, n)                                                                       \
    int step##_plumb_ __attribute__((cleanup(plumb_steps_leave_))) = plumb_steps_enter_(),         \
                      step##_end_ = (n), step = 0;                                                 \
    step < step##_end_ &&plumb_steps_set_(step##_plumb_, step);                                    \
    ++step

#include <plumb/memory.h>
#include <plumb/stage.h>

#endif /* PLUMB_DISABLE */

#include <plumb/check.h>
#include <plumb/region.h>
#include <plumb/signature.h>
#include <plumb/timeline.h>

#include <plumb/activation.h>

static inline void plumb_timed_cleanup_(plumb_timed *timed)
{
    plumb_timed_end(timed);
}
/* A timed operation that ends with the block; var.elapsed_seconds is valid after plumb_timed_end().
 */
#define PLUMB_TIMED(var, name) PLUMB_TIMED_WITH(var, name, PLUMB_LOG_INFO, NULL, NULL)
/* As PLUMB_TIMED, with a level and a logger of its own: see plumb_timed_begin_with(). */
#define PLUMB_TIMED_WITH(var, name, level, log, arg)                                               \
    plumb_timed var __attribute__((cleanup(plumb_timed_cleanup_))) =                               \
        plumb_timed_begin_with(name, level, log, arg)

/* Wraps a function as PLUMB_WRAP does: PLUMB_TIMED_WRAP(int, decode, (int n), (n)) defines
 * `int decode_timed(int n)`, a timed operation called "decode". */
#define PLUMB_TIMED_WRAP(ret, fn, params, args)                                                    \
    PLUMB_TIMED_WRAP_WITH(ret, fn, params, args, PLUMB_LOG_INFO, NULL, NULL)
#define PLUMB_TIMED_WRAP_VOID(fn, params, args)                                                    \
    PLUMB_TIMED_WRAP_VOID_WITH(fn, params, args, PLUMB_LOG_INFO, NULL, NULL)
#define PLUMB_TIMED_WRAP_WITH(ret, fn, params, args, level, log, arg)                              \
    static inline ret fn##_timed params                                                            \
    {                                                                                              \
        PLUMB_TIMED_WITH(plumb_timed_, #fn, level, log, arg);                                      \
        return fn args;                                                                            \
    }                                                                                              \
    typedef int fn##_timed_wrapped_
#define PLUMB_TIMED_WRAP_VOID_WITH(fn, params, args, level, log, arg)                              \
    static inline void fn##_timed params                                                           \
    {                                                                                              \
        PLUMB_TIMED_WITH(plumb_timed_, #fn, level, log, arg);                                      \
        fn args;                                                                                   \
    }                                                                                              \
    typedef int fn##_timed_wrapped_

/* Wraps a function: PLUMB_WRAP(int, decode, (struct d *d, int n), (d, n)) defines
 * `int decode_plumb(struct d *d, int n)`, which runs decode(d, n) in a span called "decode". */
#define PLUMB_WRAP(ret, fn, params, args) PLUMB_WRAP_(ret, fn, params, args, PLUMB_SPAN(#fn))
#define PLUMB_WRAP_VOID(fn, params, args) PLUMB_WRAP_VOID_(fn, params, args, PLUMB_SPAN(#fn))
/* As PLUMB_WRAP; the span is recorded only while debug is on. */
#define PLUMB_WRAP_DEBUG(ret, fn, params, args)                                                    \
    PLUMB_WRAP_(ret, fn, params, args, PLUMB_SPAN_DEBUG(#fn))
#define PLUMB_WRAP_DEBUG_VOID(fn, params, args)                                                    \
    PLUMB_WRAP_VOID_(fn, params, args, PLUMB_SPAN_DEBUG(#fn))
/* As PLUMB_WRAP, with a stage instead of a span. */
#define PLUMB_WRAP_STAGE(ret, fn, params, args)                                                    \
    PLUMB_WRAP_(ret, fn, params, args, PLUMB_STAGE(plumb_stage_, #fn))
#define PLUMB_WRAP_STAGE_VOID(fn, params, args)                                                    \
    PLUMB_WRAP_VOID_(fn, params, args, PLUMB_STAGE(plumb_stage_, #fn))
/* ... that is recorded only while debug is on. */
#define PLUMB_WRAP_STAGE_DEBUG(ret, fn, params, args)                                              \
    PLUMB_WRAP_(ret, fn, params, args, PLUMB_STAGE_DEBUG(plumb_stage_, #fn))
#define PLUMB_WRAP_STAGE_DEBUG_VOID(fn, params, args)                                              \
    PLUMB_WRAP_VOID_(fn, params, args, PLUMB_STAGE_DEBUG(plumb_stage_, #fn))

#define PLUMB_WRAP_(ret, fn, params, args, span)                                                   \
    static inline ret fn##_plumb params                                                            \
    {                                                                                              \
        span;                                                                                      \
        return fn args;                                                                            \
    }                                                                                              \
    typedef int fn##_plumb_wrapped_
#define PLUMB_WRAP_VOID_(fn, params, args, span)                                                   \
    static inline void fn##_plumb params                                                           \
    {                                                                                              \
        span;                                                                                      \
        fn args;                                                                                   \
    }                                                                                              \
    typedef int fn##_plumb_wrapped_

#ifdef __cplusplus
}
#endif
#endif

/* record_load.c: how a copy of libplumb comes to life, and the function table.
 *
 * A process may hold several copies (static in the host, shared in a plug-in, loaded by Python).
 * The first one to be loaded becomes the runtime and leaves a named page with its table's address;
 * later ones find that page among the process's mappings and only forward. The page is private
 * memory: a forked child has it too, and the table it names is as valid there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/record_errno.h"
#include "base/log.h"
#include "base/process/references.h"
#include "base/stderr.h"
#include "collect/list.h"
#include "record/activation/activation.h"
#include "record/calls/calls.h"
#include "record/collect/collector.h"
#include "record/control/control.h"
#include "record/control/periodic.h"
#include "record/count/count.h"
#include "record/metrics/metrics.h"
#include "record/run/platform.h"
#include "record/run/run.h"
#include "record/run/stopwatch.h"
#include "record/runtime/async.h"
#include "record/runtime/carve.h"
#include "record/runtime/count.h"
#include "record/runtime/enter.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/keeper.h"
#include "record/runtime/lock.h"
#include "record/runtime/node.h"
#include "record/runtime/own_thread.h"
#include "record/runtime/point.h"
#include "record/runtime/record_log.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/span/measure.h"
#include "record/span/pipeline.h"
#include "record/span/region.h"
#include "record/span/scope.h"
#include "record/span/snapshot.h"
#include "record/span/span_pairs.h"
#include "record/stage/check.h"
#include "record/stage/hook.h"
#include "record/stage/ledger.h"
#include "record/stage/stage.h"
#include "record/stage/stream.h"
#include "record/trace/trace.h"
#include "summary/end_block.h"
#include "summary/rank_summary.h"
#include "summary/table.h"
#include <plumb/detail/lookup.h>

/* Written once, before any client can see it. */
static struct plumb_api table;

static int is_recording(void)
{
    return plumb_wanted();
}

static void set_log(int level, plumb_log_fn log, void *arg)
{
    if (plumb_may_lock("plumb_set_log", NULL) < 0)
        return;
    plumb_lock();
    plumb_log_set(level, log, arg);
    plumb_unlock();
}

static void log_line(int level, const char *line)
{
    plumb_log(level, "%s", line);
}

static void log_line_to(int level, const char *line, plumb_log_fn log, void *arg)
{
    plumb_log_to(level, log, arg, "%s", line);
}

static int summary_text(char **out, plumb_pipeline *pipeline, const char *phase, uint64_t frames,
                        plumb_error *err)
{
    const struct plumb_summary_options o = {.pipeline =
                                                pipeline ? PLUMB_ACQUIRE(pipeline->name) : NULL,
                                            .phase = phase,
                                            .frames = frames};
    struct plumb_buf b = {0};
    struct plumb_timing t;
    int rc;
    plumb_timing_init(&t);
    rc = plumb_summary_timing(&t, err);
    if (rc == PLUMB_OK)
        rc = plumb_summary_table(&b, &t, &o, err);
    plumb_timing_fini(&t);
    if (rc < 0) {
        plumb_buf_fini(&b);
        return rc;
    }
    *out = b.data;
    return PLUMB_OK;
}

static void free_text(char *text)
{
    free(text);
}

static void fill_table(void)
{
    table.version = 1;
    table.size = sizeof table;
    plumb_api_fill(&table, plumb_rt.clock);
    table.async_begin = plumb_async_begin_impl;
    table.async_end = plumb_async_end_impl;
    table.counter_add = plumb_counter_add_impl;
    table.point_register = plumb_point_register;
    table.client_detach = plumb_client_detach;
    table.node_get = plumb_node_intern;
    table.node_set_device = plumb_node_set_device_impl;
    table.phase_begin = plumb_phase_begin_impl;
    table.step_begin = plumb_step_begin_impl;
    table.step_set = plumb_step_set_impl;
    table.pipeline_begin = plumb_pipeline_begin_impl;
    table.context_capture = plumb_context_capture_impl;
    table.context_adopt = plumb_context_adopt_impl;
    table.scope_end = plumb_scope_end_impl;
    table.pipeline_get = plumb_pipeline_intern;
    table.configure = plumb_configure_impl;
    table.pipeline_enabled = plumb_pipeline_enabled_impl;
    table.reset = plumb_reset_impl;
    table.pipeline_close = plumb_pipeline_close_impl;
    table.pipeline_set_device = plumb_pipeline_set_device_impl;
    table.device_register = plumb_device_register_impl;
    table.summary_rows = plumb_summary_rows_impl;
    table.rows_count = plumb_rows_count_impl;
    table.rows_get = plumb_rows_get_impl;
    table.rows_free = plumb_rows_free_impl;
    table.summary_text = summary_text;
    table.free_text = free_text;
    table.start = plumb_start_impl;
    table.stop = plumb_stop_impl;
    table.is_recording = is_recording;
    table.run_dir = plumb_run_dir_impl;
    table.set_debug = plumb_set_debug_points;
    table.set_log = set_log;
    table.log_line = log_line;
    table.async_begin_with = plumb_async_begin_with_impl;
    table.log_line_to = log_line_to;
    table.measure = plumb_measure_impl;
    table.stage_metric = plumb_stage_metric_impl;
    table.stage_check = plumb_stage_check_impl;
    table.stage_verify = plumb_stage_verify_impl;
    table.mem_event = plumb_mem_event_impl;
    table.mem_sized = plumb_mem_sized_impl;
    table.memory_now = plumb_memory_now_impl;
    table.checkpoint = plumb_checkpoint_impl;
    table.request_begin = plumb_request_begin_impl;
    table.request_end = plumb_request_end_impl;
    table.stopwatch_start = plumb_stopwatch_start_impl;
    table.stopwatch_stop = plumb_stopwatch_stop_impl;
    table.stage_value = plumb_stage_value_impl;
    table.activation_register = plumb_activation_register_impl;
    table.activation = plumb_activation_impl;
    table.activation_stat = plumb_activation_stat_impl;
    table.activation_sink = plumb_activation_sink_impl;
    table.activation_copy = plumb_activation_copy_impl;
    table.node_hook = plumb_node_hook_impl;
    table.name_get = plumb_name_get_impl;
    table.collector_register = plumb_collector_register_impl;
    table.collector_unregister = plumb_collector_unregister_impl;
    table.collector_find = plumb_collector_find_impl;
    table.collector_offer = plumb_collector_offer_impl;
    table.collector_status = plumb_collector_status_impl;
    table.lane_open = plumb_lane_open_impl;
    table.clock_open = plumb_clock_open_impl;
    table.clock_anchor = plumb_clock_anchor_impl;
    table.clock_anchor_between = plumb_clock_anchor_between_impl;
    table.host_ticks = plumb_host_ticks_impl;
    table.emit = plumb_emit_impl;
    table.origin_capture = plumb_origin_capture_impl;
    table.instant = plumb_instant_impl;
    table.gauge_set = plumb_gauge_set_impl;
    table.trace_keep = plumb_trace_keep_impl;
    table.region_register = plumb_region_register_impl;
    table.region_resolve = plumb_region_resolve_impl;
    table.region_list = plumb_region_list_impl;
    table.region_begin = plumb_region_begin_impl;
    table.open_place = plumb_open_place_impl;
    table.environment_read = plumb_environment_read_impl;
    table.device_unregister = plumb_device_unregister_impl;
    table.count_add = plumb_count_add_impl;
    table.count_get = plumb_count_get_impl;
    table.counted_begin = plumb_counted_begin_impl;
    table.counted_get = plumb_counted_get_impl;
    table.control_open = plumb_control_open_impl;
    table.control_close = plumb_control_close_impl;
    table.metric_get = plumb_metric_get_impl;
    table.metric_add = plumb_metric_add_impl;
    table.metric_set = plumb_metric_set_impl;
    table.metric_observe = plumb_metric_observe_impl;
    table.metric_read = plumb_metric_read_impl;
    table.queue_get = plumb_queue_get_impl;
    table.queue_task = plumb_queue_task_impl;
    table.stream_begin = plumb_stream_begin_impl;
    table.stream_stage = plumb_stream_stage_impl;
    table.stream_event = plumb_stream_event_impl;
    table.stream_mark = plumb_stream_mark_impl;
    table.leave = plumb_periodic_leave;
    plumb_api_keep_errno(&table);
}

/* ---- Meeting other copies -------------------------------------------------------------------- */

/* A named page, which newer kernels know. It works even if no file may be as large as a page: that
 * limit holds for a memfd too. */
static void *named_page(size_t bytes)
{
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED ||
        prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, page, bytes, PLUMB_RENDEZVOUS) == 0)
        return page;
    munmap(page, bytes);
    return MAP_FAILED;
}

static void *memfd_page(size_t bytes)
{
    void *page = MAP_FAILED;
    int fd = memfd_create(PLUMB_RENDEZVOUS, MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    return page;
}

static void leave_rendezvous(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t *page = plumb_file_limit(bytes) ? named_page(bytes) : memfd_page(bytes);
    if (page == MAP_FAILED)
        return;
    page[1] = (uint64_t)(uintptr_t)&table;
    PLUMB_RELEASE(page[0], PLUMB_RENDEZVOUS_MAGIC);
    mprotect(page, bytes, PROT_READ);
}

/* Threads, trace points and destructors of other objects point into the runtime for as long as
 * the process lives. libplumb.so is linked never to be unloaded; a plug-in with a static copy is
 * not. */
static void stay(void)
{
    Dl_info here;
    if (dladdr(&table, &here) && here.dli_fname) {
        void *self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (self)
            dlclose(self);
    }
}

/* ---- Fork: the child must find every lock free ----------------------------------------------- */

/* A fork in a signal handler that interrupted plumb, or in a callback, cannot wait for locks that
 * this thread has: it takes none. The child makes them again; what another thread was changing
 * under one is then as it was at that moment. A bit for each fork that this thread is in the middle
 * of, the newest lowest: a handler that comes during one may fork as well. */
static __thread uint32_t lockless __attribute__((tls_model("initial-exec")));

static bool pop_lockless(void)
{
    bool top = lockless & 1;
    lockless >>= 1;
    return top;
}

static void before_fork(void)
{
    bool interrupted = plumb_is_interrupted();
    lockless = lockless << 1 | interrupted;
    if (interrupted) {
        plumb_thread_keep(plumb_tls, true);
        return;
    }
    plumb_sized_shut();
    plumb_life_lock();
    plumb_snapshot_lock();
    plumb_fork_ledger_lock();
    plumb_sized_before_fork();
    plumb_lock();
    plumb_own_threads_before_fork();
}

static void after_fork(void)
{
    if (pop_lockless()) {
        plumb_thread_keep(plumb_tls, false);
        return;
    }
    plumb_own_threads_after_fork();
    plumb_unlock();
    plumb_sized_after_fork();
    plumb_fork_ledger_unlock();
    plumb_snapshot_unlock();
    plumb_life_unlock();
    plumb_sized_unshut();
}

static void in_child(void)
{
    bool interrupted = pop_lockless();
    if (!interrupted)
        plumb_give_back();
    plumb_run_forked(interrupted);
}

/* ---- Birth and death ------------------------------------------------------------------------- */

static void names_init(void)
{
    plumb_lock();
    plumb_rt.phases.name[0] = "inference";
    plumb_rt.phases.count = 1;
    plumb_rt.pipelines[0].name = "default";
    plumb_rt.pipeline_count = 1;
    plumb_unlock();
}

/* Whether an object that is loaded with this one may have trace points. The shared library alone,
 * as `plumb record` preloads it into every process of a script, has none. */
static bool is_marked(void)
{
    Dl_info here;
    const char *name;
    if (!dladdr(&table, &here) || !here.dli_fname)
        return true;
    name = strrchr(here.dli_fname, '/');
    name = name ? name + 1 : here.dli_fname;
    return strncmp(name, "libplumb.so", strlen("libplumb.so")) != 0 ||
           plumb_is_referred_to("plumb_api_1", &table);
}

/* The process that `plumb record` itself started was asked for by name, marked or not. */
static bool needs_helper_now(void)
{
    if (plumb_rt.control_wanted && plumb_rt.settings.record_pid == plumb_rt.pid)
        return true;
    /* Counts of calls are passed on by the helper, in programs that have no marks. */
    if (plumb_rt.want_run && plumb_rt.settings.count[0])
        return true;
    return (plumb_rt.want_run || plumb_rt.control_wanted) && is_marked();
}

/* 101: in a program that holds a static copy, before the program's own constructors, and after its
 * destructors. It calls functions that the program may replace, such as a malloc() with a trace
 * point in it, and so may be entered again. */
__attribute__((constructor(101))) static void plumb_load(void)
{
    static uint32_t begun;
    const struct plumb_api *first;
    void *volatile block; /* or the compiler leaves the call out */
    if (__atomic_exchange_n(&begun, 1, __ATOMIC_ACQ_REL))
        return;
    first = plumb_lookup_();
    if (first) {
        plumb_rt.forwards = true;
        PLUMB_RELEASE(plumb_rt.api, first);
        return;
    }
    plumb_stderr_remember(); /* before anything is said */
    plumb_rt.pid = (uint32_t)getpid();
    names_init();
    plumb_collectors_add(plumb_collector_list);
    plumb_rt.end_block = plumb_end_block;
    plumb_rt.rank_files = plumb_rank_files;
    plumb_runtime_settings();
    plumb_rt.control_wanted = plumb_rt.settings.control;
    plumb_rt.clock = plumb_clock_pick(plumb_rt.settings.clock);
    plumb_rt.leaves = plumb_leaves_pick();
    plumb_anchor_take(&plumb_rt.early, plumb_rt.clock);
    plumb_rt.membarrier =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    fill_table();
    /* The program's allocator first: in a child of a fork it then has its locks again before we
     * make a thread. */
    block = malloc(1);
    free(block);
    pthread_atfork(before_fork, after_fork, in_child);
    stay();
    /* Before a trace point in a call that comes next opens the run. */
    plumb_helper_loaded();
    plumb_keeper_watch();
    if (needs_helper_now())
        plumb_helper_start();
    else if (plumb_rt.want_run || plumb_rt.control_wanted)
        plumb_helper_start_late();
    PLUMB_RELEASE(plumb_rt.api, &table);
    leave_rendezvous();
    plumb_control_loaded();
    plumb_calls_find(&table);
    plumb_run_loaded();
}

__attribute__((destructor(101))) static void plumb_unload(void)
{
    if (!plumb_rt.forwards && plumb_rt.pid == (uint32_t)getpid()) {
        plumb_control_exit();
        plumb_run_exit();
    }
}

/* The library's one exported symbol. Another object's constructor may ask before ours has run.
 * NULL: the library is being loaded, and who asks again will find it. */
__attribute__((visibility("default"))) const struct plumb_api *plumb_api_1(void);
const struct plumb_api *plumb_api_1(void)
{
    const struct plumb_api *api = PLUMB_ACQUIRE(plumb_rt.api);
    int saved = errno;
    if (!api) {
        plumb_load();
        api = PLUMB_ACQUIRE(plumb_rt.api);
    }
    errno = saved;
    return api;
}

/* trace_switch.c: see record/trace/switch.h; live/trace.h has the form of a window in the mapping.
 *
 * On:  the file and its writer first, then `on`, after which threads that begin take part, then
 *      each thread that is there: its full blocks are folded, its queue is emptied, and its blocks
 *      are folded one by one from now on, as those of any traced thread.
 * Off: `on` first, then each thread: its blocks that were not folded become slots. No thread
 *      is held during a wait for the disk. Then the writer ends and the file gets its tail.
 *
 * A thread that cannot be held in time (stopped by a debugger, or cancelled in the middle of a
 * fold) is not in the window; such threads are counted. A queue that is not `on` is never fed, so
 * one that could not be taken from its thread in time does no harm.
 *
 * Locks: life_lock around all of it, so that neither the run ends nor the process forks in the
 * middle. `now` belongs to its holder. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "live/trace_drops.h"
#include "record/collect/collector.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include "record/span/trace_choice.h"
#include "record/span/trace_threads.h"
#include "record/trace/ring.h"
#include "record/trace/switch.h"
#include "record/trace/trace.h"

#define MS UINT64_C(1000000)
#define ROOM_NS (2000 * MS) /* for space in a queue, whose writer may wait for the disk */
#define ASK_NS (30000 * MS) /* the helper has been idle for so long */

static struct {
    struct plumb_run *run;            /* NULL: no window is on */
    bool file;                        /* it has one; otherwise it only counts */
    struct plumb_live_window *window; /* its entry; NULL: the table is full */
    uint64_t off_at;                  /* CLOCK_MONOTONIC; 0: no limit */
    uint32_t apart;                   /* threads that are not in it */
    uint32_t ended;                   /* one has ended by itself, in the run of this generation,
                                       * not reported yet; 0: none */
    char path[1200];                  /* of the newest window, absolute */
    char regions[PLUMB_WINDOW_TEXT];  /* the nodes of its regions: too large for the stack */
    int rc;                           /* of its end */
    plumb_error err;
} now;
static uint32_t is_on;   /* atomic: for any thread: the number of the window; 0: none is on */
static uint32_t numbers; /* of windows so far, never 0 again */

/* A request of another thread to the helper: under `asking`. */
static struct {
    pthread_mutex_t asking;
    enum { ASKED_NOTHING, ASKED_ON, ASKED_OFF } what;
    const struct plumb_trace_window *window;
    char *path; /* [size] */
    size_t size;
    int rc;
    plumb_error err;
} request = {.asking = PTHREAD_MUTEX_INITIALIZER};

static uint64_t time_ns(void)
{
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC);
}

static int give_path(char *out, size_t size, const char *path, plumb_error *err)
{
    if (strlen(path) + 1 > size)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path of the trace needs %zu bytes",
                          strlen(path) + 1);
    memcpy(out, path, strlen(path) + 1);
    return PLUMB_OK;
}

/* ---- What a window is kept to ---------------------------------------------------------------- */

static int keep_text(struct plumb_run *run, uint64_t *out, const char *text, plumb_error *err)
{
    *out = 0;
    if (!text || !*text)
        return PLUMB_OK;
    if (strlen(text) >= PLUMB_WINDOW_TEXT)
        return plumb_fail(err, PLUMB_ERR_ARG, "a text of the trace is longer than %d bytes",
                          PLUMB_WINDOW_TEXT - 1);
    plumb_lock();
    *out = plumb_carve_text(run, text);
    plumb_unlock();
    return *out ? PLUMB_OK
                : plumb_fail(err, PLUMB_ERR_MEMORY, "the run has no space left for a trace");
}

/* ---- The window in the mapping --------------------------------------------------------------- */

static int is_possible(struct plumb_run *run, plumb_error *err)
{
    const struct plumb_live_trace *t = run ? &run->h->trace : NULL;
    if (!run)
        return plumb_fail(err, PLUMB_ERR_STATE, "nothing is recorded: start a run first");
    if (now.run)
        return plumb_fail(err, PLUMB_ERR_STATE, "a trace is being written already: '%s'", now.path);
    if (t->mode == PLUMB_LIVE_TRACE_RING)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "the run keeps its newest records (PLUMB_TRACE_MODE=ring): keep these");
    if (t->mode != PLUMB_LIVE_TRACE_NONE)
        return plumb_fail(err, PLUMB_ERR_STATE, "the whole run is traced: '%s/%s'", run->dir,
                          PLUMB_TRACE_FILE);
    if (!run->in_file || !run->dir[0] || run->partly)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "the run is in memory alone, so a trace would not survive a crash");
    if (!plumb_helper_is_me())
        return plumb_fail(err, PLUMB_ERR_STATE, "no trace without plumb's thread: %s",
                          plumb_helper_cure());
    return PLUMB_OK;
}

/* Returns the name of a file in the run directory, or the whole path of another: the directory may
 * be moved later. */
static const char *in_run(const struct plumb_run *run, const char *path)
{
    size_t n = strlen(run->dir);
    const char *name = path + n + 1;
    bool inside = strncmp(path, run->dir, n) == 0 && path[n] == '/';
    return inside && *name && !strchr(name, '/') ? name : path;
}

/* Resets the trace. Its mode is NONE, so no reader looks at it. */
static int describe(struct plumb_run *run, const struct plumb_trace_window *w, plumb_error *err)
{
    struct plumb_live_trace *t = &run->h->trace;
    uint64_t path_off = 0, nodes_off = 0, within_off = 0, number = run->h->windows_all + 1;
    char name[64];
    int rc = plumb_trace_choose_regions(now.regions, sizeof now.regions, w->regions, err);
    if (rc == PLUMB_OK && w->path && *w->path != '/')
        rc = plumb_fail(err, PLUMB_ERR_ARG, "'%.200s' is not an absolute path", w->path);
    snprintf(name, sizeof name, "trace-%llu.pftrace", (unsigned long long)number);
    if (rc == PLUMB_OK)
        rc = keep_text(run, &path_off, w->path ? in_run(run, w->path) : name, err);
    if (rc == PLUMB_OK)
        rc = keep_text(run, &nodes_off, w->nodes ? w->nodes : plumb_trace_chosen_nodes(), err);
    if (rc == PLUMB_OK)
        rc = keep_text(run, &within_off, now.regions, err);
    if (rc < 0)
        return rc;
    snprintf(now.path, sizeof now.path, "%s%s%s", w->path ? "" : run->dir, w->path ? "" : "/",
             w->path ? w->path : name);
    /* Threads look at the contents once they have a queue, and that is not ordered. */
    PLUMB_STORE(t->what, plumb_trace_contents() | (nodes_off ? PLUMB_TRACE_ONLY_NODES : 0));
    t->max_bytes = w->max_bytes ? w->max_bytes : plumb_rt.settings.trace_max_bytes;
    t->steps_off = t->regions_off = 0;
    PLUMB_STORE(t->nodes_off, nodes_off);
    t->within_off = within_off;
    t->path_off = path_off;
    t->error = 0;
    t->sequences = 0;
    t->file_bytes = t->file_spans = t->settled = t->batch = 0;
    memset(t->commit, 0, sizeof t->commit);
    PLUMB_RELEASE(t->ended, PLUMB_TRACE_GOES_ON);
    PLUMB_RELEASE(t->window, (uint32_t)number);
    run->h->windows_all = number;
    plumb_trace_zero(run);
    return PLUMB_OK;
}

static void enter_window(struct plumb_run *run)
{
    struct plumb_live_window *w = NULL;
    plumb_lock();
    if (run->h->windows.count < PLUMB_TRACE_WINDOWS)
        w = plumb_table_add(run, &run->h->windows);
    if (w) {
        *w = (struct plumb_live_window){.path_off = run->h->trace.path_off,
                                        .on_ticks = plumb_ticks_from(plumb_rt.clock)};
        plumb_table_commit(&run->h->windows);
    }
    plumb_unlock();
    now.window = w;
}

static void end_window(void)
{
    now.run = NULL;
    now.window = NULL;
    now.off_at = 0;
    PLUMB_RELEASE(is_on, 0);
    plumb_trace_steps_watch(0, -1);
    plumb_helper_ask(PLUMB_JOB_CONTROL); /* for front ends that wait for this */
}

static void leave_window(struct plumb_run *run, const struct plumb_anchor *end)
{
    struct plumb_live_trace *t = &run->h->trace;
    struct plumb_live_view view = plumb_live_view_of(run->base, run->mapped);
    struct plumb_live_window *w = now.window;
    if (w) {
        w->bytes = t->file_bytes;
        w->spans = t->file_spans;
        w->dropped = plumb_trace_lost_here(&view);
        w->end = t->ended;
        w->error = t->error;
        w->apart = now.apart;
        PLUMB_RELEASE(w->off_ticks, end->ticks);
    }
    now.rc = PLUMB_OK;
    if (t->ended)
        now.rc = plumb_fail(&now.err, PLUMB_ERR_IO, "'%s' ends %s%s%s", now.path,
                            plumb_trace_end_text(run->h), t->error ? ": " : "",
                            t->error ? strerror(t->error) : "");
    PLUMB_RELEASE(t->mode, PLUMB_LIVE_TRACE_NONE);
    t->settled = 0;
    end_window();
}

/* ---- On and off, on the helper --------------------------------------------------------------- */

static void begin_window(struct plumb_run *run, bool file)
{
    now.run = run;
    now.file = file;
    now.apart = 0;
    now.ended = 0;
    now.rc = PLUMB_OK;
    now.err = (plumb_error){0, ""};
    numbers += numbers == UINT32_MAX ? 2 : 1;
    PLUMB_RELEASE(is_on, numbers);
}

static void limit_window(const struct plumb_trace_window *w, int64_t highest)
{
    now.off_at = w->for_ns ? time_ns() + w->for_ns : 0;
    plumb_trace_steps_watch(w->steps, highest);
}

/* A window without a file. */
static int count_alone(const struct plumb_trace_window *w, plumb_error *err)
{
    struct plumb_run *run = plumb_rt.run;
    if (!run)
        return plumb_fail(err, PLUMB_ERR_STATE, "nothing is recorded: start a run first");
    if (now.run)
        return plumb_fail(err, PLUMB_ERR_STATE, "a trace is being written already: '%s'", now.path);
    now.path[0] = '\0';
    begin_window(run, false);
    limit_window(w, -1);
    return PLUMB_OK;
}

static int on(const struct plumb_trace_window *w, plumb_error *err)
{
    struct plumb_run *run = plumb_rt.run;
    int64_t highest = -1;
    int rc;
    if (w->path && !*w->path)
        return count_alone(w, err);
    rc = is_possible(run, err);
    if (rc == PLUMB_OK)
        rc = describe(run, w, err);
    if (rc < 0)
        return rc;
    plumb_lanes_window(run);
    rc = plumb_trace_writer_window(run, err);
    if (rc == PLUMB_OK) {
        begin_window(run, true);
        enter_window(run);
    }
    /* Under the lock, as a thread that begins looks: it takes part, or it is in the list. */
    plumb_lock();
    run->window_begins = false;
    PLUMB_RELEASE(run->h->trace.on, rc == PLUMB_OK);
    plumb_unlock();
    if (rc < 0)
        return rc;
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        now.apart += !plumb_trace_thread_on((struct plumb_in){th, run}, &highest);
    limit_window(w, highest);
    plumb_log(PLUMB_LOG_INFO, "plumb: trace on: %s", now.path);
    return PLUMB_OK;
}

static void off(void)
{
    struct plumb_run *run = now.run;
    struct plumb_anchor end;
    uint64_t deadline_ns = time_ns() + ROOM_NS;
    if (!now.file) {
        end_window();
        return;
    }
    plumb_lock();
    PLUMB_RELEASE(run->h->trace.on, 0);
    plumb_unlock();
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        now.apart += !plumb_trace_thread_off((struct plumb_in){th, run}, deadline_ns);
    plumb_barrier();
    if (run->h->lanes.count)
        plumb_helper_pause(MS); /* for emits that saw the lanes on */
    plumb_anchor_take(&end, plumb_rt.clock);
    plumb_trace_writer_stop(run, &end, plumb_trace_threads_settle);
    leave_window(run, &end);
    plumb_log(PLUMB_LOG_INFO, "plumb: trace off: %s", now.path);
}

static int on_asked(const struct plumb_trace_window *w, char *path, size_t size, plumb_error *err)
{
    int rc = on(w, err);
    if (rc == PLUMB_OK && (rc = give_path(path, size, now.path, err)) < 0)
        off();
    return rc;
}

static int off_asked(char *path, size_t size, plumb_error *err)
{
    if (!now.run && now.ended != PLUMB_LOAD(plumb_rt.generation))
        return plumb_fail(err, PLUMB_ERR_STATE, "no trace is on");
    if (now.run)
        off();
    now.ended = 0;
    return now.rc < 0 ? plumb_fail(err, now.rc, "%s", now.err.message)
                      : give_path(path, size, now.path, err);
}

/* Returns whether a window with this file has ended in the run that is open. */
static bool is_past(const char *only)
{
    struct plumb_run *run = plumb_rt.run;
    uint64_t path_off = 0;
    if (run) {
        plumb_lock();
        path_off = plumb_carved_text(run, in_run(run, only));
        plumb_unlock();
    }
    for (uint32_t i = 0; path_off && i < run->h->windows.count; i++) {
        const struct plumb_live_window *w = plumb_table_at(run, &run->h->windows, i);
        if (w->path_off == path_off && w->off_ticks)
            return true;
    }
    return false;
}

static int off_only(const char *only, char *path, size_t size, plumb_error *err)
{
    bool newest = now.run || now.ended == PLUMB_LOAD(plumb_rt.generation);
    if (newest && strcmp(only, now.path) == 0)
        return off_asked(path, size, err);
    if (!*only || is_past(only))
        return give_path(path, size, only, err);
    return plumb_fail(err, PLUMB_ERR_STATE, "the open run has no trace '%.200s'%s%.200s%s", only,
                      now.run ? "; on is '" : "", now.run ? now.path : "", now.run ? "'" : "");
}

/* On the helper, under life_lock: ends a window whose time or steps are over. */
static void look(void)
{
    if (!now.run || !((now.off_at && time_ns() >= now.off_at) || plumb_trace_steps_over()))
        return;
    now.ended = now.run->generation;
    off();
}

void plumb_trace_switch_do(void)
{
    plumb_life_lock();
    request.err = (plumb_error){0, ""};
    if (request.what == ASKED_ON)
        request.rc = on_asked(request.window, request.path, request.size, &request.err);
    else if (request.what == ASKED_OFF)
        request.rc = off_asked(request.path, request.size, &request.err);
    request.what = ASKED_NOTHING;
    look();
    plumb_life_unlock();
}

uint64_t plumb_trace_switch_turn(void)
{
    uint64_t at, ns;
    if (!PLUMB_LOAD(is_on))
        return UINT64_MAX;
    plumb_life_lock();
    look();
    at = now.run ? now.off_at : 0;
    ns = time_ns();
    plumb_life_unlock();
    return !at ? UINT64_MAX : at > ns ? at - ns : 0;
}

/* Asks the helper. A request that it does not take in time is withdrawn. */
static int ask(int what, const struct plumb_trace_window *w, char *path, size_t size,
               plumb_error *err)
{
    int rc = plumb_may_lock_all("switching the trace", err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&request.asking);
    plumb_life_lock();
    request.what = what;
    request.window = w;
    request.path = path;
    request.size = size;
    request.rc = PLUMB_ERR_STATE;
    plumb_life_unlock();
    plumb_helper_do_patiently(PLUMB_JOB_SWITCH, ASK_NS);
    plumb_life_lock();
    if (request.what != ASKED_NOTHING)
        rc = plumb_fail(err, PLUMB_ERR_STATE, "plumb's thread does not answer");
    else if (request.rc < 0)
        rc = plumb_fail(err, request.rc, "%s", request.err.message);
    request.what = ASKED_NOTHING;
    plumb_life_unlock();
    pthread_mutex_unlock(&request.asking);
    return rc;
}

int plumb_trace_switch_on(const struct plumb_trace_window *window, char *path, size_t size,
                          plumb_error *err)
{
    static const struct plumb_trace_window all;
    int rc;
    window = window ? window : &all;
    if (!plumb_helper_is_me())
        return ask(ASKED_ON, window, path, size, err);
    plumb_life_lock();
    rc = on_asked(window, path, size, err);
    plumb_life_unlock();
    return rc;
}

int plumb_trace_switch_off(char *path, size_t size, plumb_error *err)
{
    int rc;
    if (!plumb_helper_is_me())
        return ask(ASKED_OFF, NULL, path, size, err);
    plumb_life_lock();
    rc = off_asked(path, size, err);
    plumb_life_unlock();
    return rc;
}

int plumb_trace_switch_off_only(const char *only, char *path, size_t size, plumb_error *err)
{
    int rc;
    plumb_life_lock();
    rc = off_only(only, path, size, err);
    plumb_life_unlock();
    return rc;
}

bool plumb_trace_window_is_on(void)
{
    return PLUMB_ACQUIRE(is_on) != 0;
}

uint32_t plumb_trace_window_number(void)
{
    return PLUMB_ACQUIRE(is_on);
}

/* ---- Of the run ------------------------------------------------------------------------------ */

void plumb_trace_switch_ended(struct plumb_run *run, const struct plumb_anchor *end)
{
    if (now.run != run)
        return;
    if (now.file)
        leave_window(run, end);
    end_window();
    now.ended = run->generation;
}

void plumb_trace_switch_forget(void)
{
    memset(&now, 0, sizeof now);
    request.what = ASKED_NOTHING;
    pthread_mutex_init(&request.asking, NULL);
    PLUMB_STORE(is_on, 0);
    plumb_trace_steps_watch(0, -1);
}

/* writer.c: the background thread that turns trace queues into trace.pftrace, and the file.
 *
 * It wakes every 10 ms, sooner if queues fill faster. It never waits for a recording thread, and
 * recording threads never wait for it. If it cannot write (the bound, a full disk), the trace ends:
 * from then on threads count their losses, and the file stays as it was at the last commit, valid,
 * with a tail that gives the reason.
 *
 * Locks: none. `writer` belongs to the writer's thread between start and stop, and otherwise to the
 * holder of life_lock. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/pages.h"
#include "live/read.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/trace/ring.h"
#include "record/trace/trace.h"
#include "timeline/selection.h"

enum {
    WAKE_NS = 10000000,
    WAKE_MIN_NS = 200000,
    STACK_BYTES = 256 * 1024,
    CLOCK_NS = 1000000000, /* between checks of the clock */
    JUMP_NS = 5000000,     /* smaller deviations are corrected within a second */
    JUMP_LOOKS = 60,       /* checks during which records from before a jump may still come */
    TAIL_MAX = 1 << 20     /* bytes of the bound that are reserved for the tail */
};

static struct writer {
    pthread_t thread;
    uint32_t running, stop; /* atomic */
    struct plumb_run *run;
    struct plumb_trace_live live;
    struct plumb_trace_parts parts; /* the parts that the trace is restricted to */
    int fd;
    uint64_t limit;      /* bytes that the file may have */
    uint64_t seen_ticks; /* newest reading that agreed with the clock */
    uint32_t jump_over;  /* checks until the newest jump is forgotten; 0: it is */
    uint64_t next_clock;
    struct plumb_anchor anchor;
    uint32_t modules; /* whose facts are in the file */
    struct plumb_trace_ring ring;
} writer;

/* Posted by any thread and any signal handler at any time, also while the writer starts or ends, so
 * it lives as long as the process. */
static struct {
    sem_t sem;
    bool made;
} wake;

void plumb_trace_writer_wake(void)
{
    sem_post(&wake.sem);
}

/* ---- The file -------------------------------------------------------------------------------- */

static struct plumb_live_trace *trace_of(const struct writer *w)
{
    return &w->run->h->trace;
}

static void end_trace(struct writer *w, enum plumb_live_trace_end why, int error)
{
    struct plumb_live_trace *t = trace_of(w);
    if (t->ended)
        return;
    t->error = error;
    PLUMB_RELEASE(t->ended, why);
}

static const char *name_of(const struct writer *w)
{
    uint64_t off = w->run->h->trace.path_off;
    return off ? PLUMB_AT(w->run, const char, off + sizeof(struct plumb_live_text))
               : PLUMB_TRACE_FILE;
}

/* The caller of a window may have named a path. */
static void trace_path(const struct writer *w, char *out, size_t size)
{
    const char *name = name_of(w);
    snprintf(out, size, "%s%s%s", *name == '/' ? "" : w->run->dir, *name == '/' ? "" : "/", name);
}

static int make_file(struct writer *w)
{
    char path[1200];
    trace_path(w, path, sizeof path);
    w->fd = plumb_new_file(path, O_WRONLY, 0600);
    return w->fd < 0 ? errno : 0;
}

static void remove_file(const struct writer *w)
{
    char path[1200];
    trace_path(w, path, sizeof path);
    unlink(path);
}

/* Returns 0 or an errno. */
static int write_all(struct writer *w, const unsigned char *bytes, size_t n)
{
    uint64_t at = w->live.file.bytes;
    int code = plumb_file_limit(at + n);
    while (!code && n) {
        ssize_t done = pwrite(w->fd, bytes, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        bytes += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return code;
}

static bool write_bytes(void *arg, const unsigned char *bytes, size_t n)
{
    struct writer *w = arg;
    int code;
    if (w->live.file.bytes + n > w->limit) {
        end_trace(w, PLUMB_TRACE_AT_BOUND, 0);
        return false;
    }
    code = write_all(w, bytes, n);
    if (code)
        end_trace(w, PLUMB_TRACE_NO_FILE, code);
    return code == 0;
}

/* ---- The clock ------------------------------------------------------------------------------- */

/* Returns the deviation of the trace's time of a moment from CLOCK_MONOTONIC_RAW. */
static uint64_t off_by(const struct writer *w, uint64_t ticks, uint64_t raw_ns)
{
    uint64_t said = plumb_trace_file_ns(&w->live.file, ticks),
             is = raw_ns - w->run->h->start.raw_ns;
    return said > is ? said - is : is - said;
}

/* Returns whether the clock has jumped: the machine was suspended, or a virtual machine paused or
 * moved. */
static bool has_jumped(const struct writer *w, const struct plumb_anchor *a)
{
    return w->run->h->clock_source != PLUMB_CLOCK_GETTIME &&
           off_by(w, a->ticks, a->raw_ns) > JUMP_NS + a->half_width_ns;
}

/* Checked before each pass, so that no record from after a jump is dated like one from before. If
 * the check was held up between its two clock reads, a careful one follows. */
static bool seems_to_have_jumped(struct writer *w)
{
    uint64_t ticks = plumb_ticks_from(plumb_rt.clock);
    if (!w->live.file.clock.ns_per_tick || plumb_rt.clock == PLUMB_CLOCK_GETTIME)
        return false;
    if (off_by(w, ticks, plumb_clock_raw_ns(plumb_rt.clock)) > JUMP_NS)
        return true;
    w->seen_ticks = ticks;
    return false;
}

/* Corrects the rate: times continue without a jump, and meet the anchor's a second later. */
static void set_clock(struct writer *w, const struct plumb_anchor *a)
{
    const struct plumb_live_header *h = w->run->h;
    struct plumb_trace_clock *c = &w->live.file.clock;
    uint64_t said, is = a->raw_ns - h->start.raw_ns;
    double tick_ns = plumb_live_tick_ns(h, a, &(double){0}), behind;
    if (!(tick_ns > 1e-3 && tick_ns < 1e3))
        return;
    if (!c->ns_per_tick) {
        c->ticks0 = h->start.ticks;
        c->ns0 = 0;
    } else if (has_jumped(w, a)) {
        c->before_ticks = w->seen_ticks;
        c->before_ns = plumb_trace_file_ns(&w->live.file, w->seen_ticks);
        c->jumped = 1;
        c->ticks0 = a->ticks;
        c->ns0 = is;
        w->jump_over = JUMP_LOOKS;
    } else if (h->clock_source == PLUMB_CLOCK_TSC) {
        said = plumb_trace_file_ns(&w->live.file, a->ticks);
        behind = ((double)is - (double)said) / CLOCK_NS;
        tick_ns *= 1 + behind;
        c->ticks0 = a->ticks;
        c->ns0 = said;
    }
    c->ns_per_tick = (uint64_t)(tick_ns * 4294967296.0 + 0.5);
}

static void look_at_clock(struct writer *w)
{
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    if (now < w->next_clock && !seems_to_have_jumped(w))
        return;
    w->next_clock = now + CLOCK_NS;
    plumb_anchor_take(&w->anchor, plumb_rt.clock);
    set_clock(w, &w->anchor);
    w->seen_ticks = w->anchor.ticks;
    if (w->jump_over && --w->jump_over == 0)
        w->live.file.clock.jumped = 0;
    if (w->fd >= 0 && !trace_of(w)->ended)
        w->modules = plumb_trace_modules(&w->live.file, w->modules);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void sleep_for(uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (time_t)ns;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    while (sem_clockwait(&wake.sem, CLOCK_MONOTONIC, &t) < 0 && errno == EINTR)
        continue;
}

/* Returns the next pause, from the fill level of the fullest queue, such that next time it is a
 * quarter full. */
static uint64_t next_pause(uint64_t pause_ns, uint32_t fullest)
{
    if (fullest > 64)
        pause_ns /= fullest > 128 ? 4 : 2;
    else if (fullest < 32)
        pause_ns *= 2;
    return pause_ns < WAKE_MIN_NS ? WAKE_MIN_NS : pause_ns > WAKE_NS ? WAKE_NS : pause_ns;
}

static uint32_t pass(struct writer *w)
{
    uint32_t fullest = 0;
    look_at_clock(w);
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP)
        fullest = plumb_trace_live_pass(&w->live);
    else
        plumb_trace_ring_pass(&w->ring);
    return fullest;
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    uint64_t pause_ns = WAKE_MIN_NS;
    while (!PLUMB_ACQUIRE(w->stop)) {
        sleep_for(pause_ns);
        if (PLUMB_ACQUIRE(w->stop))
            break;
        if (!trace_of(w)->ended)
            pause_ns = next_pause(pause_ns, pass(w));
        else
            pause_ns = WAKE_NS;
    }
    plumb_own_thread_ends();
    return NULL;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

static int open_live(struct writer *w, bool continues)
{
    struct plumb_trace_live *t = &w->live;
    unsigned char *buffer = t->file.out.base;
    uint64_t bytes = t->file.bytes;
    memset(t, 0, sizeof *t);
    t->file.out.base = buffer ? buffer : plumb_pages_map(PLUMB_TRACE_BUFFER);
    t->file.out.size = PLUMB_TRACE_BUFFER;
    t->file.source = plumb_live_view_of(w->run->base, w->run->mapped);
    t->file.write = write_bytes;
    t->file.arg = w;
    t->file.bytes = bytes;
    t->commits = true;
    return t->file.out.base ? plumb_trace_live_open(t, continues) : PLUMB_ERR_MEMORY;
}

/* Opens the files of single nodes, which are made from slots as they are taken. */
static void open_parts(struct writer *w)
{
    plumb_error err = {0, ""};
    bool takes = trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP, window = trace_of(w)->window;
    int rc = plumb_trace_parts_open(&w->parts, &w->live, takes && !window ? w->run->dir : NULL,
                                    true, &err);
    if (rc == PLUMB_ERR_ARG)
        plumb_say("plumb: PLUMB_TRACE_STEPS: %s; the trace has every step", err.message);
    else if (rc < 0)
        plumb_say("plumb: %s", err.message);
    if (!takes && trace_of(w)->nodes_off)
        plumb_say("plumb: PLUMB_TRACE_NODES does nothing with PLUMB_TRACE_MODE=ring");
    else if (takes && !window && strcmp(plumb_rt.settings.trace_nodes, "*") == 0)
        plumb_say("plumb: PLUMB_TRACE_NODES=*: a trace for each of up to %d nodes, each with all "
                  "that runs inside: expect large files",
                  (int)PLUMB_NODE_FILES);
}

/* Finishes them; their results become notes of the run. */
static void close_parts(struct writer *w, bool whole)
{
    struct plumb_buf told = {0};
    plumb_error err = {0, ""};
    char *line, *rest;
    int rank = w->run->h->rank, nodes = plumb_trace_parts_close(&w->parts, whole, &told, &err);
    if (nodes < 0)
        plumb_say("plumb: %s", err.message);
    plumb_lock();
    if (nodes > 0)
        plumb_run_note(w->run, "traces of single nodes: %d, <node>_rank%d.trace.json.gz", nodes,
                       rank < 0 ? 0 : rank);
    for (line = told.data; line && *line; line = rest) {
        rest = strchr(line, '\n');
        *rest++ = '\0';
        plumb_run_note(w->run, "%s", line);
    }
    plumb_unlock();
    plumb_buf_fini(&told);
}

static int make_writer(struct writer *w)
{
    int code;
    if (open_live(w, false) < 0)
        return ENOMEM;
    open_parts(w);
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP && w->fd < 0 && (code = make_file(w)) != 0)
        return code;
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP)
        plumb_trace_file_head(&w->live.file);
    if (!wake.made)
        sem_init(&wake.sem, 0, 0);
    wake.made = true;
    plumb_trace_ring_open(&w->ring);
    code = plumb_own_thread(&w->thread, writer_main, w, STACK_BYTES);
    if (code)
        return code;
    pthread_setname_np(w->thread, "plumb-trace");
    PLUMB_RELEASE(w->running, 1);
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_RING)
        plumb_trace_ring_listen();
    return 0;
}

static void prepare(struct writer *w, struct plumb_run *run)
{
    uint64_t max = run->h->trace.max_bytes, tail = max / 16;
    memset(w, 0, sizeof *w);
    w->fd = -1;
    w->run = run;
    w->ring.run = run;
    w->ring.live = &w->live;
    w->limit = max - (tail < TAIL_MAX ? tail : TAIL_MAX);
}

static void release(struct writer *w)
{
    close_parts(w, false);
    if (w->fd >= 0)
        close(w->fd);
    plumb_pages_unmap(w->live.file.out.base, PLUMB_TRACE_BUFFER);
    plumb_trace_live_fini(&w->live);
    memset(w, 0, sizeof *w);
    w->fd = -1;
}

int plumb_trace_writer_window(struct plumb_run *run, plumb_error *err)
{
    struct writer *w = &writer;
    int code;
    prepare(w, run);
    code = make_file(w);
    if (code == 0) {
        /* A kill after this finds a trace to complete. */
        PLUMB_RELEASE(trace_of(w)->mode, PLUMB_LIVE_TRACE_STOP);
        code = make_writer(w);
        if (code == 0)
            return PLUMB_OK;
        PLUMB_RELEASE(trace_of(w)->mode, PLUMB_LIVE_TRACE_NONE);
        remove_file(w);
    }
    plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", name_of(w),
               code == EEXIST ? "there is a file already" : strerror(code));
    release(w);
    return PLUMB_ERR_IO;
}

void plumb_trace_writer_start(struct plumb_run *run)
{
    struct writer *w = &writer;
    int code;
    memset(w, 0, sizeof *w);
    w->fd = -1;
    if (run->h->trace.mode == PLUMB_LIVE_TRACE_NONE)
        return;
    prepare(w, run);
    if (!plumb_helper_is_me()) {
        end_trace(w, PLUMB_TRACE_NO_FILE, ENOTSUP);
        plumb_say("plumb: no trace is written without plumb's thread: %s", plumb_helper_cure());
        return;
    }
    code = make_writer(w);
    if (!code)
        return;
    end_trace(w, PLUMB_TRACE_NO_FILE, code);
    plumb_say("plumb: cannot write %s: %s; the run is recorded without it", PLUMB_TRACE_FILE,
              strerror(code));
}

static void stop_thread(struct writer *w)
{
    if (!PLUMB_LOAD(w->running))
        return;
    PLUMB_RELEASE(w->stop, 1);
    plumb_trace_writer_wake();
    pthread_join(w->thread, NULL);
    PLUMB_RELEASE(w->running, 0);
}

/* After an early end: truncates the file to the last commit and writes its tail. */
static void take_back(struct writer *w)
{
    const struct plumb_live_trace *t = trace_of(w);
    uint64_t bytes = t->batch ? t->commit[t->batch & 1].bytes : 0;
    plumb_trace_live_fini(&w->live);
    w->live.file.bytes = bytes;
    if (w->fd < 0 || open_live(w, true) < 0 || ftruncate(w->fd, (off_t)bytes) != 0)
        w->live.file.failed = true;
    else if (!bytes)
        plumb_trace_file_head(&w->live.file);
}

static void write_tail(struct writer *w)
{
    struct plumb_trace_file *f = &w->live.file;
    plumb_trace_modules(f, trace_of(w)->ended ? 0 : w->modules);
    plumb_trace_file_fact(f, "plumb.trace_end", plumb_trace_end_text(f->source.h));
    plumb_trace_file_fact_u64(f, "plumb.dropped", plumb_trace_lost_here(&f->source));
    plumb_trace_file_losses(f);
    plumb_trace_file_flush(f);
    trace_of(w)->file_bytes = f->bytes;
    trace_of(w)->file_spans = trace_of(w)->commit[trace_of(w)->batch & 1].spans;
}

static void log_late_stacks(struct writer *w)
{
    uint64_t n = plumb_trace_stacks_late();
    if (!n)
        return;
    plumb_lock();
    plumb_run_note(w->run,
                   "%llu call stacks have their innermost address alone: where the stack "
                   "ends was not known in time",
                   (unsigned long long)n);
    plumb_unlock();
}

/* Reports that the chosen steps never came. Regions and nodes have messages of their own. */
static void warn_no_steps(struct writer *w)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    if (trace_of(w)->window || !s->trace_steps[0] || s->regions[0] || s->trace_nodes[0] ||
        trace_of(w)->file_spans || trace_of(w)->ended)
        return;
    plumb_lock();
    plumb_run_note(w->run, "PLUMB_TRACE_STEPS: no span ran in the steps %s, so the trace has none",
                   s->trace_steps);
    plumb_unlock();
}

void plumb_trace_writer_stop(struct plumb_run *run, const struct plumb_anchor *end,
                             void (*settle)(struct plumb_run *run))
{
    struct writer *w = &writer;
    int code;
    if (w->run != run)
        return;
    stop_thread(w);
    set_clock(w, end);
    code = plumb_trace_ring_close(&w->ring);
    if (code)
        end_trace(w, code == EFBIG ? PLUMB_TRACE_AT_BOUND : PLUMB_TRACE_NO_FILE, code);
    if (w->fd >= 0) {
        if (!trace_of(w)->ended)
            plumb_trace_live_finish(&w->live);
        close_parts(w, true);
        w->limit = trace_of(w)->max_bytes;
        if (trace_of(w)->ended)
            take_back(w);
        if (!settle)
            plumb_trace_settle(&w->live.file.source);
        else if (trace_of(w)->ended)
            settle(run);
        if (trace_of(w)->ended)
            plumb_trace_live_finish(&w->live);
        write_tail(w);
    }
    warn_no_steps(w);
    log_late_stacks(w);
    release(w);
}

void plumb_trace_writer_forget(void)
{
    struct writer *w = &writer;
    /* The parent's threads may have been in the middle of using either. */
    memset(&wake, 0, sizeof wake);
    plumb_trace_ring_forget();
    plumb_trace_stacks_forget();
    memset(w, 0, sizeof *w);
    w->fd = -1;
}

void plumb_trace_writer_give_back(void)
{
    struct writer *w = &writer;
    if (!w->run)
        return;
    plumb_trace_parts_forget(&w->parts);
    plumb_pages_unmap(w->live.file.out.base, PLUMB_TRACE_BUFFER);
    plumb_trace_live_fini(&w->live);
    memset(w, 0, sizeof *w);
}

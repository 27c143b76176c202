/* trace_writer.c: the background thread that turns trace queues into trace.pftrace, and the file.
 *
 * It wakes each 10 ms, sooner where queues fill faster, and never waits for a recording thread, nor
 * one for it. What it cannot write (the bound, a full disk) ends the trace: from then on threads
 * count what they lose, and the file stays as it was at the last commit, valid, with a tail that
 * says so.
 *
 * Locks: none. `writer` belongs to whoever is under life_lock, and to the thread between start and
 * stop. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "core/trace_keep.h"
#include "format/live_read.h"
#include "format/trace_parts.h"

enum {
    WAKE_NS = 10000000,
    WAKE_MIN_NS = 200000,
    CLOCK_NS = 1000000000, /* between looks at how the clock goes */
    TAIL_MAX = 1 << 20     /* of the bound, for what is said at the end */
};

static struct writer {
    pthread_t thread;
    sem_t born;
    uint32_t running, stop; /* atomic */
    struct plumb_run *run;
    struct plumb_trace_live live;
    struct plumb_trace_parts parts; /* what the trace is kept to */
    uint64_t file[2];               /* device and inode */
    int fd;
    uint64_t limit; /* bytes that the file may have */
    uint64_t next_clock;
    struct plumb_anchor anchor;
    uint32_t modules; /* told of in the file */
    /* ring mode */
    struct plumb_keep_rules rules;
    struct plumb_keep_watch *watches; /* [WATCHES] */
    uint32_t watch_count;
    struct plumb_map watch_of; /* offset of a thread block -> index + 1 */
} writer;

/* What any thread and any signal handler may say at any time, also while the writer comes or goes:
 * apart from the writer's own, and for as long as the process lives. KEEP_OFF: nobody would hear.
 */
enum keep_state { KEEP_OFF = 0, KEEP_NOTHING = 1, KEEP_BEING_SAID = 2, KEEP_WANTED = 3 };
static struct {
    uint32_t state;           /* enum keep_state; atomic */
    char why[PLUMB_KEEP_WHY]; /* each byte atomic: one who was late may still be writing */
    sem_t wake;               /* the writer */
    bool made;
} wish;
enum { WATCHES = 4096 };

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

static void trace_path(const struct writer *w, char *out, size_t size)
{
    snprintf(out, size, "%s/%s", w->run->dir, PLUMB_TRACE_FILE);
}

static bool is_ours(const struct writer *w)
{
    struct stat st;
    return w->fd >= 0 && fstat(w->fd, &st) == 0 && (uint64_t)st.st_dev == w->file[0] &&
           (uint64_t)st.st_ino == w->file[1];
}

/* A program that closes descriptors it does not know takes ours as well. */
static int file_again(struct writer *w)
{
    char path[1200];
    if (is_ours(w))
        return 0;
    trace_path(w, path, sizeof path);
    w->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (w->fd >= 0 && !is_ours(w)) {
        close(w->fd);
        w->fd = -1;
        return ESTALE;
    }
    return w->fd < 0 ? errno : 0;
}

static int make_file(struct writer *w)
{
    char path[1200];
    struct stat st;
    int fd, high;
    trace_path(w, path, sizeof path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    /* High, out of the way of programs that take descriptors by number. */
    high = fcntl(fd, F_DUPFD_CLOEXEC, 500);
    if (high >= 0)
        close(fd);
    w->fd = high >= 0 ? high : fd;
    if (fstat(w->fd, &st) < 0)
        return errno;
    w->file[0] = (uint64_t)st.st_dev;
    w->file[1] = (uint64_t)st.st_ino;
    return 0;
}

/* 0, or an errno. */
static int write_all(struct writer *w, const unsigned char *bytes, size_t n)
{
    uint64_t at = w->live.file.bytes;
    int code = file_again(w);
    if (!code)
        code = plumb_file_limit(at + n);
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

/* Times go on without a jump where the rate is corrected, and meet the anchor's a second later. */
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
    } else if (h->clock_source == PLUMB_CLOCK_TSC) {
        said = plumb_trace_file_ns(&w->live.file, a->ticks);
        behind = ((double)is - (double)said) / CLOCK_NS;
        /* Not after a jump. */
        tick_ns *= behind > -1e-3 && behind < 1e-3 ? 1 + behind : 1;
        c->ticks0 = a->ticks;
        c->ns0 = said;
    }
    c->ns_per_tick = (uint64_t)(tick_ns * 4294967296.0 + 0.5);
}

static void look_at_clock(struct writer *w)
{
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    if (now < w->next_clock)
        return;
    w->next_clock = now + CLOCK_NS;
    plumb_anchor_take(&w->anchor, plumb_rt.clock);
    set_clock(w, &w->anchor);
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
    while (sem_clockwait(&wish.wake, CLOCK_MONOTONIC, &t) < 0 && errno == EINTR)
        continue;
}

/* From how full the fullest queue was: so that the next time it is a quarter full. */
static uint64_t next_pause(uint64_t pause_ns, uint32_t fullest)
{
    if (fullest > 64)
        pause_ns /= fullest > 128 ? 4 : 2;
    else if (fullest < 32)
        pause_ns *= 2;
    return pause_ns < WAKE_MIN_NS ? WAKE_MIN_NS : pause_ns > WAKE_NS ? WAKE_NS : pause_ns;
}

/* ---- Ring mode: pieces that are kept ----------------------------------------------------------
 */

struct piece {
    struct plumb_trace_live live;
    uint64_t limit;
    int fd, code;
};

static bool write_piece(void *arg, const unsigned char *bytes, size_t n)
{
    struct piece *p = arg;
    uint64_t end = p->live.file.bytes + n;
    p->code = end > p->limit ? EFBIG : plumb_file_limit(end);
    while (!p->code && n) {
        ssize_t done = write(p->fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            p->code = done < 0 ? errno : ENOSPC;
            break;
        }
        bytes += done;
        n -= (size_t)done;
    }
    return p->code == 0;
}

static void fill_piece(struct writer *w, struct piece *p, const char *why)
{
    struct plumb_trace_file *f = &p->live.file;
    f->clock = w->live.file.clock;
    plumb_trace_file_head(f);
    plumb_trace_modules(f, 0);
    plumb_trace_file_fact(f, "plumb.keep.why", why);
    plumb_trace_live_collect(&p->live);
    plumb_trace_file_fact(f, "plumb.trace_end", "with the newest record");
    plumb_trace_file_flush(f);
}

/* The newest records as a file of the run's directory. 0, or an errno. */
static int write_piece_file(struct writer *w, const char *name, const char *why, uint64_t *bytes,
                            uint64_t *spans)
{
    struct piece *p = plumb_pages_map(sizeof *p);
    unsigned char *buffer = plumb_pages_map(PLUMB_TRACE_BUFFER);
    char path[1200];
    int code = p && buffer ? 0 : ENOMEM;
    snprintf(path, sizeof path, "%s/%s", w->run->dir, name);
    if (!code) {
        p->live.file.out = (struct plumb_pf_out){buffer, PLUMB_TRACE_BUFFER, 0};
        p->live.file.source = w->live.file.source;
        p->live.file.write = write_piece;
        p->live.file.arg = p;
        p->live.filter = w->live.filter;
        p->limit = trace_of(w)->max_bytes - trace_of(w)->kept_bytes;
        p->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        code = p->fd < 0 ? errno : plumb_trace_live_open(&p->live, false) < 0 ? ENOMEM : 0;
        if (!code) {
            fill_piece(w, p, why);
            code = p->code;
            *bytes = p->live.file.bytes;
            *spans = plumb_trace_live_spans(&p->live);
        }
        if (p->fd >= 0 && close(p->fd) != 0 && !code)
            code = errno;
        if (p->fd >= 0 && code)
            unlink(path);
        plumb_trace_live_fini(&p->live);
    }
    plumb_pages_unmap(buffer, PLUMB_TRACE_BUFFER);
    plumb_pages_unmap(p, sizeof *p);
    return code;
}

static void keep_now(struct writer *w)
{
    struct plumb_live_trace *t = trace_of(w);
    uint64_t bytes = 0, spans = 0;
    char name[64], why[PLUMB_KEEP_WHY];
    int code;
    for (size_t i = 0; i < sizeof why; i++)
        why[i] = PLUMB_LOAD(wish.why[i]);
    snprintf(name, sizeof name, "kept-%u.pftrace", t->kept + 1);
    code = t->kept_bytes >= t->max_bytes ? EFBIG : write_piece_file(w, name, why, &bytes, &spans);
    if (code) {
        if (t->kept_refused++ == 0)
            plumb_say("plumb: cannot keep the newest records in %s/%s: %s", w->run->dir, name,
                      code == EFBIG ? "PLUMB_TRACE_MAX is reached" : strerror(code));
        return;
    }
    t->kept_bytes += bytes;
    PLUMB_RELEASE(t->kept, t->kept + 1);
    plumb_log(PLUMB_LOG_INFO, "plumb: kept %s/%s: %s", w->run->dir, name, why);
}

int plumb_trace_keep_impl(const char *why, plumb_error *err)
{
    uint32_t before = KEEP_NOTHING, said = KEEP_BEING_SAID;
    size_t n = 0;
    bool heard = __atomic_compare_exchange_n(&wish.state, &before, KEEP_BEING_SAID, false,
                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (heard) {
        for (; why && why[n] && n < sizeof wish.why - 1; n++)
            PLUMB_STORE(wish.why[n], why[n]);
        PLUMB_STORE(wish.why[n], '\0');
        heard = __atomic_compare_exchange_n(&wish.state, &said, KEEP_WANTED, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        sem_post(&wish.wake);
    }
    /* One that waits already will have these records too. */
    if (!heard && (before == KEEP_OFF || said == KEEP_OFF))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "no trace in ring mode is on (PLUMB_TRACE_MODE=ring)");
    return PLUMB_OK;
}

/* The watch of a thread block; NULL: there are too many. */
static struct plumb_keep_watch *watch_of(struct writer *w, uint64_t off)
{
    uint64_t i = plumb_map_get(&w->watch_of, off);
    if (!i && w->watch_count < WATCHES && plumb_map_put(&w->watch_of, off, w->watch_count + 1) == 0)
        i = ++w->watch_count;
    return i ? &w->watches[i - 1] : NULL;
}

/* Whether a span of some thread took too long since the last look. */
static void look_for_slow_spans(struct writer *w)
{
    const struct plumb_trace_source *s = &w->live.file.source;
    uint64_t off = w->rules.count ? PLUMB_ACQUIRE(s->h->thread_off) : 0;
    char why[PLUMB_KEEP_WHY];
    while (off) {
        struct plumb_live_thread *live = plumb_trace_at(s, off, sizeof *live);
        struct plumb_keep_watch *watch = live ? watch_of(w, off) : NULL;
        if (watch && plumb_keep_look(watch, &w->rules, &w->live, live, why))
            plumb_trace_keep_impl(why, NULL);
        off = live ? live->next_off : 0;
    }
}

static void pass_ring(struct writer *w)
{
    look_for_slow_spans(w);
    if (PLUMB_ACQUIRE(wish.state) != KEEP_WANTED)
        return;
    keep_now(w);
    PLUMB_RELEASE(wish.state, KEEP_NOTHING);
}

static void open_ring(struct writer *w)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    plumb_error err = {0, ""};
    if (trace_of(w)->mode != PLUMB_LIVE_TRACE_RING) {
        if (s->keep_if[0] || s->keep_signal[0])
            plumb_say("plumb: PLUMB_KEEP_IF and PLUMB_KEEP_SIGNAL need PLUMB_TRACE_MODE=ring");
        return;
    }
    if (plumb_keep_rules_parse(&w->rules, s->keep_if, &err) < 0)
        plumb_say("plumb: PLUMB_KEEP_IF: %s; it keeps nothing", err.message);
    if (w->rules.count && !(w->watches = plumb_pages_map(WATCHES * sizeof *w->watches)))
        w->rules.count = 0;
    plumb_keep_signal_take(s->keep_signal);
}

static void close_ring(struct writer *w, bool whole)
{
    struct plumb_live_trace *t = trace_of(w);
    uint32_t before;
    int code;
    if (t->mode != PLUMB_LIVE_TRACE_RING)
        return;
    plumb_keep_signal_give_back();
    before = __atomic_exchange_n(&wish.state, KEEP_OFF, __ATOMIC_ACQ_REL);
    if (whole && before == KEEP_WANTED)
        keep_now(w);
    if (whole && t->kept_bytes < t->max_bytes) {
        code =
            write_piece_file(w, PLUMB_TRACE_FILE, "the run ended", &t->file_bytes, &t->file_spans);
        if (code)
            end_trace(w, code == EFBIG ? PLUMB_TRACE_AT_BOUND : PLUMB_TRACE_NO_FILE, code);
        if (code)
            t->file_bytes = 0;
    }
    plumb_map_fini(&w->watch_of);
    if (w->watches)
        plumb_pages_unmap(w->watches, WATCHES * sizeof *w->watches);
}

static uint32_t pass(struct writer *w)
{
    uint32_t fullest = 0;
    look_at_clock(w);
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP)
        fullest = plumb_trace_live_pass(&w->live);
    else
        pass_ring(w);
    return fullest;
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    uint64_t pause_ns = WAKE_MIN_NS;
    sem_post(&w->born);
    while (!PLUMB_ACQUIRE(w->stop)) {
        sleep_for(pause_ns);
        if (PLUMB_ACQUIRE(w->stop))
            break;
        if (!trace_of(w)->ended)
            pause_ns = next_pause(pause_ns, pass(w));
        else
            pause_ns = WAKE_NS;
    }
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
    t->file.source = (struct plumb_trace_source){w->run->base, w->run->mapped, w->run->h};
    t->file.write = write_bytes;
    t->file.arg = w;
    t->file.bytes = bytes;
    t->commits = true;
    return t->file.out.base ? plumb_trace_live_open(t, continues) : PLUMB_ERR_MEMORY;
}

/* The files of single nodes are made from slots as they are taken. */
static void open_parts(struct writer *w)
{
    plumb_error err = {0, ""};
    bool takes = trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP;
    int rc = plumb_trace_parts_open(&w->parts, &w->live, takes ? w->run->dir : NULL, true, &err);
    if (rc == PLUMB_ERR_ARG)
        plumb_say("plumb: PLUMB_TRACE_STEPS: %s; the trace has every step", err.message);
    else if (rc < 0)
        plumb_say("plumb: %s", err.message);
    if (!takes && trace_of(w)->nodes_off)
        plumb_say("plumb: PLUMB_TRACE_NODES does nothing with PLUMB_TRACE_MODE=ring");
    else if (takes && strcmp(plumb_rt.settings.trace_nodes, "*") == 0)
        plumb_say("plumb: PLUMB_TRACE_NODES=*: a trace for each of up to %d nodes, each with all "
                  "that runs inside: expect large files",
                  (int)PLUMB_NODE_FILES);
}

/* Finishes them; what there is to say of them becomes notes of the run. */
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
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP && (code = make_file(w)) != 0)
        return code;
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_STOP)
        plumb_trace_file_head(&w->live.file);
    if (!wish.made)
        sem_init(&wish.wake, 0, 0);
    wish.made = true;
    sem_init(&w->born, 0, 0);
    open_ring(w);
    code = plumb_control_thread(&w->thread, writer_main, w);
    if (code)
        return code;
    pthread_setname_np(w->thread, "plumb-trace");
    while (sem_wait(&w->born) < 0 && errno == EINTR)
        continue;
    PLUMB_RELEASE(w->running, 1);
    if (trace_of(w)->mode == PLUMB_LIVE_TRACE_RING)
        PLUMB_RELEASE(wish.state, KEEP_NOTHING);
    return 0;
}

void plumb_trace_writer_start(struct plumb_run *run)
{
    struct writer *w = &writer;
    uint64_t max = run->h->trace.max_bytes, tail = max / 16;
    int code;
    memset(w, 0, sizeof *w);
    w->fd = -1;
    if (run->h->trace.mode == PLUMB_LIVE_TRACE_NONE)
        return;
    w->run = run;
    w->limit = max - (tail < TAIL_MAX ? tail : TAIL_MAX);
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
    sem_post(&wish.wake);
    pthread_join(w->thread, NULL);
    PLUMB_RELEASE(w->running, 0);
}

/* After an end before its time: the file as it was at the last commit, and then its tail. */
static void take_back(struct writer *w)
{
    const struct plumb_live_trace *t = trace_of(w);
    uint64_t bytes = t->batch ? t->commit[t->batch & 1].bytes : 0;
    plumb_trace_live_fini(&w->live);
    w->live.file.bytes = bytes;
    if (w->fd < 0 || open_live(w, true) < 0 || file_again(w) != 0 ||
        ftruncate(w->fd, (off_t)bytes) != 0)
        w->live.file.failed = true;
    else if (!bytes)
        plumb_trace_file_head(&w->live.file);
}

static void write_tail(struct writer *w)
{
    struct plumb_trace_file *f = &w->live.file;
    uint32_t threads = 0;
    plumb_trace_modules(f, trace_of(w)->ended ? 0 : w->modules);
    plumb_trace_file_fact(f, "plumb.trace_end", plumb_trace_end_text(f->source.h));
    plumb_trace_file_fact_u64(f, "plumb.dropped", plumb_trace_lost(&f->source, &threads));
    plumb_trace_file_flush(f);
    trace_of(w)->file_bytes = f->bytes;
    trace_of(w)->file_spans = trace_of(w)->commit[trace_of(w)->batch & 1].spans;
}

void plumb_trace_writer_stop(struct plumb_run *run, const struct plumb_anchor *end, bool whole)
{
    struct writer *w = &writer;
    if (w->run != run)
        return;
    stop_thread(w);
    if (whole)
        set_clock(w, end);
    close_ring(w, whole);
    if (whole && w->fd >= 0) {
        if (!trace_of(w)->ended)
            plumb_trace_live_finish(&w->live);
        close_parts(w, true);
        w->limit = trace_of(w)->max_bytes;
        if (trace_of(w)->ended)
            take_back(w);
        plumb_trace_settle(&w->live.file.source);
        if (trace_of(w)->ended)
            plumb_trace_live_finish(&w->live);
        write_tail(w);
    }
    close_parts(w, false);
    if (is_ours(w))
        close(w->fd);
    plumb_pages_unmap(w->live.file.out.base, PLUMB_TRACE_BUFFER);
    plumb_trace_live_fini(&w->live);
    memset(w, 0, sizeof *w);
    w->fd = -1;
}

void plumb_trace_writer_forget(void)
{
    struct writer *w = &writer;
    /* The parent's threads may have been in the middle of either. */
    memset(&wish, 0, sizeof wish);
    if (!w->run)
        return;
    if (is_ours(w))
        close(w->fd);
    plumb_pages_unmap(w->live.file.out.base, PLUMB_TRACE_BUFFER);
    plumb_trace_live_fini(&w->live);
    memset(w, 0, sizeof *w);
    w->fd = -1;
}

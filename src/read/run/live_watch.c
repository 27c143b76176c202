/* live_watch.c: see live_watch.h. Threads are copied first, then the header again: so the tables
 * have every key and name that the threads' data refers to. Everything else is loaded when the
 * reader of mappings comes to it. */
#include "read/run/live_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process/process.h"
#include "live/clock.h"
#include "live/read.h"
#include "read/run/live_thread.h"

enum {
    TRIES = 4,
    FRESH_MS = 3000 /* a process that was awake so lately lives; its helper wakes up 10 times
                              a second */
};

static int fail_in(struct plumb_live_watch *w, plumb_error *err, int rc, const char *why)
{
    return plumb_fail(err, rc, "'%s': %s", w->path, why);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_path(struct plumb_live_watch *w, plumb_error *err)
{
    struct stat st;
    int fd = open(w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot open '%s': %s", w->path, strerror(errno));
    plumb_live_image_init(&w->image, fd);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        plumb_live_watch_close(w);
        return fail_in(w, err, PLUMB_ERR_FORMAT, "not a regular file");
    }
    return PLUMB_OK;
}

static const struct plumb_live_header *header_of(const struct plumb_live_watch *w)
{
    return (const struct plumb_live_header *)(const void *)w->image.base;
}

/* Returns whether the number of a process that is not there is one of the processes seen here: then
 * the process is over. */
static bool is_seen_here(const struct plumb_live_header *h)
{
    return h->pid_namespace && h->pid_namespace == plumb_process_namespace(0, "pid");
}

int plumb_live_watch_open(struct plumb_live_watch *out, const char *run_dir, plumb_error *err)
{
    uint64_t start;
    plumb_error why = {0, ""};
    int rc, n = snprintf(out->path, sizeof out->path, "%s/" PLUMB_LIVE_NAME, run_dir);
    if (n < 0 || (size_t)n >= sizeof out->path)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", run_dir);
    snprintf(out->run_dir, sizeof out->run_dir, "%s", run_dir);
    if ((rc = open_path(out, err)) < 0)
        return rc;
    if ((rc = plumb_live_image_begin(&out->image, &why)) < 0) {
        plumb_live_watch_close(out);
        return fail_in(out, err, rc, why.message);
    }
    /* In another namespace of processes, its number may be that of another process here. */
    out->pid = header_of(out)->pid;
    out->process_start = header_of(out)->process_start;
    start = plumb_process_start(out->pid);
    if (start != out->process_start && (start || !is_seen_here(header_of(out))))
        out->pid = 0;
    return PLUMB_OK;
}

/* Returns the path, in `line`, of a line of /proc/PID/maps that is of a mapping of ours whose file
 * still has its name. It is private once the file cannot grow. */
static char *mapping_in(char *line)
{
    static const char name[] = "/" PLUMB_LIVE_NAME "\n";
    char *path = strchr(line, '/');
    size_t n = strlen(line);
    if (!path || n < sizeof name || strcmp(line + n - (sizeof name - 1), name) != 0)
        return NULL;
    line[n - 1] = '\0';
    return path;
}

/* A forked child may have its parent's mapping. A process without /proc does not know when it
 * began. */
static bool is_of_process(const struct plumb_live_watch *w)
{
    const struct plumb_live_header *h = header_of(w);
    return h->process_start ? h->process_start == w->process_start : h->pid == w->pid;
}

/* Opens the mapping at `path` below `root`. Returns whether it is one of the process, and of a run
 * that is open. */
static bool open_mapping(struct plumb_live_watch *w, const char *root, const char *path)
{
    int n = snprintf(w->path, sizeof w->path, "%s%s", root, path);
    if (n < 0 || (size_t)n >= sizeof w->path || open_path(w, NULL) < 0)
        return false;
    snprintf(w->run_dir, sizeof w->run_dir, "%.*s", (int)(strlen(path) - sizeof PLUMB_LIVE_NAME),
             path);
    if (plumb_live_image_begin(&w->image, NULL) == PLUMB_OK &&
        header_of(w)->status == PLUMB_LIVE_RECORDING && is_of_process(w))
        return true;
    plumb_live_watch_close(w);
    return false;
}

/* The list shows paths below the root directory of the reader, where they are reachable from it,
 * and otherwise below that of the namespace, of which the root of the process may be a part:
 * leading folders are left out one by one. The header says whether it is the mapping of the
 * process. */
static bool find_mapping(struct plumb_live_watch *w, FILE *maps)
{
    char line[PATH_MAX + 128], root[64];
    snprintf(root, sizeof root, "/proc/%u/root", w->pid);
    while (fgets(line, sizeof line, maps)) {
        const char *path = mapping_in(line);
        for (const char *below = path; below; below = strchr(below + 1, '/')) {
            if (open_mapping(w, root, below))
                return true;
        }
        if (path && open_mapping(w, "", path))
            return true;
    }
    return false;
}

int plumb_live_watch_open_pid(struct plumb_live_watch *out, uint32_t pid, plumb_error *err)
{
    char name[64];
    FILE *maps;
    bool found = false, refused;
    out->pid = pid;
    out->process_start = plumb_process_start(pid);
    if (!out->process_start)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "process %u does not exist", pid);
    snprintf(name, sizeof name, "/proc/%u/maps", pid);
    /* Of another user's process the list opens, and reads as an error. */
    errno = 0;
    if ((maps = fopen(name, "re"))) {
        found = find_mapping(out, maps);
        refused = ferror(maps);
        fclose(maps);
    } else {
        refused = errno == EACCES || errno == EPERM;
    }
    if (found)
        return PLUMB_OK;
    return refused ? plumb_fail(err, PLUMB_ERR_IO, "process %u is another user's", pid)
                   : plumb_fail(err, PLUMB_ERR_NOT_FOUND, "process %u records nothing now", pid);
}

void plumb_live_watch_close(struct plumb_live_watch *watch)
{
    plumb_live_image_fini(&watch->image);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Of a process that has no number here, it is seen by the mapping whether it lives. */
static bool is_over(struct plumb_live_watch *w)
{
    const struct plumb_live_header *h = header_of(w);
    uint64_t now;
    double ppm;
    if (w->pid)
        return plumb_process_is_over(w->pid, w->process_start);
    now = plumb_ticks_from(h->clock_source);
    return now > h->seen_ticks &&
           (double)(now - h->seen_ticks) * plumb_live_tick_ns(h, NULL, &ppm) > FRESH_MS * 1e6;
}

bool plumb_live_watch_records(struct plumb_live_watch *watch)
{
    return plumb_live_image_begin(&watch->image, NULL) == PLUMB_OK &&
           header_of(watch)->status == PLUMB_LIVE_RECORDING && !is_over(watch);
}

/* Returns the counter that the process reads too; 0: the process has a virtual
 * clock. */
static uint64_t ticks_now(const struct plumb_live_header *h)
{
    bool known = h->clock_source == PLUMB_CLOCK_TSC || h->clock_source == PLUMB_CLOCK_GETTIME;
    return known ? plumb_ticks_from(h->clock_source) : 0;
}

/* Returns the present moment by the counter that the process reads too. False: it is not known, and
 * the newest moment in the mapping stands for it. */
static bool take_now(struct plumb_anchor *now, const struct plumb_live_header *h)
{
    struct plumb_anchor newest = plumb_live_clock_newest(h);
    uint64_t ticks = ticks_now(h), since_ns;
    double ppm, tick_ns = plumb_live_tick_ns(h, NULL, &ppm);
    if (!ticks || ticks < newest.ticks || !(tick_ns > 1e-3 && tick_ns < 1e3))
        return false;
    since_ns = plumb_ticks_to_ns(ticks - newest.ticks, tick_ns);
    *now = newest;
    now->ticks = ticks;
    now->raw_ns += since_ns;
    now->unix_ns += since_ns;
    return true;
}

static int load_threads(struct plumb_live_watch *w, struct plumb_live_moment *m)
{
    size_t most = w->image.bytes / sizeof(struct plumb_live_thread) + 1;
    uint64_t off = header_of(w)->thread_off;
    for (; off && most; most--) {
        int rc = plumb_live_thread_load(&w->image, off);
        const struct plumb_live_thread *th;
        if (rc < 0)
            return rc;
        th = plumb_live_image_at(&w->image, off, sizeof *th);
        m->threads++;
        m->threads_used += th->in_use != 0;
        m->threads_apart += rc == PLUMB_LIVE_THREAD_APART;
        off = th->next_off;
    }
    return PLUMB_OK;
}

/* The file of a living process stopped growing: what it has recorded since then is in its memory
 * alone, so the figures of the file would be those of a moment long past. */
static int check_growing(const struct plumb_live_watch *w, bool over, plumb_error *err)
{
    const struct plumb_live_header *h = header_of(w);
    uint64_t ticks = PLUMB_ACQUIRE(h->frozen_ticks);
    double ppm;
    if (!ticks || over || h->status != PLUMB_LIVE_RECORDING)
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_IO,
                      "it could not grow any more %.3f s after the start (%s); the figures since "
                      "then are in the memory of the process until the run ends",
                      (double)(ticks - h->start.ticks) * plumb_live_tick_ns(h, NULL, &ppm) * 1e-9,
                      strerror((int)h->frozen_errno));
}

static int read_once(struct plumb_live_watch *w, struct plumb_timing *out,
                     struct plumb_live_moment *m, plumb_error *err)
{
    struct plumb_live_view view;
    struct plumb_anchor now;
    /* Before the header, which has the list of threads; its clock has been known since opening. */
    uint64_t whole_ticks = ticks_now(header_of(w));
    bool over;
    int rc = plumb_live_image_begin(&w->image, err);
    if (rc < 0)
        return rc;
    /* First: a process that ends during the reading may change the mapping until it has ended. */
    over = is_over(w);
    if ((over && (rc = plumb_live_image_begin(&w->image, err)) < 0) ||
        (rc = load_threads(w, m)) < 0 || (rc = plumb_live_image_again(&w->image, err)) < 0 ||
        (rc = check_growing(w, over, err)) < 0)
        return rc;
    view = plumb_live_image_view(&w->image);
    view.whole_ticks = over ? 0 : whole_ticks;
    rc = plumb_live_view_to_timing(out, &view, !over && take_now(&now, view.h) ? &now : NULL, err);
    m->mapped_bytes = view.h->used;
    m->state = view.h->status == PLUMB_LIVE_ENDED ? PLUMB_LIVE_WATCH_ENDED
               : over                             ? PLUMB_LIVE_WATCH_KILLED
                                                  : PLUMB_LIVE_WATCH_RECORDS;
    if (w->image.failed)
        return PLUMB_ERR_FORMAT;
    return rc == PLUMB_OK && w->image.unsettled ? PLUMB_ERR_STATE : rc;
}

int plumb_live_watch_read(struct plumb_live_watch *watch, struct plumb_timing *out,
                          struct plumb_live_moment *moment, plumb_error *err)
{
    int rc = PLUMB_ERR_STATE;
    plumb_error why = {0, ""};
    for (int i = 0; i < TRIES && rc == PLUMB_ERR_STATE; i++) {
        plumb_timing_fini(out);
        plumb_timing_init(out);
        *moment = (struct plumb_live_moment){.state = PLUMB_LIVE_WATCH_RECORDS};
        why = (plumb_error){0, ""};
        rc = read_once(watch, out, moment, &why);
    }
    if (rc == PLUMB_OK)
        return rc;
    if (rc == PLUMB_ERR_STATE)
        return fail_in(watch, err, rc, "it changed too fast to be read; try again");
    return fail_in(watch, err, rc, why.message[0] ? why.message : "damaged, or cut short");
}

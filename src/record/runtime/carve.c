/* carve.c: the mapping of a run and the objects carved from it.
 *
 * The address range is reserved once, at the bound (PLUMB_MAX_STATE), and never moves. Its storage
 * is allocated step by step with posix_fallocate, because a page of a sparse file on a full disk
 * would kill the host with SIGBUS. The helper does that ahead of need: a thread that carves hardly
 * ever waits for it, and never longer than a second. When the disk is full (or RLIMIT_FSIZE would
 * raise SIGXFSZ), the rest of the range becomes private memory. Recording continues; only the
 * crash-safety of later data is lost, which is reported. All under the runtime's lock. */
#include "record/runtime/carve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/new_file.h"
#include "base/own_file.h"
#include "base/pages.h"
#include "record/runtime/helper.h"
#include "record/runtime/mapping.h"

enum {
    STEP = 256 * 1024,
    RESERVE = 256 * 1024,
    AHEAD = 512 * 1024,
    TRACE_PART = 4,  /* one part in so many is for queues of the trace */
    LIMIT_PART = 16, /* one part in so many of the process's limit is for the mapping of a run */
    QUEUE_LEFT = 8   /* a queue takes at most one part in so many of what the mapping has left */
};
#define GROW_WAIT_NS UINT64_C(1000000000)

/* ---- The file -------------------------------------------------------------------------------- */

/* A descriptor stays open only in the helper's table; in the program's table it is open only during
 * its use. */
static int file_begin(struct plumb_run *run)
{
    char path[1100];
    if (run->fd >= 0)
        return run->fd;
    snprintf(path, sizeof path, "%s/%s", run->dir, PLUMB_LIVE_NAME);
    return plumb_own_file_open(&run->file, path, O_RDWR);
}

static void file_end(struct plumb_run *run, int fd)
{
    if (plumb_helper_is_me())
        run->fd = fd;
    else if (fd >= 0)
        close(fd);
}

/* ---- The mapping ----------------------------------------------------------------------------- */

/* Bounds the mapping, so that it leaves the program enough of the process's limits. */
static size_t within_limits(struct plumb_run *run, size_t bytes)
{
    static const struct {
        int resource;
        const char *why;
    } limits[] = {{RLIMIT_AS, "a sixteenth of the address space (ulimit -v)"},
                  {RLIMIT_DATA, "a sixteenth of the data segment (ulimit -d)"}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;
        if (getrlimit((unsigned)limits[i].resource, &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / LIMIT_PART < bytes) {
            bytes = limit.rlim_cur / LIMIT_PART;
            run->bounded_by = limits[i].why;
        }
    }
    return (bytes + STEP - 1) / STEP * STEP;
}

/* Maps as much as the kernel gives: half as much each time it refuses, down to one step. */
static bool map(struct plumb_run *run, int flags, int fd)
{
    for (;; run->mapped = (run->mapped / 2 + STEP - 1) / STEP * STEP) {
        run->base = mmap(NULL, run->mapped, PROT_READ | PROT_WRITE, flags, fd, 0);
        if (run->base != MAP_FAILED)
            return true;
        if (errno != ENOMEM || run->mapped == STEP)
            return false;
        run->bounded_by = "there was no space for more";
    }
}

int plumb_mapping_open(struct plumb_run *run, const char *dir, size_t bytes, plumb_error *err)
{
    char path[1100];
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd = -1;
    run->fd = -1;
    run->bounded_by = NULL;
    run->mapped = within_limits(run, bytes);
    if (dir) {
        snprintf(path, sizeof path, "%s/%s", dir, PLUMB_LIVE_NAME);
        fd = plumb_new_file(path, O_RDWR, 0600);
        if (fd < 0)
            return plumb_fail(err, PLUMB_ERR_IO, "cannot make '%s': %s", path, strerror(errno));
        plumb_own_file_remember(&run->file, fd);
        flags = MAP_SHARED | MAP_NORESERVE;
    }
    if (!map(run, flags, fd)) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
            unlink(path);
        }
        run->base = NULL;
        return plumb_fail(err, PLUMB_ERR_MEMORY,
                          "cannot map %zu bytes for statistics: %s; lower PLUMB_MAX_STATE",
                          run->mapped, strerror(code));
    }
    run->reserve = run->mapped / 16 < RESERVE ? run->mapped / 16 : RESERVE;
    run->trace_left = run->mapped / TRACE_PART;
    run->in_file = fd >= 0;
    run->backed = run->in_file ? 0 : run->mapped;
    file_end(run, fd);
    return PLUMB_OK;
}

bool plumb_file_in_place(const struct plumb_run *run)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", run->dir, PLUMB_LIVE_NAME);
    return run->in_file && plumb_own_file_is_at(&run->file, path);
}

/* A frozen file does not get the status of the run's end from the mapping. */
static void store_end(struct plumb_run *run)
{
    const uint32_t ended = PLUMB_LIVE_ENDED;
    int fd = file_begin(run);
    ssize_t written = pwrite(fd, &ended, sizeof ended, offsetof(struct plumb_live_header, status));
    (void)written;
    file_end(run, fd);
}

void plumb_file_done(struct plumb_run *run, bool keep_file)
{
    char path[1100];
    if (!run->in_file)
        return;
    if (run->partly && run->frozen)
        store_end(run);
    if (run->fd >= 0)
        close(run->fd);
    snprintf(path, sizeof path, "%s/%s", run->dir, PLUMB_LIVE_NAME);
    if (!keep_file || (run->partly && !run->frozen))
        unlink(path);
    run->fd = -1;
    run->in_file = false;
}

void plumb_mapping_close(struct plumb_run *run)
{
    if (run->base)
        munmap(run->base, run->mapped);
    plumb_text_fini(run);
    plumb_pages_unmap(run->cell_slots, PLUMB_CELL_SLOTS * sizeof *run->cell_slots);
    run->cell_slots = NULL;
    plumb_map_fini(&run->texts);
    plumb_map_fini(&run->keys);
    plumb_map_fini(&run->stages);
    plumb_map_fini(&run->owners);
    plumb_map_fini(&run->signatures);
    plumb_map_fini(&run->scheds);
    plumb_map_fini(&run->devices);
    plumb_map_fini(&run->perfs);
    run->base = NULL;
    run->h = NULL;
}

int plumb_file_limit(size_t want)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        want > limit.rlim_cur)
        return EFBIG;
    return 0;
}

/* The file cannot grow any more. It is frozen in its present, consistent state: if it were still
 * written, its lists would lead to objects that are only in memory. */
static bool freeze(struct plumb_run *run, int fd, int code)
{
    const int flags = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED;
    size_t rest = run->mapped - run->backed;
    /* First, while writes still reach the file: its readers have to know. */
    if (run->h && !run->h->frozen_ticks) {
        run->h->frozen_errno = (uint64_t)code;
        PLUMB_RELEASE(run->h->frozen_ticks, plumb_ticks_from(plumb_rt.clock));
    }
    if (mmap(run->base + run->backed, rest, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
        return false;
    if (run->backed &&
        mmap(run->base, run->backed, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED)
        plumb_log(PLUMB_LOG_WARN, "live.plumb cannot be kept whole: %s", strerror(errno));
    snprintf(run->problem, sizeof run->problem,
             "cannot grow live.plumb beyond %zu bytes: %s; from here on statistics are kept in "
             "memory only until the run ends",
             run->backed, strerror(code));
    run->frozen = run->backed;
    PLUMB_RELEASE(run->partly, true);
    PLUMB_RELEASE(run->backed, run->mapped);
    return true;
}

static int lengthen(const struct plumb_run *run, int fd, size_t upto)
{
    int code = plumb_file_limit(upto);
    return code ? code : posix_fallocate(fd, (off_t)run->backed, (off_t)(upto - run->backed));
}

/* Allocates storage for the first `want` bytes. Returns false if there is not even memory. */
static bool back(struct plumb_run *run, size_t want)
{
    size_t upto = (want + STEP - 1) / STEP * STEP;
    int fd = file_begin(run), code = fd < 0 ? EBADF : lengthen(run, fd, upto);
    bool done = true;
    if (code)
        done = freeze(run, fd, code);
    else
        PLUMB_RELEASE(run->backed, upto);
    file_end(run, fd);
    return done;
}

/* A failure is not reported here: storage is left, and the thread that needs more will notice. */
static void back_ahead(struct plumb_run *run, size_t upto)
{
    int fd = file_begin(run);
    if (fd >= 0 && lengthen(run, fd, upto) == 0)
        PLUMB_RELEASE(run->backed, upto);
    else
        run->is_tight = true;
    file_end(run, fd);
}

void plumb_carve_grow(void)
{
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    size_t ahead;
    if (!run || !run->in_file || run->partly)
        return;
    if (PLUMB_ACQUIRE(run->want) > run->backed)
        back(run, run->want);
    ahead = (PLUMB_ACQUIRE(run->want_soon) + STEP - 1) / STEP * STEP;
    if (ahead > run->backed && ahead <= run->mapped && !run->is_tight && !run->partly)
        back_ahead(run, ahead);
}

/* Returns whether the first `upto` bytes have storage, now or soon. */
static bool has(struct plumb_run *run, size_t upto)
{
    if (upto <= PLUMB_ACQUIRE(run->backed))
        return true;
    if (plumb_helper_is_me() || !plumb_helper_is_there() || run != plumb_rt.run)
        return back(run, upto);
    PLUMB_RELEASE(run->want, upto);
    plumb_helper_do(PLUMB_JOB_GROW, GROW_WAIT_NS);
    return upto <= PLUMB_ACQUIRE(run->backed);
}

/* Asks ahead of need, so no thread has to wait. */
static void ask_for_more(struct plumb_run *run)
{
    size_t backed = PLUMB_LOAD(run->backed);
    if (run->h->used + AHEAD / 2 <= backed || PLUMB_LOAD(run->want_soon) > backed)
        return;
    PLUMB_RELEASE(run->want_soon, backed + AHEAD);
    if (run == plumb_rt.run)
        plumb_helper_ask(PLUMB_JOB_GROW);
}

void plumb_carve_note(struct plumb_run *run)
{
    if (!PLUMB_ACQUIRE(run->partly) || run->noted)
        return;
    run->noted = true;
    plumb_run_note(run, "%s", run->problem);
}

uint64_t plumb_carve_left(const struct plumb_run *run)
{
    uint64_t end = run->mapped - run->reserve;
    return run->h->used < end ? end - run->h->used : 0;
}

uint64_t plumb_carve(struct plumb_run *run, size_t bytes)
{
    uint64_t at = run->h ? run->h->used : 0;
    bytes = (bytes + 63) & ~(size_t)63;
    if (bytes > run->mapped - run->reserve || at > run->mapped - run->reserve - bytes)
        return 0;
    if (!has(run, at + bytes))
        return 0;
    if (!run->h)
        return at;
    run->h->used = at + bytes;
    ask_for_more(run);
    /* Not earlier: the note itself is carved. */
    plumb_carve_note(run);
    return at;
}

uint64_t plumb_carve_queue(struct plumb_run *run, const struct plumb_queue_want *want,
                           uint64_t *slots)
{
    uint64_t most = run->trace_left / want->part, left = plumb_carve_left(run) / QUEUE_LEFT, off;
    most = most < left ? most : left;
    *slots = want->most;
    while (*slots > want->least && *slots * want->slot_bytes > most)
        *slots /= 2;
    if (*slots * want->slot_bytes > run->trace_left)
        return 0;
    off = plumb_carve(run, *slots * want->slot_bytes);
    run->trace_left -= off ? *slots * want->slot_bytes : 0;
    return off;
}

/* Returns the offset of the text, or 0 if it has not been carved. */
static uint64_t find_text(const struct plumb_run *run, const char *text, uint64_t hash)
{
    uint64_t off = plumb_map_get(&run->texts, hash);
    const char *there = PLUMB_AT(run, const char, off + sizeof(struct plumb_live_text));
    return off && strcmp(there, text) == 0 ? off : 0;
}

uint64_t plumb_carved_text(const struct plumb_run *run, const char *text)
{
    return find_text(run, text, plumb_hash_text(text));
}

uint64_t plumb_carve_text(struct plumb_run *run, const char *text)
{
    uint64_t hash = plumb_hash_text(text), off = find_text(run, text, hash);
    size_t n = strlen(text);
    struct plumb_live_text *t;
    if (off)
        return off;
    off = plumb_carve(run, sizeof *t + n + 1);
    if (!off)
        return 0;
    t = PLUMB_AT(run, struct plumb_live_text, off);
    memcpy(t + 1, text, n + 1);
    PLUMB_RELEASE(t->bytes, (uint32_t)n);  /* a reader in ring mode may read it at once */
    plumb_map_put(&run->texts, hash, off); /* failing only costs a second copy */
    return off;
}

void *plumb_table_add(struct plumb_run *run, struct plumb_live_table *t)
{
    uint32_t at, chunk = plumb_table_chunk(t->count, &at);
    if (chunk >= PLUMB_TABLE_CHUNKS)
        return NULL;
    if (!t->chunk_off[chunk]) {
        uint64_t off = plumb_carve(run, (size_t)t->element_bytes * ((size_t)64 << chunk));
        if (!off)
            return NULL;
        PLUMB_RELEASE(t->chunk_off[chunk], off);
    }
    return run->base + t->chunk_off[chunk] + (uint64_t)at * t->element_bytes;
}

void plumb_table_commit(struct plumb_live_table *t)
{
    PLUMB_RELEASE(t->count, t->count + 1);
}

void plumb_run_note(struct plumb_run *run, const char *format, ...)
{
    char text[512];
    va_list ap;
    uint64_t text_off, off;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    text_off = plumb_carve_text(run, text);
    off = text_off ? plumb_carve(run, sizeof(struct plumb_live_note)) : 0;
    if (!off)
        return;
    PLUMB_AT(run, struct plumb_live_note, off)->text_off = text_off;
    PLUMB_AT(run, struct plumb_live_note, off)->next_off = run->h->note_off;
    PLUMB_RELEASE(run->h->note_off, off);
}

/* queue.c: records on their way to the file. Threads of the program copy them into a ring, as bytes
 * (tensor/record.h); one thread of plumb's converts them to lines and writes these.
 *
 * Waking a thread costs more than a record, on both sides. So the first record after a pause wakes
 * the writer. From then on the writer polls every PERIOD_NS until it finds nothing, and is woken
 * only if the ring is half full.
 *
 * A process may be killed at any moment, and a kill may cut a long write() short, but only between
 * pages. So no line crosses a boundary of 4096 bytes of the file. A line that would is put after
 * the boundary, and the line before it is padded with spaces, which JSON allows at its end. Each
 * write() stays within a page. (If others may append to the file, its end is not known and lines
 * are not aligned; neither are lines longer than a page.) */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/quiet_write.h"
#include "record/activation/activation.h"
#include "record/activation/calls.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/keeper.h"
#include "record/runtime/runtime.h"

enum { RING = PLUMB_PENDING_RING, PAGE = 4096, BATCH = 16 * PAGE, PERIOD_NS = 50000000 };
#define NAP_NS UINT64_C(1000000)
#define WRITER_WAIT_NS UINT64_C(2000000000)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct plumb_pending *pending;
    unsigned char *ring; /* after its head */
    uint64_t put, taken; /* as there */
    bool idle;           /* the writer waits for a record */
    bool urged;          /* it was woken because the ring is half full */
    uint64_t lost;
    bool ending;
    uint32_t ended; /* atomic */
    pthread_t thread;
    bool running;
    bool is_off;     /* no thread could be started */
    uint32_t wanted; /* atomic: a record waits for it */
    struct plumb_act_file file;
    bool appends;
    uint64_t size; /* of the file */
    bool broken;   /* it could not be written, which was reported */
    struct {
        plumb_activation_sink_fn fn;
        void *arg;
    } sink[PLUMB_ACT_SINKS];
    pthread_mutex_t sink_lock; /* held while sinks are called */
    uint32_t sinks;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .filled = PTHREAD_COND_INITIALIZER,
           .emptied = PTHREAD_COND_INITIALIZER,
           .sink_lock = PTHREAD_MUTEX_INITIALIZER,
           .file = {.fd = -1}};

/* ---- The file -------------------------------------------------------------------------------- */

/* Like write(), without the signals that would end the program. */
static ssize_t write_some(const char *bytes, size_t n, bool at_end)
{
    struct plumb_quiet quiet;
    ssize_t wrote;
    plumb_quiet_begin(&quiet);
    wrote = at_end && !queue.appends ? pwrite(queue.file.fd, bytes, n, (off_t)queue.size)
                                     : write(queue.file.fd, bytes, n);
    plumb_quiet_end(&quiet);
    return wrote;
}

static void put_bytes(const char *bytes, size_t n, bool at_end)
{
    while (n > 0 && !queue.broken) {
        ssize_t wrote = write_some(bytes, n, at_end);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            plumb_say("plumb: cannot write activation records: %s; the rest is left out",
                      wrote < 0 ? strerror(errno) : "nothing was taken");
            queue.broken = true;
            return;
        }
        bytes += wrote;
        n -= (size_t)wrote;
        queue.size += (uint64_t)wrote;
    }
}

static void put_batch(struct plumb_buf *batch)
{
    if (batch->len)
        put_bytes(batch->data, batch->len, true);
    batch->len = 0;
}

/* The frame holds a page of spaces: 4 KiB. Only the writer of the file calls this function. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
/* Pads the page after the last line, inside that line's end. */
static void fill_page(struct plumb_buf *batch, size_t room)
{
    char spaces[PAGE + 1];
    memset(spaces, ' ', sizeof spaces);
    if (room == 0)
        return;
    spaces[room] = '\n';
    if (batch->len) {
        batch->len--;
        plumb_buf_append(batch, spaces, room + 1);
    } else {
        queue.size--; /* already written: overwrites its last byte */
        put_bytes(spaces, room + 1, true);
    }
}
#pragma GCC diagnostic pop

static void put_line(struct plumb_buf *batch, const struct plumb_buf *line)
{
    uint64_t end = queue.size + batch->len;
    size_t used = (size_t)(end % PAGE);
    if (!queue.appends && used + line->len > PAGE) {
        if (end > 0)
            fill_page(batch, used ? PAGE - used : 0);
    }
    plumb_buf_append(batch, line->data, line->len);
    if (batch->len >= (queue.appends ? PAGE : BATCH))
        put_batch(batch);
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Sinks are the program's functions, and may use its descriptors. */
static void call_sinks_here(void *arg)
{
    const struct plumb_buf *line = arg;
    pthread_mutex_lock(&queue.sink_lock);
    for (uint32_t i = 0; i < queue.sinks; i++)
        queue.sink[i].fn(line->data, line->len, queue.sink[i].arg);
    pthread_mutex_unlock(&queue.sink_lock);
}

static void call_sinks(struct plumb_buf *line)
{
    if (PLUMB_ACQUIRE(queue.sinks))
        plumb_keeper_call(call_sinks_here, line);
}

struct writing {
    struct plumb_act_record record;
    struct plumb_buf line, batch;
};

/* Writes lines for records from *at on, for some of those up to `end`. Returns how many were
 * lost. */
static uint64_t write_lines(struct writing *w, uint64_t *at, uint64_t end)
{
    uint64_t lost = 0, until = end - *at > RING / 8 ? *at + RING / 8 : end;
    while (*at < until) {
        *at += plumb_record_unpack(&w->record, queue.ring + *at % RING, PLUMB_RECORD_BYTES);
        w->line.len = 0;
        plumb_record_line(&w->line, &w->record, &plumb_act.columns, plumb_rank_or_0());
        if (!w->line.failed && !queue.broken) {
            put_line(&w->batch, &w->line);
            call_sinks(&w->line);
        }
        lost += w->line.failed || queue.broken;
    }
    return lost;
}

/* Writes everything that is now in the ring to the file. Under queue.lock, which is released during
 * the writes. */
static void drain(struct writing *w)
{
    uint64_t end = queue.put;
    while (queue.taken < end) {
        uint64_t to = queue.taken, lost;
        pthread_mutex_unlock(&queue.lock);
        lost = write_lines(w, &to, end);
        put_batch(&w->batch);
        pthread_mutex_lock(&queue.lock);
        queue.lost += lost;
        queue.taken = to;
        PLUMB_RELEASE(queue.pending->taken, to);
        pthread_cond_broadcast(&queue.emptied);
    }
}

/* Under queue.lock: waits until there is enough to write. */
static void wait_for_records(void)
{
    struct timespec until;
    int code = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PERIOD_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!queue.ending && !queue.urged && code != ETIMEDOUT)
        code = pthread_cond_clockwait(&queue.filled, &queue.lock, CLOCK_MONOTONIC, &until);
    queue.idle = true;
    while (!queue.ending && queue.put == queue.taken)
        pthread_cond_wait(&queue.filled, &queue.lock);
    queue.idle = queue.urged = false;
}

static void *writer(void *unused)
{
    struct writing *w = plumb_pages_map(sizeof *w);
    (void)unused;
    pthread_mutex_lock(&queue.lock);
    while (w && !(queue.ending && queue.put == queue.taken)) {
        drain(w);
        wait_for_records();
    }
    if (!w) {
        queue.is_off = true;
        pthread_cond_broadcast(&queue.emptied);
    }
    pthread_mutex_unlock(&queue.lock);
    if (w) {
        plumb_buf_fini(&w->line);
        plumb_buf_fini(&w->batch);
        plumb_pages_unmap(w, sizeof *w);
    }
    plumb_own_thread_ends();
    PLUMB_RELEASE(queue.ended, 1);
    return NULL;
}

void plumb_act_queue_begin(void)
{
    int code = plumb_helper_is_me() ? 0 : ENOTSUP;
    if (queue.running || !PLUMB_ACQUIRE(queue.wanted))
        return;
    if (!code)
        code = plumb_own_thread(&queue.thread, writer, NULL, 0);
    if (!code)
        pthread_setname_np(queue.thread, "plumb-act");
    else
        plumb_say("plumb: no thread for activation records; they are left out: %s",
                  code == ENOTSUP ? plumb_helper_cure() : strerror(code));
    pthread_mutex_lock(&queue.lock);
    queue.running = code == 0;
    queue.is_off = code != 0;
    pthread_mutex_unlock(&queue.lock);
}

/* ---- The program's side ---------------------------------------------------------------------- */

/* Returns whether there is a writer; waits for its start. Under queue.lock, which is released
 * during the wait. */
static bool wait_for_writer(void)
{
    while (!queue.running && !queue.is_off) {
        bool done;
        PLUMB_RELEASE(queue.wanted, 1);
        pthread_mutex_unlock(&queue.lock);
        done = plumb_helper_do(PLUMB_JOB_ACTIVATIONS, WRITER_WAIT_NS);
        plumb_log_show(PLUMB_LOG_TO_ANY);
        pthread_mutex_lock(&queue.lock);
        if (!done)
            queue.is_off = true;
    }
    return queue.running;
}

/* Under queue.lock: waits until a record fits. Returns false if it never will. */
static bool wait_for_space(void)
{
    while (queue.put - queue.taken > RING - PLUMB_RECORD_BYTES && !queue.is_off) {
        if (PLUMB_LOAD(plumb_rt.settings.activations_queue) == PLUMB_ACTIVATIONS_DROP)
            return false;
        pthread_cond_wait(&queue.emptied, &queue.lock);
    }
    return !queue.is_off;
}

/* Under queue.lock: sets the record's numbers, whether it fits or not, so that calls have the same
 * numbers in every run. */
static void number(struct plumb_act_record *r)
{
    struct plumb_act *a = &plumb_act;
    uint64_t label = plumb_hash_text(r->label) ^ (uint64_t)(uintptr_t)r->module;
    r->head.call = plumb_act_calls_next(&a->calls, label, r->head.step);
    r->head.seq = a->seq++;
}

/* Under queue.lock, after a record was put into the ring. */
static void wake_writer(void)
{
    bool full = queue.put - queue.taken >= RING / 2;
    if (!queue.idle && (!full || queue.urged))
        return;
    queue.urged = full;
    queue.idle = false;
    pthread_cond_signal(&queue.filled);
}

void plumb_act_queue_put(struct plumb_act_record *r)
{
    struct plumb_cancel before;
    bool room;
    /* A wait is a cancellation point, and the lock is held. */
    before = plumb_cancel_off();
    pthread_mutex_lock(&queue.lock);
    room = wait_for_writer() && wait_for_space();
    number(r);
    if (!room) {
        queue.lost++;
    } else {
        queue.put += plumb_record_pack(queue.ring + queue.put % RING, r, &plumb_act.columns);
        PLUMB_RELEASE(queue.pending->put, queue.put);
        wake_writer();
    }
    pthread_mutex_unlock(&queue.lock);
    plumb_cancel_on(before);
}

void plumb_act_queue_lose(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.lost++;
    pthread_mutex_unlock(&queue.lock);
}

void plumb_act_queue_number(struct plumb_act_record *r)
{
    pthread_mutex_lock(&queue.lock);
    number(r);
    pthread_mutex_unlock(&queue.lock);
}

int plumb_activation_sink_impl(plumb_activation_sink_fn fn, void *arg, plumb_error *err)
{
    int rc = PLUMB_OK;
    pthread_mutex_lock(&queue.sink_lock);
    if (!fn) {
        PLUMB_RELEASE(queue.sinks, 0);
    } else if (queue.sinks == PLUMB_ACT_SINKS) {
        rc = plumb_fail(err, PLUMB_ERR_STATE, "there are %d sinks already", PLUMB_ACT_SINKS);
    } else {
        plumb_keeper_start();
        queue.sink[queue.sinks].fn = fn;
        queue.sink[queue.sinks].arg = arg;
        PLUMB_RELEASE(queue.sinks, queue.sinks + 1);
    }
    pthread_mutex_unlock(&queue.sink_lock);
    return rc;
}

/* ---- Its life -------------------------------------------------------------------------------- */

int plumb_act_queue_open(const char *path, bool append, mode_t mode, plumb_error *err)
{
    int rc;
    if ((rc = plumb_act_file_open(&queue.file, path, append, mode, err)) < 0)
        return rc;
    /* A pipe has no pages. */
    queue.appends = append || lseek(queue.file.fd, 0, SEEK_CUR) < 0;
    queue.pending = plumb_act_pending_open(queue.file.name, !queue.appends);
    if (!queue.pending) {
        plumb_act_file_close(&queue.file);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for activation records");
    }
    queue.ring = (unsigned char *)queue.pending + PLUMB_PENDING_HEAD;
    queue.put = queue.taken = queue.lost = queue.size = 0;
    queue.ending = queue.broken = queue.is_off = queue.idle = queue.urged = false;
    PLUMB_STORE(queue.wanted, 0);
    PLUMB_STORE(queue.ended, 0);
    return PLUMB_OK;
}

uint64_t plumb_act_queue_close(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.ending = true;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
    /* Sinks may need the helper during this wait. */
    while (queue.running && !PLUMB_ACQUIRE(queue.ended))
        plumb_helper_pause(NAP_NS);
    if (queue.running)
        pthread_join(queue.thread, NULL);
    queue.running = false;
    plumb_act_pending_close();
    plumb_act_file_close(&queue.file);
    return queue.lost;
}

void plumb_act_queue_forked(void)
{
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    queue.lock = queue.sink_lock = mutex;
    queue.filled = queue.emptied = cond;
    queue.running = false;
    plumb_act_pending_forked();
    queue.file.fd = -1; /* the parent's */
}

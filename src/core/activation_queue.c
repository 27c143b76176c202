/* activation_queue.c: records on their way to the file. Programs' threads copy them into a ring;
 * one thread of plumb's makes lines of them and writes.
 *
 * A process may be killed at any moment, and the kernel may be killed out of the middle of a long
 * write(), but only between pages. So no line crosses a boundary of 4096 bytes of the file: what
 * would is put behind it, and the line before is filled up with spaces, which JSON allows at its
 * end. Each write() lies within a page. (Where others may append to the same file there is no
 * knowing where it ends, and no such care is taken; nor is it of lines longer than a page.) */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/quiet_write.h"
#include "core/activation.h"

enum { SLOTS = 256, PAGE = 4096 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct plumb_act_record *slot; /* [SLOTS], made at the first open */
    uint64_t put, taken;           /* records; put - taken are in the ring */
    uint64_t lost;
    bool ending;
    pthread_t thread;
    bool running;
    bool is_off; /* no thread could be made */
    struct plumb_act_file file;
    bool appends;
    uint64_t size; /* of the file */
    bool broken;   /* it could not be written, which was said */
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

/* As write(), and ends no program. */
static ssize_t write_some(const char *bytes, size_t n, bool at_end)
{
    struct plumb_quiet quiet;
    ssize_t wrote;
    int code = plumb_act_file_again(&queue.file);
    if (code) {
        errno = code;
        return -1;
    }
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

/* Fills the page up behind the last line, before its end. */
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
        queue.size--; /* written already: over its last byte */
        put_bytes(spaces, room + 1, true);
    }
}

static void put_line(struct plumb_buf *batch, const struct plumb_buf *line)
{
    uint64_t end = queue.size + batch->len;
    size_t used = (size_t)(end % PAGE);
    if (!queue.appends && used + line->len > PAGE) {
        if (end > 0)
            fill_page(batch, used ? PAGE - used : 0);
        put_batch(batch);
    }
    plumb_buf_append(batch, line->data, line->len);
    if (queue.appends ? batch->len > PAGE : (queue.size + batch->len) % PAGE == 0)
        put_batch(batch);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void call_sinks(const struct plumb_buf *line)
{
    pthread_mutex_lock(&queue.sink_lock);
    for (uint32_t i = 0; i < queue.sinks; i++)
        queue.sink[i].fn(line->data, line->len, queue.sink[i].arg);
    pthread_mutex_unlock(&queue.sink_lock);
}

static void *writer(void *unused)
{
    struct plumb_buf line = {0}, batch = {0};
    (void)unused;
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (queue.put == queue.taken && !queue.ending) {
            pthread_mutex_unlock(&queue.lock);
            put_batch(&batch);
            pthread_mutex_lock(&queue.lock);
            if (queue.put == queue.taken && !queue.ending)
                pthread_cond_wait(&queue.filled, &queue.lock);
        }
        if (queue.put == queue.taken)
            break;
        pthread_mutex_unlock(&queue.lock);
        line.len = 0;
        plumb_act_line(&line, &queue.slot[queue.taken % SLOTS]);
        if (!line.failed && !queue.broken) {
            put_line(&batch, &line);
            call_sinks(&line);
        }
        pthread_mutex_lock(&queue.lock);
        queue.lost += line.failed || queue.broken;
        queue.taken++;
        pthread_cond_signal(&queue.emptied);
    }
    pthread_mutex_unlock(&queue.lock);
    put_batch(&batch);
    plumb_buf_fini(&line);
    plumb_buf_fini(&batch);
    plumb_own_thread(-1);
    return NULL;
}

/* Signals are the program's business. */
static bool make_writer(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    queue.running = pthread_create(&queue.thread, NULL, writer, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (queue.running) {
        plumb_own_thread(1);
        pthread_setname_np(queue.thread, "plumb-act");
    } else {
        queue.is_off = true;
        plumb_say("plumb: no thread for activation records; they are left out");
    }
    return queue.running;
}

/* ---- The program's side ---------------------------------------------------------------------- */

/* Under queue.lock: whether there is a slot. */
static bool wait_for_room(void)
{
    while (queue.put - queue.taken == SLOTS) {
        if (PLUMB_LOAD(plumb_rt.settings.activations_queue) == PLUMB_ACTIVATIONS_DROP)
            return false;
        pthread_cond_wait(&queue.emptied, &queue.lock);
    }
    return true;
}

/* Under queue.lock: the record's place, whether there is room for it or not, so that calls are the
 * same in every run. */
static void number(struct plumb_act_record *r)
{
    uint64_t label = plumb_hash_text(r->label) ^ (uint64_t)(uintptr_t)r->module;
    pthread_mutex_lock(&plumb_act.lock);
    r->call = plumb_act_calls_next(&plumb_act.calls, label, r->step);
    r->seq = plumb_act.seq++;
    pthread_mutex_unlock(&plumb_act.lock);
}

void plumb_act_queue_put(struct plumb_act_record *r)
{
    int state;
    bool room;
    /* A wait may end the thread, with the lock held. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&queue.lock);
    room = (queue.running || (!queue.is_off && make_writer())) && wait_for_room();
    number(r);
    if (!room) {
        queue.lost++;
    } else {
        memcpy(&queue.slot[queue.put % SLOTS], r, plumb_act_record_bytes(r));
        queue.put++;
        pthread_cond_signal(&queue.filled);
    }
    pthread_mutex_unlock(&queue.lock);
    pthread_setcancelstate(state, NULL);
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
        queue.sinks = 0;
    } else if (queue.sinks == PLUMB_ACT_SINKS) {
        rc = plumb_fail(err, PLUMB_ERR_STATE, "there are %d sinks already", PLUMB_ACT_SINKS);
    } else {
        queue.sink[queue.sinks].fn = fn;
        queue.sink[queue.sinks++].arg = arg;
    }
    pthread_mutex_unlock(&queue.sink_lock);
    return rc;
}

/* ---- Its life -------------------------------------------------------------------------------- */

int plumb_act_queue_open(const char *path, bool append, plumb_error *err)
{
    int rc;
    if (!queue.slot && !(queue.slot = plumb_pages_map(SLOTS * sizeof *queue.slot)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for activation records");
    if ((rc = plumb_act_file_open(&queue.file, path, append, err)) < 0)
        return rc;
    /* A pipe has no pages. */
    queue.appends = append || lseek(queue.file.fd, 0, SEEK_CUR) < 0;
    queue.put = queue.taken = queue.lost = queue.size = 0;
    queue.ending = queue.broken = queue.is_off = false;
    return PLUMB_OK;
}

uint64_t plumb_act_queue_close(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.ending = true;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
    if (queue.running)
        pthread_join(queue.thread, NULL);
    queue.running = false;
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
    plumb_act_file_close(&queue.file);
}

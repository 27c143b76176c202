/* dump_file.c: writes tensors that are kept whole, in row-major order, under a temporary name
 * first: a file with its final name is complete. The format: 8 bytes with the length of a header,
 * which is JSON, then the values.
 *
 * A thread of plumb's, which shares the helper's descriptors, copies the values piece by piece and
 * writes the copies. The program's memory is read only under `reading`. So the program's thread may
 * stop waiting at any moment, and does if no piece has been written for STALL_NS. Until the writing
 * thread is back, tensors are left out without a wait. Without a helper, the program's thread
 * writes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/whole_file.h"
#include "record/activation/activation.h"
#include "record/activation/dump.h"
#include "record/runtime/helper.h"
#include "record/runtime/paths.h"
#include "tensor/row_major.h"

enum { PIECE = 256 * 1024, NAMES = 100000 };
#define STALL_NS UINT64_C(5000000000)
#define LOOK_NS UINT64_C(100000000)
#define NAP_NS UINT64_C(1000000)

enum state {
    FREE = 0,
    ASKED = 1, /* the writer's */
    DONE = 2
};

struct work {
    struct plumb_act_dump dump;
    struct plumb_row_major rows;
    struct plumb_whole_file file;
    char path[1500];
    unsigned char piece[PIECE];
};

static struct {
    pthread_mutex_t turn;    /* for threads of the program: held from begin to end */
    pthread_mutex_t reading; /* a leaf */
    struct work *work;       /* lives as long as the process */
    uint32_t state;          /* atomic; changed to DONE or FREE by the writer under `reading` */
    uint32_t steps;          /* atomic: counts the pieces that the writer has finished */
    bool left;               /* under `reading`: the program's thread has left, so its memory must
                              * not be read */
    bool good;
    uint32_t wanted;              /* atomic: a tensor waits for the thread */
    uint32_t bell, ending, ended; /* atomic */
    bool running;
    pthread_t thread;
} out = {.turn = PTHREAD_MUTEX_INITIALIZER, .reading = PTHREAD_MUTEX_INITIALIZER};

/* ---- The file -------------------------------------------------------------------------------- */

static void step(void)
{
    PLUMB_ADD(out.steps, 1);
}

static bool put(struct work *w, const void *data, size_t n)
{
    bool good = plumb_whole_file_put(&w->file, data, n) == 0;
    step();
    return good;
}

/* Copies the next values. Returns 0 at their end, or when they must not be read any more. */
static size_t read_piece(struct work *w)
{
    size_t n;
    pthread_mutex_lock(&out.reading);
    n = out.left ? 0 : plumb_row_major_read(&w->rows, w->piece, sizeof w->piece);
    pthread_mutex_unlock(&out.reading);
    return n;
}

static bool write_values(struct work *w)
{
    uint64_t all = 0;
    size_t n;
    while ((n = read_piece(w)) > 0) {
        if (!put(w, w->piece, n))
            return false;
        all += n;
    }
    return all == w->dump.view.bytes;
}

static bool is_waited_for(void)
{
    bool is;
    pthread_mutex_lock(&out.reading);
    is = !out.left;
    pthread_mutex_unlock(&out.reading);
    return is;
}

static bool write_file(struct work *w)
{
    const struct plumb_buf *header = &w->dump.header;
    uint64_t length = header->len;
    bool good;
    if (plumb_whole_file_begin(&w->file, w->path, 0, 0600) != 0)
        return false;
    good = put(w, &length, sizeof length) && put(w, header->data, header->len) && write_values(w) &&
           is_waited_for();
    return plumb_whole_file_end(&w->file, good) == 0 && good;
}

/* Makes the name: with the number of the call from the second call on, and with a further number if
 * the file exists. */
static bool make_path(struct work *w)
{
    const struct plumb_act_dump *d = &w->dump;
    uint64_t n = d->call;
    snprintf(w->path, sizeof w->path, "%s/%s.safetensors", d->folder, d->safe);
    if (plumb_run_make_parents(w->path, NULL) < 0)
        return false;
    if (n > 0)
        snprintf(w->path, sizeof w->path, "%s/%s.call%llu.safetensors", d->folder, d->safe,
                 (unsigned long long)n);
    while (access(w->path, F_OK) == 0 && n++ < d->call + NAMES) {
        snprintf(w->path, sizeof w->path, "%s/%s.call%llu.safetensors", d->folder, d->safe,
                 (unsigned long long)n);
        step();
    }
    return n < d->call + NAMES;
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void write_one(struct work *w)
{
    bool good = make_path(w) && write_file(w);
    pthread_mutex_lock(&out.reading);
    out.good = good;
    PLUMB_RELEASE(out.state, out.left ? FREE : DONE);
    pthread_mutex_unlock(&out.reading);
    plumb_futex_wake(&out.state);
}

static void *writer(void *unused)
{
    (void)unused;
    while (!PLUMB_ACQUIRE(out.ending)) {
        uint32_t heard = PLUMB_ACQUIRE(out.bell);
        if (PLUMB_ACQUIRE(out.state) == ASKED)
            write_one(out.work);
        else
            plumb_futex_wait(&out.bell, heard, UINT64_MAX);
    }
    plumb_own_thread_ends();
    PLUMB_RELEASE(out.ended, 1);
    return NULL;
}

static void ring(void)
{
    __atomic_fetch_add(&out.bell, 1, __ATOMIC_RELEASE);
    plumb_futex_wake(&out.bell);
}

/* Joins a thread of an earlier run that has come back since. */
static void join(void)
{
    if (!out.running || !PLUMB_ACQUIRE(out.ended))
        return;
    pthread_join(out.thread, NULL);
    out.running = false;
}

void plumb_act_dump_open(void)
{
    int code;
    join();
    if (out.running || !plumb_helper_is_me() || !PLUMB_ACQUIRE(out.wanted))
        return;
    PLUMB_STORE(out.ending, 0);
    PLUMB_STORE(out.ended, 0);
    code = plumb_own_thread(&out.thread, writer, NULL, 0);
    if (!code)
        pthread_setname_np(out.thread, "plumb-dump");
    else
        plumb_say("plumb: no thread for tensors that are kept whole; they are left out: %s",
                  strerror(code));
    out.running = code == 0;
}

void plumb_act_dump_close(void)
{
    uint64_t until = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + STALL_NS;
    if (!out.running)
        return;
    PLUMB_RELEASE(out.ending, 1);
    ring();
    while (!PLUMB_ACQUIRE(out.ended) && plumb_clock_gettime_ns(CLOCK_MONOTONIC) < until)
        plumb_helper_pause(NAP_NS);
    PLUMB_STORE(out.wanted, 0);
    join();
}

/* Code that was interrupted by a signal whose handler forked continues to use `work`. */
void plumb_act_dump_forked(void)
{
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    out.turn = out.reading = mutex;
    PLUMB_STORE(out.state, FREE);
    PLUMB_STORE(out.wanted, 0);
    out.running = out.left = false;
}

/* ---- The program's side ---------------------------------------------------------------------- */

static bool has_writer(void)
{
    if (out.running && !PLUMB_ACQUIRE(out.ending))
        return true;
    PLUMB_RELEASE(out.wanted, 1);
    if (!plumb_helper_do(PLUMB_JOB_ACTIVATIONS, STALL_NS))
        return false;
    plumb_log_show(PLUMB_LOG_TO_ANY);
    return out.running && !PLUMB_ACQUIRE(out.ending);
}

static bool has_work(void)
{
    if (!out.work)
        out.work = plumb_pages_map(sizeof *out.work);
    return out.work != NULL;
}

struct plumb_act_dump *plumb_act_dump_begin(enum plumb_act_dump_why *why)
{
    pthread_mutex_lock(&out.turn);
    if (PLUMB_ACQUIRE(out.state) != FREE)
        *why = PLUMB_ACT_DUMP_LATE;
    else if (has_work() && (!plumb_helper_is_there() || has_writer()))
        return &out.work->dump;
    pthread_mutex_unlock(&out.turn);
    return NULL;
}

/* Waits for the writer. Returns false if nothing has been written for a while. */
static bool await(void)
{
    uint32_t steps = PLUMB_LOAD(out.steps);
    uint64_t moved = plumb_clock_gettime_ns(CLOCK_MONOTONIC), now = moved;
    while (PLUMB_ACQUIRE(out.state) == ASKED && now - moved < STALL_NS && plumb_helper_is_there()) {
        plumb_futex_wait(&out.state, ASKED, LOOK_NS);
        now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
        if (PLUMB_LOAD(out.steps) != steps) {
            steps = PLUMB_LOAD(out.steps);
            moved = now;
        }
    }
    return PLUMB_ACQUIRE(out.state) == DONE;
}

/* After this the tensor is no longer read. */
static enum plumb_act_dump_why leave(void)
{
    enum plumb_act_dump_why why = PLUMB_ACT_DUMP_LATE;
    pthread_mutex_lock(&out.reading);
    out.left = PLUMB_ACQUIRE(out.state) != DONE;
    if (!out.left) {
        why = out.good ? PLUMB_ACT_DUMP_WHYS : PLUMB_ACT_DUMP_UNWRITTEN;
        PLUMB_RELEASE(out.state, FREE);
    }
    pthread_mutex_unlock(&out.reading);
    return why;
}

enum plumb_act_dump_why plumb_act_dump_end(struct plumb_act_dump *d, bool good)
{
    enum plumb_act_dump_why why = PLUMB_ACT_DUMP_UNWRITTEN;
    if (good) {
        plumb_row_major_init(&out.work->rows, &d->view);
        out.left = false;
        PLUMB_RELEASE(out.state, ASKED);
        if (plumb_helper_is_there()) {
            ring();
            await();
        } else {
            write_one(out.work);
        }
        why = leave();
    }
    if (why != PLUMB_ACT_DUMP_LATE) /* otherwise it is the writer's */
        plumb_buf_fini(&d->header);
    pthread_mutex_unlock(&out.turn);
    return why;
}

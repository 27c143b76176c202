/* listen.c: see listen.h. A connection belongs to the listening thread, except while its state is
 * WAITS: then the helper has its request and its response. Buffers are pages that a forked child
 * does not get, so that nothing of a connection is left in it. */
#include "record/control/listen.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/futex.h"
#include "control/message.h"
#include "control/place.h"
#include "record/control/command.h"
#include "record/runtime/helper.h"
#include "record/trace/switch.h"

enum {
    CONNECTIONS = 16,
    STACK_BYTES = 256 * 1024,
    IN_BYTES = PLUMB_CONTROL_HEAD_BYTES + PLUMB_CONTROL_REQUEST_MAX,
    EVICT_MS = 1000,    /* silence after which a connection makes way for a new one */
    REQUEST_MS = 2000,  /* from the first byte of a request to its last */
    RESPONSE_MS = 5000, /* without a byte that the front end has taken */
    NO_FD_MS = 1000,    /* pause when no descriptor is left */
    USER_MS = 1000,     /* programs take another user for a moment, or for good */
    PART = 4,           /* one part in so many of a processor, and ... */
    SAVED_MS = 500,     /* ... as much of it may be used at once */
    PACE_MS = 10,       /* pause when that is used up */
    LOOK_MS = 100,      /* between two looks where no wait is possible */
    PAUSE_NS = 1000000
};

/* A request is WATCHED if its answer waits for the end of a trace. */
enum state { FREE = 0, READS, WAITS, DONE, WRITES, WATCHED };

struct connection {
    uint32_t state; /* enum state; atomic */
    int fd;
    unsigned char *in; /* [IN_BYTES] */
    size_t got;
    struct plumb_control_reply out;
    size_t sent;
    uint64_t since_ns; /* of the last change of state, or the last byte that was taken */
    struct plumb_control_lease lease;
    bool leaves;               /* the front end is gone, and the helper ends its lease */
    uint32_t watched, wait_ms; /* WATCHED: the number of the trace, and for how long */
};

/* The listening thread's, but for the queue and what is atomic. */
static struct {
    struct connection connection[CONNECTIONS];
    int socket, bell;
    pthread_t thread;
    bool there;             /* the helper's */
    uint32_t ending, ended; /* atomic */
    uint32_t put, taken;    /* atomic: the queue's ends; the first is this thread's, the other
                              * the helper's */
    uint32_t queue[CONNECTIONS];
    uint64_t helper_ns; /* atomic: processor time of commands */
    uint64_t used_ns;   /* of both, when the balance was last drawn */
    uint64_t drawn_ns;  /* when that was */
    int64_t balance_ns;
    uint64_t refuse_until_ns; /* no descriptor was left */
    uid_t user;               /* when it began to listen */
    uint64_t changed_ns;      /* since when the process has had another; 0: it has not */
    uint32_t changed;         /* atomic: for long enough */
    bool has_waited;
} listener;

static uint64_t now_ns(void)
{
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC);
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void set_state(struct connection *c, enum state state, uint64_t now)
{
    c->since_ns = now;
    PLUMB_RELEASE(c->state, state);
}

static void hand_over(struct connection *c, uint64_t now)
{
    uint32_t put = PLUMB_LOAD(listener.put);
    listener.queue[put % CONNECTIONS] = (uint32_t)(c - listener.connection);
    set_state(c, WAITS, now);
    PLUMB_RELEASE(listener.put, put + 1);
    plumb_helper_ask(PLUMB_JOB_CONTROL);
}

static bool has_lease(const struct connection *c)
{
    return c->lease.run || c->lease.window;
}

static void forget(struct connection *c)
{
    close(c->fd);
    plumb_control_pages_free(c->in, IN_BYTES);
    plumb_control_reply_free(&c->out);
    memset(c, 0, sizeof *c);
}

/* A run and a trace that are leased to the front end are ended first, by the helper. */
static void drop(struct connection *c)
{
    if (!has_lease(c) || c->leaves) {
        forget(c);
        return;
    }
    c->leaves = true;
    hand_over(c, now_ns());
}

/* Returns a free place; if all are taken, that of the connection that has been silent longest. */
static struct connection *find_place(uint64_t now)
{
    struct connection *oldest = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &listener.connection[i];
        enum state state = PLUMB_ACQUIRE(c->state);
        if (state == FREE)
            return c;
        if (state == READS && c->got == 0 && !has_lease(c) &&
            (!oldest || c->since_ns < oldest->since_ns))
            oldest = c;
    }
    if (!oldest || now - oldest->since_ns < EVICT_MS * UINT64_C(1000000))
        return NULL;
    drop(oldest);
    return oldest;
}

/* All places are taken: the connection gets a response without having asked. */
static void refuse(int fd)
{
    struct plumb_control_reply out = {NULL, 0, 0};
    plumb_control_refuse(&out);
    if (out.len)
        send(fd, out.bytes, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    plumb_control_reply_free(&out);
    close(fd);
}

/* Returns false when no front end waits any more. */
static bool accept_one(uint64_t now)
{
    struct connection *c;
    uint32_t pid;
    int fd = accept4(listener.socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
            listener.refuse_until_ns = now + NO_FD_MS * UINT64_C(1000000);
        return errno == ECONNABORTED || errno == EINTR;
    }
    if (!plumb_control_peer(fd, &pid)) {
        close(fd);
        return true;
    }
    c = find_place(now);
    if (!c) {
        refuse(fd);
        return true;
    }
    c->fd = fd;
    set_state(c, READS, now);
    return true;
}

/* ---- Requests and responses ------------------------------------------------------------------ */

static void answer(struct connection *c, uint64_t now)
{
    plumb_control_execute(&c->out, &c->lease, c->in + PLUMB_CONTROL_HEAD_BYTES,
                          c->got - PLUMB_CONTROL_HEAD_BYTES);
    set_state(c, DONE, now);
}

static void take_request(struct connection *c, uint64_t now)
{
    c->sent = 0;
    if (!plumb_control_is_quick(c->in + PLUMB_CONTROL_HEAD_BYTES, c->got - PLUMB_CONTROL_HEAD_BYTES,
                                &c->wait_ms)) {
        hand_over(c, now);
        return;
    }
    c->watched = c->wait_ms ? plumb_trace_window_number() : 0;
    if (c->watched)
        set_state(c, WATCHED, now);
    else
        answer(c, now);
}

/* The helper rings the bell after the end of a trace. */
static void look_at_watched(struct connection *c, short events, uint64_t now)
{
    if (events)
        drop(c); /* the front end is gone */
    else if (plumb_trace_window_number() != c->watched ||
             now - c->since_ns >= c->wait_ms * UINT64_C(1000000))
        answer(c, now);
}

/* Returns the bytes of the request that are missing, as far as is known; 0: it is complete. */
static size_t missing(const struct connection *c)
{
    if (c->got < PLUMB_CONTROL_HEAD_BYTES)
        return PLUMB_CONTROL_HEAD_BYTES - c->got;
    return PLUMB_CONTROL_HEAD_BYTES + plumb_control_length(c->in) - c->got;
}

static void receive(struct connection *c, uint64_t now)
{
    ssize_t n;
    if (!c->in && !(c->in = plumb_control_pages(IN_BYTES))) {
        drop(c);
        return;
    }
    do {
        n = recv(c->fd, c->in + c->got, missing(c), 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            drop(c);
            return;
        }
        if (n > 0 && c->got == 0)
            c->since_ns = now;
        c->got += n > 0 ? (size_t)n : 0;
        if (c->got >= PLUMB_CONTROL_HEAD_BYTES &&
            plumb_control_length(c->in) > PLUMB_CONTROL_REQUEST_MAX) {
            drop(c);
            return;
        }
        if (missing(c) == 0) {
            take_request(c, now);
            return;
        }
    } while (n > 0);
}

static void respond(struct connection *c, uint64_t now)
{
    ssize_t n = send(c->fd, c->out.bytes + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        drop(c);
        return;
    }
    if (n > 0) {
        c->sent += (size_t)n;
        c->since_ns = now;
    }
    if (c->sent < c->out.len)
        return;
    plumb_control_reply_free(&c->out);
    c->got = 0;
    set_state(c, READS, now);
}

/* When the connection is dropped if nothing happens; UINT64_MAX: never. */
static uint64_t deadline(const struct connection *c, enum state state)
{
    if (state == READS && c->got > 0)
        return c->since_ns + REQUEST_MS * UINT64_C(1000000);
    return state == WRITES ? c->since_ns + RESPONSE_MS * UINT64_C(1000000) : UINT64_MAX;
}

static void attend(struct connection *c, short events, uint64_t now)
{
    enum state state = PLUMB_ACQUIRE(c->state);
    if (state == READS && events)
        receive(c, now);
    else if (state == WATCHED)
        look_at_watched(c, events, now);
    state = PLUMB_ACQUIRE(c->state);
    if (state == DONE) {
        /* The front end is gone, or there was no memory for a response. */
        if (c->leaves || !c->out.len) {
            drop(c);
            return;
        }
        set_state(c, WRITES, now);
        respond(c, now);
    } else if (state == WRITES && events) {
        respond(c, now);
    }
    /* After everything that came in time, also if this process was stopped until now. */
    if (now >= deadline(c, PLUMB_ACQUIRE(c->state)))
        drop(c);
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* The system call itself: the function of libc is a cancellation point. It refuses more entries
 * than the process may have descriptors, those without a descriptor included, so these are left
 * out. A program that lowers its limit further is looked after every LOOK_MS. */
static void wait_for(struct pollfd *fds, unsigned n, uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    struct pollfd used[2 + CONNECTIONS];
    unsigned from[2 + CONNECTIONS], k = 0;
    bool refused;
    for (unsigned i = 0; i < n; i++)
        if (fds[i].fd >= 0) {
            from[k] = i;
            used[k++] = fds[i];
        }
    refused =
        syscall(SYS_ppoll, used, k, ns == UINT64_MAX ? NULL : &t, NULL, 0) < 0 && errno == EINVAL;
    if (refused)
        plumb_nap(ns < LOOK_MS * UINT64_C(1000000) ? ns : LOOK_MS * UINT64_C(1000000));
    for (unsigned i = 0; i < k; i++)
        fds[from[i]].revents = refused ? used[i].events : used[i].revents;
}

static uint64_t thread_ns(void)
{
    return plumb_clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Pauses if this thread and the commands have used more than their part of a processor. */
static void keep_pace(uint64_t now)
{
    uint64_t used = thread_ns() + PLUMB_LOAD(listener.helper_ns);
    listener.balance_ns += (int64_t)((now - listener.drawn_ns) / PART);
    listener.balance_ns -= (int64_t)(used - listener.used_ns);
    if (listener.balance_ns > SAVED_MS * INT64_C(1000000))
        listener.balance_ns = SAVED_MS * INT64_C(1000000);
    listener.drawn_ns = now;
    listener.used_ns = used;
    if (listener.balance_ns < 0)
        plumb_nap(PACE_MS * UINT64_C(1000000));
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* libc changes the user of each thread by a signal, which ends the wait. */
static void watch_user(uint64_t now)
{
    if (geteuid() == listener.user)
        listener.changed_ns = 0;
    else if (!listener.changed_ns)
        listener.changed_ns = now;
    else if (now - listener.changed_ns >= USER_MS * UINT64_C(1000000) && !listener.changed) {
        PLUMB_RELEASE(listener.changed, 1);
        plumb_helper_ask(PLUMB_JOB_CONTROL);
    }
}

/* When the answer is due; 0: now, the trace is over. The fence is a pair with that of is_watched():
 * that sees a connection that waits, or this sees the end. */
static uint64_t watched_until(const struct connection *c)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return plumb_trace_window_number() == c->watched ? c->since_ns + c->wait_ms * UINT64_C(1000000)
                                                     : 0;
}

/* Fills in what to wait for, and returns until when. fds[2 + i] is of connection i. */
static uint64_t prepare(struct pollfd *fds, uint64_t now)
{
    uint64_t until = UINT64_MAX;
    bool refusing = now < listener.refuse_until_ns;
    fds[0] = (struct pollfd){listener.bell, POLLIN, 0};
    fds[1] = (struct pollfd){refusing ? -1 : listener.socket, POLLIN, 0};
    if (refusing)
        until = listener.refuse_until_ns;
    if (listener.changed_ns && !listener.changed)
        until = earlier(until, listener.changed_ns + USER_MS * UINT64_C(1000000));
    for (int i = 0; i < CONNECTIONS; i++) {
        const struct connection *c = &listener.connection[i];
        enum state state = PLUMB_ACQUIRE(c->state);
        fds[2 + i] = (struct pollfd){-1, 0, 0};
        if (state == READS)
            fds[2 + i] = (struct pollfd){c->fd, POLLIN, 0};
        else if (state == WRITES)
            fds[2 + i] = (struct pollfd){c->fd, POLLOUT, 0};
        else if (state == WATCHED)
            fds[2 + i] = (struct pollfd){c->fd, 0, 0};
        else if (state == DONE)
            until = 0;
        if (state == WATCHED)
            until = earlier(until, watched_until(c));
        until = earlier(until, deadline(c, state));
    }
    return until;
}

static void pass(void)
{
    struct pollfd fds[2 + CONNECTIONS];
    uint64_t now = now_ns(), until, rings;
    /* A program takes another user first of all, if it does: perhaps when nothing waited yet, or
     * right before the wait. */
    watch_user(now);
    until = prepare(fds, now);
    if (!listener.has_waited)
        until = earlier(until, now + USER_MS * UINT64_C(1000000));
    listener.has_waited = true;
    wait_for(fds, 2 + CONNECTIONS, until == UINT64_MAX ? until : until > now ? until - now : 0);
    now = now_ns();
    watch_user(now);
    if (fds[0].revents && read(listener.bell, &rings, sizeof rings) < 0)
        plumb_nap(PAUSE_NS);
    for (int i = 0; i < CONNECTIONS; i++)
        attend(&listener.connection[i], fds[2 + i].revents, now);
    for (int i = 0; i < CONNECTIONS && fds[1].revents && accept_one(now); i++)
        ;
    keep_pace(now);
}

static void *listen_main(void *unused)
{
    (void)unused;
    listener.drawn_ns = now_ns();
    while (!PLUMB_ACQUIRE(listener.ending))
        pass();
    close(listener.socket);
    PLUMB_RELEASE(listener.ended, 1);
    plumb_own_thread_ends();
    return NULL;
}

/* ---- On the helper --------------------------------------------------------------------------- */

static void ring(void)
{
    const uint64_t one = 1;
    if (write(listener.bell, &one, sizeof one) < 0)
        return; /* it is full: the thread will look anyway */
}

/* Returns whether an answer waits for the end of a trace; see watched_until(). */
static bool is_watched(void)
{
    bool is = false;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (int i = 0; i < CONNECTIONS; i++)
        is |= PLUMB_ACQUIRE(listener.connection[i].state) == WATCHED;
    return is;
}

void plumb_control_listen_serve(void)
{
    uint32_t taken = PLUMB_LOAD(listener.taken), put = PLUMB_ACQUIRE(listener.put);
    struct connection *c;
    uint64_t before = thread_ns();
    if (!listener.there)
        return;
    if (taken == put) {
        if (is_watched())
            ring(); /* a trace may have ended */
        return;
    }
    c = &listener.connection[listener.queue[taken % CONNECTIONS]];
    PLUMB_STORE(listener.taken, taken + 1);
    if (c->leaves)
        plumb_control_give_back(&c->lease);
    else
        plumb_control_execute(&c->out, &c->lease, c->in + PLUMB_CONTROL_HEAD_BYTES,
                              c->got - PLUMB_CONTROL_HEAD_BYTES);
    PLUMB_ADD(listener.helper_ns, thread_ns() - before);
    PLUMB_RELEASE(c->state, DONE);
    ring();
    /* One a turn: others may be waiting for more urgent jobs. */
    if (taken + 1 != PLUMB_ACQUIRE(listener.put))
        plumb_helper_ask(PLUMB_JOB_CONTROL);
}

bool plumb_control_user_changed(void)
{
    return PLUMB_ACQUIRE(listener.changed) != 0;
}

int plumb_control_listen_start(int fd, uid_t user)
{
    int code;
    memset(&listener, 0, sizeof listener);
    listener.socket = fd;
    listener.user = user;
    listener.balance_ns = SAVED_MS * INT64_C(1000000);
    listener.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    code = listener.bell < 0 ? errno
                             : plumb_own_thread(&listener.thread, listen_main, NULL, STACK_BYTES);
    listener.there = code == 0;
    if (code && listener.bell >= 0)
        close(listener.bell);
    return code;
}

void plumb_control_listen_stop(bool exits)
{
    PLUMB_RELEASE(listener.ending, 1);
    ring();
    /* It may wait for a lock whose holder waits for an urgent job. */
    while (!PLUMB_ACQUIRE(listener.ended))
        plumb_helper_pause(PAUSE_NS);
    pthread_join(listener.thread, NULL);
    for (int i = 0; i < CONNECTIONS; i++)
        if (listener.connection[i].state != FREE) {
            if (!exits)
                plumb_control_give_back(&listener.connection[i].lease);
            forget(&listener.connection[i]);
        }
    close(listener.bell);
    listener.there = false;
}

void plumb_control_listen_forget(void)
{
    memset(&listener, 0, sizeof listener);
}

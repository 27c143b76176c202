/* sessions.c: one lock round the lists; a command to a process runs outside it. A process accepts
 * few connections, so at most CONNECTIONS_MAX are open to one process, and a call waits for its
 * turn: the process executes one command at a time anyway. */
#include "sessions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"

enum { WHO_MAX = 256, CONNECTIONS_MAX = 4, ACCESSES_MAX = 1024 };
static const uint64_t idle_ns = 5000000000u; /* less than a process closes idle ones after */
static const uint64_t wait_ns = 5000000000u; /* for a connection of which all are in use */

struct serve_connection {
    struct serve_connection *next;
    plumb_control *control;
    char who[WHO_MAX];    /* what a client called the process: pid or name */
    char *first_pipeline; /* the default one's name */
    uint32_t pid, timeout_ms;
    uint64_t start_time;
    uint64_t used_ns; /* when it was given back */
    bool busy;
};

struct access {
    uint32_t pid;
    uint64_t start_time;
    int64_t when_ns;
};

struct serve_sessions {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    struct serve_connection *first;
    struct access access[ACCESSES_MAX];
    size_t access_count;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct serve_sessions *serve_sessions_open(void)
{
    struct serve_sessions *s = calloc(1, sizeof *s);
    pthread_condattr_t attributes;
    if (!s)
        return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->given_back, &attributes);
    pthread_condattr_destroy(&attributes);
    return s;
}

static void free_connection(struct serve_connection *c)
{
    plumb_control_disconnect(c->control);
    free(c->first_pipeline);
    free(c);
}

/* Unlinks the connections that are idle since `before`, for the caller to free. */
static struct serve_connection *take_idle(struct serve_sessions *s, uint64_t before)
{
    struct serve_connection *taken = NULL;
    for (struct serve_connection **at = &s->first; *at;) {
        struct serve_connection *c = *at;
        if (c->busy || c->used_ns > before) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        c->next = taken;
        taken = c;
    }
    return taken;
}

static void free_all(struct serve_connection *c)
{
    while (c) {
        struct serve_connection *next = c->next;
        free_connection(c);
        c = next;
    }
}

void serve_sessions_tidy(struct serve_sessions *s)
{
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    pthread_mutex_lock(&s->lock);
    struct serve_connection *idle = take_idle(s, now > idle_ns ? now - idle_ns : 0);
    pthread_mutex_unlock(&s->lock);
    free_all(idle);
}

void serve_sessions_close(struct serve_sessions *s)
{
    if (!s)
        return;
    free_all(take_idle(s, UINT64_MAX));
    pthread_cond_destroy(&s->given_back);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- Access times ---------------------------------------------------------------------------- */

static struct access *find_access(struct serve_sessions *s, uint32_t pid, uint64_t start_time)
{
    for (size_t i = 0; i < s->access_count; i++)
        if (s->access[i].pid == pid && s->access[i].start_time == start_time)
            return &s->access[i];
    return NULL;
}

/* Beyond ACCESSES_MAX the oldest one makes place. */
static void note_access(struct serve_sessions *s, uint32_t pid, uint64_t start_time)
{
    struct access *a = find_access(s, pid, start_time);
    if (!a && s->access_count < ACCESSES_MAX)
        a = &s->access[s->access_count++];
    if (!a) {
        a = s->access;
        for (size_t i = 1; i < s->access_count; i++)
            if (s->access[i].when_ns < a->when_ns)
                a = &s->access[i];
    }
    *a = (struct access){pid, start_time, (int64_t)now_ns(CLOCK_REALTIME)};
}

int64_t serve_sessions_last_access(struct serve_sessions *s, uint32_t pid, uint64_t start_time)
{
    pthread_mutex_lock(&s->lock);
    struct access *a = find_access(s, pid, start_time);
    int64_t when = a ? a->when_ns : 0;
    pthread_mutex_unlock(&s->lock);
    return when;
}

/* ---- Connections ----------------------------------------------------------------------------- */

/* Finds a connection that is not in use, or makes a place for a new one; NULL: all are in use. */
static struct serve_connection *claim(struct serve_sessions *s, const char *who,
                                      uint32_t timeout_ms, plumb_error *err)
{
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    size_t n = 0;
    for (struct serve_connection *c = s->first; c; c = c->next) {
        if (strcmp(c->who, who) != 0)
            continue;
        n++;
        if (!c->busy && c->control && c->timeout_ms == timeout_ms && c->used_ns + idle_ns > now) {
            c->busy = true;
            return c;
        }
    }
    struct serve_connection *c = n < CONNECTIONS_MAX ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        serve_fail(err, PLUMB_ERR_STATE, "%d calls for '%s' are under way, which is the most",
                   CONNECTIONS_MAX, who);
        return NULL;
    }
    strcpy(c->who, who);
    c->timeout_ms = timeout_ms;
    c->busy = true;
    c->next = s->first;
    s->first = c;
    return c;
}

static struct serve_connection *claim_in_time(struct serve_sessions *s, const char *who,
                                              uint32_t timeout_ms, plumb_error *err)
{
    uint64_t end = now_ns(CLOCK_MONOTONIC) + (timeout_ms ? timeout_ms * 1000000ull : wait_ns);
    struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    struct serve_connection *c, *idle = NULL;
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    while (!(c = claim(s, who, timeout_ms, err)) && rc == 0) {
        /* Idle ones may have another time limit: they make place. */
        idle = take_idle(s, UINT64_MAX);
        if (!idle)
            rc = pthread_cond_timedwait(&s->given_back, &s->lock, &until);
        else
            free_all(idle);
    }
    pthread_mutex_unlock(&s->lock);
    return c;
}

static void unlink_connection(struct serve_sessions *s, struct serve_connection *c)
{
    struct serve_connection **at = &s->first;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
}

static void drop(struct serve_sessions *s, struct serve_connection *c)
{
    pthread_mutex_lock(&s->lock);
    unlink_connection(s, c);
    pthread_cond_broadcast(&s->given_back);
    pthread_mutex_unlock(&s->lock);
    free_connection(c);
}

/* Connects, and asks once which process this is. */
static int connect_to(struct serve_connection *c, plumb_error *err)
{
    const plumb_process *p;
    plumb_control_pipeline_list *list = NULL;
    int rc = plumb_control_connect(&c->control, c->who, c->timeout_ms, err);
    if (rc == PLUMB_OK)
        rc = plumb_control_status(&p, c->control, err);
    if (rc < 0)
        return rc;
    c->pid = p->pid;
    c->start_time = p->start_time;
    if (plumb_control_pipelines(&list, c->control, err) == PLUMB_OK) {
        const plumb_control_pipeline *first = plumb_control_pipelines_get(list, 0);
        c->first_pipeline = first && first->name ? strdup(first->name) : NULL;
        plumb_control_pipelines_free(list);
    }
    return PLUMB_OK;
}

static int open_session(struct serve_session *out, struct serve_sessions *s, const char *id,
                        uint32_t timeout_ms, plumb_error *err)
{
    char who[WHO_MAX];
    const char *slash = strchr(id, '/');
    size_t n = slash ? (size_t)(slash - id) : strlen(id);
    if (n == 0 || n >= sizeof who || (slash && !slash[1]))
        return serve_fail(
            err, PLUMB_ERR_NOT_FOUND,
            "a session is a pid or the name of a program, or one of them, '/' and the "
            "name of a pipeline");
    memcpy(who, id, n);
    who[n] = '\0';
    struct serve_connection *c = claim_in_time(s, who, timeout_ms, err);
    if (!c)
        return err->code;
    int rc = c->control ? PLUMB_OK : connect_to(c, err);
    if (rc < 0) {
        drop(s, c);
        /* A process that ends while it is asked for its name is gone. */
        return rc == PLUMB_ERR_IO ? PLUMB_ERR_NOT_FOUND : rc;
    }
    pthread_mutex_lock(&s->lock);
    note_access(s, c->pid, c->start_time);
    pthread_mutex_unlock(&s->lock);
    *out = (struct serve_session){c->control, slash ? slash + 1 : NULL,
                                  slash ? slash + 1 : c->first_pipeline, c->pid, c};
    return PLUMB_OK;
}

/* Statuses after which a connection answers no more, as plumb/control.h says; a time limit is a
 * PLUMB_ERR_STATE like others, so each of those costs a connection. */
static bool breaks(int rc)
{
    return rc == PLUMB_ERR_IO || rc == PLUMB_ERR_FORMAT || rc == PLUMB_ERR_STATE;
}

/* Gives the connection back; `rc` is the status of the last command. */
static void close_session(struct serve_session *session, struct serve_sessions *s, int rc)
{
    struct serve_connection *c = session->connection;
    if (breaks(rc)) {
        drop(s, c);
        return;
    }
    pthread_mutex_lock(&s->lock);
    c->busy = false;
    c->used_ns = now_ns(CLOCK_MONOTONIC);
    pthread_cond_broadcast(&s->given_back);
    pthread_mutex_unlock(&s->lock);
}

int serve_session_run(struct serve_sessions *s, const char *id, uint32_t timeout_ms, bool reads,
                      serve_command command, void *arg, bool *found, plumb_error *err)
{
    struct serve_session session;
    plumb_error again_err;
    int rc = open_session(&session, s, id, timeout_ms, err);
    if (found)
        *found = rc == PLUMB_OK;
    if (rc < 0)
        return rc;
    rc = command(&session, arg, err);
    uint32_t pid = session.pid;
    uint64_t start_time = session.connection->start_time;
    close_session(&session, s, rc);
    /* The next one may be an idle connection to the process that has ended, too. */
    for (int i = 0; rc == PLUMB_ERR_IO && i <= CONNECTIONS_MAX; i++) {
        int again = open_session(&session, s, id, timeout_ms, &again_err);
        if (again < 0) {
            *err = again_err;
            if (found)
                *found = false;
            return again;
        }
        if (reads || session.pid != pid || session.connection->start_time != start_time)
            rc = command(&session, arg, err);
        close_session(&session, s, rc);
    }
    return rc;
}

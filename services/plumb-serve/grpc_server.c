/* grpc_server.c: the life of the gRPC server, on the C core.
 *
 * Workers share the queue of new calls. Each keeps one request for a call posted, takes the next
 * call that comes, and answers it: as many calls are answered at once as there are workers, further
 * ones wait in the core. Calls that last (streams) move to a thread of their own. No method is
 * registered with the core, which would leave calls of others unanswered until their deadline. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <grpc/grpc_security.h>
#include <grpc/support/log.h>

#include "fail.h"
#include "grpc_method.h"
#include "grpc_symbol.h"
#include "log.h"

enum {
    STREAMS_MAX = 64,
    CALLS_PER_CONNECTION = 100,
    KEEPALIVE_MS = 60000,
    HELLO_MS = 20000, /* until a new connection speaks HTTP/2 */
    MEMORY_LEAST = 64 << 20
};

struct serve_grpc {
    struct serve *serve;
    grpc_server *server;
    grpc_completion_queue *calls;
    struct serve_address own[SERVE_LIST_MAX]; /* with the ports that are in use */
    size_t own_count;
    pthread_t *workers;
    size_t worker_count;
    bool draining;       /* main thread */
    bool cancelled;      /* main thread */
    atomic_bool ended;   /* all calls have ended, as the core says */
    atomic_int answered; /* by workers at this moment: a handler may outlive its cancelled call */
    atomic_int streams;
};

/* ---- Workers --------------------------------------------------------------------------------- */

static void answer(struct serve_call *c)
{
    serve_method_run(c);
    serve_call_finish(c);
}

static void *stream_main(void *arg)
{
    struct serve_call *c = arg;
    struct serve_grpc *g = c->owner;
    answer(c);
    atomic_fetch_sub(&g->streams, 1);
    return NULL;
}

static bool start_stream(struct serve_grpc *g, struct serve_call *c)
{
    pthread_t thread;
    if (atomic_fetch_add(&g->streams, 1) < STREAMS_MAX &&
        pthread_create(&thread, NULL, stream_main, c) == 0) {
        pthread_detach(thread);
        return true;
    }
    atomic_fetch_sub(&g->streams, 1);
    serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "%d streams are open, which is the most",
                    STREAMS_MAX);
    return false;
}

static void take(struct serve_grpc *g, struct serve_call *c)
{
    serve_call_begin(c);
    c->method = serve_method_find(c->path);
    if (!serve_method_allow(c, g->own, g->own_count)) {
        serve_call_finish(c);
    } else if (c->method->stream || c->method->talk) {
        if (!start_stream(g, c))
            serve_call_finish(c);
    } else {
        answer(c);
    }
}

static void post(struct serve_grpc *g)
{
    struct serve_call *c = serve_call_new(g->serve, g);
    if (!c) {
        serve_log("out of memory: a worker less takes calls");
        return;
    }
    grpc_completion_queue *own = c->cq;
    atomic_store(&c->posted, true); /* from here on the call may be another worker's */
    if (grpc_server_request_call(g->server, &c->call, &c->details, &c->metadata, own, g->calls,
                                 c) != GRPC_CALL_OK)
        serve_call_free(c);
}

/* As many requests are posted as workers run. After the shutdown each of them comes back empty, and
 * workers wait on, for the news that all calls have ended and for the end of the queue. */
static void *worker_main(void *arg)
{
    struct serve_grpc *g = arg;
    post(g);
    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(g->calls, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        struct serve_call *c = event.tag == g ? NULL : event.tag;
        if (!c) {
            atomic_store(&g->ended, true);
        } else if (!atomic_load(&c->posted) || !event.success) {
            serve_call_free(c);
        } else {
            atomic_fetch_add(&g->answered, 1);
            take(g, c);
            atomic_fetch_sub(&g->answered, 1);
            post(g);
        }
    }
}

/* ---- Start ----------------------------------------------------------------------------------- */

static int read_pem(char **out, const char *path, plumb_error *err)
{
    struct stat st;
    FILE *file = fopen(path, "re");
    char *text = NULL;
    if (file && fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && st.st_size < 1 << 20 &&
        (text = calloc(1, (size_t)st.st_size + 1)))
        text[fread(text, 1, (size_t)st.st_size, file)] = '\0';
    if (file)
        fclose(file);
    if (!text || !strstr(text, "-----BEGIN ")) {
        free(text);
        return serve_fail(err, PLUMB_ERR_ARG, "cannot read '%s' as a PEM file", path);
    }
    *out = text;
    return PLUMB_OK;
}

static int make_credentials(grpc_server_credentials **out, const struct serve_options *o,
                            plumb_error *err)
{
    char *cert = NULL, *key = NULL, *ca = NULL;
    int rc = PLUMB_OK;
    if (!o->tls_cert) {
        *out = grpc_insecure_server_credentials_create();
        return PLUMB_OK;
    }
    if ((rc = read_pem(&cert, o->tls_cert, err)) < 0 ||
        (rc = read_pem(&key, o->tls_key, err)) < 0 ||
        (o->client_ca && (rc = read_pem(&ca, o->client_ca, err)) < 0))
        goto out;
    grpc_ssl_pem_key_cert_pair pair = {key, cert};
    *out = grpc_ssl_server_credentials_create_ex(
        ca, &pair, 1,
        ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
           : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
        NULL);
out:
    free(cert);
    if (key)
        explicit_bzero(key, strlen(key));
    free(key);
    free(ca);
    return rc;
}

/* Why this thread could not listen, as the core has logged it; empty: it has not. NULL outside
 * add_port(). */
static _Thread_local char *refusal;
enum { REFUSAL_BYTES = 128 };

/* Takes the words of the system out of a line of the core, which is a tree of errors. Returns
 * whether there are any. */
static bool keep_refusal(const char *message)
{
    static const char key[] = "os_error:\"";
    const char *at = strstr(message, key);
    if (!at)
        return false;
    at += sizeof key - 1;
    snprintf(refusal, REFUSAL_BYTES, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

/* gRPC's own lines: errors alone, in our form. */
static void log_line(gpr_log_func_args *args)
{
    if (args->severity == GPR_LOG_SEVERITY_ERROR && !(refusal && keep_refusal(args->message)))
        serve_log("gRPC: %s", args->message);
}

static int listen_on(struct serve_grpc *g, const char *text, grpc_server_credentials *credentials,
                     plumb_error *err)
{
    char why[REFUSAL_BYTES] = "";
    refusal = why;
    int port = grpc_server_add_http2_port(g->server, text, credentials);
    refusal = NULL;
    if (port)
        return port;
    return serve_fail(err, PLUMB_ERR_IO, "cannot listen on '%s': %s%s", text,
                      *why ? why : "the address is in use, or is not one of this machine",
                      !*why && g->serve->options.tls_cert ? ", or certificate and key do not fit"
                                                          : "");
}

static int add_port(struct serve_grpc *g, const char *text, grpc_server_credentials *credentials,
                    plumb_error *err)
{
    const struct serve_options *o = &g->serve->options;
    struct serve_address *own = &g->own[g->own_count];
    int rc = serve_address_read(own, "--listen", text, err);
    if (rc == PLUMB_OK)
        rc = serve_address_allow(own, "--listen", o, err);
    if (rc < 0)
        return rc;
    /* gRPC removes a socket file that is there. */
    if (own->place == SERVE_UNIX && serve_address_in_use(own->host))
        return serve_fail(err, PLUMB_ERR_IO, "cannot listen on '%s': another server does", text);
    /* A socket file is for its owner alone, from the moment it exists. */
    mode_t mask = umask(own->place == SERVE_UNIX ? 0177 : 022);
    int port = listen_on(g, text, credentials, err);
    umask(mask);
    if (port < 0)
        return port;
    g->own_count++;
    if (own->place == SERVE_UNIX) {
        serve_log("gRPC on unix:%s", own->host);
        return PLUMB_OK;
    }
    own->port = (uint16_t)port;
    serve_log("gRPC on %s:%d%s%s", own->host, port, o->tls_cert ? ", TLS" : "",
              o->client_ca ? ", client certificates" : "");
    if (own->place == SERVE_NETWORK && !serve_auth_wants_token(g->serve->auth) && !o->client_ca)
        serve_log(
            "anyone who reaches %s:%d may %s: there is neither a token nor a client authority",
            own->host, port, o->insecure && !o->read_only ? "steer processes" : "read");
    return PLUMB_OK;
}

static int listen_all(struct serve_grpc *g, plumb_error *err)
{
    const struct serve_options *o = &g->serve->options;
    grpc_server_credentials *credentials = NULL;
    int rc = make_credentials(&credentials, o, err);
    if (rc == PLUMB_OK && !credentials)
        rc = serve_fail(err, PLUMB_ERR_ARG, "the certificate '%s' cannot be used", o->tls_cert);
    for (size_t i = 0; rc == PLUMB_OK && i < o->listen.count; i++)
        rc = add_port(g, o->listen.item[i], credentials, err);
    if (credentials)
        grpc_server_credentials_release(credentials);
    return rc;
}

static grpc_arg integer(const char *key, int value)
{
    return (grpc_arg){GRPC_ARG_INTEGER, (char *)key, {.integer = value}};
}

/* Requests that are still coming fill memory, those of callers without a token too. Beyond this
 * bound the core drops connections. Two of the largest messages fit. */
static grpc_resource_quota *memory_bound(const struct serve_options *o)
{
    grpc_resource_quota *quota = grpc_resource_quota_create("plumb serve");
    size_t bytes = 2 * (size_t)o->max_message_bytes;
    grpc_resource_quota_resize(quota, bytes > MEMORY_LEAST ? bytes : MEMORY_LEAST);
    return quota;
}

static void make_server(struct serve_grpc *g)
{
    const struct serve_options *o = &g->serve->options;
    int most = (int)o->max_message_bytes;
    int idle_ms = o->idle_s ? (int)o->idle_s * 1000 : INT_MAX; /* the core's "never" */
    grpc_resource_quota *quota = memory_bound(o);
    grpc_arg args[] = {
        {GRPC_ARG_POINTER,
         (char *)GRPC_ARG_RESOURCE_QUOTA,
         {.pointer = {quota, grpc_resource_quota_arg_vtable()}}},
        integer(GRPC_ARG_MAX_CONNECTION_IDLE_MS, idle_ms),
        integer(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, idle_ms < HELLO_MS ? idle_ms : HELLO_MS),
        integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, most),
        integer(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, most),
        integer(GRPC_ARG_MAX_CONCURRENT_STREAMS, CALLS_PER_CONNECTION),
        integer(GRPC_ARG_ALLOW_REUSEPORT, 0), /* a second server must not share the port unseen */
        integer(GRPC_ARG_KEEPALIVE_TIME_MS,
                KEEPALIVE_MS), /* a client that is gone ends its calls */
    };
    grpc_channel_args all = {sizeof args / sizeof *args, args};
    g->server = grpc_server_create(&all, NULL);
    grpc_resource_quota_unref(quota); /* the server has its own reference */
    g->calls = grpc_completion_queue_create_for_next(NULL);
    grpc_server_register_completion_queue(g->server, g->calls, NULL);
}

static int start_workers(struct serve_grpc *g, plumb_error *err)
{
    size_t n = (size_t)g->serve->options.workers;
    g->workers = calloc(n, sizeof *g->workers);
    while (g->workers && g->worker_count < n &&
           pthread_create(&g->workers[g->worker_count], NULL, worker_main, g) == 0)
        g->worker_count++;
    if (g->worker_count == n)
        return PLUMB_OK;
    return serve_fail(err, PLUMB_ERR_MEMORY, "cannot make %zu threads for --workers", n);
}

/* ---- The part -------------------------------------------------------------------------------- */

static bool part_drained(void *part, bool now)
{
    struct serve_grpc *g = part;
    if (!g->draining)
        grpc_server_shutdown_and_notify(g->server, g->calls, g);
    g->draining = true;
    if (now && !g->cancelled)
        grpc_server_cancel_all_calls(g->server);
    g->cancelled = g->cancelled || now;
    return (atomic_load(&g->ended) || g->worker_count == 0) && atomic_load(&g->answered) == 0 &&
           atomic_load(&g->streams) == 0;
}

static void part_stop(void *part)
{
    struct serve_grpc *g = part;
    gpr_timespec never = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    const struct timespec pause = {0, 1000000};
    while (!atomic_load(&g->ended)) /* without a worker */
        atomic_store(&g->ended, grpc_completion_queue_next(g->calls, never, NULL).tag == g);
    grpc_completion_queue_shutdown(g->calls);
    for (size_t i = 0; i < g->worker_count; i++)
        pthread_join(g->workers[i], NULL);
    /* A worker may have taken the last call, and given it a thread, after all had been counted. */
    while (atomic_load(&g->streams) > 0)
        nanosleep(&pause, NULL);
    while (grpc_completion_queue_next(g->calls, never, NULL).type != GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_server_destroy(g->server);
    grpc_completion_queue_destroy(g->calls);
    for (size_t i = 0; i < g->own_count; i++)
        if (g->own[i].place == SERVE_UNIX)
            unlink(g->own[i].host);
    free(g->workers);
    free(g);
    serve_symbols_close();
    grpc_shutdown_blocking();
}

static int part_start(void **out, struct serve *s, plumb_error *err)
{
    struct serve_grpc *g = calloc(1, sizeof *g);
    if (!g || !serve_symbols_open()) {
        free(g);
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    }
    gpr_set_log_function(log_line);
    grpc_init();
    g->serve = s;
    make_server(g);
    int rc = listen_all(g, err);
    grpc_server_start(g->server);
    if (rc == PLUMB_OK)
        rc = start_workers(g, err);
    *out = g; /* also after a failure: main() drains and stops what was started */
    return rc;
}

const struct serve_part serve_part_grpc = {"grpc", part_start, part_drained, part_stop};

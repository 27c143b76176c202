/* http_server.c: the HTTP service of plumb-serve: /metrics, /healthz and /api/summary, by
 * libmicrohttpd. GET and HEAD only; nothing is changed through it. Roles are those of auth.h: any
 * role may read. */
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <plumb/read/text.h>

#include "auth.h"
#include "fail.h"
#include "http_metrics.h"
#include "log.h"

enum {
    CONNECTIONS = 64,
    THREADS = 2,
    IDLE_S = 15,
    CONNECTION_BYTES = 32 << 10,
    PEM_MOST = 1 << 20
};

struct listener {
    struct http *http;
    struct serve_address address;
    bool tls;
    struct MHD_Daemon *daemon;
};

struct http {
    struct serve *serve;
    struct serve_devices *devices;
    struct serve_scraper *scraper;
    char *certificate, *key, *client_ca; /* PEM, or NULL */
    struct listener listener[SERVE_LIST_MAX];
    size_t count;
};

/* ---- Callers --------------------------------------------------------------------------------- */

static uint16_t numeric(char *host, size_t size, const struct sockaddr *a)
{
    if (a && a->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)a;
        inet_ntop(AF_INET, &in->sin_addr, host, (socklen_t)size);
        return ntohs(in->sin_port);
    }
    if (a && a->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)a;
        inet_ntop(AF_INET6, &in->sin6_addr, host, (socklen_t)size);
        return ntohs(in->sin6_port);
    }
    host[0] = '\0';
    return 0;
}

static bool is_same_user(struct MHD_Connection *c, const char *peer, uint16_t peer_port)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char host[INET6_ADDRSTRLEN];
    uint16_t port;
    if (!fd || getsockname(fd->connect_fd, (struct sockaddr *)&own, &size) < 0)
        return false;
    port = numeric(host, sizeof host, (const struct sockaddr *)&own);
    return serve_auth_peer(peer, peer_port, host, port) == SERVE_PEER_OWN;
}

/* The address of the caller in `peer` ("" for a socket file); returns its port. */
static uint16_t peer_of(const struct listener *l, struct MHD_Connection *c,
                        char peer[INET6_ADDRSTRLEN])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *peer = '\0';
    return l->address.place == SERVE_UNIX
               ? 0
               : numeric(peer, INET6_ADDRSTRLEN, info ? info->client_addr : NULL);
}

/* libmicrohttpd asks for a certificate and takes any, or none: it is checked here. */
static bool has_certificate(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned char of_a_client[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID, of_a_client, 0};
    unsigned faults = 0;
    return tls &&
           gnutls_certificate_verify_peers((gnutls_session_t)tls->tls_session, &purpose, 1,
                                           &faults) == GNUTLS_E_SUCCESS &&
           faults == 0;
}

/* Returns 0, or the status with which the caller is refused. */
static unsigned check_caller(const struct listener *l, struct MHD_Connection *c, const char **why)
{
    struct serve_caller caller = {.place = l->address.place};
    char peer[INET6_ADDRSTRLEN];
    uint16_t port = peer_of(l, c, peer);
    *why = "not allowed";
    if (l->tls && l->http->client_ca && !has_certificate(c)) {
        *why = "no certificate of --client-ca";
        return MHD_HTTP_FORBIDDEN;
    }
    caller.authorization = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    caller.authorization_size = caller.authorization ? strlen(caller.authorization) : 0;
    if (l->address.place != SERVE_UNIX)
        caller.place = serve_address_place(peer);
    if (caller.place == SERVE_LOOPBACK)
        caller.same_user = is_same_user(c, peer, port);
    if (serve_auth_role(l->http->serve->auth, &caller, why) >= SERVE_ROLE_READ)
        return 0;
    return serve_auth_wants_token(l->http->serve->auth) ? MHD_HTTP_UNAUTHORIZED
                                                        : MHD_HTTP_FORBIDDEN;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* `text` is freed if `ours`. */
static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status, const char *type,
                                 char *text, size_t bytes, bool ours)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        bytes, text, ours ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;
    if (!r) {
        if (ours)
            plumb_read_free(text);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, "Allow", "GET, HEAD");
    result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result send_line(struct MHD_Connection *c, unsigned status, const char *text)
{
    char line[512];
    int n = snprintf(line, sizeof line, "%s\n", text);
    return send_text(c, status, "text/plain; charset=utf-8", line,
                     (size_t)n < sizeof line ? (size_t)n : sizeof line - 1, false);
}

static enum MHD_Result refuse(const struct listener *l, struct MHD_Connection *c, unsigned status,
                              const char *why, const char *method, const char *url)
{
    char peer[INET6_ADDRSTRLEN];
    peer_of(l, c, peer);
    /* The text of the caller comes last and is cut, so that it cannot hide the rest. */
    serve_log("http: refuses %s: %u: %s: %.16s %.200s", *peer ? peer : "a caller", status, why,
              method, url);
    return send_line(c, status, why);
}

static enum MHD_Result answer(const struct listener *l, struct MHD_Connection *c,
                              enum serve_answer what)
{
    static const char *const types[] = {
        [SERVE_ANSWER_PROMETHEUS] = "text/plain; version=0.0.4; charset=utf-8",
        [SERVE_ANSWER_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        [SERVE_ANSWER_SUMMARY] = "application/json"};
    plumb_error err = {0, ""};
    char *text = NULL;
    size_t bytes = 0;
    if (serve_scraper_answer(&text, &bytes, l->http->scraper, what, &err) < 0) {
        serve_log("http: %s", err.message);
        return send_line(c, MHD_HTTP_INTERNAL_SERVER_ERROR, err.message);
    }
    return send_text(c, MHD_HTTP_OK, types[what], text, bytes, true);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    static char seen;
    const struct listener *l = arg;
    const char *why;
    unsigned refused;
    (void)version;
    (void)upload;
    if (!*state) { /* the head has come; the answer follows at the next call */
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_size) {
        *upload_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(l, c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD", method, url);
    if (strcmp(url, "/healthz") == 0)
        return atomic_load(&l->http->serve->draining)
                   ? send_line(c, MHD_HTTP_SERVICE_UNAVAILABLE, "draining")
                   : send_line(c, MHD_HTTP_OK, "ok");
    refused = check_caller(l, c, &why);
    if (refused)
        return refuse(l, c, refused, why, method, url);
    if (strcmp(url, "/metrics") == 0)
        return answer(
            l, c,
            serve_accepts_openmetrics(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept"))
                ? SERVE_ANSWER_OPENMETRICS
                : SERVE_ANSWER_PROMETHEUS);
    if (strcmp(url, "/api/summary") == 0)
        return answer(l, c, SERVE_ANSWER_SUMMARY);
    return refuse(l, c, MHD_HTTP_NOT_FOUND, "there are /metrics, /api/summary and /healthz", method,
                  url);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static int listen_unix(const struct serve_address *a, plumb_error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat st;
    mode_t before;
    int fd, rc;
    if (serve_address_in_use(a->host))
        return serve_fail(err, PLUMB_ERR_IO, "cannot listen on 'unix:%s': another server does",
                          a->host);
    if (lstat(a->host, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(a->host); /* a killed server has left it */
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(at.sun_path, a->host, strlen(a->host) + 1);
    before = umask(0177);
    rc = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&at, sizeof at);
    umask(before);
    if (rc < 0 || listen(fd, CONNECTIONS) < 0) {
        serve_fail(err, PLUMB_ERR_IO, "cannot listen on 'unix:%s': %s", a->host, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

static int listen_tcp(const struct serve_address *a, plumb_error *err)
{
    struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char port[8];
    int fd = -1, on = 1, why = 0, code;
    snprintf(port, sizeof port, "%u", a->port);
    code = getaddrinfo(a->host, port, &want, &found);
    for (struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
        fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, i->ai_protocol);
        if (fd >= 0)
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (fd >= 0 && (bind(fd, i->ai_addr, i->ai_addrlen) < 0 || listen(fd, CONNECTIONS) < 0)) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    if (found)
        freeaddrinfo(found);
    if (fd < 0)
        serve_fail(err, PLUMB_ERR_IO, "cannot listen on '%s:%u': %s", a->host, a->port,
                   code ? gai_strerror(code) : strerror(why));
    return fd;
}

/* The port that the kernel has chosen for port 0. */
static uint16_t port_of(int fd)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char host[INET6_ADDRSTRLEN];
    return getsockname(fd, (struct sockaddr *)&own, &size) < 0
               ? 0
               : numeric(host, sizeof host, (const struct sockaddr *)&own);
}

static void log_listener(const struct serve_address *a, int fd, bool tls)
{
    if (a->place == SERVE_UNIX)
        serve_log("http: listens on unix:%s", a->host);
    else
        serve_log("http: listens on %s://%s:%u", tls ? "https" : "http", a->host, port_of(fd));
}

static int start_listener(struct http *h, const char *text, plumb_error *err)
{
    struct listener *l = &h->listener[h->count];
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;
    int fd, rc = serve_address_read(&l->address, "--http", text, err);
    if (rc == PLUMB_OK)
        rc = serve_address_allow(&l->address, "--http", &h->serve->options, err);
    if (rc < 0)
        return rc;
    l->tls = h->certificate && l->address.place != SERVE_UNIX;
    fd = l->address.place == SERVE_UNIX ? listen_unix(&l->address, err)
                                        : listen_tcp(&l->address, err);
    if (fd < 0)
        return PLUMB_ERR_IO;
    l->http = h;
    struct MHD_OptionItem pem[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, h->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, h->key},
        {h->client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0, h->client_ca},
        {MHD_OPTION_END, 0, NULL}};
    l->daemon = MHD_start_daemon(
        flags | (l->tls ? (unsigned)MHD_USE_TLS : 0), 0, NULL, NULL, handle, l,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_ARRAY, l->tls ? pem : &pem[3], MHD_OPTION_END);
    if (!l->daemon) {
        close(fd);
        return serve_fail(err, PLUMB_ERR_IO, "the HTTP service does not start on '%s'%s", text,
                          l->tls ? ": is each certificate right?" : "");
    }
    h->count++;
    log_listener(&l->address, fd, l->tls);
    return PLUMB_OK;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void http_stop(void *part)
{
    struct http *h = part;
    for (size_t i = 0; i < h->count; i++) {
        MHD_stop_daemon(h->listener[i].daemon); /* and its socket */
        if (h->listener[i].address.place == SERVE_UNIX)
            unlink(h->listener[i].address.host);
    }
    serve_scraper_close(h->scraper);
    serve_devices_close(h->devices);
    free(h->certificate);
    free(h->key);
    free(h->client_ca);
    free(h);
}

static char *read_pem(const char *path, plumb_error *err)
{
    FILE *f = fopen(path, "re");
    char *text = f ? malloc(PEM_MOST + 1) : NULL;
    size_t n = text ? fread(text, 1, PEM_MOST, f) : 0;
    if (!n)
        serve_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (f)
        fclose(f);
    if (!n) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

static int take_tls(struct http *h, const struct serve_options *o, plumb_error *err)
{
    if (!o->tls_cert)
        return PLUMB_OK;
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return serve_fail(err, PLUMB_ERR_ABSENT,
                          "--http with --tls-cert: this libmicrohttpd was built without TLS");
    h->certificate = read_pem(o->tls_cert, err);
    h->key = h->certificate ? read_pem(o->tls_key, err) : NULL;
    h->client_ca = h->key && o->client_ca ? read_pem(o->client_ca, err) : NULL;
    return h->key && (h->client_ca || !o->client_ca) ? PLUMB_OK : PLUMB_ERR_IO;
}

static int http_start(void **out, struct serve *s, plumb_error *err)
{
    struct http *h;
    int rc;
    if (!s->options.http.count)
        return PLUMB_OK;
    if (!(h = calloc(1, sizeof *h)))
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    h->serve = s;
    rc = take_tls(h, &s->options, err);
    if (rc == PLUMB_OK && (!serve_devices_open(&h->devices, s->options.device_interval_s) ||
                           !(h->scraper = serve_scraper_open(s->options.runs, h->devices))))
        rc = serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    for (size_t i = 0; rc == PLUMB_OK && i < s->options.http.count; i++)
        rc = start_listener(h, s->options.http.item[i], err);
    if (rc < 0)
        http_stop(h);
    else
        *out = h;
    return rc;
}

/* An answer takes milliseconds: MHD_stop_daemon() waits for those under way. */
static bool http_drained(void *part, bool now)
{
    (void)part;
    (void)now;
    return true;
}

const struct serve_part serve_part_http = {"http", http_start, http_drained, http_stop};

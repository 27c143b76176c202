/* address.c: reading addresses. A name other than localhost counts as the network, whatever it
 * resolves to: that may change while the server runs. */
#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fail.h"

enum serve_place serve_address_place(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127 ? SERVE_LOOPBACK : SERVE_NETWORK;
    if (inet_pton(AF_INET6, host, &v6) != 1)
        return SERVE_NETWORK;
    if (IN6_IS_ADDR_V4MAPPED(&v6))
        return v6.s6_addr[12] == 127 ? SERVE_LOOPBACK : SERVE_NETWORK;
    return IN6_IS_ADDR_LOOPBACK(&v6) ? SERVE_LOOPBACK : SERVE_NETWORK;
}

static int read_path(struct serve_address *out, const char *what, const char *path,
                     plumb_error *err)
{
    if (!*path || strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return serve_fail(err, PLUMB_ERR_ARG,
                          "%s: the path of a unix socket has 1 to 107 bytes, '%s' has %zu", what,
                          path, strlen(path));
    out->place = SERVE_UNIX;
    out->port = 0;
    strcpy(out->host, path);
    return PLUMB_OK;
}

static bool read_port(uint16_t *out, const char *text)
{
    char *end;
    unsigned long port = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : UINT16_MAX + 1ul;
    if (port > UINT16_MAX || *end)
        return false;
    *out = (uint16_t)port;
    return true;
}

int serve_address_read(struct serve_address *out, const char *what, const char *text,
                       plumb_error *err)
{
    struct serve_address a = {SERVE_NETWORK, "", 0};
    if (strncmp(text, "unix:", 5) == 0)
        return read_path(out, what, text + 5, err);
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    bool brackets = n > 2 && text[0] == '[' && text[n - 1] == ']';
    if (brackets) {
        text++;
        n -= 2;
    }
    if (n == 0 || n >= sizeof a.host || !read_port(&a.port, colon + 1) ||
        (!brackets && memchr(text, ':', n)) || memchr(text, '/', n))
        return serve_fail(err, PLUMB_ERR_ARG,
                          "%s wants HOST:PORT, [IPV6]:PORT or unix:PATH, not '%s'", what, text);
    memcpy(a.host, text, n);
    a.place = strcmp(a.host, "localhost") == 0 ? SERVE_LOOPBACK : serve_address_place(a.host);
    *out = a;
    return PLUMB_OK;
}

int serve_address_allow(const struct serve_address *a, const char *what,
                        const struct serve_options *o, plumb_error *err)
{
    if (a->place != SERVE_NETWORK || o->tls_cert || o->insecure)
        return PLUMB_OK;
    return serve_fail(err, PLUMB_ERR_ARG,
                      "%s %s:%u can be reached from other machines: give --tls-cert and --tls-key, "
                      "or --insecure to serve without encryption",
                      what, a->host, a->port);
}

bool serve_address_in_use(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false; /* and the server cannot listen: it says why */
    memcpy(at.sun_path, path, strlen(path) + 1);
    bool left = connect(fd, (const struct sockaddr *)&at, sizeof at) < 0 && errno == ECONNREFUSED;
    close(fd);
    return !left;
}

/* auth_peer.c: whose process a connection on loopback comes from. The kernel keeps the user of each
 * socket, and answers a question for one (sock_diag(7)) in some microseconds. The connection is
 * open during the call, so its pair of addresses cannot be another's. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auth.h"

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static bool fill(struct question *q, const char *peer, uint16_t peer_port, const char *own,
                 uint16_t own_port)
{
    bool v6 = strchr(peer, ':') != NULL;
    memset(q, 0, sizeof *q);
    q->head.nlmsg_len = sizeof *q;
    q->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    q->head.nlmsg_flags = NLM_F_REQUEST;
    q->body.sdiag_family = v6 ? AF_INET6 : AF_INET;
    q->body.sdiag_protocol = IPPROTO_TCP;
    q->body.idiag_states = UINT32_MAX;
    q->body.id.idiag_sport = htons(peer_port);
    q->body.id.idiag_dport = htons(own_port);
    q->body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    q->body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return inet_pton(q->body.sdiag_family, peer, q->body.id.idiag_src) == 1 &&
           inet_pton(q->body.sdiag_family, own, q->body.id.idiag_dst) == 1;
}

static bool is_it(const struct inet_diag_msg *m, const struct question *q)
{
    return m->id.idiag_sport == q->body.id.idiag_sport &&
           m->id.idiag_dport == q->body.id.idiag_dport;
}

static enum serve_peer judge(const struct nlmsghdr *answer, size_t n, const struct question *q)
{
    const struct inet_diag_msg *m = NLMSG_DATA(answer);
    const struct nlmsgerr *e = NLMSG_DATA(answer);
    if (n >= NLMSG_LENGTH(sizeof *e) && answer->nlmsg_type == NLMSG_ERROR)
        return e->error == -ENOENT ? SERVE_PEER_NONE : SERVE_PEER_OTHER;
    if (n < NLMSG_LENGTH(sizeof *m) || answer->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return SERVE_PEER_OTHER;
    if (!is_it(m, q))
        return SERVE_PEER_NONE; /* the kernel has found one that listens */
    return m->idiag_inode && (m->idiag_uid == geteuid() || m->idiag_uid == 0) ? SERVE_PEER_OWN
                                                                              : SERVE_PEER_OTHER;
}

static enum serve_peer ask(const struct question *q)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval limit = {1, 0};
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } answer;
    enum serve_peer peer = SERVE_PEER_OTHER;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return peer;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (sendto(fd, q, sizeof *q, 0, (struct sockaddr *)&kernel, sizeof kernel) ==
        (ssize_t)sizeof *q) {
        ssize_t n = recv(fd, &answer, sizeof answer, 0);
        peer = n > 0 ? judge(&answer.head, (size_t)n, q) : SERVE_PEER_OTHER;
    }
    close(fd);
    return peer;
}

enum serve_peer serve_auth_peer(const char *peer, uint16_t peer_port, const char *own,
                                uint16_t own_port)
{
    struct question q;
    if (!strchr(peer, ':') != !strchr(own, ':'))
        return SERVE_PEER_NONE;
    return fill(&q, peer, peer_port, own, own_port) ? ask(&q) : SERVE_PEER_OTHER;
}

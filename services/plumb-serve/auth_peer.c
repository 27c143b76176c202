/* auth_peer.c: whose process a connection on loopback comes from. The kernel keeps the user of each
 * socket, and answers a question for one (sock_diag(7)) in some microseconds. The connection is
 * open during the call, so its pair of addresses cannot be another's. */
#include <arpa/inet.h>
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

static bool ask(const struct question *q, uint32_t *uid)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval limit = {1, 0};
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } answer;
    bool good = false;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (sendto(fd, q, sizeof *q, 0, (struct sockaddr *)&kernel, sizeof kernel) ==
        (ssize_t)sizeof *q) {
        ssize_t n = recv(fd, &answer, sizeof answer, 0);
        const struct inet_diag_msg *m = NLMSG_DATA(&answer.head);
        good = n >= (ssize_t)NLMSG_LENGTH(sizeof *m) &&
               answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
               m->id.idiag_sport == q->body.id.idiag_sport &&
               m->id.idiag_dport == q->body.id.idiag_dport && m->idiag_inode != 0;
        if (good)
            *uid = m->idiag_uid;
    }
    close(fd);
    return good;
}

bool serve_auth_same_user(const char *peer, uint16_t peer_port, const char *own, uint16_t own_port)
{
    struct question q;
    uint32_t uid = 0;
    return fill(&q, peer, peer_port, own, own_port) && ask(&q, &uid) &&
           (uid == geteuid() || uid == 0);
}

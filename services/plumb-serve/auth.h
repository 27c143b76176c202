/* auth.h: what a caller may do. Every protocol asks here, with what it knows of the caller. */
#ifndef PLUMB_SERVE_AUTH_H
#define PLUMB_SERVE_AUTH_H

#include "address.h"

enum serve_role {
    SERVE_ROLE_NONE = 0,
    SERVE_ROLE_READ = 1,   /* sees processes, rows and runs */
    SERVE_ROLE_CONTROL = 2 /* also starts, stops and configures */
};

struct serve_caller {
    enum serve_place place;    /* where the call comes from */
    bool same_user;            /* SERVE_LOOPBACK: the peer is a process of this user, or of root */
    const char *authorization; /* value of that header, NULL: none */
    size_t authorization_size;
    bool control_name; /* its certificate has one of the names of --control-name */
};

/* Reads the token files. Errors: PLUMB_ERR_ARG: others may read a file or have written it, or it
 * holds no token; PLUMB_ERR_IO. */
int serve_auth_open(struct serve_auth **out, const struct serve_options *o, plumb_error *err);
/* Frees it; NULL is ignored. */
void serve_auth_close(struct serve_auth *auth);
/* Returns whether callers need a token. */
bool serve_auth_wants_token(const struct serve_auth *auth);
/* Returns the role of a caller; after SERVE_ROLE_NONE `why` says what is missing. Takes as long for
 * a wrong token as for a right one. Any thread. */
enum serve_role serve_auth_role(const struct serve_auth *auth, const struct serve_caller *caller,
                                const char **why);
enum serve_peer {
    SERVE_PEER_NONE,  /* there is no such connection */
    SERVE_PEER_OTHER, /* another user's, or the kernel does not say */
    SERVE_PEER_OWN    /* a process of this user, or of root */
};
/* Returns whose process is at the other end of a TCP connection on loopback. `peer` and `own`:
 * numeric addresses. */
enum serve_peer serve_auth_peer(const char *peer, uint16_t peer_port, const char *own,
                                uint16_t own_port);

#endif

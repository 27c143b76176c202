/* address.h: the addresses that the server listens on, and which of them need what. */
#ifndef PLUMB_SERVE_ADDRESS_H
#define PLUMB_SERVE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "serve.h"

enum serve_place {
    SERVE_UNIX,     /* a socket file: the kernel checks its permissions */
    SERVE_LOOPBACK, /* this machine: any of its users may connect */
    SERVE_NETWORK   /* anyone */
};

struct serve_address {
    enum serve_place place;
    char host[256]; /* without brackets; of SERVE_UNIX: the path */
    uint16_t port;
};

/* Reads "HOST:PORT", "[IPv6]:PORT" or "unix:PATH". `what`: the option, for the error. Errors:
 * PLUMB_ERR_ARG. */
int serve_address_read(struct serve_address *out, const char *what, const char *text,
                       plumb_error *err);
/* Refuses an address beyond this machine without TLS, unless --insecure is given. */
int serve_address_allow(const struct serve_address *a, const char *what,
                        const struct serve_options *o, plumb_error *err);
/* Returns whether the socket file `path` is another server's: not one that a killed server left. */
bool serve_address_in_use(const char *path);
/* Returns where a numeric IPv4 or IPv6 address is: SERVE_LOOPBACK or SERVE_NETWORK. */
enum serve_place serve_address_place(const char *host);

#endif

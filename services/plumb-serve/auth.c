/* auth.c: tokens and roles. Constant after serve_auth_open().
 *
 * A token decides where there is one. Without tokens the way of the connection decides: a socket
 * file has permissions; a client certificate was demanded by TLS; on loopback, where every user of
 * the machine may connect, the kernel knows whose socket it is. A network address gives the control
 * role only if --insecure asks for it in words: a certificate of the server says nothing about the
 * caller. */
#include "auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "log.h"

enum { TOKEN_MAX = 512, TOKEN_SHORT = 16 };

struct token {
    bool given;
    unsigned char bytes[TOKEN_MAX]; /* zeros follow */
    size_t size;
};

struct serve_auth {
    const struct serve_options *o;
    struct token control, read;
};

/* ---- Token files ----------------------------------------------------------------------------- */

static int check_file(int fd, const char *path, plumb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return serve_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return serve_fail(err, PLUMB_ERR_ARG, "'%s' is not a regular file", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return serve_fail(err, PLUMB_ERR_ARG,
                          "'%s' belongs to another user, who knows the token: use a file of yours",
                          path);
    if (st.st_mode & 077)
        return serve_fail(err, PLUMB_ERR_ARG,
                          "other users may read or write '%s' (mode %03o): run 'chmod 600' on it",
                          path, (unsigned)(st.st_mode & 0777));
    return PLUMB_OK;
}

/* The token is the file's only line; blanks around it do not count. */
static int take_token(struct token *out, char *text, const char *path, plumb_error *err)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t n = strcspn(text, blanks);
    if (n == 0)
        return serve_fail(err, PLUMB_ERR_ARG, "'%s' is empty: it must hold a token", path);
    if (text[n + strspn(text + n, blanks)])
        return serve_fail(err, PLUMB_ERR_ARG,
                          "'%s' holds more than one word: one token is one word", path);
    if (n < TOKEN_SHORT)
        serve_log("the token in '%s' has %zu characters; with fewer than %d it can be guessed",
                  path, n, TOKEN_SHORT);
    memcpy(out->bytes, text, n);
    out->size = n;
    out->given = true;
    return PLUMB_OK;
}

static int read_token(struct token *out, const char *path, plumb_error *err)
{
    char text[TOKEN_MAX + 2] = "";
    int rc = PLUMB_OK;
    if (!path)
        return rc;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return serve_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    rc = check_file(fd, path, err);
    ssize_t n = rc == PLUMB_OK ? read(fd, text, sizeof text - 1) : 0;
    if (n < 0)
        rc = serve_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    else if (n > TOKEN_MAX)
        rc = serve_fail(err, PLUMB_ERR_ARG, "'%s' is longer than %d bytes: it is not a token file",
                        path, TOKEN_MAX);
    if (rc == PLUMB_OK)
        rc = take_token(out, text, path, err);
    close(fd);
    explicit_bzero(text, sizeof text);
    return rc;
}

int serve_auth_open(struct serve_auth **out, const struct serve_options *o, plumb_error *err)
{
    struct serve_auth *auth = calloc(1, sizeof *auth);
    if (!auth)
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    auth->o = o;
    int rc = read_token(&auth->control, o->token, err);
    if (rc == PLUMB_OK)
        rc = read_token(&auth->read, o->read_token, err);
    if (rc == PLUMB_OK)
        *out = auth;
    else
        serve_auth_close(auth);
    return rc;
}

void serve_auth_close(struct serve_auth *auth)
{
    if (!auth)
        return;
    explicit_bzero(auth, sizeof *auth);
    free(auth);
}

/* ---- Roles ----------------------------------------------------------------------------------- */

/* Compares all TOKEN_MAX bytes, so that the time says neither how long the token is nor how much of
 * a guess is right. */
static bool is_token(const struct token *token, const unsigned char guess[TOKEN_MAX], size_t size)
{
    volatile unsigned char different = token->size != size;
    for (size_t i = 0; i < TOKEN_MAX; i++)
        different |= token->bytes[i] ^ guess[i];
    return token->given & !different;
}

static enum serve_role token_role(const struct serve_auth *auth, const struct serve_caller *caller,
                                  const char **why)
{
    static const char scheme[] = "bearer ";
    enum { SCHEME = sizeof scheme - 1 };
    unsigned char guess[TOKEN_MAX] = {0};
    size_t n = caller->authorization_size;
    *why = "a bearer token is needed (metadata 'authorization: Bearer TOKEN')";
    if (!caller->authorization || n <= SCHEME || n - SCHEME > TOKEN_MAX ||
        strncasecmp(caller->authorization, scheme, SCHEME) != 0)
        return SERVE_ROLE_NONE;
    memcpy(guess, caller->authorization + SCHEME, n - SCHEME);
    bool control = is_token(&auth->control, guess, n - SCHEME);
    bool read = is_token(&auth->read, guess, n - SCHEME);
    explicit_bzero(guess, sizeof guess);
    *why = "the bearer token is wrong";
    return control ? SERVE_ROLE_CONTROL : read ? SERVE_ROLE_READ : SERVE_ROLE_NONE;
}

static enum serve_role place_role(const struct serve_auth *auth, const struct serve_caller *caller,
                                  const char **why)
{
    const struct serve_options *o = auth->o;
    if (caller->place == SERVE_UNIX || o->client_ca)
        return SERVE_ROLE_CONTROL;
    if (caller->place == SERVE_NETWORK)
        return o->insecure ? SERVE_ROLE_CONTROL : SERVE_ROLE_READ;
    *why = "the caller is not a process of this user: use a token, or start with --any-user";
    return caller->same_user || o->any_user ? SERVE_ROLE_CONTROL : SERVE_ROLE_NONE;
}

bool serve_auth_wants_token(const struct serve_auth *auth)
{
    return auth->control.given || auth->read.given;
}

enum serve_role serve_auth_role(const struct serve_auth *auth, const struct serve_caller *caller,
                                const char **why)
{
    enum serve_role role = serve_auth_wants_token(auth) ? token_role(auth, caller, why)
                                                        : place_role(auth, caller, why);
    bool may = !auth->o->read_only && (!auth->o->control_name.count || caller->control_name);
    return role == SERVE_ROLE_CONTROL && !may ? SERVE_ROLE_READ : role;
}

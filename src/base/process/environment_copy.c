/* environment_copy.c: see environment_copy.h. The list and its strings are read through the kernel:
 * it returns an error where reading freed memory would kill the program, and each read ends at the
 * end of a page. */
#include "base/process/environment_copy.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/pages.h"
#include "base/process/environment.h"

extern char **environ;

enum { VARIABLES = 4096, TEXT_BYTES = 1 << 20, TRIES = 10, PAGE = 4096 };

struct plumb_environment_copy {
    char *variables[VARIABLES + 1];
    char text[TEXT_BYTES];
    size_t used;
};

/* Copies the readable ones of `n` bytes at `from` to `to`. Returns how many those are. */
static size_t look(void *to, const void *from, size_t n, bool direct)
{
    size_t page = PAGE - (uintptr_t)from % PAGE;
    struct iovec local, remote;
    ssize_t got;
    if (n > page)
        n = page;
    if (direct) {
        memcpy(to, from, n);
        return n;
    }
    local = (struct iovec){to, n};
    remote = (struct iovec){(void *)(uintptr_t)from, n};
    got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

static bool can_look(void)
{
    char from = 'x', to = 0;
    return look(&to, &from, 1, false) == 1 && to == 'x';
}

/* Appends the string at `from` to the others. Returns the copy, or NULL if it cannot be read or is
 * too long. */
static char *take_text(struct plumb_environment_copy *c, const char *from, bool direct)
{
    size_t at = c->used;
    while (at < TEXT_BYTES) {
        size_t n = look(c->text + at, from, direct ? 1 : TEXT_BYTES - at, direct);
        const char *end = memchr(c->text + at, 0, n);
        char *text = c->text + c->used;
        if (n == 0)
            return NULL;
        at += n;
        from += n;
        if (end) {
            c->used = (size_t)(end - c->text) + 1;
            return text;
        }
    }
    return NULL;
}

/* Returns false if the environment was changed in the meantime. */
static bool take(struct plumb_environment_copy *c, bool direct)
{
    char **list = plumb_is_privileged() ? NULL : PLUMB_ACQUIRE(environ);
    size_t n = 0;
    c->used = 0;
    c->variables[0] = NULL;
    for (size_t i = 0; list && i < VARIABLES; i++) {
        char *from = NULL, *again = NULL;
        /* Aligned: no entry crosses a page. */
        if (look(&from, list + i, sizeof from, direct) < sizeof from)
            return false;
        if (!from)
            break;
        if ((c->variables[n] = take_text(c, from, direct)) != NULL)
            n++;
        else if (look(&again, list + i, sizeof again, direct) < sizeof again || again != from)
            return false;
        c->variables[n] = NULL;
    }
    return !list || PLUMB_ACQUIRE(environ) == list;
}

struct plumb_environment_copy *plumb_environment_copy(bool direct)
{
    struct plumb_environment_copy *c;
    if (can_look())
        direct = false;
    else if (!direct)
        return NULL;
    c = plumb_pages_map(sizeof *c);
    for (int i = 0; c && i < TRIES; i++)
        if (take(c, direct))
            return c;
    plumb_environment_free(c);
    return NULL;
}

void plumb_environment_free(struct plumb_environment_copy *c)
{
    if (c)
        plumb_pages_unmap(c, sizeof *c);
}

char *const *plumb_environment_of(const struct plumb_environment_copy *c)
{
    static char *const none[] = {NULL};
    return c ? c->variables : none;
}

/* mapped.c: see mapped.h. Lines are "7f5e1c3a2000-7f5e1c3a3000 r-xp ..."; the rest is skipped. */
#include "inject/count/mapped.h"

#include "inject/count/bare.h"

enum { READ = 1, WRITE = 2, EXECUTE = 4, FROM_HERE = -100, CLOSE_ON_EXEC = 02000000 };

/* The file, and bytes that were read from it. */
struct source {
    long fd;
    long used, filled;
    char bytes[1024];
};

/* Returns the next byte; -1: the end. */
static int next(struct source *s)
{
    if (s->used >= s->filled) {
        s->filled = plumb_bare_call(SYS_read, s->fd, (long)s->bytes, sizeof s->bytes, 0, 0, 0);
        s->used = 0;
        if (s->filled <= 0)
            return -1;
    }
    return (unsigned char)s->bytes[s->used++];
}

/* Reads hexadecimal digits and the byte after them. */
static uintptr_t number(struct source *s)
{
    uintptr_t n = 0;
    for (int c = next(s); c >= 0; c = next(s)) {
        if (c >= '0' && c <= '9')
            n = n << 4 | (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            n = n << 4 | (uintptr_t)(c - 'a' + 10);
        else
            break;
    }
    return n;
}

/* Reads a line. Returns false at the end. */
static bool line(struct source *s, struct plumb_mapped *out)
{
    int c;
    out->begin = number(s);
    out->end = number(s);
    out->protection = 0;
    out->protection |= next(s) == 'r' ? READ : 0;
    out->protection |= next(s) == 'w' ? WRITE : 0;
    out->protection |= next(s) == 'x' ? EXECUTE : 0;
    while ((c = next(s)) >= 0 && c != '\n')
        ;
    return c == '\n';
}

bool plumb_mapped_find(struct plumb_mapped *out, uintptr_t begin, uintptr_t end)
{
    struct source s = {.used = 0};
    struct plumb_mapped at;
    bool found = false;
    s.fd = plumb_bare_call(SYS_openat, FROM_HERE, (long)"/proc/self/maps", CLOSE_ON_EXEC, 0, 0, 0);
    if (s.fd < 0)
        return false;
    while (!found && line(&s, &at))
        found = at.begin <= begin && end <= at.end;
    plumb_bare_call(SYS_close, s.fd, 0, 0, 0, 0, 0);
    if (found)
        *out = at;
    return found;
}

/* Preloaded: makes the n-th call that libplumb itself makes to the system fail (FAIL_AT=n, or every
 * one from the n-th on with FAIL_ALL=1), whichever call it is. Calls of the host are left alone,
 * because the host must not notice. COUNT_TO names a file that gets the number of calls at the
 * end. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned calls;

static int is_plumb(const void *caller)
{
    Dl_info info;
    const char *name;
    if (!dladdr(caller, &info) || !info.dli_fname)
        return 0;
    name = strrchr(info.dli_fname, '/');
    return strncmp(name ? name + 1 : info.dli_fname, "libplumb.so", 11) == 0;
}

static int fails(const void *caller)
{
    static int at = -1, all;
    unsigned n;
    if (at < 0) {
        const char *text = getenv("FAIL_AT");
        all = getenv("FAIL_ALL") != NULL;
        at = text ? atoi(text) : 0;
    }
    if (!is_plumb(caller))
        return 0;
    n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return at && (all ? n >= (unsigned)at : n == (unsigned)at);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("COUNT_TO");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%u\n", calls);
        fclose(f);
    }
}

#define CALLER __builtin_return_address(0)

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    if (fails(CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    if (fails(CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    if (fails(CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(p, n);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    if (fails(CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return next(at, n, prot, flags, fd, off);
}

int posix_fallocate(int fd, off_t from, off_t n)
{
    static int (*next)(int, off_t, off_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "posix_fallocate");
    return fails(CALLER) ? ENOSPC : next(fd, from, n);
}

int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list ap;
    int mode;
    va_start(ap, flags);
    mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "open");
    if (fails(CALLER)) {
        errno = EMFILE;
        return -1;
    }
    return next(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*next)(const char *, const char *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "fopen");
    if (fails(CALLER)) {
        errno = EMFILE;
        return NULL;
    }
    return next(path, mode);
}

ssize_t write(int fd, const void *data, size_t n)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "write");
    /* The test reads plumb's messages on stderr, so they never fail. */
    if (fd > STDERR_FILENO && fails(CALLER)) {
        errno = EIO;
        return -1;
    }
    return next(fd, data, n);
}

int mkdir(const char *path, mode_t mode)
{
    static int (*next)(const char *, mode_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "mkdir");
    if (fails(CALLER)) {
        errno = ENOSPC;
        return -1;
    }
    return next(path, mode);
}

int rename(const char *from, const char *to)
{
    static int (*next)(const char *, const char *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "rename");
    if (fails(CALLER)) {
        errno = EIO;
        return -1;
    }
    return next(from, to);
}

int memfd_create(const char *name, unsigned flags)
{
    static int (*next)(const char *, unsigned);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "memfd_create");
    if (fails(CALLER)) {
        errno = EMFILE;
        return -1;
    }
    return next(name, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return fails(CALLER) ? EAGAIN : next(thread, attr, body, arg);
}

int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    static int (*next)(pthread_key_t *, void (*)(void *));
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_key_create");
    return fails(CALLER) ? EAGAIN : next(key, destroy);
}

/* A program that knows what it allocates: malloc.sh runs it under `plumb record --malloc` and
 * without, and compares. Built with the header alone. Each role says on stdout what it did. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <plumb/plumb.h>

#define NEEDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

/* The calls of a node, by its own account: "NODE ALLOCS BYTES FREES BYTES". */
static struct account {
    const char *node;
    uint64_t allocs, alloc_bytes, frees, free_bytes;
} accounts[64], *now;
static int account_count;

static void node(const char *name)
{
    now = &accounts[account_count++];
    now->node = name;
}

/* The compiler must not know that these are the allocator's. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;
static void *(*volatile do_reallocarray)(void *, size_t, size_t) = reallocarray;
static void (*volatile do_free)(void *) = free;

static void *got(void *p)
{
    NEEDS(p && (uintptr_t)p % 16 == 0);
    now->allocs++;
    now->alloc_bytes += malloc_usable_size(p);
    return p;
}

static void giving(void *p)
{
    now->frees++;
    now->free_bytes += malloc_usable_size(p);
}

static void give(void *p)
{
    giving(p);
    do_free(p);
}

static void say_accounts(void)
{
    for (int i = 0; i < account_count; i++) {
        const struct account *a = &accounts[i];
        printf("%s %ju %ju %ju %ju\n", a->node, (uintmax_t)a->allocs, (uintmax_t)a->alloc_bytes,
               (uintmax_t)a->frees, (uintmax_t)a->free_bytes);
    }
}

/* ---- Every function -------------------------------------------------------------------------- */

#define IN_NODE(name)                                                                              \
    node(name);                                                                                    \
    PLUMB_SPAN(name)

static void plain(void)
{
    {
        IN_NODE("malloc");
        void *a = got(do_malloc(10)), *b = got(do_malloc(0)), *c = got(do_malloc(1 << 20));
        give(b);
        give(a);
        memset(c, 1, 1 << 20);
        give(c);
    }
    {
        IN_NODE("calloc");
        unsigned char *p = got(do_calloc(30, 1000));
        for (int i = 0; i < 30000; i++)
            NEEDS(p[i] == 0);
        give(p);
        give(got(do_calloc(0, 8)));
    }
    {
        IN_NODE("free nothing");
        do_free(NULL);
        got(do_malloc(1)); /* lost */
    }
}

static void *again(void *p, size_t bytes)
{
    void *q;
    size_t before = p ? malloc_usable_size(p) : 0;
    q = do_realloc(p, bytes);
    if (p && (q || !bytes)) {
        now->frees++;
        now->free_bytes += before;
    }
    return q ? got(q) : NULL;
}

static void reallocs(void)
{
    char *p;
    {
        IN_NODE("realloc");
        p = again(NULL, 100);
        strcpy(p, "still there");
        p = again(p, 100);     /* in place */
        p = again(p, 1 << 20); /* elsewhere */
        p = again(p, 4 << 20);
        p = again(p, 50);
        NEEDS(strcmp(p, "still there") == 0);
        NEEDS(again(p, 0) == NULL);
    }
    {
        IN_NODE("reallocarray");
        p = got(do_reallocarray(NULL, 10, 10));
        giving(p);
        p = got(do_reallocarray(p, 1000, 10));
        errno = 0;
        NEEDS(do_reallocarray(p, SIZE_MAX / 4, 16) == NULL && errno == ENOMEM);
        give(p);
    }
}

static void aligned(void)
{
    void *p = NULL;
    {
        IN_NODE("memalign");
        NEEDS(posix_memalign(&p, 4096, 100) == 0 && (uintptr_t)p % 4096 == 0);
        give(got(p));
        p = memalign(512, 10);
        NEEDS((uintptr_t)p % 512 == 0);
        give(got(p));
    }
    {
#if defined(FOREIGN)
        /* libc's, and no blocks of the allocator: not counted, and not to be freed. */
        PLUMB_SPAN("foreign");
        NEEDS(aligned_alloc(256, 1024) && valloc(10) && pvalloc(10));
#else
        IN_NODE("aligned");
        p = aligned_alloc(256, 1024);
        NEEDS((uintptr_t)p % 256 == 0);
        give(got(p));
        p = valloc(10);
        NEEDS((uintptr_t)p % 4096 == 0);
        give(got(p));
        p = pvalloc(10);
        NEEDS((uintptr_t)p % 4096 == 0);
        give(got(p));
#endif
    }
    {
        IN_NODE("refused");
        got(do_malloc(1));
        p = NULL;
        errno = 0;
        NEEDS(posix_memalign(&p, 3, 100) == EINVAL && !p && errno == 0);
        errno = 0;
        NEEDS(do_malloc(SIZE_MAX / 2) == NULL && errno == ENOMEM);
        errno = 0;
        NEEDS(do_calloc(SIZE_MAX / 2, 4) == NULL && errno == ENOMEM);
        errno = 0;
        NEEDS(do_realloc(got(do_malloc(1)), SIZE_MAX / 2) == NULL && errno == ENOMEM);
    }
    {
        IN_NODE("strdup");
        char *text = got(strdup("a text"));
        errno = 4711;
        give(text);
        NEEDS(errno == 4711);
    }
}

static int play_calls(void)
{
    plain();
    reallocs();
    aligned();
    say_accounts();
    return 7;
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { THREADS = 8, TIMES = 100000 };

static void *work(void *arg)
{
    PLUMB_SPAN("worker");
    (void)arg;
    for (int i = 0; i < TIMES; i++) {
        void *p = do_malloc(64);
        if (i % 100 == 0) {
            PLUMB_SPAN("seldom");
            do_free(do_malloc(200));
        }
        do_free(p);
    }
    return NULL;
}

static int play_threads(void)
{
    pthread_t thread[THREADS];
    const uintmax_t n = (uintmax_t)THREADS * TIMES, seldom = n / 100;
    size_t small, large;
    void *p = do_malloc(64);
    small = malloc_usable_size(p);
    do_free(p);
    p = do_malloc(200);
    large = malloc_usable_size(p);
    do_free(p);
    for (int i = 0; i < THREADS; i++)
        NEEDS(pthread_create(&thread[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("worker %ju %ju %ju %ju\n", n, n * small, n, n * small);
    printf("seldom %ju %ju %ju %ju\n", seldom, seldom * large, seldom, seldom * large);
    return 0;
}

/* ---- Fork ------------------------------------------------------------------------------------ */

static int play_fork(void)
{
    enum { HELD = 32 << 20 };
    void *held;
    int status;
    pid_t pid;
    {
        PLUMB_SPAN("parent");
        held = do_malloc(HELD);
        memset(held, 1, HELD);
    }
    fflush(NULL);
    pid = fork();
    NEEDS(pid >= 0);
    if (pid == 0) {
        {
            PLUMB_SPAN("child");
            do_free(held); /* allocated by another process, as far as this one is concerned */
            do_free(do_malloc(100));
        }
        exit(0);
    }
    NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
    pid = fork();
    if (pid == 0) { /* has no trace point: leaves no run */
        do_free(do_malloc(100));
        exit(0);
    }
    NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
    {
        PLUMB_SPAN("parent");
        do_free(held);
    }
    puts("forked");
    return 0;
}

/* A library's handlers for fork take the lock under which its other threads allocate. _malloc_lib.c
 * registers them before libplumb's. */
void lib_allocate(void);
static uint32_t over;

static void *allocator(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        {
            PLUMB_SPAN("one");
            lib_allocate();
        }
        PLUMB_SPAN("other");
        lib_allocate();
    }
    return NULL;
}

static void *short_allocator(void *arg)
{
    (void)arg;
    lib_allocate();
    return NULL;
}

static int play_atfork(void)
{
    pthread_t thread[3], one;
    for (int i = 0; i < 3; i++)
        NEEDS(pthread_create(&thread[i], NULL, allocator, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            lib_allocate();
            _exit(0);
        }
        NEEDS(pthread_create(&one, NULL, short_allocator, NULL) == 0);
        NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
        pthread_join(one, NULL);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    puts("forked 300 times");
    return 0;
}

/* ---- Odd places ------------------------------------------------------------------------------ */

static volatile uint64_t handled;

static void on_alarm(int sig)
{
    (void)sig;
    do_free(do_malloc(40));
    handled++;
}

/* A handler that allocates, while the program itself does not: in spans, mostly. */
static int handle(uint64_t times)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 100}, {0, 100}};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    {
        PLUMB_SPAN("first"); /* opens the run */
    }
    sigaction(SIGALRM, &action, NULL);
    if (times)
        setitimer(ITIMER_REAL, &timer, NULL);
    while (handled < times) {
        PLUMB_SPAN("loop");
        PLUMB_SPAN("inner");
    }
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    printf("%ju\n", (uintmax_t)handled);
    return 0;
}

static int play_handler(void)
{
    return handle(500);
}

static int play_no_handler(void)
{
    return handle(0);
}

static pthread_key_t key;
static bool ends_allocate;

static void at_thread_end(void *left)
{
    if (ends_allocate)
        do_free(do_malloc(24));
    if ((uintptr_t)left > 1)
        pthread_setspecific(key, (void *)((uintptr_t)left - 1));
}

static void *short_life(void *arg)
{
    pthread_setspecific(key, (void *)3);
    if (ends_allocate)
        do_free(do_malloc(24));
    return arg;
}

static int end_threads(void)
{
    pthread_t thread;
    NEEDS(pthread_key_create(&key, at_thread_end) == 0);
    for (int i = 0; i < 100; i++) {
        NEEDS(pthread_create(&thread, NULL, short_life, NULL) == 0);
        pthread_join(thread, NULL);
    }
    puts("100 threads ended");
    return 0;
}

static int play_ends(void)
{
    ends_allocate = true;
    return end_threads();
}

static int play_dlopen(void)
{
    void *lib = dlopen("./late.so", RTLD_NOW);
    void (*f)(void) = NULL;
    NEEDS(lib);
    *(void **)(void *)&f = dlsym(lib, "late_work");
    NEEDS(f);
    {
        PLUMB_SPAN("late");
        f();
    }
    dlclose(lib);
    puts("loaded");
    return 0;
}

/* No more address space than there is: what fails, fails as ever. */
static int play_limit(void)
{
    struct rlimit limit = {1 << 20, RLIM_INFINITY};
    char *small;
    {
        PLUMB_SPAN("before"); /* opens the run */
    }
    NEEDS(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = 1 << 20;
    NEEDS(setrlimit(RLIMIT_AS, &limit) == 0);
    PLUMB_SPAN("limited");
    errno = 0;
    printf("%p %d\n", do_malloc(64 << 20), errno);
    errno = 0;
    printf("%p %d\n", do_calloc(1, 64 << 20), errno);
    small = do_malloc(10);
    errno = 0;
    printf("%p %d\n", do_realloc(small, 64 << 20), errno);
    errno = 0;
    printf("%p %d\n", aligned_alloc(4096, 64 << 20), errno);
    do_free(small);
    limit.rlim_cur = limit.rlim_max;
    NEEDS(setrlimit(RLIMIT_AS, &limit) == 0); /* for who reads the run at its end */
    return 3;
}

static int play_marks(void)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_SPAN("frame");
        do_free(do_malloc(1000));
    }
    return 0;
}

/* Without a mark: allocates until a run has been opened for the process, in the directory that argv
 * names. */
static const char *run_dir;

static int play_until_open(void)
{
    char path[1000];
    uint64_t magic = 0;
    void *held = do_malloc(3 << 20);
    /* A program with the whole name inside would be taken for one that holds the runtime. */
    snprintf(path, sizeof path, "%s/live.%s", run_dir, "plumb");
    while (magic == 0) {
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && read(fd, &magic, sizeof magic) != sizeof magic)
            magic = 0;
        if (fd >= 0)
            close(fd);
        usleep(1000);
    }
    do_free(held);
    return 0;
}

static int play_until_killed(void)
{
    play_until_open();
    for (int i = 0; i < 1000; i++)
        do_free(do_malloc(100)); /* more than one thread keeps to itself */
    return kill(getpid(), SIGKILL);
}

/* Before main(), and after it. */
static void *early;

__attribute__((constructor)) static void construct(void)
{
    early = do_malloc(5000);
    do_free(do_malloc(60));
}

__attribute__((destructor)) static void destruct(void)
{
    do_free(do_malloc(70));
    do_free(early);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*play)(void);
    } roles[] = {{"calls", play_calls},
                 {"threads", play_threads},
                 {"fork", play_fork},
                 {"atfork", play_atfork},
                 {"handler", play_handler},
                 {"ends", play_ends},
                 {"no handler", play_no_handler},
                 {"quiet ends", end_threads},
                 {"dlopen", play_dlopen},
                 {"limit", play_limit},
                 {"marks", play_marks},
                 {"until open", play_until_open},
                 {"until killed", play_until_killed}};
    run_dir = argc > 2 ? argv[2] : "run";
    for (size_t i = 0; argc > 1 && i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, argv[1]) == 0)
            return roles[i].play();
    return argc > 1 ? 98 : 0;
}

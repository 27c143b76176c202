/* lookup.sh: a marked object without libplumb whose first trace point lies where little is allowed.
 * `lookup ROLE` plays one role and ends with 0 when all went well; roles that look around at a
 * runtime open it first: lookup ROLE LIBPLUMB. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

static void passed(void)
{
    PLUMB_SPAN("passed");
}

/* ---- The allocator, interrupted and not to be entered again ---------------------------------- */

extern void *__libc_malloc(size_t bytes);
static volatile sig_atomic_t allocating, interrupt_next, handled;

void *malloc(size_t bytes)
{
    void *p;
    if (allocating && handled >= 0) {
        static const char line[] = "malloc was entered from a handler that interrupted it\n";
        (void)!write(2, line, sizeof line - 1);
        _exit(98);
    }
    if (!interrupt_next)
        return __libc_malloc(bytes);
    interrupt_next = 0;
    allocating = 1;
    raise(SIGUSR1);
    allocating = 0;
    p = __libc_malloc(bytes);
    return p;
}

static void on_signal(int sig)
{
    (void)sig;
    passed();
    handled++;
}

static void handle(int sig, int flags)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = flags};
    sigemptyset(&a.sa_mask);
    NEEDS(sigaction(sig, &a, NULL) == 0);
}

/* The handler that interrupts malloc() passes the first trace point of the process. */
static int in_malloc(void)
{
    handle(SIGUSR1, 0);
    interrupt_next = 1;
    free(malloc(100));
    NEEDS(handled == 1);
    return 0;
}

/* 1 kHz of signals, whose handler is all that is marked; the program allocates and opens files. */
static int under_signals(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    handle(SIGALRM, SA_RESTART);
    NEEDS(setitimer(ITIMER_REAL, &often, NULL) == 0);
    while (handled < 20) {
        FILE *f = fopen("/dev/null", "we");
        void *p = malloc(200), *q = malloc(70000);
        NEEDS(f && p && q);
        fputs("text", f);
        free(p);
        fclose(f);
        free(q);
    }
    NEEDS(setitimer(ITIMER_REAL, &never, NULL) == 0);
    return 0;
}

/* How much of a stack of its own a handler takes. */
static size_t stack_taken(void (*handler)(int))
{
    static unsigned char area[128 << 10];
    stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    size_t untouched = 0;
    memset(area, 0xa5, sizeof area);
    NEEDS(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &a, NULL) == 0);
    raise(SIGUSR1);
    while (area[untouched] == 0xa5)
        untouched++;
    return sizeof area - untouched;
}

static void does_nothing(int sig)
{
    (void)sig;
}

static int on_a_small_stack(void)
{
    size_t least = stack_taken(does_nothing), taken = stack_taken(on_signal);
    NEEDS(handled == 1 && taken - least < 1536);
    return 0;
}

/* ---- What else the thread is in the middle of -------------------------------------------------
 */

static void *cancelled(void *arg)
{
    pthread_cancel(pthread_self());
    passed();
    *(int *)arg = 1; /* passed() has no cancellation point */
    pthread_testcancel();
    return NULL;
}

static int with_a_pending_cancel(void)
{
    pthread_t thread;
    int came_through = 0;
    NEEDS(pthread_create(&thread, NULL, cancelled, &came_through) == 0);
    NEEDS(pthread_join(thread, NULL) == 0);
    NEEDS(came_through);
    return 0;
}

static int without_descriptors(void)
{
    const struct rlimit none = {0, 0};
    NEEDS(setrlimit(RLIMIT_NOFILE, &none) == 0);
    errno = 4711;
    passed();
    NEEDS(errno == 4711);
    return 0;
}

/* ---- A lookup that is interrupted by the program's own syscall() ------------------------------
 */

static long (*real_syscall)(long number, ...);
static void (*in_lookup)(void); /* called once, while the lookup reads */

static void pass_in_child(void)
{
    pid_t child = fork();
    int status;
    NEEDS(child >= 0);
    if (child == 0) {
        passed();
        _exit(plumb_client_1.state == PLUMB_CLIENT_FOUND ? 0 : 1);
    }
    NEEDS(waitpid(child, &status, 0) == child && status == 0);
}

long syscall(long number, ...)
{
    va_list ap;
    long a[6];
    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_read && in_lookup) {
        void (*call)(void) = in_lookup;
        in_lookup = NULL;
        call();
    }
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void *pass(void *arg)
{
    passed();
    return arg;
}

static void pass_in_thread(void)
{
    pthread_t thread;
    NEEDS(pthread_create(&thread, NULL, pass, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static int inside_itself(void)
{
    in_lookup = passed;
    passed();
    NEEDS(plumb_client_1.state == PLUMB_CLIENT_FOUND);
    passed();
    return 0;
}

static int in_a_forked_child(void)
{
    in_lookup = pass_in_child;
    passed();
    NEEDS(plumb_client_1.state == PLUMB_CLIENT_FOUND);
    return 0;
}

static int in_two_threads(void)
{
    in_lookup = pass_in_thread;
    passed();
    return 0;
}

/* ---- Mappings that are not the page -----------------------------------------------------------
 */

static void *map(int fd, int protection, int sharing)
{
    void *p = mmap(NULL, 4096, protection, sharing, fd, 0);
    NEEDS(p != MAP_FAILED);
    return p;
}

static void decoy_file(const char *path, const void *content, size_t n)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    NEEDS(fd >= 0 && ftruncate(fd, 4096) == 0 && pwrite(fd, content, n, 0) == (ssize_t)n);
    map(fd, PROT_NONE, MAP_PRIVATE);
    map(fd, PROT_READ, MAP_PRIVATE);
    map(fd, PROT_READ, MAP_SHARED);
    map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    close(fd);
}

/* Each says of itself that it is the page, and names a table that is not there. */
static void decoys(void)
{
    const uint64_t lie[2] = {PLUMB_RENDEZVOUS_MAGIC, 0x10};
    char deep[3000] = "";
    int fd;
    decoy_file("file", lie, sizeof lie);
    decoy_file(PLUMB_RENDEZVOUS, lie, sizeof lie);
    decoy_file("[anon:" PLUMB_RENDEZVOUS "]", lie, sizeof lie);
    decoy_file("memfd:" PLUMB_RENDEZVOUS " (deleted)", lie, sizeof lie);
    NEEDS(mkdir(" ", 0700) == 0 || errno == EEXIST);
    decoy_file(" /memfd:" PLUMB_RENDEZVOUS " (deleted)", lie, sizeof lie);
    for (int i = 0; i < 12; i++) {
        memset(deep + strlen(deep), 'a' + i, 200);
        NEEDS(mkdir(deep, 0700) == 0 || errno == EEXIST);
        strcat(deep, "/");
    }
    strcat(deep, "memfd:" PLUMB_RENDEZVOUS " (deleted)");
    decoy_file(deep, lie, sizeof lie);
    /* Of the right name, but not a page to be read, or with nothing, or not yet all, in it. */
    fd = memfd_create(PLUMB_RENDEZVOUS, MFD_CLOEXEC);
    NEEDS(fd >= 0 && ftruncate(fd, 4096) == 0);
    map(fd, PROT_READ, MAP_PRIVATE);
    map(fd, PROT_NONE, MAP_PRIVATE);
    NEEDS(pwrite(fd, lie, sizeof lie, 0) == (ssize_t)sizeof lie);
    memcpy(map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE), lie, sizeof lie);
    map(fd, PROT_NONE, MAP_PRIVATE);
    memcpy(map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE), (uint64_t[2]){0, 0}, sizeof lie);
    NEEDS(pwrite(fd, (uint64_t[2]){0, 0}, sizeof lie, 0) == (ssize_t)sizeof lie);
    close(fd);
}

static int among_decoys(void)
{
    decoys();
    passed();
    return 0;
}

static const struct role {
    const char *name;
    int (*play)(void);
} roles[] = {
    {"in_malloc", in_malloc},
    {"under_signals", under_signals},
    {"on_a_small_stack", on_a_small_stack},
    {"with_a_pending_cancel", with_a_pending_cancel},
    {"without_descriptors", without_descriptors},
    {"inside_itself", inside_itself},
    {"in_a_forked_child", in_a_forked_child},
    {"among_decoys", among_decoys},
    {"in_two_threads", in_two_threads},
};

int main(int argc, char **argv)
{
    *(void **)(void *)&real_syscall = dlsym(RTLD_NEXT, "syscall");
    NEEDS(argc > 1 && real_syscall);
    if (argc > 2 && strcmp(argv[1], "among_decoys") == 0)
        decoys(); /* more of them above the page, which mmap() places below what is there */
    NEEDS(argc < 3 || dlopen(argv[2], RTLD_NOW | RTLD_LOCAL));
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(argv[1], roles[i].name) == 0)
            return roles[i].play();
    fprintf(stderr, "no role '%s'\n", argv[1]);
    return 99;
}

/* _count_host.c: calls the functions of _count_lib.c in one of the ways that count_calls.sh names,
 * and checks their results. Ends with 7, so that the script sees whether the status is passed on.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <plumb/plumb.h>

#include "_count_lib.h"

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { THREADS = 8, CALLS = 1250000 };

static void *loop(void *arg)
{
    unsigned long before = own_calls();
    int s = 0;
    if (arg) {
        PLUMB_SPAN("worker");
        for (int i = 0; i < CALLS; i++)
            s = plain(s);
    } else {
        for (int i = 0; i < CALLS; i++)
            s = plain(s);
    }
    CHECK(own_calls() - before == CALLS && s == CALLS);
    return NULL;
}

/* 1e7 calls: four threads in a node, four outside. */
static void threads(void)
{
    pthread_t id[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&id[i], NULL, loop, i % 2 ? id : NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
}

static void *one_call(void *arg)
{
    plain(*(int *)arg);
    return NULL;
}

/* Threads one after the other, more than have a place of their own at a time. */
static void short_threads(void)
{
    for (int i = 0; i < 3000; i++) {
        pthread_t id;
        CHECK(pthread_create(&id, NULL, one_call, &i) == 0);
        pthread_join(id, NULL);
    }
}

static void nodes(void)
{
    for (PLUMB_STEPS (step, 3)) {
        PLUMB_SPAN("outer");
        for (int i = 0; i <= step; i++)
            plain(i);
        for (int i = 0; i < 4; i++) {
            PLUMB_SPAN("inner");
            plain(i);
            plain(i);
        }
        plain(0);
    }
    {
        PLUMB_PHASE("train");
        PLUMB_SPAN("outer");
        plain(0);
    }
}

/* Arguments and results of 512 bits. */
__attribute__((target("avx512f"))) static void widest_arguments(void)
{
    widest a = {1, 2, 3, 4, 5, 6, 7, 8}, s = widest_sum(a, a);
    for (int i = 0; i < 8; i++)
        CHECK(s[i] == 3.0 * (i + 1));
}

/* The arguments and results of every kind that the ABI passes in a way of its own. The first call
 * of each takes the slow way, the second one the short way. */
static void arguments(void)
{
    struct large from = {.real = 1};
    wide one = {1, 2, 3, 4};
    for (int i = 0; i < 16; i++)
        from.word[i] = i;
    for (int round = 0; round < 2; round++) {
        PLUMB_SPAN("arguments");
        struct large to = large_of(10, 0.5, from);
        struct small pair = small_of(2.5, 42);
        wide w = wide_sum(one, one, one, one);
        CHECK(sum_of(6, 1, 2.5, 3, 4.25, 5, 6.125) == 21.875);
        CHECK(to.word[15] == 165 && to.word[1] == 11 && to.real == 1.5);
        CHECK(pair.n == 42 && pair.x == 2.5);
        CHECK(many(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5f) == 204 + 19);
        CHECK(w[0] == 10 && w[3] == 40);
    }
    /* The node around was open before many others: it takes code of libplumb to find it. */
    PLUMB_SPAN("around");
    for (int i = 0; i < 2000; i++) {
        {
            PLUMB_SPAN("inside");
        }
        wide w = wide_sum(one, one, one, one);
        CHECK(w[0] == 10 && w[3] == 40);
        CHECK(sum_of(4, 1, 2.5, 3, 4.25) == 10.75);
        if (__builtin_cpu_supports("avx512f"))
            widest_arguments();
    }
}

static void jumps(void)
{
    static jmp_buf here, there;
    static volatile int round, returned;
    for (round = 0; round < 1000; round++) {
        PLUMB_SPAN("jumps");
        int value = setjmp(here);
        if (value == 0)
            jump(&here, round + 1);
        CHECK(value == round + 1);
    }
    returned = again(&there);
    CHECK(returned == 0);
    CHECK(depth(100) == 100);
}

static void addresses(void)
{
    int (*found)(int) = NULL;
    int (*through)(int) = plain;
    *(void **)(void *)&found = dlsym(RTLD_DEFAULT, "plain");
    CHECK(found == plain && operators[0] == plain && through == found);
    for (int i = 0; i < 5; i++) {
        CHECK(found(i) == i + 1);
        CHECK(through(i) == i + 1);
        CHECK(operators[0](i) == i + 1);
        CHECK(operators[1](i) == 3 * i && chosen(i) == 3 * i);
        CHECK(call_back(plain, i) == i + 1);
    }
}

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
    (void)sig;
    plain(handled);
    handled++;
}

/* Signals interrupt the calls, also the first one of a node, at any instruction. */
static void signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    timer_t timer;
    struct itimerspec often = {{0, 20000}, {0, 20000}};
    unsigned long calls = 0;
    sigaction(SIGUSR1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &often, NULL) == 0);
    while (handled < 2000) {
        PLUMB_SPAN("busy");
        plain(1);
        plain(2);
        calls += 2;
    }
    timer_delete(timer);
    signal(SIGUSR1, SIG_IGN);
    printf("%lu\n", calls + (unsigned long)handled);
}

/* Loads and unloads a library, of which more rounds are counted than functions can be. */
static void unload(void)
{
    for (int i = 0; i < 3000; i++) {
        void *library = dlopen("./libcounted_late.so", i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
        int (*fn)(int) = NULL;
        CHECK(library != NULL);
        *(void **)(void *)&fn = dlsym(library, "call_back");
        CHECK(fn != NULL);
        int (*call)(int (*)(int), int) = (int (*)(int (*)(int), int))(void (*)(void))fn;
        CHECK(call(abs, -4) == 4);
        dlclose(library);
    }
}

static void children(void)
{
    for (int i = 0; i < 10; i++)
        plain(i);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            PLUMB_SPAN("child");
            for (int k = 0; k < 100; k++)
                plain(k);
            exit(7);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    }
    plain(0);
}

/* Waits for the run, which opens by itself in a program that has no span yet. */
static bool is_counted(void)
{
    for (int tries = 0; getenv("PLUMB_COUNT") && tries < 60000; tries++) {
        if (plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_CALLS) != PLUMB_COUNT_UNKNOWN)
            return true;
        usleep(1000);
    }
    return false;
}

/* Calls whose count is in the recording as soon as the program asks for it, and some more. */
static void passes_on(void)
{
    bool counted = is_counted();
    for (int i = 0; i < 1000; i++) {
        plain(i);
        if (counted && i % 100 == 0)
            CHECK(plumb_count_get_named(plumb_count_of_run(), PLUMB_COUNT_CALLS,
                                        "libcounted.so.1:plain") == i + 1);
    }
    CHECK(!counted || plumb_count_get(plumb_count_of_run(), PLUMB_COUNT_CALLS) == 1000);
    for (int i = 0; i < 7; i++)
        plain(i);
}

static void killed(void)
{
    passes_on();
    kill(getpid(), SIGKILL);
}

static void exits_at_once(void)
{
    passes_on();
    _exit(9);
}

/* Libraries whose relocations share a page with code, and with data. */
static void mapped(void)
{
    static const char *const files[] = {"./libcounted_rx.so", "./libcounted_rwx.so"};
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(files[i], RTLD_NOW);
        int (*fn)(int) = NULL;
        int (*const *table)(int) = NULL;
        CHECK(library != NULL);
        *(void **)(void *)&fn = dlsym(library, "chosen");
        table = dlsym(library, "operators");
        CHECK(fn != NULL && table != NULL && fn(2) == 6);
        CHECK(table[0](4) == 5 && table[1](4) == 12);
    }
}

#ifdef COUNT_INSIDE
/* An address inside a function, which a debugger's table may have. */
static const volatile uintptr_t inside = (uintptr_t)((const char *)plain + 1);
#endif
static void has_tables(void)
{
    static int (*const table[])(int) = {plain};
    CHECK(table[0](1) == 2);
#ifdef COUNT_INSIDE
    CHECK(inside != 0);
#endif
}

static const struct {
    const char *name;
    void (*fn)(void);
} ways[] = {{"threads", threads},
            {"short_threads", short_threads},
            {"nodes", nodes},
            {"arguments", arguments},
            {"jumps", jumps},
            {"addresses", addresses},
            {"signals", signals},
            {"unload", unload},
            {"children", children},
            {"killed", killed},
            {"exits_at_once", exits_at_once},
            {"mapped", mapped},
            {"has_tables", has_tables}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, argv[1]) == 0) {
            ways[i].fn();
            return 7;
        }
    return 2;
}

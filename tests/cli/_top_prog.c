/* A program for the tests of plumb top: two threads that work in small pieces, a span that stays
 * open, memory of a pool, requests, and names that a hostile program may choose. It runs until a
 * byte or the end of its input arrives. Argument "fast": without pauses. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <plumb/plumb.h>

static const char *const hostile[] = {"red\033[31m\033]0;evil\007",
                                      "inv\xff\xfe\x9b"
                                      "8m",
                                      "comb e\xcc\x81\xcc\x81\xcc\x81",
                                      "turn\xe2\x80\xae"
                                      "drow",
                                      "wide \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
                                      "tab\tnew\nline"};
enum { HOSTILE = sizeof hostile / sizeof *hostile };
static long pause_ns = 2000000;
static int stop;

static void rest(void)
{
    struct timespec ts = {0, pause_ns};
    if (pause_ns)
        nanosleep(&ts, NULL);
}

static void frame(void)
{
    PLUMB_SPAN("frame");
    for (int i = 0; i < 3; i++) {
        PLUMB_SPAN("attention");
        rest();
    }
    {
        PLUMB_STAGE(decode, "decode");
        rest();
    }
}

static void *work(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        frame();
        for (int i = 0; i < HOSTILE; i++)
            plumb_record_ns(plumb_node_get(hostile[i]), 1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct pollfd in = {0, POLLIN, 0};
    plumb_error err;
    pthread_t t[2];
    char c;
    if (argc > 1 && strcmp(argv[1], "fast") == 0)
        pause_ns = 0;
    if (plumb_start(NULL, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    plumb_mem_alloc("cuda:0", "caching", (const void *)0x1000, 3u << 20);
    {
        PLUMB_PHASE("warmup");
        PLUMB_SPAN("begin");
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    {
        plumb_request r = plumb_request_begin("request-1", NULL);
        PLUMB_SPAN("serve forever");
        puts("ready");
        fflush(stdout);
        while (poll(&in, 1, -1) < 0)
            continue;
        if (read(0, &c, 1) < 0)
            return 1;
        plumb_request_end(r);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return plumb_stop(&err) < 0;
}

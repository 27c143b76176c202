/* _mallocs_under_signals.h: processes that do nothing but malloc(), and are interrupted by a
 * handler with the first span of the process. */
#ifndef TESTS_HOSTS_MALLOCS_UNDER_SIGNALS_H
#define TESTS_HOSTS_MALLOCS_UNDER_SIGNALS_H

enum { SIGNALS_US = 300, BLOCKS = 64, SIGNALS = 8 };

static volatile sig_atomic_t handled;

static inline void first_span(int number)
{
    PLUMB_SPAN("handler");
    (void)number;
    handled++;
}

static inline void malloc_until_handled(void)
{
    static void *blocks[BLOCKS];
    uint32_t random = 1;
    host_signals(first_span, SIGNALS_US);
    while (handled < SIGNALS) {
        random = random * 1664525 + 1013904223;
        void **block = &blocks[(random >> 16) % BLOCKS];
        free(*block);
        *block = malloc(2000 + (random >> 8) % 60000);
        HOST_NEEDS(*block != NULL);
    }
    host_signals_end();
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    exit(5);
}

static inline int mallocs_under_signals(void)
{
    long rounds = host_rounds(20);
    for (long i = 0; i < rounds; i++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            malloc_until_handled();
        HOST_NEEDS(host_status_of(pid) == 5);
    }
    return 0;
}

#endif

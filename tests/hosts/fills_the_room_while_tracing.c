/* labels: notsan
 * More threads and nodes than fit into PLUMB_MAX_STATE, at many sizes of it, with the trace on.
 * Spans that are not recorded are counted, and nothing is written outside of its place. */
#include "hosts/host.h"

#include <pthread.h>

enum { THREADS = 8, NODES = 6, SPANS = 400, LEAST_KIB = 200, MOST_KIB = 1100 };

static pthread_barrier_t barrier;

static void *worker(void *arg)
{
    plumb_node nodes[NODES];
    int who = *(const int *)arg;
    for (int i = 0; i < NODES; i++) {
        char name[32];
        snprintf(name, sizeof name, "node.%d.%d", who, i);
        nodes[i] = plumb_node_get(name);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < SPANS; i++) {
        PLUMB_SPAN_NODE(nodes[i % NODES]);
    }
    pthread_barrier_wait(&barrier); /* until then every thread keeps its place */
    return NULL;
}

static void process(uint64_t state_bytes, int threads)
{
    plumb_options options = plumb_options_default();
    plumb_rows *rows = NULL;
    pthread_t thread[THREADS];
    int who[THREADS];
    uint64_t count = 0;
    options.max_state_bytes = state_bytes;
    options.quiet = PLUMB_ON;
    options.trace = PLUMB_ON;
    options.memory = PLUMB_MEMORY_OFF;
    plumb_start(&options, NULL);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        who[t] = t;
        HOST_NEEDS(pthread_create(&thread[t], NULL, worker, &who[t]) == 0);
    }
    for (int t = 0; t < threads; t++)
        HOST_NEEDS(pthread_join(thread[t], NULL) == 0);
    if (plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK)
        for (size_t i = 0; i < plumb_rows_count(rows); i++)
            count += plumb_rows_get(rows, i)->count;
    plumb_rows_free(rows);
    HOST_NEEDS(count <= (uint64_t)(threads * SPANS));
    exit(5);
}

int main(void)
{
    /* Sizes of which each lies between those of the round before. */
    long rounds = host_rounds(24);
    for (long i = 0; i < rounds; i++) {
        uint64_t kib = LEAST_KIB + (uint64_t)((i * 377 + i / 8 * 3) % (MOST_KIB - LEAST_KIB));
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            process(kib << 10, i % 2 ? 5 : THREADS);
        int status = host_status_of(pid);
        if (status != 5)
            fprintf(stderr, "%llu KiB: status %d\n", (unsigned long long)kib, status);
        HOST_NEEDS(status == 5);
    }
    return 0;
}

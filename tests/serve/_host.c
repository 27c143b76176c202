/* A process that plumb-serve watches: it does what lines of standard input say, and ends each
 * answer with a line "."
 *   samples N NODE PHASE   N samples of different lengths
 *   spans N NODE           N spans; how often the device was synchronised for them
 *   pipeline NAME          samples of another pipeline
 *   rows PHASE|*           its own rows, doubles as hexadecimal
 *   busy T / quiet         T threads that record; how many samples each node got from them
 *   fork                   a child that does the same, on the same pipes: its pid */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <plumb/plumb.h>

enum { THREADS_MAX = 16 };

static atomic_bool stop;
static pthread_t threads[THREADS_MAX];
static uint64_t counts[THREADS_MAX];
static int running;

static void samples(int n, const char *node, const char *phase)
{
    PLUMB_PHASE(phase);
    plumb_node id = plumb_node_get(node);
    for (int i = 0; i < n; i++)
        plumb_record_ns(id, 1000003u * (unsigned)(i + 1) % 7919u * 1009u + 1);
}

static int syncs;

static void synchronise(void *arg)
{
    ++*(int *)arg;
}

static void spans(int n, const char *node)
{
    plumb_node id = plumb_node_get(node);
    syncs = 0;
    for (int i = 0; i < n; i++)
        plumb_end(plumb_begin_node(id));
    printf("%d\n", syncs);
}

static void *work(void *arg)
{
    uint64_t *count = arg;
    plumb_node id = plumb_node_get("busy");
    while (!atomic_load(&stop)) {
        plumb_record_ns(id, 1000 + *count % 1000);
        ++*count;
        if (*count % 64 == 0) {
            PLUMB_SPAN("traced");
            usleep(100);
        }
    }
    return NULL;
}

static void busy(int n)
{
    atomic_store(&stop, false);
    memset(counts, 0, sizeof counts);
    for (running = 0; running < n && running < THREADS_MAX; running++)
        pthread_create(&threads[running], NULL, work, &counts[running]);
}

static void quiet(void)
{
    uint64_t sum = 0;
    atomic_store(&stop, true);
    for (int i = 0; i < running; i++) {
        pthread_join(threads[i], NULL);
        sum += counts[i];
    }
    printf("%llu\n", (unsigned long long)sum);
}

static void rows(const char *phase)
{
    plumb_rows *list = NULL;
    plumb_error err = {0, ""};
    if (plumb_summary_rows(&list, plumb_pipeline_get(NULL), *phase == '*' ? NULL : phase, &err) < 0)
        printf("%s\n", err.message);
    for (size_t i = 0; i < plumb_rows_count(list); i++) {
        const plumb_row *r = plumb_rows_get(list, i);
        printf("%s %s %llu %a %a %a %a %a %a %a\n", r->node, r->phase, (unsigned long long)r->count,
               r->mean_ms, r->median_ms, r->std_ms, r->min_ms, r->max_ms, r->total_ms, r->last_ms);
    }
    plumb_rows_free(list);
}

static void obey(char *line)
{
    char a[256] = "", b[256] = "";
    int n = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "samples %d %255s %255s", &n, a, b) == 3)
        samples(n, a, b);
    else if (sscanf(line, "spans %d %255s", &n, a) == 2)
        spans(n, a);
    else if (sscanf(line, "rows %255s", a) == 1)
        rows(a);
    else if (sscanf(line, "busy %d", &n) == 1)
        busy(n);
    else if (strcmp(line, "quiet") == 0)
        quiet();
    else if (sscanf(line, "pipeline %255s", a) == 1) {
        PLUMB_PIPELINE(plumb_pipeline_get(a));
        samples(10, "other", "inference");
    } else
        printf("what is '%s'?\n", line);
    printf(".\n");
    fflush(stdout);
}

int main(void)
{
    char line[1024];
    printf("ready\n");
    fflush(stdout);
    plumb_node_get("start");
    plumb_pipeline_set_device(NULL, plumb_device_register("device", synchronise, &syncs));
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "fork\n") != 0) {
            obey(line);
            continue;
        }
        pid_t child = fork();
        if (child == 0)
            continue; /* the child reads on; the parent waits for it */
        printf("%d\n.\n", (int)child);
        fflush(stdout);
        waitpid(child, NULL, 0);
    }
    return 0;
}

/* labels: plain
 * Threads with the least stack that there may be record spans, stages with tensors, activations and
 * requests, and ask for summaries; what lies below their stacks stays as it was. */
#include "hosts/host.h"

#include <dlpack/dlpack.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

enum { KINDS = 5, BELOW = 64 * 1024, MARK = 0x5a };

static void stages(void)
{
    float values[4] = {1, 2, 3, 4};
    int64_t shape[] = {4};
    DLTensor tensor = {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    plumb_node layer = plumb_node_get("layer");
    for (int i = 0; i < 300; i++) {
        PLUMB_STAGE(stage, "stage");
        plumb_stage_input(stage, "x", &tensor);
        plumb_activation(layer, "out", &tensor);
    }
}

static void *worker(void *arg)
{
    plumb_rows *rows = NULL;
    char *text = NULL;
    switch (*(int *)arg) {
    case 0:
        for (int i = 0; i < 2000; i++) {
            PLUMB_SPAN("outer");
            PLUMB_SPAN("inner");
        }
        break;
    case 1:
        stages();
        break;
    case 2:
        if (plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK)
            plumb_rows_free(rows);
        break;
    case 3:
        if (plumb_summary_text(&text, NULL, NULL, 0, NULL) == PLUMB_OK)
            plumb_text_free(text);
        break;
    default:
        plumb_stop(NULL);
        plumb_start(NULL, NULL);
    }
    return NULL;
}

static void process(int kind, int recording)
{
    size_t size = (size_t)PTHREAD_STACK_MIN;
    unsigned char *memory =
        mmap(NULL, BELOW + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    HOST_NEEDS(memory != MAP_FAILED);
    memset(memory, MARK, BELOW);
    if (recording) {
        PLUMB_SPAN("before");
    }
    HOST_NEEDS(pthread_attr_init(&attributes) == 0);
    HOST_NEEDS(pthread_attr_setstack(&attributes, memory + BELOW, size) == 0);
    HOST_NEEDS(pthread_create(&thread, &attributes, worker, &kind) == 0);
    HOST_NEEDS(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < BELOW; i++)
        HOST_NEEDS(memory[i] == MARK);
    exit(5);
}

int main(void)
{
    for (int i = 0; i < 2 * KINDS; i++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            process(i / 2, i % 2);
        int status = host_status_of(pid);
        if (status != 5)
            fprintf(stderr, "kind %d, recording before: %d: status %d\n", i / 2, i % 2, status);
        HOST_NEEDS(status == 5);
    }
    return 0;
}

/* labels: notsan
 *
 * (ThreadSanitizer takes equal numbers of two tables of descriptors for one.)
 *
 * A server that handles descriptors by number. One thread closes every number that it does not
 * know, opens its files again at the free numbers, and lets others change places. Other threads
 * compute, and all their work is recorded. Each file stays the file that it was. */
#include "hosts/host.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum { OWN = 8, FIRST = 3, LAST = 64, WORKERS = 2 };

static struct stat was[OWN];
static int stop;

static int open_own(int i)
{
    char name[32];
    snprintf(name, sizeof name, "own.%d", i);
    return open(name, O_RDWR | O_CREAT, 0600);
}

static void begin(void)
{
    for (int i = 0; i < OWN; i++) {
        char text[8] = {'o', 'w', 'n', (char)i};
        int fd = open_own(i);
        HOST_NEEDS(fd == FIRST + i);
        HOST_NEEDS(pwrite(fd, text, sizeof text, 0) == (ssize_t)sizeof text);
        HOST_NEEDS(fstat(fd, &was[i]) == 0);
    }
}

static void is_still(int fd, int i)
{
    char text[9] = {0};
    struct stat is;
    HOST_NEEDS(fstat(fd, &is) == 0);
    HOST_NEEDS(is.st_dev == was[i].st_dev && is.st_ino == was[i].st_ino && is.st_size == 8);
    HOST_NEEDS(pread(fd, text, sizeof text, 0) == 8 && text[0] == 'o' && text[3] == i);
}

static void churn(void)
{
    for (int i = 0; i < OWN; i++)
        is_still(FIRST + i, i);
    /* No other descriptor is open. */
    for (int fd = FIRST + OWN; fd < LAST; fd++)
        HOST_NEEDS(close(fd) < 0 && errno == EBADF);
    for (int i = 0; i < OWN; i++) {
        HOST_NEEDS(close(FIRST + i) == 0);
        HOST_NEEDS(open_own(i) == FIRST + i);
    }
    /* Two change places, by way of a number that is free. */
    HOST_NEEDS(dup2(FIRST, LAST) == LAST);
    HOST_NEEDS(dup2(FIRST + 1, FIRST) == FIRST);
    is_still(FIRST, 1);
    is_still(LAST, 0);
    HOST_NEEDS(dup2(LAST, FIRST) == FIRST);
    HOST_NEEDS(close(LAST) == 0);
}

static void *worker(void *arg)
{
    uint64_t *n = arg;
    plumb_node layer = plumb_node_get("layer");
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        const int64_t shape[] = {4, 4};
        float values[16] = {1, 2, 3};
        PLUMB_STAGE(stage, "stage");
        plumb_stage_input_value(stage, "number", plumb_value_i64(7));
        for (int i = 0; i < 8; i++) {
            PLUMB_SPAN("span");
            PLUMB_SPAN("inner");
        }
        {
            PLUMB_SPAN("layer");
            plumb_activation_f32(layer, "out", values, shape, 2);
        }
        plumb_checkpoint("checkpoint");
        ++*n;
    }
    return NULL;
}

/* With all of that on, tensors are among what is recorded. */
static void look_at_tensors(void)
{
    char dir[1024], path[1200];
    if (!getenv("PLUMB_ACTIVATIONS_DUMP") || !plumb_is_recording())
        return;
    HOST_NEEDS(plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK);
    snprintf(path, sizeof path, "%s/activations/no_step/layer.out.safetensors", dir);
    HOST_NEEDS(access(path, R_OK) == 0);
}

int main(void)
{
    pthread_t thread[WORKERS];
    uint64_t stages[WORKERS] = {0}, all = 0;
    long rounds = host_rounds(4000);
    for (int fd = FIRST; fd < LAST; fd++)
        close(fd);
    begin();
    for (int t = 0; t < WORKERS; t++)
        HOST_NEEDS(pthread_create(&thread[t], NULL, worker, &stages[t]) == 0);
    for (long i = 0; i < rounds; i++)
        churn();
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int t = 0; t < WORKERS; t++) {
        HOST_NEEDS(pthread_join(thread[t], NULL) == 0);
        all += stages[t];
    }
    churn();
    look_at_tensors();
    host_expect("span", 8 * all);
    host_expect("inner", 8 * all);
    host_expect("stage", all);
    return 0;
}

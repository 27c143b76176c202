/* labels: plain
 * Not under sanitizers, whose allocators do not survive a fork while other threads run.
 *
 * Threads load a plug-in, use it and unload it, while others take summaries, change the settings
 * and fork. Each span of the plug-in is counted, and plumb does not touch the plug-in after it is
 * gone. */
#include "hosts/host.h"

#include <dlfcn.h>
#include <pthread.h>

enum { LOADERS = 2, SPANS = 20 };

static int stop;

static void load_once(void)
{
    void *plugin = dlopen(TEST_HOST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    union {
        void *address;
        void (*work)(int);
    } symbol;
    HOST_NEEDS(plugin != NULL);
    HOST_NEEDS((symbol.address = dlsym(plugin, "plugin_work")) != NULL);
    symbol.work(SPANS);
    HOST_NEEDS(dlclose(plugin) == 0);
}

static void *loader(void *arg)
{
    for (long i = *(const long *)arg; i > 0; i--)
        load_once();
    return NULL;
}

static void *asker(void *arg)
{
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        char *text = NULL;
        plumb_rows *rows = NULL;
        if (plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK)
            plumb_rows_free(rows);
        if (plumb_summary_text(&text, NULL, NULL, 0, NULL) == PLUMB_OK)
            plumb_text_free(text);
        plumb_set_debug(i % 2);
        usleep(500);
    }
    return arg;
}

int main(void)
{
    long rounds = host_rounds(300);
    pthread_t loaders[LOADERS], asking;
    HOST_NEEDS(pthread_create(&asking, NULL, asker, NULL) == 0);
    for (int t = 0; t < LOADERS; t++)
        HOST_NEEDS(pthread_create(&loaders[t], NULL, loader, &rounds) == 0);
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0) {
            PLUMB_SPAN("child");
            _exit(5);
        }
        HOST_NEEDS(host_status_of(pid) == 5);
    }
    for (int t = 0; t < LOADERS; t++)
        HOST_NEEDS(pthread_join(loaders[t], NULL) == 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    HOST_NEEDS(pthread_join(asking, NULL) == 0);
    host_expect("plugin", (uint64_t)(LOADERS * SPANS * rounds));
    host_expect("plugin's stage", (uint64_t)(LOADERS * SPANS * rounds));
    return 0;
}

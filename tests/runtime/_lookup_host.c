/* lookup.sh: allocates, opens, starts a thread, and says so. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        void *volatile p = malloc(100);
        p = realloc(p, 5000);
        free(p);
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f || pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    work(NULL);
    fclose(f);
    puts("done");
    return 0;
}

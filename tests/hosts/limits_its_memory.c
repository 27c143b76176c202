/* labels: plain
 * A program under limits of its address space and of its data has the memory that it has without
 * plumb, and is recorded. */
#include "hosts/host.h"

#include <sys/resource.h>

static void process(int resource, rlim_t mib)
{
    struct rlimit limit = {mib << 20, mib << 20};
    HOST_NEEDS(setrlimit(resource, &limit) == 0);
    {
        PLUMB_STAGE(stage, "limited");
    }
    HOST_NEEDS(malloc((size_t)300 << 20) != NULL);
    host_expect("limited", 1);
    exit(5);
}

int main(void)
{
    static const struct {
        int resource;
        rlim_t mib;
    } limits[] = {{RLIMIT_AS, 600}, {RLIMIT_DATA, 350}};
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            process(limits[i].resource, limits[i].mib);
        HOST_NEEDS(host_status_of(pid) == 5);
    }
    return 0;
}

/* labels: plain
 * link: none
 * A file whose path has the name under which the runtime is looked for is mapped without any right,
 * at an address below the runtime's: neither the header nor a libplumb that comes later reads it.
 */
#define HOST_UNLINKED
#include "hosts/host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void map_bait(const char *folder)
{
    char path[1200];
    int file;
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/data", folder);
    HOST_NEEDS((file = open(path, O_RDWR | O_CREAT, 0600)) >= 0);
    HOST_NEEDS(ftruncate(file, 4096) == 0);
    HOST_NEEDS(mmap((void *)(uintptr_t)0x100000, 4096, PROT_NONE, MAP_PRIVATE | MAP_FIXED, file,
                    0) != MAP_FAILED);
    close(file);
}

static void process(int later)
{
    map_bait("plumb-runtime-1");
    if (later)
        HOST_NEEDS(dlopen(TEST_PLUMB_LIB, RTLD_NOW) != NULL);
    {
        PLUMB_SPAN("span");
    }
    if (later)
        host_expect("span", 1);
    exit(5);
}

int main(void)
{
    for (int later = 0; later < 2; later++) {
        pid_t pid = fork();
        HOST_NEEDS(pid >= 0);
        if (pid == 0)
            process(later);
        HOST_NEEDS(host_status_of(pid) == 5);
    }
    return 0;
}

/* labels: plain
 * A daemon closes its standard streams and opens data files: one of them is descriptor 2, and only
 * what the daemon writes is in it at the end. */
#include "hosts/host.h"

#include <fcntl.h>

static void daemon_process(void)
{
    int file = -1;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    while (file < 2)
        HOST_NEEDS((file = open("data", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600)) >= 0);
    for (int i = 0; i < 100; i++) {
        PLUMB_STAGE(stage, "stage");
        HOST_NEEDS(write(file, "row\n", 4) == 4);
    }
    plumb_start(&(plumb_options){.size = sizeof(plumb_options)}, NULL); /* refused, and reported */
    host_expect("stage", 100);
    exit(5);
}

int main(void)
{
    char text[8192];
    int file;
    pid_t pid = fork();
    HOST_NEEDS(pid >= 0);
    if (pid == 0)
        daemon_process();
    HOST_NEEDS(host_status_of(pid) == 5);
    HOST_NEEDS((file = open("data", O_RDONLY)) >= 0);
    HOST_NEEDS(read(file, text, sizeof text) == 400);
    for (int i = 0; i < 400; i += 4)
        HOST_NEEDS(memcmp(text + i, "row\n", 4) == 0);
    return 0;
}
